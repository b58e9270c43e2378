"""No job starts, and none is preempted for, beyond a limit; the engine does what the reference does."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.systems.slurm.settings import SlurmSettings
from tests.properties.slurm.test_jobs import PASSES, essence, plan_of
from tests.reference.slurm import reference_plan

CPUS = 4
FIELDS = ("GrpTRES", "MaxTRESPU", "MaxTRESPA", "MaxTRES", "MaxTRESPerNode", "MinTRES")


@st.composite
def limited(draw: st.DrawFn) -> tuple[dict[str, Any], SlurmSettings]:
    """Draw a cluster of three QOS, users and accounts with limits."""
    nodes = [f"n{i}" for i in range(draw(st.integers(2, 5)))]
    who = st.fixed_dictionaries(
        {
            "qos": st.sampled_from(("low", "mid", "high")),
            "user": st.sampled_from("ab"),
            "account": st.sampled_from(("x", "y")),
            "partition": st.sampled_from(("p", "q")),
        }
    )
    operations, allocations, requests = [], [], []
    for node in nodes:
        left = CPUS
        while left and draw(st.integers(0, 5)):
            cpus = draw(st.integers(1, left))
            left -= cpus
            name = f"r{len(operations)}"
            end = draw(st.sampled_from((None, 1060, 1600)))
            operations.append({"name": name, "start_time": len(operations)} | draw(who))
            allocations.append(
                {"name": name, "operation": name, "node": node, "resources": {"cpu": cpus}}
                | {"start_time": len(operations), **({} if end is None else {"planned_end": end})}
            )
    for place in range(draw(st.integers(1, 5))):
        name = f"w{place}"
        operations.append(
            {"name": name, "start_time": 900 + place, "priority": draw(st.integers(1, 3))} | draw(who)
        )
        asks = {"resources": {"cpu": draw(st.integers(1, CPUS))}, "count": draw(st.integers(1, 2))}
        requests.append(
            {"name": name, "operation": name, "duration": draw(st.sampled_from((60, 600)))} | asks
        )
    few = st.integers(0, 3 * CPUS).map(float)
    limits = st.fixed_dictionaries(
        {},
        optional={
            **{field: few.map(lambda n: {"cpu": n}) for field in FIELDS},
            "GrpTRESRunMins": st.integers(0, 120).map(lambda n: {"cpu": float(n), "node": float(n)}),
            "GrpJobs": st.integers(0, 4),
            "MaxJobsPU": st.integers(0, 3),
            "MaxJobsPA": st.integers(0, 3),
            "MaxWall": st.sampled_from((60.0, 599.0, 600.0)),
            "OverPartQOS": st.booleans(),
        },
    )
    preempts = {"low": [], "mid": ["low"], "high": ["low", "mid"]}
    own = st.fixed_dictionaries(
        {},
        optional={
            "GrpTRES": few.map(lambda n: {"cpu": n}),
            "GrpJobs": st.integers(0, 4),
            "MaxJobs": st.integers(0, 3),
            "MaxTRES": few.map(lambda n: {"cpu": n}),
        },
    )
    tree = {
        name: draw(own) | more
        for name, more in (("top", {}), ("x", {"parent": "top"}), ("x/a", {"parent": "x"}))
    }
    settings = SlurmSettings(
        PreemptType="preempt/qos",
        PreemptMode=draw(st.sampled_from(("CANCEL", "REQUEUE,WITHIN", "SUSPEND,GANG"))),
        SchedulerType=draw(st.sampled_from(("sched/builtin", "sched/backfill"))),
        qos={name: {"Preempt": others, **draw(limits)} for name, others in preempts.items()},
        partitions={
            "p": {"Default": True, "OverSubscribe": "FORCE:1"},
            "q": {"QOS": draw(st.sampled_from((None, "mid")))},
        },
        association_limits=draw(st.sampled_from(({}, tree))),
    )
    data = {
        "now": 1000,
        "resources": {"cpu": {"quantum": 1}},
        "nodes": [{"name": node, "capacity": {"cpu": CPUS}} for node in nodes],
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
    }
    return data, settings


@given(drawn=limited(), passes=st.sampled_from(PASSES))
def test_the_engine_keeps_jobs_back_as_the_reference_does(
    drawn: tuple[dict[str, Any], SlurmSettings], passes: tuple[str, ...]
) -> None:
    data, settings = drawn
    snapshot = eh.Snapshot.from_dict(data)
    found = plan_of(snapshot, settings, passes=passes).to_dict()
    for refusal in found["refusals"]:
        event(refusal["rule"])
    assert essence(found) == essence(reference_plan(snapshot, settings, passes=passes))


@given(drawn=limited())
def test_a_job_that_a_limit_keeps_never_preempts(drawn: tuple[dict[str, Any], SlurmSettings]) -> None:
    """What runs, what starts and those that others leave for stay together within the limits of their QOS.

    But for what was above a limit before; a job of a partition whose QOS says the same is left out.
    """
    data, settings = drawn
    plan = plan_of(data, settings)
    jobs = {row["name"]: row for row in data["operations"]}
    served = {str(d.operation) for d in plan.decisions if d.action == "start"}
    served |= {str(d.beneficiary.operation) for d in plan.decisions.victims if d.beneficiary}
    has: dict[str, int] = {row["operation"]: row["resources"]["cpu"] for row in data["allocations"]}
    asks = {row["operation"]: row["resources"]["cpu"] * row["count"] for row in data["requests"]}
    for job in served:
        mine = jobs[job]
        qos = settings.qos[mine["qos"]]
        if settings.partitions[mine["partition"]].QOS is not None:
            continue
        others = [
            name
            for name in (*has, *served)
            if jobs[name]["qos"] == mine["qos"]
            or (jobs[name]["partition"] == "q" and _by_partition(settings, mine["qos"]))
        ]
        groups = {
            "GrpTRES": others,
            "MaxTRESPU": [name for name in others if jobs[name]["user"] == mine["user"]],
            "MaxTRESPA": [name for name in others if jobs[name]["account"] == mine["account"]],
        }
        for field, names in groups.items():
            used = sum({**has, **{name: asks[name] for name in served}}[name] for name in names)
            assert used <= getattr(qos, field).get("cpu", float("inf")), field
        counts = {"GrpJobs": others, "MaxJobsPU": groups["MaxTRESPU"], "MaxJobsPA": groups["MaxTRESPA"]}
        for field, names in counts.items():
            most = getattr(qos, field)
            assert most is None or len(names) <= most, field


def _by_partition(settings: SlurmSettings, qos: str) -> bool:
    return qos == settings.partitions["q"].QOS
