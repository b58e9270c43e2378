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
    """Return a number without an exponent.

    Parameters
    ----------
    value : float
    beside : iterable of float, optional
        What it is compared with. It is then rounded to four digits, or to as many as it takes to differ from
        each of these that it differs from. Whole numbers and what stands before the point are never rounded.

    Examples
    --------
    >>> number(4096), number(0.000053), number(2 / 3, beside=[1]), number(7.9996, beside=[8])
    ('4,096', '0.000053', '0.6667', '7.9996')
    """
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
    """Return a number rounded to so many digits; what stands before the point is kept.

    Examples
    --------
    >>> rounded(0.0000526, 2), rounded(1767225630.5, 6)
    ('0.000053', '1,767,225,630')
    """
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


def share(value: float) -> str:
    """Return a share with two to four decimals, a trace with two digits: ``0.25``, ``0.00012``."""
    if 0 < abs(value) < 0.001:
        return rounded(value, 2)
    return f"{value:.4f}".removesuffix("00")


def percent(value: float, beside: Iterable[float] = ()) -> str:
    """Return a share in percent with three digits, or with as many as it takes to differ from the others.

    Parameters
    ----------
    value : float
        1 is the whole.
    beside : iterable of float, optional
        Shares that it is compared with. Those within 1e-9 of it are equal.

    Examples
    --------
    >>> percent(0.0222), percent(1 / 3), percent(0.33334, beside=[1 / 3])
    ('2.22 %', '33.3 %', '33.334 %')
    """
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
    """Return an amount of a resource, or so much of another amount.

    Parameters
    ----------
    value : float
    resource : str
    unit : str, optional
        In which the resource is counted.
    beside : iterable of float, optional
        What it is compared with, as of `number`.
    of : float, optional
        An amount that stands behind it.

    Examples
    --------
    >>> amount(4096, "memory"), amount(3.5, "memory", "GiB"), amount(0, "cpu", of=8)
    ('4,096 memory', '3.5 GiB of memory', '0 of 8 cpu')
    """
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
    """Return amounts by resource; nothing at all is ``nothing``.

    Parameters
    ----------
    values : mapping
        Resource to amount.
    units : mapping, optional
        Resource to unit, `Snapshot.units`.
    beside : mapping, optional
        What they are compared with: a resource that is not in it is compared with 0.

    Examples
    --------
    >>> amounts({"cpu": 1.5, "memory": 4096})
    '1.5 cpu, 4,096 memory'
    """
    units = units or {}
    return _joined(
        amount(value, r, units.get(r), beside=() if beside is None else [beside.get(r, 0)])
        for r, value in values.items()
    )


def amounts_of(
    values: Mapping[str, float], most: Mapping[str, float], units: Mapping[str, str | None] | None = None
) -> str:
    """Return amounts and what each is held against: ``0 of 8 cpu``; resources of both mappings.

    Parameters
    ----------
    values, most : mapping
        Resource to amount.
    units : mapping, optional
        As of `amounts`.
    """
    units = units or {}
    return _joined(amount(value, r, units.get(r), of=most[r]) for r, value in values.items() if r in most)


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(texts) or "nothing"


#: Names of numbers that are times, as results and settings have them.
_INSTANTS = re.compile(r"now|until|since|began|planned_end|immune_until|last_\w+|again_from|\w+_time")
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
    """Return a value by its name in results: amounts, times and numbers as people read them.

    Parameters
    ----------
    name : str
        Names of times are known: ``now``, ``eligible_time``, ``victim_cooldown``, ...
    value : object
        A number, text, a mapping of amounts, a list of names, None.
    now : float, optional
        As of `instant`; without it an instant is not related to anything.
    units : mapping, optional
        As of `amounts`.
    beside : object, optional
        What it is compared with.

    Examples
    --------
    >>> named("last_preempted", 90, now=100), named("victim_cooldown", 900, now=100), named("gang", True)
    ('90 s (10 s ago)', '15 min', 'true')
    """
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
    """Return a duration to the microsecond, its parts that are zero left out.

    Parameters
    ----------
    seconds : float

    Examples
    --------
    >>> [duration(x) for x in (0.5, 20, 100, 900, 7500, 86_400)]
    ['0.5 s', '20 s', '100 s', '15 min', '2 h 5 min', '1 d']
    """
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
    """Return an instant: clock time in UTC where `now` is Unix time, else seconds.

    Parameters
    ----------
    value : float
        Seconds.
    now : float
        The snapshot's `now`, whose size tells the two apart (`CLOCK`).

    Examples
    --------
    >>> instant(1767225630, now=1767225610), instant(3600, now=0)
    ('2026-01-01 00:00:30 UTC', '3,600 s')
    """
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
    """Return how far an instant is from now; from an hour up in its two largest parts.

    Parameters
    ----------
    value, now : float
        Seconds.

    Examples
    --------
    >>> relative(20, now=0), relative(0, now=20), relative(9_000, now=0), relative(5, now=5)
    ('in 20 s', '20 s ago', 'in 2 h 30 min', 'now')
    """
    left = value - now
    if left == 0:
        return "now"
    coarse = 3_600 if abs(left) >= 86_400 else 60 if abs(left) >= 3_600 else 0
    span = duration(round(abs(left) / coarse) * coarse if coarse and math.isfinite(left) else abs(left))
    return f"in {span}" if left > 0 else f"{span} ago"


def when(value: float, now: float) -> str:
    """Return an instant, and how far it is from now.

    Parameters
    ----------
    value, now : float
        Seconds.

    Examples
    --------
    >>> when(1767225630, now=1767225610)
    '2026-01-01 00:00:30 UTC (in 20 s)'
    """
    return f"{instant(value, now)} ({relative(value, now)})"
