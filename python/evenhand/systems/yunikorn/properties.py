"""Properties of YuniKorn's queues: how texts are read, which children inherit, which count for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from evenhand.building.problems import nearest

__all__ = ["QueueProperties", "inherited", "properties_of", "strange"]

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)")
_WHOLE = re.compile(r"[+-]?\d+")
_INT32 = 2**31
_DURATION = rf"\+?(?:{_PART.pattern})+"
_SWITCH = "enabled|disabled"

#: Property to the texts that it may have (words whatever their case).
_KNOWN: Final[Mapping[str, str]] = {
    "application.sort.policy": "fifo|fair|stateaware",
    "application.sort.priority": _SWITCH,
    "application.unschedasks.backoff": r"\d+",
    "application.unschedasks.backoff.delay": _DURATION,
    "preemption.delay": _DURATION,
    "preemption.policy": "default|fence|disabled",
    "priority.offset": r"[+-]?\d+",
    "priority.policy": "default|fence",
    "quota.preemption.delay": rf"0|{_DURATION}",
}
#: Not handed down to children.
_OWN = frozenset({"preemption.policy", "priority.policy", "priority.offset"})


@dataclass(frozen=True, slots=True)
class QueueProperties:
    """What a queue's properties say; each field has the property's name with dots as underscores."""

    preemption_policy: str = "default"
    preemption_delay: float = 30.0
    priority_policy: str = "default"
    priority_offset: int = 0
    application_sort_policy: str = "fifo"
    application_sort_priority: bool = True
    quota_preemption_delay: float = 0.0


def inherited(parent: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a queue: its parent's, but for those that are not handed down, and its own."""
    down = {name: value for name, value in parent.items() if name not in _OWN}
    if parent.get("preemption.policy", "").lower() == "disabled":
        down["preemption.policy"] = "disabled"
    return {**down, **own}


def properties_of(texts: Mapping[str, str]) -> QueueProperties:
    """Read the properties of a queue: a wrong value is the default, an unknown name nothing."""
    default = QueueProperties()

    def word(name: str, words: Mapping[str, str], absent: str) -> str:
        return words.get(texts.get(name, "").lower(), absent)

    def seconds(name: str, absent: float) -> float:
        found = _seconds(texts.get(name, ""))
        return found if found > 0 else absent

    fences = {"default": "default", "fence": "fence"}
    sorts = {"fifo": "fifo", "stateaware": "fifo", "fair": "fair"}
    sorted_by = word("application.sort.priority", {"enabled": "yes", "disabled": "no"}, "yes")
    offset = texts.get("priority.offset", "")
    number = int(offset) if _WHOLE.fullmatch(offset) else 0
    return QueueProperties(
        preemption_policy=word("preemption.policy", fences | {"disabled": "disabled"}, "default"),
        preemption_delay=seconds("preemption.delay", default.preemption_delay),
        priority_policy=word("priority.policy", fences, "default"),
        priority_offset=number if -_INT32 <= number < _INT32 else 0,
        application_sort_policy=word("application.sort.policy", sorts, "fifo"),
        application_sort_priority=sorted_by == "yes",
        quota_preemption_delay=seconds("quota.preemption.delay", default.quota_preemption_delay),
    )


def _seconds(text: str) -> float:
    """Return a duration such as "1h30m"; 0 where it is none."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    parts = _PART.findall(rest)
    if "".join(amount + unit for amount, unit in parts) != rest:
        return 0.0
    return sign * sum(float(amount) * _UNITS[unit] for amount, unit in parts)


def strange(properties: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield properties that YuniKorn does not know or cannot read, and what it makes of them."""
    for name, text in properties.items():
        if name not in _KNOWN:
            yield name, text, f"and there is none of that name{nearest(name, _KNOWN)}"
        elif not re.fullmatch(_KNOWN[name], text, re.IGNORECASE):
            yield name, text or "empty", "which counts as the default"
