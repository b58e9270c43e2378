"""Quota preemption: what a lowered maximum takes from a queue, and when."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from tests.reference.yunikorn.resources import (
    Resource,
    above_existing,
    add,
    compare_shares,
    fits_existing_types,
    matches_any,
    min_all,
    min_existing,
    negated_negatives,
    shares,
    sub,
    sub_existing,
    type_match,
    zero,
)
from tests.reference.yunikorn.world import Allocation, Queue, World

__all__ = ["may_begin", "ordered", "quota_candidates", "quota_victims", "spread", "start_time", "target_of"]

_OPTED_OUT, _ORIGINATOR = 2**34, 2**33
_HOUR = 3600


def target_of(queue: Queue) -> Resource:
    """Return what has to go from a queue above its maximum; None: nothing."""
    used = sub_existing(queue.allocated, queue.preempting)
    excess = negated_negatives(sub_existing(queue.maximum, used))
    slack: Resource = None
    for above in queue.path_up():
        left = (
            above.allocated if above.guaranteed is None else sub_existing(above.guaranteed, above.allocated)
        )
        slack = min_all(slack, left)
    found = min_existing(excess, negated_negatives(slack))
    return None if zero(found) else found


def spread(queue: Queue, target: Resource) -> dict[str, Resource]:
    """Return the part of each leaf below a queue, by path; rounding losses stay where they are."""
    if queue.leaf:
        return {queue.path: target}
    weights: dict[str, Resource] = {}
    for child in queue.children:
        if zero(child.allocated) or above_existing(child.guaranteed, child.allocated, strictly=False):
            continue
        over = sub_existing(child.guaranteed, child.allocated)
        weights[child.path] = child.allocated if over is None else {t: abs(v) for t, v in over.items()}
    total: Resource = {}
    for weight in weights.values():
        total = add(total, weight)
    found: dict[str, Resource] = {}
    for child in queue.children:
        part = {
            t: int(weight / (total or {})[t] * (target or {})[t])
            for t, weight in (weights.get(child.path) or {}).items()
            if t in (target or {}) and (total or {})[t]
        }
        if not zero(part):
            found |= spread(child, part)
    return found


def quota_candidates(world: World, leaf: Queue, target: Resource) -> list[Allocation]:
    """Return what may go from a leaf."""
    return [
        a
        for a in world.running(leaf)
        if matches_any(a.resources, target) and not (a.required_node or a.released or a.preempted)
    ]


def ordered(candidates: Sequence[Allocation], target: Resource, most: Resource) -> list[Allocation]:
    """Return candidates in the order in which they go: opted-out originators first, as it stands."""

    def rank(a: Allocation) -> tuple[int, int, int]:
        bits = (0 if a.allow_self else _OPTED_OUT) + (_ORIGINATOR if a.originator else 0)
        return -(bits + type_match(a.resources, target)), a.priority, -int(a.created // _HOUR)

    def compared(left: Allocation, right: Allocation) -> int:
        if rank(left) != rank(right):
            return -1 if rank(left) < rank(right) else 1
        parts = [{t: v for t, v in a.resources.items() if t in (target or {})} for a in (left, right)]
        return compare_shares(shares(parts[0], most), shares(parts[1], most))

    turned = [*reversed(candidates)]  # a full tie counts as "less", which turns equals around
    return sorted(turned, key=cmp_to_key(compared))


def quota_victims(world: World, queue: Queue, target: Resource) -> tuple[list[Allocation], list[Allocation]]:
    """Return who goes from a queue, and all candidates in order."""
    victims: list[Allocation] = []
    candidates: list[Allocation] = []
    for path, part in spread(queue, target).items():
        leaf = world.queues[path]
        there = ordered(quota_candidates(world, leaf, part), part, leaf.maximum)
        candidates += there
        total: Resource = {}
        for candidate in there:
            if not fits_existing_types(part, candidate.resources):
                continue
            larger = add(total, candidate.resources)
            if above_existing(part, larger, strictly=False):
                total = larger
                victims.append(candidate)
    return victims, candidates


def may_begin(
    most: Resource, allocated: Resource, start: float | None, *, managed: bool, running: bool
) -> bool:
    """Whether quota preemption of a queue begins now; `start` is seconds from now."""
    within = above_existing(most, allocated, strictly=False)
    return managed and not running and not within and start is not None and start <= 0


def _more(left: Resource, right: Resource) -> bool:
    """Whether the first is at least the second in all types of either, and differs."""
    difference = sub(left, right)
    return all(v >= 0 for v in difference.values()) and any(difference.values())


def start_time(
    old_max: Resource,
    most: Resource,
    allocated: Resource,
    old_delay: float,
    delay: float,
    start: float | None,
) -> float | None:
    """Return the start time after a change of a queue's configuration; times are seconds from now."""
    if not delay or zero(most) or above_existing(most, allocated, strictly=False):
        return None
    shifted = None if start is None else start + delay - old_delay
    if zero(sub(old_max, most)):
        return delay if start is None and not old_delay else shifted
    if _more(old_max, most):
        return delay if start is None else shifted
    return shifted if _more(most, old_max) else start
