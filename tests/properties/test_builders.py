"""Whatever a builder is given, it either builds or raises InputError with problems that make sense."""

from __future__ import annotations

import copy
import datetime as dt
import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import _core, fields
from tests.unit.snapshots import GOOD, good

TABLES = ("nodes", "pools", "operations", "allocations", "requests", "reservations")

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.floats(0, 10).map(lambda x: round(x, 3)),
    st.sampled_from(
        ["", "n1", "n2", "etl", "prod", "burst", "a1", "r1", "<Root>", "5m", "fifo", "2026-01-01", "\ud800"]
    ),
    st.text(max_size=5),
)
keys = st.one_of(
    st.sampled_from(["cpu", "memory", "slots", "matlab", "type", "request", "operation", "name"]),
    st.text(max_size=4),
)
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
strange = st.one_of(
    plain,
    st.binary(max_size=3),
    st.datetimes(),
    st.datetimes(timezones=st.timezones()),
    st.timedeltas(),
    st.builds(object),
    st.complex_numbers(),
    st.decimals(),
    st.dictionaries(st.integers() | st.none() | st.tuples(st.integers()), scalars, max_size=2),
    st.sampled_from(
        [
            np.float64("nan"),
            np.int64(3),
            np.bool_(True),
            np.str_("n1"),
            np.datetime64("NaT", "s"),
            np.zeros(2),
        ]
    ),
    st.sets(st.integers(), max_size=2),
)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything in nested data."""
    found = [path] if path else []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += places(value, (*path, key))
    return found


PLACES = places(GOOD)


@st.composite
def damaged(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> dict[str, Any]:
    """A good snapshot in which some things are replaced, removed, or stand twice."""
    data: Any = good()
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(PLACES))
        place = data
        try:
            for step in path[:-1]:
                place = place[step]
            match draw(st.integers(0, 5)):
                case 0:
                    del place[path[-1]]
                case 1 if isinstance(place, list):
                    place.append(copy.deepcopy(place[path[-1]]))
                case 2 if isinstance(place, dict):
                    place[draw(keys)] = draw(values)
                case _:
                    place[path[-1]] = draw(values)
        except (KeyError, IndexError, TypeError):  # gone by an earlier damage
            continue
    return dict(data)


def build(make: Any) -> eh.Snapshot | None:
    """Run a builder; its error must be sound, and what it builds must come back from plain data."""
    try:
        snapshot: eh.Snapshot = make()
    except eh.InputError as error:
        check_error(error)
        return None
    assert eh.Snapshot.from_dict(snapshot.to_dict()) == snapshot
    return snapshot


def check_error(error: eh.InputError) -> None:
    """At most a hundred problems, a printable line each, one a cell, all of them somewhere."""
    assert 1 <= len(error.problems) <= 100
    assert error.omitted >= 0
    lines = str(error).split("\n")
    assert all(line.isprintable() for line in lines)
    assert len(lines) == len(error.problems) + (error.omitted > 0)
    for problem in error.problems:
        assert problem.table in ("snapshot", *fields.TABLES)
        assert problem.message
        assert problem.rule
        assert problem.row is None or problem.row >= 0
    cells = [(p.table, p.row, p.field) for p in error.problems]
    assert len(set(cells)) == len(cells), str(error)


@given(damaged(plain))
def test_plain_data(data: dict[str, Any]) -> None:
    before = copy.deepcopy(data)
    build(lambda: eh.Snapshot.from_dict(data))
    assert repr(data) == repr(before)


@given(damaged(strange), st.sampled_from([None, "rows"]), st.sampled_from([None, "nearest"]))
def test_any_objects(data: dict[str, Any], order: Any, rounding: Any) -> None:
    build(lambda: eh.Snapshot.from_dict(data, order=order, rounding=rounding))


@given(strange)
def test_anything(data: Any) -> None:
    build(lambda: eh.Snapshot.from_dict(data))
    build(lambda: eh.Snapshot.from_dict({"resources": data}))


@given(damaged(plain), st.integers(0, 2**32))
def test_json_text(data: dict[str, Any], seed: int) -> None:
    """Text with characters cut, doubled or swapped; where the parser takes it, text and data agree."""
    text = json.dumps(data)
    draw = random.Random(seed)
    for _ in range(draw.randint(0, 3)):
        at, length = draw.randrange(len(text) + 1), draw.randint(0, 30)
        text = draw.choice(
            [
                text[:at],
                text[:at] + text[at + length :],
                text[: at + length] + text[at:],
                text[:at] + draw.choice('{}[],:"\\0-eN\n\x00') + text[at:],
            ]
        )
    from_text = build(lambda: eh.Snapshot.from_json(text))
    build(lambda: eh.Snapshot.from_json(text.encode("utf-8", "surrogatepass")))
    if from_text is not None:
        assert eh.Snapshot.from_dict(json.loads(text)) == from_text


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_noise(source: bytes | str) -> None:
    build(lambda: eh.Snapshot.from_json(source))


def columns_of(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


arrays = st.one_of(
    st.lists(plain, min_size=0, max_size=4),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3).map(lambda x: np.array(x, np.int64)),
    st.lists(st.integers(0, 2**64 - 1), max_size=3).map(lambda x: np.array(x, np.uint64)),
    st.lists(st.integers(-1, 3), max_size=3).map(lambda x: np.array(x, np.int8)),
    st.lists(st.floats(), max_size=3).map(np.array),
    st.lists(st.floats(width=16), max_size=3).map(lambda x: np.array(x, np.float16)),
    st.lists(st.booleans(), max_size=3).map(np.array),
    st.lists(st.text(max_size=3), max_size=3).map(np.array),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3).map(lambda x: np.array(x, "M8[us]")),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3).map(lambda x: np.array(x, "M8[ns]")),
    st.lists(st.integers(-(2**40), 2**40), max_size=3).map(lambda x: np.array(x, "M8[D]")),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3).map(lambda x: np.array(x, "m8[s]")),
    st.lists(st.binary(max_size=2), max_size=3).map(np.array),
    strange,
)
column_names = st.one_of(
    st.sampled_from([name for table in TABLES for name in fields.TABLES[table].names]),
    st.sampled_from(
        ["capacity.cpu", "demand.memory", "limits.gpu", "pool_index", "operation_index", "node_index"]
    ),
    st.sampled_from(
        ["settings.x", "settings.x.y", "integral", "beneficiary", "name_index", "capacity.", ".", "_index"]
    ),
)
zones = st.sampled_from([None, "UTC", "Europe/Amsterdam", "Nowhere/Land", dt.timezone(dt.timedelta(hours=5))])


@given(st.sampled_from(TABLES), st.dictionaries(column_names, arrays, max_size=4), zones)
def test_dicts_of_arrays(table: str, columns: dict[str, Any], zone: Any) -> None:
    tables: dict[str, Any] = {name: columns_of(GOOD[name]) for name in TABLES}
    tables[table] = {**tables[table], **columns}
    build(lambda: eh.Snapshot.from_frames(resources=GOOD["resources"], **tables, timezone=zone))
    alone: dict[str, Any] = {table: columns}
    build(lambda: eh.Snapshot.from_frames(resources=GOOD["resources"], **alone, timezone=zone))


typed = st.one_of(
    *(
        st.lists(st.none() | items, min_size=2, max_size=2)
        for items in (
            st.integers(-(2**63), 2**63 - 1),
            st.integers(-1, 2),
            st.floats(),
            st.booleans(),
            st.text(max_size=3),
            st.sampled_from(["etl", "prod", "n1", "fifo", "5m"]),
            st.datetimes(),
            st.datetimes(timezones=st.just(dt.UTC)),
            st.timedeltas(),
            st.decimals(-(10**6), 10**6, places=3),
            st.dates(),
            st.binary(max_size=3),
            st.lists(st.text(max_size=2), max_size=2),
            st.fixed_dictionaries({"cpu": st.floats(), "memory": st.none() | st.floats()}),
        )
    )
)


@given(
    st.sampled_from(["pandas", "polars", "pyarrow", "pandas-arrow"]),
    st.sampled_from(TABLES),
    st.dictionaries(column_names, typed, min_size=1, max_size=4),
    zones,
)
def test_frames(library: str, table: str, columns: dict[str, Any], zone: Any) -> None:
    named = {"name": ["etl", "prod"], **columns}
    try:
        match library:
            case "pandas":
                frame = pytest.importorskip("pandas").DataFrame(named)
            case "polars":
                frame = pytest.importorskip("polars").DataFrame(named)
            case "pyarrow":
                frame = pytest.importorskip("pyarrow").table(named)
            case _:
                pandas = pytest.importorskip("pandas")
                frame = pytest.importorskip("pyarrow").table(named).to_pandas(types_mapper=pandas.ArrowDtype)
    except Exception:  # what the library itself does not make a frame of
        assume(False)
    others = {name: GOOD[name] for name in TABLES if name != table}
    build(
        lambda: eh.Snapshot.from_frames(
            resources=GOOD["resources"], **others, **{table: frame}, timezone=zone
        )
    )
    build(lambda: eh.Snapshot.from_frames(resources=GOOD["resources"], **{table: frame}, timezone=zone))


@given(
    damaged(plain),
    st.lists(st.sampled_from([*TABLES, "now", "total", "root", "commands", "resources"]), max_size=3),
)
def test_replace(data: dict[str, Any], names: list[str]) -> None:
    """Replacing parts is building afresh, from the same rows."""
    base = eh.Snapshot.from_dict(good())
    changes = {name: data.get(name) for name in names}
    if any(not isinstance(changes.get(name), list | dict | None) for name in TABLES):
        with pytest.raises(TypeError, match="takes a pandas, polars or pyarrow table"):
            base.replace(**changes)
        return
    replaced = build(lambda: base.replace(**changes))
    if replaced is not None and not any(isinstance(changes.get(name), dict) for name in TABLES):
        assert replaced == eh.Snapshot.from_dict({**good(), **changes})


_KEYS = st.sampled_from(["a", "b", "\n", "é", "\ud800", "\U0001f600", '"', "a" * 9, "a" * 8 + "b", ""])
_NUMBERS = st.sampled_from(["0", "-1.5e3", "NaN", "-Infinity", "Infinity", "9" * 5000, "-" + "9" * 4300])


def _json_text(draw: st.DrawFn, depth: int, path: list[Any], found: list[tuple[Any, ...]]) -> str:
    """Draw a text, and list what is wrong in it: an object's own before those inside of it."""
    kind = draw(st.sampled_from(["number", "text", "object", "object", "list"][: 5 if depth else 2]))
    space = draw(st.sampled_from(["", " ", "\n\t"]))
    if kind == "number":
        number = draw(_NUMBERS)
        if "N" in number or "I" in number:
            found.append((path, "finite", number))
        elif len(number.lstrip("-")) > 4300:
            found.append((path, "overflow", number))
        return number
    if kind == "text":
        return json.dumps(
            draw(_KEYS | st.sampled_from(["{", "[,", '"a":1', "\\\\"])), ensure_ascii=draw(st.booleans())
        )
    if kind == "list":
        items = [_json_text(draw, depth - 1, [*path, i], found) for i in range(draw(st.integers(0, 3)))]
        return f"[{space}{f'{space},'.join(items)}{space}]"
    keys = draw(st.lists(_KEYS, max_size=draw(st.sampled_from([3, 20]))))
    found += [([*path, key], "duplicate_key", "") for key in sorted({k for k in keys if keys.count(k) > 1})]
    parts = []
    for key in keys:
        item = _json_text(draw, depth - 1, [*path, key], found)
        parts.append(f"{json.dumps(key, ensure_ascii=draw(st.booleans()))}{space}:{space}{item}")
    return f"{{{space}{f',{space}'.join(parts)}{space}}}"


@given(st.data())
def test_what_json_lets_pass_is_found(data: st.DataObject) -> None:
    found: list[tuple[Any, ...]] = []
    text = _json_text(data.draw, 4, [], found)
    encoded = text.encode("utf-8", "surrogatepass")
    scanned = [
        (path, rule, encoded[at : at + size].decode())
        for path, rule, at, size in _core.scan_json(encoded, 4300, 10**6, [])[0]
    ]
    assert scanned == found


@given(
    st.binary() | st.text('{}[],:"\\u\ud8001NaI-') | st.recursive(st.just("1"), lambda t: t.map("[{}".format))
)
def test_scanning_anything(source: bytes | str) -> None:
    encoded = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass")
    _core.scan_json(encoded, 4300, 5, [])
