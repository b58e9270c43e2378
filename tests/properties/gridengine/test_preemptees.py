"""Laws of preempted jobs over drawn simulations: what they hold, and by when they run again."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from tests.reference.simulate import Runs

SEEDS = st.integers(0, 2**32 - 1)
UNTIL = 2000.0
MANAGED = "lic"


def drawn(seed: int, **settings: Any) -> tuple[eh.Snapshot, eh.policies.GridEngine, eh.simulate.Workload]:
    """Draw up to three hosts, a dozen jobs of known limits, and what of the settings is not given."""
    rng = np.random.default_rng(seed)
    resources = {
        "slots": {"kind": "slots"},
        "memory": {"kind": "memory"},
        "gpu": {"kind": "other", "available_after_preemption": bool(rng.random() < 0.5)},
        MANAGED: {"kind": "license", "scope": "cluster", "capacity": 2},
        "plain": {"kind": "license", "scope": "cluster", "capacity": 2},
    }
    hosts = [
        {"name": f"n{i}", "capacity": {"slots": 4, "memory": 8, "gpu": 2}} for i in range(rng.integers(1, 4))
    ]
    rows = []
    for i in range(int(rng.integers(3, 14))):
        run = int(rng.integers(5, 90))
        need = {"slots": int(rng.integers(1, 4)), "memory": int(rng.integers(5)), "gpu": int(rng.integers(2))}
        need |= {name: int(rng.random() < 0.3) for name in (MANAGED, "plain")}
        rows.append(
            {
                "name": f"j{i:02d}",
                "submit_time": float(rng.integers(100)),
                "run_time": float(run),
                "duration": float(run + rng.integers(60)),
                "count": int(rng.choice([1, 1, 1, 2])),
                "resources": need,
                "priority": int(rng.choice([0, 5, 9])),
                "reserve": True,
                "gang": True,
            }
        )
    usual: dict[str, Any] = {
        "max_reservation": 9,
        "max_preemptees": int(rng.choice([1, 5])),
        "automatic_preemption": True,
        "preemption_distance": float(rng.choice([0, 20])),
        "preemption_action": str(rng.choice(["P", "N", "S"])),
        "prioritize_preemptees": bool(rng.random() < 0.5),
        "preemptees_keep_resources": bool(rng.random() < 0.5),
        "backfilling": bool(rng.random() < 0.5),
        "lo_licenses": (MANAGED,),
    }
    return (
        eh.Snapshot.from_dict({"now": 0, "resources": resources, "nodes": hosts}),
        eh.policies.GridEngine(**usual | settings),
        eh.simulate.Workload(rows, resources=resources),
    )


class Accounts(Runs):
    """A simulation of which each run's account of room is checked, and what each preemptee has."""

    runs_seen = 0

    def carry_out(self, plan: Any) -> None:
        self.runs_seen += 1
        data = plan.snapshot.to_dict()
        there = {(n["name"], r): a for n in data["nodes"] for r, a in n["capacity"].items()}
        wide = {r: of["capacity"] for r, of in data["resources"].items() if of.get("scope") == "cluster"}
        used: dict[tuple[str | None, str], float] = defaultdict(float)
        for row in data.get("allocations", ()):
            away = row.get("state") == "preempted"
            assert not away or MANAGED not in row.get("held", {})
            for r, amount in (row.get("held", {}) if away else row["resources"]).items():
                used[None if r in wide else row["node"], r] += amount
        for d in plan.decisions:
            for r, free in d.numbers["free_before"].items():
                capacity = wide[r] if r in wide else there.get((d.node, r), 0)
                assert free + used[None if r in wide else d.node, r] == capacity, (d, r)
            row = next((a for a in data.get("allocations", ()) if a["name"] == d.allocation), None)
            if d.action == "preempt":
                assert row is not None
                for r, amount in row["resources"].items():
                    assert d.freed.get(r, 0) + d.kept.get(r, 0) == amount
            elif d.action in ("start", "resume"):
                needed = d.numbers.get("needed", {})
                for r, amount in needed.items():
                    used[None if r in wide else d.node, r] += amount
                if row is not None:  # what it has kept and what it takes are all of it
                    held = row.get("held", {})
                    assert row["resources"] == {
                        r: needed.get(r, 0) + held.get(r, 0) for r in row["resources"]
                    }
        super().carry_out(plan)


@given(seed=SEEDS)
def test_what_is_free_kept_and_used_adds_up(seed: int) -> None:
    """At every run of which anything comes, of each kind of resource; managed licences are never kept."""
    snapshot, policy, workload = drawn(seed)
    accounts = Accounts(snapshot, policy, workload, {"schedule_interval": 5.0})
    accounts.run(300.0)
    assert accounts.runs_seen


@pytest.mark.parametrize(
    "settings",
    [
        {"preemptees_keep_resources": True, "lo_licenses": ()},  # those that are managed cannot be kept
        {"backfilling": False},
    ],
    ids=["keep", "no-backfilling"],
)
@given(seed=SEEDS)
def test_a_preemptee_runs_again_when_its_preemptor_ends(seed: int, settings: dict[str, Any]) -> None:
    """Of one preempted job at a time, where no job came before the preemptor (U32, U40, U43)."""
    snapshot, policy, workload = drawn(seed, max_preemptees=1, prioritize_preemptees=True, **settings)
    result = eh.simulate(snapshot, policy, workload, UNTIL, schedule_interval=1.0)
    runs, rows = result.allocations, result.decisions
    again = {int(of): i for i, of in enumerate(result.raw["allocations"]["resumed_from"]) if of >= 0}
    for i in range(len(rows)):
        if rows["action"][i] != "preempt":
            continue
        next_run = rows["time"][i] + 1
        begun = [j for j in range(len(runs)) if runs["start"][j] == next_run]
        own = [j for j in begun if runs["operation"][j] == rows["beneficiary_operation"][i]]
        if not own or own[0] != begun[0] or any(runs["outcome"][j] != "completed" for j in own):
            continue  # another got the room, or the preemptor was preempted itself
        ends = math.ceil(max(runs["end"][j] for j in own))
        assert runs["start"][again[int(rows["allocation"][i])]] <= ends


def test_pairs_of_preemptor_and_preemptee_are_drawn() -> None:
    """The law above speaks of many."""
    resumed = 0
    for seed in range(100):
        snapshot, policy, workload = drawn(seed, max_preemptees=1, prioritize_preemptees=True)
        result = eh.simulate(snapshot, policy, workload, UNTIL, schedule_interval=1.0)
        resumed += int((result.raw["allocations"]["resumed_from"] >= 0).sum())
    assert resumed > 50


def delay(**settings: Any) -> tuple[float, float]:
    """When the preemptor ends, earlier than planned, and when its preemptee resumes."""
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 0,
            "resources": {"slots": {"kind": "slots"}},
            "nodes": [{"name": "h", "capacity": {"slots": 4}}],
        }
    )
    job = {"reserve": True, "gang": True}
    rows = [
        {"name": "low", "submit_time": 0.0, "run_time": 500.0, "duration": 500.0, "priority": 1, **job},
        {"name": "high", "submit_time": 10.0, "run_time": 20.0, "duration": 200.0, "priority": 9, **job},
        {"name": "short", "submit_time": 15.0, "run_time": 90.0, "duration": 90.0, "priority": 5, **job},
    ]
    for row, slots in zip(rows, (4, 2, 2), strict=True):
        row["resources"] = {"slots": slots}
    policy = eh.policies.GridEngine(
        max_reservation=9,
        max_preemptees=1,
        automatic_preemption=True,
        preemption_distance=0,
        preemption_action="P",
        DURATION_OFFSET=0,
        **settings,
    )
    workload = eh.simulate.Workload(rows, resources={"slots": {"kind": "slots"}})
    runs = eh.simulate(snapshot, policy, workload, UNTIL, schedule_interval=1.0).allocations
    of = {name: [j for j in range(len(runs)) if runs["operation"][j] == name] for name in ("low", "high")}
    return runs["end"][of["high"][0]], runs["start"][of["low"][1]]


def test_backfilled_jobs_delay_a_preemptee_unless_it_is_kept_from_them() -> None:
    """The job "short" has what the preemptor left until 106, long after the preemptor's end (U41)."""
    ends, resumes = delay(prioritize_preemptees=True)
    assert resumes > ends + 60
    for guarantee in ({"backfilling": False}, {"preemptees_keep_resources": True}):
        ends, resumes = delay(prioritize_preemptees=True, **guarantee)
        assert resumes == ends
