"""Every threshold and clock of Backend.AI: at exactly equal, and one step to each side."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import evenhand as eh
from evenhand.history import backendai as history
from evenhand.systems.backendai.settings import BackendAIOperationSettings, BackendAISettings, PriorityPolicy
from tests.unit.backendai.test_pinned import asks, did, group, planned, runs

MICRO = 1e-6
DAY = 86_400
STEPS = pytest.mark.parametrize("step", [-1, 0, 1])


def alone(**changes: Any) -> dict[str, Any]:
    """p waits for the room of x."""
    return group(nodes=[{"name": "n1", "capacity": {"cpu": 2}}], allocations=[runs("x")]) | changes


@STEPS
@pytest.mark.parametrize("least", [60, 60.0, "60s", "1m", "00:01:00", datetime.timedelta(minutes=1)])
def test_min_runtime(step: int, least: Any) -> None:
    """One that has run for exactly so long may go."""
    data = alone(allocations=[runs("x", start_time=40 + step * MICRO)])
    made = planned(data, preemption_min_runtime=least)
    assert did(made) == ([] if step > 0 else [("preempt", "x-k")])
    if step > 0:
        assert made.why_not("x-k").code == "ran_too_short"


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("2m", 120), ("1h", 3600), ("1d", 86_400)])
@STEPS
def test_units_of_min_runtime(text: str, seconds: int, step: int) -> None:
    assert BackendAISettings(preemption_min_runtime=text).preemption_min_runtime == seconds
    data = alone(now=seconds + 5, allocations=[runs("x", start_time=5 + step * MICRO)])
    assert bool(did(planned(data, preemption_min_runtime=text))) == (step <= 0)


@pytest.mark.parametrize(("least", "goes"), [(0, True), (MICRO, False)])
def test_the_smallest_min_runtime(least: float, goes: bool) -> None:
    """0 is no threshold: what starts now, later, or never began may go; a microsecond is one."""
    for start in (100, 100.5):
        data = alone(allocations=[runs("x", start_time=start)])
        assert bool(did(planned(data, preemption_min_runtime=least))) == goes
    data = alone()
    data["operations"][0]["settings"] = {"started": False}
    assert bool(did(planned(data, preemption_min_runtime=least))) == goes


@STEPS
def test_the_start_of_a_session_is_its_earliest_allocations(step: int) -> None:
    rows = [runs("x", name="x-late", resources={"cpu": 1}, start_time=99)]
    rows.append(runs("x", resources={"cpu": 1}, start_time=40 + step * MICRO))
    made = planned(alone(allocations=rows), preemption_min_runtime=60)
    assert len(did(made)) == (0 if step > 0 else 2)


@STEPS
@pytest.mark.parametrize("threshold", [0, 5, 99])
def test_preemptible_priority(step: int, threshold: int) -> None:
    if threshold + step < 0:
        return
    data = alone()
    data["operations"][0]["priority"] = threshold + step
    data["operations"][2]["priority"] = 100
    made = planned(data, preemptible_priority=threshold)
    assert bool(did(made)) == (step <= 0 and threshold + step < 100)
    if step > 0:
        assert made.why_not("x-k").code in ("above_threshold", "not_lower_priority")


@STEPS
@pytest.mark.parametrize("key", ["priority", "job_priority"])
def test_a_victims_priority_is_strictly_lower(step: int, key: str) -> None:
    data = alone()
    for row, value in ((data["operations"][0], 7 + step), (data["operations"][2], 7)):
        row |= {"priority": value} if key == "priority" else {"settings": {"job_priority": value}}
    made = planned(data, preemptible_priority=100, preemption_key=key)
    assert bool(did(made)) == (step < 0)
    if step >= 0:
        assert made.why_not("x-k").code == "not_lower_priority"


@STEPS
def test_free_room(step: int) -> None:
    """In quanta of 0.001 cpu."""
    data = alone(nodes=[{"name": "n1", "capacity": {"cpu": 4 + step / 1000}}])
    assert did(planned(data)) == ([("preempt", "x-k")] if step < 0 else [("start", "p-r")])


@STEPS
def test_room_with_victims(step: int) -> None:
    data = alone(requests=[asks("p", resources={"cpu": 2 + step / 1000})])
    made = planned(data)
    assert did(made) == ([] if step > 0 else [("preempt", "x-k")])
    assert made.refusals[0].rule == ("no_room_even_with_victims" if step > 0 else "waits_for_victims")


@STEPS
def test_room_of_a_licence(step: int) -> None:
    data = group(
        resources={"cpu": {}, "lic": {"scope": "cluster", "capacity": 3}},
        allocations=[runs("x", resources={"lic": 1})],
        requests=[asks("p", resources={"lic": 2 + step})],
    )
    assert did(planned(data)) == ([("preempt", "x-k")] if step > 0 else [("start", "p-r")])


@STEPS
def test_max_containers(step: int) -> None:
    """Two stand on the node; with a third it has 3."""
    nodes = [{"name": "n1", "capacity": {"cpu": 8}}]
    made = planned(group(nodes=nodes), max_containers=3 + step)
    assert did(made) == ([] if step < 0 else [("start", "p-r")])
    if step < 0:
        assert made.refusals[0].rule == "max_containers"


def held(**changes: Any) -> dict[str, Any]:
    """A free node, of which q has everything reserved; p waits before it."""
    row = {"name": "v", "request": "q-r", "node": "n1", "resources": {"cpu": 2}} | changes
    return group(
        nodes=[{"name": "n1", "capacity": {"cpu": 2}}],
        operations=[{"name": "p", "priority": 20}, {"name": "q", "priority": 1}],
        allocations=[],
        requests=[asks("p"), asks("q")],
        reservations=[row],
    )


@STEPS
@pytest.mark.parametrize("preset", ["documented", "upstream"])
def test_a_reservation_holds_from_its_first_instant(step: int, preset: str) -> None:
    made = planned(held(**{"from": 100 + step * MICRO}), preset)
    expected = [("start", "p-r")] if step > 0 else [] if preset == "documented" else [("start", "q-r")]
    assert did(made) == expected


@STEPS
@pytest.mark.parametrize("preset", ["documented", "upstream"])
def test_a_reservation_is_over_at_its_last_instant(step: int, preset: str) -> None:
    made = planned(held(until=100 + step * MICRO), preset)
    expected = [("start", "p-r")] if step <= 0 else [] if preset == "documented" else [("start", "q-r")]
    assert did(made) == expected


@STEPS
def test_a_reservation_holds_all_that_is_needed(step: int) -> None:
    """Held for q, and enough of it for q to start there before p."""
    data = held(resources={"cpu": 2 + step / 1000})
    data["nodes"][0]["capacity"]["cpu"] = 3
    made = planned(data, "upstream")
    assert ("start", "q-r") in did(made) if step >= 0 else ("start", "q-r") not in did(made)


@STEPS
def test_first_reserved_first_started(step: int) -> None:
    data = held(**{"from": 50 + step * MICRO})
    data["reservations"].append(
        {"name": "w", "request": "p-r", "node": "n1", "resources": {"cpu": 2}, "from": 50}
    )
    data["nodes"][0]["capacity"]["cpu"] = 2
    data["allocations"] = [runs("p", name="p-0", resources={"cpu": 1}, state="preempting")]
    data["nodes"][0]["capacity"]["cpu"] = 3
    made = planned(data, "upstream")
    # Of equal times the canonical order: p.
    assert did(made) == [("start", "q-r" if step < 0 else "p-r")]


@STEPS
def test_logical_nodes_and_their_machine(step: int) -> None:
    parts = [{"name": name, "capacity": {"cpu": 2}, "physical": "box"} for name in ("a", "b")]
    parts[0]["capacity"] = {"cpu": 2 + step / 1000}
    data = group(nodes=[{"name": "box", "capacity": {"cpu": 4}}, *parts], allocations=[])
    if step <= 0:
        planned(data)
        return
    with pytest.raises(eh.InputError) as error:
        planned(data)
    assert [(p.table, p.name, p.rule) for p in error.value.problems] == [("nodes", "box", "physical")]


@STEPS
@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_the_order_of_starts(step: int, order: str) -> None:
    """y began a step later than x."""
    data = group(allocations=[runs("x", start_time=20), runs("y", start_time=20 + step * MICRO)])
    first = "y" if (step < 0 if order == "oldest" else step > 0) else "x"
    assert did(planned(data, preemption_order=order)) == [("preempt", f"{first}-k")]


@STEPS
@pytest.mark.parametrize("order", ["smallest-resources", "fewest-sessions"])
def test_orders_by_size(step: int, order: str) -> None:
    """y is a quantum larger than x, or smaller; what is missing is more than either has."""
    rows = [runs("x"), runs("y", resources={"cpu": 2 + step / 1000})]
    data = group(allocations=rows, requests=[asks("p", resources={"cpu": 1.5})])
    data["nodes"][0]["capacity"]["cpu"] = 4 + step / 1000
    smaller = order == "smallest-resources"
    if not smaller:  # of what is missing, so more than one has
        data["requests"][0]["resources"]["cpu"] = 3
    made = planned(data, preemption_order=order, victim_selection="prefix")
    first = "y" if (step < 0 if smaller else step > 0) else "x"
    assert did(made)[0] == ("preempt", f"{first}-k")


@STEPS
def test_the_time_of_submission(step: int) -> None:
    """q asked a step later than p; there is room for one."""
    data = group(
        nodes=[{"name": "n1", "capacity": {"cpu": 2}}],
        operations=[{"name": "p"}, {"name": "q"}],
        allocations=[],
        requests=[asks("p", submit_time=50), asks("q", submit_time=50 + step * MICRO)],
    )
    assert did(planned(data)) == [("start", "q-r" if step < 0 else "p-r")]
    assert did(planned(data, sequencer="lifo")) == [("start", "q-r" if step > 0 else "p-r")]


@STEPS
def test_the_least_dominant_share(step: int) -> None:
    """bob, whose q waits, has a quantum more than ann, or less."""
    data = group(
        nodes=[{"name": "n1", "capacity": {"cpu": 6}}],
        operations=[
            {"name": "x", "user": "ann", "priority": 9},
            {"name": "y", "user": "bob", "priority": 9},
            {"name": "p", "user": "ann"},
            {"name": "q", "user": "bob"},
        ],
        allocations=[runs("x", resources={"cpu": 1}), runs("y", resources={"cpu": 1 + step / 1000})],
        requests=[asks("p"), asks("q")],
    )
    data["requests"][0]["resources"] = data["requests"][1]["resources"] = {"cpu": 3}
    assert did(planned(data, sequencer="drf")) == [("start", "q-r" if step < 0 else "p-r")]


@STEPS
@pytest.mark.parametrize("agents", ["concentrated", "dispersed"])
def test_least_or_most_left(step: int, agents: str) -> None:
    nodes = [{"name": "n1", "capacity": {"cpu": 4}}, {"name": "n2", "capacity": {"cpu": 4 + step / 1000}}]
    made = planned(group(nodes=nodes, allocations=[]), agent_selection=agents)
    second = step < 0 if agents == "concentrated" else step > 0
    assert [d.node for d in made.decisions] == ["n2" if second else "n1"]


@STEPS
def test_lost_work_is_rounded_up(step: int) -> None:
    """x has run for 10 s on all of its node, y for 11 s and a step: 10 against 11 or 12, x goes either way;
    with x at 11 s they are equal, and the order decides, unless y is a step above."""
    nodes = [{"name": f"n{i}", "capacity": {"cpu": 2}} for i in (1, 2)]
    rows = [runs("x", start_time=89, node="n2"), runs("y", start_time=89 - step * MICRO, node="n1")]
    data = group(nodes=nodes, allocations=rows)
    made = planned(data, victim_selection="minimum", victim_cost="lost_work", preemption_order="oldest")
    # Costs 11 and 11 (or 12): equal ones go by the order, oldest first.
    assert did(made) == [("preempt", "x-k")]
    assert made.counts["minimum.cost"] == 11
    data["operations"][0]["priority"] = 3  # now y is first in the order, where both cost the same
    made = planned(data, victim_selection="minimum", victim_cost="lost_work")
    assert did(made) == [("preempt", "x-k" if step > 0 else "y-k")]


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ("preemptible_priority", (0, 100), (-1, 101)),
        ("max_containers", (1, 2), (0, -1)),
        ("minimum_budget", (1, 10**9), (0, 10**9 + 1)),
        ("preemption_min_runtime", (0, 3_153_600_000), (-MICRO, 3_153_600_001)),
    ],
)
def test_bounds_of_settings(field: str, right: tuple[Any, ...], wrong: tuple[Any, ...]) -> None:
    for value in right:
        assert getattr(eh.policies.BackendAI(**{field: value}).settings, field) == value
    for value in wrong:
        with pytest.raises(eh.InputError) as error:
            eh.policies.BackendAI(**{field: value})
        assert [p.field for p in error.value.problems] == [field]


@pytest.mark.parametrize("value", [-1, 0, 1, 99, 100, 101])
def test_priorities_are_from_0_to_100(value: int) -> None:
    data = alone()
    data["operations"][2]["priority"] = value
    if 0 <= value <= 100:
        planned(data)
        PriorityPolicy(default=value)
    else:
        with pytest.raises(eh.InputError):
            planned(data)
        with pytest.raises(ValueError, match="default"):
            PriorityPolicy(default=value)


@pytest.mark.parametrize("value", [19, 20, 21, 29, 30, 31])
def test_a_range_includes_its_ends(value: int) -> None:
    data = alone(operations=[{"name": "p", "priority": value, "user": "ann"}], allocations=[])
    made = planned(data, user_policies={"ann": {"range": (20, 30)}})
    assert bool(did(made)) == (20 <= value <= 30)
    if not did(made):
        assert made.refusals[0].rule == "priority_out_of_range"


@STEPS
def test_ranges_of_user_and_project_meet(step: int) -> None:
    """In one number at least."""
    user, project = {"range": (0, 30)}, {"range": (30 + step, 50)}
    if step > 0:
        with pytest.raises(eh.InputError, match="no priority in common"):
            eh.policies.BackendAI.priority_choice(user, project)
        return
    choice = eh.policies.BackendAI.priority_choice(user, project)
    assert choice == {"default": 30 + step, "range": [30 + step, 30], "editable": True}


@pytest.mark.parametrize(("default", "found"), [(19, 20), (20, 20), (21, 21), (29, 29), (30, 30), (31, 30)])
def test_a_default_is_clamped(default: int, found: int) -> None:
    choice = eh.policies.BackendAI.priority_choice({"default": default}, {"range": (20, 30)})
    assert choice["default"] == found


@pytest.mark.parametrize("sign", [1, -1])
@STEPS
def test_job_priorities_are_exact(sign: int, step: int) -> None:
    """As far as doubles count by one."""
    value = sign * (2**53 + step)
    if abs(value) > 2**53:
        with pytest.raises(ValueError, match="job_priority"):
            BackendAIOperationSettings(job_priority=value)
    else:
        assert BackendAIOperationSettings(job_priority=value).job_priority == value


@STEPS
def test_usage_is_split_at_midnight(step: int) -> None:
    buckets = history.UsageBuckets(("cpu",)).add(["ann"], [[1.0]], start=[DAY - 10], end=[DAY + step])
    expected = {0: {"ann": (10.0 + min(step, 0),)}} | ({1: {"ann": (1.0,)}} if step > 0 else {})
    assert buckets.days == expected


@pytest.mark.parametrize(("now", "recorded"), [(599.999, 300), (600, 600), (600.001, 600)])
def test_running_sessions_count_up_to_the_last_whole_slice(now: float, recorded: float) -> None:
    buckets = history.UsageBuckets(("cpu",)).add(
        ["ann"], [[1.0]], start=[0.0], end=[float("inf")], now=now, slice_seconds=300
    )
    assert buckets.days == {0: {"ann": (float(recorded),)}}


@pytest.mark.parametrize(("now", "counts"), [(7 * DAY - MICRO, True), (7 * DAY, False), (7 * DAY + 1, False)])
def test_usage_counts_for_the_days_of_the_window(now: float, counts: bool) -> None:
    """The bucket of day 0, seven days in all, today among them."""
    buckets = history.UsageBuckets(("cpu",)).add(["ann"], [[1.0]], start=[0.0], end=[60.0])
    assert bool(buckets.decayed(now, lookback_days=7)) == counts


@pytest.mark.parametrize(("days", "half"), [(6, False), (7, True), (8, True)])
def test_documented_usage_halves_after_a_whole_half_life(days: int, half: bool) -> None:
    buckets = history.UsageBuckets(("cpu",)).add(["ann"], [[1.0]], start=[0.0], end=[60.0])
    used = buckets.decayed(days * DAY, half_life_days=7, preset="documented")["ann"]["cpu"]
    assert used == (30.0 if half else 60.0)


@pytest.mark.parametrize(("usage", "factor"), [(9.5, 2**-9.5), (10.0, 2**-10), (10.5, 2**-10), (0.0, 1.0)])
def test_factors_are_clamped_at_ten_halvings(usage: float, factor: float) -> None:
    assert history.factor([usage]).tolist() == [pytest.approx(factor, rel=1e-15)]
