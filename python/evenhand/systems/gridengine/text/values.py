"""Values in Grid Engine's texts, and what is wrong with them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Final

__all__ = ["AMOUNTS", "amount", "flag", "memory", "seconds", "whole"]

_MEMORY = re.compile(r"(\d+(?:\.\d*)?|0[xX][0-9a-fA-F]+)([kKmMgGtT]?)")
_FACTORS: Final = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate("kmgt", 1)},
    **{unit: 1024**power for power, unit in enumerate("KMGT", 1)},
}
_TIME = re.compile(r"(\d*):(\d*):(\d*)|(\d+(?:\.0*)?)")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_NAMES: Final = re.compile(r"\(.*\)$")  # of a RSMAP's single ones
_LARGEST: Final = 2**62
_ENDLESS: Final = "INFINITY"

#: Types of complexes whose values are amounts.
AMOUNTS: Final = ("INT", "DOUBLE", "MEMORY", "TIME", "RSMAP")


def memory(text: str) -> int | None:
    """Return an amount of memory in bytes; None: no end."""
    if text.upper() == _ENDLESS:
        return None
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise ValueError("must be an amount of memory such as 512M, 4G or INFINITY")
    number = Fraction(int(match[1], 16)) if match[1][:2] in ("0x", "0X") else Fraction(match[1].rstrip("."))
    return _bounded(math.ceil(number * _FACTORS[match[2]]))


def seconds(text: str) -> float | None:
    """Return a time in seconds; None: no end."""
    if text.upper() == _ENDLESS:
        return None
    match = _TIME.fullmatch(text)
    if match is None or text == "::":
        raise ValueError("must be a time: seconds, h:m:s or INFINITY")
    if match[4] is not None:
        return float(_bounded(int(match[4].partition(".")[0])))
    hours, minutes, rest = (int(part or 0) for part in match.groups()[:3])
    return float(_bounded(hours * 3600 + minutes * 60 + rest))


def whole(text: str) -> int:
    """Return a whole number that is not negative."""
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("must be a whole number, 0 or more")
    return _bounded(int(text))


def flag(text: str) -> bool:
    """Return whether a text says yes."""
    words = dict.fromkeys(("yes", "y", "true", "on", "1"), True)
    words |= dict.fromkeys(("no", "n", "false", "off", "0"), False)
    if text.lower() not in words:
        raise ValueError("must be YES or NO")
    return words[text.lower()]


def amount(kind: str, text: str) -> float | int | None:
    """Return a value of a complex of a type that is an amount; None: no end."""
    if kind == "MEMORY":
        return memory(text)
    if kind == "TIME":
        return seconds(text)
    if kind == "RSMAP":
        text = "0" if text.upper() == "NONE" else _NAMES.sub("", text)
    if text.upper() == _ENDLESS:
        return None
    if _NUMBER.fullmatch(text) is None:
        raise ValueError("must be a number")
    number = Decimal(text)
    if abs(number) > _LARGEST:
        raise ValueError("must be below 2^62")
    if kind == "DOUBLE" or number != number.to_integral_value():
        return float(number)
    return int(number)


def _bounded(number: int) -> int:
    if number > _LARGEST:
        raise ValueError("must be below 2^62")
    return number
