"""A live cluster beside the plan of the same rows and the same state."""

from __future__ import annotations

from typing import Any

import evenhand as eh

Said = list[tuple[str, Any, Any]]


def put(table: str, **row: Any) -> dict[str, Any]:
    return {"event": "put", "table": table, "row": row}


def remove(table: str, name: Any) -> dict[str, Any]:
    return {"event": "remove", "table": table, "name": name}


def end(name: str) -> dict[str, Any]:
    return {"event": "end", "allocation": name}


def at(now: float) -> dict[str, Any]:
    return {"event": "time", "now": now}


def node(name: str, **capacity: float) -> dict[str, Any]:
    return {"name": name, "capacity": capacity}


def cluster(policy: Any, **rows: Any) -> eh.Cluster:
    return eh.Cluster(eh.Snapshot.from_dict({"now": 1000, "resources": {"cpu": {}}, **rows}), policy)


def rows_of(made: eh.Cluster) -> eh.Snapshot:
    """The rows as they are, without a look at the cluster itself."""
    return made.copy().snapshot()


def planned(made: eh.Cluster, policy: Any, state: Any = None, **on: Any) -> Any:
    """The plan of the cluster's rows and a state that was kept elsewhere."""
    return eh.plan(rows_of(made), policy, state, **on)


def said(plan: Any) -> Said:
    return [(d.action, d.allocation or d.request, d.node) for d in plan.decisions]


def both(made: eh.Cluster, policy: Any, state: Any = None, **on: Any) -> Said:
    """What the cluster decides, which is what is planned of its rows and the state."""
    expected = planned(made, policy, state, **on)
    live = made.plan(**on)
    assert said(live) == said(expected)
    assert live.counts == expected.counts
    assert live.state == expected.state
    assert live.state.to_dict() == expected.state.to_dict()
    return said(live)
