"""The seed's cycles: pace, waits, cost, laws on small clusters."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.yunikorn.columns import queue_properties
from evenhand.systems.yunikorn.settings import YuniKornQueue

CPU: dict[str, Any] = {"cpu": {}}


def cluster(**changes: Any) -> eh.Snapshot:
    """Two queues on one full node: dev has all, prod waits."""
    data: dict[str, Any] = {
        "now": 100,
        "resources": CPU,
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "pools": [
            {"name": "dev", "strong_guarantee": {"cpu": 2}},
            {"name": "prod", "strong_guarantee": {"cpu": 2}},
        ],
        "operations": [{"name": "d", "pool": "dev"}, {"name": "p", "pool": "prod"}],
        "allocations": [
            {"name": f"d{i}", "operation": "d", "node": "n", "resources": {"cpu": 1}, "start_time": i}
            for i in range(4)
        ],
        "requests": [{"name": "ask", "operation": "p", "resources": {"cpu": 1}, "count": 2}],
    }
    return eh.Snapshot.from_dict({**data, **changes})


def policy(**settings: Any) -> Any:
    return eh.policies.YuniKorn(**{"limit": 1.0, **settings})


def victims(plan: eh.Plan) -> list[Any]:
    return [d.allocation for d in plan.decisions.victims]


def test_newest_leave_and_the_asks_start_on_their_node() -> None:
    plan = eh.plan(cluster(), policy())
    assert victims(plan) == ["d3", "d2"]
    assert [(d.request, d.node) for d in plan.decisions if d.action == "start"] == [("ask", "n")] * 2
    assert {d.beneficiary.request for d in plan.decisions.victims} == {"ask"}
    assert {d.mode for d in plan.decisions.victims} == {"terminate"}


def test_planned_again_nobody_else_leaves() -> None:
    snapshot = cluster()
    plan = eh.plan(snapshot, policy())
    again = eh.plan(snapshot.after(plan), policy(), plan.state)
    assert not again.decisions


def test_an_application_whose_most_important_ask_is_served_stands_behind_the_next_by_priority() -> None:
    operations = [
        {"name": "d", "pool": "dev"},
        {"name": "a", "pool": "prod", "start_time": 1},
        {"name": "b", "pool": "prod", "start_time": 2},
    ]
    asks = [("a high", "a", 10), ("a low", "a", 0), ("b", "b", 5)]
    requests = [
        {"name": name, "operation": of, "resources": {"cpu": 1}, "priority": priority}
        for name, of, priority in asks
    ]
    snapshot = cluster(operations=operations, requests=requests)
    plan = eh.plan(snapshot, policy(ask_candidates=1))
    assert [d.request for d in plan.decisions if d.action == "start"] == ["a high", "b"]


def test_a_failed_ask_is_left_out_of_twice_as_many_cycles_each_time() -> None:
    state, tried = None, []
    for cycle in range(40):
        plan = eh.plan(cluster(), policy(), state, on=eh.Cycle("allocation"))
        [refusal] = plan.refusals
        if refusal.rule != "missed_opportunity":
            tried.append(cycle)
        state = eh.State.from_dict(plan.state.to_dict())
    assert tried == [0, 3, 8, 17, 34]
    assert plan.state.requests["ask"]["missed"] == 5


def test_a_served_ask_is_forgotten() -> None:
    plan = eh.plan(cluster(), policy(), on=eh.Cycle("allocation"))
    assert plan.state.requests["ask"] == {"missed": 1, "wait": 2, "last_attempt": None, "triggered": "no"}
    served = eh.plan(cluster(), policy(), plan.state)
    assert not served.state.requests


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("live_time", ["live_time"]),
        ("priority", ["priority"]),
        ("kind", ["opted_out", "originator"]),
        ("default", ["opted_out", "originator", "priority", "live_time"]),
    ],
)
def test_equivalent_costs_choose_the_same_victims(name: str, columns: list[str]) -> None:
    rows = [
        {
            "name": f"d{i}",
            "operation": "d",
            "node": "n",
            "resources": {"cpu": 1},
            "start_time": (i * 7) % 4,
            "priority": (i * 3) % 4,
            "preemptible": i != 3,
            "originator": i == 2,
        }
        for i in range(4)
    ]
    snapshot = cluster(allocations=rows)
    assert victims(eh.plan(snapshot, policy(cost=name))) == victims(eh.plan(snapshot, policy(cost=columns)))


def test_a_limit_of_an_unknown_resource_is_refused() -> None:
    with pytest.raises(eh.InputError, match="gpu"):
        eh.plan(cluster(), policy(limit={"gpu": 1}))


def test_other_cycles_are_refused() -> None:
    with pytest.raises(ValueError, match="preemption, allocation, quota, both"):
        eh.Cycle("other")
    with pytest.raises(eh.InputError, match="Cycle"):
        eh.plan(cluster(), policy(), on=eh.Round())


def test_why_names_who_asked() -> None:
    plan = eh.plan(cluster(), policy())
    assert "below its ideal share" in str(plan.why("d3"))
    assert plan.why_not("d0").code == "not_chosen"


def test_a_quota_is_enforced_after_its_delay() -> None:
    pools = [
        {
            "name": "dev",
            "limits": {"cpu": 3},
            "settings": {"properties": {"quota.preemption.delay": "10s"}},
        },
        {"name": "prod"},
    ]
    over = policy(quota_preemption=True)
    first = eh.plan(cluster(pools=pools), over, on=eh.Cycle("quota"))
    assert not first.decisions
    early = eh.plan(cluster(pools=pools, now=109), over, first.state, on=eh.Cycle("quota"))
    assert not early.decisions
    due = eh.plan(cluster(pools=pools, now=110), over, early.state, on=eh.Cycle("quota"))
    assert len(victims(due)) == 1
    assert {d.reason for d in due.decisions} == {"above_quota"}


def test_upstream_reserves_the_node() -> None:
    plan = eh.plan(cluster(), eh.policies.YuniKorn("upstream"))
    assert victims(plan) == ["d3", "d2"] or len(victims(plan)) == 1
    assert {d.action for d in plan.decisions} == {"preempt", "reserve"}


def presets(snapshot: eh.Snapshot) -> tuple[eh.Plan, eh.Plan]:
    """Return plans by the seed's design and by what runs today."""
    return eh.plan(snapshot, policy()), eh.plan(snapshot, eh.policies.YuniKorn("upstream"))


def test_both_presets_differ_by_what_is_reserved() -> None:
    """The same leave, for other reasons; today's asks wait for them, and start in a later round."""
    documented, upstream = presets(cluster())
    difference = documented.diff(upstream)
    assert difference
    assert difference.summary == "The victims are the same."
    reasons = [(a.allocation, a.reason, b.reason) for a, b in difference.changed]
    assert reasons == [(name, "below_ideal_share", "below_guarantee") for name in ("d3", "d2")]
    assert [(d.action, d.request, d.node) for d in difference.lost] == [("start", "ask", "n")] * 2
    assert [(d.action, d.request, d.node) for d in difference.gained] == [("reserve", "ask", "n")] * 2


def test_presets_differ_where_nothing_is_guaranteed() -> None:
    """A queue without a guarantee has an ideal share; today nothing leaves for it."""
    pools = [{"name": "dev", "strong_guarantee": {"cpu": 1}}, {"name": "prod"}]
    documented, upstream = presets(cluster(pools=pools))
    assert victims(documented) == ["d3"]
    assert not upstream.decisions
    difference = documented.diff(upstream)
    assert difference.summary == "1 victim fewer: d3 is spared."
    assert [d.allocation for d in difference.spared] == ["d3"]
    assert [(d.action, d.request) for d in difference.lost] == [("start", "ask")]
    back = upstream.diff(documented)
    assert [d.allocation for d in back.taken] == ["d3"]
    assert [(d.action, d.request) for d in back.gained] == [("start", "ask")]


@pytest.mark.parametrize(("managed", "delay"), [(None, 5.0), (True, 5.0), (False, 30.0)])
def test_a_queue_made_as_it_was_needed_inherits_nothing(managed: bool | None, delay: float) -> None:
    settings: dict[str, Any] = {} if managed is None else {"managed": managed}
    snapshot = eh.Snapshot.from_dict(
        {
            "resources": CPU,
            "pools": [
                {"name": "a", "settings": {"properties": {"preemption.delay": "5s"}}},
                {"name": "a.b", "parent": "a", "settings": settings},
            ],
        }
    )
    queues = {1: YuniKornQueue(properties={"preemption.delay": "5s"}), 2: YuniKornQueue(**settings)}
    assert [p.preemption_delay for p in queue_properties(snapshot, queues)][1:] == [5.0, delay]
