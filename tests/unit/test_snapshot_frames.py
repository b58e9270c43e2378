"""Snapshots from pandas, polars and pyarrow tables, and from dicts of arrays."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import evenhand as eh
from tests.unit.snapshots import GOOD, good, small
from tests.unit.test_snapshot_malformed import Where, assert_problem

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


INSTANT = dt.datetime(2026, 7, 1, 12, 0, 0, 250_001, tzinfo=dt.UTC)
SECONDS = 1782907200.250001
LOCAL = INSTANT.astimezone(ZoneInfo("Europe/Amsterdam"))
NAIVE = LOCAL.replace(tzinfo=None)


@pytest.mark.parametrize(
    "column",
    [
        [INSTANT],
        [LOCAL],
        [LOCAL.isoformat()],
        [SECONDS],
        pl.Series([INSTANT]),
        pl.Series([INSTANT]).dt.convert_time_zone("Asia/Tokyo"),
        pl.Series([INSTANT]).dt.cast_time_unit("ns"),
        pa.array([INSTANT], pa.timestamp("us", "Europe/Amsterdam")),
        pa.array([INSTANT], pa.timestamp("ns", "UTC")),
        pa.array([LOCAL.isoformat()]),
        pd.Series([INSTANT]),
        pd.Series([LOCAL]),
        pd.Series([LOCAL], dtype=object),
        np.array([SECONDS]),
    ],
    ids=lambda c: f"{type(c).__module__}.{getattr(c, 'dtype', getattr(c, 'type', type(c[0]).__name__))}",
)
def test_instants(column: Any) -> None:
    snapshot = eh.Snapshot.from_frames(resources=RESOURCES, operations={"name": ["o"], "start_time": column})
    assert snapshot._core.column("operations", "start_time")[0] == 1782907200_250_001


NAIVES = [
    [NAIVE],
    [NAIVE.isoformat()],
    np.array([NAIVE], "M8[us]"),
    np.array([NAIVE], "M8[ns]"),
    pl.Series([NAIVE]),
    pa.array([NAIVE]),
    pd.Series([NAIVE]),
]
naives = pytest.mark.parametrize(
    "column",
    NAIVES,
    ids=lambda c: f"{type(c).__module__}.{getattr(c, 'dtype', getattr(c, 'type', type(c[0]).__name__))}",
)


@naives
def test_naive_instants_need_a_time_zone(column: Any) -> None:
    with pytest.raises(eh.InputError, match="timezone=") as caught:
        eh.Snapshot.from_frames(resources=RESOURCES, operations={"name": ["o"], "start_time": column})
    (problem,) = caught.value.problems
    assert (problem.table, problem.field, problem.rule) == ("operations", "start_time", "timezone")


@naives
@pytest.mark.parametrize(
    "timezone", ["Europe/Amsterdam", ZoneInfo("Europe/Amsterdam")], ids=["name", "tzinfo"]
)
def test_naive_instants_in_a_time_zone(column: Any, timezone: Any) -> None:
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, operations={"name": ["o"], "start_time": column}, timezone=timezone
    )
    assert snapshot._core.column("operations", "start_time")[0] == 1782907200_250_001


@pytest.mark.parametrize(
    ("local", "part"),
    [
        (dt.datetime(2026, 3, 29, 2, 30), "does not exist in Europe/Amsterdam"),  # noqa: DTZ001
        (dt.datetime(2026, 10, 25, 2, 30), "happens twice in Europe/Amsterdam"),  # noqa: DTZ001
    ],
)
@pytest.mark.parametrize("as_array", [False, True])
def test_local_times_without_a_single_meaning(local: dt.datetime, part: str, as_array: bool) -> None:
    good_one = dt.datetime(2026, 5, 1)  # noqa: DTZ001
    column = np.array([good_one, local], "M8[us]") if as_array else [good_one, local]
    with pytest.raises(eh.InputError) as caught:
        eh.Snapshot.from_frames(
            resources=RESOURCES,
            operations={"name": ["a", "b"], "start_time": column},
            timezone="Europe/Amsterdam",
        )
    assert_problem(caught.value, ("operations", 1, "start_time", "timezone"), part)


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_units(unit: str) -> None:
    column = np.array(["1970-01-01", "NaT", "1971-01-01"], f"M8[{unit}]")
    seconds = column[2].astype("M8[s]").astype(float)
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, nodes={"name": [1, 2, 3], "overcommitted_since": column}, timezone="UTC"
    )
    assert snapshot.table("nodes")["overcommitted_since"] == [0, None, seconds]


def test_nanoseconds_are_rounded() -> None:
    column = np.array([-501, -500, 499, 500, 1_499, 2**63 - 1], "M8[ns]")
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, operations={"name": range(6), "start_time": column}, timezone="UTC"
    )
    assert snapshot._core.column("operations", "start_time").tolist() == [
        -1,
        0,
        0,
        1,
        1,
        9_223_372_036_854_776,
    ]


def test_absent_instants() -> None:
    for column in (
        np.array(["2026-01-01", "NaT"], "M8[s]"),
        pl.Series([dt.datetime(2026, 1, 1), None]),  # noqa: DTZ001
        pd.Series([dt.datetime(2026, 1, 1), None]),  # noqa: DTZ001
    ):
        snapshot = eh.Snapshot.from_frames(
            resources=RESOURCES, nodes={"name": ["a", "b"], "overcommitted_since": column}, timezone="UTC"
        )
        assert snapshot.table("nodes")["overcommitted_since"] == [1767225600, None]


@pytest.mark.parametrize(
    "column",
    [
        ["1m30s"],
        ["00:01:30"],
        [90],
        [dt.timedelta(seconds=90)],
        np.array([90], "m8[s]"),
        np.array([90_000_000_000], "m8[ns]"),
        pl.Series([dt.timedelta(seconds=90)]),
        pl.Series(["90s"]),
        pa.array([dt.timedelta(seconds=90)]),
        pd.Series([dt.timedelta(seconds=90)]),
    ],
    ids=lambda c: f"{type(c).__module__}.{getattr(c, 'dtype', getattr(c, 'type', c[0]))}",
)
def test_durations(column: Any) -> None:
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES,
        operations={"name": ["o"]},
        requests={"name": ["r"], "operation": ["o"], "duration": column},
    )
    assert snapshot.to_dict()["requests"] == [{"name": "r", "operation": "o", "duration": 90}]


def test_head_may_hold_instants() -> None:
    snapshot = eh.Snapshot.from_frames(
        resources=RESOURCES, now=LOCAL.isoformat(), previous_update=NAIVE, timezone="Asia/Tokyo"
    )
    assert snapshot.now == SECONDS
    assert snapshot.previous_update == SECONDS + 7200 - 9 * 3600


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
        "is not an ISO 8601 instant",
    ),
    (
        "operations",
        {"name": ["o"], "start_time": pa.array([dt.date(2026, 1, 1)])},
        ("operations", 0, "start_time", "type"),
        "is a Python date",
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
    with pytest.raises(eh.InputError, match="timezone is no time zone that this machine knows"):
        eh.Snapshot.from_frames(resources=RESOURCES, timezone="Mars/Olympus")
    with pytest.raises(TypeError, match="a name or a tzinfo, not int"):
        eh.Snapshot.from_frames(resources=RESOURCES, timezone=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="frame"):
        eh.Snapshot.from_frames(resources=RESOURCES, frame=5)  # type: ignore[call-arg]


def test_empty_tables() -> None:
    for maker in MAKERS.values():
        snapshot = eh.Snapshot.from_frames(resources=RESOURCES, nodes=maker({"name": [], "capacity.cpu": []}))
        assert snapshot.node_count == 0


def test_replace_takes_frames() -> None:
    snapshot = eh.Snapshot.from_dict(small())
    frame = pl.DataFrame({"name": ["n"], "capacity.cpu": [9.5]})
    assert snapshot.replace(nodes=frame).total == {"cpu": 9.5, "memory": 0}
