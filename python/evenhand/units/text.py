"""Amounts, shares, durations and instants as people read them: no exponents, no seconds since 1970.

A number by itself is shown as it is, to ten digits; numbers that are compared are rounded for reading, yet
never so far that two that differ look alike. Texts are ordered as their numbers are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal

__all__ = [
    "CLOCK",
    "amount",
    "amounts",
    "amounts_of",
    "counted_in",
    "duration",
    "exact",
    "instant",
    "named",
    "number",
    "percent",
    "relative",
    "rounded",
    "share",
    "when",
]

#: Instants are clock times where the snapshot's `now` is in this range of seconds: from 2001-09-09 up, when
#: Unix time reached ten digits, and before 5138, so that milliseconds are not taken for seconds.
CLOCK = (10.0**9, 10.0**11)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = 10  # digits of a number by itself
_READ = 4  # digits of a number beside another
_MOST = 17  # digits that tell any two floats apart
_SPANS = ((86_400 * 10**6, "d"), (3_600 * 10**6, "h"), (60 * 10**6, "min"))
_IN_SECONDS = 120 * 10**6  # shorter times are seconds alone


def number(value: float, beside: Iterable[float] = ()) -> str:
    """Return a number without an exponent."""
    others = [other for other in beside if other != value]
    return _apart(value, others, _READ) if others else rounded(value, _EXACT)


def _apart(value: float, others: Iterable[float], digits: int) -> str:
    """Return a number with so many digits, or more where it would look like one of the others."""
    while True:
        text = rounded(value, digits)
        if digits >= _MOST or all(text != rounded(other, digits) for other in others):
            return text
        digits += 1


def rounded(value: float, digits: int) -> str:
    """Return a number rounded to so many digits; what stands before the point is kept."""
    if hasattr(value, "__index__"):
        return f"{value.__index__():,}"
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "infinite" if value > 0 else "minus infinite"
    if float(value).is_integer() or abs(value) >= 10**digits:
        text = f"{value:,.0f}"
    else:
        text = format(Decimal(f"{value:.{digits - 1}e}"), ",f")
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def exact(value: float) -> str:
    """Return a number with all its digits, which tell it from any other float."""
    text = format(Decimal(repr(value)), ",f") if math.isfinite(value) else rounded(value, _EXACT)
    return text.rstrip("0").rstrip(".") if "." in text else text


def share(value: float) -> str:
    """Return a share with two to four decimals, a trace with two digits: ``0.25``, ``0.00012``."""
    if 0 < abs(value) < 0.001:
        return rounded(value, 2)
    return f"{value:.4f}".removesuffix("00")


def percent(value: float, beside: Iterable[float] = ()) -> str:
    """Return a share in percent with three digits, or with as many as it takes to differ from the others."""
    others = [100 * other for other in beside if abs(other - value) > 1e-9]
    return f"{_apart(100 * value, others, 3)} %"


def amount(
    value: float,
    resource: object,
    unit: str | None = None,
    *,
    beside: Iterable[float] = (),
    of: float | None = None,
) -> str:
    """Return an amount of a resource, or so much of another amount."""
    others = [*beside, *([] if of is None else [of])]
    text = last = number(value, others)
    if of is not None:
        last = number(of, [*others, value])
        text = f"{text} of {last}"
    return f"{text} {counted_in(resource, unit, last)}"


def counted_in(resource: object, unit: str | None, text: str) -> str:
    """Return a resource behind a number: ``memory``, ``GiB of memory``, ``cores of cpu``."""
    from evenhand.display.text import clean

    name = clean(resource)
    if unit is None or unit.casefold().removesuffix("s") == name.casefold().removesuffix("s"):
        return name
    plural = unit in ("core", "millicore") and text != "1"
    return f"{clean(unit)}{'s' * plural} of {name}"


def amounts(
    values: Mapping[str, float],
    units: Mapping[str, str | None] | None = None,
    *,
    beside: Mapping[str, float] | None = None,
) -> str:
    """Return amounts by resource; nothing at all is ``nothing``."""
    units = units or {}
    return _joined(
        amount(value, r, units.get(r), beside=() if beside is None else [beside.get(r, 0)])
        for r, value in values.items()
    )


def amounts_of(
    values: Mapping[str, float], most: Mapping[str, float], units: Mapping[str, str | None] | None = None
) -> str:
    """Return amounts and what each is held against: ``0 of 8 cpu``; resources of both mappings."""
    units = units or {}
    return _joined(amount(value, r, units.get(r), of=most[r]) for r, value in values.items() if r in most)


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(texts) or "nothing"


#: Names of numbers that are times, as results and settings have them.
_INSTANTS = re.compile(
    r"now|until|since|began|planned_end|immune_until|last_\w+|again_from|starts_at|\w+_time"
)
_DURATIONS = re.compile(
    r"seconds|ran|waited|grace|retry|delay|victim_cooldown|spare_if_\w+|preemption_distance"
    r"|PreemptExemptTime|GraceTime|\w*timeout|\w+_delay|\w+_min_runtime|MessageTimeout|KillWait"
)


def named(
    name: str,
    value: object,
    now: float | None = None,
    units: Mapping[str, str | None] | None = None,
    beside: object = None,
) -> str:
    """Return a value by its name in results: amounts, times and numbers as people read them."""
    from evenhand.display.text import clean

    if isinstance(value, Mapping):
        return amounts(value, units, beside=beside if isinstance(beside, Mapping) else None)
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(clean, value)) or "none"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, int | float):
        return clean(value)
    if _DURATIONS.fullmatch(name):
        return duration(value)
    if _INSTANTS.fullmatch(name):
        return instant(value, value) if now is None or name == "now" else when(value, now)
    other = [beside] if isinstance(beside, int | float) and not isinstance(beside, bool) else []
    return number(value, other)


def duration(seconds: float) -> str:
    """Return a duration to the microsecond, its parts that are zero left out."""
    if not math.isfinite(seconds):
        return rounded(seconds, _EXACT)
    left = round(abs(seconds) * 10**6)
    parts = []
    if left >= _IN_SECONDS:
        for length, word in _SPANS:
            count, left = divmod(left, length)
            if count:
                parts.append(f"{count:,} {word}")
    if left or not parts:
        parts.append(_seconds(left))
    return "-" * (seconds < 0) + " ".join(parts)


def instant(value: float, now: float) -> str:
    """Return an instant: clock time in UTC where `now` is Unix time, else seconds."""
    if CLOCK[0] <= now < CLOCK[1]:
        try:
            text = (_EPOCH + timedelta(microseconds=round(value * 10**6))).replace(tzinfo=None).isoformat(" ")
        except (OverflowError, ValueError):
            pass
        else:
            return f"{text.rstrip('0') if '.' in text else text} UTC"
    return _seconds(round(value * 10**6)) if math.isfinite(value) else rounded(value, _EXACT)


def _seconds(micros: int) -> str:
    whole, rest = divmod(abs(micros), 10**6)
    fraction = f".{rest:06}".rstrip("0") if rest else ""
    return f"{'-' * (micros < 0)}{whole:,}{fraction} s"


def relative(value: float, now: float) -> str:
    """Return how far an instant is from now; from an hour up in its two largest parts."""
    left = value - now
    if left == 0:
        return "now"
    coarse = 3_600 if abs(left) >= 86_400 else 60 if abs(left) >= 3_600 else 0
    span = duration(round(abs(left) / coarse) * coarse if coarse and math.isfinite(left) else abs(left))
    return f"in {span}" if left > 0 else f"{span} ago"


def when(value: float, now: float) -> str:
    """Return an instant, and how far it is from now."""
    return f"{instant(value, now)} ({relative(value, now)})"
