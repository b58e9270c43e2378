"""Tables on a page of 1,000 pixels: no number is cut or broken, no column is lost, none is empty."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.display import markup
from evenhand.display.settings import policy_html
from evenhand.table import Table
from tests.unit.markup_check import Page

NAMES = st.text("ab/_-.1日 ", max_size=60)
NUMBERS = st.floats(-1e12, 1e12).map(lambda x: f"{x:,.2f}") | st.integers(0, 10**9).map(str)
PIXELS = 7.8  # a character of 13 pixels' height, at most


def tables(html: str) -> list[tuple[list[str], list[list[str]]]]:
    """Return the heads and rows of each table, cells as HTML."""
    found = []
    for table in re.findall(r"<table.*?</table>", html):
        heads = re.findall(r"<th scope[^>]*>(.*?)</th>", table)
        rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(<td.*?)</tr>", table)]
        found.append((heads, rows))
    return found


def whole(cell: str) -> str:
    return unescape(cell.replace("<wbr>", ""))


@given(st.data(), st.integers(1, 40), st.integers(0, 4))
def test_no_column_is_lost_and_none_is_too_wide(data: st.DataObject, columns: int, rows: int) -> None:
    numbers = data.draw(st.sets(st.integers(0, columns - 1)))
    heads = [f"{data.draw(NAMES)}{i}" for i in range(columns)]
    cells = [[data.draw(NUMBERS if i in numbers else NAMES) for i in range(columns)] for _ in range(rows)]
    html = markup.table(heads, cells, numbers=numbers)
    Page(html)
    shown: dict[str, list[str]] = {}
    for head, body in tables(html):
        assert whole(head[0]) == heads[0], "rows can be told in each block"
        for i, name in enumerate(head):
            shown[whole(name)] = [whole(row[i]) for row in body]
        least = [
            max(len(part) for cell in column for part in re.split(r"<wbr>| ", cell))
            for column in zip(head, *body, strict=True)
        ]
        assert len(head) <= 2 or sum(PIXELS * characters + 16 for characters in least) <= 1000 + 16 * 8
    assert shown == {head: [row[i] for row in cells] for i, head in enumerate(heads)}


@given(NUMBERS)
def test_a_number_is_never_broken(number: str) -> None:
    assert (
        "<wbr>"
        not in markup.table(["a"], [[f"{number} and {number} of a-name-that-is-long/1.5"]]).split(" of ")[0]
    )


def test_a_wide_table_is_shown_in_blocks() -> None:
    wide = Table({f"column_of_a_long_name.{i}": [123456.5 + i] for i in range(30)})
    html = wide._repr_html_()
    assert html.count("<table") > 2
    assert "column_of_a_long_name.29" in " ".join(Page(html).texts)
    assert re.search(r"columns \d+ to 30 of 30, of the same rows", html)
    assert Table({"a": [1], "b": [2]})._repr_html_().count("<table") == 1


def test_what_was_looked_at_has_no_empty_column() -> None:
    snapshot = eh.synthetic.demo()
    plan = eh.plan(snapshot, eh.policies.YTsaurus(), as_if_waiting="10m")
    for name, missing in (("build-0285/pending", True), ("build-1478/5", False)):
        heads, rows = tables(plan.why_not(name)._repr_html_())[-1]
        assert heads[:3] == ["times", "stage", "outcome"]
        assert ("missing" in heads) == missing
        assert all(any(column) for column in zip(*rows, strict=True))


def test_settings_within_settings_show_what_differs() -> None:
    policy = eh.policies.YTsaurus(
        pace={"victim_cooldown": "1h"}, non_preemptible_resource_usage_threshold={"cpu": 9}
    )
    changed, same = tables(policy_html(policy))
    values = {whole(row[0]): [whole(cell) for cell in row[1:3]] for row in changed[1]}
    assert values == {
        "non_preemptible_resource_usage_threshold": ["cpu: 9", "none"],
        "pace": ["victim_cooldown 3,600 s", "its own defaults"],
    }
    assert {whole(row[0]): row[1] for row in same[1]}["fair_share"] == "its own defaults"


@pytest.mark.parametrize("name", ["short", "a-department/of_a.long@name:5", "1.5 GiB", "12,345"])
def test_names_are_the_same_text(name: str) -> None:
    assert whole(markup.name(name)) == name
    assert ("<wbr>" in markup.name(name)) == (len(name) > 16)
