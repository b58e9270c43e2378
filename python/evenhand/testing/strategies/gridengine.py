"""Strategies for Grid Engine clusters in which jobs of high priority wait: full hosts, low priorities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.testing.strategies._picking import Pick, picks

if TYPE_CHECKING:
    from hypothesis import strategies as st

    from evenhand.systems.gridengine.settings import GridEngineSettings

__all__ = ["gridengine_clusters", "gridengine_settings"]

NOW = 1000
_POOLS = ("all.q", "low.q", "mid.q", "other")
_ALWAYS: Mapping[str, tuple[Any, ...]] = {
    "max_reservation": (10, 10, 10, 2, 1, 0),
    "max_preemptees": (10, 10, 10, 2, 1, 0),
    "automatic_preemption": (True, True, False),
}
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "prioritize_preemptees": (True,),
    "preemptees_keep_resources": (True,),
    "preemption_distance": (0.0, 100.0, 2000.0),
    "DURATION_OFFSET": (0.0, 10.0),
    "default_duration": (300.0,),
    "backfilling": (False,),
    "preemption_action": ("T", "R", "C", "P", "N", "S", "advisor"),
    "actions": (("T", "R", "C"), ("R", "S"), ("C", "N")),
    "over_the_cap": ("as_many",),
    "notify": (20.0,),
    "lo_licenses": (("lic",),),
    "queues": (
        {"all.q": {"rerun": True, "suspend_method": "/m $action"}},
        {"all.q": {"preemption_action": "S"}, "low.q": {"preemption_action": "advisor"}},
        {"all.q": {"subordinate_list": "slots=2(low.q:1, mid.q:0:lr)"}},
        {"all.q": {"subordinate_list": "slots=2(low.q, mid.q::lr)"}},
        {"all.q": {"subordinate_list": "slots=3(mid.q)"}, "mid.q": {"subordinate_list": "slots=1(low.q)"}},
        {"all.q": {"subordinate_list": "low.q=2,mid.q=1"}, "mid.q": {"rerun": True}},
        {"all.q": {"subordinate_list": "low.q", "slots": 3}, "low.q": {"subordinate_list": "slots=1(mid.q)"}},
    ),
}


def gridengine_settings(
    *, most_changes: int = 5, licences: bool = True
) -> st.SearchStrategy[GridEngineSettings]:
    """Draw settings with preemption mostly switched on.

    Parameters
    ----------
    most_changes : int
        How many further settings differ from the defaults at most.
    licences : bool
        Whether the licence of `gridengine_clusters` may be managed.

    Returns
    -------
    strategy of GridEngineSettings
    """
    return picks(40).map(lambda pick: made_settings(pick, most_changes, licences))


def made_settings(pick: Pick, most_changes: int, licences: bool) -> GridEngineSettings:
    """Return the settings that are picked."""
    from evenhand.systems.gridengine.settings import GridEngineSettings

    changes = {name: pick(values) for name, values in _ALWAYS.items()}
    known = sorted(name for name in _CHOICES if licences or name != "lo_licenses")
    changes |= {name: pick(_CHOICES[name]) for name in pick.some(known, most_changes)}
    return GridEngineSettings(**changes)


def gridengine_clusters(
    *, max_nodes: int = 3, max_running: int = 6, max_waiting: int = 4
) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a cluster in the file format.

    Hosts are full or nearly so; most waiting jobs have higher priorities than running ones and ask for a
    reservation. Some jobs leave, were stopped by hand, or are preempted; some room is reserved.

    Parameters
    ----------
    max_nodes, max_running, max_waiting : int
        Largest numbers of hosts, of jobs that run, and of jobs that wait.

    Returns
    -------
    strategy of dict
    """
    return picks(512).map(lambda pick: made_cluster(pick, max_nodes, max_running, max_waiting))


def _rare(pick: Pick) -> bool:
    """Draw whether something unusual happens."""
    return bool(pick(range(8)) == 7)


def _spaces(pick: Pick) -> dict[str, dict[str, Any]]:
    spaces: dict[str, dict[str, Any]] = {"slots": {"kind": "slots"}, "lic": {"kind": "license"}}
    for name, kind in (("h_vmem", "memory"), ("gpu", "other"))[: pick(range(3))]:
        spaces[name] = {"kind": kind}
    for space in spaces.values():
        if _rare(pick):
            space["available_after_preemption"] = False
    return spaces


def _needs(pick: Pick, spaces: Mapping[str, Any]) -> dict[str, int]:
    found = {r: pick(range(3)) for r in spaces if r not in ("slots", "lic")}
    found |= {"slots": pick((1, 1, 2, 3)), "lic": pick((0, 0, 0, 1, 2))}
    return {r: amount for r, amount in found.items() if amount}


def _job(pick: Pick, name: str, priorities: tuple[float, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "priority": pick(priorities), "user": pick(("ann", "ann", "eve"))}
    if pick(range(3)):
        row["pool"] = pick(_POOLS)
    if _rare(pick):
        row["settings"] = {"job_name": pick(("sleep", "model"))}
    if _rare(pick):
        row["start_time"] = pick((1, 2))
    return row


def _waiting(pick: Pick, name: str, spaces: Mapping[str, Any], nodes: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": f"{name}-r", "operation": name, "resources": _needs(pick, spaces)}
    row |= {"count": pick((1, 1, 1, 1, 2, 3)), "submit_time": pick(range(3))}
    row["reserve"] = pick((True, True, True, False))
    if pick(range(4)):
        row["duration"] = pick((50, 200, 600))
    if _rare(pick):
        row["node_tags"] = ["fast"]
    if _rare(pick):
        row["required_node"] = pick(nodes)
    return row


def _running(pick: Pick, name: str, spaces: Mapping[str, Any], nodes: list[str]) -> list[dict[str, Any]]:
    rows = []
    state = pick(("preempting", "suspended", "preempted", "preempted")) if pick(range(4)) == 3 else "running"
    for k in range(pick((1, 1, 1, 2))):
        row: dict[str, Any] = {"name": f"{name}-a{k}", "operation": name, "node": pick(nodes), "state": state}
        row |= {"resources": _needs(pick, spaces), "start_time": pick((100, 500, 900))}
        if pick(range(4)):
            row["planned_end"] = pick((990, 1050, 1500, 4000, 9000))
        for flag in ("checkpointable", "rerunnable"):
            if pick(range(4)) == 0:
                row[flag] = True
        settings: dict[str, Any] = {}
        if pick(range(3)) == 0:
            settings["queue"] = pick(("all.q", "low.q", "mid.q", "other.q"))
        if pick(range(3)) == 0:
            settings["releases_on_suspend"] = True
        if settings:
            row["settings"] = settings
        if _rare(pick):
            row["preemptible"] = False
        if state == "preempting" and pick((False, True)):
            row["deadline"] = pick((1010, 1100))
        if state == "preempted":
            # Some were stopped on subordinate: they keep all they have.
            whole = not pick(range(3))
            row["held"] = {
                r: a for r, a in row["resources"].items() if whole or (r != "lic" and pick((False, True)))
            }
        rows.append(row)
    return rows


def made_cluster(pick: Pick, max_nodes: int, max_running: int, max_waiting: int) -> dict[str, Any]:
    """Return the cluster that is picked."""
    spaces = _spaces(pick)
    nodes = [f"h{i}" for i in range(pick(range(1, max_nodes + 1)))]
    operations, requests, allocations = [], [], []
    for i in range(pick(range(1, max_waiting + 1))):
        operations.append(_job(pick, f"2{i}", (0.8, 0.6, 0.5, 0.2)))
        requests.append(_waiting(pick, f"2{i}", spaces, nodes))
    for i in range(pick(range(1, max_running + 1))):
        operations.append(_job(pick, f"1{i}", (0.1, 0.2, 0.3, 0.5, 0.7)))
        allocations += _running(pick, f"1{i}", spaces, nodes)
    used = {node: dict.fromkeys(spaces, 0) for node in nodes}
    for row in allocations:
        for r, amount in (row["held"] if row["state"] == "preempted" else row["resources"]).items():
            used[row["node"]][r] += amount
        if row["state"] == "preempting" and pick((False, True)):
            row["beneficiary"] = {"operation": pick(requests)["operation"]}
    spaces["lic"] |= {
        "scope": "cluster",
        "capacity": sum(u.pop("lic") for u in used.values()) + pick((0, 0, 1)),
    }
    spare = pick((0, 0, 0, 1, 3))
    hosts = []
    for node in nodes:
        host: dict[str, Any] = {
            "name": node,
            "capacity": {r: a + spare + pick((0, 0, 1)) for r, a in used[node].items()},
        }
        if pick((False, True)):
            host["tags"] = ["fast"]
        if _rare(pick):
            host["schedulable"] = False
        if pick(range(3)) == 0:
            host["swap_free"] = pick((0, 2, 8))
        hosts.append(host)
    reservations = []
    if _rare(pick):
        whose = pick(({"request": requests[0]["name"]}, {"allocation": allocations[0]["name"]}))
        held = {"name": "v", **whose, "node": pick(nodes), "resources": {"slots": pick((1, 2))}}
        held["from"] = pick((900, 1100))
        if pick((False, True)):
            held["until"] = pick((1500, 3000))
        if _rare(pick):
            held["soft"] = True
        reservations.append(held)
    return {
        "now": NOW,
        "resources": spaces,
        "nodes": hosts,
        "pools": [{"name": name} for name in _POOLS],
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
        "reservations": reservations,
    }
