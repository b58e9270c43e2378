"""What plans count of a snapshot: room by states of allocations, pools without the root, violated limits."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import evenhand as eh
from evenhand.plans.balance import CLUSTER as WHOLE
from evenhand.plans.balance import Balance, repairs
from tests.unit.plans.fake import CLUSTER, DECISIONS, make


@pytest.mark.parametrize(
    ("state", "holds"),
    [("running", 3), ("suspended", 3), ("preempted", 1), ("preempting", 0)],
)
def test_what_an_allocation_holds(state: str, holds: int) -> None:
    """Of three cpus one is kept once it has been preempted; a licence is counted for the cluster."""
    row: dict[str, Any] = {"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 3, "lic": 3}}
    if state == "preempted":
        row["held"] = {"cpu": 1, "lic": 1}
    data = {
        "resources": {"cpu": {}, "lic": {"scope": "cluster", "capacity": 5, "quantum": 1}},
        "nodes": [{"name": "n", "capacity": {"cpu": 8}}],
        "operations": [{"name": "o"}],
        "allocations": [row | {"state": state}],
    }
    snapshot = eh.Snapshot.from_dict(data)
    cpu, lic = map(snapshot.resources.index, ("cpu", "lic"))
    balance = Balance(snapshot)
    assert balance.free[0, cpu] * snapshot.quantum["cpu"] == 8 - holds
    assert balance.free[WHOLE, lic] == 5 - holds


def test_the_root_is_no_pool_that_starves() -> None:
    plan = make(starving={"B": ("starving", 0.0), "P": ("starving", 0.0), "<Root>": ("starving", 0.0)})
    counts = plan.statuses.counts()
    assert (counts["pool"]["all"], counts["pool"]["starving"]) == (1, 1)
    assert (counts["operation"]["all"], counts["operation"]["starving"]) == (3, 1)


@pytest.mark.parametrize(("limit", "over"), [(3, {"cpu": 4}), (4, {}), (5, {})])
def test_a_repair_names_what_is_over_its_limit(limit: int, over: dict[str, float]) -> None:
    data = copy.deepcopy(CLUSTER)
    data["pools"][0]["limits"] = {"cpu": limit}
    plan = make([{**DECISIONS[4], "step": 0}], eh.Snapshot.from_dict(data))
    assert [found["usage"] for found in repairs(plan.snapshot, plan.decisions).values()] == [over]
