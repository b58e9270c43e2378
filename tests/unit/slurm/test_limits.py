"""Limits of QOS and associations: who waits for them, and that no work is preempted for one that does.

Source: Slurm documentation, resource limits (hierarchy: QOS of the partition, of the job, the user's
association, the accounts above it); the figures are by hand.
"""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.slurm.text.accounting import parse_limits, parse_qos
from tests.reference.slurm import reference_plan

#: `invest` may preempt `guest`; each node has 8 cpus.
BASE: dict[str, Any] = {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE"}
QOS: dict[str, dict[str, Any]] = {"guest": {}, "invest": {"Priority": 100, "Preempt": ["guest"]}}


def cluster(*waits: dict[str, Any], running: tuple[dict[str, Any], ...] = (), nodes: int = 3) -> eh.Snapshot:
    """A job of `invest` and two of `guest` fill a node each; further nodes are free."""
    rows = [
        {"name": "mine", "qos": "invest", "user": "a", "account": "lab", "on": "n1"},
        {"name": "guest1", "qos": "guest", "user": "b", "account": "lab", "on": "n2"},
        {"name": "guest2", "qos": "guest", "user": "c", "account": "lab", "on": "n3"},
        *running,
    ]
    operations, allocations, requests = [], [], []
    for place, row in enumerate(rows):
        own = {"resources": {"cpu": 8}, "start_time": place, "planned_end": 1600} | row.pop("part", {})
        allocations.append({"name": f"{row['name']}@", "operation": row["name"], "node": row.pop("on")} | own)
        operations.append(row | {"start_time": place})
    for place, wait in enumerate(waits):
        asks = {"resources": {"cpu": 8}, "duration": 600} | wait.pop("asks", {})
        operations.append({"qos": "invest", "user": "a", "account": "lab", "start_time": 900 + place} | wait)
        requests.append({"name": f"{wait['name']}-r", "operation": wait["name"]} | asks)
    return eh.Snapshot.from_dict(
        {
            "now": 1000,
            "resources": {"cpu": {"quantum": 1}, "gres/gpu": {"quantum": 1}},
            "nodes": [{"name": f"n{i}", "capacity": {"cpu": 8, "gres/gpu": 4}} for i in range(1, nodes + 1)],
            "operations": operations,
            "allocations": allocations,
            "requests": requests,
        }
    )


def plan_of(snapshot: eh.Snapshot, limits: dict[str, Any], **more: Any) -> eh.Plan:
    """Plan with limits of the QOS `invest`; the reference does the same."""
    qos = {**QOS, **more.pop("qos", {})}
    qos["invest"] = {**qos["invest"], **limits}
    policy = eh.policies.Slurm(**{**BASE, "qos": qos, **more})
    plan = eh.plan(snapshot, policy)
    expected = reference_plan(snapshot, policy.settings)
    found = plan.to_dict()
    for key in ("action", "operation", "node"):
        pairs = ([d.get(key) for d in one["decisions"]] for one in (found, expected))
        assert next(pairs) == next(pairs) or key == "node"
    rules = ({r["request"]: r["rule"] for r in one["refusals"]} for one in (found, expected))
    assert next(rules) == next(rules)
    return plan


def served(plan: eh.Plan) -> list[str]:
    """Jobs that start or for which others leave."""
    names = [d.operation for d in plan.decisions if d.action == "start"]
    names += [d.beneficiary.operation for d in plan.decisions.victims if d.beneficiary]
    return sorted({str(name) for name in names})


JOB = {"name": "j"}


@pytest.mark.parametrize(
    ("limits", "job", "kept"),
    [
        # GrpTRES: eight cpus are in use in the QOS, and eight more are asked for.
        ({"GrpTRES": "cpu=15"}, {}, "`GrpTRES` of QOS invest is 15 cpu: 8 are in use, and it asks for 8"),
        ({"GrpTRES": "cpu=16"}, {}, ""),
        ({"GrpTRES": "cpu=17"}, {}, ""),
        ({"GrpTRES": "node=1"}, {}, "`GrpTRES` of QOS invest is 1 node"),
        ({"GrpTRES": "node=2"}, {}, ""),
        ({"GrpTRES": "gres/gpu=0"}, {}, ""),  # it asks for none
        ({"GrpJobs": 1}, {}, "`GrpJobs` of QOS invest is 1 jobs: 1 are in use, and it asks for 1"),
        ({"GrpJobs": 2}, {}, ""),
        # Of users and accounts: another one's use does not count.
        ({"MaxTRESPU": "cpu=15"}, {}, "`MaxTRESPU` of QOS invest is 15 cpu"),
        ({"MaxTRESPU": "cpu=15"}, {"user": "z"}, ""),
        ({"MaxJobsPU": 1}, {}, "`MaxJobsPU` of QOS invest is 1 jobs"),
        ({"MaxJobsPU": 1}, {"user": "z"}, ""),
        ({"MaxTRESPA": "cpu=15"}, {"user": "z"}, "`MaxTRESPA` of QOS invest is 15 cpu"),
        ({"MaxTRESPA": "cpu=15"}, {"account": "other"}, ""),
        ({"MaxJobsPA": 1}, {}, "`MaxJobsPA`"),
        # What runs for ten minutes yet counts with ten minutes; it asks for ten.
        (
            {"GrpTRESRunMins": "cpu=159"},
            {},
            "`GrpTRESRunMins` of QOS invest is 159 minutes of cpu: 80 are in",
        ),
        ({"GrpTRESRunMins": "cpu=160"}, {}, ""),
        ({"MaxTRESRunMinsPU": "cpu=159"}, {}, "`MaxTRESRunMinsPU`"),
        ({"MaxTRESRunMinsPU": "cpu=159"}, {"user": "z"}, ""),
        ({"MaxTRESRunMinsPA": "cpu=159"}, {"user": "z"}, "`MaxTRESRunMinsPA`"),
        # Of the job alone.
        ({"MaxTRES": "cpu=7"}, {}, "its job asks for 8 cpu, and `MaxTRES` of QOS invest is 7"),
        ({"MaxTRES": "cpu=8"}, {}, ""),
        ({"MaxTRESPerNode": "cpu=7"}, {}, "`MaxTRESPerNode`"),
        ({"MaxTRESPerNode": "cpu=8"}, {}, ""),
        ({"MinTRES": "cpu=9"}, {}, "`MinTRES`"),
        ({"MinTRES": "cpu=8"}, {}, ""),
        ({"MinTRES": "gres/gpu=1"}, {}, "`MinTRES`"),
        ({"MaxWall": 599.0}, {}, "its job asks for 10 min, and `MaxWall` of QOS invest is 9 min 59 s"),
        ({"MaxWall": 600.0}, {}, ""),
        # What cannot be judged leaves the job out by the name of the limit.
        ({"unread_limits": ["GrpTRESMins"]}, {}, "GrpTRESMins of QOS invest cannot be judged"),
        ({"GrpTRES": "billing=1000"}, {}, "GrpTRES billing of QOS invest cannot be judged"),
        ({"GrpTRES": "gres/gpu:a=1"}, {}, "GrpTRES gres/gpu:a of QOS invest cannot be judged"),
        ({"GrpTRES": "gres/tape=1,energy=5,license/x=1"}, {}, ""),  # there is none of it
    ],
    ids=str,
)
def test_a_limit_at_its_edge(limits: dict[str, Any], job: dict[str, Any], kept: str) -> None:
    plan = plan_of(cluster(JOB | job), limits)
    if not kept:
        assert served(plan) == ["j"]
        return
    assert served(plan) == []
    assert [(r.request, r.rule) for r in plan.refusals] == [("j-r", "limit_reached")]
    assert kept in plan.why("j-r").summary
    assert plan.why("j-r").code == "limit_reached"


def test_the_sentence_has_its_numbers() -> None:
    numbers = plan_of(cluster(JOB), {"GrpTRES": "cpu=15"}).why("j-r").numbers
    said = {name: numbers[name] for name in ("limit", "of", "measure", "used", "asked", "most")}
    assert said == {"limit": "GrpTRES", "of": "invest", "measure": "cpu", "used": 8, "asked": 8, "most": 15}


def test_what_is_preempted_for_one_counts_for_the_next() -> None:
    """Two jobs fit the limit alone, not together: only the first may preempt, in both passes."""
    two = ({"name": "j"}, {"name": "k"})
    for kind in ("sched/builtin", "sched/backfill"):
        plan = plan_of(cluster(*two), {"GrpTRES": "cpu=16"}, SchedulerType=kind)
        assert served(plan) == ["j"]
        assert {r.request: r.rule for r in plan.refusals}["k-r"] == "limit_reached"
        assert len(list(plan.decisions.victims)) == 1
    more = plan_of(cluster(*two), {"GrpTRES": "cpu=24"}, SchedulerType="sched/backfill")
    assert served(more) == ["j", "k"]


def test_one_that_a_limit_keeps_holds_up_nobody() -> None:
    """It closes no partition, and keeps no nodes for later."""
    jobs = ({"name": "j"}, {"name": "k", "user": "z"})
    for kind in ("sched/builtin", "sched/backfill"):
        assert served(plan_of(cluster(*jobs), {"MaxJobsPU": 1}, SchedulerType=kind)) == ["k"]


def test_free_room_is_no_reason_to_start() -> None:
    free = cluster(JOB, nodes=4)
    assert served(plan_of(free, {"GrpJobs": 1})) == []
    assert served(plan_of(free, {"GrpJobs": 2})) == ["j"]


def test_suspended_and_leaving_jobs_count() -> None:
    held = {"state": "preempted", "held": {}}
    leaving = {"state": "preempting", "beneficiary": {"operation": "guest1"}}
    for part in (held, leaving):
        extra = {"name": "x", "qos": "invest", "user": "a", "account": "lab", "on": "n4", "part": part}
        snapshot = cluster(JOB, running=(extra,), nodes=4)
        assert served(plan_of(snapshot, {"GrpJobs": 2})) == []
        assert "2 are in use" in plan_of(snapshot, {"GrpJobs": 2}).why("j-r").summary


def test_the_qos_of_the_partition_comes_first() -> None:
    """Of two QOS the first that has a limit decides, whatever the other says."""
    parts = {"p": {"QOS": "part"}}
    job = JOB | {"partition": "p"}
    part, own = {"GrpTRES": "cpu=8"}, {"GrpTRES": "cpu=100"}
    assert served(plan_of(cluster(job), own, qos={"part": part}, partitions=parts)) == ["j"], "none is in it"
    assert served(plan_of(cluster(job), own, qos={"part": {"GrpTRES": "cpu=7"}}, partitions=parts)) == []
    tight = {"GrpTRES": "cpu=8"}
    wide = {"GrpTRES": "cpu=100"}
    assert served(plan_of(cluster(job), tight, qos={"part": wide}, partitions=parts)) == ["j"]
    over = tight | {"OverPartQOS": True}
    assert served(plan_of(cluster(job), over, qos={"part": wide}, partitions=parts)) == []
    assert served(plan_of(cluster(job), tight, qos={"part": {"GrpJobs": 9}}, partitions=parts)) == [], (
        "another"
    )


def test_associations_and_the_accounts_above_them() -> None:
    """Those above count one and all; of the user's own also what one job or user may have."""
    tree = {"root": {"GrpTRES": "cpu=100"}, "uni": {"GrpTRES": "cpu=32", "parent": "root"}}
    tree["lab"] = {"parent": "uni"}
    tree["lab/a"] = {"parent": "lab", "GrpJobs": 2}
    assert served(plan_of(cluster(JOB), {}, association_limits=tree)) == ["j"]
    for name, change in (
        ("uni", {"GrpTRES": "cpu=31"}),
        ("root", {"GrpTRES": "cpu=31"}),
        ("lab", {"GrpJobs": 3}),
        ("lab/a", {"GrpJobs": 1}),
        ("lab/a", {"MaxJobs": 1}),
        ("lab/a", {"MaxTRES": "cpu=7"}),
        ("lab/a", {"MaxWall": 599.0}),
        ("lab/a", {"unread_limits": ["GrpWall"]}),
    ):
        changed = tree | {name: tree[name] | change}
        plan = plan_of(cluster(JOB), {}, association_limits=changed)
        assert served(plan) == [], (name, change)
        assert f"association {name}" in plan.why("j-r").summary
    assert served(
        plan_of(cluster(JOB | {"user": "z"}), {}, association_limits=tree | {"lab/a": {"GrpJobs": 1}})
    ) == ["j"]
    # What a QOS limits, no association does.
    changed = tree | {"lab/a": {"parent": "lab", "MaxJobs": 1}}
    assert served(plan_of(cluster(JOB), {"MaxJobsPU": 9}, association_limits=changed)) == ["j"]
    changed = tree | {"uni": {"GrpTRES": "cpu=31", "parent": "root"}}
    assert served(plan_of(cluster(JOB), {"GrpTRES": "cpu=99"}, association_limits=changed)) == ["j"]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (None, True),
        (["limits"], True),
        (["safe"], True),
        (["qos", "associations"], False),
        (["none"], False),
        ([], True),
    ],
)
def test_limits_that_are_not_enforced(words: list[str] | None, kept: bool) -> None:
    plan = plan_of(cluster(JOB), {"GrpJobs": 1}, AccountingStorageEnforce=words)
    assert served(plan) == ([] if kept else ["j"])


def test_entire_nodes_count_as_a_whole() -> None:
    """Whatever it asks for, it gets a node of eight cpus."""
    job = JOB | {"asks": {"resources": {"cpu": 1}}, "settings": {"exclusive": True}}
    assert served(plan_of(cluster(job), {"GrpTRES": "cpu=15"})) == []
    assert served(plan_of(cluster(job), {"GrpTRES": "cpu=16"})) == ["j"]


def test_a_circle_and_a_parent_that_is_none() -> None:
    for tree, rule in (
        ({"a": {"parent": "b"}, "b": {"parent": "a"}}, "tree"),
        ({"a": {"parent": "a"}}, "tree"),
        ({"a": {"parent": "c"}}, "exists"),
    ):
        with pytest.raises(eh.InputError) as caught:
            eh.policies.Slurm(association_limits=tree)
        assert caught.value.problems[0].rule == rule
    for text in ("cpu", "cpu=x", "cpu=1 mem=2"):
        with pytest.raises(eh.InputError, match="GrpTRES"):
            eh.policies.Slurm(qos={"a": {"GrpTRES": text}})


# What sacctmgr prints


def listed(head: str, *rows: str) -> str:
    """Return a table as ``-P`` prints it; rows say cells by name."""
    names = head.split("|")
    said = [dict(cell.split("=", 1) for cell in row.split(" ")) for row in rows]
    return "".join(
        "|".join(cells) + "\n" for cells in (names, *([row.get(name, "") for name in names] for row in said))
    )


LIST = listed(
    "Name|Priority|Preempt|Flags|UsageThres|GrpTRES|GrpTRESMins|GrpTRESRunMins|GrpJobs|GrpWall|MaxTRES"
    "|MaxTRESPerNode|MaxWall|MaxTRESPU|MaxJobsPU|MaxTRESPA|MaxJobsPA|MinTRES",
    "Name=guest Priority=0",
    "Name=invest Priority=100 Preempt=guest Flags=OverPartQOS,NoReserve GrpTRES=cpu=8,mem=2G GrpJobs=3"
    " MaxTRES=cpu=4 MaxTRESPerNode=node=1 MaxWall=1-00:00:00 MaxTRESPU=cpu=8,gres/gpu=2 MaxJobsPU=2"
    " MaxTRESPA=cpu=9 MaxJobsPA=4 MinTRES=cpu=1",
    "Name=mins Priority=0 GrpTRESMins=cpu=5 GrpWall=00:30:00",
    "Name=rel Priority=0 Flags=Relative,EnforceUsageThreshold UsageThres=0.5 GrpTRES=cpu=50",
)
ASSOCIATIONS = listed(
    "Cluster|Account|User|Partition|ParentName|GrpJobs|GrpTRES|GrpTRESMins|GrpWall|MaxJobs|MaxTRES|MaxWall",
    "Cluster=one Account=root",
    "Cluster=one Account=uni ParentName=root GrpTRES=cpu=64 MaxJobs=5",
    "Cluster=one Account=lab ParentName=uni MaxJobs=5",
    "Cluster=one Account=lab User=ann MaxJobs=2 MaxTRES=cpu=8 MaxWall=02:00:00",
    "Cluster=one Account=lab User=bob",
    "Cluster=one Account=lab User=ann Partition=fast GrpJobs=1",
    "Cluster=two Account=lab User=ann GrpJobs=9",
    "Cluster=one Account=old ParentName=uni GrpTRESMins=cpu=5",
)


def test_the_list_of_qos() -> None:
    notes: list[str] = []
    qos = parse_qos(LIST, notes=notes)
    assert qos["invest"] == {
        "Priority": 100,
        "Preempt": ["guest"],
        "GrpTRES": {"cpu": 8, "mem": 2048},
        "MaxTRES": {"cpu": 4},
        "MaxTRESPerNode": {"node": 1},
        "GrpJobs": 3,
        "MaxWall": 86_400.0,
        "MaxTRESPU": {"cpu": 8, "gres/gpu": 2},
        "MaxTRESPA": {"cpu": 9},
        "MinTRES": {"cpu": 1},
        "MaxJobsPU": 2,
        "MaxJobsPA": 4,
        "OverPartQOS": True,
    }
    assert qos["mins"]["unread_limits"] == ["GrpTRESMins", "GrpWall"]
    assert qos["rel"]["unread_limits"] == ["Relative", "UsageThres"]
    assert len(notes) == 1
    eh.policies.Slurm(qos=qos)
    with pytest.raises(eh.InputError, match="GrpTRES is cpu:8"):
        parse_qos("Name|GrpTRES\na|cpu:8\n")


def test_the_list_of_associations() -> None:
    limits = parse_limits(ASSOCIATIONS, cluster="one")
    assert limits == {
        "uni": {"GrpTRES": {"cpu": 64}},
        "lab/ann": {"MaxTRES": {"cpu": 8}, "MaxWall": 7200.0, "MaxJobs": 2, "parent": "uni"},
        "lab/ann/fast": {"GrpJobs": 1, "parent": "uni"},
        "old": {"unread_limits": ["GrpTRESMins"], "parent": "uni"},
    }
    eh.policies.Slurm(association_limits=limits)
    policy = eh.policies.Slurm.from_conf(
        "ClusterName=one\n", associations="Account|User|Priority|GrpJobs\nlab||3|7\n"
    )
    assert policy.settings.association_limits["lab"].GrpJobs == 7
    assert policy.settings.association_priority == {"lab": 3}


def test_a_person_with_a_list_of_qos_alone() -> None:
    """A job whose QOS has reached its limit waits, even where lower work could be preempted for it."""
    base = "PreemptType=preempt/qos\nPreemptMode=REQUEUE\nPartitionName=p Nodes=ALL Default=YES\n"
    head = "Name|Priority|Preempt|GrpTRES|MaxTRESPU|"
    text = f"{head}\nguest|0||||\ninvest|100|guest|cpu=8|cpu=8|\n"
    policy = eh.policies.Slurm.from_conf(base, qos=text)
    plan = eh.plan(cluster(JOB), policy)
    assert not list(plan.decisions)
    assert "`GrpTRES` of QOS invest is 8 cpu: 8 are in use, and it asks for 8" in plan.why("j-r").summary
