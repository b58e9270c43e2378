"""Scheduling runs obey their laws, and the engine does what the reference does."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import assume, event, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.systems.backendai.settings import BackendAISettings
from evenhand.testing import strategies as es
from tests.drawing import shuffled
from tests.reference.backendai import reference_plan
from tests.reference.backendai.turn_laws import Followed, check_followed

SAME = ("action", "allocation", "request", "operation", "node", "stage", "reason", "step")
OF_VICTIMS = ("mode", "beneficiary", "freed", "kept")


def plan_of(data: dict[str, Any] | eh.Snapshot, settings: BackendAISettings) -> eh.Plan:
    snapshot = data if isinstance(data, eh.Snapshot) else eh.Snapshot.from_dict(data)
    return eh.plan(snapshot, eh.policies.BackendAI(**settings.model_dump()))


def essence(plan: dict[str, Any]) -> Any:
    decisions = [
        {key: d[key] for key in (*SAME, *(OF_VICTIMS if d["action"] == "preempt" else ()))}
        for d in plan["decisions"]
    ]
    return decisions, sorted((r["request"], r["rule"]) for r in plan["refusals"])


@given(data=es.session_groups(), settings=es.backendai_settings(), chance=st.randoms())
def test_laws(data: dict[str, Any], settings: BackendAISettings, chance: Random) -> None:
    snapshot = eh.Snapshot.from_dict(data)
    plan = plan_of(snapshot, settings)
    found = plan.to_dict()
    for decision in found["decisions"]:
        event(decision["action"])
    for refusal in found["refusals"]:
        event(refusal["rule"])
    assert essence(found) == essence(reference_plan(snapshot, settings))
    check_followed(Followed(snapshot.to_dict(), found, settings))
    assert plan.check(snapshot).findings == (), "all of a plan holds on its own snapshot"
    planning_again_takes_no_session_for_a_need_that_is_served(plan, settings)
    recording_changes_nothing(plan, data)
    assert plan_of(shuffled(data, chance), settings).to_json() == plan.to_json(), "the order of rows matters"


def test_a_licence_without_a_node_beside_an_order_by_size() -> None:
    """What a part without a node frees is compared with what lacks of the cluster alone."""
    data = {
        "now": 1000,
        "resources": {"cpu": {}, "lic": {"kind": "license", "scope": "cluster", "capacity": 1}},
        "nodes": [{"name": "n0", "capacity": {"cpu": 4}}],
        "operations": [
            {"name": "p", "priority": 2},
            {"name": "s", "priority": 1},
            {"name": "t", "priority": 1},
        ],
        "requests": [{"name": "p-r", "operation": "p", "resources": {"cpu": 4}}],
        "allocations": [
            {"name": "s-k", "operation": "s", "node": "n0", "resources": {"cpu": 2}},
            {"name": "t-k", "operation": "t", "node": "n0", "resources": {"cpu": 2}},
            {"name": "t-l", "operation": "t", "resources": {"lic": 1}},
        ],
    }
    settings = BackendAISettings(preemption_order="fewest-sessions", victim_area="group")
    snapshot = eh.Snapshot.from_dict(data)
    found = plan_of(snapshot, settings).to_dict()
    assert [d["allocation"] for d in found["decisions"]] == ["s-k", "t-k", "t-l"]
    assert essence(found) == essence(reference_plan(snapshot, settings))


def test_room_that_leaves_for_a_request_of_which_none_is_left() -> None:
    """It counts for the session once more when the plan is carried out, and no other has to leave."""
    data = {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n0", "capacity": {"cpu": 6}}],
        "operations": [
            {"name": "p", "priority": 9},
            {"name": "s", "priority": 1},
            {"name": "t", "priority": 1},
        ],
        "requests": [
            {"name": "p-r", "operation": "p", "resources": {"cpu": 4}},
            {"name": "p-done", "operation": "p", "resources": {"cpu": 2}, "count": 0},
        ],
        "allocations": [
            {"name": "s-k", "operation": "s", "node": "n0", "resources": {"cpu": 2}},
            {"name": "t-k", "operation": "t", "node": "n0", "resources": {"cpu": 2}, "start_time": 9},
            {"name": "u-k", "operation": "t", "node": "n0", "resources": {"cpu": 2}, "state": "preempting"}
            | {"beneficiary": {"request": "p-done"}},
        ],
    }
    snapshot = eh.Snapshot.from_dict(data)
    settings = BackendAISettings()
    found = plan_of(snapshot, settings).to_dict()
    assert len(found["decisions"]) == 1
    check_followed(Followed(snapshot.to_dict(), found, settings))


def planning_again_takes_no_session_for_a_need_that_is_served(
    plan: eh.Plan, settings: BackendAISettings
) -> None:
    served = {d.beneficiary.operation for d in plan.decisions.victims}
    again = plan_of(plan.snapshot.after(plan), settings)
    assert served.isdisjoint({d.beneficiary.operation for d in again.decisions.victims})


def recording_changes_nothing(plan: eh.Plan, data: dict[str, Any]) -> None:
    """And has something to say of every allocation and of every refusal."""
    before = plan.to_json()
    taken = {d.allocation for d in plan.decisions.victims}
    for row in data["allocations"]:
        told = plan.why_not(row["name"])
        assert told.sentences
        assert (told.code == "lower_priority") == (row["name"] in taken)
    for refusal in plan.refusals:
        assert plan.why_not(refusal.request).code == refusal.rule
    assert plan.to_json() == before
    assert plan_of(data, plan.policy.settings).to_json() == before


@given(data=es.session_groups())
def test_a_plan_that_preempts_is_followed_by_a_quiet_one(data: dict[str, Any]) -> None:
    """In the preset "documented": only the front may preempt, and it blocks the rest."""
    snapshot = eh.Snapshot.from_dict({**data, "reservations": []})
    plan = plan_of(snapshot, BackendAISettings())
    assume(len(plan.decisions.victims))
    again = plan_of(snapshot.after(plan), BackendAISettings())
    assert again.to_dict()["decisions"] == []


@given(data=es.session_groups(), settings=es.backendai_settings(), every=st.booleans())
def test_one_for_whom_others_leave_starts_once_they_have_gone(
    data: dict[str, Any], settings: BackendAISettings, every: bool
) -> None:
    """Nothing that starts meanwhile takes room that it needs. With one request a session: others may fit
    less in more room."""
    settings = settings.replace(preemption_mode="terminate", preemptors="every" if every else "front")
    single = {row["operation"]: {**row, "count": 1} for row in data["requests"]}
    snapshot = eh.Snapshot.from_dict({**data, "requests": list(single.values()), "reservations": []})
    plan = plan_of(snapshot, settings)
    served = {r.request for r in plan.refusals if r.rule == "waits_for_victims"}
    assume(len(served) == 1)
    after = snapshot.after(plan).to_dict()
    after["allocations"] = [a for a in after["allocations"] if a.get("state") != "preempting"]
    started = {d.request for d in plan_of(after, settings).decisions.starts}
    assert served <= started


@given(data=es.session_groups())
def test_nobody_goes_when_the_front_fits(data: dict[str, Any]) -> None:
    plan = plan_of(data, BackendAISettings())
    first = plan.to_dict()["decisions"][:1]
    if first and first[0]["action"] in ("start", "resume"):
        assert len(plan.decisions.victims) == 0


@given(data=es.session_groups())
def test_an_order_reversed_reverses_ties_only(data: dict[str, Any]) -> None:
    """With one allocation a session and all start times apart, priorities go alike by either order.

    What differs are sessions of the same priority only: as many of each lower priority are looked at.
    """
    old, new = (
        plan_of(data, BackendAISettings(preemption_order=order, victim_selection="prefix"))
        for order in ("oldest", "newest")
    )
    priorities = [
        [snapshot_priority(data, d.operation) for d in plan.decisions.victims] for plan in (old, new)
    ]
    for taken in priorities:
        assert taken == sorted(taken)
    assert bool(priorities[0]) == bool(priorities[1]) or two_units(data)


def snapshot_priority(data: dict[str, Any], name: Any) -> int:
    (row,) = (row for row in data["operations"] if row["name"] == name)
    return int(row["priority"])


def two_units(data: dict[str, Any]) -> bool:
    """Whether some session asks for several things: then more room may fit less, one after the other."""
    counts: dict[str, int] = {}
    for row in data["requests"]:
        counts[row["operation"]] = counts.get(row["operation"], 0) + row["count"]
    return max(counts.values()) > 1


@given(data=es.session_groups(max_running=8, max_waiting=1), count=st.integers(2, 4))
def test_fewest_for_several_copies_are_those_of_brute_force(data: dict[str, Any], count: int) -> None:
    """Nodes are looked at one by one there, and ties go by the order all the same."""
    data["requests"] = [{**data["requests"][0], "count": count}]
    snapshot = eh.Snapshot.from_dict({**data, "reservations": []})
    settings = BackendAISettings(victim_selection="minimum", preemptible_priority=10)
    plan = plan_of(snapshot, settings)
    assert essence(plan.to_dict()) == essence(reference_plan(snapshot, settings))
    assert plan.counts.get("minimum.proved", 1) == 1


@given(data=es.session_groups(), settings=es.backendai_settings())
def test_fewest_are_never_more(data: dict[str, Any], settings: BackendAISettings) -> None:
    """In one run with one preemptor; later ones see other rooms."""
    settings = settings.replace(preemptors="front", victim_area="group", victim_cost="victims")
    few, some = (
        plan_of(data, settings.replace(victim_selection=selection))
        for selection in ("minimum", "irreducible")
    )
    counts = [plan.counts["scheduling_run.preempted_sessions"] for plan in (few, some)]
    assert counts[0] <= counts[1]
    assert bool(counts[0]) == bool(counts[1])
    if counts[0]:
        assert few.counts["minimum.proved"] == 1
        assert few.counts["minimum.lower_bound"] == few.counts["minimum.cost"] == counts[0]


@given(
    data=es.session_groups(max_nodes=1, max_running=9, max_waiting=1),
    more=st.lists(st.integers(1, 4), min_size=1, max_size=2),
    costs=st.lists(st.integers(1, 9), min_size=9, max_size=9),
    budget=st.integers(1, 8),
)
def test_a_spent_budget_takes_nobody_who_is_not_needed(
    data: dict[str, Any], more: list[int], costs: list[int], budget: int
) -> None:
    """Several requests on one node, where more room never fits less: sets are tried one by one."""
    first = {**data["requests"][0], "count": 1}
    others = [{**first, "name": f"more{i}", "resources": {"cpu": cpu}} for i, cpu in enumerate(more)]
    given = [
        {**row, "settings": {**row["settings"], "preemption_cost": cost}}
        for row, cost in zip(data["operations"], [1, *costs], strict=False)
    ]
    data = {**data, "requests": [first, *others], "operations": given, "reservations": []}
    settings = BackendAISettings(
        victim_selection="minimum", victim_cost="given", preemptible_priority=10, minimum_budget=budget
    )
    victims = {d.operation for d in plan_of(data, settings).decisions.victims}
    event(f"{len(victims)} go")
    for spare in victims:
        rows = [
            row if row["operation"] in victims - {spare} else {**row, "preemptible": False}
            for row in data["allocations"]
        ]
        less = plan_of({**data, "allocations": rows}, settings.replace(victim_selection="irreducible"))
        assert len(less.decisions.victims) == 0
