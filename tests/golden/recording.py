"""Small simulations as text: a line an event, in the order of time."""

from __future__ import annotations

from typing import Any

import evenhand as eh

#: What happens at one instant stands in this order.
_KINDS = (
    "end",
    "node",
    "submit",
    "starves",
    "recovers",
    "preempt",
    "resume",
    "reserve",
    "release",
    "start",
    "works",
)


def runs() -> dict[str, eh.simulate.Result]:
    """Simulate one cluster a system."""
    return {"ytsaurus": _ytsaurus(), "slurm": _slurm(), "backendai": _backendai()}


def _ytsaurus() -> eh.simulate.Result:
    """Guarantees, a gang, saved work, a node that goes down, and a job that leaves in its grace."""
    work = eh.simulate.Workload(
        [
            {
                "name": "etl",
                "resources": {"cpu": 1},
                "pool": "batch",
                "count": 4,
                "run_time": 300,
                "checkpoint_every": 60,
                "submit_time": 0,
            },
            {
                "name": "notebooks",
                "resources": {"cpu": 1},
                "pool": "batch",
                "count": 4,
                "run_time": 170,
                "submit_time": 2,
            },
            {
                "name": "train",
                "resources": {"cpu": 1},
                "pool": "research",
                "count": 4,
                "run_time": 120,
                "gang": True,
                "submit_time": 40,
            },
            {
                "name": "report",
                "resources": {"cpu": 1},
                "pool": "batch",
                "count": 1,
                "run_time": 30,
                "submit_time": 200,
            },
        ],
        pools=[{"name": "batch"}, {"name": "research", "strong_guarantee": {"cpu": 4}}],
        nodes={"time": [250, 300], "node": ["n2", "n2"], "event": ["down", "up"]},
        resources={"cpu": {}},
    )
    return _run(work, eh.policies.YTsaurus(fair_share_starvation_timeout=30), heartbeat_period=5)


def _slurm() -> eh.simulate.Result:
    """A partition of a higher tier takes nodes from a lower one; a short job fills a gap."""
    work = eh.simulate.Workload(
        [
            {
                "name": "long",
                "resources": {"cpu": 1},
                "partition": "low",
                "count": 1,
                "run_time": 900,
                "duration": 1000,
                "submit_time": 0,
            },
            {
                "name": "wide",
                "resources": {"cpu": 1},
                "partition": "low",
                "count": 1,
                "run_time": 300,
                "duration": 400,
                "submit_time": 5,
            },
            {
                "name": "urgent",
                "resources": {"cpu": 1},
                "partition": "high",
                "count": 1,
                "run_time": 60,
                "duration": 100,
                "submit_time": 90,
            },
            {
                "name": "next",
                "resources": {"cpu": 1},
                "partition": "low",
                "count": 2,
                "run_time": 200,
                "duration": 300,
                "submit_time": 100,
            },
            {
                "name": "short",
                "resources": {"cpu": 1},
                "partition": "low",
                "count": 1,
                "run_time": 20,
                "duration": 40,
                "submit_time": 110,
            },
        ],
        resources={"cpu": {}},
    )
    tiers = {"low": {"PriorityTier": 1, "GraceTime": 10}, "high": {"PriorityTier": 2}}
    policy = eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="REQUEUE",
        partitions=tiers,
        SchedulerType="sched/backfill",
    )
    return _run(work, policy, requeue_delay=30, cpu=1)


def _backendai() -> eh.simulate.Result:
    """Sessions of a high priority take the place of those of low ones, which are scheduled again."""
    work = eh.simulate.Workload(
        [
            {"name": "idle", "priority": 1, "run_time": 400, "submit_time": 0, "resources": {"cpu": 4}},
            {"name": "batch", "priority": 2, "run_time": 300, "submit_time": 1, "resources": {"cpu": 4}},
            {"name": "urgent", "priority": 10, "run_time": 100, "submit_time": 60, "resources": {"cpu": 4}},
            {"name": "later", "priority": 5, "run_time": 50, "submit_time": 70, "resources": {"cpu": 2}},
        ],
        resources={"cpu": {}},
    )
    return _run(work, eh.policies.BackendAI(preemption_mode="reschedule"), schedule_interval=10)


def _run(work: eh.simulate.Workload, policy: Any, cpu: int = 4, **clocks: float) -> eh.simulate.Result:
    return eh.simulate(work.snapshot(nodes=2, now=0, cpu=cpu), policy, work, until=3600, **clocks)


def text(result: eh.simulate.Result) -> str:
    """Return a run as text: what comes, starts, has to leave and why, and ends."""
    events: list[tuple[float, int, str]] = []

    def tell(time: float | None, kind: str, said: str) -> None:
        if time is not None:
            events.append((time, _KINDS.index(kind), f"{time:9.1f}  {kind:8}  {said}"))

    operations = result.operations
    for name, pool, submit in zip(
        operations["operation"], operations["pool"], operations["submit"], strict=True
    ):
        tell(submit, "submit", f"{name} in {pool}")
    each = ("request", "node", "start", "began", "end", "outcome", "kept", "lost")
    runs = list(zip(*map(result.allocations.get, each), strict=True))
    for i, (request, node, start, began, end, outcome, kept, lost) in enumerate(runs):
        tell(start, "start", f"{request}/{i} on {node}")
        if began != start:
            tell(began, "works", f"{request}/{i}: its room is there")
        tell(end, "end", f"{request}/{i} {outcome}, {kept:g} s kept, {lost:g} s lost")
    names = [f"{request}/{i}" for i, (request, *_) in enumerate(runs)]
    which = (
        "time",
        "action",
        "stage",
        "reason",
        "mode",
        "allocation",
        "request",
        "beneficiary_operation",
        "grace",
    )
    for time, action, stage, reason, mode, row, request, whom, grace in zip(
        *map(result.decisions.get, which), strict=True
    ):
        if action != "start":
            who = names[row] if row >= 0 else request
            leave = "" if grace is None else f", {grace:g} s of grace"
            how = "" if mode is None else f" ({mode})"
            tell(time, action, f"{who}{how} for {whom}: {reason} in stage {stage}{leave}")
    spells = result.spells
    for pool, name, begin, until, level in zip(
        *map(spells.get, ("pool", "operation", "from", "until", "level")), strict=True
    ):
        tell(begin, "starves", f"{name or pool}: {level}")
        tell(until, "recovers", f"{name or pool}: no longer {level}")
    for time, node, word in zip(
        *map(result.workload.node_events().get, ("time", "node", "event")), strict=True
    ):
        tell(time, "node", f"{node} {word}")
    events.sort(key=lambda event: event[:2])
    return "\n".join(line for _, _, line in events) + "\n"
