"""Which keys the objects of a column have, and which of them nothing is known of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import filterfalse, islice
from operator import itemgetter
from typing import Any

from evenhand.building.problems import COUNTED

__all__ = ["COUNTED_ROWS", "cells_of", "keys_of"]

_CHUNK = 8192
"""So many rows are looked at in one go, so that what is put together stays small."""
COUNTED_ROWS = 8 * _CHUNK
"""After so many rows each time counting ends if `COUNTED` unknown keys are known."""


def cells_of(objects: Sequence[Mapping[Any, Any]], key: str) -> list[Any]:
    """Return what each object has of a key; None where it has nothing."""
    try:
        return list(map(itemgetter(key), objects))
    except KeyError:
        return [cell.get(key) for cell in objects]


def _few_keys(of: Mapping[Any, Any], known: Collection[str]) -> list[Any]:
    """Return the known keys of an object, and of others the first."""
    others = islice(filterfalse(known.__contains__, of), COUNTED)
    return [*(key for key in known if key in of), *others]


def keys_of(
    objects: Sequence[Mapping[Any, Any]], known: Collection[str]
) -> tuple[set[Any], dict[Any, list[int]]]:
    """Return the known keys that are used, and of others the first row and the number of rows."""
    wanted = frozenset(known)
    used: set[Any] = set()
    strange: dict[Any, list[int]] = {}
    full = False
    for start in range(0, len(objects), _CHUNK):
        if start % COUNTED_ROWS == 0:
            full = len(strange) == COUNTED
        chunk: Sequence[Any] = objects[start : start + _CHUNK]
        if max(map(len, chunk)) > _CHUNK:
            chunk = [_few_keys(of, wanted) if len(of) > _CHUNK else of for of in chunk]
        keys: set[Any] = set().union(*chunk)
        used |= keys & wanted
        if full or keys <= wanted:
            continue
        # Tuples are let go one by one: as many at once would start the garbage collector.
        new = not (keys - wanted) <= strange.keys()
        first = (
            dict(zip(map(tuple, reversed(chunk)), reversed(range(len(chunk))), strict=True)) if new else {}
        )
        for of_row, rows in Counter(map(tuple, chunk)).items():  # in the order of their first rows
            for key in filterfalse(wanted.__contains__, of_row):
                if key in strange:
                    strange[key][1] += rows
                elif len(strange) < COUNTED:
                    strange[key] = [start + first[of_row], rows]
    return used, dict(sorted(strange.items(), key=lambda item: str(item[0])))
