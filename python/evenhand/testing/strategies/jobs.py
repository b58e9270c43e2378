"""Strategies for clusters of Slurm on which jobs of higher tiers or other QOS wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from evenhand.systems.slurm.settings import SlurmSettings

__all__ = ["job_clusters", "slurm_settings"]

NOW = 1000
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "PreemptExemptTime": (None, 970.0, 985.0),
    "reorder_count": (0, 1, 2, 5),
    "strict_order": (False, True),
    "youngest_first": (False, True),
    "reclaim_licenses": (False, True),
    "min_exempt_priority": (None, 2.0),
    "JobRequeue": (True, False),
    "bf_max_job_test": (1, 2),
    "bf_node_space_size": (2, 3),
    "bf_window": (60.0, 120.0),
    "bf_resolution": (1.0, 7.0, 3600.0),
    "bf_max_job_start": (1,),
    "bf_max_job_part": (1,),
    "bf_max_job_user": (1,),
    "bf_job_part_count_reserve": (1,),
    "bf_min_age_reserve": (998.0, 999.0),
    "bf_min_prio_reserve": (2,),
    "bf_one_resv_per_job": (True,),
    "sched_max_job_start": (1,),
    "partition_job_depth": (1,),
    "SelectType": ("select/cons_tres", "select/linear"),
    "victim_selection": ("reorder", "prefix", "irreducible", "minimum", "test_only"),
    "victim_cost": ("victims", "lost_work", "given"),
    "gang_exempt_time": ("honoured", "ignored"),
}
_MODES: Mapping[str, tuple[str, ...]] = {
    "preempt/partition_prio": ("CANCEL", "REQUEUE", "SUSPEND,GANG", "REQUEUE,PRIORITY", "CANCEL,GANG"),
    "preempt/qos": ("CANCEL", "REQUEUE", "SUSPEND,GANG", "REQUEUE,WITHIN", "CANCEL,WITHIN,PRIORITY"),
}


def slurm_settings(*, most_changes: int = 4, **fixed: Any) -> st.SearchStrategy[SlurmSettings]:
    """Return a strategy for settings with three partitions and three QOS.

    Parameters
    ----------
    most_changes : int
        How many settings differ from the defaults at most, beside type and mode.
    **fixed
        Settings that are not drawn.

    Returns
    -------
    strategy of SlurmSettings
    """
    return _settings(most_changes, fixed)


@st.composite
def _settings(draw: st.DrawFn, most_changes: int, fixed: Mapping[str, Any]) -> SlurmSettings:
    from evenhand.systems.slurm.settings import SlurmSettings

    kind = draw(st.sampled_from(sorted(_MODES)))
    part = st.sampled_from((None, None, "OFF", "CANCEL", "REQUEUE", "SUSPEND"))
    partitions: dict[str, Any] = {}
    for name, tier in (("low", 1), ("mid", draw(st.sampled_from((1, 5)))), ("high", 10)):
        partitions[name] = {"PriorityTier": tier, "PreemptMode": draw(part)}
        partitions[name]["PriorityJobFactor"] = draw(st.sampled_from((1, 1, 4)))
        partitions[name]["OverSubscribe"] = draw(st.sampled_from(("FORCE:1", "FORCE:1", "NO", "EXCLUSIVE")))
        if draw(st.integers(0, 5)) == 5:
            partitions[name]["Nodes"] = ["n0", "n1"]
        partitions[name]["GraceTime"] = draw(st.sampled_from((0.0, 0.0, 20.0, 60.0)))
        partitions[name]["MaxTime"] = draw(st.sampled_from((None, None, 60.0)))
        partitions[name]["DefaultTime"] = draw(st.sampled_from((None, None, 30.0)))
        partitions[name]["State"] = draw(st.sampled_from(("UP",) * 12 + ("DOWN", "DRAIN", "INACTIVE")))
    qos = {
        "bronze": {"PreemptMode": draw(part)},
        "silver": {"Priority": draw(st.integers(0, 2)), "Preempt": ["bronze"]},
        "gold": {"Priority": 3, "Preempt": draw(st.sampled_from((["bronze"], ["bronze", "silver"])))},
    }
    names = draw(st.lists(st.sampled_from(sorted(_CHOICES)), unique=True, max_size=most_changes))
    settings = {
        "PreemptType": kind,
        "PreemptMode": draw(st.sampled_from(_MODES[kind])),
        "partitions": partitions,
        "qos": qos,
        "SchedulerType": draw(st.sampled_from(("sched/builtin", "sched/backfill", "sched/backfill"))),
        **{name: draw(st.sampled_from(_CHOICES[name])) for name in names},
    }
    return SlurmSettings(**{**settings, **fixed})


def _rare(draw: st.DrawFn, plain: bool) -> bool:
    return not plain and draw(st.integers(0, 7)) == 7


def _job(draw: st.DrawFn, name: str, waits: bool, plain: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": name,
        "start_time": draw(st.integers(0, 3) if waits else st.integers(0, 9)),
    }
    several = ("high", "high", "mid", "low,high", "mid,low", "high,mid")
    row["partition"] = draw(st.sampled_from(several if waits else ("low", "low", "mid")))
    row["qos"] = draw(st.sampled_from(("gold", "silver") if waits else ("bronze", "silver")))
    if draw(st.booleans()):
        row["priority"] = draw(st.integers(1, 3))
    settings: dict[str, Any] = {}
    if _rare(draw, plain):
        settings["requeue"] = draw(st.booleans())
    if _rare(draw, plain):
        settings["exclusive"] = True
    if _rare(draw, plain):
        settings["signal"] = draw(st.sampled_from(("R:USR1", "rb:10@5", "B:USR1@5", "USR1@60")))
    if waits and _rare(draw, plain):
        settings["expedited"] = True
    if waits and _rare(draw, plain):
        settings["eligible_time"] = draw(st.sampled_from((990.0, 1010.0)))
    if _rare(draw, plain):
        row["kind"] = "interactive"
    if waits and _rare(draw, plain):
        settings["time_min"] = draw(st.sampled_from((5.0, 60.0)))
    if draw(st.booleans()):
        row["user"] = draw(st.sampled_from(("ann", "bob")))
    if draw(st.integers(0, 3)) == 0:
        settings["preemption_cost"] = draw(st.integers(1, 5))
    return row | ({"settings": settings} if settings else {})


def _licences(draw: st.DrawFn, mixed: bool) -> dict[str, int]:
    """Of a row that wants, or has, something on a node too."""
    amount = draw(st.integers(0, 2)) if mixed else 0
    return {"lic": amount} if amount else {}


@st.composite
def job_clusters(
    draw: st.DrawFn,
    *,
    max_nodes: int = 5,
    max_running: int = 6,
    max_waiting: int = 3,
    mixed: bool = False,
) -> Any:
    """Draw a cluster in the file format: most nodes full, jobs over several nodes, and some that wait.

    Parameters
    ----------
    draw
        Provided by hypothesis.
    max_nodes, max_running, max_waiting : int
        Largest numbers of nodes, of jobs that run, and of jobs that wait.
    mixed : bool
        There are licences, and rows have them beside what they have of a node; else that is drawn.

    Returns
    -------
    dict
        For settings with partitions low, mid and high and QOS bronze, silver and gold.
    """
    plain = draw(st.booleans())
    resources = ["cpu", "memory"][: draw(st.integers(1, 2))]
    licences = mixed or (not plain and draw(st.booleans()))
    mixed = mixed or (licences and draw(st.booleans()))
    nodes = [f"n{i}" for i in range(draw(st.integers(2, max_nodes)))]
    used = {node: dict.fromkeys(resources, 0) for node in nodes}
    waiting = [f"p{i}" for i in range(draw(st.integers(1, max_waiting)))]
    operations, allocations, requests = [], [], []
    taken = 0
    for name in waiting:
        operations.append(_job(draw, name, True, plain))
        for k in range(1 if plain else draw(st.sampled_from((1, 1, 2)))):
            row: dict[str, Any] = {"name": f"{name}-r{k}", "operation": name}
            row["resources"] = {r: draw(st.integers(1, 4)) for r in resources} | _licences(draw, mixed)
            row["count"] = 0 if _rare(draw, plain) else draw(st.integers(1, len(nodes)))
            if draw(st.booleans()):
                row["duration"] = draw(st.sampled_from((10, 60, 100)))
            if _rare(draw, plain):
                row["node_tags"] = ["fast"]
            if _rare(draw, plain):
                row["required_node"] = draw(st.sampled_from(nodes))
            requests.append(row)
        if licences and draw(st.booleans()):
            requests.append({"name": f"{name}-l", "operation": name, "resources": {"lic": 1}})
    for i in range(draw(st.integers(1, max_running))):
        name = f"j{i}"
        operations.append(_job(draw, name, False, plain))
        state = "running"
        if not plain and draw(st.integers(0, 2)) == 2:
            state = draw(st.sampled_from(("preempting", "preempting", "suspended", "preempted", "preempted")))
        start = draw(st.sampled_from((10, 20, 20, 40))) if not _rare(draw, plain) else NOW + 10
        end = draw(st.sampled_from((None, None, 1030, 1060)))
        share = {r: draw(st.integers(1, 4)) for r in resources}
        for node in draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3, unique=True)):
            row = {"name": f"{name}@{node}", "operation": name, "node": node, "start_time": start}
            more = _licences(draw, mixed and state != "preempted")
            taken += more.get("lic", 0)
            row |= {"resources": share | more, "state": state}
            holds = share
            if state == "preempting":
                whom = draw(st.sampled_from(requests))
                row["beneficiary"] = draw(
                    st.sampled_from(({"operation": whom["operation"]}, {"request": whom["name"]}))
                )
            if end is not None:
                row["deadline" if state == "preempting" else "planned_end"] = end
            if state == "preempted":
                row["held"] = holds = {r: a for r, a in share.items() if r == "memory"}
                if draw(st.booleans()):  # it finds its room again
                    holds = share
            if _rare(draw, plain):
                row["preemptible"] = False
            for r, amount in holds.items():
                used[node][r] += amount
            allocations.append(row)
        if licences and draw(st.booleans()):
            taken += 1
            row = {"name": f"{name}@", "operation": name, "resources": {"lic": 1}, "start_time": start}
            if state == "preempting":
                row |= {"state": state, "beneficiary": allocations[-1]["beneficiary"]}
            allocations.append(row)
    if _rare(draw, plain):  # something that runs wants more
        row = {"name": "more", "operation": allocations[0]["operation"]}
        requests.append(row | {"resources": {resources[0]: draw(st.integers(0, 4))}})
    reservations = []
    if _rare(draw, plain) or _rare(draw, plain):
        for k in range(draw(st.integers(1, 2))):
            row = {
                "name": f"v{k}",
                "node": draw(st.sampled_from(nodes)),
                "resources": {"cpu": draw(st.integers(1, 4))},
            }
            row["soft"] = draw(st.sampled_from((False, False, True)))
            row["from"] = draw(st.sampled_from((900, 900, 1100)))
            kind, rows = draw(st.sampled_from((("request", requests), ("allocation", allocations))))
            row[kind] = draw(st.sampled_from(rows))["name"]
            if draw(st.booleans()):
                used[row["node"]]["cpu"] += row["resources"]["cpu"]
            reservations.append(row)
    spare = (0, 4, 8) if mixed else (0, 0, 0, 1, 4)  # where licences lack, nodes need not
    spaces: dict[str, Any] = {r: {} for r in resources}
    if licences:
        spaces["lic"] = {"kind": "license", "scope": "cluster", "capacity": taken + draw(st.integers(0, 1))}
    return {
        "now": NOW,
        "resources": spaces,
        "nodes": [
            {
                "name": node,
                "capacity": {r: a + draw(st.sampled_from(spare)) for r, a in used[node].items()},
                **({"tags": ["fast"]} if draw(st.booleans()) else {}),
                **({"schedulable": False} if _rare(draw, plain) else {}),
            }
            for node in nodes
        ],
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
        "reservations": reservations,
    }
