"""Preemption for an ask that must run on one node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from tests.reference.yunikorn.resources import Resource, add, matches_any, sub
from tests.reference.yunikorn.world import Allocation, Ask

__all__ = ["by_type", "counted_out", "required_victims"]


def counted_out(ask: Ask, there: Sequence[Allocation]) -> tuple[dict[str, int], list[Allocation]]:
    """Return how many are no candidates and why, and those that are."""
    counts = dict.fromkeys(
        ("total", "required_node", "no_common_type", "higher_priority", "already_preempted", "released"), 0
    )
    found: list[Allocation] = []
    for a in there:
        counts["total"] += 1
        if a.required_node:
            counts["required_node"] += 1
        elif a.priority > ask.priority:
            counts["higher_priority"] += 1
        elif a.preempted:
            counts["already_preempted"] += 1
        elif not matches_any(a.resources, ask.resources):
            counts["no_common_type"] += 1
        elif a.released:
            counts["released"] += 1
        else:
            found.append(a)
    return counts, found


def by_type(candidates: Sequence[Allocation]) -> list[Allocation]:
    """Return candidates in the order in which they are taken."""

    def rank(a: Allocation) -> tuple[int, int, float]:
        kind = 3 if a.originator else 1 if a.allow_self else 2
        return kind, a.priority, -a.created

    def compared(left: Allocation, right: Allocation) -> int:
        if rank(left) != rank(right):
            return -1 if rank(left) < rank(right) else 1
        difference = sub(left.resources, right.resources)
        larger = all(v >= 0 for v in difference.values()) and any(v > 0 for v in difference.values())
        return 1 if larger else -1

    return sorted(candidates, key=cmp_to_key(compared))


def _covers(have: Resource, ask: Ask) -> bool:
    return all(v >= 0 for v in sub(have, ask.resources).values())


def required_victims(ask: Ask, there: Sequence[Allocation], free: Resource) -> list[Allocation]:
    """Return who must leave the node: enough for the ask without regard to what is free."""
    total: Resource = {}
    victims: list[Allocation] = []
    for candidate in by_type(counted_out(ask, there)[1]):
        if _covers(total, ask):
            break
        victims.append(candidate)
        total = add(total, candidate.resources)
    return victims if _covers(add(total, free), ask) else []
