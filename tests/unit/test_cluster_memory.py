"""What policies remember of a live cluster's rows: by name, as the last plan left it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from tests.unit.frozen_side import at, both, cluster, end, node, planned, put, remove, said

PACE = {"victim_cooldown": 600.0}
SLURM: dict[str, Any] = {
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "CANCEL",
    "partitions": {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 9}},
}
GRID_ENGINE: dict[str, Any] = {
    "max_reservation": 10,
    "max_preemptees": 10,
    "automatic_preemption": True,
    "preemption_distance": 0.0,
    "preemption_action": "T",
}
#: Policy, what the operation that is preempted is beside its name, and that which it leaves for.
OF_SYSTEMS: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "backendai": (eh.policies.BackendAI(pace=PACE), {"priority": 1}, {}),
    "slurm": (
        eh.policies.Slurm(pace=PACE, **SLURM),
        {"priority": 1, "partition": "low"},
        {"partition": "high"},
    ),
    "ytsaurus": (eh.policies.YTsaurus(pace=PACE), {"limits": {"cpu": 1}}, {}),
    "gridengine": (eh.policies.GridEngine(pace=PACE, **GRID_ENGINE), {"priority": 0.1}, {}),
    "yunikorn": (eh.policies.YuniKorn(pace=PACE, limit=1.0), {"priority": 1, "pool": "h"}, {"pool": "g"}),
}


@pytest.mark.parametrize("system", OF_SYSTEMS)
@pytest.mark.parametrize("order", [None, 4, 5])
def test_an_operation_that_is_put_again_was_preempted_all_the_same(system: str, order: int | None) -> None:
    policy, own, other = OF_SYSTEMS[system]
    runs = {"operation": "o", "node": "n", "resources": {"cpu": 4}}
    waits = {"name": "r", "operation": "u", "resources": {"cpu": 4}, "reserve": True}
    made = cluster(
        policy,
        nodes=[node("n", cpu=4)],
        pools=[{"name": "g", "strong_guarantee": {"cpu": 4}}, {"name": "h"}] if system == "yunikorn" else [],
        operations=[
            {"name": "o", "order": 4, **own},
            {"name": "u", "priority": 9, "start_time": 900, **other},
        ],
        allocations=[{"name": "a", **runs, "start_time": 100, "planned_end": 90000}],
        requests=[] if system == "ytsaurus" else [waits],
    )
    state = made.plan().state
    assert dict(state.victims) == {("operation", "o"): {"taken": [1000.0]}}
    again = {"name": "o", **own} if order is None else {"name": "o", "order": order, **own}
    made.apply([end("a"), put("operations", **again)])
    made.apply([{"event": "start", "row": {"name": "b", **runs}}, at(1010)])
    assert made.copy().state().victims == state.victims
    decided = both(made, policy, state)
    if system != "ytsaurus":  # which repairs a limit all the same
        assert not [one for one in decided if one[0] == "preempt"]
        assert made.state().victims == state.victims


def test_an_operation_that_is_removed_and_comes_again_was_never_preempted() -> None:
    policy, own, _ = OF_SYSTEMS["backendai"]
    made = cluster(
        policy,
        nodes=[node("n", cpu=4)],
        operations=[{"name": "o", **own}, {"name": "u", "priority": 9}],
        allocations=[
            {"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 4}, "start_time": 100}
        ],
        requests=[{"name": "r", "operation": "u", "resources": {"cpu": 4}}],
    )
    state = made.plan().state
    made.apply([end("a"), remove("operations", "o"), put("operations", name="o", **own)])
    assert made.state() == state.without({("operations", "o")})
    row = {"name": "b", "operation": "o", "node": "n", "resources": {"cpu": 4}}
    made.apply([{"event": "start", "row": row}, at(1010)])
    assert ("preempt", "b", "n") in both(made, policy, state.without({("operations", "o")}))


@pytest.mark.parametrize("events", [[], [remove("nodes", "n")], [remove("nodes", "n"), at(1001)]])
def test_a_node_that_is_put_again_keeps_its_back_off(events: list[Any]) -> None:
    policy = eh.policies.YTsaurus(preemptive_scheduling_backoff="60s")
    made = cluster(policy, nodes=[node("n", cpu=3), node("o", cpu=1)])
    state = made.plan().state
    for event in events:
        made.apply([event])
    assert made.state() == state
    made.apply([put("nodes", **node("n", cpu=4), order=2)])
    both(made, policy, state)
    assert made.state().nodes["n"]["last_preemptive"] == 1000.0


def test_a_node_that_a_plan_has_missed_begins_anew() -> None:
    policy = eh.policies.YTsaurus(preemptive_scheduling_backoff="60s")
    made = cluster(policy, nodes=[node("n", cpu=3), node("o", cpu=1)])
    state = made.plan().state
    made.apply([remove("nodes", "n"), at(1001)])
    both(made, policy, state)
    state = made.state()
    made.apply([put("nodes", **node("n", cpu=3)), at(1002)])
    both(made, policy, state)
    assert made.state().nodes["n"]["last_preemptive"] == 1002.0


def one_allocation() -> tuple[eh.policies.YTsaurus, eh.Cluster]:
    """A node with room for its allocation, which is too small with 4 cpu."""
    policy = eh.policies.YTsaurus("upstream")
    made = cluster(
        policy,
        nodes=[node("n", cpu=8)],
        operations=[{"name": "o"}],
        allocations=[{"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 5}, "start_time": 10}],
    )
    return policy, made


def test_a_stamp_of_a_row_that_is_taken_back_was_none() -> None:
    policy, made = one_allocation()
    state = made.plan().state
    made.apply([at(1010), put("nodes", **node("n", cpu=4), overcommitted_since=900)])
    made.apply([put("nodes", **node("n", cpu=4))])
    assert both(made, policy, state) == []
    assert made.state().nodes["n"]["overcommitted_since"] == 1010.0


def test_a_stamp_of_a_row_counts_from_the_next_plan_on() -> None:
    policy, made = one_allocation()
    state = made.plan().state
    made.apply([at(1010), put("nodes", **node("n", cpu=4), overcommitted_since=900)])
    assert made.state() == state
    assert both(made, policy, state) == [("preempt", "a", "n")]


def test_a_cluster_with_a_stamp_later_than_its_state_is_read_again(tmp_path: Path) -> None:
    made = cluster(eh.policies.YTsaurus(), nodes=[node("n", cpu=8)])
    made.plan()
    made.apply([at(1010), put("nodes", **node("n", cpu=8), overcommitted_since=1005)])
    made.save(tmp_path / "c")
    read = eh.Cluster.load(tmp_path / "c")
    assert read.state() == made.state()
    assert read.snapshot() == made.snapshot()


@pytest.mark.parametrize(("since", "known"), [(999, 999.0), (1000, 1000.0), (1001, 1000.0)])
def test_a_stamp_is_no_later_than_the_plan(tmp_path: Path, since: float, known: float) -> None:
    policy = eh.policies.YTsaurus("upstream")
    made = cluster(
        policy,
        nodes=[{**node("n", cpu=4), "overcommitted_since": since}],
        operations=[{"name": "o"}],
        allocations=[{"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 5}, "start_time": 10}],
    )
    both(made, policy)
    assert made.state().nodes["n"]["overcommitted_since"] == known
    made.save(tmp_path / "c")
    assert eh.Cluster.load(tmp_path / "c").state() == made.state()


def test_rows_of_a_state_are_in_canonical_order() -> None:
    policy = eh.policies.YTsaurus()

    def asks(name: str, cpu: int) -> dict[str, Any]:
        return {"name": f"r{name}", "operation": name, "resources": {"cpu": cpu}}

    made = cluster(policy, nodes=[node("n", cpu=4)], operations=[{"name": "z"}], requests=[asks("z", 3)])
    state = made.plan().state
    made.apply([put("operations", name="a"), put("requests", **asks("a", 2))])
    made.apply([put("nodes", **node("m", cpu=1))])
    both(made, policy, state)
    state = made.state()
    assert [row["name"] for row in state.to_dict()["elements"]] == ["a", "z"]
    assert [row["name"] for row in state.to_dict()["nodes"]] == ["m", "n"]


@pytest.mark.parametrize("look", [False, True])
def test_victims_of_the_last_plan_are_as_it_left_them(look: bool) -> None:
    def policy(cooldown: float) -> Any:
        return eh.policies.YTsaurus(
            pace={"victim_cooldown": cooldown},
            preemptive_scheduling_backoff=0,
            fair_share_starvation_timeout=0,
            enable_pool_starvation=False,
        )

    made = cluster(
        policy(30.0),
        nodes=[node("n", cpu=4)],
        operations=[{"name": "o", "limits": {"cpu": 3}}],
        allocations=[
            {"name": f"a{i}", "operation": "o", "node": "n", "resources": {"cpu": 1}, "start_time": i}
            for i in range(4)
        ],
    )
    plan = made.plan()
    state = plan.state
    made.carry_out(plan)
    if look:
        assert made.state() == state
    made.apply([at(1095)])
    assert made.copy().state() == state
    expected = planned(made, policy(600.0), state)
    assert dict(expected.state.victims) == {("operation", "o"): {"taken": [1000.0]}}
    assert made.plan(policy(600.0)).state == expected.state


def named_provider() -> tuple[eh.Cluster, Any, Any]:
    """A cluster in which a job is to give way to another one; the policy and what is remembered."""
    policy = eh.policies.GridEngine(max_reservation=10, max_preemptees=10)

    def row(name: str, job: str) -> dict[str, Any]:
        return {"name": name, "operation": job, "node": "h", "resources": {"slots": 2}, "start_time": 900}

    made = cluster(
        policy,
        resources={"slots": {}},
        nodes=[node("h", slots=4)],
        operations=[
            {"name": "i", "priority": 0.1},
            {"name": "j", "priority": 0.1},
            {"name": "w", "priority": 0.9},
        ],
        allocations=[row("m", "i"), row("n", "j")],
        requests=[{"name": "r", "operation": "w", "resources": {"slots": 4}, "reserve": True}],
    )
    asked = {"consumer": "w", "providers": ["i"], "manager": True, "force": True, "action": "S"}
    state = made.plan(on=eh.Commands([asked])).state
    assert state.operations["w"]["providers"] == ["i"]
    return made, policy, state.without({("operations", "i")})


def test_the_provider_that_was_named_has_ended() -> None:
    made, policy, state = named_provider()
    made.apply([end("m"), remove("operations", "i")])
    assert made.state() == state
    assert not [one for one in both(made, policy, state) if one[0] == "preempt"]


@pytest.mark.parametrize("again", [False, True])
def test_the_provider_that_was_named_has_ended_and_comes_again(again: bool) -> None:
    made, policy, state = named_provider()
    made.apply([end("m"), remove("operations", "i")])
    made.apply([put("operations", name="i", priority=0.1)])
    if again:  # as from a file
        made = eh.Cluster(made.copy().snapshot(), policy, made.copy().state())
    assert not [one for one in both(made, policy, state) if one[0] == "preempt"]


def test_how_a_job_was_to_be_preempted_goes_with_what_it_has() -> None:
    policy = eh.policies.GridEngine(automatic_preemption=True, max_reservation=10, max_preemptees=2)
    parts = {"o": "y", "b": "x"}

    def part(job: str, **more: Any) -> dict[str, Any]:
        return {"name": parts[job], "operation": job, "resources": {"slots": 3}, **more}

    made = cluster(
        policy,
        resources={"slots": {}},
        nodes=[node("h", slots=9)],
        operations=[{"name": "w", "priority": 0.8}, {"name": "b"}, {"name": "o"}],
        allocations=[part("o", node="h"), part("b", node="h")],
        requests=[{"name": "r", "operation": "w", "resources": {"slots": 4}, "reserve": True}],
    )
    plan = made.plan()
    first = plan.decisions.victims[0].operation
    assert first is not None
    made.apply([end(parts[str(first)])])
    both(made, policy, plan.state)
    state = made.state()
    made.apply([put("allocations", **part(str(first)))])
    both(made, policy, state)
    assert str(first) not in made.state().operations


def test_a_look_changes_nothing() -> None:
    looked, left = (named_provider()[0] for _ in range(2))
    for made in (looked, left):
        made.apply([end("m"), at(1001)])
        if made is looked:
            made.snapshot()
            made.state()
            made.copy().plan()
    assert said(looked.plan()) == said(left.plan())
    assert looked.state() == left.state()
