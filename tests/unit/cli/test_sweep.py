"""Sweeping over a trace from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from tests.unit.traces.files import job, write

CAPPED = "[pace]\nmax_victims_per_hour = 10\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path, [job(n, 10 * n, 300, 8 * (n % 4 + 1), user=n % 3) for n in range(1, 30)])


def test_a_row_a_point(log: Path, tmp_path: Path, run: Any) -> None:
    config = tmp_path / "capped.toml"
    config.write_text(CAPPED)
    settings = ("--set", "fair_share_starvation_timeout=5,60", "--set", "pools.user1.weight=1,2")
    options = (log, "--pools", "user", "--config", config, *settings)
    status, out, err = run("sweep", *options, "--format", "json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["fair_share_starvation_timeout"] == [5, 5, 60, 60]
    assert found["pools.user1.weight"] == [1, 2, 1, 2]
    work = eh.traces.swf(log, pools="user")
    policy = eh.policies.YTsaurus(pace={"max_victims_per_hour": 10}, fair_share_starvation_timeout=60)
    alone = eh.simulate(work.snapshot(), policy, work).metrics
    assert found["waiting.p95"][2] == alone["waiting.p95"]
    assert found["preemptions"][2] == alone["preemptions"] > 0
    _, out, _ = run("sweep", *options)
    assert "preemptions_per_hour" in out
    assert "waiting.p50" in out
    kept = tmp_path / "points.jsonl"
    once = run("sweep", *options, "--metric", "preemptions", "--resume", kept, "--format", "csv")
    assert once == run("sweep", *options, "--metric", "preemptions", "--resume", kept, "--format", "csv")
    assert kept.read_bytes().count(b"\n") == 5
    assert once[1].splitlines()[0] == "fair_share_starvation_timeout,pools.user1.weight,preemptions,error"
    assert run("sweep", *options, "--resume", log)[0] == 1


def test_drawn_points(log: Path, run: Any) -> None:
    options = ("--policy", "slurm", "--metric", "waiting.p95", "--format", "json")
    status, out, _ = run("sweep", log, "--set", "requeue_delay=1..200", "--lhs", "4", *options)
    assert status == 0
    assert sorted(int((d - 0.5) / 50) for d in json.loads(out)["requeue_delay"]) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--set"),
        (("--set", "nothing=1"), "nothing is unknown"),
        (("--set", "pools.nobody.weight=1"), "names no row"),
        (("--set", "requeue_delay=a..b"), "is no range; write two numbers"),
        (("--set", "requeue_delay=1..2"), "requeue_delay is a range: add --lhs N or --random N"),
        (("--set", "requeue_delay"), "NAME=VALUES"),
        (("--set", "requeue_delay=1", "--lhs", "2", "--random", "2"), "together with"),
    ],
)
def test_wrong_usage(log: Path, capsys: Any, options: tuple[str, ...], said: str) -> None:
    from evenhand.cli import main

    with pytest.raises(SystemExit) as stopped:
        main(["sweep", str(log), "--policy", "slurm", *options])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_unknown_metrics_are_named(log: Path, run: Any, capsys: Any) -> None:
    with pytest.raises(SystemExit, match="2"):
        run("sweep", log, "--set", "requeue_delay=1", "--policy", "slurm", "--metric", "speed")
    assert 'argument --metric: there is no metric "speed"' in capsys.readouterr().err
