"""A real Slurm with a database: preemption by QOS, accounting that a dry run leaves alone, users' names."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act.journal import read
from evenhand.adapters import AdapterError
from evenhand.cli import main
from evenhand.systems.slurm.adapter.live import Slurm
from tests.live.slurm.accounting import FIRST_UID, NASTY_USERS
from tests.live.slurm.conftest import Accounted, Cluster

pytestmark = pytest.mark.live

QOS = {
    "low": "",
    "middling": "Priority=5",
    "shielded": "PreemptExemptTime=00:10:00",
    "ended": "PreemptMode=cancel",
    "patient": "PreemptMode=cancel GraceTime=4",
    "spared": "PreemptMode=requeue",
    "urgent": "Preempt=low,middling,shielded,ended,patient Priority=100",
    "modest": "Preempt=low Priority=50",
}
TIERS = """\
PreemptType = "preempt/partition_prio"
PreemptMode = "REQUEUE"
[partitions.high]
PreemptMode = "OFF"
"""


@pytest.fixture(scope="module", autouse=True)
def _qos(accounting: Accounted) -> None:
    for name, settings in QOS.items():
        accounting.cluster.run("sacctmgr", "-i", "add", "qos", name)
        if settings:
            accounting.cluster.run("sacctmgr", "-i", "modify", "qos", name, "set", *settings.split())


@dataclass(frozen=True)
class Scenario:
    """Jobs of whole nodes by QOS, and who comes."""

    running: tuple[str, ...]
    comes: str
    nodes: int = 1


SCENARIOS = {
    "all_may_go": Scenario(("low",) * 8, "urgent"),
    "not_in_the_list": Scenario(("low",) * 8, "middling"),
    "lower_priority_first": Scenario(("middling",) * 6 + ("low",) * 2, "urgent", 3),
    "exempt": Scenario(("shielded",) * 7 + ("low",), "urgent"),
    "all_exempt": Scenario(("shielded",) * 8, "urgent"),
    "cancelled": Scenario(("ended",) * 8, "urgent", 2),
    "grace": Scenario(("patient",) * 8, "urgent"),
    "shorter_list": Scenario(("middling",) * 5 + ("low",) * 3, "modest", 2),
    "too_wide": Scenario(("spared",) * 6 + ("low",) * 2, "urgent", 3),
}


def drawn(count: int, seed: int) -> dict[str, Scenario]:
    chance = random.Random(seed)
    names = [name for name in QOS if name not in ("urgent", "modest")]
    return {
        f"drawn_{seed}_{n}": Scenario(
            tuple(chance.choice(names) for _ in range(8)),
            chance.choice(["urgent", "urgent", "modest"]),
            chance.randrange(1, 5),
        )
        for n in range(count)
    }


def predicted(waiting: str) -> dict[str, tuple[str, float | None]]:
    """Who goes by the cluster's own rules, how, and after which grace."""
    adapter = Slurm()
    plan = eh.plan(adapter.snapshot(released=[waiting]), adapter.policy())
    return {str(d.operation): (str(d.mode), d.grace) for d in plan.decisions.victims}


def played(cluster: Cluster, scenario: Scenario) -> tuple[dict[str, Any], dict[str, Any], float]:
    jobs = [cluster.submit(4, f"--qos={qos}") for qos in scenario.running]
    cluster.wait(jobs, "RUNNING")
    time.sleep(1.1)
    comes = cluster.submit(
        4,
        f"--qos={scenario.comes}",
        "--hold",
        f"-N{scenario.nodes}",
        f"-n{4 * scenario.nodes}",
        "--ntasks-per-node=4",
    )
    wanted = predicted(comes)
    begin = time.monotonic()
    cluster.run("scontrol", "release", comes)
    seconds = 16 if wanted else 6
    while time.monotonic() - begin < seconds and cluster.jobs()[comes]["job_state"] != "RUNNING":
        time.sleep(0.1)
    took = time.monotonic() - begin
    time.sleep(0.3)
    now = cluster.jobs()
    modes = {"PREEMPTED": "terminate"}
    real = {
        name: modes.get(now[name]["job_state"], "requeue")
        for name in jobs
        if now[name]["job_state"] != "RUNNING" or now[name]["restart_cnt"]
    }
    assert (now[comes]["job_state"] == "RUNNING") == bool(wanted)
    return wanted, real, took


def waits(cluster: Cluster, *more: str) -> str:
    """Submit an urgent job that Slurm's own rules, by QOS, preempt nobody for."""
    name = cluster.submit(4, *more, partition="high", seconds=600)
    until = time.monotonic() + 120
    while cluster.jobs()[name]["state_reason"] not in ("Resources", "Priority"):
        assert time.monotonic() < until
        time.sleep(0.1)
    return name


def config(folder: Path) -> str:
    path = folder / "policy.toml"
    path.write_text(TIERS)
    return str(path)


def test_a_dry_run_leaves_queue_and_accounting_unchanged(
    accounted: Accounted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = accounted.cluster
    low = [cluster.submit(4, "--comment=theirs") for _ in range(8)]
    cluster.wait(low, "RUNNING")
    for _ in range(3):
        waits(cluster)
    time.sleep(3.0)  # Slurm has given its reasons

    def all_of_it() -> tuple[str, str, str]:
        fields = "jobid,jobname,user,account,qos,state,submit,eligible,start,end,nodelist,priority,comment"
        tables = ("emu_job_table", "emu_step_table", "emu_suspend_table", "qos_table", "emu_assoc_table")
        return (
            cluster.table(),
            cluster.run("sacct", "-a", "-P", "-o", fields),
            accounted.database.dump(*tables),
        )

    until, before, since = time.monotonic() + 180, all_of_it(), time.monotonic()
    while time.monotonic() < since + 20.0:  # the database learns late of what earlier jobs did, too
        assert time.monotonic() < until
        time.sleep(0.5)
        if (now := all_of_it()) != before:
            before, since = now, time.monotonic()
    assert before[1].count("RUNNING") >= 8
    journal = tmp_path / "journal"
    arguments = ["--config", config(tmp_path), "--once", "--dry-run", "--pools", "account"]
    assert main(["watch", "--journal", str(journal), *arguments]) == 0
    out = capsys.readouterr().out
    assert out.count("would run: scontrol requeuehold Incomplete") == 3  # one step a job that waits
    time.sleep(2.0)  # what was written would have come
    for one, other in zip(before, all_of_it(), strict=True):
        assert other.splitlines() == one.splitlines()
        assert other == one
    assert list(tmp_path.iterdir()) == [tmp_path / "policy.toml"]
    with capsys.disabled():
        sizes = ", ".join(f"{len(part.encode()):,}" for part in before)
        print(f"\nunchanged by a dry run: squeue and completions, sacct, the database: {sizes} bytes")


@pytest.mark.slow
def test_preemption_by_qos(accounted: Accounted, capsys: pytest.CaptureFixture[str]) -> None:
    """Victims and modes that the live configuration predicts are those that slurmctld takes."""
    seed = random.randrange(10**6)
    scenarios = SCENARIOS | drawn(8, seed)
    different, victims = {}, 0
    for name, scenario in scenarios.items():
        accounted.cluster.clear()
        wanted, real, took = played(accounted.cluster, scenario)
        victims += len(real)
        if {job: mode for job, (mode, _) in wanted.items()} != real:
            different[name] = (scenario, wanted, real)
        if name == "grace":
            assert {grace for _, grace in wanted.values()} == {4.0}
            assert took >= 4.0
    with capsys.disabled():
        print(
            f"\n{len(scenarios) - len(different)} of {len(scenarios)} scenarios of QOS as predicted "
            f"(seed {seed}), {victims} victims"
        )
    assert not different
    assert victims >= 10  # the scenarios that are not drawn have that many


def test_slurm_does_not_change_qos_or_account_of_a_job_that_runs(accounted: Accounted) -> None:
    """Else a driver refuses it (``victim_reclassified``); later releases may allow it."""
    cluster = accounted.cluster
    name = cluster.submit(4, "--qos=low")
    cluster.wait([name], "RUNNING")
    for change in ("qos=spared", "account=root"):
        assert "no longer pending" in cluster.said("scontrol", "update", f"jobid={name}", change), change


def test_thirty_nasty_users(accounted: Accounted, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Users whose names are shell, escapes and the notations of Slurm itself: nothing is interpreted."""
    cluster = accounted.cluster
    if not accounted.names:
        pytest.skip("no libnss_wrapper.so: install libnss-wrapper")
    uids = range(FIRST_UID, FIRST_UID + len(NASTY_USERS))
    assert len(uids) == 30
    low = [cluster.submit(1, f"--uid={uid}") for uid in uids] + [cluster.submit(1), cluster.submit(1)]
    cluster.wait(low, "RUNNING")
    written = {job["user_id"]: job["user_name"] for job in cluster.jobs().values()}
    assert sum(written[uid] == name for uid, name in zip(uids, NASTY_USERS, strict=True)) >= 24
    high = [waits(cluster, f"--uid={uid}") for uid in uids[:6]]
    said = ""
    for text_only in (False, True):
        adapter = Slurm(pools="user")
        adapter._reader.json = False if text_only else None
        snapshot = adapter.snapshot()
        assert set(low) <= set(map(str, snapshot.names("operations")))
        said += repr(snapshot) + repr(snapshot.table("operations")) + repr(snapshot.table("pools"))
    journal = str(tmp_path / "journal")
    arguments = ["--config", config(tmp_path), "--pools", "user", "--per-owner", "0", "--per-hour", "0"]
    for _ in high:
        assert main(["watch", "--journal", journal, "--once", "--interval", "1", *arguments]) == 0
    assert main(["journal", journal]) == 0
    out = capsys.readouterr()
    said += out.out + out.err + (tmp_path / "journal").read_text()
    assert not [c for c in said if (ord(c) < 32 and c != "\n") or c in "\u202e\u200b"]
    lines = read(journal)
    ends = [line["outcome"] for line in lines if line["kind"] == "end"]
    assert ends == ["started"] * len(high)
    jobs = cluster.jobs()
    assert {jobs[name]["job_state"] for name in high} == {"RUNNING"}
    assert not (cluster.folder / "canary").exists()
    victims = {v["job"]: v["owner"] for line in lines if line["kind"] == "step" for v in line["victims"]}
    assert set(victims) <= set(low)
    assert all(jobs[name]["restart_cnt"] == 1 for name in victims)
    nasty = sum(owner != "0" for owner in victims.values())
    with capsys.disabled():
        print(f"\n30 nasty users, jobs of {nasty} of them made way for those of {len(high)}")


def test_nasty_names_of_accounts_and_qos(
    accounted: Accounted, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What an administrator of the accounting may call things."""
    cluster = accounted.cluster
    names = [
        "two words",
        "$(reboot)",
        "\x1b[31mred",
        "-x",
        "semi;colon",
        "root(0)",
        "x" * 40,
        "*",
        "\u00e9t\u00e9",
    ]
    known = []
    for name in names:
        for what in ("account", "qos"):
            cluster.run("sacctmgr", "-i", "add", what, f"name={name}")
        known.append(name)
    snapshot = Slurm(pools="account").snapshot()
    found = set(map(str, snapshot.names("pools")))
    assert set(known) | {"root"} <= found
    assert set(known) <= set(Slurm().policy().settings.qos)
    assert not [c for c in repr(snapshot.table("pools")) if ord(c) < 32 and c != "\n"]
    # A bar is what sacctmgr -P puts between its columns.
    cluster.run("sacctmgr", "-i", "add", "qos", "a|b")
    try:
        with pytest.raises(AdapterError, match="sacctmgr") as caught:
            Slurm().policy()
        assert "\n" not in str(caught.value)
        assert main(["watch", "--journal", str(tmp_path / "journal"), "--once", "--dry-run"]) == 1
        assert capsys.readouterr().err.count("\n") == 1
    finally:
        cluster.run("sacctmgr", "-i", "delete", "qos", "a|b")
