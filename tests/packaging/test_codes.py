"""The table of codes has the order of the core's enumerations."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from evenhand import reasons
from tests.packaging.layers import ROOT

INCLUDE = ROOT / "cpp" / "include" / "evenhand"

#: Enumerators that are shorter than their codes.
LONGER = {
    "full_host_preemption": "default_gpu_full_host_preemption",
    "limits": "limits_of_operation_or_pool",
    "not_preemptible": "not_preemptible_flag",
}


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
        ("preempt/decision.h", "Stage", reasons.STAGES),
        ("preempt/decision.h", "Reason", reasons.REASONS),
        ("preempt/groups.h", "Group", (*reasons.GROUPS, "none")),
        ("preempt/recorder.h", "Outcome", reasons.OUTCOMES),
        ("policy/ytsaurus/update.h", "Priority", reasons.PRIORITIES),
    ],
)
def test_codes_are_the_cores(header: str, name: str, codes: Sequence[str]) -> None:
    assert [LONGER.get(word, word) for word in enumerators(header, name)] == [*codes]


def test_words_of_starvation_are_the_cores() -> None:
    header = "starve/starvation.h"
    assert enumerators(header, "Starvation") == reasons.STARVATION
    assert enumerators(header, "Status") == reasons.STATUSES
