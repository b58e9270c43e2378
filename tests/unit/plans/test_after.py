"""The snapshot after a plan."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.systems import SYSTEMS
from evenhand.testing.living.carried import carry_out
from evenhand.testing.living.rows import Rows
from evenhand.testing.strategies import relation_cases
from tests.counting import calls
from tests.unit.plans.fake import CLUSTER, POLICY, FakeCore, make, start, victim


def rows(snapshot: eh.Snapshot, table: str) -> dict[Any, dict[str, Any]]:
    return {row["name"]: row for row in snapshot.to_dict()[table]}


def test_victims_leave_and_starts_run() -> None:
    plan = make()
    after = plan.snapshot.after(plan)
    allocations = rows(after, "allocations")
    assert allocations["a09"] == {
        "name": "a09",
        "operation": "A",
        "node": "n1",
        "resources": {"cpu": 2, "memory": 5},
        "start_time": 9,
        "state": "preempting",
        "deadline": 130,
        "beneficiary": {"operation": "B", "request": "b"},
    }
    assert "beneficiary" not in allocations["c2"]
    assert allocations["c2"]["state"] == "preempting"
    assert allocations["a08"] == rows(plan.snapshot, "allocations")["a08"]
    assert allocations["b/1"] == {
        "name": "b/1",
        "operation": "B",
        "node": "n1",
        "resources": {"cpu": 2, "memory": 4},
        "start_time": 100,
    }
    assert allocations["b/2"]["node"] == "n2"
    assert rows(after, "requests")["b"].get("count", 1) == 1
    assert after.now == plan.snapshot.now
    assert rows(plan.snapshot, "requests")["b"]["count"] == 3, "the snapshot itself stays"


def test_it_is_what_one_would_write_by_hand() -> None:
    plan = make()
    data = copy.deepcopy(CLUSTER)
    for name in ("a09", "a10", "c2"):
        (row,) = (row for row in data["allocations"] if row["name"] == name)
        row |= {"state": "preempting", "deadline": 130}
        if name != "c2":
            row["beneficiary"] = {"operation": "B", "request": "b"}
    for i, node in enumerate(("n1", "n2"), 1):
        data["allocations"].append(
            {
                "name": f"b/{i}",
                "operation": "B",
                "node": node,
                "resources": {"cpu": 2, "memory": 4},
                "start_time": 100,
            }
        )
    data["requests"][0]["count"] = 1
    assert plan.snapshot.after(plan) == eh.Snapshot.from_dict(data)


@pytest.mark.parametrize("system", list(SYSTEMS))
@given(data=st.data())
def test_it_is_what_editing_rows_one_by_one_makes(system: str, data: st.DataObject) -> None:
    case = data.draw(relation_cases(system))
    try:
        plan = case.plan()
    except eh.InputError:
        return
    rows = Rows(plan.snapshot.to_dict())
    carry_out(rows, plan)
    assert plan.snapshot.after(plan) == eh.Snapshot.from_dict(rows.data())


def test_requests_that_are_served_go_and_so_do_their_reservations() -> None:
    data = copy.deepcopy(CLUSTER)
    data["requests"][0] |= {"count": 1, "settings": {"x": 1}, "node_tags": ["ssd"], "priority": 7}
    data["requests"][1] |= {"settings": {"y": 2}, "node_tags": ["a", "b"]}
    data["reservations"] = [
        {"name": "r1", "request": "b", "node": "n1"},
        {"name": "r2", "request": "c", "node": "n2"},
    ]
    snapshot = eh.Snapshot.from_dict(data)
    after = snapshot.after(make([start("b", "B", "n1", 0)], snapshot))
    assert rows(after, "requests") == {
        "c": {
            "name": "c",
            "operation": "C",
            "resources": {"cpu": 1},
            "settings": {"y": 2},
            "node_tags": ["a", "b"],
        }
    }
    assert list(rows(after, "reservations")) == ["r2"]
    assert rows(after, "reservations")["r2"]["request"] == "c"
    assert rows(after, "allocations")["b/1"]["priority"] == 7


def test_what_a_request_says_goes_to_what_starts() -> None:
    data = copy.deepcopy(CLUSTER)
    data["requests"][0] |= {"preemptible": False, "required_node": "n1"}
    snapshot = eh.Snapshot.from_dict(data)
    after = rows(snapshot.after(make([start("b", "B", "n1", 0)], snapshot)), "allocations")
    assert after["b/1"]["preemptible"] is False
    assert after["b/1"]["required_node"] == "n1"
    assert "preemptible" not in after["a01"]


def test_new_names_are_unique() -> None:
    data = copy.deepcopy(CLUSTER)
    data["allocations"][0]["name"] = "b/1"
    data["allocations"][1]["name"] = "b/3"
    snapshot = eh.Snapshot.from_dict(data)
    plan = make([start("b", "B", "n1", i) for i in range(3)], snapshot)
    started = set(snapshot.after(plan).names("allocations")) - set(snapshot.names("allocations"))
    assert started == {"b/2", "b/4", "b/5"}


def test_a_plan_of_a_plan() -> None:
    """A second plan goes on where the first ended: names and beneficiaries add up."""
    first = make([victim("a09", "n1", 0), start("b", "B", "n1", 0)])
    between = first.snapshot.after(first)
    second = make([victim("a07", "n1", 0), start("b", "B", "n1", 0)], between)
    after = rows(between.after(second), "allocations")
    assert [name for name, row in after.items() if row.get("state") == "preempting"] == ["a07", "a09"]
    assert [name for name in after if name.startswith("b")] == ["b/1", "b/2"]
    assert after["a07"]["beneficiary"] == after["a09"]["beneficiary"] == {"operation": "B", "request": "b"}


def test_a_first_allocation_at_all() -> None:
    data = {key: CLUSTER[key] for key in ("resources", "nodes", "operations", "requests", "pools")}
    snapshot = eh.Snapshot.from_dict(data)
    after = snapshot.after(make([start("b", "B", "n3", 0)], snapshot, groups={}))
    assert rows(after, "allocations") == {
        "b/1": {"name": "b/1", "operation": "B", "node": "n3", "resources": {"cpu": 2, "memory": 4}}
    }


def test_another_snapshot_is_refused() -> None:
    plan = make()
    with pytest.raises(ValueError, match="another snapshot"):
        plan.snapshot.replace(now=101).after(plan)


def test_settings_stay_with_their_rows() -> None:
    data = copy.deepcopy(CLUSTER)
    for table in ("allocations", "requests", "operations", "pools", "nodes"):
        for row in data[table]:
            row["settings"] = {"own": row["name"]}
    snapshot = eh.Snapshot.from_dict(data)
    after = snapshot.after(make(snapshot=snapshot))
    for table in ("allocations", "requests", "operations", "pools", "nodes"):
        for name, row in rows(after, table).items():
            assert row.get("settings", {}).get("own") == (None if "/" in str(name) else name)


def test_no_function_is_called_for_each_allocation() -> None:
    count = 40_000
    snapshot = eh.Snapshot.from_frames(
        resources={"cpu": {}},
        nodes={"name": [f"n{i}" for i in range(1000)], "capacity.cpu": np.full(1000, 1000)},
        operations={"name": [f"o{i}" for i in range(100)]},
        allocations={
            "name": [f"a{i}" for i in range(count)],
            "operation_index": np.arange(count) % 100,
            "node_index": np.arange(count) % 1000,
            "resources.cpu": np.ones(count),
            "start_time": np.arange(count),
        },
        requests={"name": ["r"], "operation": ["o0"], "resources.cpu": [1], "count": [100]},
    )
    starts = 40
    core = FakeCore(snapshot)
    empty = core.decisions()
    columns = {name: np.repeat(np.zeros((1, *c.shape[1:]), c.dtype), starts, 0) for name, c in empty.items()}
    columns["action"][::2] = 1
    columns["allocation"] = np.where(columns["action"] == 1, np.arange(starts), -1)
    columns["request"] = np.where(columns["action"] == 1, -1, 0)
    columns["violated"] -= 1
    core.decisions = lambda: columns  # type: ignore[method-assign]
    plan = eh.plans.Plan(snapshot, POLICY, core)
    snapshot.after(plan)  # imports
    taken = calls(lambda: snapshot.after(plan))
    after = snapshot.after(plan)
    assert after.allocation_count == count + starts // 2
    states = after._core.column("allocations", "state")
    assert int((states == 1).sum()) == starts // 2
    assert taken < count // 4


def one_node(**tables: Any) -> eh.Snapshot:
    return eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n1", "capacity": {"cpu": 2}}],
            "operations": [{"name": "x"}],
            **tables,
        }
    )


def test_a_request_for_none_stays_when_another_starts() -> None:
    asks = [{"name": name, "operation": "x", "resources": {"cpu": 1}} for name in ("now", "later")]
    asks[1]["count"] = 0
    snapshot = one_node(requests=asks)
    plan = eh.plan(snapshot, eh.policies.BackendAI())
    after = snapshot.after(plan)
    assert after.names("requests") == ["later"]
    cluster = eh.Cluster(snapshot)
    cluster.carry_out(plan)
    assert cluster.snapshot() == after


def test_one_that_runs_again_has_forgotten_for_whom_it_left() -> None:
    """A plan that is carried out does what the event does."""
    row = {"name": "x-k", "operation": "x", "node": "n1", "resources": {"cpu": 2}, "start_time": 5}
    told = {"deadline": 90, "beneficiary": {"operation": "x"}, "last_job_start_time": 7}
    snapshot = one_node(allocations=[row | told | {"state": "preempted"}])
    plan = eh.plan(snapshot, eh.policies.BackendAI())
    assert [d.action for d in plan.decisions] == ["resume"]
    expected = row | {"start_time": 100}
    assert rows(snapshot.after(plan), "allocations")["x-k"] == expected
    taken = {**row, **told, "state": "preempted", "settings": {"room_taken": {"cpu": 1}}}
    cluster = eh.Cluster(one_node(allocations=[taken]))
    cluster.apply([{"event": "resume", "allocation": "x-k"}])
    assert rows(cluster.snapshot(), "allocations")["x-k"] == expected
