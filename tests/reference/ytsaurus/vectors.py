"""Vectors with one component a resource, and the instants: what everything is computed with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["EPSILON", "LARGE_EPSILON", "SATISFIED", "Amounts", "Shares", "micros", "zeros"]

#: Amounts in quanta.
Amounts = list[int]

#: Parts of the cluster's total.
Shares = list[float]

#: Shares that differ by no more are equal.
EPSILON = 1e-9

#: A fair share that lacks no more than this covers the demand.
LARGE_EPSILON = 1e-4

#: Satisfaction of what wants nothing.
SATISFIED = 1e9


def micros(seconds: float) -> int:
    """Return an instant or a duration in microseconds."""
    return round(seconds * 1e6)


def zeros(resources: Iterable[object]) -> Amounts:
    """Return no amount of anything."""
    return [0 for _ in resources]


def plus(left: Amounts, right: Amounts) -> Amounts:
    """Add component by component."""
    return [a + b for a, b in zip(left, right, strict=True)]


def minus(left: Amounts, right: Amounts) -> Amounts:
    """Subtract component by component."""
    return [a - b for a, b in zip(left, right, strict=True)]


def covers(room: Amounts, need: Sequence[float]) -> bool:
    """Tell whether there is at least the need of everything, also where the need is 0."""
    return all(a >= b for a, b in zip(room, need, strict=True))


def within(amounts: Amounts, limits: Sequence[int | float | None]) -> bool:
    """Tell whether no limit is exceeded; None is unlimited."""
    return all(limit is None or a <= limit for a, limit in zip(amounts, limits, strict=True))
