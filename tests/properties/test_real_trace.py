"""Conservation laws of all systems on a real trace."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.bench import gangs
from tests.properties.laws_of_runs import check_all
from tests.shared import shared

NODES, GPUS = 6, 8
POLICIES: dict[str, Any] = {
    **gangs.policies(),
    "yunikorn": eh.policies.YuniKorn("upstream"),
    "yunikorn, documented": eh.policies.YuniKorn("documented"),
    "gridengine": eh.policies.GridEngine(automatic_preemption=True, max_reservation=20, max_preemptees=20),
}


@pytest.mark.shared
@pytest.mark.parametrize("name", POLICIES)
def test_laws_hold_on_a_real_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six days of Philly's jobs, gangs among them, on a cluster that is too small for them."""
    monkeypatch.setattr(gangs, "TRACE", shared("traces", "philly-vc-2017", gangs.TRACE.name))
    work = gangs.workload(6)
    start = work.snapshot(nodes=NODES, now=0, gpu=GPUS)
    if name.startswith("yunikorn"):  # which preempts for guarantees alone
        data = start.to_dict()
        for pool in data["pools"]:
            pool["strong_guarantee"] = {"gpu": NODES * GPUS // len(data["pools"])}
        start = eh.Snapshot.from_dict(data)
    if name == "gridengine":  # which preempts for reservations alone
        table = {**work.table().to_dict(), "reserve": [True] * len(work.table())}
        operations, pools = work.operations().to_dict(), work.pools()
        work = eh.simulate.Workload(table, operations=operations, pools=pools, resources=work.resources)
    result = eh.simulate.simulate(start, POLICIES[name], work, work.end)
    check_all(result)
    assert len(result.raw["allocations"]["start"]) > 50
    assert result.counts["preemptions"] > 0
