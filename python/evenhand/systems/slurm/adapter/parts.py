"""What a job of Slurm holds, node by node."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evenhand.systems.slurm.adapter.text import number

__all__ = ["even", "parts_of"]

#: A device of ``gres_detail``; of those without files, the number stands behind it alone.
_DEVICES = re.compile(r"([^,()]+)(?:\((?:CNT:(\d+)|[^)]*)\))?")


def even(cpus: int, count: int, total: Mapping[str, int]) -> dict[str, int]:
    """Return what each of ``count`` nodes gives, rounded up."""
    needs = {name: -(-value // count) for name, value in total.items()}
    return {"cpu": -(-cpus // count), **{n: v for n, v in needs.items() if n != "cpu" and v}}


def parts_of(
    row: Mapping[str, Any], nodes: list[str], cpus: int, held: Mapping[str, int], threads: Mapping[str, int]
) -> dict[str, dict[str, int]]:
    """Return what a job of ``squeue --json`` holds on each of its nodes."""
    found = {node: even(held.get("cpu", cpus), len(nodes), held) for node in nodes}
    places = row.get("job_resources") or {}
    listed = places.get("nodes")
    later = listed.get("allocation") if isinstance(listed, dict) else None
    if isinstance(later, list):
        for place in later:
            _put(found, place.get("name"), "cpu", number((place.get("cpus") or {}).get("count")))
            _put(found, place.get("name"), "memory", number((place.get("memory") or {}).get("allocated")))
    elif isinstance(earlier := places.get("allocated_nodes"), list):
        cores = {str(place.get("nodename")): _cores(place) for place in earlier}
        for node, count in _cpus(cores, cpus, threads).items():
            _put(found, node, "cpu", count)
        for place in earlier:
            _put(found, place.get("nodename"), "memory", number(place.get("memory_allocated")))
    detail = row.get("gres_detail")
    if isinstance(detail, list) and len(detail) == len(nodes):
        counts = [_devices(str(text)) for text in detail]
        for name in [name for name in held if name.startswith("gres/")]:
            here = [one.get(name, 0) for one in counts]
            if sum(here) == held[name]:  # else the nodes do not tell all of it
                for node, count in zip(nodes, here, strict=True):
                    found[node][name] = count
    return found


def _put(found: dict[str, dict[str, int]], node: Any, name: str, amount: int | None) -> None:
    if node in found and amount:
        found[node][name] = amount


def _cores(place: Mapping[str, Any]) -> int:
    sockets = (place.get("sockets") or {}).values()
    return sum(list((socket.get("cores") or {}).values()).count("allocated") for socket in sockets)


def _cpus(cores: Mapping[str, int], cpus: int, threads: Mapping[str, int]) -> dict[str, int]:
    """Return cpus by node, if cores come to all cpus by the threads of their nodes, or all by as many."""
    by_node = {node: count * threads.get(node, 1) for node, count in cores.items()}
    if sum(by_node.values()) == cpus:
        return by_node
    total = sum(cores.values())
    if not total or cpus % total:
        return {}
    return {node: count * (cpus // total) for node, count in cores.items()}


def _devices(text: str) -> dict[str, int]:
    """Return ``gres/gpu`` and ``gres/gpu:a`` of ``gpu:a:1(IDX:0),nic(CNT:2)``, with their numbers."""
    found: dict[str, int] = {}
    for said, counted in _DEVICES.findall(text):
        device, *kind = said.strip().split(":")
        count = kind.pop() if kind and kind[-1].isdecimal() else counted or "0"
        for name in {f"gres/{device}", ":".join((f"gres/{device}", *kind))}:
            found[name] = found.get(name, 0) + int(count)
    return found
