"""Pieces of plain text: safe names, widths, numbers, bars.

Names come from other people's files. `clean` leaves nothing in them that could move a cursor, recolour a
terminal, reverse the reading direction or break a line; every text of this package passes through it.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from evenhand.units.text import counted_in, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ASCII",
    "UNICODE",
    "Glyphs",
    "amount",
    "bar",
    "clean",
    "duration",
    "fit",
    "in_short",
    "in_unit",
    "percent",
    "ratio",
    "width",
]

# Other: control, format (bidirectional overrides, zero-width), surrogate, private use; line separators.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


#: What the parts of a bar mean, and those columns that do not say it themselves.
BAR_MEANS = {"used": "used", "above": "above fair share", "owed": "owed", "mark": "guarantee"}
COLUMNS_MEAN = "satisfied: usage / fair share, of a pool its worst operation's; pending: demand not served"


@dataclass(frozen=True)
class Glyphs:
    """Characters of trees and bars; one set for Unicode terminals, one for all others."""

    branch: str
    last: str
    trunk: str
    used: str
    above: str
    owed: str
    mark: str
    parts: str  # growing parts of a cell that is not full
    ellipsis: str
    none: str
    infinite: str


UNICODE = Glyphs("├ ", "└ ", "│ ", "█", "▓", "░", "┃", "▏▎▍▌▋▊▉", "…", "–", "∞")
ASCII = Glyphs("+ ", "` ", "| ", "#", "+", ".", "|", ":", "...", "-", "inf")


def clean(value: object) -> str:
    r"""Text that is safe to print: unsafe characters as ``\x1b``, ``\u202e``."""
    text = str(value)
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if unicodedata.category(c) not in _UNSAFE else _escape(ord(c)) for c in text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width(text: str) -> int:
    """Terminal columns of a clean text: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me") else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def fit(text: str, columns: int, *, right: bool = False, name: bool = False, ellipsis: str = "…") -> str:
    """Pad to a width, or cut to it with an ellipsis: at the end, a name in the middle."""
    if width(text) > columns:
        ellipsis = ellipsis[: max(columns, 0)]
        room = columns - len(ellipsis)
        tail = _head(text[::-1], room // 2)[::-1] if name else ""
        text = _head(text, room - width(tail)) + ellipsis + tail
    padding = " " * (columns - width(text))
    return padding + text if right else text + padding


def _head(text: str, columns: int) -> str:
    """Return as much of a text's beginning as has room."""
    kept, used = [], 0
    for c in text:
        used += width(c)
        if used > columns:
            break
        kept.append(c)
    return "".join(kept)


def percent(share: float, glyphs: Glyphs = UNICODE) -> str:
    """Return a share in percent with one decimal; nothing at all is a dash, a trace is ``<0.1``."""
    if not share:
        return glyphs.none
    if 0 < share < 0.0005:
        return "<0.1"
    return f"{100 * share:.1f}" if math.isfinite(share) else glyphs.none


def ratio(value: float, glyphs: Glyphs = UNICODE) -> str:
    """Return a satisfaction ratio; from 1,000 up it is as good as infinite."""
    if math.isnan(value):
        return glyphs.none
    return f"{value:.2f}" if value < 99.995 else f"{value:.0f}" if value < 1000 else glyphs.infinite


def duration(seconds: float, glyphs: Glyphs = UNICODE) -> str:
    """Return a time span in its two largest units."""
    if not math.isfinite(seconds):
        return glyphs.none
    whole = int(seconds)
    units = ((whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "m"), (whole % 60, "s"))
    first = next((i for i, (number, _) in enumerate(units) if number), len(units) - 1)
    return " ".join(f"{number}{unit}" for number, unit in units[first : first + 2])


def amount(value: float) -> str:
    """Return an amount in about six characters, with SI prefixes from a million up."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e6:
        power = next((p for p in range(2, 6) if abs(value) < 999.5 * 1000**p), 6)
        return f"{rounded(value / 1000**power, 3)} {'MGTPE'[power - 2]}"
    return rounded(round(value) if abs(value) >= 1000 else value, 4)


def in_unit(resource: str, unit: str | None) -> str:
    """Return the head of a row or column of a resource's amounts: ``memory, GiB``."""
    return clean(resource if unit is None else f"{resource}, {unit}")


def in_short(values: Mapping[str, float], units: Mapping[str, str | None]) -> str:
    """Return amounts by resource in short, as in tables: ``4 cpu, 3.5 GiB of memory``."""
    texts = []
    for resource, value in values.items():
        unit = units.get(resource)
        text = amount(value) if unit is None else rounded(value, 4)
        texts.append(f"{text} {counted_in(resource, unit, text)}")
    return ", ".join(texts)


def bar(
    usage: float, fair_share: float, guarantee: float, *, end: float, columns: int, glyphs: Glyphs
) -> list[tuple[str, str]]:
    """Return a bar from 0 to `end` as (role, characters) runs; the roles are those of `Glyphs`, or blank.

    What is used up to the fair share, what is used above it or still owed below it, a mark at the guarantee.
    """
    cell = end / columns
    within = round(usage / cell) if fair_share < usage else int(usage / cell + 1e-9)
    within = min(within, columns, round(fair_share / cell))
    cells = [("used", glyphs.used)] * within
    if usage <= fair_share and len(cells) < columns:
        steps = len(glyphs.parts) + 1
        part = min(math.ceil((usage / cell - within) * steps - 0.5), steps - 1)
        if part > 0 or (usage > 0 and not within):
            cells.append(("used", glyphs.parts[max(part, 1) - 1]))
    for role, reach in (("above", usage), ("owed", fair_share)):
        cells += [(role, getattr(glyphs, role))] * (min(round(reach / cell), columns) - len(cells))
    if not cells and usage > 0:
        cells.append(("above", glyphs.parts[0]))
    cells += [("", " ")] * (columns - len(cells))
    if guarantee > 0:
        cells[min(columns - 1, math.floor(guarantee / cell + 1e-9))] = ("mark", glyphs.mark)
    return [(role, "".join(text for _, text in run)) for role, run in groupby(cells, key=itemgetter(0))]
