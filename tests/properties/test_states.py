"""Rows of states are read many at a time, or one by one: what comes out is the same."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import state, state_tables
from evenhand.frozen import FrozenDict
from evenhand.systems import SYSTEMS
from tests.unit.systems.toy.record import TOY

NOW = 100
STARVATION = next(c.words for c in SYSTEMS["ytsaurus"].memory if c.words)
names = st.integers(-3, 2**70) | st.text(max_size=3)
instants = st.none() | st.integers(-(2**60), NOW) | st.floats(-1e308, NOW)
amounts = st.integers(0, 2**70) | st.floats(0, 1e308)


def table(fields: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    row = st.fixed_dictionaries({"name": names, **fields}, optional=optional)
    whole = st.fixed_dictionaries({"name": names, **fields, **optional})
    one = {"unique_by": lambda row: (row["name"], row.get("kind")), "max_size": 12}
    return st.lists(row, **one) | st.lists(whole, **one)  # type: ignore[arg-type]


#: All that the tables have; rows of a system that is not there, too.
states = st.fixed_dictionaries(
    {"schema": st.just(state.SCHEMA), "time": st.just(NOW)},
    optional={
        "pools": table(
            {},
            {
                "accumulated_volume": st.dictionaries(st.text(max_size=2), amounts),
                "last_share_ratio": amounts,
            },
        ),
        "elements": table(
            {"kind": st.sampled_from(["pool", "operation"]), "starvation": st.sampled_from(STARVATION)},
            {"since": instants},
        ),
        "nodes": table({}, {"last_preemptive": instants, "overcommitted_since": instants}),
        # Systems remember different things of operations: a row without any may be of each of them.
        "operations": table({"last_preempt": instants}, {}),
    },
)
#: What stands in the place of a row, a cell or an amount; of a name, the next row's.
SPOILT = [
    *(None, True, 5, -1, -0.0, 1e300, 10**400, float("inf"), -float("inf"), float("nan"), "", "x", [], {}),
    *([1], {"a": -1}, {"a": True}, {"a": 10**400}, {"name": "x"}, NOW, NOW + 0.5),
]
FIELDS = ["name", "kind", "since", "starvation", "last_preemptive", "last_preempt", "accumulated_volume"]


@st.composite
def spoilt(draw: st.DrawFn) -> dict[str, Any]:
    """Return a state in which at most one thing is wrong."""
    data: dict[str, Any] = copy.deepcopy(draw(states))
    tables = [key for key, rows in data.items() if isinstance(rows, list) and rows]
    if not tables:
        return data
    rows = data[draw(st.sampled_from(tables))]
    at = draw(st.integers(0, len(rows) - 1))
    match draw(st.sampled_from(["nothing", "row", "cell", "gone", "unknown", "again"])):
        case "row":
            rows[at] = draw(st.sampled_from(SPOILT))
        case "cell":
            key = draw(st.sampled_from([*rows[at], *FIELDS, "last_share_ratio"]))
            rows[at][key] = draw(st.sampled_from(SPOILT))
        case "gone":
            del rows[at][draw(st.sampled_from(list(rows[at])))]
        case "unknown":
            rows[at][draw(st.text(max_size=3))] = 1
        case "again":
            rows.append(copy.deepcopy(rows[at]))
    return data


def told(make: Any) -> Any:
    """Return a state with the types of all that is in it, or what is said of it."""
    try:
        made = make()
    except eh.InputError as error:
        return error.problems, str(error)
    for rows in (made.pools, made.elements, made.nodes, made.operations):
        assert type(rows) is FrozenDict
        assert all(type(row) is FrozenDict for row in rows.values())
        assert all(
            type(cell) is FrozenDict for row in rows.values() for cell in row.values() if type(cell) is dict
        )
    shown = repr(made)  # the order of rows and cells, -0.0, and 1 or 1.0
    for row in made.pools.values():  # in a file the resources of a volume are in one order
        volume = row["accumulated_volume"]
        shown = shown.replace(repr(volume), repr(dict(sorted(volume.items()))))
    return shown


def one_by_one(data: Any) -> Any:
    def never(*_: Any, **__: Any) -> None:
        raise ValueError

    with patch.object(state_tables._Dicts, "columns", never):
        return told(lambda: eh.State.from_dict(data))


def as_file(data: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        path.write_text(json.dumps(data))
        return told(lambda: eh.State.load(path))


@pytest.mark.parametrize("another", [False, True])
@pytest.mark.parametrize("together", [1, 3, 512])
@given(data=spoilt())
def test_rows_together_are_as_rows_one_by_one(data: dict[str, Any], together: int, another: bool) -> None:
    systems = {**SYSTEMS, **({"toy": TOY} if another else {})}
    with patch.object(state_tables, "_TOGETHER", together), patch.object(state_tables, "SYSTEMS", systems):
        before = copy.deepcopy(data)
        expected = one_by_one(data)
        assert told(lambda: eh.State.from_dict(data)) == expected
        assert repr(data) == repr(before), "what is given stays as it was"
        if not any(word in json.dumps(data) for word in ("Infinity", "NaN")):
            assert as_file(data) == expected


@given(data=states)
def test_a_right_row_is_never_read_alone(data: dict[str, Any]) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError

    with patch.object(state_tables.Remembered, "one", never), patch.object(state_tables.Pools, "one", never):
        eh.State.from_dict(data)


@pytest.mark.parametrize(
    "number", ["1e-999", "0.01e-308", "1" * 400 + "e-400", "0." + "0" * 400 + "1e+9", "1e-" + "9" * 30]
)
def test_numbers_near_to_nothing_are_right(number: str, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text('{"schema":"evenhand/state/1","time":' + number + "}")
    assert eh.State.load(path).time == float(number)


@pytest.mark.parametrize(
    "number",
    [
        "1e999",
        "-1E+0400",
        "1" * 400 + ".5",
        "1" * 400 + "e-1",
        "0.01e999",
        "1e" + "9" * 30,
        "NaN",
        "-Infinity",
    ],
)
@given(data=states, extra=st.booleans())
def test_numbers_that_are_none_are_found_anywhere(number: str, data: dict[str, Any], extra: bool) -> None:
    """Before anything else that is wrong with a file that is JSON."""
    text = json.dumps({**data, "policy": ["here"], **({"unknown": 1} if extra else {})})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        path.write_text(text.replace('"here"', number))
        with pytest.raises(eh.InputError) as caught:
            eh.State.load(path)
    assert str(caught.value).startswith(f"state: {number} is not a number of JSON")
