"""What can hardly be meant of a snapshot is told in plans, shares, results and on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.implausible import of_gangs, of_guarantees, of_snapshot

POLICIES: dict[str, Callable[[], Any]] = {
    "ytsaurus": eh.policies.YTsaurus,
    "ytsaurus upstream": lambda: eh.policies.YTsaurus("upstream"),
    "yunikorn": eh.policies.YuniKorn,
    "slurm": eh.policies.Slurm,
    "backendai": eh.policies.BackendAI,
    "gridengine": eh.policies.GridEngine,
}
CODES = {"now_in_milliseconds", "start_time_after_now", "request_without_resources", "node_overfull"}


def world(**more: Any) -> eh.Snapshot:
    data = {
        "now": 3600,
        "resources": {"cpu": {}, "licence": {"scope": "cluster", "capacity": 1}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}, {"name": "m", "capacity": {"cpu": 4}}],
        "operations": [{"name": "a"}, {"name": "b"}],
    }
    return eh.Snapshot.from_dict({**data, **more})


def allocation(name: str = "x", cpu: float = 2, **more: Any) -> dict[str, Any]:
    return {"name": name, "operation": "a", "node": "n", "resources": {"cpu": cpu}, "start_time": 10, **more}


def request(name: str = "r", **more: Any) -> dict[str, Any]:
    return {"name": name, "operation": "b", "resources": {"cpu": 1}, **more}


def codes(snapshot: eh.Snapshot) -> dict[str, tuple[Any, ...]]:
    return {d.code: d.elements for d in of_snapshot(snapshot)}


def word(policy: str) -> str:
    return policy.partition(" ")[0]


STEP = 1e-6  # times are whole microseconds


@pytest.mark.parametrize(
    ("start", "told"),
    [(3600 - STEP, False), (3600, False), (3600 + STEP, True), (99_999, True), (1e12, True)],
)
def test_a_start_after_now(start: float, told: bool) -> None:
    found = codes(world(allocations=[allocation(start_time=start), allocation("y")]))
    assert found == ({"start_time_after_now": ("x",)} if told else {})


@pytest.mark.parametrize(
    ("start", "count"), [(3_600_000, 1), (3_600_000 + 1000 * STEP, 0), (3_600_000 - STEP, 1), (3601, 1)]
)
def test_a_start_that_may_be_in_milliseconds(start: float, count: int) -> None:
    (found,) = of_snapshot(world(allocations=[allocation(start_time=start)]))
    assert found.numbers["if_milliseconds"] == count
    assert ("read as milliseconds, 1 of them started before" in found.message) is bool(count)


@pytest.mark.parametrize(("now", "told"), [(1e11 - 1, False), (1e11, True), (1.1e12, True), (1.7e9, False)])
def test_now_in_milliseconds(now: float, told: bool) -> None:
    assert ("now_in_milliseconds" in codes(world(now=now))) is told


@pytest.mark.parametrize(("amount", "told"), [(0, True), (0.001, False), (1, False)])
def test_a_request_for_nothing(amount: float, told: bool) -> None:
    snapshot = world(requests=[request(resources={"cpu": amount}), request("s")])
    assert codes(snapshot) == ({"request_without_resources": ("r",)} if told else {})


def test_a_request_for_a_licence_alone_is_one_for_something() -> None:
    assert not codes(world(requests=[request(resources={"licence": 1})]))


@pytest.mark.parametrize(("cpu", "told"), [(1.999, False), (2, False), (2.001, True), (9, True)])
def test_a_node_that_is_overfull(cpu: float, told: bool) -> None:
    found = codes(world(allocations=[allocation(), allocation("y", cpu)]))
    assert found == ({"node_overfull": ("n",)} if told else {})


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"state": "running"}, True),
        ({"state": "suspended"}, True),  # by a person: it keeps all
        ({"state": "preempting"}, False),  # its room may be promised already
        ({"state": "preempted"}, False),
        ({"state": "preempted", "held": {"cpu": 2.001}}, True),
        ({"state": "preempted", "held": {"cpu": 2}}, False),
    ],
)
def test_what_counts_on_a_node(more: dict[str, Any], told: bool) -> None:
    found = codes(world(allocations=[allocation(), allocation("y", 3, **more)]))
    assert ("node_overfull" in found) is told


def test_what_the_cluster_has_together_is_no_room_of_a_node() -> None:
    assert not codes(world(allocations=[allocation(resources={"cpu": 1, "licence": 1})]))


@pytest.mark.parametrize("system", POLICIES)
def test_every_system_tells(system: str) -> None:
    snapshot = world(
        now=1e11,
        allocations=[allocation(cpu=5, start_time=2e11)],
        requests=[request(resources={})],
    )
    told = [d.code for d in eh.plan(snapshot, POLICIES[system]()).diagnostics]
    assert set(told) >= CODES
    assert not [code for code in CODES if told.count(code) > 1]
    plain = world(allocations=[allocation()], requests=[request()])
    assert not CODES & {d.code for d in eh.plan(plain, POLICIES[system]()).diagnostics}


@pytest.mark.parametrize("system", POLICIES)
def test_what_a_plan_leaves_is_not_told_of(system: str) -> None:
    """Room that is handed over while its victims leave is no overfull node."""
    snapshot = world(
        now=100_000,
        allocations=[allocation(cpu=4, priority=1)],
        operations=[{"name": "a", "priority": 1}, {"name": "b", "priority": 50, "start_time": 5}],
        requests=[request(resources={"cpu": 4})],
    )
    plan = eh.plan(snapshot, POLICIES[system](), as_if_waiting="1h")
    after = snapshot.after(plan)
    assert "node_overfull" not in codes(after)


# Guarantees


def pools(own: dict[str, float] | None, *children: dict[str, float]) -> eh.Snapshot:
    rows = [{"name": "p", **({} if own is None else {"strong_guarantee": own})}]
    rows += [
        {"name": f"c{i}", "parent": "p", "strong_guarantee": amount} for i, amount in enumerate(children)
    ]
    resources = {"cpu": {}, "gpu": {}}
    nodes = [{"name": "n", "capacity": {"cpu": 100, "gpu": 100}}]
    return eh.Snapshot.from_dict({"now": 5, "resources": resources, "nodes": nodes, "pools": rows})


@pytest.mark.parametrize(
    ("own", "children", "told"),
    [
        ({"cpu": 4}, [{"cpu": 4}], False),
        ({"cpu": 4}, [{"cpu": 4.001}], True),
        ({"cpu": 4}, [{"cpu": 2}, {"cpu": 2}], False),
        ({"cpu": 4}, [{"cpu": 2}, {"cpu": 2.001}], True),
        ({"cpu": 4}, [{"cpu": 1}], False),
        (None, [{"cpu": 0.001}], True),
        (None, [{"cpu": 0}], False),
        ({"cpu": 4}, [{"cpu": 4, "gpu": 9}], False),  # its guarantee of gpu follows from that of cpu
        ({"cpu": 4, "gpu": 0}, [{"cpu": 4, "gpu": 9}], True),
        ({"cpu": 4, "gpu": 9}, [{"cpu": 4, "gpu": 9}], False),
    ],
)
def test_guarantees_of_children_fit_in_that_of_their_pool(
    own: dict[str, float] | None, children: list[dict[str, float]], told: bool
) -> None:
    snapshot = pools(own, *children)
    expected = [("guarantee_above_pool", ("p",))] if told else []
    assert [(d.code, d.elements) for d in of_guarantees(snapshot)] == expected
    assert [(d.code, d.elements) for d in eh.fair_share(snapshot).diagnostics] == expected
    plan = eh.plan(snapshot, eh.policies.YTsaurus())
    assert [(d.code, d.elements) for d in plan.diagnostics] == expected
    assert plan.shares == eh.fair_share(snapshot, eh.policies.YTsaurus().settings.fair_share)


def test_the_message_has_the_amounts() -> None:
    (found,) = of_guarantees(pools({"cpu": 4}, {"cpu": 2}, {"cpu": 3}))
    assert "Those in p add up to 5 of 4 cpu; pools above: p." in found.message


def test_the_root_is_another_diagnostic() -> None:
    data = {"name": "p", "strong_guarantee": {"cpu": 200}}
    resources, nodes = {"cpu": {}}, [{"name": "n", "capacity": {"cpu": 100}}]
    snapshot = eh.Snapshot.from_dict({"resources": resources, "nodes": nodes, "pools": [data]})
    assert not of_guarantees(snapshot)
    assert "pool_tree_guarantees_overcommit" in {d.code for d in eh.fair_share(snapshot).diagnostics}


# Gangs


def gang(running: int, waiting: int, *, gang: bool = True, free: int = 0) -> eh.Snapshot:
    room = running + free
    return eh.Snapshot.from_dict(
        {
            "now": 50,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": room}}],
            "operations": [{"name": "a", "gang": gang}],
            "allocations": [allocation(f"x{i}", 1) for i in range(running)],
            "requests": [request(operation="a", count=waiting)] if waiting else [],
        }
    )


@pytest.mark.parametrize(
    ("running", "waiting", "told"), [(0, 3, False), (1, 2, True), (2, 1, True), (3, 0, False)]
)
def test_a_gang_that_runs_in_part(running: int, waiting: int, told: bool) -> None:
    snapshot = gang(running, waiting)
    found = [d for d in eh.fair_share(snapshot).diagnostics if d.code == "gang_in_part"]
    assert [d.elements for d in found] == ([("a",)] if told else [])
    assert not of_gangs(gang(running, waiting, gang=False))
    if told:
        assert f"Of a, {running} of 3 allocations run." in found[0].message


@pytest.mark.parametrize(("free", "told"), [(0, False), (1, True), (2, True), (3, False)])
def test_a_plan_tells_of_gangs_as_they_are_after_it(free: int, told: bool) -> None:
    plan = eh.plan(gang(0, 3, free=free), eh.policies.YTsaurus())
    found = [d for d in plan.diagnostics if d.code == "gang_in_part"]
    assert [d.elements for d in found] == ([("a",)] if told else [])
    whole = eh.plan(gang(1, 2, free=2), eh.policies.YTsaurus())
    assert not [d for d in whole.diagnostics if d.code == "gang_in_part"]


def test_a_gang_that_loses_a_part_is_told_of() -> None:
    """Of a group of two one leaves for another group of one: what stays is of no use."""
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 10_000,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": 2}}],
            "pools": [{"name": "p"}, {"name": "q"}],
            "operations": [{"name": "a", "gang": True, "pool": "p"}, {"name": "b", "pool": "q"}],
            "allocations": [allocation("x", 1), allocation("y", 1, start_time=20)],
            "requests": [request(), request("again", operation="a")],
        }
    )
    plan = eh.plan(snapshot, eh.policies.YTsaurus(), as_if_waiting="1h")
    assert len(plan.decisions.victims) == 1
    assert "Of a, 1 of 2 allocations run. Gangs, after this plan: a." in " ".join(
        d.message for d in plan.diagnostics
    )


def test_what_starts_whole_is_not_told_of() -> None:
    for policy in (eh.policies.Slurm(), eh.policies.BackendAI()):
        plan = eh.plan(gang(1, 2), policy)
        assert "gang_in_part" not in {d.code for d in plan.diagnostics}


# Simulations and the command line


def test_results_tell_of_their_start_and_of_what_comes() -> None:
    snapshot = world(allocations=[allocation(start_time=4000, cpu=1)])
    work = eh.simulate.Workload(
        {"name": ["w", "v"], "resources.cpu": [0, 1], "submit_time": 3700, "run_time": 5}
        | {"submit_time": [3700, 3700], "run_time": [5, 5]}
    )
    for policy in (eh.policies.YTsaurus("upstream"), eh.policies.Slurm()):
        result = eh.simulate(snapshot, policy, work, until=5000)
        assert [(d.code, d.elements) for d in result.diagnostics] == [
            ("start_time_after_now", ("x",)),
            ("request_without_resources", ("w",)),
        ]


@pytest.mark.parametrize("cpu", [4, 4.001])
def test_validate_tells(cpu: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.json"
    path.write_text(world(allocations=[allocation(cpu=cpu)]).to_json())
    assert main(["validate", str(path)]) == 0
    assert ("node_overfull: " in capsys.readouterr().out) is (cpu > 4)
    assert main(["validate", "--format", "json", str(path)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["valid"] is True
    assert [d["code"] for d in said["diagnostics"]] == (["node_overfull"] if cpu > 4 else [])


# States of other systems


@pytest.mark.parametrize("system", POLICIES)
@pytest.mark.parametrize("left_by", POLICIES)
def test_a_state_of_another_system_is_told_of(system: str, left_by: str, tmp_path: Path) -> None:
    snapshot = world(allocations=[allocation()], requests=[request()])
    state = eh.plan(snapshot, POLICIES[left_by]()).state
    state.save(tmp_path / "state.json")
    policy = POLICIES[system]()
    for one in (state, eh.State.load(tmp_path / "state.json")):
        found = [d for d in eh.plan(snapshot, policy, one).diagnostics if d.code.startswith("state_")]
        other = word(left_by) != word(system)
        assert [d.code for d in found if d.code == "state_of_another_system"] == (
            ["state_of_another_system"] if other else []
        )
        if other:
            assert f"Its plans were of {word(left_by)}; this one is of {word(system)}." in found[-1].message


def test_a_state_without_a_policy_is_told_of_by_what_it_remembers() -> None:
    snapshot = world(requests=[request()])
    asks = {"r": {"missed": 1, "wait": 0, "last_attempt": None, "triggered": "no"}}
    state = eh.State(3600, requests=asks)
    (found,) = [d for d in eh.plan(snapshot, eh.policies.YTsaurus(), state).diagnostics if "state" in d.code]
    assert (found.code, found.numbers["tables"]) == ("state_of_another_system", ["requests"])
    plan = eh.plan(snapshot, eh.policies.YuniKorn(), state)
    assert not [d for d in plan.diagnostics if d.code == "state_of_another_system"]


def test_states_of_before_have_a_digest_alone() -> None:
    snapshot = world()
    policy = eh.policies.YTsaurus()
    state = eh.plan(snapshot, policy).state
    old = eh.State.from_dict({**state.to_dict(), "policy": state.policy.rpartition("/")[2]})
    assert not [d for d in eh.plan(snapshot, policy, old).diagnostics if d.code.startswith("state_")]
    other = eh.policies.YTsaurus("upstream")
    told = {d.code for d in eh.plan(snapshot, other, old).diagnostics}
    assert "state_settings_changed" in told


@pytest.mark.parametrize("field", ["now", "start_time"])
def test_milliseconds_since_1970_are_refused_with_the_unit(field: str) -> None:
    now, start = (1.7e12, 5) if field == "now" else (1.7e9, 1.7e12)
    with pytest.raises(eh.InputError, match=f"{field} .*times are seconds, not milliseconds"):
        world(now=now, allocations=[allocation(start_time=start)])
