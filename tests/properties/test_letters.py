"""Letters of drawn plans: three sentences at most, of what was decided and of nothing else."""

from __future__ import annotations

import re

import pytest

from evenhand.explain import Explanation
from evenhand.plans import Plan
from tests.properties.concluding import look_at
from tests.properties.explaining import SYSTEMS

PLANS = 60
_ENDS = re.compile(r"[.!?](?= [A-Z]|$)")
_LEAVES = re.compile(r" (has to leave|is stopped)\b")


def must_be_a_letter(told: Explanation) -> None:
    """Raise AssertionError if it is empty, longer than three sentences, or shows marks of templates."""
    many = sum(len(_ENDS.findall(sentence)) for sentence in told.sentences)
    assert 1 <= many <= 3, told.text
    assert not set(told.text) & set("`{}"), told.text
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in told.sentences), told.text
    assert not re.search(r"  | \.| :|\(\)|\bNone\b(?! of)|\bnan\b", told.text), told.text


def must_say_what_was_decided(plan: Plan) -> None:
    """Raise AssertionError if a letter says of work that it leaves and it does not, or the other way."""
    taken = {str(d.allocation): d for d in plan.decisions.victims}
    for name in map(str, plan.snapshot.names("allocations")):
        told = plan.letter(name) if name not in map(str, plan.snapshot.names("operations")) else None
        if told is None:
            continue
        must_be_a_letter(told)
        assert bool(_LEAVES.search(told.summary)) == (name in taken), told.text
        if name in taken:
            made = taken[name]
            assert told.claims[-1].code == "fate", told.text
            assert made.node is None or str(made.node) in told.summary, told.text
            assert made.beneficiary is None or str(made.beneficiary.operation) in told.summary, told.text
            assert bool(re.search("lost|again|resume", told.sentences[-1])), told.text


@pytest.mark.parametrize("system", SYSTEMS)
def test_letters_are_short_and_say_what_was_decided(system: str) -> None:
    seen: set[str] = set()

    def look(plan: Plan) -> None:
        must_say_what_was_decided(plan)
        for name in (*plan.snapshot.names("operations"), *plan.snapshot.names("requests")):
            told = plan.letter(name)
            must_be_a_letter(told)
            seen.add(told.table)

    look_at(system, PLANS, 0, look)
    assert seen >= {"allocations", "requests"}
