"""What YuniKorn's plans conclude: what it names is changed, and planned again."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.why.rows import node, snapshot, text

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
    assert said.endswith(f"; {of_it}, and with 3 or more it could not be preempted for this request.")
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
        "; the allocation's priority was 0.800000000042, and with 0.800000000043 or more it could not be"
        " preempted for this request."
    )
    assert not plan(0.800000000043).decisions.victims
