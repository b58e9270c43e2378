"""A live cluster decides as the plan of its rows and state, whatever has happened to it."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.frozen_side import Said, at, both, cluster, end, node, planned, put, remove, rows_of, said

YUNIKORN = eh.policies.YuniKorn("upstream")
ONE_LEAVES = eh.policies.YuniKorn(limit=1.0)


def preempted(decided: Said) -> Said:
    return [one for one in decided if one[0] == "preempt"]


@pytest.mark.parametrize("preset", ["documented", "upstream"])
def test_a_heartbeat_is_of_the_node_that_is_named_when_another_came_before_it(preset: str) -> None:
    policy = eh.policies.YTsaurus(preset)
    made = cluster(
        policy,
        nodes=[node("n0", cpu=4)],
        operations=[{"name": "o"}],
        requests=[{"name": "q", "operation": "o", "resources": {"cpu": 1}}],
    )
    made.apply([put("nodes", **node("m1", cpu=4))])
    assert both(made, policy, on=eh.Heartbeat("n0")) == [("start", "q", "n0")]


def test_a_heartbeat_is_of_the_node_that_is_named_when_another_has_gone() -> None:
    policy = eh.policies.YTsaurus()
    made = cluster(
        policy,
        nodes=[node("a", cpu=4), node("b", cpu=4)],
        operations=[{"name": "o"}],
        requests=[{"name": "q", "operation": "o", "resources": {"cpu": 1}}],
    )
    made.apply([remove("nodes", "a")])
    with pytest.raises(eh.InputError, match="there is no node 'a'"):
        made.plan(on=eh.Heartbeat("a"))
    assert both(made, policy, on=eh.Heartbeat("b")) == [("start", "q", "b")]


def test_heartbeats_of_one_node_that_start_and_take_the_same() -> None:
    policy = eh.policies.YTsaurus()
    made = cluster(
        policy,
        nodes=[node("m", cpu=4)],
        operations=[{"name": "a"}, {"name": "b", "settings": {"preemption_mode": "graceful"}}],
        allocations=[{"name": "x", "operation": "a", "resources": {"cpu": 5}}],
        requests=[{"name": "r", "operation": "b", "resources": {"cpu": 3}}],
    )
    decided = both(made, policy, on=[eh.Heartbeat("m"), eh.Heartbeat("m")])
    assert all(name for _, name, _ in decided)


def test_what_an_earlier_heartbeat_of_a_list_started_is_no_victim_of_a_later_one() -> None:
    """It has no name until the plan is carried out."""
    policy = eh.policies.YTsaurus()
    for on in (eh.Heartbeat("m"), [eh.Heartbeat("m"), eh.Heartbeat("m")]):
        made = cluster(
            policy,
            nodes=[node("m", cpu=4), node("k", cpu=4)],
            pools=[{"name": "p", "strong_guarantee": {"cpu": 6}}],
            operations=[
                {"name": "a", "settings": {"preemption_mode": "graceful"}},
                {"name": "b", "pool": "p"},
            ],
            allocations=[{"name": "x", "operation": "b", "node": "k", "resources": {"cpu": 1}}],
            requests=[
                {"name": "r", "operation": "a", "resources": {"cpu": 1}, "count": 4},
                {"name": "q", "operation": "b", "resources": {"cpu": 4}, "required_node": "m"},
            ],
        )
        made.plan(policy)
        made.apply([at(1000 + 86400)])
        assert both(made, policy, made.state(policy), on=on) == [("start", "r", "m")] * 4


@pytest.mark.parametrize(("later", "kept"), [(3599.999999, True), (3600, False), (3600.000001, False)])
def test_an_update_forgets_what_left_more_than_an_hour_ago(later: float, kept: bool) -> None:
    policy = eh.policies.YTsaurus(pace={"max_victims_per_hour": 2})
    made = cluster(
        policy,
        nodes=[node("m", cpu=4)],
        pools=[{"name": "p", "strong_guarantee": {"cpu": 4}}],
        operations=[{"name": "a"}, {"name": "b", "pool": "p"}],
        allocations=[
            {"name": f"x{i}", "operation": "a", "node": "m", "resources": {"cpu": 1}} for i in range(4)
        ],
        requests=[{"name": "q", "operation": "b", "resources": {"cpu": 1}}],
    )
    assert not made.plan(policy).decisions
    made.apply([at(1000 + 86400)])
    plan = made.plan(policy)
    assert [d.action for d in plan.decisions] == ["preempt", "start"]
    assert _taken(made, policy) == 1
    made.apply([at(1000 + 86400 + later)])
    made.update(policy)
    assert _taken(made, policy) == int(kept)


def _taken(made: eh.Cluster, policy: eh.policies.YTsaurus) -> int:
    state = made.state(policy)
    assert state is not None
    return sum(len(row["taken"]) for row in state.to_dict().get("victims", ()))


def test_victims_are_looked_for_on_nodes_in_canonical_order() -> None:
    made = eh.Cluster(
        eh.Snapshot.from_dict(
            {
                "now": 1000,
                "resources": {"cpu": {}, "mem": {}},
                "nodes": [node("n0", cpu=8, mem=4)],
                "pools": [
                    {"name": "a", "strong_guarantee": {"cpu": 0}},
                    {"name": "b", "strong_guarantee": {"cpu": 4}},
                    {"name": "c"},
                ],
                "operations": [{"name": "o3", "pool": "a", "priority": 3, "start_time": 70}],
                "allocations": [
                    {
                        "name": "a3",
                        "operation": "o3",
                        "node": "n0",
                        "resources": {"cpu": 1, "mem": 2},
                        "start_time": 862,
                    }
                ],
            }
        ),
        YUNIKORN,
    )

    def asks(name: str, pool: str, start: int) -> list[dict[str, Any]]:
        each = {"cpu": 1, "mem": 2}
        return [
            put("operations", name=name, priority=5, pool=pool, start_time=start),
            put("requests", name=f"r{name}", operation=name, resources=each, count=2),
        ]

    made.plan()
    made.apply([put("nodes", **node("a39", cpu=4, mem=4))])
    made.apply(asks("x413", "c", 603))
    plan = made.plan()
    made.carry_out(plan)
    made.apply(asks("m514", "b", 333))
    decided = both(made, YUNIKORN, plan.state)
    assert preempted(decided) == [("preempt", "rx413/1", "a39")]


def test_a_setting_that_a_request_is_put_again_without_is_none() -> None:
    asks = {"name": "z", "operation": "p", "resources": {"cpu": 4}}
    made = cluster(
        YUNIKORN,
        nodes=[node("n", cpu=4)],
        pools=[{"name": "g", "strong_guarantee": {"cpu": 4}}, {"name": "h"}],
        operations=[{"name": "p", "pool": "g", "priority": 5}, {"name": "o", "pool": "h"}],
        allocations=[
            {"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 4}, "start_time": 100}
        ],
        requests=[{**asks, "settings": {"allow_preempt_other": False}}],
    )
    state = made.plan().state
    made.apply([at(1100), put("requests", **asks)])
    assert preempted(both(made, YUNIKORN, state)) == [("preempt", "a", "n")]


@pytest.mark.parametrize("more", [1, 2, 7, 8, 9, 59])
def test_requests_behind_one_with_a_setting_have_the_default(more: int) -> None:
    large = {"operation": "p", "resources": {"cpu": 9}}
    made = cluster(
        YUNIKORN,
        nodes=[node("n", cpu=1)],
        operations=[{"name": "o"}],
        requests=[{"name": "q", "operation": "o", "resources": {"cpu": 9}}],
    )
    never = put("requests", name="never", **large, settings={"allow_preempt_other": False})
    made.apply([put("operations", name="p"), never])
    state = made.plan().state
    for place in range(more):
        made.apply([put("requests", name=f"z{place}", **large)])
    both(made, YUNIKORN, state)
    assert len(made.state().requests) == min(more, 10) + 1  # so many try in a cycle


def test_of_room_that_was_taken_none_is_taken_any_more() -> None:
    made = cluster(
        ONE_LEAVES,
        nodes=[node("n", cpu=4)],
        pools=[{"name": "g", "strong_guarantee": {"cpu": 4}}, {"name": "h"}],
        operations=[{"name": "b", "pool": "g"}, {"name": "o", "pool": "h"}],
        allocations=[
            {
                "name": "x",
                "operation": "o",
                "node": "n",
                "resources": {"cpu": 2},
                "state": "preempting",
                "beneficiary": {"request": "s"},
                "settings": {"room_taken": {"cpu": 2}},
            },
            {"name": "y", "operation": "o", "node": "n", "resources": {"cpu": 2}, "start_time": 100},
            {"name": "s", "operation": "b", "node": "n", "resources": {"cpu": 2}, "start_time": 999},
        ],
    )
    state = made.plan().state
    waits = put("requests", name="rb", operation="b", resources={"cpu": 2})
    made.apply([{"event": "take", "allocation": "x", "resources": {}}, waits])
    assert both(made, ONE_LEAVES, state) == []


def test_room_of_what_leaves_is_taken_in_canonical_order() -> None:
    def leaves(name: str, cpu: int, **whom: str) -> dict[str, Any]:
        row = {"name": name, "operation": "o", "node": "n", "resources": {"cpu": cpu}}
        return {**row, "state": "preempting", "beneficiary": whom}

    made = cluster(
        ONE_LEAVES,
        nodes=[node("n", cpu=7)],
        operations=[{"name": "b"}, {"name": "o"}],
        allocations=[
            leaves("a1", 1, operation="gone"),
            leaves("a2", 2, request="r"),
            leaves("a3", 3, operation="b"),
        ],
        requests=[{"name": "r", "operation": "b", "resources": {"cpu": 3}}],
    )
    state = made.plan().state
    made.apply([end("a1")])
    expected = planned(made, ONE_LEAVES, state)
    live = made.plan()
    assert live.taken == expected.taken
    made.carry_out(live)
    assert made.snapshot() == expected.snapshot.after(expected)


def test_what_is_planned_ahead_is_no_row() -> None:
    policy = eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="CANCEL",
        partitions={"low": {"PriorityTier": 1, "GraceTime": 600}, "high": {"PriorityTier": 9}},
    )
    made = cluster(
        policy,
        nodes=[node("n", cpu=4), node("m", cpu=1)],
        operations=[{"name": "v", "partition": "low"}, {"name": "u", "partition": "high"}],
        allocations=[
            {"name": "a", "operation": "v", "node": "n", "resources": {"cpu": 4}, "start_time": 100}
        ],
        requests=[{"name": "r", "operation": "u", "resources": {"cpu": 4}}],
    )
    plan = made.plan()
    assert ("reserve", "r", "n") in said(plan)
    made.carry_out(plan)
    assert rows_of(made) == plan.snapshot.after(plan)
    made.apply([end("a"), remove("nodes", "n")])
    assert rows_of(made).reservation_count == 0
    assert list(made.snapshot().names("nodes")) == ["m"]


def test_jobs_that_come_one_before_the_other_are_victims_in_canonical_order() -> None:
    policy = eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="CANCEL",
        partitions={"low": {"PriorityTier": 1}, "high": {"PriorityTier": 9}},
    )
    count = 40  # so many leave no number between those of two rows
    made = cluster(
        policy,
        nodes=[node("n", cpu=count)],
        operations=[{"name": "u", "partition": "high"}],
    )
    made.plan()
    for place in reversed(range(count)):
        name = f"v{place:02}"
        row = {"name": name, "operation": name, "node": "n", "resources": {"cpu": 1}, "start_time": 100}
        made.apply([put("operations", name=name, partition="low", start_time=100)])
        made.apply([{"event": "start", "row": row}])
        if place == count - 10:
            state = made.plan().state
    made.apply([put("requests", name="r", operation="u", resources={"cpu": count // 2})])
    victims = {name for _, name, _ in preempted(both(made, policy, state))}
    assert victims == {f"v{place:02}" for place in range(count // 2)}


def test_parts_of_a_job_in_two_queues_count_in_that_of_the_first() -> None:
    lists = {"all.q": "slots=3(mid.q)", "mid.q": "slots=1(low.q)"}
    policy = eh.policies.GridEngine(
        queues={queue: {"subordinate_list": below} for queue, below in lists.items()}
    )

    def part(name: str, job: str, queue: str) -> dict[str, Any]:
        row = {"name": name, "operation": job, "node": "h", "resources": {"slots": 1}}
        return {**row, "settings": {"queue": queue}, "start_time": 900}

    made = cluster(
        policy,
        resources={"slots": {}},
        nodes=[node("h", slots=9)],
        operations=[{"name": "i"}, {"name": "j"}],
        allocations=[part("m", "i", "low.q"), part("q", "j", "all.q")],
    )
    state = made.plan().state
    made.apply([{"event": "start", "row": part("n", "j", "low.q")}])
    assert both(made, policy, state) == [("preempt", "n", "h"), ("preempt", "q", "h")]


def test_a_job_that_holds_nothing_stays_stopped_on_subordinate() -> None:
    policy = eh.policies.GridEngine(queues={"mid.q": {"subordinate_list": "slots=1(low.q)"}})

    def part(name: str, job: str) -> dict[str, Any]:
        settings = {"queue": f"{'low' if name == 'm' else 'mid'}.q"}
        return {"name": name, "operation": job, "node": "h", "settings": settings, "start_time": 900}

    made = cluster(
        policy,
        resources={"slots": {}},
        nodes=[node("h", slots=9)],
        operations=[{"name": "i"}, {"name": "j"}],
        allocations=[part("m", "i"), part("n", "j")],
    )
    plan = made.plan()
    assert said(plan) == [("preempt", "m", "h")]
    made.carry_out(plan)
    assert both(made, policy, plan.state) == []


def test_of_a_stopped_job_what_has_ended_has_no_end() -> None:
    policy = eh.policies.GridEngine(max_reservation=10, queues={"all.q": {"subordinate_list": "low.q=2"}})

    def part(name: str, job: str, slots: int, **more: Any) -> dict[str, Any]:
        row = {"name": name, "operation": job, "node": "h", "resources": {"slots": slots}}
        return {**row, "start_time": 0, **more}

    made = cluster(
        policy,
        resources={"slots": {}},
        nodes=[node("h", slots=12)],
        pools=[{"name": "all.q"}],
        operations=[{"name": "w"}, {"name": "o"}, {"name": "z", "pool": "all.q"}],
        allocations=[
            part("q", "o", 2, planned_end=1002),
            part("n", "o", 3, settings={"queue": "low.q"}),
            part("y", "z", 4),
        ],
        requests=[
            {"name": "r5", "operation": "w", "resources": {"slots": 5}},
            {"name": "r1", "operation": "w", "resources": {"slots": 1}, "reserve": True},
        ],
    )
    plan = made.plan()
    made.carry_out(plan)
    made.apply([end("q")])
    assert both(made, policy, plan.state) == []


@pytest.mark.parametrize("served", [{"request": "r"}, {"operation": "b"}, {"operation": "b", "request": "r"}])
@pytest.mark.parametrize("goes_first", [False, True])
def test_what_an_allocation_leaves_for_may_come_later(served: dict[str, str], goes_first: bool) -> None:
    """Its room is for that request alone, whenever it comes, or comes back."""
    policy = eh.policies.YTsaurus()
    x = {"name": "x", "operation": "a", "node": "m", "resources": {"cpu": 4}}
    r = {"name": "r", "operation": "b", "resources": {"cpu": 4}}
    q = {"name": "q", "operation": "a", "resources": {"cpu": 4}}
    made = cluster(
        policy,
        nodes=[node("m", cpu=4)],
        operations=[{"name": "a"}, *([{"name": "b"}] if goes_first else [])],
        allocations=[{**x, "state": "preempting", "beneficiary": served}],
        requests=[q, *([r] if goes_first else [])],
    )
    if goes_first:
        made.apply([remove("requests", "r"), remove("operations", "b")])
    assert both(made, policy) == []
    made.apply([put("operations", name="c"), put("requests", **{**r, "name": "s", "operation": "c"})])
    assert both(made, policy, made.state(policy)) == []  # also where they have the place of what went
    made.apply([put("operations", name="b"), put("requests", **r)])
    assert both(made, policy, made.state(policy)) == [("start", "r", "m")]


def test_what_leaves_for_a_request_leaves_for_the_job_that_it_is_given_to() -> None:
    tiers = {"low": {"PriorityTier": 1}, "mid": {"PriorityTier": 5}}
    policy = eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="SUSPEND,GANG",
        partitions={name: {**row, "OverSubscribe": "FORCE:1"} for name, row in tiers.items()},
    )
    asked = {"name": "r", "operation": "first", "resources": {"cpu": 4}, "count": 2}
    leaves = {"state": "preempting", "deadline": 1060, "beneficiary": {"request": "r"}}
    made = cluster(
        policy,
        nodes=[node("n0", cpu=9), node("n2", cpu=10)],
        operations=[
            {"name": "j3", "partition": "low"},
            {"name": "j4", "partition": "low", "settings": {"exclusive": True}},
            {"name": "second", "partition": "mid"},
            {"name": "first", "partition": "mid"},
        ],
        allocations=[
            {
                "name": "a3",
                "operation": "j3",
                "node": "n0",
                "resources": {"cpu": 3},
                "start_time": 20,
                **leaves,
            },
            {"name": "a4", "operation": "j4", "node": "n2", "resources": {"cpu": 3}, "start_time": 20},
        ],
        requests=[asked],
    )
    made.plan(policy)
    made.apply([put("requests", **{**asked, "operation": "second"})])
    assert preempted(both(made, policy, made.state(policy))) == [("preempt", "a4", "n2")]
