"""Quantities such as "500m" and "512Gi", read in the unit of a resource.

The grammar is that of Kubernetes' quantities (Kubernetes API reference, common definitions, "Quantity"): a
decimal number, then nothing, a decimal or binary suffix, or an exponent. Which suffix goes with which unit is
not said there; here the table `SCALES` says it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["SCALES", "Scale", "quantity"]


class Scale(NamedTuple):
    """What a unit is a multiple of."""

    of: str
    size: Fraction


_DECIMAL: Final = {s: Fraction(1000) ** power for power, s in enumerate(("n", "u", "m", "", *"kMGTPE"), -3)}
_BINARY: Final = {f"{s}i": Fraction(1024) ** power for power, s in enumerate("KMGTPE", 1)}
_SUFFIXES: Final = _DECIMAL | _BINARY

#: Suffixes by what they multiply: nothing is less than a byte, and more than thousands are not counted so.
_FIT: Final = {"byte": {*_BINARY, *"kMGTPE"}, "count": {*"numk"}}

#: Units of which it is known how they are related to suffixes.
SCALES: Final[Mapping[str, Scale]] = {
    **dict.fromkeys(("B", "byte", "bytes"), Scale("byte", Fraction(1))),
    **{f"{suffix}B": Scale("byte", _DECIMAL[suffix]) for suffix in "kMGTPE"},
    **{f"{suffix}B": Scale("byte", size) for suffix, size in _BINARY.items()},
    **{
        form: Scale("count", Fraction(1))
        for word in ("core", "vcore", "cpu", "CPU", "gpu", "GPU")
        for form in (word, f"{word}s")
    },
    **dict.fromkeys(("millicore", "millicores"), Scale("count", _DECIMAL["m"])),
}

_SHOWN: Final = 60  # characters of what is no quantity

# Bounded, as is the time that it takes to read what is hostile.
_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,3})|(?P<suffix>[A-Za-z]{0,20}))"
)


@lru_cache(maxsize=4096)
def quantity(text: str, unit: str) -> Fraction:
    """Return an amount in a unit."""
    said = f'is "{text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."}", which'
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f'{said} is not a quantity: a number, with a suffix ("500m", "512Gi") or without')
    number = Fraction(match["number"])
    if match["exponent"]:
        return number * Fraction(10) ** int(match["exponent"])
    suffix = match["suffix"]
    if not suffix:
        return number
    if suffix not in _SUFFIXES:
        bare = suffix.removesuffix("B")
        hint = f'; write "{match["number"]}{bare}"' if bare in _FIT["byte"] else ""
        known = ", ".join(s for s in _SUFFIXES if s)
        raise ValueError(f"{said} has none of the suffixes {known}{hint}")
    scale = SCALES.get(unit)
    if scale is None:
        raise ValueError(
            f'{said} cannot be converted into the unit "{unit}", of which no suffix is known;'
            " give a number in that unit"
        )
    if suffix not in _FIT[scale.of]:
        fitting = ", ".join(s for s in _SUFFIXES if s in _FIT[scale.of])
        raise ValueError(f'{said} has a suffix that does not fit the unit "{unit}"; {fitting} do')
    return number * _SUFFIXES[suffix] / scale.size
