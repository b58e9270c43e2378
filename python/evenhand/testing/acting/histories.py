"""Drawn histories: drivers that act on a made-up site, are killed there, and see to what is left."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from unittest import mock

from evenhand.errors import EvenhandError
from evenhand.testing.acting.adapter import SiteAdapter
from evenhand.testing.acting.site import FORGET, POLL, Site

if TYPE_CHECKING:
    from evenhand.act import Caps, Driver

__all__ = ["TIMES", "History", "Killed", "live", "play", "written"]

#: How long its drivers wait for what, in seconds.
TIMES = {"start": 40.0, "settle": 10.0, "retry": 60.0, "poll": POLL, "forget": FORGET}

_CALLS = 3000  # of one driver, after which it counts as endless
_ROUNDS = 60  # of drivers that see to what is left
_NUMBERS = itertools.count()


class Killed(BaseException):
    """A driver dies here."""


class Endless(BaseException):
    """A driver has asked the site so often that it will not come to an end."""


@dataclass(slots=True)
class History:
    """What came of a drawn history.

    Attributes
    ----------
    seed : int
    site : Site
        With its log.
    evict : str
        How victims left.
    caps : Caps
    lines : list of dict
        Of the journal.
    open, owed : list
        What the last driver left open, and owed.
    endless : bool
        Whether a driver did not come to its end.
    kills : int
    errors : list of str
        What drivers raised.
    """

    seed: int
    site: Site
    evict: str
    caps: Caps
    lines: list[dict[str, Any]] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    owed: list[str] = field(default_factory=list)
    endless: bool = False
    kills: int = 0
    errors: list[str] = field(default_factory=list)


def play(
    seed: int,
    carry_out: Callable[[Driver, Any], object] | None = None,
    lives: Callable[..., None] | None = None,
) -> History:
    """Draw a history and carry it out.

    Parameters
    ----------
    seed : int
        The same history every time.
    carry_out : callable, optional
        What a driver does with the rules of the site while it is open; by default one round of `watch`.
    lives : callable, optional
        Lets a driver live, as `live` does: in a process of its own, for example.

    Returns
    -------
    History
        To be judged: `evenhand.testing.acting.judge`.

    Notes
    -----
    Nothing waits for the clock or the disk. Kills are exceptions that nothing catches.
    """
    from evenhand.act import Caps

    random = Random(seed)  # noqa: S311 - the same every time
    site = Site(random)
    caps = Caps(
        per_run=random.choice([None, None, None, 3]),
        per_hour=random.choice([None, None, 2, 3, 4]),
        per_owner=random.choice([None, None, None, 2, 3]),
        per_job=random.choice([None, None, 1, 2]),
    )
    history = History(seed, site, random.choice(["requeue_hold"] * 3 + ["suspend"]), caps)
    with tempfile.TemporaryDirectory() as folder, _disk(site):
        _play(history, Path(folder), carry_out or _round, lives or live)
    return history


def _nothing(*_: Any) -> None:
    """See to what is left, as every driver does when it begins."""


def _round(driver: Driver, rules: Any) -> None:
    from evenhand.act import watch

    watch(driver, rules, once=True, each=_nothing)


def _play(
    history: History, folder: Path, carry_out: Callable[[Driver, Any], object], lives: Callable[..., None]
) -> None:
    site, random = history.site, history.site.random
    journal = folder / "journal"
    adapter = SiteAdapter(site, history.evict, f"drawn site {next(_NUMBERS)}", lambda: written(journal))
    lasts = [random.randrange(3, 80) if random.random() < 0.5 else None for _ in range(random.randint(2, 4))]
    site.trouble(60.0 * len(lasts))
    for last in lasts:
        lives(history, adapter, journal, last, carry_out)
        site.sleep(random.uniform(1, 30))
    site.calm()
    served = {line["beneficiary"] for line in _lines(journal) if line["kind"] == "step"}
    for name, job in site.jobs.items():  # what others made room for has had it
        if (name.startswith("high") or name in served) and job.state != "held":
            site.change(name, state="ended", node=None)
    for _ in range(_ROUNDS):
        site.make_room()
        site.sleep(60.0 if site.random.random() < 0.9 else 600.0)
        lives(history, adapter, journal, None, _nothing)
        if not history.open and not history.owed and not site.waits:
            break
    lives(history, adapter, journal, None, _nothing)
    history.lines = _lines(journal)


def _lines(journal: Path) -> list[dict[str, Any]]:
    from evenhand.act.journal import read

    return read(journal) if journal.exists() else []


def live(
    history: History,
    adapter: SiteAdapter,
    journal: Path,
    last: int | None,
    carry_out: Callable[[Driver, Any], object],
) -> None:
    """Let one driver live."""
    from evenhand.act import Driver, Timing

    site, calls = history.site, itertools.count()

    def before() -> None:
        """Count a call of the site or a write to the journal, which may be the last."""
        number = next(calls)
        if last is not None and number >= last:
            raise Killed
        if number > _CALLS:
            raise Endless

    class Steady(Timing):
        def steady(self) -> float:
            return site.steady

    timing = Steady(**TIMES, clock=site.clock, sleep=site.sleep)
    adapter.before = site.before_write = before
    site.note("driver")
    driver = None
    try:
        with Driver(
            adapter, journal, caps=history.caps, timing=timing, lock=journal.with_name("lock")
        ) as driver:
            carry_out(driver, adapter.policy())
    except Killed:
        history.kills += 1
        site.note("killed")
    except Endless:
        history.endless = True
    except EvenhandError as error:
        history.errors.append(str(error))
    finally:
        adapter.before = site.before_write = lambda: None
    if driver is not None:
        history.open, history.owed = list(driver.book.open), list(driver.book.owed)


def written(journal: Path) -> int:
    """Return how many lines a journal has on the disk."""
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


@contextlib.contextmanager
def _disk(site: Site) -> Iterator[None]:
    """Let the journal's disk be full when the site says so; nothing waits for it."""
    from evenhand.act.journal import Journal

    plain = Journal._put

    def put(self: Journal, data: bytes, place: int) -> None:
        site.before_write()
        if site.full:
            raise OSError(28, os.strerror(28))
        plain(self, data, place)

    with mock.patch.object(Journal, "_put", put), mock.patch.object(os, "fsync"):
        yield
