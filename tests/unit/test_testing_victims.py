"""The testing kit: examples in which something is preempted, and how often that was so."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

import evenhand as eh
from evenhand.testing import happened, plan_laws
from evenhand.testing import strategies as es

QUIET = settings(
    derandomize=True, deadline=None, database=None, max_examples=8, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
TIERS = {"low": {"PriorityTier": 1}, "mid": {"PriorityTier": 5}, "high": {"PriorityTier": 9}}
SLURM = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE", "partitions": TIERS}
SLURM |= {"qos": {"bronze": {}, "silver": {}, "gold": {}}}
POLICIES = {
    "ytsaurus": eh.policies.YTsaurus(),
    "yunikorn": eh.policies.YuniKorn(),
    "backendai": eh.policies.BackendAI(),
    "slurm": eh.policies.Slurm(**SLURM),
    "gridengine": eh.policies.GridEngine(automatic_preemption=True, max_reservation=10, max_preemptees=10),
}


def victims(snapshot: eh.Snapshot, policy: Any, waited: str = "1d") -> int:
    plan = eh.plan(snapshot, policy, as_if_waiting=waited)
    return sum(d.action == "preempt" for d in plan.decisions)


@pytest.mark.parametrize("system", POLICIES)
def test_something_is_preempted_in_every_example(system: str) -> None:
    policy, found = POLICIES[system], []

    @QUIET
    @given(es.preempting(policy))
    def drawn(snapshot: eh.Snapshot) -> None:
        found.append(victims(snapshot, policy))

    drawn()
    assert len(found) >= QUIET.max_examples
    assert min(found) > 0


def test_clusters_of_your_own_are_taken() -> None:
    policy = POLICIES["ytsaurus"]
    clusters = es.cluster_dicts({"gpu": {}}, guarantees="all")

    @QUIET
    @given(es.preempting(policy, clusters, as_if_waiting="1h"))
    def drawn(snapshot: eh.Snapshot) -> None:
        assert snapshot.resources == ("gpu",)
        assert victims(snapshot, policy, "1h") > 0

    drawn()


def test_a_policy_that_never_preempts_has_no_example() -> None:
    never = eh.policies.Slurm(**SLURM | {"PreemptType": "preempt/none", "PreemptMode": "OFF"})
    empty = st.just({"resources": {"cpu": {}}})

    @QUIET
    @given(es.preempting(never, empty))
    def drawn(snapshot: eh.Snapshot) -> None:
        pytest.fail("nothing can be preempted")

    with pytest.raises(Unsatisfiable):
        drawn()


def plan_of(victims: int, starts: int) -> dict[str, Any]:
    return {"decisions": [{"action": "preempt"}] * victims + [{"action": "start"}] * starts}


@pytest.mark.parametrize(
    ("count", "said"), [(0, "none"), (1, "1"), (3, "3"), (4, "4 or more"), (5, "4 or more")]
)
def test_hypothesis_is_told_how_much_happened(count: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(hypothesis, "event", told.append)
    happened.tell(plan_of(count, 0))
    assert told == [], "outside of its tests"

    @settings(QUIET, max_examples=1)
    @given(st.just(plan_of(count, 2)))
    def law(plan: dict[str, Any]) -> None:
        happened.tell(plan)

    law()
    assert set(told) == {f"victims: {said}", "starts: 2"}


def test_laws_tell_of_the_plans_they_are_held_against(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(hypothesis, "event", told.append)
    policy = POLICIES["ytsaurus"]

    @settings(QUIET, max_examples=1)
    @given(es.preempting(policy))
    def law(snapshot: eh.Snapshot) -> None:
        plan = eh.plan(snapshot, policy, as_if_waiting="1d")
        before = plan.state_before
        plan_laws.check_plan(
            plan_laws.Planned(
                snapshot.to_dict(), plan.to_dict(), policy.settings, before.to_dict() if before else {}
            )
        )

    law()
    assert any(text.startswith("victims: ") and text != "victims: none" for text in told)
