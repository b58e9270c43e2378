"""Backend.AI's thresholds, clocks and units: exactly there, and one step to each side.

Sources: the proposal ("at most", "strictly lower"), and the planner of release 26.8 where it is silent.
"""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.backendai.test_plan import group, plan

STEP = 1e-6  # a microsecond, the unit of clocks


def victims(made: eh.Plan) -> list[Any]:
    return [d.operation for d in made.decisions.victims]


def one(start: float = 10, wants: float = 4, **session: Any) -> dict[str, Any]:
    """Session c of priority 2 has the whole node; p of priority 10 waits."""
    data = group()
    data["nodes"] = data["nodes"][:1]
    data["operations"] = [{"name": "c", "priority": 2, **session}, {"name": "p"}]
    data["allocations"] = [
        {"name": "c-k", "operation": "c", "node": "n1", "resources": {"cpu": 8}, "start_time": start}
    ]
    data["requests"][0]["resources"] = {"cpu": wants}
    return data


@pytest.mark.parametrize(("more", "goes"), [(-STEP, True), (0.0, True), (STEP, False)])
def test_a_session_is_no_victim_until_its_minimum_run_time_is_over(more: float, goes: bool) -> None:
    """It has run for 90 s."""
    for preset in ("documented", "upstream"):
        settings = {"enabled": True, "victim_scope": "resource-group", "preemption_key": "priority"}
        made = plan(one(), preset, **settings, preemption_min_runtime=90 + more)
        assert victims(made) == (["c"] if goes else [])


def test_the_run_time_of_a_session_is_that_of_its_first_allocation() -> None:
    data = one()
    first = data["allocations"][0] | {"resources": {"cpu": 4}}
    data["allocations"] = [first, first | {"name": "c-l", "start_time": 99}]
    assert victims(plan(data, preemption_min_runtime=90.0)) == ["c", "c"]
    assert victims(plan(data, preemption_min_runtime=90.0 + STEP)) == []


def test_with_a_minimum_run_time_what_never_ran_is_no_victim() -> None:
    data = one(settings={"started": False})
    assert victims(plan(data)) == ["c"]
    assert victims(plan(data, preemption_min_runtime=STEP)) == []


@pytest.mark.parametrize(("priority", "goes"), [(4, True), (5, True), (6, False)])
def test_priorities_up_to_the_preemptible_one_give_way(priority: int, goes: bool) -> None:
    assert victims(plan(one(priority=priority), preemptible_priority=5)) == (["c"] if goes else [])


@pytest.mark.parametrize(("priority", "goes"), [(9, True), (10, False), (11, False)])
def test_only_lower_priorities_give_way(priority: int, goes: bool) -> None:
    """p has priority 10."""
    assert victims(plan(one(priority=priority), preemptible_priority=100)) == (["c"] if goes else [])


@pytest.mark.parametrize(("order", "goes"), [("oldest", "b"), ("newest", "c")])
def test_of_equal_priority_the_oldest_or_the_newest_goes(order: str, goes: str) -> None:
    data = group(operations=[{"name": n, "priority": 2} for n in "bc"] + [{"name": "p"}])
    data["allocations"][1]["start_time"] = 10 + STEP
    assert victims(plan(data, preemption_order=order)) == [goes]


@pytest.mark.parametrize("started", [False, True])
def test_of_equal_priority_what_never_ran_goes_first(started: bool) -> None:
    rows = [{"name": "b", "priority": 2}, {"name": "c", "priority": 2, "settings": {"started": started}}]
    assert victims(plan(group(operations=[*rows, {"name": "p"}]))) == ["b" if started else "c"]


@pytest.mark.parametrize(("user", "goes"), [("ann", True), ("bob", False)])
def test_victims_are_of_the_same_user_if_so_set(user: str, goes: bool) -> None:
    data = one(user="ann")
    data["operations"][1]["user"] = user
    assert victims(plan(data, victim_scope="user")) == (["c"] if goes else [])


@pytest.mark.parametrize(("most", "starts"), [(1, False), (2, True), (3, True)])
def test_most_containers_of_a_node(most: int, starts: bool) -> None:
    """One runs there, and cpus are free."""
    data = one()
    data["allocations"][0]["resources"] = {"cpu": 1}
    made = plan(data, max_containers=most, preemptible_priority=0)
    assert bool(made.decisions.starts) == starts


@pytest.mark.parametrize(("strategy", "node"), [("concentrated", "n2"), ("dispersed", "n1")])
def test_the_agent_with_least_or_most_left(strategy: str, node: str) -> None:
    data = group(allocations=[])
    data["requests"][0]["resources"] = {"cpu": 2}
    assert [d.node for d in plan(data, agent_selection=strategy).decisions.starts] == [node]


@pytest.mark.parametrize(("submitted", "first"), [(49, "q"), (50, "p"), (51, "p")])
def test_a_session_waits_since_its_first_request(submitted: float, first: str) -> None:
    """p since 50; there is room for one of them."""
    data = group(
        allocations=[],
        nodes=[{"name": "n1", "capacity": {"cpu": 4}}],
        operations=[{"name": "p"}, {"name": "q"}],
        requests=[
            {"name": "p-r", "operation": "p", "resources": {"cpu": 2}, "submit_time": 50},
            {"name": "p-s", "operation": "p", "resources": {"cpu": 2}, "submit_time": 90},
            {"name": "q-r", "operation": "q", "resources": {"cpu": 4}, "submit_time": submitted},
        ],
    )
    assert {d.operation for d in plan(data).decisions.starts} == {first}


@pytest.mark.parametrize(("front", "goes"), [("x", []), ("p", ["c"])])
def test_only_the_front_of_the_queue_preempts(front: str, goes: list[str]) -> None:
    """x starts, so p is not the front any more when the run begins."""
    data = one()
    data["nodes"].append({"name": "n2", "capacity": {"cpu": 2}})
    data["operations"].append({"name": "x", "priority": 20 if front == "x" else 5})
    data["requests"].append({"name": "x-r", "operation": "x", "resources": {"cpu": 2}})
    data["requests"][0]["resources"] = {"cpu": 4}
    assert victims(plan(data)) == goes


@pytest.mark.parametrize(("kind", "goes"), [("batch", ["c"]), ("system", [])])
def test_the_systems_own_sessions_preempt_nobody(kind: str, goes: list[str]) -> None:
    data = one()
    data["operations"][1]["kind"] = kind
    assert victims(plan(data)) == goes


def test_modes() -> None:
    for mode, said in (("terminate", "terminate"), ("reschedule", "requeue"), ("suspend", "suspend")):
        assert [d.mode for d in plan(one(), preemption_mode=mode).decisions.victims] == [said]


def test_what_a_suspended_session_frees_and_keeps() -> None:
    data = one()
    data["allocations"][0]["resources"] = {"cpu": 8, "scratch": 3}
    settings = {"preemption_mode": "suspend", "suspend_approach": "keep"}
    [gone] = plan(data, **settings).decisions.victims
    assert (gone.freed, gone.kept) == ({"cpu": 8}, {"scratch": 3})
    [gone] = plan(data, preemption_mode="suspend").decisions.victims
    assert (gone.freed, gone.kept) == ({"cpu": 8, "scratch": 3}, {})


@pytest.mark.parametrize(("beneficiary", "waits"), [("p", True), ("x", False)])
def test_what_leaves_is_for_its_beneficiary(beneficiary: str, waits: bool) -> None:
    data = one()
    data["operations"].append({"name": "x", "priority": 1})
    half = data["allocations"][0] | {"resources": {"cpu": 4}}
    leaving = {"state": "preempting", "beneficiary": {"operation": beneficiary}}
    data["allocations"] = [half | leaving, half | {"name": "b-k", "operation": "x"}]
    made = plan(data)
    assert victims(made) == ([] if waits else ["x"])


@pytest.mark.parametrize(("parts", "fits"), [(7, True), (8, True), (9, False)])
def test_logical_nodes_may_fill_their_machine(parts: int, fits: bool) -> None:
    nodes = [
        {"name": "box", "capacity": {"cpu": 8}},
        {"name": "l1", "capacity": {"cpu": 4}, "physical": "box"},
        {"name": "l2", "capacity": {"cpu": parts - 4}, "physical": "box"},
    ]
    data = group(nodes=nodes, allocations=[], requests=[], operations=[])
    if fits:
        plan(data)
    else:
        with pytest.raises(eh.InputError, match="together have more cpu than the machine"):
            plan(data)


@pytest.mark.parametrize(("amount", "starts"), [(3, False), (4, True), (5, True)])
def test_a_reservation_of_all_that_is_wanted_is_due(amount: int, starts: bool) -> None:
    data = one()
    data["allocations"] = []
    data["operations"] = [{"name": "p"}]
    data["nodes"].append({"name": "n2", "capacity": {"cpu": 8}})
    data["reservations"] = [{"name": "v", "request": "p-r", "node": "n2", "resources": {"cpu": amount}}]
    settings = {"enabled": True, "victim_scope": "resource-group"}
    made = plan(data, "upstream", **settings)
    assert [d.reason for d in made.decisions.starts] == ["reservation_due" if starts else "fits_free_room"]
