"""Laws notice defects that are planted into real plans; plans as they are made break none."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import strategies as st

import evenhand as eh
from evenhand.testing import job_laws, plan_laws
from evenhand.testing import strategies as es
from tests.drawing import drawn, examples
from tests.properties.planning import engine
from tests.properties.planted import OF_JOBS, OF_SESSIONS, Defect
from tests.properties.slurm.planted import OF_QUEUES
from tests.properties.slurm.queueing import queue
from tests.properties.ytsaurus.planted import OF_ALLOCATIONS
from tests.reference.backendai import turn_laws

PLANS = max(125, examples(1.25))
"""So many a system that each defect can be planted several times as often as it has to be."""
ENOUGH = 5
"""Plans into which a defect must have been planted."""
MOST = examples()
"""Plans into which a defect is planted: no more of them, once its law noticed enough."""

TIERS: dict[str, Any] = {
    "low": {"PriorityTier": 1},
    "mid": {"PriorityTier": 5},
    "high": {"PriorityTier": 10},
}


def sessions() -> Iterable[turn_laws.Followed]:
    for data, s, fewest in drawn(
        st.tuples(es.session_groups(), es.backendai_settings(), st.booleans()), 2 * PLANS
    ):
        if fewest:
            s = s.replace(victim_selection="minimum", victim_area="group")
        snapshot = eh.Snapshot.from_dict(data)
        plan = eh.plan(snapshot, eh.policies.BackendAI(**s.model_dump()))
        yield turn_laws.Followed(snapshot.to_dict(), plan.to_dict(), s)


def simple(data: dict[str, Any], twin: bool) -> dict[str, Any]:
    """Leave what the laws of victims speak of; each running job may get a twin of the middle tier."""
    data = copy.deepcopy(data)
    data["reservations"] = []
    data["requests"] = list({row["operation"]: row for row in reversed(data["requests"])}.values())
    for row in data["operations"]:
        row.pop("settings", None)
        waits = row["name"] in {request["operation"] for request in data["requests"]}
        row["partition"] = "high" if waits else row["partition"].split(",")[0]
    for row in data["allocations"]:
        if row["state"] in ("suspended", "preempted"):
            row["state"] = "running"
            row.pop("held", None)
    running = {row["operation"] for row in data["allocations"] if row["state"] == "running"}
    capacity = {row["name"]: row["capacity"] for row in data["nodes"]}
    for job in [row for row in data["operations"] if twin and row["name"] in running]:
        name = f"{job['name']}-twin"
        data["operations"].append({**job, "name": name, "partition": "mid", "qos": "silver"})
        for row in [row for row in data["allocations"] if row["operation"] == job["name"]]:
            data["allocations"].append({**row, "name": f"{row['name']}-twin", "operation": name})
            for r, amount in row["resources"].items():
                capacity[row["node"]][r] += amount
    return data


def jobs() -> Iterable[job_laws.JobPlan]:
    """Half of what is drawn with one job that waits; nodes are shared, and nothing is suspended."""
    chance = random.Random(7)
    for data, s in [queue(chance) for _ in range(5 * PLANS)]:
        snapshot = eh.Snapshot.from_dict(data)
        plan = eh.plan(snapshot, eh.policies.Slurm(**s.model_dump()))
        yield job_laws.JobPlan(snapshot.to_dict(), plan.to_dict(), s)
    plain = es.slurm_settings(most_changes=2, partitions=TIERS, SelectType="select/cons_tres")
    either = st.one_of(es.job_clusters(max_waiting=1, max_running=4), es.job_clusters(max_nodes=3))
    for data, s, twin in drawn(st.tuples(either, plain, st.booleans()), 3 * PLANS, start=1):
        wide = any(space.get("scope") == "cluster" for space in data["resources"].values())
        if wide or s.PreemptMode.split(",")[0] == "SUSPEND":
            continue
        snapshot = eh.Snapshot.from_dict(simple(data, twin))
        plan = eh.plan(snapshot, eh.policies.Slurm(**s.model_dump()))
        yield job_laws.JobPlan(snapshot.to_dict(), plan.to_dict(), s)


def crowd(chance: random.Random) -> dict[str, Any]:
    """Full nodes: A has nearly all, C something; B has nothing and waits, the others want more."""
    rows: list[dict[str, Any]] = [
        {"operation": "C" if chance.random() < 0.15 else "A", "node": f"n{n}"}
        | {"resources": {"cpu": chance.choice((1, 1, 1, 2))}, "start_time": chance.randint(1, 6)}
        for n in range(chance.randint(1, 2))
        for _ in range(chance.randint(4, 7))
    ]
    nodes = {
        row["node"]: sum(r["resources"]["cpu"] for r in rows if r["node"] == row["node"]) for row in rows
    }
    spare = chance.choice((0, 0, 1, 2))
    return {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": name, "capacity": {"cpu": used + spare}} for name, used in nodes.items()],
        "operations": [{"name": name} for name in "ABC"],
        "allocations": [{"name": f"a{i:02}", **row} for i, row in enumerate(rows)],
        "requests": [
            {"name": f"r{name}", "operation": name, "resources": {"cpu": chance.randint(1, 3)}}
            for name in "ABC"
        ],
    }


def allocations() -> Iterable[plan_laws.Planned]:
    for one in drawn(es.plan_inputs(), PLANS):
        data = eh.Snapshot.from_dict(one.snapshot).to_dict()
        heard = frozenset([one.on.node]) if isinstance(one.on, eh.Heartbeat) else None
        yield plan_laws.Planned(data, engine(one), one.settings, one.state, heard)
    chance = random.Random(7)
    for _ in range(PLANS):
        snapshot = eh.Snapshot.from_dict(crowd(chance))
        selection = chance.choice(("irreducible", "prefix", "minimum"))
        policy = eh.policies.YTsaurus(chance.choice(("documented", "upstream")), victim_selection=selection)
        given = {"starvation": {"B": "starving"}} if chance.random() < 0.7 else None
        plan = eh.plan(snapshot, policy, given=given)
        yield plan_laws.Planned(snapshot.to_dict(), plan.to_dict(), policy.settings, {})


Laws = Iterable[Callable[[Any], None]]
SYSTEMS: Mapping[str, tuple[Callable[[], Iterable[Any]], Laws, Mapping[str, tuple[Defect, str]]]] = {
    "backendai": (sessions, turn_laws.LAWS.values(), OF_SESSIONS),
    "slurm": (jobs, job_laws.LAWS.values(), {**OF_JOBS, **OF_QUEUES}),
    "ytsaurus": (allocations, plan_laws.LAWS, OF_ALLOCATIONS),
}
PAIRS = [(system, defect) for system, (_, _, defects) in SYSTEMS.items() for defect in defects]


@cache
def subjects(system: str) -> list[Any]:
    return list(SYSTEMS[system][0]())


def broken(laws: Laws, subject: Any) -> set[str]:
    """Return the names of the laws that a plan breaks."""
    found = set()
    for law in laws:
        try:
            law(subject)
        except (AssertionError, KeyError, ValueError):
            found.add(law.__name__)
    return found


def with_plan(subject: Any, plan: dict[str, Any]) -> Any:
    fields = {name: getattr(subject, name) for name in subject.__dataclass_fields__}
    return type(subject)(**{**fields, "plan": plan})


@pytest.mark.parametrize("system", SYSTEMS)
def test_plans_as_they_are_made_break_no_law(system: str) -> None:
    for subject in subjects(system):
        assert broken(SYSTEMS[system][1], subject) == set(), subject


@pytest.mark.parametrize(("system", "defect"), PAIRS, ids=lambda value: value.replace(" ", "-"))
def test_a_planted_defect_breaks_a_law(system: str, defect: str) -> None:
    _, laws, defects = SYSTEMS[system]
    plant, law = defects[defect]
    its_law = [one for one in laws if one.__name__ == law]
    planted, noticed = 0, 0
    for subject in subjects(system):
        spoilt = plant(subject)
        if spoilt is None:
            continue
        planted += 1
        lying = with_plan(subject, spoilt)
        found = bool(broken(its_law, lying))
        assert found or broken(laws, lying), (subject, spoilt)
        noticed += found
        if planted >= MOST and noticed >= ENOUGH:
            break
    assert planted >= ENOUGH
    assert noticed >= ENOUGH, f"{law} noticed {noticed} of {planted}"
