"""Room that is kept in a scheduling run: for whom others leave, and for who takes whole nodes."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.testing.job_laws import JobPlan, check_jobs

SHARED = {"OverSubscribe": "FORCE:1"}
GANG = eh.policies.Slurm(
    PreemptType="preempt/partition_prio",
    PreemptMode="SUSPEND,GANG",
    partitions={"low": {"PriorityTier": 1} | SHARED, "high": {"PriorityTier": 10} | SHARED},
)
QOS = eh.policies.Slurm(
    PreemptType="preempt/qos",
    PreemptMode="SUSPEND,GANG",
    partitions={name: {**SHARED, "Nodes": nodes} for name, nodes in (("p1", ["n1"]), ("p2", ["n2"]))},
    qos={
        "ends": {"PreemptMode": "REQUEUE"},
        "waits": {},
        "over": {"Preempt": ["ends"]},
        "above": {"Preempt": ["waits"]},
        "both": {"Preempt": ["ends", "waits"]},
    },
)


def cluster(
    capacity: dict[str, float], jobs: dict[str, Any], runs: list[Any], asks: dict[str, Any], **more: Any
) -> eh.Snapshot:
    """Nodes by their cpus; jobs by fields; what runs as (job, node, cpus, fields); what is asked for."""
    data = {
        "now": 1000,
        "resources": {"cpu": {"quantum": 1}},
        "nodes": [{"name": node, "capacity": {"cpu": cpus}} for node, cpus in capacity.items()],
        "operations": [{"name": name, "start_time": i} | row for i, (name, row) in enumerate(jobs.items())],
        "allocations": [
            {"name": f"{job}@{node}", "operation": job, "node": node, "resources": {"cpu": cpus}, **own}
            for job, node, cpus, own in runs
        ],
        "requests": [
            {"name": f"{job}-r", "operation": job, "resources": {"cpu": cpus}} for job, cpus in asks.items()
        ],
    }
    return eh.Snapshot.from_dict(data | more)


def said(snapshot: eh.Snapshot, policy: eh.policies.Slurm, state: Any = None) -> tuple[eh.Plan, list[Any]]:
    """The plan, held against all laws, and its decisions."""
    plan = eh.plan(snapshot, policy, state)
    check_jobs(JobPlan(snapshot.to_dict(), plan.to_dict(), policy.settings))
    return plan, [(d.action, d.allocation or d.request, d.node) for d in plan.decisions]


@pytest.mark.parametrize(
    ("low", "high", "select"),
    [
        ({}, {"settings": {"exclusive": True}}, "select/cons_tres"),
        ({"settings": {"exclusive": True}}, {}, "select/cons_tres"),
        ({}, {}, "select/linear"),
    ],
)
def test_nobody_goes_on_beside_a_job_on_a_whole_node(low: Any, high: Any, select: str) -> None:
    jobs = {"j": {"partition": "low"} | low, "p": {"partition": "high"} | high}
    snapshot = cluster({"n1": 4}, jobs, [("j", "n1", 1, {})], {"p": 1})
    policy = GANG.replace(SelectType=select)
    plan, decided = said(snapshot, policy)
    assert decided == [("preempt", "j@n1", "n1"), ("start", "p-r", "n1")]
    after = snapshot.after(plan)
    assert said(after, policy, plan.state)[1] == []
    alone = [row for row in after.to_dict()["allocations"] if row["operation"] == "j"]
    ended = after.replace(allocations=alone)
    assert said(ended, policy, plan.state)[1] == [("resume", "j@n1", "n1")]


def test_nobody_goes_on_in_room_that_others_leave_for() -> None:
    jobs = {
        "x": {"partition": "p1", "qos": "ends"},
        "w": {"partition": "p1", "qos": "waits"},
        "p": {"partition": "p1", "qos": "both"},
    }
    runs = [("x", "n1", 4, {}), ("w", "n1", 4, {"state": "preempted"})]
    snapshot = cluster({"n1": 8, "n2": 1}, jobs, runs, {"p": 8})
    plan, decided = said(snapshot, QOS)
    assert decided == [("preempt", "x@n1", "n1"), ("reserve", "p-r", "n1")]
    after = snapshot.after(plan)
    assert said(after, QOS, plan.state)[1] == []  # while x leaves
    rows = [row for row in after.to_dict()["allocations"] if row["operation"] != "x"]
    assert said(after.replace(allocations=rows), QOS, plan.state)[1] == [("start", "p-r", "n1")]
    runs[0] = ("x", "n1", 10, {})
    _, decided = said(cluster({"n1": 16, "n2": 1}, jobs, runs, {"p": 8}), QOS)  # there is enough for both
    assert decided[2:] == [("resume", "w@n1", "n1")]


@pytest.mark.parametrize("whom", [{"operation": "p"}, {"request": "p-r"}])
def test_what_leaves_for_a_job_is_not_free_yet(whom: dict[str, Any]) -> None:
    """Another is suspended for it; it starts when both have let go. Nobody goes if one is enough."""
    leaves = {"state": "preempting", "beneficiary": whom}
    qos = {"a": "waits", "b": "waits", "p": "above"}
    jobs = {name: {"qos": its, "partition": "all"} for name, its in qos.items()}
    policy = QOS.replace(partitions={"all": SHARED})
    snapshot = cluster({"n1": 4, "n2": 4}, jobs, [("a", "n1", 4, leaves), ("b", "n2", 4, {})], {"p": 4})
    assert said(snapshot, policy)[1] == []
    two = snapshot.to_dict()
    two["requests"][0]["count"] = 2
    plan, decided = said(eh.Snapshot.from_dict(two), policy)
    assert decided == [("preempt", "b@n2", "n2"), ("reserve", "p-r", "n1"), ("reserve", "p-r", "n2")]
    assert [r.rule for r in plan.refusals] == ["waits_for_victims"]


def test_a_request_for_nothing_is_explained() -> None:
    snapshot = cluster({"n1": 4}, {"p": {}}, [], {"p": 1}).to_dict()
    snapshot["requests"][0]["count"] = 0
    for policy in (eh.policies.Slurm(), eh.policies.BackendAI()):
        plan = eh.plan(eh.Snapshot.from_dict(snapshot), policy)
        assert plan.why("p-r").sentences
        assert plan.why_not("p-r").code == "count_exhausted"


def test_whom_others_end_for_does_not_start_by_backfill() -> None:
    """What a third one gives back, when it is suspended, would have been enough for it."""
    jobs = {
        "x": {"partition": "p1", "qos": "ends"},
        "w": {"partition": "p2", "qos": "waits"},
        "a": {"partition": "p1", "qos": "over", "priority": 9},
        "b": {"partition": "p2", "qos": "above", "priority": 8},
    }
    runs = [("x", "n1", 3, {}), ("w", "n1", 3, {}), ("w", "n2", 3, {})]
    snapshot = cluster({"n1": 6, "n2": 3}, jobs, runs, {"a": 3, "b": 3})
    _, decided = said(snapshot, QOS.replace(SchedulerType="sched/backfill"))
    assert decided == [
        ("preempt", "x@n1", "n1"),
        ("reserve", "a-r", "n1"),
        ("preempt", "w@n1", "n1"),
        ("preempt", "w@n2", "n2"),
        ("start", "b-r", "n2"),
    ]


@pytest.mark.parametrize(
    ("free", "count", "taken"),
    [
        # Of runs of enough nodes the one with fewer free cpus.
        ([("n1", 8), ("n2", 8), ("n3", 0), ("n4", 4), ("n5", 4)], 2, ["n4", "n5"]),
        ([("n1", 4), ("n2", 4), ("n3", 0), ("n4", 8), ("n5", 8)], 2, ["n1", "n2"]),
        ([("n1", 4), ("n2", 4), ("n3", 0), ("n4", 4), ("n5", 4)], 2, ["n1", "n2"]),
        # Where none has enough the one with the most cpus, then what is left likewise.
        ([("n1", 2), ("n2", 0), ("n3", 8), ("n4", 8), ("n5", 0), ("n6", 9)], 3, ["n1", "n3", "n4"]),
        ([("n1", 4), ("n2", 4), ("n3", 0), ("n4", 16), ("n5", 0), ("n6", 2)], 3, ["n1", "n2", "n4"]),
    ],
)
def test_nodes_of_a_job_are_those_of_the_best_runs(
    free: list[tuple[str, int]], count: int, taken: list[str]
) -> None:
    capacity: dict[str, float] = {node: cpus or 1 for node, cpus in free}
    runs = [("x", node, 1, {}) for node, cpus in free if not cpus]
    rows = cluster(
        capacity, {"x": {"partition": "high"}, "p": {"partition": "low"}}, runs, {"p": 1}
    ).to_dict()
    rows["requests"][0]["count"] = count
    _, decided = said(eh.Snapshot.from_dict(rows), GANG.replace(release="22.05"))
    assert [node for _, _, node in decided] == taken
