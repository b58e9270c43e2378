"""How a job stands, by what ``qstat`` shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.adapters.protocol import Standing, State

if TYPE_CHECKING:
    from evenhand.systems.gridengine.text.jobs import Details, Task

__all__ = ["BACK", "standing_of"]

#: The turn of a job that waits and has run before: above that of any start, which is its second.
BACK = 2**62

_STOPPED = frozenset("sST")


def standing_of(
    name: str,
    task: Task | None,
    detail: Details | None,
    *,
    system_hold: bool,
    rerunnable: bool,
    force: bool = False,
    stays: bool = False,
) -> Standing:
    """Return how a job stands."""
    if task is None:
        return Standing.gone(name, "qstat does not list it")
    ran = "R" in task.state
    state = _state(task, system_hold=system_hold, ran=ran)
    waits = state in ("pending", "held")
    return Standing(
        name=name,
        state=state,
        turn=(BACK if ran else 0) if waits else int(task.since),
        started=bool(task.parts),
        owner=task.owner,
        requeueable=waits
        or ((force or not stays) and _may_return(detail, rerunnable=rerunnable, force=force)),
        held=system_hold and not (waits and ran),
        marked=system_hold and state in ("running", "suspended"),
        detail=" ".join((task.state, *task.parts)),
    )


def _state(task: Task, *, system_hold: bool, ran: bool) -> State:
    if "d" in task.state:
        return "leaving"
    if task.waits:
        return "held" if system_hold or (task.held and not ran) else "pending"
    if set("PN") & set(task.state):
        return "unknown"
    return "suspended" if _STOPPED & set(task.state) else "running"


def _may_return(detail: Details | None, *, rerunnable: bool, force: bool) -> bool:
    """Whether it can go back to the queue: unless forced, with a checkpoint environment only by migrating."""
    if force or detail is None:
        return force or rerunnable
    if detail.checkpoint:
        return detail.migrates
    return rerunnable if detail.rerun is None else detail.rerun
