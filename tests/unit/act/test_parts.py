"""Where parts of operations are jobs by themselves, they may be called like any operation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Report
from evenhand.act.apart import Footprints
from evenhand.act.naming import asking, holding, users
from evenhand.act.sparing import spare, without
from evenhand.act.tasks import tasks_of
from tests.unit.act.site import Site, SiteAdapter, acted

DATA: dict[str, Any] = {
    "now": 0.0,
    "resources": {"cpu": {}},
    "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
    "operations": [{"name": "batch", "user": "ann"}, {"name": "urgent", "user": "bob"}],
    "allocations": [
        {"name": name, "operation": "batch", "node": "n1", "resources": {"cpu": 2}}
        for name in ("batch", "urgent")
    ],
    "requests": [{"name": "batch", "operation": "urgent", "resources": {"cpu": 2}}],
}


class Parts(SiteAdapter):
    """Each allocation is a job by itself; jobs that run are parts of "batch", those that wait of "urgent"."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.whole = False

    def snapshot(self, leaving: Mapping[str, str] | None = None) -> eh.Snapshot:
        jobs = self.site.jobs.items()
        rows = [
            {
                "name": name,
                "operation": "batch",
                "node": job["node"],
                "resources": {"cpu": job["cpu"]},
                "start_time": number,
            }
            for number, (name, job) in enumerate(jobs)
            if job["node"]
        ]
        asks = [
            {"name": name, "operation": "urgent", "resources": {"cpu": job["cpu"]}}
            for name, job in jobs
            if job["state"] == "pending"
        ]
        more = {"now": self.site.now, "allocations": rows, "requests": asks}
        return eh.Snapshot.from_dict({**DATA, **more})

    def policy(self, preset: str = "documented", **changes: Any) -> Any:
        return eh.policies.YTsaurus(
            preset, fair_share_starvation_timeout=0, preemptive_scheduling_backoff=0, **changes
        )


@pytest.mark.parametrize("names", [("first", "second"), ("first", "batch")])
def test_one_part_of_an_operation_leaves(names: tuple[str, str], tmp_path: Path) -> None:
    site = Site({"n1": 4}, **dict.fromkeys(names, (2, 1, "n1")), ask=(2, 1, None))
    adapter = Parts(site)
    before = eh.plan(adapter.snapshot(), adapter.policy()).state
    site.sleep(1)
    site.later(2, lambda: site.start("ask", "n1"))
    report = acted(adapter, tmp_path, before)
    assert isinstance(report, Report)
    (row,) = report.rows
    assert (row.outcome, row.beneficiary, row.victims) == ("started", "ask", (names[1],))


def test_jobs_are_named_by_one_kind() -> None:
    snapshot = eh.Snapshot.from_dict(DATA)
    assert holding(snapshot, whole=True) == ["batch", "batch"]
    assert holding(snapshot, whole=False) == ["batch", "urgent"]
    assert asking(snapshot, whole=True) == ["urgent"]
    assert asking(snapshot, whole=False) == ["batch"]
    assert users(snapshot, whole=True) == {"batch": "ann", "urgent": "bob"}
    assert users(snapshot, whole=False) == {"batch": "ann", "urgent": "ann"}


def test_only_the_part_is_spared_that_is_busy() -> None:
    snapshot = eh.Snapshot.from_dict(DATA)

    def preemptible(whole: bool) -> list[bool]:
        return [
            a.get("preemptible", True)
            for a in spare(snapshot, {"batch"}, whole=whole).to_dict()["allocations"]
        ]

    assert preemptible(whole=True) == [False, False]
    assert preemptible(whole=False) == [False, True]
    assert without(snapshot, {"batch"}, whole=False).request_count == 0
    assert without(snapshot, {"batch"}, whole=True).request_count == 1


def test_parts_of_one_operation_touch_their_own_nodes(tmp_path: Path) -> None:
    """Each takes the node of its victim, and not those of all parts; but they are of one owner."""
    site = Site({"n1": 4}, first=(2, 1, "n1"), batch=(2, 1, "n1"), ask=(2, 1, None))
    adapter = Parts(site)
    before = eh.plan(adapter.snapshot(), adapter.policy()).state
    site.sleep(1)
    plan = eh.plan(adapter.snapshot(), adapter.policy(), before)
    (task,) = tasks_of(plan, adapter)
    footprints = Footprints(plan.snapshot, [task], whole=False)
    assert footprints._of[task.step.number] == {("node", "n1"), ("owner", "ann")}
    assert not footprints.independent([task], [task])
