"""The R-like action, other actions, refusals and dry runs on a real Grid Engine."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, Driver, Timing
from evenhand.act.journal import read
from evenhand.adapters import AdapterError
from evenhand.adapters.commands import Result, Subprocesses
from evenhand.adapters.gridengine import GridEngine
from evenhand.cli import main
from evenhand.errors import InputError
from evenhand.testing.adapters import check_adapter
from tests.live.gridengine.conftest import USER, Cell, as_user
from tests.live.gridengine.drive import RULES
from tests.live.outage import Outage

pytestmark = pytest.mark.live

LONG = 24 * 3600


def driver(folder: Path, adapter: GridEngine | None = None, **more: Any) -> Driver:
    options: dict[str, Any] = {
        "lock": folder / "lock",
        "caps": Caps(None, None, None, None),
        "timing": Timing(start=120.0, settle=8.0, poll=0.05),
    }
    return Driver(adapter or GridEngine(), folder / "journal", **(options | more))


def full(cell: Cell, *more: str) -> list[str]:
    low = []
    for _ in range(4):
        low.append(cell.submit("-r", "y", *more))
        cell.wait(low, "r")
        time.sleep(1.1)  # starts are told apart by the second
    time.sleep(1.0)  # what started a moment ago is no victim
    return low


def urgent(cell: Cell, *more: str, seconds: float = 600) -> str:
    return cell.submit("-p", "100", "-R", "y", *more, seconds=seconds)


def as_nobody(arguments: Any, timeout: float) -> Result:
    return Subprocesses()([*as_user(USER), *arguments], timeout)


def test_rerun_as_predicted(cell: Cell, tmp_path: Path) -> None:
    """The victims that the plan names go back to the queue, no other, and the beneficiary starts."""
    low = full(cell)
    high = urgent(cell, "-pe", "threads", "2")
    adapter = GridEngine()
    plan = eh.plan(adapter.snapshot(), adapter.policy(**RULES))
    victims = sorted(str(d.operation) for d in plan.decisions.victims)
    assert victims == sorted(low)[2:]  # of equal priority, those that started last
    with driver(tmp_path, adapter) as driving:
        (row,) = driving.act(plan).rows
    assert (row.outcome, row.beneficiary, sorted(row.victims)) == ("started", high, victims)
    states = cell.states()
    assert states[high] in ("r", "t")
    assert {name: states[name] for name in victims} == dict.fromkeys(victims, "Rq")
    assert {states[name] for name in low if name not in victims} == {"r"}
    cell.run("qdel", high)
    cell.wait(victims, "Rr", "Rt")  # once the host has reported that they ended
    cell.wait_gone([high])


def test_a_license_is_freed(cell: Cell, tmp_path: Path) -> None:
    holders = [cell.submit("-r", "y", "-l", "lic=1,h_rt=1:00:00") for _ in range(2)]
    cell.wait(holders, "r")
    time.sleep(2.1)
    high = urgent(cell, "-l", "lic=2,h_rt=1:00:00")
    adapter = GridEngine()
    with driver(tmp_path, adapter) as driving:
        (row,) = driving.act(eh.plan(adapter.snapshot(), adapter.policy(**RULES))).rows
    assert (row.outcome, sorted(row.victims)) == ("started", sorted(holders))
    assert cell.states()[high] in ("r", "t")


def test_terminate(cell: Cell, tmp_path: Path) -> None:
    low, high = full(cell), urgent(cell)
    adapter = GridEngine()
    policy = adapter.policy(**RULES, preemption_action="T")
    with driver(tmp_path, adapter) as driving:
        (row,) = driving.act(eh.plan(adapter.snapshot(), policy)).rows
    assert (row.outcome, row.beneficiary) == ("started", high)
    assert set(low) - set(cell.states()) == set(row.victims)


def test_checkpoint(cell: Cell, tmp_path: Path) -> None:
    """A job with a checkpoint environment migrates: it is suspended and goes back to the queue."""
    low, high = full(cell, "-ckpt", "saves"), urgent(cell)
    adapter = GridEngine()
    policy = adapter.policy(**RULES, preemption_action="C")
    with driver(tmp_path, adapter) as driving:
        (row,) = driving.act(eh.plan(adapter.snapshot(), policy)).rows
    assert (row.outcome, row.beneficiary) == ("started", high)
    (victim,) = row.victims
    assert victim in low
    assert cell.states()[victim] == "Rq"
    commands = [line["commands"] for line in read(tmp_path / "journal") if line["kind"] == "intent"]
    assert [["qhold", "-h", "s", victim], ["qmod", "-sj", victim]] in commands


def test_suspend_frees_no_slot(cell: Cell, tmp_path: Path) -> None:
    """Open Grid Engine counts slots of suspended jobs: the step is refused, and no job touched."""
    full(cell)
    urgent(cell)
    adapter = GridEngine()
    before = cell.states()
    policy = adapter.policy(**RULES, preemption_action="S")
    plan = eh.plan(adapter.snapshot(), policy)
    with driver(tmp_path, adapter) as driving:
        rows = driving.act(plan).rows
    assert [(row.outcome, "suspend_frees_less" in row.codes) for row in rows] == [("refused", True)]
    assert cell.states() == before


def test_suspend_and_resume(cell: Cell, tmp_path: Path) -> None:
    """Where slots are said to be free, S is carried out; without a start the victim resumes."""
    low, high = full(cell), urgent(cell)
    adapter = GridEngine(suspended_slots_are_free=True)
    policy = adapter.policy(**RULES, preemption_action="S")
    quick = Timing(start=3.0, settle=8.0, poll=0.05)
    with driver(tmp_path, adapter, timing=quick) as driving:
        (row,) = driving.act(eh.plan(adapter.snapshot(), policy)).rows
        (victim,) = row.victims
        assert row.outcome == "not_started"  # the slot stays taken
        assert cell.states()[high] == "qw"
        driving.recover()
        cell.wait([victim], "r")
        assert not driving.book.owed
    assert victim in low


@pytest.mark.parametrize("letter", ["P", "N"])
def test_p_and_n_are_refused_before_anything_is_touched(letter: str, cell: Cell, tmp_path: Path) -> None:
    full(cell)
    urgent(cell)
    before = cell.run("qstat", "-u", "*")
    adapter = GridEngine(suspended_slots_are_free=True)
    said = rf"does not have action {letter} .*no job was touched"
    with pytest.raises(AdapterError, match=said):
        adapter.policy(**RULES, preemption_action=letter)
    policy = eh.policies.GridEngine(**RULES, max_reservation=10, preemption_action=letter)
    plan = eh.plan(adapter.snapshot(), policy)
    assert plan.decisions.victims
    with driver(tmp_path, adapter) as driving:
        with pytest.raises(AdapterError, match=said):
            driving.act(plan)
        assert not driving.book.open
    assert cell.run("qstat", "-u", "*") == before
    kinds = {line["kind"] for line in read(tmp_path / "journal")}
    assert not kinds & {"step", "intent"}


@pytest.mark.parametrize("owner", [None, USER], ids=["others_jobs", "own_jobs"])
def test_a_user_without_rights(owner: str | None, cell: Cell, tmp_path: Path) -> None:
    """The first command is refused, so nothing is half done; the text says who may do it."""
    low = [cell.submit("-r", "y", user=owner) for _ in range(4)]
    cell.wait(low, "r")
    time.sleep(2.1)
    urgent(cell)
    time.sleep(1.0)
    before = cell.states()
    adapter = GridEngine(runner=as_nobody)
    said = "must be at least owner of job" if owner is None else "must be manager to set manager hold"
    with driver(tmp_path, adapter) as driving:
        (row,) = driving.act(eh.plan(adapter.snapshot(), adapter.policy(**RULES))).rows
        assert row.outcome == "not_started"
        assert said in row.why
        driving.recover()
        assert not [owed for owed in driving.book.owed.values() if owed.what == "release"]
    assert cell.states() == before


def test_not_rerunnable_unless_forced(cell: Cell, tmp_path: Path) -> None:
    low = full(cell, "-r", "n")
    (name, *_) = low
    adapter = GridEngine()
    answer = adapter.do("requeue_hold", name, "")
    assert (answer.status, "is not restartable" in answer.message) == ("refused", True)
    assert cell.states()[name] == "r", "the hold is taken back"
    assert not adapter.look([name])[name].requeueable
    forced = GridEngine(force=True)
    assert forced.look([name])[name].requeueable
    assert forced.do("requeue_hold", name, "").status == "done"
    assert cell.states()[name] == "hRq"
    assert forced.do("release", name, "").status == "done"
    assert cell.states()[name] in ("Rq", "Rr", "Rt")


def test_a_dry_run_changes_nothing(cell: Cell, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full(cell)
    urgent(cell)
    config = tmp_path / "policy.toml"
    config.write_text("automatic_preemption = true\nmax_preemptees = 10\npreemption_distance = 0\n")
    time.sleep(2.0)
    before = cell.run("qstat", "-u", "*", "-r")
    journal = tmp_path / "journal"
    arguments = ["--adapter", "gridengine", "--policy", "gridengine", "--config", str(config)]
    assert main(["watch", "--journal", str(journal), *arguments, "--once", "--dry-run"]) == 0
    assert "would run: qmod -rj" in capsys.readouterr().out
    assert cell.run("qstat", "-u", "*", "-r") == before
    assert not journal.exists()


def test_the_adapter_keeps_its_promises(cell: Cell) -> None:
    low = full(cell)
    urgent(cell, "-l", "lic=2")
    array = cell.submit("-t", "1-3")
    assert array
    time.sleep(1.5)
    assert check_adapter(GridEngine(), victim=low[0], timeout=120)[-1] == "evicts_and_releases"


def test_tasks_of_an_array(cell: Cell) -> None:
    """Tasks of an array are jobs of their own: one goes back to the queue, the others stay."""
    array = cell.submit("-r", "y", "-t", "1-3")
    names = [f"{array}.{number}" for number in (1, 2, 3)]
    cell.wait(names, "r")
    adapter = GridEngine()
    before = adapter.look(names)
    assert adapter.do("requeue_hold", names[1], "").status == "done"
    after = adapter.look(names)
    assert after[names[1]].state == "held"
    assert after[names[1]].turn > before[names[1]].turn
    for name in (names[0], names[2]):
        assert after[name] == before[name]
    assert adapter.do("release", names[1], "").status == "done"
    assert adapter.look(names)[names[1]].state in ("pending", "running")


@pytest.mark.parametrize("before", [True, False], ids=["before_the_command", "after_it"])
def test_a_restart_of_qmaster_within_a_step(before: bool, cell: Cell, tmp_path: Path) -> None:
    """The driver goes on where it was once qmaster answers: one job leaves, once, and has its place back."""
    low, high = full(cell), urgent(cell, seconds=LONG)
    outage = Outage(cell.stop_master, cell.start_master, "-rj", before=before)
    adapter = GridEngine(runner=outage)
    adapter.identity = "gridengine"
    until = time.monotonic() + 600
    with driver(tmp_path, adapter, timing=Timing(start=120.0, settle=8.0, poll=0.5, forget=20.0)) as driving:
        while cell_states(cell).get(high) not in ("r", "t") or driving.book.open or driving.book.owed:
            assert time.monotonic() < until, cell.states()
            with contextlib.suppress(AdapterError):
                driving.recover()
                driving.act(eh.plan(driving.snapshot(), adapter.policy(**RULES)))
            time.sleep(0.5)
    assert len(outage.failed) == 3
    states = cell.states()
    assert set(states) == {*low, high}
    assert sum("R" in states[name] for name in low) == 1
    assert not set("hsS") & set("".join(states.values()))
    steps = [line for line in read(tmp_path / "journal") if line["kind"] in ("step", "end")]
    assert [line["kind"] for line in steps[-2:]] == ["step", "end"]
    assert steps[-1]["outcome"] == "started"


def cell_states(cell: Cell) -> dict[str, str]:
    """Return states where qmaster answers."""
    try:
        return cell.states()
    except (AssertionError, InputError):
        return {}
