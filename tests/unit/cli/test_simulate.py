"""Replaying a trace from the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from tests.unit.traces.files import job, write

SLURM = ("--policy", "slurm")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path, [job(n, 10 * n, 300, 8 * (n % 4 + 1), user=n % 3) for n in range(1, 30)])


def test_metrics_of_a_log(log: Path, run: Any) -> None:
    status, out, err = run("simulate", log, *SLURM, "--pools", "queue/user")
    assert (status, err) == (0, "")
    assert out.startswith(f"{log}: <Result of ")
    assert "29 operations" in out
    status, out, _ = run("simulate", log, *SLURM, "--format", "json")
    found = json.loads(out)
    work = eh.traces.swf(log)
    expected = eh.simulate(work.snapshot(), eh.policies.Slurm(), work).metrics
    assert found.pop("notes") == work.notes
    assert found.pop("diagnostics") == []
    assert found["waiting.p95"] == expected["waiting.p95"] > 0
    assert set(found) == set(expected)
    assert run("simulate", log, *SLURM, "--warm-up", "100", "--format", "json")[1] != out


def test_tables_of_a_run(log: Path, run: Any) -> None:
    _, out, _ = run("simulate", log, *SLURM, "--table", "operations", "--head", "5", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["operation"] for row in rows] == ["1", "2", "3", "4", "5"]
    _, out, _ = run("simulate", log, *SLURM, "--table", "decisions", "--top", "2")
    assert "more rows" in out


def test_nodes_of_ones_own(log: Path, run: Any) -> None:
    options = (*SLURM, "--format", "json")
    few = json.loads(run("simulate", log, *options, "--nodes", "4", "--capacity", "cpu=8")[1])
    many = json.loads(run("simulate", log, *options, "--nodes", "400", "--capacity", "cpu=8")[1])
    assert many["waiting.max"] == 0 < few["waiting.max"]
    short = json.loads(run("simulate", log, *options, "--until", "50")[1])
    assert short["jobs.never_started"] > many["jobs.never_started"]


def test_a_table_with_other_names(tmp_path: Path, run: Any) -> None:
    path = write(tmp_path, ["id,t,secs,n", "a,0,60,2", "b,5,30,4"], "jobs.csv")
    names = ("name=id", "submit_time=t", "run_time=secs", "resources.cpu=n")
    columns = [word for name in names for word in ("--column", name)]
    nodes = ("--nodes", "1", "--capacity", "cpu=4")
    status, out, _ = run(
        "simulate", path, *columns, *nodes, *SLURM, "--table", "operations", "--format", "json"
    )
    assert status == 0
    assert json.loads(out)["operation"] == ["a", "b"]


def test_broken_lines_are_named(tmp_path: Path, run: Any) -> None:
    path = write(tmp_path, [job(1), "1 2 3"])
    status, out, err = run("simulate", path)
    assert (status, out) == (1, "")
    assert err == f"evenhand: {path}: line 8 has 3 fields; it must have 18 [width]\n"
    status, _, err = run("simulate", tmp_path / "none.swf")
    assert status == 1
    assert "cannot be read" in err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--pools", "team"), "--pools"),
        (("--machines", "x"), "--machines"),
        (("--column", "a=b"), "--column"),
        (("--capacity", "cpu=8"), "--nodes"),
        (("--capacity", "cpu"), "RESOURCE=AMOUNT"),
        (("--nodes", "0"), "--nodes"),
        (("--policy", "x"), "--policy"),
        (("--kind", "philly", "--pools", "vc"), "--pools"),
        (("--pools", "team"), "'team' is none of queue, group, user, partition, nor several of them joined"),
        (("--nodes", "4"), "argument --nodes: needs --capacity"),
        (("--nodes", "4", "--capacity", "cpu=x"), "'x' in 'cpu=x' is not a number from 0 up"),
        (("--nodes", "4", "--capacity", "cpu=-1"), "'-1' in 'cpu=-1' is not a number from 0 up"),
        (("--nodes", "4", "--capacity", "gpu=1"), "argument --capacity: gpu names no resource"),
        (("--nodes", "4", "--capacity", "cpu=1", "--capacity", "cpu=2"), "--capacity: cpu is given twice"),
        (("--until", "1m", "--warm-up", "60"), "--warm-up: metrics would leave out all that --until 60"),
    ],
)
def test_wrong_usage(log: Path, capsys: Any, options: tuple[str, ...], said: str) -> None:
    from evenhand.cli import main

    with pytest.raises(SystemExit) as stopped:
        main(["simulate", str(log), *options])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_what_says_nothing_of_itself_must_be_named(tmp_path: Path, capsys: Any) -> None:
    from evenhand.cli import main

    unknown = tmp_path / "log.gz"
    bare = tmp_path / "bare.swf"
    bare.write_text(job(1) + "\n")
    for path, said in ((unknown, "--kind"), (bare, "--nodes")):
        with pytest.raises(SystemExit) as stopped:
            main(["simulate", str(path)])
        assert stopped.value.code == 2
        assert said in capsys.readouterr().err


def test_a_table_without_names_says_how_to_give_them(tmp_path: Path, run: Any) -> None:
    table = tmp_path / "log.csv"
    for text, said in (
        (
            "submit_time,run_time\n0,10\n",
            "there is no column 'name'; --column name=COLUMN says which one it is",
        ),
        (
            "names,run_time\na,10\n",
            "there is no column 'name'; --column name=COLUMN says which one it is; did",
        ),
        ("a\n", "there is no column 'name'; --column name=COLUMN says which one it is"),
        ('name\n"a\n', "line 2 has quotes that are not closed, or closed within a field"),
    ):
        table.write_text(text)
        status, out, err = run("simulate", table)
        assert (status, out) == (1, "")
        assert err.startswith(f"evenhand: {table}: {said}"), err


def test_a_simulation_without_end_names_the_option(tmp_path: Path, run: Any) -> None:
    log = write(tmp_path, [job(n, 10 * n, 300, 8 * (n % 4 + 1), user=n % 3) for n in range(1, 30)])
    config = tmp_path / "turns.toml"
    config.write_text("consider_allocation_on_fair_share_bound_preemptible = true\n")
    crossing = ("--config", config)
    status, _, err = run("simulate", log, *crossing)
    assert (status, "give --until, or a pace" in err, "until=" in err) == (1, True, False)
    assert run("simulate", log, *crossing, "--until", "1h", "--warm-up", "0")[0] == 0
    assert run("simulate", log)[0] == 0  # whole jobs run one after the other


def test_a_table_without_a_line_of_names(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("1,1,60,2\n2,1,30,4\n")
    nodes = ("--nodes", "1", "--capacity", "cpu=4", "--policy", "slurm", "--until", "1h")
    status, _, err = run("simulate", path, *nodes)
    assert (status, "; --header has the names" in err) == (1, True)
    words = (
        "--header",
        "name,submit_time,run_time,resources.cpu",
        "--table",
        "operations",
        "--format",
        "json",
    )
    status, out, err = run("simulate", path, *nodes, *words)
    assert (status, err) == (0, "")
    assert json.loads(out)["operation"] == ["1", "2"]
