"""Drawn plans of every system, whose explanations are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.plans import Plan
from evenhand.testing.strategies import plan_inputs, policies, system_cluster_dicts

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.testing.strategies import PlanInput

__all__ = ["SYSTEMS", "plans", "some_plans"]

SYSTEMS = ("ytsaurus", "yunikorn", "backendai", "slurm", "gridengine")


def plans(system: str) -> SearchStrategy[Plan]:
    """Draw plans of one system: crowded clusters, settings of one's own, with YTsaurus states, too."""
    if system == "ytsaurus":
        return plan_inputs().map(_planned)
    return st.tuples(system_cluster_dicts(system), policies(system)).map(_of)


def _of(drawn: tuple[dict[str, Any], Any]) -> Plan:
    return eh.plan(eh.Snapshot.from_dict(drawn[0]), drawn[1])


def _planned(drawn: PlanInput) -> Plan:
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    state = eh.State.from_dict(drawn.state) if drawn.state else None
    snapshot = eh.Snapshot.from_dict(drawn.snapshot)
    return eh.plan(snapshot, policy, state, on=drawn.on, given=drawn.given)


def some_plans(system: str, count: int) -> list[Plan]:
    """Return so many drawn plans, the same ones each time."""
    found: list[Plan] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(plans(system))
    def collect(plan: Plan) -> None:
        found.append(plan)

    collect()
    return found
