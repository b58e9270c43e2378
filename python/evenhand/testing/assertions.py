"""Comparing shares, with differences reported in the words of the field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SharesLike", "assert_shares_close"]

SHOWN = 10
AMOUNTS = ("inferred_strong_guarantee", "volume.overflow", "volume.acceptable", "volume.accepted_free",
           "volume.children_overflow", "volume.accumulated_after")  # fmt: skip


class SharesLike(Protocol):
    """What `evenhand.Shares` and a readable implementation of them have in common."""

    @property
    def names(self) -> Sequence[str | int]:
        """Names of the elements, the root first."""

    @property
    def kinds(self) -> Sequence[str]:
        """`pool` or `operation`, an element."""

    @property
    def parents(self) -> Sequence[str | int | None]:
        """Names of the pools that the elements are in; None for the root."""

    @property
    def resources(self) -> Sequence[str]:
        """Columns of the vector quantities."""

    @property
    def quantities(self) -> Iterable[str]:
        """Names of what was computed."""

    def __getitem__(self, quantity: str) -> NDArray[Any]:
        """Return an array of shape (E, R) or (E,)."""


def assert_shares_close(
    actual: SharesLike,
    expected: SharesLike,
    tolerance: float = 1e-9,
    *,
    quantities: Iterable[str] | None = None,
    rename: Callable[[str, str | int], str | int] | None = None,
) -> None:
    """Assert that two results agree, element by element whatever their order.

    Parameters
    ----------
    actual, expected : Shares
        Results to be compared.
    tolerance : float
        Largest difference that is allowed: absolute for shares and ratios, relative to amounts and
        volumes above one. 0 asks for equality.
    quantities : iterable of str, optional
        What to compare; by default everything that both have.
    rename : callable, optional
        Turns kind and name of an element of `actual` into its name in `expected`.

    Raises
    ------
    AssertionError
        Elements, or resources, or numbers differ. The message names element,
        quantity, resource and both numbers, the largest difference first.
    """
    named = rename or (lambda _, name: name)
    rows = {
        (kind, named(kind, name)): i
        for i, (kind, name) in enumerate(zip(actual.kinds, actual.names, strict=True))
    }
    keys = list(zip(expected.kinds, expected.names, strict=True))
    if set(rows) != set(keys):
        missing = [_label(*key) for key in keys if key not in rows]
        extra = [_label(*key) for key in rows if key not in set(keys)]
        raise AssertionError(f"elements differ: missing {missing or 'none'}, unexpected {extra or 'none'}")
    if list(actual.resources) != list(expected.resources):
        raise AssertionError(f"resources differ: {list(actual.resources)} against {list(expected.resources)}")
    order = [rows[key] for key in keys]
    if quantities is None:
        quantities = [q for q in expected.quantities if q in set(actual.quantities)]
    differences: list[tuple[float, str]] = []
    for quantity in quantities:
        left, right = np.asarray(actual[quantity], float)[order], np.asarray(expected[quantity], float)
        if left.shape != right.shape:
            raise AssertionError(f"{quantity}: shape {left.shape} against {right.shape}")
        scale = np.maximum(1.0, np.abs(right)) if quantity in AMOUNTS else np.ones(right.shape)
        gap = np.abs(left - right) / scale
        # NaN on one side only is a difference, too.
        gap = np.where(
            np.isnan(left) & np.isnan(right) | (left == right), 0.0, np.where(np.isnan(gap), np.inf, gap)
        )
        for place in np.argwhere(gap > tolerance):
            at = tuple(int(i) for i in place)
            where = f"{_label(*keys[at[0]])}, {quantity}"
            if len(at) > 1:
                where += f", {expected.resources[at[1]]}"
            line = f"{where}: {left[at]:.17g}, expected {right[at]:.17g} (off by {gap[at]:.3g})"
            differences.append((float(gap[at]), line))
    if differences:
        differences.sort(key=lambda found: -found[0])
        lines = [line for _, line in differences[:SHOWN]]
        if len(differences) > SHOWN:
            lines.append(f"... and {len(differences) - SHOWN} more")
        raise AssertionError("\n  ".join([f"shares differ by more than {tolerance:g}:", *lines]))


def _label(kind: str, name: str | int) -> str:
    return f"{kind} {name!r}"
