"""Guarantees of queues that cannot all be met are told of, as the laws of a configuration have it."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

CODE = "queue_guarantees_overcommit"


def told(queues: list[dict[str, Any]], cpu: float = 10, **more: Any) -> list[tuple[Any, ...]]:
    nodes = [{"name": "n", "capacity": {"cpu": cpu, "gpu": 10}}] if cpu else []
    resources = {"cpu": {}, "gpu": {}}
    data = {"now": 5, "resources": resources, "nodes": nodes, "pools": queues, **more}
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.YuniKorn())
    return [d.elements for d in plan.diagnostics if d.code == CODE]


def queue(
    path: str, guaranteed: float | None = None, most: float | None = None, **more: Any
) -> dict[str, Any]:
    above = path.rpartition(".")[0]
    row: dict[str, Any] = {"name": path, "parent": above if "." in above else None, **more}
    if guaranteed is not None:
        row["strong_guarantee"] = {"cpu": guaranteed}
    if most is not None:
        row["limits"] = {"cpu": most}
    return row


@pytest.mark.parametrize(("amount", "over"), [(4.999, False), (5, False), (5.001, True)])
def test_guarantees_and_the_cluster(amount: float, over: bool) -> None:
    queues = [queue("root.a", 5), queue("root.b", amount)]
    assert told(queues) == ([("<Root>",)] if over else [])


@pytest.mark.parametrize(("amount", "over"), [(2.999, False), (3, False), (3.001, True)])
@pytest.mark.parametrize(
    "bound", [{"guaranteed": 5}, {"most": 5}, {"guaranteed": 5, "most": 6}, {"guaranteed": 6, "most": 5}]
)
def test_guarantees_and_the_queue_above(amount: float, over: bool, bound: dict[str, float]) -> None:
    queues = [queue("root.p", **bound), queue("root.p.a", 2), queue("root.p.b", amount)]
    if bound.get("guaranteed") == 6:
        bound = {"most": 5}
    assert told(queues, 100) == ([("root.p",)] if over else [])


@pytest.mark.parametrize(("amount", "over"), [(5, False), (5.001, True)])
def test_the_smallest_max_of_the_path_counts(amount: float, over: bool) -> None:
    queues = [queue("root.p", most=5), queue("root.p.q", most=50), queue("root.p.q.a", amount)]
    assert told(queues, 100) == ([("root.p", "root.p.q")] if over else [])


@pytest.mark.parametrize(("amount", "over"), [(5, False), (5.001, True)])
def test_a_queue_without_figures_is_owed_what_its_children_are(amount: float, over: bool) -> None:
    queues = [queue("root.p"), queue("root.p.a", amount), queue("root.b", 5)]
    assert told(queues) == ([("<Root>",)] if over else [])


def test_a_queue_with_figures_is_owed_these() -> None:
    queues = [queue("root.p", 5), queue("root.p.a", 1), queue("root.b", 5)]
    assert told(queues) == []


def test_resources_that_are_not_named_do_not_bind() -> None:
    queues = [queue("root.p", most=5), queue("root.p.a", strong_guarantee={"gpu": 9})]
    assert told(queues) == []
    assert told([queue("root.a", strong_guarantee={"gpu": 11})]) == [("<Root>",)]


def test_without_nodes_the_cluster_is_unknown() -> None:
    assert told([queue("root.a", 50)], 0) == []


def test_the_message_has_the_amounts() -> None:
    snapshot = eh.Snapshot.from_dict(
        {
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": 10}}],
            "pools": [queue("root.a", 8), queue("root.b", 7)],
        }
    )
    said = [d.message for d in eh.plan(snapshot, eh.policies.YuniKorn()).diagnostics if d.code == CODE]
    assert "Those in <Root> add up to 15 of 10 cpu; queues above: <Root>." in said[0]
    work = eh.simulate.Workload({"name": ["w"], "resources.cpu": [1], "run_time": [5], "pool": ["root.a"]})
    result = eh.simulate(snapshot, eh.policies.YuniKorn(), work, until=100)
    assert CODE in {d.code for d in result.diagnostics}
