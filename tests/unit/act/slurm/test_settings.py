"""Slurm's rules and shares as the cluster itself says them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act.journal import read
from evenhand.adapters import AdapterError
from evenhand.adapters.commands import Result
from evenhand.cli import main
from evenhand.systems.slurm.adapter.live import Slurm
from tests.unit.act.slurm.cluster import Clock, FakeSlurm, job

MODES = "PreemptMode             = OFF\nPreemptType             = preempt/none"


def cluster(*, accounting: bool = True, preempts: str = "") -> tuple[Slurm, FakeSlurm]:
    clock = Clock()
    fake = FakeSlurm(clock, {"n1": 4, "n2": 4, "n3": 4}, [job(1, 2, node="n1", account="chem"), job(2, 4)])
    if accounting:
        fake.shows["config"] = fake.shows["config"].replace("_storage/none", "_storage/slurmdbd")
    if preempts:
        said = f"PreemptMode             = REQUEUE\nPreemptType             = {preempts}"
        fake.shows["config"] = fake.shows["config"].replace(MODES, said)
        fake.shows["partition"] = fake.shows["partition"].replace("PreemptMode=OFF", "PreemptMode=CANCEL")
    return Slurm(runner=fake, clock=clock, pools="account"), fake


def test_rules_of_a_cluster_that_preempts() -> None:
    adapter, fake = cluster(preempts="preempt/qos")
    settings = adapter.policy().settings
    assert (settings.PreemptType, settings.PreemptMode, settings.KillWait) == ("preempt/qos", "REQUEUE", 3.0)
    assert settings.partitions["main"].PreemptMode == "CANCEL"
    assert settings.qos["gold"].Preempt == ("normal",)
    assert adapter.notices == (
        "the cluster preempts by itself (PreemptType=preempt/qos), and chooses victims of its own",
    )
    assert {command[0] for command in fake.asked} == {"scontrol", "sacctmgr"}
    assert all("show" in command for command in fake.asked)


def test_a_cluster_that_preempts_nobody_leaves_the_rules_to_the_settings() -> None:
    adapter, _ = cluster()
    settings = adapter.policy(
        PreemptType="preempt/partition_prio",
        PreemptMode="REQUEUE",
        partitions={"main": {"PriorityTier": 7}},
        qos={"gold": {"Priority": 3}},
    ).settings
    assert settings.partitions["main"].PreemptMode is None  # what it shows is the cluster's own OFF
    assert settings.partitions["main"].PriorityTier == 7
    assert settings.partitions["main"].Nodes == ("n1", "n2", "n3")
    assert (settings.qos["gold"].Priority, settings.qos["gold"].GraceTime) == (3, 5.0)
    assert not adapter.notices
    adapter.policy()
    assert [notice[:24] for notice in adapter.notices] == ["no job will be preempted"]
    for table, name, meant in (("partitions", "mein", "main"), ("qos", "golt", "gold")):
        with pytest.raises(eh.InputError, match=f'no {table}.{name}; did you mean "{meant}"'):
            adapter.policy(**{table: {name: {}}})
    with pytest.raises(eh.InputError, match="PriorityTear"):
        adapter.policy(partitions={"main": {"PriorityTear": 7}})


def test_without_accounting_there_are_no_qos_and_no_shares() -> None:
    adapter, fake = cluster(accounting=False)
    assert adapter.policy().settings.qos == {}
    assert list(adapter.snapshot().names("pools")) == ["<Root>", "chem", "none"]
    assert [n for n in adapter.notices if "no accounting" in n] == list(adapter.notices[1:])
    assert len(adapter.notices) == 3
    assert not {"sacctmgr", "sshare"} & {command[0] for command in fake.asked}


def test_accounts_become_a_tree_with_their_shares() -> None:
    adapter, _ = cluster()
    pools = {row["name"]: row for row in adapter.snapshot().to_dict()["pools"]}
    assert {name: row.get("parent") for name, row in pools.items() if name != "none"} == {
        "root": None,
        "industry": "root",
        "solo": "industry",
        "labs": "root",
        "chem": "labs",
        "phys": "labs",
    }
    weights = {name: row.get("weight", 1) for name, row in pools.items()}
    assert (weights["industry"], weights["solo"], weights["phys"]) == (60, 1, 30)
    assert not adapter.notices


@pytest.mark.parametrize("what", ["config", "partition", "qos", "shares"])
def test_answers_that_are_not_whole(what: str) -> None:
    adapter, fake = cluster()
    fake.shows[what] = fake.shows[what][:-35]

    def use() -> Any:
        return adapter.snapshot() if what == "shares" else adapter.policy()

    with pytest.raises(AdapterError) as caught:
        use()
    assert "\n" not in str(caught.value)
    fake.shows[what] = ""
    with pytest.raises(AdapterError):
        use()


@pytest.mark.parametrize("program", ["scontrol", "sacctmgr", "sshare"])
def test_a_database_that_does_not_answer(program: str) -> None:
    adapter, fake = cluster()
    setattr(fake, program, lambda rest: Result(1, "", "sacctmgr: error: Sending PersistInit msg\nrefused"))
    with pytest.raises(AdapterError, match=f"^{program}: .*refused") as caught:
        adapter.snapshot() if program == "sshare" else adapter.policy()
    assert "\n" not in str(caught.value)


def listed(head: str, *rows: str) -> str:
    """Return a table as ``-P`` prints it; rows say cells by name."""
    names = head.split("|")
    said = [dict(cell.split("=", 1) for cell in row.split(" ")) for row in rows]
    return "".join(
        "|".join(cells) + "\n" for cells in (names, *([row.get(n, "") for n in names] for row in said))
    )


ASSOC = (
    listed(
        "Cluster|Account|User|Partition|Par Name|GrpJobs|GrpTRES|GrpTRESMins|GrpWall|MaxJobs|MaxTRES",
        "Cluster=fake Account=root",
        "Cluster=fake Account=labs GrpTRES=cpu=4",
        "Cluster=fake Account=chem",
        "Cluster=fake Account=chem User=ann MaxJobs=1",
        "Cluster=other Account=chem User=ann GrpJobs=9",
    )
    .replace("fake|labs|||", "fake|labs|||root")
    .replace("fake|chem|||", "fake|chem|||labs", 1)
)


def test_limits_where_the_cluster_enforces_them() -> None:
    adapter, fake = cluster(preempts="preempt/qos")
    fake.shows["assoc"] = ASSOC
    fake.schedule = lambda: None  # type: ignore[method-assign]
    adapter.policy()
    assert not any("assoc" in words for words in fake.asked), "it does not say that limits are enforced"
    for words, enforced in (("associations,limits,qos", True), ("safe", True), ("associations,qos", False)):
        plain = cluster(preempts="preempt/qos")[1].shows["config"]
        fake.shows["config"] = plain.replace("KillWait", f"AccountingStorageEnforce = {words}\nKillWait")
        fake.asked.clear()
        settings = adapter.policy().settings
        assert any("assoc" in words for words in fake.asked) == enforced
        assert settings.AccountingStorageEnforce == tuple(words.split(","))
        limits = {
            name: one.model_dump(exclude_defaults=True) for name, one in settings.association_limits.items()
        }
        assert limits == (
            {"labs": {"GrpTRES": {"cpu": 4}}, "chem/ann": {"MaxJobs": 1, "parent": "labs"}}
            if enforced
            else {}
        )
    fake.shows["config"] = plain.replace("KillWait", "AccountingStorageEnforce = limits\nKillWait")
    plan = eh.plan(adapter.snapshot(), adapter.policy())
    assert [d.action for d in plan.decisions] == ["start"], "its account is another"
    fake.jobs["2"]["account"] = "chem"  # of which the user may run one job, which runs
    plan = eh.plan(adapter.snapshot(), adapter.policy())
    assert [r.rule for r in plan.refusals] == ["limit_reached"]
    assert "`MaxJobs` of association chem/ann is 1 jobs" in plan.why("2").summary


def test_the_release_is_known_once_the_cluster_says_who_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Printed in the first line, and in the journal from its first line on."""
    _, fake = cluster()
    monkeypatch.setattr("evenhand.systems.slurm.adapter.live.Subprocesses", lambda: fake)
    journal = tmp_path / "journal"
    assert main(["watch", "--once", "--journal", str(journal), "--lock", str(tmp_path / "lock")]) == 0
    assert capsys.readouterr().out.startswith("rules: slurm:upstream; the cluster runs slurm 22.05.8\n")
    released = {line["kind"]: line.get("version") for line in read(journal)}
    assert released["run"] == "22.05.8"
