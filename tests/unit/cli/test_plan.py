"""Plans and explanations on the command line; what is decided is not the matter here."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli.plans import made_policy
from evenhand.config.triggers import Heartbeat, Round
from evenhand.display.text import width
from tests.unit.plans.fake import CLUSTER, HOSTILE, make, remade, start

_NOT_WAITED = "None of them has waited yet: add --as-if-waiting 10m, or --state FILE now and later."


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The calls of a plan that always decides the same."""
    made: list[dict[str, Any]] = []

    def plan(snapshot: Any, policy: Any, state: Any = None, *, on: Any = None, **others: Any) -> Any:
        if state is not None:
            state.check_clock(snapshot.now)
        made.append({"policy": policy, "state": state, "on": on, **others})
        return remade(make(snapshot=snapshot), policy=policy, on=on or Round())

    monkeypatch.setattr(eh, "plan", plan)
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "full.json"
    path.write_text(json.dumps(CLUSTER))
    return path


def test_a_plan_as_text(calls: Any, file: Path, run: Any) -> None:
    status, out, err = run("plan", file)
    assert (status, err) == (0, "")
    lines = out.split("\n")
    assert (
        lines[0]
        == f"{file}: 3 nodes, 1 pool, 3 operations, 12 allocations, at 100 s, on a heartbeat of every node"
    )
    assert "3 preempted, 0 started in free room, 2 started after preemption, 1 request refused." in lines
    assert any(line.startswith("preempt  a09 of A") for line in lines)
    assert "1 of 3 operations below their fair share, 1 starving." in lines
    assert out.endswith("with it.\n")
    assert max(width(line) for line in lines[1:]) <= 110
    assert calls[0]["policy"].preset == "documented"
    assert calls[0]["state"] is None


def test_what_the_library_decides_is_what_is_printed(file: Path, tmp_path: Path, run: Any) -> None:
    state = tmp_path / "state.json"
    early = tmp_path / "early.json"
    early.write_text(json.dumps(CLUSTER | {"now": 0}))
    assert run("plan", early, "--policy", "ytsaurus:upstream", "--state", state)[0] == 0
    policy = eh.policies.YTsaurus("upstream")
    before = eh.plan(eh.Snapshot.from_dict(CLUSTER | {"now": 0}), policy)
    assert eh.State.load(state) == before.state
    arguments = ("--policy", "ytsaurus:upstream", "--on", "heartbeat:n1")
    out = run("plan", file, *arguments, "--state", state, "--format", "json")[1]
    plan = eh.plan(eh.Snapshot.from_dict(CLUSTER), policy, before.state, on=eh.Heartbeat("n1"))
    assert json.loads(out) == json.loads(plan.to_json())
    assert [d["allocation"] for d in json.loads(out)["decisions"]] == ["a09", None]


def test_without_a_state_a_plan_says_how_to_continue(
    file: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _NOT_WAITED in run("plan", file)[1]
    assert "not waited" not in run("plan", file, "--policy", "backendai")[1]
    waited = run("plan", file, "--as-if-waiting", "10m")
    assert waited[0] == 0
    assert _NOT_WAITED not in waited[1]
    assert "10m 0s ago" in waited[1]
    plan = eh.plan(eh.Snapshot.from_dict(CLUSTER), eh.policies.YTsaurus(), as_if_waiting=600)
    assert json.loads(run("plan", file, "--as-if-waiting", "600", "--format", "json")[1]) == plan.to_dict()
    assert run("explain", file, "a09", "--as-if-waiting", "10m")[1] == plan.why("a09").text + "\n"
    assert (
        run("explain", file, "a09", "--plain", "--as-if-waiting", "10m")[1] == plan.letter("a09").text + "\n"
    )
    for wrong, said in (("soon", "is not a duration"), ("-1", "is out of range")):
        with pytest.raises(SystemExit, match="2"):
            run("plan", file, f"--as-if-waiting={wrong}")
        assert f"argument --as-if-waiting: {wrong!r} {said}" in capsys.readouterr().err


JOBS = {
    "now": 100,
    "resources": {"cpu": {}},
    "nodes": [{"name": "n1", "capacity": {"cpu": 2}}],
    "operations": [
        {"name": "old", "partition": "low", "priority": 5},
        {"name": "new", "partition": "high", "priority": 20},
    ],
    "allocations": [{"name": "a", "operation": "old", "node": "n1", "resources": {"cpu": 2}}],
    "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 2}}],
}
TIERS = """
PreemptType = "preempt/partition_prio"
PreemptMode = "REQUEUE"
[partitions]
low = {PriorityTier = 1}
high = {PriorityTier = 10}
"""


@pytest.mark.parametrize(
    ("system", "config", "reason"),
    [
        ("slurm", TIERS, "higher_partition_tier"),
        ("backendai", 'preemption_order = "newest"', "lower_priority"),
    ],
)
def test_systems_of_whole_jobs(system: str, config: str, reason: str, tmp_path: Path, run: Any) -> None:
    file, settings = tmp_path / "jobs.json", tmp_path / "settings.toml"
    file.write_text(json.dumps(JOBS))
    settings.write_text(config)
    arguments = (file, "--policy", system, "--config", settings)
    for on in ([], ["--on", "run"]):
        status, out, err = run("plan", *arguments, *on)
        assert (status, err) == (0, "")
        assert "at 100 s, on a scheduling run\n" in out
        assert f"preempt  a of old  n1    {reason}" in out
        assert "\n\n\n" not in out
    status, out, err = run("explain", *arguments[:1], "new", *arguments[1:])
    assert (status, err) == (0, "")
    assert "and 1 is preempted for it.\nRequest r waits: " in out
    with pytest.raises(SystemExit, match="2"):
        run("plan", *arguments, "--on", "round")


def test_top_and_all(calls: Any, file: Path, run: Any) -> None:
    assert "and 4 more decisions" in run("plan", file, "--top", 1)[1]
    assert "more decisions" not in run("plan", file, "--all")[1]


def test_a_plan_as_data(calls: Any, file: Path, run: Any) -> None:
    expected = make()
    status, out, _ = run("plan", file, "--format", "json")
    data = json.loads(out)
    assert status == 0
    assert data["decisions"] == expected.to_dict()["decisions"]
    assert list(data) == list(expected.to_dict())
    rows = list(csv.DictReader(io.StringIO(run("plan", file, "--format", "csv")[1])))
    assert [row["allocation"] for row in rows] == ["a09", "", "a10", "", "c2"]
    assert tuple(rows[0]) == expected.table().columns


def test_policy_preset_config_and_trigger(calls: Any, file: Path, tmp_path: Path, run: Any) -> None:
    config = tmp_path / "policy.toml"
    config.write_text("preemption_satisfaction_threshold = 1.2\n[fair_share]\nimproved = true\n")
    run("plan", file, "--policy", "ytsaurus:upstream", "--config", config, "--on", "heartbeat:n2")
    assert calls[0]["policy"].preset == "upstream"
    settings = calls[0]["policy"].settings
    assert (settings.preemption_satisfaction_threshold, settings.fair_share.improved) == (1.2, True)
    assert calls[0]["on"] == Heartbeat("n2")
    assert "on a heartbeat of n2" in run("plan", file, "--on", "heartbeat:n2")[1]


def test_a_file_that_describes_a_whole_policy(calls: Any, file: Path, tmp_path: Path, run: Any) -> None:
    config = tmp_path / "policy.toml"
    config.write_text('system = "ytsaurus"\npreset = "upstream"\nvictim_selection = "minimum"\n')
    for arguments, preset in (((), "upstream"), (("--policy", "ytsaurus:documented"), "documented")):
        assert run("plan", file, "--config", config, *arguments)[0] == 0
        assert calls[-1]["policy"].preset == preset
        assert calls[-1]["policy"].settings.victim_selection == "minimum"
    config.write_text('system = "slurm"\n')
    with pytest.raises(SystemExit) as caught:
        run("plan", file, "--config", config, "--policy", "ytsaurus")
    assert caught.value.code == 2


def test_the_state_is_read_and_replaced(calls: Any, file: Path, tmp_path: Path, run: Any) -> None:
    state = tmp_path / "state.json"
    assert run("plan", file, "--state", state)[0] == 0
    assert calls[0]["state"] is None
    left = eh.State.load(state)
    assert left.elements == {("operation", "B"): {"since": 0.0, "starvation": "starving"}}
    before = state.read_bytes()
    later = tmp_path / "later.json"
    later.write_text(json.dumps(CLUSTER | {"now": 101}))
    assert run("explain", later, "a09", "--state", state)[0] == 0
    assert calls[1]["state"] == left
    assert state.read_bytes() == before, "explaining changes nothing"
    later.unlink()
    assert run("plan", file, "--state", state)[0] == 0
    assert calls[2]["state"] == left
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full.json", "state.json"]


def test_a_state_that_has_answered_explains_nothing(file: Path, tmp_path: Path, run: Any) -> None:
    state, early = tmp_path / "state.json", tmp_path / "early.json"
    early.write_text(json.dumps(CLUSTER | {"now": 0}))
    assert "before: this plan follows that one" not in run("plan", early, "--state", state)[1]
    assert "3 preempted" in run("plan", file, "--state", state)[1]
    status, out, err = run("explain", file, "a09", "--state", state)
    assert (status, out) == (1, "")
    assert err.startswith(f"evenhand: {state}: is what a plan at 100 s left, which it does not explain; save")
    again = run("plan", file, "--state", state)[1]
    assert again.endswith(f"{state} had answered for 100 s before: this plan follows that one.\n")


@pytest.mark.parametrize(
    "options", [(), ("--policy", "ytsaurus:upstream", "--on", "heartbeat:n1"), ("--policy", "backendai")]
)
def test_a_saved_plan_is_explained_as_it_was_made(
    options: tuple[str, ...], file: Path, tmp_path: Path, run: Any
) -> None:
    saved, state = tmp_path / "plan.json", tmp_path / "state.json"
    early = tmp_path / "early.json"
    early.write_text(json.dumps(CLUSTER | {"now": 0}))
    run("plan", early, *options, "--state", state)
    before = eh.State.load(state)
    status, out, _ = run("plan", file, *options, "--state", state, "--save", saved, "--format", "json")
    assert status == 0
    policy = made_policy(options[1] if options else "ytsaurus", None)
    on = eh.Heartbeat("n1") if "--on" in options else None
    plan = eh.plan(eh.Snapshot.from_dict(CLUSTER), policy, before, on=on)
    assert json.loads(out) == plan.to_dict()
    for name in ("a09", "b", "B", "n1"):
        assert run("explain", saved, name) == (0, plan.why(name).text + "\n", "")


def test_what_a_saved_plan_has_of_its_own(
    file: Path, tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "plan.json"
    run("plan", file, "--as-if-waiting", "10m", "--save", saved)
    for option, value in (("--policy", "slurm"), ("--state", "S"), ("--on", "round"), ("--config", "C")):
        with pytest.raises(SystemExit, match="2"):
            run("explain", saved, "a09", option, value)
        assert f"argument {option}: {saved} is a saved plan, which has its own" in capsys.readouterr().err
    data = json.loads(saved.read_text())
    for change, said in (
        ({"decisions": []}, "the plan decides otherwise now than when it was saved; it was made by version"),
        ({"policy": {"system": "nothing"}}, "is not a complete saved plan"),
        ({"snapshot": {}}, "is not a complete saved plan"),
    ):
        saved.write_text(json.dumps(data | change))
        status, out, err = run("explain", saved, "a09")
        assert (status, out) == (1, "")
        assert said in err
    assert run("plan", file, "--save", tmp_path / "no" / "plan.json")[0] == 1


@pytest.mark.parametrize("name", ["a09", "a01", "b", "c", "B", "P", "n1"])
def test_explanations(calls: Any, file: Path, run: Any, name: str) -> None:
    status, out, err = run("explain", file, name)
    assert (status, err) == (0, "")
    plan = remade(make(), policy=calls[-1]["policy"])
    told = plan.why(name)
    assert out == told.text + "\n"
    assert json.loads(run("explain", file, name, "--format", "json")[1]) == told.to_dict()
    rows = list(csv.DictReader(io.StringIO(run("explain", file, name, "--format", "csv")[1])))
    assert [row["outcome"] for row in rows] == [row["outcome"] for row in told.looked_at]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "nobody"], "argument --policy: 'nobody' is none of ytsaurus"),
        (
            ["--policy", "ytsaurus:odd"],
            "argument --policy: 'odd' is none of the presets of ytsaurus: documented,",
        ),
        (["--on", "tuesday"], "argument --on: YTsaurus decides on round or heartbeat:NODE, not on 'tuesday'"),
        (["--on", "heartbeat:"], "not on 'heartbeat:'; did you mean"),
        (["--on", "round:n1"], "not on 'round:n1'"),
        (["--on", "heartbeat:n9"], "has no node 'n9'"),
    ],
)
def test_wrong_usage(
    calls: Any, file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    from evenhand.cli import main

    with pytest.raises(SystemExit) as caught:
        main(["plan", str(file), *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_name_that_is_not_there(calls: Any, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from evenhand.cli import main

    with pytest.raises(SystemExit) as caught:
        main(["explain", str(file), "nobody\x1b[31m"])
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert "there is no 'nobody" in error
    assert "\x1b" not in error


def test_wrong_input_says_where(calls: Any, file: Path, tmp_path: Path, run: Any) -> None:
    state = tmp_path / "state.json"
    state.write_text('{"schema": "evenhand/state/1", "time": 500}')
    status, out, err = run("plan", file, "--state", state)
    assert (status, out) == (1, "")
    assert err.startswith(f"evenhand: {file}: snapshot: the snapshot is of 100.0, before the state (500.0)")
    state.write_text('{"schema": "evenhand/state/1", "ti')
    assert run("plan", file, "--state", state)[2].startswith(
        f"evenhand: {state}: state: is not a complete JSON"
    )
    config = tmp_path / "policy.toml"
    config.write_text("wrong = 1")
    status, _, err = run("explain", file, "a09", "--config", config)
    assert (status, err) == (1, f"evenhand: {config}: settings: wrong is unknown [unknown_field]\n")
    config.write_text("wrong = ")
    assert "is not TOML" in run("plan", file, "--config", config)[2]
    file.write_text('{"resources": {"cpu": {}}, "nodes": [{"name": 1.5}]}')
    status, _, err = run("plan", file)
    assert status == 1
    assert f"evenhand: {file}: nodes[0]" in err


def test_hostile_names_stay_text(calls: Any, file: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(json.dumps(CLUSTER).replace('"b"', json.dumps("b" + HOSTILE)))
    decisions = [start("b" + HOSTILE, "B", "n1", 0)]
    monkeypatch.setattr(
        eh, "plan", lambda s, p, state=None, on=None: make(decisions, s, refused={}, traces={})
    )
    for arguments in (("plan", file), ("explain", file, "b" + HOSTILE), ("plan", file, "--format", "csv")):
        out = run(*arguments)[1]
        assert all(line.isprintable() for line in out.split("\n")), out


def test_the_demo_goes_on_to_a_plan(calls: Any, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eh.synthetic, "demo", lambda: eh.Snapshot.from_dict(CLUSTER | {"now": 1000}))
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    plan = out.split("as if nothing had changed for ten minutes\n")[1]
    order = [
        "3 preempted",
        "1 of 3 operations below their fair share",
        "Why does a09 leave?\nAllocation a09 of operation A leaves node n1",
        "Why does a01 stay?\nAllocation a01 of operation A on node n1 was not preempted:",
        "preempt  a09 of A  n1    b of B  2 cpu, 5 memory",
    ]
    places = [plan.index(text) for text in order]
    assert places == sorted(places)
    assert [call["as_if_waiting"] for call in calls] == ["10m"]
