"""Watching, its figures, and the two commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand import adapters
from evenhand.act import watch
from evenhand.act.metrics import metrics_text, write_metrics
from evenhand.act.watching import Cycle
from evenhand.adapters.recording import Fault
from evenhand.cli import main
from tests.unit.act.world import World


def test_a_cluster_that_does_not_answer_ends_a_round_only(tmp_path: Path) -> None:
    world = World(tmp_path, faults={n: Fault("fail") for n in range(3)})
    cycles: list[Cycle] = []

    def each(cycle: Cycle) -> None:
        cycles.append(cycle)
        if not cycle.error:
            driver.stop.set()

    with world.driver() as driver:
        watch(driver, world.policy, interval=1e-3, each=each)
        text = metrics_text(driver.book, cycles[-1], world.clock())
    assert [bool(cycle.error) for cycle in cycles] == [True, True, True, False]
    assert cycles[-1].report.counts == {"started": 2}
    assert 'evenhand_steps_total{outcome="started"} 2\n' in text
    assert "evenhand_round_failed 0\n" in text
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.rsplit(" ", 1)[1]) >= 0
    write_metrics(tmp_path / "metrics", text)
    assert (tmp_path / "metrics").read_text() == text
    world.check()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(tmp_path)

    def load(name: str, **options: Any) -> Any:
        adapter = world.adapter()
        adapter.identity = f"fake {tmp_path}"
        return adapter

    monkeypatch.setattr(adapters, "load", load)
    return world


def test_unreadable_state_stops_before_anything(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("{", '{"schema": "evenhand/state/2"}'):
        (tmp_path / "state").write_text(text)
        status = main(
            ["watch", "--once", "--journal", str(world.journal), "--state", str(tmp_path / "state")]
        )
        assert status == 1
        assert capsys.readouterr().err.count("\n") == 1
    assert not world.cluster.asked
    assert not world.journal.exists()


def test_watch_once_and_its_journal(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.round()
    assert main(["journal", str(world.journal)]) == 0
    out = capsys.readouterr().out
    assert "steps ended: 2 started" in out
    assert "nothing is open" in out
    assert main(["journal", str(world.journal), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["schema"] == "evenhand/journal/1"
    assert main(["journal", str(world.journal), "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("UTC,step,victim,owner,action,for,reason,outcome,why\n")
    assert main(["watch", "--once", "--dry-run", "--journal", str(world.journal.parent / "none")]) == 0
    assert "round 0:" in capsys.readouterr().out


def test_an_open_step_is_shown(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.round()
    lines = world.journal.read_text().splitlines(keepends=True)
    world.journal.write_text("".join(lines[:6]))
    assert main(["journal", str(world.journal)]) == 0
    assert "open: step 0 for" in capsys.readouterr().out


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    for more in (["--interval", "0"], ["--per-run", "-1"], ["--evict", "kill"], ["--policy", "nobody"]):
        with pytest.raises(SystemExit) as caught:
            main(["watch", "--journal", "j", *more])
        assert caught.value.code == 2
    capsys.readouterr()
    assert main(["watch", "--journal", "j", "--once", "--adapter", "nobody"]) == 1
    assert "there is no adapter 'nobody'" in capsys.readouterr().err
