"""Strategies for clusters of Slurm on which jobs of higher tiers or other QOS wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.systems.slurm.releases import RELEASES
from evenhand.testing.strategies._picking import Pick, picks

if TYPE_CHECKING:
    from hypothesis import strategies as st

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
    "gang_exempt_time": ("honoured", "ignored", "by_release"),
    "release": RELEASES,
    "node_weights": ({"n0": 5}, {"n1": 0}, {"n0": 2, "n1": 2}),
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
    return picks(64).map(lambda pick: made_settings(pick, most_changes, fixed))


def made_settings(pick: Pick, most_changes: int, fixed: Mapping[str, Any]) -> SlurmSettings:
    """Return the settings that are picked."""
    from evenhand.systems.slurm.settings import SlurmSettings

    kind = pick(sorted(_MODES))
    part = (None, None, None, "OFF", "CANCEL", "REQUEUE", "SUSPEND", "REQUEUE,PRIORITY")
    partitions: dict[str, Any] = {}
    for name, tier in (("low", 1), ("mid", pick((1, 5))), ("high", 10)):
        partitions[name] = {"PriorityTier": tier, "PreemptMode": pick(part)}
        partitions[name]["PriorityJobFactor"] = pick((1, 1, 4))
        partitions[name]["OverSubscribe"] = pick(("FORCE:1", "FORCE:1", "NO", "EXCLUSIVE"))
        if pick(range(6)) == 5:
            partitions[name]["Nodes"] = ["n0", "n1"]
        partitions[name]["GraceTime"] = pick((0.0, 0.0, 20.0, 60.0))
        partitions[name]["MaxTime"] = pick((None, None, 60.0))
        partitions[name]["DefaultTime"] = pick((None, None, 30.0))
        partitions[name]["State"] = pick(("UP",) * 12 + ("DOWN", "DRAIN", "INACTIVE"))
    qos = {
        "bronze": {"PreemptMode": pick(part)},
        "silver": {"PreemptMode": pick(part), "Priority": pick(range(3)), "Preempt": ["bronze"]},
        "gold": {"Priority": 3, "Preempt": pick((["bronze"], ["bronze", "silver"]))},
    }
    names = pick.some(sorted(_CHOICES), most_changes)
    settings = {
        "PreemptType": kind,
        "PreemptMode": pick(_MODES[kind]),
        "partitions": partitions,
        "qos": qos,
        "SchedulerType": pick(("sched/builtin", "sched/backfill", "sched/backfill")),
        **{name: pick(_CHOICES[name]) for name in names},
    }
    return SlurmSettings(**{**settings, **fixed})


def _rare(pick: Pick, plain: bool) -> bool:
    return not plain and pick(range(8)) == 7


def _job(pick: Pick, name: str, waits: bool, plain: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": name,
        "start_time": pick(range(4) if waits else range(10)),
    }
    several = ("high", "high", "mid", "low,high", "mid,low", "high,mid")
    row["partition"] = pick(several if waits else ("low", "low", "mid"))
    row["qos"] = pick(("gold", "silver") if waits else ("bronze", "silver"))
    if pick((False, True)):
        row["priority"] = pick(range(1, 4))
    settings: dict[str, Any] = {}
    if _rare(pick, plain):
        settings["requeue"] = pick((False, True))
    if _rare(pick, plain):
        settings["exclusive"] = True
    if _rare(pick, plain):
        settings["signal"] = pick(("R:USR1", "rb:10@5", "B:USR1@5", "USR1@60"))
    if waits and _rare(pick, plain):
        settings["expedited"] = True
    if waits and _rare(pick, plain):
        settings["eligible_time"] = pick((990.0, 1010.0))
    if _rare(pick, plain):
        row["kind"] = "interactive"
    if waits and _rare(pick, plain):
        settings["time_min"] = pick((5.0, 60.0))
    if waits and _rare(pick, plain):
        settings["cpus_per_task"] = 2
    if waits and _rare(pick, plain):
        settings["max_nodes"] = 2
    if pick((False, True)):
        row["user"] = pick(("ann", "bob"))
    if pick(range(4)) == 0:
        settings["preemption_cost"] = pick(range(1, 6))
    return row | ({"settings": settings} if settings else {})


def _licences(pick: Pick, mixed: bool) -> dict[str, int]:
    """Of a row that wants, or has, something on a node too."""
    amount = pick(range(3)) if mixed else 0
    return {"lic": amount} if amount else {}


def job_clusters(
    *, max_nodes: int = 5, max_running: int = 6, max_waiting: int = 3, mixed: bool = False
) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a cluster in the file format: most nodes full, jobs over several nodes, and some that wait.

    Parameters
    ----------
    max_nodes, max_running, max_waiting : int
        Largest numbers of nodes, of jobs that run, and of jobs that wait.
    mixed : bool
        There are licences, and rows have them beside what they have of a node; else that is drawn.

    Returns
    -------
    strategy of dict
        For settings with partitions low, mid and high and QOS bronze, silver and gold.
    """
    return picks(512).map(lambda pick: made_cluster(pick, max_nodes, max_running, max_waiting, mixed))


def made_cluster(
    pick: Pick, max_nodes: int, max_running: int, max_waiting: int, mixed: bool
) -> dict[str, Any]:
    """Return the cluster that is picked."""
    plain = pick((False, True))
    resources = ["cpu", "memory", "gpu"][: pick((1, 1, 2, 2, 3))]
    licences = mixed or (not plain and pick((False, True)))
    mixed = mixed or (licences and pick((False, True)))
    nodes = [f"n{i}" for i in range(pick(range(2, max_nodes + 1)))]
    used = {node: dict.fromkeys(resources, 0) for node in nodes}
    waiting = [f"p{i}" for i in range(pick(range(1, max_waiting + 1)))]
    operations, allocations, requests = [], [], []
    taken = 0
    for name in waiting:
        operations.append(_job(pick, name, True, plain))
        for k in range(1 if plain else pick((1, 1, 2))):
            row: dict[str, Any] = {"name": f"{name}-r{k}", "operation": name}
            row["resources"] = {r: pick(range(1, 5)) for r in resources} | _licences(pick, mixed)
            row["count"] = 0 if _rare(pick, plain) else pick(range(1, len(nodes) + 1))
            if pick((False, True)):
                row["duration"] = pick((10, 60, 100))
            if _rare(pick, plain):
                row["node_tags"] = ["fast"]
            if _rare(pick, plain):
                row["required_node"] = pick(nodes)
            requests.append(row)
        if licences and pick((False, True)):
            requests.append({"name": f"{name}-l", "operation": name, "resources": {"lic": 1}})
    for i in range(pick(range(1, max_running + 1))):
        name = f"j{i}"
        operations.append(_job(pick, name, False, plain))
        state = "running"
        if not plain and pick(range(3)) == 2:
            state = pick(("preempting", "preempting", "suspended", "preempted", "preempted"))
        start = pick((10, 20, 20, 40)) if not _rare(pick, plain) else NOW + 10
        end = pick((None, None, 1030, 1060))
        share = {r: pick(range(1, 5)) for r in resources}
        for node in pick.some(nodes, 3, 1):
            row = {"name": f"{name}@{node}", "operation": name, "node": node, "start_time": start}
            more = _licences(pick, mixed and state != "preempted")
            taken += more.get("lic", 0)
            row |= {"resources": share | more, "state": state}
            holds = share
            if state == "preempting":
                whom = pick(requests)
                row["beneficiary"] = pick(({"operation": whom["operation"]}, {"request": whom["name"]}))
            if end is not None:
                row["deadline" if state == "preempting" else "planned_end"] = end
            if state == "preempted":
                row["held"] = holds = {r: a for r, a in share.items() if r == "memory"}
                if pick((False, True)):  # it finds its room again
                    holds = share
            if _rare(pick, plain):
                row["preemptible"] = False
            for r, amount in holds.items():
                used[node][r] += amount
            allocations.append(row)
        if licences and pick((False, True)):
            taken += 1
            row = {"name": f"{name}@", "operation": name, "resources": {"lic": 1}, "start_time": start}
            if state == "preempting":
                row |= {"state": state, "beneficiary": allocations[-1]["beneficiary"]}
            allocations.append(row)
    if _rare(pick, plain):  # something that runs wants more
        row = {"name": "more", "operation": allocations[0]["operation"]}
        requests.append(row | {"resources": {resources[0]: pick(range(5))}})
    reservations = []
    if _rare(pick, plain) or _rare(pick, plain):
        for k in range(pick(range(1, 3))):
            row = {
                "name": f"v{k}",
                "node": pick(nodes),
                "resources": {"cpu": pick(range(1, 5))},
            }
            row["soft"] = pick((False, False, True))
            row["from"] = pick((900, 900, 1100))
            kind, rows = pick((("request", requests), ("allocation", allocations)))
            row[kind] = pick(rows)["name"]
            if pick((False, True)):
                used[row["node"]]["cpu"] += row["resources"]["cpu"]
            reservations.append(row)
    spare = (0, 4, 8) if mixed else (0, 0, 0, 1, 4)  # where licences lack, nodes need not
    spaces: dict[str, Any] = {r: {} for r in resources}
    if licences:
        spaces["lic"] = {"kind": "license", "scope": "cluster", "capacity": taken + pick(range(2))}
    return {
        "now": NOW,
        "resources": spaces,
        "nodes": [
            {
                "name": node,
                "capacity": {r: a + pick(spare) for r, a in used[node].items()},
                **({"tags": ["fast"]} if pick((False, True)) else {}),
                **({"schedulable": False} if _rare(pick, plain) else {}),
            }
            for node in nodes
        ],
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
        "reservations": reservations,
    }
