"""A driver in a process of its own that acts on a drawn site of this one, until SIGKILL."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import evenhand as eh
from evenhand.act import Caps, Driver, Timing, watch
from evenhand.act.book import Book
from evenhand.act.journal import read
from evenhand.adapters.protocol import AdapterError, Answer, Standing
from evenhand.errors import EvenhandError
from evenhand.testing.acting import History, SiteAdapter
from evenhand.testing.acting.histories import TIMES
from tests.waiting import HANG

#: Functions by which a journal is written and a lock is held.
CALLS = ("open", "close", "pwrite", "fsync", "ftruncate", "fstat", "fstatvfs")


class Asks:
    """An adapter and a clock on the other end of a connection; every call counts, and one is the last."""

    name, whole, notices = "site", True, ()

    def __init__(self, connection: Connection, identity: str, last: float) -> None:
        self._connection, self.identity, self._last = connection, identity, last
        self._calls = itertools.count()

    def count(self) -> None:
        if next(self._calls) >= self._last:
            os.kill(os.getpid(), signal.SIGKILL)

    def ask(self, what: str, *given: Any) -> Any:
        self.count()
        self._connection.send((what, given))
        self.count()
        fine, answer = self._connection.recv()
        if not fine:
            raise AdapterError(answer)
        return answer

    def policy(self, preset: str = "documented", **changes: Any) -> Any:
        return SiteAdapter.policy(self, preset, **changes)  # type: ignore[arg-type]

    def snapshot(self, leaving: Mapping[str, str] | None = None) -> eh.Snapshot:
        return eh.Snapshot.from_dict(self.ask("snapshot", leaving))

    def look(self, names: Iterable[str]) -> dict[str, Standing]:
        found: dict[str, Standing] = self.ask("look", list(names))
        return found

    def action(self, mode: str | None) -> str:
        return str(self.ask("action", mode))

    def commands(self, action: str, name: str, reason: str) -> list[tuple[str, ...]]:
        return [] if action == "note" else [("sitectl", action, name)]

    def do(self, action: str, name: str, reason: str) -> Answer:
        answer: Answer = self.ask("do", action, name, reason)
        return answer

    def room(self, name: str) -> bool:
        return bool(self.ask("room", name))

    def keep(self, descriptor: int) -> None:
        pass


def counted(plain: Callable[..., Any], count: Callable[[], None]) -> Callable[..., Any]:
    def call(*given: Any, **more: Any) -> Any:
        count()
        return plain(*given, **more)

    return call


def drive(connection: Connection, folder: str, identity: str, caps: Caps, last: int | None) -> None:
    """Watch for one round, in a process of its own; None: it is killed from outside, once that is ready."""
    adapter = Asks(connection, identity, math.inf if last is None else last)

    class Steady(Timing):
        def steady(self) -> float:
            return float(adapter.ask("steady"))

    logging.getLogger("evenhand.act").setLevel(logging.CRITICAL)
    timing = Steady(**TIMES, clock=lambda: adapter.ask("clock"), sleep=lambda s: adapter.ask("sleep", s))
    if last is None:
        connection.recv()
    else:
        os.fsync = lambda _: None
        for name in CALLS:
            setattr(os, name, counted(getattr(os, name), adapter.count))
    journal = Path(folder) / "journal"
    try:
        with Driver(adapter, journal, caps=caps, timing=timing, lock=journal.with_name("lock")) as driver:
            watch(driver, adapter.policy(), once=True, each=lambda _: None)
    except EvenhandError:
        pass
    connection.close()


def context() -> Any:
    """Return how processes are started: from one that has all modules."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(
        ["tests.unit.act.processes", *(name for name in sys.modules if name.startswith("evenhand."))]
    )
    return found


def lives(history: History, adapter: SiteAdapter, journal: Path, last: int | None, carry_out: Any) -> None:
    """Let a driver live in a process of its own if it is killed there; see `evenhand.testing.acting`."""
    from evenhand.testing.acting.histories import live

    if last is None:
        live(history, adapter, journal, last, carry_out)
    else:
        alone(history, adapter, journal, 4 * last)


def alone(
    history: History,
    adapter: SiteAdapter,
    journal: Path,
    last: int | None,
    killer: Callable[[int], contextlib.AbstractContextManager[object]] | None = None,
) -> None:
    """Let a driver live in a process of its own, until its last call or until another process kills it."""
    ours, theirs = multiprocessing.Pipe()
    given = (theirs, str(journal.parent), adapter.identity, history.caps, last)
    process = context().Process(target=drive, args=given)
    adapter.site.note("driver")
    process.start()
    theirs.close()
    with contextlib.nullcontext() if killer is None else killer(process.pid):
        if killer is not None:
            ours.send("begin")
        answer_all(adapter, ours)
        process.join(HANG)
    history.kills += process.exitcode == -signal.SIGKILL
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    book = Book()
    for line in read(journal) if journal.exists() else []:
        book.add(line)
    history.open, history.owed = list(book.open), list(book.owed)


def answer_all(adapter: SiteAdapter, ours: Connection) -> None:
    """Answer what a driver asks its site, until it is gone."""
    site = adapter.site
    answers: dict[str, Callable[..., Any]] = {
        "snapshot": lambda leaving: adapter.snapshot(leaving).to_dict(),
        "steady": lambda: site.steady,
        "clock": site.clock,
        "sleep": site.sleep,
    }
    while ours.poll(HANG):
        try:
            what, asked = ours.recv()
            answer = True, answers.get(what, getattr(adapter, what, None))(*asked)  # type: ignore[misc]
        except AdapterError as error:
            answer = False, str(error)
        except (EOFError, ConnectionResetError):
            break
        try:
            ours.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            break
