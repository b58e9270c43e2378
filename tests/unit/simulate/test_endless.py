"""Every simulation without an end of its own comes to one, in every system."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.simulate import Simulation, Workload
from tests.properties.simulating import SYSTEMS, drawn, seeds

POLICIES = {
    "ytsaurus": eh.policies.YTsaurus("upstream"),
    "slurm": eh.policies.Slurm(),
    "backfill": eh.policies.Slurm(SchedulerType="sched/backfill"),
    "backendai": eh.policies.BackendAI(),
    "yunikorn": eh.policies.YuniKorn(),
    "yunikorn:upstream": eh.policies.YuniKorn("upstream"),
    "yunikorn:retries": eh.policies.YuniKorn("upstream", retry=0.0),  # each cycle looks for victims
    "gridengine": eh.policies.GridEngine(),
    "gridengine:reserves": eh.policies.GridEngine(max_reservation=5, automatic_preemption=True),
}
#: What a run that goes on for ever would pass.
STEPS = 2_000_000

BIG = {"name": ["a", "big"], "resources.cpu": [2, 9], "submit_time": [0, 1], "run_time": [60, 50]}
#: The first never ends by itself, whatever it said it would take.
FOR_EVER = {"name": ["a", "b"], "resources.cpu": [4, 4], "submit_time": [0, 1], "duration": [50, 60]}


#: Half of what the first has would have to leave for the second.
CROWDED: dict[str, list[Any]] = {
    "name": ["a", "b"],
    "pool": ["x", "y"],
    "resources.cpu": [1, 2],
    "count": [4, 1],
    "submit_time": [0, 1],
}


def made(policy: Any, rows: dict[str, list[Any]], **options: Any) -> Simulation:
    work = Workload(rows)
    return Simulation(work.snapshot(nodes=2 if rows is BIG else 1, cpu=4, now=0), policy, work, **options)


def ended(run: Simulation, most: int = STEPS) -> str | None:
    """Run it to its end; return what is said if it has none."""
    assert run.advance(None, most), "it has no end"
    try:
        run._must_end(None)
    except eh.InputError as error:
        (problem,) = error.problems
        assert (problem.rule, problem.field) == ("endless", "until")
        return problem.message
    return None


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("name", POLICIES)
def test_what_fits_nowhere_ends_a_run_that_has_nothing_else(name: str, literal: bool) -> None:
    run = made(POLICIES[name], BIG, literal=literal)
    assert ended(run) is None
    assert run.done
    assert run.now < 200
    assert run.result().metrics["jobs.finished"] == 1


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("reserve", [False, True])
@pytest.mark.parametrize("name", POLICIES)
def test_what_never_ends_is_not_waited_for_without_end(name: str, reserve: bool, literal: bool) -> None:
    run = made(POLICIES[name], {**FOR_EVER, "reserve": [reserve] * 2}, literal=literal, give_up_after=9)
    said = ended(run)
    rounds = "cycles" if name == "yunikorn:retries" else None
    if name == "gridengine:reserves":  # it looks ahead
        rounds = "scheduling runs"
    if rounds is None:
        assert said is None
    else:
        assert said is not None
        assert f'"b" waits, and nothing has been decided in 9 {rounds} since ' in said


def behind(count: int) -> dict[str, list[Any]]:
    """Jobs behind one that never ends by itself, and said it would take 50 s."""
    rows: dict[str, list[Any]] = {"name": [f"j{i}" for i in range(count)], "resources.cpu": [4] * count}
    rows |= {"submit_time": [7 * i for i in range(count)], "run_time": [None, *[60] * (count - 1)]}
    return rows | {"duration": [50 + 10 * i for i in range(count)]}


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("count", [2, 3, 5, 12])
def test_backfill_behind_one_job_that_is_overdue_ends_quietly(count: int, literal: bool) -> None:
    """What is planned moves on with the clock: from 90 s on, KillWait after the limit."""
    run = made(POLICIES["backfill"], behind(count), literal=literal, give_up_after=9)
    assert ended(run) is None
    assert run.done
    assert run.now == (90 if count == 2 else 150) + 30 * literal
    assert run.result().metrics["jobs.started"] == 1


def test_what_comes_after_a_cycle_without_decisions_is_served() -> None:
    """At 3,000 s the node can take both."""
    events = {"time": [3000], "node": ["n1"], "event": ["capacity"], "capacity.cpu": [8]}
    work = Workload(behind(4), nodes=events)
    results = []
    for literal in (False, True):
        run = Simulation(work.snapshot(nodes=1, cpu=4, now=0), POLICIES["backfill"], work, literal=literal)
        assert ended(run) is None
        decided = run.result().decisions
        results.append(list(zip(decided["time"], decided["action"], decided["request"], strict=True)))
    assert results[0] == results[1]
    assert [(time, name) for time, action, name in results[0] if action == "start"] == [
        (0, "j0"),
        (3000, "j1"),
        (3060, "j2"),
        (3120, "j3"),
    ]


@pytest.mark.parametrize("after", [2, 3, 50])
@pytest.mark.parametrize(("name", "period"), [("yunikorn:retries", 3), ("gridengine:reserves", 15)])
def test_it_gives_up_after_just_as_many(name: str, period: int, after: int) -> None:
    """The first run at 0 starts a; b comes at 1, and each run from the next tick on decides nothing."""
    run = made(POLICIES[name], FOR_EVER, give_up_after=after)
    steps = 0
    while not run.advance(None, 1):
        steps += 1
    assert run.now == period * after
    assert ended(run) is not None
    for more, vain in ((-1, None), (0, (after, period * 1_000_000))):
        other = made(POLICIES[name], FOR_EVER, give_up_after=after)
        other.run(until=period * (after + more))
        found = other._core.vain
        assert (None if found is None else found[1:3]) == vain


@pytest.mark.parametrize("name", ["yunikorn:retries", "gridengine:reserves"])
def test_what_ends_or_comes_is_waited_for(name: str) -> None:
    """However many runs that takes: what will end by itself, what is to come, and an event of a node."""
    rows = {**FOR_EVER, "run_time": [3000, 60], "duration": [None, None]}
    run = made(POLICIES[name], rows, give_up_after=2)
    assert ended(run) is None
    assert run.result().metrics["jobs.finished"] == 2
    late = {key: [*values, values[-1]] for key, values in FOR_EVER.items()} | {"name": ["a", "b", "c"]}
    run = made(POLICIES[name], {**late, "submit_time": [0, 1, 3000]}, give_up_after=2)
    assert ended(run) is not None
    assert run.now > 3000
    work = Workload(BIG, nodes={"time": [3000], "node": ["n1"], "event": ["capacity"], "capacity.cpu": [9]})
    run = Simulation(work.snapshot(nodes=1, cpu=4, now=0), POLICIES[name], work, give_up_after=2)
    assert ended(run) is None
    assert run.result().metrics["jobs.finished"] == 2


@pytest.mark.parametrize(("cpu", "ends"), [(4, False), (5, True)])
@pytest.mark.parametrize("up", [True, False])
def test_nodes_that_are_down_have_no_room(cpu: int, ends: bool, up: bool) -> None:
    """What needs all of a node waits for ever where a limit is in its way, and for a node that is down."""
    pools = [{"name": "x", "limits": {"cpu": 3}}]
    rows = {"name": ["a"], "pool": ["x"], "resources.cpu": [cpu], "run_time": [5]}
    events = {"time": [0], "node": ["n1"], "event": ["up" if up else "down"]}
    work = Workload(rows, pools=pools, nodes=events)
    start = eh.Snapshot.from_dict(
        {
            "now": 0,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
            "pools": pools,
        }
    )
    said = ended(Simulation(start, POLICIES["yunikorn:retries"], work, give_up_after=5))
    assert (said is None) == (ends or not up)


@pytest.mark.parametrize("literal", [False, True])
def test_a_pace_that_lets_go_of_nothing_more_ends_a_run_quietly(literal: bool) -> None:
    """Two would have to leave for b, and one may in an hour; none has left, so that no hour passes."""
    policy = eh.policies.YTsaurus("upstream", pace={"max_victims_per_hour": 1})
    run = made(policy, CROWDED, literal=literal)
    assert ended(run) is None
    assert run.now < 100


@pytest.mark.parametrize("after", [2, 3, 4, 30])
def test_heartbeats_that_decide_nothing_have_an_end(after: int) -> None:
    """At noon and at midnight the pace may let go of something: so often the node is asked."""
    pace = {"max_victims_per_hour": 1, "immune_hours": ["00:00-12:00 UTC"]}
    run = made(eh.policies.YTsaurus("upstream", pace=pace), CROWDED, give_up_after=after)
    said = ended(run)
    assert said is not None
    beats = max(after, 3)  # of a day at least
    assert f'"b" waits, and nothing has been decided in {beats} heartbeats of every node since ' in said
    assert run.now == 43_200 * max(after - 1, 3)


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("after", [2, 3, 50])
def test_checkpoints_of_work_without_an_end_lead_to_none(after: int, every: int) -> None:
    """After each of them, and after b came, an update has decided nothing: b is none that may preempt."""
    rows = {**FOR_EVER, "checkpoint_every": [every, None]}
    run = made(POLICIES["ytsaurus"], rows, give_up_after=after)
    said = ended(run, 5000)
    tries = after + 8 * 5  # eight clocks of two operations, two requests and an allocation
    assert said is not None
    assert f'"b" waits, and nothing has been decided in {tries} updates since 1 s' in said
    for more, vain in ((-1, None), (0, (tries, 1_000_000))):
        other = made(POLICIES["ytsaurus"], rows, give_up_after=after)
        other.run(until=run.now + more)
        found = other._core.vain
        assert (None if found is None else found[1:3]) == vain


def test_work_that_takes_checkpoints_while_nothing_waits_has_an_end() -> None:
    rows = {key: column[:1] for key, column in FOR_EVER.items()} | {"checkpoint_every": [1]}
    run = made(POLICIES["ytsaurus"], rows, give_up_after=9)
    run.run(until=3)
    assert not run.done
    assert ended(run, 5000) is None
    assert run.done
    assert run.result().metrics["jobs.finished"] == 0


@pytest.mark.parametrize("literal", [False, True])
def test_however_many_checkpoints_pass_a_timeout_is_waited_for(literal: bool) -> None:
    """Starving after an hour b preempts one of a's."""
    policy = POLICIES["ytsaurus"].replace(fair_share_starvation_timeout=3600.0)
    rows = {"name": ["a", "b"], "pool": ["x", "y"], "resources.cpu": [1, 1], "count": [4, 1]}
    rows |= {"submit_time": [0, 1], "run_time": [None, 50], "checkpoint_every": [1, None]}
    run = made(policy, rows, give_up_after=9, literal=literal)
    assert ended(run) is None
    done = run.result().operations
    assert list(done["completed"]) == [0, 1]


def test_cycles_that_decide_are_not_in_vain() -> None:
    """Each preempts one for b, as the limit says; the fourth is the last."""
    pools = [{"name": "x"}, {"name": "y", "strong_guarantee": {"cpu": 4}}]
    rows = {"name": ["a", "b"], "pool": ["x", "y"], "resources.cpu": [1, 1], "count": [8, 4]}
    work = Workload(rows | {"submit_time": [0, 1]}, pools=pools)
    policy = POLICIES["yunikorn"].replace(grace=0.0, limit=0.1)
    run = Simulation(work.snapshot(nodes=1, cpu=8, now=0), policy, work, give_up_after=2)
    ended(run)
    decisions = run.result().decisions
    found = zip(decisions["time"], decisions["action"], decisions["operation"], strict=True)
    assert [time for time, action, of in found if (action, of) == ("start", "b")] == [3, 6, 9, 12]


@st.composite
def cut(draw: st.DrawFn) -> tuple[str, int, list[bool], list[bool], bool]:
    size = st.lists(st.booleans(), min_size=13, max_size=13)
    return draw(st.sampled_from(SYSTEMS)), draw(seeds), draw(size), draw(size), draw(st.booleans())


@given(cut())
@example(("gridengine", 4, [True] * 13, [True] * 13, False))
@example(("yunikorn", 4, [True] * 13, [True] * 13, False))
@example(("ytsaurus", 2, [True] * 13, [False] * 13, False))
def test_every_drawn_run_has_an_end(of: tuple[str, int, list[bool], list[bool], bool]) -> None:
    """Some of its work never ends by itself, and some fits nowhere."""
    system, seed, endless, large, happens = of

    def change(rows: list[dict[str, Any]], events: list[dict[str, Any]]) -> None:
        for row, without_end, is_large in zip(rows, endless, large, strict=False):
            if without_end:
                row["run_time"] = None
            row["resources"]["cpu"] = 99 if is_large else row["resources"]["cpu"]
        if not happens:
            events.clear()

    one = drawn(seed, system, change)
    ended(Simulation(one.snapshot, one.policy, one.workload, give_up_after=20, series_every=0, **one.clocks))
