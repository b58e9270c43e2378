"""Slurm's own configuration texts: slurm.conf, and what ``scontrol show partition`` prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evenhand.building.problems import nearest, shorten
from evenhand.config.rows import raise_found
from evenhand.systems.slurm.settings import FLAGS
from evenhand.systems.slurm.text.names import CLUSTER, LINES, PARTITION, SHOWN
from evenhand.systems.slurm.text.nodes import NodeSets
from evenhand.systems.slurm.text.values import (
    Found,
    decimal,
    flag,
    grace,
    plain,
    preempt_type,
    read_value,
    seconds,
    whole,
)

__all__ = ["read_conf", "read_partitions"]

_NONE = "No partitions in the system"  # what scontrol prints then
_PAIR = re.compile(r'\s*([A-Za-z][\w/:-]*)\s*=\s*("[^"]*"|\S*)')


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every line that says something; a backslash continues it."""
    begun, number = "", 0
    for place, line in enumerate(text.splitlines(), 1):
        plain = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        number = number or place
        if plain.endswith("\\"):
            begun += plain[:-1] + " "
            continue
        whole, begun = begun + plain, ""
        if whole.strip():
            yield number, whole.strip()
        number = 0
    if begun.strip():
        yield number, begun.strip()


def _pairs(line: str, number: int, found: Found) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    place = 0
    if line.split(maxsplit=1)[0].lower() == "include":
        found.add(number, "include", "syntax", shorten(line), "include is not followed: give that text, too")
        return pairs
    while place < len(line):
        match = _PAIR.match(line, place)
        if match is None:
            rest = line[place:].strip()
            found.add(number, rest.split()[0], "syntax", shorten(rest), f"{shorten(rest)} is no name=value")
            return pairs
        pairs.append((match[1], match[2].strip('"')))
        place = match.end()
        if not line[place:].strip():
            break
    return pairs


_CLUSTER: Mapping[str, Callable[[str], Any]] = {
    "PreemptType": preempt_type,
    "PreemptMode": plain,
    "PreemptExemptTime": seconds,
    "JobRequeue": flag,
    "KillWait": decimal,
    "MessageTimeout": decimal,
    "SchedulerType": plain,
    "SelectType": plain,
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
_PARTITION: Mapping[str, Callable[[str], Any]] = {
    "PriorityTier": whole,
    "PriorityJobFactor": whole,
    "PreemptMode": plain,
    "GraceTime": grace,
    "OverSubscribe": plain,
    "Nodes": plain,
    "State": plain,
    "Default": flag,
    "MaxTime": seconds,
    "DefaultTime": seconds,
    "QOS": lambda text: None if text.upper() in ("", "N/A") else text,
}


def _parameters(name: str, text: str, number: int, found: Found, before: Mapping[str, Any]) -> dict[str, Any]:
    """Read what PreemptParameters, or the older SchedulerParameters, say of preemption."""
    settings: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if name == "SchedulerParameters":
            if key in _PASSES:
                settings |= read_value(_PASSES, key, value if equals else "yes", number, found)
            if key not in _OLD:
                continue
            key = _OLD[key]
        if key not in _PARAMETERS:
            message = f"{key} is unknown{nearest(key, list(_PARAMETERS))}"
            found.add(number, f"{name}.{key}", "unknown_field", None, message)
            continue
        said = read_value(_PARAMETERS, key, value if equals else "yes", number, found)
        earlier = settings.get(key, before.get(key))
        if earlier is not None and said.get(key, earlier) != earlier:
            message = f"{key} is {earlier} and {said[key]}; releases differ in which they take: leave one"
            found.add(number, f"{name}.{key}", "unique", None, message)
        settings |= said
    return settings


def _once(name: str | None, seen: set[str], number: int, found: Found) -> None:
    """Refuse what is said twice: of two values Slurm takes the last, and writes that to its log only."""
    if name in seen:
        message = f"{name} appears twice, and Slurm uses the last; keep one"
        found.add(number, name, "unique", None, message)
    elif name is not None:
        seen.add(name)


def _partition(
    pairs: list[tuple[str, str]], number: int, found: Found, known: frozenset[str]
) -> dict[str, Any]:
    by_case = {name.lower(): name for name in known | set(_PARTITION)}
    partition: dict[str, Any] = {}
    seen: set[str] = set()
    for key, value in pairs:
        name = by_case.get(key.lower())
        _once(name, seen, number, found)
        name = {"Shared": "OverSubscribe"}.get(name or "", name)
        if name is None:
            message = f"{key} is unknown{nearest(key, sorted(by_case.values()))}"
            found.add(number, key, "unknown_field", None, message)
        elif name == "Priority":  # the older word for both
            for each in ("PriorityTier", "PriorityJobFactor"):
                partition |= read_value(_PARTITION, each, value, number, found)
        elif name in _PARTITION:
            partition |= read_value(_PARTITION, name, value, number, found)
    return partition


def read_conf(text: str) -> dict[str, Any]:
    """Return the settings that a slurm.conf makes.

    Parameters
    ----------
    text : str
        The entire file; names are compared without regard to case, as Slurm does.

    Returns
    -------
    dict
        Fields of `evenhand.systems.slurm.settings.SlurmSettings`; the rest plays no part in preemption.

    Raises
    ------
    InputError
        With a problem for each parameter that slurm.conf does not have or whose value cannot be read; its
        row is the number of the line.

    Notes
    -----
    ``include`` lines are refused: give the included text, too. So is a parameter or a partition that is there
    twice, of which Slurm goes by the last. A partition without ``Nodes`` has none; names of node sets stand
    for their nodes. Source: slurm.conf, manual page.
    """
    found = Found("slurm.conf")
    settings: dict[str, Any] = {}
    partitions: dict[str, dict[str, Any]] = {}
    defaults: dict[str, Any] = {}
    seen: set[str] = set()
    sets = NodeSets()
    by_case = {name.lower(): name for name in (*CLUSTER, *LINES)}
    for number, line in _lines(text):
        pairs = _pairs(line, number, found)
        if not pairs:
            continue
        first, value = pairs[0]
        name = by_case.get(first.lower())
        if name == "PartitionName":
            of = _partition(pairs[1:], number, found, PARTITION)
            if value.upper() == "DEFAULT":
                defaults |= of
            else:
                for one in value.split(","):
                    _once(f"PartitionName={one}", seen, number, found)
                    partitions[one] = {"Nodes": "", **defaults, **of}
            continue
        if name in LINES:
            sets.read(name, pairs, number, found)
            continue
        for key, said in pairs:
            name = by_case.get(key.lower())
            _once(name, seen, number, found)
            if name in ("PreemptParameters", "SchedulerParameters"):
                settings |= _parameters(name, said, number, found, settings)
            elif name is not None and name in _CLUSTER:
                settings |= read_value(_CLUSTER, name, said, number, found)
            elif name is None:
                message = f"{key} is unknown{nearest(key, sorted(by_case.values()))}"
                found.add(number, key, "unknown_field", None, message)
    for partition in partitions.values():
        partition["Nodes"] = sets.expanded(partition["Nodes"])
    raise_found(found.problems)
    settings.setdefault("SchedulerType", "sched/backfill")  # the file's default
    return settings | ({"partitions": partitions} if partitions else {})


def read_partitions(text: str) -> dict[str, dict[str, Any]]:
    """Return the partitions that ``scontrol show partition`` prints, with ``-o`` or without.

    Parameters
    ----------
    text : str

    Returns
    -------
    dict
        Name to fields of `evenhand.systems.slurm.settings.SlurmPartition`.

    Raises
    ------
    InputError
        As `read_conf`.
    """
    found = Found("scontrol show partition")
    partitions: dict[str, dict[str, Any]] = {}
    current: dict[str, Any] | None = None
    for number, line in _lines(text):
        if line.strip() == _NONE:
            continue
        pairs = _pairs(line, number, found)
        if pairs and pairs[0][0] == "PartitionName":
            current = partitions.setdefault(pairs[0][1], {})
            pairs = pairs[1:]
        if current is None:
            found.add(number, "PartitionName", "required", None, "PartitionName comes first")
            break
        current |= _partition(pairs, number, found, SHOWN)
    for partition in partitions.values():
        # What a partition inherits is shown as its own, with what only the cluster can be given.
        if mode := partition.get("PreemptMode"):
            words = [word for word in mode.split(",") if word.upper() not in FLAGS]
            partition["PreemptMode"] = ",".join(words) or None
        if partition.get("Nodes") == "(null)":
            partition["Nodes"] = ""
    raise_found(found.problems)
    return partitions
