"""A cluster with a planner of its own: updates, heartbeats between them, and plans that are made again."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.cluster.stage import Stage
from tests.counting import calls

ROWS: dict[str, Any] = {
    "now": 100,
    "resources": {"cpu": {}},
    "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")],
    "operations": [{"name": "old"}, {"name": "new"}],
    "allocations": [
        {"name": f"a{i}", "operation": "old", "node": f"n{i % 2 + 1}", "resources": {"cpu": 1}}
        for i in range(8)
    ],
    "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 1}, "count": 8}],
}
POLICY = eh.policies.YTsaurus(fair_share_starvation_timeout=30.0, fair_share_update_period="10s")
HEARTBEAT = eh.Heartbeat("n1")


def cluster(policy: Any = POLICY) -> eh.Cluster:
    """A cluster whose operation without any room starves, at 140."""
    made = eh.Cluster(eh.Snapshot.from_dict(ROWS), policy)
    made.plan()
    made.apply([{"event": "time", "now": 140}])
    return made


def said(plan: Any) -> list[tuple[str, Any, Any]]:
    return [(d.action, d.allocation or d.request, d.node) for d in plan.decisions]


def end(name: str) -> dict[str, Any]:
    return {"event": "end", "allocation": name}


def test_heartbeats_use_the_last_update_until_the_period_has_passed() -> None:
    made = cluster()
    made.update()
    given = made.plan(on=HEARTBEAT).shares["fair_share"].tolist()
    # The operation that waits goes: a later update would give the other one all.
    made.apply([{"event": "count", "request": "r", "count": 0}, {"event": "time", "now": 149}])
    assert made.plan(on=HEARTBEAT).shares["fair_share"].tolist() == given
    made.apply([{"event": "time", "now": 150}])
    later = made.plan(on=HEARTBEAT).shares["fair_share"].tolist()
    assert later != given
    assert later == eh.plan(made.snapshot(), POLICY, made.state()).shares["fair_share"].tolist()


def test_a_heartbeat_asks_nothing_that_is_known() -> None:
    """Each function of Python that it calls is a hundredth of what it costs."""
    made = cluster()
    made.update()
    made.plan(on=HEARTBEAT)
    assert calls(lambda: made.plan(on=HEARTBEAT)) <= 18


def test_without_an_update_each_plan_has_its_own() -> None:
    made = cluster()
    before = made.plan(on=HEARTBEAT).shares["fair_share"].tolist()
    made.apply([{"event": "count", "request": "r", "count": 0}])
    assert made.plan(on=HEARTBEAT).shares["fair_share"].tolist() != before


def test_a_round_always_updates() -> None:
    made = cluster()
    made.update()
    made.apply([{"event": "count", "request": "r", "count": 0}])
    expected = eh.plan(made.snapshot(), POLICY, made.state())
    assert made.plan().shares["fair_share"].tolist() == expected.shares["fair_share"].tolist()


def test_each_heartbeat_of_a_list_sees_those_before_it() -> None:
    waiting = {**ROWS["requests"][0], "count": 1}
    made = eh.Cluster(eh.Snapshot.from_dict({**ROWS, "requests": [waiting]}), POLICY)
    made.plan()
    made.apply([{"event": "time", "now": 140}])
    both = [HEARTBEAT, eh.Heartbeat("n2")]
    expected = eh.plan(made.snapshot(), POLICY, made.state(), on=both)
    plan = made.plan(on=both)
    assert plan.on == tuple(both)
    assert [d.action for d in plan.decisions].count("start") == 1
    assert plan.to_json() == expected.to_json()
    with pytest.raises(eh.InputError, match="there is no node 'n9'"):
        made.plan(on=[HEARTBEAT, eh.Heartbeat("n9")])
    with pytest.raises(eh.InputError, match="on is"):
        made.plan(on=[HEARTBEAT, eh.Round()])
    assert len(made.plan(on=[]).decisions) == 0


def test_a_plan_and_what_is_done_with_it_freezes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = cluster()
    made.update()
    made.plan(on=eh.Heartbeat("n2"))

    def frozen(self: Any) -> Any:
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr(Stage, "freeze_with_rows", frozen)
        plan = made.plan(on=HEARTBEAT)
        listed = plan.decisions.to_list()
        assert [d["action"] for d in listed] == ["preempt", "start"]
        assert len(plan.decisions.victims) == len(plan.decisions.starts) == 1
        assert plan.decisions.starts[0].request == "r"
        done = made.carry_out(plan)
    assert (done.started, done.requeued) == (("r/1",), (listed[0]["allocation"],))
    assert listed == plan._again.decisions.to_list()
    assert plan.decisions == plan._again.decisions


@pytest.mark.parametrize("said", [None, True, False])
def test_what_starts_may_be_preempted_as_its_request_says(said: bool | None) -> None:
    request = {"name": "r", "operation": "o", "resources": {"cpu": 1}}
    data = {
        "now": 10,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 1}}],
        "operations": [{"name": "o"}],
        "requests": [request if said is None else {**request, "preemptible": said}],
    }
    made = eh.Cluster(eh.Snapshot.from_dict(data), eh.policies.YTsaurus())
    plan = made.plan()
    made.carry_out(plan)
    assert [row.get("preemptible", True) for row in made.snapshot().to_dict()["allocations"]] == [
        said is not False
    ]
    assert made.snapshot() == plan.snapshot.after(plan)


def test_a_plan_is_of_its_own_instant_whatever_happens_later() -> None:
    made = cluster()
    made.update()
    made.apply([end("a7")])
    plan = made.plan(on=HEARTBEAT)
    then = made.snapshot()
    made.apply([end("a6"), {"event": "time", "now": 145}])
    made.plan(on=eh.Heartbeat("n2"))
    assert plan.snapshot == then
    assert plan.to_dict()["decisions"] == plan.decisions.to_list()
    assert plan.state.time == 140
    victim = next(d.allocation for d in plan.decisions if d.action == "preempt")
    assert "new" in str(plan.why(victim))
    assert str(plan.why_not("a0"))
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_a_plan_of_another_process_knows_when_its_update_was() -> None:
    made = cluster()
    made.update()
    made.apply([{"event": "time", "now": made.now + 1}])
    plan = made.plan(on=HEARTBEAT)
    assert plan.state.updated == made.now - 1
    assert pickle.loads(pickle.dumps(plan)).state == plan.state


WAYS: list[Callable[[eh.Cluster, Path], eh.Cluster]] = [
    lambda made, _: made.copy(),
    lambda made, _: pickle.loads(pickle.dumps(made)),
    lambda made, path: (made.save(path), eh.Cluster.load(path))[1],  # type: ignore[func-returns-value]
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("updates", [True, False])
def test_between_an_update_and_its_heartbeats(
    way: Callable[[eh.Cluster, Path], eh.Cluster], tmp_path: Path, *, updates: bool
) -> None:
    """Whoever comes back there uses that update too."""
    made = cluster()
    if updates:
        made.update()
    made.apply([{"event": "count", "request": "r", "count": 1}, end("a0"), {"event": "time", "now": 145}])
    made.plan(on=eh.Heartbeat("n2"))
    other = way(made, tmp_path / "cluster")
    for now in (146, 151):
        for one in (made, other):
            one.apply([{"event": "time", "now": now}])
        assert other.plan(on=HEARTBEAT).to_json() == made.plan(on=HEARTBEAT).to_json()
        assert other.state() == made.state()
    assert other.snapshot() == made.snapshot()


@pytest.mark.parametrize("updates", [True, False])
def test_what_is_undone_was_never_done(*, updates: bool) -> None:
    made, other = cluster(), cluster()
    for one in (made, other):
        if updates:
            one.update()
        one.apply([end("a0")])
        one.plan(on=HEARTBEAT)
    mark = made.mark()
    for _ in range(2):
        made.apply([end("a1"), {"event": "time", "now": 147}])
        kept = made.plan(on=eh.Heartbeat("n2"))
        made.update()
        made.undo(mark)
        assert kept.snapshot.now == 147  # of what has been undone it still knows
    for now in (148, 155):
        for one in (made, other):
            one.apply([{"event": "time", "now": now}])
        assert made.plan(on=HEARTBEAT).to_json() == other.plan(on=HEARTBEAT).to_json()
        assert made.state() == other.state()


@pytest.mark.parametrize("updates", [True, False])
def test_events_that_are_refused_leave_the_planner_as_it_was(*, updates: bool) -> None:
    made, other = cluster(), cluster()
    for one in (made, other):
        if updates:
            one.update()
    with pytest.raises(eh.InputError, match="there is no allocation 'b'"):
        made.apply([end("a0"), {"event": "time", "now": 160}, end("b")])
    assert made.plan(on=HEARTBEAT).to_json() == other.plan(on=HEARTBEAT).to_json()


def test_policies_follow_side_by_side() -> None:
    other = POLICY.replace(victim_selection="prefix")
    made, alone = cluster(), cluster()
    made.update()
    alone.update()
    for event in (end("a0"), end("a5")):
        for one in (made, alone):
            one.apply([event])
        plan = made.plan(other, on=HEARTBEAT)
        assert plan.to_json() == eh.plan(plan.snapshot, other, plan.state_before, on=HEARTBEAT).to_json()
        assert made.plan(on=HEARTBEAT).to_json() == alone.plan(on=HEARTBEAT).to_json()


def test_given_values_are_those_of_one_plan() -> None:
    made = cluster()
    made.update()
    given = {"groups": {f"a{i}": "non_preemptible" for i in range(8)}}
    assert said(made.plan(on=HEARTBEAT, given=given)) == []
    made.apply([{"event": "time", "now": 150}])
    assert [d.action for d in made.plan(on=HEARTBEAT).decisions] == ["preempt", "start"]


def test_given_values_of_an_update_are_for_its_heartbeats() -> None:
    made = cluster()
    made.update(given={"fair_share": {"old": {"cpu": 1.0}, "new": {"cpu": 0.0}}})
    plan = made.plan(on=HEARTBEAT)
    assert said(plan) == []
    assert plan.shares["fair_share"].tolist() == [[1.0], [0.0], [1.0]]
    other = made.copy()
    for one in (made, other):
        assert one.plan(on=HEARTBEAT).shares["fair_share"].tolist() == [[1.0], [0.0], [1.0]]
        one.apply([{"event": "time", "now": 150}])
        assert one.plan(on=HEARTBEAT).shares["fair_share"].tolist() == [[1.0], [0.5], [0.5]]


def test_usage_above_the_demand_of_the_update() -> None:
    """Groups are those of the new usage, shares those of the old demand."""
    made = cluster()
    made.update()
    rows = [{"name": f"b{i}", "operation": "old", "resources": {"cpu": 1}} for i in range(2)]
    made.apply([{"event": "start", "row": row} for row in rows])
    plan = made.plan(on=HEARTBEAT)
    assert plan.snapshot.table("operations").to_dict()["name"] == ["new", "old"]
    assert made.usage("old") == {"cpu": 10}
    assert plan.shares["demand_share"].tolist() == [[2.0], [1.0], [1.0]]
    assert plan.shares["fair_share"].tolist() == [[1.0], [0.5], [0.5]]
    assert {plan.groups[name] for name in ("a4", "a7", "b0", "b1")} == {"preemptible"}
    assert plan.groups["a3"] != "preemptible"


def test_a_long_log_ends() -> None:
    """Plans are the same whether a log began anew or not."""
    made, other = cluster(), cluster()
    for now in range(141, 170):
        for one in (made, other):
            one.apply([{"event": "time", "now": now}])
            one._log.limit = 40 if one is made else 10**6  # cost: see `Entry`
            if now % 5 == 0:
                one.update()
        assert made.plan(on=HEARTBEAT).to_json() == other.plan(on=HEARTBEAT).to_json()
    assert len(made._log.entries) < 20 < len(other._log.entries)


def test_a_policy_that_plans_anew_has_nothing_to_update() -> None:
    made = cluster()
    made.update(eh.policies.BackendAI())
    assert made.state(eh.policies.BackendAI()) is None


SLURM = eh.policies.Slurm(
    PreemptType="preempt/partition_prio",
    PreemptMode="requeue",
    partitions={"low": {"Nodes": "n1"}, "high": {"PriorityTier": 2, "Default": True}},
    PriorityType="priority/basic",
)
BACKENDAI = eh.policies.BackendAI(
    project_policies={"p": {"range": [0, 9]}}, user_policies={"u": {"range": [10, 90]}}
)


def put(table: str, **row: Any) -> dict[str, Any]:
    return {"event": "put", "table": table, "row": {"name": "late", **row}}


def gone(table: str, name: str = "late") -> dict[str, Any]:
    return {"event": "remove", "table": table, "name": name}


REQUEST = {"operation": "new", "resources": {"cpu": 1}}
#: Policy, what makes its rows wrong, what is said then, and what mends it.
WRONG: dict[str, tuple[Any, dict[str, Any], str, dict[str, Any]]] = {
    "partition": (SLURM, put("operations", partition="far"), "partition of .* is 'far'", gone("operations")),
    "qos": (
        SLURM.replace(PreemptType="preempt/qos", qos={"q": {}}),
        put("operations", qos="far"),
        "qos of .* is 'far'",
        gone("operations"),
    ),
    "node of a partition": (
        SLURM.replace(partitions={"low": {"Nodes": "n3"}, "high": {"Default": True}}),
        gone("nodes", "n3"),
        "names 'n3', which is no node",
        put("nodes", name="n3", capacity={"cpu": 1}),
    ),
    "priority": (BACKENDAI, put("operations", priority=101), "from 0 to 100", gone("operations")),
    "owners": (
        BACKENDAI,
        put("operations", user="u", project="p"),
        "no priority in common",
        gone("operations"),
    ),
    "machine": (
        BACKENDAI,
        {"event": "node", "node": "m", "capacity": {"cpu": 1}},
        "logical nodes of the machine",
        {"event": "node", "node": "m", "capacity": {"cpu": 2}},
    ),
    **{
        f"settings of {table} of {policy.system}": (
            policy,
            put(table, **row, settings={"never": 1}),
            "settings.never",
            gone(table),
        )
        for policy in (POLICY, SLURM, BACKENDAI)
        for table, row in (
            ("operations", {}),
            ("nodes", {"capacity": {"cpu": 1}}),
            ("requests", REQUEST),
            ("allocations", REQUEST),
        )
    },
}


@pytest.mark.parametrize("what", WRONG)
def test_rows_that_come_are_checked_as_those_of_a_snapshot(what: str) -> None:
    policy, event, message, mends = WRONG[what]
    more = [
        {"name": "m", "capacity": {"cpu": 2}},
        {"name": "part", "capacity": {"cpu": 2}, "physical": "m"},
        {"name": "n3", "capacity": {"cpu": 1}},
    ]
    made = eh.Cluster(eh.Snapshot.from_dict({**ROWS, "nodes": [*ROWS["nodes"], *more]}), policy)
    made.plan()
    for _ in range(2):
        made.apply([event])
        for _ in range(2):
            with pytest.raises(eh.InputError, match=message):
                made.plan()
        made.apply([mends, {"event": "time", "now": made.now + 1}])
        state = made.state()
        assert made.plan().to_json() == eh.plan(made.snapshot(), policy, state).to_json()


@pytest.mark.parametrize("policy", [SLURM, BACKENDAI], ids=["slurm", "backendai"])
def test_a_run_over_the_queue_freezes_nothing(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = eh.Cluster(eh.Snapshot.from_dict({**ROWS, "allocations": ROWS["allocations"][:4]}), policy)
    made.plan()

    def frozen(self: Any) -> Any:
        raise AssertionError

    with monkeypatch.context() as patched:
        patched.setattr(Stage, "freeze_with_rows", frozen)
        made.apply([end("a0"), put("operations"), put("requests", **{**REQUEST, "operation": "late"})])
        plan = made.plan()
        assert {d.request for d in plan.decisions if d.action == "start"} == {"late"}
        assert len(made.carry_out(plan).started) == len(plan.decisions.starts)
    assert plan.decisions.to_list() == plan._again.decisions.to_list()


def test_a_part_that_is_kept_while_leaving_is_kept_of_an_old_plan_too() -> None:
    policy = eh.policies.BackendAI(preemption_mode="suspend", suspend_approach="keep")
    held = [{**row, "resources": {"cpu": 1, "disk": 2}} for row in ROWS["allocations"]]
    data = {**ROWS, "allocations": held}
    data["resources"] = {"cpu": {}, "disk": {"available_after_preemption": False}}
    data["operations"] = [{"name": "old", "priority": 1}, {"name": "new", "priority": 50}]
    data["nodes"] = [{**row, "capacity": {"cpu": 4, "disk": 9}} for row in ROWS["nodes"]]
    made = eh.Cluster(eh.Snapshot.from_dict(data), policy)
    plan = made.plan()
    assert plan.decisions.victims[0].kept
    late, mark = made.copy(), made.mark()
    made.carry_out(plan)
    after = plan.snapshot.after(plan)
    assert made.snapshot() == after
    victim = plan.decisions.victims[0]
    (leaving,) = (row for row in after.to_dict()["allocations"] if row["name"] == victim.allocation)
    assert (leaving["state"], leaving["held"]) == ("preempting", victim.kept)
    assert made.plan().to_dict() == eh.plan(after, policy, plan.state).to_dict()
    made.undo(mark)
    assert made.snapshot() == plan.snapshot
    late.apply([{"event": "put", "table": "operations", "row": {"name": "later"}}])
    late.carry_out(plan)
    assert late.snapshot() == after.replace(operations=[*after.to_dict()["operations"], {"name": "later"}])


def test_files_of_the_version_before_are_read(tmp_path: Path) -> None:
    made = cluster()
    made.save(tmp_path / "cluster")
    data = json.loads((tmp_path / "cluster").read_text())
    old = {key: value for key, value in data.items() if key != "log"} | {"schema": "evenhand/cluster/1"}
    for row in old["states"]:
        del row["by_period"]
    (tmp_path / "old").write_text(json.dumps(old))
    assert eh.Cluster.load(tmp_path / "old").plan().to_json() == made.plan().to_json()


@pytest.mark.parametrize("entry", [3, {}, {"planned": 1}, {"events": [{"event": "never"}]}])
def test_a_log_that_is_none(tmp_path: Path, entry: Any) -> None:
    cluster().save(tmp_path / "cluster")
    data = json.loads((tmp_path / "cluster").read_text())
    data["log"] = [entry]
    (tmp_path / "cluster").write_text(json.dumps(data))
    with pytest.raises(eh.InputError, match="log"):
        eh.Cluster.load(tmp_path / "cluster")


@pytest.mark.parametrize("system", ["YTsaurus", "BackendAI", "Slurm"])
def test_a_cluster_without_operations_is_planned(system: str) -> None:
    data = {
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 2}}],
        "operations": [{"name": "o"}],
    }
    made = eh.Cluster(eh.Snapshot.from_dict(data), getattr(eh.policies, system)())
    made.apply([{"event": "remove", "table": "operations", "name": "o"}])
    assert len(made.plan().decisions) == 0
    made.apply([{"event": "put", "table": "operations", "row": {"name": "p"}}])
    request = {"name": "r", "operation": "p", "resources": {"cpu": 2}}
    made.apply([{"event": "put", "table": "requests", "row": request}])
    plan = made.plan()
    assert [row["request"] for row in plan.decisions.to_list()] == ["r"]
    assert made.carry_out(plan).started == ("r/1",)


def test_victims_are_remembered_where_heartbeats_use_an_earlier_update() -> None:
    made = cluster(POLICY.replace(pace={"victim_cooldown": 60}, preemptive_scheduling_backoff=0))
    made.apply([{"event": "put", "table": "operations", "row": {"name": "first"}}])
    made.update()
    plan = made.plan(on=HEARTBEAT)
    assert [d.action for d in plan.decisions] == ["preempt", "start"]
    taken = {("operation", "old"): {"taken": [140.0]}}
    assert plan.state.victims == taken
    made.carry_out(plan)
    made.apply([{"event": "remove", "table": "operations", "name": "first"}, {"event": "time", "now": 142}])
    plan = made.plan(on=HEARTBEAT)
    assert not len(plan.decisions)
    assert plan.state.victims == taken
