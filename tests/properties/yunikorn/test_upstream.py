"""Passes of the preset "upstream" through `eh.plan`, against the readable reference."""

from __future__ import annotations

from typing import Any

from hypothesis import event, example, given

import evenhand as eh
from tests.properties.yunikorn.partitions import partitions, reserving
from tests.reference.yunikorn.upstream import reference_passes


def is_that_of_the_reference(data: dict[str, Any]) -> None:
    snapshot = eh.Snapshot.from_dict(data)
    plan = eh.plan(snapshot, eh.policies.YuniKorn("upstream"))
    said = [(d.action, d.allocation if d.action == "preempt" else d.request, d.node) for d in plan.decisions]
    event(f"victims: {sum(action == 'preempt' for action, _, _ in said)}")
    assert said == reference_passes(snapshot)


@given(partitions())
def test_the_plan_is_that_of_the_reference(data: dict[str, Any]) -> None:
    is_that_of_the_reference(data)


def small(*requests: dict[str, Any], cpu: dict[str, int], **more: Any) -> dict[str, Any]:
    """Nodes of some size and asks of two applications, the first of which is owed three."""
    return {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": name, "capacity": {"cpu": size}} for name, size in cpu.items()],
        "pools": [{"name": "root.a", "strong_guarantee": {"cpu": 3}}, {"name": "root.b"}],
        "operations": [{"name": "o1", "pool": "root.a"}, {"name": "o2", "pool": "root.b"}],
        "requests": list(requests),
        **more,
    }


def ask(name: str, operation: str, cpu: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "operation": operation, "resources": {"cpu": cpu}, "submit_time": 900, **more}


def held(name: str, operation: str, node: str, cpu: int, **more: Any) -> dict[str, Any]:
    row = {"name": name, "operation": operation, "node": node, "start_time": 900}
    return {**row, "resources": {"cpu": cpu}, **more}


FOR_R = {"state": "preempting", "beneficiary": {"request": "r"}}
#: What leaves for one of two has its room until it has gone.
STILL_THERE = small(
    ask("r", "o1", 4, count=2), cpu={"n1": 8, "n2": 1}, allocations=[held("x", "o1", "n1", 1, **FOR_R)]
)
#: One of two has victims on the node that both need.
BOTH_NEED_IT = small(
    ask("r", "o1", 2, count=2, required_node="n1"),
    cpu={"n1": 3, "n2": 1},
    allocations=[held("x", "o2", "n1", 1), held("y", "o2", "n1", 1, **FOR_R)],
    reservations=[{"name": "k", "request": "r", "node": "n1", "resources": {"cpu": 2}, "from": 1000}],
)
#: The second has looked for victims in vain before the first takes its node, and may not so soon again.
TOO_SOON = small(
    ask("q", "o2", 3, required_node="n1"),
    ask("r", "o1", 3),
    cpu={"n1": 7, "n2": 3, "n3": 1},
    allocations=[
        *(held(name, "o2", "n1", 2) for name in "xy"),
        held("z", "o1", "n1", 1),
        held("w", "o2", "n2", 3, start_time=908),
    ],
)


@given(reserving())
@example(STILL_THERE)
@example(BOTH_NEED_IT)
@example(TOO_SOON)
def test_it_is_so_where_nodes_are_reserved(data: dict[str, Any]) -> None:
    is_that_of_the_reference(data)
