"""A cluster that lives on, by small examples."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import pytest

import evenhand as eh
from evenhand.cluster.events import (
    Count,
    End,
    Job,
    Leave,
    Node,
    Put,
    Remove,
    Resize,
    Resume,
    Start,
    Suspend,
    Take,
    Time,
)

ROWS: dict[str, Any] = {
    "now": 100,
    "resources": {"cpu": {}, "memory": {"quantum": 1}},
    "nodes": [
        {
            "name": "n1",
            "capacity": {"cpu": 8, "memory": 32},
            "tags": ["ssd", "fast"],
            "settings": {"rack": 1},
        },
        {"name": 2, "capacity": {"cpu": 4}},
    ],
    "pools": [{"name": "main"}, {"name": "below", "parent": "main"}],
    "operations": [{"name": "etl", "pool": "below", "gang": True}, {"name": "idle", "demand": {"cpu": 1}}],
    "allocations": [
        {"name": "a1", "operation": "etl", "node": "n1", "resources": {"cpu": 2}, "settings": {"x": 1}},
        {
            "name": 7,
            "operation": "etl",
            "node": 2,
            "resources": {"cpu": 1},
            "state": "preempted",
            "held": {"cpu": 1},
        },
    ],
    "requests": [
        {"name": "r1", "operation": "etl", "resources": {"cpu": 1.5}, "count": 2, "node_tags": ["ssd"]},
        {"name": "r2", "operation": "etl", "resources": {"cpu": 1}, "settings": {"y": 2}},
        {"name": "r3", "operation": "etl", "resources": {"cpu": 1}, "count": 0},
    ],
    "reservations": [
        {"name": "for-r1", "request": "r1", "node": "n1"},
        {"name": "for-r2", "request": "r2", "node": 2},
        {"name": "for-7", "allocation": 7, "node": 2},
    ],
}


@pytest.fixture
def cluster() -> eh.Cluster:
    return eh.Cluster(eh.Snapshot.from_dict(ROWS))


def edited(**tables: Any) -> eh.Snapshot:
    return eh.Snapshot.from_dict({**copy.deepcopy(ROWS), **tables})


def test_nothing_happened(cluster: eh.Cluster) -> None:
    snapshot = cluster.snapshot()
    assert snapshot == eh.Snapshot.from_dict(ROWS)
    cluster.apply([])
    assert cluster.snapshot() is snapshot
    mark = cluster.mark()
    cluster.apply([Time(101)])
    cluster.undo(mark)
    assert cluster.snapshot() == snapshot


def test_usage_follows_every_event(cluster: eh.Cluster) -> None:
    assert cluster.usage("main") == {"cpu": 3, "memory": 0}
    cluster.apply([Start({"name": "b", "operation": "etl", "node": "n1", "resources": {"cpu": 1.25}})])
    assert cluster.usage("etl") == {"cpu": 4.25, "memory": 0}
    assert cluster.usage("n1") == {"cpu": 3.25, "memory": 0}
    cluster.apply([Resize("b", {"memory": 3}), Leave("a1"), End(7)])
    assert cluster.usage("below") == {"cpu": 0, "memory": 3}
    with pytest.raises(KeyError, match="nobody"):
        cluster.usage("nobody")


def test_a_request_that_is_withdrawn_takes_its_reservations_along(cluster: eh.Cluster) -> None:
    cluster.apply([Count("r1", 0), End(7)])
    expected = edited(
        allocations=ROWS["allocations"][:1],
        requests=ROWS["requests"][1:],
        reservations=ROWS["reservations"][1:2],
    )
    assert cluster.snapshot() == expected
    assert cluster.snapshot().to_dict() == expected.to_dict()


def test_new_rows_keep_all_their_fields(cluster: eh.Cluster) -> None:
    row = {
        "name": "new",
        "operation": "etl",
        "node": "n1",
        "resources": {"cpu": 0.5},
        "start_time": 99,
        "last_job_start_time": 99.5,
        "last_progress_time": 99.75,
        "priority": 4,
        "preemptible": False,
        "settings": {"z": [1]},
        "required_node": 2,
        "order": 3,
        "planned_end": 200,
        "interruptible": True,
    }
    asked = {
        "name": 12,
        "operation": "etl",
        "resources": {"memory": 4},
        "count": 3,
        "node_tags": ["fast", "new"],
        "duration": 60,
        "settings": {"w": 1},
        "gang": False,
        "reserve": True,
        "submit_time": 90,
    }
    cluster.apply([Start(row), Put("requests", asked)])
    expected = edited(allocations=[*ROWS["allocations"], row], requests=[*ROWS["requests"], asked])
    assert cluster.snapshot().to_dict() == expected.to_dict()
    assert cluster.snapshot() == expected


def test_a_request_that_a_start_serves(cluster: eh.Cluster) -> None:
    cluster.apply(
        [Start({"name": i, "operation": "etl", "resources": {"cpu": 1.5}}, "r1") for i in range(20, 22)]
    )
    assert cluster.snapshot().names("requests") == ["r2", "r3"]
    with pytest.raises(eh.InputError, match="no request 'r1'"):
        cluster.apply([Start({"name": 22, "operation": "etl"}, "r1")])


def test_leaving_and_the_room_that_is_taken(cluster: eh.Cluster) -> None:
    cluster.apply([Leave("a1", 130, {"operation": "etl", "request": "r1"}), Take("a1", {"cpu": 1.5})])
    told = {"state": "preempting", "deadline": 130, "beneficiary": {"operation": "etl", "request": "r1"}}
    row = {**ROWS["allocations"][0], **told, "settings": {"x": 1, "room_taken": {"cpu": 1.5}}}
    assert cluster.snapshot() == edited(allocations=[row, ROWS["allocations"][1]])
    with pytest.raises(eh.InputError, match="asked to leave"):
        cluster.apply([Leave("a1")])


def test_a_victim_is_suspended_and_runs_again(cluster: eh.Cluster) -> None:
    cluster.apply(
        [Leave("a1", 130, {"operation": "etl"}), Take("a1", {"cpu": 1}), Suspend("a1", {"cpu": 0.5})]
    )
    assert cluster.usage("etl") == {"cpu": 1.5, "memory": 0}
    assert cluster.usage("n1") == {"cpu": 0.5, "memory": 0}
    row = {**ROWS["allocations"][0], "state": "preempted", "held": {"cpu": 0.5}, "deadline": 130}
    row |= {"beneficiary": {"operation": "etl"}, "settings": {"x": 1, "room_taken": {"cpu": 1}}}
    assert cluster.snapshot() == edited(allocations=[row, ROWS["allocations"][1]])
    cluster.apply([Time(140), Resume("a1", 2)])
    assert cluster.usage("n1") == {"cpu": 0, "memory": 0}
    assert cluster.usage(2) == {"cpu": 3, "memory": 0}
    row = {**ROWS["allocations"][0], "node": 2, "start_time": 140}
    assert cluster.snapshot() == edited(now=140, allocations=[row, ROWS["allocations"][1]])


def test_a_suspended_victim_keeps_what_its_plan_said(cluster: eh.Cluster) -> None:
    """By default what its row says; one that ends then keeps nothing."""
    told = {**ROWS["allocations"][0], "state": "preempting", "held": {"cpu": 1.5}}
    cluster = eh.Cluster(edited(allocations=[told, ROWS["allocations"][1]]))
    mark = cluster.mark()
    cluster.apply([Suspend("a1"), Resume(7)])
    assert cluster.usage("n1") == {"cpu": 1.5, "memory": 0}
    assert cluster.usage(2) == {"cpu": 1, "memory": 0}
    cluster.apply([End("a1")])
    assert cluster.usage("n1") == {"cpu": 0, "memory": 0}
    cluster.undo(mark)
    assert cluster.snapshot() == edited(allocations=[told, ROWS["allocations"][1]])


@pytest.mark.parametrize("given", [dict, OrderedDict])
@pytest.mark.parametrize("kept", [{"cpu": 1.5}, {"cpu": 1.999}, {"cpu": 2}, {}])
def test_what_leaves_says_what_it_will_keep(
    cluster: eh.Cluster, given: type[dict[str, float]], kept: dict[str, float]
) -> None:
    """Whether the core reads the amounts or not; with it goes what was said before."""
    told = {**ROWS["allocations"][0], "held": {"cpu": 0.5}}
    cluster = eh.Cluster(edited(allocations=[told, ROWS["allocations"][1]]))
    before, mark = cluster.snapshot(), cluster.mark()
    cluster.apply([Leave("a1", 130, held=given(kept))])
    row = {**told, "state": "preempting", "deadline": 130, "held": kept}
    assert cluster.snapshot() == edited(allocations=[row, ROWS["allocations"][1]])
    assert cluster.usage("n1") == {"cpu": 0, "memory": 0}
    cluster.apply([Suspend("a1")])
    assert cluster.usage("n1") == {"cpu": 0, "memory": 0, **kept}
    cluster.undo(mark)
    assert cluster.snapshot() == before
    cluster.apply([Leave("a1", 130)])
    assert cluster.snapshot() == edited(allocations=[{**row, "held": {"cpu": 0.5}}, ROWS["allocations"][1]])


def test_what_is_kept_comes_in_columns_too(cluster: eh.Cluster) -> None:
    cluster.apply(
        {"event": ["leave", "time"], "allocation": ["a1", None], "held.cpu": [1.5, None], "now": [None, 101]}
    )
    row = {**ROWS["allocations"][0], "state": "preempting", "held": {"cpu": 1.5}}
    assert cluster.snapshot() == edited(now=101, allocations=[row, ROWS["allocations"][1]])


def test_one_that_started_since_is_suspended_and_ends(cluster: eh.Cluster) -> None:
    new = {"name": "new", "operation": "etl", "node": "n1", "resources": {"cpu": 1}}
    cluster.apply([Start(new), Suspend("new", {"cpu": 1})])
    row = {**new, "start_time": 100, "state": "preempted", "held": {"cpu": 1}}
    assert cluster.snapshot() == edited(allocations=[*ROWS["allocations"], row])
    with pytest.raises(eh.InputError, match="suspended as a victim; resume it"):
        cluster.apply([Start(new)])
    cluster.apply([End("new")])
    assert cluster.snapshot() == edited()


def test_rows_of_allocations_are_put_and_removed(cluster: eh.Cluster) -> None:
    """A reservation for one that is removed goes with it."""
    row = {"name": "a1", "operation": "etl", "node": 2, "resources": {"cpu": 1}, "state": "suspended"}
    cluster.apply([Put("allocations", row), Remove("allocations", 7)])
    assert cluster.snapshot() == edited(allocations=[row], reservations=ROWS["reservations"][:2])


def test_a_request_for_none_stays_and_goes_like_any_other(cluster: eh.Cluster) -> None:
    none = {"name": "r4", "operation": "etl", "resources": {"cpu": 1}, "count": 0}
    cluster.apply([Put("requests", none)])
    assert cluster.snapshot() == edited(requests=[*ROWS["requests"], none])
    cluster.apply([Count("r3", 0), Remove("requests", "r4")])
    assert cluster.snapshot() == edited(requests=ROWS["requests"][:2])


@pytest.mark.parametrize("alone", [True, False])
def test_a_request_that_is_removed_takes_its_reservations_along(cluster: eh.Cluster, alone: bool) -> None:
    """However the events are put together."""
    more = {"name": "more"}
    cluster.apply([Remove("requests", "r1"), *([] if alone else [Put("pools", more)])])
    if not alone:
        cluster.apply([Put("pools", more), Remove("requests", "r2")])
    expected = edited(
        requests=ROWS["requests"][1 if alone else 2 :],
        reservations=ROWS["reservations"][1 if alone else 2 :],
        pools=[*ROWS["pools"], *([] if alone else [more])],
    )
    assert cluster.snapshot() == expected


def test_the_total_follows_the_nodes_unless_it_is_stated(cluster: eh.Cluster) -> None:
    cluster.apply([Node("n1", {"cpu": 10}), Node(2, schedulable=False)])
    assert cluster.snapshot().total == {"cpu": 10, "memory": 0}
    stated = eh.Cluster(edited(total={"cpu": 20, "memory": 1}))
    stated.apply([Node("n1", {"cpu": 20}), Node(2, {"memory": 1}), Put("pools", {"name": "more"})])
    stated.snapshot()
    stated.apply([Node("n1", {"cpu": 1})])
    assert stated.snapshot().total == {"cpu": 20, "memory": 1}


@pytest.mark.parametrize("alone", [True, False])
def test_an_operation_comes_and_goes_with_its_requests(cluster: eh.Cluster, alone: bool) -> None:
    """However the events are put together, and although rows of the same name come again."""
    late = {"name": "late", "pool": "main", "gang": True, "settings": {"z": 1}}
    asked = {"name": "late", "operation": "late", "resources": {"cpu": 2}, "count": 3}
    start = {"name": "late/1", "operation": "late", "node": "n1", "resources": {"cpu": 2}}

    def happen(*events: Any) -> None:
        for some in [[event] for event in events] if alone else [events]:
            cluster.apply(some)

    for _ in range(3):
        happen(Put("operations", late), Put("requests", asked), Start(start, "late"))
        assert cluster.usage("main") == {"cpu": 5, "memory": 0}
        started = {**start, "start_time": 100}
        assert cluster.copy().snapshot() == edited(
            operations=[*ROWS["operations"], late],
            requests=[*ROWS["requests"], {**asked, "count": 2}],
            allocations=[*ROWS["allocations"], started],
        )
        happen(End("late/1"), Remove("requests", "late"), Remove("operations", "late"))
        assert cluster.copy().snapshot() == edited()


def test_an_operation_that_takes_a_place_takes_its_rows(cluster: eh.Cluster) -> None:
    """Usage moves to its pool, and requests that said nothing follow its gang."""
    mark = cluster.mark()
    cluster.apply([Put("operations", {"name": "etl", "weight": 2})])
    assert cluster.usage("main") == {"cpu": 0, "memory": 0}
    assert cluster.snapshot() == edited(operations=[{"name": "etl", "weight": 2}, ROWS["operations"][1]])
    cluster.undo(mark)
    assert cluster.usage("main") == {"cpu": 3, "memory": 0}
    assert cluster.snapshot() == edited()


def test_tables_are_made_anew(cluster: eh.Cluster) -> None:
    request = {"name": "r2", "operation": "etl", "resources": {"memory": 1}}
    cluster.apply([Put("operations", {"name": "late", "pool": "main"}), Put("requests", request)])
    cluster.apply([Remove("operations", "late"), Remove("requests", "r2")])
    expected = edited(
        requests=[ROWS["requests"][i] for i in (0, 2)], reservations=[ROWS["reservations"][i] for i in (0, 2)]
    )
    assert cluster.snapshot() == expected
    with pytest.raises(eh.InputError) as raised:
        cluster.apply([Time(101), Remove("nodes", "n1")])
    assert {(p.table, p.row) for p in raised.value.problems} == {("events", 1)}
    assert cluster.now == 100


@pytest.mark.parametrize(
    ("event", "field", "rule"),
    [
        (Time(99), "now", "clock"),
        (Time("soon"), "now", "type"),
        (Time(float("nan")), "now", "finite"),
        (Start({"name": "a1", "operation": "etl"}), "name", "unique"),
        (Start({"operation": "etl"}), "name", "required"),
        (
            Start({"name": "b", "operation": "etl", "resources": {"gpu": 1}}),
            "resources.gpu",
            "unknown_resource",
        ),
        (Start({"name": "b", "operation": "idle", "resources": {"cpu": 1}}), "operation", "sum_agrees"),
        (Start({"name": "b", "operation": "etl", "state": "suspended"}), "state", "choice"),
        (Start({"name": "b", "operation": "etl", "resources": {"cpu": 2**60 // 1000}}), None, "overflow"),
        (Start({"name": "b", "operation": "etl"}, "r9"), "request", "exists"),
        (Start({"name": "b", "operation": "etl"}, "r3"), "request", "count"),
        (End("a"), "allocation", "exists"),
        (Leave(7), "allocation", "state"),
        (Leave("a1", held={"cpu": 2.001}), "held.cpu", "held_within_resources"),
        (Leave("a1", held={"cpu": 0.0001}), "held.cpu", "quantum"),
        (Leave("a1", held={"gpu": 1}), "held.gpu", "unknown_resource"),
        (Job("a1", "yesterday"), "last_job_start_time", "type"),
        (Resize("a1", {"cpu": 0.0001}), "resources.cpu", "quantum"),
        (Take("a1", {"cpu": 1}), "allocation", "state"),
        (Count("r1", -1), "count", "non_negative"),
        (Count("r1", 1.5), "count", "integer"),
        (Node("n9", {}), "node", "exists"),
        (Node("n1", schedulable="no"), "schedulable", "type"),
        (Suspend("a"), "allocation", "exists"),
        (Suspend(7), "allocation", "state"),
        (Suspend("a1", {"cpu": 2.001}), "held.cpu", "held_within_resources"),
        (Suspend("a1", {"cpu": 0.0001}), "held.cpu", "quantum"),
        (Suspend("a1", {"gpu": 1}), "held.gpu", "unknown_resource"),
        (Resume("a1"), "allocation", "state"),
        (Resume(7, "n9"), "node", "exists"),
        (Resume(7, 2, "soon"), "start_time", "type"),
        (Start({"name": 7, "operation": "etl"}), "name", "unique"),
        (Put("commands", {"name": "b"}), "table", "choice"),
        (Put("allocations", {"name": "b"}), "operation", "required"),
        (Put("nodes", 3), "row", "required"),
        (Remove("pools", "nowhere"), "name", "exists"),
        ({"event": "end"}, "allocation", "required"),
        ({"event": "end", "allocation": "a1", "at": 3}, "at", "unknown_field"),
        ({"event": ["end"]}, "event", "choice"),
    ],
    ids=str,
)
def test_wrong_events(cluster: eh.Cluster, event: Any, field: str | None, rule: str) -> None:
    with pytest.raises(eh.InputError) as raised:
        cluster.apply([Time(100), event])
    (problem,) = raised.value.problems
    assert (problem.table, problem.row, problem.field, problem.rule) == ("events", 1, field, rule)
    assert cluster.snapshot() == eh.Snapshot.from_dict(ROWS)


def test_marks_that_are_void(cluster: eh.Cluster) -> None:
    first = cluster.mark()
    cluster.apply([Time(101)])
    second = cluster.mark()
    cluster.undo(first)
    for mark, other in ((second, cluster), (first, cluster.copy())):
        with pytest.raises(ValueError, match="mark"):
            other.undo(mark)
    cluster.undo(first)


def test_states_are_kept_one_a_policy_and_undone() -> None:
    plain = {name: rows for name, rows in ROWS.items() if name in ("resources", "operations", "pools")}
    cluster = eh.Cluster(eh.Snapshot.from_dict(plain))
    one, two = eh.policies.YTsaurus(), eh.policies.YTsaurus("upstream")
    assert cluster.state(one) is None
    mark = cluster.mark()
    plan = cluster.plan(one)
    assert cluster.state(one) == plan.state
    assert cluster.state(two) is None
    cluster.undo(mark)
    assert cluster.state(one) is None


def told(plan: eh.Plan) -> list[str]:
    return [d.code for d in plan.diagnostics if d.code.startswith("state")]


def starving() -> eh.Cluster:
    """B has nothing of its half, and has waited since 0."""
    return eh.Cluster(
        eh.Snapshot.from_dict(
            {
                "now": 0,
                "resources": {"cpu": {}},
                "nodes": [{"name": "n", "capacity": {"cpu": 2}}],
                "operations": [{"name": "A"}, {"name": "B"}],
                "allocations": [
                    {"name": f"a{i}", "operation": "A", "node": "n", "resources": {"cpu": 1}}
                    for i in range(2)
                ],
                "requests": [{"name": "b", "operation": "B", "resources": {"cpu": 1}}],
            }
        )
    )


def test_changed_settings_take_the_clocks_over_and_are_told() -> None:
    """B would have to wait anew if its clock were lost."""
    cluster, policy = starving(), eh.policies.YTsaurus(fair_share_starvation_timeout=30)
    assert told(cluster.plan(policy)) == []
    cluster.apply([Time(20)])
    mark = cluster.mark()
    changed = policy.replace(fair_share_starvation_timeout=15)
    plan = cluster.plan(changed)
    assert told(plan) == ["state_settings_changed"]
    assert plan.statuses["B"].since == 0
    assert [d.action for d in plan.decisions] == ["preempt", "start"], "evaluated anew: 20 s are enough now"
    assert cluster.state(policy) is not None
    assert told(cluster.plan(changed)) == [], "it has a state of its own now"
    cluster.undo(mark)
    assert cluster.state(changed) is None


def test_another_system_begins_without_clocks() -> None:
    cluster = starving()
    cluster.plan(eh.policies.YTsaurus())
    assert told(cluster.plan(eh.policies.BackendAI())) == []
    cluster.plan(eh.policies.YTsaurus("upstream"))
    newest = eh.policies.YTsaurus("upstream", preemptive_scheduling_backoff=1)
    assert told(cluster.plan(newest)) == ["state_settings_changed"]
