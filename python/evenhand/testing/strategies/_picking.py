"""Many small choices out of one that hypothesis makes: to make each by itself takes most of the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Pick:
    """Pick by drawn bytes, one a choice; the first option at zero, and where none are left."""

    def __init__(self, drawn: bytes) -> None:
        self._drawn = iter(drawn)

    def __call__(self, options: Sequence[T]) -> T:
        return options[next(self._drawn, 0) % len(options)]

    def some(self, options: Sequence[T], most: int, least: int = 0) -> list[T]:
        """Pick several different options."""
        left = list(options)
        count = self(range(least, min(most, len(left)) + 1))
        return [left.pop(self(range(len(left)))) for _ in range(count)]


def picks(choices: int) -> st.SearchStrategy[Pick]:
    """Draw what makes so many choices."""
    return st.binary(min_size=choices, max_size=choices).map(Pick)
