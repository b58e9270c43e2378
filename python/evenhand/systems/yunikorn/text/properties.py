"""Properties of queues whose texts YuniKorn passes over without a word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from evenhand.building.problems import nearest

__all__ = ["strange"]

_DURATION = r"\+?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+"
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


def strange(properties: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield properties that YuniKorn does not know or cannot read, and what it makes of them.

    Parameters
    ----------
    properties : mapping of str to str

    Yields
    ------
    tuple of str
        Name, text, and words such as "which counts as the default".
    """
    for name, text in properties.items():
        if name not in _KNOWN:
            yield name, text, f"and there is none of that name{nearest(name, _KNOWN)}"
        elif not re.fullmatch(_KNOWN[name], text, re.IGNORECASE):
            yield name, text or "empty", "which counts as the default"
