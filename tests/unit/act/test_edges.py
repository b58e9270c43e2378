"""Caps, pauses, ages and what is remembered: exactly at their edges, and one step to each side."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evenhand.act import Caps
from evenhand.act.book import Book, OpenStep, Victim
from evenhand.act.journal import Journal, JournalError
from evenhand.act.judging import known_refusals
from evenhand.act.rotation import needed
from evenhand.act.tasks import Refusal, Task, standing_refusals
from evenhand.act.timing import Timing
from evenhand.adapters.protocol import Standing

HOUR, DAY = 3600.0, 24 * 3600.0
NOW = 1_800_000_000.0
STEP = 1e-6


def lines(*said: dict[str, Any]) -> list[dict[str, Any]]:
    """A journal of one cluster."""
    head = {"kind": "journal", "t": 0.0, "schema": "evenhand/journal/1", "cluster": "c"}
    return [{"n": n, **line} for n, line in enumerate((head, *said))]


def step(
    t: float, number: int = 0, job: str = "1", *, owed: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """A step in which one job left for another, which started; all of it at one instant."""
    victim = {"job": job, "owner": "ann", "action": "requeue_hold", "turn": 0, "reason": ""}
    told = [
        {"kind": "step", "victims": [victim], "beneficiary": "9", "reason": ""},
        {"kind": "intent", "job": job, "action": "requeue_hold"},
        {"kind": "end", "outcome": "started", "why": "", "owed": owed or {}},
    ]
    return [{"t": t, "step": number, **line} for line in told]


def summed(found: list[dict[str, Any]]) -> Book:
    book = Book()
    for line in found:
        book.add(line)
    return book


@pytest.mark.parametrize(("ago", "stays"), [(DAY - STEP, True), (DAY, True), (DAY + 1e-3, False)])
def test_a_journal_that_begins_anew_keeps_a_day(ago: float, stays: bool) -> None:
    kept = needed(lines(*step(NOW - ago)), NOW)
    assert len(kept) == (4 if stays else 1)
    assert summed(kept).evicted == 1


@pytest.mark.parametrize("ago", [0.0, DAY, DAY + 1.0, 400 * DAY])
@pytest.mark.parametrize("what", ["release", "resume", "look:requeue_hold"])
def test_what_a_job_is_owed_is_never_forgotten(ago: float, what: str) -> None:
    said = lines(*step(NOW - ago, owed={"1": what}), *step(NOW, 1, "2"))
    kept = needed(said, NOW)
    assert summed(kept).owed == summed(said).owed
    assert summed(kept).owed["1"].what == what
    settled = lines(*said[1:], {"kind": "settled", "t": NOW, "job": "1"})
    assert summed(needed(settled, NOW)).owed == {}


@pytest.mark.parametrize("ago", [0.0, DAY + 1.0, 400 * DAY])
def test_an_open_step_is_never_forgotten(ago: float) -> None:
    said = lines(*step(NOW - ago)[:2])
    assert summed(needed(said, NOW)).open == summed(said).open != {}


@pytest.mark.parametrize(("count", "fits"), [(1, True), (2, True), (3, False)])
@pytest.mark.parametrize("name", ["per_run", "per_hour", "per_owner", "per_job"])
def test_a_cap_may_be_reached_and_not_exceeded(name: str, count: int, fits: bool) -> None:
    """So many with the new one, of at most 2."""
    book = Book()
    book.evictions = [(NOW - 1, "ann", "1")] * (count - 1)
    caps = Caps(**{**dict.fromkeys(("per_run", "per_hour", "per_owner", "per_job")), name: 2})
    found = caps.exceeded(book, NOW, count - 1, [("1", "ann")])
    assert (found is None) == fits
    assert found is None or f"{name}=2: there would be 3 " in str(found)


@pytest.mark.parametrize(("count", "spent"), [(1, False), (2, True), (3, True)])
def test_a_job_or_an_owner_at_the_cap_is_spent(count: int, spent: bool) -> None:
    book = Book()
    book.evictions = [(NOW - 1, "ann", "1")] * count
    assert Caps(None, None, None, 2).spent(book, NOW) == ({"1"} if spent else set(), set())
    assert Caps(None, None, 2, None).spent(book, NOW) == (set(), {"ann"} if spent else set())


@pytest.mark.parametrize(("more", "counts"), [(-1e-3, True), (0.0, True), (1e-3, False)])
def test_caps_look_back_an_hour_and_a_day(more: float, counts: bool) -> None:
    for back, caps in ((HOUR, Caps(None, 1, None, None)), (HOUR, Caps(None, None, 1, None))):
        book = Book()
        book.evictions = [(NOW - back - more, "ann", "1")]
        assert (caps.exceeded(book, NOW, 0, [("2", "ann")]) is not None) == counts
    book.evictions = [(NOW - DAY - more, "ann", "1")]
    assert (Caps(None, None, None, 1).exceeded(book, NOW, 0, [("1", "bob")]) is not None) == counts


def test_pauses_double_up_to_eight_hours() -> None:
    timing = Timing(retry=1800.0)
    pauses = [timing.pause_after(failures) for failures in range(8)]
    assert pauses == [0.0, 1800.0, 3600.0, 2 * HOUR, 4 * HOUR, 8 * HOUR, 8 * HOUR, 8 * HOUR]
    assert timing.pause_after(10_000) == 8 * HOUR


@pytest.mark.parametrize(("ago", "times"), [(DAY - STEP, 3), (DAY, 3), (DAY + 1e-3, 1)])
def test_failures_in_a_row_are_remembered_for_a_day(ago: float, times: int) -> None:
    book = Book()
    book.failures = {"9": (2, NOW - ago)}
    victim = Victim("1", "ann", "requeue", 0, asked=True, answer="left")
    assert book.failed(OpenStep(0, NOW, "9", {"1": victim}), NOW) == times


def refused(planned: float, book: Book | None = None) -> list[Refusal]:
    """Why a step is not begun now, as far as plan and journal tell."""
    plan: Any = SimpleNamespace(snapshot=SimpleNamespace(now=planned))
    task: Any = SimpleNamespace(victims={"1": "requeue"}, beneficiary="9")
    timing = Timing(clock=lambda: NOW, retry=1800.0, max_age=60.0)
    return known_refusals(plan, task, book or Book(), timing)


@pytest.mark.parametrize(
    ("age", "old"), [(59.0, False), (60.0, False), (61.0, True), (-60.0, False), (-61.0, True)]
)
def test_a_plan_may_be_as_old_as_its_most(age: float, old: bool) -> None:
    """Or as far ahead: the controller's clock is another one."""
    assert [r.code for r in refused(NOW - age)] == (["plan_old"] if old else [])


@pytest.mark.parametrize(
    ("ago", "waits"), [(0.0, True), (1799.0, True), (1800.0, False), (1801.0, False), (-50_000.0, True)]
)
def test_one_that_did_not_start_is_left_alone_for_its_pause(ago: float, waits: bool) -> None:
    """Not longer than that if the clock was set back in between."""
    book = Book()
    book.failures = {"9": (1, NOW - ago)}
    assert [r.code for r in refused(NOW, book)] == (["did_not_start"] if waits else [])


def test_a_clock_that_was_set_back_lengthens_no_pause() -> None:
    book = Book()
    book.failures = {"9": (1, NOW + 50_000.0)}
    (found,) = refused(NOW, book)
    assert found.message.endswith("tried again in 30 min")


@pytest.mark.parametrize("action", ["requeue", "requeue_hold", "cancel", "suspend"])
@pytest.mark.parametrize("requeueable", [True, False])
def test_what_may_not_go_back_to_the_queue_is_not_requeued(action: str, requeueable: bool) -> None:
    task: Any = Task(SimpleNamespace(victims=()), None, {"1": action}, {})
    stands = Standing("1", "running", 0, True, "ann", requeueable, False, "")
    snapshot: Any = SimpleNamespace(resources=(), _head={"available_after_preemption": ()})
    found = [r.code for r in standing_refusals(task, {"1": stands}, snapshot)]
    lost = action.startswith("requeue") and not requeueable
    assert found == (["not_requeueable"] if lost else [])


@pytest.mark.parametrize(
    ("free", "enough"), [(64 * 1024 - 1, False), (64 * 1024, True), (64 * 1024 + 1, True)]
)
def test_room_that_must_be_free_on_the_disk(
    free: int, enough: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path / "j", "c", lambda: NOW) as journal:
        monkeypatch.setattr(os, "fstatvfs", lambda _: SimpleNamespace(f_bavail=free, f_frsize=1))
        if enough:
            journal.check_room()
        else:
            with pytest.raises(JournalError, match="fewer than 64 KiB"):
                journal.check_room()
