"""Explanations as text and as HTML: sentences, amounts as columns, what was looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.display import markup
from evenhand.display.text import UNICODE, Glyphs, clean, fit, in_short, width
from evenhand.units.text import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.explain import Explanation

__all__ = ["amounts_text", "explanation_html", "explanation_text"]

_WIDTH = 80
_WIDEST = 30  # a quantity's name
_HTML_ROWS = 150


def _cells(
    amounts: Mapping[str, Mapping[str, float]], units: Mapping[str, str | None]
) -> tuple[list[str], list[list[str]]]:
    """Return heads, and a row a quantity; a resource that a quantity does not name is left blank."""
    resources = list(dict.fromkeys(resource for row in amounts.values() for resource in row))
    rows = [
        [
            clean(quantity),
            *(number(row[r], _beside(amounts, quantity, r)) if r in row else "" for r in resources),
        ]
        for quantity, row in amounts.items()
    ]
    heads = [f"{clean(r)} [{clean(units[r])}]" if units.get(r) else clean(r) for r in resources]
    return ["", *heads], rows


def _beside(amounts: Mapping[str, Mapping[str, float]], quantity: str, resource: str) -> list[float]:
    """Return what stands in a column beside a number, so that two that differ look different."""
    return [row[resource] for other, row in amounts.items() if other != quantity and resource in row]


def _blocks(heads: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> Iterator[list[int]]:
    """Yield the columns that stand beside each other in a block of lines."""
    columns = [[heads[i], *(row[i] for row in rows)] for i in range(len(heads))]
    first = min(max(map(width, columns[0])), _WIDEST)
    block, used = [0], first
    for i, column in enumerate(columns[1:], 1):
        wanted = 2 + max(map(width, column))
        if len(block) > 1 and used + wanted > room:
            yield block
            block, used = [0], first
        block.append(i)
        used += wanted
    yield block


def amounts_text(
    amounts: Mapping[str, Mapping[str, float]],
    units: Mapping[str, str | None] | None = None,
    room: int = _WIDTH,
    glyphs: Glyphs = UNICODE,
) -> str:
    """Return amounts as aligned lines, a quantity a line and a resource a column.

    Columns that have no room beside the others follow below them, under the quantities once more.
    """
    if not amounts:
        return ""
    heads, rows = _cells(amounts, units or {})
    lines = []
    for block in _blocks(heads, rows, room):
        table = [[row[i] for i in block] for row in [heads, *rows]]
        widths = [max(map(width, column)) for column in zip(*table, strict=True)]
        widths[0] = min(widths[0], _WIDEST)
        for row in table:
            cells = [fit(row[0], widths[0], name=True, ellipsis=glyphs.ellipsis)]
            cells += [
                fit(cell, widths[i], right=True, ellipsis=glyphs.ellipsis)
                for i, cell in enumerate(row[1:], 1)
            ]
            lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def explanation_text(explanation: Explanation, room: int = _WIDTH, glyphs: Glyphs = UNICODE) -> str:
    """Return sentences of an explanation, a line each, its amounts as aligned columns, and the rest."""
    lead, amounts = explanation.lead, amounts_text(explanation.amounts, explanation.units, room, glyphs)
    rest = explanation.sentences[len(lead) :]
    return "\n".join([*lead, *(["", amounts] if amounts else []), *(["", *rest] if rest else [])])


def explanation_html(explanation: Explanation) -> str:
    """Return an explanation as HTML: its sentences, then its amounts and what was tried, both folded."""
    first, *others = (markup.safe(sentence) for sentence in explanation.lead)
    body = f"<div><b>{first}</b></div>" + "".join(f"<div>{sentence}</div>" for sentence in others)
    parts = [markup.header(clean(explanation.name), explanation.code), body]
    more = [markup.safe(sentence) for sentence in explanation.sentences[len(explanation.lead) :]]
    if explanation.amounts:
        heads, rows = _cells(explanation.amounts, explanation.units)
        table = markup.table(heads, rows, numbers=range(1, len(heads)))
        parts.append(markup.fold("amounts", table))
    if more:
        parts.append(markup.fold("more", "".join(f"<div>{sentence}</div>" for sentence in more)))
    if explanation.looked_at:
        heads = ["times", "stage", "outcome", "node", "request", "missing"]
        looked = [
            [
                f"{row['times']:,}",
                row["stage"],
                row["outcome"],
                "" if row["node"] is None else row["node"],
                "" if row["request"] is None else row["request"],
                in_short(row["missing"], {}),
            ]
            for row in explanation.looked_at[:_HTML_ROWS]
        ]
        told = [i for i, column in enumerate(zip(*looked, strict=True)) if any(column)]
        rows = [[row[i] for i in told] for row in looked]
        table = markup.table([heads[i] for i in told], rows, numbers=(0,))
        parts.append(markup.fold("what was looked at", table))
    return markup.wrap(explanation.text, *parts)
