"""Errors: what they say, what they carry, and that they travel."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest

import evenhand as eh
from evenhand import errors

PROBLEM = errors.Problem("pools", 2, "a", "weight", "positive", "-1", 'weight of the pool "a" is -1')


def test_input_error() -> None:
    error = eh.InputError([PROBLEM, PROBLEM], omitted=3)
    line = 'pools[2]: weight of the pool "a" is -1 [positive]'
    assert str(error) == f"{line}\n{line}\n... and at least 3 more"
    assert isinstance(error, eh.EvenhandError)
    assert isinstance(error, ValueError)
    assert error.to_frame()["rule"] == ["positive", "positive"]


@pytest.mark.parametrize(("count", "shown", "more"), [(3, 3, 0), (4, 4, 0), (5, 3, 2), (90, 3, 87)])
def test_problems_of_one_rule_and_field_are_counted(count: int, shown: int, more: int) -> None:
    """Three stand for all; a fourth that is the last is no longer than the line that would count it."""
    alike = [
        errors.Problem("pools", i, f"p{i}", "weight", "positive", "-1", f"weight of p{i} is -1")
        for i in range(count)
    ]
    other = errors.Problem("pools", 1, "p1", "limits.cpu", "positive", "-1", "limits.cpu of p1 is -1")
    error = eh.InputError([*alike, other])
    lines = str(error).split("\n")
    assert lines[:shown] == [f"pools[{i}]: weight of p{i} is -1 [positive]" for i in range(shown)]
    rest = f"pools: {more} more like these of weight; all are in the error's problems [positive]"
    assert lines[shown:-1] == [rest] * (more > 0)
    assert lines[-1] == "pools[1]: limits.cpu of p1 is -1 [positive]"
    assert len(error.problems) == count + 1


def test_input_error_travels() -> None:
    error = eh.InputError([PROBLEM], omitted=3)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (again.problems, again.omitted, str(again)) == (error.problems, 3, str(error))


def test_problem_without_a_row() -> None:
    problem = errors.Problem("snapshot", None, None, None, "json", None, "the snapshot is empty text")
    assert str(problem) == "snapshot: the snapshot is empty text [json]"


def test_require(monkeypatch: pytest.MonkeyPatch) -> None:
    assert errors.require("json.decoder", "json").__name__ == "json.decoder"
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(eh.MissingExtraError, match=r'pip install "evenhand\[polars\]"') as caught:
        errors.require("polars", "polars")
    assert isinstance(caught.value, ImportError)
    assert caught.value.name == "polars"


def test_require_does_not_hide_other_failures(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from pathlib import Path

    package = Path(str(tmp_path)) / "half_installed_package.py"
    package.write_text("import a_module_that_nobody_has\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="a_module_that_nobody_has") as caught:
        errors.require("half_installed_package", "x")
    assert not isinstance(caught.value, eh.MissingExtraError)
