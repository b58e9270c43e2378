"""Settings, rows' settings and given values as the core's columns."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.problems import shorten
from evenhand.building.readback import NO_TIME
from evenhand.config.costs import COSTS, cost_columns
from evenhand.config.pace import pace_columns
from evenhand.config.rows import RowSettings, later_rows, raise_found
from evenhand.errors import InputError, Problem
from evenhand.fields import TABLES
from evenhand.plans.columns import element_keys, rows_by_name
from evenhand.reasons import GROUPS, STARVATION
from evenhand.systems.ytsaurus.rows import (
    YTsaurusAllocationSettings,
    YTsaurusNodeSettings,
    YTsaurusOperationSettings,
    YTsaurusRequestSettings,
    YTsaurusRows,
)
from evenhand.systems.ytsaurus.settings import aggressive_checks
from evenhand.systems.ytsaurus.tag_filter import TagFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows
    from evenhand.systems.ytsaurus.settings import YTsaurusSettings

__all__ = ["coming_columns", "given_columns", "later_columns", "row_columns", "switches", "tree_settings"]

_SELECTIONS = ("prefix", "irreducible", "minimum")
_UNSET = -1
_UNLIMITED = -1
_HOST_GPUS = 8
_LATER: Mapping[str, type[RowSettings]] = {
    "operations": YTsaurusOperationSettings,
    "nodes": YTsaurusNodeSettings,
    "allocations": YTsaurusAllocationSettings,
    "requests": YTsaurusRequestSettings,
}


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)


def _thresholds(snapshot: Snapshot, amounts: Mapping[str, float]) -> list[int]:
    """Return quanta from which on usage is no longer below the amounts; -1: unset."""
    quantum = snapshot.quantum
    return [math.ceil(amounts[r] / quantum[r] - 1e-9) if r in amounts else _UNLIMITED for r in quantum]


def _quanta(snapshot: Snapshot, amounts: Mapping[str, float]) -> list[int]:
    return [round(amounts.get(r, 0) / quantum) for r, quantum in snapshot.quantum.items()]


def switches(s: YTsaurusSettings) -> dict[str, Any]:
    """Return the settings that need no snapshot, under the core's names."""
    full_host = s.default_gpu_full_host_preemption
    return {
        "tolerance": s.fair_share_starvation_tolerance,
        "timeout": _micros(s.fair_share_starvation_timeout),
        "aggressive_timeout": _micros(s.fair_share_aggressive_starvation_timeout),
        "enable_aggressive": s.enable_aggressive_starvation,
        "enable_pools": s.enable_pool_starvation,
        "absolute_tolerance": s.enable_absolute_fair_share_starvation_tolerance,
        "allocation_count_coefficient": s.allocation_count_preemption_timeout_coefficient,
        "ignore_tolerance_if_satisfied": s.satisfied_demand_tolerance == "one",
        "allow_aggressive_preemption": s.allow_aggressive_preemption,
        "allow_aggressive_preemption_for_gangs": s.allow_aggressive_preemption_for_gang_operations,
        "preemption_threshold": s.preemption_satisfaction_threshold,
        "aggressive_preemption_threshold": s.aggressive_preemption_satisfaction_threshold,
        "on_bound_preemptible": s.consider_allocation_on_fair_share_bound_preemptible,
        "saved_progress_counts": s.order_key == "last_progress",
        "usage_threshold_protects_prefix": s.usage_threshold_scope == "prefix",
        "aggressive_stage_first": s.stage_order == "regular_aggressive_preemptive",
        "preemptive_stage_serves_aggressive": s.preemptive_stage_targets != "exactly_starving",
        "one_start_per_heartbeat": s.preemptive_starts == "one_per_heartbeat",
        "priority_from_ancestors": s.scheduling_preemption_priority_scope == "operation_and_ancestors",
        "allow_preemption_from_starving": s.allow_preemption_from_starving_operations,
        "victim_selection": _SELECTIONS.index(s.victim_selection),
        "minimum_budget": s.minimum_budget,
        "victim_cost": COSTS.index(s.victim_cost),
        "freed_room_at_once": s.victims_room == "free_at_once",
        "infinite_limits_overcommit": s.enable_infinite_resource_limits_overcommit,
        "check_starvation": s.preemption_check_starvation,
        "check_satisfaction": s.preemption_check_satisfaction,
        "conditional_preemption": s.enable_conditional_preemption,
        "backoff": _micros(s.preemptive_scheduling_backoff),
        "preemption_timeout": _micros(s.allocation_preemption_timeout),
        "graceful_timeout": _micros(s.allocation_graceful_preemption_timeout),
        "repair_in_stage": s.limit_repair == "stage",
        "overcommit_delay": _micros(s.node_overcommit_delay),
        "ssd_stages": s.ssd_priority_preemption.enable,
        "full_host_timeout": _micros(full_host.timeout),
    }


#: Settings of the tree that can share a run, and the core's names of them.
SHARED: Mapping[str, str] = {
    "fair_share_starvation_tolerance": "tolerance",
    "fair_share_starvation_timeout": "timeout",
    "fair_share_aggressive_starvation_timeout": "aggressive_timeout",
    "preemption_satisfaction_threshold": "threshold",
    "aggressive_preemption_satisfaction_threshold": "aggressive_threshold",
}


def shared_columns(settings: Sequence[YTsaurusSettings]) -> dict[str, Any]:
    """Return the values that settings have of `SHARED`, a row each."""
    found = {name: [getattr(s, setting) for s in settings] for setting, name in SHARED.items()}
    return {
        name: np.array([_micros(v) for v in values] if name.endswith("timeout") else values)
        for name, values in found.items()
    }


def tree_settings(snapshot: Snapshot, s: YTsaurusSettings) -> dict[str, Any]:
    """Return the settings of the tree under the core's names, amounts in quanta of a snapshot."""
    values = {**switches(s), **pace_columns(snapshot, s.pace)}
    if "gpu" in snapshot.resources:
        values["full_host_stage"] = s.default_gpu_full_host_preemption.enable
        values["gpu"] = snapshot.resources.index("gpu")
        quantum = snapshot.quantum["gpu"]
        values["full_host_gpus"] = round(_HOST_GPUS / quantum)
        values["full_host_max_penalty"] = s.default_gpu_full_host_preemption.max_preemption_penalty / quantum
    threshold = s.non_preemptible_resource_usage_threshold
    if threshold:
        values["usage_threshold"] = np.array(_thresholds(snapshot, threshold), np.int64)
    return values


def row_columns(snapshot: Snapshot, s: YTsaurusSettings) -> dict[str, NDArray[Any]]:
    """Return what rows set of their own; columns in which no row sets anything are left out."""
    rows = YTsaurusRows.of(snapshot, s)
    pools, operations = snapshot.pool_count, snapshot.operation_count
    own = {**rows.pools, **{pools + row: values for row, values in rows.operations.items()}}
    out = _Columns(snapshot, s)
    out.elements(own, pools + operations)
    of_pools = rows.pools
    _expect_aggressive(of_pools, s)
    out.put("enable_aggressive", pools, _UNSET, np.int8, _of(of_pools, "enable_aggressive_starvation"))
    out.put("allow_aggressive", pools, _UNSET, np.int8, _of(of_pools, "allow_aggressive_preemption"))
    out.put("allow_normal", pools, 1, np.uint8, _of(of_pools, "allow_normal_preemption"))
    out.put("regular_on_ssd", pools, 1, np.uint8, _of(of_pools, "allow_regular_allocations_on_ssd_nodes"))
    tolerance = "resource_limits_overcommit_tolerance"
    out.put("limits_tolerance", pools, 0, np.int64, _of(of_pools, tolerance, lambda v: _quanta(snapshot, v)))
    out.operations(rows.operations, operations)
    out.allocations(rows.allocations, snapshot.allocation_count)
    if s.ssd_priority_preemption.enable:
        out["node_ssd"] = _ssd_nodes(snapshot, s.ssd_priority_preemption.node_tag_filter)
    return dict(out)


def _expect_aggressive(pools: Mapping[int, Any], s: YTsaurusSettings) -> None:
    """Refuse settings of the tree that do not fit together where a pool lets what is in it use them."""
    if any(own.enable_aggressive_starvation for own in pools.values()):
        raise_found(
            [
                Problem("settings", None, None, field, rule, None, f"{field} {said}")
                for field, rule, said in aggressive_checks(s)
            ]
        )


def later_columns(
    live: LiveRows, s: YTsaurusSettings, table: str, given: Mapping[int, Mapping[str, Any]]
) -> dict[str, NDArray[Any]]:
    """Return what rows that came later set of their own, a cell for each of them."""
    found: list[Problem] = []
    read: dict[int, Any] = later_rows(given, _LATER[table], live.base, table, found)
    raise_found(found)
    out = _Columns(live.base, s)
    if table == "operations":
        out.elements(read, len(given))
        out.operations(read, len(given))
    elif table == "allocations":
        out.allocations(read, len(given))
        if "room_taken_rows" in out:
            out["room_taken_rows"] = np.array([*given], np.int32)[out["room_taken_rows"]]
    elif table == "nodes" and s.ssd_priority_preemption.enable:
        tags = [set(live.core.tags_of(row)) for row in given]
        out["node_ssd"] = _with_ssd(tags, s.ssd_priority_preemption.node_tag_filter)
    return dict(out)


def coming_columns(rows: Snapshot, s: YTsaurusSettings) -> dict[str, NDArray[Any]]:
    """Return what the operations of a workload set, a cell for each of them."""
    own = YTsaurusRows.of(rows).operations
    out = _Columns(rows, s)
    out.elements(own, rows.operation_count)
    out.operations(own, rows.operation_count)
    return dict(out)


def _of(table: Mapping[int, Any], field: str, convert: Callable[[Any], Any] = lambda v: v) -> Any:
    """Yield the cells that rows set of a field."""
    return ((row, convert(v)) for row, r in table.items() if (v := getattr(r, field)) is not None)


class _Columns(dict[str, Any]):
    """Columns of what rows set; those in which no row sets anything are left out."""

    def __init__(self, snapshot: Snapshot, s: YTsaurusSettings) -> None:
        self._snapshot, self._settings = snapshot, s

    def put(self, name: str, size: int, absent: Any, dtype: Any, cells: Iterable[tuple[int, Any]]) -> None:
        """Put a column there, if there is a cell."""
        found = list(cells)
        if found:
            values = np.full((size, *np.shape(found[0][1])), absent, dtype)
            for row, value in found:
                values[row] = value
            self[name] = values

    def elements(self, rows: Mapping[int, Any], size: int) -> None:
        """Put what pools and operations may set."""
        snapshot, threshold = self._snapshot, "non_preemptible_resource_usage_threshold"
        self.put("tolerance", size, np.nan, np.float64, _of(rows, "fair_share_starvation_tolerance"))
        self.put("timeout", size, NO_TIME, np.int64, _of(rows, "fair_share_starvation_timeout", _micros))
        amounts = _of(rows, threshold, lambda v: _thresholds(snapshot, v))
        self.put("usage_threshold", size, _UNLIMITED, np.int64, amounts)
        self.put("has_usage_threshold", size, 0, np.uint8, _of(rows, threshold, lambda _: 1))

    def operations(self, rows: Mapping[int, YTsaurusOperationSettings], size: int) -> None:
        """Put what operations alone may set."""
        media = set(self._settings.ssd_priority_preemption.medium_names)
        self.update(cost_columns(rows, size))
        self.put("graceful", size, 0, np.uint8, _of(rows, "preemption_mode", lambda v: v == "graceful"))
        self.put("unschedulable", size, 0, np.uint8, _of(rows, "unschedulable_reason", lambda _: 1))
        self.put("wants_ssd", size, 0, np.uint8, _of(rows, "disk_media", lambda v: bool(media & set(v))))
        self.put(
            "other_segment", size, 0, np.uint8, _of(rows, "scheduling_segment", lambda v: v != "default")
        )

    def allocations(self, rows: Mapping[int, YTsaurusAllocationSettings], size: int) -> None:
        """Put what allocations may set."""
        media = set(self._settings.ssd_priority_preemption.medium_names)
        self.put("uses_ssd", size, 0, np.uint8, _of(rows, "disk_medium", lambda v: v in media))
        self.put("cpu_limits", size, _UNLIMITED, np.int64, _cpu_limits(self._snapshot, rows))
        taken = list(_of(rows, "room_taken", lambda v: _quanta(self._snapshot, v)))
        if taken:
            self["room_taken_rows"] = np.array([row for row, _ in taken], np.int32)
            self["room_taken"] = np.array([amounts for _, amounts in taken], np.int64)


def _cpu_limits(snapshot: Snapshot, allocations: Mapping[int, Any]) -> list[tuple[int, list[int]]]:
    """Return what allocations may use of the cpus, in quanta; -1: no limit."""
    kinds = np.asarray(snapshot._head["kind"])
    cpus = set(np.flatnonzero(kinds == TABLES["resources"]["kind"].words.index("cpu")).tolist())
    found = []
    for row, allocation in allocations.items():
        limits = allocation.resource_limits or {}
        quanta = _quanta(snapshot, limits)
        own = [
            quanta[r] if r in cpus and name in limits else _UNLIMITED
            for r, name in enumerate(snapshot.resources)
        ]
        if max(own) >= 0:
            found.append((row, own))
    return found


def _ssd_nodes(snapshot: Snapshot, formula: str) -> NDArray[np.uint8]:
    words, offsets, codes = snapshot._core.text_list("nodes", "tags")
    return _with_ssd([{words[code] for code in codes[a:b]} for a, b in pairwise(offsets)], formula)


def _with_ssd(tags: Iterable[set[str]], formula: str) -> NDArray[np.uint8]:
    accepts = TagFilter(formula).accepts
    return np.array([accepts(of_node) for of_node in tags], np.uint8)


def given_columns(snapshot: Snapshot, given: Mapping[str, Any] | None) -> dict[str, NDArray[Any]]:
    """Return values that stand in the place of computed ones."""
    if not given:
        return {}
    problems: list[Problem] = []
    out: dict[str, NDArray[Any]] = {}
    keys = {key: row for row, key in enumerate(element_keys(snapshot))}

    def wrong(field: str, name: Any, rule: str, said: str) -> None:
        problems.append(Problem("given", None, name, field, rule, None, f"{field} of {name!r} {said}"))

    def cells(field: str, rows: Mapping[str, int]) -> list[tuple[int, Any, Any]]:
        values = given.get(field)
        if values is None:
            return []
        if not isinstance(values, Mapping):
            problems.append(Problem("given", None, None, field, "type", None, f"{field} is an object"))
            return []
        found = []
        for name, value in values.items():
            row = rows.get(str(name))
            if row is None:
                wrong(field, name, "exists", "is of nothing that the snapshot has")
            else:
                found.append((row, name, value))
        return found

    for field in given:
        if field not in ("fair_share", "starvation", "groups"):
            message = f"given has {field!r}; there are fair_share, starvation and groups"
            problems.append(Problem("given", None, None, str(field), "unknown_field", None, message))
    if found := cells("fair_share", keys):
        out["fair_share"] = np.zeros((len(keys), len(snapshot.resources)))
        out["has_fair_share"] = np.zeros(len(keys), np.uint8)
        for row, name, share in found:
            out["has_fair_share"][row] = 1
            for resource, value in share.items() if isinstance(share, Mapping) else [(None, share)]:
                if resource not in snapshot.resources:
                    wrong("fair_share", name, "exists", f"names {resource!r}, which is no resource")
                elif (
                    isinstance(value, bool)
                    or not isinstance(value, int | float)
                    or not 0 <= value <= sys.float_info.max
                ):
                    wrong(
                        "fair_share", name, "range", f"is {shorten(value)}; a share is a number, at least 0"
                    )
                else:
                    out["fair_share"][row, snapshot.resources.index(resource)] = value
    allocations = rows_by_name(snapshot, "allocations") if isinstance(given.get("groups"), Mapping) else {}
    for field, words, rows, absent, dtype in (
        ("starvation", STARVATION, keys, _UNSET, np.int8),
        ("groups", GROUPS, allocations, 255, np.uint8),
    ):
        if found := cells(field, rows):
            out[field] = np.full(len(rows), absent, dtype)
            for row, name, word in found:
                if isinstance(word, str) and word in words:
                    out[field][row] = words.index(word)
                else:
                    wrong(field, name, "choice", f"is {shorten(word)}; it must be one of {', '.join(words)}")
    if problems:
        raise InputError(problems)
    return out
