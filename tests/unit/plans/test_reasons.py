"""The table of codes."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

from evenhand import reasons
from evenhand.reasons import TABLE, reason

RECORDED = Path(__file__).parents[2] / "data" / "golden"
COUNTED = {"queue", "count", "jobs", "most", "level", "seq_no"}
FIELDS = {
    "victim": {"allocation", "operation", "node", "request", "beneficiary", "lacking", "violated", "over"}
    | COUNTED,
    "start": {"allocation", "request", "operation", "node", "victims", "needed", "free"} | COUNTED,
    "stage": set(),
    "request": {"node", "operation", "request", "missing", "tags"},
    "allocation": {"node", "operation", "request", "stage", "missing"},
    "unseen": set(),
    "check": {
        *("allocation", "operation", "node", "request", "missing", "element", "was", "now"),
        *("beneficiary", "nodes", "why", "field", "victims"),
    },
}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.kind}-{row.code}")
def test_a_code_is_a_word_and_a_sentence_with_known_fields(row: reasons.Reason) -> None:
    assert re.fullmatch(r"[a-z][a-z_]+[a-z]", row.code)
    used = {field for _, field, _, _ in string.Formatter().parse(row.sentence) if field is not None}
    assert used <= FIELDS[row.kind]
    assert row.sentence.strip() == row.sentence
    assert not row.sentence.endswith(".")
    assert row.doc.endswith(".")
    assert row.source


def test_codes_are_unique_in_what_they_are_said_of() -> None:
    assert len({(row.kind, row.code) for row in TABLE}) == len(TABLE)
    for words in (reasons.REASONS, reasons.OUTCOMES, reasons.STAGES):
        assert len(set(words)) == len(words) < 255


def test_the_numbers_of_codes_never_change() -> None:
    """What is stored and compared elsewhere: append, never insert."""
    assert reasons.REASONS[:8] == [
        "preemption",
        "aggressive_preemption",
        "ssd_preemption",
        "ssd_aggressive_preemption",
        "default_gpu_full_host_preemption",
        "graceful_preemption",
        "resource_overcommit",
        "resource_limits_violated",
    ]
    assert reasons.REASONS[8:10] == ["fits_free_room", "fits_after_preemption"]
    assert reasons.STAGES[:3] == ["regular", "preemptive", "aggressive"]
    assert reasons.STAGES[3:9] == [
        "ssd_preemptive",
        "ssd_aggressive",
        "full_host",
        "graceful",
        "limit_repair",
        "overcommit",
    ]
    assert reasons.OUTCOMES[14:18] == [
        "no_heartbeat",
        "ssd_only",
        "within_fair_share_only",
        "penalty_too_high",
    ]
    assert reasons.OUTCOMES.index("taken") == 18
    assert reasons.OUTCOMES[29:31] == ["other_node", "no_violation"]
    assert reasons.ACTIONS == ("start", "preempt", "resume", "reserve", "release")
    modes = ("terminate", "requeue", "checkpoint", "preempt", "enhanced_suspend", "suspend")
    assert modes == reasons.MODES


def test_a_row_is_found_by_its_kind() -> None:
    assert reason("graceful_operation").kind == "allocation"
    assert reason("graceful", "stage").kind == "stage"
    with pytest.raises(KeyError):
        reason("graceful", "victim")
    with pytest.raises(KeyError):
        reason("nonsense")


def test_a_renamed_code_is_found_by_its_old_name() -> None:
    names = {row.code for row in TABLE}
    assert names.isdisjoint(reasons.RENAMED)
    assert names.issuperset(reasons.RENAMED.values())
    assert all(reason(old) is reason(new) for old, new in reasons.RENAMED.items())
    assert reason("nobody_may_go", "request").code == "no_eligible_victims"


def test_a_new_code_takes_no_name_of_before() -> None:
    with pytest.raises(ValueError, match="there are codes goes_on already"):
        reasons.add([reasons.Reason("goes_on", "start", "it starts", "It starts.")])
    assert reason("goes_on").code == "resumes"


def test_recorded_answers_are_compared_by_the_same_names() -> None:
    lines = (RECORDED / "renamed-codes.txt").read_text().splitlines()
    assert dict(line.split() for line in lines) == dict(reasons.RENAMED)
