"""A step of a plan holds only if a plan made now has it too, whatever happened in between."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import replace
from typing import Any

from hypothesis import assume, event, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.plans import Check, Plan, Step
from evenhand.systems.backendai.settings import BackendAISettings
from evenhand.systems.gridengine.settings import GridEngineSettings
from evenhand.systems.slurm.settings import SlurmSettings
from evenhand.testing import strategies as es
from evenhand.testing._plan_ledger import carried_out
from tests.drawing import examples
from tests.properties.changing import changed

CHANGES = max(examples(0.05), 5)
"""So many a plan: at least half of the plans have a step."""

#: For these a step is refused though a plan made now has it.
NOT_ENOUGH = {
    *("victim_moved", "victim_changed", "victim_leaving", "victim_of_another", "request_changed"),
    *("operation_gone", "node_gone"),
    *("node_full", "cluster_full", "limits_exceeded"),
}

Essence = tuple[Any, ...]


def essence(step: Step) -> Essence:
    """What has to be the same, from the objects that users see."""
    starts = [d for d in step.decisions if d.action in ("start", "resume", "release")]
    return (
        step.beneficiary,
        frozenset((victim.allocation, victim.mode) for victim in step.victims),
        sorted((d.action, str(d.request), str(d.allocation), str(d.node)) for d in starts),
    )


def remembered(plan: Plan, done: list[Step]) -> eh.State | None:
    """The state that a plan started from, with what its carried-out steps left there."""
    taking = [step for step in done if step.victims]
    if not taking:
        return plan.state_before
    after = plan.state
    before = plan.state_before or replace(after, elements={}, nodes={}, operations={}, victims={})
    numbers = {step.number for step in done}
    open_ = {d.node for s in plan.steps() if s.number not in numbers and s.beneficiary for d in s.victims}
    tried = {d.node for step in taking for d in step.victims} - open_
    served = {step.beneficiary.operation for step in taking if step.beneficiary}
    nodes = dict(before.nodes)
    for name in tried & after.nodes.keys():
        since = nodes.get(name, {}).get("overcommitted_since")
        nodes[name] = {"last_preemptive": after.nodes[name]["last_preemptive"], "overcommitted_since": since}
    operations = dict(before.operations) | {n: v for n, v in after.operations.items() if n in served}
    return replace(before, nodes=nodes, operations=operations, victims=counted(plan, before, taking))


def counted(plan: Plan, before: eh.State, taking: list[Step]) -> dict[Any, Any]:
    """Victims that count for the pace: those before, and those of carried-out steps, one a job or session."""
    data = plan.snapshot.to_dict()
    pool_of = {row["name"]: row.get("pool") for row in data.get("operations", ())}
    parent = {row["name"]: row.get("parent") for row in data.get("pools", ())}
    victims = dict(before.victims)
    for step in taking:
        of = [victim.operation for victim in step.victims]
        for operation in of if isinstance(plan.policy, eh.policies.YTsaurus) else dict.fromkeys(of):
            if ("operation", operation) in plan.state.victims:
                victims["operation", operation] = {"taken": [plan.snapshot.now]}
            pool = pool_of[operation]
            while pool is not None:
                if ("pool", pool) in plan.state.victims:
                    earlier = victims.get(("pool", pool), {"taken": ()})["taken"]
                    victims["pool", pool] = {"taken": [*earlier, plan.snapshot.now]}
                pool = parent[pool]
    return victims


def given_now(plan: Plan, fresh: eh.Snapshot) -> dict[str, Any] | None:
    """Given values of what is still there."""
    if not plan.given:
        return None
    names = {str(name) for name in (*fresh.element_names, *fresh.names("allocations"))}
    return {
        field: {name: value for name, value in values.items() if name.removesuffix(" (operation)") in names}
        for field, values in plan.given.items()
    }


def check_rounds(plan: Plan, seed: int) -> None:
    """Change the cluster again and again, some steps carried out before, and hold the check to its law."""
    steps = plan.steps()
    assume(steps)
    rng = random.Random(seed)
    base = plan.snapshot.to_dict()
    for _ in range(CHANGES):
        done = [step for step in steps if rng.random() < 0.3]
        rest = [step for step in steps if step not in done]
        skip = [step.number for step in rest if rng.random() < 0.1]
        data = deepcopy(base)
        if done:
            told = {"decisions": [d.to_dict() for step in done for d in step.decisions]}
            data = carried_out(data, told)
            victims = {d.allocation for step in done for d in step.victims}
            if rng.random() < 0.5:
                data["allocations"] = [a for a in data["allocations"] if a["name"] not in victims]
                names = {row["name"] for row in data["allocations"]}
                data["reservations"] = [
                    r for r in data.get("reservations", ()) if r.get("allocation") in (None, *names)
                ]
        data = changed(data, rng)
        try:
            fresh = eh.Snapshot.from_dict(data)
        except eh.InputError:
            continue  # reservations of what has left and the like
        judge_round(plan, fresh, done, skip)


def judge_round(plan: Plan, fresh: eh.Snapshot, done: list[Step], skip: list[int]) -> None:
    on = plan.on
    numbers = [step.number for step in done]
    if isinstance(on, eh.Heartbeat) and on.node not in fresh.names("nodes"):
        again: list[Essence] = []
    else:
        state = remembered(plan, done)
        try:
            now = eh.plan(fresh, plan.policy, state, on=on, given=given_now(plan, fresh))
        except eh.InputError:
            return
        again = [essence(step) for step in now.steps()]
    check = plan.check(fresh, done=numbers, skip=skip)
    held(plan, check, again, {*numbers, *skip})
    unchanged(plan, fresh, set(check.steps))


def unchanged(plan: Plan, fresh: eh.Snapshot, holds: set[int]) -> None:
    """Victims and requests of steps that hold are the same work."""
    before, after = (
        {
            table: {row["name"]: row for row in snapshot.to_dict().get(table, ())}
            for table in ("allocations", "requests")
        }
        for snapshot in (plan.snapshot, fresh)
    )
    for step in plan.steps():
        if step.number not in holds:
            continue
        for victim in step.victims:
            was, now = (side["allocations"][victim.allocation] for side in (before, after))
            for field in ("operation", "node", "resources"):
                assert was.get(field) == now.get(field)
            assert now.get("state", "running") in (was.get("state", "running"), "running")
        served = {d.request for d in step.decisions if d.action == "start"}
        if step.beneficiary and step.beneficiary.request is not None:
            served.add(step.beneficiary.request)  # others of a session may have gone meanwhile
        for request in served:
            was, now = (side["requests"][request] for side in (before, after))
            assert was.get("resources") == now.get("resources")


def held(plan: Plan, check: Check, again: list[Essence], left_out: set[int]) -> None:
    """What holds is in the fresh plan; what is there and does not hold has a reason beyond it."""
    holds = set(check.steps)
    assert holds.isdisjoint(left_out)
    for step in plan.steps():
        if step.number in left_out:
            continue
        codes = {f.code for f in check.findings if f.step == step.number}
        what = essence(step)
        if step.number in holds:
            assert what in again, "a plan made now would not do it"
            again.remove(what)  # each of its steps answers for one
            event("holds with victims" if step.victims else "holds")
            assert not codes
        else:
            for code in codes:
                event(code)
            assert codes
            assert what not in again or codes & NOT_ENOUGH, (what, codes)
    for finding in check.findings:
        assert "{" not in finding.message
        assert finding.message


@given(drawn=es.plan_inputs(), seed=st.integers(0, 2**32))
def test_no_step_that_a_fresh_plan_would_not_take_of_ytsaurus(drawn: es.PlanInput, seed: int) -> None:
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    state = eh.State.from_dict(drawn.state) if drawn.state else None
    snapshot = eh.Snapshot.from_dict(drawn.snapshot)
    check_rounds(eh.plan(snapshot, policy, state, on=drawn.on, given=drawn.given), seed)


@given(data=es.session_groups(), settings=es.backendai_settings(), seed=st.integers(0, 2**32))
def test_no_step_that_a_fresh_plan_would_not_take_of_backendai(
    data: dict[str, Any], settings: BackendAISettings, seed: int
) -> None:
    check_rounds(eh.plan(eh.Snapshot.from_dict(data), eh.policies.BackendAI(**settings.model_dump())), seed)


@given(data=es.job_clusters(), settings=es.slurm_settings(), seed=st.integers(0, 2**32))
def test_no_step_that_a_fresh_plan_would_not_take_of_slurm(
    data: dict[str, Any], settings: SlurmSettings, seed: int
) -> None:
    check_rounds(eh.plan(eh.Snapshot.from_dict(data), eh.policies.Slurm(**settings.model_dump())), seed)


@given(data=es.gridengine_clusters(), settings=es.gridengine_settings(), seed=st.integers(0, 2**32))
def test_no_step_that_a_fresh_plan_would_not_take_of_gridengine(
    data: dict[str, Any], settings: GridEngineSettings, seed: int
) -> None:
    check_rounds(eh.plan(eh.Snapshot.from_dict(data), eh.policies.GridEngine(**settings.model_dump())), seed)
