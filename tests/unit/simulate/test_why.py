"""Why a decision of a run was made: from what was then."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.simulate.moment import moment
from tests.properties.simulating import SYSTEMS, drawn, simulated

ROWS: dict[str, Any] = {
    "name": ["a", "b"],
    "pool": ["x", "y"],
    "partition": ["low", "high"],
    "priority": [2, 9],
    "resources.cpu": [2, 2],
    "count": [2, 1],
    "submit_time": [0, 20],
    "run_time": [600, 30],
}
TIERS = {"low": {"PriorityTier": 1, "GraceTime": 5}, "high": {"PriorityTier": 2}}
POLICIES: dict[str, Any] = {
    "ytsaurus": eh.policies.YTsaurus(allocation_preemption_timeout=5, fair_share_starvation_timeout=10),
    "slurm": eh.policies.Slurm(PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=TIERS),
    "backendai": eh.policies.BackendAI(preemption_mode="reschedule"),
}


@pytest.mark.parametrize("system", list(POLICIES))
def test_the_sentence_is_about_the_decision(system: str) -> None:
    whole = {} if system == "ytsaurus" else {"resources.cpu": [4, 2], "count": [1, 1]}
    work = eh.simulate.Workload({**ROWS, **whole})
    result = eh.simulate(work.snapshot(nodes=1, now=0, cpu=4), POLICIES[system], work, 300, rng=3)
    d = result.decisions
    row = list(d["action"]).index("preempt")
    time, victim = float(d["time"][row]), f"a/{d['allocation'][row]}"
    plan, said = result.plan(row), str(result.why(row))
    assert plan.snapshot.now == time >= 20
    assert said.startswith(f"Allocation {victim} of operation a leaves node n1: 2 cpu ")
    assert "request b of b" in said
    assert "\nneeded " in said
    if d["grace"][row]:
        assert f"within 5 s, until {time + 5:g} s" in said
    assert said == str(plan.why(victim))
    # All that is known of the instant can be asked for, also what was left alone.
    for name in plan.snapshot.names("allocations"):
        assert str(plan.why_not(name)).startswith(f"Allocation {name}")
    assert str(pickle.loads(pickle.dumps(result)).why(row)) == said


def test_what_was_preempted_before_says_how_often_and_what_ends_it() -> None:
    """Two operations that need a node each take turns on one."""
    work = eh.simulate.Workload({"name": ["a", "b"], "resources.cpu": [4, 4], "submit_time": [0, 1],
                                 "run_time": [100, 100]})  # fmt: skip
    setting = "consider_allocation_on_fair_share_bound_preemptible"
    result = eh.simulate(
        work.snapshot(nodes=1, cpu=4), eh.policies.YTsaurus(**{setting: True}), work, until=400
    )
    d = result.decisions
    rows = [i for i, action in enumerate(d["action"]) if action == "preempt"]
    assert [d["operation"][row] for row in rows[:5]] == ["a", "b", "a", "b", "a"]
    first, second, third, _, fifth = (result.why(row) for row in rows[:5])
    assert not {"before", "turns"} & {claim.code for claim in first.claims}
    assert [claim.code for claim in second.claims][-1] == "turns"  # b left for a, which it had preempted
    for said, count, often, last in ((third, 1, "once", rows[0]), (fifth, 2, "2 times", rows[2])):
        before, turns = said.claims[-2:]
        assert (before.code, before.numbers) == ("before", {"count": count})
        when = f"{float(d['time'][last]):g} s"
        said = f"Work of a was preempted {often} before in this run, last at {when}"
        assert before.sentence == f"{said}: this is time {count + 1}."
        assert turns.code == "turns"
        assert setting in turns.sentence
        assert "with that setting off, or by a pace" in turns.sentence


def test_starts_resumptions_and_other_rows() -> None:
    work = eh.simulate.Workload(ROWS)
    policy = POLICIES["backendai"].replace(preemption_mode="suspend")
    result = eh.simulate(work.snapshot(nodes=1, now=0, cpu=4), policy, work, 300)
    actions = list(result.decisions["action"])
    assert "Request a of operation a" in str(result.why(actions.index("start")))
    resumed = actions.index("resume")
    assert str(result.why(resumed)).startswith("Allocation a/")
    for row in (-1, len(actions), 1.0, "1", True):
        with pytest.raises(eh.InputError, match="decision"):
            result.why(row)  # type: ignore[arg-type]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", range(6))
def test_the_plan_decides_what_was_decided(system: str, seed: int) -> None:
    """At drawn decisions of drawn runs."""
    result = simulated(drawn(seed, system), 600.0)
    d = result.decisions
    if not len(d):
        return
    rng = np.random.default_rng(seed)
    preempted = [i for i, action in enumerate(d["action"]) if action == "preempt"]
    for row in {*rng.integers(0, len(d), 3).tolist(), *preempted[:2]}:
        of = moment(result, row)
        made, first = of.plan.decisions, row - of.row
        assert of.plan.snapshot.now == d["time"][row]
        for k, m in enumerate(made):
            i = first + k
            said = (m.action, m.stage, m.reason, m.operation, m.node)
            assert said == tuple(d[name][i] for name in ("action", "stage", "reason", "operation", "node"))
            freed = {name: float(d[f"freed.{name}"][i]) for name in result.snapshot.resources}
            assert {name: float(amount) for name, amount in (m.freed or {}).items() if amount} == {
                name: amount for name, amount in freed.items() if amount
            }
        assert str(result.why(row))
