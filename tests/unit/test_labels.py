"""Labels of rows: kept with them wherever they go, and read by no policy."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import evenhand as eh
from evenhand import fields
from tests.unit.snapshots import good, small

TABLES = ("nodes", "pools", "operations", "allocations", "requests", "reservations")


def labelled() -> dict[str, Any]:
    """Rows of every table, each with labels of its own."""
    data = good()
    for table in TABLES:
        for i, row in enumerate(data[table]):
            row["labels"] = {"table": table, "number": i, "share": 0.5}
    data["root"] = {**data.get("root", {}), "labels": {"table": "root"}}
    return data


def test_they_come_back() -> None:
    data = labelled()
    snapshot = eh.Snapshot.from_dict(data)
    for table in TABLES:
        expected = {row["name"]: row["labels"] for row in data[table]}
        found = {row["name"]: row["labels"] for row in snapshot.to_dict()[table]}
        assert found == expected
    assert snapshot.to_dict()["root"]["labels"] == {"table": "root"}
    assert eh.Snapshot.from_json(snapshot.to_json()) == snapshot
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot
    assert snapshot != eh.Snapshot.from_dict(good())


def test_rows_without_any_are_as_before() -> None:
    data = small()
    plain = eh.Snapshot.from_dict(copy.deepcopy(data))
    for row in data["operations"]:
        row["labels"] = {} if row["name"] == data["operations"][0]["name"] else {"team": None}
    assert eh.Snapshot.from_dict(data).fingerprint == plain.fingerprint
    assert "labels" not in str(plain.to_dict())


def test_frames_have_a_column_a_label() -> None:
    data = labelled()
    snapshot = eh.Snapshot.from_dict(data)
    columns = snapshot.table("operations").to_dict()
    assert set(columns["labels.table"]) == {"operations"}
    again = snapshot.replace(operations=columns)
    assert again == snapshot
    assert snapshot.replace(now=1000).to_dict()["nodes"] == snapshot.to_dict()["nodes"]
    by_object = {**columns, "labels": [{"table": "operations"}] * len(columns["name"])}
    for name in ("labels.table", "labels.number", "labels.share"):
        by_object.pop(name)
    for row in snapshot.replace(operations=by_object).to_dict()["operations"]:
        assert row["labels"] == {"table": "operations"}


@pytest.mark.parametrize(
    ("labels", "field", "rule"),
    [
        ("night", "labels", "type"),
        ({"team": ["a"]}, "labels", "type"),
        ({"team": True}, "labels", "type"),
        ({"team": float("inf")}, "labels", "finite"),
        ({"team": "\ud800"}, "labels", "utf8"),
        ({7: "a"}, "labels", "type"),
    ],
)
def test_what_is_none_is_refused(labels: Any, field: str, rule: str) -> None:
    data = small()
    data["nodes"][0]["labels"] = labels
    with pytest.raises(eh.InputError) as raised:
        eh.Snapshot.from_dict(data)
    (problem,) = raised.value.problems
    assert (problem.table, problem.row, problem.field, problem.rule) == ("nodes", 0, field, rule)


def test_a_column_that_holds_none_is_refused() -> None:
    nodes = {"name": ["n"], "labels.team": [["a"]]}
    with pytest.raises(eh.InputError, match=r"labels\.team"):
        eh.Snapshot.from_frames(resources={"cpu": {}}, nodes=nodes)


def test_no_policy_reads_them() -> None:
    bare, data = small(), small()
    for table in TABLES:
        for row in data[table]:
            row["labels"] = {"table": table}
    for policy in (eh.policies.YTsaurus(), eh.policies.BackendAI()):
        plans = [eh.plan(eh.Snapshot.from_dict(rows), policy) for rows in (bare, data)]
        assert list(plans[0].decisions) == list(plans[1].decisions)
        assert [d.code for d in plans[0].diagnostics] == [d.code for d in plans[1].diagnostics]


def test_they_stay_with_rows_that_change() -> None:
    cluster = eh.Cluster(eh.Snapshot.from_dict(labelled()))
    snapshot = cluster.snapshot()
    name = snapshot.names("allocations")[0]
    operation = snapshot.to_dict()["allocations"][0]["operation"]
    cluster.apply(
        [
            {"event": "job", "allocation": name, "last_job_start_time": 1},
            {"event": "leave", "allocation": name},
            {"event": "take", "allocation": name, "resources": {}},
            {"event": "start", "row": {"name": "new", "operation": operation, "labels": {"a": 1}}},
            {"event": "put", "table": "pools", "row": {"name": "more", "labels": {"a": 2}}},
            {"event": "end", "allocation": snapshot.names("allocations")[1]},
        ]
    )
    rows = {row["name"]: row for row in cluster.snapshot().to_dict()["allocations"]}
    assert rows[name]["labels"] == snapshot.to_dict()["allocations"][0]["labels"]
    assert rows["new"]["labels"] == {"a": 1}
    pools = {row["name"]: row["labels"] for row in cluster.snapshot().to_dict()["pools"]}
    assert pools["more"] == {"a": 2}
    assert cluster.copy().snapshot() == cluster.snapshot()


def test_they_stand_in_the_schema_and_the_reference() -> None:
    schema = fields.json_schema()
    for table in (*TABLES, "root"):
        assert "additionalProperties" in schema["$defs"][table]["properties"]["labels"]
    assert "| `labels` |" in fields.reference_markdown()
