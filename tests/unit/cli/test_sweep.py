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


@pytest.mark.parametrize(
    ("policy", "given", "said"),
    [
        ("slurm", ["requeue_delay=nonsense"], 'requeue_delay is "nonsense", not a duration; write seconds'),
        ("slurm", ["requeue_delay=1,nonsense"], 'requeue_delay is "nonsense", not a duration'),
        ("slurm", ["requeue_delay=1,,2"], 'requeue_delay is "", not a duration'),
        ("slurm", ["requeue_delay=-5"], "requeue_delay is -5; it must be between 0 and a hundred years"),
        ("slurm", ["requeue_delay=true"], "requeue_delay is a flag; it must be a duration"),
        ("slurm", ["requeue_delay=1..9"], "requeue_delay is a range: add --lhs N or --random N, which draw"),
        ("slurm", ["requeue_delay=9..1"], "'9..1' for requeue_delay is no range; write two numbers"),
        ("slurm", ["requeue_delay=1", "requeue_delay=2"], "requeue_delay is given twice"),
        ("slurm", ["pace=1"], "pace is 1; it must be an object"),
        ("slurm", ["victim_cooldown=1"], 'victim_cooldown is unknown; did you mean "pace.victim_cooldown"?'),
        ("slurm", ["preempt_mode=OFF"], 'preempt_mode is unknown; did you mean "PreemptMode"?'),
        ("slurm", ["PreemptMode=X"], "'X' is none of OFF, CANCEL"),
        ("slurm", ["policy=ytsaurus"], "'policy' is no setting; sweep once for each --policy"),
        ("slurm", ["pace..x=1"], "'pace..x' is no setting"),
        ("ytsaurus", ["fair_share_starvation_timout=1"], 'did you mean "fair_share_starvation_timeout"?'),
        ("ytsaurus", ["fair_share.improved=maybe"], "fair_share.improved is maybe; it must be true or false"),
        ("ytsaurus", ["heartbeat_period=soon"], 'heartbeat_period is "soon", not a duration'),
        ("ytsaurus", ["pools.user1.weight=heavy"], 'weight of the pool "user1" is text; it must be a number'),
        ("ytsaurus", ["pools.user1=2"], "pools.user1 names a row of pools, but nothing of it"),
        ("ytsaurus", ["pools.usr1.weight=2"], 'names no row of pools; did you mean "user1"?'),
    ],
)
def test_what_no_point_could_have_is_refused_before_any_is_run(
    log: Path, tmp_path: Path, capsys: Any, policy: str, given: list[str], said: str
) -> None:
    from evenhand.cli import main

    options = ["--policy", policy, "--pools", "user", "--resume", str(tmp_path / "points")]
    with pytest.raises(SystemExit, match="2"):
        main(["sweep", str(log), *options, *(word for pair in given for word in ("--set", pair))])
    out, error = capsys.readouterr()
    assert out == ""
    assert "evenhand sweep: error: argument --set: " in error
    assert said in error
    assert not (tmp_path / "points").exists()


def test_points_without_metrics_are_counted(log: Path, run: Any) -> None:
    """A point may need another setting, or come to no end: only if all do, the sweep has failed."""
    options = ("--policy", "slurm", "--metric", "waiting.p95", "--workers", "1")
    status, out, err = run("sweep", log, *options, "--set", "PreemptMode=OFF,REQUEUE")
    said = "1 of 2 points have no metrics; the first: PreemptMode is REQUEUE; it needs a PreemptType"
    assert (status, err) == (0, f"evenhand: {log}: {said}\n")
    assert "REQUEUE" in out
    status, _, err = run("sweep", log, *options, "--set", "PreemptMode=CANCEL,REQUEUE")
    assert (status, "2 of 2 points have no metrics" in err) == (1, True)


def test_a_file_of_other_points_is_named(log: Path, tmp_path: Path, run: Any) -> None:
    other = tmp_path / "other"
    other.write_text("{}\n")
    options = ("--policy", "slurm", "--set", "requeue_delay=1", "--resume", other)
    assert run("sweep", log, *options) == (1, "", f"evenhand: {other}: is no file of a sweep\n")
    assert other.read_text() == "{}\n"
