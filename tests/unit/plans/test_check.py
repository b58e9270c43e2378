"""What still holds on a fresh snapshot."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import evenhand as eh
from tests.unit.plans.fake import CLUSTER, DECISIONS, make, start, victim

Data = dict[str, Any]

STEPS = {0: 0, 1: 0, 2: 1, 3: 1, 4: 2}
BINDING = {
    *("victim_moved", "victim_changed", "victim_leaving", "request_changed"),
    *("node_full", "limits_exceeded"),
}


def fresh(change: Callable[[Data], object]) -> eh.Snapshot:
    data = copy.deepcopy(CLUSTER)
    change(data)
    return eh.Snapshot.from_dict(data)


def named(data: Data, table: str, name: str) -> Data:
    (row,) = (row for row in data[table] if row["name"] == name)
    return row


def without(data: Data, table: str, name: str) -> None:
    data[table] = [row for row in data[table] if row["name"] != name]


def no_operation_b(data: Data) -> None:
    without(data, "operations", "B")
    without(data, "requests", "b")


def no_node_2(data: Data) -> None:
    without(data, "nodes", "n2")
    data["allocations"] = [row for row in data["allocations"] if row["node"] != "n2"]


def crowded(data: Data) -> None:
    data["allocations"].append(
        {"name": "new", "operation": "A", "node": "n1", "resources": {"cpu": 1, "memory": 3}}
    )


def cases() -> list[Any]:
    def of(name: str) -> Callable[[Data], Data]:
        return lambda data: named(data, "allocations", name)

    a09, b = of("a09"), lambda data: named(data, "requests", "b")
    change: list[tuple[str, Callable[[Data], object], dict[int, str]]] = [
        ("nothing", lambda d: None, {}),
        ("ended", lambda d: without(d, "allocations", "a09"), {0: "victim_ended"}),
        ("moved", lambda d: a09(d).update(node="n3"), {0: "victim_moved"}),
        ("grew", lambda d: a09(d).update(resources={"cpu": 2, "memory": 6}), {0: "victim_changed"}),
        ("leaving", lambda d: a09(d).update(state="preempting"), {0: "victim_leaving"}),
        ("suspended", lambda d: a09(d).update(state="suspended"), {0: "victim_leaving"}),
        ("new job", lambda d: a09(d).update(last_job_start_time=50), {0: "order_changed"}),
        ("saved", lambda d: a09(d).update(last_progress_time=50), {0: "order_changed"}),
        ("no node", no_node_2, {2: "node_gone", 3: "node_gone"}),
        (
            "closed",
            lambda d: named(d, "nodes", "n1").update(schedulable=False),
            {1: "node_not_schedulable"},
        ),
        ("crowded", crowded, {1: "node_full"}),
        ("no request", lambda d: without(d, "requests", "b"), {1: "request_gone", 3: "request_gone"}),
        ("fewer", lambda d: b(d).update(count=1), {3: "request_shrunk"}),
        (
            "other",
            lambda d: b(d).update(resources={"cpu": 1}),
            {1: "request_changed", 3: "request_changed"},
        ),
        ("no operation", no_operation_b, {1: "operation_gone", 3: "operation_gone"}),
        (
            "other pool",
            lambda d: named(d, "operations", "B").update(pool="P"),
            {1: "operation_moved", 3: "operation_moved"},
        ),
        (
            "less urgent",
            lambda d: named(d, "operations", "B").update(priority=-1),
            {1: "priority_fell", 3: "priority_fell"},
        ),
        (
            "request less urgent",
            lambda d: b(d).update(priority=-1),
            {1: "priority_fell", 3: "priority_fell"},
        ),
        (
            "limit",
            lambda d: named(d, "operations", "B").update(limits={"cpu": 2}),
            {3: "limits_exceeded"},
        ),
        (
            "repaired",
            lambda d: without(d, "allocations", "c1"),
            {4: "violation_gone"},
        ),
        ("no limit", lambda d: d["pools"][0].pop("limits"), {4: "violation_gone"}),
    ]
    return [pytest.param(*rest, id=name) for name, *rest in change]


@pytest.mark.parametrize(("change", "codes"), cases())
def test_what_no_longer_holds(change: Callable[[Data], object], codes: dict[int, str]) -> None:
    broken = {STEPS[row] for row in codes}
    plan = make(again=[d for d in DECISIONS if d["step"] not in broken])
    check = plan.check(fresh(change))
    assert {f.decision: f.code for f in check.findings if f.code != "step_broken"} == codes
    assert check.steps == [step for step in (0, 1, 2) if step not in broken], (
        "a step as a whole or not at all"
    )
    assert bool(check) == (not codes)
    assert {f.step for f in check.findings} == broken
    assert len(check.decisions) + len(check.findings) == len(plan.decisions)
    for finding in check.findings:
        assert "{" not in finding.message
        assert finding.to_dict()["code"] == finding.code


@pytest.mark.parametrize(("change", "codes"), cases())
def test_a_fresh_plan_decides(change: Callable[[Data], object], codes: dict[int, str]) -> None:
    """What it has too holds, unless a victim is not what it was or there is no room for what starts."""
    gone = {"victim_ended", "node_gone", "request_gone", "operation_gone"}
    if gone.intersection(codes.values()):
        return  # no plan can have it
    full = {"operation_moved": "limits_exceeded"}  # of the pool that it is in now
    binding = {row: full.get(code, code) for row, code in codes.items() if full.get(code, code) in BINDING}
    check = make(again=DECISIONS).check(fresh(change))
    assert {f.decision: f.code for f in check.findings if f.code != "step_broken"} == binding
    assert {f.step for f in check.findings} == {STEPS[row] for row in binding}


def test_numbers_say_what_was_and_what_is() -> None:
    change = fresh(lambda d: named(d, "allocations", "a09").update(resources={"cpu": 1, "memory": 5}))
    (finding, *_) = make().check(change).findings
    assert finding.numbers == {
        "allocation": "a09",
        "was": {"cpu": 2, "memory": 5},
        "now": {"cpu": 1, "memory": 5},
    }
    assert finding.message == "a09 holds 1 cpu, 5 memory, not 2 cpu, 5 memory"


def test_steps_before_count() -> None:
    """The room and the limits that later steps need are those that earlier steps leave."""
    two = [start("b", "B", "n3", i, needed={"cpu": 2, "memory": 4}) for i in range(2)]
    plan = make(two, again=two)
    one = fresh(lambda d: without(d, "allocations", "c1"))
    assert [f.code for f in plan.check(one).findings] == ["node_full"]
    both = fresh(lambda d: [without(d, "allocations", "c1"), without(d, "allocations", "c2")])
    assert plan.check(both)
    limited = fresh(
        lambda d: [
            without(d, "allocations", "c1"),
            without(d, "allocations", "c2"),
            named(d, "operations", "B").update(limits={"cpu": 3}),
        ]
    )
    assert [(f.decision, f.code) for f in plan.check(limited).findings] == [(1, "limits_exceeded")]


def test_steps_that_are_skipped_take_nothing() -> None:
    """They were carried out already, or never will be."""
    two = [start("b", "B", "n3", i, needed={"cpu": 2, "memory": 4}) for i in range(2)]
    plan = make(two, again=two)
    one = fresh(lambda d: without(d, "allocations", "c1"))
    check = plan.check(one, skip={0})
    assert not check.findings
    assert check.steps == [1]
    assert not plan.check(plan.snapshot, skip={0, 1}).steps


def test_who_starts_in_free_room_may_be_less_urgent() -> None:
    plan = make([start("b", "B", "n3", 0)], again=[start("b", "B", "n3", 0)])
    free = fresh(lambda d: [without(d, "allocations", "c1"), named(d, "operations", "B").update(priority=-1)])
    assert plan.check(free)


def test_a_broken_step_takes_no_room_and_no_request() -> None:
    data = fresh(lambda d: [without(d, "allocations", "a09"), named(d, "requests", "b").update(count=1)])
    check = make(again=DECISIONS[2:]).check(data)
    assert check.steps == [1, 2]
    assert {f.code for f in check.findings} == {"victim_ended", "step_broken"}


def test_an_overcommitted_node() -> None:
    repair = DECISIONS[4] | {"reason": "resource_overcommit", "stage": "overcommit", "violated": None}
    over = fresh(lambda d: named(d, "nodes", "n3").update(capacity={"cpu": 3, "memory": 10}))
    assert make([repair], over, again=[repair]).check(over)
    findings = make([repair], over).check(fresh(lambda d: None)).findings
    assert [f.code for f in findings] == ["violation_gone"]


def test_after_the_plan_nothing_of_it_is_left_to_do() -> None:
    plan = make()
    check = plan.check(plan.snapshot.after(plan))
    assert not check.steps
    assert {f.code for f in check.findings} == {"victim_leaving", "step_broken"}
    assert "0 of 5 decisions hold" in repr(check)


def test_other_resources_are_refused() -> None:
    other = eh.Snapshot.from_dict({"resources": {"gpu": {}}})
    with pytest.raises(ValueError, match="other resources"):
        make().check(other)


def two_requests(data: Data) -> None:
    data["requests"].append({"name": "b2", "operation": "B", "resources": {"cpu": 2, "memory": 4}})


FREE = start("b", "B", "n3", 0, reason="fits_free_room")
INSTEAD: list[tuple[str, list[Data], list[Data], str, str]] = [
    (
        "other victims",
        DECISIONS[:2],
        [victim("a07", "n1", 0), start("b", "B", "n1", 0)],
        "other_victims",
        "others would leave for B now: a07, not a09",
    ),
    (
        "more victims",
        DECISIONS[:2],
        [victim("a07", "n1", 0), *DECISIONS[:2]],
        "other_victims",
        "others would leave for B now: a07, a09, not a09",
    ),
    (
        "another mode",
        DECISIONS[:2],
        [victim("a09", "n1", 0, mode="terminate"), DECISIONS[1]],
        "mode_changed",
        "a09 would leave by terminate now, not by requeue",
    ),
    (
        "another request",
        DECISIONS[:2],
        [victim("a09", "n1", 0, for_request="b2"), start("b2", "B", "n1", 0)],
        "other_request",
        "b2 of B would be served now, not b",
    ),
    (
        "another node",
        DECISIONS[:2],
        [DECISIONS[0], start("b", "B", "n2", 0)],
        "starts_elsewhere",
        "b would start on n2 now, not on n1",
    ),
    (
        "room",
        DECISIONS[:2],
        [FREE],
        "beneficiary_fits_without_victims",
        "B would start in free room now, on n3",
    ),
    (
        "another beneficiary",
        DECISIONS[:2],
        [victim("a09", "n1", 0, for_operation="C", for_request="c"), start("c", "C", "n1", 0)],
        "beneficiary_not_served",
        "b would not be served now: no step is planned for it",
    ),
    ("nothing", DECISIONS[:2], [], "beneficiary_not_served", "b would not be served now"),
    (
        "start elsewhere",
        [FREE],
        [FREE | {"node": "n1"}],
        "starts_elsewhere",
        "b would start on n1 now, not on n3",
    ),
    ("needs victims", [FREE], DECISIONS[:2], "needs_victims", "once others have left now: a09"),
    ("no start", [FREE], [], "beneficiary_not_served", "b would not be served now"),
    (
        "once only",
        [FREE, FREE | {"step": 1}],
        [FREE],
        "beneficiary_not_served",
        "b would not be served now: no step is planned for it",
    ),
    (
        "another repair",
        DECISIONS[4:],
        [DECISIONS[4] | {"allocation": "c1"}, DECISIONS[4] | {"allocation": "c2"}],
        "other_repair",
        "the repair would take c1, c2 now, not c2",
    ),
    ("no repair", DECISIONS[4:], [], "other_repair", "the repair would take none now, not c2"),
]


@pytest.mark.parametrize(
    ("decisions", "again", "code", "said"), [pytest.param(*rest, id=name) for name, *rest in INSTEAD]
)
def test_what_a_fresh_plan_does_instead(
    decisions: list[Data], again: list[Data], code: str, said: str
) -> None:
    """Nothing changed that spoils the step by itself."""

    def room(data: Data) -> None:
        two_requests(data)
        named(data, "nodes", "n3").update(capacity={"cpu": 20, "memory": 20})

    snapshot = fresh(room)
    check = make(decisions, snapshot, again=again).check(snapshot)
    (found,) = (f for f in check.findings if f.code != "step_broken")
    assert found.code == code
    assert said in found.message
    assert len(check.steps) == len({d["step"] for d in decisions}) - 1


def test_the_rule_of_a_refusal_is_a_number_of_the_finding() -> None:
    plan = make(DECISIONS[:2], again=[])
    refused = {"b": ("no_room_even_with_victims", 2, {"cpu": 1})}
    plan.policy.plan = lambda snapshot, *_: make([], snapshot, refused=refused)
    (found, _) = plan.check(plan.snapshot).findings
    assert found.numbers == {
        "request": "b",
        "rule": "no_room_even_with_victims",
        "why": "the node's free room and all eligible victims together are less than it needs;"
        " none is preempted",
    }
