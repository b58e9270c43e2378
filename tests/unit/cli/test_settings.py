"""Which system's rules apply, by a name, settings or its own file; what it acts on, and its clocks."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from tests.unit.cli.manners import SMALL, given
from tests.unit.traces.files import job, write

CONF = """
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n1 CPUs=64
PartitionName=low Nodes=ALL PriorityTier=1 Default=YES
PartitionName=high Nodes=ALL PriorityTier=10
"""
QUEUES = """
partitions:
  - name: default
    preemption: {enabled: false}
    queues:
      - name: root
        queues: [{name: batch}]
"""
SCHEDULER = "algorithm default\nschedule_interval 0:0:15\nmaxujobs 0\nmax_reservation 7\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(SMALL))
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path, [job(n, 10 * n, 300, 8 * (n % 4 + 1), user=n % 3) for n in range(1, 20)])


@pytest.fixture
def policies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The policies that are planned with."""
    made: list[Any] = []
    plan = eh.plan

    def noted(snapshot: Any, policy: Any, *args: Any, **options: Any) -> Any:
        made.append(policy)
        return plan(snapshot, policy, *args, **options)

    monkeypatch.setattr(eh, "plan", noted)
    return made


@pytest.mark.parametrize(
    ("name", "text", "system", "title", "setting"),
    [
        ("slurm.conf", CONF, "slurm", "Slurm", lambda s: s.partitions["high"].PriorityTier == 10),
        ("slurm", CONF, "slurm", "Slurm", lambda s: s.PreemptMode == "REQUEUE"),
        ("queues.yaml", QUEUES, "yunikorn", "YuniKorn", lambda s: not s.enabled),
        ("sched", SCHEDULER, "gridengine", "Grid Engine", lambda s: s.max_reservation == 7),
    ],
)
def test_a_systems_own_file_says_which_system_it_is_of(
    file: Path,
    policies: Any,
    run: Any,
    capsys: Any,
    name: str,
    text: str,
    system: str,
    title: str,
    setting: Any,
) -> None:
    pytest.importorskip("yaml")
    config = file.parent / name
    config.write_text(text)
    for words, preset in (
        ((), "upstream"),
        (("--policy", system), "upstream"),
        (("--policy", f"{system}:documented"), "documented"),
    ):
        status, _, err = run("plan", file, "--config", config, *words)
        assert status == 0
        assert err.startswith(f"evenhand: note: {config}: a file of {title}, read with preset {preset}\n")
        assert (policies[-1].system, policies[-1].preset) == (system, preset)
        assert setting(policies[-1].settings)
    with pytest.raises(SystemExit, match="2"):
        run("plan", file, "--config", config, "--policy", "ytsaurus")
    assert f"{config} is a file of {title}; say --policy {system}" in capsys.readouterr().err


def test_mistakes_in_a_systems_own_file_have_their_lines(file: Path, run: Any) -> None:
    config = file.parent / "slurm.conf"
    config.write_text(CONF + "PreemptMode=NONSENSE\n")
    status, out, err = run("plan", file, "--config", config)
    assert (status, out) == (1, "")
    assert err.startswith(f"evenhand: {config}: slurm.conf[")


@pytest.mark.parametrize("command", ["simulate", "sweep", "plan", "explain", "diff"])
def test_settings_that_name_their_system_need_no_policy(
    command: str, file: Path, log: Path, tmp_path: Path, run: Any
) -> None:
    config = tmp_path / "policy.toml"
    config.write_text('system = "backendai"\npreset = "upstream"\n')
    words = {
        "simulate": ["simulate", log, "--until", "5m"],
        "sweep": ["sweep", log, "--until", "5m", "--workers", 1, "--set", "pace.victim_cooldown=0"],
        "plan": ["plan", file],
        "explain": ["explain", file, "train"],
        "diff": ["diff", file, file],
    }[command]
    named = run(*words, "--config", config, "--policy", "backendai:upstream", "--format", "json")
    assert named[0] == 0
    assert run(*words, "--config", config, "--format", "json") == named


def test_a_pass_of_a_run(file: Path, run: Any, capsys: Any) -> None:
    snapshot, policy = eh.Snapshot.from_dict(SMALL), eh.policies.Slurm()
    for word, passes in (
        ("run", ("main", "backfill")),
        ("run:main", ("main",)),
        ("run:backfill", ("backfill",)),
    ):
        plan = eh.plan(snapshot, policy, on=eh.SchedulingRun(passes))
        out = run("plan", file, "--policy", "slurm", "--on", word, "--format", "json")[1]
        assert json.loads(out) == json.loads(plan.to_json())
    for system, word in (("slurm", "run:sideways"), ("backendai", "run:main"), ("gridengine", "run:main")):
        with pytest.raises(SystemExit, match="2"):
            run("plan", file, "--policy", system, "--on", word)
        assert f"not on {word!r}" in capsys.readouterr().err


@pytest.mark.parametrize("waited", ["0", "10m", "600", "10d"])
def test_no_time_is_a_state_too(waited: str, file: Path, run: Any) -> None:
    plan = eh.plan(
        eh.Snapshot.from_dict(SMALL),
        eh.policies.YTsaurus(),
        as_if_waiting=waited if waited[-1].isalpha() else float(waited),
    )
    words = ("--as-if-waiting", waited)
    assert run("explain", file, "train", *words) == (0, plan.why("train").text + "\n", "")
    saved = file.parent / "saved.json"
    status, out, err = run("plan", file, *words, "--save", saved)
    assert (status, err) == (0, "")
    assert "had answered" not in out
    assert eh.Plan.load(saved) == plan


def test_a_state_begins_as_if_all_had_waited(file: Path, tmp_path: Path, run: Any) -> None:
    """Where the file is there already, it is what counts."""
    state, later = tmp_path / "state", tmp_path / "later.json"
    later.write_text(json.dumps(SMALL | {"now": SMALL["now"] + 10}))
    policy = eh.policies.YTsaurus()
    words = ("--state", state, "--as-if-waiting", "10m", "--format", "json")
    first = eh.plan(eh.Snapshot.from_dict(SMALL), policy, as_if_waiting="10m")
    assert json.loads(run("plan", file, *words)[1]) == json.loads(first.to_json())
    assert eh.State.load(state) == first.state
    second = eh.plan(eh.Snapshot.from_dict(SMALL | {"now": SMALL["now"] + 10}), policy, first.state)
    assert json.loads(run("plan", later, *words)[1]) == json.loads(second.to_json())


def test_a_sweep_plans_on_a_snapshot(
    file: Path, tmp_path: Path, run: Any, capsys: Any, monkeypatch: Any
) -> None:
    snapshot, policy = eh.Snapshot.from_dict(SMALL), eh.policies.YTsaurus()
    packed = tmp_path / "small.json.xz"
    packed.write_bytes(lzma.compress(file.read_bytes()))
    space = ("--set", "fair_share_starvation_timeout=30,900")
    state = eh.plan(snapshot, policy, as_if_waiting="10m").state_before
    expected = eh.sweep(snapshot, policy, space={"fair_share_starvation_timeout": [30, 900]}, state=state)
    words = (*space, "--as-if-waiting", "10m", "--format", "json")
    for path in (file, packed):
        status, out, err = run("sweep", path, *words)
        assert (status, err) == (0, "")
        assert json.loads(out) == json.loads(json.dumps(expected.to_dict()))
    given(monkeypatch, packed.read_bytes())
    assert run("sweep", "-", "--kind", "snapshot", *words)[1] == out
    assert expected["victims"].tolist() == [1, 0]
    assert "victims  victims.operations  served  starts" in run("sweep", file, *space)[1]
    for more, said in (
        (("--until", "1h"), "--until: only with a trace, and"),
        (("--warm-up", "0"), "--warm-up: only with a trace, and"),
        (("--clock", "heartbeat_period=1"), "--clock: only with a trace, and"),
        (("--set", "heartbeat_period=1"), "--set: heartbeat_period is a clock, which only traces have"),
    ):
        with pytest.raises(SystemExit, match="2"):
            run("sweep", file, *space, *more)
        assert f"argument {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value"), [("--state", "s"), ("--as-if-waiting", "0"), ("--on", "run"), ("--order", "rows")]
)
def test_options_of_snapshots_are_not_those_of_traces(
    log: Path, option: str, value: str, run: Any, capsys: Any
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run("sweep", log, "--policy", "slurm", "--set", "requeue_delay=1", option, value)
    assert f"argument {option}: only with a snapshot, and" in capsys.readouterr().err


def test_seed_clocks_and_samples_of_a_run(log: Path, run: Any, capsys: Any) -> None:
    work = eh.traces.swf(log)
    end = work.snapshot().now + 3600
    words = (
        "simulate",
        log,
        "--policy",
        "slurm",
        "--until",
        "1h",
        "--format",
        "json",
        "--table",
        "allocations",
    )
    for options, arguments in (
        (
            ("--clock", "bf_interval=2m", "--clock", "sched_interval=90"),
            {"bf_interval": 120, "sched_interval": 90},
        ),
        (("--seed", 7), {"rng": 7}),
        (("--literal",), {"literal": True}),
    ):
        result = eh.simulate(work.snapshot(), eh.policies.Slurm(), work, end, **arguments)
        status, out, err = run(*words, *options)
        assert (status, err) == (0, "")
        assert json.loads(out)["start"] == json.loads(json.dumps(result.allocations.to_dict()["start"]))
    samples = json.loads(run(*words[:-1], "series", "--series-every", "10m")[1])["time"]
    result = eh.simulate(work.snapshot(), eh.policies.Slurm(), work, end, series_every="10m")
    assert samples == result.series["time"].tolist()
    for option, value, said in (
        ("--clock", "heartbeat=1", "Slurm has no clock heartbeat; it has sched_interval, bf_interval"),
        ("--clock", "bf_interval=soon", "'soon' is not a duration"),
        ("--clock", "bf_interval=0", "bf_interval is 0.0; it must be positive"),
        ("--clock", "bf_interval", "is not of the form NAME=TIME"),
        ("--series-every", "0", "it must be more than 0"),
        ("--give-up-after", "1", "is not a whole number from 2 up"),
    ):
        with pytest.raises(SystemExit, match="2"):
            run(*words, option, value)
        error = capsys.readouterr().err
        assert f"argument {option}: " in error
        assert said in error


def test_durations_are_taken_alike(log: Path, run: Any) -> None:
    """On the command line, in settings and by functions."""
    work = eh.traces.swf(log)
    policy = eh.policies.Slurm()
    for text in ("1d", "1-00:00:00", "24h", "86400", "1440min"):
        out = run("simulate", log, "--policy", "slurm", "--until", text, "--format", "json")[1]
        result = eh.simulate(work.snapshot(), policy, work, until=work.snapshot().now + 86400)
        assert json.loads(out)["waiting.p95"] == result.metrics["waiting.p95"]


def test_points_without_metrics_are_told(log: Path, run: Any) -> None:
    options = (
        "--policy",
        "slurm",
        "--workers",
        "1",
        "--set",
        "PreemptMode=OFF,REQUEUE",
        "--until",
        "1h",
        "--format",
        "json",
    )
    status, out, err = run("sweep", log, *options)
    assert status == 0
    assert [error is None for error in json.loads(out)["error"]] == [True, False]
    assert err.startswith(f"evenhand: {log}: 1 of 2 points have no metrics; the first: ")


@pytest.mark.parametrize("columns", [40, 60, 80, 110, 400])
def test_why_a_point_has_no_metrics_is_always_shown(
    log: Path, columns: int, run: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    options = ("--policy", "slurm", "--workers", "1", "--set", "PreemptMode=OFF,REQUEUE", "--until", "1h")
    out = run("sweep", log, *options)[1]
    assert "error" in out.splitlines()[1]
    assert "PreemptMode is" in out
    assert ("more column" in out) == (columns < 400)
