"""slurm.conf and what scontrol prints, read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

import evenhand as eh
from evenhand.config.kinds import LONGEST
from evenhand.systems.slurm.text.conf import read_conf
from evenhand.systems.slurm.text.partitions import read_partitions
from evenhand.systems.slurm.text.shown import read_shown, shown

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
        "default_queue_depth": 9,
        "SchedulerType": "sched/backfill",
        "partitions": {
            "low": {"Nodes": "n[1-3]", "GraceTime": 20.0, "PriorityTier": 1, "Default": False}
            | {"State": "UP", "MaxTime": None},
            "lower": {"Nodes": "n[1-3]", "GraceTime": 20.0, "PriorityTier": 1, "Default": True}
            | {"State": "UP", "MaxTime": None},
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
        "State": "UP",
        "MaxTime": None,
        "DefaultTime": None,
    }
    assert found["empty"] == {"Nodes": "", "PriorityTier": 2}


def test_what_a_partition_inherits_is_shown_as_its_own() -> None:
    for of_all, inherited, mode in (
        ("SUSPEND,GANG", "GANG,SUSPEND", "SUSPEND"),
        ("REQUEUE,PRIORITY", "REQUEUE,PRIORITY", "REQUEUE,PRIORITY"),
        ("CANCEL,GANG", "GANG", None),
    ):
        shown = f"PartitionName=low\n   PriorityTier=1 PreemptMode={inherited} OverSubscribe=FORCE:1\n"
        policy = eh.policies.Slurm.from_conf(
            f"PreemptType=preempt/partition_prio\nPreemptMode={of_all}\n", partitions=shown
        )
        assert policy.settings.partitions["low"].PreemptMode == mode


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


def test_a_cluster_without_partitions() -> None:
    assert read_partitions("No partitions in the system\n") == {}


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


def test_node_sets_stand_for_their_nodes() -> None:
    text = (
        "NodeName=n[1-2] Feature=fast,big\nNodeName=n[3-4] Features=fast\nNodeName=m1\n"
        "NodeSet=quick Feature=fast\nNodeSet=both Nodes=m[1-2] Feature=big\n"
        "PartitionName=a Nodes=quick,m7\nPartitionName=b Nodes=both\nPartitionName=c Nodes=n[1-2]\n"
    )
    partitions = eh.policies.Slurm.from_conf(text).settings.partitions
    assert {name: p.Nodes for name, p in partitions.items()} == {
        "a": ("n1", "n2", "n3", "n4", "m7"),
        "b": ("m1", "m2", "n1", "n2"),
        "c": ("n1", "n2"),
    }


@pytest.mark.parametrize(
    ("lines", "weights"),
    [
        (("NodeName=n[1-2] Weight=1", "NodeName=n3"), {}),
        (("NodeName=n[1-2] weight=2", "NodeName=n3 Weight=0"), {"n1": 2, "n2": 2, "n3": 0}),
        (("NodeName=DEFAULT Weight=7", "NodeName=n1", "NodeName=n2 Weight=1"), {"n1": 7}),
        (
            ("NodeName=n0", "NodeName=DEFAULT Weight=7 Feature=x", "NodeName=DEFAULT CPUs=2", "NodeName=n1"),
            {"n1": 7},
        ),
        (("NodeName=n1 Weight=7", "NodeName=n1 Weight=1"), {}),
        (("NodeName=n1 Weight=7 State=FUTURE", "NodeName=n2 Weight=4294967295"), {"n2": 4294967295}),
    ],
)
def test_weights_of_nodes(lines: tuple[str, ...], weights: dict[str, int]) -> None:
    """Source: slurm.conf, manual page, ``Weight``: 1 where it is not said; nodes of the least go first."""
    policy = eh.policies.Slurm.from_conf("\n".join(lines))
    assert policy.settings.node_weights == weights


def test_a_weight_of_the_file_says_which_node_is_taken() -> None:
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 0,
            "resources": {"cpu": {"kind": "cpu"}},
            "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")],
            "operations": [{"name": "j"}],
            "requests": [{"name": "r", "operation": "j", "resources": {"cpu": 4}}],
        }
    )
    for weight, node in ((0, "n1"), (1, "n1"), (2, "n2")):
        policy = eh.policies.Slurm.from_conf(f"NodeName=n1 CPUs=4 Weight={weight}\nNodeName=n2 CPUs=4")
        assert [str(one.node) for one in eh.plan(snapshot, policy).decisions.starts] == [node]


def test_a_partition_without_nodes_has_none() -> None:
    text = "PartitionName=DEFAULT State=UP\nPartitionName=a\nPartitionName=b Nodes=ALL State=drain\n"
    policy = eh.policies.Slurm.from_conf(text)
    assert {name: (p.Nodes, p.State) for name, p in policy.settings.partitions.items()} == {
        "a": ((), "UP"),
        "b": (("ALL",), "DRAIN"),
    }


@pytest.mark.parametrize(
    ("text", "row", "field", "rule"),
    [
        (
            "PreemptParameters=reorder_count=2\nSchedulerParameters=preempt_reorder_count=3",
            *(2, "SchedulerParameters.reorder_count", "unique"),
        ),
        (
            "PreemptParameters=reorder_count=2,reorder_count=3",
            *(1, "PreemptParameters.reorder_count", "unique"),
        ),
        ("NodeSet=a Nodes=n1\nNodeSet=a Nodes=n2", 2, "NodeSet", "unique"),
        ("NodeSet=a Node=n1", 1, "node", "unknown_field"),
        ("NodeName=n1 Weight=heavy", 1, "Weight", "range"),
        ("NodeName=n1 Weight=-1", 1, "Weight", "range"),
        ("NodeName=n1 Weight=4294967296", 1, "Weight", "range"),
        ("NodeName=n[1- Weight=2", 1, "NodeName", "host_list"),
        ("NodeName=n[1- Feature=a", 1, "NodeName", "host_list"),
        ("include /etc/slurm/partitions.conf", 1, "include", "syntax"),
    ],
)
def test_what_the_file_must_not_have(text: str, row: int, field: str, rule: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        read_conf(text)
    [found] = caught.value.problems
    assert (found.row, found.field, found.rule) == (row, field, rule)


def test_what_older_and_newer_parameters_both_say_is_read_once() -> None:
    text = (
        "SchedulerParameters=preempt_reorder_count=3,preempt_strict_order\nPreemptParameters=reorder_count=3"
    )
    assert {"reorder_count": 3, "strict_order": True}.items() <= read_conf(text).items()


def test_the_qos_of_a_partition_must_be_given_beside_the_file() -> None:
    text = "PartitionName=low Nodes=ALL QOS=gold"
    with pytest.raises(eh.InputError, match="give them as qos"):
        eh.policies.Slurm.from_conf(text)
    assert eh.policies.Slurm.from_conf(text, qos={"gold": {}}).settings.partitions["low"].QOS == "gold"


@pytest.mark.parametrize("word", ["UNLIMITED", "INFINITE", "-1"])
def test_a_grace_time_without_limit(word: str) -> None:
    policy = eh.policies.Slurm.from_conf(f"PartitionName=low Nodes=ALL GraceTime={word}")
    assert policy.settings.partitions["low"].GraceTime == LONGEST
