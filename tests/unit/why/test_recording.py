"""Recording what an allocation or a request met changes no decision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import evenhand as eh
from evenhand.testing.strategies import policies, system_cluster_dicts
from tests.drawing import drawn

PLANS = 30


def decided(planner: Any) -> dict[str, list[Any]]:
    """Return all columns of the decisions, and the refusals."""
    columns = {**planner.decisions(), **{f"refused_{k}": v for k, v in planner.refusals().items()}}
    return {name: np.asarray(column).tolist() for name, column in columns.items()}


def fresh(policy: Any, snapshot: eh.Snapshot) -> Any:
    """Return a planner before any decision."""
    planner, _ = policy._planner(snapshot)
    planner.update(round(snapshot.now * 1e6))
    return planner


@pytest.mark.parametrize("system", ["backendai", "slurm", "yunikorn", "gridengine"])
def test_recording_changes_no_decision(system: str) -> None:
    victims = 0
    for policy, data in drawn(st.tuples(policies(system), system_cluster_dicts(system)), PLANS):
        snapshot = eh.Snapshot.from_dict(data)
        arguments = policy.decides(policy._trigger(None))
        plain = fresh(policy, snapshot)
        plain.decide(**arguments)
        expected = decided(plain)
        victims += expected["action"].count(1)
        for kind, table in (("request", "requests"), ("allocation", "allocations")):
            for row in range(len(snapshot.names(table))):
                recorded = fresh(policy, snapshot)
                recorded.traced(kind, row, **arguments)
                assert decided(recorded) == expected, (system, kind, row)
    assert victims  # else there was little to record
