"""The exact search: the extreme double for which a predicate holds.

Source: YTsaurus fair-share specification, section 2.10 (exact search).
"""

from __future__ import annotations

import struct
from collections.abc import Callable

_SIGN = 1 << 63


def ordered_image(value: float) -> int:
    """Map a double to an integer so that integers are ordered as the doubles are, -0.0 before +0.0.

    Parameters
    ----------
    value
        Any double but NaN.

    Returns
    -------
    int
        Within 0 and 2^64 - 1; neighbouring doubles have neighbouring images.
    """
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return bits ^ (_SIGN * 2 - 1) if bits & _SIGN else bits | _SIGN


def from_ordered_image(image: int) -> float:
    """Invert `ordered_image`."""
    bits = image ^ _SIGN if image & _SIGN else image ^ (_SIGN * 2 - 1)
    value: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return value


def largest(predicate: Callable[[float], bool], low: float, high: float) -> float:
    """Find the largest double in [low, high] for which a predicate holds.

    Parameters
    ----------
    predicate
        True up to some point and false from there on.
    low, high
        Bounds. The predicate is taken to hold at `low` without asking: on some inputs it fails there by one
        unit in the last place, where the published method would abort and the answer wanted is `low`
        (section 2.13).

    Returns
    -------
    float
        `high` if the predicate holds there, else the last double before it fails. At most 65 calls.
    """
    if predicate(high):
        return high
    good, bad = ordered_image(low), ordered_image(high)
    while bad - good > 1:
        middle = (good + bad) // 2
        if predicate(from_ordered_image(middle)):
            good = middle
        else:
            bad = middle
    return from_ordered_image(good)


def smallest(predicate: Callable[[float], bool], low: float, high: float) -> float:
    """Find the smallest double in [low, high] for which a predicate holds: the mirror of `largest`."""
    return -largest(lambda x: predicate(-x), -high, -low)
