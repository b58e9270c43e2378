"""How long a beneficiary waits for what is known, by journals of drivers that were killed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live.kills import MOMENTS, longest_wait, written


def line(t: float, kind: str, **more: Any) -> dict[str, Any]:
    return {"t": t, "kind": kind, **more}


def step(t: float, number: int, job: str = "h", *victims: str) -> dict[str, Any]:
    return line(t, "step", step=number, beneficiary=job, victims=[{"job": v} for v in victims or ("v",)])


BEGUN = [line(0, "run"), step(1, 0), line(10, "run")]
LEFT = {"kind": "victim", "step": 0, "job": "v", "answer": "left"}


@pytest.mark.parametrize(
    ("after", "seconds"),
    [
        ([{"t": 17, **LEFT}], 7),
        (
            [
                {"t": 17, **LEFT, "answer": "unknown"},
                line(18, "end", step=0, outcome="not_started"),
                step(25, 1),
            ],
            15,
        ),
        ([line(18, "end", step=0, outcome="not_started", failures=1)], 8),
        ([line(18, "end", step=0, outcome="started")], 8),
        ([line(19, "refused", beneficiary="h")], 9),
        ([line(19, "refused", beneficiary="other"), line(20, "run"), step(24, 1)], 4),
        ([line(12, "note")], 0),
    ],
)
def test_it_counts_from_when_a_driver_begins(after: list[dict[str, Any]], seconds: float) -> None:
    """Until it did something; without a death, that it did nothing says nothing."""
    assert longest_wait([*BEGUN, *after], []) == seconds


def test_a_driver_that_was_killed_did_nothing_until_then() -> None:
    lines = [*BEGUN, line(40, "run"), {"t": 45, **LEFT}, line(46, "refused", beneficiary="h")]
    assert longest_wait(lines, [5, 31]) == 21
    assert longest_wait(lines, [5, 11]) == 5
    assert longest_wait(lines[:-1], [5, 31]) == 5, "no driver had anything to do for it any more"


def test_of_several_victims_all_must_have_left() -> None:
    lines = [line(0, "run"), step(1, 0, "h", "v", "w"), {"t": 2, **LEFT}, line(10, "run")]
    assert longest_wait([*lines, {"t": 17, **LEFT, "job": "w"}], []) == 7
    assert longest_wait([*lines, {"t": 17, **LEFT}, line(20, "end", step=0, outcome="started")], []) == 10
    known = [line(0, "run"), step(1, 0), {"t": 2, **LEFT}, line(10, "run")]
    assert longest_wait([*known, line(20, "end", step=0, outcome="started")], []) == 0


def test_moments_are_lines() -> None:
    text = '{"kind": "intent", "action": "note"}\n{"kind": "outcome", "action": "requeue_hold"}\n'
    assert [written(text, moment) for moment in MOMENTS] == [0, 0, 0, 1, 0, 0]
