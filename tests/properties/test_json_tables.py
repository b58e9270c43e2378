"""A JSON text read by columns is what the same text parsed into objects is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import _core
from tests.shapes import SHAPES, SINGLE, TINY, text_of, tiny_text_of


def outcome(read: Callable[[], eh.Snapshot]) -> Any:
    """Return all that can be seen of a snapshot, or of what is wrong."""
    try:
        made = read()
    except eh.InputError as error:
        # Of settings that are wrong, what stands before may have been made plain by then: 0 of -0.0.
        problems = [replace(p, value=None) if p.field == "settings" else p for p in error.problems]
        return problems, error.omitted, str(error)
    return made.fingerprint, json.dumps(made.to_dict())


def both(text: str) -> tuple[Any, Any]:
    """Read by columns, and by objects that Python's parser makes; only once what is not read by columns."""
    fast = outcome(lambda: eh.Snapshot.from_json(text))
    _, parts, *_ = _core.scan_json(text.encode("utf-8", "surrogatepass"), 4300, 1000, [])
    return fast, outcome(lambda: eh.Snapshot.from_dict(json.loads(text))) if parts else fast


@pytest.mark.parametrize("shape", [*SHAPES, *TINY, *SINGLE])
def test_shapes(shape: str) -> None:
    fast, slow = both((text_of if shape in SHAPES else tiny_text_of)(shape, 100_000))
    assert fast == slow


_TEXTS = st.sampled_from(["", "a", "b", "n1", "o", "1", "é", "\ud800", "\U0001f600", "x\ny", '"', "a" * 70])
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**400, 2**53 + 1])
    | st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.0, 1e-320, 1e300, 9.3e18, 0.1 + 0.2])
    | _TEXTS
)
_VALUES = st.recursive(
    _SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(_TEXTS, v, max_size=3), max_leaves=4
)
_AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory", "gpu", "é"]), st.integers(0, 3) | _SCALARS)
_TAGS = st.lists(st.sampled_from(["a", "b", "ü"]) | _SCALARS, max_size=3)
_NAMES = st.integers(0, 5) | st.sampled_from(["a", "b", "o", "1", "ü"])
_USUAL: dict[str, st.SearchStrategy[Any]] = {
    "name": _NAMES,
    "resources": _AMOUNTS,
    "limits": _AMOUNTS,
    "capacity": _AMOUNTS,
    "tags": _TAGS,
    "node_tags": _TAGS,
    "settings": st.dictionaries(_TEXTS, _VALUES, max_size=3),
    "integral": st.fixed_dictionaries(
        {}, optional={"type": st.sampled_from(["burst", "none", "x"]), "burst": _AMOUNTS, "b": _VALUES}
    ),
    "beneficiary": _NAMES | st.fixed_dictionaries({}, optional={"request": _NAMES, "operation": _SCALARS}),
    "operation": _NAMES,
    "parent": _NAMES,
    "pool": _NAMES,
    "node": _NAMES,
    "user": _TEXTS,
    "weight": st.integers(1, 3) | st.floats(0.5, 2.0),
    "count": st.integers(1, 3) | st.sampled_from([1.0, 2.0, 1.5]),
    "gang": st.booleans(),
    "kind": st.sampled_from(["batch", "preempt", "bath"]),
    "state": st.sampled_from(["running", "suspended", "asleep"]),
    "duration": st.sampled_from(["5m", "01:00:00", "soon", 3, 1.5]),
    "consumer": _NAMES,
    "providers": st.lists(_NAMES, max_size=3),
    "force": st.booleans(),
    "color": _VALUES,
}
_KEYS = {
    "nodes": ("name", "capacity", "tags", "settings", "color"),
    "pools": ("name", "parent", "weight", "limits", "integral", "settings"),
    "operations": ("name", "pool", "user", "weight", "kind", "limits", "color"),
    "allocations": ("name", "operation", "node", "resources", "state", "beneficiary", "settings"),
    "requests": ("name", "operation", "count", "gang", "duration", "node_tags"),
    "commands": ("consumer", "providers", "force", "user", "kind"),
}


def _column(draw: st.DrawFn, key: str, rows: int) -> list[Any]:
    """Draw cells of one sort, or of one sort with another here and there."""
    cells = draw(st.lists(_USUAL[key], min_size=rows, max_size=rows))
    if draw(st.integers(0, 3)) == 0 and rows:
        cells[draw(st.integers(0, rows - 1))] = draw(_VALUES)
    return cells


@st.composite
def _snapshots(draw: st.DrawFn) -> str:
    data: dict[str, Any] = {"resources": {"cpu": {}, "memory": {}}}
    for table in draw(st.lists(st.sampled_from(sorted(_KEYS)), unique=True)):
        count = draw(st.integers(0, 6))
        rows: list[Any] = [{} for _ in range(count)]
        keys = draw(st.lists(st.sampled_from(_KEYS[table]), unique=True))
        for key in keys:
            for row, cell in zip(rows, _column(draw, key, count), strict=True):
                if draw(st.integers(0, 7)):
                    row[key] = cell
        if "name" in _KEYS[table] and draw(st.integers(0, 3)):
            for i, row in enumerate(rows):
                row["name"] = draw(st.sampled_from([i, f"{table}{i}"]))
        if draw(st.integers(0, 5)) == 0 and rows:
            rows[draw(st.integers(0, count - 1))] = draw(_VALUES)
        data[table] = rows if draw(st.integers(0, 15)) else draw(_VALUES)
    if draw(st.integers(0, 7)) == 0:
        data[draw(st.sampled_from(["total", "root", "now", "schema", "resources", "tables"]))] = draw(_VALUES)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")]))
    return json.dumps(data, ensure_ascii=draw(st.booleans()), separators=separators)


@pytest.mark.parametrize(
    "rows",
    [
        '"pools": [{"name": "a", "parent": 0.5}, {"name": 0}, {"name": "c", "parent": 0}]',
        '"pools": [{"name": 0.5}, {"name": 0}]',
        '"operations": [{"name": "a", "user": 0.5}, {"name": "b", "user": 0}]',
        '"operations": [{"name": "a", "gang": 0.5}, {"name": "b", "gang": 1}]',
        '"operations": [{"name": "a", "weight": 0.5}, {"name": 1, "weight": 1}, {"name": "c", "weight": 0}]',
    ],
)
def test_integers_beside_reals(rows: str) -> None:
    fast, slow = both(f'{{"resources": {{"cpu": {{}}}}, {rows}}}')
    assert fast == slow


@given(_snapshots())
def test_snapshots(text: str) -> None:
    fast, slow = both(text)
    assert fast == slow


@given(_snapshots(), st.data())
def test_texts_that_are_changed_somewhere(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    gone = data.draw(st.integers(0, 2))
    put = data.draw(st.text('{}[],:"\\u01eE.+-tfnN \n\x00', max_size=2))
    fast, slow = both(text[:at] + put + text[at + gone :])
    assert fast == slow


@given(st.text('{}[],:"\\u01eE.+-truefalsn \n\x00') | _snapshots(), st.data())
def test_what_is_json(text: str, data: st.DataObject) -> None:
    """Parts are given for objects that Python's parser takes as well, and only for them."""
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.text('{}[],:"\\u01eE.+-tfnN \n\x00', max_size=2)) + text[at + 1 :]
    encoded = text.encode("utf-8", "surrogatepass")
    found, parts, *_ = _core.scan_json(encoded, 4300, 1000, [])
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError:
        assert not parts
        return
    if not found and isinstance(parsed, dict):
        assert {
            key: json.loads(encoded[at : at + size].decode("utf-8", "surrogatepass"))
            for key, at, size in parts
        } == parsed


@pytest.mark.parametrize("rows", [65_535, 65_536, 65_537, 140_000])
def test_unknown_keys_are_counted_alike(rows: int) -> None:
    made = ",".join(f'{{"name":{i},"k{i % 1500 if i > 70_000 else i % 999}":1}}' for i in range(rows))
    fast, slow = both(f'{{"resources":{{"cpu":{{}}}},"pools":[{made}]}}')
    assert fast == slow


@pytest.mark.parametrize("wrong", [99, 999, 1000, 1001])
def test_rows_that_are_no_objects(wrong: int) -> None:
    rows: list[Any] = [{"name": i} for i in range(50)] + list(range(wrong)) + [{"name": "z"}]
    fast, slow = both(json.dumps({"resources": {"cpu": {}}, "pools": rows}))
    assert fast == slow
