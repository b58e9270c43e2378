"""Looking at a live cluster: its snapshot with its rules as files, and one of its jobs explained."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand import adapters, policies
from evenhand.act import PlanFolder
from evenhand.act.folder import PlanWriter
from evenhand.adapters.gridengine import GridEngine
from evenhand.adapters.guarded import guarded
from evenhand.adapters.protocol import Answer
from evenhand.adapters.slurm import Slurm
from evenhand.cli import main
from evenhand.systems.files import from_dict, toml_of
from tests.unit.act.gridengine.cluster import Clock, Engine
from tests.unit.act.gridengine.test_jobs import full
from tests.unit.act.site import Site, SiteAdapter
from tests.unit.act.slurm.recorded import NOW, Recorded

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def called(*words: str) -> tuple[int, str, str]:
        try:
            status = main([*words])
        except SystemExit as caught:
            status = int(str(caught.code))
        out, err = capsys.readouterr()
        notes = "\n".join(line for line in err.splitlines() if not line.startswith("evenhand: note: "))
        return status, out, notes

    return called


def slurm() -> Slurm:
    return Slurm(runner=Recorded(), clock=lambda: NOW)


def gridengine() -> GridEngine:
    return GridEngine(runner=Engine(full(), clock := Clock()), clock=clock)


MADE: dict[str, Callable[[], Any]] = {"slurm": slurm, "gridengine": gridengine}


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Recorded clusters in the place of live ones; the options with which the last one was loaded."""
    asked: dict[str, Any] = {}

    def load(name: str, **options: Any) -> Any:
        asked.clear()
        asked.update(options)
        return MADE[name]()

    monkeypatch.setattr(adapters, "load", load)
    return asked


def site(monkeypatch: pytest.MonkeyPatch, **jobs: tuple[Any, ...]) -> SiteAdapter:
    adapter = SiteAdapter(Site({"a": 4, "b": 4}, **jobs))
    monkeypatch.setattr(adapters, "available", lambda: {"site": "of this test"})
    monkeypatch.setattr(adapters, "load", lambda name, **options: adapter)
    return adapter


# --- the snapshot


@pytest.mark.parametrize("system", MADE)
@pytest.mark.parametrize("name", ["cluster.json", "cluster.json.gz", "cluster"])
def test_files_are_the_cluster_and_its_rules(
    system: str, name: str, recorded: dict[str, Any], tmp_path: Path, run: Run
) -> None:
    path = tmp_path / name
    status, out, err = run("snapshot", "--adapter", system, "-o", str(path))
    assert (status, err) == (0, "")
    assert out.endswith(f"; rules ({system}:upstream): {tmp_path / 'cluster.rules.toml'}\n")
    data = path.read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    adapter = MADE[system]()
    assert eh.Snapshot.from_json(text) == adapter.snapshot()
    assert policies.from_toml(tmp_path / "cluster.rules.toml") == adapter.policy()
    assert recorded["timeout"] == 30.0


@pytest.mark.parametrize("system", MADE)
def test_other_commands_take_them(system: str, recorded: dict[str, Any], tmp_path: Path, run: Run) -> None:
    path, rules = str(tmp_path / "c.json.gz"), str(tmp_path / "c.rules.toml")
    assert run("snapshot", "--adapter", system, "-o", path)[0] == 0
    status, out, err = run("plan", path, "--config", rules, "--format", "json")
    assert (status, err) == (0, "")
    adapter = MADE[system]()
    live = eh.plan(adapter.snapshot(), adapter.policy())
    assert json.loads(out)["decisions"] == json.loads(json.dumps(live.to_dict()["decisions"]))
    job = str(live.snapshot.names("operations")[0])
    assert run("explain", path, job, "--config", rules)[0] == 0
    assert run("validate", path, "--config", rules)[0] == 0
    assert run("diff", path, path, "--config", rules)[0] == 0


def test_standard_output_is_the_snapshot_alone(recorded: dict[str, Any], run: Run) -> None:
    for more in ([], ["-o", "-"], ["--output", "-"]):
        status, out, err = run("snapshot", *more, "--pools", "user", "--timeout", "7")
        assert (status, err) == (0, "")
        assert eh.Snapshot.from_json(out) == slurm().snapshot()
        assert recorded == {"pools": "user", "timeout": 7.0, "own_rules": True}


def test_rules_that_are_named_are_written(recorded: dict[str, Any], tmp_path: Path, run: Run) -> None:
    config = tmp_path / "changes.toml"
    config.write_text('PreemptMode = "CANCEL"\n')
    assert run("snapshot", "-o", str(tmp_path / "c.json"), "--config", str(config))[0] == 0
    assert policies.from_toml(tmp_path / "c.rules.toml") == slurm().policy(PreemptMode="CANCEL")
    own = tmp_path / "own.rules.toml"
    own.write_text('PreemptMode = "CANCEL"\n')
    for path in (own, tmp_path / "own.json"):
        status, _, err = run("snapshot", "-o", str(path), "--config", str(own))
        assert status == 2
        assert "is the file of --config, too" in err
    assert own.read_text() == 'PreemptMode = "CANCEL"\n'
    status, out, _ = run("snapshot", "-o", str(tmp_path / "c.json"), "--policy", "backendai")
    assert status == 0
    assert "rules (backendai:documented): " in out
    assert policies.from_toml(tmp_path / "c.rules.toml") == policies.BackendAI()
    assert not recorded["own_rules"]


def test_without_rules_the_snapshot_is_written_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    adapter = site(monkeypatch, one=(4, 1, "a"))

    def none(*_: Any, **__: Any) -> Any:
        raise adapters.AdapterError("it does not say which jobs may preempt which")

    adapter.policy = none  # type: ignore[method-assign]
    assert main(["snapshot", "--adapter", "site", "-o", str(tmp_path / "c.json")]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("; without rules\n")
    assert "the cluster's rules are not written: it does not say which jobs may preempt which" in err
    assert not (tmp_path / "c.rules.toml").exists()
    assert eh.Snapshot.from_json(tmp_path / "c.json") == adapter.snapshot()


def test_a_cluster_that_does_not_answer_is_one_error(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    adapter = site(monkeypatch, one=(4, 1, "a"))

    def silent() -> None:
        raise adapters.AdapterError("no answer within 30 s")

    adapter.before_snapshot = silent
    for words in (["snapshot"], ["explain", "--live", "one"]):
        assert run(*words, "--adapter", "site") == (1, "", "evenhand: no answer within 30 s")


def test_files_that_cannot_be_written(recorded: dict[str, Any], tmp_path: Path, run: Run) -> None:
    status, _, err = run("snapshot", "-o", str(tmp_path / "none" / "c.json"))
    assert status == 1
    assert err.endswith("cannot be written: No such file or directory")
    assert run("snapshot", "-o", "")[0] == 2


def test_rules_as_toml_come_back() -> None:
    odd = policies.Slurm(qos={'a "b"\\\x7f\n': {"Priority": 3}, "ü": {}}, PriorityMaxAge=1e9)
    assert from_dict(tomllib.loads(toml_of(odd))) == odd
    for policy in (policies.YTsaurus(), policies.YuniKorn(), policies.GridEngine(), policies.BackendAI()):
        assert from_dict(tomllib.loads(toml_of(policy))) == policy


# --- a job of the cluster


def test_a_job_of_the_cluster_now(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    adapter = site(monkeypatch, **{"1": (4, 1, "a"), "2": (4, 3, "b"), "3": (4, 5, None)})
    live = eh.plan(adapter.snapshot(), adapter.policy())
    for job in "123":
        assert run("explain", "--live", job, "--adapter", "site") == (0, live.why(job).text + "\n", "")
        plain = run("explain", "--live", job, "--adapter", "site", "--plain")
        assert plain == (0, live.letter(job).text + "\n", "")
    status, out, _ = run("explain", "--live", "1", "--adapter", "site", "--format", "json")
    data = json.loads(out)
    assert (status, data["job"], data["plan"], data["missing"], data["more"]) == (0, "1", None, "", 0)
    assert data["explanations"] == [json.loads(json.dumps(live.why("1").to_dict()))]
    out = run("explain", "--live", "1", "--adapter", "site", "--format", "csv")[1]
    assert out.startswith("plan,part,explanation\n,1,")


@pytest.mark.parametrize(("job", "part"), [("8", "8@n4"), ("5_0", "5_0@n1"), ("13", "13"), ("5", "5")])
def test_numbers_and_tasks_of_slurm(job: str, part: str, recorded: dict[str, Any], run: Run) -> None:
    adapter = slurm()
    live = eh.plan(adapter.snapshot(), adapter.policy())
    assert run("explain", "--live", job) == (0, live.why(part).text + "\n", "")


def test_numbers_and_tasks_of_grid_engine(recorded: dict[str, Any], run: Run) -> None:
    adapter = gridengine()
    live = eh.plan(adapter.snapshot(), adapter.policy())
    job = str(live.snapshot.names("requests")[0])
    status, out, _ = run("explain", "--live", job, "--adapter", "gridengine", "--suspended-slots-are-free")
    assert status == 0
    assert live.why(job).sentences[0] in out
    assert recorded == {"timeout": 30.0, "suspended_slots_are_free": True}


def test_an_array_asks_for_one_of_its_tasks(recorded: dict[str, Any], run: Run) -> None:
    status, _, err = run("explain", "--live", "28")
    assert status == 2
    assert "argument --live: 28 is an array; name one of its tasks: 28_0, 28_1, 28_2" in err


@pytest.mark.parametrize("known", [True, False])
def test_a_job_that_was_left_out_has_its_reason(
    known: bool, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    adapter = site(monkeypatch, **{"1": (4, 1, "a")})
    adapter.left_out = {"several QOS": ["7", "1"] if known else ["7"]}  # type: ignore[attr-defined]
    status, out, err = run("explain", "--live", "1" if known else "7", "--adapter", "site")
    assert (status, err) == (0, "")
    job = "1" if known else "7"
    assert out.startswith(f"{job} asks for several QOS, and is left out: ")
    assert ("\n\nAllocation 1 of operation 1 on node a" in out) is known


def test_a_job_that_no_plan_considers_says_how_it_stands(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    adapter = site(monkeypatch, one=(4, 1, "a"))
    adapter.before_look = lambda: adapter.site.jobs.update(new={**adapter.site.jobs["one"], "state": "held"})
    said = "new is held, and no plan considers it\n"
    assert run("explain", "--live", "new", "--adapter", "site") == (0, said, "")
    assert run("explain", "--live", "two", "--adapter", "site") == (
        1,
        "",
        "evenhand: site: there is no job two",
    )


def test_settings_state_and_trigger_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> None:
    adapter = site(monkeypatch, **{"1": (4, 1, "a"), "2": (4, 1, "b"), "3": (4, 5, None)})
    config = tmp_path / "changes.toml"
    config.write_text('preemption_mode = "terminate"\n')
    words = ["explain", "--live", "1", "--adapter", "site"]
    changed = eh.plan(adapter.snapshot(), adapter.policy(preemption_mode="terminate"))
    assert run(*words, "--config", str(config))[1] == changed.why("1").text + "\n"
    plain = eh.plan(adapter.snapshot(), adapter.policy())
    assert changed.why("1").text != plain.why("1").text
    assert run(*words, "--on", "nothing")[0] == 2
    plain.state.save(tmp_path / "state")
    assert run(*words, "--state", str(tmp_path / "state"))[0] == 0
    config.write_text('no_such_setting = "3"\n')
    assert run(*words, "--config", str(config))[2].startswith(f"evenhand: {config}: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain"], "FILE and NAME must be given"),
        (["explain", "f"], "NAME must be given"),
        (["explain", "f", "n", "--live", "1"], "argument --live: stands in the place of FILE and NAME"),
        (["explain", "--live", "1", "f"], "argument --live: stands in the place of FILE and NAME"),
        (["explain", "--live", "1", "--order", "rows"], "argument --order: not with --live"),
        (["explain", "--live", "1", "--now", "3"], "argument --now: not with --live"),
        (["explain", "f", "n", "--adapter", "slurm"], "argument --adapter: only with --live"),
        (["explain", "f", "n", "--pools", "user"], "argument --pools: only with --live"),
        (["explain", "f", "n", "--timeout", "3"], "argument --timeout: only with --live"),
        (
            ["explain", "f", "n", "--suspended-slots-are-free"],
            "argument --suspended-slots-are-free: only with --live",
        ),
        (["explain", "--live", "1", "--adapter", "nobody"], "argument --adapter: 'nobody' is none of "),
        (["snapshot", "--adapter", "nobody"], "argument --adapter: 'nobody' is none of "),
        (
            ["snapshot", "--adapter", "gridengine", "--pools", "user"],
            "argument --pools: only with --adapter slurm",
        ),
        (
            ["snapshot", "--suspended-slots-are-free"],
            "argument --suspended-slots-are-free: only with --adapter grid",
        ),
    ],
)
def test_wrong_usage(words: list[str], said: str, run: Run) -> None:
    status, _, err = run(*words)
    assert status == 2
    assert said in err
    assert err.count("\n") == 1


def test_a_watch_saves_within_its_bound(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> None:
    """The site's clock is not the machine's: its steps are refused, which saves their plans."""
    adapter = site(monkeypatch, **{"1": (4, 1, "a"), "2": (4, 3, "b"), "3": (4, 5, None)})
    journal, plans = tmp_path / "journal", tmp_path / "plans"
    words = [
        "watch",
        "--adapter",
        "site",
        "--journal",
        str(journal),
        "--lock",
        str(tmp_path / "lock"),
        "--once",
    ]
    for count, more in ((1, []), (2, []), (2, ["--keep-plans", "2"]), (1, ["--keep-plans", "1"])):
        assert run(*words, "--plans", str(plans), *more)[0] == 0
        assert len(PlanFolder(plans)) == count
        adapter.site.sleep(1.0)
    status, out, _ = run("journal", str(journal), "--explain", "1", "--plans", str(plans))
    assert status == 0
    assert "refused: 1 was to leave for 3: " in out
    assert f"{PlanFolder(plans).names[0]}\n  Allocation 1 of operation 1 leaves node a: " in out
    assert run(*words, "--plans", str(plans), "--keep-plans", "0")[0] == 2
    with PlanWriter(plans):
        status, _, err = run(*words, "--plans", str(plans))
    assert status == 1
    assert "saves plans in this folder" in err


def test_nothing_of_the_cluster_is_changed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> None:
    adapter = site(monkeypatch, **{"1": (4, 1, "a"), "2": (4, 3, "b"), "3": (4, 5, None)})
    monkeypatch.setattr(adapter, "do", lambda *_: Answer("refused", "it only looks"))
    assert guarded(adapter).name == "site"
    assert run("snapshot", "--adapter", "site", "-o", str(tmp_path / "c.json"))[0] == 0
    assert run("explain", "--live", "3", "--adapter", "site")[0] == 0
    assert adapter.site.asked == []
