"""What a large file costs beyond its parsing, right or wrong: few calls and little memory."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.building.problems import COUNTED, KEPT
from tests.counting import calls
from tests.shapes import RIGHT, SHAPES, SINGLE, STATES, TINY, TWICE, state_text_of, text_of, tiny_text_of

SIZE = 100_000
DEEP = "settings too deep"  # long rows, of which many are needed
LONG = 450_000  # more wrong rows than are counted
BYTES = 4.0  # beyond parsing, a byte of text


@pytest.fixture(scope="module", autouse=True)
def collected_quickly() -> None:
    """Leave aside what other tests keep, which each collection below would look through."""
    gc.collect()
    gc.freeze()  # for good: what stands since the start is frozen, too (tests/conftest.py)


def read(text: str) -> eh.InputError | None:
    try:
        eh.Snapshot.from_json(text)
    except eh.InputError as error:
        return error
    return None


def peak(call: Callable[[], Any]) -> int:
    """Most bytes that were held at once."""
    gc.collect()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", SHAPES)
def test_memory(shape: str) -> None:
    text = text_of(shape, SIZE)
    read(text_of(shape, 1000))  # imports
    assert peak(lambda: read(text)) - peak(lambda: json.loads(text)) <= BYTES * len(text)


@pytest.mark.parametrize("shape", [*TINY, *SINGLE])
def test_memory_of_tiny_rows(shape: str) -> None:
    text = tiny_text_of(shape, 2 * SIZE)  # beside which what a reading takes anyway is little
    read(tiny_text_of(shape, 1000))  # imports
    assert peak(lambda: read(text)) - peak(lambda: json.loads(text)) <= BYTES * len(text)


@pytest.mark.parametrize("shape", [*SHAPES, *TINY, *SINGLE])
def test_no_function_is_called_for_every_row(shape: str) -> None:
    """Beyond the problems that are counted, twice the rows take as many calls."""
    make = text_of if shape in SHAPES else tiny_text_of
    size = LONG // 2 if shape in TINY and shape != DEEP else LONG
    read(make(shape, 1000))  # imports
    text, twice = make(shape, size), make(shape, 2 * size)
    more_rows = twice.count("}") - text.count("}")
    assert calls(lambda: read(twice)) - calls(lambda: read(text)) <= max(more_rows, LONG // 200) / 20


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_said(shape: str) -> None:
    error = read(text_of(shape, SIZE))
    if shape in RIGHT:
        assert error is None
        return
    assert error
    first = error.problems[0]
    assert first.table == "allocations"
    assert first.row == (1 if shape == "the same name" else 0)
    assert len(error.problems) == (1 if shape.startswith("one unknown") else KEPT)
    if shape == TWICE:
        assert first.rule == "duplicate_key"


@pytest.mark.parametrize(("rows", "omitted"), [(KEPT, 0), (KEPT + 1, 1), (COUNTED, COUNTED - KEPT)])
@pytest.mark.parametrize("shape", ["a text for a time", "numbers for rows", "no name"])
def test_few_are_counted_exactly(shape: str, rows: int, omitted: int) -> None:
    data = json.loads(text_of(shape, LONG))
    data["allocations"] = data["allocations"][:rows]
    for read_it in (eh.Snapshot.from_dict, lambda data: eh.Snapshot.from_json(json.dumps(data))):
        with pytest.raises(eh.InputError) as error:
            read_it(data)
        assert (len(error.value.problems), error.value.omitted) == (KEPT, omitted)


def test_beyond_a_thousand_counting_ends() -> None:
    data = json.loads(text_of("a text for a time", LONG))
    assert len(data["allocations"]) > 2 * COUNTED
    with pytest.raises(eh.InputError) as error:
        eh.Snapshot.from_dict(data)
    assert error.value.omitted == COUNTED - KEPT
    assert str(error.value).endswith(f"... and at least {COUNTED - KEPT} more")


def test_problems_of_other_columns_are_found_as_well() -> None:
    data = json.loads(text_of("a text for a time", SIZE))
    data["allocations"][0]["priority"] = "high"
    with pytest.raises(eh.InputError) as error:
        eh.Snapshot.from_dict(data)
    assert [p.field for p in error.value.problems[:3]] == ["priority", "start_time", "start_time"]


def test_a_dict_is_left_as_it_was() -> None:
    """Only what the text gave is used up on the way."""
    data = json.loads(text_of("settings", 200_000))
    before = json.dumps(data)
    eh.Snapshot.from_dict(data)
    assert json.dumps(data) == before


def test_settings_from_text_and_from_a_dict_are_the_same() -> None:
    settings = {"a": [7.0, 1.5, {"b": 2**53 + 0.0}, None, True, "é"], "c": {"d": {}}}
    data = {"resources": {"cpu": {}}, "operations": [{"name": "o", "settings": settings}]}
    made = eh.Snapshot.from_json(json.dumps(data))
    assert made == eh.Snapshot.from_dict(data)
    assert made.fingerprint == eh.Snapshot.from_dict(data).fingerprint
    assert type(made.settings("operations")[0]["a"][0]) is int


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ('{"a": 9223372036854775808}', "overflow"),
        ('{"a": [1e999]}', "finite"),
        ('{"a": ["\\ud800"]}', "utf8"),
        ('{"\\ud800": 1}', "utf8"),
        ("[]", "type"),
        ('{"a": ' + "[" * 32 + "]" * 32 + "}", "depth"),
    ],
)
def test_settings_that_are_wrong_in_text(settings: str, rule: str) -> None:
    text = f'{{"resources": {{"cpu": {{}}}}, "operations": [{{"name": "o", "settings": {settings}}}]}}'
    with pytest.raises(eh.InputError) as from_text:
        eh.Snapshot.from_json(text)
    with pytest.raises(eh.InputError) as from_dict:
        eh.Snapshot.from_dict(json.loads(text))
    assert [p.rule for p in from_text.value.problems] == [rule]
    assert str(from_text.value) == str(from_dict.value)


def test_a_nesting_at_its_limit() -> None:
    settings = '{"a": ' + "[" * 31 + "]" * 31 + "}"
    text = f'{{"resources": {{"cpu": {{}}}}, "operations": [{{"name": "o", "settings": {settings}}}]}}'
    assert eh.Snapshot.from_json(text) == eh.Snapshot.from_dict(json.loads(text))


def load(path: Path) -> eh.InputError | None:
    try:
        eh.State.load(path)
    except eh.InputError as error:
        return error
    return None


@pytest.mark.parametrize("shape", STATES)
def test_states(shape: str, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(state_text_of(shape, SIZE))
    assert (load(path) is None) == shape.startswith("right")  # and imports
    most = peak(lambda: json.loads(path.read_text())) + BYTES * path.stat().st_size
    assert peak(lambda: load(path)) <= most


@pytest.mark.parametrize("shape", STATES)
def test_few_functions_are_called_for_rows_of_states(shape: str, tmp_path: Path) -> None:
    """Those of the block in which a row is wrong, and of numbers where one is too large."""
    paths = [tmp_path / "once.json", tmp_path / "twice.json"]
    for path, size in zip(paths, (SIZE, 2 * SIZE), strict=True):
        path.write_text(state_text_of(shape, size))
        load(path)  # imports
    once, twice = (calls(lambda path=path: load(path)) for path in paths)  # type: ignore[misc]
    per_row = 1 if shape == "a number too large" else 0
    rows = paths[0].read_text().count("}")
    assert twice - once <= rows * (per_row + 0.2) + 8000
