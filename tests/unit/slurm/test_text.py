"""slurm.conf and what scontrol prints, read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

import evenhand as eh
from evenhand.config.slurm_shown import read_shown, shown
from evenhand.config.slurm_text import read_conf, read_partitions

CONF = r"""
# a small cluster
ClusterName=test
SlurmctldHost=head(10.0.0.1)
preemptTYPE=preempt/partition_prio   # names know no case
PreemptMode=REQUEUE
PreemptExemptTime=1-02:03:04
SchedulerParameters=bf_interval=2,preempt_youngest_first,default_queue_depth=9
PreemptParameters=reorder_count=3,strict_order,min_exempt_priority=5
JobRequeue=0
KillWait=3
NodeName=n[1-4] CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=DEFAULT Nodes=n[1-3] GraceTime=20
PartitionName=low,lower PriorityTier=1 Default=YES MaxTime=INFINITE State=UP
PartitionName=high PriorityTier=10 \
    Nodes=ALL PreemptMode=off GraceTime=0:30 OverSubscribe=FORCE:1
"""

SHOWN = """\
PartitionName=low
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=6 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=n[1-2]
   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=CANCEL
   State=UP TotalCPUs=8 TotalNodes=2 SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerCPU=100 MaxMemPerNode=UNLIMITED
   TRES=cpu=8,mem=2000M,node=2,billing=8

PartitionName=empty
   Nodes=(null) PriorityTier=2
"""


def test_slurm_conf() -> None:
    assert read_conf(CONF) == {
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "REQUEUE",
        "PreemptExemptTime": 93784.0,
        "youngest_first": True,
        "reorder_count": 3,
        "strict_order": True,
        "min_exempt_priority": 5.0,
        "JobRequeue": False,
        "KillWait": 3.0,
        "SchedulerType": "sched/backfill",
        "partitions": {
            "low": {"Nodes": "n[1-3]", "GraceTime": 20.0, "PriorityTier": 1, "Default": True},
            "lower": {"Nodes": "n[1-3]", "GraceTime": 20.0, "PriorityTier": 1, "Default": True},
            "high": {
                "Nodes": "ALL",
                "GraceTime": 30.0,
                "PriorityTier": 10,
                "PreemptMode": "off",
                "OverSubscribe": "FORCE:1",
            },
        },
    }


@pytest.mark.parametrize("one_line", [False, True])
def test_scontrol_show_partition(one_line: bool) -> None:
    text = SHOWN
    if one_line:
        text = "\n".join(" ".join(part.split()) for part in SHOWN.split("\n\n"))
    found = read_partitions(text)
    assert found["low"] == {
        "Default": True,
        "QOS": None,
        "GraceTime": 6.0,
        "Nodes": "n[1-2]",
        "PriorityTier": 1,
        "PriorityJobFactor": 1,
        "OverSubscribe": "NO",
        "PreemptMode": "CANCEL",
    }
    assert found["empty"] == {"Nodes": "", "PriorityTier": 2}


def test_what_a_partition_inherits_is_shown_as_its_own() -> None:
    shown = "PartitionName=low\n   PriorityTier=1 PreemptMode=GANG,SUSPEND OverSubscribe=FORCE:1\n"
    policy = eh.policies.Slurm.from_conf(
        "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n", partitions=shown
    )
    assert policy.settings.partitions["low"].PreemptMode == "SUSPEND"


def test_a_policy_from_both(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text("PreemptType=preempt/qos\nPreemptMode=CANCEL\nPartitionName=x Nodes=ALL\n")
    policy = eh.policies.Slurm.from_conf(path, partitions=SHOWN, qos={"a": {}, "b": {"Preempt": ["a"]}})
    assert set(policy.settings.partitions) == {"low", "empty"}
    assert policy.settings.qos["b"].Preempt == ("a",)


def test_all_that_is_unknown_is_named_with_its_line() -> None:
    text = (
        "ClusterName=x\nPreemtMode=CANCEL\nPartitionName=a PriorityTeir=1\nPreemptParameters=reorder=1\nhello"
    )
    with pytest.raises(eh.InputError) as caught:
        read_conf(text)
    found = [(p.row, p.field, p.rule) for p in caught.value.problems]
    assert found == [
        (2, "PreemtMode", "unknown_field"),
        (3, "PriorityTeir", "unknown_field"),
        (4, "PreemptParameters.reorder", "unknown_field"),
        (5, "hello", "syntax"),
    ]
    assert 'did you mean "PreemptMode"' in caught.value.problems[0].message


@pytest.mark.parametrize(
    "line", ["PreemptExemptTime=soon", "KillWait=a", "JobRequeue=maybe", "PreemptParameters=reorder_count=x"]
)
def test_values_that_cannot_be_read(line: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        read_conf(line)
    assert caught.value.problems[0].rule == "type"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 300),
        ("5:30", 330),
        ("1:00:00", 3600),
        ("1-12", 129600),
        ("1-00:30", 88200),
        ("-1", None),
        ("0", None),
    ],
)
def test_times(text: str, seconds: float | None) -> None:
    assert read_conf(f"PreemptExemptTime={text}")["PreemptExemptTime"] == seconds


def test_partitions_begin_with_their_names() -> None:
    with pytest.raises(eh.InputError, match="PartitionName comes first"):
        read_partitions("   Nodes=n1")


#: Lines of a 22.05.8, as they came.
CONFIG = """\
Configuration data as of 2026-11-21T19:47:56
AccountingStorageType   = accounting_storage/slurmdbd
BOOT_TIME               = 2026-11-21T19:47:53
FairShareDampeningFactor = 1
HASH_VAL                = Match
InteractiveStepOptions  = --interactive --preserve-env --pty $SHELL
JobRequeue              = 1
KillWait                = 3 sec
Licenses                = (null)
MessageTimeout          = 10 sec
PowerPlugin             =
PreemptMode             = GANG,SUSPEND
PreemptType             = preempt/qos
PreemptExemptTime       = 00:00:30
PriorityWeightFairShare = 10000
ResumeRate              = 300 nodes/min
SchedulerParameters     = bf_interval=2,preempt_strict_order
SchedulerType           = sched/builtin
SelectType              = select/cons_tres
SlurmctldHost[0]        = vm(127.0.0.1)
TaskPluginParam         = (null type)
UsePam                  = No

Slurmctld(primary) at vm is UP
"""


def test_what_a_running_slurm_shows() -> None:
    settings = read_shown(CONFIG)
    wanted = {
        "PreemptType": "preempt/qos",
        "PreemptMode": "GANG,SUSPEND",
        "PreemptExemptTime": 30.0,
        "JobRequeue": True,
        "KillWait": 3.0,
        "MessageTimeout": 10.0,
        "SchedulerType": "sched/builtin",
        "SelectType": "select/cons_tres",
        "strict_order": True,
    }
    assert {name: settings[name] for name in wanted} == wanted
    names = shown(CONFIG)
    assert names["PriorityWeightFairshare"] == "10000"
    assert not {"Licenses", "PowerPlugin", "TaskPluginParam", "HASH_VAL"} & set(names)
    policy = eh.policies.Slurm.from_conf(CONFIG, partitions=SHOWN)
    assert policy.settings.KillWait == 3.0
    assert policy.settings.partitions["low"].GraceTime == 6.0
    with pytest.raises(eh.InputError, match="KillWait"):
        read_shown(CONFIG.replace("3 sec", "long"))
