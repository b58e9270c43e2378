"""Codes and words have the order of the core's enumerations."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand import reasons
from tests.packaging.layers import ROOT

INCLUDE = ROOT / "cpp" / "include" / "evenhand"
HEADER = INCLUDE / "preempt" / "codes.h"


def enumerators(header: str, name: str) -> tuple[str, ...]:
    """The enumerators of an enumeration, as words: ``kNoRoom`` is ``no_room``."""
    text = re.sub(r"//[^\n]*", "", (INCLUDE / header).read_text())
    found = re.search(rf"enum class {name}\b[^{{]*\{{([^}}]*)\}}", text)
    assert found, f"no enumeration {name} in {header}"
    words = [part.split("=")[0].strip() for part in found[1].split(",") if part.strip()]
    return tuple(re.sub(r"(?<!^)([A-Z])", r"_\1", word.removeprefix("k")).lower() for word in words)


@pytest.mark.parametrize(
    ("header", "name", "codes"),
    [
        ("preempt/decision.h", "Action", reasons.ACTIONS),
        ("preempt/decision.h", "Mode", reasons.MODES),
        ("preempt/groups.h", "Group", (*reasons.GROUPS, "none")),
        ("policy/ytsaurus/update.h", "Priority", reasons.PRIORITIES),
    ],
)
def test_codes_are_the_cores(header: str, name: str, codes: tuple[str, ...]) -> None:
    assert enumerators(header, name) == codes


def test_words_of_starvation_are_the_cores() -> None:
    header = "starve/starvation.h"
    assert enumerators(header, "Starvation") == reasons.STARVATION
    assert enumerators(header, "Status") == reasons.STATUSES


def check(header: Path) -> tuple[int, str]:
    """Exit status and output of the comparison with a header."""
    made = [sys.executable, str(ROOT / "tools" / "make_codes.py"), "--check", str(header)]
    found = subprocess.run(made, check=False, capture_output=True, text=True)
    return found.returncode, found.stdout


def test_the_cores_codes_are_generated_from_the_systems_tables(tmp_path: Path) -> None:
    assert check(HEADER) == (0, "")
    other = tmp_path / "codes.h"
    other.write_text(HEADER.read_text().replace("  kBackoff,\n  kStageTaken,", "  kStageTaken,\n  kBackoff,"))
    status, told = check(other)
    assert status == 1
    assert "+  kBackoff," in told
