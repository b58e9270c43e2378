"""Amounts of explanations: whole where the shares they come from are whole but for rounding."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.explain.facts import Facts


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
