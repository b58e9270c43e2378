"""Settings and rows of Backend.AI as the core's columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.problems import KEPT, shorten
from evenhand.config.columns import COST, Cells, columns_of, micros
from evenhand.config.costs import COSTS
from evenhand.config.pace import PacedPool, pace_columns
from evenhand.config.rows import NoSettings, RowSettings, later_rows, raise_found, read_tables
from evenhand.diagnostics import CODES, Diagnostic
from evenhand.errors import Problem
from evenhand.plans.columns import rows_by_name
from evenhand.reasons import OUTCOMES
from evenhand.systems.backendai.settings import (
    DEFAULT_PRIORITY,
    HIGHEST_PRIORITY,
    BackendAIOperationSettings,
    choice_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows
    from evenhand.systems.backendai.settings import BackendAISettings

__all__ = ["effective_priorities", "later_columns", "ranks", "row_columns", "switches", "unknown_machines"]

_ORDERS = ("oldest", "newest", "fewest-sessions", "smallest-resources")
_MODES = ("terminate", "suspend", "reschedule")
_SELECTIONS = ("prefix", "irreducible", "minimum")
_AGENTS = ("first", "concentrated", "dispersed")
_SCOPES = ("resource-group", "domain", "user", "project")
_SEQUENCERS = ("fifo", "lifo", "drf")
_MODELS: Mapping[str, type[RowSettings]] = {
    "operations": BackendAIOperationSettings,
    "pools": PacedPool,
    **dict.fromkeys(("nodes", "allocations", "requests"), NoSettings),
}
_CELLS = {
    "rank": Cells(0, np.float64, attrgetter("job_priority")),
    "preemptible": Cells(2, np.uint8, attrgetter("is_preemptible")),
    "started": Cells(1, np.uint8, attrgetter("started")),
    "preemption_cost": COST,
}
_SHOWN = 5  # machines named in a message


def switches(snapshot: Snapshot, s: BackendAISettings) -> dict[str, Any]:
    """Return the settings of the group under the core's names."""
    names = snapshot.resources
    first = [names.index(r) for r in s.agent_selection_resource_priority if r in names]
    return {
        "enabled": s.enabled,
        "threshold": float(s.preemptible_priority) if s.victim_threshold != "none" else math.inf,
        "order": _ORDERS.index(s.preemption_order),
        "mode": _MODES.index(s.preemption_mode),
        "unsuited_are_terminated": s.suspend_fallback == "terminate",
        "keep_containers": s.suspend_approach == "keep",
        "min_runtime": micros(s.preemption_min_runtime),
        "every_session_preempts": s.preemptors == "every",
        "per_agent": s.victim_area == "agent",
        "selection": _SELECTIONS.index(s.victim_selection),
        "minimum_budget": s.minimum_budget,
        "victim_cost": COSTS.index(s.victim_cost),
        "agents": _AGENTS.index(s.agent_selection),
        "resource_order": np.array([*first, *(r for r in range(len(names)) if r not in first)], np.int32),
        "default_priority": float(DEFAULT_PRIORITY),
        "rank_is_priority": s.preemption_key == "priority",
        "scope": _SCOPES.index(s.victim_scope),
        "inference_preemptible": s.inference_preemptible,
        "sequencer": _SEQUENCERS.index(s.sequencer),
        "reserve_room": s.preemptor_room == "reserved",
        "only_lack_blocks": s.blocked_by == "lack_of_resources",
        "max_containers": s.max_containers or 0,
        **pace_columns(snapshot, s.pace),
    }


def row_columns(snapshot: Snapshot, s: BackendAISettings) -> dict[str, Any]:
    """Return what rows set, and what follows from the policies of users and projects."""
    found: list[Problem] = []
    sessions = read_tables(snapshot, _MODELS, found)["operations"]
    names = snapshot.names("operations")
    found += _broken_priorities(*_given_priorities(snapshot), names)
    found += _overfull_machines(snapshot)
    raise_found(found)
    columns = _own_columns(sessions, snapshot.operation_count, s)
    if s.user_policies or s.project_policies:
        columns["priority"], columns["refused"] = effective_priorities(snapshot, s)
    return columns


def later_columns(
    live: LiveRows, s: BackendAISettings, table: str, given: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return what rows that came later set of their own, a cell for each of them."""
    found: list[Problem] = []
    sessions = later_rows(given, _MODELS, live.base, table, found)
    if table != "operations":
        if table == "nodes" and live.core.has_logical_nodes:
            found += _overfull_machines(live.freeze())
        raise_found(found)
        return {}
    said = [live.core.said_of_operation(row) for row in given]
    has = np.array(["priority" in own for own in said], np.bool_)
    value = np.array([own.get("priority", 0.0) for own in said])
    found += _broken_priorities(has, value, [live.core.name(table, row) for row in given])
    raise_found(found)
    columns = _own_columns(sessions, len(given), s)
    if s.user_policies or s.project_policies:
        owners = [(own.get("user"), own.get("project")) for own in said]
        columns["priority"], columns["refused"] = _effective(has, value, owners, s)
    return columns


def _own_columns(
    sessions: Mapping[int, BackendAIOperationSettings], count: int, s: BackendAISettings
) -> dict[str, Any]:
    """Return what rows of sessions set, by row; the others set nothing."""
    columns: dict[str, Any] = columns_of(sessions, count, _CELLS)
    if s.victim_scope == "domain":
        columns["domain"] = [sessions[row].domain if row in sessions else None for row in range(count)]
    return columns


def ranks(snapshot: Snapshot, s: BackendAISettings) -> NDArray[np.float64]:
    """Return of every session the number by which some may preempt others."""
    if s.preemption_key == "priority":
        return effective_priorities(snapshot, s)[0]
    none = np.zeros(snapshot.operation_count)
    return np.asarray(row_columns(snapshot, s).get("rank", none), np.float64)


def _column(snapshot: Snapshot, name: str, absent: Any, dtype: Any) -> NDArray[Any]:
    """Return a column of the operations that is left out where every row has the default."""
    values = np.asarray(snapshot._core.column("operations", name))
    return values if len(values) else np.full(snapshot.operation_count, absent, dtype)


def _texts(snapshot: Snapshot, field: str) -> list[str | None]:
    words, codes = snapshot._core.text("operations", field)
    if not len(codes):
        return [None] * snapshot.operation_count
    return [None if code < 0 else words[code] for code in np.asarray(codes).tolist()]


def _given_priorities(snapshot: Snapshot) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return of every operation whether it has a priority of its own, and which."""
    given = _column(snapshot, "priority_given", 0, np.uint8).astype(np.bool_)
    return given, _column(snapshot, "priority", 0.0, np.float64)


def _broken_priorities(
    given: NDArray[np.bool_], value: NDArray[np.float64], names: Sequence[Any]
) -> list[Problem]:
    wrong = given & ((value < 0) | (value > HIGHEST_PRIORITY) | (value != np.floor(value)))
    return [
        Problem(
            *("operations", row, names[row], "priority", "range", f"{value[row]:g}"),
            f'priority of the operation "{shorten(names[row])}" is {value[row]:g};'
            f" it must be a whole number from 0 to {HIGHEST_PRIORITY}",
        )
        for row in np.flatnonzero(wrong).tolist()[: KEPT + 1]
    ]


def _machines(snapshot: Snapshot) -> list[tuple[str, int | None, NDArray[Any]]]:
    """Return every machine that is cut into logical nodes: its name, its row if it has one, their rows."""
    words, codes = snapshot._core.text("nodes", "physical")
    if not len(codes):
        return []
    row_of = rows_by_name(snapshot, "nodes")
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(np.asarray(codes)[order], np.arange(len(words) + 1))
    found = []
    for code, machine in enumerate(words):
        row = row_of.get(str(machine))
        parts = order[bounds[code] : bounds[code + 1]]
        parts = parts[parts != row] if row is not None else parts  # one that names itself is no part
        if len(parts):
            found.append((str(machine), row, parts))
    return found


def unknown_machines(snapshot: Snapshot) -> tuple[Diagnostic, ...]:
    """Report logical nodes of machines that are no nodes: nothing says how much these have."""
    names = snapshot.names("nodes")
    unknown = [(machine, parts) for machine, row, parts in _machines(snapshot) if row is None]
    if not unknown:
        return ()
    machines = ", ".join(shorten(machine) for machine, _ in unknown[:_SHOWN])
    more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    message = f"{CODES['machine_unknown']} Machines: {machines}{more}."
    elements = tuple(names[row] for _, parts in unknown for row in parts.tolist())
    return (Diagnostic("machine_unknown", elements, message, {"machines": len(unknown)}),)


def _overfull_machines(snapshot: Snapshot) -> list[Problem]:
    """Find machines of which logical nodes have more than they."""
    names = snapshot.names("nodes")
    capacity = np.asarray(snapshot._core.column("nodes", "capacity"))
    found = []
    for _, row, parts in _machines(snapshot):
        if row is None:
            continue
        over = capacity[parts].sum(axis=0) > capacity[row]
        if over.any():
            which = ", ".join(r for r, is_over in zip(snapshot.resources, over, strict=True) if is_over)
            message = (
                f'the logical nodes of the machine "{shorten(names[row])}" together have more {which}'
                " than the machine"
            )
            found.append(Problem("nodes", row, names[row], "capacity", "physical", None, message))
    return found


def effective_priorities(
    snapshot: Snapshot, s: BackendAISettings
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return every session's priority, and why it may not wait in the queue."""
    given, value = _given_priorities(snapshot)
    if not s.user_policies and not s.project_policies:
        return np.where(given, value, float(DEFAULT_PRIORITY)), np.zeros(len(value), np.uint8)
    owners = zip(_texts(snapshot, "user"), _texts(snapshot, "project"), strict=True)
    return _effective(given, value, owners, s)


def _effective(
    given: NDArray[np.bool_],
    value: NDArray[np.float64],
    owners: Iterable[tuple[str | None, str | None]],
    s: BackendAISettings,
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    priority = np.where(given, value, float(DEFAULT_PRIORITY))
    refused = np.zeros(len(value), np.uint8)
    codes = {code: OUTCOMES.index(code) for code in ("priority_change_disabled", "priority_out_of_range")}
    choices: dict[tuple[str | None, str | None], tuple[int, tuple[int, int], bool]] = {}
    for row, pair in enumerate(owners):
        if pair not in choices:
            choices[pair] = choice_for(s, *pair)
        default, (lowest, highest), editable = choices[pair]
        if not given[row]:
            priority[row] = default
        elif not editable:
            refused[row] = codes["priority_change_disabled"]
        elif not lowest <= priority[row] <= highest:
            refused[row] = codes["priority_out_of_range"]
    return priority, refused
