"""Settings, rows and commands of Grid Engine as the core takes them."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.problems import nearest, shorten
from evenhand.config.columns import Cells, columns_of, micros
from evenhand.config.pace import PacedPool, pace_columns
from evenhand.config.rows import NoSettings, RowSettings, later_rows, raise_found, read_tables
from evenhand.errors import InputError, Problem
from evenhand.systems.gridengine.record import LETTERS
from evenhand.systems.gridengine.settings import (
    GridEngineAllocation,
    GridEngineOperation,
    GridEngineQueue,
)
from evenhand.systems.gridengine.subordinates import queue_numbers, subordinate_columns

if TYPE_CHECKING:
    from evenhand.config.triggers import Commands
    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows
    from evenhand.systems.gridengine.settings import GridEngineSettings

__all__ = ["command_rows", "later_columns", "row_columns", "switches"]

_ADVISOR = len(LETTERS) + 1
_releases = attrgetter("releases_on_suspend")
_FOREVER = np.iinfo(np.int64).max


_MODELS: Mapping[str, type[RowSettings]] = {
    "operations": GridEngineOperation,
    "allocations": GridEngineAllocation,
    "pools": PacedPool,
    **dict.fromkeys(("nodes", "requests"), NoSettings),
}


def _action(name: str | None) -> int:
    """Return the core's number: none, a letter, the advisor."""
    return 0 if name is None else _ADVISOR if name == "advisor" else LETTERS.index(name) + 1


def switches(snapshot: Snapshot, s: GridEngineSettings) -> dict[str, Any]:
    """Return the settings under the core's names."""
    known = list(snapshot.resources)
    raise_found(
        [
            Problem(
                *("settings", None, None, "lo_licenses", "exists", shorten(name)),
                f"lo_licenses has {shorten(name)}, no resource of the snapshot{nearest(name, known)}",
            )
            for name in s.lo_licenses
            if name not in known
        ]
    )
    numbers = queue_numbers(s.queues)
    queues = [s.queues.get(name, GridEngineQueue()) for name in (*numbers, "")] if numbers else []
    return {
        "automatic": s.automatic_preemption,
        "action": _action(s.preemption_action),
        "there": np.array([letter in s.actions for letter in LETTERS], np.uint8),
        "max_reservation": s.max_reservation,
        "max_preemptees": s.max_preemptees,
        "prioritize": s.prioritize_preemptees,
        "keep_resources": s.preemptees_keep_resources,
        "partly": s.over_the_cap == "as_many",
        "backfilling": s.backfilling,
        "distance": micros(s.preemption_distance),
        "offset": micros(s.DURATION_OFFSET),
        "default_duration": _FOREVER if s.default_duration is None else micros(s.default_duration),
        "notify": micros(s.notify),
        "managed": np.array([name in s.lo_licenses for name in known], np.uint8),
        "rerun": np.array([queue.rerun for queue in queues], np.uint8),
        "has_method": np.array([bool(queue.suspend_method) for queue in queues], np.uint8),
        "queue_action": np.array([_action(queue.preemption_action) for queue in queues], np.uint8),
        **subordinate_columns(snapshot, s.queues),
        "minimum_budget": s.minimum_budget,
        **pace_columns(snapshot, s.pace),
    }


def row_columns(snapshot: Snapshot, s: GridEngineSettings) -> dict[str, Any]:
    """Return what rows set."""
    found: list[Problem] = []
    rows = read_tables(snapshot, _MODELS, found)
    raise_found(found)
    return _of_jobs(rows["operations"], snapshot.operation_count) | _of_runs(
        rows["allocations"], snapshot.allocation_count, s
    )


def _of_jobs(jobs: Mapping[int, GridEngineOperation], count: int) -> dict[str, Any]:
    if not jobs:
        return {}
    return {"job_name": [(jobs[row].job_name if row in jobs else None) or "" for row in range(count)]}


def _of_runs(runs: Mapping[int, GridEngineAllocation], count: int, s: GridEngineSettings) -> dict[str, Any]:
    number = queue_numbers(s.queues)

    def queue(own: GridEngineAllocation) -> int | None:
        return number.get(own.queue, len(number)) if own.queue is not None and number else None

    cells = {"queue": Cells(-1, np.int32, queue), "releases": Cells(0, np.uint8, _releases)}
    return columns_of(runs, count, cells)


def later_columns(
    live: LiveRows, s: GridEngineSettings, table: str, given: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return what rows that came later set of their own, a cell for each of them."""
    found: list[Problem] = []
    rows = later_rows(given, _MODELS, live.base, table, found)
    raise_found(found)
    if table == "operations":
        return _of_jobs(rows, len(given))
    return _of_runs(rows, len(given), s) if table == "allocations" else {}


def command_rows(on: Commands) -> list[tuple[Any, ...]]:
    """Return commands as the core takes them."""
    rows = []
    for place, command in enumerate(on.rows):
        action = command.action
        if action is not None and (len(action) != 1 or action not in LETTERS):
            message = (
                f"action of command {place} is {shorten(action)}; it must be one of {', '.join(LETTERS)}"
            )
            raise InputError([Problem("commands", place, None, "action", "choice", shorten(action), message)])
        mode = None if action is None else LETTERS.index(action)
        user = command.user or ""
        rows.append((command.consumer, list(command.providers), mode, command.force, user, command.manager))
    return rows
