"""When a driver acts, and when it says why it does not."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, Driver, LockedError, Row, Timing, lock
from evenhand.act.course import Course
from evenhand.act.journal import read
from evenhand.act.lock import Lock
from evenhand.act.tasks import partial, tasks_of
from evenhand.adapters.commands import Subprocesses
from evenhand.adapters.protocol import Standing
from evenhand.adapters.recording import Recorder
from evenhand.systems.slurm.adapter.live import Slurm
from tests import waiting
from tests.unit.act.slurm.cluster import T0, job
from tests.unit.act.world import JOBS, Killed, World

Change = Callable[[dict[str, Any]], object]


def planned(world: World) -> Any:
    return eh.plan(world.adapter().snapshot(), world.policy)


def rows(world: World, plan: Any, **options: Any) -> list[Row]:
    with world.driver(**options) as driver:
        return driver.act(plan).rows


def evicted(world: World) -> list[str]:
    return [name for what, name, _ in world.cluster.events if what == "evict"]


CHANGED: list[tuple[str, Change, str]] = [
    ("ended", lambda jobs: jobs["3"].update(state="COMPLETED"), "operation_gone"),
    ("grew", lambda jobs: jobs["3"].update(cpus=5), "victim_changed"),
    ("reclassified", lambda jobs: jobs["3"].update(account="dear"), "victim_reclassified"),
    ("raised", lambda jobs: jobs["3"].update(priority=150), "priority_raised"),
    ("suspended", lambda jobs: jobs["3"].update(state="SUSPENDED"), "victim_leaving"),
    ("moved", lambda jobs: jobs["3"].update(node="n1"), "victim_ended"),
    ("held", lambda jobs: jobs["9"].update(priority=0), "request_gone"),
    ("started", lambda jobs: jobs["9"].update(state="RUNNING", node="n3"), "request_gone"),
    ("fell", lambda jobs: jobs["9"].update(priority=5), "priority_fell"),
    ("no requeue", lambda jobs: jobs["3"].update(requeue=False), "victim_protected"),
    ("bigger", lambda jobs: jobs["9"].update(cpus=3), "request_changed"),
]


@pytest.mark.parametrize(("change", "code"), [pytest.param(c, code, id=n) for n, c, code in CHANGED])
def test_changed_steps_are_refused(change: Change, code: str, tmp_path: Path) -> None:
    world = World(tmp_path, jobs=[JOBS[2], JOBS[6], job(7, 4, node="n1", priority=200)])
    world.cluster.nodes = {"n1": 4, "n2": 4}
    plan = planned(world)
    change(world.cluster.jobs)
    world.cluster.schedule = lambda: None  # type: ignore[method-assign]
    (row,) = rows(world, plan)
    assert row.outcome == "refused"
    assert code in row.codes
    assert row.why
    assert not evicted(world)
    assert [line["codes"] for line in read(world.journal) if line["kind"] == "refused"] == [list(row.codes)]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda jobs: jobs["3"].update(state="COMPLETED"), "victim_not_running"),
        (lambda jobs: jobs["9"].update(state="CANCELLED"), "beneficiary_not_pending"),
    ],
)
def test_changes_behind_the_fresh_snapshot_are_seen(change: Change, code: str, tmp_path: Path) -> None:
    world = World(tmp_path, jobs=[JOBS[2], JOBS[6]])
    world.cluster.nodes = {"n2": 4}
    plan = planned(world)
    world.cluster.schedule = lambda: None  # type: ignore[method-assign]
    plain = world.cluster.sinfo

    def sinfo(rest: list[str]) -> Any:
        result = plain(rest)  # the last command of a snapshot
        change(world.cluster.jobs)
        return result

    world.cluster.sinfo = sinfo  # type: ignore[method-assign]
    (row,) = rows(world, plan)
    assert row.codes == (code,)
    assert not evicted(world)


def test_a_job_that_took_another_node_is_refused(tmp_path: Path) -> None:
    """It could only leave whole, and more of it than was planned."""
    world = World(tmp_path)
    plan = planned(world)
    (task, *_) = tasks_of(plan, world.adapter())
    (victim, *_) = task.victims
    data = plan.snapshot.to_dict()
    (row,) = [a for a in data["allocations"] if str(a["operation"]) == victim]
    data["allocations"].append({**row, "name": f"{victim}@n3", "node": "n3", "resources": {"cpu": 0}})
    assert not partial(plan.snapshot, task)
    (refusal,) = partial(eh.Snapshot.from_dict(data), task)
    assert refusal.code == "partial_victim"
    assert refusal.message.startswith(f"1 of 2 allocations of {victim} must leave")


@pytest.mark.parametrize("change", [{"start": T0 - 1, "turn": 1}, {"priority": 50}])
def test_a_changed_victim_that_would_be_taken_all_the_same_leaves(
    change: dict[str, Any], tmp_path: Path
) -> None:
    """It began anew, or is more urgent: a plan made now takes it too."""
    jobs = copy.deepcopy([JOBS[2], JOBS[6], job(7, 4, node="n1", priority=200)])
    world = World(tmp_path, jobs=jobs)
    world.cluster.nodes = {"n1": 4, "n2": 4}
    plan = planned(world)
    world.cluster.jobs["3"].update(change)
    (row,) = rows(world, plan)
    assert row.outcome == "started"
    assert evicted(world) == ["3"]


def only_read(world: World) -> bool:
    """Whether no command was asked that does more than show what is."""
    return all(words[0] in ("squeue", "sinfo") or "show" in words for words in world.cluster.asked)


def test_dry_run_changes_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    before = copy.deepcopy(world.cluster.jobs)
    found = rows(world, planned(world), dry_run=True)
    assert [row.outcome for row in found] == ["dry_run", "dry_run"]
    assert ("scontrol", "requeuehold", "Incomplete", found[0].victims[0]) in found[0].commands
    assert world.cluster.jobs == before
    assert only_read(world)
    assert not world.journal.exists()
    assert not world.lock.exists()


def test_stop_file(tmp_path: Path) -> None:
    world = World(tmp_path)
    stop = tmp_path / "stop"
    plan = planned(world)

    def put(row: Row) -> None:
        stop.touch()

    found = rows(world, plan, stop_file=stop, progress=put)
    assert [row.outcome for row in found] == ["started", "stopped"]
    assert str(stop) in found[1].why
    world.check()
    assert [row.outcome for row in rows(world, planned(world), stop_file=stop)] == ["stopped"]


def test_old_plan_and_late_snapshot(tmp_path: Path) -> None:
    world = World(tmp_path)
    plan = planned(world)
    world.clock.now += 61
    assert {row.codes[0] for row in rows(world, plan)} == {"plan_old"}
    plan = planned(world)
    slow = world.faults._runner

    def late(arguments: Any, timeout: float) -> Any:
        world.clock.now += 40 if arguments[0] == "sinfo" else 0
        return slow(arguments, timeout)

    world.faults._runner = late
    found = rows(world, plan, timing=world.timing(max_age=39))
    assert "snapshot_old" in found[0].codes
    assert not evicted(world)


@pytest.mark.parametrize(
    ("caps", "left"),
    [
        (Caps(0, None, None, None), 0),
        (Caps(1, None, None, None), 1),
        (Caps(None, 2, None, None), 1),
        (Caps(None, None, 0, None), 0),
        (Caps(None, None, None, 0), 0),
        (Caps(None, None, 1, None), 1),
        (Caps(3, 3, 2, 1), 3),
    ],
)
def test_caps(caps: Caps, left: int, tmp_path: Path) -> None:
    world = World(tmp_path)
    found = rows(world, planned(world), caps=caps)
    assert len(evicted(world)) == left
    assert sum(row.codes == ("cap",) for row in found) == (left < 3) + (left < 1)
    world.check()


def test_caps_of_an_hour_outlive_the_driver(tmp_path: Path) -> None:
    world = World(tmp_path)
    caps = Caps(None, 1, None, None)
    rows(world, planned(world), caps=caps)
    assert [row.outcome for row in rows(world, planned(world), caps=caps)] == ["refused"]
    world.clock.now += 3599
    caps = Caps(None, 2, None, None)
    assert [row.outcome for row in rows(world, planned(world), caps=caps)] == ["refused"]
    world.clock.now += 2
    assert [row.outcome for row in rows(world, planned(world), caps=caps)] == ["started"]


def test_beneficiary_that_does_not_start(tmp_path: Path) -> None:
    world = World(tmp_path, jobs=[JOBS[2], JOBS[6]])
    world.cluster.nodes = {"n2": 4}
    plan = planned(world)
    world.cluster.schedule = lambda: None  # type: ignore[method-assign]
    (row,) = rows(world, plan)
    assert row.outcome == "not_started"
    assert "did not start within 20 s" in row.why
    assert world.cluster.jobs["3"]["priority"] > 0
    world.check()


def test_held_no_longer_than_one_driver_would_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that is killed again and again does not begin to wait anew for the beneficiary."""
    world = World(tmp_path, jobs=[JOBS[2], JOBS[6]])
    world.cluster.nodes = {"n2": 4}
    plan = planned(world)
    world.cluster.schedule = lambda: None  # type: ignore[method-assign]

    def die(*_: object) -> tuple[str, str]:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Course, "_judge", die)
        with pytest.raises(Killed):
            rows(world, plan)
    assert world.cluster.jobs["3"]["priority"] == 0, "held"
    world.clock.now += 15.0
    begin = world.clock.now
    with world.driver() as driver:
        assert driver.book.ends == {"not_started": 1}
    assert 4.0 <= world.clock.now - begin <= 6.0  # of 20
    assert world.cluster.jobs["3"]["priority"] > 0


def test_a_victim_that_stays_gives_the_others_back(tmp_path: Path) -> None:
    jobs = [job(1, 2, node="n2"), job(2, 2, node="n2"), JOBS[6]]
    world = World(tmp_path, jobs=jobs)
    world.cluster.nodes = {"n2": 4}
    plan = planned(world)
    plain = world.cluster.scontrol

    def scontrol(rest: list[str]) -> Any:
        if rest[0] == "requeuehold" and evicted(world):
            from evenhand.adapters.commands import Result

            return Result(1, "", "Access/permission denied")
        return plain(rest)

    world.cluster.scontrol = scontrol  # type: ignore[method-assign]
    (row,) = rows(world, plan)
    assert row.outcome == "not_started"
    assert "permission denied" in row.why
    assert len(evicted(world)) == 1
    world.calm()
    world.check()


def test_suspend_and_resume_when_there_is_room(tmp_path: Path) -> None:
    world = World(tmp_path, jobs=[JOBS[2], JOBS[6]], mode="suspend")
    world.cluster.nodes = {"n2": 4}
    (row,) = rows(world, planned(world))
    assert row.outcome == "started"
    assert world.cluster.jobs["3"]["state"] == "SUSPENDED"
    with world.driver() as driver:
        assert driver.book.owed["3"].what == "resume"
        assert world.cluster.jobs["3"]["state"] == "SUSPENDED", "its cpus are somebody's"
    world.cluster.jobs["9"].update(state="COMPLETED")
    world.cluster.jobs["6"] = job(6, 1, node="n2")
    with world.driver():
        assert world.cluster.jobs["3"]["state"] == "SUSPENDED", "a part of its cpus is somebody's"
    world.cluster.jobs["6"].update(state="COMPLETED")
    with world.driver() as driver:
        assert world.cluster.jobs["3"]["state"] == "RUNNING"
        assert not driver.book.owed


def test_jobs_that_somebody_else_suspended_stay_so(tmp_path: Path) -> None:
    """A plan resumes them; a driver resumes only whom a driver of its journal suspended."""
    world = World(tmp_path, jobs=[JOBS[2] | {"state": "SUSPENDED"}])
    world.cluster.nodes = {"n2": 4}
    main = {"main": {"OverSubscribe": "FORCE:1"}}
    policy = eh.policies.Slurm(
        PreemptType="preempt/partition_prio", PreemptMode="SUSPEND,GANG", partitions=main
    )
    plan = eh.plan(world.adapter().snapshot(), policy)
    assert [d.action for d in plan.decisions] == ["resume"]
    assert not rows(world, plan)
    assert world.cluster.jobs["3"]["state"] == "SUSPENDED"
    assert only_read(world)


def test_suspension_must_free_what_the_plan_counts_on(tmp_path: Path) -> None:
    world = World(tmp_path, jobs=[JOBS[2], JOBS[6]], mode="suspend")
    world.cluster.nodes = {"n2": 4}
    world.policy._victim = lambda a, r, node, step: {  # type: ignore[method-assign]
        **type(world.policy)._victim(world.policy, a, r, node, step),
        "freed": a["resources"],
    }
    (row,) = rows(world, planned(world))
    assert row.codes == ("suspend_frees_less",)
    assert not evicted(world)


def test_two_drivers(tmp_path: Path) -> None:
    world = World(tmp_path)
    with world.driver(), pytest.raises(LockedError, match=f"process {os.getpid()}") as caught:
        world.driver()
    assert "\n" not in str(caught.value)
    assert world.round()


def test_lock_outlives_a_killed_driver_until_its_command_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command of a driver that was killed cannot arrive behind the next driver's back."""
    code = (
        "import os, subprocess, sys; from evenhand.act.lock import Lock; lock = Lock(sys.argv[1]);"
        "subprocess.Popen(['cat'], stdin=0, pass_fds=[lock.descriptor]); os.kill(os.getpid(), 9)"
    )
    path = tmp_path / "lock"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command, its_end = os.pipe()  # the command reads until the other end is closed
    subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False, stdin=command)
    with pytest.raises(LockedError):
        Lock(path, patience=0.0)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            os.close(its_end)
        waiting.pause()

    monkeypatch.setattr(lock.time, "sleep", pause)
    lock.Lock(path, patience=waiting.HANG).release()
    assert len(pauses) >= 3
    os.close(command)


def test_lock_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LockedError, match="cannot be opened"):
        Lock(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()


def test_no_descriptor_is_inherited_that_is_closed(tmp_path: Path) -> None:
    """Also where commands are recorded on their way."""
    run = Subprocesses()
    adapter = Slurm(runner=Recorder(run, tmp_path / "recording"))
    adapter.identity = f"fake {tmp_path}"
    with Driver(adapter, tmp_path / "journal", lock=tmp_path / "lock"):
        (descriptor,) = run.inherited
        assert os.fstat(descriptor).st_ino == (tmp_path / "lock").stat().st_ino
    assert run.inherited == ()


def test_a_clock_that_is_set_back_holds_nobody_longer(tmp_path: Path) -> None:
    world = World(tmp_path, jobs=[JOBS[2], JOBS[6]])
    world.cluster.nodes = {"n2": 4}
    plan = planned(world)
    world.cluster.schedule = lambda: None  # type: ignore[method-assign]

    class Steady(Timing):
        def steady(self) -> float:
            return world.clock.now + shift[0]

    shift = [0.0]

    def sleep(seconds: float) -> None:
        world.clock.now += seconds
        if not shift[0]:
            shift[0] = 1e6
            world.clock.now -= 1e6

    timing = Steady(start=20.0, settle=3.0, poll=1.0, clock=world.clock, sleep=sleep)
    (row,) = rows(world, plan, timing=timing)
    assert row.outcome == "not_started"
    assert world.clock.now + shift[0] - T0 < 30.0
    assert Timing().steady() != Timing().now(), "the clock on the wall is not the one for waiting"


def test_standings_are_plain_values() -> None:
    assert Standing("1", "held", 1, started=False, owner="ann") == Standing("1", "held", 1, False, "ann")
    assert Standing.gone("1", "no such job") == Standing("1", "gone", 0, False, "", detail="no such job")
    assert Timing().now() > T0
