"""What jobs are owed after a step: paid as soon as it can be, job by job, and never in silence."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act.journal import Journal, read
from evenhand.adapters.commands import Result
from tests.unit.act.slurm.cluster import FakeSlurm, job
from tests.unit.act.world import World

DENIED = Result(1, "", "Access/permission denied")


class Never(FakeSlurm):
    """Job 9 never starts."""

    def schedule(self) -> None:
        waiting = self.jobs["9"]["state"] == "PENDING"
        if waiting:
            self.jobs["9"]["state"] = "PARKED"
        super().schedule()
        if waiting:
            self.jobs["9"]["state"] = "PENDING"


def one_step(folder: Path, **options: Any) -> World:
    """Job 9 is to have the place of job 1; jobs 2 and 3 stay."""
    jobs = [job(n, 4, node=f"n{n}", priority=10 if n == 1 else 200) for n in (1, 2, 3)]
    return World(folder, [*jobs, job(9, 4, priority=90)], **options)


def answering(world: World, answer: Callable[[list[str]], Result | None]) -> Any:
    """Let `answer` come before the cluster's own answers to scontrol, where it has one."""
    plain = world.cluster.scontrol
    world.cluster.scontrol = lambda rest: answer(rest) or plain(rest)  # type: ignore[method-assign]
    return plain


def acted(world: World) -> Any:
    with world.driver() as driver:
        return driver.act(eh.plan(driver.snapshot(), world.policy)).rows, dict(driver.book.owed)


@pytest.mark.parametrize("answer", [Result(None, "", "killed"), DENIED])
def test_a_release_is_asked_for_again(answer: Result, tmp_path: Path) -> None:
    world = one_step(tmp_path)
    asked: list[str] = []

    def first(rest: list[str]) -> Result | None:
        if rest[0] != "release":
            return None
        asked.append(rest[-1])
        return answer if len(asked) == 1 else None

    answering(world, first)
    (row,), owed = acted(world)
    assert row.outcome == "started"
    assert asked == ["1", "1"]
    assert not owed
    assert world.cluster.jobs["1"]["priority"] > 0


def test_a_release_that_fails_where_turns_do_not_show(tmp_path: Path) -> None:
    """Another system may not count them; the job was seen to be held."""
    world = one_step(tmp_path)
    plain = answering(world, lambda rest: DENIED if rest[0] == "release" else None)

    def uncounted(rest: list[str]) -> Result:
        for j in world.cluster.jobs.values():
            j["turn"] = 0
        return squeue(rest)

    squeue = world.cluster.squeue
    world.cluster.squeue = uncounted  # type: ignore[method-assign]
    _, owed = acted(world)
    assert owed["1"].what == "release"
    world.cluster.scontrol = plain
    world.check()
    assert world.cluster.jobs["1"]["priority"] > 0


def test_a_release_that_fails_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    world = one_step(tmp_path)
    plain = answering(world, lambda rest: DENIED if rest[0] == "release" else None)
    with caplog.at_level(logging.WARNING, logger="evenhand.act"):
        (row,), owed = acted(world)
    assert owed["1"].what == "release"
    assert "1 is still held: Access/permission denied" in row.why
    assert any(record.getMessage().endswith(row.why) for record in caplog.records)
    world.cluster.scontrol = plain
    world.check()


def test_a_job_that_cannot_be_looked_at_holds_up_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [job(n, 4, node=f"n{n}", priority=9 + n) for n in (1, 2, 3)]
    world = World(tmp_path, [*jobs, job(8, 4, priority=80), job(9, 4, priority=90)])
    plain = answering(world, lambda rest: DENIED if rest[0] == "release" else None)
    _, owed = acted(world)
    assert list(owed) == ["1", "2"]
    world.cluster.scontrol = plain
    squeue = world.cluster.squeue
    sick = Result(1, "", "slurm_load_jobs error: Unexpected message received")
    world.cluster.squeue = lambda rest: sick if "--jobs=1" in rest else squeue(rest)  # type: ignore[method-assign]
    world.cluster.jobs["7"] = job(7, 4, priority=95)
    with caplog.at_level(logging.WARNING, logger="evenhand.act"):
        rows, owed = acted(world)
    assert list(owed) == ["1"]
    assert world.cluster.jobs["2"]["priority"] > 0
    assert "1 is still owed release" in caplog.text
    assert [(row.outcome, row.beneficiary) for row in rows] == [("started", "7")]
    world.cluster.squeue = squeue  # type: ignore[method-assign]
    world.check()


def test_an_open_step_that_cannot_be_looked_at_holds_up_no_other(tmp_path: Path) -> None:
    world = one_step(tmp_path)
    with Journal(world.journal, "fake", world.clock) as journal:
        for step, name in enumerate(("1", "2")):
            victim = {"job": name, "owner": "1000", "action": "requeue_hold", "turn": 0, "reason": "x"}
            journal.append("step", step=step, beneficiary="9", victims=[victim], reason="", node="n1")
            journal.append("intent", step=step, action="requeue_hold", job=name, commands=[])
    squeue = world.cluster.squeue
    sick = Result(1, "", "slurm_load_jobs error: Unexpected message received")
    world.cluster.squeue = (  # type: ignore[method-assign]
        lambda rest: sick if any(word.startswith("--jobs=1,") for word in rest) else squeue(rest)
    )
    with world.driver() as driver:
        assert list(driver.book.open) == [0]
        assert "1" in driver.book.busy()
    world.cluster.squeue = squeue  # type: ignore[method-assign]
    world.calm()
    world.check()


def test_a_job_that_cannot_be_looked_at_ends_no_round(tmp_path: Path) -> None:
    """The snapshot has it; the plan after leaves it alone."""
    jobs = [job(n, 4, node=f"n{n}", priority=9 + n) for n in (1, 2)]
    world = World(tmp_path, [*jobs, job(3, 4, node="n3", priority=200), job(9, 4, priority=90)])
    squeue = world.cluster.squeue
    sick = Result(1, "", "slurm_load_jobs error: Unexpected message received")
    world.cluster.squeue = (  # type: ignore[method-assign]
        lambda rest: sick if any(word.startswith("--jobs=1") for word in rest) else squeue(rest)
    )
    with world.driver() as driver:
        (row,) = driver.act(eh.plan(driver.snapshot(), world.policy)).rows
        assert row.codes == ("not_seen",)
        (row,) = driver.act(eh.plan(driver.snapshot(), world.policy)).rows
        assert (row.outcome, row.victims) == ("started", ("2",))


def test_jobs_in_a_state_without_a_word_are_waited_for(tmp_path: Path) -> None:
    """The victim that is owed its release, and the beneficiary that is to start."""
    world = one_step(tmp_path)
    plain = answering(world, lambda rest: DENIED if rest[0] == "release" else None)
    _, owed = acted(world)
    assert owed["1"].what == "release"
    world.cluster.scontrol = plain
    world.cluster.jobs["1"]["state"] = "NEW_IN_30_05"
    with world.driver() as driver:
        assert driver.book.owed["1"].what == "release"
    world.cluster.jobs["1"]["state"] = "PENDING"
    world.check()

    world.cluster.jobs["1"].update(state="RUNNING", node="n1")
    world.cluster.jobs["9"].update(state="PENDING", node=None)
    begin = world.clock.now
    schedule = world.cluster.schedule

    def between() -> None:
        schedule()
        if world.cluster.jobs["1"]["state"] == "PENDING":
            later = world.clock.now >= begin + 10.0
            world.cluster.jobs["9"].update(state="RUNNING" if later else "NEW_IN_30_05", node="n1")

    world.cluster.schedule = between  # type: ignore[method-assign]
    (row,), _ = acted(world)
    assert row.outcome == "started"
    assert world.clock.now >= begin + 10.0


def test_a_cluster_that_does_not_answer_is_not_asked_about_every_job(tmp_path: Path) -> None:
    world = one_step(tmp_path)
    with Journal(world.journal, "fake", world.clock) as journal:
        names = [str(n) for n in range(100, 120)]
        victims = [{"job": n, "owner": "1", "action": "suspend", "turn": 0, "reason": "x"} for n in names]
        journal.append("step", step=0, beneficiary=None, victims=victims, reason="", node="n1")
        journal.append("end", step=0, outcome="repaired", why="x", owed=dict.fromkeys(names, "resume"))

    def slow(rest: list[str]) -> Result:
        world.clock.now += 30.0
        return Result(None, "", "no answer within 30 s")

    world.cluster.squeue = slow  # type: ignore[method-assign]
    begin = world.clock.now
    with world.driver() as driver:
        assert list(driver.book.owed) == names
    assert world.clock.now - begin < 200.0


@pytest.mark.parametrize("stopped", [False, True])
def test_a_driver_that_is_stopped_does_not_ask_on(stopped: bool, tmp_path: Path) -> None:
    """The jobs keep what they are owed."""
    world = one_step(tmp_path)
    names = [str(n) for n in range(100, 110)]
    with Journal(world.journal, "fake", world.clock) as journal:
        victims = [{"job": n, "owner": "1", "action": "suspend", "turn": 0, "reason": "x"} for n in names]
        journal.append("step", step=0, beneficiary=None, victims=victims, reason="", node="n1")
        journal.append("end", step=0, outcome="repaired", why="x", owed=dict.fromkeys(names, "resume"))
    asked: list[str] = []

    def fails(rest: list[str]) -> Result:
        asked.append(next(word for word in rest if word.startswith("--jobs=")))
        return Result(1, "", "slurm_load_jobs error: Unable to contact slurm controller")

    world.cluster.squeue = fails  # type: ignore[method-assign]
    stop = threading.Event()
    if stopped:
        stop.set()
    with world.driver(stop=stop, timing=world.timing(settle=1e6)) as driver:
        assert list(driver.book.owed) == names
    assert len(set(asked)) == (1 if stopped else len(names))


def test_suspended_for_one_that_never_starts(tmp_path: Path) -> None:
    """It goes on as soon as there is room, whoever waits."""
    world = one_step(tmp_path, mode="suspend")
    world.cluster.__class__ = Never
    (row,), owed = acted(world)
    assert row.outcome == "not_started"
    assert owed["1"].what == "resume"
    with world.driver() as driver:
        assert world.cluster.jobs["1"]["state"] == "RUNNING"
        assert not driver.book.owed


def test_suspended_for_one_that_nobody_watched(tmp_path: Path) -> None:
    """The driver was stopped; the beneficiary has as long as one driver would give it."""
    world = one_step(tmp_path, mode="suspend")
    world.cluster.__class__ = Never
    with world.driver() as driver:
        driver._carrier.stopping = lambda: True
        (row,) = driver.act(eh.plan(driver.snapshot(), world.policy)).rows
    assert row.outcome == "unwatched"
    with world.driver():
        assert world.cluster.jobs["1"]["state"] == "SUSPENDED"
    world.clock.now += world.timing().start
    with world.driver():
        assert world.cluster.jobs["1"]["state"] == "RUNNING"


def test_a_late_command_finds_nobody_else_to_look_after_the_job(tmp_path: Path) -> None:
    """Its victim was suspended by somebody when it was looked at; then the command held it."""
    world = one_step(tmp_path)
    unanswered = Result(None, "", "no answer within 30 s")
    plain = answering(world, lambda rest: unanswered if rest[0] == "requeuehold" else None)
    _, owed = acted(world)
    assert owed["1"].what == "look:requeue_hold"
    world.cluster.jobs["1"]["state"] = "SUSPENDED"
    with world.driver() as driver:
        assert "1" in driver.book.owed
    plain(["requeuehold", "Incomplete", "1"])
    assert world.cluster.jobs["1"]["priority"] == 0
    world.calm()
    assert world.cluster.jobs["1"]["priority"] > 0


def test_a_hold_by_somebody_else_stays(tmp_path: Path) -> None:
    """The command never arrived; the job went back to the queue by itself, and its user held it."""
    world = one_step(tmp_path)
    unanswered = Result(None, "", "no answer within 30 s")
    answering(world, lambda rest: unanswered if rest[0] == "requeuehold" else None)
    _, owed = acted(world)
    assert owed["1"].what == "look:requeue_hold"
    world.cluster.jobs["1"].update(state="PENDING", node=None, turn=1, priority=0)
    with world.driver() as driver:
        assert not driver.book.owed
    assert world.cluster.jobs["1"]["priority"] == 0


@pytest.mark.parametrize("state", ["CANCELLED", "RUNNING", "PENDING"])
def test_no_further_job_leaves_for_one_that_does_not_wait(state: str, tmp_path: Path) -> None:
    """It is cancelled, starts elsewhere or is held while the command to its first victim is not answered."""
    world = four_victims(tmp_path)

    def leaves(rest: list[str]) -> Result | None:
        if rest[0] != "requeuehold":
            return None
        plain(rest)
        world.cluster.jobs["20"]["state"] = "COMPLETED"
        world.cluster.jobs["9"].update(state=state, priority=0, node="n2" if state == "RUNNING" else None)
        return Result(None, "", "no answer within 30 s")

    plain = answering(world, leaves)
    (row,), _ = acted(world)
    assert row.outcome == ("started" if state == "RUNNING" else "not_started")
    asked = [x["job"] for x in read(world.journal) if x["kind"] == "intent" and x["action"] == "requeue_hold"]
    assert len(asked) == 1
    assert all(world.cluster.jobs[name]["priority"] > 0 for name in "1234")


def test_victims_are_told_together(tmp_path: Path) -> None:
    """No wait and no look between two of them: in the meantime others would take the room of the first."""
    world = four_victims(tmp_path)
    begin = world.clock.now
    (row,), _ = acted(world)
    assert (row.outcome, len(row.victims)) == ("started", 4)
    assert world.clock.now == begin
    commands = [words[1] for words in world.cluster.asked if words[0] == "scontrol" and "show" not in words]
    assert commands == ["update"] * 4 + ["requeuehold"] * 4 + ["release"] * 4
    places = [i for i, words in enumerate(world.cluster.asked) if words[1] == "requeuehold"]
    assert places == list(range(places[0], places[0] + 4))


def four_victims(folder: Path) -> World:
    jobs = [job(n, 1, node="n1") for n in range(1, 5)]
    others = [job(n, 4, node=f"n{n // 10}", priority=200) for n in (20, 30)]
    return World(folder, [*jobs, *others, job(9, 4, priority=90)])
