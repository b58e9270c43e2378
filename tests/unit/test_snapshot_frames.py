"""Snapshots from pandas, polars and pyarrow tables, and from dicts of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from tests.unit.snapshots import GOOD, good, small

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

TABLES = ("nodes", "pools", "operations", "allocations", "requests", "reservations")
RESOURCES: dict[str, Any] = {"cpu": {}, "memory": {}}


def flat(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Rows as columns with dotted names, None where a row has nothing."""
    flattened = []
    for row in rows:
        cells: dict[str, Any] = {}
        stack = [("", row)]
        while stack:
            prefix, value = stack.pop()
            for key, item in value.items():
                if isinstance(item, dict):
                    stack.append((f"{prefix}{key}.", item))
                else:
                    cells[prefix + key] = item
        flattened.append(cells)
    names = dict.fromkeys(name for cells in flattened for name in cells)
    return {name: [cells.get(name) for cells in flattened] for name in names}


def to_polars(columns: dict[str, Any]) -> Any:
    return pl.DataFrame(columns, strict=False)


def to_arrow_backed_pandas(columns: dict[str, Any]) -> Any:
    return pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)


MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "pandas-arrow": to_arrow_backed_pandas,
    "polars": to_polars,
    "pyarrow": pa.table,
    "chunked": lambda columns: pa.concat_tables([pa.table(columns).slice(0, 1), pa.table(columns).slice(1)]),
    "rows": lambda columns: [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ],
}
frames = pytest.mark.parametrize("maker", [m for m in MAKERS if m != "rows"])


def head(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in TABLES and key != "schema"}


@frames
def test_frames_say_what_dicts_say(maker: str) -> None:
    data = good()
    data["operations"][1]["name"] = "seventeen"  # a column of names has one type
    data["pools"][1]["settings"].pop("tags")
    tables = {name: MAKERS[maker](flat(data[name])) for name in TABLES}
    snapshot = eh.Snapshot.from_frames(**head(data), **tables)
    assert snapshot.to_dict() == eh.Snapshot.from_dict(data).to_dict()
    assert snapshot == eh.Snapshot.from_dict(data)


def test_lists_of_rows() -> None:
    assert eh.Snapshot.from_frames(
        **head(GOOD), **{name: GOOD[name] for name in TABLES}
    ) == eh.Snapshot.from_dict(good())


def test_nested_columns() -> None:
    data = good()
    data["operations"][1]["name"] = "seventeen"
    nodes = pl.DataFrame({"name": ["n1"], "capacity": [{"cpu": 8.0}], "settings": [{"rack": 7}]})
    pools = pa.table({"name": ["p"], "integral": [{"type": "burst", "burst": {"cpu": 1.0}}]})
    snapshot = eh.Snapshot.from_frames(resources=RESOURCES, nodes=nodes, pools=pools)
    assert snapshot.to_dict()["nodes"] == [{"name": "n1", "capacity": {"cpu": 8}, "settings": {"rack": 7}}]
    assert snapshot.to_dict()["pools"] == [{"name": "p", "integral": {"type": "burst", "burst": {"cpu": 1}}}]


@frames
def test_row_numbers(maker: str) -> None:
    make = MAKERS[maker]
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES,
        nodes=make({"name": ["n2", "n1"]}),
        pools=make({"name": ["z", "a"], "parent_index": [-1, 0]}),
        operations=make({"name": ["p", "o"], "pool_index": [1, -1]}),
        allocations=make(
            {"name": [5, 4], "operation_index": [0, 1], "node_index": [1, -1], "required_node_index": [0, -1]}
        ),
    )
    assert snapshot == eh.Snapshot.from_dict(
        {
            "resources": RESOURCES,
            "nodes": [{"name": "n2"}, {"name": "n1"}],
            "pools": [{"name": "z"}, {"name": "a", "parent": "z"}],
            "operations": [{"name": "p", "pool": "a"}, {"name": "o"}],
            "allocations": [
                {"name": 5, "operation": "p", "node": "n1", "required_node": "n2"},
                {"name": 4, "operation": "o"},
            ],
        }
    )


def test_row_numbers_may_be_absent() -> None:
    for index in (
        pl.Series([1, None]),
        pd.Series([1.0, None]),
        np.ma.array([1, 7], mask=[False, True]),
        [1, None],
    ):
        snapshot = eh.Snapshot.from_frames(
            resources=RESOURCES,
            pools={"name": ["a", "b"]},
            operations={"name": ["o", "q"], "pool_index": index},
        )
        assert snapshot.table("operations")["pool"] == ["b", None]


@pytest.mark.parametrize(
    "names",
    [
        np.array(["x", "yy"]),
        np.array(["x", "yy"], dtype=object),
        ("x", "yy"),
        pa.array(["x", "yy"]),
        pa.array(["w", "x", "yy"]).slice(1),
        pa.chunked_array([["x"], ["yy"]]),
        pa.array(["x", "yy"]).dictionary_encode(),
        pa.array(["x", "yy"], pa.string_view()),
        pa.chunked_array([["x"], ["yy"]], pa.string_view()),
        pl.Series(["x", "yy"]),
        pl.Series(["x", "yy"], dtype=pl.Categorical),
        pl.Series(["x", "yy"], dtype=pl.Enum(["x", "yy"])),
        pd.Series(["x", "yy"]),
        pd.Series(["x", "yy"], dtype=object),
        pd.Series(["x", "yy"], dtype="category"),
        pd.Series(["x", "yy"], dtype="string"),
        pd.Index(["x", "yy"]),
    ],
    ids=lambda names: f"{type(names).__module__}.{getattr(names, 'dtype', getattr(names, 'type', ''))}",
)
def test_columns_of_names(names: Any) -> None:
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, pools={"name": names}, operations={"name": names, "pool": names, "user": names}
    )
    assert snapshot.names("operations") == ["x", "yy"]
    assert snapshot.table("operations")["pool"] == ["x", "yy"]
    assert snapshot.table("operations")["user"] == ["x", "yy"]


@pytest.mark.parametrize(
    "names",
    [
        np.array([7, 30], np.int16),
        np.array([7, 30], np.uint64),
        pd.Series([7, 30], dtype="Int64"),
        pd.Series([7, 30], dtype="category"),
        pl.Series([7, 30], dtype=pl.UInt8),
        pa.array([7, 30]),
        range(7, 31, 23),
    ],
    ids=lambda names: f"{type(names).__module__}.{getattr(names, 'dtype', getattr(names, 'type', ''))}",
)
def test_columns_of_integer_names(names: Any) -> None:
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, pools={"name": names}, operations={"name": names, "pool": names}
    )
    assert snapshot.names("operations") == [30, 7]  # as text
    assert list(snapshot.table("operations")["pool"]) == [30, 7]


def test_pandas_makes_floats_of_integers_beside_absent_ones() -> None:
    frame = pd.DataFrame({"name": [1, 2], "pool": [7, None], "priority": [3, None], "limits.cpu": [None, 2]})
    assert frame["pool"].dtype == np.float64
    snapshot = eh.Snapshot.from_frames(resources=RESOURCES, pools={"name": [7]}, operations=frame)
    assert snapshot.to_dict()["operations"] == [
        {"name": 1, "pool": 7, "priority": 3},
        {"name": 2, "limits": {"cpu": 2}},
    ]


NUMBERS = [
    np.array([1, 2], np.int8),
    np.array([1, 2], np.uint64),
    np.array([1, 2], np.float32),
    np.array([1, 2], np.float16),
    np.ma.array([1.0, 2.0], mask=False),
    pl.Series([1, 2], dtype=pl.Decimal(10, 2)),
    pa.array([1, 2], pa.decimal128(10, 2)),
    pd.Series([1.0, 2.0], dtype="Float32"),
    pd.Series([1, 2], dtype=object),
    [np.int64(1), np.float64(2)],
]


@pytest.mark.parametrize("values", NUMBERS, ids=lambda v: f"{type(v).__module__}.{getattr(v, 'dtype', '')}")
def test_columns_of_numbers(values: Any) -> None:
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, nodes={"name": ["a", "b"], "capacity.cpu": values, "order": values}
    )
    assert snapshot.total == {"cpu": 3, "memory": 0}


def test_empty_tables() -> None:
    for maker in MAKERS.values():
        snapshot = eh.Snapshot.from_frames(resources=RESOURCES, nodes=maker({"name": [], "capacity.cpu": []}))
        assert snapshot.node_count == 0


def test_replace_takes_frames() -> None:
    snapshot = eh.Snapshot.from_dict(small())
    frame = pl.DataFrame({"name": ["n"], "capacity.cpu": [9.5]})
    assert snapshot.replace(nodes=frame).total == {"cpu": 9.5, "memory": 0}


@pytest.mark.parametrize(
    "made", [pa.table, lambda rows: pl.from_arrow(pa.table(rows)), lambda rows: pa.table(rows).to_pandas()]
)
def test_a_null_within_an_object_is_absent(made: Callable[..., Any]) -> None:
    """Arrow and polars make one struct of objects with different keys, and fill it up with nulls."""
    pools = {
        "name": ["q", "r", "s"],
        "settings.properties": [{"preemption.delay": "1s"}, {"priority.offset": "5"}, None],
        "strong_guarantee": [{"cpu": 1}, {"gpu": 1}, None],
        "settings": [{"x": {"deep": [{"a": 1}, {"b": None}]}}, {"y": 2}, None],
    }
    snapshot = eh.Snapshot.from_frames(
        nodes={"name": ["n"], "capacity.cpu": [4], "capacity.gpu": [4]},
        pools=made(pools),
        resources={"cpu": {}, "gpu": {}},
        now=5,
    )
    q, r, s = snapshot.to_dict()["pools"]
    assert q["settings"] == {"properties": {"preemption.delay": "1s"}, "x": {"deep": [{"a": 1}, {}]}}
    assert r["settings"] == {"properties": {"priority.offset": "5"}, "y": 2}
    assert (q["strong_guarantee"], r["strong_guarantee"]) == ({"cpu": 1}, {"gpu": 1})
    assert set(s) == {"name"}
