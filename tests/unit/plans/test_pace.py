"""Pace of preemption: thresholds of every system, at exactly their values and a microsecond to each side."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.plans.memory import fingerprint
from tests.unit.plans.fake import FakePolicy

NOW = 1_000_000.0  # 1970-01-12 13:46:40 UTC, a Monday
STEP = 1e-6
HOUR = 3600.0
EXEMPT: dict[str, Any] = {"PreemptType": "preempt/partition_prio", "PreemptMode": "CANCEL"}
EXEMPT["partitions"] = {"high": {"PriorityTier": 2}, "low": {"PriorityTier": 1}}
SYSTEMS: dict[str, Any] = {
    "ytsaurus": lambda **pace: eh.policies.YTsaurus(pace=pace),
    "slurm": lambda **pace: eh.policies.Slurm(pace=pace, **EXEMPT),
    "backendai": lambda **pace: eh.policies.BackendAI(pace=pace),
}

Policy = Any
system = pytest.mark.parametrize("system", SYSTEMS)


def cluster(
    victims: int = 1, waiting: int = 1, now: float = NOW, root: Any = None, **fields: Any
) -> dict[str, Any]:
    """Return a full node per victim; each is an operation v0, v1, ... in pool p, which is in q."""
    pools = [{"name": "q"}, {"name": "p", "parent": "q"}]
    for row in pools:
        row |= {"settings": fields.pop(row["name"], {})}
    operations: list[dict[str, Any]] = [
        {"name": f"v{i}", "pool": "p", "partition": "low", "priority": 1} for i in range(victims)
    ]
    operations += [{"name": f"w{i}", "partition": "high", "priority": 10} for i in range(waiting)]
    return {
        "now": now,
        "resources": {"cpu": {}},
        "nodes": [{"name": f"n{i}", "capacity": {"cpu": 4}} for i in range(victims)],
        "root": {"settings": root or {}},
        "pools": pools,
        "operations": operations,
        "allocations": [
            {"name": f"a{i}", "operation": f"v{i}", "node": f"n{i}", "resources": {"cpu": 4}, **fields}
            for i in range(victims)
        ],
        "requests": [
            {"name": f"r{i}", "operation": f"w{i}", "resources": {"cpu": 4}} for i in range(waiting)
        ],
    }


def planned(
    policy: Policy, data: Mapping[str, Any], state: eh.State | None = None, **taken: list[float]
) -> eh.Plan:
    """Plan with operations w starving and allocations preemptible, where there is such a thing."""
    if taken:
        rows = [
            {"kind": "pool" if name in ("p", "q", "<Root>") else "operation", "name": name, "taken": instants}
            for name, instants in taken.items()
        ]
        kept = {"schema": "evenhand/state/1", "time": data["now"] - 1, "settings": "", "pools": []}
        state = eh.State.from_dict({**kept, "victims": rows})
    given = None
    if policy.system == "ytsaurus":
        given = {
            "starvation": {r["operation"]: "starving" for r in data["requests"]},
            "groups": {a["name"]: "preemptible" for a in data["allocations"]},
        }
    return eh.plan(eh.Snapshot.from_dict(data), policy, state, given=given)


def victims(plan: eh.Plan) -> list[Any]:
    return [d.allocation for d in plan.decisions.victims]


@system
def test_off_by_default(system: str) -> None:
    policy = SYSTEMS[system]()
    assert policy.settings.pace.is_off
    plan = planned(policy, cluster(planned_end=NOW + 1), v0=[NOW - 1], p=[NOW - 1])
    assert victims(plan) == ["a0"]
    assert "victims" not in plan.state.to_dict()


@system
@pytest.mark.parametrize(("off", "spared"), [(-STEP, False), (0, False), (STEP, True)])
def test_cooldown(system: str, off: float, spared: bool) -> None:
    policy = SYSTEMS[system](victim_cooldown="10m")
    plan = planned(policy, cluster(), v0=[NOW - 600 + off])
    assert victims(plan) == ([] if spared else ["a0"])
    assert plan.state.to_dict().get("victims", []) == [
        {"kind": "operation", "name": "v0", "taken": [NOW - 600 + off if spared else NOW]}
    ]
    if spared:
        told = plan.why_not("a0")
        assert told.code == "victim_cooldown"
        numbers = dict(told.numbers)
        assert numbers.pop("until", NOW + off) == pytest.approx(NOW + off, rel=0, abs=1e-6)
        assert numbers == {"last_preempted": NOW - 600 + off, "victim_cooldown": 600.0, "now": NOW}
        assert "too recently" in str(told)
        waits = plan.why_not("r0")
        assert waits.code == "victims_spared"
        assert any("victim_cooldown" in at.get("compared", {}) for at in waits.looked_at)
        assert plan.refusals[0].rule == "victims_spared"
        assert plan._core.next_due == round((NOW + off) * 1e6)


@system
@pytest.mark.parametrize(("off", "spared"), [(-STEP, False), (0, False), (STEP, True)])
def test_run_time(system: str, off: float, spared: bool) -> None:
    policy = SYSTEMS[system](spare_if_ran_less_than="10m")
    plan = planned(policy, cluster(start_time=NOW - 600 + off))
    assert victims(plan) == ([] if spared else ["a0"])
    if spared:
        told = plan.why_not("a0")
        assert told.code == "spared_run_time"
        numbers = dict(told.numbers)
        assert numbers.pop("until", NOW + off) == pytest.approx(NOW + off, rel=0, abs=1e-6)
        assert numbers == {"began": NOW - 600 + off, "spare_if_ran_less_than": 600.0, "now": NOW}
        assert plan._core.next_due == round((NOW + off) * 1e6)


@system
@pytest.mark.parametrize(
    ("end", "spared"),
    [
        (NOW + 600 - STEP, True),
        (NOW + 600, True),
        (NOW + 600 + STEP, False),
        (NOW + STEP, True),
        (NOW, True),
        (NOW - STEP, False),
    ],
)
def test_planned_end(system: str, end: float, spared: bool) -> None:
    policy = SYSTEMS[system](spare_if_ends_within="10m")
    plan = planned(policy, cluster(planned_end=end))
    assert victims(plan) == ([] if spared else ["a0"])
    if spared:
        told = plan.why_not("a0")
        assert told.code == "spared_ends_soon"
        assert told.numbers == {"planned_end": end, "spare_if_ends_within": 600.0, "now": NOW}


@pytest.mark.parametrize("system", ["slurm", "backendai"])
@pytest.mark.parametrize(
    ("ends", "spared"),
    [((100, 600), True), ((100, 600 + STEP), False), ((100, None), False), ((None, 100), False)],
)
def test_an_operation_ends_with_the_last_of_it(system: str, ends: tuple[Any, ...], spared: bool) -> None:
    data = cluster(victims=2)
    data["requests"][0]["count"] = 2
    for row, end in zip(data["allocations"], ends, strict=True):
        row |= {"operation": "v0"} | ({} if end is None else {"planned_end": NOW + end})
    del data["operations"][1]
    plan = planned(SYSTEMS[system](spare_if_ends_within="10m"), data)
    assert victims(plan) == ([] if spared else ["a0", "a1"])


@system
@pytest.mark.parametrize(("whole", "root"), [(1, 2), (2, 1)])
def test_the_smaller_cap_of_an_hour_counts(system: str, whole: int, root: int) -> None:
    """The policy's is one of the root, which may have one of its own."""
    policy = SYSTEMS[system](max_victims_per_hour=whole)
    data = cluster(root={"max_victims_per_hour": root})
    assert victims(planned(policy, data, v9=[NOW - 1])) == ["a0"]
    assert victims(planned(policy, data, **{"<Root>": [NOW - 1]})) == []


@system
@pytest.mark.parametrize(("off", "spared"), [(-STEP, False), (0, False), (STEP, True)])
@pytest.mark.parametrize("where", ["p", "q", "root", "policy"])
def test_victims_of_an_hour(system: str, off: float, spared: bool, where: str) -> None:
    cap = {"max_victims_per_hour": 2}
    policy = SYSTEMS[system](**(cap if where == "policy" else {}))
    data = cluster(**({} if where == "policy" else {where: cap}))
    name = {"root": "<Root>", "policy": "<Root>"}.get(where, where)
    kept = {"schema": "evenhand/state/1", "time": NOW - 1, "settings": "", "pools": []}
    taken = [NOW - HOUR + off, NOW - 1]
    rows = [{"kind": "pool", "name": name, "taken": taken}]
    plan = planned(policy, data, eh.State.from_dict({**kept, "victims": rows}))
    assert victims(plan) == ([] if spared else ["a0"])
    assert plan.state.victims["pool", name]["taken"] == (taken if spared else [NOW - 1, NOW])
    if spared:
        told = plan.why_not("a0")
        assert told.code == "pool_victims_per_hour"
        pool = "the cluster" if name == "<Root>" else f"pool {name}"
        expected = {"pool": pool, "victims": 2, "max_victims_per_hour": 2, "again_from": NOW + off}
        assert told.numbers == expected
        assert plan.why_not("r0").code == "victims_spared"
        assert plan._core.next_due == round((NOW + off) * 1e6)


@system
@pytest.mark.parametrize("where", ["p", "q", "root", "policy"])
@pytest.mark.parametrize(
    ("hours", "spared"),
    [
        ("13:46:40-14:00 UTC", True),
        ("13:46:41-14:00 UTC", False),
        ("12:00-13:46:40 UTC", False),
        ("12:00-13:46:41 UTC", True),
        ("14:00-13:46:41 UTC", True),
        ("14:00-13:46:40 +00:00", False),
        ("13:46:40-12:00 UTC", True),
        ("16:16:40-17:00 +02:30", True),
        ("16:16:41-17:00 +02:30", False),
        ("14:46:40-15:00 Europe/Berlin", True),
        ("13:46:40-14:46:40 Europe/Berlin", False),
        ("00:00-24:00 UTC", True),
    ],
)
def test_immune_hours(system: str, where: str, hours: str, spared: bool) -> None:
    immune = {"immune_hours": [hours]}
    policy = SYSTEMS[system](**(immune if where == "policy" else {}))
    plan = planned(policy, cluster(**({} if where == "policy" else {where: immune})))
    assert victims(plan) == ([] if spared else ["a0"])
    if spared:
        told = plan.why_not("a0")
        assert told.code == "pool_immune"
        assert told.numbers["immune"] == (f"pool {where}" if where in "pq" else "the cluster")
        assert told.numbers["until"] > NOW
        due = plan._core.next_due
        assert due is not None
        assert due / 1e6 <= told.numbers["until"]


# On 2026-03-29 the clocks of Berlin go from 02:00 to 03:00, on 2026-10-25 from 03:00 back to 02:00.
SPRING, AUTUMN = 1_774_746_000.0, 1_792_890_000.0  # 01:00 UTC


@pytest.mark.parametrize(
    ("now", "hours", "spared"),
    [
        (SPRING - 1, "02:00-03:00", False),  # 01:59:59
        (SPRING, "02:00-03:00", False),  # 03:00: there is no such hour
        (SPRING, "03:00-04:00", True),
        (SPRING - 1, "01:00-02:00", True),
        (AUTUMN - HOUR, "02:00-03:00", True),  # for the first time
        (AUTUMN - STEP, "02:00-03:00", True),
        (AUTUMN, "02:00-03:00", True),  # for the second time
        (AUTUMN + HOUR - STEP, "02:00-03:00", True),
        (AUTUMN + HOUR, "02:00-03:00", False),
        (AUTUMN - HOUR - STEP, "02:00-03:00", False),
    ],
)
def test_hours_are_those_of_the_wall(now: float, hours: str, spared: bool) -> None:
    policy = SYSTEMS["backendai"](immune_hours=[f"{hours} Europe/Berlin"])
    assert victims(planned(policy, cluster(now=now))) == ([] if spared else ["a0"])


@system
def test_a_step_within_the_cap_is_found(system: str) -> None:
    """Two of three leave, for the first two that wait; the third has to."""
    policy = SYSTEMS[system](max_victims_per_hour=2)
    if system == "backendai":
        policy = policy.replace(preemptors="every")
    if system == "slurm":
        policy = policy.replace(SchedulerType="sched/backfill")
    plan = planned(policy, cluster(victims=3, waiting=3))
    assert len(victims(plan)) == 2
    if system != "slurm":  # its backfill says that an earlier job is to have the nodes
        assert plan.refusals[-1].rule == "victims_spared"
    assert len(plan.state.victims["pool", "<Root>"]["taken"]) == 2


@system
@pytest.mark.parametrize("selection", ["irreducible", "minimum"])
def test_another_set_within_the_cap_is_tried(system: str, selection: str) -> None:
    """Two small ones are wanted first; as only one may leave, the large one does."""
    data = cluster(victims=2)
    data["nodes"] = [{"name": "n0", "capacity": {"cpu": 8}}]
    small, large = data["allocations"]
    data["allocations"] = [
        small | {"resources": {"cpu": 2}, "start_time": 20},
        small | {"name": "b0", "operation": "v1", "resources": {"cpu": 2}, "start_time": 21},
        large | {"node": "n0", "operation": "v2", "start_time": 10 if system == "ytsaurus" else 30},
    ]
    data["operations"].append({"name": "v2", "pool": "p", "partition": "low", "priority": 1})
    policy = SYSTEMS[system]().replace(victim_selection=selection)
    free = victims(planned(policy, data))
    assert free == (
        ["a1"] if selection == "minimum" else ["b0", "a0"] if system == "ytsaurus" else ["a0", "b0"]
    )
    data["pools"][1]["settings"] = {"max_victims_per_hour": 1}
    plan = planned(policy, data)
    assert victims(plan) == ["a1"]
    if selection == "minimum":
        assert plan.decisions.victims[0].numbers["minimum"]["proved"]
    else:
        assert plan.why_not("a0").code in ("given_back", "pool_victims_per_hour", "off_chosen_nodes")
        assert plan.why_not("b0").code != "taken"


def test_a_set_within_the_cap_is_not_proved_to_cost_least() -> None:
    """Without a cap two leave; with it three, of two pools: that fewer would not do is not proved."""
    data = cluster(victims=1)
    data["nodes"] = [{"name": "n0", "capacity": {"cpu": 8}}]
    sizes = {"a": ("p", 4), "b": ("p", 4), "c": ("q", 2), "d": ("q", 2)}
    data["nodes"][0]["capacity"]["cpu"] = 12
    data["operations"] = [{"name": f"o{n}", "pool": pool} for n, (pool, _) in sizes.items()]
    data["operations"].append({"name": "w0"})
    data["allocations"] = [
        {"name": n, "operation": f"o{n}", "node": "n0", "resources": {"cpu": cpu}, "start_time": 50}
        for n, (_, cpu) in sizes.items()
    ]
    data["requests"][0]["resources"]["cpu"] = 8
    policy = SYSTEMS["ytsaurus"]().replace(victim_selection="minimum")
    plan = planned(policy, data)
    assert sorted(victims(plan)) == ["a", "b"]
    assert (
        plan.decisions.victims[0].numbers["minimum"].items()
        >= {"cost": 2, "lower_bound": 2, "proved": True}.items()
    )
    data["pools"][1]["settings"] = {"max_victims_per_hour": 1}
    plan = planned(policy, data)
    assert len(victims(plan)) == 3
    assert (
        plan.decisions.victims[0].numbers["minimum"].items()
        >= {"cost": 3, "lower_bound": 2, "proved": False}.items()
    )
    spared = ({"a", "b"} - set(victims(plan))).pop()
    assert plan.why_not(spared).code == "pool_victims_per_hour"


def test_repairs_are_exempt_and_count() -> None:
    """Of limits and of overfull nodes; what they take starts the cooldown and counts in its pools."""
    data = cluster(victims=2, start_time=NOW - 1, planned_end=NOW + 1)
    data["pools"][0]["limits"] = {"cpu": 4}
    data["pools"][1]["settings"] = {"immune_hours": ["00:00-24:00 UTC"], "max_victims_per_hour": 0}
    data["requests"] = []
    everything = {"victim_cooldown": 60, "spare_if_ran_less_than": 60, "spare_if_ends_within": 60}
    for preset in ("documented", "upstream"):
        policy = eh.policies.YTsaurus(preset, pace=everything)
        plan = planned(policy, data, v0=[NOW - 1], v1=[NOW - 1])
        assert [d.reason for d in plan.decisions.victims] == ["resource_limits_violated"]
        taken = plan.decisions.victims[0].operation
        assert plan.state.victims["operation", taken]["taken"] == [NOW]
        assert plan.state.victims["pool", "p"]["taken"] == [NOW]
    del data["pools"][0]["limits"]
    data["nodes"][0]["capacity"]["cpu"] = 3
    plan = planned(eh.policies.YTsaurus(pace=everything), data)
    assert [d.reason for d in plan.decisions.victims] == ["resource_overcommit"]


def test_graceful_preemption_keeps_its_pace() -> None:
    """In its order; all that leaves a node in one heartbeat leaves at once."""
    data = cluster(victims=3)
    data["nodes"] = [{"name": "n0", "capacity": {"cpu": 12}}]
    for row, started in zip(data["allocations"], (3, 1, 2), strict=True):
        row |= {"node": "n0", "operation": "v0", "start_time": float(started)}
    data["operations"][0]["settings"] = {"preemption_mode": "graceful"}
    data["requests"] = []
    policy = SYSTEMS["ytsaurus"](victim_cooldown=60)
    assert victims(planned(policy, data)) == ["a0", "a2", "a1"]
    plan = planned(policy, data, v0=[NOW - 1])
    assert victims(plan) == []
    assert plan.why_not("a0").code == "victim_cooldown"
    data["pools"][1]["settings"] = {"max_victims_per_hour": 2}
    plan = planned(policy, data)
    assert victims(plan) == ["a0", "a2"]
    assert plan.why_not("a1").code == "pool_victims_per_hour"


@system
def test_a_plan_of_the_next_state_keeps_the_pace(system: str, tmp_path: Path) -> None:
    policy = SYSTEMS[system](victim_cooldown="10m", max_victims_per_hour=1)
    first = planned(policy, cluster())
    assert victims(first) == ["a0"]
    path = tmp_path / "state.json"
    first.state.save(path)
    for state in (first.state, eh.State.load(path), pickle.loads(pickle.dumps(first.state))):
        assert state == first.state
        assert victims(planned(policy, cluster(now=NOW + 1), state)) == []
        assert victims(planned(policy, cluster(now=NOW + HOUR), state)) == ["a0"]
    moved = first.state.set_back(NOW - 10)
    assert moved.victims["pool", "<Root>"]["taken"] == [NOW - 10]


@system
def test_a_state_of_an_earlier_version_loads(system: str) -> None:
    data = planned(SYSTEMS[system](), cluster()).state.to_dict()
    assert "victims" not in data
    state = eh.State.from_dict(data)
    later = planned(SYSTEMS[system](victim_cooldown=900), cluster(now=NOW + 600), state)
    assert victims(later) == ["a0"]


def test_policies_without_a_pace_have_the_fingerprint_of_earlier_versions() -> None:
    """Else their states would say that settings have changed."""
    for make in SYSTEMS.values():
        plain, paced = make(), make(victim_cooldown=1)
        without = {k: v for k, v in plain.to_dict().items() if k != "pace"}

        class Earlier(FakePolicy):
            def to_dict(self, without: Any = without) -> Any:
                timing = getattr(plain.settings, "TIMING", ())  # noqa: B023
                return {k: v for k, v in without.items() if k not in timing}

        assert fingerprint(plain) == fingerprint(Earlier()) != fingerprint(paced)


@pytest.mark.parametrize(
    "row",
    [
        {"kind": "operation", "name": "a", "taken": 5},
        {"kind": "operation", "name": "a", "taken": ["x"]},
        {"kind": "operation", "name": "a", "taken": [None]},
        {"kind": "operation", "name": "a", "taken": [NOW + 1]},
        {"kind": "node", "name": "a", "taken": []},
        {"kind": "pool", "name": "a", "given": []},
    ],
)
def test_wrong_rows_of_a_state_are_refused(row: Any) -> None:
    kept = {"schema": "evenhand/state/1", "time": NOW, "settings": "", "pools": [], "victims": [row]}
    with pytest.raises(eh.InputError):
        eh.State.from_dict(kept)


@system
def test_live_as_planned(system: str) -> None:
    """A live cluster keeps the pace too, over plans that are carried out, copies and pickles."""
    policy = SYSTEMS[system](max_victims_per_hour=1, victim_cooldown=HOUR)
    options: dict[str, Any] = {"fair_share_starvation_timeout": 0, "preemptive_scheduling_backoff": 0}
    if system == "ytsaurus":
        options["consider_allocation_on_fair_share_bound_preemptible"] = True
        policy = policy.replace(**options, preemption_satisfaction_threshold=0.5)
    data = cluster(victims=2, waiting=2, start_time=NOW - 9000)
    for row in data["operations"]:
        row["weight"] = 1 if row["name"].startswith("v") else 100
    live = eh.Cluster(eh.Snapshot.from_dict(data), policy)
    if system == "ytsaurus":
        live.plan()
    live.apply([{"event": "time", "now": NOW + 1}])
    done = live.plan()
    assert len(done.decisions.victims) == 1
    live.carry_out(done)
    victim = done.decisions.victims[0].allocation
    for now, count in ((NOW + 2, 0), (NOW + HOUR + 1 - STEP, 0), (NOW + HOUR + 1, 1)):
        for other in (live.copy(), pickle.loads(pickle.dumps(live)), live):
            other.apply([{"event": "time", "now": now}])
            if now == NOW + 2:
                ends = [row["name"] for row in other.snapshot().to_dict()["allocations"]]
                if str(victim) in map(str, ends):
                    other.apply([{"event": "end", "allocation": victim}])
            plan = other.plan()
            assert len(plan.decisions.victims) == count, now
            if now == NOW + 2:
                other.carry_out(plan)
            fresh = other.snapshot()
            assert fresh.now == now


@system
def test_check_says_what_the_pace_spares_now(system: str) -> None:
    policy = SYSTEMS[system](spare_if_ends_within=60)
    data = cluster(planned_end=NOW + 100)
    plan = planned(policy, data)
    assert victims(plan) == ["a0"]
    found = plan.check(eh.Snapshot.from_dict({**data, "now": NOW + 50}))
    assert [f.code for f in found.findings if f.code != "step_broken"] == ["victim_spared"]
    assert found.findings[0].numbers["rule"] == "spared_ends_soon"
    assert found.findings[0].numbers["planned_end"] == NOW + 100
    assert "ends soon" in found.findings[0].message


@system
@pytest.mark.parametrize(("cap", "second"), [(2, ["a1"]), (3, ["a0", "b0"])])
def test_check_counts_what_was_carried_out(system: str, cap: int, second: list[str]) -> None:
    """Two small ones are wanted first; where one has left already, the large one has to."""
    policy = SYSTEMS[system](max_victims_per_hour=cap)
    if system == "backendai":
        policy = policy.replace(preemptors="every")
    data = cluster(victims=3, waiting=2)
    gone, small, large = data["allocations"]
    gone["name"] = "g0"
    data["nodes"] = [{"name": "n0", "capacity": {"cpu": 4}}, {"name": "n1", "capacity": {"cpu": 8}}]
    small |= {"name": "a0", "node": "n1", "resources": {"cpu": 2}, "start_time": 20}
    large |= {"node": "n1", "name": "a1", "operation": "v3", "start_time": 10 if system == "ytsaurus" else 30}
    data["allocations"].append({**small, "name": "b0", "operation": "v2", "start_time": 21})
    data["operations"].append({**data["operations"][0], "name": "v3"})
    for row, node in zip(data["requests"], ("n0", "n1"), strict=True):
        row["required_node"] = node
    plan = planned(policy, data)
    assert plan.decisions.victims[0].allocation == "g0"
    assert sorted(victims(plan)[1:]) == second
    first = plan.decisions.victims[0].step
    del data["allocations"][0], data["requests"][0]
    data["now"] += 1
    data["allocations"].append({"name": "c", "operation": "w0", "node": "n0", "resources": {"cpu": 4}})
    assert plan.check(eh.Snapshot.from_dict(data), done={first}).findings == ()
