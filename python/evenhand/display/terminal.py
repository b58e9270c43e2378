"""Overviews and tables as lines of plain text, coloured only on request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.display.palette import ANSI
from evenhand.display.text import (
    BAR_MEANS,
    COLUMNS_MEAN,
    UNICODE,
    Glyphs,
    amount,
    bar,
    clean,
    duration,
    fit,
    in_unit,
    percent,
    ratio,
    width,
)
from evenhand.units.text import rounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenhand.diagnostics import Diagnostic
    from evenhand.display.overview import Overview
    from evenhand.display.tree import Row
    from evenhand.table import Table

__all__ = [
    "Line",
    "below_cells",
    "below_lines",
    "below_sentence",
    "cell",
    "counted",
    "diagnostic_lines",
    "left_out",
    "paint",
    "table_text",
    "total_lines",
    "tree_lines",
    "wrapped",
]

# A line is a sequence of (style, text); styles are the roles of bars and the ones below.
Line = list[tuple[str, str]]

_WIDTH = 110
_BAR, _WIDEST_BAR = 17, 48  # columns: in a text, and where the width is known
_LEAST_BAR, _LEAST_NAME = 8, 24  # columns, however little room there is
#: Columns of the tree beside the names, with their blanks; which of them go first where there is no room.
_HEADS = {
    "mode": 6,
    "resource": 10,
    "fair share": 12,
    "usage": 7,
    "guarantee": 11,
    "bar": 2,
    "satisfied": 11,
    "pending": 9,
}
_DISPENSABLE = ("mode", "bar", "guarantee", "satisfied", "resource", "pending")
_BELOW = (24, 30, 8, 10, 5, 9, 9)  # widest columns of the operations below their share
_WIDEST, _LEAST_KEPT = 40, 24  # columns of a cell; of one that is kept where there is little room
_LEAST_TOTALS = 2  # columns of totals that are shown in any room
_LONG = 3600.0  # seconds
_DEEPEST = 8  # levels that are indented; what lies deeper is marked


def paint(lines: Iterable[Line], *, color: bool = False) -> str:
    """Lines as text, without blanks at their ends; with ANSI colours on request."""
    out = []
    for line in lines:
        parts = [(style, text) for style, text in line if text]
        while parts and not parts[-1][1].rstrip():
            parts.pop()
        if parts:
            parts[-1] = (parts[-1][0], parts[-1][1].rstrip())
        out.append("".join(f"\x1b[{ANSI[s]}m{t}\x1b[0m" if color and s in ANSI else t for s, t in parts))
    return "\n".join(out)


def wrapped(line: Line, room: int | None) -> list[Line]:
    """Return a line in lines that fit, broken at blanks and indented alike; no word is broken."""
    if room is None or width("".join(text for _, text in line).rstrip()) <= room:
        return [line]
    lines: list[Line] = [[]]
    used, indent = 0, ""
    for style, text in line:
        for piece in re.findall(r" +|[^ ]+", text):
            if not used and piece.isspace():
                indent = piece
            columns = width(piece)
            if used > len(indent) and used + columns > room and not piece.isspace():
                lines.append([("", indent)] if indent else [])
                used = len(indent)
            lines[-1].append((style, piece))
            used += columns
    return lines


def counted(number: int, noun: str) -> str:
    """``1 pool``, ``1,234 pools``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def left_out(row: Row) -> str:
    """Return what a row stands for beside itself: ``3 more pools, 1 more operation``."""
    counts = ((row.pools, "more pool"), (row.operations, "more operation"))
    return ", ".join(counted(number, noun) for number, noun in counts if number)


def tree_lines(
    view: Overview, rows: Sequence[Row], glyphs: Glyphs = UNICODE, room: int | None = None
) -> list[Line]:
    """Return the table of an overview: a header, a line a row, a legend.

    Columns are the tree of names, mode, resource (unless one was chosen), fair share, usage, guarantee,
    a bar of these, satisfaction and pending demand. With a `room` the lines are that wide if they can be,
    and mode and satisfaction are left out where they are the same in each row.
    """
    names = [_name(view, row, glyphs) for row in rows]
    shown = [row.element for row in rows if not row.is_rest]
    used = {view.resources[view.resource[row.element]] for row in rows}
    second = min(8, max([len("resource")] + [width(clean(r)) for r in used]))
    wanted = max([width("".join(part)) for part in names] + [12])
    shows = dict.fromkeys(_HEADS, True)
    shows["resource"] = view.chosen is None
    if room is not None:
        shows["mode"] = len({view.modes[e] for e in shown}) > 1
        shows["satisfied"] = len({ratio(float(view.satisfaction[e]), glyphs) for e in shown}) > 1
    sizes = {**_HEADS, "resource": second + 2, "bar": _LEAST_BAR + 2}
    left = [] if room is None else _crowded_out(shows, sizes, room - min(wanted, _LEAST_NAME // 2))
    rest = sum(sizes[name] for name, is_shown in shows.items() if is_shown and name != "bar")
    spare = (room or _WIDTH) - rest - 2 * shows["bar"]
    widest = _BAR if room is None else _WIDEST_BAR
    columns = min(widest, max(spare - wanted, _LEAST_BAR)) if shows["bar"] else 0
    least = _LEAST_NAME if room is None or not left else _LEAST_NAME // 2
    first = min(max(spare - columns, least), wanted)
    end = view.scale(list(rows))
    heads = {
        "mode": "mode",
        "resource": fit("resource", second),
        "fair share": "fair share",
        "usage": "usage",
        "guarantee": "guarantee",
        "bar": "0" + f"{percent(end).removesuffix('.0')}%".rjust(columns - 1),
        "satisfied": "satisfied",
        "pending": "pending",
    }
    header = "  ".join([fit("pool", first), *(head for name, head in heads.items() if shows[name])])
    lines: list[Line] = [[("head", header)]]
    for row, (prefix, name, more) in zip(rows, names, strict=True):
        place = first - width(prefix) - width(more)
        line: Line = [("dim", prefix)]
        if row.is_rest:
            lines.append([*line, ("dim", name)])
            continue
        own = fit(name, place, name=True, ellipsis=glyphs.ellipsis)
        line += [("", own.rstrip() if more else own), ("dim", more)]
        if more:
            line.append(("", " " * (place - width(own.rstrip()))))
        cells = _row_cells(view, row, second, end, columns, glyphs)
        lines.append(line + [run for name in shows if shows[name] for run in [("", "  "), *cells[name]]])
    if left:
        said = f"{glyphs.ellipsis} {counted(len(left), 'more column')}: {', '.join(left)}"
        lines.append([("dim", said)])
    return [*lines, *_legend(view, rows, glyphs, satisfied=shows["satisfied"], bars=shows["bar"])]


def _crowded_out(shows: dict[str, bool], sizes: Mapping[str, int], room: int) -> list[str]:
    """Leave out columns that have no room, those first that say least; return their names."""
    left = []
    for name in _DISPENSABLE:
        if sum(size for other, size in sizes.items() if shows[other]) <= room:
            break
        if shows[name]:
            shows[name] = False
            left.append(name)
    return left


def _name(view: Overview, row: Row, glyphs: Glyphs) -> tuple[str, str, str]:
    """Tree lines, name, and the number of pools or operations that are not shown."""
    prefix = ""
    if row.last:
        trunks = ["  " if last else glyphs.trunk for last in row.last[:-1][:_DEEPEST]]
        prefix = "".join(trunks) + (glyphs.last if row.last[-1] else glyphs.branch)
        if row.depth > _DEEPEST + 1:
            prefix += f"{glyphs.ellipsis} "
    if row.is_rest:
        return prefix, f"{glyphs.ellipsis} {left_out(row)}", ""
    more = f" +{row.pools + row.operations:,}" if row.pools or row.operations else ""
    return prefix, clean(view.tree.short_name(row.element)), more


def _row_cells(
    view: Overview, row: Row, second: int, end: float, columns: int, glyphs: Glyphs
) -> dict[str, Line]:
    """Return the cells of a row by the names of their columns."""
    e = row.element
    fair, usage, guarantee = float(view.fair_share[e]), float(view.usage[e]), float(view.guarantee[e])
    runs: Line = [("", " " * columns)]
    if row.depth and columns:
        runs = bar(usage, fair, guarantee, end=end, columns=columns, glyphs=glyphs)
    below = view.satisfaction[e] < 1
    resource = clean(view.resources[view.resource[e]])
    return {
        "mode": [("", fit(view.modes[e], 4))],
        "resource": [("", fit(resource, second, ellipsis=glyphs.ellipsis))],
        "fair share": [("", f"{percent(fair, glyphs):>10}")],
        "usage": [("", f"{percent(usage, glyphs):>5}")],
        "guarantee": [("", f"{percent(guarantee, glyphs):>9}")],
        "bar": runs,
        "satisfied": [("warn" if below else "", f"{ratio(float(view.satisfaction[e]), glyphs):>9}")],
        "pending": [("", f"{percent(float(view.pending[e]), glyphs):>7}")],
    }


def _legend(
    view: Overview, rows: Sequence[Row], glyphs: Glyphs, *, satisfied: bool, bars: bool
) -> list[Line]:
    what = "the row's resource" if view.chosen is None else clean(view.chosen)
    keys: Line = [("", f"% of {what}")]
    for role, word in BAR_MEANS.items() if bars else ():
        keys += [("", "   "), (role, getattr(glyphs, role)), ("", " " + word)]
    hidden = any((row.pools or row.operations) and not row.is_rest for row in rows)
    means = COLUMNS_MEAN if satisfied else COLUMNS_MEAN.partition("; ")[2]
    shares = (view.fair_share, view.usage, view.guarantee, view.pending)
    nothing = any(not float(share[row.element]) for row in rows if not row.is_rest for share in shares)
    means += f"; {glyphs.none}: none" * nothing + "; +n: not shown" * hidden
    return [keys, [("dim", means)]]


def below_sentence(view: Overview) -> str:
    """Return how many operations are below their fair share, and how many of them have long waited."""
    below = view.below_share()
    count = counted(len(view.tree.parents) - view.tree.pool_count, "operation")
    long = int((view.waiting[below] >= _LONG).sum())
    since = f", {long:,} of them waiting for an hour or more" if long else ""
    return f"{len(below):,} of {count} below their fair share{since}."


def below_cells(view: Overview, top: int, glyphs: Glyphs = UNICODE) -> list[list[str]]:
    """Return headings and a row for each of the operations that lack the largest part of the cluster."""
    cells = [["operation", "pool", "resource", "fair share", "usage", "satisfied", "waits"]]
    for e in view.below_share()[:top].tolist():
        names = (view.tree.names[e], view.tree.names[view.tree.parents[e]], view.resources[view.resource[e]])
        shares = (percent(float(view.fair_share[e]), glyphs), percent(float(view.usage[e]), glyphs))
        satisfied, waits = (
            ratio(float(view.satisfaction[e]), glyphs),
            duration(float(view.waiting[e]), glyphs),
        )
        cells.append([*map(clean, names), *shares, satisfied, waits])
    return cells


def below_lines(view: Overview, top: int, glyphs: Glyphs = UNICODE, room: int | None = None) -> list[Line]:
    """Return a sentence on the operations below their fair share, and a line for each that lacks most."""
    lines: list[Line] = [[("head", below_sentence(view))]]
    cells = below_cells(view, top, glyphs)
    if len(cells) == 1:
        return lines
    rooms = [
        min(most, max(map(width, column)))
        for most, column in zip(_BELOW, zip(*cells, strict=True), strict=True)
    ]
    while room is not None and sum(rooms) + 2 * (len(rooms) - 1) > room:
        if max(rooms[:3]) > _LEAST_BAR:
            rooms[rooms.index(max(rooms[:3]))] -= 1
        else:
            rooms.pop()  # the last column says least
    lines.append([("", "Those that lack the largest part of the cluster:")])
    for i, row in enumerate(cells):
        parts = [
            fit(text, rooms[j], right=j > 2, name=True, ellipsis=glyphs.ellipsis)
            for j, text in enumerate(row[: len(rooms)])
        ]
        lines.append([("dim" if i == 0 else "", "  ".join(parts))])
    return lines


def diagnostic_lines(diagnostics: Sequence[Diagnostic], top: int) -> list[Line]:
    """Return a line for each of the first diagnostics, and how many more there are."""
    lines: list[Line] = [[("warn", clean(d.code)), ("", f": {clean(d.message)}")] for d in diagnostics[:top]]
    if len(diagnostics) > top:
        lines.append([("", f"and {counted(len(diagnostics) - top, 'more diagnostic')}")])
    return lines


def total_lines(
    view: Overview,
    totals: Sequence[float],
    shares: Mapping[str, np.ndarray],
    glyphs: Glyphs = UNICODE,
    room: int | None = None,
) -> list[Line]:
    """Return a line a resource: the cluster's total, and shares of all of it by name."""
    columns = [
        ["resource", *(in_unit(*of) for of in view.snapshot.units.items())],
        ["total", *map(amount, totals)],
        *([head, *(f"{100 * share:.1f}%" for share in values)] for head, values in shares.items()),
    ]
    padded = []
    for i, cells in enumerate(columns):
        wide = min(24, max(map(width, cells)))
        padded.append([fit(cell, wide, right=i > 0, ellipsis=glyphs.ellipsis) for cell in cells])
    while (
        room is not None and len(padded) > _LEAST_TOTALS and sum(width(c[0]) + 2 for c in padded) - 2 > room
    ):
        padded.pop()  # shares stand in the table of pools, too
    return [[("dim" if i == 0 else "", "  ".join(row))] for i, row in enumerate(zip(*padded, strict=True))]


def table_text(
    table: Table,
    *,
    max_rows: int = 20,
    max_width: int = _WIDTH,
    glyphs: Glyphs = UNICODE,
    kept: Sequence[str] = ("error",),
) -> str:
    """Return a table as aligned text: the first rows, and the columns that fit.

    Numbers are right-aligned with one number of decimals a column. Columns that are to be `kept` are shown
    however little room there is: others make room, the last of them first.
    """
    shown = min(len(table), max_rows)
    columns = {name: _column(table, name, shown) for name in table.columns}
    wanted = {name: min(_WIDEST, max(map(width, cells))) for name, (cells, _) in columns.items()}
    fitting = _fitting(wanted, max_width, [name for name in kept if name in columns])
    cells: list[list[str]] = []
    for name, room in fitting.items():
        texts, numeric = columns[name]
        cells.append([fit(text, room, right=numeric, ellipsis=glyphs.ellipsis) for text in texts])
    lines = [clean(table.title)] if table.title else []
    lines += ["  ".join(row).rstrip() for row in zip(*cells, strict=True)]
    if len(table) > shown:
        lines.append(f"{glyphs.ellipsis} {counted(len(table) - shown, 'more row')}")
    if left := [name for name in columns if name not in fitting]:
        said = f"{glyphs.ellipsis} {counted(len(left), 'more column')}: {', '.join(map(clean, left))}"
        lines.append(fit(said, max_width, ellipsis=glyphs.ellipsis).rstrip())
    return "\n".join(lines) or "(empty table)"


def _fitting(wanted: Mapping[str, int], room: int, kept: Sequence[str]) -> dict[str, int]:
    """Return the columns that are shown, in their order, each with its width; the first always is."""
    first = next(iter(wanted), None)
    least = {name: min(wanted[name], _LEAST_KEPT) for name in kept}
    left = room - sum(columns + 2 for name, columns in least.items() if name != first)
    found: dict[str, int] = {}
    full = False
    for name, columns in wanted.items():
        if name in least and name != first:
            found[name] = least[name]
            continue
        left -= columns + 2
        full = full or (left < -2 and name != first)
        if not full:
            found[name] = columns
    spare = max(room - sum(found.values()) - 2 * (len(found) - 1), 0)
    for name in kept:
        more = min(spare, wanted[name] - found[name])
        found[name] += more
        spare -= more
    return found


def _column(table: Table, name: str, shown: int) -> tuple[list[str], bool]:
    """Return the head and the first cells of a column as text, and whether they are numbers."""
    cells, numeric = _cells(table[name], shown)
    return [clean(name), *cells], numeric


def _cells(column: np.ndarray | list[object], shown: int) -> tuple[list[str], bool]:
    values = column[:shown]
    plain: list[Any] = values.tolist() if isinstance(values, np.ndarray) else values
    known = [v for v in plain if v is not None]
    numeric = bool(known) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in known)
    if numeric and any(isinstance(v, float) for v in known):
        size = np.abs(np.array(known, dtype=float))
        moderate = bool(((size == 0) | ~np.isfinite(size) | ((size >= 1e-4) & (size < 1e6))).all())
        return ["" if v is None else f"{v:.4f}" if moderate else rounded(v, 6) for v in plain], True
    return [cell(v) for v in plain], numeric


def cell(value: object) -> str:
    """Return a value of a table as clean text; nothing for a gap."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(cell, value))
    return "" if value is None else rounded(value, 6) if isinstance(value, float) else clean(value)
