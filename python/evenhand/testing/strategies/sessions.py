"""Strategies for resource groups in which sessions of high priority wait: full nodes, low priorities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.testing.strategies._picking import Pick, picks

if TYPE_CHECKING:
    from hypothesis import strategies as st

    from evenhand.systems.backendai.settings import BackendAISettings

__all__ = ["backendai_settings", "session_groups"]

NOW = 1000
_CHOICES: Mapping[str, tuple[Any, ...]] = {
    "preemption_order": ("oldest", "newest", "fewest-sessions", "smallest-resources"),
    "preemption_mode": ("terminate", "suspend", "reschedule"),
    "preemption_min_runtime": (0.0, 970.0),
    "victim_scope": ("resource-group", "user", "project", "domain"),
    "suspend_fallback": ("terminate", "not_a_victim"),
    "suspend_approach": ("recreate", "keep"),
    "preemptible_priority": (5, 8),
    "preemption_key": ("priority", "job_priority"),
    "victim_threshold": ("preemptible_priority", "none"),
    "preemptors": ("front", "every"),
    "victim_area": ("group", "agent"),
    "victim_selection": ("irreducible", "prefix", "minimum"),
    "victim_cost": ("victims", "lost_work", "given"),
    "agent_selection": ("first", "concentrated", "dispersed"),
    "preemptor_room": ("open", "reserved"),
    "blocked_by": ("any_session", "lack_of_resources"),
    "inference_preemptible": (True, False),
    "sequencer": ("fifo", "lifo", "drf"),
    "max_containers": (None, 3),
}


def backendai_settings(*, most_changes: int = 5) -> st.SearchStrategy[BackendAISettings]:
    """Draw settings of either preset with some switches the other way.

    Parameters
    ----------
    most_changes : int
        How many settings differ from the preset at most.

    Returns
    -------
    strategy of BackendAISettings
    """
    return picks(16).map(lambda pick: made_settings(pick, most_changes))


def made_settings(pick: Pick, most_changes: int) -> BackendAISettings:
    """Return the settings that are picked."""
    from evenhand.systems.backendai.settings import BackendAISettings

    preset = pick(("documented", "upstream"))
    names = pick.some(sorted(_CHOICES), most_changes)
    changes = {name: pick(_CHOICES[name]) for name in names}
    return BackendAISettings.preset(preset, **{"enabled": True, **changes})


def _amounts(pick: Pick, resources: list[str], most: int) -> dict[str, int]:
    sizes = {r: pick(range(0 if i else 1, most + 1)) for i, r in enumerate(resources)}
    return {r: size for r, size in sizes.items() if size}


def _rare(pick: Pick, plain: bool) -> bool:
    """Draw whether something unusual happens."""
    return not plain and pick(range(8)) == 7


def _session(pick: Pick, name: str, waits: bool, plain: bool) -> dict[str, Any]:
    priorities = (2, 5, 10, 10, 20) if waits else (1, 2, 2, 5, 6)
    row: dict[str, Any] = {"name": name, "priority": pick(priorities)}
    if _rare(pick, plain):
        row["kind"] = pick(("interactive", "inference", "system"))
    settings: dict[str, Any] = {"job_priority": pick(range(4) if waits else range(-2, 2))}
    for field in ("user", "project"):  # without one a session is in no scope
        owner = "a" if plain else pick(("a", "a", "a", "a", "b", "b", None))
        row |= {} if owner is None else {field: owner}
    if _rare(pick, plain):
        settings["is_preemptible"] = pick((False, True))
    if _rare(pick, plain):
        settings["started"] = False
    domain = "d" if plain else pick(("d", "d", "d", "d", "e", None))
    settings |= {} if domain is None else {"domain": domain}
    if pick(range(4)) == 0:
        settings["preemption_cost"] = pick(range(1, 6))
    return row | {"settings": settings}


def session_groups(
    *, max_nodes: int = 3, max_running: int = 6, max_waiting: int = 3
) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a resource group in the file format.

    Nodes are full or nearly so; waiting sessions tend to have higher priorities than running ones, with many
    ties. Some sessions leave, were stopped by a person, or are suspended; some hold room reserved.

    Parameters
    ----------
    max_nodes, max_running, max_waiting : int
        Largest numbers of nodes, of sessions that run, and of sessions that wait.

    Returns
    -------
    strategy of dict
    """
    return picks(512).map(lambda pick: made_group(pick, max_nodes, max_running, max_waiting))


def made_group(pick: Pick, max_nodes: int, max_running: int, max_waiting: int) -> dict[str, Any]:
    """Return the cluster that is picked."""
    resources = ["cpu", "gpu", "scratch"][: pick(range(1, 4))]
    nodes = [f"n{i}" for i in range(pick(range(1, max_nodes + 1)))]
    used = {node: dict.fromkeys(resources, 0) for node in nodes}
    plain = pick((False, True))
    licences = not plain and pick(range(3)) == 2
    taken = 0
    waiting = [f"p{i}" for i in range(pick(range(1, max_waiting + 1)))]
    operations, allocations, requests = [], [], []
    for name in waiting:
        operations.append(_session(pick, name, True, plain))
        for k in range(1 if plain else pick(range(1, 3))):
            row: dict[str, Any] = {"name": f"{name}-r{k}", "operation": name}
            row["resources"] = _amounts(pick, resources, 4)
            if licences and pick((False, True)):
                row["resources"]["lic"] = pick(range(1, 3))
            row["count"] = 0 if _rare(pick, plain) else pick((1, 1, 1, 2))
            row["submit_time"] = pick(range(4))
            if _rare(pick, plain):
                row["node_tags"] = ["fast"]
            if _rare(pick, plain):
                row["required_node"] = pick(nodes)
            requests.append(row)
    for i in range(pick(range(1, max_running + 1))):
        name = f"s{i}"
        operations.append(_session(pick, name, False, plain))
        state = "running"
        if _rare(pick, plain):
            state = pick(("preempting", "suspended", "preempted"))
        for k in range(pick(range(1, 3))):
            node = pick(nodes)
            row = {"name": f"{name}-k{k}", "operation": name, "node": node, "state": state}
            row["resources"] = _amounts(pick, resources, 3)
            row["start_time"] = pick((10, 20, 20, 40))
            if _rare(pick, plain):
                row["start_time"] = NOW + 10
            if _rare(pick, plain):
                row["preemptible"] = False
            holds = row["resources"]
            if state == "preempting":
                whom = pick(requests)
                row["beneficiary"] = pick(({"operation": whom["operation"]}, {"request": whom["name"]}))
            if state == "preempted":
                holds = {r: a for r, a in row["resources"].items() if r == "scratch" and pick((False, True))}
                row["held"] = holds
            for r, amount in holds.items():
                used[node][r] += amount
            allocations.append(row)
        if licences and state != "preempted" and pick((False, True)):
            row = {**allocations[-1], "name": f"{name}-l", "resources": {"lic": pick(range(1, 3))}}
            if pick((False, True)):
                row.pop("node")
            taken += row["resources"]["lic"]
            allocations.append(row)
    if _rare(pick, plain):  # something that runs wants more
        row = {"name": "more", "operation": allocations[0]["operation"], "count": 1}
        requests.append(row | {"resources": {resources[0]: pick(range(5))}})
    spare = pick((0, 0, 4))
    capacity = {
        node: {r: max(a + spare + pick((0, 0, 0, -1, 1, 2)), 0) for r, a in used[node].items()}
        for node in nodes
    }
    part = []
    if _rare(pick, plain):
        cut = {r: pick(range(a + 1)) for r, a in capacity[nodes[0]].items()}
        part = [{"name": f"{nodes[0]}-part", "capacity": cut, "physical": nodes[0]}]
    spaces: dict[str, Any] = {r: {"kind": "other"} for r in resources}
    if licences:
        capacity_of_all = taken + pick(range(2))
        spaces["lic"] = {"kind": "license", "scope": "cluster", "capacity": capacity_of_all}
    if "scratch" in spaces:
        spaces["scratch"]["available_after_preemption"] = False
    reservations = []
    if _rare(pick, plain) or _rare(pick, plain):
        for number, row in enumerate(requests[: pick(range(1, 3))]):
            for k in range(row["count"]):
                held: dict[str, Any] = {"name": f"v{number}.{k}", "request": row["name"]}
                held |= {"node": pick(nodes), "resources": row["resources"]}
                held["from"] = pick((900, 950))
                unusual = pick(range(8))
                if unusual == 1:
                    held["soft"] = True
                if unusual == 2:
                    held["resources"] = {"cpu": 1}
                if unusual == 3:
                    held |= {"request": None, "allocation": allocations[0]["name"]}
                reservations.append(held)
    return {
        "now": NOW,
        "resources": spaces,
        "nodes": [
            {
                "name": node,
                "capacity": capacity[node],
                **({"tags": ["fast"]} if pick((False, True)) else {}),
                **({"schedulable": False} if _rare(pick, plain) else {}),
            }
            for node in nodes
        ]
        + part,
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
        "reservations": reservations,
    }
