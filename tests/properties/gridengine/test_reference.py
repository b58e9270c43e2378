"""The planner and the readable rules decide the same, and laws of the manual hold."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.testing import strategies as es
from evenhand.testing.strategies._picking import Pick, picks
from tests.properties.gridengine.asking import asked_for
from tests.reference.gridengine import Run, World, judge
from tests.reference.gridengine.requests import Accepted
from tests.reference.gridengine.subordinates import Trees

CLUSTERS = st.tuples(es.gridengine_clusters(), es.gridengine_settings(), picks(32))


def said(plan: eh.Plan) -> list[dict[str, Any]]:
    """Decisions as the reference has them."""
    found = []
    for d in plan.decisions:
        row: dict[str, Any] = {
            "action": d.action,
            "name": d.allocation or d.request,
            "node": d.node,
            "at": d.at,
        }
        if d.action == "reserve":
            row["until"] = d.until
        if d.action == "preempt":
            row |= {"mode": d.mode, "until": d.until, "freed": dict(d.freed), "kept": dict(d.kept)}
            row["beneficiary"] = d.beneficiary.operation if d.beneficiary else None
        found.append(row)
    return found


@given(drawn=CLUSTERS)
def test_a_run_is_what_the_rules_say(drawn: tuple[dict[str, Any], Any, Pick]) -> None:
    data, settings, _ = drawn
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.GridEngine(**settings.model_dump()))
    run = Run(World(data, settings))
    assert said(plan) == run.decisions
    assert {r.request: r.rule for r in plan.refusals} == run.rules


@given(drawn=CLUSTERS)
def test_a_request_is_what_the_rules_say(drawn: tuple[dict[str, Any], Any, Pick]) -> None:
    data, settings, pick = drawn
    snapshot, policy = eh.Snapshot.from_dict(data), eh.policies.GridEngine(**settings.model_dump())
    command = asked_for(data, pick)
    asked = eh.plan(snapshot, policy, on=eh.Commands((command,)))
    assert not asked.decisions
    world = World(data, settings)
    answer = judge(world, command)
    rules = [r.rule for r in asked.refusals if r.command == 0]
    assert rules == ([answer] if isinstance(answer, str) else [])
    accepted: dict[str, Accepted] = {} if isinstance(answer, str) else dict([answer])
    plan = eh.plan(snapshot, policy, asked.state)
    run = Run(world, accepted)
    assert said(plan) == run.decisions
    assert {r.request: r.rule for r in plan.refusals} == run.rules
    again = eh.plan(snapshot, policy, plan.state)  # what was accepted is carried out or dropped, once
    assert said(again) == Run(world).decisions


@given(drawn=CLUSTERS)
def test_the_run_after_it_is_what_the_rules_say(drawn: tuple[dict[str, Any], Any, Pick]) -> None:
    data, settings, pick = drawn
    if pick(range(4)):  # most often preemptees come back before their preemptors, were it not for a rule
        more = {"max_reservation": 10, "max_preemptees": 10, "preemption_distance": 0.0}
        more |= {
            "prioritize_preemptees": True,
            "automatic_preemption": True,
            "preemption_action": pick("PPN"),
        }
        settings = settings.model_copy(update=more)
    snapshot, policy = eh.Snapshot.from_dict(data), eh.policies.GridEngine(**settings.model_dump())
    plan = eh.plan(snapshot, policy)
    then = snapshot.after(plan)
    preemptors = {
        d.operation: d.beneficiary.operation
        for d in plan.decisions.victims
        if d.beneficiary is not None and d.mode in ("preempt", "enhanced_suspend", "suspend")
    }
    run = Run(World(then.to_dict(), settings), preempted_for=preemptors)
    plan = eh.plan(then, policy, plan.state)
    assert said(plan) == run.decisions
    assert {r.request: r.rule for r in plan.refusals} == run.rules


ON_SUBORDINATE = ("subordinate_threshold", "queue_suspended")


@given(drawn=CLUSTERS)
def test_laws_of_preemption(drawn: tuple[dict[str, Any], Any, Pick]) -> None:
    data, settings, _ = drawn
    snapshot = eh.Snapshot.from_dict(data)
    policy = eh.policies.GridEngine(**settings.model_dump())
    plan = eh.plan(snapshot, policy)
    held = {row["name"]: row["resources"] for row in data["allocations"]}
    priority = {row["name"]: row["priority"] for row in data["operations"]}
    world = World(data, settings)
    stopped = {job.name for job in world.jobs.values() if Trees(world).stopped(job)}
    away = {row["operation"] for row in data["allocations"] if row["state"] in ("preempted", "preempting")}
    away -= stopped  # on subordinate: no preemptees
    victims = [d for d in plan.decisions.victims if d.reason not in ON_SUBORDINATE]
    taken = {d.operation for d in victims}
    assert not taken or len(taken | away) <= settings.max_preemptees
    assert not taken & away
    for d in victims:
        assert {r: d.freed.get(r, 0) + d.kept.get(r, 0) for r in held[d.allocation]} == held[d.allocation]
        assert not set(d.kept) & set(settings.lo_licenses)
        assert d.mode in ("preempt", "enhanced_suspend", "suspend") or not d.kept
        assert d.beneficiary is not None
        assert priority[d.operation] < priority[d.beneficiary.operation]
    after = snapshot.after(plan)
    assert all(used <= has for used, has in _used_and_had(snapshot, after))


def _used_and_had(before: eh.Snapshot, after: eh.Snapshot) -> list[tuple[float, float]]:
    """What is in use where anything is, at most what there is, or what was in use before."""
    return [
        (used, max(has, _in_use(before).get(place, 0)))
        for place, used in _in_use(after).items()
        for has in (_there_is(after).get(place, 0),)
    ]


def _in_use(snapshot: eh.Snapshot) -> dict[tuple[Any, str], float]:
    data = snapshot.to_dict()
    wide = {r for r, of in data["resources"].items() if of.get("scope") == "cluster"}
    sums: dict[tuple[Any, str], float] = {}
    for row in data.get("allocations", ()):
        amounts = row.get("held", {}) if row.get("state") == "preempted" else row["resources"]
        for r, amount in amounts.items():
            place = (None if r in wide else row.get("node"), r)
            sums[place] = sums.get(place, 0) + amount
    return sums


def _there_is(snapshot: eh.Snapshot) -> dict[tuple[Any, str], float]:
    data = snapshot.to_dict()
    found = {(row["name"], r): a for row in data["nodes"] for r, a in row.get("capacity", {}).items()}
    return found | {(None, r): of["capacity"] for r, of in data["resources"].items() if "capacity" in of}
