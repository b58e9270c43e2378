"""Slurm's notations: host lists, trackable resources, times, rows of ``squeue -O``."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from evenhand.adapters.protocol import AdapterError

__all__ = [
    "GARBLED",
    "amounts",
    "document",
    "instant",
    "number",
    "rows",
    "split_hosts",
    "tokens",
    "version_in",
    "words",
]

#: What JSON of another shape than Slurm's raises where it is read; an infinite number the last.
GARBLED = (KeyError, TypeError, ValueError, AttributeError, OverflowError)

_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
_HOSTS = 1_000_000


def split_hosts(text: str) -> list[str]:
    """Return the hosts of a list such as ``n[1-3,07],login``, in its order."""
    if text.count("[") != text.count("]"):
        raise AdapterError(f"{text[:80]!r} is no host list")
    hosts: list[str] = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        hosts += _expand(part)
        if len(hosts) > _HOSTS:
            raise AdapterError("a host list names more than a million hosts")
    return hosts


def _expand(part: str) -> list[str]:
    head, bracket, rest = part.partition("[")
    if not bracket:
        return [part]
    inner, closed, tail = rest.partition("]")
    if not closed:
        raise AdapterError(f"{part!r} is no host list")
    tails = _expand(tail) if tail else [""]
    found = []
    for item in inner.split(","):
        low, dash, high = item.partition("-")
        high = high if dash else low
        if not (low.isdecimal() and high.isdecimal()) or int(high) - int(low) > _HOSTS:
            raise AdapterError(f"{part!r} is no host list")
        found += [f"{i:0{len(low)}d}" for i in range(int(low), int(high) + 1)]
    return [f"{head}{middle}{end}" for middle in found for end in tails]


def amounts(text: str | None) -> dict[str, int]:
    """Return cpu, memory (MiB) and ``gres/...`` of a list such as ``cpu=4,mem=2G,node=1,gres/gpu=2``."""
    found: dict[str, int] = {}
    for part in (text or "").split(","):
        name, _, value = part.partition("=")
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)", value)
        if not match or not (name in ("cpu", "mem") or name.startswith("gres/")):
            continue
        size = float(match[1]) * (_UNITS[match[2]] if match[2] else 1)
        found["memory" if name == "mem" else name] = -int(-size // 1)
    # gres/gpu counts what gres/gpu:a100 counts
    return {n: v for n, v in found.items() if ":" not in n or n.split(":")[0] not in found}


def instant(text: str) -> float | None:
    """Return a time of the text commands as seconds since 1970, or None for N/A."""
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except ValueError:
        return None


def number(value: Any) -> int | None:
    """Return a number of the JSON commands: plain, null, or (from 23.02 on) an object that may be unset."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


def words(value: Any) -> set[str]:
    """Return words in capitals: a text, or (from 23.11 on) a list of them."""
    if isinstance(value, str):
        value = re.split(r"[+,|]", value)
    return {str(word).upper() for word in value or ()}


def rows(text: str, columns: int, *, bars: bool = False) -> list[list[str]]:
    """Return the rows under the head of ``squeue -O 'a:|,b:|'``: every cell ends in a bar.

    With ``bars`` the last cell may hold some.
    """
    found = []
    for line in text.split("\n")[:-1]:
        cells = line.split("|")
        if bars and len(cells) > columns + 1:
            cells[columns - 1 :] = ["|".join(cells[columns - 1 : -1]), cells[-1]]
        if len(cells) != columns + 1 or cells[-1]:
            raise AdapterError("squeue's answer is cut off or garbled")
        found.append([cell.strip() for cell in cells[:-1]])
    if not found or not text.endswith("\n"):
        raise AdapterError("squeue's answer is cut off")
    return found[1:]


def tokens(line: str) -> dict[str, str]:
    """Return ``Key=value`` words of a line of ``scontrol -o``; only for lines without people's own words."""
    return dict(re.findall(r"(\S+?)=(\S*)", line))


def document(text: str, table: str) -> list[dict[str, Any]]:
    """Return a table of what a command printed with ``--json``."""
    try:
        data = json.loads(text, strict=False)  # names may hold control characters
        found = data[table]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise AdapterError(f"the answer is cut off or is not JSON of {table}: {error}") from error
    errors = data.get("errors")
    if errors:
        raise AdapterError(f"Slurm answers with errors: {str(errors)[:200]}")
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise AdapterError(f"{table} is not a list of objects")
    return found


_RELEASE = re.compile(r"\b(\d{2})\.(\d{2})(?:\.(\d+))?\b")
_META_WITHIN = 20_000  # characters from the beginning or the end
_META = re.compile(r'"release"\s*:\s*"([^"]*)"')


def version_in(text: str) -> str | None:
    """Return the release that a text names, as ``22.05.8``; None: it names none."""
    if text.lstrip().startswith("{"):
        said = _META.search(text[:_META_WITHIN]) or _META.search(text[-_META_WITHIN:])
        text = said[1] if said else ""
    found = _RELEASE.search(text)
    return None if found is None else ".".join(filter(None, found.groups()))
