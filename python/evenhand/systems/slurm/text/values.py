"""Values in Slurm's texts, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from evenhand.building.problems import shorten
from evenhand.config.kinds import LONGEST
from evenhand.systems.texts import Found

__all__ = [
    "amounts",
    "decimal",
    "flag",
    "grace",
    "plain",
    "preempt_mode",
    "preempt_type",
    "read_value",
    "seconds",
    "whole",
]

_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_NEVER = ("-1", "0", "NONE", "INFINITE", "UNLIMITED", "N/A")
_MODES = {"OFF", "CANCEL", "REQUEUE", "SUSPEND", "ON", "CLUSTER", "GANG", "WITHIN", "PRIORITY"}
_ENDLESS = ("-1", "INFINITE", "UNLIMITED")


def seconds(text: str) -> float | None:
    """Return a time of Slurm in seconds: minutes, m:s, h:m:s, d-h, d-h:m, d-h:m:s; None: none."""
    if text.upper() in _NEVER:
        return None
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("is no time: it must be minutes, m:s, h:m:s or d-h[:m[:s]]")
    days, *parts = match.groups()
    first, second, third = (int(part or 0) for part in parts)
    if days is not None:
        return float(int(days) * 86_400 + first * 3_600 + second * 60 + third)
    if parts[2] is not None:
        return float(first * 3_600 + second * 60 + third)
    return float(first * 60 + second)


def decimal(text: str) -> float:
    """Return a number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("is no number") from None


def whole(text: str) -> int:
    """Return a whole number."""
    try:
        return int(text)
    except ValueError:
        raise ValueError("is no whole number") from None


def flag(text: str) -> bool:
    """Return whether it is YES or NO."""
    words = {"yes": True, "1": True, "true": True, "up": True}
    words |= {"no": False, "0": False, "false": False, "down": False}
    if text.lower() not in words:
        raise ValueError("is neither YES nor NO")
    return words[text.lower()]


def grace(text: str) -> float:
    """Return a grace time, whose bare number is seconds; without a limit it is the longest there is."""
    if text.upper() in _ENDLESS:
        return LONGEST
    return float(text) if text.isdecimal() else seconds(text) or 0.0


_AMOUNT = re.compile(r"([^=,\s]+)=(\d+(?:\.\d+)?)([KMGTP]?)")
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_MEMORY = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


def amounts(text: str) -> dict[str, float]:
    """Return ``cpu=8,mem=2G`` by name; memory is in MiB."""
    found = {}
    for part in filter(None, map(str.strip, text.split(","))):
        match = _AMOUNT.fullmatch(part)
        if match is None:
            raise ValueError("is no list of name=amount")
        name = match[1].lower()
        found[name] = float(match[2]) * (_MEMORY if name == "mem" else _SCALES)[match[3]]
    return found


def plain(text: str) -> str:
    """Return the text as it is."""
    return text


def preempt_mode(text: str) -> str:
    """Return the words of a preempt mode, each of which Slurm knows."""
    words = [word.strip().upper() for word in text.split(",")]
    if text and not set(words) <= _MODES:
        raise ValueError(f"must have words of {', '.join(sorted(_MODES))}")
    return text


def preempt_type(text: str) -> str | None:
    """Return a preempt type; none is None."""
    return None if text.lower() in ("", "preempt/none") else text


def read_value(
    readers: Mapping[str, Callable[[str], Any]],
    name: str,
    value: str,
    line: int,
    found: Found,
    file: str = "",
) -> dict[str, Any]:
    """Return a name with its value; a wrong one is found, and nothing returned."""
    try:
        return {name: readers[name](value)}
    except ValueError as error:
        found.add(line, name, "type", shorten(value), f"{name} is {shorten(value)}; it {error}", file)
        return {}
