"""Suspend on subordinate over drawn trees of queues: as the readable rule has it, and its laws (U56)."""

from __future__ import annotations

from typing import Any

from hypothesis import given

import evenhand as eh
from evenhand.testing.strategies._picking import Pick, picks
from tests.properties.gridengine.test_reference import said
from tests.reference.gridengine import Run, World
from tests.reference.gridengine.subordinates import Subordination, Trees

QUEUES = ("a.q", "b.q", "c.q", "d.q")
NOW = 1000
DRAWS = picks(256)
REASONS = ("subordinate_threshold", "queue_suspended", "subordinate_resumes", "queue_resumed")


def drawn_lists(pick: Pick) -> dict[str, dict[str, Any]]:
    """Each queue but the first is below one before it, slot-wise or queue-wise, or alone."""
    below: dict[str, list[str]] = {}
    for i, name in enumerate(QUEUES[1:], 1):
        if pick(range(5)):
            below.setdefault(pick(QUEUES[:i]), []).append(name)
    queues = {name: {} for name in QUEUES if pick(range(4))}
    for name, subs in below.items():
        if pick(range(4)):
            words = [f"{sub}:{pick((0, 0, 1, 2))}:{pick(('sr', 'lr'))}" for sub in subs]
            text = f"slots={pick((1, 1, 2, 3))}({','.join(words)})"
        else:
            text = ",".join(f"{sub}={pick((1, 2, 3))}" for sub in subs)
        queues[name] = {"subordinate_list": text}
    return queues


def drawn_hosts(pick: Pick) -> dict[str, Any]:
    """Up to two hosts with room for all, up to nine jobs there, up to four that wait."""
    nodes = ["h0", "h1"][: pick((1, 1, 2))]
    operations, allocations, requests = [], [], []
    for i in range(pick(range(1, 10))):
        name = f"j{i}"
        operations.append({"name": name, "pool": pick(QUEUES)})
        state = pick(("running",) * 6 + ("preempted",) * 4 + ("suspended", "preempting"))
        for k in range(pick((1, 1, 1, 1, 2))):
            row: dict[str, Any] = {"name": f"{name}-{k}", "operation": name, "node": pick(nodes)}
            row |= {"state": state, "resources": {"slots": pick((1, 1, 2))}, "start_time": pick((1, 2, 3))}
            if state == "preempted":
                row["held"] = row["resources"] if pick(range(6)) else {}
            if pick(range(6)) == 5:
                row["settings"] = {"queue": pick((*QUEUES, "other.q"))}
            allocations.append(row)
    for i in range(pick(range(5))):
        name = f"w{i}"
        operations.append({"name": name, "pool": pick(QUEUES), "priority": pick((1, 2))})
        requests.append(
            {"name": name, "operation": name, "resources": {"slots": 1}, "count": pick((1, 1, 2))}
        )
    return {
        "now": NOW,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": node, "capacity": {"slots": pick((99, 99, 12))}} for node in nodes],
        "pools": [{"name": name} for name in QUEUES],
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
    }


def drawn(pick: Pick) -> tuple[dict[str, Any], eh.policies.GridEngine]:
    return drawn_hosts(pick), eh.policies.GridEngine(queues=drawn_lists(pick))


@given(pick=DRAWS)
def test_a_run_is_what_the_rule_says(pick: Pick) -> None:
    data, policy = drawn(pick)
    snapshot = eh.Snapshot.from_dict(data)
    plan = eh.plan(snapshot, policy)
    run = Run(World(data, policy.settings))
    assert said(plan) == run.decisions
    assert {r.request: r.rule for r in plan.refusals} == run.rules
    then = snapshot.after(plan)
    again = eh.plan(then, policy, plan.state)
    assert said(again) == Run(World(then.to_dict(), policy.settings)).decisions


@given(pick=DRAWS)
def test_nothing_is_preempted_for_a_suspended_queue(pick: Pick) -> None:
    """On full hosts, with the automatic trigger: no victim makes room where nothing may start."""
    data, policy = drawn(pick)
    for row in data["nodes"]:
        here = [a for a in data["allocations"] if a["node"] == row["name"]]
        held = sum(a.get("held", a["resources"]).get("slots", 0) for a in here)
        row["capacity"]["slots"] = held + pick((0, 0, 1))
    for row in data["operations"]:
        row["priority"] = row.get("priority", pick((0, 0, 3)))
    for row in data["requests"]:
        row |= {"reserve": True, "duration": 100}
    more = {"max_preemptees": 10, "max_reservation": 10, "automatic_preemption": True}
    policy = eh.policies.GridEngine(queues=drawn_lists(pick), **more)
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    run = Run(World(data, policy.settings))
    assert said(plan) == run.decisions
    assert {r.request: r.rule for r in plan.refusals} == run.rules


@given(pick=DRAWS)
def test_it_comes_to_rest_within_every_threshold(pick: Pick) -> None:
    """Nothing that waits: the second run stops or resumes no more on one host, and no list is broken."""
    data, policy = drawn(pick)
    hosts = {row["name"] for row in data["nodes"]}
    data["requests"] = []
    data["allocations"] = [
        a
        for a in data["allocations"]
        if (a["name"].endswith("-0") or len(hosts) == 1) and a.get("held") in (None, a["resources"])
    ]
    snapshot = eh.Snapshot.from_dict(data)
    plan = eh.plan(snapshot, policy)
    moved = [d.allocation for d in plan.decisions if d.reason in REASONS]
    assert len(moved) == len(set(moved))
    then = snapshot.after(plan)
    again = eh.plan(then, policy, plan.state)
    assert [d for d in again.decisions if d.reason in REASONS] == []
    world = World(then.to_dict(), policy.settings)
    trees = Trees(world)
    rest = Subordination(trees, set(), [])
    for host in world.nodes:
        for queue, most in trees.most.items():
            below = [q for n, q in rest.on[host] if n in rest.runs and q in dict(trees.tree(queue))]
            assert len(below) <= most or all(q == queue for q in below)
    for job in world.jobs.values():
        for a in job.some("running"):
            whole = len(job.some("running")) == len(job.allocations)
            assert not whole or not trees.suspended(a["node"], world.queue_name(a), [])


@given(pick=DRAWS)
def test_it_frees_nothing(pick: Pick) -> None:
    """What stops keeps all it has, and the room of every host is as if it ran."""
    data, policy = drawn(pick)
    snapshot = eh.Snapshot.from_dict(data)
    plan = eh.plan(snapshot, policy)
    rows = {a["name"]: a["resources"] for a in data["allocations"]}
    for d in plan.decisions:
        if d.reason in REASONS:
            assert not d.freed
            assert dict(d.kept) == rows[d.allocation]
            assert d.mode == ("suspend" if d.action == "preempt" else None)
            letter = plan.job_states[str(d.operation)].status
            assert letter == ("S" if d.action == "preempt" else "r")
    data["allocations"] = [
        {**a, "state": "running"} if a["state"] == "preempted" and a.get("held") == a["resources"] else a
        for a in data["allocations"]
    ]
    as_if = eh.plan(eh.Snapshot.from_dict(data), eh.policies.GridEngine())
    # Queue-wise, what starts may go to another host; what resumes here would run there.
    lists = [queue.subordinate_list or "slots=" for queue in policy.settings.queues.values()]
    slotwise = all(text.startswith("slots=") for text in lists)
    if slotwise and not any(d.reason == "resumes" for d in (*plan.decisions, *as_if.decisions)):
        starts = [(d.request, d.node) for d in plan.decisions.starts]
        assert starts == [(d.request, d.node) for d in as_if.decisions.starts]
