"""Watching a cluster: snapshot, plan, check, act, sleep, until stopped."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.act.report import Report
from evenhand.adapters.protocol import AdapterError

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
        What the next plan goes on from.
    seconds : dict of str to float
        How long snapshot, plan and acting took.
    error : str
        Why the cluster could not be read or acted on; empty if it could.
    notices : tuple of str
        What a person should know of how the cluster was read.
    """

    number: int
    report: Report = field(default_factory=Report)
    decisions: int = 0
    state: State | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    error: str = ""
    notices: tuple[str, ...] = ()


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
    """Plan and act until the driver is told to stop.

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
        What the next watch goes on from.

    Raises
    ------
    JournalError
        If the journal cannot be written.
    OSError
        If the state cannot be written: nobody is told to leave on a plan whose state would be lost.

    Notes
    -----
    A cluster that does not answer ends a round, not the watch.
    """
    number = 0
    while True:
        begin = driver.timing.now()
        driver.begin_round()
        cycle = Cycle(number, state=state)
        try:
            driver.recover()
            state = _round(driver, policy, cycle, save, on)
        except AdapterError as error:
            cycle.error = str(error)
            if each is None:
                _LOG.warning("round %d: %s", number, error)
        cycle.notices = driver.adapter.notices
        if each is not None:
            each(cycle)
        number += 1
        left = interval - (driver.timing.now() - begin)
        if once or driver.stop.wait(max(left, 0.0)):
            return state


def _round(
    driver: Driver, policy: Any, cycle: Cycle, save: str | os.PathLike[str] | None, on: Any
) -> State | None:
    from evenhand.plans.planning import plan

    clock = driver.timing.now
    begin = clock()
    rules = policy() if callable(policy) else policy
    snapshot = driver.snapshot()
    cycle.seconds["snapshot"] = clock() - begin
    begin = clock()
    planned = plan(snapshot, rules, cycle.state, on=on)
    cycle.decisions = len(planned.decisions)
    cycle.state = planned.state
    cycle.seconds["plan"] = clock() - begin
    if save is not None and not driver.dry_run:
        planned.state.save(save)
    begin = clock()
    cycle.report = driver.act(planned)
    cycle.seconds["act"] = clock() - begin
    return cycle.state
