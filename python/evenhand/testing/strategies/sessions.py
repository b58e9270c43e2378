"""Strategies for resource groups in which sessions of high priority wait: full nodes, low priorities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
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


@st.composite
def backendai_settings(draw: st.DrawFn, *, most_changes: int = 5) -> BackendAISettings:
    """Draw settings of either preset with some switches the other way.

    Parameters
    ----------
    draw
        Provided by hypothesis.
    most_changes : int
        How many settings differ from the preset at most.

    Returns
    -------
    BackendAISettings
    """
    from evenhand.systems.backendai.settings import BackendAISettings

    preset = draw(st.sampled_from(("documented", "upstream")))
    names = draw(st.lists(st.sampled_from(sorted(_CHOICES)), unique=True, max_size=most_changes))
    changes = {name: draw(st.sampled_from(_CHOICES[name])) for name in names}
    return BackendAISettings.preset(preset, **{"enabled": True, **changes})


def _amounts(draw: st.DrawFn, resources: list[str], most: int) -> dict[str, int]:
    sizes = {r: draw(st.integers(0 if i else 1, most)) for i, r in enumerate(resources)}
    return {r: size for r, size in sizes.items() if size}


def _rare(draw: st.DrawFn, plain: bool) -> bool:
    """Draw whether something unusual happens."""
    return not plain and draw(st.integers(0, 7)) == 7


def _session(draw: st.DrawFn, name: str, waits: bool, plain: bool) -> dict[str, Any]:
    priorities = (2, 5, 10, 10, 20) if waits else (1, 2, 2, 5, 6)
    row: dict[str, Any] = {"name": name, "priority": draw(st.sampled_from(priorities))}
    if _rare(draw, plain):
        row["kind"] = draw(st.sampled_from(("interactive", "inference", "system")))
    settings: dict[str, Any] = {"job_priority": draw(st.integers(0, 3) if waits else st.integers(-2, 1))}
    for field in ("user", "project"):  # without one a session is in no scope
        owner = "a" if plain else draw(st.sampled_from(("a", "a", "a", "a", "b", "b", None)))
        row |= {} if owner is None else {field: owner}
    if _rare(draw, plain):
        settings["is_preemptible"] = draw(st.booleans())
    if _rare(draw, plain):
        settings["started"] = False
    domain = "d" if plain else draw(st.sampled_from(("d", "d", "d", "d", "e", None)))
    settings |= {} if domain is None else {"domain": domain}
    if draw(st.integers(0, 3)) == 0:
        settings["preemption_cost"] = draw(st.integers(1, 5))
    return row | {"settings": settings}


@st.composite
def session_groups(draw: st.DrawFn, *, max_nodes: int = 3, max_running: int = 6, max_waiting: int = 3) -> Any:
    """Draw a resource group in the file format.

    Nodes are full or nearly so; waiting sessions tend to have higher priorities than running ones, with many
    ties. Some sessions leave, were stopped by a person, or are suspended; some hold room reserved.

    Parameters
    ----------
    draw
        Provided by hypothesis.
    max_nodes, max_running, max_waiting : int
        Largest numbers of nodes, of sessions that run, and of sessions that wait.

    Returns
    -------
    dict
    """
    resources = ["cpu", "gpu", "scratch"][: draw(st.integers(1, 3))]
    nodes = [f"n{i}" for i in range(draw(st.integers(1, max_nodes)))]
    used = {node: dict.fromkeys(resources, 0) for node in nodes}
    plain = draw(st.booleans())
    licences = not plain and draw(st.integers(0, 2)) == 2
    taken = 0
    waiting = [f"p{i}" for i in range(draw(st.integers(1, max_waiting)))]
    operations, allocations, requests = [], [], []
    for name in waiting:
        operations.append(_session(draw, name, True, plain))
        for k in range(1 if plain else draw(st.integers(1, 2))):
            row: dict[str, Any] = {"name": f"{name}-r{k}", "operation": name}
            row["resources"] = _amounts(draw, resources, 4)
            if licences and draw(st.booleans()):
                row["resources"]["lic"] = draw(st.integers(1, 2))
            row["count"] = 0 if _rare(draw, plain) else draw(st.sampled_from((1, 1, 1, 2)))
            row["submit_time"] = draw(st.integers(0, 3))
            if _rare(draw, plain):
                row["node_tags"] = ["fast"]
            if _rare(draw, plain):
                row["required_node"] = draw(st.sampled_from(nodes))
            requests.append(row)
    for i in range(draw(st.integers(1, max_running))):
        name = f"s{i}"
        operations.append(_session(draw, name, False, plain))
        state = "running"
        if _rare(draw, plain):
            state = draw(st.sampled_from(("preempting", "suspended", "preempted")))
        for k in range(draw(st.integers(1, 2))):
            node = draw(st.sampled_from(nodes))
            row = {"name": f"{name}-k{k}", "operation": name, "node": node, "state": state}
            row["resources"] = _amounts(draw, resources, 3)
            row["start_time"] = draw(st.sampled_from((10, 20, 20, 40)))
            if _rare(draw, plain):
                row["start_time"] = NOW + 10
            if _rare(draw, plain):
                row["preemptible"] = False
            holds = row["resources"]
            if state == "preempting":
                whom = draw(st.sampled_from(requests))
                row["beneficiary"] = draw(
                    st.sampled_from(({"operation": whom["operation"]}, {"request": whom["name"]}))
                )
            if state == "preempted":
                holds = {r: a for r, a in row["resources"].items() if r == "scratch" and draw(st.booleans())}
                row["held"] = holds
            for r, amount in holds.items():
                used[node][r] += amount
            allocations.append(row)
        if licences and state != "preempted" and draw(st.booleans()):
            row = {**allocations[-1], "name": f"{name}-l", "resources": {"lic": draw(st.integers(1, 2))}}
            if draw(st.booleans()):
                row.pop("node")
            taken += row["resources"]["lic"]
            allocations.append(row)
    if _rare(draw, plain):  # something that runs wants more
        row = {"name": "more", "operation": allocations[0]["operation"], "count": 1}
        requests.append(row | {"resources": {resources[0]: draw(st.integers(0, 4))}})
    spare = draw(st.sampled_from((0, 0, 4)))
    capacity = {
        node: {
            r: max(a + spare + draw(st.sampled_from((0, 0, 0, -1, 1, 2))), 0) for r, a in used[node].items()
        }
        for node in nodes
    }
    part = []
    if _rare(draw, plain):
        cut = {r: draw(st.integers(0, a)) for r, a in capacity[nodes[0]].items()}
        part = [{"name": f"{nodes[0]}-part", "capacity": cut, "physical": nodes[0]}]
    spaces: dict[str, Any] = {r: {"kind": "other"} for r in resources}
    if licences:
        capacity_of_all = taken + draw(st.integers(0, 1))
        spaces["lic"] = {"kind": "license", "scope": "cluster", "capacity": capacity_of_all}
    if "scratch" in spaces:
        spaces["scratch"]["available_after_preemption"] = False
    reservations = []
    if _rare(draw, plain) or _rare(draw, plain):
        for number, row in enumerate(requests[: draw(st.integers(1, 2))]):
            for k in range(row["count"]):
                held: dict[str, Any] = {"name": f"v{number}.{k}", "request": row["name"]}
                held |= {"node": draw(st.sampled_from(nodes)), "resources": row["resources"]}
                held["from"] = draw(st.sampled_from((900, 950)))
                unusual = draw(st.integers(0, 7))
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
                **({"tags": ["fast"]} if draw(st.booleans()) else {}),
                **({"schedulable": False} if _rare(draw, plain) else {}),
            }
            for node in nodes
        ]
        + part,
        "operations": operations,
        "allocations": allocations,
        "requests": requests,
        "reservations": reservations,
    }
