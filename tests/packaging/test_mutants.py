"""Planted defects: each can be planted, its tests are there, and no wheel has any."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.systems import SYSTEMS
from tests.mutants.plant import by_file, plant
from tests.mutants.table import TABLES, Defect, defects
from tests.packaging.layers import ROOT

FILES = by_file()
ROOMS = {
    *("core", "model", "share", "starve", "place", "preempt", "sim"),
    *(f"policy-{word}" for word in SYSTEMS),
    *(
        "act",
        "adapters",
        "building",
        "cli",
        "cluster",
        "config",
        "explain",
        "folder",
        "history",
        "implausible",
        "living",
        "pace",
        "plans",
        "state",
        "sweep",
        "traces",
        "why",
    ),
}
LEAST = 60
REFUSES = "-DSKBUILD=2", "-DEVENHAND_MUTANTS=ON", "-P", str(ROOT / "cpp/mutants.cmake")


def is_expression(source: str, d: Defect) -> bool:
    """Whether both texts look like whole expressions of C++, which parentheses may enclose."""
    before = source[: source.index(d.old)].rstrip()
    whole = all(
        text.count("(") == text.count(")")
        and not re.search(r"[&|<>=!+*/?:,;-]$|^(for|if|return|while)\b", text.strip())
        for text in (d.old, d.new)
    )
    return whole and not before.endswith((".", "->", "::"))


def test_there_are_enough_in_every_room() -> None:
    every = defects()
    assert {path.stem for path in TABLES.glob("*.toml")} == ROOMS == {d.room for d in every}
    assert len(every) >= LEAST
    assert len({d.label for d in every}) == len(every)
    assert len({d.number for d in every}) == len(every)


@pytest.mark.parametrize("file", sorted(FILES))
def test_each_can_be_planted(file: str) -> None:
    here = FILES[file]
    source = (ROOT / file).read_text(encoding="utf-8")
    text = plant(source, here)  # raises `Misplaced` unless each text stands there exactly once
    for d in here:
        assert d.old != d.new
        assert d.whole or (d.new.strip() and not d.old.rstrip().endswith(";")), f"{d.label}: no expression"
        assert (f"MUTANT == {d.number}" if file.endswith(".py") else f"planted({d.number})") in text
        assert file.endswith(".py") or d.whole or is_expression(source, d), f"{d.label}: no expression"
    if file.endswith(".py"):
        names = [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
        assert names.count("MUTANT") == len(here), "one is planted into a text"


def test_without_a_defect_the_planted_source_says_what_the_source_says() -> None:
    """A text is kept as the other branch: taking the branches away gives the source again."""
    for file, here in FILES.items():
        if file.endswith(".py"):
            continue
        text = plant((ROOT / file).read_text(encoding="utf-8"), here)
        for d in here:
            text = text.replace(f"(evenhand::planted({d.number}) ? ({d.new}) : ({d.old}))", d.old)
            text = text.replace(f"if (evenhand::planted({d.number})) {{ {d.new} }} else {{ {d.old} }}", d.old)
        assert text.split("\n", 2)[2] == (ROOT / file).read_text(encoding="utf-8")


def test_what_runs_is_there() -> None:
    for d in defects():
        assert d.runs.binaries or d.runs.tests, d.label
        for layer in d.runs.binaries:
            assert list((ROOT / "cpp/tests" / layer).glob("*_test.cpp")), f"{d.label}: no tests of {layer}"
        for test in d.runs.tests:
            path, *names = test.split("::")
            assert (ROOT / path).exists(), f"{d.label}: no {path}"
            source = (ROOT / path).read_text(encoding="utf-8") if names else ""
            for name in names:
                assert re.search(rf"^def {re.escape(name)}\(", source, re.MULTILINE), f"{d.label}: no {test}"


def test_no_build_that_is_installed_has_any() -> None:
    core = Path(eh._core.__file__).read_bytes()
    assert b"EVENHAND_MUTANT" not in core
    assert "MUTANTS" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_a_wheel_with_defects_is_refused() -> None:
    done = subprocess.run(["cmake", *REFUSES], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "never in a wheel" in done.stderr
