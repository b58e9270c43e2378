"""A person's request on a live Grid Engine, from Python and the command line: rights, dry run."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import pytest

from evenhand import act as acting
from evenhand.act import Caps, RequestError, Timing
from evenhand.act.journal import read
from evenhand.adapters import gridengine
from evenhand.cli import main
from tests.unit.act.gridengine.cluster import Clock, Engine
from tests.unit.act.gridengine.test_jobs import adapter_of, full

ME = pwd.getpwuid(os.geteuid()).pw_name


def timing(clock: Clock) -> Timing:
    return Timing(start=60.0, settle=10.0, poll=1.0, forget=100.0, clock=clock, sleep=clock.sleep)


def ask(folder: Path, engine: Engine, clock: Clock, *providers: str, **more: Any) -> Any:
    return acting.preempt(
        "9",
        providers,
        adapter=adapter_of(engine, clock),
        journal=folder / "journal",
        caps=Caps(None, None, None, None),
        timing=timing(clock),
        **more,
    )


def test_a_named_job_gives_way(tmp_path: Path) -> None:
    """Not the one that the policy would choose, the youngest."""
    clock = Clock()
    engine = Engine(full(), clock)
    report = ask(tmp_path, engine, clock, "2", force=True)
    assert [(row.outcome, row.victims) for row in report.rows] == [("started", ("2",))]
    assert engine.asked == [("qhold", "-h", "s", "2"), ("qmod", "-rj", "2"), ("qrls", "-h", "s", "2")]
    assert engine.jobs[9]["state"] == "r"


def test_without_names_the_policy_chooses(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    report = ask(tmp_path, engine, clock)
    assert [row.victims for row in report.rows] == [("4",)]


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    report = ask(tmp_path, engine, clock, "2", action="T", dry_run=True)
    mark = ("qalter", "-ac", "evenhand=gives_way_to_9:_manual_preemption", "2")
    assert [(row.outcome, row.commands) for row in report.rows] == [("dry_run", (mark, ("qdel", "2")))]
    assert not engine.asked
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("providers", "more", "rule"),
    [
        (["77"], {}, "provider_not_running"),
        (["9"], {}, "provider_not_running"),
        (["2"], {"action": "C"}, "provider_not_checkpointable"),
        (["2"], {"action": "P"}, "no_job_allows_action"),
    ],
)
def test_what_is_refused_touches_no_job(
    providers: list[str], more: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    with pytest.raises(RequestError, match=rf"\[{rule}\]$") as caught:
        ask(tmp_path, engine, clock, *providers, **more)
    assert caught.value.rule == rule
    assert not engine.asked


def test_a_job_that_starts_anyway_needs_none(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine({n: one for n, one in full().items() if n != 1}, clock)
    engine.jobs[9]["start"] = clock.now + 5.0  # the cluster has not seen it yet
    with pytest.raises(RequestError, match="available_now"):
        ask(tmp_path, engine, clock, "2")
    assert not engine.asked


def test_users_name_their_own_jobs_and_managers_any(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    engine.managers = ("somebody",)
    with pytest.raises(RequestError, match=f"the request of {ME} is refused: .*not_owner"):
        ask(tmp_path, engine, clock, "2")
    with pytest.raises(RequestError, match="only a manager may force"):
        ask(tmp_path, engine, clock, "2", force=True)
    engine.owner = ME
    assert ask(tmp_path, engine, clock, "2").rows[0].outcome == "started"


def test_a_manager_reruns_by_force_what_is_not_rerunnable(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(rerun=2), clock)
    with pytest.raises(RequestError, match="provider_not_rerunnable"):
        ask(tmp_path, engine, clock, "2")
    forced = acting.preempt(
        9,
        [2],
        adapter=adapter_of(engine, clock, force=True),
        journal=tmp_path / "journal",
        force=True,
        timing=timing(clock),
    )
    assert forced.rows[0].outcome == "started"
    assert ("qmod", "-f", "-rj", "2") in engine.asked


def test_an_adapter_without_requests_is_named(tmp_path: Path) -> None:
    from tests.unit.act.world import World

    world = World(tmp_path)
    with pytest.raises(RequestError, match="the adapter slurm takes no requests for preemption"):
        acting.preempt(
            "9", adapter=world.adapter(), journal=tmp_path / "j", policy=world.policy, dry_run=True
        )


# The command line


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """A cluster that the command line finds; its jobs began long ago."""
    clock = Clock()
    engine = Engine(full(), clock)
    for one in engine.jobs.values():
        one["start"] = clock.now - 1000.0

    def load(name: str, **options: Any) -> gridengine.GridEngine:
        assert name == "gridengine"
        engine.options = options
        return gridengine.GridEngine(runner=engine, **options)

    monkeypatch.setattr("evenhand.adapters.load", load)
    return engine


def test_the_command_says_what_it_would_run(
    cell: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["preempt", "9", "2", "--action", "T", "--dry-run", "--journal", str(tmp_path / "j")]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "dry run: 2 gives way to 9: manual_preemption",
        "  would run: qalter -ac evenhand=gives_way_to_9:_manual_preemption 2",
        "  would run: qdel 2",
    ]
    assert not said.err
    assert not cell.asked


def test_the_command_carries_it_out(cell: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["preempt", "9", "2", "1", "--action", "T", "--journal", str(tmp_path / "j")]
    words += ["--lock", str(tmp_path / "lock"), "--force", "--suspended-slots-are-free", "--timeout", "7"]
    assert main(words) == 0
    assert capsys.readouterr().out == "started: 9 runs, 2 left for it\n"
    assert cell.asked == [("qdel", "2")]
    assert cell.options == {"timeout": 7.0, "force": True, "suspended_slots_are_free": True}
    (step,) = [line for line in read(tmp_path / "j") if line["kind"] == "step"]
    assert step["beneficiary"] == "9"


def test_its_plan_is_kept_for_next_morning(
    cell: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal, plans = tmp_path / "j", tmp_path / "plans"
    words = [
        "preempt",
        "9",
        "2",
        "--action",
        "T",
        "--journal",
        str(journal),
        "--lock",
        str(tmp_path / "lock"),
    ]
    words += ["--suspended-slots-are-free", "--plans", str(plans), "--keep-plans", "1"]
    assert main(words) == 0
    (step,) = [line for line in read(journal) if line["kind"] == "step"]
    assert acting.PlanFolder(plans).names == [step["plan"]["file"]]
    capsys.readouterr()
    assert main(["journal", str(journal), "--explain", "2", "--plans", str(plans)]) == 0
    assert "for 9" in capsys.readouterr().out


def test_the_command_says_why_not(cell: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preempt", "9", "77", "--journal", str(tmp_path / "j"), "--dry-run"]) == 1
    assert "the request of " in (said := capsys.readouterr()).err
    assert "[provider_not_running]" in said.err
    assert not said.out
    assert not cell.asked


def test_settings_come_from_a_file(cell: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "policy.toml"
    words = ["preempt", "9", "2", "--journal", str(tmp_path / "j"), "--dry-run", "--config", str(config)]
    config.write_text("max_preemptees = 0\n")
    assert main(words) == 1
    assert "[preemption_disabled]" in capsys.readouterr().err
    config.write_text('system = "slurm"\n')
    assert main(words) == 1
    assert "system must be gridengine" in capsys.readouterr().err
    config.write_text("max_preemptees = 1\nautomatic_preemption = true\n")
    assert main(words) == 0
    assert "2 gives way to 9: manual_preemption" in capsys.readouterr().out
    assert not cell.asked
