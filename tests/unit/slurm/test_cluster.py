"""What a live cluster reads again of Slurm's jobs as their rows change."""

from __future__ import annotations

from typing import Any

import evenhand as eh


def test_a_job_that_gave_a_request_away_is_smaller() -> None:
    rows: dict[str, Any] = {
        "resources": {"cpu": {}},
        "nodes": [
            {"name": "n1", "capacity": {"cpu": 2}},
            {"name": "n2", "capacity": {"cpu": 98}, "schedulable": False},
        ],
        "operations": [{"name": "gives"}, {"name": "takes"}, {"name": "other"}],
        "requests": [
            {"name": "large", "operation": "gives", "resources": {"cpu": 20}},
            {"name": "small", "operation": "gives", "resources": {"cpu": 1}},
            {"name": "both", "operation": "other", "resources": {"cpu": 2}},
        ],
    }
    policy = eh.policies.Slurm(
        PriorityType="priority/multifactor", PriorityWeightJobSize=1000, SchedulerType="sched/backfill"
    )
    cluster = eh.Cluster(eh.Snapshot.from_dict(rows), policy)
    assert [d.request for d in cluster.plan().decisions.starts] == ["both"]
    row = {"name": "large", "operation": "takes", "resources": {"cpu": 20}}
    cluster.apply([{"event": "put", "table": "requests", "row": row}])
    assert [d.request for d in cluster.plan().decisions.starts] == ["both"]
    assert [d.request for d in eh.plan(cluster.snapshot(), policy).decisions.starts] == ["both"]
