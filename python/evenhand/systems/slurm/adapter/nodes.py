"""Nodes of Slurm: what they offer, what they are called for, and whether they take work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.adapters.protocol import AdapterError
from evenhand.systems.slurm.adapter.text import (
    GARBLED,
    amounts,
    document,
    instant,
    number,
    rows,
    split_hosts,
    words,
)

__all__ = ["Node", "nodes_of_json", "nodes_of_text", "reserved_of"]


@dataclass(frozen=True, slots=True)
class Node:
    """One node."""

    name: str
    capacity: Mapping[str, int]
    tags: tuple[str, ...]
    schedulable: bool
    threads: int = 1


# What backfill has planned for later is idle until then; only text says so in the place of the state.
_FREE = {"IDLE", "MIXED", "ALLOCATED", "COMPLETING", "PLANNED"}
_CLOSED = {"DRAIN", "DRAINING", "DRAINED", "DOWN", "FAIL", "FAILING", "MAINT", "MAINTENANCE", "NO_RESPOND"}
_CLOSED |= {"NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "REBOOT", "RESERVED", "FUTURE"}
_CLOSED |= {"BLOCKED", "INVALID", "INVALID_REG", "INVAL"}


def _takes_work(state: set[str]) -> bool:
    return bool(state & _FREE) and not state & _CLOSED


def nodes_of_json(text: str) -> list[Node]:
    """Return the nodes of ``scontrol show nodes --json``, or of ``sinfo -N --json`` as 22.05 has them."""
    found = {}
    for row in document(text, "nodes"):
        try:
            name = str(row["name"])
            capacity = amounts(row.get("tres"))
            capacity.setdefault("cpu", int(row["cpus"]))
            capacity.setdefault("memory", int(row["real_memory"]))
            if effective := number(row.get("effective_cpus")):
                capacity["cpu"] = min(capacity["cpu"], effective)
            capacity["memory"] = max(capacity["memory"] - (number(row.get("specialized_memory")) or 0), 0)
            state = words(row["state"]) | words(row.get("state_flags"))
            features = _listed(row.get("active_features"))
            parts = [f"partition:{p}" for p in _listed(row.get("partitions"))]
            threads = max(number(row.get("threads")) or 1, 1)
        except GARBLED as error:
            raise AdapterError(f"a node of the JSON cannot be read: {error!r}") from error
        tags = (*parts, *features, *_kinds(row.get("gres")))
        found[name] = Node(name, capacity, tags, _takes_work(state), threads)
    return list(found.values())


def _listed(value: Any) -> list[str]:
    """Return words of a list, or (until 23.02) of a text with commas."""
    found = value.split(",") if isinstance(value, str) else value or ()
    return [str(word) for word in found if word]


def nodes_of_text(text: str) -> list[Node]:
    """Return the nodes of ``sinfo -N -o '%N|%T|%c|%m|%G|%R|%b|'``: a row a node and partition."""
    found: dict[str, Node] = {}
    for name, state, cpus, memory, gres, partition, features in rows(text, 7):
        try:
            capacity = {"cpu": int(cpus), "memory": int(memory)}
        except ValueError as error:
            raise AdapterError(f"node {name} of sinfo cannot be read: {error}") from error
        for part in re.sub(r"\([^)]*\)", "", gres).split(","):
            kind, *_, size = part.split(":") if ":" in part else ("", "")
            if kind and size.isdecimal():
                capacity[f"gres/{kind}"] = capacity.get(f"gres/{kind}", 0) + int(size)
        offered = (f for f in features.split(",") if f and f != "(null)")
        tags = (f"partition:{partition}", *offered, *_kinds(gres))
        before = found[name].tags if name in found else ()
        takes = _takes_work(words(state.rstrip("*~#!%$@^-"))) and not state.endswith("*")
        found[name] = Node(name, capacity, tuple(dict.fromkeys((*before, *tags))), takes)
    return list(found.values())


def _kinds(gres: Any) -> tuple[str, ...]:
    """Return ``gres/gpu:a100`` of ``gpu:a100:4(S:0-1)``, for devices of which a node has one kind only."""
    kinds: dict[str, set[str]] = {}
    for part in re.sub(r"\([^)]*\)", "", str(gres or "")).split(","):
        device, *kind, size = part.split(":") if ":" in part else ("", "")
        if device and size:
            kinds.setdefault(device, set()).add(":".join(kind))
    return tuple(
        f"gres/{device}:{kind}"
        for device, found in kinds.items()
        for kind in found
        if kind and len(found) == 1
    )


def reserved_of(text: str) -> dict[str, float]:
    """Return the nodes of reservations by ``sinfo -T`` with the time from which on the first one holds.

    Those that are in force hold from 0 on.
    """
    head, *lines = text.split("\n")
    if lines[-1:] != [""]:
        raise AdapterError("sinfo -T: the answer is cut off")
    if head.startswith("No reservations"):
        return {}
    found: dict[str, float] = {}
    for line in lines[:-1]:
        name, state, start, _, _, nodes = (*line.split(), *[""] * 6)[:6]
        begins = 0.0 if state == "ACTIVE" else instant(start)
        if not name or state not in ("ACTIVE", "INACTIVE") or begins is None:
            raise AdapterError("sinfo -T: the answer is garbled")
        for node in split_hosts(nodes) if nodes != "(null)" else ():
            found[node] = min(found.get(node, begins), begins)
    return found
