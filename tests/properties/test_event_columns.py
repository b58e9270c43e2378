"""Events as objects, as dicts and as columns: the same happens, and the same is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cluster.events import Event
from evenhand.testing import strategies as es
from evenhand.testing.living.groups import Happening
from evenhand.testing.living.rows import Refused, Rows
from evenhand.testing.strategies._picking import Pick, picks

WRONG: tuple[dict[str, Any], ...] = (
    {"event": "end", "allocation": "nobody"},
    {"event": "start", "row": {"name": "x", "operation": "o0", "resources": {"cpu": -1}}},
    {"event": "start", "row": {"name": "x", "operation": "o0", "colour": "red"}},
    {"event": "start", "row": {"name": "x", "operation": "o0", "state": "suspended"}},
    {"event": "start", "row": {"operation": "o0"}},
    {"event": "resize", "allocation": "nobody", "resources": {"cpu": 1}},
    {"event": "count", "request": "nobody", "count": 1},
    {"event": "node", "node": "n0", "capacity": {"cpu": float(2**61)}},
    {"event": "node", "node": "n0", "schedulable": "yes"},
    {"event": "node", "node": "n0", "count": 1},
    {"event": "put", "table": "pools", "row": {"name": "q", "parent": "nowhere"}},
    {"event": "put", "table": "requests", "row": {"name": "q", "operation": "o0", "count": -1}},
    {"event": "put", "table": "reservations", "row": {"name": "q", "node": "nowhere"}},
    {"event": "put", "table": "operations", "row": {"name": "q", "labels": {"team": ["a"]}}},
    {"event": "remove", "table": "nodes", "name": "nowhere"},
    {"event": "remove", "table": "chairs", "name": "nowhere"},
    {"event": "time", "now": -1e6},
    {"event": "job"},
    {"event": "nothing"},
)


def as_dict(happening: Event | Mapping[str, Any]) -> dict[str, Any]:
    """Return an event as a dict without what is None."""
    if isinstance(happening, Mapping):
        return dict(happening)
    values = {field.name: getattr(happening, field.name) for field in fields(happening)}
    return {"event": type(happening).__name__.lower()} | {k: v for k, v in values.items() if v is not None}


def cells(event: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the cells of an event by the names of their columns."""
    found: dict[str, Any] = {}
    for key, value in event.items():
        if isinstance(value, Mapping) and value and key != "room_taken":
            found |= cells(value, f"{before}{key}.")
        elif value is not None:
            found[before + key] = value
    return found


def as_columns(events: Sequence[Mapping[str, Any]], *, typed: bool) -> dict[str, Any]:
    """Return events as columns: lists, or arrays where the type allows."""
    rows = [cells(event) for event in events]
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Any] = {name: [row.get(name) for row in rows] for name in names}
    for name, column in columns.items():
        kinds = {type(cell) for cell in column} - {type(None)}
        if typed and kinds in ({int}, {float}, {bool}):
            absent = [cell is None for cell in column]
            values = [next(iter(kinds))() if cell is None else cell for cell in column]
            columns[name] = np.ma.masked_array(values, absent)
    return columns


def applied(cluster: eh.Cluster, events: Any) -> list[Any]:
    """Let events happen; what is wrong with them."""
    try:
        cluster.apply(events)
    except eh.InputError as error:
        return list(error.problems)
    return []


def same(data: dict[str, Any], batches: Sequence[Sequence[Any]]) -> int:
    """Let batches happen in every form; the number of those that are refused."""
    refused = 0
    clusters = [eh.Cluster(eh.Snapshot.from_dict(data)) for _ in range(4)]
    for batch in batches:
        dicts = [as_dict(happening) for happening in batch]
        forms = (batch, dicts, as_columns(dicts, typed=False), as_columns(dicts, typed=True))
        problems = [applied(cluster, form) for cluster, form in zip(clusters, forms, strict=True)]
        assert problems[1:] == problems[:-1], dicts
        snapshots = [(c if len(batch) % 2 else c.copy()).snapshot() for c in clusters]
        assert all(snapshot == snapshots[0] for snapshot in snapshots[1:]), dicts
        refused += bool(problems[0])
    return refused


@given(
    data=es.crowded_dicts(),
    stock=es.crowded_dicts(),
    drawn=st.lists(picks(96), min_size=1, max_size=12),
    wrong=st.lists(st.tuples(st.integers(0, 30), st.sampled_from(WRONG)), max_size=2),
)
def test_one_by_one_and_as_columns(
    data: dict[str, Any],
    stock: dict[str, Any],
    drawn: list[Pick],
    wrong: list[tuple[int, dict[str, Any]]],
) -> None:
    rows = Rows(data)
    happening = Happening(stock, rows.resources)
    batches: list[list[Any]] = []
    for pick in drawn:
        batch = [one for one in happening.batch(rows, pick) if isinstance(one, Event)]
        trial = rows.copied()
        try:  # what is drawn for rows that are not so is wrong in its own way
            for one in batch:
                trial.happen(one)
            eh.Snapshot.from_dict(trial.data())
            rows = trial
        except (Refused, KeyError, eh.InputError):
            event("unsound")
        batches.append(batch)
    for place, broken in wrong:
        chosen = batches[place % len(batches)]
        chosen.insert(place % (len(chosen) + 1), broken)
    refused = same(data, batches)
    event("some refused" if refused else "all carried out")


SMALL: dict[str, Any] = {
    "resources": {"cpu": {}, "licence": {"scope": "cluster", "capacity": 4}},
    "now": 5,
    "nodes": [{"name": "n1", "capacity": {"cpu": 8}}, {"name": 2, "capacity": {"cpu": 8}}],
    "pools": [{"name": "p"}],
    "operations": [{"name": "o", "pool": "p"}, {"name": "says", "demand": {"cpu": 3}, "usage": {"cpu": 1}}],
    "allocations": [
        {"name": "a", "operation": "o", "node": "n1", "resources": {"cpu": 2}, "labels": {"team": "x"}},
        {"name": 7, "operation": "o", "resources": {"cpu": 2}, "state": "suspended"},
    ],
    "requests": [{"name": "r", "operation": "o", "resources": {"cpu": 1}, "count": 3}],
    "reservations": [{"name": "v", "request": "r", "node": "n1", "resources": {"cpu": 1}}],
}


def put(table: str, **row: Any) -> dict[str, Any]:
    return {"event": "put", "table": table, "row": row}


def start(**row: Any) -> dict[str, Any]:
    return {"event": "start", "row": {"name": "b", "operation": "o", **row}}


def about(kind: str, allocation: Any = "a", **fields: Any) -> dict[str, Any]:
    return {"event": kind, "allocation": allocation, **fields}


@pytest.mark.parametrize(
    "events",
    [
        [{"event": "time", "now": 6.0000005}, {"event": "time", "now": 7}],
        [start(name=8, node=2, resources={"cpu": 0.0015})],
        [{**start(resources={"cpu": 1}), "request": "r"}] * 2,
        [start(operation="says")],
        [start(labels={"n": 1}, settings={"x": [1]})],
        [start(settings={"x": {1}})],
        [start(planned_end="noon")],
        [about("leave", 7, beneficiary={"operation": "o", "request": 9}, deadline=9)],
        [about("leave", beneficiary="r"), about("end")],
        [about("leave"), about("take", resources={"cpu": 1})],
        [about("suspend"), about("resume", node=2)],
        [about("suspend", held={"cpu": 3})],
        [about("suspend", held={"cpu": 1}), about("suspend")],
        [about("resize", resources={"cpu": 1e15})],
        [about("resize", resources={"gpu": 1})],
        [about("resize", resources={"licence": 1, "cpu": 1.5})],
        [{"event": "count", "request": "r", "count": 2}, {"event": "count", "request": "r", "count": 0}],
        [{"event": "count", "request": "r", "count": 2**60}],
        [{"event": "count", "request": "r", "count": 2.0}],
        [{"event": "node", "node": "n1", "capacity": {"licence": 1}}],
        [{"event": "node", "node": 2, "capacity": {"cpu": 3}, "schedulable": False}],
        [put("nodes", name="n1", capacity={"cpu": 3}, tags=["fast"]), put("nodes", name="n3", order=1)],
        [put("nodes", name="n1", order=3)],
        [put("nodes", name=2, order=3), put("nodes", name="2")],
        [{"event": "remove", "table": "nodes", "name": 2}, put("nodes", name=2, capacity={"cpu": 1})],
        [{"event": "remove", "table": "nodes", "name": "n1"}],
        [
            {"event": "remove", "table": table, "name": name}
            for table, name in (("nodes", "n1"), ("reservations", "v"), ("allocations", "a"))
        ],
        [put("allocations", name="a", operation="o", priority=4, preemptible=False, order=1)],
        [
            put(
                "allocations",
                name="a",
                operation="o",
                state="preempted",
                held={"cpu": 1},
                resources={"cpu": 1},
            )
        ],
        [put("allocations", name="c", operation="o", state="preempting", beneficiary="r", deadline=8)],
        [put("allocations", name="c", operation="says")],
        [put("reservations", name="v", allocation="a", node=2), put("allocations", name="a", operation="o")],
        [put("reservations", name="w", allocation=7, node=2), about("end", 7)],
        [put("reservations", name="w", node=2), put("reservations", name="v", request="r", node=2)],
        [put("reservations", name="w", request="r", node=2, **{"from": 5, "until": 4})],
        [put("operations", name="says", demand={"cpu": 5}), put("operations", name="says", usage={"cpu": 1})],
        [put("operations", name="says", pool="p"), put("requests", name="s", operation="says")],
        [put("operations", name="o", usage={"cpu": 1})],
        [put("operations", name="new", demand={"cpu": 1}, usage={"cpu": 2})],
        [put("operations", name="new", best_allocation_share={"cpu": 0.5}, order=-1, labels={"team": "y"})],
        [put("operations", name="o", order=1)],
        [put("requests", name="r", operation="o", order=1)],
        [
            put("requests", name="s", operation="o"),
            put("requests", name="s", operation="o", order=1, count=2),
        ],
        [put("pools", name="q"), put("operations", name="new", pool="q")],
        [about("end", colour="red")],
        [about("end", "\ud800")],
    ],
)
def test_every_kind(events: list[dict[str, Any]]) -> None:
    same(SMALL, [events])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames(library: str) -> None:
    frames = pytest.importorskip(library)
    columns = {
        "event": ["end", "start", "count"],
        "allocation": ["a", None, None],
        "request": [None, "r", "r"],
        "count": [None, None, 1],
        "row.name": [None, "b", None],
        "row.operation": [None, "o", None],
        "row.resources.cpu": [None, 1.0, None],
        "row.labels.team": [None, "z", None],
    }
    frame = frames.table(columns) if library == "pyarrow" else frames.DataFrame(columns)
    by_frame, by_columns = (eh.Cluster(eh.Snapshot.from_dict(SMALL)) for _ in range(2))
    by_frame.apply(frame)
    by_columns.apply(columns)
    assert by_frame.snapshot() == by_columns.snapshot()
    assert by_frame.snapshot().table("allocations").to_dict()["labels.team"] == [None, "z"]


@pytest.mark.parametrize(
    ("columns", "field", "rule"),
    [
        ({"event": ["end"], "allocation": ["a", 7]}, "allocation", "length"),
        ({"event": "end"}, "event", "type"),
        ({"event": ["end"], "held": [{"cpu": 1}], "held.cpu": [1]}, "held.cpu", "duplicate_field"),
        ({"allocation": ["a"]}, "event", "choice"),
        ({"event": ["time"], "now": np.array(["2026-01-01"], "M8[s]")}, "now", "timezone"),
    ],
)
def test_wrong_columns(columns: dict[str, Any], field: str, rule: str) -> None:
    cluster = eh.Cluster(eh.Snapshot.from_dict(SMALL))
    before = cluster.snapshot()
    with pytest.raises(eh.InputError) as raised:
        cluster.apply(columns)
    (problem,) = raised.value.problems
    assert (problem.table, problem.field, problem.rule) == ("events", field, rule)
    assert cluster.snapshot() == before
