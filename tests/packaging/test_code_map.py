"""What the map of the code names is there."""

from __future__ import annotations

import re

import pytest

from evenhand.systems import SYSTEMS
from tests.packaging.layers import ROOT

PAGE = (ROOT / "docs/code-map.md").read_text(encoding="utf-8")
COLUMNS = ("ytsaurus", "slurm", "backendai", "gridengine", "yunikorn")


def table() -> list[tuple[str, str, str]]:
    """Each function of the table with its question and system."""
    rows = [
        line.strip("| ").split(" | ") for line in PAGE.split("## One plan")[0].splitlines() if "`" in line
    ]
    return [
        (row[0], system, name)
        for row in rows
        if len(row) == 1 + len(COLUMNS)
        for system, cell in zip(COLUMNS, row[1:], strict=True)
        for name in re.findall(r"`([\w:]+)`", cell)
    ]


def test_it_has_every_system() -> None:
    assert set(COLUMNS) == set(SYSTEMS)
    assert len(table()) >= 11 * len(COLUMNS)


@pytest.mark.parametrize(("question", "system", "name"), table())
def test_a_function_that_decides_is_where_the_map_says(question: str, system: str, name: str) -> None:
    folders = (ROOT / "cpp/src/policy" / system, ROOT / "cpp/include/evenhand/policy" / system)
    text = "\n".join(p.read_text() for folder in folders for p in sorted(folder.iterdir()))
    kind, _, function = name.rpartition("::")
    assert re.search(rf"\b{function}\b", text), f"{question}: {system} has no {name}"
    assert not kind or re.search(rf"\b{kind}\b", text), f"{question}: {system} has no {kind}"


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:cpp|python)/[\w/.]+)`", PAGE))))
def test_a_file_of_the_map_is_there(path: str) -> None:
    assert (ROOT / path).exists()
