"""What results and snapshots hand out cannot be changed, at any depth, and travels to other processes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.frozen import FrozenDict, FrozenList, freeze, thaw
from evenhand.plans import Check, Plan, side_by_side

CLUSTER: dict[str, Any] = {
    "now": 1000,
    "resources": {"cpu": {}, "memory": {}},
    "nodes": [{"name": "n1", "capacity": {"cpu": 4, "memory": 8}, "settings": {"list": [1, {"a": [2]}]}}],
    "pools": [
        {
            "name": "p",
            "strong_guarantee": {"cpu": 2},
            "integral": {"type": "burst", "burst": {"cpu": 1}, "resource_flow": {"cpu": 1}},
        },
        {"name": "q", "compute_promised_guarantee": True},
    ],
    "operations": [
        {"name": "old", "pool": "q", "priority": 1, "partition": "low"},
        {"name": "new", "pool": "p", "priority": 20, "partition": "high"},
    ],
    "allocations": [
        {
            "name": f"a{i}",
            "operation": "old",
            "node": "n1",
            "start_time": i,
            "resources": {"cpu": 2, "memory": 1},
        }
        for i in range(2)
    ],
    "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 2}}],
    "commands": [{"kind": "preempt", "consumer": "r", "providers": ["a0"]}],
}
TIERS = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10, "PreemptMode": "OFF"}}
STARVING = {"starvation": {"new": "starving"}}


def snapshot() -> eh.Snapshot:
    # The setting of the node is of no policy.
    nodes = [{key: value for key, value in CLUSTER["nodes"][0].items() if key != "settings"}]
    return eh.Snapshot.from_dict(CLUSTER | {"nodes": nodes})


PLANS: dict[str, Callable[[], Plan]] = {
    "ytsaurus": lambda: eh.plan(snapshot(), eh.policies.YTsaurus(), given=STARVING),
    "backendai": lambda: eh.plan(snapshot(), eh.policies.BackendAI()),
    "slurm": lambda: eh.plan(
        snapshot(),
        eh.policies.Slurm(PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=TIERS),
    ),
}


def later(plan: Plan) -> Check:
    """A check of which something no longer holds."""
    return plan.check(snapshot().replace(allocations=[]))


def everything(plan: Plan) -> dict[str, Any]:
    """All that a plan has to say."""
    said: dict[str, Any] = plan.to_dict() | {"counts": plan.counts, "due": plan.next_due, "text": repr(plan)}
    said["why_not"] = [plan.why_not(name).to_dict() for name in ("a0", "r")]
    if plan.policy.system == "ytsaurus":
        said["shares"] = plan.shares.to_dict()
    return said


class TestRefusals:
    """Changing what was handed out is an error, and changes nothing."""

    def test_columns_of_decisions(self) -> None:
        for plan in (make() for make in PLANS.values()):
            assert len(plan.decisions), "there is something to change"
            before = plan.to_dict()
            for name, values in plan.decisions.columns.items():
                with pytest.raises(ValueError, match="read-only"):
                    values[:] = 0
                with pytest.raises(ValueError, match="read-only"):
                    plan.decisions.column(name)[:] = 0
                with pytest.raises(ValueError, match="read-only"):
                    plan.decisions.victims.column(name)[:] = 0
            with pytest.raises(TypeError, match="immutable"):
                plan.decisions.columns["allocation"] = np.zeros(1)  # type: ignore[index]
            assert plan.to_dict() == before

    def test_columns_of_the_rest(self) -> None:
        plan = PLANS["ytsaurus"]()
        for values in (
            plan.refusals.column("request"),
            plan.statuses.column("since"),
            plan.groups.codes,
            plan.shares["fair_share"],
            plan.decisions.table()["step"],
        ):
            with pytest.raises(ValueError, match="read-only"):
                values[...] = 0  # type: ignore[index]
        with pytest.raises(TypeError, match="immutable"):
            plan.counts["x"] = 1

    @pytest.mark.parametrize("name", ["snapshot", "policy", "state_before", "on", "given"])
    def test_attributes_of_plans(self, name: str) -> None:
        with pytest.raises(AttributeError, match="immutable"):
            setattr(PLANS["ytsaurus"](), name, None)

    def test_attributes_of_the_rest(self) -> None:
        plan = PLANS["ytsaurus"]()
        for value, name in (
            (plan.shares, "snapshot"),
            (plan.decisions, "_columns"),
            (plan.refusals, "_columns"),
            (plan.statuses, "_columns"),
            (plan.groups, "_codes"),
            (plan.snapshot, "_core"),
            (side_by_side({"a": plan}), "plans"),
        ):
            with pytest.raises(AttributeError, match="immutable"):
                setattr(value, name, None)
            with pytest.raises(AttributeError, match="immutable"):
                delattr(value, name)

    def test_settings_and_commands_of_a_snapshot(self) -> None:
        made = eh.Snapshot.from_dict(CLUSTER)
        fingerprint, data = made.fingerprint, made.to_dict()
        settings = made.settings("nodes")
        for change in (
            lambda: settings[0]["list"].append(1),
            lambda: settings[0]["list"][1]["a"].append(1),
            lambda: settings[0].update(x=1),  # type: ignore[attr-defined]
            lambda: settings.pop(0),  # type: ignore[attr-defined]
            lambda: made.commands[0]["providers"].append("a1"),
            lambda: made.commands[0].clear(),  # type: ignore[attr-defined]
        ):
            with pytest.raises(TypeError, match="immutable"):
                change()
        assert settings[0] == {"list": [1, {"a": [2]}]}
        assert made.to_dict() == data
        assert eh.Snapshot.from_dict(made.to_dict()).fingerprint == fingerprint

    def test_what_came_in_and_what_goes_out_is_ones_own(self) -> None:
        data = copy.deepcopy(CLUSTER)
        made = eh.Snapshot.from_dict(data)
        data["nodes"][0]["settings"]["list"].append(3)
        data["commands"][0]["providers"].append("a1")
        assert made == eh.Snapshot.from_dict(CLUSTER)
        for table, change in (
            ("nodes", lambda row: row["settings"]["list"].append(3)),
            ("commands", lambda row: row["providers"].append("a1")),
        ):
            change(made.to_dict()[table][0])
            assert made.to_dict()[table] == eh.Snapshot.from_dict(CLUSTER).to_dict()[table]

    def test_states(self) -> None:
        given = {"p": {"accumulated_volume": {"cpu": 1.0}, "last_share_ratio": 0.5}}
        state = eh.State(5.0, given)
        given["p"]["accumulated_volume"]["cpu"] = 2.0  # type: ignore[index]
        assert state.pools["p"]["accumulated_volume"] == {"cpu": 1.0}
        with pytest.raises(TypeError, match="immutable"):
            state.pools["p"]["accumulated_volume"]["cpu"] = 2.0
        state.to_dict()["pools"][0]["accumulated_volume"]["cpu"] = 2.0
        assert state == eh.State(5.0, {"p": {"accumulated_volume": {"cpu": 1.0}, "last_share_ratio": 0.5}})

    def test_given_values(self) -> None:
        given = {"starvation": {"new": "starving"}}
        plan = eh.plan(snapshot(), eh.policies.YTsaurus(), given=given)
        given["starvation"]["new"] = "non_starving"
        assert plan.given == STARVING
        with pytest.raises(TypeError, match="immutable"):
            plan.given["starvation"]["new"] = "non_starving"  # type: ignore[index]

    def test_settings_of_policies(self) -> None:
        tiers = copy.deepcopy(TIERS)
        policy = eh.policies.Slurm(partitions=tiers)
        del tiers["low"]
        assert set(policy.settings.partitions) == {"low", "high"}
        with pytest.raises(TypeError, match="immutable"):
            policy.settings.partitions["x"] = policy.settings.partitions["low"]
        assert policy.replace(PreemptMode="OFF").settings.partitions == policy.settings.partitions

    def test_diagnostics(self) -> None:
        numbers = {"a": [1]}
        diagnostic = eh.Diagnostic("fields_not_read", (), "", numbers)
        numbers["a"].append(2)
        assert diagnostic.numbers == {"a": [1]}
        with pytest.raises(TypeError, match="immutable"):
            diagnostic.numbers["a"].append(2)


@pytest.mark.parametrize("make", PLANS.values(), ids=PLANS)
class TestCopies:
    """Equal plans, and what belongs to them, after a pickle or a deep copy."""

    def parts(self, make: Callable[[], Plan]) -> list[Any]:
        plan = make()
        parts = [plan, plan.decisions, plan.refusals, plan.statuses, plan.groups, plan.state, later(plan)]
        parts += [plan.policy, *plan.diagnostics, plan.diff(make()), plan.snapshot]
        return [*parts, plan.shares] if plan.policy.system == "ytsaurus" else parts

    def test_pickles_and_deep_copies_are_equal(self, make: Callable[[], Plan]) -> None:
        for part in self.parts(make):
            for again in (pickle.loads(pickle.dumps(part)), copy.deepcopy(part), copy.copy(part)):
                assert again == part, type(part)
                assert type(again) is type(part)

    def test_they_say_the_same(self, make: Callable[[], Plan]) -> None:
        plan = make()
        twice = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(plan))))
        assert everything(twice) == everything(plan)
        assert later(twice).to_dict() == later(plan).to_dict()
        assert twice.snapshot.after(twice) == plan.snapshot.after(plan)
        assert hash(twice) == hash(plan)

    def test_they_stay_read_only(self, make: Callable[[], Plan]) -> None:
        again = pickle.loads(pickle.dumps(make()))
        with pytest.raises(ValueError, match="read-only"):
            again.decisions.columns["allocation"][:] = 0
        table = pickle.loads(pickle.dumps(again.decisions.table()))
        with pytest.raises(ValueError, match="read-only"):
            table["step"][:] = 0

    def test_plans_that_differ(self, make: Callable[[], Plan]) -> None:
        plan = make()
        other = plan.policy.plan(snapshot().replace(now=1001), None, None, plan.given)
        assert plan == make()
        assert plan != other
        assert plan != eh.plan(snapshot(), plan.policy, plan.state, given=plan.given)
        assert plan != "a plan"
        assert plan.decisions != other.decisions
        assert plan.decisions != plan.decisions[1:]
        assert later(plan) != plan.check(snapshot())


def test_shares_that_differ() -> None:
    shares = eh.fair_share(snapshot())
    assert shares == eh.fair_share(snapshot())
    assert shares != eh.fair_share(snapshot(), eh.FairShareSettings(main_resource="memory"))
    assert shares != eh.fair_share(snapshot().replace(now=1001))
    state = eh.State(500.0, {"p": {"accumulated_volume": {"cpu": 100.0}, "last_share_ratio": 0.5}})
    assert shares != eh.fair_share(snapshot(), state=state), "made with other volumes"


def planned(data: tuple[eh.Snapshot, Any, Any]) -> tuple[Plan, Check, Any]:
    """What a worker process does: it gets a snapshot, and gives a plan, a check and decisions."""
    made, policy, given = data
    plan = eh.plan(made, policy, given=given)
    return plan, later(plan), plan.decisions


def shared(data: eh.Snapshot) -> eh.Shares:
    return eh.fair_share(data)


def told(plan: Plan) -> dict[str, Any]:
    return everything(plan)


def test_they_travel_to_worker_processes_and_back() -> None:
    plans = {name: make() for name, make in PLANS.items()}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        work = [(plan.snapshot, plan.policy, plan.given) for plan in plans.values()]
        for (plan, check, decisions), own in zip(pool.map(planned, work), plans.values(), strict=True):
            assert plan == own
            assert check == later(own)
            assert decisions == own.decisions
            assert plan.to_dict() == own.to_dict()
        assert pool.submit(shared, snapshot()).result() == eh.fair_share(snapshot())
        for own in plans.values():
            assert pool.submit(told, own).result() == everything(own)


class TestFrozen:
    """The containers themselves."""

    @pytest.mark.parametrize(
        "change",
        [
            lambda d: d.__setitem__("a", 1),
            lambda d: d.__delitem__("a"),
            lambda d: d.__ior__({"b": 1}),
            lambda d: d.clear(),
            lambda d: d.pop("a"),
            lambda d: d.popitem(),
            lambda d: d.setdefault("b", 1),
            lambda d: d.update(b=1),
            lambda d: d["a"].__setitem__(0, 1),
            lambda d: d["a"].__delitem__(0),
            lambda d: d["a"].__iadd__([1]),
            lambda d: d["a"].__imul__(2),
            lambda d: d["a"].append(1),
            lambda d: d["a"].clear(),
            lambda d: d["a"].extend([1]),
            lambda d: d["a"].insert(0, 1),
            lambda d: d["a"].pop(),
            lambda d: d["a"].remove(3),
            lambda d: d["a"].reverse(),
            lambda d: d["a"].sort(),
        ],
    )
    def test_every_change_is_refused(self, change: Callable[[Any], Any]) -> None:
        value = freeze({"a": [3, 2]})
        with pytest.raises(TypeError, match="immutable"):
            change(value)
        assert value == {"a": [3, 2]}

    def test_no_way_to_change_is_left_out(self) -> None:
        for kind, plain in ((FrozenDict, dict), (FrozenList, list)):
            reading = {"copy", "fromkeys", "get", "items", "keys", "values", "count", "index"}
            changing = {n for n in dir(plain) if not n.startswith("_")} - reading
            assert all(getattr(kind, name) is not getattr(plain, name) for name in changing)

    def test_what_they_are_made_of(self) -> None:
        data = {"a": [1, {"b": (2, [3])}], "c": {1, 2}, "d": None}
        frozen = freeze(data)
        assert freeze(frozen) is frozen
        assert type(frozen["a"]) is FrozenList
        assert type(frozen["a"][1]["b"][1]) is FrozenList
        assert frozen["c"] == frozenset({1, 2})
        assert {**frozen, "e": 1}["e"] == 1
        plain = thaw(freeze({"a": [1, {"b": [2]}]}))
        assert [type(v) for v in (plain, plain["a"], plain["a"][1])] == [dict, list, dict]
        for again in (pickle.loads(pickle.dumps(frozen)), copy.deepcopy(frozen)):
            assert again == frozen
            assert type(again) is FrozenDict
            assert type(again["a"]) is FrozenList
