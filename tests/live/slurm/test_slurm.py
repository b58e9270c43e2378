"""Acting on a real Slurm: what is refused, what stops it, what it leaves alone, how fast it reads."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, Driver, LockedError, Row, Timing
from evenhand.act.journal import read
from evenhand.adapters import AdapterError
from evenhand.cli import main
from evenhand.systems.slurm.adapter.live import Slurm
from tests.live.outage import Outage
from tests.live.slurm import drive
from tests.live.slurm.conftest import Cluster
from tests.unit.act.scripted import Scripted

pytestmark = pytest.mark.live

NASTY = [
    "two words",
    'quo"tes',
    "apo'strophe",
    "new\nline",
    "tab\there",
    "$(touch {canary})",
    "`touch {canary}`",
    "; touch {canary}",
    "| touch {canary}",
    "&& touch {canary}",
    "> {canary}",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[H",
    "\u202egnp.exe",
    "zero\u200bwidth",
    "\u2028separator",
    "-rf /",
    "--help",
    "JobState=COMPLETED",
    "x JobId=1 UserId=root(0)",
    "a|b|c|",
    "%s%n%x",
    "{json: 1}",
    '","job_id":1,"x":"',
    "\\u0000\\",
    "bell\x07\x08",
    "<script>alert(1)</script>",
    "\u00e9t\u00e9 \U0001f600",
    "name=" + "x" * 200,
]


def driver(folder: Path, adapter: Slurm | None = None, **more: Any) -> Driver:
    options: dict[str, Any] = {
        "lock": folder / "lock",
        "caps": Caps(None, None, None, None),
        "timing": Timing(start=120.0, settle=5.0, poll=0.05),
    }
    return Driver(adapter or Slurm(), folder / "journal", **(options | more))


def policy() -> Any:
    return eh.policies.Slurm(**drive.TIERS)


def full(cluster: Cluster, *more: str) -> list[str]:
    low = [cluster.submit(4, *more) for _ in range(8)]
    cluster.wait(low, "RUNNING")
    return low


def urgent(cluster: Cluster, *more: str) -> str:
    name = cluster.submit(4, *more, partition="high")
    until = time.monotonic() + 120
    while cluster.jobs()[name]["state_reason"] not in ("Resources", "Priority"):
        assert time.monotonic() < until
        time.sleep(0.1)
    return name


def plan_of(adapter: Slurm) -> Any:
    return eh.plan(adapter.snapshot(), policy())


def restarts(cluster: Cluster, names: list[str]) -> int:
    jobs = cluster.jobs()
    return sum(jobs[name]["restart_cnt"] for name in names)


def test_a_step_from_plan_to_release(cluster: Cluster, tmp_path: Path) -> None:
    low, high = full(cluster), urgent(cluster)
    with driver(tmp_path) as driving:
        (row,) = driving.act(plan_of(Slurm())).rows
    assert (row.outcome, row.beneficiary) == ("started", high)
    (victim,) = row.victims
    assert victim in low
    jobs = cluster.jobs()
    assert jobs[high]["job_state"] == "RUNNING"
    assert jobs[victim]["job_state"] in ("PENDING", "COMPLETING")
    assert jobs[victim]["priority"] > 0
    assert jobs[victim]["comment"].startswith(f"evenhand: gives way to {high}")
    assert restarts(cluster, low) == 1


def test_two_drivers_at_once(cluster: Cluster, tmp_path: Path) -> None:
    low, high = full(cluster), urgent(cluster)
    spawn = multiprocessing.get_context("spawn")
    first = spawn.Process(target=drive.run, args=(cluster.conf, str(tmp_path), 0, {}))
    first.start()
    try:
        cluster.wait([high], "RUNNING")
        with pytest.raises(LockedError, match=f"process {first.pid}\\) acts on this cluster") as caught:
            driver(tmp_path)
        assert "\n" not in str(caught.value)
        other = tmp_path / "other"
        other.mkdir()
        with pytest.raises(LockedError):  # another journal, the same cluster
            driver(other, lock=tmp_path / "lock")
    finally:
        first.kill()
        first.join()
    assert restarts(cluster, low) == 1


GONE = {"operation_gone", "victim_leaving"}
#: What happens to a victim, and the codes that say so. Slurm lets a job that runs shrink to fewer nodes and,
#: with permit_job_expansion, take over the nodes of an allocation without steps; its cpus, memory, partition
#: and place never change.
CHANGES: dict[str, tuple[list[str], set[str]]] = {
    "ended": (["scancel VICTIM"], GONE),
    "suspended": (["scontrol suspend VICTIM"], {"victim_leaving"}),
    "left": (["scontrol requeuehold VICTIM"], GONE | {"victim_ended"}),  # once its epilog is over
    "shrunk": (["scontrol update jobid=VICTIM numnodes=1"], {"victim_ended"}),
    "grew": (
        [
            "scancel OTHER",
            "salloc --no-shell --dependency=expand:VICTIM -plow -N1 -n4 --mem=50 -t60 -D/tmp",
            "scontrol update jobid=LAST numnodes=0",
        ],
        {"partial_victim"},
    ),
    "to_be_lost": (["scontrol update jobid=VICTIM requeue=0"], {"victim_protected"}),
}
REFUSED = {  # what slurmctld itself does not let happen to a job that runs
    "numnodes=2": "Node count specification invalid",
    "numcpus=1": "no longer pending",
    "numtasks=1": "no longer pending",
    "minmemorynode=10": "no longer pending",
    "partition=high": "no longer pending",
}


@pytest.mark.parametrize("what", CHANGES)
def test_changed_victims_are_refused(what: str, cluster: Cluster, tmp_path: Path) -> None:
    changes, codes = CHANGES[what]
    low = [cluster.submit(4, "-N2", "--ntasks-per-node=4", "-n8") for _ in range(4)]
    cluster.wait(low, "RUNNING")
    urgent(cluster)
    adapter = Slurm()
    plan = plan_of(adapter)
    victim = str(next(iter(plan.decisions.victims)).operation)
    names = {"VICTIM": victim, "OTHER": next(name for name in low if name != victim)}
    frees = what != "to_be_lost"
    with driver(tmp_path, adapter) as driving:
        if frees:  # nothing may start by itself in the room
            cluster.run("scontrol", "update", "PartitionName=high", "State=DOWN")
        try:
            before = restarts(cluster, low)
            for change in changes:
                names["LAST"] = max(cluster.jobs(), key=int)
                for name, job in names.items():
                    change = change.replace(name, job)
                cluster.run(*change.split())
                time.sleep(0.5 if "scancel" in change else 0.0)
            (row,) = driving.act(plan).rows
        finally:
            cluster.run("scontrol", "update", "PartitionName=high", "State=UP")
    assert row.outcome == "refused"
    assert codes & set(row.codes), row
    assert restarts(cluster, low) - before == (what == "left")


def test_a_raised_priority_protects_no_job_of_a_lower_tier(cluster: Cluster, tmp_path: Path) -> None:
    low = [cluster.submit(4, "-N2", "--ntasks-per-node=4", "-n8") for _ in range(4)]
    cluster.wait(low, "RUNNING")
    urgent(cluster)
    adapter = Slurm()
    plan = plan_of(adapter)
    (victim,) = {str(decision.operation) for decision in plan.decisions.victims}
    with driver(tmp_path, adapter) as driving:
        cluster.run("scontrol", "update", f"jobid={victim}", "priority=4294901760")
        (row,) = driving.act(plan).rows
    assert (row.outcome, row.victims) == ("started", (victim,))


def test_what_slurm_does_not_let_happen_to_a_job_that_runs(cluster: Cluster) -> None:
    name = cluster.submit(4)
    cluster.wait([name], "RUNNING")
    for change, words in REFUSED.items():
        assert words in cluster.said("scontrol", "update", f"jobid={name}", change), change


def test_a_stop_file_stops_within_one_step(cluster: Cluster, tmp_path: Path) -> None:
    low = full(cluster)
    for _ in range(3):
        urgent(cluster)
    stop = tmp_path / "stop"

    def put(row: Row) -> None:
        stop.touch()

    with driver(tmp_path, stop_file=stop, progress=put) as driving:
        plan = eh.plan(Slurm().snapshot(), Scripted(urgent="high"))
        assert len(plan.steps()) == 3
        found = [row.outcome for row in driving.act(plan).rows]
    assert found == ["started", "stopped"]
    assert restarts(cluster, low) == 1


def test_a_dry_run_changes_nothing(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full(cluster)
    for _ in range(3):
        urgent(cluster)
    config = tmp_path / "policy.toml"
    config.write_text(
        'PreemptType = "preempt/partition_prio"\nPreemptMode = "REQUEUE"\n'
        "[partitions.low]\nPriorityTier = 1\nDefault = true\n"
        '[partitions.high]\nPriorityTier = 10\nPreemptMode = "OFF"\n'
    )
    time.sleep(3.0)  # Slurm has given its reasons
    before = cluster.table()
    assert "RUNNING" in before
    journal = tmp_path / "journal"
    arguments = ["--policy", "slurm", "--config", str(config), "--once", "--dry-run"]
    assert main(["watch", "--journal", str(journal), *arguments]) == 0
    out = capsys.readouterr().out
    assert out.count("would run: scontrol requeuehold Incomplete") == 3  # one step a job that waits
    assert cluster.table() == before
    assert not journal.exists()


def test_thirty_nasty_names(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    canary = tmp_path / "canary"
    names = [name.format(canary=canary) if "canary" in name else name for name in NASTY]
    assert len(names) == 30
    low = [
        cluster.submit(1, f"--job-name={name}", f"--comment={name}", f"--account={name}", f"--wckey={name}")
        for name in names
    ]
    cluster.wait(low, "RUNNING")
    written = {name: cluster.jobs()[name]["name"] for name in low}
    high = [urgent(cluster, f"--job-name={name}", f"--comment={name}") for name in names[:6]]
    for pools in ("partition", "account"):
        adapter = Slurm(pools=pools)  # type: ignore[arg-type]
        snapshot = adapter.snapshot()
        assert set(low) <= set(map(str, snapshot.names("operations")))
        assert not set("\x1b\x07\u202e") & set(repr(snapshot) + repr(snapshot.table("operations")))
    with driver(tmp_path, adapter) as driving:
        report = driving.act(eh.plan(adapter.snapshot(), Scripted(urgent="high")))
    assert {row.outcome for row in report.rows} == {"started"}
    text = repr(report) + (tmp_path / "journal").read_text()
    assert main(["journal", str(tmp_path / "journal")]) == 0
    out = capsys.readouterr().out
    assert not [c for c in text + out if ord(c) < 32 and c != "\n"]
    jobs = cluster.jobs()
    assert {name: jobs[name]["name"] for name in low} == written
    assert {jobs[name]["job_state"] for name in high} == {"RUNNING"}
    assert not canary.exists()
    victims = {victim for row in report.rows for victim in row.victims}
    assert len(victims) >= 12
    with capsys.disabled():
        print(
            f"\n{len(names)} nasty names, {len(victims)} of them victims of {len(high)} nasty beneficiaries"
        )


def test_text_where_there_is_no_json(cluster: Cluster) -> None:
    low, high = full(cluster), urgent(cluster)
    behind, until = cluster.submit(4), time.monotonic() + 120  # no room for it once `high` was looked at
    while not cluster.jobs()[behind]["state_description"] and time.monotonic() < until:
        time.sleep(0.2)
    plain, text = Slurm(), Slurm()
    text._reader.json = False
    one, other = plain.snapshot(), text.snapshot()
    for table in ("nodes", "requests"):
        assert one.table(table).to_dict() == other.table(table).to_dict()
    assert {high, behind} <= set(map(str, other.names("requests")))
    columns = ("name", "node", "resources.cpu", "resources.memory", "start_time")
    for column in columns:
        assert list(one.table("allocations")[column]) == list(other.table("allocations")[column])
    assert str(next(iter(eh.plan(other, policy()).decisions.victims)).operation) in low
    assert text.look([high])[high].state == "pending"


def test_suspended_jobs_resume_when_their_room_is_free(cluster: Cluster, tmp_path: Path) -> None:
    low, high = full(cluster), urgent(cluster)
    adapter = Slurm()
    with driver(tmp_path, adapter) as driving:
        (row,) = driving.act(eh.plan(adapter.snapshot(), Scripted(mode="suspend", urgent="high"))).rows
        assert row.outcome == "started"
        (victim,) = row.victims
        assert victim in low
        assert cluster.jobs()[victim]["job_state"] == "SUSPENDED"
        driving.recover()
        assert cluster.jobs()[victim]["job_state"] == "SUSPENDED", "its cpus are in use"
        assert not adapter.room(victim)
        cluster.run("scancel", high)
        cluster.wait([high], "CANCELLED")
        driving.recover()
        assert cluster.jobs()[victim]["job_state"] == "RUNNING"
        assert not driving.book.owed


def test_watch_ends_cleanly_on_a_signal(cluster: Cluster, tmp_path: Path) -> None:
    low, high = full(cluster), urgent(cluster)
    config = tmp_path / "policy.toml"
    config.write_text(
        'PreemptType = "preempt/partition_prio"\nPreemptMode = "REQUEUE"\n'
        '[partitions]\nlow = {PriorityTier = 1}\nhigh = {PriorityTier = 10, PreemptMode = "OFF"}\n'
    )
    files = {name: str(tmp_path / name) for name in ("journal", "state", "metrics")}
    command = [sys.executable, "-m", "evenhand", "watch", "--policy", "slurm", "--config", str(config)]
    command += [part for name, path in files.items() for part in (f"--{name}", path)]
    environment = {**cluster.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = subprocess.Popen(
        [*command, "--interval", "1"], env=environment, stdout=subprocess.PIPE, text=True
    )
    cluster.wait([high], "RUNNING", seconds=120)
    time.sleep(1.5)
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=120)
    assert running.returncode == 0
    assert f"started: {high} runs, " in out
    assert "evenhand_evictions_total 1\n" in Path(files["metrics"]).read_text()
    assert json.loads(Path(files["state"]).read_text())["schema"] == "evenhand/state/1"
    assert [line["outcome"] for line in read(files["journal"]) if line["kind"] == "end"] == ["started"]
    assert restarts(cluster, low) == 1


@pytest.mark.parametrize("before", [True, False], ids=["before_the_command", "after_it"])
def test_an_outage_of_slurmctld_within_a_step(before: bool, cluster: Cluster, tmp_path: Path) -> None:
    """The step ends once the controller answers: one job leaves, once, and is released."""
    low, high = full(cluster), urgent(cluster)
    outage = Outage(cluster.stop_controller, cluster.start_controller, "requeuehold", before=before)
    adapter = Slurm(runner=outage)
    assert adapter.identity
    until = time.monotonic() + 600
    with driver(tmp_path, adapter, timing=Timing(start=120.0, settle=5.0, poll=0.5, forget=20.0)) as driving:
        while driving.book.open or driving.book.owed or not driving.book.ends.get("started"):
            assert time.monotonic() < until, driving.book.ends
            with contextlib.suppress(AdapterError):
                driving.recover()
                driving.act(eh.plan(driving.snapshot(), policy()))
            time.sleep(0.5)
    assert len(outage.failed) == 3
    jobs = cluster.jobs()
    assert jobs[high]["job_state"] == "RUNNING"
    assert restarts(cluster, low) == 1
    assert all(jobs[name]["priority"] > 0 for name in low), "held"
    lines = read(tmp_path / "journal")
    ends = [line["outcome"] for line in lines if line["kind"] == "end"]
    assert ends.count("started") == 1
    assert len(ends) == sum(line["kind"] == "step" for line in lines)


@pytest.mark.slow
def test_a_thousand_jobs_within_a_second(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    low = [cluster.submit(1) for _ in range(32)]
    cluster.wait(low, "RUNNING")
    cluster.run("scontrol", "update", "PartitionName=low", "State=INACTIVE", check=False)
    cluster.run("scontrol", "update", "PartitionName=low", "State=UP")
    low += [cluster.submit(1) for _ in range(948)]
    high = [cluster.submit(4, partition="high") for _ in range(20)]
    time.sleep(5)
    own, parts = [], []
    for _ in range(5):
        adapter = Slurm()
        begin = time.perf_counter()
        snapshot = adapter.snapshot()
        read_at = time.perf_counter()
        plan = eh.plan(snapshot, policy())
        decisions = len(plan.decisions)
        end = time.perf_counter()
        theirs = sum(adapter.seconds.values())
        own.append(end - begin - theirs)
        parts.append((theirs, read_at - begin - theirs, end - read_at))
    best = min(range(5), key=own.__getitem__)
    with capsys.disabled():
        print(
            f"\n{len(low) + len(high)} jobs, {snapshot.request_count} requests, {decisions} decisions: read "
            f"{parts[best][1] * 1e3:.0f} ms, planned {parts[best][2] * 1e3:.0f} ms; Slurm's commands "
            f"{parts[best][0] * 1e3:.0f} ms; worst of five {max(own) * 1e3:.0f} ms"
        )
    assert decisions > 0
    assert own[best] < 1.0
