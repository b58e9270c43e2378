"""Pieces of HTML: escaped text, tables, foldable trees, bars.

No JavaScript, no network, no identifiers that could clash: every output carries its own small style
sheet, which follows JupyterLab's, VS Code's and Sphinx' themes and otherwise the reader's colour scheme.
Where a viewer strips style sheets (GitHub), the plain text shows instead.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from evenhand.display.palette import css
from evenhand.display.text import BAR_MEANS, clean, width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from evenhand.display.tree import Row

__all__ = ["bar", "fold", "header", "legend", "name", "safe", "table", "tree", "wrap"]

_PAGE = 128  # characters beside each other, on a page of 1,000 pixels
_GAP = 2  # characters between columns, about
_PROSE = 24  # characters that a column of sentences has at least
_NAME = 48  # characters of a first column that is kept on a line
_SHORT = 16  # characters: a name as short as that is kept on a line
_BREAKS = re.compile(r"(?<=[/_.:@-])(?=[^\W\d_])|(?<=[/_])(?=\d)|(?<=[^\W\d]-)(?=\d)")  # not in numbers


def safe(value: object) -> str:
    """Any value as text in HTML: no markup, no control or direction characters."""
    return escape(clean(value))


@cache
def _style() -> str:
    text = files("evenhand.display").joinpath("style.css").read_text("utf-8")
    return f".evenhand {{ {css()} }} {' '.join(text.split())}"


def wrap(plain: str, *parts: str) -> str:
    """Return a complete output: HTML where styles work, the plain text elsewhere."""
    body = "".join(parts)
    return (
        f'<style>{_style()}</style><pre class="evenhand-text">{escape(plain)}</pre>'
        f'<div class="evenhand" hidden>{body}</div>'
    )


def header(title: str, rest: str) -> str:
    """Return a heading and what follows it in a quieter voice."""
    return f'<header><b>{safe(title)}</b> <span class="eh-quiet">{safe(rest)}</span></header>'


def fold(summary: str, body: str, *, opened: bool = False) -> str:
    """Return a part that can be folded; `summary` and `body` are HTML."""
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>{body}</details>"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Iterable[int] = (),
    caption: str = "",
) -> str:
    """Return a table of values; `numbers` are the columns that are right-aligned.

    Text and names are broken where there is no room for them, numbers never. Columns for which there is no
    room beside the others follow in tables below, each with the first column once more.
    """
    right = set(numbers)
    cells = [[clean(value) for value in row] for row in rows]
    heads = [clean(column) for column in columns]
    mark = [' class="eh-number"' if i in right else "" for i in range(len(heads))]
    made: list[str] = []
    kept = max(map(width, (row[0] for row in cells)), default=_NAME) < _NAME  # names are read in a column
    for block in _blocks(heads, cells, right):
        head = "".join(f'<th scope="col"{mark[i]}>{_broken(heads[i])}</th>' for i in block)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td{mark[i]}>{escape(row[i]) if kept and not i else _broken(row[i])}</td>" for i in block
            )
            + "</tr>"
            for row in cells
        )
        said = (
            f"columns {block[1] + 1} to {block[-1] + 1} of {len(heads)}, of the same rows"
            if made
            else caption
        )
        title = f"<caption>{safe(said)}</caption>" if said else ""
        inside = f"{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        made.append(f'<table class="eh-table">{inside}</table>')
    return "".join(made)


def name(value: object) -> str:
    """Return a name as HTML, as `safe` does; a long one may be broken between its parts."""
    return _broken(clean(value))


def _broken(text: str) -> str:
    return "<wbr>".join(map(escape, _parts(text)))


def _parts(text: str) -> list[str]:
    return [text] if len(text) <= _SHORT else _BREAKS.split(text)


def _least(head: str, cells: Sequence[str], *, number: bool) -> int:
    """Return how many characters a column needs: numbers are never broken, sentences get some room."""

    def longest(text: str) -> int:
        return max((width(word) for part in _parts(text) for word in part.split()), default=0)

    texts = set(cells)
    if number:
        return max([longest(head), *map(width, texts)])
    prose = min(_PROSE, max(map(width, texts), default=0))
    return max([longest(head), prose, *map(longest, texts)])


def _blocks(heads: Sequence[str], rows: Sequence[Sequence[str]], right: set[int]) -> Iterator[list[int]]:
    """Yield the columns that stand beside each other in a table."""
    least = [_GAP + _least(head, [row[i] for row in rows], number=i in right) for i, head in enumerate(heads)]
    if rows:
        least[0] = max(least[0], _GAP + min(_NAME, max(width(row[0]) for row in rows)))
    block, used = [0], least[0] if least else 0
    for i in range(1, len(heads)):
        if len(block) > 1 and used + least[i] > _PAGE:
            yield block
            block, used = [0], least[0]
        block.append(i)
        used += least[i]
    yield block if heads else []


def tree(
    columns: Sequence[tuple[str, str, str]],
    rows: Sequence[Row],
    cells: Callable[[Row], Sequence[str]],
    *,
    opened: Callable[[Row], bool],
) -> str:
    """Return a foldable tree with aligned columns."""
    layout = f"grid-template-columns:{' '.join(size for _, size, _ in columns)}"
    opening = [f'<span class="{role}">' if role else "<span>" for _, _, role in columns]

    def spans(texts: Iterable[str]) -> str:
        return "".join(f"{start}{text}</span>" for start, text in zip(opening, texts, strict=True))

    heads = spans(head for head, _, _ in columns)
    out = [f'<div class="eh-tree"><div class="eh-row eh-head" style="{layout}">{heads}</div>']
    ends: list[int] = []  # depths of the parts that are still open
    for row in rows:
        while ends and ends[-1] >= row.depth:
            out.append("</details>")
            ends.pop()
        line = spans(cells(row))
        style = f'style="{layout};--eh-depth:{row.depth}"'
        if row.children:
            state = " open" if opened(row) else ""
            out.append(f'<details{state}><summary class="eh-row" {style}>{line}</summary>')
            ends.append(row.depth)
        else:
            out.append(f'<div class="eh-row" {style}>{line}</div>')
    return "".join([*out, "</details>" * len(ends), "</div>"])


def bar(usage: float, fair_share: float, guarantee: float, *, end: float, label: str) -> str:
    """Return a bar from 0 to `end`, read out as its label."""

    def part(role: str, start: float, stop: float) -> str:
        left, right = (round(100 * min(max(x / end, 0.0), 1.0), 2) for x in (start, stop))
        return (
            f'<i class="eh-{role}" style="left:{left:g}%;width:{right - left:.4g}%"></i>'
            if right > left
            else ""
        )

    parts = (
        part("used", 0, min(usage, fair_share))
        + part("above", fair_share, usage)
        + part("owed", usage, fair_share)
    )
    if guarantee > 0:
        left = min(100 * guarantee / end, 100)
        parts += f'<i class="eh-mark" style="left:calc({left:.4g}% - 1px)"></i>'
    return f'<span class="eh-bar" role="img" aria-label="{escape(label)}">{parts}</span>'


def legend() -> str:
    """Return what the parts of a bar mean."""
    keys = (
        f'<span class="eh-bar" aria-hidden="true"><i class="eh-{k}"></i></span>{w}'
        for k, w in BAR_MEANS.items()
    )
    return f'<span class="eh-legend">{"".join(keys)}</span>'
