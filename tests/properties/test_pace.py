"""Pace under systems that preempt operations as a whole: the engine does what the references do.

YTsaurus' pace is drawn with all else in `tests.properties.ytsaurus`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.testing import strategies as es
from evenhand.testing.strategies._picking import Pick, picks
from tests.properties.pace import drawn_pace, keeps_its_pace
from tests.reference import backendai, slurm

#: What the references say where the engine says that victims were spared.
_SPARED = {"victims_spared", "no_eligible_victims", "no_lower_priority", "no_room_even_with_victims"}
_SPARED |= {"other_request_waits", "max_containers"}
#: What Slurm's reference calls "nowhere".
_NOWHERE = {"wrong_tags", "wrong_node", "node_not_schedulable", "node_outside_partition", "nowhere"}
_NOWHERE.add("partition_without_nodes")
_SAME = ("action", "allocation", "operation", "node", "request")


def essence(plan: Mapping[str, Any]) -> Any:
    def told(decision: Mapping[str, Any]) -> Any:
        keys = _SAME[:3] if decision["action"] == "preempt" else _SAME
        return [decision.get(key) for key in keys]

    said = {**dict.fromkeys(_SPARED, "spared"), **dict.fromkeys(_NOWHERE, "nowhere")}
    rules = [(r["request"], said.get(r["rule"], r["rule"])) for r in plan["refusals"]]
    victims = {(v["kind"], v["name"]): tuple(v["taken"]) for v in plan["state"].get("victims", ())}
    return [told(d) for d in plan["decisions"]], sorted(rules), victims


def compare(
    policy: Any,
    reference: Callable[..., Mapping[str, Any]],
    data: dict[str, Any],
    kept: dict[str, Any],
) -> None:
    snapshot = eh.Snapshot.from_dict(data)
    plan = eh.plan(snapshot, policy, eh.State.from_dict(kept))
    found = plan.to_dict()
    expected = reference(snapshot, policy.settings, state=kept)
    for decision in found["decisions"]:
        event(decision["action"])
    for refusal in found["refusals"]:
        event(refusal["rule"])
    assert essence(found) == essence(expected)
    keeps_its_pace(snapshot.to_dict(), found, policy.settings.pace, kept, operations=True)
    assert plan.check(snapshot).findings == (), "all of a plan holds on its own snapshot"


@given(
    data=es.job_clusters(max_waiting=4),
    settings=es.slurm_settings(),
    pick=picks(96),
    chosen=st.sampled_from((None, "prefix", "irreducible", "minimum")),
)
def test_slurm(data: dict[str, Any], settings: Any, pick: Pick, chosen: str | None) -> None:
    data, pace, kept = drawn_pace(data, pick)
    policy = eh.policies.Slurm(**settings.model_dump()).replace(pace=pace)
    policy = policy if chosen is None else policy.replace(victim_selection=chosen)
    compare(policy, slurm.reference_plan, data, kept)


@given(data=es.session_groups(), settings=es.backendai_settings(), pick=picks(96))
def test_backendai(data: dict[str, Any], settings: Any, pick: Pick) -> None:
    data, pace, kept = drawn_pace(data, pick)
    policy = eh.policies.BackendAI(**settings.model_dump()).replace(pace=pace)
    compare(policy, backendai.reference_plan, data, kept)
