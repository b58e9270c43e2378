"""Partitions, as lines of slurm.conf say them and ``scontrol show partition`` prints them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from evenhand.building.problems import nearest, nearest_of, shorten
from evenhand.systems.slurm.text.names import SHOWN
from evenhand.systems.slurm.text.values import (
    flag,
    grace,
    plain,
    preempt_mode,
    read_value,
    seconds,
    whole,
)
from evenhand.systems.texts import Found

__all__ = ["partition_of", "read_partitions", "sharing_of"]

_NONE = "No partitions in the system"  # what scontrol prints then
_SHOWN_PAIR = re.compile(r"([^\s=]+)=(\S*)")


def _exclusive(text: str) -> str:
    if text.upper() not in ("NO", "NODE", "USER", "TOPO", "MCS"):
        raise ValueError("is none of NO, NODE, USER, TOPO, MCS")
    return text.upper()


_PARTITION: Mapping[str, Callable[[str], Any]] = {
    "PriorityTier": whole,
    "PriorityJobFactor": whole,
    "PreemptMode": preempt_mode,
    "GraceTime": grace,
    "OverSubscribe": plain,
    "Nodes": plain,
    "State": plain,
    "Default": flag,
    "MaxTime": seconds,
    "DefaultTime": seconds,
    "Exclusive": _exclusive,
    "ExclusiveUser": flag,
    "ExclusiveTopo": flag,
    "QOS": lambda text: None if text.upper() in ("", "N/A") else text,
}


def partition_of(
    pairs: list[tuple[str, str]], number: int, found: Found, known: frozenset[str], file: str = ""
) -> dict[str, Any]:
    """Return what a line says of a partition."""
    by_case = {name.lower(): name for name in known | set(_PARTITION)}
    partition: dict[str, Any] = {}
    for key, value in pairs:
        name = by_case.get(key.lower())
        name = {"Shared": "OverSubscribe"}.get(name or "", name)
        if name is None:
            _unknown(key, sorted(by_case.values()), number, found, file)
        elif name == "Priority":  # the older word for both
            for each in ("PriorityTier", "PriorityJobFactor"):
                partition |= read_value(_PARTITION, each, value, number, found, file)
        elif name in _PARTITION:
            partition |= read_value(_PARTITION, name, value, number, found, file)
    if str(partition.get("Nodes", "")).upper() == "ALL":
        partition["Nodes"] = "ALL"
    return _shared(_moded(partition, number, found, file), number, found, file)


def _unknown(key: str, known: list[str], number: int, found: Found, file: str) -> None:
    message = f"{shorten(key)} is unknown{nearest(key, known)}"
    if nearest_of(key, known) in _PARTITION:
        found.add(number, key, "unknown_field", None, message, file)
    else:
        found.note(number, message, file)


def _moded(partition: dict[str, Any], number: int, found: Found, file: str) -> dict[str, Any]:
    """Return a partition without what its mode cannot have: only the cluster's has it."""
    mode = partition.get("PreemptMode")
    words = [word.strip().upper() for word in (mode or "").split(",")]
    dropped = [word for word in words if word in ("GANG", "WITHIN")]
    if dropped:
        found.note(number, f"{' and '.join(dropped)} is no mode of a partition, and dropped", file)
        rest = [word for word in words if word not in dropped]
        partition["PreemptMode"] = ",".join(rest) or None
    return partition


def _shared(partition: dict[str, Any], number: int, found: Found, file: str) -> dict[str, Any]:
    """Return a partition with one word for entire nodes: from 26.05 on there are two."""
    exclusive = partition.pop("Exclusive", "NO")
    user, block = partition.pop("ExclusiveUser", False), partition.pop("ExclusiveTopo", False)
    if exclusive == "NODE":
        partition["OverSubscribe"] = "EXCLUSIVE"
    whose = {"USER": "one user", "TOPO": "one job", "MCS": "one MCS label"}.get(exclusive)
    whose = whose or ("one user" if user else "one job" if block else None)
    if whose:
        found.note(number, f"nodes of the partition are for {whose} at a time, which no plan knows of", file)
    return partition


def read_partitions(text: str, *, notes: list[str] | None = None) -> dict[str, dict[str, Any]]:
    """Return the partitions that ``scontrol show partition`` prints, with ``-o`` or without."""
    found = Found("scontrol show partition")
    partitions: dict[str, dict[str, Any]] = {}
    for name, pairs, number in _shown(text, found):
        said = dict(pairs)
        partitions[name] = partition_of(
            [(key, value) for key, value in said.items() if key != "PreemptMode"], number, found, SHOWN
        )
        # What a partition inherits is shown as its own, with what only the cluster can be given.
        if mode := said.get("PreemptMode"):
            partitions[name]["PreemptMode"] = _own_mode(mode)
        if partitions[name].get("Nodes") == "(null)":
            partitions[name]["Nodes"] = ""
    found.complain()
    if notes is not None:
        notes += found.notes
    return partitions


def _own_mode(mode: str) -> str | None:
    words = [word.upper() for word in mode.split(",")]
    if words == ["PRIORITY"]:  # its own jobs then have no mode
        return "PRIORITY"
    rest = [word for word in words if word not in ("GANG", "WITHIN", "UNKNOWN")]
    return ",".join(rest) or None


def _shown(text: str, found: Found) -> list[tuple[str, list[tuple[str, str]], int]]:
    """Return names and values of each partition, and the number of its first line."""
    parts: list[tuple[str, list[tuple[str, str]], int]] = []
    for number, line in enumerate(text.splitlines(), 1):
        pairs = _SHOWN_PAIR.findall(line)
        if line.strip() == _NONE or not line.strip():
            continue
        if pairs and pairs[0][0] == "PartitionName":
            parts.append((pairs[0][1], [], number))
            pairs = pairs[1:]
        if not parts:
            found.add(number, "PartitionName", "required", None, "PartitionName comes first")
            break
        parts[-1][1].extend(pairs)
    return parts


def sharing_of(text: str) -> dict[str, str]:
    """Return the partitions whose nodes are for one user (USER), label (MCS) or block (TOPO) at a time."""
    found: dict[str, str] = {}
    for name, pairs, _ in _shown(text, Found("scontrol show partition")):
        said = {key: value.upper() for key, value in pairs}
        if (word := said.get("Exclusive", "NO")) in ("USER", "TOPO", "MCS"):
            found[name] = word
        elif said.get("ExclusiveUser") == "YES":
            found[name] = "USER"
        elif said.get("ExclusiveTopo") == "YES":
            found[name] = "TOPO"
    return found
