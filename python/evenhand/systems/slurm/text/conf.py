"""slurm.conf as settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.building.problems import nearest, nearest_of, shorten
from evenhand.systems.slurm.text.lines import Line, lines_of, pairs_of
from evenhand.systems.slurm.text.names import CLUSTER, LINES, OLD, PARTITION
from evenhand.systems.slurm.text.nodes import NodeLines
from evenhand.systems.slurm.text.partitions import partition_of
from evenhand.systems.slurm.text.values import (
    decimal,
    flag,
    plain,
    preempt_mode,
    preempt_type,
    read_value,
    seconds,
    whole,
)
from evenhand.systems.texts import Found

__all__ = ["read_conf"]

_CLUSTER: Mapping[str, Callable[[str], Any]] = {
    "PreemptType": preempt_type,
    "PreemptMode": preempt_mode,
    "PreemptExemptTime": seconds,
    "JobRequeue": flag,
    "KillWait": decimal,
    "MessageTimeout": decimal,
    "SchedulerType": plain,
    "SelectType": plain,
    "AccountingStorageEnforce": lambda text: [word for word in text.split(",") if word],
    "PriorityType": plain,
    "PriorityWeightAge": whole,
    "PriorityWeightAssoc": whole,
    "PriorityWeightFairshare": whole,
    "PriorityWeightJobSize": whole,
    "PriorityWeightPartition": whole,
    "PriorityWeightQOS": whole,
    "PriorityWeightTRES": plain,
    "PriorityMaxAge": seconds,
    "PriorityFavorSmall": flag,
    "PriorityFlags": plain,
    "FairShareDampeningFactor": whole,
}
_PARAMETERS: Mapping[str, Callable[[str], Any]] = {
    "reorder_count": whole,
    "strict_order": flag,
    "youngest_first": flag,
    "reclaim_licenses": flag,
    "min_exempt_priority": decimal,
    "send_user_signal": flag,
    "suspend_grace_time": decimal,
}
_PASSES: Mapping[str, Callable[[str], Any]] = {
    "partition_job_depth": whole,
    "sched_max_job_start": whole,
    "default_queue_depth": whole,
    "bf_max_job_test": whole,
    "bf_node_space_size": whole,
    "bf_window": lambda text: 60.0 * decimal(text),
    "bf_resolution": decimal,
    "bf_max_job_start": whole,
    "bf_max_job_part": whole,
    "bf_max_job_user": whole,
    "bf_max_job_assoc": whole,
    "bf_max_job_user_part": whole,
    "bf_job_part_count_reserve": whole,
    "bf_min_age_reserve": decimal,
    "bf_min_prio_reserve": whole,
    "bf_one_resv_per_job": flag,
    "bf_busy_nodes": flag,
    "bf_licenses": flag,
    "bf_running_job_reserve": flag,
    "bf_window_linear": whole,
}
_OLD = {f"preempt_{name}": name for name in ("reorder_count", "strict_order", "youngest_first")}

#: Lines of which a file may have several.
_LISTED = ("SlurmctldHost",)


@dataclass(frozen=True, slots=True)
class Said:
    """What a file says last of a parameter, and where."""

    value: str
    line: Line


def _parameters(name: str, said: Said, found: Found, before: Mapping[str, Any]) -> dict[str, Any]:
    """Read what PreemptParameters, or the older SchedulerParameters, say of preemption."""
    settings: dict[str, Any] = {}
    at = said.line
    for part in filter(None, (part.strip() for part in said.value.split(","))):
        key, equals, value = part.partition("=")
        if name == "SchedulerParameters":
            if key in _PASSES:
                given = value if equals else "yes"
                settings |= read_value(_PASSES, key, given, at.number, found, at.place)
            if key not in _OLD:
                continue
            key = _OLD[key]
        if key not in _PARAMETERS:
            message = f"{key} is unknown{nearest(key, list(_PARAMETERS))}"
            if nearest_of(key, list(_PARAMETERS)):
                found.add(at.number, f"{name}.{key}", "unknown_field", None, message, at.place)
            else:
                found.note(at.number, f"{name}: {message}", at.place)
            continue
        read = read_value(_PARAMETERS, key, value if equals else "yes", at.number, found, at.place)
        earlier = settings.get(key, before.get(key))
        if earlier is not None and read.get(key, earlier) != earlier:
            message = f"{key} is {earlier} and {read[key]}; releases differ in which they take: leave one"
            found.add(at.number, f"{name}.{key}", "unique", None, message, at.place)
        settings |= read
    return settings


class _File:
    """What the lines of a file add up to."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.said: dict[str, Said] = {}
        self.partitions: dict[str, dict[str, Any]] = {}
        self.nodes = NodeLines()
        self._defaults: dict[str, Any] = {}
        self._known = {name.lower(): name for name in (*CLUSTER, *LINES, *OLD)}
        self._read = {*_CLUSTER, "PreemptParameters", "SchedulerParameters", *LINES}

    def take(self, line: Line) -> None:
        """Take a line into account; of a parameter that is there twice the last counts."""
        pairs = pairs_of(line, self.found)
        if not pairs:
            return
        (key, value), *rest = pairs
        name = self._known.get(key.lower())
        if name == "PartitionName":
            self._partition(value, rest, line)
        elif name in LINES:
            self.nodes.read(name, pairs, line.number, self.found)
        elif rest:
            message = f"{shorten(rest[0][0])} stands behind {shorten(key)}; Slurm reads one parameter a line"
            self.found.add(line.number, rest[0][0], "syntax", None, message, line.place)
        elif name is None:
            self._unknown(key, line)
        else:
            if name in OLD:
                self.found.note(
                    line.number, f"{name} is a word of other releases; no plan reads it", line.place
                )
            elif name in self.said and name not in _LISTED and value != self.said[name].value:
                self.found.note(line.number, f"{name} is there twice; this one counts", line.place)
            self.said[name] = Said(value, line)

    def _unknown(self, key: str, line: Line) -> None:
        known = sorted(self._known.values())
        message = f"{shorten(key)} is unknown{nearest(key, known)}"
        if nearest_of(key, known) in self._read:
            self.found.add(line.number, key, "unknown_field", None, message, line.place)
        else:
            self.found.note(line.number, message, line.place)

    def _partition(self, value: str, pairs: list[tuple[str, str]], line: Line) -> None:
        of = partition_of(pairs, line.number, self.found, PARTITION, line.place)
        if value.upper() == "DEFAULT":
            self._defaults |= of
            return
        for one in value.split(","):
            if one in self.partitions:
                self.found.note(line.number, f"partition {one} is there twice; this one counts", line.place)
            self.partitions[one] = {"Nodes": "", **self._defaults, **of}

    def settings(self) -> dict[str, Any]:
        """Return what it all says."""
        settings: dict[str, Any] = {}
        for name, said in self.said.items():
            if name in ("PreemptParameters", "SchedulerParameters"):
                settings |= _parameters(name, said, self.found, settings)
            elif name in _CLUSTER:
                settings |= read_value(
                    _CLUSTER, name, said.value, said.line.number, self.found, said.line.place
                )
        settings.setdefault("SchedulerType", "sched/backfill")  # the file's default
        last = [name for name, partition in self.partitions.items() if partition.get("Default")][-1:]
        for name, partition in self.partitions.items():
            partition["Nodes"] = self.nodes.expanded(partition["Nodes"])
            if partition.get("Default"):
                partition["Default"] = name in last
        weights = {"node_weights": self.nodes.weights} if self.nodes.weights else {}
        return settings | weights | ({"partitions": self.partitions} if self.partitions else {})


def read_conf(text: str, *, path: Path | None = None, notes: list[str] | None = None) -> dict[str, Any]:
    """Return the settings that a slurm.conf makes."""
    found = Found("slurm.conf")
    file = _File(found)
    for line in lines_of(text, found, path):
        file.take(line)
    settings = file.settings()
    found.problems.sort(key=lambda problem: problem.row or 0)
    found.complain()
    if notes is not None:
        notes += found.notes
    return settings
