"""Two plans compared on the command line, and saved plans in Python."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.frozen import thaw
from evenhand.plans.decisions import Decisions
from evenhand.systems import SYSTEMS
from tests.unit.cli.manners import SMALL

POLICY = eh.policies.YTsaurus()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(SMALL))
    return path


def test_inputs_and_saved_plans_are_compared(file: Path, tmp_path: Path, run: Any) -> None:
    snapshot = eh.Snapshot.from_dict(SMALL)
    waited, fresh = eh.plan(snapshot, POLICY, as_if_waiting="10m"), eh.plan(snapshot, POLICY)
    one, other = tmp_path / "waited.json.gz", tmp_path / "fresh.json"
    run("plan", file, "--as-if-waiting", "10m", "--save", one)
    run("plan", file, "--save", other)
    expected = waited.diff(fresh)
    status, out, err = run("diff", one, other)
    assert (status, err) == (0, "")
    assert out.startswith(
        f"{one} to {other}: 1 victim fewer: notebook-1 is spared.\n1 spared, 1 lost; 0 alike\n"
    )
    assert json.loads(run("diff", one, other, "--format", "json")[1]) == json.loads(
        json.dumps(expected.to_dict())
    )
    csv = run("diff", one, other, "--format", "csv")[1]
    assert csv.splitlines()[0] == "difference,name,operation,before,after"
    assert len(csv.splitlines()) == 1 + len(expected.table())
    mixed = json.loads(run("diff", one, file, "--format", "json")[1])
    assert mixed == json.loads(json.dumps(expected.to_dict()))
    same = json.loads(run("diff", one, file, "--as-if-waiting", "10m", "--format", "json")[1])
    assert (same["summary"], same["same"], same["taken"]) == ("", 2, [])
    assert run("diff", file, file)[1] == f"{file} to {file}: no difference; 0 alike\n"


def test_settings_are_tried_on_a_snapshot(file: Path, tmp_path: Path, run: Any, capsys: Any) -> None:
    soon, late = tmp_path / "soon.toml", tmp_path / "late.toml"
    soon.write_text('fair_share_starvation_timeout = "1m"\n')
    late.write_text('system = "ytsaurus"\nfair_share_starvation_timeout = "20m"\n')
    words = ("--snapshot", file, "--as-if-waiting", "10m", "--format", "json")
    snapshot = eh.Snapshot.from_dict(SMALL)
    plans = [
        eh.plan(snapshot, POLICY.replace(fair_share_starvation_timeout=timeout), as_if_waiting="10m")
        for timeout in ("1m", "20m")
    ]
    status, out, err = run("diff", soon, late, *words)
    assert (status, err) == (0, "")
    assert json.loads(out) == json.loads(json.dumps(plans[0].diff(plans[1]).to_dict()))
    with pytest.raises(SystemExit, match="2"):
        run("diff", soon, late)
    assert "soon.toml is a file of settings: add --snapshot FILE" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        run("diff", soon, late, *words, "--config", soon)
    assert "argument --config: with --snapshot A and B are the settings" in capsys.readouterr().err


def test_options_of_saved_plans_are_their_own(file: Path, tmp_path: Path, run: Any, capsys: Any) -> None:
    saved = tmp_path / "plan.json"
    run("plan", file, "--save", saved)
    for words in (["diff", saved, saved], ["explain", saved, "train"]):
        for option, value in (
            *(("--policy", "slurm"), ("--as-if-waiting", "0"), ("--on", "round"), ("--order", "rows")),
            *(("--rounding", "nearest"), ("--state", "s"), ("--config", "c")),
        ):
            with pytest.raises(SystemExit, match="2"):
                run(*words, option, value)
            assert f"argument {option}: " in capsys.readouterr().err


def test_a_row_that_differs_as_plain_values() -> None:
    snapshot = eh.Snapshot.from_dict(SMALL)
    other = snapshot.replace(nodes=[{"name": "n1", "capacity": {"cpu": 65, "gpu": 8}}])
    found = eh.plan(snapshot, POLICY).diff(eh.plan(other, POLICY)).to_dict()
    assert [row["table"] for row in found["clusters"]] == ["nodes"]
    assert json.loads(json.dumps(found)) == found == thaw(found)


TRIGGERS: dict[str, list[Any]] = {
    "ytsaurus": [None, eh.Round(), eh.Heartbeat("n1"), [eh.Heartbeat("n1"), eh.Heartbeat("n1")]],
    "backendai": [None, eh.SchedulingRun()],
    "slurm": [
        None,
        *(eh.SchedulingRun(passes) for passes in (("main", "backfill"), ("main",), ("backfill",))),
    ],
    "yunikorn": [None, *(eh.Cycle(name) for name in ("preemption", "allocation", "quota", "both"))],
    "gridengine": [None, eh.SchedulingRun(), eh.Commands(())],
}


@pytest.mark.parametrize(
    ("system", "on"), [(s, on) for s, triggers in TRIGGERS.items() for on in triggers], ids=repr
)
def test_a_plan_comes_back_as_it_was(system: str, on: Any, tmp_path: Path, run: Any) -> None:
    plan = eh.plan(eh.Snapshot.from_dict(SMALL), SYSTEMS[system].policy(), as_if_waiting="10m", on=on)
    for path in (tmp_path / "plan.json", tmp_path / "plan.json.gz"):
        plan.save(path)
        back = eh.Plan.load(path)
        assert back == plan
        assert (back.on, back.decisions.to_list()) == (plan.on, plan.decisions.to_list())
        assert path.read_bytes().startswith(b"\x1f\x8b") == (path.suffix == ".gz")
        assert run("explain", path, "train") == (0, plan.why("train").text + "\n", "")


def test_what_is_saved_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making it again shows that it is what comes back."""
    plan = eh.plan(eh.Snapshot.from_dict(SMALL), POLICY, as_if_waiting="10m")
    lists: list[Any] = []
    to_list = Decisions.to_list
    monkeypatch.setattr(Decisions, "to_list", lambda self: lists.append(self) or to_list(self))
    plan.save(tmp_path / "plan.json")
    assert lists == [plan.decisions]


def test_what_no_file_can_hold_is_not_saved(tmp_path: Path) -> None:
    snapshot = eh.Snapshot.from_dict(SMALL)
    path = tmp_path / "plan.json"
    command = {"consumer": "training", "providers": ["notebooks"]}
    for plan, said in (
        (eh.plan(snapshot, POLICY, given={"starvation": {"training": "starving"}}), "made with given values"),
        (
            eh.plan(snapshot, eh.policies.GridEngine(), on=eh.Commands([command])),
            "made on commands that its snapshot does not have",
        ),
    ):
        with pytest.raises(eh.InputError, match=said):
            plan.save(path)
        assert not path.exists()


def test_files_that_are_no_plans(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    eh.plan(eh.Snapshot.from_dict(SMALL), POLICY).save(path)
    data = json.loads(path.read_text())
    for content, said in (
        (b"{}", "is not a complete saved plan: it does not begin as one"),
        (b"\xff", "is not UTF-8 text"),
        (gzip.compress(path.read_bytes())[:-9], "cannot be unpacked"),
        (json.dumps(data | {"on": ["round"]}).encode(), "on is a list of something else than heartbeats"),
        (json.dumps(data | {"on": "heartbeat:n9"}).encode(), "the snapshot has no node 'n9'"),
        (json.dumps(data | {"decisions": [{}]}).encode(), "decides otherwise now than when it was saved"),
        (json.dumps(data | {"policy": {"system": "x"}}).encode(), "its policy is of x; there are ytsaurus"),
    ):
        path.write_bytes(content)
        with pytest.raises(eh.InputError, match=said):
            eh.Plan.load(path)
    with pytest.raises(FileNotFoundError):
        eh.Plan.load(tmp_path / "none")
