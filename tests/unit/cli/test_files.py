"""Files that commands write: all of them or none, and none over another; settings that are shared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli import main
from tests.unit.cli.cases import CLUSTER


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("save", "state", "blamed"),
    [
        ("p", "none/s", "none/s"),
        ("none/p", "s", "none/p"),
        ("p", "folder", "folder"),
        ("folder", "s", "folder"),
    ],
)
def test_plan_and_state_are_written_both_or_neither(
    cluster: Path, tmp_path: Path, run: Any, save: str, state: str, blamed: str
) -> None:
    (tmp_path / "folder").mkdir()
    before = names(tmp_path)
    status, out, err = run("plan", cluster, "--save", tmp_path / save, "--state", tmp_path / state)
    assert (status, out) == (1, "")
    assert err.startswith(f"evenhand: {tmp_path / blamed}: cannot be ")
    assert names(tmp_path) == before


def test_a_failure_leaves_both_as_they_were(
    cluster: Path, tmp_path: Path, run: Any, monkeypatch: Any
) -> None:
    plan, state = tmp_path / "p", tmp_path / "s"
    assert run("plan", cluster, "--save", plan, "--state", state)[0] == 0
    kept = plan.read_bytes(), state.read_bytes()
    later = tmp_path / "later.json"
    later.write_text(json.dumps(CLUSTER | {"now": 4000.0, "previous_update": None}))
    real, made = eh.files.tempfile.mkstemp, []  # type: ignore[attr-defined]

    def full(*args: Any, **options: Any) -> Any:
        made.append(1)
        if len(made) == 2:
            raise OSError(28, "No space left on device")
        return real(*args, **options)

    monkeypatch.setattr("evenhand.files.tempfile.mkstemp", full)
    status, _, err = run("plan", later, "--save", plan, "--state", state)
    assert status == 1
    assert err == f"evenhand: {state}: cannot be written: No space left on device\n"
    assert (plan.read_bytes(), state.read_bytes()) == kept
    assert names(tmp_path) == ["cluster.json", "later.json", "p", "s"]


def test_a_wrong_name_leaves_no_plan(cluster: Path, tmp_path: Path, run: Any, capsys: Any) -> None:
    for more in (["--on", "heartbeat:n7"], ["--on", "tuesday"], ["--policy", "slrm"]):
        with pytest.raises(SystemExit, match="2"):
            run("plan", cluster, "--save", tmp_path / "p", *more)
    assert names(tmp_path) == ["cluster.json"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["FILE", "--save", "./FILE"], "FILE"), (["FILE", "--save", "s", "--state", "s"], "--state")],
)
def test_a_plan_is_saved_over_nothing_that_it_is_made_from(
    cluster: Path, monkeypatch: Any, capsys: Any, arguments: list[str], named: str
) -> None:
    monkeypatch.chdir(cluster.parent)
    kept = cluster.read_bytes()
    with pytest.raises(SystemExit, match="2"):
        main(["plan", *(word.replace("FILE", cluster.name) for word in arguments)])
    assert f"is the file of {named}, too" in capsys.readouterr().err
    assert cluster.read_bytes() == kept


def test_no_name_is_no_file(cluster: Path, run: Any) -> None:
    for arguments in (["plan", ""], ["validate", ""], ["plan", cluster, "--config", ""]):
        assert run(*arguments) == (1, "", "evenhand: '' is no name of a file\n")
    assert run("plan", cluster, "--save", "")[0] == 1, "not taken for no option at all"
    assert run("plan", cluster, "--state", "")[0] == 1


def test_a_journal_is_repaired_and_nothing_else(tmp_path: Path, run: Any) -> None:
    other = tmp_path / "snapshot.json"
    for text in ('{"now": 1}', '{"resources"', "x"):
        other.write_text(text)
        status, _, err = run("journal", other, "--repair")
        assert (status, err) == (1, f"evenhand: journal {other}: is not a journal\n")
        assert other.read_text() == text


@pytest.mark.parametrize("kind", ["snapshot", "state", "plan"])
def test_files_in_each_others_place_say_what_they_are(
    kind: str, cluster: Path, tmp_path: Path, run: Any
) -> None:
    plan, state = tmp_path / "p", tmp_path / "s"
    assert run("plan", cluster, "--save", plan, "--state", state)[0] == 0
    files = {"snapshot": cluster, "state": state, "plan": plan}
    if kind != "snapshot":
        called = {"state": "a state", "plan": "a saved plan"}[kind]
        for command in ("validate", "shares", "plan"):
            status, _, err = run(command, files[kind])
            said = f"snapshot: the snapshot is missing: this is {called} [schema]"
            assert (status, err) == (1, f"evenhand: {files[kind]}: {said}\n")
    if kind != "state":
        other = tmp_path / "other"
        other.write_bytes(files[kind].read_bytes())
        status, _, err = run("plan", cluster, "--state", other)
        called = {"snapshot": "a snapshot", "plan": "a saved plan"}[kind]
        assert (status, err) == (1, f"evenhand: {other}: state: this is {called}, not a state [schema]\n")
    status, _, err = run("plan", cluster, "--config", files[kind])
    assert (status, "is JSON, not TOML" in err) == (1, True)


def changed(plan: Path, **changes: Any) -> None:
    data = json.loads(plan.read_text())
    for key, value in changes.items():
        data[key] = value
    plan.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": "evenhand/plan/9"}, "its schema is evenhand/plan/9; this version reads evenhand/plan/1"),
        ({"snapshot": [1]}, "snapshot is a list"),
        ({"snapshot": {"now": 1}}, "snapshot: resources is missing"),
        ({"policy": None}, "policy is null"),
        ({"policy": {"system": "mesos"}}, "its policy is of mesos; there are ytsaurus,"),
        ({"policy": {"system": "ytsaurus", "preset": "x"}}, "settings: preset is x; it must be"),
        ({"policy": {"system": "ytsaurus", "preset": "upstream", "x": 1}}, "settings: x is unknown"),
        ({"state_before": 3}, "state_before is a number"),
        ({"on": ["round"]}, "on is a list of something else than heartbeats"),
        ({"on": 3}, "on is a number"),
        ({"on": "run"}, "YTsaurus decides on round or heartbeat:NODE, not on 'run'"),
        ({"on": "heartbeat:n9"}, "has no node 'n9'"),
        ({"decisions": {}}, "decisions is an object"),
    ],
)
def test_a_plan_that_is_not_complete(
    cluster: Path, tmp_path: Path, run: Any, changes: dict[str, Any], said: str
) -> None:
    plan = tmp_path / "p"
    assert run("plan", cluster, "--save", plan)[0] == 0
    changed(plan, **changes)
    status, out, err = run("explain", plan, "train")
    assert (status, out) == (1, "")
    assert err.startswith(f"evenhand: {plan}: is not a complete saved plan: ")
    assert said in err


def test_a_policys_file_has_the_settings_of_shares(
    cluster: Path, tmp_path: Path, run: Any, capsys: Any
) -> None:
    config = tmp_path / "policy.toml"
    config.write_text(
        'fair_share_starvation_timeout = "1m"\n[pace]\nvictim_cooldown = 5\n'
        '[fair_share]\nmain_resource = "gpu"\n'
    )
    status, out, err = run("shares", cluster, "--config", config, "--format", "json")
    said = "shares do not depend on fair_share_starvation_timeout and pace, which only plans read"
    assert (status, err) == (0, f"evenhand: note: {config}: {said}\n")
    alone = tmp_path / "alone.toml"
    alone.write_text('main_resource = "gpu"\n')
    assert run("shares", cluster, "--config", alone, "--format", "json") == (0, out, "")
    for text, found in (
        ("victim_selection = 3\n", "victim_selection is 3; it must be"),
        ("[pace]\nvictim_cooldwn = 3\n", 'pace.victim_cooldwn is unknown; did you mean "victim_cooldown"?'),
        ('system = "slurm"\n', "system is 'slurm'; shares are computed as in ytsaurus"),
        ('PreemptMode = "OFF"\n', "PreemptMode is unknown; it is a setting of slurm [unknown_field]"),
        ("fair_share_starvation_timout = 1\n", "fair_share_starvation_timout is unknown [unknown_field]"),
        ("victim_cooldown = 1\n", "victim_cooldown is unknown [unknown_field]"),
    ):
        config.write_text(text)
        status, out, err = run("shares", cluster, "--config", config)
        assert (status, out) == (1, ""), text
        assert found in err


def test_a_setting_in_the_wrong_section(cluster: Path, tmp_path: Path, run: Any) -> None:
    config = tmp_path / "policy.toml"
    for text, meant in (
        ("victim_cooldown = 1\n", "pace.victim_cooldown"),
        ("improved = true\n", "fair_share.improved"),
        ("[pace]\nvictim_selection = 1\n", "victim_selection"),
        ("fair_share_starvation_timout = 1\n", "fair_share_starvation_timeout"),
    ):
        config.write_text(text)
        status, _, err = run("plan", cluster, "--config", config)
        assert status == 1
        assert err.endswith(f' is unknown; did you mean "{meant}"? [unknown_field]\n'), err
    config.write_text("fair_share_starvation_timeout = 1\n")
    found = run("plan", cluster, "--policy", "slurm", "--config", config)[2]
    assert found.endswith("timeout is unknown; it is a setting of ytsaurus [unknown_field]\n")
    config.write_text("request_order = 1\n")
    assert run("plan", cluster, "--config", config)[2].endswith("request_order is unknown [unknown_field]\n")


def test_a_file_of_another_policy(cluster: Path, tmp_path: Path, run: Any, capsys: Any) -> None:
    config = tmp_path / "policy.toml"
    config.write_text('system = "slurm"\n')
    with pytest.raises(SystemExit, match="2"):
        run("plan", cluster, "--config", config, "--policy", "ytsaurus")
    assert "describes slurm, not ytsaurus; say --policy slurm" in capsys.readouterr().err
    named = run("plan", cluster, "--config", config, "--policy", "slurm")
    assert named[0] == 0
    assert run("plan", cluster, "--config", config) == named
    config.write_text('system = "slrm"\n')
    status, _, err = run("plan", cluster, "--config", config)
    assert (status, "system is 'slrm', none of ytsaurus" in err, 'did you mean "slurm"?' in err) == (
        1,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["explain", "FILE", "trainn"],
            "no 'trainn' among allocations, requests, operations, pools, nodes; did you mean \"train\"?",
        ),
        (["explain", "FILE", "WEB"], 'did you mean "web"?'),
        (["shares", "FILE", "--resource", "gpus"], "has no 'gpus' but cpu, gpu; did you mean \"gpu\"?"),
        (["demo", "--resource", "GPU"], 'did you mean "gpu"?'),
        (["plan", "FILE", "--on", "rund"], "not on 'rund'; did you mean \"round\"?"),
        (["plan", "FILE", "--on", "heartbeat:N1"], "has no node 'N1'; did you mean \"n1\"?"),
        (["plan", "FILE", "--policy", "yunikorn", "--on", "cycle"], "YuniKorn decides on cycle:preemption,"),
        (["plan", "FILE", "--on", "run"], "YTsaurus decides on round or heartbeat:NODE, not on 'run'"),
    ],
)
def test_what_may_be_meant(cluster: Path, capsys: Any, arguments: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(cluster) if word == "FILE" else word for word in arguments])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("adapter", "system"), [("gridengine", "gridengine"), ("slurm", "slurm")])
def test_a_live_clusters_rules_are_its_own_unless_others_are_named(
    tmp_path: Path, capsys: Any, adapter: str, system: str
) -> None:
    """Neither is the policy of another system taken in silence."""
    config = tmp_path / "policy.toml"
    config.write_text('system = "yunikorn"\n')
    with pytest.raises(SystemExit, match="2"):
        main(["watch", "--adapter", adapter, "--journal", str(tmp_path / "j"), "--config", str(config)])
    assert f"describes yunikorn, not {system}; say --policy yunikorn" in capsys.readouterr().err
    assert not (tmp_path / "j").exists()
