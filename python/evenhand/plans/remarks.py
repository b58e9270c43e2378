"""What there is to say of the input of a plan or a run, beside what its search found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.implausible import in_part, of_gangs, of_guarantees, of_snapshot
from evenhand.reasons import ACTIONS
from evenhand.systems.record import named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot
    from evenhand.plans.plan import Plan

__all__ = ["of_input", "of_plan"]

_START, _PREEMPT = map(ACTIONS.index, ("start", "preempt"))


def of_input(snapshot: Snapshot, policy: Any) -> tuple[Diagnostic, ...]:
    """Return what can hardly be meant of a snapshot under a policy."""
    system = policy.RECORD
    own = named(system.implausible_at)(snapshot, policy.settings) if system.implausible_at else ()
    shares = (*of_guarantees(snapshot), *of_gangs(snapshot)) if system.shares else ()
    return (*of_snapshot(snapshot), *own, *shares)


def of_plan(plan: Plan, found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return a plan's diagnostics: those found, those of its input and of its shares, and what it leaves."""
    of_shares = plan.shares.diagnostics if plan.policy.RECORD.shares else ()
    known = [*found, *of_input(plan.snapshot, plan.policy), *of_shares]
    once = {(d.code, d.elements, d.message): d for d in known if d.code != "gang_in_part"}
    return (*once.values(), *(_gangs(plan) if plan.policy.RECORD.shares else ()))


def _gangs(plan: Plan) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if a part of a gang runs after a plan, and the rest waits."""
    core = plan.snapshot._core
    if not np.asarray(core.column("operations", "gang")).any():
        return ()
    columns = plan.decisions.columns
    action, count = np.asarray(columns["action"]), plan.snapshot.operation_count
    runs = np.asarray(core.column("allocations", "state")) == 0
    victims = np.asarray(columns["allocation"])[action == _PREEMPT]
    runs[victims] = False
    running = np.bincount(np.asarray(core.column("allocations", "operation"))[runs], minlength=count)
    asked = np.array(core.column("requests", "count"), np.int64)
    started = np.asarray(columns["request"])[action == _START]
    of = np.asarray(core.column("requests", "operation"))
    starts = np.bincount(of[started], minlength=count)
    waiting = np.bincount(of, asked, count).astype(np.int64) - starts
    return in_part(plan.snapshot, running + starts, waiting, "Gangs, after this plan")
