"""A watch that lives on: what must not end it, where its lock is, and what it says when it ends."""

from __future__ import annotations

import functools
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand import act
from evenhand.act import Driver, LockedError, lock, watch
from evenhand.act.journal import JournalError, lock_of, read
from evenhand.act.watching import Cycle
from evenhand.adapters.commands import Result
from evenhand.cli import main
from evenhand.cli.streams import Talker
from evenhand.systems.slurm.adapter.live import Slurm
from tests.unit.act.scripted import Scripted
from tests.unit.act.slurm.cluster import FakeSlurm
from tests.unit.act.world import World
from tests.waiting import HANG


class Absurd(FakeSlurm):
    """Says in its first answers what cannot be a snapshot, or cannot be planned on."""

    wrong: int = 2
    field: dict[str, Any]

    def squeue(self, rest: list[str]) -> Result:
        self.wrong -= rest == ["--json"]
        return super().squeue(rest)

    def _json(self, j: dict[str, Any]) -> dict[str, Any]:
        return super()._json(j) | (self.field if self.wrong >= 0 and j["id"] == 1 else {})


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"tres_alloc_str": f"cpu={2**64}", "cpus": 2**64}, "inconsistent"),
        ({"partition": "gone"}, "cannot be planned on: .*'gone'"),
    ],
)
def test_what_the_cluster_says_ends_a_round_only(field: dict[str, Any], said: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.cluster.__class__ = Absurd
    world.cluster.field = field  # type: ignore[attr-defined]
    policy = eh.policies.Slurm(
        PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions={"main": {"PriorityTier": 1}}
    )
    cycles: list[Cycle] = []

    def each(cycle: Cycle) -> None:
        cycles.append(cycle)
        if not cycle.error:
            driver.stop.set()

    with world.driver() as driver:
        watch(driver, policy, interval=1e-3, each=each)
    assert len(cycles) == 3
    for cycle in cycles[:2]:
        with pytest.raises(AssertionError, match=said):
            raise AssertionError(cycle.error)
        assert "\n" not in cycle.error


def test_settings_that_do_not_fit_end_the_watch(tmp_path: Path) -> None:
    world = World(tmp_path)

    def policy() -> Any:
        return eh.policies.Slurm(PreemptMode="nonsense")

    with world.driver() as driver, pytest.raises(eh.InputError, match="PreemptMode"):
        watch(driver, policy, interval=1e-3)


def test_a_clock_that_is_set_back_keeps_nobody_waiting(tmp_path: Path, monkeypatch: Any) -> None:
    world = World(tmp_path)
    slept: list[float] = []

    def each(cycle: Cycle) -> None:
        world.clock.now -= 86400.0

    with world.driver() as driver:

        def wait(seconds: float) -> bool:
            slept.append(seconds)
            return len(slept) > 1

        monkeypatch.setattr(driver.stop, "wait", wait)
        watch(driver, world.policy, interval=30.0, each=each)
    assert len(slept) == 2
    assert all(0 <= seconds <= 30.0 for seconds in slept)


# Where nobody reads


class Full(io.StringIO):
    """A standard output with no room for a while."""

    def __init__(self, fails: int) -> None:
        super().__init__()
        self.fails = fails

    def flush(self) -> None:
        self.fails -= 1
        if self.fails >= 0:
            raise OSError(28, "No space left on device")


def test_output_without_room_is_said_once(monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    full = Full(2)
    monkeypatch.setattr(sys, "stdout", full)
    say = Talker()
    for text in ("a", "b", "c"):
        say(text)
    say.close()
    assert capsys.readouterr().err == (
        "evenhand: standard output: cannot be written: No space left on device; the command continues\n"
    )
    assert full.getvalue() == "a\nb\nc\n"


@pytest.fixture
def scripted(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The same with a policy by which two jobs leave, and with its own time."""
    more = {"clock": world.clock, "sleep": world.clock.sleep, "settle": 3.0, "poll": 1.0}
    monkeypatch.setattr(act, "Timing", functools.partial(act.Timing, **more))
    monkeypatch.setattr(Slurm, "policy", lambda self, preset, **changes: Scripted())
    return world


def test_progress_is_seen_at_once(world: World, monkeypatch: Any) -> None:
    """In a service, standard output is a pipe: what stays in a buffer is not in the log."""
    inner, outer = os.pipe()
    file = open(outer, "w")  # noqa: PTH123, SIM115 - a descriptor
    monkeypatch.setattr(sys, "stdout", file)
    seen: list[bytes] = []

    def stop() -> None:
        seen.append(os.read(inner, 1000))
        os.kill(os.getpid(), signal.SIGTERM)

    reader = threading.Thread(target=stop)
    reader.start()
    assert main(["watch", "--journal", str(world.journal), "--interval", "60"]) == 0
    reader.join()
    file.close()
    os.close(inner)
    assert seen[0].startswith(b"rules: slurm:upstream\n")
    assert seen[0].endswith(b"\n")


@pytest.mark.parametrize("output", ["full", "gone"])
def test_a_step_is_brought_to_its_end_whoever_reads(
    output: str, scripted: World, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    if output == "full":
        file: Any = open("/dev/full", "w")  # noqa: PTH123, SIM115
    else:
        inner, outer = os.pipe()
        os.close(inner)
        file = open(outer, "w")  # noqa: PTH123, SIM115
    monkeypatch.setattr(sys, "stdout", file)
    arguments = ["watch", "--once", "--journal", str(scripted.journal)]
    assert main(arguments) == 0
    assert [line["outcome"] for line in read(scripted.journal) if line["kind"] == "end"] == ["started"] * 2
    file.close()
    said = capsys.readouterr().err
    assert said.count("standard output: cannot be written") == 1
    assert "None" not in said


# What is left when it ends


def test_a_watch_says_what_is_owed(
    scripted: World, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = scripted.cluster.scontrol

    def deaf(rest: list[str]) -> Result:
        return Result(1, "", "Access denied") if rest[0] == "release" else plain(rest)

    monkeypatch.setattr(scripted.cluster, "scontrol", deaf)
    arguments = ["watch", "--once", "--journal", str(scripted.journal)]
    assert main(arguments) == 1
    assert "evenhand: owed: release of 1 (step 1)\n" in capsys.readouterr().err
    assert main([*arguments, "--dry-run"]) == 0
    assert "owed: release of 1" in capsys.readouterr().err
    monkeypatch.setattr(scripted.cluster, "scontrol", plain)
    assert main(arguments) == 0
    assert "owed" not in capsys.readouterr().err


def test_a_signal_is_heard_while_an_earlier_step_is_brought_to_its_end(
    world: World, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    recover = Driver.recover
    heard: list[bool] = []

    def slow(self: Driver) -> None:
        if not heard:
            os.kill(os.getpid(), signal.SIGTERM)
            heard.append(self.stop.wait(HANG))
        recover(self)

    monkeypatch.setattr(Driver, "recover", slow)
    assert main(["watch", "--journal", str(world.journal), "--interval", "600"]) == 0
    assert heard == [True]
    capsys.readouterr()


# The lock


def test_where_the_lock_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What all users of a machine share comes first: else a service and a person would not see each other."""
    monkeypatch.delenv("RUNTIME_DIRECTORY", raising=False)
    shared, runtime, temporary = (tmp_path / name for name in ("shared", "runtime", "temporary"))
    for folder in (shared, runtime, temporary):
        folder.mkdir()
    monkeypatch.setattr(lock, "_SHARED", shared)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert lock.place_of("a") == lock.place_of("a") != lock.place_of("b")
    assert lock.place_of("a").parent == shared
    shared.rmdir()
    assert lock.place_of("a").parent == temporary
    monkeypatch.setenv("RUNTIME_DIRECTORY", f"{tmp_path / 'none'}:{runtime}")
    assert lock.place_of("a").parent == runtime
    monkeypatch.delenv("RUNTIME_DIRECTORY")

    def nowhere() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with pytest.raises(LockedError, match="--lock") as caught:
        lock.place_of("a")
    assert "\n" not in str(caught.value)


def test_a_lock_of_ones_own(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "the lock"
    other = lock.Lock(place)
    arguments = ["watch", "--once", "--lock", str(place), "--journal", str(world.journal)]
    assert main(arguments) == 1
    assert f"acts on this cluster: lock {place}" in capsys.readouterr().err
    other.release()
    assert main(arguments) == 0


# Files


def test_a_journal_is_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for place in (tmp_path, tmp_path / "fifo"):
        with pytest.raises(JournalError, match="not a file"):
            lock_of(place)
        assert not Path(f"{place}.lock").exists()


# All is imported first: the package may be in a folder that is root's alone.
AS_NOBODY = """
import importlib, os, pkgutil, sys
import evenhand
for module in pkgutil.walk_packages(evenhand.__path__, "evenhand."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(evenhand.cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("option", ["--state", "--journal"])
def test_files_that_may_not_be_read(option: str, open_folder: Path) -> None:
    """The message names the file that it is about."""
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    (closed / "file").touch()
    closed.chmod(0)
    other = open_folder / "other"
    other.mkdir()
    other.chmod(0o777)
    open_folder.chmod(0o755)
    files = {"--state": str(other / "state"), "--journal": str(other / "journal")} | {
        option: str(closed / "file")
    }
    arguments = ["watch", "--once", *(x for pair in files.items() for x in pair), "--dry-run"]
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )
    closed.chmod(0o700)
    assert done.returncode == 1
    assert str(closed / "file") in done.stderr
    assert "standard output" not in done.stderr
    assert "Traceback" not in done.stderr
