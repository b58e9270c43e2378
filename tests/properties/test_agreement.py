"""No two sentences of one plan about one job disagree, and what stands before the amounts is short."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from evenhand.explain import Claim, Explanation
from evenhand.plans import Plan
from tests.properties.concluding import look_at
from tests.properties.explaining import SYSTEMS

PLANS = 60
SENTENCES, WORDS = 4, 90
_ENDS = re.compile(r"\.(?= [A-Z]|$)")

Subject = tuple[str, ...]
Claims = Iterator[tuple[Subject, Any, str]]

_LEAVES = re.compile(
    r" (?:(leaves|stops on|has to leave|is stopped)"
    r"|was not preempted|was suspended before|was stopped by a person|is not preempted|resumes|has been asked"
    r")\b"
)
_STARTS = re.compile(r" (?:(starts)|is reserved|did not start|asks for nothing)\b")
_STANDS = re.compile(r"\b(?:operation|job|session|application) (\S+) (has|is in) (.+)", re.IGNORECASE)


def of_allocation(told: Explanation, name: str) -> Claims:
    verb = _LEAVES.search(told.summary)
    assert verb is not None, told.summary
    yield ("leaves", name), verb[1] is not None, told.summary


def of_request(told: Explanation, name: str) -> Claims:
    verb = _STARTS.search(told.summary)
    assert verb is not None, told.summary
    yield ("starts", name), verb[1] is not None, told.summary


def of_node(told: Explanation) -> Claims:
    for sentence in told.sentences:
        for head, subject in (("Allocations that leave: ", "leaves"), ("Requests that start: ", "starts")):
            if sentence.startswith(head):
                names = re.split(r", | and ", sentence.removeprefix(head).removesuffix("."))
                yield from (((subject, name), True, sentence) for name in names if not name.endswith("more"))


def of_operation(told: Explanation, name: str) -> Claims:
    for sentence in told.sentences:
        if counted := re.match(r"This plan starts ([\d,]+) of .* preempts ([\d,]+) of", sentence):
            started, preempted = (int(one.replace(",", "")) for one in counted.groups())
            yield ("starts of", name), started, sentence
            yield ("leave of", name), preempted, sentence


def standings(told: Explanation) -> Claims:
    """How operations stand, in words that are the same wherever they are said."""
    for claim in told.claims:
        if claim.code == "standing" and (found := _STANDS.match(claim.sentence)):
            yield ("stands", found[1]), found[0].split(";")[0].rstrip("."), claim.sentence


def claims(plan: Plan) -> Claims:
    snapshot = plan.snapshot
    for name in map(str, snapshot.names("allocations")):
        told = plan.why(name, table="allocations")
        yield from of_allocation(told, name)
        yield from standings(told)
        if name not in map(str, snapshot.names("operations")):
            yield from of_allocation(plan.letter(name), name)
    for name in map(str, snapshot.names("requests")):
        for told in (plan.why(name, table="requests"), plan.why_not(name, table="requests")):
            yield from of_request(told, name)
            yield from standings(told)
    for node in snapshot.names("nodes"):
        yield from of_node(plan.why(node, table="nodes"))
    for operation in map(str, snapshot.names("operations")):
        yield from of_operation(plan.why(operation, table="operations"), operation)


def decided(plan: Plan) -> Claims:
    """What the plan itself says of how much of an operation starts and leaves."""
    for name in map(str, plan.snapshot.names("operations")):
        for subject, action in (("starts of", "start"), ("leave of", "preempt")):
            many = sum(d.action == action and str(d.operation) == name for d in plan.decisions)
            yield (subject, name), many, f"{many} decisions"


def disagreements(plan: Plan) -> list[str]:
    """Return pairs of sentences about one subject that say different things."""
    said: dict[Subject, dict[Any, str]] = defaultdict(dict)
    for subject, value, sentence in (*claims(plan), *decided(plan)):
        said[subject].setdefault(value, sentence)
    return [f"{subject}: {values}" for subject, values in said.items() if len(values) > 1]


def each_plan(system: str, look: Callable[[Plan], object]) -> None:
    look_at(system, PLANS, 0, look)


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_two_sentences_of_one_plan_disagree(system: str) -> None:
    each_plan(system, lambda plan: pytest.fail("\n".join(found)) if (found := disagreements(plan)) else None)


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_stands_before_the_amounts_of_a_victim_is_short(system: str) -> None:
    seen = 0

    def look(plan: Plan) -> None:
        nonlocal seen
        for name in (d.allocation for d in plan.decisions.victims):
            told = plan.why(name, table="allocations")
            text = told.text.split("\n\n")[0]
            assert told.amounts, text
            assert text == "\n".join(told.lead)
            assert len(text.split()) <= WORDS, text
            assert len(_ENDS.findall(text.replace("\n", " "))) <= SENTENCES, text
            seen += 1

    each_plan(system, look)
    assert seen


def test_a_disagreement_is_found() -> None:
    """Of sentences that say of one allocation that it leaves and that it stays."""
    told = Explanation("a", "allocations", "taken", ())
    words = ("Allocation a of operation o leaves node n: it is late.", "Allocation a was not preempted.")
    said = [value for one in words for _, value, _ in of_allocation(_with(told, one), "a")]
    assert said == [True, False]


def _with(told: Explanation, summary: str) -> Explanation:
    return replace(told, claims=(Claim("taken", summary),))
