"""A law of all systems: no decision breaks the pace that is set."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from evenhand.config.pace import PaceSettings
from evenhand.testing.strategies._pace import paced
from evenhand.testing.strategies._picking import Pick
from tests.reference.pace import Pace

__all__ = ["drawn_pace", "keeps_its_pace"]

#: What repairs violated limits and overfull nodes is exempt, and counts.
EXEMPT = ("limit_repair", "overcommit")


def drawn_pace(data: Mapping[str, Any], pick: Pick) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return a snapshot whose operations stand in up to three pools, settings `pace`, and a state."""
    count = pick(range(4))
    pools: list[dict[str, Any]] = [{"name": f"q{i}"} for i in range(count)]
    if count > 1 and pick((False, True)):
        pools[1]["parent"] = "q0"
    operations = [dict(row) for row in data["operations"]]
    for row in operations if count else ():
        pool = pick((None, *(pool["name"] for pool in pools)))
        row |= {} if pool is None else {"pool": pool}
    changed = {**data, "pools": pools, "operations": operations}
    changed["allocations"] = [dict(row) for row in data["allocations"]]
    pace, victims = paced(changed, pick)
    kept = {"schema": "evenhand/state/1", "time": data["now"] - 1, "settings": "", "pools": []}
    return changed, pace, {**kept, "victims": victims}


def keeps_its_pace(
    snapshot: Mapping[str, Any],
    plan: Mapping[str, Any],
    settings: PaceSettings,
    state: Mapping[str, Any],
    *,
    operations: bool = False,
) -> None:
    """Follow the decisions: what leaves in one step leaves at once.

    Parameters
    ----------
    snapshot, plan, state : mapping
        As JSON; the snapshot as `Snapshot.to_dict` gives it.
    settings : PaceSettings
    operations : bool
        Whether operations are preempted as a whole: then each is one victim.
    """
    pace = Pace(settings, snapshot, state)
    pools = {row["name"]: row.get("pool") for row in snapshot["operations"]}
    rows = {row["name"]: row for row in snapshot.get("allocations", ())}
    victims = [d for d in plan["decisions"] if d["action"] == "preempt"]
    for _, group in groupby(victims, key=_at_once):
        step = list(group)
        owners = [(d["operation"], pools[d["operation"]]) for d in step]
        if step[0]["stage"] not in EXEMPT:
            work = [[rows[d["allocation"]]] for d in step]
            if operations:
                owners = list(dict.fromkeys(owners))
                work = [[a for a in rows.values() if _runs(a, name)] for name, _ in owners]
            for (name, pool), of in zip(owners, work, strict=True):
                began, end = _span(of)
                assert pace.spares(name, pool, began, end) is None, (name, step)
            assert not pace.beyond(owners), step
        for owner in owners:
            pace.took(*owner)


def _at_once(decision: Mapping[str, Any]) -> Any:
    """Return what decisions of one step have in common; the graceful pass of a node is one, too."""
    return decision["node"] if decision["stage"] == "graceful" else decision["step"], decision["stage"]


def _runs(row: Mapping[str, Any], operation: Any) -> bool:
    return bool(row["operation"] == operation and row.get("state", "running") in ("running", "suspended"))


def _span(rows: list[Mapping[str, Any]]) -> tuple[int, int | None]:
    """Return when work began, and when the last of it is planned to end; None: unknown of some."""
    ends = [row.get("planned_end") for row in rows]
    began = min(round(row.get("start_time", 0.0) * 1e6) for row in rows)
    return began, None if None in ends else max(round(end * 1e6) for end in ends)
