"""Per ask: nodes that asks have reserved, whom these keep out, when they are given up, and headroom."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

STEP = 1e-6
NOW = 100_000.0
UPSTREAM = eh.policies.YuniKorn("upstream")
BOTH = eh.Cycle("both")


def partition(**changes: Any) -> eh.Snapshot:
    """Two nodes of two: dev has all of the first; one of prod has reserved that."""
    data: dict[str, Any] = {
        "now": NOW,
        "resources": {"cpu": {"quantum": 1}},
        "nodes": [{"name": n, "capacity": {"cpu": 2}} for n in ("n1", "n2")],
        "pools": [{"name": "dev"}, {"name": "prod", "strong_guarantee": {"cpu": 2}}],
        "operations": [{"name": "d", "pool": "dev"}, {"name": "p", "pool": "prod"}],
        "allocations": [held("x1", "n1", 1), held("x2", "n1", 2)],
        "requests": [ask("ask")],
        "reservations": [kept("ask", "n1")],
    }
    return eh.Snapshot.from_dict({**data, **changes})


def held(name: str, node: str, start: float = 1, cpu: int = 1, **more: Any) -> dict[str, Any]:
    row = {"name": name, "operation": "d", "node": node, "resources": {"cpu": cpu}, "start_time": start}
    return row | more


def ask(name: str, cpu: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "operation": "p", "resources": {"cpu": cpu}, "submit_time": NOW - 100, **more}


def kept(request: str, node: str, age: float = 10) -> dict[str, Any]:
    row = {"name": f"k-{request}", "request": request, "node": node, "resources": {"cpu": 1}}
    return {**row, "from": NOW - age}


def decided(plan: eh.Plan) -> list[tuple[str, Any, Any]]:
    return [(d.action, d.allocation if d.action == "preempt" else d.request, d.node) for d in plan.decisions]


def test_an_ask_whose_reserved_node_is_full_starts_elsewhere() -> None:
    plan = eh.plan(partition(), UPSTREAM, on=BOTH)
    assert decided(plan) == [("start", "ask", "n2")]
    assert not plan.snapshot.after(plan).reservation_count


def test_its_own_node_comes_first() -> None:
    plan = eh.plan(partition(allocations=[held("x1", "n1")]), UPSTREAM)
    assert decided(plan) == [("start", "ask", "n1")]
    assert [d.reason for d in plan.decisions] == ["reservation_due"]


def test_one_of_several_leaves_the_reservations_of_the_others() -> None:
    """Also in a living cluster, and in a simulation."""
    snapshot = partition(allocations=[held("x1", "n1")], requests=[ask("ask", count=3)])
    plan = eh.plan(snapshot, UPSTREAM)
    assert decided(plan)[0] == ("start", "ask", "n1")
    assert snapshot.after(plan).reservation_count == 0
    cluster = eh.Cluster(snapshot, UPSTREAM)
    cluster.carry_out(cluster.plan())
    assert cluster.snapshot().to_dict().get("reservations", []) == []
    elsewhere = partition(requests=[ask("ask", count=3)])
    plan = eh.plan(elsewhere, UPSTREAM)
    assert decided(plan)[:2] == [("start", "ask", "n2"), ("release", "ask", "n1")]
    assert elsewhere.after(plan).reservation_count == 0


@pytest.mark.parametrize(("cpu", "second"), [(8, "reserve"), (9, "start"), (10, "start")])
def test_what_leaves_for_an_ask_has_its_room_until_it_has_gone(cpu: int, second: str) -> None:
    """One takes free room alone, so that the other does not stand in the same."""
    leaving = held("x1", "n1", state="preempting", beneficiary={"request": "ask"})
    nodes = [{"name": "n1", "capacity": {"cpu": cpu}}, {"name": "n2", "capacity": {"cpu": 1}}]
    requests = [ask("ask", cpu=4, count=2)]
    snapshot = partition(nodes=nodes, allocations=[leaving], requests=requests, reservations=[])
    plan = eh.plan(snapshot, UPSTREAM)
    assert decided(plan) == [("start", "ask", "n1"), (second, "ask", "n1")]
    assert not plan.taken
    assert plan.decisions[0].numbers["free_before"] == {"cpu": cpu - 1}


def test_nobody_else_starts_on_a_reserved_node() -> None:
    """Whatever the reservation is of; the other one waits, too."""
    rows = [held("x1", "n1"), held("x2", "n2"), held("x3", "n2")]
    requests = [ask("ask", cpu=2), ask("small", submit_time=NOW)]
    plan = eh.plan(partition(allocations=rows, requests=requests), UPSTREAM)
    assert not [d for d in plan.decisions if d.action == "start"]
    assert {r.request for r in plan.refusals} == {"ask", "small"}


def test_several_that_wait_on_one_node_keep_others_out() -> None:
    """One of them starts there; the room that is left is the other's alone."""
    nodes = [{"name": "n1", "capacity": {"cpu": 4}}, {"name": "n2", "capacity": {"cpu": 2}}]
    rows = [held("x1", "n1", cpu=2), held("x2", "n2", cpu=2)]
    never = {"settings": {"allow_preempt_other": False}}
    requests = [ask("big", cpu=3, **never), ask("other", **never), ask("small", **never)]
    for order in (["big", "small"], ["small", "big"]):
        reservations = [{**kept(name, "n1"), "name": f"k{place}"} for place, name in enumerate(order)]
        snapshot = partition(nodes=nodes, allocations=rows, requests=requests, reservations=reservations)
        plan = eh.plan(snapshot, UPSTREAM)
        assert [d for d in decided(plan) if d[0] == "start"] == [("start", "small", "n1")]


FULL = [held("x1", "n1", 1), held("x2", "n1", 2), held("x3", "n2", 1), held("x4", "n2", 2)]
HALF = [held("x1", "n1", 1), held("x3", "n2", 1)]  # one of two fits nowhere


@pytest.mark.parametrize(("age", "waits"), [(2 - STEP, False), (2.0, False), (2 + STEP, True)])
def test_an_ask_that_fits_nowhere_reserves_a_node_after_a_while(age: float, waits: bool) -> None:
    requests = [ask("ask", cpu=2, submit_time=NOW - age)]
    plan = eh.plan(partition(allocations=HALF, requests=requests, reservations=[]), UPSTREAM)
    assert decided(plan) == ([("reserve", "ask", "n1")] if waits else [])
    assert [r.request for r in plan.refusals] == ([] if waits else ["ask"])
    later = UPSTREAM.replace(reservation_delay=age)
    assert not eh.plan(partition(allocations=HALF, requests=requests, reservations=[]), later).decisions


def test_it_reserves_where_what_is_free_is_least_beyond_what_it_asks_for() -> None:
    nodes = [
        {"name": n, "capacity": {"cpu": c, "gpu": g}}
        for n, c, g in (("n1", 4, 3), ("n2", 4, 1), ("n3", 1, 9))
    ]
    requests = [{**ask("ask"), "resources": {"cpu": 4, "gpu": 1}}]
    rows = [held("x1", "n1", cpu=1), held("x2", "n2", cpu=1)]
    snapshot = partition(
        resources={"cpu": {}, "gpu": {}}, nodes=nodes, allocations=rows, requests=requests, reservations=[]
    )
    assert decided(eh.plan(snapshot, UPSTREAM)) == [("reserve", "ask", "n2")]
    never = partition(
        nodes=nodes[2:], resources={"cpu": {}, "gpu": {}}, allocations=[], requests=requests, reservations=[]
    )
    assert not eh.plan(never, UPSTREAM).decisions


def test_victims_move_a_reservation_to_their_node() -> None:
    """One that only waits may look for victims once it may preempt; what may run nowhere else stays."""
    nodes = [{"name": n, "capacity": {"cpu": 2}} for n in ("n1", "n2")]
    nodes.append({"name": "off", "capacity": {"cpu": 9}, "schedulable": False})
    rows = [held("x1", "n1", cpu=2, required_node="n1"), held("x2", "n2", cpu=2)]
    for age, moved in ((30 - STEP, False), (30.0, True)):
        requests = [ask("ask", cpu=2, submit_time=NOW - age)]
        for before in ([], [kept("ask", "n1")]):
            snapshot = partition(nodes=nodes, allocations=rows, requests=requests, reservations=before)
            plan = eh.plan(snapshot, UPSTREAM)
            said = [("preempt", "x2", "n2"), ("release", "ask", "n1"), ("reserve", "ask", "n2")]
            if not before:
                said = [said[0], said[2]] if moved else [("reserve", "ask", "n1")]
            elif not moved:
                said = []
            assert decided(plan) == said
            (row,) = snapshot.after(plan).to_dict()["reservations"]
            assert row["node"] == ("n2" if moved else "n1")


FOUR = [held(f"x{i}", "n1", i) for i in range(4)]
OF_FOUR = [{"name": "n1", "capacity": {"cpu": 4}}, {"name": "n2", "capacity": {"cpu": 4}}]


def required(**changes: Any) -> eh.Snapshot:
    """All of the first node is used, and one asks for it alone; there is room elsewhere."""
    data = {"requests": [ask("ask", required_node="n1", **changes.pop("ask", {}))], "reservations": []}
    return partition(**{**data, **changes})


def test_an_ask_that_needs_its_node_preempts_there_with_headroom_alone() -> None:
    """The root may have what all nodes have; below it a queue what its max says."""
    assert decided(eh.plan(required(), UPSTREAM)) == [("preempt", "x2", "n1"), ("reserve", "ask", "n1")]
    full = eh.plan(required(allocations=FULL), UPSTREAM)
    assert (decided(full), [r.rule for r in full.refusals]) == ([], ["limits_of_operation_or_pool"])
    for most, rule in ((1, None), (2, None)):
        pools = [{"name": "dev"}, {"name": "prod", "limits": {"cpu": most}}]
        found = eh.plan(required(pools=pools, ask={"resources": {"cpu": 2}}), UPSTREAM)
        assert bool(found.decisions) is (most == 2), rule


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_of_an_ask_makes_room_on_the_node_that_it_needs(count: int) -> None:
    """Once each: nothing more leaves in the next plan, or where victims of one leave already."""
    cluster = eh.Cluster(required(ask={"count": count}, nodes=OF_FOUR, allocations=FOUR), UPSTREAM)
    plan = cluster.plan()
    assert [what for what, *_ in decided(plan)] == ["preempt", "reserve"] * count
    cluster.carry_out(plan)
    assert not cluster.plan().decisions
    assert not eh.plan(cluster.snapshot(), UPSTREAM).decisions


def test_it_waits_on_its_node_though_nothing_may_leave() -> None:
    rows = [held("x1", "n1", priority=9), held("x2", "n1", priority=9)]
    assert decided(eh.plan(required(allocations=rows), UPSTREAM)) == [("reserve", "ask", "n1")]


def test_it_cancels_reservations_of_those_that_need_no_node() -> None:
    requests = [
        ask("ask", required_node="n1", priority=5),
        ask("other", cpu=2),
        ask("bound", required_node="n1"),
    ]
    rows = [held("x1", "n1", 1), held("x2", "n1", 2), held("x3", "n2", 1)]
    snapshot = partition(
        allocations=rows, requests=requests, reservations=[kept("other", "n1"), kept("bound", "n1")]
    )
    plan = eh.plan(snapshot, UPSTREAM)
    assert ("release", "other", "n1") in decided(plan)
    assert [d.reason for d in plan.decisions if d.action == "release"] == ["reservation_cancelled"]
    left = snapshot.after(plan).to_dict()["reservations"]
    assert {row["request"] for row in left if row["node"] == "n1"} == {"ask", "bound"}
    cluster = eh.Cluster(snapshot, UPSTREAM)
    cluster.carry_out(cluster.plan())
    same = cluster.snapshot().to_dict()["reservations"]
    assert {(row["request"], row["node"]) for row in same} == {(row["request"], row["node"]) for row in left}


@pytest.mark.parametrize("drained", [False, True])
def test_a_drained_node_is_not_cleared_for_an_ask_that_needs_it(drained: bool) -> None:
    nodes = [
        {"name": "n1", "capacity": {"cpu": 2}, "schedulable": not drained},
        {"name": "n2", "capacity": {"cpu": 2}},
    ]
    plan = eh.plan(required(nodes=nodes), UPSTREAM)
    assert bool(plan.decisions) is not drained
    assert [r.rule for r in plan.refusals] == (["node_not_schedulable"] if drained else [])
    reserved = eh.plan(required(nodes=nodes, reservations=[kept("ask", "n1")]), UPSTREAM, on=BOTH)
    assert bool([d for d in reserved.decisions if d.action == "preempt"]) is not drained


def test_what_is_larger_than_its_node_is_refused() -> None:
    plan = eh.plan(required(ask={"resources": {"cpu": 3}}, allocations=[]), UPSTREAM)
    assert (decided(plan), [r.request for r in plan.refusals]) == ([], ["ask"])


@pytest.mark.parametrize(("age", "gone"), [(7202 - STEP, False), (7202.0, False), (7202 + STEP, True)])
def test_a_reservation_below_a_full_maximum_is_given_up(age: float, gone: bool) -> None:
    pools = [{"name": "dev"}, {"name": "prod", "limits": {"cpu": 1}}]
    snapshot = partition(pools=pools, requests=[ask("ask", cpu=2)], reservations=[kept("ask", "n1", age)])
    plan = eh.plan(snapshot, UPSTREAM)
    assert decided(plan) == ([("release", "ask", "n1")] if gone else [])
    assert [r.request for r in plan.refusals] == ["ask"]
    one = {**ask("ask", cpu=2, required_node="n1")}
    bound = partition(pools=pools, requests=[one], reservations=[kept("ask", "n1", age)])
    assert not eh.plan(bound, UPSTREAM).decisions


@pytest.mark.parametrize("priority", [-(2**31), -(2**31) + 1, 0])
@pytest.mark.parametrize("offset", ["0", "-5", "-2147483648"])
def test_the_lowest_priority_is_one(priority: int, offset: str) -> None:
    pools = [{"name": "dev"}, {"name": "prod", "settings": {"properties": {"priority.offset": offset}}}]
    plan = eh.plan(
        partition(pools=pools, requests=[ask("ask", priority=priority)], reservations=[]), UPSTREAM
    )
    assert decided(plan) == [("start", "ask", "n2")]


def test_what_waits_counts_for_the_priority_of_its_application() -> None:
    """Application one keeps the priority of its first ask, for which victims leave, and has waited longer."""
    nodes = [{"name": f"n{i}", "capacity": {"cpu": 2}} for i in range(3)]
    rows = [held(f"v{i}", f"n{i}", 10 - i, 2) for i in range(3)]
    operations = [
        {"name": "d", "pool": "dev"},
        {"name": "one", "pool": "prod", "start_time": 700},
        {"name": "two", "pool": "prod", "start_time": 710},
    ]
    requests = [
        {**ask("ask0", priority=10), "operation": "one", "submit_time": 700},
        {**ask("ask1", priority=10), "operation": "two", "submit_time": 710},
        {**ask("ask2", priority=5), "operation": "one", "submit_time": 720},
    ]
    snapshot = partition(
        nodes=nodes,
        allocations=rows,
        operations=operations,
        requests=requests,
        reservations=[],
        pools=[{"name": "dev"}, {"name": "prod", "strong_guarantee": {"cpu": 9}}],
    )
    plan = eh.plan(snapshot, UPSTREAM)
    assert [d.request for d in plan.decisions if d.action == "reserve"] == ["ask0", "ask2", "ask1"]


def test_every_ask_is_decided_or_refused() -> None:
    """Also those that have reserved a node before."""
    for reservations in ([], [kept("ask", "n1")]):
        plan = eh.plan(partition(allocations=FULL, reservations=reservations), UPSTREAM, on=BOTH)
        said = {d.request for d in plan.decisions} | {r.request for r in plan.refusals}
        assert "ask" in said


def test_resources_that_are_named_with_zero_are_told_from_others() -> None:
    """Of an ask with a zero nothing is collected, as its type has none that may be exceeded."""
    zero = {"settings": {"zeros": {"gpu": 0}}}
    resources = {"cpu": {"quantum": 1}, "gpu": {"quantum": 1}}
    rows = [held("x1", "n1", 1), held("x2", "n1", 2), held("x3", "n2", 1), held("x4", "n2", 2)]
    for more, count in (({}, 1), (zero, 0)):
        requests = [ask("ask", **more)]
        snapshot = partition(resources=resources, allocations=rows, requests=requests, reservations=[])
        plan = eh.plan(snapshot, UPSTREAM)
        assert len([d for d in plan.decisions if d.action == "preempt"]) == count
    with pytest.raises(eh.InputError, match="tpu"):
        eh.plan(partition(requests=[ask("ask", settings={"zeros": {"tpu": 0}})]), UPSTREAM)


def test_a_simulation_gives_up_what_a_plan_releases() -> None:
    """Three of one ask start in turn on the node that is reserved for it, as room comes free."""
    snapshot = partition(requests=[], reservations=[], allocations=[])
    jobs = [
        {
            "name": "long",
            "pool": "dev",
            "resources": {"cpu": 1},
            "submit_time": 0,
            "run_time": 30,
            "count": 2,
        },
        {
            "name": "wide",
            "pool": "prod",
            "resources": {"cpu": 2},
            "submit_time": 1,
            "run_time": 10,
            "count": 3,
        },
    ]
    slow = {"settings": {"properties": {"preemption.delay": "1h"}}}
    pools = [{"name": "dev"}, {"name": "prod", **slow}]
    start = eh.Snapshot.from_dict({**snapshot.to_dict(), "now": 0, "pools": pools, "operations": []})
    result = eh.simulate(start, UPSTREAM, eh.simulate.Workload(jobs), until=200)
    assert list(result.operations["completed"]) == [2, 3]
