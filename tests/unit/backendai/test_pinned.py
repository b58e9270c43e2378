"""What the proposal leaves open and Evenhand has decided: one test a sentence, engine and reference alike."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.reference.backendai import reference_plan
from tests.reference.certificates import check_by_rules


def planned(data: dict[str, Any], preset: str = "documented", **settings: Any) -> eh.Plan:
    """Plan a group; the reference plans the same."""
    snapshot = eh.Snapshot.from_dict(data)
    policy = eh.policies.BackendAI(preset, **settings)
    made, expected = eh.plan(snapshot, policy).to_dict(), reference_plan(snapshot, policy.settings)
    for found in (made, expected):
        found["essence"] = (
            [(d["action"], d["allocation"], d["request"], d["node"]) for d in found["decisions"]],
            {r["request"]: r["rule"] for r in found["refusals"]},
        )
    assert made["essence"] == expected["essence"]
    return eh.plan(snapshot, policy)


def group(**changes: Any) -> dict[str, Any]:
    """One node of 4 cpus, full of the sessions x and y of priority 2; p waits for 2 cpus."""
    return {
        "now": 100,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
        "operations": [{"name": "x", "priority": 2}, {"name": "y", "priority": 2}, {"name": "p"}],
        "allocations": [runs("x"), runs("y")],
        "requests": [asks("p")],
    } | changes


def runs(session: str, **changes: Any) -> dict[str, Any]:
    row = {
        "name": f"{session}-k",
        "operation": session,
        "node": "n1",
        "resources": {"cpu": 2},
        "start_time": 10,
    }
    return row | changes


def asks(name: str, **changes: Any) -> dict[str, Any]:
    return {"name": f"{name}-r", "operation": name, "resources": {"cpu": 2}} | changes


def did(made: eh.Plan) -> list[tuple[str, Any]]:
    return [(d.action, d.allocation or d.request) for d in made.decisions]


@pytest.mark.parametrize(
    "policy", [{"range": (0, 20)}, {"may_change": False}], ids=["out of range", "may not change"]
)
def test_a_suspended_session_whose_priority_would_be_refused_resumes_in_its_old_rank(
    policy: dict[str, Any],
) -> None:
    """z has priority 50, which ann may not name; room is for one: z of 50 comes before p of 40."""
    data = group(
        operations=[{"name": "z", "priority": 50, "user": "ann"}, {"name": "p", "priority": 40}],
        nodes=[{"name": "n1", "capacity": {"cpu": 2}}],
        allocations=[runs("z", state="preempted")],
    )
    made = planned(data, user_policies={"ann": policy})
    assert did(made) == [("resume", "z-k")]
    assert {r.request: r.rule for r in made.refusals} == {"p-r": "not_first_in_queue"}
    data["operations"][0]["priority"] = 39  # its old rank, not a better one
    assert did(planned(data, user_policies={"ann": policy})) == [("start", "p-r")]
    data["allocations"], data["requests"] = [], [asks("z")]
    assert did(planned(data, user_policies={"ann": policy})) == [], "what asks anew is refused"


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize(
    ("preemptor", "victim", "goes"),
    [
        ("ann", "ann", True),
        ("ann", "bob", False),
        ("ann", None, False),
        (None, "ann", False),
        (None, None, False),
    ],
)
def test_a_session_without_a_user_or_project_is_in_nobodys_scope(
    scope: str, preemptor: str | None, victim: str | None, goes: bool
) -> None:
    data = group()
    for row in data["operations"]:
        row[scope] = preemptor if row["name"] == "p" else victim
    made = planned(data, victim_scope=scope)
    assert did(made) == ([("preempt", "x-k")] if goes else [])
    if not goes:
        assert made.why_not("x-k").code == "other_scope"
        assert made.refusals[0].rule == "no_lower_priority"


@pytest.mark.parametrize("domains", [("d", "d", True), (None, None, False), ("d", None, False)])
def test_a_session_without_a_domain_is_in_nobodys_scope(domains: tuple[Any, Any, bool]) -> None:
    data = group()
    for row in data["operations"]:
        row["settings"] = {"domain": domains[row["name"] == "p"]}
    assert bool(did(planned(data, victim_scope="domain"))) == domains[2]


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_equal_times_go_in_canonical_order(order: str) -> None:
    assert did(planned(group(), preemption_order=order)) == [("preempt", "x-k")]
    data = group(
        operations=[{"name": "x", "priority": 2, "order": 2}, {"name": "y", "priority": 2, "order": 1}]
    )
    data["operations"].append({"name": "p"})
    assert did(planned(data, preemption_order=order)) == [("preempt", "y-k")]


def test_what_still_runs_of_a_partly_leaving_session_may_be_a_victim() -> None:
    """A part of x leaves for q; what still runs of it goes for p, alone."""
    leaves = runs("x", name="x-gone", state="preempting", beneficiary={"operation": "q"})
    data = group(
        nodes=[{"name": "n1", "capacity": {"cpu": 4}}],
        operations=[{"name": "x", "priority": 2}, {"name": "q", "priority": 1}, {"name": "p"}],
        allocations=[leaves, runs("x")],
    )
    assert did(planned(data)) == [("preempt", "x-k")]
    data["allocations"][1]["state"] = "preempting"
    made = planned(data)
    assert did(made) == []
    assert made.why_not("x-k").code == "already_preempting"


def test_upstream_a_session_without_an_agent_is_skipped_and_one_without_room_stops_the_run() -> None:
    data = group(
        nodes=[{"name": "n1", "capacity": {"cpu": 4}, "tags": ["slow"]}],
        operations=[{"name": "p", "priority": 50}, {"name": "q", "priority": 20}],
        allocations=[],
        requests=[asks("p", node_tags=["fast"]), asks("q")],
    )
    made = planned(data, "upstream", enabled=True)
    assert did(made) == [("start", "q-r")]
    assert made.refusals[0].rule == "wrong_tags"
    assert did(planned(data)) == [], "documented: whatever cannot start ends the run"
    data["nodes"][0]["schedulable"] = False
    data["nodes"].append({"name": "n2", "capacity": {"cpu": 4}})
    data["requests"][0] = asks("p", required_node="n1")
    assert did(planned(data, "upstream", enabled=True)) == [("start", "q-r")]
    data["requests"][0] = asks("p", resources={"cpu": 5})
    made = planned(data, "upstream", enabled=True)
    assert did(made) == []
    assert {r.request: r.rule for r in made.refusals} == {
        "p-r": "no_lower_priority",
        "q-r": "behind_first_waiting",
    }


def test_a_machine_and_its_logical_nodes_are_shared_once() -> None:
    """By dominant share: ann has 9 of the 16 gpus of the machine, bob half of the licences."""
    data = {
        "resources": {"gpu": {}, "lic": {"scope": "cluster", "capacity": 6}},
        "nodes": [
            {"name": "m", "capacity": {"gpu": 16}},
            {"name": "m-part", "capacity": {"gpu": 13}, "physical": "m"},
        ],
        "operations": [
            *({"name": f"{user}-runs", "user": user, "priority": 50} for user in ("ann", "bob")),
            *({"name": f"{user}-asks", "user": user, "priority": 50} for user in ("ann", "bob")),
        ],
        "allocations": [
            {"name": "a", "operation": "ann-runs", "node": "m-part", "resources": {"gpu": 9}},
            {"name": "b", "operation": "bob-runs", "resources": {"lic": 3}},
        ],
        "requests": [
            {"name": f"{user}-r", "operation": f"{user}-asks", "resources": {"gpu": 1}}
            for user in ("ann", "bob")
        ],
    }
    snapshot = eh.Snapshot.from_dict(data)
    policy = eh.policies.BackendAI(sequencer="drf")
    assert [d.request for d in eh.plan(snapshot, policy).decisions] == ["bob-r", "ann-r"]
    by_rules = reference_plan(snapshot, policy.settings)["decisions"]
    assert [d["request"] for d in by_rules] == ["bob-r", "ann-r"]
    stated = eh.Snapshot.from_dict(data | {"total": {"gpu": 100, "lic": 6}})
    assert [d.request for d in eh.plan(stated, policy).decisions] == ["ann-r", "bob-r"]


@pytest.mark.parametrize("cut", [0, 2])
def test_lost_work_is_a_share_of_what_logical_nodes_leave_of_a_machine(cut: int) -> None:
    """Two cpus for 100 s: of four cpus half, of the two that are left all."""
    data = {
        "now": 100,
        "resources": {"cpu": {}},
        "nodes": [{"name": "m", "capacity": {"cpu": 4}}]
        + [{"name": "m-part", "capacity": {"cpu": cut}, "physical": "m", "schedulable": False}] * (cut > 0),
        "operations": [{"name": "s", "priority": 1}, {"name": "p", "priority": 9}],
        "allocations": [
            {"name": "a", "operation": "s", "node": "m", "resources": {"cpu": 2}, "start_time": 0}
        ],
        "requests": [{"name": "r", "operation": "p", "resources": {"cpu": 4 - cut}}],
    }
    policy = eh.policies.BackendAI(victim_selection="minimum", victim_cost="lost_work")
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    (step,) = plan.minimum_steps
    assert plan.certificate(step).costs == ((100,) if cut else (50,))
    check_by_rules(plan, step)
    by_rules = reference_plan(plan.snapshot, policy.settings)["decisions"]
    assert [d["allocation"] for d in by_rules if d["action"] == "preempt"] == ["a"]
