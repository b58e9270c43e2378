"""Amounts of explanations: whole where the shares they come from are whole but for rounding."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.explain.facts import Facts, agreed, agreeing


@pytest.mark.parametrize(("total", "used"), [(750_720, 1_620), (750_720, 12), (10**15, 3), (49, 1)])
def test_usage_is_what_was_given(total: int, used: int) -> None:
    snapshot = eh.Snapshot.from_dict(
        {
            "resources": {"memory": {}},
            "nodes": [{"name": "n", "capacity": {"memory": total}}],
            "operations": [{"name": "a"}],
            "allocations": [
                {"name": "a1", "operation": "a", "node": "n", "resources": {"memory": used}},
            ],
        }
    )
    plan = eh.plan(snapshot, eh.policies.YTsaurus())
    assert plan.why("a1").amounts["usage of a"] == {"memory": used}
    facts = Facts(plan)
    assert facts.from_shares(np.array([(used + 0.25) / total]))["memory"] == pytest.approx(used + 0.25)
    assert facts.from_shares(np.array([(used + 0.25) / total]))["memory"] != used


@pytest.mark.parametrize(
    ("amounts", "said"),
    [("2 cpu", "is missing"), ("1,500 cpu", "is missing"), ("2 cpu, 1 gpu", "are missing")],
)
def test_a_verb_agrees_with_the_amounts_before_it(amounts: str, said: str) -> None:
    assert agreed("on {node} {missing} is missing", missing=amounts) == f"on {{node}} {{missing}} {said}"
    assert agreeing(" more is needed there", amounts) == f" more {said[:3].strip()} needed there"
    assert agreeing(" is of another user", amounts) == " is of another user"
