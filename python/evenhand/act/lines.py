"""What the lines of a journal must hold, kind by kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["wrong"]

_TIME_END = 253_402_300_800.0  # the year 10000


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _words(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_text, value.values()))


def _counts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_whole, value.values()))


def _totals(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _whole(value.get("evictions"))
        and _counts(value.get("ends"))
        and _counts(value.get("refusals"))
    )


def _victims(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(victim, dict)
        and all(_text(victim.get(field)) for field in ("job", "owner", "action"))
        and _whole(victim.get("turn"))
        and _text(victim.get("reason", ""))
        for victim in value
    )


def _time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value < _TIME_END


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


Fits = Callable[[Any], bool]
_ALL: dict[str, Fits] = {"n": _whole, "t": _time, "kind": _text}
_NEEDED: dict[str, dict[str, Fits]] = {
    "journal": {"cluster": _text},
    "run": {},
    "refused": {"beneficiary": _text_or_none, "victims": _texts, "codes": _texts, "why": _text},
    "step": {"step": _whole, "beneficiary": _text_or_none, "victims": _victims},
    "intent": {"step": _whole, "action": _text, "job": _text},
    "outcome": {"step": _whole, "action": _text, "job": _text},
    "victim": {"step": _whole, "job": _text},
    "end": {"step": _whole, "outcome": _text, "why": _text, "owed": _words},
    "settled": {"job": _text},
    "found": {"job": _text},
    "command_ended": {"job": _text},
}
_OPTIONAL: dict[str, dict[str, Fits]] = {
    "journal": {"steps": _whole, "totals": _totals},
    "run": {"version": _text},
    "step": {"reason": _text, "version": _text, "lock": _text},
    "outcome": {"status": _text},
    "victim": {"answer": _text, "freed": _flag},
    "end": {"failures": _whole},
}


def wrong(line: Any) -> str | None:
    """Return a field of a line that is missing or of another kind; None: none is, or its kind is unknown."""
    if not isinstance(line, dict):
        return "kind"
    for field, fits in _ALL.items():
        if not fits(line.get(field)):
            return field
    for field, fits in _NEEDED.get(line["kind"], {}).items():
        if field not in line or not fits(line[field]):
            return field
    for field, fits in _OPTIONAL.get(line["kind"], {}).items():
        if field in line and not fits(line[field]):
            return field
    return None
