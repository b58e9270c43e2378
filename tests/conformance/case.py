"""A case, what became of it, and the comparison that every format uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.conformance.engines import Engine

SHARE_TOLERANCE = 1e-4
"""Numbers compared within less are shares, factors and usages; others are amounts, in their own units."""


@dataclass(frozen=True)
class Mismatch:
    """One expected value that was not met."""

    element: str
    quantity: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.element}: {self.quantity}: expected {self.expected!r}, got {self.got!r}"


@dataclass
class Checker:
    """Collects the mismatches of one case and the worst deviation among its shares."""

    mismatches: list[Mismatch] = field(default_factory=list)
    worst: float = 0.0
    compared: int = 0
    broken: bool = False  # no answer at all

    def fail(self, element: str, quantity: str, expected: Any, got: Any) -> None:
        """Record a value that differs in kind, or a law that does not hold."""
        self.mismatches.append(Mismatch(element, quantity, expected, got))

    def equal(self, element: str, quantity: str, expected: Any, got: Any) -> None:
        """Compare something that has no tolerance."""
        self.compared += 1
        if type(expected) is not type(got) or expected != got:
            self.fail(element, quantity, expected, got)

    def number(
        self, element: str, quantity: str, expected: Any, got: Any, tolerance: float, relative: float = 0.0
    ) -> None:
        """Compare two numbers within an absolute tolerance, or a relative one where that is wider."""
        if self._differ(expected, got, tolerance, relative):
            self.fail(element, quantity, expected, got)

    def _differ(self, expected: Any, got: Any, tolerance: float, relative: float) -> bool:
        self.compared += 1
        if not is_number(expected) or not is_number(got) or not math.isfinite(got):
            return True
        deviation = abs(got - expected)
        if tolerance <= SHARE_TOLERANCE and deviation > self.worst:
            self.worst = deviation
        return bool(deviation > tolerance and deviation > relative * abs(expected))

    def vector(
        self,
        element: str,
        quantity: str,
        expected: Any,
        got: Sequence[float],
        resources: Sequence[str],
        tolerance: float | Sequence[float],
        relative: float = 0.0,
    ) -> None:
        """Compare a vector: a list in the order of resources, an object (absent = 0), or 0 for all zero."""
        wanted = as_list(expected, resources)
        if wanted is None:
            self.fail(element, quantity, expected, list(got))
            return
        each = [tolerance] * len(wanted) if isinstance(tolerance, float) else tolerance
        numbers = np.asarray(got, np.float64).tolist()
        for name, value, number, allowed in zip(resources, wanted, numbers, each, strict=True):
            if self._differ(value, number, allowed, relative):
                self.fail(element, f"{quantity}.{name}", value, number)


@dataclass(frozen=True)
class Case:
    """One case of a file.

    Attributes
    ----------
    kind
        What the report counts by; dots separate a kind from its families.
    name
        Unique within the kind.
    run
        Runs the case on an engine and returns what differed; ``None`` where the library does not offer the
        kind.
    informational
        The answers rest on something that the case marks as not binding (an exact tie): reported, not
        counted.
    """

    kind: str
    name: str
    run: Callable[[Engine], Checker] | None
    informational: bool = False


def is_number(value: Any) -> bool:
    """Tell numbers from everything else, truth values included."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_list(value: Any, resources: Sequence[str]) -> list[Any] | None:
    """Read any of the three ways to write a vector; ``None`` if it is none of them."""
    if isinstance(value, Mapping):
        return [value.get(r, 0) for r in resources] if set(value) <= set(resources) else None
    if isinstance(value, list):
        return value if len(value) == len(resources) else None
    return [0.0] * len(resources) if is_number(value) and value == 0 else None
