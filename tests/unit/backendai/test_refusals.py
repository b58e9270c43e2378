"""Refusals of waiting sessions, and outcomes of sessions that are spared."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh


def group(**changes: Any) -> eh.Snapshot:
    """Return a group of two full nodes: b and c run with low priorities, and p waits."""
    return eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n1", "capacity": {"cpu": 4}}, {"name": "n2", "capacity": {"cpu": 4}}],
            "operations": [
                {"name": "b", "priority": 1},
                {"name": "c", "priority": 2},
                {"name": "p", "priority": 50},
            ],
            "allocations": [
                {"name": "b-k", "operation": "b", "node": "n1", "resources": {"cpu": 4}},
                {"name": "c-k", "operation": "c", "node": "n2", "resources": {"cpu": 3}},
            ],
            "requests": [{"name": "p-r", "operation": "p", "resources": {"cpu": 4}}],
        }
        | changes
    )


def plan(snapshot: eh.Snapshot, **settings: Any) -> eh.Plan:
    return eh.plan(snapshot, eh.policies.BackendAI(**settings))


def rules(made: eh.Plan) -> dict[Any, str]:
    return {r.request: r.rule for r in made.refusals}


def two_requests(**second: Any) -> eh.Snapshot:
    rows = [{"name": name, "operation": "p", "resources": {"cpu": 1}} for name in ("p-r", "p-s")]
    return group(requests=[rows[0], rows[1] | second])


def asks_with(kind: str) -> list[dict[str, Any]]:
    return [
        {"name": "b", "priority": 1},
        {"name": "c", "priority": 2},
        {"name": "p", "priority": 50, "kind": kind},
    ]


def test_who_is_not_first_may_not_preempt_and_is_told_so() -> None:
    operations = [*asks_with("batch"), {"name": "q", "priority": 60}]
    asks = [
        {"name": f"{name}-r", "operation": name, "resources": {"cpu": cpu}}
        for name, cpu in (("p", 4), ("q", 1))
    ]
    made = plan(group(operations=operations, requests=asks))
    assert [d.request for d in made.decisions] == ["q-r"]
    assert rules(made) == {"p-r": "not_first_in_queue"}
    assert made.refusals[0].numbers["missing"] == {"cpu": 4}
    assert made.why_not("b-k").code == "not_first_in_queue"
    assert "only operation q, which is first in the queue, may preempt" in made.why_not("p-r").summary


def test_a_session_of_the_system_preempts_nobody_and_is_told_so() -> None:
    made = plan(group(operations=asks_with("system")))
    assert rules(made) == {"p-r": "system_does_not_preempt"}
    assert made.why_not("b-k").code == "system_does_not_preempt"
    off = plan(group(), enabled=False)
    assert rules(off) == {"p-r": "preemption_disabled"}
    assert off.why_not("b-k").code == "preemption_disabled"


def test_nodes_with_as_many_containers_as_they_may_have_are_told() -> None:
    free = [{"name": "n1", "capacity": {"cpu": 8}}, {"name": "n2", "capacity": {"cpu": 8}}]
    made = plan(group(nodes=free), max_containers=1)
    assert rules(made) == {"p-r": "max_containers"}
    assert made.why_not("p-r").code == "max_containers"


@pytest.mark.parametrize(
    ("second", "rule"),
    [
        ({"resources": {"cpu": 99}}, "no_room_even_with_victims"),
        ({"required_node": "n1", "node_tags": ["x"]}, "wrong_tags"),
    ],
)
def test_what_is_missing_is_told_of_the_request_that_fails(second: dict[str, Any], rule: str) -> None:
    made = plan(two_requests(**second))
    assert rules(made) == {"p-r": "other_request_waits", "p-s": rule}
    missing = {r.request: r.numbers.get("missing", {}) for r in made.refusals}
    assert missing == {"p-r": {}, "p-s": {"cpu": 95} if rule == "no_room_even_with_victims" else {}}
    assert made.why_not("p-r").code == "other_request_waits"


def nodes(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": f"n{i}", "capacity": {"cpu": 4}} | row for i, row in enumerate(rows, 1)]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"nodes": nodes({}, {}), "asks": {"required_node": "n1", "node_tags": ["x"]}}, "wrong_tags"),
        (
            {"nodes": nodes({"schedulable": False}, {}), "asks": {"required_node": "n1"}},
            "node_not_schedulable",
        ),
        (
            {"nodes": nodes({"schedulable": False, "tags": ["x"]}, {}), "asks": {"node_tags": ["x"]}},
            "node_not_schedulable",
        ),
        ({"nodes": nodes({"schedulable": False}, {}), "asks": {"node_tags": ["x"]}}, "wrong_tags"),
        ({"nodes": [], "asks": {}}, "no_nodes"),
    ],
)
def test_of_the_nodes_that_are_barred_the_nearest_is_told(change: dict[str, Any], rule: str) -> None:
    request = {"name": "p-r", "operation": "p", "resources": {"cpu": 4}} | change["asks"]
    made = plan(group(nodes=change["nodes"], allocations=[], requests=[request]))
    assert rules(made) == {"p-r": rule}


def test_a_name_sends_nothing_to_a_terminal() -> None:
    name = "p\x1b[31m"
    request = {"name": "p-r", "operation": name, "resources": {"cpu": 40}}
    made = plan(group(operations=[{"name": "b"}, {"name": "c"}, {"name": name}], requests=[request]))
    assert "\x1b" not in made.why_not("p-r").text
