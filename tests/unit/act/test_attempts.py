"""What a state remembers of attempts to preempt: those that were made, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, watch
from evenhand.act.journal import read
from evenhand.act.watching import Cycle
from evenhand.adapters.commands import Result
from evenhand.state import State
from tests.unit.act.slurm.cluster import FakeSlurm, job
from tests.unit.act.test_debts import DENIED, answering
from tests.unit.act.world import Killed, World

pytestmark = pytest.mark.usefixtures("quiet")


class Tiers(FakeSlurm):
    """Jobs of user eve are in the partition of the higher tier."""

    def _json(self, j: dict[str, Any]) -> dict[str, Any]:
        return super()._json(j) | {"partition": "high" if j["user"] == "eve" else "low"}

    def sinfo(self, rest: list[str]) -> Result:
        found = super().sinfo(rest)
        return Result(found.status, found.out.replace('"main"', '"low", "high"'))


def world_of(folder: Path, **options: Any) -> World:
    """Three full nodes, and two jobs of a higher tier that wait for one each."""
    low = [job(n, 4, node=f"n{n}", priority=10 + n, user=f"u{n}", uid=1000 + n) for n in (1, 2, 3)]
    high = [job(90 + n, 4, priority=100 - n, user="eve", uid=2000) for n in range(2)]
    world = World(folder, [*low, *high], **options)
    world.cluster.__class__ = Tiers
    return world


def rules(made: Any = eh.policies.Slurm) -> Any:
    partitions = {
        "low": {"PriorityTier": 1, "PreemptMode": "REQUEUE"},
        "high": {"PriorityTier": 2, "PreemptMode": "OFF"},
    }
    options: dict[str, Any] = {
        "SchedulerType": "sched/backfill",
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "REQUEUE",
        "partitions": partitions,
    }
    return made("upstream", **options)


def one_round(world: World, folder: Path, policy: Any = None, **options: Any) -> Cycle:
    cycles: list[Cycle] = []
    with world.driver(**options) as driver:
        watch(driver, policy or rules(), once=True, each=cycles.append, save=folder / "state")
    return cycles[0]


def backoff(state: State | None) -> dict[Any, Any]:
    """For which jobs others were last preempted, and when."""
    assert state is not None
    return {name: row["last_preempt"] for name, row in state.operations.items()}


def saved(folder: Path) -> dict[Any, Any]:
    return backoff(State.load(folder / "state"))


def test_a_step_that_asked_is_remembered(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    cycle = one_round(world, tmp_path)
    assert [row.outcome for row in cycle.report.rows] == ["started", "started"]
    assert set(saved(tmp_path)) == set(backoff(cycle.state)) == {"90", "91"}


def test_a_step_that_was_stopped_leaves_no_backoff(tmp_path: Path) -> None:
    """Nor do those behind it; without the stop file both are served in the next round."""
    world, stop = world_of(tmp_path), tmp_path / "stop"
    stop.touch()
    cycle = one_round(world, tmp_path, stop_file=stop)
    assert [row.outcome for row in cycle.report.rows] == ["stopped"]
    assert saved(tmp_path) == backoff(cycle.state) == {}
    stop.unlink()
    cycles: list[Cycle] = []
    with world.driver() as driver:
        watch(driver, rules(), state=State.load(tmp_path / "state"), once=True, each=cycles.append)
    assert [row.outcome for row in cycles[0].report.rows] == ["started", "started"]


def test_a_step_behind_a_signal_leaves_no_backoff(tmp_path: Path) -> None:
    """The first step was begun when it came; its beneficiary alone is remembered."""
    world = world_of(tmp_path)
    cycles: list[Cycle] = []
    with world.driver() as driver:
        answering(world, lambda rest: driver.stop.set() if rest[0] == "requeuehold" else None)
        watch(driver, rules(), once=True, each=cycles.append, save=tmp_path / "state")
    asked = [line["job"] for line in read(world.journal) if line.get("action") == "requeue_hold"]
    assert len(set(asked)) == 1
    assert list(saved(tmp_path)) == ["90"]


@pytest.mark.parametrize("denied", ["all", "first"])
def test_a_step_that_the_cluster_denies_leaves_no_backoff(denied: str, tmp_path: Path) -> None:
    world = world_of(tmp_path)
    count: list[str] = []

    def answer(rest: list[str]) -> Result | None:
        if rest[0] != "requeuehold":
            return None
        count.append(rest[-1])
        return DENIED if denied == "all" or len(count) == 1 else None

    answering(world, answer)
    cycle = one_round(world, tmp_path)
    assert saved(tmp_path) == backoff(cycle.state)
    assert set(saved(tmp_path)) == (set() if denied == "all" else {"91"})


def test_a_step_that_is_refused_leaves_no_backoff(tmp_path: Path) -> None:
    """By a cap: of one victim in a round."""
    world = world_of(tmp_path)
    cycle = one_round(world, tmp_path, caps=Caps(1, None, None, None))
    assert sorted(row.outcome for row in cycle.report.rows) == ["refused", "started"]
    assert list(saved(tmp_path)) == ["90"]


def test_a_dry_run_leaves_no_backoff(tmp_path: Path) -> None:
    cycle = one_round(world_of(tmp_path), tmp_path, dry_run=True)
    assert [row.outcome for row in cycle.report.rows] == ["dry_run", "dry_run"]
    assert backoff(cycle.state) == {}
    assert not (tmp_path / "state").exists()


def test_a_step_that_was_cut_leaves_no_backoff(tmp_path: Path) -> None:
    """A kill between the line and the command of the first step; the second one was not begun."""
    world = world_of(tmp_path)
    plain = world.faults

    def run(arguments: Any, timeout: float) -> Result:
        if "requeuehold" in arguments:
            raise Killed
        return plain(arguments, timeout)

    world.faults = run  # type: ignore[assignment]
    with pytest.raises(Killed):
        one_round(world, tmp_path)
    assert [line["kind"] for line in read(world.journal)][-1] == "intent"
    assert saved(tmp_path) == {}


def test_an_attempt_is_saved_while_its_step_is_under_way(tmp_path: Path) -> None:
    """A kill at the first look after both steps have asked."""
    world = world_of(tmp_path)
    asked: list[str] = []
    plain = world.faults

    def run(arguments: Any, timeout: float) -> Result:
        if "requeuehold" in arguments:
            asked.append(arguments[-1])
        elif len(asked) == 2 and (tmp_path / "state").exists() and saved(tmp_path):
            raise Killed
        return plain(arguments, timeout)

    world.faults = run  # type: ignore[assignment]
    with pytest.raises(Killed):
        one_round(world, tmp_path)
    assert list(saved(tmp_path)) == ["90", "91"]


def test_what_was_asked_before_stays_remembered_where_nothing_is_asked_now(tmp_path: Path) -> None:
    """The state that the round starts from says when jobs were last preempted for this one."""
    world, stop = world_of(tmp_path), tmp_path / "stop"
    stop.touch()
    before = State(world.clock.now - 500.0, operations={"90": {"last_preempt": world.clock.now - 500.0}})
    with world.driver(stop_file=stop) as driver:
        after = watch(driver, rules(), state=before, once=True, each=lambda _: None)
    assert backoff(after) == {"90": world.clock.now - 500.0}


def test_the_next_plan_of_a_round_knows_of_its_attempts(tmp_path: Path) -> None:
    """The second one, without the beneficiary that was refused, starts from what the first one did."""
    world = world_of(tmp_path)
    states: list[State | None] = []

    class Watched(eh.policies.Slurm):
        def plan(self, snapshot: Any, state: Any = None, *more: Any, **others: Any) -> Any:
            states.append(state)
            return super().plan(snapshot, state, *more, **others)

    def keep_the_other(rest: list[str]) -> Result | None:
        if rest[0] == "requeuehold":
            (other,) = {"1", "2"} - {rest[-1]}
            world.cluster.jobs[other]["requeue"] = False
        return None

    answering(world, keep_the_other)
    world.cluster.jobs["2"].update(user="u1", uid=1001)  # of one owner: one step after the other
    cycle = one_round(world, tmp_path, rules(Watched))
    assert {row.outcome for row in cycle.report.rows} == {"started", "refused"}
    assert states[0] is None
    assert set(backoff(states[-1])) == {"90"} == set(saved(tmp_path))


def two_victims(folder: Path) -> World:
    """Two jobs on one node, in the way of one."""
    low = [job(n, 2, node="n1", priority=10 + n, user=f"u{n}", uid=1000 + n) for n in (1, 2)]
    others = [job(n, 4, node=f"n{n - 1}", priority=100, user="eve", uid=2000) for n in (3, 4)]
    world = World(folder, [*low, *others, job(90, 4, priority=100, user="eve", uid=2000)])
    world.cluster.__class__ = Tiers
    return world


def comments(world: World) -> dict[str, str]:
    return {name: j["comment"] for name, j in world.cluster.jobs.items() if j["comment"]}


def test_only_a_victim_that_was_asked_bears_the_reason(tmp_path: Path) -> None:
    """The first command is not answered, and meanwhile the other job may not be requeued any more."""
    world = two_victims(tmp_path)
    asked: list[str] = []

    def unanswered(rest: list[str]) -> Result | None:
        if rest[0] == "requeuehold":
            asked.append(rest[-1])
            (other,) = {"1", "2"} - {rest[-1]}
            world.cluster.jobs[other]["requeue"] = False
            plain(rest)
            return Result(None, "", "no answer")
        return None

    plain = answering(world, unanswered)
    cycle = one_round(world, tmp_path)
    (row,) = cycle.report.rows
    assert row.victims == (asked[0],)
    assert "was not asked to leave: " in row.why
    (other,) = {"1", "2"} - {asked[0]}
    assert comments(world) == {
        asked[0]: "evenhand: gives way to 90: higher_partition_tier",
        other: "evenhand: was not asked to leave after all",
    }


def test_a_reason_is_taken_back_where_its_job_changed_while_it_was_written(tmp_path: Path) -> None:
    world = two_victims(tmp_path)

    def slow(rest: list[str]) -> Result | None:
        if rest[0] == "update" and "gives way" in rest[-1]:
            world.clock.sleep(2.0)
            world.cluster.jobs[rest[1].removeprefix("JobId=")]["requeue"] = False
        return None

    answering(world, slow)
    cycle = one_round(world, tmp_path)
    assert not any(
        line["action"] == "requeue_hold" for line in read(world.journal) if line["kind"] == "intent"
    )
    assert set(comments(world).values()) == {"evenhand: was not asked to leave after all"}
    assert saved(tmp_path) == backoff(cycle.state) == {}
    assert all(row.victims == () for row in cycle.report.rows if row.outcome == "not_started")
