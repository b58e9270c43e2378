"""What a sentence says, read back: its numbers with their precision, and the names that it mentions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

__all__ = ["Number", "instants_and_numbers", "mentioned", "names_in", "numbers_in", "quoted"]

_KINDS = "|".join(
    (
        *("operation", "job", "session", "application", "request", "ask", "allocation"),
        *("node", "host", "pool", "queue", "partition", "QOS", "user", "project"),
    )
)
_KIND = re.compile(rf"\b({_KINDS})s?\s+", re.IGNORECASE)
_NAME = re.compile(r"[^\s,;:()]+")
_LIST = re.compile(r"(?:,\s+|\s+and\s+)")
_CODED = re.compile(r"`[^`]*`|\b[A-Za-z]+(?:_[A-Za-z]+)+\b")
_CLOCK = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(\.\d+)? UTC")
_SPAN = re.compile(r"-?\d[\d,]*(?:\.\d+)? (?:d|h|min|s)\b(?: \d[\d,]*(?:\.\d+)? (?:h|min|s)\b)*")
_NUMBER = re.compile(r"(?<![\w.@-])-?\d[\d,]*(?:\.\d+)?(?![\w@]*[-@][\w])")
_DIGITS = 4  # to which numbers are rounded at most
_SECONDS = {"d": 86400.0, "h": 3600.0, "min": 60.0, "s": 1.0}


@dataclass(frozen=True)
class Number:
    """A number as a sentence shows it.

    Attributes
    ----------
    text : str
    value : float
        Of a time in seconds, of a share in percent as a share.
    give : float
        By how much what is meant may differ from it.
    kind : {"number", "percent", "span", "instant"}
    """

    text: str
    value: float
    give: float
    kind: str

    def means(self, value: float, now: float) -> bool:
        """Return whether a value may be what is shown."""
        if self.kind == "span":
            return any(abs(abs(one) - abs(self.value)) <= self.give for one in (value, value - now))
        found = abs(value - self.value) <= self.give
        whole = self.kind == "number" and float(self.value).is_integer() and abs(self.value) >= 10**4
        return found or (whole and abs(value - self.value) <= 0.5)


def _plain(text: str) -> tuple[float, float]:
    digits = text.replace(",", "")
    whole, _, parts = digits.lstrip("-").partition(".")
    value = float(digits)
    # Zeros at the end are not shown: 16.0048, rounded to four digits, reads 16.
    places = len(parts) if parts else _DIGITS - len(whole) if value else 0
    return value, (0.5000001 * 10.0**-places if places > 0 else 0.0) + 1e-9 * max(1.0, abs(value))


def numbers_in(text: str) -> list[Number]:
    """Return the numbers of a sentence; not those in names of settings."""
    found: list[Number] = []
    rest = _CODED.sub(" ", text)

    def clock(match: re.Match[str]) -> str:
        *parts, fraction = match.groups()
        year, month, day, hour, minute, second = map(int, parts)
        when = datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp() + float(fraction or 0)
        found.append(Number(match[0], when, 1e-6 + 1e-6 * bool(fraction), "instant"))
        return " "

    def span(match: re.Match[str]) -> str:
        total = 0.0
        words = match[0].split()
        for amount, unit in zip(words[::2], words[1::2], strict=True):
            total += _plain(amount)[0] * _SECONDS[unit]
        least = {"d": 3600.0, "h": 60.0, "min": 1.0}.get(words[-1], 0.0)
        coarse = {"d": 1800.0, "h": 1800.0, "min": 30.0}.get(words[-1], 0.0) if least else 0.0
        found.append(Number(match[0], total, 1e-6 + coarse, "span"))
        return " "

    rest = _SPAN.sub(span, _CLOCK.sub(clock, rest))
    for match in _NUMBER.finditer(rest):
        value, give = _plain(match[0].rstrip(","))
        if rest[match.end() : match.end() + 2].strip().startswith("%"):
            found.append(Number(match[0] + " %", value / 100, give / 100, "percent"))
        else:
            found.append(Number(match[0], value, give, "number"))
    return found


def mentioned(text: str, known: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
    """Yield where known names stand behind a word such as "node", and the names; of a list all of them."""
    for match in _KIND.finditer(text):
        place = match.end()
        while (name := _NAME.match(text, place)) is not None:
            word = name[0].rstrip(".") if name[0].rstrip(".") in known else name[0]
            word = word.removesuffix("'s") if word not in known else word
            if word not in known:
                break
            yield place, place + len(word), word
            further = _LIST.match(text, place + len(word))
            if further is None:
                break
            place = further.end()


def names_in(text: str, known: Mapping[str, Any]) -> set[str]:
    """Return the known names that a sentence mentions: behind such a word, or with a digit in them."""
    found = {name for _, _, name in mentioned(text, known)}
    for word in re.findall(r"[^\s,;:()]+", text):
        bare = word.rstrip(".")
        if bare in known and any(c.isdigit() for c in bare) and not bare.replace(".", "").isdigit():
            found.add(bare)
    return found


def instants_and_numbers(text: str, known: Mapping[str, Any]) -> list[Number]:
    """Return the numbers of a sentence without those in names."""
    for begin, end, _ in sorted(mentioned(text, known), reverse=True):
        text = text[:begin] + " " + text[end:]
    for word in sorted((w for w in known if any(c.isdigit() for c in w)), key=len, reverse=True):
        if not word.replace(".", "").isdigit():
            text = re.sub(rf"(?<!\S){re.escape(word)}(?=[\s,;:().]|$)", " ", text)
    return numbers_in(text)


def quoted(values: object) -> tuple[list[float], set[str]]:
    """Return all numbers and all texts in nested values; keys are texts, too."""
    numbers: list[float] = []
    texts: set[str] = set()

    def walk(value: object) -> None:
        if isinstance(value, bool) or value is None:
            return
        if isinstance(value, int | float):
            if math.isfinite(value):
                numbers.append(float(value))
            texts.add(str(value))
        elif isinstance(value, str):
            texts.add(value)
        elif isinstance(value, Mapping):
            for key, one in value.items():
                texts.add(str(key))
                walk(one)
        elif isinstance(value, list | tuple | set | frozenset):
            for one in value:
                walk(one)

    walk(values)
    return numbers, texts
