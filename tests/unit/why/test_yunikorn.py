"""What YuniKorn's plans say: the reason with its numbers in the first sentence."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.reference.explanations import check_explanations
from tests.unit.yunikorn.test_cycles import cluster, policy

SAME_QUEUE: dict[str, Any] = {
    "pools": [{"name": "dev"}],
    "operations": [{"name": "d", "pool": "dev"}, {"name": "p", "pool": "dev", "priority": 5}],
}
ONE: dict[str, Any] = {"name": "ask", "operation": "p", "resources": {"cpu": 1}}


def per_ask(**settings: Any) -> Any:
    return policy(preemption="per_ask", **settings)


def planned(snapshot: eh.Snapshot, of: Any, **more: Any) -> eh.Plan:
    """Plan, and hold all that the plan explains against it."""
    plan = eh.plan(snapshot, of, **more)
    check_explanations(plan)
    return plan


def asked(plan: eh.Plan) -> str:
    return plan.why_not("ask", table="requests").summary


def test_a_victim_of_another_queue_is_told_what_its_queue_keeps() -> None:
    plan = planned(cluster(), policy())
    why = plan.why("d3")
    assert why.summary == (
        "Allocation d3 of operation d leaves node n: 1 cpu more is needed there for request ask of p,"
        " whose queue is below its ideal share; its queue dev used 4 of 2 cpu that its ideal share and"
        " its guarantee keep, and a queue within them gives nothing to others."
    )
    assert why.numbers["queue"] == "dev"
    assert (why.numbers["used"], why.numbers["keeps"]) == ({"cpu": 4}, {"cpu": 2})
    assert (why.numbers["place"], why.numbers["candidates"]) == (1, 4)
    assert why.sentences[1] == (
        "Of 4 candidates on node n it was number 1, by cost: opted out last, originators last,"
        " the lowest priority first, the shortest live time first."
    )
    # The second has left when its queue used one less.
    assert plan.why("d2").numbers["used"] == {"cpu": 3}


def test_a_victim_of_its_own_queue_is_told_which_priority_would_have_spared_it() -> None:
    plan = planned(cluster(**SAME_QUEUE), policy(policies=["intra_queue"]))
    why = plan.why("d3")
    assert why.summary.endswith(
        "for request ask of p, which has a higher priority in the same queue;"
        " the allocation's priority was 0, and with 5 or more it could not be preempted for this request."
    )
    assert (why.numbers["priority"], why.numbers["asking_priority"]) == (0, 5)
    kept = planned(
        cluster(
            **{
                **SAME_QUEUE,
                "operations": [{"name": "d", "pool": "dev", "priority": 5}, {"name": "p", "pool": "dev"}],
            }
        ),
        policy(policies=["intra_queue"]),
    )
    assert kept.why("d3").summary == (
        "Allocation d3 of operation d on node n was not preempted:"
        " its priority 5 is not lower than 0, that of request ask."
    )


def test_a_victim_on_a_required_node_is_told_which_priority_would_have_spared_it() -> None:
    nodes = [{"name": name, "capacity": {"cpu": 4}} for name in ("m", "n")]
    plan = planned(cluster(requests=[{**ONE, "required_node": "n"}], nodes=nodes), per_ask())
    assert plan.why("d3").summary == (
        "Allocation d3 of operation d leaves node n: request ask of p can run on no other node;"
        " the allocation's priority was 0, and above 0 it could not be preempted for this request."
    )


def test_an_ask_whose_victims_leave_says_for_which_it_waits() -> None:
    """Not that no stage considered it."""
    plan = planned(cluster(), per_ask())
    why = plan.why_not("ask", table="requests")
    assert why.code == "waits_for_victims"
    assert why.summary == (
        "Request ask of operation p (1 cpu, 2 times) did not start:"
        " it waits for node n, where it fits once d3 has left."
    )
    assert "It waits for node n, where it fits once d2 has left." in why.sentences
    assert not plan.refusals


def test_an_ask_that_may_not_preempt_yet_says_since_when_and_from_when_it_may() -> None:
    plan = planned(cluster(requests=[{**ONE, "submit_time": 90}]), per_ask())
    assert asked(plan) == (
        "Request ask of operation p (1 cpu) did not start: it has waited since 90 s (10 s ago), and"
        " preemption.delay of its queue, 30 s, is over at 120 s (in 20 s)."
    )
    never = cluster(requests=[{**ONE, "settings": {"allow_preempt_other": False}}])
    assert asked(planned(never, per_ask())).endswith("it may never preempt: it has allow_preempt_other off.")


def test_an_ask_beyond_its_guarantee_says_what_it_is_owed() -> None:
    plan = planned(cluster(requests=[{**ONE, "resources": {"cpu": 3}}]), per_ask())
    assert asked(plan).endswith(
        "its queue prod may have 2 cpu more within guarantees, less than it asks for, and it would not be"
        " within them even if all left that may leave."
    )
    bare = cluster(pools=[{"name": "dev"}, {"name": "prod"}])
    assert asked(planned(bare, per_ask())).endswith(
        "its queue prod has no guarantee, and only a queue within its guarantee preempts."
    )


def test_a_tag_that_no_node_has_is_not_called_a_lack_of_room() -> None:
    plan = planned(cluster(requests=[{**ONE, "node_tags": ["ssd"]}]), per_ask())
    (refusal,) = plan.refusals
    assert refusal.rule == "wrong_tags"
    row = {**ONE, "resources": {"cpu": 9}, "node_tags": ["ssd"], "required_node": "n"}
    required = cluster(requests=[row])
    assert planned(required, per_ask()).refusals[0].rule == "wrong_tags"


def test_a_maximum_is_named_with_its_queue_and_what_it_uses() -> None:
    pools = [{"name": "dev"}, {"name": "prod", "limits": {"cpu": 0.5}}]
    for of in (policy(), per_ask()):
        plan = planned(cluster(pools=pools), of)
        if plan.refusals[0].rule == "limits_of_operation_or_pool":
            said = plan.why_not("ask", table="requests")
            assert "with it, queue prod would have more than its max: it uses 0 of 0.5 cpu" in said.summary
            assert said.looked_at[0]["compared"]["max"] == {"cpu": 0.5}
            break
    else:
        pytest.fail("no ask met a maximum")


def test_a_full_cycle_names_the_setting() -> None:
    plan = planned(cluster(), policy(limit={"cpu": 1}))
    assert asked(plan) == (
        "Request ask of operation p (1 cpu, 2 times) starts 1 of 2 times only: policy inter_queue ended while"
        " it still waited: what it had placed came to 1 cpu, and it ends at 1 cpu (limit is 1 cpu)."
    )


@pytest.mark.parametrize(
    ("n_alloc", "free", "words"),
    [
        (1, 2, "1 was placed, as many as may be in one (n_alloc)."),
        (2, 4, "2 were placed, as many as may be in one (n_alloc)."),
        (1, 1, "the one ask of its last round could not be placed (n_alloc is 1)."),
        (2, 1, "none of the 2 asks of its last round could be placed (n_alloc is 2)."),
        (3, 2, "none of the 2 asks of its last round could be placed (n_alloc is 3)."),
    ],
)
def test_an_allocation_cycle_that_ends_says_why(n_alloc: int, free: int, words: str) -> None:
    """A round looks at as many asks as may still be placed, and the cycle ends where it placed none."""
    asks = [{"name": f"r{i}", "operation": "p", "resources": {"cpu": 2}, "submit_time": i} for i in range(6)]
    snapshot = cluster(requests=asks, nodes=[{"name": "n", "capacity": {"cpu": 4 + free}}])
    plan = planned(snapshot, policy(n_alloc=n_alloc), on=eh.Cycle("allocation"))
    why = plan.why_not("r5", table="requests")
    assert why.code == "cycle_full"
    assert why.summary == (
        f"Request r5 of operation p (2 cpu) did not start: the cycle ended before it came to it: {words}"
    )


@pytest.mark.parametrize(
    ("of", "on"),
    [(policy(mode="shotgun"), "preemption"), (per_ask(quota_preemption=True), "quota")],
    ids=["shotgun", "quota"],
)
def test_a_cycle_that_looks_at_no_ask_refuses_none(of: Any, on: str) -> None:
    """Nor is it full."""
    plan = planned(cluster(), of, on=eh.Cycle(on))
    assert not plan.refusals
    why = plan.why_not("ask", table="requests")
    assert why.code == "not_considered"
    said = {
        "preemption": "mode shotgun makes room for queues as a whole, and starts nothing itself.",
        "quota": "the cycle only holds queues to their max: it places no ask.",
    }
    assert why.summary == f"Request ask of operation p (1 cpu, 2 times) did not start: {said[on]}"


SURPLUS: dict[str, Any] = {
    "resources": {"cpu": {}, "gpu": {}},
    "nodes": [{"name": "n", "capacity": {"cpu": 4, "gpu": 1}}],
    "operations": [{"name": "d", "pool": "dev"}, {"name": "p", "pool": "prod"}],
}


def surplus(*more: dict[str, Any], **settings: Any) -> eh.Plan:
    """Four allocations of one cpu in dev, and more; prod claims two."""
    rows = [
        {"name": f"d{i}", "operation": "d", "node": "n", "resources": {"cpu": 1}, "start_time": i}
        for i in range(4 - len(more))
    ]
    return planned(cluster(**SURPLUS, allocations=[*rows, *more]), policy(mode="shotgun", **settings))


def test_shotgun_says_of_each_why_it_stays() -> None:
    """Its queue keeps it, it has nothing that queues claim, it needs its node, or enough has left."""
    plan = surplus({"name": "g", "operation": "d", "node": "n", "resources": {"gpu": 1}})
    assert [d.allocation for d in plan.decisions.victims] == ["d2"]
    assert plan.why("g").summary == (
        "Allocation g of operation d on node n was not preempted: it has nothing of the 1 cpu that queues"
        " claim still."
    )
    kept = plan.why("d0")
    assert kept.code == "queue_keeps_it"
    assert kept.summary == (
        "Allocation d0 of operation d on node n was not preempted: for what other queues claim, queue dev"
        " keeps what it is owed: it uses 2 cpu, its guarantee is 2 cpu and its ideal share 2 cpu."
    )


def test_shotgun_leaves_what_needs_its_node() -> None:
    bound = {"name": "b", "operation": "d", "node": "n", "resources": {"cpu": 1}, "required_node": "n"}
    plan = surplus({**bound, "start_time": 9})
    assert [d.allocation for d in plan.decisions.victims] == ["d2", "d1"]
    assert plan.why("b").summary.endswith(
        " was not preempted: it may run on no other node, so it is not taken for what other queues claim."
    )


@pytest.mark.parametrize(
    ("limit", "ends", "words"), [({"cpu": 1}, 1, "1 cpu"), (0.2, 0.8, "0.2 of the partition")]
)
def test_shotgun_names_the_limit_that_ends_it(limit: Any, ends: float, words: str) -> None:
    """Which the last one may exceed."""
    plan = surplus(limit=limit)
    assert len(plan.decisions.victims) == 1
    why = plan.why("d2")
    assert why.code == "cycle_full"
    assert why.summary == (
        "Allocation d2 of operation d on node n was not preempted: what leaves before it comes to 1 cpu, and"
        f" the cycle ends at {ends} cpu (limit is {words})."
    )


def test_shotgun_leaves_what_nothing_is_claimed_of() -> None:
    plan = planned(cluster(requests=[]), policy(mode="shotgun"))
    assert plan.why("d0").summary.endswith(" was not preempted: no queue claims more than it has.")
    only = planned(cluster(), policy(mode="shotgun", policies=("intra_queue",)))
    for name, table in (("d0", "allocations"), ("ask", "requests")):
        assert only.why_not(name, table=table).summary.endswith(
            ": mode shotgun takes work between queues only, and policies has no inter_queue."
        )


def test_of_which_queues_victims_are_taken_is_said() -> None:
    one = {"node": "n", "resources": {"cpu": 1}}
    rows = [{"name": f"d{i}", "operation": "d", **one} for i in range(3)]
    both = cluster(
        operations=[*cluster().to_dict()["operations"], {"name": "q", "pool": "prod"}],
        allocations=[*rows, {"name": "q0", "operation": "q", **one}],
    )
    same = planned(both, policy()).why("q0")
    assert same.looked_at[0]["outcome"] == "same_queue"
    assert same.looked_at[0]["compared"] == {"queue": "prod", "asking_queue": "prod", "within_queue": False}
    assert same.summary.endswith(
        " was not preempted: under policy inter_queue request ask takes victims of other queues only,"
        " and both are in queue prod."
    )
    other = planned(cluster(), policy(policies=("intra_queue",))).why("d0")
    assert other.code == "other_queue"
    assert other.summary.endswith(
        " was not preempted: under policy intra_queue request ask takes victims of its own queue prod only,"
        " and this is of queue dev."
    )


def test_what_no_ask_looked_at_is_said() -> None:
    roomy = cluster(nodes=[{"name": "n", "capacity": {"cpu": 6}}])
    assert (
        planned(roomy, policy())
        .why("d0")
        .summary.endswith(" was not preempted: no ask waits that found no room.")
    )
    quota = planned(cluster(), per_ask(quota_preemption=True), on=eh.Cycle("quota"))
    assert quota.why("d0").summary.endswith(
        ": the cycle only holds queues to their max: it takes only from queues that use more than that."
    )
    waits = planned(cluster(now=5), per_ask())
    assert waits.refusals
    assert waits.why("d0").summary.endswith(" was not preempted: no ask looked for victims on its node.")


def test_an_ask_that_is_left_out_says_of_how_many_cycles() -> None:
    first = eh.plan(cluster(), policy(), on=eh.Cycle("allocation"))
    plan = planned(cluster(), policy(), state=first.state, on=eh.Cycle("allocation"))
    assert asked(plan).endswith(
        "it found no room once before, and is left out of this allocation cycle, and of 1 more."
    )


def test_what_is_no_candidate_names_the_one_reason() -> None:
    """Not four of which three do not hold."""
    owed = [{"name": "dev", "strong_guarantee": {"cpu": 4}}, {"name": "prod", "strong_guarantee": {"cpu": 2}}]
    plan = planned(cluster(pools=owed), per_ask())
    assert plan.why("d0").summary.endswith(
        "its queue dev is within its guarantees, which owe it no less than it has."
    )
    fenced = [
        {"name": "dev", "strong_guarantee": {"cpu": 2}},
        {
            "name": "prod",
            "strong_guarantee": {"cpu": 2},
            "settings": {"properties": {"preemption.policy": "fence"}},
        },
    ]
    plan = planned(cluster(pools=fenced), per_ask())
    assert "takes victims from within queue prod only" in plan.why("d0").summary
    disabled = [
        {
            "name": "dev",
            "strong_guarantee": {"cpu": 2},
            "settings": {"properties": {"preemption.policy": "disabled"}},
        },
        {"name": "prod", "strong_guarantee": {"cpu": 2}},
    ]
    plan = planned(cluster(pools=disabled), per_ask())
    assert "preemption.policy is disabled in its queue dev" in plan.why("d0").summary
    assert plan.why("d0").numbers["because"] == "queue_disabled"


def test_what_is_not_chosen_says_where_it_stood() -> None:
    plan = planned(cluster(), policy())
    assert plan.why("d0").summary.startswith(
        "Allocation d0 of operation d on node n was not preempted: other victims make room for request ask,"
        " on node n; it is candidate 4 of 4 on node n, the cheapest first"
    )


def test_nothing_started_is_said_of_the_attempt_alone() -> None:
    """Another one may have taken victims for the same request."""
    large = cluster(requests=[{**ONE, "resources": {"cpu": 3}}])
    plan = planned(large, policy())
    told = plan.why("d0")
    assert told.code in ("queue_keeps_it", "no_start_in_stage")
    assert "request ask" in told.summary


def test_an_ask_that_was_just_granted_victims_is_not_counted_as_refused() -> None:
    assert "2 reservations, 0 requests refused." in repr(planned(cluster(), per_ask()))
    large = {"name": "large", "operation": "p", "resources": {"cpu": 9}}
    plan = planned(cluster(requests=[ONE, large]), per_ask())
    assert "1 request refused." in repr(plan)
    assert [refusal.request for refusal in plan.refusals] == ["large"]


def test_a_node_and_a_queue_say_what_is_decided_there() -> None:
    plan = planned(cluster(), per_ask())
    assert plan.why("n", table="nodes").sentences == (
        "On node n this plan preempts 2 and starts 0. Free before: 0 cpu.",
        "Allocations that leave: d3 and d2.",
        "Requests for which room is kept: ask.",
    )
    assert plan.why("dev", table="pools").sentences == (
        "Pool dev: this plan starts 0 of its requests and preempts 2 of its allocations.",
    )
    quiet = planned(cluster(requests=[]), policy())
    assert quiet.why("n", table="nodes").summary == "On node n this plan preempts nothing and starts nothing."


@pytest.mark.parametrize(
    ("owed", "words", "beyond"),
    [
        (2, "2 cpu beyond what guarantees keep; a queue within them gives nothing to others.", {"cpu": 2}),
        (0, "none; a queue within one gives nothing to others.", {}),
    ],
)
def test_a_victim_for_a_guarantee_reads_what_both_queues_are_owed(owed: int, words: str, beyond: Any) -> None:
    pools = [
        {"name": "dev", "strong_guarantee": {"cpu": owed} if owed else {}},
        {"name": "prod", "strong_guarantee": {"cpu": 3}},
    ]
    why = planned(cluster(pools=pools), per_ask()).why("d3")
    assert why.summary == (
        "Allocation d3 of operation d leaves node n: preempted by request ask of p, whose queue is below its"
        f" guarantee; it owes queue prod 3 cpu more, and its own queue dev has {words}"
    )
    assert (why.numbers["owed"], why.numbers["beyond"]) == ({"cpu": 3}, beyond)
