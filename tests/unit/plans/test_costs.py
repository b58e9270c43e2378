"""What victims cost: their number, lost work, or what their rows say; the same for every system."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

CPUS = 8
JOBS: dict[str, dict[str, Any]] = {
    # cpus, start, saved progress, preemption_cost
    "large": {"cpus": 4, "start": 0, "saved": None, "cost": 9},
    "left": {"cpus": 2, "start": 80, "saved": None, "cost": 1},
    "right": {"cpus": 2, "start": 10, "saved": 90, "cost": 20},
}
SYSTEMS = {
    "slurm": eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="REQUEUE",
        partitions={"low": {"PriorityTier": 1}, "high": {"PriorityTier": 2}},
        victim_selection="minimum",
    ),
    "backendai": eh.policies.BackendAI(victim_selection="minimum"),
    "ytsaurus": eh.policies.YTsaurus(victim_selection="minimum"),
}


def snapshot() -> eh.Snapshot:
    """One node, full; a request for half of it."""
    running = [
        {"name": name, "partition": "low", "priority": 1, "settings": {"preemption_cost": job["cost"]}}
        for name, job in JOBS.items()
    ]
    allocations = [
        {"name": f"{name}-k", "operation": name, "node": "n", "resources": {"cpu": job["cpus"]}}
        | {"start_time": job["start"]}
        | ({} if job["saved"] is None else {"last_progress_time": job["saved"]})
        for name, job in JOBS.items()
    ]
    return eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": CPUS}}],
            "operations": [*running, {"name": "urgent", "partition": "high", "priority": 50}],
            "allocations": allocations,
            "requests": [{"name": "r", "operation": "urgent", "resources": {"cpu": 4}}],
        }
    )


def planned(system: str, cost: str) -> Any:
    """A plan in which all running work may be a victim."""
    policy = SYSTEMS[system].replace(victim_cost=cost)
    if system != "ytsaurus":
        return eh.plan(snapshot(), policy)
    given = {"starvation": {"urgent": "starving"}, "groups": {f"{name}-k": "preemptible" for name in JOBS}}
    return eh.plan(snapshot(), policy, given=given)


@pytest.mark.parametrize("days", [1, 200])
def test_much_lost_work_is_told_apart(days: int) -> None:
    """A hundred nodes for as long, against half of that: more than a thousand million node-seconds."""
    count, now = 100, days * 86_400
    starts = {"old": 0, "new": now / 2}
    nodes = {job: [f"{job}{i:03}" for i in range(count)] for job in starts}
    data = {
        "now": now,
        "resources": {"cpu": {}},
        "nodes": [{"name": node, "capacity": {"cpu": 1}} for of_job in nodes.values() for node in of_job],
        "operations": [{"name": name, "priority": i} for name, i in (("old", 0), ("new", 1), ("urgent", 50))],
        "allocations": [
            {"name": node, "operation": job, "node": node, "resources": {"cpu": 1}, "start_time": starts[job]}
            for job, of_job in nodes.items()
            for node in of_job
        ],
        "requests": [{"name": "r", "operation": "urgent", "resources": {"cpu": 1}, "count": count}],
    }
    policy = SYSTEMS["backendai"].replace(victim_cost="lost_work")
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    assert {d.operation for d in plan.decisions.victims} == {"new"}
    proof = plan.decisions.victims[0].numbers["minimum"]
    assert proof == {"cost": count * now // 2, "lower_bound": count * now // 2, "proved": True, "first": True}


def test_costs_at_the_limit_prove_nothing() -> None:
    """As long ago as instants go, one allocation alone costs more than is counted."""
    data = snapshot().to_dict()
    data["allocations"][0]["start_time"] = -1e12
    data["allocations"] = data["allocations"][:1]
    data["nodes"].append({"name": "m", "capacity": {"cpu": 0}})
    for i in range(2, 12):
        data["nodes"].append({"name": f"m{i}", "capacity": {"cpu": 1}})
        data["allocations"].append(
            {"name": f"x{i}", "operation": "large", "node": f"m{i}", "resources": {"cpu": 1}}
            | {"start_time": -1e12}
        )
    data["nodes"][0]["capacity"]["cpu"] = 4
    policy = SYSTEMS["backendai"].replace(victim_cost="lost_work")
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    proof = plan.decisions.victims[0].numbers["minimum"]
    assert proof == {"cost": 10**13, "lower_bound": 10**13 - 1, "proved": False, "first": False}
    assert [d.code for d in plan.diagnostics if "cost" in d.code] == ["victim_cost_limit", "costs_not_read"]
    (told,) = [s for s in plan.why(plan.decisions.victims[0].allocation).sentences if "lost work" in s]
    assert told.endswith("whether a cheaper set would suffice is open.")


@pytest.mark.parametrize(
    ("selection", "cost", "given", "codes"),
    [
        ("minimum", "given", True, []),
        ("minimum", "given", False, ["no_costs_given"]),
        ("minimum", "victims", True, ["costs_not_read"]),
        ("irreducible", "given", True, ["costs_not_read"]),
        ("irreducible", "given", False, []),
    ],
)
@pytest.mark.parametrize("system", SYSTEMS)
def test_costs_in_vain_are_told(
    system: str, selection: str, cost: str, given: bool, codes: list[str]
) -> None:
    data = snapshot().to_dict()
    if not given:
        data["operations"] = [{k: v for k, v in row.items() if k != "settings"} for row in data["operations"]]
    policy = SYSTEMS[system].replace(victim_selection=selection, victim_cost=cost)
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    assert [d.code for d in plan.diagnostics if d.code in ("no_costs_given", "costs_not_read")] == codes


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("cost", "victims", "sum_"),
    [
        ("victims", ["large"], 1),
        # Half the node for 100 s, against a quarter for 20 s and a quarter for 10 s, rounded up.
        ("lost_work", ["left", "right"], 5 + 3),
        ("given", ["large"], 9),
    ],
)
def test_the_cheapest_go(system: str, cost: str, victims: list[str], sum_: int) -> None:
    plan = planned(system, cost)
    assert sorted(d.operation for d in plan.decisions.victims) == victims
    for decision in plan.decisions.victims:
        proof = decision.numbers["minimum"]
        assert (proof["cost"], proof["lower_bound"]) == (sum_, sum_)
        assert proof["proved"]
        assert proof["first"]
    text = plan.why(plan.decisions.victims[0].allocation).text
    if cost == "victims":
        assert (
            f"One {'victim' if system == 'ytsaurus' else 'operation'} is the fewest that make room for it."
            in text
        )
    else:
        unit = {"lost_work": "node-seconds of lost work", "given": "by what their rows say"}[cost]
        assert f"cost {sum_} {unit}; none that cost less make room for it." in text


@pytest.mark.parametrize("system", SYSTEMS)
def test_who_is_spared(system: str) -> None:
    difference = planned(system, "victims").diff(planned(system, "lost_work"))
    what, end = ("victim", "-k") if system == "ytsaurus" else ("operation", "")
    named = [f"{d.operation}{end}" for d in difference.taken]
    assert len(named) == 2
    expected = f"1 {what} more: large{end} is spared; {', '.join(named)} leave instead."
    assert difference.summary == expected


@pytest.mark.parametrize("value", [0, -1, 1.5, 10**9 + 1])
@pytest.mark.parametrize("system", SYSTEMS)
def test_costs_are_whole_and_positive(system: str, value: float) -> None:
    data = snapshot().to_dict()
    data["operations"][0]["settings"] = {"preemption_cost": value}
    with pytest.raises(eh.InputError, match="preemption_cost"):
        eh.plan(eh.Snapshot.from_dict(data), SYSTEMS[system])
