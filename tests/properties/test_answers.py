"""Each answer that can be asked for alone is its part of the plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import evenhand as eh
from evenhand.plans import Decisions, Plan
from evenhand.systems.backendai.settings import BackendAISettings
from evenhand.systems.slurm.settings import SlurmSettings
from evenhand.testing import strategies as es


def check_usage(snapshot: eh.Snapshot) -> None:
    shares = eh.usage_share(snapshot)
    assert shares.tobytes() == eh.fair_share(snapshot)["usage_share"].tobytes()
    assert shares.tobytes() == eh.usage_share(eh.Cluster(snapshot)).tobytes()


def check_victims(plan: Plan, node: Any = None) -> None:
    """Every request of the plan's snapshot."""
    snapshot, policy = plan.snapshot, plan.policy
    steps = plan.steps()
    for request in snapshot.names("requests"):
        found = eh.victims(snapshot, policy, request, node, plan.state_before)
        serving = [
            step
            for step in steps
            if any(
                d.request == request or (d.beneficiary and d.beneficiary.request == request)
                for d in step.decisions
            )
        ]
        first = serving[0] if serving else None
        victims = first.victims if first else ()
        assert tuple(found.decisions.victims) == victims
        assert found.names == tuple(victim.allocation for victim in victims)
        assert found.modes == tuple(victim.mode for victim in victims)
        assert {d.to_dict()["step"] for d in found.decisions} == ({first.number} if first else set())
        assert len(found.decisions) == (len(first.decisions) if first else 0)
        refusals = [refusal for refusal in plan.refusals if refusal.request == request]
        assert list(found.refusals) == refusals
        if victims:
            assert found.certificate == _certificate(victims[0])
            assert found.beneficiary == victims[0].beneficiary
            nodes = plan.decisions.column("node")
            _freed(plan.decisions, found, nodes)
        live = eh.Cluster(snapshot, policy, plan.state_before)
        assert eh.victims(live, policy, request, node) == found


def _certificate(victim: Any) -> Any:
    proof = victim.numbers.get("minimum")
    return proof and {**proof, "gap": proof["cost"] - proof["lower_bound"]}


def _freed(decisions: Decisions, found: Any, nodes: Any) -> None:
    freed = decisions.column("freed")
    sums: dict[Any, Any] = {}
    for row, decision in enumerate(decisions):
        if decision.allocation in found.names and decision.action == "preempt":
            sums[decision.node] = sums.get(decision.node, 0) + freed[row]
    snapshot = found.decisions._snapshot
    assert list(found.freed) == list(sums)
    for node, quanta in sums.items():
        for r, (resource, quantum) in enumerate(snapshot.quantum.items()):
            assert round(found.freed[node].get(resource, 0) / quantum) == quanta[r]


@given(drawn=es.plan_inputs())
def test_ytsaurus(drawn: es.PlanInput) -> None:
    snapshot = eh.Snapshot.from_dict(drawn.snapshot)
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    state = eh.State.from_dict(drawn.state) if drawn.state else None
    plan = eh.plan(snapshot, policy, state)
    check_usage(snapshot)
    assert np.array_equal(plan.shares["usage_share"], eh.usage_share(snapshot))
    statuses, after = eh.starvation(snapshot, policy, state)
    assert statuses == plan.statuses
    same = ("time", "pools", "settings", "policy", "elements", "operations")
    assert all(getattr(after, name) == getattr(plan.state, name) for name in same)
    kept = {} if state is None else dict(state.nodes)
    assert dict(after.nodes) == {name: kept[name] for name in snapshot.names("nodes") if name in kept}
    assert eh.starvation(eh.Cluster(snapshot, policy, state), policy) == (statuses, after)
    check_victims(plan)
    for node in snapshot.names("nodes")[:2]:
        check_victims(eh.plan(snapshot, policy, state, on=eh.Heartbeat(node)), node)


@given(data=es.session_groups(), settings=es.backendai_settings())
def test_backendai(data: dict[str, Any], settings: BackendAISettings) -> None:
    snapshot = eh.Snapshot.from_dict(data)
    check_usage(snapshot)
    check_victims(eh.plan(snapshot, eh.policies.BackendAI(**settings.model_dump())))


@given(data=es.job_clusters(max_waiting=5), settings=es.slurm_settings())
def test_slurm(data: dict[str, Any], settings: SlurmSettings) -> None:
    snapshot = eh.Snapshot.from_dict(data)
    check_usage(snapshot)
    check_victims(eh.plan(snapshot, eh.policies.Slurm(**settings.model_dump())))


@pytest.mark.parametrize("selection", ["prefix", "minimum"])
@pytest.mark.parametrize("seed", range(2))
def test_ytsaurus_where_many_starve(seed: int, selection: str) -> None:
    sizes = {"pools": 6, "depth": 2, "operations": 25, "allocations": 150, "nodes": 8}
    snapshot = eh.Snapshot.from_dict(eh.synthetic.cluster(**sizes, contention=1.6, seed=seed))
    policy = eh.policies.YTsaurus(enable_aggressive_starvation=True, victim_selection=selection)
    early = snapshot.replace(now=snapshot.now - 600, previous_update=None)
    plan = eh.plan(snapshot, policy, eh.starvation(early, policy).state)
    assert len(plan.decisions.victims), "nothing is tested where nothing is preempted"
    check_victims(plan)
