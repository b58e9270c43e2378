"""Random numbers that are the same on every machine and with every NumPy."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MASK = (1 << 64) - 1


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit words: the output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Stream:
    """Counter-based random numbers: draw `i` depends on seed, label and `i` alone.

    Every column of the generator has a stream of its own, so that adding a
    column changes no other. Only integer arithmetic and correctly rounded
    floating-point operations are used: no logarithms, powers or pairwise sums,
    whose last bit differs between machines.
    """

    def __init__(self, seed: int, label: str) -> None:
        key = np.array([seed & _MASK], dtype=np.uint64) + _GAMMA * np.array(
            [zlib.crc32(label.encode())], np.uint64
        )
        self._key = _mix(key)
        self._drawn = 0

    def words(self, size: int) -> NDArray[np.uint64]:
        """Draw 64-bit words."""
        counter = np.arange(self._drawn + 1, self._drawn + size + 1, dtype=np.uint64)
        self._drawn += size
        return _mix(self._key + counter * _GAMMA)

    def uniform(self, size: int) -> NDArray[np.float64]:
        """Draw multiples of 2**-53 in [0, 1)."""
        return (self.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, low: ArrayLike, high: ArrayLike, size: int) -> NDArray[np.int64]:
        """Draw integers in [low, high)."""
        low, high = np.asarray(low), np.asarray(high)
        return low + np.floor(self.uniform(size) * (high - low)).astype(np.int64)

    def pick(self, weights: ArrayLike, size: int) -> NDArray[np.int64]:
        """Draw indices in proportion to `weights`."""
        edges = np.cumsum(np.asarray(weights, dtype=np.float64))
        chosen = np.searchsorted(edges, self.uniform(size) * edges[-1], side="right")
        return np.minimum(chosen, len(edges) - 1).astype(np.int64)

    def order(self, size: int) -> NDArray[np.int64]:
        """Draw a permutation of `size` indices."""
        return np.argsort(self.words(size), kind="stable").astype(np.int64)


def zipf(size: int) -> NDArray[np.float64]:
    """Return Zipf's weights 1, 1/2, 1/3, ..."""
    return 1.0 / np.arange(1, size + 1)
