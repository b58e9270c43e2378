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
from evenhand.config.columns import COST, Cells, columns_of, micros, quanta, room_taken
from evenhand.config.costs import COSTS
from evenhand.config.pace import pace_columns
from evenhand.config.rows import later_rows, raise_found
from evenhand.errors import InputError, Problem
from evenhand.fields import TABLES
from evenhand.plans.columns import element_keys, rows_by_name
from evenhand.reasons import GROUPS, STARVATION
from evenhand.systems.ytsaurus.rows import MODELS, read_settings
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


def _thresholds(snapshot: Snapshot, amounts: Mapping[str, float]) -> list[int]:
    """Return quanta from which on usage is no longer below the amounts; -1: unset."""
    quantum = snapshot.quantum
    return [math.ceil(amounts[r] / quantum[r] - 1e-9) if r in amounts else _UNLIMITED for r in quantum]


def switches(s: YTsaurusSettings) -> dict[str, Any]:
    """Return the settings that need no snapshot, under the core's names."""
    full_host = s.default_gpu_full_host_preemption
    return {
        "tolerance": s.fair_share_starvation_tolerance,
        "timeout": micros(s.fair_share_starvation_timeout),
        "aggressive_timeout": micros(s.fair_share_aggressive_starvation_timeout),
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
        "backoff": micros(s.preemptive_scheduling_backoff),
        "preemption_timeout": micros(s.allocation_preemption_timeout),
        "graceful_timeout": micros(s.allocation_graceful_preemption_timeout),
        "repair_in_stage": s.limit_repair == "stage",
        "overcommit_delay": micros(s.node_overcommit_delay),
        "ssd_stages": s.ssd_priority_preemption.enable,
        "full_host_timeout": micros(full_host.timeout),
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
        name: np.array([micros(v) for v in values] if name.endswith("timeout") else values)
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
    rows = read_settings(snapshot, s)
    pools, operations = snapshot.pool_count, snapshot.operation_count
    own = {**rows["pools"], **{pools + row: values for row, values in rows["operations"].items()}}
    _expect_aggressive(rows["pools"], s)
    out = columns_of(own, pools + operations, _of_elements(snapshot))
    out |= columns_of(rows["pools"], pools, _of_pools(snapshot))
    out |= columns_of(rows["operations"], operations, _of_operations(s))
    out |= _allocations(snapshot, s, rows["allocations"], snapshot.allocation_count)
    if s.ssd_priority_preemption.enable:
        out["node_ssd"] = _ssd_nodes(snapshot, s.ssd_priority_preemption.node_tag_filter)
    return out


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
    read = later_rows(given, MODELS, live.base, table, found)
    raise_found(found)
    if table == "operations":
        return columns_of(read, len(given), _of_elements(live.base) | _of_operations(s))
    if table == "allocations":
        out = _allocations(live.base, s, read, len(given))
        if "room_taken_rows" in out:
            out["room_taken_rows"] = np.array([*given], np.int32)[out["room_taken_rows"]]
        return out
    if table == "nodes" and s.ssd_priority_preemption.enable:
        tags = [set(live.core.tags_of(row)) for row in given]
        return {"node_ssd": _with_ssd(tags, s.ssd_priority_preemption.node_tag_filter)}
    return {}


def coming_columns(rows: Snapshot, s: YTsaurusSettings) -> dict[str, NDArray[Any]]:
    """Return what the operations of a workload set, a cell for each of them."""
    own = read_settings(rows)["operations"]
    return columns_of(own, rows.operation_count, _of_elements(rows) | _of_operations(s))


def _set(field: str, convert: Callable[[Any], Any] = lambda v: v) -> Callable[[Any], Any]:
    """Return what returns a row's cell from a field; None: the row does not set it."""
    return lambda own: None if (value := getattr(own, field)) is None else convert(value)


def _of_elements(snapshot: Snapshot) -> dict[str, Cells]:
    """Return the columns of what pools and operations may set."""
    threshold = "non_preemptible_resource_usage_threshold"
    amounts = _set(threshold, lambda v: _thresholds(snapshot, v))
    return {
        "tolerance": Cells(np.nan, np.float64, _set("fair_share_starvation_tolerance")),
        "timeout": Cells(NO_TIME, np.int64, _set("fair_share_starvation_timeout", micros)),
        "usage_threshold": Cells(_UNLIMITED, np.int64, amounts),
        "has_usage_threshold": Cells(0, np.uint8, _set(threshold, lambda _: 1)),
    }


def _of_pools(snapshot: Snapshot) -> dict[str, Cells]:
    tolerance = _set("resource_limits_overcommit_tolerance", lambda v: quanta(snapshot, v))
    return {
        "enable_aggressive": Cells(_UNSET, np.int8, _set("enable_aggressive_starvation")),
        "allow_aggressive": Cells(_UNSET, np.int8, _set("allow_aggressive_preemption")),
        "allow_normal": Cells(1, np.uint8, _set("allow_normal_preemption")),
        "regular_on_ssd": Cells(1, np.uint8, _set("allow_regular_allocations_on_ssd_nodes")),
        "limits_tolerance": Cells(0, np.int64, tolerance),
    }


def _of_operations(s: YTsaurusSettings) -> dict[str, Cells]:
    """Return the columns of what operations alone may set."""
    media = set(s.ssd_priority_preemption.medium_names)
    return {
        "preemption_cost": COST,
        "graceful": Cells(0, np.uint8, _set("preemption_mode", lambda v: v == "graceful")),
        "unschedulable": Cells(0, np.uint8, _set("unschedulable_reason", lambda _: 1)),
        "wants_ssd": Cells(0, np.uint8, _set("disk_media", lambda v: bool(media & set(v)))),
        "other_segment": Cells(0, np.uint8, _set("scheduling_segment", lambda v: v != "default")),
    }


def _allocations(
    snapshot: Snapshot, s: YTsaurusSettings, rows: Mapping[int, Any], count: int
) -> dict[str, NDArray[Any]]:
    """Return what allocations set."""
    media = set(s.ssd_priority_preemption.medium_names)
    kinds = np.asarray(snapshot._head["kind"])
    cpus = set(np.flatnonzero(kinds == TABLES["resources"]["kind"].words.index("cpu")).tolist())

    def limits(given: Mapping[str, float]) -> list[int] | None:
        """Return what it may use of the cpus, in quanta; -1: no limit."""
        amounts = zip(snapshot.resources, quanta(snapshot, given), strict=True)
        own = [of if r in cpus and name in given else _UNLIMITED for r, (name, of) in enumerate(amounts)]
        return own if max(own) >= 0 else None

    cells = {
        "uses_ssd": Cells(0, np.uint8, _set("disk_medium", lambda v: v in media)),
        "cpu_limits": Cells(_UNLIMITED, np.int64, _set("resource_limits", limits)),
    }
    return columns_of(rows, count, cells) | room_taken(snapshot, rows)


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
