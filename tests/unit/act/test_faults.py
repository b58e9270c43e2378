"""Whatever goes wrong with commands, and wherever a driver dies: nobody is lost or evicted twice."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.act.journal import read
from tests.drawing import some
from tests.unit.act.faults import Fault
from tests.unit.act.world import World, appends

KINDS = get_args(get_type_hints(Fault)["kind"])
FAULTS = st.builds(
    Fault, st.sampled_from(KINDS), delay=st.integers(0, 30), part=st.floats(0, 1, allow_nan=False)
)
MODES = st.sampled_from(["requeue", "suspend"])


pytestmark = pytest.mark.usefixtures("quiet")


def commands_of_a_run(folder: Path) -> int:
    world = World(folder)
    assert world.round()
    return world.faults.count


def test_without_faults_two_steps_are_carried_out(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.round()
    world.check()
    outcomes = [line["outcome"] for line in read(world.journal) if line["kind"] == "end"]
    assert outcomes == ["started", "started"]
    evicted = [name for what, name, _ in world.cluster.events if what == "evict"]
    assert len(evicted) == len(set(evicted)) >= 2


@pytest.mark.parametrize("kind", KINDS)
def test_each_command_goes_wrong_once(kind: str, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    for number in some(range(commands_of_a_run(tmp_path / "plain")), KINDS.index(kind)):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder, faults={number: Fault(kind, delay=5)})  # type: ignore[arg-type]
        world.round()
        world.round()
        world.calm()
        world.check()


@pytest.mark.parametrize("after", [False, True])
def test_resumes_at_any_line(after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plain").mkdir()
    commands_of_a_run(tmp_path / "plain")
    lines = len(read(tmp_path / "plain" / "journal"))
    for number in range(1, lines + 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        world = World(folder)
        with monkeypatch.context() as patch:
            appends(patch, number, after=after)
            assert not world.round()
        world.calm()
        world.check()


def play(schedule: dict[int, Fault], rounds: int, mode: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), faults=schedule, mode=mode)
        for _ in range(rounds):
            world.round()
            world.clock.now += 10.0
        if mode == "suspend":  # all have had what they wanted: who was suspended goes on
            for name in ("8", "9"):
                world.cluster.jobs[name]["state"] = "COMPLETED"
        world.calm()
        world.check()
        return world


@given(st.dictionaries(st.integers(0, 80), FAULTS, max_size=25), st.integers(1, 5), MODES)
def test_fault_schedules(schedule: dict[int, Fault], rounds: int, mode: str) -> None:
    play(schedule, rounds, mode)
