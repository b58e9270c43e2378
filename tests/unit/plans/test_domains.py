"""A mapping of snapshots: a node stands in one of them, and machines are not cut into more than they have."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

POLICY = eh.policies.BackendAI()


def domain(nodes: list[dict[str, Any]], **resources: Any) -> eh.Snapshot:
    return eh.Snapshot.from_dict({"resources": resources or {"cpu": {}}, "nodes": nodes})


def part(name: Any, cpu: float, machine: str = "box", **more: float) -> dict[str, Any]:
    return {"name": name, "capacity": {"cpu": cpu, **more}, "physical": machine}


def problems(snapshots: dict[str, eh.Snapshot], policy: Any = POLICY) -> list[tuple[Any, ...]]:
    with pytest.raises(eh.InputError) as error:
        eh.plan(snapshots, policy)
    found = error.value.problems
    return [(p.table, p.row, p.name, p.field, p.rule, p.message) for p in found]


@pytest.mark.parametrize("policy", [POLICY, eh.policies.YTsaurus(), eh.policies.Slurm()])
def test_a_node_in_two_snapshots(policy: Any) -> None:
    one = domain([{"name": "a", "capacity": {"cpu": 1}}, {"name": "n", "capacity": {"cpu": 2}}])
    other = domain([{"name": "n", "capacity": {"cpu": 2}}])
    message = "snapshot 'g2': name of the node \"n\" is in snapshot 'g1' as well; a node is in one of them"
    assert problems({"g1": one, "g2": other}, policy) == [("nodes", 0, "n", "name", "unique", message)]


def test_a_node_by_number_and_by_text_is_the_same() -> None:
    ((_, _, name, *_),) = problems({"g1": domain([part(7, 1)]), "g2": domain([part("7", 1)])})
    assert name == "7"


def test_a_node_in_three_snapshots_is_told_twice() -> None:
    one = domain([{"name": "n", "capacity": {"cpu": 2}}])
    said = problems({"g1": one, "g2": one, "g3": one})
    assert [message[:13] for *_, message in said] == ["snapshot 'g2'", "snapshot 'g3'"]


def test_nodes_of_their_own() -> None:
    made = eh.plan({name: domain([{"name": name, "capacity": {"cpu": 1}}]) for name in "ab"}, POLICY)
    assert [*made] == ["a", "b"]


@pytest.mark.parametrize(("cpu", "wrong"), [(5, False), (5.001, True), (4.999, False)])
def test_parts_in_several_snapshots_exceed_their_machine(cpu: float, wrong: bool) -> None:
    box = {"name": "box", "capacity": {"cpu": 8}, "schedulable": False}
    snapshots = {"g1": domain([box, part("l1", 3)]), "g2": domain([part("l2", cpu)])}
    if not wrong:
        assert [*eh.plan(snapshots, POLICY)] == ["g1", "g2"]
        return
    (found,) = problems(snapshots)
    assert found[:5] == ("nodes", 0, "box", "capacity", "physical")
    assert found[5] == (
        "snapshot 'g1': capacity of the node \"box\" is exceeded by its logical nodes in g1, g2:"
        " together they have 8.001 of 8 cpu"
    )


def test_parts_of_a_machine_that_stands_elsewhere() -> None:
    box = {"name": "box", "capacity": {"cpu": 8, "gpu": 1}}
    both: dict[str, Any] = {"cpu": {}, "gpu": {}}
    machine = domain([box], **both)
    ((*where, _),) = problems(
        {"m": machine, "g": domain([part("l1", 4, gpu=1), part("l2", 4, gpu=1)], **both)}
    )
    assert where == ["nodes", 0, "box", "capacity", "physical"]
    assert eh.plan({"m": machine, "g": domain([part("l1", 4, gpu=1), part("l2", 4)], **both)}, POLICY)
    # What its own snapshot does not count, nothing is known of.
    assert eh.plan(
        {"m": domain([{"name": "box", "capacity": {"cpu": 8}}]), "g": domain([part("l1", 4, gpu=9)], **both)},
        POLICY,
    )


def test_quanta_that_differ() -> None:
    """A tenth of a cpu too much is seen whatever the steps in which each snapshot counts."""
    box = domain([{"name": "box", "capacity": {"cpu": 8}}], cpu={"quantum": 1})
    fine = {"cpu": {"quantum": 0.1}}
    assert eh.plan({"m": box, "g": domain([part("l1", 7.9), part("l2", 0.1)], **fine)}, POLICY)
    ((*_, message),) = problems({"m": box, "g": domain([part("l1", 8), part("l2", 0.1)], **fine)})
    assert "8.1 of 8 cpu" in message


def test_a_machine_that_no_snapshot_has() -> None:
    made = eh.plan({"g1": domain([part("l1", 3)]), "g2": domain([part("l2", 3)])}, POLICY)
    assert {d.code for plan in made.values() for d in plan.diagnostics} == {"machine_unknown"}


def test_parts_within_one_snapshot_are_its_policys_business() -> None:
    box = {"name": "box", "capacity": {"cpu": 2}, "schedulable": False}
    snapshots = {"g1": domain([box, part("l1", 3)]), "g2": domain([{"name": "x", "capacity": {"cpu": 1}}])}
    assert [*eh.plan(snapshots, eh.policies.YTsaurus())] == ["g1", "g2"]
    ((*where, _),) = problems(snapshots)
    assert where == ["nodes", 0, "box", "capacity", "physical"]


@pytest.mark.parametrize(
    ("argument", "value", "field"),
    [
        ("snapshot", {"g": 5}, "snapshot"),
        ("policy", {"g": 5}, "policy"),
        ("state", {"g": 5}, "state"),
        ("given", 5, "given"),
        ("given", ["fair_share"], "given"),
        ("given", {"g": 5}, "given"),
    ],
)
def test_wrong_kinds_in_a_mapping(argument: str, value: Any, field: str) -> None:
    arguments: dict[str, Any] = {"snapshot": {"g": domain([])}, "policy": eh.policies.YTsaurus()}
    arguments[argument] = value
    with pytest.raises(eh.InputError) as error:
        eh.plan(**arguments)
    assert [p.field for p in error.value.problems] == [field]
