"""Malformed frames: one clear message each, which names table, row, field and rule."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from tests.unit.test_snapshot_frames import MAKERS
from tests.unit.test_snapshot_malformed import Where, assert_problem

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

RESOURCES: dict[str, Any] = {"cpu": {}, "memory": {}}


# column(s) of a table, (table, row, field, rule), a part of the message
BROKEN: list[tuple[str, dict[str, Any], Where, str]] = [
    ("nodes", {"name": [1, 2], "capacity.cpu": [1]}, ("nodes", None, "capacity.cpu", "length"), "has 1 rows"),
    ("nodes", {"capacity.cpu": [1]}, ("nodes", None, "name", "required"), "needs a column of names"),
    ("nodes", {"name": "n"}, ("nodes", None, "name", "type"), "is str, not an array"),
    ("nodes", {"name": ["n"], "order": 5}, ("nodes", None, "order", "type"), "is int, not an array"),
    (
        "nodes",
        {"name": ["n"], "order": np.zeros((1, 2))},
        ("nodes", None, "order", "type"),
        "has 2 dimensions",
    ),
    ("nodes", {"name": ["n"], "order": np.float64(2)}, ("nodes", None, "order", "type"), "not an array"),
    ("nodes", {"name": np.array([1.5])}, ("nodes", 0, "name", "type"), "is a number; it must be a name"),
    ("nodes", {"name": np.array([True])}, ("nodes", 0, "name", "type"), "is a flag"),
    (
        "nodes",
        {"name": pl.Series(["a", None])},
        ("nodes", 1, "name", "required"),
        "name of row 1 of the nodes",
    ),
    ("nodes", {"name": pa.array(["a", ""])}, ("nodes", 1, "name", "required"), "is empty"),
    ("nodes", {"name": pa.array(["a", "a"])}, ("nodes", 1, "name", "unique"), '"a"'),
    ("nodes", {"name": [b"n"]}, ("nodes", 0, "name", "type"), "is a Python bytes"),
    (
        "nodes",
        {"name": ["n"], "capcity.cpu": [1]},
        ("nodes", None, "capcity.cpu", "unknown_field"),
        "capacity",
    ),
    (
        "nodes",
        {"name": ["n"], "capacity.gpu": [1]},
        ("nodes", None, "capacity.gpu", "unknown_resource"),
        "resource",
    ),
    ("nodes", {"name": ["n"], "capacity.cpu": ["1"]}, ("nodes", 0, "capacity.cpu", "type"), "is text"),
    ("nodes", {"name": ["n"], "capacity.cpu": [True]}, ("nodes", 0, "capacity.cpu", "type"), "is a flag"),
    (
        "nodes",
        {"name": ["n"], "capacity.cpu": np.array([np.nan])},
        ("nodes", 0, "capacity.cpu", "finite"),
        'of the node "n"',
    ),
    (
        "nodes",
        {"name": pa.array(["m", "n"]), "capacity.cpu": pl.Series([1.0, np.inf])},
        ("nodes", 1, "capacity.cpu", "finite"),
        'of the node "n"',
    ),
    (
        "nodes",
        {"name": ["n"], "capacity.memory": np.array([2**64 - 1], np.uint64)},
        ("nodes", 0, "capacity.memory", "overflow"),
        "2^60 quanta",
    ),
    ("nodes", {"name": ["n"], "order": np.array([1j])}, ("nodes", 0, "order", "type"), "is a Python complex"),
    (
        "nodes",
        {"name": ["n"], "schedulable": np.array([1])},
        ("nodes", 0, "schedulable", "type"),
        "true or false",
    ),
    (
        "nodes",
        {"name": ["n"], "swap_free": np.array([1.5])},
        ("nodes", 0, "swap_free", "integer"),
        "whole number",
    ),
    ("nodes", {"name": ["n"], "tags": pl.Series(["a"])}, ("nodes", 0, "tags", "type"), "a list of text"),
    ("nodes", {"name": ["n"], "settings": [5]}, ("nodes", 0, "settings", "type"), "must be an object"),
    ("nodes", {"name": ["n"], "settings.x": [np.nan]}, ("nodes", 0, "settings.x", "finite"), "nan"),
    (
        "nodes",
        {"name": ["n"], "settings.x": [5], "settings.x.y": [5]},
        ("nodes", 0, "settings.x.y", "duplicate_field"),
        "two columns",
    ),
    (
        "nodes",
        {"name": ["n"], "overcommitted_since": np.array([5], "m8[s]")},
        ("nodes", 0, "overcommitted_since", "type"),
        "is a Python timedelta",
    ),
    (
        "nodes",
        {"name": ["m", "n"], "overcommitted_since": np.array([0, 2**60], "M8[s]")},
        ("nodes", 1, "overcommitted_since", "range"),
        "does not fit in 64 bits of microseconds",
    ),
    (
        "requests",
        {"name": ["r"], "operation": ["o"], "duration": np.array([1], "m8[M]")},
        ("requests", None, "duration", "type"),
        "no fixed length",
    ),
    (
        "operations",
        {"name": ["o"], "pool_index": [3]},
        ("operations", 0, "pool_index", "exists"),
        "is 3, but the table pools has 1 rows",
    ),
    ("operations", {"name": ["o"], "pool_index": [-2]}, ("operations", 0, "pool_index", "exists"), "is -2"),
    ("operations", {"name": ["o"], "pool_index": ["p"]}, ("operations", 0, "pool_index", "type"), "is text"),
    ("operations", {"name": ["o"], "pool_index": [0.5]}, ("operations", 0, "pool_index", "integer"), "whole"),
    (
        "operations",
        {"name": ["o"], "pool": ["p"], "pool_index": [0]},
        ("operations", None, "pool_index", "duplicate_field"),
        "two columns",
    ),
    ("operations", {"name": ["o"], "pool": pa.array(["x"])}, ("operations", 0, "pool", "exists"), '"x"'),
    (
        "operations",
        {"name": ["o"], "kind": ["bach"]},
        ("operations", 0, "kind", "choice"),
        'did you mean "batch"?',
    ),
    (
        "operations",
        {"name": ["o"], "start_time": ["yesterday"]},
        ("operations", 0, "start_time", "time"),
        "not an ISO 8601 instant",
    ),
    (
        "operations",
        {"name": ["o"], "start_time": pa.array([dt.date(2026, 1, 1)])},
        ("operations", 0, "start_time", "type"),
        "is a date;",
    ),
    (
        "operations",
        {"name": ["o"], "demand": pl.Series([5])},
        ("operations", 0, "demand", "type"),
        "must be an object",
    ),
]


@pytest.mark.parametrize(
    ("table", "columns", "where", "part"),
    [pytest.param(*b, id=f"{b[2][2]}:{b[2][3]}-{i}") for i, b in enumerate(BROKEN)],
)
def test_broken_columns(table: str, columns: dict[str, Any], where: Where, part: str) -> None:
    tables: dict[str, Any] = {"pools": {"name": ["p"]}, table: columns}
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_frames(resources=RESOURCES, **tables, timezone="UTC")
    assert_problem(caught.value, where, part)


@pytest.mark.parametrize("maker", ["pandas", "polars", "pyarrow"])
def test_broken_frames(maker: str) -> None:
    make = MAKERS[maker]
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_frames(resources=RESOURCES, nodes=make({"name": ["n"], "capcity.cpu": [1]}))
    assert_problem(caught.value, ("nodes", None, "capcity.cpu", "unknown_field"), "is not a known field")
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_frames(
            resources=RESOURCES, nodes=make({"name": ["m", "n"], "capacity.cpu": [1.0, -1.0]})
        )
    assert_problem(caught.value, ("nodes", 1, "capacity.cpu", "non_negative"), 'of the node "n"')


def test_columns_of_one_name() -> None:
    frame = pd.DataFrame([["n", 1, 2]], columns=["name", "order", "order"])
    with pytest.raises(eh.InputError, match="the nodes have several columns of one name"):
        eh.Snapshot.from_frames(resources=RESOURCES, nodes=frame)
    frame = pd.DataFrame([["n", 1]], columns=["name", 5])
    with pytest.raises(eh.InputError, match="5 of the nodes is not a known field"):
        eh.Snapshot.from_frames(resources=RESOURCES, nodes=frame)


@pytest.mark.parametrize(
    "frame", [5, "nodes", 1.5, True, object(), pl.DataFrame({"name": ["n"]}).lazy(), np.zeros(3)]
)
def test_what_is_no_table_at_all(frame: Any) -> None:
    with pytest.raises(TypeError, match=f"nodes= takes a pandas, polars .*, not {type(frame).__name__}"):
        eh.Snapshot.from_frames(resources=RESOURCES, nodes=frame)


def test_time_zones() -> None:
    with pytest.raises(eh.InputError, match="timezone is not a time zone that this machine knows"):
        eh.Snapshot.from_frames(resources=RESOURCES, timezone="Mars/Olympus")
    with pytest.raises(TypeError, match="a name or a tzinfo, not int"):
        eh.Snapshot.from_frames(resources=RESOURCES, timezone=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("jobs", "; there are now, previous_update, total, resources, root, nodes, pools, operations,"),
        ("allocation", '; did you mean "allocations"?'),
        ("time_zone", '; did you mean "timezone"?'),
    ],
)
def test_a_table_that_no_snapshot_has_is_named(name: str, hint: str) -> None:
    calls = (eh.Snapshot.from_frames, eh.Snapshot.from_frames(resources=RESOURCES).replace)
    for function, call in zip(("from_frames", "replace"), calls, strict=True):
        with pytest.raises(TypeError) as caught:
            call(**{name: []})
        assert isinstance(caught.value, eh.InputError)
        assert_problem(caught.value, (function, None, name, "unknown_field"), f"has no {name}{hint}")
    with pytest.raises(eh.InputError, match="resources is missing"):
        eh.Snapshot.from_frames()


@pytest.mark.parametrize(("table", "field"), [("nodes", "capacity"), ("requests", "resources")])
def test_a_column_of_a_resource_by_itself_is_told_its_name(table: str, field: str) -> None:
    rows = {"nodes": {"name": ["n"]}, "requests": {"name": ["r"], "operation": ["o"]}}
    frames: dict[str, Any] = {"operations": {"name": ["o"]}, table: {**rows[table], "cores": [4]}}
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_frames(resources=RESOURCES, **frames)
    said = f'an amount of a resource goes into a column such as "{field}.cpu"'
    assert_problem(caught.value, (table, None, "cores", "unknown_field"), said)
