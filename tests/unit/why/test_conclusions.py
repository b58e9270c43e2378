"""Sentences that conclude: what they name is changed, and planned again."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.why.rows import node, snapshot, text

TIERS = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10}}


def two(now: float = 1000, waiting: int = 1) -> eh.Snapshot:
    """All of the node is ana's, and bo waits."""
    running = [(f"ana-{i}", "ana", "n1", 1.0) for i in range(4)]
    asks = {"name": "bo-more", "operation": "bo", "count": waiting}
    return snapshot([node("n1", 4)], [{"name": "ana"}, {"name": "bo"}], running, [asks], now=now)


AGGRESSIVE = eh.policies.YTsaurus(
    "upstream", enable_aggressive_starvation=True, stage_order="regular_aggressive_preemptive"
)


def test_the_threshold_of_the_stage_is_named() -> None:
    """The aggressive stage takes what is within the other threshold, too."""
    plan = eh.plan(two(), AGGRESSIVE, as_if_waiting="1h")
    said = plan.why("ana-3").summary
    setting = "aggressive_preemption_satisfaction_threshold"
    of = f"its operation's fair share ({setting})"
    assert f"within 0.2 of {of} the aggressive stage could not have taken it" in said
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
    assert said.endswith("; if that did not list it, it could not be preempted for this request.")
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


def test_no_threshold_spares_what_has_no_share_of_something_that_it_wants() -> None:
    """A gang wants a gpu, of which its fair share is 0: its work is preemptible whatever the threshold."""
    data = {
        "now": 1000,
        "resources": {"cpu": {}, "gpu": {}, "memory": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 9, "gpu": 8, "memory": 4}}],
        "pools": [{"name": "p"}],
        "operations": [
            {"name": "other", "pool": "p"},
            {"name": "gang", "pool": "p", "gang": True},
            {"name": "asks", "pool": "p", "weight": 3},
        ],
        "allocations": [
            {"name": "a0", "operation": "gang", "node": "n", "resources": {"cpu": 4, "memory": 2}}
            | {"start_time": 879},
            {"name": "a1", "operation": "other", "node": "n", "resources": {"cpu": 1}, "start_time": 999},
            {"name": "a2", "operation": "asks", "node": "n", "resources": {"cpu": 2, "gpu": 2}}
            | {"start_time": 989, "state": "preempted", "held": {"cpu": 1}},
        ],
        "requests": [
            {"name": "r0", "operation": "gang", "resources": {"cpu": 6, "gpu": 1, "memory": 4}},
            {"name": "r1", "operation": "asks", "resources": {"cpu": 4, "gpu": 8, "memory": 2}, "count": 3},
        ],
    }
    for threshold in (0.25, 1e6):
        policy = eh.policies.YTsaurus(
            preemption_satisfaction_threshold=threshold, aggressive_preemption_satisfaction_threshold=0.0
        )
        plan = eh.plan(eh.Snapshot.from_dict(data), policy, as_if_waiting="90s")
        assert [(d.allocation, d.reason) for d in plan.decisions.victims] == [("a0", "preemption")]
        assert "within" not in plan.why("a0").summary
        assert "preemption_satisfaction_threshold" not in plan.why("a0").numbers
