"""Snapshots: canonical form, round trips, replacement, identity."""

from __future__ import annotations

import copy
import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from tests.shared import shared
from tests.unit.snapshots import GOOD, good, small


def test_counts_and_names() -> None:
    snapshot = eh.Snapshot.from_dict(good())
    assert snapshot.resources == ("slots", "cpu", "memory", "matlab")
    assert snapshot.quantum == {"slots": 1, "cpu": 0.001, "memory": 1024, "matlab": 1}
    assert snapshot.element_names == ["<Root>", "burst", "prod", 17, "etl"]
    assert snapshot.names("nodes") == ["n1", "n2"]
    assert (snapshot.pool_count, snapshot.operation_count, snapshot.node_count) == (3, 2, 2)
    assert (snapshot.allocation_count, snapshot.request_count, snapshot.reservation_count) == (3, 1, 1)
    assert (snapshot.now, snapshot.previous_update) == (100.5, 90)


def test_total_is_what_schedulable_nodes_and_the_cluster_have() -> None:
    assert eh.Snapshot.from_dict(good()).total == {"slots": 10, "cpu": 8.5, "memory": 4096, "matlab": 7}
    assert eh.Snapshot.from_dict(good() | {"total": {"cpu": 3}}).total["cpu"] == 3


def test_round_trip_keeps_everything_that_is_no_default() -> None:
    snapshot = eh.Snapshot.from_dict(good())
    back = snapshot.to_dict()
    assert eh.Snapshot.from_dict(back) == snapshot
    for table, rows in GOOD.items():
        if isinstance(rows, list) and table != "commands":
            found = {row["name"]: row for row in back[table]}
            for row in rows:
                expected = {key: value for key, value in row.items() if key not in ("duration", "tags")}
                assert {k: v for k, v in found[row["name"]].items() if k in expected} == _spelt(expected)
        else:
            assert back[table] == rows
    assert back["requests"][0]["duration"] == 300
    assert back["nodes"][1]["tags"] == ["ssd", "a"]


def _spelt(row: dict[str, Any]) -> dict[str, Any]:
    """What a row looks like after a round trip: amounts of zero go, except in limits."""
    zero_counts = ("limits", "strong_guarantee")
    return {
        key: {r: a for r, a in value.items() if a != 0}
        if isinstance(value, dict) and key not in zero_counts
        else value
        for key, value in row.items()
    }


def test_defaults_are_left_out() -> None:
    data = small() | {"now": 0.0, "schema": "evenhand/snapshot/1"}
    data["pools"][0] |= {
        "weight": 1,
        "mode": "fair_share",
        "limits": {},
        "integral": {"type": "none"},
        "order": None,
    }
    data["operations"][0] |= {"fifo_start_time": 0, "usage": {"cpu": 1}, "demand": {"cpu": 2}, "gang": False}
    data["allocations"][0] |= {"preemptible": True, "last_job_start_time": 0, "held": {}}
    data["requests"][0] |= {"count": 1, "gang": False, "priority": None}
    back = eh.Snapshot.from_dict(data).to_dict()
    empty = {table: [] for table in ("nodes", "pools", "reservations", "commands")}
    assert back == {"schema": "evenhand/snapshot/1", "now": 0, **empty, **small()}
    assert back["commands"] == []
    assert list(back)[:3] == ["schema", "now", "resources"]


def test_json_round_trip(tmp_path: Path) -> None:
    snapshot = eh.Snapshot.from_dict(good())
    text = snapshot.to_json()
    assert eh.Snapshot.from_json(text) == eh.Snapshot.from_json(text.encode()) == snapshot
    path = tmp_path / "cluster.json"
    path.write_text(snapshot.to_json(indent=2), encoding="utf-8")
    assert eh.Snapshot.from_json(path) == snapshot
    assert json.loads(text) == snapshot.to_dict()


@pytest.mark.parametrize("quantum", [1, 0.001, 0.1, 1e-6, 0.3, 1 / 3, 1024, 7.5, 1e-9])
def test_amounts_come_back_to_the_bit(quantum: float) -> None:
    draw = random.Random(5)
    rows = [
        {
            "name": i,
            "integral": {
                "type": "burst",
                "accumulated_volume": {"x": draw.random() * 10 ** draw.randint(-9, 9)},
            },
        }
        for i in range(300)
    ]
    nodes = [{"name": i, "capacity": {"x": draw.randint(0, 10**6) * quantum}} for i in range(300)]
    data = {"resources": {"x": {"quantum": quantum}}, "pools": rows, "nodes": nodes}
    snapshot = eh.Snapshot.from_dict(data)
    assert eh.Snapshot.from_dict(snapshot.to_dict()) == snapshot


def test_times_come_back_to_the_microsecond() -> None:
    draw = random.Random(6)
    rows = [{"name": i, "start_time": draw.random() * 10 ** draw.randint(-6, 11)} for i in range(1000)]
    snapshot = eh.Snapshot.from_dict({"resources": {"x": {}}, "operations": rows})
    again = eh.Snapshot.from_dict(snapshot.to_dict())
    assert np.array_equal(
        again._core.column("operations", "start_time"), snapshot._core.column("operations", "start_time")
    )


def test_large_amounts_are_exact() -> None:
    data = {"resources": {"bytes": {}}, "nodes": [{"name": "n", "capacity": {"bytes": 2**60 - 1}}]}
    assert eh.Snapshot.from_dict(data).to_dict()["nodes"][0]["capacity"] == {"bytes": 2**60 - 1}


def test_order_of_rows_never_matters() -> None:
    snapshot = eh.Snapshot.from_dict(good())
    draw = random.Random(3)
    for _ in range(20):
        data = good()
        for rows in data.values():
            if isinstance(rows, list):
                draw.shuffle(rows)
        assert eh.Snapshot.from_dict(data) == snapshot
        assert eh.Snapshot.from_dict(data).to_json() == snapshot.to_json()


def test_order_by_rows() -> None:
    data = {
        "resources": {"cpu": {}},
        "pools": [{"name": "z"}, {"name": "b", "order": 9}, {"name": "a"}],
        "operations": [{"name": "y"}, {"name": "x", "order": -1}, {"name": "w"}],
    }
    snapshot = eh.Snapshot.from_dict(data, order="rows")
    assert snapshot.element_names == ["<Root>", "z", "a", "b", "x", "y", "w"]
    offsets, items = snapshot._core.children()
    assert [snapshot.element_names[i] for i in items[: offsets[1]]] == ["x", "z", "a", "y", "w", "b"]
    assert [row.get("order") for row in snapshot.to_dict()["operations"]] == [-1, 3, 5]
    assert eh.Snapshot.from_dict(data).element_names == ["<Root>", "b", "a", "z", "x", "w", "y"]


def test_identity() -> None:
    snapshot, same = eh.Snapshot.from_dict(good()), eh.Snapshot.from_dict(good())
    assert snapshot == same
    assert hash(snapshot) == hash(same)
    assert len({snapshot, same}) == 1
    assert snapshot != "snapshot"
    for path, value in (("pools", 3.0), ("operations", 4.0)):
        data = good()
        data[path][0]["weight"] = value
        assert eh.Snapshot.from_dict(data) != snapshot
    changes: list[dict[str, Any]] = [{"commands": []}, {"root": None}, {"now": 101}]
    for change in changes:
        assert snapshot.replace(**change) != snapshot
    assert copy.copy(snapshot) is snapshot
    assert copy.deepcopy(snapshot) is snapshot


def test_settings_count_for_identity() -> None:
    data = good()
    data["nodes"][1]["settings"] = {"rack": 8}
    assert eh.Snapshot.from_dict(data) != eh.Snapshot.from_dict(good())


def test_pickle() -> None:
    snapshot = eh.Snapshot.from_dict(good())
    again = pickle.loads(pickle.dumps(snapshot))
    assert again == snapshot
    assert again.to_dict() == snapshot.to_dict()
    assert again.settings("pools") == snapshot.settings("pools")


def test_immutable() -> None:
    snapshot = eh.Snapshot.from_dict(good())
    with pytest.raises(AttributeError, match=r"replace\(\)"):
        snapshot.now = 5  # type: ignore[misc]
    with pytest.raises(AttributeError, match=r"replace\(\)"):
        del snapshot._core
    with pytest.raises(TypeError, match="from_dict"):
        eh.Snapshot()
    with pytest.raises(TypeError):
        snapshot.settings("pools")[0]["x"] = 1  # type: ignore[index]
    before = snapshot.to_json()
    snapshot.to_dict()["pools"][0].setdefault("settings", {})["x"] = 1
    snapshot.element_names.clear()
    assert snapshot.to_json() == before
    assert snapshot.element_names


def test_input_is_copied() -> None:
    data = good()
    snapshot = eh.Snapshot.from_dict(data)
    data["pools"][1]["settings"]["threshold"]["cpu"] = 99
    data["commands"][0]["providers"].append("x")
    arrays = {"name": np.arange(3), "capacity.cpu": np.array([1.0, 2.0, 3.0])}
    framed = eh.Snapshot.from_frames(resources={"cpu": {}}, nodes=arrays)
    arrays["capacity.cpu"][:] = 0
    assert snapshot == eh.Snapshot.from_dict(good())
    assert framed.total == {"cpu": 6}


def test_settings_stand_at_canonical_rows() -> None:
    snapshot = eh.Snapshot.from_dict(good())
    pools = snapshot.settings("pools")
    assert dict(pools[0]) == {"enable_aggressive_starvation": True}
    assert pools[snapshot.element_names.index("burst")]["threshold"] == {"cpu": 5}
    assert {row: dict(s) for row, s in snapshot.settings("nodes").items()} == {0: {"rack": 7}}
    assert snapshot.settings("requests") == {}
    for table in ("reservations", "commands", "nonsense"):
        with pytest.raises(KeyError):
            snapshot.settings(table)


def test_commands() -> None:
    (command,) = eh.Snapshot.from_dict(good()).commands
    assert dict(command) == GOOD["commands"][0]


@pytest.mark.parametrize(
    "change",
    [
        {"now": 300.25},
        {"previous_update": None},
        {"now": 99, "previous_update": 98},
        {"total": {"cpu": 1}},
        {"total": None},
        {"root": {"settings": {"a": 1}}},
        {"root": None},
        {"commands": [{"consumer": "etl"}]},
        {"commands": None},
        {"allocations": None, "reservations": None},
        {
            "allocations": [{"name": "n", "operation": 17, "node": "n1", "resources": {"cpu": 1}}],
            "operations": [{"name": 17}, {"name": "etl", "gang": True}],
        },
        {"nodes": [*GOOD["nodes"], {"name": "n0", "capacity": {"cpu": 1}}]},
        {"pools": [*GOOD["pools"], {"name": "a"}]},
        {"requests": [{**GOOD["requests"][0], "count": 9}]},
        {"resources": {**GOOD["resources"], "gpu": {}}},
        {"resources": {name: GOOD["resources"][name] for name in ("matlab", "memory", "cpu", "slots")}},
    ],
    ids=lambda change: ",".join(change),
)
def test_replace_is_building_afresh(change: dict[str, Any]) -> None:
    snapshot = eh.Snapshot.from_dict(good())
    data = {**good(), **change}
    assert snapshot.replace(**change) == eh.Snapshot.from_dict(data)
    assert snapshot.replace(**change).to_dict() == eh.Snapshot.from_dict(data).to_dict()
    assert snapshot == eh.Snapshot.from_dict(good())


def test_replace_nothing() -> None:
    snapshot = eh.Snapshot.from_dict(good())
    assert snapshot.replace() == snapshot
    for table in ("nodes", "pools", "operations", "allocations", "requests", "reservations"):
        assert snapshot.replace(**{table: snapshot.to_dict()[table]}) == snapshot
        same: dict[str, Any] = {table: snapshot.table(table)}
        assert snapshot.replace(**same) == snapshot


def test_replace_follows_what_was_derived() -> None:
    snapshot = eh.Snapshot.from_dict(small())
    one = {"name": "b", "operation": "o", "node": "n", "resources": {"cpu": 4}}
    assert snapshot.replace(allocations=[one])._core.column("operations", "usage").tolist() == [
        [4000, 0],
        [0, 0],
    ]
    assert snapshot.replace(nodes=[{"name": "n", "capacity": {"cpu": 2}}]).total["cpu"] == 2


def test_replace_refuses() -> None:
    snapshot = eh.Snapshot.from_dict(small())
    with pytest.raises(TypeError, match='no operatoins; did you mean "operations"'):
        snapshot.replace(operatoins=[])
    with pytest.raises(eh.InputError, match='"p", which is not in the table pools'):
        snapshot.replace(pools=None)
    with pytest.raises(eh.InputError, match="after now"):
        snapshot.replace(previous_update=5)
    with pytest.raises(eh.InputError, match=r'now is ".*", not an ISO 8601 instant'):
        snapshot.replace(now="x")
    with pytest.raises(eh.InputError, match=r"total\.cpu"):
        snapshot.replace(total={"cpu": -1})
    with pytest.raises(eh.InputError, match="names no resource"):
        snapshot.replace(resources={"cpu": {}})


def test_tables() -> None:
    snapshot = eh.Snapshot.from_dict(good())
    operations = snapshot.table("operations")
    assert list(operations["name"]) == [17, "etl"]
    assert list(operations["pool"]) == [None, "burst"]
    assert list(operations["demand.cpu"]) == [2.5, None]
    pools = snapshot.table("pools")
    assert list(pools["settings.fair_share_starvation_timeout"]) == [60, None]
    assert list(pools["weight"]) == [1, 2]
    assert list(pools["mode"]) == ["fifo", "fair_share"]
    assert len(eh.Snapshot.from_dict(small()).table("reservations")) == 1
    assert len(eh.Snapshot.from_dict({"resources": {"x": {}}}).table("nodes")) == 0
    with pytest.raises(KeyError, match="there is no table 'root'; there are pools, operations"):
        snapshot.table("root")


def test_tables_build_the_snapshot_again() -> None:
    snapshot = eh.Snapshot.from_dict(good())
    names = ("nodes", "pools", "operations", "allocations", "requests", "reservations")
    tables: dict[str, Any] = {name: snapshot.table(name) for name in names}
    head = {name: GOOD[name] for name in ("resources", "root", "now", "previous_update", "commands")}
    assert eh.Snapshot.from_frames(**head, **tables) == snapshot


def test_repr() -> None:
    snapshot = eh.Snapshot.from_dict(good())
    text = "<Snapshot at 100.5 s: 2 nodes, 2 pools, 2 operations, 3 allocations, 1 request, 1 reservation; "
    assert repr(snapshot) == text + "slots, cpu, memory, matlab>"
    assert repr(eh.Snapshot.from_dict({"resources": {"x": {}}})) == "<Snapshot at 0 s: empty; x>"
    assert "burst" in snapshot._repr_html_()


@pytest.mark.shared
def test_seed_cases_come_back() -> None:
    cases = json.loads(shared("cases", "seeds.json").read_text())["cases"]
    steps = [step for case in cases for step in case["steps"]]
    snapshots = [s for step in steps for s in step.get("snapshots", {"": step.get("snapshot")}).values() if s]
    assert len(snapshots) > 300
    for data in snapshots:
        snapshot = eh.Snapshot.from_dict(data)
        assert eh.Snapshot.from_dict(snapshot.to_dict()) == snapshot
