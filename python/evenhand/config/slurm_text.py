"""Slurm's own configuration texts: slurm.conf, and what ``scontrol show partition`` prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evenhand.building.problems import nearest, shorten
from evenhand.config.rows import raise_found
from evenhand.config.slurm_names import CLUSTER, LINES, PARTITION, SHOWN
from evenhand.errors import Problem

__all__ = ["read_conf", "read_partitions"]

_PAIR = re.compile(r'\s*([A-Za-z][\w/:-]*)\s*=\s*("[^"]*"|\S*)')
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")
_NEVER = ("-1", "0", "NONE", "INFINITE", "UNLIMITED", "N/A")


class _Found:
    """Problems, with the line of the text on which they stand."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.problems: list[Problem] = []

    def add(self, line: int, field: str, rule: str, value: str | None, message: str) -> None:
        said = f"line {line}: {message}"
        self.problems.append(Problem(self.table, line, None, field, rule, value, said))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of every line that says something; a backslash goes on."""
    begun, number = "", 0
    for place, line in enumerate(text.splitlines(), 1):
        plain = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        number = number or place
        if plain.endswith("\\"):
            begun += plain[:-1] + " "
            continue
        whole, begun = begun + plain, ""
        if whole.strip():
            yield number, whole.strip()
        number = 0
    if begun.strip():
        yield number, begun.strip()


def _pairs(line: str, number: int, found: _Found) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    place = 0
    while place < len(line):
        match = _PAIR.match(line, place)
        if match is None:
            rest = line[place:].strip()
            found.add(number, rest.split()[0], "syntax", shorten(rest), f"{shorten(rest)} is no name=value")
            return pairs
        pairs.append((match[1], match[2].strip('"')))
        place = match.end()
        if not line[place:].strip():
            break
    return pairs


def _seconds(text: str) -> float | None:
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


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("is no number") from None


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("is no whole number") from None


def _flag(text: str) -> bool:
    words = {"yes": True, "1": True, "true": True, "up": True, "no": False, "0": False, "false": False}
    if text.lower() not in words:
        raise ValueError("is neither YES nor NO")
    return words[text.lower()]


def _grace(text: str) -> float:
    """Return a grace time, whose bare number is seconds."""
    return float(text) if text.isdecimal() else _seconds(text) or 0.0


def _text(text: str) -> str:
    return text


def _type(text: str) -> str | None:
    return None if text.lower() in ("", "preempt/none") else text


_CLUSTER: Mapping[str, Callable[[str], Any]] = {
    "PreemptType": _type,
    "PreemptMode": _text,
    "PreemptExemptTime": _seconds,
    "JobRequeue": _flag,
    "KillWait": _number,
    "MessageTimeout": _number,
    "SchedulerType": _text,
    "SelectType": _text,
}
_PARAMETERS: Mapping[str, Callable[[str], Any]] = {
    "reorder_count": _count,
    "strict_order": _flag,
    "youngest_first": _flag,
    "reclaim_licenses": _flag,
    "min_exempt_priority": _number,
    "send_user_signal": _flag,
    "suspend_grace_time": _number,
}
_OLD = {f"preempt_{name}": name for name in ("reorder_count", "strict_order", "youngest_first")}
_PARTITION: Mapping[str, Callable[[str], Any]] = {
    "PriorityTier": _count,
    "PreemptMode": _text,
    "GraceTime": _grace,
    "OverSubscribe": _text,
    "Nodes": _text,
    "Default": _flag,
    "QOS": lambda text: None if text.upper() in ("", "N/A") else text,
}


def _read(
    readers: Mapping[str, Callable[[str], Any]], name: str, value: str, number: int, found: _Found
) -> dict[str, Any]:
    try:
        return {name: readers[name](value)}
    except ValueError as error:
        found.add(number, name, "type", shorten(value), f"{name} is {shorten(value)}; it {error}")
        return {}


def _parameters(name: str, text: str, number: int, found: _Found) -> dict[str, Any]:
    """Read what PreemptParameters, or the older SchedulerParameters, say of preemption."""
    settings: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = part.partition("=")
        if name == "SchedulerParameters":
            if key not in _OLD:
                continue
            key = _OLD[key]
        if key not in _PARAMETERS:
            message = f"{key} is unknown{nearest(key, list(_PARAMETERS))}"
            found.add(number, f"{name}.{key}", "unknown_field", None, message)
            continue
        settings |= _read(_PARAMETERS, key, value if equals else "yes", number, found)
    return settings


def _partition(
    pairs: list[tuple[str, str]], number: int, found: _Found, known: frozenset[str]
) -> dict[str, Any]:
    by_case = {name.lower(): name for name in known | set(_PARTITION)}
    partition: dict[str, Any] = {}
    for key, value in pairs:
        name = by_case.get(key.lower())
        name = {"Shared": "OverSubscribe"}.get(name or "", name)
        if name is None:
            message = f"{key} is unknown{nearest(key, sorted(by_case.values()))}"
            found.add(number, key, "unknown_field", None, message)
        elif name in _PARTITION:
            partition |= _read(_PARTITION, name, value, number, found)
    return partition


def read_conf(text: str) -> dict[str, Any]:
    """Return the settings that a slurm.conf makes.

    Parameters
    ----------
    text : str
        The whole file; names are told apart without regard to case, as Slurm does.

    Returns
    -------
    dict
        Fields of `evenhand.config.slurm.SlurmSettings`; what does not matter to preemption is left out.

    Raises
    ------
    InputError
        With a problem for each parameter that slurm.conf does not have or whose value cannot be read; its
        row is the number of the line.

    Notes
    -----
    ``include`` lines are refused: read the included text, too. Source: slurm.conf, manual page.
    """
    found = _Found("slurm.conf")
    settings: dict[str, Any] = {}
    partitions: dict[str, dict[str, Any]] = {}
    defaults: dict[str, Any] = {}
    by_case = {name.lower(): name for name in (*CLUSTER, *LINES)}
    for number, line in _lines(text):
        pairs = _pairs(line, number, found)
        if not pairs:
            continue
        first, value = pairs[0]
        name = by_case.get(first.lower())
        if name == "PartitionName":
            of = _partition(pairs[1:], number, found, PARTITION)
            if value.upper() == "DEFAULT":
                defaults |= of
            else:
                for one in value.split(","):
                    partitions[one] = {**defaults, **of}
            continue
        if name in LINES:
            continue
        for key, said in pairs:
            name = by_case.get(key.lower())
            if name in ("PreemptParameters", "SchedulerParameters"):
                settings |= _parameters(name, said, number, found)
            elif name is not None and name in _CLUSTER:
                settings |= _read(_CLUSTER, name, said, number, found)
            elif name is None:
                message = f"{key} is unknown{nearest(key, sorted(by_case.values()))}"
                found.add(number, key, "unknown_field", None, message)
    raise_found(found.problems)
    settings.setdefault("SchedulerType", "sched/backfill")  # the file's default
    return settings | ({"partitions": partitions} if partitions else {})


def read_partitions(text: str) -> dict[str, dict[str, Any]]:
    """Return the partitions that ``scontrol show partition`` prints, with ``-o`` or without.

    Parameters
    ----------
    text : str

    Returns
    -------
    dict
        Name to fields of `evenhand.config.slurm.SlurmPartition`.

    Raises
    ------
    InputError
        As `read_conf`.
    """
    found = _Found("scontrol show partition")
    partitions: dict[str, dict[str, Any]] = {}
    current: dict[str, Any] | None = None
    for number, line in _lines(text):
        pairs = _pairs(line, number, found)
        if pairs and pairs[0][0] == "PartitionName":
            current = partitions.setdefault(pairs[0][1], {})
            pairs = pairs[1:]
        if current is None:
            found.add(number, "PartitionName", "required", None, "PartitionName comes first")
            break
        current |= _partition(pairs, number, found, SHOWN)
    for partition in partitions.values():
        # What a partition inherits is shown as its own, with what only the cluster can be given.
        if mode := partition.get("PreemptMode"):
            partition["PreemptMode"] = ",".join(word for word in mode.split(",") if word.upper() != "GANG")
        if partition.get("Nodes") == "(null)":
            partition["Nodes"] = ""
    raise_found(found.problems)
    return partitions
