"""slurm.conf as Slurm reads it: each kind of line, read or refused with what to do.

The texts are this project's own, written from the grammar of the manual page slurm.conf and from what Slurm's
parser does with each (a key is letters, digits, dots and underscores; a value is quoted or has no blanks; one
key a line but for nodes, partitions and the like). Those below "published" are cut down from what sites and
installers have published.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.slurm.text.accounting import parse_associations, parse_qos, parse_shares
from evenhand.systems.slurm.text.conf import read_conf
from evenhand.systems.slurm.text.partitions import read_partitions

BASE = {"SchedulerType": "sched/backfill"}


def read(text: str) -> tuple[dict[str, Any], list[str]]:
    notes: list[str] = []
    return read_conf(text, notes=notes), notes


#: Text, what it says beside the scheduler's default, and how many notes there are.
READ: dict[str, tuple[str, dict[str, Any], int]] = {
    "joined without a blank": ("KillWait=1\\\n5\n", {"KillWait": 15.0}, 0),
    "joined with the blanks before it": ("PreemptMode=REQUEUE \\\n\n", {"PreemptMode": "REQUEUE"}, 0),
    "blanks behind the backslash": ("KillWait=1\\  \n5\n", {"KillWait": 15.0}, 0),
    "a word cut by the line end": ("Preempt\\\nMode=CANCEL\n", {"PreemptMode": "CANCEL"}, 0),
    "two backslashes are one": ("Epilog=/a\\\\\nKillWait=3\n", {"KillWait": 3.0}, 0),
    "three continue": ("Epilog=/a\\\\\\\nb\nKillWait=3\n", {"KillWait": 3.0}, 0),
    "the end of the file": ("KillWait=1\\", {"KillWait": 1.0}, 0),
    "a comment": ("KillWait=3#5\n# KillWait=7\n", {"KillWait": 3.0}, 0),
    "a comment continues nothing": (
        "KillWait=3 # \\\nMessageTimeout=5\n",
        {"KillWait": 3.0, "MessageTimeout": 5.0},
        0,
    ),
    "an escaped #": ("MailDomain=a\\#b\nKillWait=3\n", {"KillWait": 3.0}, 0),
    "blanks around the sign": ("  KillWait  =  3  \n", {"KillWait": 3.0}, 0),
    "quotes": ('KillWait="3"\nSlurmdParameters="a b"\n', {"KillWait": 3.0}, 0),
    "empty quotes": ('PreemptMode=""\n', {"PreemptMode": ""}, 0),
    "no case": ("KILLWAIT=3\n", {"KillWait": 3.0}, 0),
    "other line ends": ("KillWait=3\r\nMessageTimeout=5\r\n", {"KillWait": 3.0, "MessageTimeout": 5.0}, 0),
    "a key twice": ("KillWait=3\nkillwait=4\n", {"KillWait": 4.0}, 1),
    "a key twice, with the same value": ("KillWait=3\nKillWait=3\n", {"KillWait": 3.0}, 0),
    "parameters twice": (
        "SchedulerParameters=bf_max_job_test=7,bf_resolution=60\nSchedulerParameters=bf_max_job_test=9\n",
        {"bf_max_job_test": 9},
        1,
    ),
    "several controllers": ("SlurmctldHost=a(10.0.0.1)\nSlurmctldHost=b(10.0.0.2)\n", {}, 0),
    "older words": ("ControlMachine=a\nFastSchedule=1\nBackupController=b\nCryptoType=crypto/munge\n", {}, 3),
    "newer words": ("HealthCheckTimeout=5\nLicenseParameters=x\nMetricsType=y\nNamespaceType=z\n", {}, 0),
    "a word of a release to come": ("ZebraStripes=4\nKillWait=3\n", {"KillWait": 3.0}, 1),
    "a parameter of a release to come": (
        "PreemptParameters=zebra=4,youngest_first\n",
        {"youngest_first": True},
        1,
    ),
    "an operator": ("KillWait+=3\n", {"KillWait": 3.0}, 0),
    "yes in its forms": (
        "JobRequeue=0\nPriorityFavorSmall=down\n",
        {"JobRequeue": False, "PriorityFavorSmall": False},
        0,
    ),
}
#: Text, and what the partitions say.
PARTITIONS: dict[str, tuple[str, dict[str, dict[str, Any]], int]] = {
    "all in small letters": ("PartitionName=a Nodes=all\n", {"a": {"Nodes": "ALL"}}, 0),
    "the last default": (
        "PartitionName=a Default=YES\nPartitionName=b Default=NO\nPartitionName=c Default=YES\n",
        {
            "a": {"Nodes": "", "Default": False},
            "b": {"Nodes": "", "Default": False},
            "c": {"Nodes": "", "Default": True},
        },
        0,
    ),
    "DEFAULT lines add up": (
        (
            "PartitionName=DEFAULT Nodes=n1 GraceTime=5\nPartitionName=DEFAULT GraceTime=7\nPartitionName=a\n"
            "PartitionName=DEFAULT Nodes=n2\nPartitionName=b\n"
        ),
        {"a": {"Nodes": "n1", "GraceTime": 7.0}, "b": {"Nodes": "n2", "GraceTime": 7.0}},
        0,
    ),
    "a partition twice": (
        "PartitionName=a Nodes=n1 GraceTime=5\nPartitionName=a Nodes=n2\n", {"a": {"Nodes": "n2"}}, 1,
    ),
    "a word twice in a line": ("PartitionName=a Nodes=n1 Nodes=n2\n", {"a": {"Nodes": "n2"}}, 0),
    "GANG is the cluster's": (
        "PartitionName=a PreemptMode=SUSPEND,GANG\nPartitionName=b PreemptMode=GANG\n",
        {"a": {"Nodes": "", "PreemptMode": "SUSPEND"}, "b": {"Nodes": "", "PreemptMode": None}},
        2,
    ),
    "Shared and Priority, the older words": (
        "PartitionName=a Shared=FORCE:1 Priority=7\n",
        {"a": {"Nodes": "", "OverSubscribe": "FORCE:1", "PriorityTier": 7, "PriorityJobFactor": 7}},
        0,
    ),
    "Exclusive, the newer word": (
        "PartitionName=a Exclusive=node\nPartitionName=b Exclusive=USER\nPartitionName=c ExclusiveUser=YES\n",
        {"a": {"Nodes": "", "OverSubscribe": "EXCLUSIVE"}, "b": {"Nodes": ""}, "c": {"Nodes": ""}},
        2,
    ),
    "a word of a release to come": ("PartitionName=a Nodes=n1 Zebra=4\n", {"a": {"Nodes": "n1"}}, 1),
    "a value that takes the next word": (
        "PartitionName=a AllowGroups= State=DOWN Nodes=n1\n", {"a": {"Nodes": "n1"}}, 0,
    ),
    "features by default": (
        (
            "NodeName=DEFAULT Feature=x\nNodeName=n[1-2]\nNodeName=n3 Feature=y\n"
            "NodeSet=s Feature=x\nPartitionName=a Nodes=s\n"
        ),
        {"a": {"Nodes": "n1,n2"}},
        0,
    ),
}  # fmt: skip
#: Text, line, rule and a word of what is said.
REFUSED: dict[str, tuple[str, int, str, str]] = {
    "no pair": ("KillWait=3\nhello\n", 2, "syntax", "no name=value"),
    "no value": ("KillWait=\n", 1, "syntax", "no name=value"),
    "two on a line": ("KillWait=3 MessageTimeout=5\n", 1, "syntax", "one parameter a line"),
    "a misspelt word that counts": ("PreemtMode=CANCEL\n", 1, "unknown_field", 'did you mean "PreemptMode"'),
    "one of a partition": ("PartitionName=a PriorityTeir=1\n", 1, "unknown_field", "PriorityTier"),
    "one of the parameters": ("PreemptParameters=reorder=1\n", 1, "unknown_field", "reorder_count"),
    "no number": ("\nKillWait=soon\n", 2, "type", "no number"),
    "no sharing": ("PartitionName=a Exclusive=SOME\n", 1, "type", "none of NO, NODE"),
    "an include in a text": ("include more.conf\n", 1, "syntax", "give the path of the file"),
    "continued over several": ("KillWait=3\nMessage\\\nTimeout=\\\nx\n", 2, "type", "no number"),
}


@pytest.mark.parametrize("kind", READ)
def test_what_is_read(kind: str) -> None:
    text, expected, count = READ[kind]
    settings, notes = read(text)
    assert settings == BASE | expected
    assert len(notes) == count, notes


@pytest.mark.parametrize("kind", PARTITIONS)
def test_partitions(kind: str) -> None:
    text, expected, count = PARTITIONS[kind]
    settings, notes = read(text)
    assert settings["partitions"] == expected
    assert len(notes) == count, notes
    assert all(note.startswith("line ") for note in notes)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(kind: str) -> None:
    text, row, rule, word = REFUSED[kind]
    with pytest.raises(eh.InputError) as caught:
        read(text)
    (problem,) = caught.value.problems
    assert (problem.row, problem.rule) == (row, rule)
    assert word in problem.message


# Files that are included


def test_included_files(tmp_path: Path) -> None:
    """Beside the file or below it, by the cluster's name, and within each other."""
    (tmp_path / "more").mkdir()
    main = tmp_path / "slurm.conf"
    main.write_text("ClusterName=Lab\nInclude more/%c.conf\ninclude /etc/slurm/parts.conf\nKillWait=3\n")
    (tmp_path / "more" / "lab.conf").write_text("KillWait=7\nMessageTimeout=5\ninclude deep.conf\n")
    (tmp_path / "more" / "deep.conf").write_text("PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n")
    (tmp_path / "parts.conf").write_text("PartitionName=a Nodes=ALL Zebra=1\n")
    policy = eh.policies.Slurm.from_conf(main)
    settings = policy.settings
    assert (settings.KillWait, settings.MessageTimeout, settings.PreemptMode) == (3.0, 5.0, "CANCEL")
    assert list(settings.partitions) == ["a"]
    (said,) = policy.diagnostics
    assert said.code == "slurm_not_read"
    assert (
        said.numbers["notes"]
        == ["line 4: KillWait is there twice; this one counts", "parts.conf line 1: Zebra is unknown"][::-1]
    )
    (tmp_path / "parts.conf").write_text("PartitionName=a\nKillWait=x\nNodeName\n")
    with pytest.raises(eh.InputError) as caught:
        eh.policies.Slurm.from_conf(main)
    assert [p.message for p in caught.value.problems] == ["parts.conf line 3: NodeName is no name=value"]


def test_files_that_cannot_be_included(tmp_path: Path) -> None:
    main = tmp_path / "slurm.conf"
    main.write_text("KillWait=3\ninclude /nowhere/parts.conf\ninclude slurm.conf\n")
    with pytest.raises(eh.InputError) as caught:
        eh.policies.Slurm.from_conf(main)
    messages = [problem.message for problem in caught.value.problems]
    assert "there is no such file, here or beside this one" in messages[0]
    assert any("include each other" in message for message in messages)


def test_what_is_said_of_a_file_is_said_of_its_plans() -> None:
    policy = eh.policies.Slurm.from_conf("ZebraStripes=4\nPartitionName=a Nodes=ALL\n")
    snapshot = eh.Snapshot.from_dict({"now": 1, "resources": {"cpu": {}}, "nodes": [], "pools": []})
    assert [d.code for d in eh.plan(snapshot, policy).diagnostics] == ["slurm_not_read"]
    assert policy == eh.policies.Slurm("upstream", **read("ZebraStripes=4\nPartitionName=a Nodes=ALL\n")[0])
    assert policy.replace(KillWait=5).diagnostics == policy.diagnostics
    import pickle

    assert pickle.loads(pickle.dumps(policy)).diagnostics == policy.diagnostics


# Files that were published

#: An installer's file for two nodes: older words, and a parameter twice.
INSTALLER = """\
ClusterName=lab
SlurmctldHost=node1(127.0.0.1)
CryptoType=crypto/munge
FastSchedule=1
AccountingStorageTRES=gres/gpu
SchedulerParameters=kill_invalid_depend,permit_job_expansion
SelectType=select/cons_tres
PreemptType=preempt/qos
PreemptMode=REQUEUE
AccountingStorageTRES=gres/gpu,gres/gpu:a
NodeName=node1 CPUs=64 Gres=gpu:h200:8 State=UNKNOWN
NodeName=node2 CPUs=64 Gres=gpu:h200:8 State=UNKNOWN
PartitionName=gpu Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE
PartitionName=debug Nodes=node1,node2 MaxTime=02:00:00 State=UP OverSubscribe=YES:2
"""
#: Words of releases up to 21.08.
OLDER = """\
ControlMachine=ctl1
BackupController=ctl2
CacheGroups=0
JobCredentialPrivateKey=/etc/slurm/private.key
AcctGatherInfinibandType=acct_gather_infiniband/none
SchedulerPort=7321
SelectType=select/cons_res
PreemptType=preempt/partition_prio
PreemptMode=SUSPEND,GANG
NodeName=hpc[400-402] Procs=3 State=UNKNOWN
PartitionName=uctlo Nodes=hpc[400-402] Priority=1 Shared=FORCE:1 Default=YES
PartitionName=ucthi Nodes=hpc[400-402] Priority=10 Shared=FORCE:1
"""
#: What a login node of a large site prints of its QOS.
SITE_QOS = """\
Name|Priority|GraceTime|Preempt|PreemptExemptTime|PreemptMode|Flags|UsageThres|UsageFactor|GrpTRES|MaxWall|MaxTRESPU|MaxTRESPA
cpu-dev|80|00:00:00|||cluster|||1.000000|cpu=96000|02:00:00|cpu=10240|cpu=10240
gpu-dev|80|00:00:00|cpu-dev,elsewhere||cluster|||1.000000|cpu=10240,gres/gpu=512|02:00:00||
"""
DUMP = """\
# To edit this file start with a cluster line for the new cluster
QOS - 'standard':Description='default general-purpose qos':MaxWallDurationPerJob=1440:Priority=100
Cluster - 'linux':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
"""
JOBS = "JobID|JobName|Partition|State\n7|a|low|RUNNING\n"


def test_published_files() -> None:
    settings, notes = read(INSTALLER)
    assert (settings["PreemptType"], settings["partitions"]["debug"]["MaxTime"]) == ("preempt/qos", 7200.0)
    assert len(notes) == 3
    eh.policies.Slurm.from_conf(INSTALLER)
    settings, notes = read(OLDER)
    assert settings["partitions"]["ucthi"]["PriorityTier"] == 10
    assert settings["partitions"]["uctlo"]["OverSubscribe"] == "FORCE:1"
    assert len(notes) == 5
    eh.policies.Slurm.from_conf(OLDER)


def test_a_list_of_qos_that_lacks_some() -> None:
    notes: list[str] = []
    qos = parse_qos(SITE_QOS, notes=notes)
    assert qos["gpu-dev"]["Preempt"] == ["cpu-dev"]
    assert notes == ["QOS gpu-dev may preempt elsewhere, which the list lacks"]
    base = "PreemptType=preempt/qos\nPreemptMode=REQUEUE\n"
    policy = eh.policies.Slurm.from_conf(base, qos=SITE_QOS)
    assert policy.diagnostics[0].numbers["notes"] == notes
    assert parse_qos("Name|Zebra\na|1\n", notes=notes) == {"a": {}}
    assert "Zebra" in notes[-1]
    with pytest.raises(eh.InputError, match="Priority"):
        parse_qos("Name|Prioritee\na|1\n")


@pytest.mark.parametrize(
    ("parse", "command"),
    [
        (parse_qos, "sacctmgr -P show qos"),
        (parse_shares, "sshare -a -m -P"),
        (parse_associations, "sacctmgr -P show assoc"),
    ],
)
def test_what_another_command_prints(parse: Any, command: str) -> None:
    """What to do instead is said."""
    for text, what in ((DUMP, "sacctmgr dump"), (JOBS, "sacct prints")):
        with pytest.raises(eh.InputError) as caught:
            parse(text)
        (problem,) = caught.value.problems
        assert what in problem.message
        assert problem.message.endswith(f"wanted is what {command} prints")
    with pytest.raises(eh.InputError, match=f"as {command} prints them"):
        parse("Zebra\n1\n")


def test_shown_partitions_with_words_to_come() -> None:
    notes: list[str] = []
    assert read_partitions("PartitionName=a Nodes=n1 Zebra=1\n", notes=notes) == {"a": {"Nodes": "n1"}}
    assert notes == ["line 1: Zebra is unknown"]
