"""Quantities as YuniKorn's configuration has them."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["UNITS", "VCORE", "fits_where_set", "quantity", "smallest", "zero"]

#: The resource whose unit is the thousandth.
VCORE = "vcore"

_LEGAL = re.compile(r"([+-]?[0-9]+)([A-Za-z]*)")
_LARGEST = 2**63 - 1

#: Suffix to factor; "m" is for vcore alone.
UNITS: Mapping[str, int] = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": 1024**power for power, unit in enumerate("KMGTPE", 1)},
}


def quantity(resource: str, text: str) -> int:
    """Return an amount in YuniKorn's own unit: thousandths of a vcore, whole numbers of all others."""
    match = _LEGAL.fullmatch(re.sub(r"\s+", "", text))
    if match is None:
        raise ValueError("it must be a whole number with a suffix such as Gi, or without")
    number, suffix = int(match[1]), match[2]
    milli = resource == VCORE
    if suffix not in UNITS and not (milli and suffix == "m"):
        also = ", m" if milli else ""
        raise ValueError(f"the suffix must be one of {', '.join(filter(None, UNITS))}{also}")
    found = number if suffix == "m" else number * UNITS[suffix] * (1000 if milli else 1)
    if not -_LARGEST - 1 <= found <= _LARGEST:
        raise ValueError("it must be below 2^63")
    if found < 0:
        raise ValueError("it must not be negative")
    return found


def zero(amounts: Mapping[str, int] | None) -> bool:
    """Whether there is nothing but zeros: such a maximum or guarantee counts as not set."""
    return not any((amounts or {}).values())


def fits_where_set(larger: Mapping[str, int], smaller: Mapping[str, int]) -> list[str]:
    """Return the resources in which the second exceeds the first; what the first lacks is unlimited."""
    return [r for r, amount in smaller.items() if r in larger and amount > larger[r]]


def smallest(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    """Return the smaller amount of each resource that either has."""
    return {r: min(side[r] for side in (left, right) if r in side) for r in {**left, **right}}
