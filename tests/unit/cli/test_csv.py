"""CSV that a spreadsheet opens: no cell of other people's names is a formula, and numbers stay numbers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest  # noqa: TC002 - fixtures

from evenhand.cli.streams import print_csv
from evenhand.table import Table

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "＝1", "＋1", "－1", "＠x", "  =1", "'=1", "'"]
PLAIN = ["a=1", "1-1", "x@y", "", " ", "a'b", "0", "node-1"]


def printed(table: Table, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    print_csv(table)
    return list(csv.reader(io.StringIO(capsys.readouterr().out)))


def test_text_that_begins_like_a_formula_gets_an_apostrophe(capsys: pytest.CaptureFixture[str]) -> None:
    names = [*FORMULAS, *PLAIN]
    head, *rows = printed(Table({"name": names}), capsys)
    assert head == ["name"]
    cells = [row[0] if row else "" for row in rows]
    assert cells == [f"'{name}" for name in FORMULAS] + PLAIN
    assert [cell.removeprefix("'") for cell in cells] == names, "the way back"


def test_numbers_are_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table({"float": [-1.5, 1e308], "integer": [-1, 2], "mixed": [-1, "-1"], "none": [None, None]})
    assert printed(table, capsys)[1:] == [["-1.5", "-1", "-1", ""], ["1e+308", "2", "'-1", ""]]


def test_heads_are_cells_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(Table({"=cmd": [1], "a": [2]}), capsys)[0] == ["'=cmd", "a"]


def test_tabs_and_line_breaks_before_a_sign_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(Table({"n": ["\t=1", "\r=1", "\n=1"]}), capsys)[1:] == [
        ["\\x09=1"],
        ["\\x0d=1"],
        ["\\x0a=1"],
    ]


def test_commands_write_such_csv(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    data = {
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 1}}],
        "operations": [{"name": "=HYPERLINK(A1)", "demand": {"cpu": 1}}],
    }
    path.write_text(json.dumps(data))
    status, out, _ = run("shares", path, "--format", "csv")
    assert status == 0
    names = [row["name"] for row in csv.DictReader(io.StringIO(out))]
    assert "'=HYPERLINK(A1)" in names
    assert not any(name.startswith("=") for name in names)
