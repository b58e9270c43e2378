"""Explanations exactly where their words change: traces, long lists, nothing left."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import evenhand as eh
from evenhand.explain.facts import fraction, listed, sentence
from tests.unit.plans.fake import CLUSTER, DECISIONS, POLICY, FakeCore, make, start
from tests.unit.plans.test_explain_operations import one_node, slurm


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0.00"),
        (0.00012, "0.00012"),
        (0.00099, "0.00099"),
        (0.001, "0.0010"),
        (0.25, "0.25"),
        (1.0, "1.00"),
    ],
)
def test_a_trace_has_two_digits(share: float, text: str) -> None:
    assert fraction(share) == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("", ""),
        ("a", "a"),
        ("ab", "a and b"),
        ("abcd", "a, b, c and d"),
        ("abcde", "a, b, c, d and e"),
        ("abcdef", "a, b, c, d and 2 more"),
    ],
)
def test_one_more_name_takes_no_more_room_than_its_number(names: str, text: str) -> None:
    assert listed(names) == text


def test_a_sentence_ends_once() -> None:
    assert (sentence("it waits"), sentence("it waits.")) == ("It waits.", "It waits.")


def requests(count: int) -> dict[str, Any]:
    data = copy.deepcopy(CLUSTER)
    data["requests"][0]["count"] = count
    return data


@pytest.mark.parametrize("starts", [2, 3, 4, 5])
def test_of_many_starts_the_first_three_are_told(starts: int) -> None:
    decisions = [start("b", "B", "n1", step) for step in range(starts)]
    told = make(decisions, eh.Snapshot.from_dict(requests(starts))).why("b")
    assert sum("starts on node n1" in said for said in told.sentences) == min(starts, 3)
    assert [said for said in told.sentences if "more times" in said] == (
        [f"It starts {starts - 3} more times."] if starts > 3 else []
    )


@pytest.mark.parametrize("count", [2, 3, 4])
def test_what_still_waits_of_two_that_start(count: int) -> None:
    told = make(snapshot=eh.Snapshot.from_dict(requests(count))).why("b")
    left = [said for said in told.sentences if "more of it" in said]
    assert (
        left
        == {
            2: [],
            3: ["1 more of it still waits."],
            4: ["2 more of it still wait."],
        }[count]
    )


class Below(FakeCore):
    """B is below its share, with other columns of its row."""

    columns: dict[str, Any]

    def elements(self) -> dict[str, Any]:
        elements = super().elements()
        for name, value in self.columns.items():
            elements[name] = elements[name].copy()
            elements[name][-2] = value
        return elements


def below(**columns: Any) -> eh.plans.Plan:
    snapshot = eh.Snapshot.from_dict(CLUSTER)
    core = Below(snapshot, DECISIONS, starving={"P": ("starving", 20.0)})
    core.columns = columns
    return eh.plans.Plan(snapshot, POLICY, core)


def test_the_claim_of_the_pool_that_starves_aggressively_comes_first() -> None:
    plan = below(lowest_starving_ancestor=0, lowest_aggressive_ancestor=1, priority=2)
    assert (
        plan.why("a09")
        .sentences[2]
        .startswith("It may preempt on the strength of its pool: pool P is starving")
    )


@pytest.mark.parametrize(
    ("satisfaction", "text"), [(1e9, "no fair share"), (0.5e9, "satisfaction 500,000,000")]
)
def test_who_has_no_fair_share_is_said_to_have_none(satisfaction: float, text: str) -> None:
    assert f"({text})" in below(satisfaction=satisfaction).why("B").text


@pytest.mark.parametrize("count", [3, 4, 5])
def test_of_many_requests_that_wait_the_first_three_are_told(count: int) -> None:
    data = copy.deepcopy(CLUSTER)
    data["requests"] = [{"name": f"r{i}", "operation": "B", "resources": {"cpu": 1}} for i in range(count)]
    refused = {f"r{i}": ("no_free_room", 1, {"cpu": 1}) for i in range(count)}
    told = make([], eh.Snapshot.from_dict(data), refused=refused).why("B").sentences
    assert sum(said.startswith("Request r") for said in told) == (3 if count == 5 else count)
    assert ("2 more of its requests wait." in told) == (count == 5)


@pytest.mark.parametrize("held", [0, 1, 2])
@pytest.mark.parametrize("policy", [slurm("SUSPEND,GANG"), eh.policies.BackendAI(preemption_mode="suspend")])
def test_what_is_kept_is_not_needed_again(policy: Any, held: int) -> None:
    data = one_node(4).to_dict()
    data["allocations"][0]["held"] = {"cpu": held}
    told = eh.plan(eh.Snapshot.from_dict(data), policy).why_not("back@n1")
    assert told.sentences[1] == f"To resume it needs {3 - held} cpu more than it keeps."
