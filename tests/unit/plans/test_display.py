"""Plans, statuses and explanations in terminals and notebooks."""

from __future__ import annotations

import re
from typing import Any

import pytest

import evenhand as eh
from evenhand.display.plans import decision_lines, refusal_lines, starving_lines
from evenhand.display.terminal import paint
from evenhand.display.text import ASCII, width
from tests.unit.markup_check import Page
from tests.unit.plans.fake import CLUSTER, HOSTILE, make, start, victim


@pytest.fixture(scope="module")
def plan() -> Any:
    return make()


def test_a_plan_says_what_is_done_why_and_for_whom(plan: Any) -> None:
    text = repr(plan)
    lines = text.split("\n")
    assert lines[0] == "Plan for 3 nodes, 1 pool, 3 operations, 12 allocations, at 100 s, on a round"
    assert lines[1] == ("3 preempted, 0 started in free room, 2 started after preemption, 1 request refused.")
    row = next(line for line in lines if "a09" in line)
    assert re.split(r"  +", row) == [
        "preempt",
        "a09 of A",
        "n1",
        "preemption",
        "b of B",
        "2 cpu, 5 memory",
    ]
    assert "1 of 3 operations below their fair share, 1 starving" in text
    assert "1 limits_of_operation_or_pool: The limits of its operation" in text
    assert not any(line != line.rstrip() for line in lines)


def test_rows_are_capped_and_counted() -> None:
    many = make([start("b", "B", "n1", i) for i in range(50)] + [victim("a09", "n1", 50)])
    lines = paint(decision_lines(many, 20, ASCII)).split("\n")
    assert len(lines) == 22
    assert lines[-1] == "and 31 more decisions"
    assert lines[1].startswith("preempt"), "what hurts comes first"
    assert len(repr(many).split("\n")) < 35
    assert len(many._repr_html_()) < 40_000
    assert repr(many.decisions).startswith("51 decisions\n")


def test_statuses(plan: Any) -> None:
    text = repr(plan.statuses)
    assert re.search(r"^B +operation +starving +1m 40s ago +0\.00 +30s$", text, re.MULTILINE)
    page = Page(plan.statuses._repr_html_())
    assert {"B", "starving", "1m 40s ago"} <= set(page.texts)
    nobody = make(starving={}).statuses
    assert "0 of 3 operations below" in repr(nobody)
    Page(nobody._repr_html_())


def test_those_who_starve_most_and_longest_come_first() -> None:
    starving = {
        "A": ("starving", 50.0),
        "B": ("starving", 10.0),
        "C": ("aggressively_starving", 90.0),
        "P": ("non_starving", 1.0),
    }
    lines = paint(starving_lines(make(starving=starving).statuses, 10)).split("\n")[3:]
    assert [line.split()[0] for line in lines] == ["C", "B", "A", "P"]


def test_refusals_are_counted_by_rule() -> None:
    refused = {"b": ("no_free_room", 3, {}), "c": ("no_free_room", 3, {})}
    lines = paint(refusal_lines(make(refused=refused), 5)).split("\n")
    assert lines[0] == "2 requests did not start:"
    assert lines[1].startswith("2 no_free_room: ")
    assert refusal_lines(make(refused={}), 5) == []


def test_html_is_sound_and_says_the_same(plan: Any) -> None:
    page = Page(plan._repr_html_())
    assert {"a09", "b of B", "preemption", "resource_limits_violated", "limits_of_operation_or_pool"} <= set(
        page.texts
    )
    assert page.counts["details"] == 3 + 2, "a step each, statuses, refusals"
    for what in (plan.decisions, plan.refusals, plan.groups.table(), plan.check(plan.snapshot)):
        Page(what._repr_html_())
    Page(plan.diff(make([]))._repr_html_())
    explained = Page(plan.why("c")._repr_html_())
    assert "what was looked at" in explained.texts
    assert any(
        text.startswith("Request c of operation C (1 cpu) did not start: ") for text in explained.texts
    )


def test_hostile_names_stay_text() -> None:
    data = {**CLUSTER, "nodes": [dict(node) for node in CLUSTER["nodes"]]}
    data["allocations"] = [dict(row) for row in CLUSTER["allocations"]]
    data["allocations"][8]["name"] = HOSTILE
    snapshot = eh.Snapshot.from_dict(data)
    plan = make([victim(HOSTILE, "n1", 0), start("b", "B", "n1", 0)], snapshot, groups={}, traces={})
    for html in (plan._repr_html_(), plan.decisions._repr_html_(), plan.why(HOSTILE)._repr_html_()):
        Page(html)
        assert "<script" not in html
    for text in (repr(plan), repr(plan.decisions), repr(plan.diff(make([])))):
        assert all(line.isprintable() for line in text.split("\n"))


def test_text_fits_a_page() -> None:
    long = {"reason": "default_gpu_full_host_preemption", "for_request": "b", "stage": "full_host"}
    refused = {"c": ("no_room_even_with_victims", 3, {"cpu": 1})}
    plan = make([victim("a09", "n1", 0, **long)], refused=refused)
    assert max(width(line) for line in repr(plan).split("\n")) <= 110
