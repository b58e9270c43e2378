"""What people see: text and HTML of trees, shares and snapshots."""

from __future__ import annotations

import itertools
import unicodedata
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import display
from evenhand.display.overview import overview
from evenhand.display.terminal import paint, tree_lines
from evenhand.display.text import ASCII, UNICODE, amount, bar, clean, fit, percent, ratio, width
from evenhand.display.tree import Tree
from tests.unit.fakes import CLUSTER, FakeShares, chain
from tests.unit.markup_check import Page

HOSTILE = "<script>alert(1)</script>\x1b[31m\r\n\u202e\x00\x9b&amp;\"'"


def text_of(shares: Any, glyphs: Any = UNICODE, resource: str | None = None, **limits: Any) -> list[str]:
    view = overview(shares, resource)
    return paint(tree_lines(view, view.rows(**limits), glyphs)).split("\n")


# --- text ---------------------------------------------------------------------------------------------------


@given(st.text())
def test_clean_text_is_printable(text: str) -> None:
    safe = clean(text)
    assert not {unicodedata.category(c) for c in safe} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    assert not set(safe) & set("\n\r\t\x1b\x00\x7f\x9b\u202a\u202e\u2066\u2028\u2029\ufeff")
    assert clean(safe) == safe
    safe.encode("utf-8")


def test_clean_keeps_what_people_write() -> None:
    for name in ("a/b-c_d.e", "Größe", "名前", "имя", "a b", "50 %", "🙂"):
        assert clean(name) == name
    assert clean("\ud800") == "\\ud800"
    assert clean(7) == "7"


@given(st.text("ab日é\u0301", max_size=12), st.integers(3, 12), st.booleans())
def test_fit_has_the_width_asked_for(text: str, columns: int, right: bool) -> None:
    fitted = fit(text, columns, right=right)
    assert width(fitted) == columns
    if width(text) <= columns:
        assert text in fitted
    else:
        assert "…" in fitted


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "–"),
        (1e-9, "<0.1"),
        (0.0004999, "<0.1"),
        (0.0005, "0.1"),
        (0.1234, "12.3"),
        (1.0, "100.0"),
        (2, "200.0"),
    ],
)
def test_percent(share: float, shown: str) -> None:
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.00"), (0.999, "1.00"), (99.994, "99.99"), (132.4, "132"), (1e9, "∞"), (float("nan"), "–")],
)
def test_ratio(value: float, shown: str) -> None:
    assert ratio(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.25, "0.25"),
        (999, "999"),
        (96000, "96,000"),
        (1_500_000, "1.5 M"),
        (2**49, "563 T"),
        (2**60, "1.15 E"),
    ],
)
def test_amount(value: float, shown: str) -> None:
    assert amount(value) == shown


def test_bars() -> None:
    def drawn(usage: float, fair: float, guarantee: float) -> str:
        return "".join(text for _, text in bar(usage, fair, guarantee, end=1, columns=8, glyphs=UNICODE))

    assert drawn(0, 0, 0) == "        "
    assert drawn(0.25, 0.5, 0.75) == "██░░  ┃ "
    assert drawn(0.5, 0.25, 0) == "██▓▓    "
    assert drawn(0.01, 0.5, 0) == "▏░░░    ", "a trace of usage is visible"
    assert drawn(1, 1, 1) == "███████┃"


SHARE = st.floats(0, 1)


@given(SHARE, SHARE, SHARE, st.sampled_from([ASCII, UNICODE]))
def test_a_bar_is_as_long_as_what_it_shows(usage: float, fair: float, guarantee: float, glyphs: Any) -> None:
    cells = list(
        itertools.chain(
            *(
                [role] * len(text)
                for role, text in bar(usage, fair, guarantee, end=1, columns=20, glyphs=glyphs)
            )
        )
    )
    assert len(cells) == 20
    assert ("mark" in cells) == (guarantee > 0)
    if guarantee == 0:
        assert ("used" in cells or "above" in cells) == (usage > 0)
        assert abs(sum(c != "" for c in cells) - 20 * max(usage, fair)) <= 1
        assert ("above" in cells) <= (usage > fair)
        assert ("owed" in cells) <= (fair > usage)


# --- which rows ---------------------------------------------------------------------------------------------

TREES = st.lists(st.integers(0, 10**6), max_size=30).flatmap(
    lambda picks: st.tuples(
        st.just([-1] + [pick % (i + 1) for i, pick in enumerate(picks)]),
        st.lists(st.integers(0, 10**6), max_size=30),
    )
)


@given(TREES, st.none() | st.integers(0, 4), st.none() | st.integers(1, 40), st.booleans(), st.randoms())
def test_every_element_is_shown_or_counted(
    made: tuple[list[int], list[int]], depth: int | None, top: int | None, operations: bool, random: Any
) -> None:
    pools, picks = made
    parents = pools + [pick % len(pools) for pick in picks]
    tree = Tree([str(i) for i in range(len(parents))], parents, len(pools))
    size = np.array([random.random() for _ in parents])
    shown = tree.select(size, depth=depth, top=top, operations=operations)
    rows = tree.rows(shown, operations=operations)
    real = [row for row in rows if not row.is_rest]
    assert sorted(row.element for row in real) == np.flatnonzero(shown).tolist()
    assert rows[0].element == 0
    assert all(row.depth == tree.depth[row.element] for row in real)
    assert all(shown[parents[row.element]] for row in real[1:]), "never a row without its parent"
    assert len(real) <= (top or len(parents))
    assert depth is None or all(row.depth <= depth for row in real)
    assert len(real) + sum(row.pools + row.operations for row in rows) == (
        len(parents) if operations else len(pools)
    ), "whatever is not shown is counted once"
    if not operations:
        assert all(row.element < len(pools) for row in real)


def test_the_largest_are_shown() -> None:
    tree = Tree(list("rabcd"), [-1, 0, 0, 1, 2], 5)
    shown = tree.select(np.array([1, 0.2, 0.6, 0.2, 0.5]), top=3)
    assert np.flatnonzero(shown).tolist() == [0, 2, 4]


def test_ties_go_to_the_first() -> None:
    tree = Tree(list("rabc"), [-1, 0, 0, 0], 4)
    assert np.flatnonzero(tree.select(np.ones(4), top=3)).tolist() == [0, 1, 2]


def test_a_deep_chain_is_no_problem() -> None:
    shares = FakeShares(chain(3000), resources=("cpu",))
    assert len(text_of(shares)) == 3001 + 3
    assert max(map(width, text_of(shares))) <= 110
    Page(display.shares_html(shares))


# --- overview -----------------------------------------------------------------------------------------------


def test_each_row_shows_its_dominant_resource() -> None:
    elements: list[Any] = [
        *CLUSTER[:5],
        ("g", "operation", "web", "", [0.1, 0.2], [0.0, 0.1], [0, 0], [0.1, 0.2], 0.5),
    ]
    view = overview(FakeShares(elements))
    assert view.resource.tolist() == [0, 0, 0, 0, 0, 1]
    assert (view.fair_share[5], view.usage[5]) == (0.2, 0.1)
    assert view.guarantee[1] == 0.4, "strong plus integral"
    assert view.modes == ["fair", "fair", "fifo", "fair", "fair", ""]


def test_a_resource_of_ones_choice() -> None:
    view = overview(FakeShares(), "gpu")
    assert view.fair_share.tolist() == [0.9, 0.3, 0.1, 0.0, 0.0, 0.1, 0.0]
    with pytest.raises(ValueError, match="no resource 'tpu'; there are 'cpu', 'gpu'"):
        overview(FakeShares(), "tpu")


def test_operations_below_their_share() -> None:
    elements: list[Any] = [
        *CLUSTER[:5],
        ("full", "operation", "web", "", [0.1, 0], [0.1, 0], [0, 0], [0.1, 0], 1 - 1e-12),
        ("little", "operation", "web", "", [0.02, 0], [0.01, 0], [0, 0], [0.1, 0], 0.5),
        ("much", "operation", "web", "", [0.5, 0], [0.4, 0], [0, 0], [0.9, 0], 0.8),
    ]
    view = overview(FakeShares(elements))
    assert [view.tree.names[e] for e in view.below_share()] == ["much", "little"]


# --- the tree as text ---------------------------------------------------------------------------------------


def test_tree_text() -> None:
    assert text_of(FakeShares()) == [
        "pool          mode  resource  fair share  usage  guarantee  0             50%  satisfied  pending",
        "<Root>        fair  cpu            100.0   80.0          –                          0.25     70.0",
        "├ lab         fair  cpu             50.0   30.0       40.0  ██████████▎░░┃░░░       0.25     60.0",
        "│ └ /nlp      fifo  cpu             20.0    5.0          –  █▊░░░░░                 0.25     45.0",
        "├ web         fair  cpu             25.0   50.0          –  ████████▓▓▓▓▓▓▓▓▓       2.00     10.0",
        "└ idle        fair  cpu                –      –       10.0     ┃                       ∞        –",
        "% of the row's resource   █ used   ▓ above fair share   ░ owed   ┃ guarantee",
        "satisfied: usage / fair share, of a pool its worst operation's; pending: demand not served; –: none",
    ]


def test_tree_text_in_ascii() -> None:
    lines = text_of(FakeShares(), ASCII, "cpu", depth=1, operations=True)
    assert lines[2].startswith("+ lab +2 ")
    assert lines[-3].startswith("` idle ")
    assert all(line.isascii() for line in lines)


def test_what_is_left_out_is_said() -> None:
    lines = text_of(FakeShares(), top=2)
    assert lines[2].startswith("├ lab +1 ")
    assert lines[3] == "└ … 2 more pools"
    assert "+n: not shown" in lines[-1]


def test_colours_only_on_request() -> None:
    view = overview(FakeShares())
    plain, coloured = (paint(tree_lines(view, view.rows()), color=c) for c in (False, True))
    assert "\x1b" not in plain
    assert "\x1b[36m" in coloured


@pytest.mark.parametrize("glyphs", [ASCII, UNICODE])
def test_lines_are_aligned_and_narrow(glyphs: Any) -> None:
    rows: list[Any] = [CLUSTER[0]]
    rows += [("ä日" * 30, *CLUSTER[1][1:]), ("x" * 200, "pool", "ä日" * 30, *CLUSTER[1][3:]), *CLUSTER[1:]]
    shares = FakeShares(rows, resources=("a resource of a long name", "gpu"))
    lines = text_of(shares, glyphs)
    assert max(map(width, lines)) <= 110
    ends = {width(line) for line in lines[:-2]}
    assert len(ends) == 1, "every number column ends where its heading ends"


# --- shares, snapshots and tables as text and HTML ----------------------------------------------------------


def test_shares_html_holds_the_numbers() -> None:
    page = Page(display.shares_html(FakeShares()))
    assert page.counts["details"] == 5, "root, lab, nlp, web and the operations below their share"
    assert page.counts.get("script") is None
    assert page.labels[0] == "fair share 50.0%, usage 30.0%, guarantee 40.0%"
    for text in ("lab", "/nlp", "train", "fifo", "20.0", "1 of 2 operations below their fair share."):
        assert text in page.texts, text


def test_html_falls_back_to_text() -> None:
    shares = FakeShares()
    html = display.shares_html(shares)
    fallback = html.split('<pre class="evenhand-text">')[1].split("</pre>")[0]
    assert "&lt;Root&gt;" in fallback
    assert "├ lab" in fallback
    assert html.endswith("</div>")
    assert '<div class="evenhand" hidden>' in html, "hidden unless the style sheet works"


def test_html_stays_small_and_says_what_is_missing() -> None:
    rows: list[Any] = [CLUSTER[0]] + [(f"p{i}", *CLUSTER[1][1:]) for i in range(5000)]
    html = display.shares_html(FakeShares(rows))
    assert len(html) < 200_000
    assert "… 4,851 more pools" in Page(html).texts


def test_diagnostics_are_listed() -> None:
    shares = FakeShares()
    found = SimpleNamespace(
        code="overcommit", elements=("lab", 7), message="guarantees exceed <total>", numbers={}
    )
    shares.diagnostics = (found,) * 12
    assert "overcommit: guarantees exceed <total>\nand 2 more diagnostics" in display.shares_text(shares)
    assert "guarantees exceed <total>" in Page(display.shares_html(shares)).texts


def test_snapshot() -> None:
    snapshot: Any = FakeShares().snapshot
    text = display.snapshot_text(snapshot)
    assert text.startswith(
        "Snapshot at 0 s: 1 node, 4 pools, 2 operations, 0 allocations\ntotal: 1,000 cpu, 1,000 gpu"
    )
    page = Page(display.snapshot_html(snapshot))
    assert {"lab", "/nlp", "operations "} <= set(page.texts)


def test_pool_tree_object() -> None:
    tree = display.pool_tree(FakeShares(), resource="cpu", depth=1)
    assert repr(tree).split("\n")[2].startswith("├ lab +1")
    assert "% of cpu" in Page(tree._repr_html_()).texts
    with pytest.raises(ValueError, match="no resource"):
        display.pool_tree(FakeShares(), resource="tpu")


def test_hostile_names_are_harmless() -> None:
    rows: list[Any] = [
        (HOSTILE + str(row[0]), row[1], row[2] and HOSTILE + str(row[2]), *row[3:]) for row in CLUSTER
    ]
    shares = FakeShares(rows, resources=(HOSTILE, "gpu"))
    shares.diagnostics = (SimpleNamespace(code=HOSTILE, elements=(HOSTILE,), message=HOSTILE, numbers={}),)
    for text in (
        display.shares_text(shares),
        display.snapshot_text(shares.snapshot),
        repr(display.pool_tree(shares)),
    ):
        assert all(c.isprintable() for c in text.replace("\n", ""))
    for html in (display.shares_html(shares), display.snapshot_html(shares.snapshot)):
        assert any("<script>alert(1)</script>\\x1b[31m" in text for text in Page(html).texts)


@pytest.mark.parametrize("name", ["", " ", "a" * 10_000, "\u0301" * 50, 0, -5])
def test_odd_names(name: Any) -> None:
    rows: list[Any] = [CLUSTER[0], (name, *CLUSTER[1][1:])]
    Page(display.shares_html(FakeShares(rows)))
    assert max(map(width, text_of(FakeShares(rows)))) <= 110


def test_an_empty_cluster() -> None:
    root: list[Any] = [("<Root>", "pool", None, "fair_share", [0.0], [0.0], [0.0], [0.0], 1e9)]
    shares = FakeShares(root, resources=("cpu",))
    assert "0 of 0 operations below their fair share." in display.shares_text(shares)
    Page(display.shares_html(shares))
    Page(display.snapshot_html(shares.snapshot))


def test_real_results_show_themselves() -> None:
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 7200,
            "resources": {"cpu": {}, "gpu": {}},
            "nodes": [{"name": "n1", "capacity": {"cpu": 100, "gpu": 4}, "tags": ["a", HOSTILE]}],
            "pools": [
                {"name": HOSTILE, "strong_guarantee": {"cpu": 50}, "weight": 2},
                {"name": 7, "parent": HOSTILE, "mode": "fifo"},
            ],
            "operations": [{"name": "etl", "pool": 7}, {"name": HOSTILE, "pool": HOSTILE}],
            "requests": [
                {"name": "r", "operation": "etl", "resources": {"cpu": 60}, "submit_time": 3500},
                {"name": "s", "operation": HOSTILE, "resources": {"gpu": 3}, "submit_time": 7100},
            ],
        }
    )
    shares = eh.fair_share(snapshot)
    assert "2 of 2 operations below their fair share, 1 of them waiting for an hour or more." in repr(shares)
    page = Page(shares._repr_html_())
    assert {"etl", "fifo", "1h 1m", "1m 40s", "50.0"} <= set(page.texts)
    page = Page(snapshot._repr_html_())
    assert "50 cpu" in page.texts
    assert all(c.isprintable() for c in repr(shares).replace("\n", ""))
