"""Drawn plans whose conclusions are tried.

    python -m tests.properties.concluding PLANS [SYSTEM...] [--seed N]

changes what each names, plans again, and prints how many of each kind were tried, and the first false one.
A kind is a code and what is changed; what a reader refuses after the change was not tried.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

import evenhand as eh
from evenhand.plans import Plan
from tests.drawing import each, every_system
from tests.properties.conclusions import Data, tried
from tests.properties.explaining import SYSTEMS, plans

__all__ = ["look_at"]

_AMOUNTS = st.sampled_from([1, 1, 1, 2, 3])
_PACES = st.sampled_from([*[{}] * 6, {"spare_if_ran_less_than": 50}, {"max_victims_per_hour": 1}])
_FINE = st.sampled_from([0, 0, 1e-9])
_PARTS = st.sampled_from([0, 0, 1, 2, 3, 5])


@st.composite
def _full(draw: st.DrawFn) -> Data:
    """One or two full nodes, two groups of work, and requests that wait: nothing but what decides."""
    nodes = [
        {"name": f"n{i}", "capacity": {"cpu": draw(st.integers(2, 5))}}
        for i in range(draw(st.integers(1, 2)))
    ]
    owners = draw(st.integers(2, 4))
    operations = [
        {"name": f"o{i}", "priority": draw(st.integers(0, 3)), "start_time": draw(st.integers(0, 3))}
        for i in range(owners)
    ]
    allocations: list[Data] = []
    for node in nodes:
        left = node["capacity"]["cpu"]
        while left > 0 and draw(st.integers(0, 9)):
            amount = min(left, draw(_AMOUNTS))
            left -= amount
            row = {"name": f"a{len(allocations)}", "operation": draw(st.sampled_from(operations))["name"]}
            row |= {
                "node": node["name"],
                "resources": {"cpu": amount},
                "start_time": draw(st.integers(0, 90)),
            }
            allocations.append(row)
    requests = [
        {
            "name": f"r{i}",
            "operation": draw(st.sampled_from(operations))["name"],
            "resources": {"cpu": draw(_AMOUNTS)},
            "count": draw(st.sampled_from([1, 1, 2, 4])),
            "submit_time": draw(st.integers(0, 90)),
        }
        for i in range(draw(st.integers(1, 3)))
    ]
    tables = {"nodes": nodes, "operations": operations, "allocations": allocations, "requests": requests}
    return {"now": 100, "resources": {"cpu": {}}, **tables}


@st.composite
def _queues(draw: st.DrawFn) -> Plan:
    """Work of two queues under YuniKorn, one with a guarantee, and a limit that may end a policy."""
    data = draw(_full())
    names = ("q0", "q1")
    data["pools"] = [{"name": name, "strong_guarantee": {"cpu": draw(_PARTS)}} for name in names]
    for row in data["operations"]:
        row["pool"] = draw(st.sampled_from(names))
        row["priority"] += draw(_FINE)
    for row in data["allocations"]:
        if not draw(st.integers(0, 3)):
            row["priority"] = draw(st.integers(0, 3))
    mode = draw(st.sampled_from(["sniper", "sniper", "shotgun", None]))
    limit = draw(st.sampled_from([0.1, 0.3, 1.0, {"cpu": 1}, {"cpu": 3}, {}]))
    both = ("inter_queue", "intra_queue")
    policies = draw(st.sampled_from([both, both, both[::-1], both[:1], both[1:]]))
    settings: Any = {"mode": mode, "policies": policies, "limit": limit}
    if mode is None:
        settings = {"preemption": "per_ask"}
        if draw(st.booleans()):
            data["requests"][0]["required_node"] = data["nodes"][0]["name"]
    settings["pace"] = draw(_PACES)
    return eh.plan(eh.Snapshot.from_dict(data), eh.policies.YuniKorn(**settings))


@st.composite
def _sessions(draw: st.DrawFn) -> Plan:
    """Sessions of few priorities under Backend.AI, of which more than one may preempt."""
    data = draw(_full())
    for row in data["operations"]:
        row |= {"settings": {"job_priority": draw(st.integers(0, 3))}, "user": draw(st.sampled_from("xy"))}
    policy = eh.policies.BackendAI(
        preemption_key=draw(st.sampled_from(["priority", "job_priority"])),
        victim_threshold=draw(st.sampled_from(["none", "preemptible_priority"])),
        preemptible_priority=draw(st.integers(0, 3)),
        preemptors=draw(st.sampled_from(["front", "every"])),
        blocked_by=draw(st.sampled_from(["any_session", "lack_of_resources"])),
        sequencer=draw(st.sampled_from(["fifo", "lifo", "drf"])),
        preemption_min_runtime=draw(st.sampled_from([0, 0, 30])),
        pace=draw(_PACES),
    )
    return eh.plan(eh.Snapshot.from_dict(data), policy)


@st.composite
def _waiting(draw: st.DrawFn) -> Plan:
    """YTsaurus, where all that waits has waited for long."""
    data = draw(_full())
    for row in data["operations"]:
        row.pop("priority")
        if not draw(st.integers(0, 3)):
            row["limits"] = {"cpu": draw(st.integers(1, 6))}
        if not draw(st.integers(0, 3)):
            row["settings"] = {"preemption_mode": "graceful"}
    order = draw(st.sampled_from(["regular_aggressive_preemptive", "regular_preemptive_aggressive"]))
    policy = eh.policies.YTsaurus(
        enable_aggressive_starvation=draw(st.booleans()), stage_order=order, pace=draw(_PACES)
    )
    return eh.plan(eh.Snapshot.from_dict(data), policy, as_if_waiting="1h")


@st.composite
def _tiers(draw: st.DrawFn) -> Plan:
    """Jobs of three partitions or QOS under Slurm: some may preempt others, and some are requeued."""
    data = draw(_full())
    names = ("low", "mid", "high")
    for row in data["operations"]:
        row |= {"partition": draw(st.sampled_from(names)), "qos": draw(st.sampled_from(names))}
        row["priority"] += draw(_FINE)
        row["kind"] = draw(st.sampled_from(["batch", "batch", "interactive"]))
        if not draw(st.integers(0, 2)):
            row["settings"] = {"requeue": draw(st.booleans())}
    modes = st.sampled_from(["REQUEUE", "REQUEUE", "CANCEL", None])
    below = {"low": (), "mid": ("low",), "high": ("low", "mid")}
    policy = eh.policies.Slurm(
        PreemptType=draw(st.sampled_from(["preempt/partition_prio", "preempt/qos"])),
        PreemptMode=draw(st.sampled_from(["REQUEUE", "REQUEUE,WITHIN", "CANCEL"])),
        JobRequeue=draw(st.booleans()),
        partitions={
            name: {"PriorityTier": draw(st.sampled_from([1, 2, 5])), "PreemptMode": draw(modes)}
            for name in names
        },
        qos={name: {"Preempt": below[name], "PreemptMode": draw(modes)} for name in names},
        min_exempt_priority=draw(st.sampled_from([None, None, 1, 2])),
        PreemptExemptTime=draw(st.sampled_from([None, None, None, 50])),
        pace=draw(_PACES),
    )
    return eh.plan(eh.Snapshot.from_dict(data), policy)


@st.composite
def _reserving(draw: st.DrawFn) -> Plan:
    """Jobs of few priorities under Grid Engine, which may preempt for reservations."""
    data = draw(_full())
    for row in data["operations"]:
        row["priority"] += draw(_FINE)
    for row in data["allocations"]:
        row["planned_end"] = draw(st.sampled_from([200, 600, 2100]))
    for row in data["requests"]:
        row["duration"] = draw(st.sampled_from([100, 500, 2000]))
        row["reserve"] = draw(st.sampled_from([True, True, True, False]))
    policy = eh.policies.GridEngine(
        max_reservation=draw(st.sampled_from([1, 3, 10])),
        max_preemptees=draw(st.sampled_from([1, 5, 5])),
        automatic_preemption=draw(st.sampled_from([True, True, True, False])),
        preemption_distance=draw(st.sampled_from([0, 60, 450])),
        preemption_action=draw(st.sampled_from(["T", "R", "S", "advisor"])),
        pace=draw(_PACES),
    )
    return eh.plan(eh.Snapshot.from_dict(data), policy)


_CROWDED: dict[str, st.SearchStrategy[Plan]] = {
    "yunikorn": _queues(),
    "backendai": _sessions(),
    "ytsaurus": _waiting(),
    "slurm": _tiers(),
    "gridengine": _reserving(),
}


def look_at(system: str, count: int, first: int, look: Callable[[Plan], object]) -> None:
    """Look at drawn plans of one system: half are of all kinds, in the others much is decided."""
    each(plans(system), count - count // 2, first, look)
    each(_CROWDED.get(system, plans(system)), count // 2, first, look)


def _true(system: str, count: int, first: int) -> bool:
    """Try what the plans of one system conclude, and print what is false; whether there is nothing."""
    made: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    shown: dict[str, str] = {}
    drawn = 0

    def look(plan: Plan) -> None:
        nonlocal drawn
        drawn += 1
        for one in tried(plan):
            made[one.kind] += 1
            if not one.holds:
                wrong[one.kind] += 1
                shown.setdefault(one.kind, f"plan {drawn}: {one.sentence}")

    look_at(system, count, first, look)
    print(f"{system}: {drawn:,} plans, {made.total():,} conclusions, {wrong.total():,} false", flush=True)
    for kind, many in sorted(made.items()):
        print(f"  {many:6,} {kind}" + (f", {wrong[kind]:,} FALSE: {shown[kind]}" if wrong[kind] else ""))
    return not wrong


if __name__ == "__main__":
    sys.exit(every_system("tests.properties.concluding", SYSTEMS, _true))
