"""Small clusters for one heartbeat, planned by the engine and by the readable reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import evenhand as eh
from evenhand.systems.ytsaurus.settings import YTsaurusSettings
from tests.reference.ytsaurus import reference_plan

NOW = 1000.0

Made = Mapping[str, Any]
Planner = Callable[..., Made]


def engine(data: Mapping[str, Any], *, state: Any = None, given: Any = None, **settings: Any) -> Made:
    """Plan a heartbeat of node n."""
    kept = eh.State.from_dict(state) if state else None
    policy = eh.policies.YTsaurus(settings.pop("preset", "documented"), **settings)
    return eh.plan(eh.Snapshot.from_dict(data), policy, kept, on=eh.Heartbeat("n"), given=given).to_dict()


def reference(data: Mapping[str, Any], *, state: Any = None, given: Any = None, **settings: Any) -> Made:
    """Plan the same by the reference."""
    chosen = YTsaurusSettings.preset(settings.pop("preset", "documented"), **settings)
    return reference_plan(eh.Snapshot.from_dict(data), chosen, state, on=eh.Heartbeat("n"), given=given)


def cluster(
    capacity: Mapping[str, float],
    allocations: list[dict[str, Any]],
    requests: list[dict[str, Any]],
    **more: Any,
) -> dict[str, Any]:
    """One node n; operations are those that rows name, unless `operations` are given."""
    names = sorted({row["operation"] for row in (*allocations, *requests)})
    return {
        "now": NOW,
        "resources": {name: {} for name in capacity},
        "nodes": [{"name": "n", "capacity": dict(capacity)}],
        "operations": [{"name": name} for name in names],
        "allocations": [{"node": "n", "start_time": float(i), **row} for i, row in enumerate(allocations, 1)],
        "requests": requests,
        **more,
    }


def row(name: str, operation: str, **fields: Any) -> dict[str, Any]:
    """An allocation or a request; what is no other field of theirs is an amount."""
    fields_of_rows = {"count", "state", "beneficiary", "settings", "preemptible", "deadline", "start_time"}
    amounts = {key: value for key, value in fields.items() if key not in fields_of_rows}
    other = {key: value for key, value in fields.items() if key in fields_of_rows}
    return {"name": name, "operation": operation, "resources": amounts, **other}


def starving(*operations: str, preemptible: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """Given: these operations starve, and these allocations are preemptible."""
    return {
        "starvation": dict.fromkeys(operations, "starving"),
        "groups": dict.fromkeys(preemptible, "preemptible"),
        **more,
    }


def clocks(
    name: str, since: float, starvation: str = "non_starving", kind: str = "operation"
) -> dict[str, Any]:
    """A state in which one element has been below its fair share since an instant."""
    element = {"name": name, "kind": kind, "since": since, "starvation": starvation}
    return {"schema": "evenhand/state/1", "time": since, "settings": "", "pools": [], "elements": [element]}


def done(made: Made) -> list[str]:
    """Decisions in order: "+request" starts, "-allocation" is preempted."""
    return [
        f"+{d['request']}" if d["action"] == "start" else f"-{d['allocation']}" for d in made["decisions"]
    ]


def reasons(made: Made) -> list[str]:
    """Reasons of the decisions, in order."""
    return [d["reason"] for d in made["decisions"]]
