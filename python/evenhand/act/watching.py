"""Watching a cluster: snapshot, plan, check, act, sleep, until stopped."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.accepted import checked
from evenhand.act.report import Report
from evenhand.act.round import Round
from evenhand.act.waiting import waiting_text
from evenhand.adapters.protocol import AdapterError
from evenhand.errors import InputError

if TYPE_CHECKING:
    from evenhand.act.driver import Driver
    from evenhand.state import State

__all__ = ["Cycle", "watch"]

_LOG = logging.getLogger("evenhand.act")


@dataclass(slots=True)
class Cycle:
    """One round of watching.

    Attributes
    ----------
    number : int
    report : Report
        What came of its plan.
    decisions : int
        How many there were.
    state : State or None
        What the next plan starts from.
    seconds : dict of str to float
        How long snapshot, plan and acting took.
    error : str
        Why the cluster could not be read or acted on; empty if it could.
    notices : tuple of str
        What a person should know of how the cluster was read.
    waiting : dict of str to list of str
        Jobs that wait and were not served, by reason (`evenhand.act.waiting`).
    held_up : str
        Which job blocks which, where the system itself starts no job behind the first; else empty.
    """

    number: int
    report: Report = field(default_factory=Report)
    decisions: int = 0
    state: State | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    error: str = ""
    notices: tuple[str, ...] = ()
    waiting: dict[str, list[str]] = field(default_factory=dict)
    held_up: str = ""


@checked("watch")
def watch(
    driver: Driver,
    policy: Any,
    *,
    state: State | None = None,
    interval: float = 30.0,
    once: bool = False,
    save: str | os.PathLike[str] | None = None,
    each: Callable[[Cycle], object] | None = None,
    on: Any = None,
) -> State | None:
    """Plan and act until the driver is asked to stop.

    Parameters
    ----------
    driver : Driver
        Set its ``stop`` to end; sleeping ends at once.
    policy : policy or callable
        Whose rules; or what returns them, called every round: ``driver.adapter.policy`` for those that the
        cluster has at that time.
    state : State, optional
        What an earlier watch left.
    interval : float
        Seconds from one beginning to the next.
    once : bool
        End after one round.
    save : str or path-like, optional
        Where the state is written after every plan; not in a dry run.
    each : callable, optional
        Called with a `Cycle` after every round; without it, rounds that failed are logged.
    on : trigger, optional
        As in `evenhand.plan`.

    Returns
    -------
    State or None
        What the next watch starts from.

    Raises
    ------
    JournalError
        If the journal cannot be written.
    InputError
        If the policy cannot be made: its settings are wrong, or do not fit the cluster.
    OSError
        If the state cannot be written: no job is asked to leave on a plan whose state would be lost.

    Notes
    -----
    A cluster that does not answer ends a round, not the watch; so does one that cannot be planned on. How
    long to sleep is measured by a monotonic clock.
    """
    number = 0
    while True:
        begin = time.monotonic()
        driver.begin_round()
        cycle = Cycle(number, state=state)
        try:
            driver.recover()
            rules = policy() if callable(policy) else policy
            state = _round(driver, rules, cycle, save, on)
            cycle.notices = driver.adapter.notices
        except AdapterError as error:
            cycle.error = str(error)
            if each is None:
                _LOG.warning("round %d: %s", number, error)
        if each is not None:
            each(cycle)
        number += 1
        left = interval - (time.monotonic() - begin)
        if once or driver.stop.wait(max(left, 0.0)):
            return state


def _round(
    driver: Driver, rules: Any, cycle: Cycle, save: str | os.PathLike[str] | None, on: Any
) -> State | None:
    turn = Round(driver, rules, cycle.state, on)
    first = len(driver.report.rows)

    def keep(state: State) -> None:
        cycle.state = state
        if save is not None and not driver.dry_run:
            state.save(save)

    try:
        turn.run(keep)
    except InputError as error:  # of what the cluster says by now: it may be right in the next round
        more = len(error.problems) - 1 + error.omitted
        also = f", and {more} more" if more else ""
        raise AdapterError(
            f"what the cluster says cannot be planned on: {error.problems[0]}{also}"
        ) from error
    finally:
        cycle.seconds = turn.seconds
        cycle.report = Report(driver.report.rows[first:])
        if turn.plan is not None:
            cycle.decisions = len(turn.plan.decisions)
    cycle.waiting = turn.waiting(cycle.report.rows)
    cycle.held_up = turn.held_up(cycle.waiting)
    for said in filter(None, (waiting_text(cycle.waiting), cycle.held_up)):
        _LOG.info("round %d: %s", cycle.number, said, extra={"evenhand": {"waiting": cycle.waiting}})
    return cycle.state
