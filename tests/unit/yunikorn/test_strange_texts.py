"""Whatever the texts are, they are read or refused with problems, never anything else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.adapters import yunikorn
from evenhand.errors import Problem
from tests.shared import DATA
from tests.unit.yunikorn.test_answers import NOW, full_dump

LINES = (DATA / "yunikorn" / "queues.yaml").read_text().splitlines()
DUMP = full_dump()

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.sampled_from(["", "root", "root.production", "default", "n-1", "spark-1", "0", "\x00", "\ud800"])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in plain data."""
    found = [above] if above else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        found += places(part, (*above, key))
    return found


PLACES = places(DUMP)


def refused_or_read(**given_texts: Any) -> None:
    problems: tuple[Problem, ...] = ()
    try:
        reading = yunikorn.read(**given_texts)
    except eh.InputError as error:
        problems = error.problems
    else:
        assert reading.snapshot.to_dict()
        assert all(d.to_dict()["message"] for d in reading.diagnostics)
        return
    assert problems
    assert all(p.rule and p.message for p in problems)


@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_answers_with_parts_that_were_changed(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    dump = copy.deepcopy(DUMP)
    for path, value in changes:
        at: Any = dump
        try:
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took that place away
    refused_or_read(dump=dump, now=NOW)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["leave out", "twice", "indent", "value", "characters"]),
            st.integers(0, len(LINES) - 1),
            st.sampled_from(
                ["", "0", "-1", "1.5Gi", "[]", "{}", "'*'", "*half", "&half x", "root", "!!binary a"]
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_configurations_with_lines_that_were_changed(changes: list[tuple[str, int, str]]) -> None:
    lines = list(LINES)
    for how, at, value in changes:
        line = lines[at]
        match how:
            case "leave out":
                lines[at] = ""
            case "twice":
                lines[at] = f"{line}\n{line}"
            case "indent":
                lines[at] = f"  {line}"
            case "value":
                lines[at] = f"{line.split(':')[0]}: {value}"
            case _:
                lines[at] = line.replace(":", value or "\t")
    refused_or_read(config="\n".join(lines))


@given(st.text(alphabet=" \n-:[]{}&*!?|>'\"%@,#ab01", max_size=60))
def test_any_text_for_a_configuration(text: str) -> None:
    refused_or_read(config=text)


@pytest.mark.parametrize(
    "answer", [b"null", b"[]", b"7", b'"x"', b"{}", b"[null]", b"[[]]", json.dumps([{}])]
)
@pytest.mark.parametrize("part", ["dump", "queues", "applications", "nodes"])
def test_answers_of_other_kinds(part: str, answer: Any) -> None:
    refused_or_read(config="partitions: [{queues: [{name: a}]}]", now=NOW, **{part: answer})
