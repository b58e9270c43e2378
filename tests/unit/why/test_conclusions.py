"""Sentences that conclude: what they name is changed, and planned again."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

TIERS = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10}}


def snapshot(
    nodes: list[dict[str, Any]],
    operations: list[dict[str, Any]],
    allocations: list[tuple[str, str, str, float]],
    requests: list[dict[str, Any]],
    **more: Any,
) -> eh.Snapshot:
    return eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"cpu": {}},
            "nodes": nodes,
            "operations": operations,
            "allocations": [
                {"name": name, "operation": of, "node": node, "resources": {"cpu": cpu}, "start_time": i}
                for i, (name, of, node, cpu) in enumerate(allocations, 1)
            ],
            "requests": [{"resources": {"cpu": 1}, **row} for row in requests],
            **more,
        }
    )


def node(name: str, cpu: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "capacity": {"cpu": cpu}, **more}


def two(now: float = 1000, waiting: int = 1) -> eh.Snapshot:
    """All of the node is ana's, and bo waits."""
    running = [(f"ana-{i}", "ana", "n1", 1.0) for i in range(4)]
    asks = {"name": "bo-more", "operation": "bo", "count": waiting}
    return snapshot([node("n1", 4)], [{"name": "ana"}, {"name": "bo"}], running, [asks], now=now)


def text(explanation: eh.Explanation) -> str:
    return " ".join(explanation.sentences)


AGGRESSIVE = eh.policies.YTsaurus(
    "upstream", enable_aggressive_starvation=True, stage_order="regular_aggressive_preemptive"
)


def test_the_threshold_of_the_stage_is_named() -> None:
    """The aggressive stage takes what is within the other threshold, too."""
    plan = eh.plan(two(), AGGRESSIVE, as_if_waiting="1h")
    said = plan.why("ana-3").summary
    setting = "aggressive_preemption_satisfaction_threshold"
    of = f"its operation's fair share ({setting})"
    assert f"within 0.2 of {of} the aggressive stage would not have taken it" in said
    assert "(preemption_satisfaction_threshold)" not in said
    for threshold, goes in ((5.0, True), (1.0, True)):
        other = AGGRESSIVE.replace(preemption_satisfaction_threshold=threshold)
        assert [d.allocation for d in eh.plan(two(), other, as_if_waiting="1h").decisions.victims] == (
            ["ana-3"] if goes else []
        )


@pytest.mark.parametrize(("share", "goes"), [(1.0, True), (4 / 3, False)])
def test_within_the_threshold_of_the_stage_nothing_leaves(share: float, goes: bool) -> None:
    """Four of the three that are its share: within 4/3 of it all four are."""
    policy = AGGRESSIVE.replace(
        aggressive_preemption_satisfaction_threshold=share, preemption_satisfaction_threshold=2.0
    )
    assert bool(eh.plan(two(), policy, as_if_waiting="1h").decisions.victims) == goes


def limited(operation: dict[str, Any], **more: Any) -> eh.Explanation:
    """One request needs more than its node has; another of the same operation starts elsewhere."""
    tagged = {"name": "r1", "operation": "o", "resources": {"cpu": 2}, "node_tags": ["x"]}
    small = {"name": "r0", "operation": "o", "resources": {"cpu": 3}, "required_node": "n1"}
    rows = [node("n1", 1), node("n2", 8, tags=["x"])]
    plan = eh.plan(snapshot(rows, [{"name": "o", **operation}], [], [small, tagged], **more), YTSAURUS)
    return plan.why_not("r0")


YTSAURUS = eh.policies.YTsaurus()


@pytest.mark.parametrize(
    ("operation", "more", "whose"),
    [
        ({"limits": {"cpu": 4}}, {}, "operation o (at most 4 cpu)"),
        ({"pool": "p"}, {"pools": [{"name": "p", "limits": {"cpu": 4}}]}, "pool p (at most 4 cpu)"),
        (
            {"pool": "p", "limits": {"cpu": 4}},
            {"pools": [{"name": "p", "limits": {"cpu": 4.5}}], "resources": {"cpu": {"quantum": 0.5}}},
            "operation o (at most 4 cpu) or pool p (at most 4.5 cpu)",
        ),
    ],
)
def test_a_limit_that_no_stage_met_is_named_with_its_owner(
    operation: dict[str, Any], more: dict[str, Any], whose: str
) -> None:
    said = limited(operation, **more)
    assert said.code == "limits_of_operation_or_pool"
    assert said.numbers[f"limits_of_{whose.split()[1]}"] == {"cpu": 4}
    assert f": at the end of the plan {whose} would be over its limits with it, by 1 cpu." in said.summary


def test_a_timeout_that_a_coefficient_shortens() -> None:
    policy = eh.policies.YTsaurus(allocation_count_preemption_timeout_coefficient=4)
    state = eh.plan(two(), policy).state
    said = text(eh.plan(two(1005), policy, state).why("bo"))
    by = "30 s, times 1 that waits of allocation_count_preemption_timeout_coefficient 4"
    assert f"it starves after more than 7.5 s (fair_share_starvation_timeout {by})" in said
    assert f"starves when it was below for more than 7.5 s (fair_share_starvation_timeout {by})" in said
    for now, starving in ((1007.5, False), (1007.500001, True)):
        plan = eh.plan(two(now), policy, state)
        assert (plan.statuses["bo"].starvation == "starving") == starving
    said = text(plan.why("bo"))
    assert f", longer than fair_share_starvation_timeout {by}: 7.5 s." in said
    many = text(eh.plan(two(1005, waiting=4), policy, state).why("bo"))
    assert "it starves after more than 30 s (fair_share_starvation_timeout)." in many
    three = text(eh.plan(two(1005, waiting=3), policy, state).why("bo"))
    assert "22.5 s (fair_share_starvation_timeout 30 s, times 3 that wait of" in three


@pytest.mark.parametrize("given", ["starving", "aggressively_starving"])
@pytest.mark.parametrize(("of", "uses"), [("ana", "4 of 3 cpu"), ("bo", "0 of 1 cpu")])
def test_what_was_given_is_told_as_given(of: str, uses: str, given: str) -> None:
    said = text(eh.plan(two(), YTSAURUS, given={"starvation": {of: given}}).why(of))
    assert said.startswith(f"Operation {of} is {given.replace('_', ' ')}, as was given: it uses {uses}.")
    assert "Whether it starves was given to this plan" in said
    assert "may not starve" not in said


def test_work_on_nodes_that_take_nothing_new_uses_what_it_uses() -> None:
    rows = [node("n1", 4, schedulable=False)]
    plan = eh.plan(snapshot(rows, [{"name": "o"}], [("a", "o", "n1", 3)], []), YTSAURUS)
    assert "operation o used 3 cpu, where its fair share is 0 cpu" in text(plan.why("a"))


@pytest.mark.parametrize("policy", [YTSAURUS, eh.policies.YuniKorn(), eh.policies.GridEngine()])
def test_the_tags_that_are_missing_are_named(policy: Any) -> None:
    rows = [node("n1", 4, tags=["gpu"])]
    asks = {"name": "r", "operation": "o", "node_tags": ["gpu", "ssd"]}
    plan = eh.plan(snapshot(rows, [{"name": "o", "pool": "q"}], [], [asks], pools=[{"name": "q"}]), policy)
    assert "ssd" in plan.why_not("r").summary


# --- Slurm


def slurm(
    jobs: list[dict[str, Any]],
    allocations: list[tuple[str, str, str, float]],
    *,
    nodes: tuple[float, ...] = (1,),
    asks: float = 1,
    **settings: Any,
) -> eh.Plan:
    base = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE", "partitions": TIERS}
    waits = [{"name": "urgent-r", "operation": "urgent", "resources": {"cpu": asks}}] if asks else []
    data = snapshot(
        [node(f"n{i}", cpu) for i, cpu in enumerate(nodes, 1)],
        [{"name": "urgent", "partition": "high", "start_time": 90}, *jobs],
        allocations,
        waits,
    )
    return eh.plan(data, eh.policies.Slurm(**(base | settings)))


OLD = [("old@n1", "old", "n1", 1.0)]


def test_what_would_keep_a_job_is_said_of_one_request() -> None:
    """Another job may take it all the same."""

    def plan(gold: list[str]) -> eh.Plan:
        qos = {"gold": {"Preempt": gold}, "silver": {"Preempt": ["bronze"]}, "bronze": {}}
        names = (("old", "bronze"), ("g", "gold"), ("s", "silver"))
        jobs = [{"name": name, "qos": of, "start_time": i} for i, (name, of) in enumerate(names)]
        waits = [{"name": f"{name}-r", "operation": name} for name in "gs"]
        policy = eh.policies.Slurm(
            PreemptType="preempt/qos", PreemptMode="REQUEUE", qos=qos, SchedulerType="sched/backfill"
        )
        return eh.plan(snapshot([node("n1", 1)], jobs, OLD, waits), policy)

    victim = plan(["bronze"]).decisions.victims[0]
    assert victim.beneficiary
    assert victim.beneficiary.operation == "g"
    said = plan(["bronze"]).why("old@n1").summary
    assert said.endswith("; if that did not list it, it would not leave for this request.")
    (other,) = plan([]).decisions.victims
    assert other.beneficiary
    assert other.beneficiary.operation == "s"


@pytest.mark.parametrize(
    ("row", "cluster", "fate"),
    [
        ({}, {}, "if it is preempted the mode is REQUEUE"),
        (
            {"kind": "interactive"},
            {},
            "if it is preempted it is cancelled: the mode is REQUEUE, and it is not to be requeued",
        ),
        (
            {"requeue": False},
            {},
            "if it is preempted it is cancelled: the mode is REQUEUE, and it is not to be requeued",
        ),
        (
            {},
            {"JobRequeue": False},
            "if it is preempted it is cancelled: the mode is REQUEUE, and it is not to be requeued",
        ),
        ({"requeue": True}, {"JobRequeue": False}, "if it is preempted the mode is REQUEUE"),
        (
            {"signal": "R:USR1@60"},
            {"PreemptMode": "SUSPEND,GANG"},
            "if it is preempted the mode is CANCEL",
        ),
        ({"signal": "USR1@60"}, {"PreemptMode": "SUSPEND,GANG"}, "if it is preempted the mode is SUSPEND"),
    ],
)
def test_what_becomes_of_a_job_is_said_once(row: dict[str, Any], cluster: dict[str, Any], fate: str) -> None:
    own = {"settings": row} if "kind" not in row else row
    plan = slurm([{"name": "old", "partition": "low", **own}], OLD, **cluster)
    assert f"; {fate}." in text(plan.why("old"))
    assert "if it is preempted" not in text(plan.why("old@n1"))


def test_a_job_that_runs_elsewhere_is_spared_for_that() -> None:
    jobs = [{"name": f"j{i}", "partition": "low", "start_time": i} for i in range(3)]
    running = [("j0@n1", "j0", "n1", 2.0), ("j1@n2", "j1", "n2", 3.0), ("j2@n2", "j2", "n2", 1.0)]
    plan = slurm(jobs, running, nodes=(2, 4), asks=4)
    said = plan.why_not("j0@n1").summary
    assert said.endswith("of 3 that might, it is wanted as number 1, and it does not run there.")
    assert {d.allocation for d in plan.decisions.victims} == {"j1@n2", "j2@n2"}


def test_where_nothing_waits_that_is_said() -> None:
    plan = slurm([{"name": "old", "partition": "low"}], OLD, asks=0)
    assert plan.why_not("old@n1").summary.endswith("was not preempted: no request waits.")


def test_preemption_that_is_off_is_off_by_a_setting() -> None:
    jobs = [{"name": "old", "partition": "low"}]
    said = slurm(jobs, OLD, PreemptType="preempt/none", PreemptMode="OFF").why_not("old@n1").summary
    assert said.endswith("preemption is switched off (`PreemptType` is preempt/none).")


def test_where_no_node_was_tried_none_is_the_best() -> None:
    spaces = {"lic": {"scope": "cluster", "capacity": 1}, "cpu": {}}
    asks = {"name": "r", "operation": "j", "resources": {"lic": 2}}
    rows = snapshot([node("n1", 4)], [{"name": "j"}], [], [asks], resources=spaces)
    said = text(eh.plan(rows, eh.policies.Slurm()).why("j"))
    assert "1 lic was missing." in said
    assert "Nodes tried" not in said


# --- YuniKorn

QUEUES = [{"name": "dev", "strong_guarantee": {"cpu": 1}}, {"name": "prod", "strong_guarantee": {"cpu": 3}}]
IN_QUEUES = [{"name": "d", "pool": "dev"}, {"name": "p", "pool": "prod"}]
RUNNING = [(f"d{i}", "d", "n1", 1.0) for i in range(4)]


def asks(count: int = 5, **settings: Any) -> eh.Plan:
    """All of a node is dev's, and prod, which is owed three of four, waits."""
    waits = {"name": "ask", "operation": "p", "count": count, "submit_time": 10}
    rows = snapshot([node("n1", 4)], IN_QUEUES, RUNNING, [waits], pools=QUEUES)
    return eh.plan(rows, eh.policies.YuniKorn(**settings))


def begun(plan: eh.Plan) -> int:
    return sum(d.action == "start" for d in plan.decisions)


@pytest.mark.parametrize("policies", [("inter_queue", "intra_queue"), ("intra_queue", "inter_queue")])
@pytest.mark.parametrize(("limit", "starts"), [(0.1, 1), (0.25, 1), (0.26, 2), ({"cpu": 2.5}, 3), ({}, 3)])
def test_a_policy_that_its_limit_ended_is_why_an_ask_waits(limit: Any, starts: int, policies: Any) -> None:
    """Not that no victims make room: with another limit more of the same leave."""
    plan = asks(limit=limit, policies=policies)
    assert begun(plan) == starts
    cut = starts < 3
    (refusal,) = plan.refusals
    assert (refusal.rule == "cycle_full") == cut
    said = plan.why_not("ask", table="requests")
    assert said.code == refusal.rule
    assert ("policy inter_queue ended while it still waited" in said.summary) == cut
    spared = text(plan.why_not("d0"))
    assert ("Policy inter_queue ended while request ask still waited" in spared) == cut
    if cut:
        assert said.numbers["came_to"] == {"cpu": starts}
        ends = 4 * limit if isinstance(limit, float) else limit["cpu"]
        assert said.numbers["ends_at"] == {"cpu": ends}
        assert "missing" not in refusal.numbers
    elif limit == {}:
        assert "limit" not in text(said)


def test_the_last_copy_that_fits_below_the_limit_is_placed() -> None:
    """The policy ends with it, and nothing waits."""
    plan = asks(count=1, limit=0.25)
    assert not plan.refusals
    assert "limit" not in text(plan.why_not("d0"))


def test_victims_that_were_taken_cheapest_first_are_not_called_all() -> None:
    """The cheap one leaves no surplus for the one that would do alone."""
    rows = [("wide", "d", "n1", 2.0), ("slim", "d", "n1", 1.0)]
    queues = [
        {"name": "dev", "strong_guarantee": {"cpu": 1}},
        {"name": "prod", "strong_guarantee": {"cpu": 2}},
    ]
    waits = {"name": "ask", "operation": "p", "resources": {"cpu": 2}}

    def plan(**first: Any) -> eh.Plan:
        data = snapshot([node("n1", 3)], IN_QUEUES, rows, [waits], pools=queues).to_dict()
        data["allocations"][1] |= first
        return eh.plan(eh.Snapshot.from_dict(data), eh.policies.YuniKorn(limit={}))

    said = plan().why_not("ask", table="requests")
    assert said.code == "no_room_even_with_victims"
    assert "policy inter_queue the search for victims found none of other queues that make room" in text(said)
    assert [d.allocation for d in plan(start_time=9).decisions.victims] == ["wide"]


def test_a_drained_node_is_named_and_not_a_share() -> None:
    asked = {"name": "r", "operation": "p"}

    def plan(on: str = "", **drained: Any) -> eh.Explanation:
        rows = [node("n1", 4, schedulable=False), node("n2", 4, **drained)]
        more = {"required_node": on} if on else {}
        made = snapshot(rows, IN_QUEUES, [], [asked | more], pools=QUEUES)
        return eh.plan(made, eh.policies.YuniKorn()).why_not("r")

    both = plan(schedulable=False)
    assert both.code == "node_not_schedulable"
    assert both.summary.endswith(": each node where it could run takes nothing new (schedulable false).")
    assert "has its ideal share" in text(both)


@pytest.mark.parametrize(("own", "was"), [({"priority": 0}, 0), ({}, 2)])
def test_a_priority_is_called_the_allocations(own: dict[str, int], was: int) -> None:
    """That of its operation may be another, and is said, too."""

    def plan(**row: Any) -> eh.Plan:
        jobs = [
            {"name": "o", "pool": "prod", "priority": 2},
            {"name": "new", "pool": "prod", "priority": 3},
        ]
        waits = {"name": "r", "operation": "new"}
        made = snapshot([node("n1", 1)], jobs, [("x", "o", "n1", 1.0)], [waits], pools=QUEUES).to_dict()
        made["allocations"][0] |= row
        return eh.plan(eh.Snapshot.from_dict(made), eh.policies.YuniKorn())

    said = plan(**own).why("x").summary
    of_it = f"the allocation's priority was {was}"
    assert said.endswith(f"; {of_it}, and with 3 or more it would not leave for this request.")
    for priority, leaves in ((2, True), (3, False)):
        assert bool(plan(priority=priority).decisions.victims) == leaves


@pytest.mark.parametrize(
    ("row", "code", "words"),
    [
        ({}, "not_chosen", "other victims make room for request ask, on node n1."),
        ({"priority": 1}, "not_lower_priority", "its priority 1 is not lower than 0, that of request ask."),
        (
            {"required_node": "n1"},
            "not_a_candidate",
            "it may run on no other node, so it is not taken for request ask.",
        ),
        ({"resources": {"gpu": 1}}, "not_a_candidate", "it has nothing that request ask asks for."),
    ],
)
def test_what_stays_where_an_ask_needs_the_node_was_looked_at(
    row: dict[str, Any], code: str, words: str
) -> None:
    """Not: no ask looked for victims on its node."""
    waits = {"name": "ask", "operation": "p", "required_node": "n1"}
    rows = [node("n1", 3 if "resources" in row else 4), node("n2", 4)]
    rows[0]["capacity"]["gpu"] = 1
    more = {"pools": QUEUES, "resources": {"cpu": {}, "gpu": {}}}
    data = snapshot(rows, IN_QUEUES, RUNNING, [waits], **more).to_dict()
    data["allocations"][0] |= row
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.YuniKorn(preemption="per_ask"))
    assert [d.allocation for d in plan.decisions.victims] == ["d3"]
    said = plan.why_not("d0")
    assert said.code == code
    assert said.summary.endswith(f"was not preempted: {words}")


def test_a_priority_from_which_it_does_not_leave_is_shown_with_all_digits() -> None:
    """At what is shown it stays, and just below it leaves."""

    def plan(own: float) -> eh.Plan:
        jobs = [
            {"name": "o", "pool": "prod", "priority": own},
            {"name": "new", "pool": "prod", "priority": 0.800000000043},
        ]
        waits = {"name": "r", "operation": "new"}
        made = snapshot([node("n1", 1)], jobs, [("x", "o", "n1", 1.0)], [waits], pools=QUEUES)
        return eh.plan(made, eh.policies.YuniKorn())

    said = plan(0.800000000042).why("x").summary
    assert said.endswith(
        "; the allocation's priority was 0.800000000042, and with 0.800000000043 or more it would not leave"
        " for this request."
    )
    assert not plan(0.800000000043).decisions.victims


# --- Backend.AI


def test_another_session_may_take_what_this_one_may_not() -> None:
    def plan(own: int) -> eh.Plan:
        rows = [("p2", 20, 2), ("p0", 10, 3), ("s1", 1, own), ("s2", 1, 1)]
        jobs = [{"name": n, "priority": p, "settings": {"job_priority": j}} for n, p, j in rows]
        waits = [{"name": f"{n}-r", "operation": n, "submit_time": i} for i, n in enumerate(("p2", "p0"))]
        policy = eh.policies.BackendAI(
            preemption_key="job_priority",
            victim_threshold="none",
            preemptors="every",
            blocked_by="lack_of_resources",
        )
        running = [("s1-k", "s1", "n1", 1.0), ("s2-k", "s2", "n1", 1.0)]
        return eh.plan(snapshot([node("n1", 2)], jobs, running, waits), policy)

    first = plan(0).why("s1-k").summary
    assert first.endswith("; with job priority 2 or more it would not leave for operation p2.")
    other = next(d for d in plan(2).decisions.victims if d.allocation == "s1-k")
    assert other.beneficiary
    assert other.beneficiary.operation == "p0"


def test_above_the_threshold_nothing_takes_it() -> None:
    def plan(priority: int) -> eh.Plan:
        jobs = [{"name": "u", "priority": 50}, {"name": "s", "priority": priority}]
        rows = snapshot([node("n1", 1)], jobs, [("s-k", "s", "n1", 1.0)], [{"name": "u-r", "operation": "u"}])
        return eh.plan(rows, eh.policies.BackendAI(preemptible_priority=5))

    said = plan(5).why("s-k").summary
    assert said.endswith("; with priority 6 or more it would have been spared (preemptible_priority is 5).")
    assert not plan(6).decisions.victims


_LATER = ", submitted later (at 1 s (16 min 39 s ago), this one at 0 s (16 min 40 s ago); sequencer lifo),"
_FIRST = ", submitted earlier (at 0 s (16 min 40 s ago), this one at 1 s (16 min 39 s ago)),"


@pytest.mark.parametrize(
    ("settings", "rows", "why"),
    [
        ({}, ({}, {}), _FIRST),
        ({}, ({"priority": 11}, {}), ""),
        (
            {"sequencer": "lifo"},
            ({}, {}),
            _LATER,
        ),
        (
            {"sequencer": "drf"},
            ({"user": "x"}, {"user": "y"}),
            ", of a user who has less of the cluster (0, this one's 0.5; sequencer drf),",
        ),
        ({"sequencer": "drf"}, ({"user": "x"}, {"user": "x"}), _FIRST),
    ],
)
def test_what_puts_one_before_the_other_is_said(settings: Any, rows: Any, why: str) -> None:
    names = ("first", "late")
    jobs = [{"name": n, "priority": 10} | row for n, row in zip(names, rows, strict=True)]
    jobs += [{"name": "runs", "priority": 10, "user": "y"}]
    waits = [
        {"name": f"{n}-r", "operation": n, "submit_time": i, "resources": {"cpu": 3}}
        for i, n in enumerate(names)
    ]
    made = snapshot([node("n1", 2)], jobs, [("runs-k", "runs", "n1", 1.0)], waits)
    plan = eh.plan(made, eh.policies.BackendAI(**settings))
    behind = next(r.request for r in plan.refusals if r.rule == "behind_first_waiting")
    said = plan.why_not(behind).summary
    assert f" is before it in the queue{why} and cannot start yet; operation " in said


def test_what_is_equal_in_all_goes_in_canonical_order() -> None:
    jobs = [{"name": n, "priority": 10} for n in ("b", "a")]
    waits = [{"name": f"{n}-r", "operation": n, "resources": {"cpu": 3}} for n in ("b", "a")]
    plan = eh.plan(snapshot([node("n1", 2)], jobs, [], waits), eh.policies.BackendAI())
    said = plan.why_not("b-r").summary
    assert (
        "is before it in the queue, in canonical order, as they have the same priority and time, and" in said
    )
