"""Host lists: names of many nodes in one text, as Slurm writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["MOST", "expand_hostlist"]

#: More names than this are refused.
MOST = 65_536

_PART = re.compile(r"[^,\[\]]*(?:\[[^\[\]]*\][^,\[\]]*)*")


def expand_hostlist(text: str) -> tuple[str, ...]:
    """Return the names that a host list stands for, in its order."""
    names: list[str] = []
    place = 0
    while place <= len(text):
        found = _PART.match(text, place)
        part = found.group() if found else ""
        place += len(part)
        if place < len(text) and text[place] != ",":
            raise ValueError(f"brackets do not match at {text[place:]!r}")
        if part.strip():
            for name in _names(part.strip()):
                names.append(name)
                if len(names) > MOST:
                    raise ValueError(f"stands for more than {MOST:,} names")
        place += 1
    return tuple(names)


def _names(part: str) -> Iterator[str]:
    head, bracket, rest = part.partition("[")
    if not bracket:
        yield head
        return
    ranges, _, tail = rest.partition("]")
    for number in _numbers(ranges):
        for end in _names(tail):
            yield head + number + end


def _numbers(text: str) -> Iterator[str]:
    for one in text.split(","):
        first, dash, last = one.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"{one!r} is no number and no range")
        if not dash:
            yield first
            continue
        low, high = int(first), int(last)
        if high < low or high - low >= MOST:
            raise ValueError(f"{one!r} is no range of at most {MOST:,} numbers")
        for number in range(low, high + 1):
            yield str(number).zfill(len(first))
