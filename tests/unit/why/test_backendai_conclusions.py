"""What Backend.AI's plans conclude: what it names is changed, and planned again."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.why.rows import node, snapshot


def test_another_session_may_take_what_this_one_may_not() -> None:
    def plan(own: int) -> eh.Plan:
        rows = [("p2", 20, 2), ("p0", 10, 3), ("s1", 1, own), ("s2", 1, 1)]
        jobs = [{"name": n, "priority": p, "settings": {"job_priority": j}} for n, p, j in rows]
        waits = [{"name": f"{n}-r", "operation": n, "submit_time": i} for i, n in enumerate(("p2", "p0"))]
        policy = eh.policies.BackendAI(
            preemption_key="job_priority",
            victim_threshold="none",
            preemptors="every",
            blocked_by="lack_of_resources",
        )
        running = [("s1-k", "s1", "n1", 1.0), ("s2-k", "s2", "n1", 1.0)]
        return eh.plan(snapshot([node("n1", 2)], jobs, running, waits), policy)

    first = plan(0).why("s1-k").summary
    assert first.endswith("; with job priority 2 or more it could not be preempted for operation p2.")
    other = next(d for d in plan(2).decisions.victims if d.allocation == "s1-k")
    assert other.beneficiary
    assert other.beneficiary.operation == "p0"


def test_above_the_threshold_nothing_takes_it() -> None:
    def plan(priority: int) -> eh.Plan:
        jobs = [{"name": "u", "priority": 50}, {"name": "s", "priority": priority}]
        rows = snapshot([node("n1", 1)], jobs, [("s-k", "s", "n1", 1.0)], [{"name": "u-r", "operation": "u"}])
        return eh.plan(rows, eh.policies.BackendAI(preemptible_priority=5))

    said = plan(5).why("s-k").summary
    assert said.endswith("; with priority 6 or more it could not be preempted (preemptible_priority is 5).")
    assert not plan(6).decisions.victims


_LATER = ", submitted later (at 1 s (16 min 39 s ago), this one at 0 s (16 min 40 s ago); sequencer lifo),"
_FIRST = ", submitted earlier (at 0 s (16 min 40 s ago), this one at 1 s (16 min 39 s ago)),"


@pytest.mark.parametrize(
    ("settings", "rows", "why"),
    [
        ({}, ({}, {}), _FIRST),
        ({}, ({"priority": 11}, {}), ""),
        (
            {"sequencer": "lifo"},
            ({}, {}),
            _LATER,
        ),
        (
            {"sequencer": "drf"},
            ({"user": "x"}, {"user": "y"}),
            ", of a user who has less of the cluster (0, this one's 0.5; sequencer drf),",
        ),
        ({"sequencer": "drf"}, ({"user": "x"}, {"user": "x"}), _FIRST),
    ],
)
def test_what_puts_one_before_the_other_is_said(settings: Any, rows: Any, why: str) -> None:
    names = ("first", "late")
    jobs = [{"name": n, "priority": 10} | row for n, row in zip(names, rows, strict=True)]
    jobs += [{"name": "runs", "priority": 10, "user": "y"}]
    waits = [
        {"name": f"{n}-r", "operation": n, "submit_time": i, "resources": {"cpu": 3}}
        for i, n in enumerate(names)
    ]
    made = snapshot([node("n1", 2)], jobs, [("runs-k", "runs", "n1", 1.0)], waits)
    plan = eh.plan(made, eh.policies.BackendAI(**settings))
    behind = next(r.request for r in plan.refusals if r.rule == "behind_first_waiting")
    said = plan.why_not(behind).summary
    assert f" is before it in the queue{why} and cannot start yet; operation " in said


def test_what_is_equal_in_all_goes_in_canonical_order() -> None:
    jobs = [{"name": n, "priority": 10} for n in ("b", "a")]
    waits = [{"name": f"{n}-r", "operation": n, "resources": {"cpu": 3}} for n in ("b", "a")]
    plan = eh.plan(snapshot([node("n1", 2)], jobs, [], waits), eh.policies.BackendAI())
    said = plan.why_not("b-r").summary
    assert (
        "is before it in the queue, in canonical order, as they have the same priority and time, and" in said
    )


def test_what_fits_once_its_victims_have_left_may_wait_for_others() -> None:
    """With its victim the user of another session has less of the cluster, and that session is first."""
    rows = [("o0", "x", 3, 3), ("o1", "y", 2, 0), ("o3", "x", 2, 2)]
    jobs = [
        {"name": n, "user": user, "priority": p, "settings": {"job_priority": j}} for n, user, p, j in rows
    ]
    asked = [("r1", "o3", 1), ("r2", "o1", 4)]
    waits = [{"name": n, "operation": of, "resources": {"cpu": cpu}} for n, of, cpu in asked]
    policy = eh.policies.BackendAI(preemption_key="job_priority", victim_threshold="none", sequencer="drf")
    running = [("a0", "o1", "n0", 3.0), ("a1", "o3", "n0", 1.0)]
    made = snapshot([node("n0", 4)], jobs, running, waits)
    plan = eh.plan(made, policy)
    assert plan.why_not("r1").summary.endswith(
        ": a0 has been asked to leave for it, and with what that gives back it fits."
    )
    left = made.after(plan).to_dict()
    left["allocations"] = [row for row in left["allocations"] if row["name"] != "a0"]
    later = eh.plan(eh.Snapshot.from_dict(left), policy, plan.state)
    assert later.why_not("r1").code == "behind_first_waiting"
    left["requests"] = [row for row in left["requests"] if row["name"] == "r1"]
    starts = eh.plan(eh.Snapshot.from_dict(left), policy, plan.state).decisions
    assert [d.request for d in starts] == ["r1"]


def test_where_room_is_reserved_nothing_is_said_of_what_would_be_if_others_left() -> None:
    """With the small session gone the reservation of the first is due, and it starts."""
    data: dict[str, Any] = {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 10}}],
        "operations": [
            {"name": "first", "priority": 20},
            {"name": "second", "priority": 5},
            {"name": "small", "priority": 2},
            {"name": "stays", "priority": 2, "settings": {"is_preemptible": False}},
        ],
        "allocations": [
            {"name": f"{name}-k", "operation": name, "node": "n", "resources": {"cpu": 5}, "start_time": 20}
            for name in ("small", "stays")
        ],
        "requests": [
            {"name": "first-r", "operation": "first", "resources": {"cpu": 2}},
            {"name": "second-r", "operation": "second", "resources": {"cpu": 3}, "count": 2},
        ],
        "reservations": [
            {"name": f"v{i}", "request": request, "node": "n", "resources": {"cpu": cpu}, "from": 900}
            for i, (request, cpu) in enumerate((("first-r", 2), ("second-r", 3), ("second-r", 3)))
        ],
    }
    policy = eh.policies.BackendAI(preemptors="every", preemptor_room="reserved")
    summary = eh.plan(eh.Snapshot.from_dict(data), policy).why_not("first-r").summary
    assert summary == (
        "Request first-r of operation first (2 cpu) did not start: 3 cpu is missing on the node that comes"
        " nearest, beside what is reserved there and with what 1 session would give back that may be"
        " preempted for it."
    )
    gone = data | {"allocations": [row for row in data["allocations"] if row["operation"] != "small"]}
    plan = eh.plan(eh.Snapshot.from_dict(gone), policy)
    assert "first-r" in [d.request for d in plan.decisions.starts]


def test_sessions_that_count_for_the_containers_of_a_node_until_they_have_gone() -> None:
    """With them gone it would start, so nothing is said of that."""
    data: dict[str, Any] = {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}, {"name": "m", "capacity": {"cpu": 1}}],
        "operations": [{"name": "asks", "priority": 20}, {"name": "old", "priority": 2}],
        "allocations": [
            {"name": f"k{i}", "operation": "old", "node": "n", "resources": {"cpu": 2}, "start_time": 20}
            for i in range(2)
        ],
        "requests": [{"name": "r", "operation": "asks", "resources": {"cpu": 2}}],
    }
    policy = eh.policies.BackendAI(max_containers=2)
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    assert not len(plan.decisions)
    assert "even if" not in plan.why_not("r").summary
    gone = eh.plan(eh.Snapshot.from_dict(data | {"allocations": []}), policy)
    assert [d.request for d in gone.decisions.starts] == ["r"]
