"""Values of options: from the words of the command line, with what is accepted where one is not."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence

from evenhand.systems import SYSTEMS

__all__ = ["File", "Folder", "Instant", "Output", "Pair", "PolicyName", "Seconds", "Whole"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_LONGEST = 3_153_600_000.0  # a hundred years, as of settings
_FORMS = "write seconds as a number, or text such as 30s, 5m, 1h30m or 01:00:00"


class Seconds:
    """A time: a number of seconds, or text such as ``10m``."""

    def __init__(self, *, above: bool) -> None:
        self._above = above

    def __call__(self, text: str) -> float:
        """Return seconds."""
        value = _number(text)
        if value is None:
            from evenhand.building.times import parse_duration  # NumPy is not needed for a number

            try:
                value = parse_duration(text)
            except ValueError:
                raise argparse.ArgumentTypeError(f"{text!r} is not a duration; {_FORMS}") from None
        least = value > 0 if self._above else value >= 0
        if not least or not value <= _LONGEST:
            bounds = "more than 0 and at most" if self._above else "between 0 and"
            raise argparse.ArgumentTypeError(f"{text!r} is out of range; it must be {bounds} a hundred years")
        return value


class File:
    """The name of a file; ``-`` is standard input, or is refused."""

    def __init__(self, why: str = "") -> None:
        self.why = why

    def __call__(self, text: str) -> str:
        """Return the name."""
        if text == "-" and self.why:
            raise argparse.ArgumentTypeError(f"'-' cannot stand here: {self.why}; name a file")
        return text


class Folder:
    """The name of a folder, which is no standard stream."""

    def __call__(self, text: str) -> str:
        """Return the name."""
        if text in ("", "-"):
            raise argparse.ArgumentTypeError(f"{text!r} is no name of a folder")
        return text


class Output:
    """The name of a file that is written; ``-`` is standard output."""

    def __call__(self, text: str) -> str:
        """Return the name."""
        if not text:
            raise argparse.ArgumentTypeError("'' is no name of a file")
        return text


class Instant:
    """An instant: seconds since 1970, or ISO text with an offset."""

    def __call__(self, text: str) -> float:
        """Return seconds since 1970."""
        from evenhand.arguments import instant_of  # NumPy is not needed for what has no instant
        from evenhand.errors import InputError

        value = _number(text)
        try:
            return instant_of("evenhand", "now", text if value is None else value)
        except InputError:
            form = "write seconds since 1970, or such as 2026-11-27T12:00:00Z"
            raise argparse.ArgumentTypeError(f"{text!r} is not an instant; {form}") from None


class Pair:
    """Two words with an equals sign between them; the second may have to be a number, or a time."""

    def __init__(self, kind: type[str | float] | Seconds, form: str) -> None:
        self._number = kind is float
        self._time = kind if isinstance(kind, Seconds) else None
        self._form = form

    def __call__(self, text: str) -> tuple[str, str | float]:
        """Return both."""
        name, sign, value = text.partition("=")
        if not name.strip() or not sign or not value:
            raise argparse.ArgumentTypeError(f"{text!r} is not of the form {self._form}")
        if self._time is not None:
            return name, self._time(value)
        if not self._number:
            return name, value
        number = _number(value)
        if number is None or not 0 <= number < math.inf:
            raise argparse.ArgumentTypeError(f"{value!r} in {text!r} is not a number from 0 up")
        return name, number


class PolicyName:
    """A system, or a system and one of its presets with a colon between them."""

    def __call__(self, text: str) -> str:
        """Return the text as it is."""
        system, colon, preset = text.partition(":")
        if system not in SYSTEMS:
            raise argparse.ArgumentTypeError(_none_of(text if not colon else system, [*SYSTEMS]))
        if colon and preset not in (known := SYSTEMS[system].presets):
            raise argparse.ArgumentTypeError(_none_of(preset, known, f"the presets of {system}: "))
        return text


class Whole:
    """A whole number that is not too small."""

    def __init__(self, least: int) -> None:
        self._least = least

    def __call__(self, text: str) -> int:
        """Return the number."""
        if not _WHOLE.fullmatch(text) or int(text) < self._least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {self._least} up")
        return int(text)


def _none_of(word: str, known: Sequence[str], what: str = "") -> str:
    from evenhand.building.problems import nearest

    return f"{word!r} is none of {what}{', '.join(known)}{nearest(word, known)}"


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None
