"""The folder of plans, and looking without acting, on a real Grid Engine by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenhand.act import PlanFolder
from evenhand.act.jobs import explained
from evenhand.act.journal import read
from evenhand.cli import main
from tests.live.gridengine.conftest import Cell
from tests.live.gridengine.test_acting import full, urgent

pytestmark = pytest.mark.live


def test_what_was_decided_is_there_next_morning(
    cell: Cell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    low, high = full(cell), urgent(cell)
    rules = tmp_path / "rules.toml"
    rules.write_text("automatic_preemption = true\nmax_preemptees = 100\npreemption_distance = 0.0\n")
    common = ["--adapter", "gridengine", "--config", str(rules)]
    assert main(["snapshot", *common, "-o", str(tmp_path / "cell.json.gz")]) == 0
    capsys.readouterr()
    assert (
        main(
            [
                "plan",
                str(tmp_path / "cell.json.gz"),
                "--config",
                str(tmp_path / "cell.rules.toml"),
                "--format",
                "json",
            ]
        )
        == 0
    )
    (victim,) = [
        d["operation"] for d in json.loads(capsys.readouterr().out)["decisions"] if d["action"] == "preempt"
    ]
    assert victim in low
    assert main(["explain", "--live", str(victim), *common]) == 0
    before = capsys.readouterr().out.splitlines()[0]
    assert "leaves" in before
    assert cell.states()[high] == "qw"

    plans, journal = tmp_path / "plans", tmp_path / "journal"
    files = ["--journal", str(journal), "--lock", str(tmp_path / "lock"), "--plans", str(plans)]
    assert main(["watch", *common, *files, "--once"]) == 0
    (step,) = [line for line in read(journal) if line["kind"] == "step"]
    assert (step["victims"][0]["job"], step["beneficiary"]) == (victim, high)
    capsys.readouterr()
    for job in (victim, high):
        assert main(["journal", str(journal), "--explain", job, "--plans", str(plans)]) == 0
        said = capsys.readouterr().out
        assert f"for {high}" in said
        assert f"requeue_hold of {victim}: done" in said
        plan = PlanFolder(plans).load(step["plan"]["file"])
        assert explained(plan, job)[0][0].summary in said
    (other, *_) = [job for job in low if job != victim]
    assert main(["journal", str(journal), "--explain", other, "--plans", str(plans)]) == 0
    assert "it was not asked to leave" in capsys.readouterr().out
