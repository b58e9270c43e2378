"""What of its work outlives an allocation."""

from __future__ import annotations

from typing import Any

import evenhand as eh
from evenhand.simulate import Workload

SUSPEND = eh.policies.BackendAI("documented", preemption_mode="suspend")


def _runs(rows: dict[str, Any], events: list[dict[str, Any]], nodes: int = 1) -> list[tuple[Any, ...]]:
    work = Workload(rows, nodes=events or None)
    runs = eh.simulate(work.snapshot(nodes=nodes, now=0, cpu=4), SUSPEND, work, 300).allocations.to_dict()
    names = ("request", "start", "end", "outcome", "kept", "lost")
    return list(zip(*(runs[name] for name in names), strict=True))


def test_suspended_processes_are_lost_with_their_node_but_for_their_last_checkpoint() -> None:
    """Suspended at 30 s with a checkpoint of 20 s; its node goes down at 45 s."""
    rows = {
        "name": ["low", "high"],
        "resources.cpu": [4, 4],
        "submit_time": [0, 25],
        "run_time": [100.0, 50.0],
        "checkpoint_every": [20.0, None],
        "priority": [1, 10],
    }
    for goes, kept in ((False, 30.0), (True, 20.0)):
        events = [{"time": 45, "node": "n1", "event": "down"}, {"time": 55, "node": "n1", "event": "up"}]
        runs = _runs(rows, events if goes else [])
        assert runs[0] == ("low", 0.0, 30.0, "suspended", kept, 30.0 - kept)
        last = [run for run in runs if run[0] == "low"][-1]
        assert last[2] - last[1] == 100.0 - kept
        assert last[3] == "completed"
