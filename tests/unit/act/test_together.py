"""Several steps at once: side by side where they may, told together, and safe whatever goes wrong."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.act import Caps
from evenhand.act.apart import Footprints
from evenhand.act.journal import read
from evenhand.act.tasks import tasks_of
from tests.drawing import some
from tests.unit.act.faults import Fault
from tests.unit.act.slurm.cluster import job
from tests.unit.act.test_faults import FAULTS, KINDS, MODES
from tests.unit.act.world import World, appends

pytestmark = pytest.mark.usefixtures("quiet")

PLACES = 5
NODES = {f"n{n}": 4 for n in range(1, PLACES + 1)}


def several(folder: Path, faults: dict[int, Fault] | None = None, **options: Any) -> World:
    """Five nodes with two jobs of one owner each, and five urgent jobs that want a node each."""
    jobs = [
        job(10 * n + part, 2, node=f"n{n}", user=f"u{n}", uid=1000 + n)
        for n in range(1, PLACES + 1)
        for part in (1, 2)
    ]
    urgent = [job(900 + n, 4, priority=200 - n, user="eve", uid=2000) for n in range(1, PLACES + 1)]
    world = World(folder, [*jobs, *urgent], faults, **options)
    world.cluster.nodes = dict(NODES)
    return world


def kinds(world: World) -> list[tuple[str, int]]:
    return [(x["kind"], x["step"]) for x in read(world.journal) if x["kind"] in ("step", "end")]


def evicted(world: World) -> list[str]:
    return [name for what, name, _ in world.cluster.events if what == "evict"]


def test_steps_that_share_nothing_run_side_by_side(tmp_path: Path) -> None:
    """All of them begin before the first one ends, after one check and one look."""
    world = several(tmp_path)
    begin = world.clock.now
    assert world.round()
    world.check()
    order = [kind for kind, _ in kinds(world)]
    assert order == ["step"] * PLACES + ["end"] * PLACES
    assert {x["outcome"] for x in read(world.journal) if x["kind"] == "end"} == {"started"}
    assert sorted(evicted(world)) == sorted(str(10 * n + p) for n in range(1, 6) for p in (1, 2))
    assert world.clock.now == begin
    whole = [words for words in world.cluster.asked if words[:2] == ("squeue", "--json")]
    assert len(whole) == 2, "one snapshot for the plan, and one for the check of all its steps"


def test_steps_that_share_an_owner_wait_for_each_other(tmp_path: Path) -> None:
    world = several(tmp_path)
    for name in ("11", "12", "51", "52"):
        world.cluster.jobs[name].update(user="u1", uid=1001)
    assert world.round()
    world.check()
    assert kinds(world)[:4] == [("step", n) for n in range(4)]
    order = kinds(world)
    assert order.index(("end", 0)) < order.index(("step", 4)), "both are about jobs of one owner"
    assert {x["outcome"] for x in read(world.journal) if x["kind"] == "end"} == {"started"}


def test_no_room_is_made_that_one_before_in_the_queue_would_take(tmp_path: Path) -> None:
    """The third step waits for the second; the cluster would give its beneficiary the room of the fourth."""
    world = several(tmp_path)
    for name in ("21", "22", "31", "32"):
        world.cluster.jobs[name].update(user="u2", uid=1002)
    assert world.round()
    world.check()
    order = kinds(world)
    assert order.index(("end", 1)) < order.index(("step", 2))
    assert {x["outcome"] for x in read(world.journal) if x["kind"] == "end"} == {"started"}
    assert len(order) == 2 * PLACES
    assert world.cluster.jobs["905"]["state"] == "RUNNING"


def test_steps_that_share_a_node_wait_for_each_other(tmp_path: Path) -> None:
    jobs = [job(n, 2, node="n1", user=f"u{n}", uid=1000 + n) for n in (1, 2)]
    world = World(tmp_path, [*jobs, job(8, 2, priority=90), job(9, 2, priority=100)])
    world.cluster.nodes = {"n1": 4}
    assert world.round()
    world.check()
    assert kinds(world) == [("step", 0), ("end", 0), ("step", 1), ("end", 1)]


def test_a_victim_on_several_nodes_keeps_others_off_all_of_them(tmp_path: Path) -> None:
    snapshot = several(tmp_path).adapter().snapshot()
    data = snapshot.to_dict()
    (row,) = [a for a in data["allocations"] if a["operation"] == "11"]
    data["allocations"].append({**row, "name": "11@n5", "node": "n5", "resources": {"cpu": 0}})
    world = several(tmp_path)
    tasks = tasks_of(eh.plan(snapshot, world.policy), world.adapter())
    alone = Footprints(snapshot, tasks, whole=True).independent(tasks, [])
    assert len(alone) == PLACES
    spread = Footprints(eh.Snapshot.from_dict(data), tasks, whole=True)
    left = {next(iter(task.victims)) for task in tasks} - {
        next(iter(task.victims)) for task in spread.independent(tasks, [])
    }
    assert len(left) == 1
    assert left <= {"51", "52"}


def test_caps_are_counted_once_for_all_steps(tmp_path: Path) -> None:
    world = several(tmp_path)
    caps = Caps(None, 6, None, None)
    with world.driver(caps=caps) as driver:
        rows = driver.act(eh.plan(driver.snapshot(), world.policy)).rows
    assert Counter(row.outcome for row in rows) == {"started": 3, "refused": 2}
    assert len(evicted(world)) == 6
    world.check()


def test_one_that_does_not_start_holds_up_no_other(tmp_path: Path) -> None:
    """Its victims are released when its time is up; those of the others at once."""
    world = several(tmp_path)
    plain = world.cluster.schedule

    def schedule() -> None:  # job 901 never starts
        waits = world.cluster.jobs["901"]["state"] == "PENDING"
        world.cluster.jobs["901"]["state"] = "PARKED" if waits else world.cluster.jobs["901"]["state"]
        plain()
        if waits:
            world.cluster.jobs["901"]["state"] = "PENDING"

    world.cluster.schedule = schedule  # type: ignore[method-assign]
    with world.driver() as driver:
        rows = driver.act(eh.plan(driver.snapshot(), world.policy)).rows
    assert Counter(row.outcome for row in rows) == {"started": PLACES - 1, "not_started": 1}
    took = {row.beneficiary: row.seconds for row in rows}
    assert took.pop("901") == pytest.approx(20.0, abs=2.0)
    assert max(took.values()) <= 1.0
    world.check()


def test_jobs_of_one_step_that_cannot_be_looked_at_hold_up_no_other_step(tmp_path: Path) -> None:
    from evenhand.adapters.commands import Result
    from evenhand.adapters.protocol import AdapterError

    world = several(tmp_path)
    squeue, told = world.cluster.squeue, world.cluster.scontrol
    sick: list[str] = []

    def scontrol(rest: list[str]) -> Result:
        if rest[0] == "requeuehold" and not sick:
            sick.append(rest[-1])
        return told(rest)

    def look(rest: list[str]) -> Result:
        names = next((w.removeprefix("--jobs=").split(",") for w in rest if w.startswith("--jobs=")), [])
        if sick and sick[0] in names:
            return Result(1, "", "slurm_load_jobs error: Unexpected message received")
        return squeue(rest)

    world.cluster.scontrol = scontrol  # type: ignore[method-assign]
    world.cluster.squeue = look  # type: ignore[method-assign]
    with world.driver() as driver:
        with pytest.raises(AdapterError, match="Unexpected message"):
            driver.act(eh.plan(driver.snapshot(), world.policy))
        assert driver.book.ends == {"started": PLACES - 1}
        assert len(driver.book.open) == 1
    world.cluster.squeue = squeue  # type: ignore[method-assign]
    world.calm()
    world.check()


# Whatever goes wrong


@pytest.mark.parametrize("kind", KINDS)
def test_each_command_of_several_steps_goes_wrong_once(kind: str, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    world = several(tmp_path / "plain")
    assert world.round()
    for number in some(range(world.faults.count), KINDS.index(kind), 6):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = several(folder, {number: Fault(kind, delay=5)})  # type: ignore[arg-type]
        world.round()
        world.round()
        world.calm()
        world.check()


@pytest.mark.parametrize("after", [False, True])
def test_several_open_steps_are_brought_to_their_ends(
    after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver dies at any line of the journal; the next one sees to all steps that are open."""
    (tmp_path / "plain").mkdir()
    world = several(tmp_path / "plain")
    assert world.round()
    lines, most = len(read(world.journal)), 0
    for number in some(range(1, lines + 1), after, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = several(folder)
        with monkeypatch.context() as patch:
            appends(patch, number, after=after)
            assert not world.round()
        order = [kind for kind, _ in kinds(world)]
        most = max(most, order.count("step") - order.count("end"))
        world.calm()
        world.check()
    assert most == PLACES


def play(schedule: dict[int, Fault], rounds: int, mode: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = several(Path(folder), schedule, mode=mode)
        for _ in range(rounds):
            world.round()
            world.clock.now += 10.0
        if mode == "suspend":  # all have had what they wanted: those that were suspended resume
            for n in range(1, PLACES + 1):
                world.cluster.jobs[str(900 + n)]["state"] = "COMPLETED"
        world.calm(16)
        world.check()


@given(st.dictionaries(st.integers(0, 160), FAULTS, max_size=25), st.integers(1, 4), MODES)
def test_fault_schedules_of_several_steps(schedule: dict[int, Fault], rounds: int, mode: str) -> None:
    play(schedule, rounds, mode)
