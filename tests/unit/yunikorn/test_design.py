"""The design's cycles where queues have parents, victims cost the same, or settings of queues say no."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

import evenhand as eh
from tests.unit.yunikorn.test_cycles import cluster, policy, victims

MUCH = policy(limit={"cpu": 1000})
Pools = list[dict[str, Any]]


def queues(pools: Pools, use: Mapping[str, int], ask: Mapping[str, int], size: int) -> eh.Snapshot:
    """One full node; queues use and ask for so many of one cpu each."""
    operations = [{"name": f"u{q}", "pool": q} for q in use] + [{"name": f"o{q}", "pool": q} for q in ask]
    return eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {"quantum": 1}},
            "nodes": [{"name": "n", "capacity": {"cpu": size}}],
            "pools": pools,
            "operations": operations,
            "allocations": [
                {
                    "name": f"{q}-{i}",
                    "operation": f"u{q}",
                    "node": "n",
                    "resources": {"cpu": 1},
                    "start_time": i,
                }
                for q, count in use.items()
                for i in range(count)
            ],
            "requests": [
                {"name": q, "operation": f"o{q}", "resources": {"cpu": 1}, "count": count}
                for q, count in ask.items()
            ],
        }
    )


def ideal(snapshot: eh.Snapshot, of: Any = MUCH) -> dict[str, float]:
    table = of.ideal_shares(snapshot)
    return dict(zip(table["name"], table["ideal.cpu"].tolist(), strict=True))


@pytest.mark.parametrize(
    ("own", "limit", "share"), [(None, None, 8), (None, 7, 7), (3, None, 6.5), (0, None, 8), (9, None, 8)]
)
def test_a_parent_without_a_figure_is_owed_what_its_children_are(
    own: int | None, limit: int | None, share: float
) -> None:
    """Of ten; zeros alone are no figure. What is beyond guarantees is halved."""
    parent: dict[str, Any] = {"name": "p"}
    if own is not None:
        parent["strong_guarantee"] = {"cpu": own}
    if limit is not None:
        parent["limits"] = {"cpu": limit}
    child = {"name": "a", "parent": "p", "strong_guarantee": {"cpu": 8}}
    snapshot = queues([parent, child, {"name": "b"}], {"b": 10}, {"a": 8}, 10)
    found = ideal(snapshot)
    assert (found["p"], found["a"]) == (share, share)
    table = MUCH.ideal_shares(snapshot)
    owed = dict(zip(table["name"], table["guaranteed.cpu"].tolist(), strict=True))
    assert owed["p"] == (own or limit or 8)
    assert Counter(d.request for d in eh.plan(snapshot, MUCH).decisions if d.action == "start")["a"] == int(
        share
    )


def test_what_is_inferred_is_shown_and_other_resources_keep_their_figures() -> None:
    pools = [
        {"name": "p", "strong_guarantee": {"memory": 1}},
        {"name": "a", "parent": "p", "strong_guarantee": {"cpu": 2, "memory": 4}},
        {"name": "b", "parent": "p", "strong_guarantee": {"cpu": 3}},
    ]
    data = {
        "resources": {"cpu": {}, "memory": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 9, "memory": 9}}],
        "pools": pools,
    }
    table = MUCH.ideal_shares(eh.Snapshot.from_dict(data))
    assert list(table["name"]) == ["root", "a", "b", "p"]
    assert list(table["parent"]) == [None, "p", "p", "root"]
    assert table["guaranteed.cpu"].tolist() == [0, 2, 3, 5]
    assert table["guaranteed.memory"].tolist() == [0, 4, 0, 1]


@pytest.mark.parametrize(
    "pools",
    [
        [{"name": "p"}, {"name": "y", "parent": "p", "limits": {"cpu": 3}}],
        [{"name": "p", "limits": {"cpu": 3}}, {"name": "y", "parent": "p"}],
    ],
    ids=["the child is capped", "the parent is capped"],
)
def test_a_parent_takes_no_more_than_its_children_can(pools: Pools) -> None:
    """Of twenty p can use three; the others have half of the rest each, and one is left over."""
    others = [{"name": "a"}, {"name": "z"}]
    snapshot = queues([*pools, *others], {"z": 20}, {"a": 20, "y": 20}, 20)
    assert ideal(snapshot) == {"root": 20, "a": 8.5, "p": 3, "y": 3, "z": 8.5}
    started = Counter(d.request for d in eh.plan(snapshot, MUCH).decisions if d.action == "start")
    assert started == {"a": 9, "y": 2}


def test_shares_are_of_what_the_root_may_have() -> None:
    snapshot = queues([{"name": "a"}, {"name": "b"}], {"b": 8}, {"a": 8}, 20)
    assert ideal(snapshot)["a"] == 8
    limited = eh.Snapshot.from_dict({**snapshot.to_dict(), "root": {"limits": {"cpu": 10}}})
    assert ideal(limited) == {"root": 10, "a": 5, "b": 5}


@pytest.mark.parametrize(
    ("costs", "gone"),
    [
        ({"x1": 50, "x2": 90, "y1": 10, "y2": 90}, ["y1", "y2"]),
        ({"x1": 10, "x2": 90, "y1": 10, "y2": 90}, ["x1", "x2"]),
        ({"x1": 10, "x2": 91, "y1": 11, "y2": 90}, ["x1", "x2"]),
        ({"x1": 0.1, "x2": 0.2, "y1": 0.15, "y2": 0.15}, ["x1", "x2"]),
        ({"x1": 0.1, "x2": 0.20001, "y1": 0.15, "y2": 0.15}, ["y1", "y2"]),
        ({"x1": -5, "x2": 9, "y1": 2, "y2": 1}, ["y1", "y2"]),
    ],
)
def test_of_as_many_victims_those_that_cost_less_together_leave(
    costs: dict[str, float], gone: list[str]
) -> None:
    """Sums that differ by their rounding alone are equal; then the first node counts."""
    rows = [
        {"name": name, "operation": "d", "node": node, "resources": {"cpu": 1}, "start_time": 10}
        for name, node in (("x1", "n0"), ("x2", "n0"), ("y1", "n1"), ("y2", "n1"))
    ]
    snapshot = cluster(
        nodes=[{"name": name, "capacity": {"cpu": 2}} for name in ("n0", "n1")],
        pools=[{"name": "dev"}, {"name": "prod", "strong_guarantee": {"cpu": 4}}],
        allocations=rows,
        requests=[{"name": "ask", "operation": "p", "resources": {"cpu": 2}}],
    )
    plan = eh.plan(snapshot, policy(cost=["own"]), given={"cost": costs})
    assert sorted(map(str, victims(plan))) == gone


def test_the_first_column_of_the_cost_counts_first_in_sums() -> None:
    """Two of priority 1 are dearer than one of 1 and one of 0, however long they live."""
    rows = [
        {
            "name": name,
            "operation": "d",
            "node": node,
            "resources": {"cpu": 1},
            "priority": priority,
            "start_time": start,
        }
        for name, node, priority, start in (
            ("x1", "n0", 1, 99),
            ("x2", "n0", 1, 99),
            ("y1", "n1", 0, 1),
            ("y2", "n1", 1, 1),
        )
    ]
    snapshot = cluster(
        nodes=[{"name": name, "capacity": {"cpu": 2}} for name in ("n0", "n1")],
        pools=[{"name": "dev"}, {"name": "prod", "strong_guarantee": {"cpu": 4}}],
        allocations=rows,
        requests=[{"name": "ask", "operation": "p", "resources": {"cpu": 2}}],
    )
    assert sorted(map(str, victims(eh.plan(snapshot, policy())))) == ["y1", "y2"]


def fenced(dev: str = "default", prod: str = "default", **request: Any) -> eh.Snapshot:
    pools = [
        {
            "name": name,
            "strong_guarantee": {"cpu": 2},
            "settings": {"properties": {"preemption.policy": word}},
        }
        for name, word in (("dev", dev), ("prod", prod))
    ]
    return cluster(
        pools=pools,
        requests=[{"name": "ask", "operation": "p", "resources": {"cpu": 1}, "count": 2, **request}],
    )


@pytest.mark.parametrize(
    ("changes", "count", "rule"),
    [
        ({}, 2, None),
        ({"dev": "fence"}, 2, None),
        ({"dev": "disabled"}, 0, "no_room_even_with_victims"),
        ({"prod": "fence"}, 0, "no_room_even_with_victims"),
        ({"prod": "disabled"}, 0, "may_not_preempt_yet"),
        ({"settings": {"allow_preempt_other": False}}, 0, "may_not_preempt_yet"),
    ],
)
def test_policies_of_queues_and_asks_hold_in_cycles(
    changes: dict[str, Any], count: int, rule: str | None
) -> None:
    plan = eh.plan(fenced(**changes), policy())
    assert len(victims(plan)) == count
    assert [r.rule for r in plan.refusals] == ([] if rule is None else [rule])
    shot = eh.plan(fenced(**changes), policy(mode="shotgun"))
    assert len(victims(shot)) == count


def test_a_switch_lets_a_disabled_queue_preempt() -> None:
    assert len(victims(eh.plan(fenced(prod="disabled"), policy(disabled_queues_preempt=True)))) == 2


def test_within_a_queue_a_fence_is_none() -> None:
    """A disabled queue gives nothing to its own asks, either."""
    for word, count in (("fence", 2), ("disabled", 0)):
        pools = [{"name": "dev", "settings": {"properties": {"preemption.policy": word}}}]
        operations = [{"name": "d", "pool": "dev"}, {"name": "p", "pool": "dev", "priority": 5}]
        plan = eh.plan(cluster(pools=pools, operations=operations), policy(disabled_queues_preempt=True))
        assert len(victims(plan)) == count


def test_why_names_the_policy_of_the_queue() -> None:
    asks = eh.plan(fenced(prod="disabled"), policy()).why_not("ask", table="requests")
    assert "preemption.policy is disabled in its queue prod" in str(asks)
    gives = eh.plan(fenced(dev="disabled"), policy()).why_not("d0")
    assert "preemption.policy is disabled in its queue dev" in str(gives)
    never = eh.plan(fenced(settings={"allow_preempt_other": False}), policy()).why_not(
        "ask", table="requests"
    )
    assert "allow_preempt_other" in str(never)


@pytest.mark.parametrize(
    "policies",
    [["inter_queue"], ["intra_queue"], ["inter_queue", "intra_queue"], ["intra_queue", "inter_queue"]],
)
def test_a_cycle_counts_a_missed_opportunity_once(policies: list[str]) -> None:
    """An ask that no victims make room for, under each of the policies."""
    rows = [{**row, "required_node": "n"} for row in cluster().to_dict()["allocations"]]
    own = [{**row, "operation": "e"} for row in rows[:1]] + rows[1:]
    operations = [{"name": "d", "pool": "dev"}, {"name": "p", "pool": "prod", "priority": 5}]
    snapshot = cluster(operations=[*operations, {"name": "e", "pool": "prod"}], allocations=own)
    state = None
    for cycle in range(1, 4):
        plan = eh.plan(snapshot, policy(policies=policies), state)
        state = plan.state
        assert state.requests["ask"]["missed"] == cycle


@pytest.mark.parametrize(("missed", "wait"), [(9, 1024), (10, 1200), (19, 1200), (60, 1200)])
def test_a_wait_never_passes_an_hour_of_cycles(missed: int, wait: int) -> None:
    """Of one every three seconds."""
    snapshot = cluster()
    first = eh.plan(snapshot, policy(), on=eh.Cycle("allocation")).state.to_dict()
    first["requests"] = [{**first["requests"][0], "missed": missed, "wait": 0}]
    plan = eh.plan(snapshot, policy(), eh.State.from_dict(first), on=eh.Cycle("allocation"))
    assert (plan.state.requests["ask"]["missed"], plan.state.requests["ask"]["wait"]) == (missed + 1, wait)


def test_what_decides_which_application_asks_first_is_read() -> None:
    rows = [{"name": f"r{o}", "operation": o, "resources": {"cpu": 3}} for o in "ab"]
    operations = [{"name": "b", "pool": "q"}, {"name": "a", "pool": "q", "start_time": 900}]
    snapshot = cluster(pools=[{"name": "q"}], operations=operations, allocations=[], requests=rows, now=1000)
    plan = eh.plan(snapshot, policy())
    assert [d.request for d in plan.decisions] == ["rb"]
    assert "fields_not_read" not in {d.code for d in plan.diagnostics}


def test_a_plan_says_where_its_shares_are() -> None:
    with pytest.raises(AttributeError, match="ideal_shares"):
        _ = eh.plan(cluster(), policy()).shares
