"""A driver dies between a line and its command, or after it: what is known then holds up no job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand import adapters
from evenhand.act.book import Book
from evenhand.act.journal import read
from evenhand.act.lock import Lock, LockedError
from evenhand.act.rotation import needed
from evenhand.adapters.commands import Result, Subprocesses, reading
from evenhand.adapters.protocol import Answer
from evenhand.adapters.recording import Recorder
from tests.unit.act.site import Site, SiteAdapter, acted, driver_of, paid
from tests.waiting import HANG

SETTLE, POLL, FORGET = 10.0, 1.0, 600.0


class Killed(BaseException):
    """A driver dies here."""


def site_of(evict: str = "requeue_hold") -> SiteAdapter:
    """One victim for one job, and a second one that would do as well and is more urgent."""
    jobs = {"v": (4, 1, "n1"), "w": (4, 2, "n2"), "high": (4, 20, None)}
    return SiteAdapter(Site({"n1": 4, "n2": 4}, **jobs), evict)


def killed(adapter: SiteAdapter, folder: Path, *, arrives: float | None = None, **more: Any) -> None:
    """Let a driver die when it asks a job to leave; the command arrives so many seconds later, or never."""

    def dies() -> Answer:
        if arrives is not None:
            adapter.site.later(arrives, lambda: adapter.done(adapter.evict, "v"))
        raise Killed

    adapter.on[adapter.evict, "v"] = dies
    with pytest.raises(Killed):
        acted(adapter, folder, **more)
    del adapter.on[adapter.evict, "v"]


def kinds(folder: Path) -> list[str]:
    return [line["kind"] for line in read(folder / "journal")]


@pytest.mark.parametrize("evict", ["requeue_hold", "suspend", "cancel"])
def test_a_command_that_was_never_sent_costs_no_time(evict: str, tmp_path: Path) -> None:
    """Its job may be a victim again as soon as the command would have shown, not ten minutes later."""
    adapter = site_of(evict)
    site = adapter.site
    killed(adapter, tmp_path)
    dead = site.now
    with driver_of(adapter, tmp_path) as driver:
        assert site.now - dead == SETTLE
        assert not driver.book.busy()
        assert not driver.book.leaving()
        site.later(2.0, lambda: site.start("high", "n1"))
        report = driver.act(adapter.policy().plan(driver.snapshot()))
    assert [(row.outcome, row.victims) for row in report.rows] == [("started", ("v",))]
    assert site.evicted() == ["v", "v"], "asked, and asked again"


@pytest.mark.parametrize(
    ("after", "looks_again"), [(SETTLE - POLL, True), (SETTLE, False), (SETTLE + POLL, False)]
)
def test_a_job_is_looked_at_for_as_long_as_a_command_may_take_to_show(
    after: float, looks_again: bool, tmp_path: Path
) -> None:
    """What shows by then is an eviction: the job is released, and asked for nothing else."""
    adapter = site_of()
    site = adapter.site
    killed(adapter, tmp_path)
    dead = site.now
    site.later(after + 0.5, lambda: adapter.done("requeue_hold", "v"))
    with driver_of(adapter, tmp_path) as driver:
        assert ("v" in driver.book.owed) == (not looks_again)
    assert site.now - dead <= SETTLE
    assert ("command_ended" in kinds(tmp_path)) == (not looks_again)
    assert (("release", "v") in site.asked) == looks_again


@pytest.mark.parametrize("evict", ["requeue_hold", "suspend"])
@pytest.mark.parametrize("arrives", [SETTLE + 5.0, 300.0])
def test_a_command_that_arrives_all_the_same_is_taken_back(
    arrives: float, evict: str, tmp_path: Path
) -> None:
    """Its process had ended, and the cluster had it: no job stays held or suspended."""
    adapter = site_of(evict)
    site = adapter.site
    killed(adapter, tmp_path, arrives=arrives)
    site.later(1.0, lambda: site.end("high"))
    with driver_of(adapter, tmp_path):
        assert "command_ended" in kinds(tmp_path)
    book = paid(adapter, tmp_path).book
    assert site.jobs["v"]["state"] == ("pending" if evict == "requeue_hold" else "running")
    assert not book.owed
    assert site.evicted() == ["v"]


def test_a_job_that_was_asked_again_is_not_given_back_by_the_older_debt(tmp_path: Path) -> None:
    """The second step cannot be looked at and stays open: only what comes of it says what its job is owed."""
    adapter = site_of()
    site = adapter.site
    killed(adapter, tmp_path)
    with driver_of(adapter, tmp_path) as driver:
        plan = adapter.policy().plan(driver.snapshot())
        adapter.before_look = lambda: None if len(site.evicted()) < 2 else fails()
        with pytest.raises(Exception, match="no answer"):
            driver.act(plan)
        assert list(driver.book.open) == [1]
        adapter.before_look = lambda: None
        driver._carrier.pay()
        assert ("release", "v") not in site.asked
    site.end("high")
    assert not paid(adapter, tmp_path).book.owed
    assert site.jobs["v"]["state"] == "pending"


def fails() -> None:
    from evenhand.adapters import AdapterError

    raise AdapterError("no answer")


def test_another_lock_proves_nothing(tmp_path: Path) -> None:
    """The command may run where that lock is: ten minutes, as before."""
    adapter = site_of()
    killed(adapter, tmp_path)
    (tmp_path / "lock").rename(tmp_path / "old")  # the file that the command would hold
    dead = adapter.site.now
    with driver_of(adapter, tmp_path) as driver:
        assert driver.book.busy() == {"v"}
        assert adapter.site.now == dead
    adapter.site.sleep(FORGET - 1)
    with driver_of(adapter, tmp_path) as driver:
        assert driver.book.busy() == {"v"}
    adapter.site.sleep(1)
    with driver_of(adapter, tmp_path) as driver:
        assert not driver.book.busy()


def test_a_journal_without_a_lock_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As earlier versions wrote it, or where the machine does not say since when it runs."""
    monkeypatch.setattr(Lock, "token", "")
    adapter = site_of()
    killed(adapter, tmp_path)
    with driver_of(adapter, tmp_path) as driver:
        assert driver.book.busy() == {"v"}
    assert "command_ended" not in kinds(tmp_path)


def killed_at_its_first_look(adapter: SiteAdapter, tmp_path: Path) -> float:
    """Kill a driver at its first look after a command; when that was."""
    looks = []

    def dies() -> None:
        looks.extend([1] if adapter.site.evicted() else [])
        if len(looks) == 1:
            raise Killed

    adapter.before_look = dies
    with pytest.raises(Killed):
        acted(adapter, tmp_path)
    return adapter.site.now


def test_an_answer_that_is_in_the_journal_counts(tmp_path: Path) -> None:
    """The cluster had refused when the driver died: others leave for the same job at once."""
    adapter = site_of()
    site = adapter.site
    adapter.on["requeue_hold", "v"] = lambda: Answer("refused", "not now")
    dead = killed_at_its_first_look(adapter, tmp_path)
    with driver_of(adapter, tmp_path) as driver:
        assert site.now == dead, "nothing is waited for"
        assert driver.book.owed["v"].refused
        site.later(2.0, lambda: site.start("high", "n2"))
        report = driver.act(adapter.policy().plan(driver.snapshot()))
    assert [(row.outcome, row.victims) for row in report.rows] == [("started", ("w",))]


def test_a_command_that_was_done_is_waited_for(tmp_path: Path) -> None:
    """The cluster had said so, and shows it four seconds after the next driver has begun."""
    adapter = site_of()
    site = adapter.site

    def done() -> Answer:
        site.later(4.5, lambda: adapter.done("requeue_hold", "v"))
        return Answer("done")

    adapter.on["requeue_hold", "v"] = done
    dead = killed_at_its_first_look(adapter, tmp_path)
    with driver_of(adapter, tmp_path) as driver:
        assert site.now - dead == 5.0
        assert not driver.book.owed
    assert site.asked == [("requeue_hold", "v"), ("release", "v")]


def test_a_done_command_that_does_not_show_is_not_taken_for_one_that_ended(tmp_path: Path) -> None:
    adapter = site_of()
    site = adapter.site
    adapter.on["requeue_hold", "v"] = lambda: Answer("done")
    adapter.before_look = lambda: None if not site.evicted() else kill_once(adapter)
    with pytest.raises(Killed):
        acted(adapter, tmp_path)
    with driver_of(adapter, tmp_path) as driver:
        assert driver.book.busy() == {"v"}
    assert "command_ended" not in kinds(tmp_path)


def kill_once(adapter: SiteAdapter) -> None:
    adapter.before_look = lambda: None
    raise Killed


def test_a_driver_that_is_stopped_does_not_wait(tmp_path: Path) -> None:
    import threading

    adapter = site_of()
    killed(adapter, tmp_path)
    dead, stop = adapter.site.now, threading.Event()
    stop.set()
    with driver_of(adapter, tmp_path, stop=stop):
        assert adapter.site.now == dead


def test_only_victims_that_were_asked_are_named_as_asked(tmp_path: Path) -> None:
    """Two victims, and a kill before the command to the first one: the second was never asked."""
    jobs = {"v": (2, 1, "n1"), "w": (2, 2, "n1"), "high": (4, 20, None), "other": (4, 30, "n2")}
    adapter = SiteAdapter(Site({"n1": 4, "n2": 4}, **jobs))
    both = {"v", "w"}
    for name in both:
        adapter.on["requeue_hold", name] = lambda: (_ for _ in ()).throw(Killed())
    with pytest.raises(Killed):
        acted(adapter, tmp_path)
    adapter.on.clear()
    (asked,) = adapter.site.evicted()
    (never,) = both - {asked}
    with driver_of(adapter, tmp_path) as driver:
        (row,) = driver.report.rows
    assert row.victims == (asked,)
    assert row.why == f"the driver ended before it was sure that {asked} left"
    assert never not in driver.book.owed


def test_a_kill_before_the_first_line_names_no_victim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evenhand.act.asking import Asking

    def dies(*_: Any, **__: Any) -> str:
        raise Killed

    adapter = site_of()
    with monkeypatch.context() as patch:
        patch.setattr(Asking, "__call__", dies)
        with pytest.raises(Killed):
            acted(adapter, tmp_path)
    with driver_of(adapter, tmp_path) as driver:
        (row,) = driver.report.rows
        assert row.victims == ()
        assert row.why == "the driver ended before all its victims were asked to leave"
        assert not driver.book.busy()


DRIVER = """
import sys
from evenhand.act.lock import Lock
from evenhand.adapters.commands import Subprocesses
run, lock = Subprocesses(), Lock(sys.argv[1])
run.inherited = (lock.descriptor,)
print(lock.token, flush=True)
run(("sh", "-c", 'echo runs > "$0"; read line < "$1"', sys.argv[2], sys.argv[3]), 600.0)
"""


def test_the_lock_of_a_killed_driver_is_free_when_its_command_has_ended(tmp_path: Path) -> None:
    """Real processes: SIGKILL leaves the command, which is waited for; then the lock is the same one."""
    lock, begun, go = tmp_path / "lock", tmp_path / "begun", tmp_path / "go"
    os.mkfifo(begun)
    os.mkfifo(go)
    arguments = [sys.executable, "-c", DRIVER, str(lock), str(begun), str(go)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        token = driver.stdout.readline().strip()
        assert begun.read_text() == "runs\n"
        driver.send_signal(signal.SIGKILL)
        driver.wait(HANG)
    with pytest.raises(LockedError):
        Lock(lock, patience=0.0)
    go.write_text("on\n")
    last = Lock(lock, patience=HANG)
    assert last.token == token != ""
    last.release()


def test_what_only_reads_holds_no_lock(tmp_path: Path) -> None:
    """A read that hangs keeps the next driver waiting for nothing; it has a session of its own, too."""
    reads, writes = os.pipe()
    run = Subprocesses()
    run.inherited = (writes,)
    code = f"import os; os.write({writes}, b'x')"
    for runner in (reading(run), reading(Recorder(run, tmp_path / "recording"))):
        assert "Bad file descriptor" in runner([sys.executable, "-c", code], HANG).err
    assert run([sys.executable, "-c", code], HANG).status == 0
    assert os.read(reads, 9) == b"x"
    session = "import os; print(os.getpgrp() == os.getsid(0) == os.getpid())"
    assert reading(run)([sys.executable, "-c", session], HANG).out == "True\n"
    os.close(reads)
    os.close(writes)


@pytest.mark.parametrize("name", ["slurm", "gridengine"])
def test_adapters_read_without_the_lock(name: str) -> None:
    """And act with it."""
    asked: list[tuple[str, str]] = []

    class Runner:
        def __call__(self, arguments: Any, timeout: float) -> Result:
            asked.append(("act", arguments[0]))
            return Result(0)

        def read(self, arguments: Any, timeout: float) -> Result:
            asked.append(("read", arguments[0]))
            return Result(1, "", "no answer")

    adapter = adapters.load(name, runner=Runner())
    for call in (adapter.snapshot, adapter.policy, lambda: adapter.look(["1"]), lambda: adapter.room("1")):
        with pytest.raises(adapters.AdapterError):
            call()
    assert {kind for kind, _ in asked} == {"read"}
    asked.clear()
    assert adapter.do("cancel", "1", "").status == "done"
    assert [kind for kind, _ in asked] == ["act"]


def test_a_journal_that_begins_anew_keeps_that_a_command_has_ended(tmp_path: Path) -> None:
    adapter = site_of()
    killed(adapter, tmp_path)
    with driver_of(adapter, tmp_path) as driver:
        assert not driver.book.busy()
    kept = needed(read(tmp_path / "journal"), adapter.site.now)
    book = Book()
    for line in kept:
        book.add(line)
    assert book.owed == driver.book.owed
    assert not book.busy()
