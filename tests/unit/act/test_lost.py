"""No job is held for ever: whenever its command arrives, also after all that counted as lost."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.act.book import Book
from evenhand.act.journal import Journal, read
from evenhand.act.rotation import needed
from evenhand.adapters.protocol import Answer, Standing
from tests.unit.act.site import Site, SiteAdapter, acted, driver_of, paid

DAY = 24 * 3600.0


def one_victim(arrives: float, evict: str = "requeue_hold") -> SiteAdapter:
    """The command to the victim is not answered, and arrives so many seconds later."""
    low = {"v": (4, 1, "n1"), "other": (4, 30, "n2")}
    adapter = SiteAdapter(Site({"n1": 4, "n2": 4}, **low, high=(4, 20, None)), evict)
    adapter.late("v", arrives)
    return adapter


def restart(site: Site, *, starts: bool = True) -> None:
    """The node of the victim fails: the job begins anew elsewhere, and its room is free for a moment."""
    site.end("other")
    site.leave("v", "pending")
    if starts:
        site.start("v", "n2")
    site.start("high", "n1")


@pytest.mark.parametrize("starts", [True, False])
@pytest.mark.parametrize("arrives", [5.0, 15.0, 500.0])
def test_a_restart_is_no_eviction(arrives: float, starts: bool, tmp_path: Path) -> None:
    """The command arrives after it, while the step waits or later, and the job is released."""
    adapter = one_victim(arrives)
    site = adapter.site
    site.later(2, lambda: restart(site, starts=starts))
    acted(adapter, tmp_path)
    book = paid(adapter, tmp_path).book
    assert site.jobs["v"]["turn"] == 2, "it arrived"
    assert site.jobs["v"]["state"] == "pending"
    assert not book.owed
    assert site.evicted() == ["v"]


def test_a_restart_shows_in_the_journal(tmp_path: Path) -> None:
    adapter = one_victim(100.0)
    site = adapter.site
    site.later(2, lambda: restart(site))
    acted(adapter, tmp_path)
    lines = read(tmp_path / "journal")
    assert [line["answer"] for line in lines if line["kind"] == "victim"] == ["restarted"]
    (end,) = (line for line in lines if line["kind"] == "end")
    assert (end["outcome"], end["owed"]) == ("started", {"v": "look:requeue_hold"})


def test_a_suspension_that_arrives_after_a_restart_is_taken_back(tmp_path: Path) -> None:
    adapter = one_victim(5.0, "suspend")
    site = adapter.site
    site.later(2, lambda: restart(site))
    site.later(60, lambda: site.end("high"))
    acted(adapter, tmp_path)
    book = paid(adapter, tmp_path).book
    assert site.asked[-1] == ("resume", "v")
    assert site.jobs["v"]["state"] == "running"
    assert not book.owed


def test_a_job_that_left_by_another_cause_is_not_taken_to_be_released(tmp_path: Path) -> None:
    """Its node fails while the command is under way: it leaves, then waits, and is held a minute later."""
    adapter = one_victim(60.0)
    site = adapter.site
    site.later(1.5, lambda: site.set("v", state="leaving"))

    def waits() -> None:
        site.leave("v", "pending")
        site.start("high", "n1")

    site.later(3.5, waits)
    acted(adapter, tmp_path)
    paid(adapter, tmp_path)
    assert site.asked == [("requeue_hold", "v"), ("release", "v")]
    assert site.jobs["v"]["state"] == "pending"


@pytest.mark.parametrize("at", ["beginning", "end"])
def test_a_command_that_counted_as_lost_is_found_by_its_mark(
    at: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It arrives two hours later, between two drivers or while one acts for others."""
    adapter = one_victim(7200.0)
    site = adapter.site
    acted(adapter, tmp_path)
    book = paid(adapter, tmp_path).book
    assert not book.owed
    assert list(book.lost) == ["v"]
    with caplog.at_level(logging.WARNING, logger="evenhand.act"):
        if at == "beginning":
            site.sleep(7200)
            with driver_of(adapter, tmp_path) as driver:
                book = driver.book
        else:
            with driver_of(adapter, tmp_path) as driver:
                site.sleep(7200)
                site.end("high")
                driver.act(adapter.policy().plan(driver.snapshot()))
                book = driver.book
    assert site.jobs["v"]["state"] == "pending"
    assert "v is held by a command that counted as lost, and is released" in caplog.text
    assert not book.owed
    assert not book.lost
    told = [line for line in read(tmp_path / "journal") if line["kind"] == "found"]
    assert [(line["job"], line["step"], line["state"]) for line in told] == [("v", 0, "held")]
    assert site.asked.count(("release", "v")) == 1


def test_a_command_that_counted_as_lost_may_arrive_after_a_later_one(tmp_path: Path) -> None:
    """The job was asked to leave once more meanwhile: that was seen held, and is released."""
    adapter = one_victim(7200.0)
    site = adapter.site
    acted(adapter, tmp_path)
    assert list(paid(adapter, tmp_path).book.lost) == ["v"]
    del adapter.on["requeue_hold", "v"]
    site.later(5, lambda: site.start("high", "n1"))
    acted(adapter, tmp_path)
    assert site.asked == [("requeue_hold", "v"), ("requeue_hold", "v"), ("release", "v")]
    site.end("high")
    site.start("v", "n1")
    site.sleep(7200)
    assert site.jobs["v"]["state"] == "held"
    paid(adapter, tmp_path, 30)
    assert site.jobs["v"]["state"] == "pending"


def test_what_no_command_of_ours_holds_is_left_alone(tmp_path: Path) -> None:
    """Lost for good; then a person holds the job by its name, which bears no mark."""
    adapter = one_victim(10 * DAY)
    site = adapter.site
    acted(adapter, tmp_path)
    paid(adapter, tmp_path)
    site.leave("v")
    site.set("v", held=True)
    paid(adapter, tmp_path, 30)
    assert site.asked == [("requeue_hold", "v")]


@pytest.mark.parametrize("answers", ["done", "refused"])
def test_a_job_that_was_seen_held_and_released_is_not_looked_after(answers: str, tmp_path: Path) -> None:
    """Somebody sends it back to the queue held, later: that is no command of ours."""
    adapter = one_victim(3.0)
    site = adapter.site
    site.later(5, lambda: site.start("high", "n1"))
    if answers == "refused":
        # No word is believed: a look shows that it is released.
        def release() -> Answer:
            adapter.done("release", "v")
            return Answer("refused", "try again")

        adapter.on["release", "v"] = release
    acted(adapter, tmp_path)
    assert not paid(adapter, tmp_path, 30).book.lost
    site.leave("v")
    paid(adapter, tmp_path)
    assert site.asked == [("requeue_hold", "v"), ("release", "v")]
    assert site.jobs["v"]["state"] == "held"


def test_a_look_that_fails_is_made_up_for(tmp_path: Path) -> None:
    adapter = one_victim(7200.0)
    site = adapter.site
    acted(adapter, tmp_path)
    paid(adapter, tmp_path)
    site.sleep(7200)

    def fails() -> None:
        raise OSError("no route")

    adapter.before_look = fails
    with driver_of(adapter, tmp_path) as driver:
        assert list(driver.book.lost) == ["v"]
    adapter.before_look = lambda: None
    paid(adapter, tmp_path, 30)
    assert site.jobs["v"]["state"] == "pending"


def lost(path: Path, since: float) -> list[dict[str, object]]:
    victim = {"job": "v", "owner": "v", "action": "requeue_hold", "turn": 0, "reason": "x"}
    times = iter((since - 3 * DAY, since - 3 * DAY, since - 3 * DAY, since - 3 * DAY, since))
    with Journal(path, "site", lambda: next(times)) as journal:
        journal.append("step", step=0, beneficiary="high", victims=[victim], reason="", node="n1")
        journal.append("intent", step=0, action="requeue_hold", job="v", commands=[])
        owed = {"v": "look:requeue_hold"}
        journal.append("end", step=0, outcome="not_started", why="x", owed=owed)
        journal.append("settled", job="v", was="look:requeue_hold", state="running", turn=0)
    return read(path)


def booked(lines: list[dict[str, object]]) -> Book:
    book = Book()
    for line in lines:
        book.add(line)
    return book


def test_what_is_lost_outlives_rotation(tmp_path: Path) -> None:
    lines = lost(tmp_path / "journal", 100 * DAY)
    assert booked(lines).lost["v"].since == 100 * DAY
    kept = needed(lines, 100 * DAY + 1)
    assert [line["kind"] for line in kept] == ["journal", "step", "intent", "end", "settled"]
    assert booked(kept).lost == booked(lines).lost


@pytest.mark.parametrize(("later", "found"), [(DAY, True), (DAY + 1, False)])
def test_what_is_lost_is_looked_for_during_a_day(later: float, found: bool, tmp_path: Path) -> None:
    adapter = one_victim(5.0)
    adapter.identity = "site"
    site = adapter.site
    lost(tmp_path / "journal", site.now - later)
    site.leave("v")
    with driver_of(adapter, tmp_path) as driver:
        assert (site.jobs["v"]["state"] == "pending") == found
        assert not driver.book.owed


@pytest.mark.parametrize("state", ["ended", "gone"])
def test_jobs_that_have_ended_are_not_looked_for(state: str, tmp_path: Path) -> None:
    lines = lost(tmp_path / "journal", 100 * DAY)
    lines[-1]["state"] = state
    assert not booked(lines).lost


def lies_behind(adapter: SiteAdapter, when: Callable[[], bool], turn: int = 0) -> list[str]:
    """Let looks show the victim as it was before it left, once, and only then."""
    plain, shown = adapter._stands, list[str]()

    def stands(name: str) -> Standing:
        if name != "v" or shown or not when():
            return plain(name)
        shown.append(name)
        return Standing(name, "running", turn, started=True, owner="v")

    adapter._stands = stands  # type: ignore[method-assign]
    return shown


def test_a_look_that_lies_behind_shows_no_release(tmp_path: Path) -> None:
    """It was seen held; then a look shows it where it was before."""
    adapter = one_victim(3.0)
    site = adapter.site
    site.later(5, lambda: site.start("high", "n1"))
    shown = lies_behind(adapter, lambda: site.jobs["high"]["state"] == "running")
    acted(adapter, tmp_path)
    assert shown
    assert site.asked == [("requeue_hold", "v"), ("release", "v")]
    assert site.jobs["v"]["state"] == "pending"


def test_a_look_that_lies_behind_a_restart_shows_no_release(tmp_path: Path) -> None:
    """The job had begun another turn before the command arrived, and a look shows it there."""
    adapter = one_victim(3.0)
    site = adapter.site
    site.later(2, lambda: (site.end("other"), site.leave("v", "pending"), site.start("v", "n2")))
    site.later(5, lambda: site.start("high", "n1"))
    shown = lies_behind(adapter, lambda: site.jobs["high"]["state"] == "running", turn=1)
    acted(adapter, tmp_path)
    assert shown
    assert site.asked == [("requeue_hold", "v"), ("release", "v")]
    assert site.jobs["v"] == {**site.jobs["v"], "state": "pending", "turn": 2}


def test_turns_that_are_no_counts_do_not_hold_up_a_release(tmp_path: Path) -> None:
    """The turn of a job that waits is above that of any start, as of Grid Engine."""
    adapter = one_victim(3.0)
    site = adapter.site
    site.later(5, lambda: site.start("high", "n1"))
    plain = adapter._stands

    def stands(name: str) -> Standing:
        found = plain(name)
        waits = found.state in ("pending", "held") and found.turn
        return replace(found, turn=2**62 if waits else 10 + found.turn)

    def released() -> Answer:
        site.set("v", state="running", node="n2")
        return Answer("done")

    adapter._stands = stands  # type: ignore[method-assign]
    adapter.on["release", "v"] = released
    begin = site.now
    acted(adapter, tmp_path)
    assert site.now - begin < 10.0
    assert site.asked == [("requeue_hold", "v"), ("release", "v")]


@pytest.mark.parametrize("evict", ["requeue_hold", "suspend"])
def test_a_look_that_lies_behind_settles_no_debt(evict: str, tmp_path: Path) -> None:
    adapter = one_victim(3.0, evict)
    site = adapter.site
    site.later(5, lambda: site.start("high", "n1"))
    adapter.on["release", "v"] = lambda: Answer("refused", "not now")
    acted(adapter, tmp_path)
    del adapter.on["release", "v"]
    site.end("high")
    shown = lies_behind(adapter, lambda: True)
    with driver_of(adapter, tmp_path) as driver:
        assert shown
        assert list(driver.book.owed) == ["v"]
    assert not paid(adapter, tmp_path, 30).book.owed
    assert site.jobs["v"]["state"] == ("running" if evict == "suspend" else "pending")


@pytest.mark.parametrize(("later", "owed"), [(9.0, True), (10.0, False)])
def test_a_look_lies_behind_for_no_longer_than_a_command_takes_to_show(
    later: float, owed: bool, tmp_path: Path
) -> None:
    """Where turns are not counted it may run because another person released it."""
    adapter = one_victim(3.0)
    site = adapter.site
    site.later(5, lambda: site.start("high", "n1"))
    adapter.on["release", "v"] = lambda: Answer("refused", "not now")
    acted(adapter, tmp_path)
    (end,) = (line["t"] for line in read(tmp_path / "journal") if line["kind"] == "end")
    site.set("v", state="running", turn=0, node="n2")
    site.sleep(end + later - site.now)
    with driver_of(adapter, tmp_path) as driver:
        assert bool(driver.book.owed) == owed
