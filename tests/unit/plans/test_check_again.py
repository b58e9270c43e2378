"""A step holds only if the plan that would be made now has it too."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import evenhand as eh
from evenhand.plans import Plan
from evenhand.plans.again import Again

Data = dict[str, Any]
Change = Callable[[Data], object]


def group(**more: Any) -> Data:
    """One full node of Backend.AI: a, b and c run with low priorities, and p waits for the room of one."""
    return {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n1", "capacity": {"cpu": 8}}, {"name": "n2", "capacity": {"cpu": 4}}],
        "operations": [
            {"name": "a", "priority": 4},
            {"name": "b", "priority": 3},
            {"name": "c", "priority": 2},
            {"name": "d", "priority": 2},
            {"name": "p", "priority": 10},
        ],
        "allocations": [
            {"name": f"{name}-k", "operation": name, "node": node, "start_time": 10, "resources": {"cpu": 4}}
            for name, node in (("a", "n1"), ("b", "n1"), ("c", "n2"))
        ],
        "requests": [{"name": "p-r", "operation": "p", "resources": {"cpu": 4}}],
    } | more


def row(data: Data, table: str, name: str) -> Data:
    (found,) = (r for r in data[table] if r["name"] == name)
    return found


def without(data: Data, table: str, name: str) -> None:
    data[table] = [r for r in data[table] if r["name"] != name]


def later(data: Data, change: Change = lambda _: None, seconds: float = 5) -> eh.Snapshot:
    data = copy.deepcopy(data)
    data["now"] += seconds
    change(data)
    return eh.Snapshot.from_dict(data)


def planned(data: Data, policy: Any, **more: Any) -> Plan:
    return eh.plan(eh.Snapshot.from_dict(data), policy, **more)


def codes(plan: Plan, fresh: eh.Snapshot, **more: Any) -> list[str]:
    return [f.code for f in plan.check(fresh, **more).findings if f.code != "step_broken"]


def of(table: str, name: str, **fields: Any) -> Change:
    return lambda data: row(data, table, name).update(fields)


def gone(data: Data) -> None:
    without(data, "requests", "p-r")
    without(data, "operations", "p")


def room(data: Data) -> None:
    data["nodes"].append({"name": "n3", "capacity": {"cpu": 4}})


def better(data: Data) -> None:
    """Another session of the lowest priority runs where the request fits."""
    data["operations"].append({"name": "z", "priority": 1})
    data["nodes"].append({"name": "n3", "capacity": {"cpu": 4}})
    data["allocations"].append({**row(data, "allocations", "c-k"), "name": "z-k"})
    row(data, "allocations", "z-k").update(operation="z", node="n3")


def renamed(data: Data) -> None:
    row(data, "operations", "c")["name"] = "c2"
    row(data, "allocations", "c-k")["operation"] = "c2"


def renumbered(data: Data) -> None:
    row(data, "nodes", "n2")["name"] = "n9"
    row(data, "allocations", "c-k")["node"] = "n9"


CHANGES: list[tuple[str, Change, str | None, str]] = [
    ("nothing", lambda data: None, None, ""),
    ("request gone", lambda data: without(data, "requests", "p-r"), "beneficiary_gone", "p no longer waits"),
    ("session gone", gone, "beneficiary_gone", "p no longer waits"),
    ("fell", of("operations", "p", priority=1), "priority_fell", "priority of p-r is 1"),
    ("fell a little", of("operations", "p", priority=7), None, ""),
    ("grew", of("requests", "p-r", resources={"cpu": 20}), "request_changed", "p-r asks for 20 cpu"),
    ("closed", of("nodes", "n2", schedulable=False), "other_victims", "now: b-k, not c-k"),
    (
        "all closed",
        lambda d: [n.update(schedulable=False) for n in d["nodes"]],
        "beneficiary_not_served",
        "p-r",
    ),
    ("protected", of("allocations", "c-k", preemptible=False), "victim_protected", "preemptible is false"),
    ("system", of("operations", "c", kind="system"), "victim_protected", "kind is system, no longer batch"),
    ("more urgent", of("operations", "c", priority=4), "priority_raised", "priority of c-k is 4"),
    ("still taken", of("allocations", "c-k", start_time=20), None, ""),
    ("room", room, "beneficiary_fits_without_victims", "p would start in free room now, on n3"),
    ("better", better, "other_victims", "others would leave for p now: z-k, not c-k"),
    ("ended", lambda data: without(data, "allocations", "c-k"), "victim_ended", "c-k has ended"),
    ("moved", of("allocations", "c-k", node="n1"), "victim_moved", "n1"),
    (
        "another's",
        of("allocations", "c-k", operation="d"),
        "victim_of_another",
        "c-k is of operation d, not of c",
    ),
    ("renamed", renamed, "operation_gone", "operation c is gone"),
    ("other node", renumbered, "node_gone", "node n2 is gone"),
    ("shrank", of("allocations", "c-k", resources={"cpu": 3}), "victim_changed", "3 cpu"),
]


@pytest.mark.parametrize(("change", "code", "said"), [pytest.param(*r, id=n) for n, *r in CHANGES])
def test_a_session_is_preempted_only_for_one_that_still_needs_it(
    change: Change, code: str | None, said: str
) -> None:
    plan = planned(group(), eh.policies.BackendAI())
    assert [(d.action, d.allocation) for d in plan.decisions] == [("preempt", "c-k")]
    check = plan.check(later(group(), change))
    if code is None:
        assert check
        assert check.steps == [0]
        return
    assert [f.code for f in check.findings] == [code]
    assert said in check.findings[0].message
    assert not check.steps


UPSTREAM: list[tuple[str, Change, str]] = [
    ("job priority", of("operations", "c", settings={"job_priority": 6}), "victim_protected"),
    ("opted out", of("operations", "c", settings={"is_preemptible": False}), "victim_protected"),
    ("other user", of("operations", "c", user="eve"), "victim_protected"),
    ("began anew", of("allocations", "c-k", start_time=1000), "order_changed"),
    ("fell", of("operations", "p", settings={"job_priority": 0}), "beneficiary_not_served"),
]


@pytest.mark.parametrize(("change", "code"), [pytest.param(*r, id=n) for n, *r in UPSTREAM])
def test_what_protects_upstream(change: Change, code: str) -> None:
    policy = eh.policies.BackendAI(
        "upstream", enabled=True, preemption_min_runtime=60, victim_scope="user", preemption_order="newest"
    )
    data = group()
    for operation in data["operations"]:
        operation.update(user="ann", settings={"job_priority": 5 if operation["name"] == "p" else 0})
    del data["allocations"][:2]
    data["nodes"][0]["schedulable"] = False
    plan = planned(data, policy)
    assert [d.allocation for d in plan.decisions.victims] == ["c-k"]
    assert plan.check(later(data))
    found = plan.check(later(data, change)).findings
    assert found[0].code == code, found


def test_the_rule_of_the_refusal_is_told() -> None:
    plan = planned(group(), eh.policies.BackendAI())
    (found,) = plan.check(
        later(group(), lambda d: [n.update(schedulable=False) for n in d["nodes"]])
    ).findings
    assert found.numbers["rule"] in {r.rule for r in eh.plan(later(group()), plan.policy).refusals} | {
        "no_lower_priority",
        "node_not_schedulable",
    }


# YTsaurus: shares, clocks and given values


def tree(**more: Any) -> Data:
    """Nodes of two cpus are full of old's work; new starves, and takes one allocation of a node."""
    return {
        "now": 100,
        "resources": {"cpu": {}},
        "nodes": [{"name": f"n{i}", "capacity": {"cpu": 2}} for i in (1, 2)],
        "operations": [{"name": "old"}, {"name": "new"}],
        "allocations": [
            {"name": f"a{i}", "operation": "old", "node": f"n{i % 2 + 1}", "resources": {"cpu": 1}}
            | {"start_time": i}
            for i in range(4)
        ],
        "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 1}, "count": 2}],
    } | more


STARVES = {"starvation": {"new": "starving"}}


def test_given_values_are_given_again() -> None:
    plan = planned(tree(), eh.policies.YTsaurus(), given=STARVES)
    assert [step.victims[0].allocation for step in plan.steps()] == ["a2", "a3"]
    assert plan.check(later(tree()))


def test_given_values_of_names_that_left_are_dropped() -> None:
    groups = {f"a{i}": "preemptible" if i > 1 else "non_preemptible" for i in range(4)}
    shares = {"old": {"cpu": 0.5}, "new": {"cpu": 0.5}}
    plan = planned(tree(), eh.policies.YTsaurus(), given={**STARVES, "groups": groups, "fair_share": shares})
    assert [step.victims[0].allocation for step in plan.steps()] == ["a2", "a3"]
    found = plan.check(later(tree(), lambda d: without(d, "allocations", "a2")))
    assert [f.code for f in found.findings] == ["victim_ended", "step_broken"]
    assert found.steps == [1]

    def left(data: Data) -> None:
        without(data, "operations", "new")
        without(data, "requests", "r")

    assert not plan.check(later(tree(), left)).steps


def test_a_heartbeat_of_a_node_that_left() -> None:
    plan = planned(tree(), eh.policies.YTsaurus(), given=STARVES, on=eh.Heartbeat("n2"))
    assert plan.check(later(tree()))

    def left(data: Data) -> None:
        without(data, "nodes", "n2")
        data["allocations"] = data["allocations"][::2]

    assert set(codes(plan, later(tree(), left))) == {"node_gone"}
    assert set(codes(plan, later(tree(), lambda d: without(d, "allocations", "a3")))) == {"victim_ended"}


def starving() -> tuple[Data, eh.State]:
    """A tree whose second operation has been below its share for long, and the state that knows."""
    early = planned(tree(now=0), eh.policies.YTsaurus())
    assert not early.steps()
    return tree(), early.state


def test_the_fresh_plan_begins_where_the_first_began() -> None:
    """Not from the state that it left: then its own attempts would be in back-off."""
    data, state = starving()
    plan = planned(data, eh.policies.YTsaurus(), state=state)
    assert [step.victims[0].allocation for step in plan.steps()] == ["a2", "a3"]
    assert plan.state_before is state
    fresh = later(data)
    assert not eh.plan(fresh, plan.policy, plan.state).steps(), "in back-off"
    assert plan.check(fresh)


def carried(data: Data, victim: str, node: str, **more: Any) -> Data:
    """One victim has left and one of r runs in its place."""
    data = copy.deepcopy(data)
    without(data, "allocations", victim)
    data["requests"][0]["count"] -= 1
    data["allocations"].append(
        {"name": f"r/{node}", "operation": "new", "node": node, "resources": {"cpu": 1}, "start_time": 101}
    )
    return data | more


def test_a_step_that_was_carried_out_is_not_done_again() -> None:
    """Another victim of its node would leave for what else waits; the node is in back-off instead."""
    data, state = starving()
    data["requests"][0]["count"] = 3
    plan = planned(data, eh.policies.YTsaurus(), state=state)
    assert [step.victims[0].allocation for step in plan.steps()] == ["a2", "a3"]
    fresh = later(carried(data, "a2", "n1"))
    check = plan.check(fresh, done=[0])
    assert check, check.findings
    assert check.steps == [1]
    assert check.skipped == {0}


MICRO = 1e-6


@pytest.mark.parametrize(("seconds", "again"), [(10 - MICRO, False), (10, False), (10 + MICRO, True)])
def test_the_back_off_of_a_node_begins_at_the_plan(seconds: float, again: bool) -> None:
    """As in the state that the plan left: an attempt is allowed once more than the back-off has passed."""
    _, state = starving()
    data = tree(nodes=[{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")])
    data["allocations"] = [{**data["allocations"][i % 4], "name": f"a{i}", "start_time": i} for i in range(8)]
    data["requests"][0]["count"] = 4
    plan = planned(data, eh.policies.YTsaurus(preemptive_scheduling_backoff=10), state=state)
    assert [step.victims[0].allocation for step in plan.steps()] == ["a6", "a7"]
    fresh = later(carried(data, "a6", "n1"), seconds=seconds)
    now = Again(plan, fresh, [0]).plan
    assert now is not None
    assert ("n1" in {d.node for d in now.decisions.victims}) == again
    assert "n2" in {d.node for d in now.decisions.victims}


def test_a_node_in_the_middle_of_its_heartbeat_is_in_no_back_off() -> None:
    """Two stages take a victim each: the second is still to be done."""
    data = tree(
        nodes=[{"name": "n1", "capacity": {"cpu": 4}}],
        operations=[{"name": "old"}, {"name": "new"}, {"name": "next"}],
        requests=[
            {"name": "r", "operation": "new", "resources": {"cpu": 1}},
            {"name": "s", "operation": "next", "resources": {"cpu": 1}},
        ],
    )
    for allocation in data["allocations"]:
        allocation["node"] = "n1"
    given = {
        "starvation": {"new": "starving", "next": "aggressively_starving"},
        "fair_share": {"old": {"cpu": 0.5}, "new": {"cpu": 0.25}, "next": {"cpu": 0.25}},
        "groups": {"a3": "preemptible", "a2": "aggressively_preemptible"},
    }
    policy = eh.policies.YTsaurus(enable_aggressive_starvation=True)
    plan = planned(data, policy, given=given)
    steps = plan.steps()
    assert len(steps) == 2
    first = steps[0]
    assert first.start is not None
    fresh = copy.deepcopy(data)
    without(fresh, "allocations", str(first.victims[0].allocation))
    without(fresh, "requests", str(first.start.request))
    fresh["allocations"].append(
        {"name": "x", "operation": first.start.operation, "node": "n1", "resources": {"cpu": 1}}
    )
    check = plan.check(later(fresh), done=[0])
    assert check.steps == [1], check.findings
    alone = plan.check(later(fresh), done=[0, 1])
    assert not alone.steps


# Slurm: whole jobs, and what is remembered of those for whom others left


def jobs(**more: Any) -> Data:
    """Two partitions over three nodes: low jobs run, and a high one of each waits."""
    return {
        "now": 1000,
        "resources": {"cpu": {"quantum": 1}},
        "nodes": [{"name": f"n{i}", "capacity": {"cpu": 4}} for i in (1, 2, 3)],
        "operations": [
            *({"name": f"low{i}", "partition": "low", "start_time": i} for i in (1, 2, 3)),
            {"name": "p", "partition": "high", "start_time": 900, "priority": 9},
            {"name": "q", "partition": "other", "start_time": 900, "priority": 8},
        ],
        "allocations": [
            {"name": f"low{i}@n{i}", "operation": f"low{i}", "node": f"n{i}", "resources": {"cpu": 4}}
            | {"start_time": i}
            for i in (1, 2, 3)
        ],
        "requests": [
            {"name": f"{name}-r", "operation": name, "resources": {"cpu": 4}} for name in ("p", "q")
        ],
    } | more


PARTITIONS = {
    "low": {"PriorityTier": 1},
    "high": {"PriorityTier": 10, "Nodes": "n[1-2]"},
    "other": {"PriorityTier": 10, "Nodes": "n3"},
}


def slurm(**settings: Any) -> eh.policies.Slurm:
    given = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE", "partitions": PARTITIONS}
    return eh.policies.Slurm(**{**given, **settings})


def test_one_fresh_plan_for_all_steps_of_a_round() -> None:
    plan = planned(jobs(), slurm())
    victims = {
        str(s.beneficiary.operation): str(s.victims[0].operation) for s in plan.steps() if s.beneficiary
    }
    assert victims == {"p": "low1", "q": "low3"}
    assert plan.check(later(jobs()))

    def first_is_done(data: Data) -> None:
        without(data, "allocations", "low1@n1")
        without(data, "requests", "p-r")
        data["allocations"].append(
            {"name": "p@n1", "operation": "p", "node": "n1", "resources": {"cpu": 4}, "start_time": 1001}
        )

    check = plan.check(later(jobs(), first_is_done), done=[0])
    assert check.steps == [1], check.findings


def test_one_that_still_waits_after_its_step_is_remembered() -> None:
    """Another job took the room that was made for it. It is in back-off, and nobody else leaves for it."""
    plan = planned(jobs(), slurm())

    def taken(data: Data) -> None:
        without(data, "allocations", "low1@n1")
        data["operations"].append({"name": "thief", "partition": "high", "priority": 1})
        data["allocations"].append(
            {"name": "thief@n1", "operation": "thief", "node": "n1", "resources": {"cpu": 4}}
        )

    fresh = later(jobs(), taken)
    assert plan.check(fresh, done=[0]).steps == [1]
    again = Again(plan, fresh, [0])
    assert again.plan is not None
    assert [str(step.beneficiary.operation) for step in again.plan.steps() if step.beneficiary] == ["q"]
    assert again.rules["p-r"] == "preemption_backoff"
    assert "p-r" not in Again(plan, fresh).rules or Again(plan, fresh).rules["p-r"] == "waits_for_victims"


@pytest.mark.parametrize(("seconds", "again"), [(40 - MICRO, False), (40, True), (40 + MICRO, True)])
def test_the_back_off_of_a_job_begins_at_the_plan(seconds: float, again: bool) -> None:
    plan = planned(jobs(), slurm(KillWait=30, MessageTimeout=10))
    fresh = later(jobs(), lambda data: row(data, "allocations", "low1@n1").update(operation="q"), seconds)
    now = Again(plan, fresh, [0]).plan
    assert now is not None
    assert ("p" in {d.beneficiary.operation for d in now.decisions.victims if d.beneficiary}) == again


def test_whole_jobs_spoil_a_step_as_they_spoil_a_plan() -> None:
    plan = planned(jobs(requests=jobs()["requests"][:1]), slurm())
    data = jobs(requests=jobs()["requests"][:1])
    assert codes(plan, later(data, of("operations", "low1", partition="high"))) == ["victim_protected"]
    assert codes(plan, later(data, of("operations", "low1", priority=5))) == []
    assert codes(plan, later(data, of("allocations", "low1@n1", preemptible=False))) == ["victim_protected"]
    assert codes(plan, later(data, of("operations", "low1", settings={"requeue": False}))) == ["mode_changed"]


# Where plans come from


def test_several_domains_are_checked_one_by_one() -> None:
    other = json.dumps(tree()).replace('"n1"', '"m1"').replace('"n2"', '"m2"')
    data = {"x": group(), "y": json.loads(other)}
    plans = eh.plan(
        {name: eh.Snapshot.from_dict(d) for name, d in data.items()},
        {"x": eh.policies.BackendAI(), "y": eh.policies.YTsaurus()},
        given={"y": STARVES},
    )
    for name, plan in plans.items():
        assert plan.steps()
        assert plan.check(later(data[name])), name
    with pytest.raises(eh.InputError, match=r"fresh_snapshot is .*must be a Snapshot"):
        plans["x"].check({"x": later(data["x"])})  # type: ignore[arg-type]


def test_plans_of_a_cluster() -> None:
    policy = eh.policies.BackendAI()
    cluster = eh.Cluster(eh.Snapshot.from_dict(group()))
    plan = cluster.plan(policy)
    assert plan.check(cluster.snapshot())
    cluster.apply([{"event": "end", "allocation": "c-k"}])
    assert codes(plan, cluster.snapshot()) == ["victim_ended"]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda plan: pickle.loads(pickle.dumps(plan))])
def test_plans_from_another_process(copied: Callable[[Plan], Plan]) -> None:
    """They keep what they started from."""
    data, state = starving()
    plan = copied(planned(data, eh.policies.YTsaurus(), state=state))
    fresh = later(carried(data, "a2", "n1"))
    assert plan.check(fresh, done=[0]).steps == [1]
    heartbeat = copied(planned(tree(), eh.policies.YTsaurus(), given=STARVES, on=eh.Heartbeat("n2")))
    assert heartbeat.check(later(tree()))
    check = heartbeat.check(later(tree(), lambda data: without(data, "requests", "r")), skip=[5])
    assert [f.code for f in check.findings] == ["step_broken", "request_gone"]
    assert copied(check) == check  # type: ignore[arg-type, comparison-overlap]


@pytest.mark.parametrize("fresh", [None, 5, {"now": 0}])
def test_no_snapshot_is_said_to_be_none(fresh: Any) -> None:
    with pytest.raises(eh.InputError, match="fresh_snapshot is"):
        planned(group(), eh.policies.BackendAI()).check(fresh)


def test_a_snapshot_that_cannot_be_planned_on() -> None:
    plan = planned(jobs(), slurm())
    with pytest.raises(eh.InputError, match="partition"):
        plan.check(later(jobs(), of("operations", "p", partition="nowhere")))


def test_a_snapshot_from_before_the_state() -> None:
    data, state = starving()
    plan = planned(data, eh.policies.YTsaurus(), state=state)
    with pytest.raises(eh.InputError, match="before the state"):
        plan.check(later(data, seconds=-101))
