"""Laws of the YTsaurus policy about order: what may preempt, what goes first, and what must not wait.

Where fair shares would decide they say nothing: they hold for plans as JSON, without the shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.testing._laws import must
from evenhand.testing._plan_ledger import EPSILON, Ledger

if TYPE_CHECKING:
    from evenhand.testing.plan_laws import Planned

__all__ = [
    "newest_victims_first",
    "no_newer_twin_is_spared",
    "only_starving_operations_preempt",
    "operations_without_room_start_first",
    "starving_operations_preempt",
]

_FOR_THE_STARVING = ("preemptive", "aggressive", "ssd_preemptive", "ssd_aggressive")


def only_starving_operations_preempt(planned: Planned) -> None:
    """Victims of a stage are taken for an operation that starves, or is below a pool that does."""
    pools = {row["name"]: row for row in planned.snapshot.get("pools", ())}
    for decision in planned.victims:
        if decision["stage"] not in _FOR_THE_STARVING:
            continue
        operation = planned.operations[decision["beneficiary"]["operation"]]
        states = [planned.status(operation["name"], "operation")["starvation"]]
        pool = operation.get("pool")
        while pool is not None:
            states.append(planned.status(pool, "pool")["starvation"])
            pool = pools[pool].get("parent")
        states.append(planned.status("<Root>", "pool")["starvation"])
        must(any(state != "non_starving" for state in states), decision)


def newest_victims_first(planned: Planned) -> None:
    """In the preemptive stage victims are taken newest first; equal times by canonical order, last first."""
    place = {name: row for row, name in enumerate(planned.allocations)}
    steps: dict[Any, list[tuple[float, int]]] = {}
    for d in planned.victims:
        if d["stage"] == "preemptive":
            key = (_age_key(planned, d["allocation"]), place[d["allocation"]])
            steps.setdefault(d["step"], []).append(key)
    for keys in steps.values():
        must(keys == sorted(keys, reverse=True), keys)


def no_newer_twin_is_spared(planned: Planned) -> None:
    """In the preemptive stage no allocation is spared that is newer than an equal victim of its operation."""
    s = planned.settings
    if planned.paced or (s.victim_selection == "minimum" and s.victim_cost != "victims"):
        return
    taken = {d["allocation"] for d in planned.victims}
    for d in planned.victims:
        if d["stage"] != "preemptive" or _changed_before(planned, d):
            continue
        victim = planned.allocations[d["allocation"]]
        for name, other in planned.allocations.items():
            alike = all(
                other.get(field) == victim.get(field)
                for field in ("operation", "node", "resources", "state", "preemptible", "settings")
            )
            safe = planned.plan["groups"].get(str(name)) != "preemptible" or name in taken
            if alike and not safe:
                must(_age_key(planned, name) <= _age_key(planned, d["allocation"]), (d, name))


def operations_without_room_start_first(planned: Planned) -> None:
    """Side by side, an operation that has nothing is served in free room before one that has something.

    Its satisfaction is 0, the least there is.
    """
    if planned.snapshot.get("pools") or planned.snapshot.get("root", {}).get("mode") == "fifo":
        return
    if any(row.get("limits") for row in (*planned.operations.values(), planned.snapshot.get("root", {}))):
        return
    has = {row["operation"] for row in planned.allocations.values()}
    for step, decision, ledger in planned.replay():
        node = planned.nodes[step.node]
        if decision["stage"] == "regular" and decision["operation"] in has and not ledger.leaves(step.node):
            for request in planned.snapshot.get("requests", ()):
                waits = request["operation"] not in has and request.get("count", 1) > 0
                if not waits or not _may_stand(planned, request, node) or not request.get("resources"):
                    continue
                room = ledger.room(step.node, request)
                fits = all(
                    room[r] + step.need.get(r, 0) + EPSILON >= amount
                    for r, amount in request["resources"].items()
                    if r in room
                )
                must(not fits or not set(request["resources"]) <= set(room), (decision, request["name"]))
        has.add(decision["operation"])


def starving_operations_preempt(planned: Planned) -> None:
    """On a node where nothing is decided no starving operation fits in the room of what is preemptible.

    Where neither limits nor back-offs nor special stages are, nor a pace.
    """
    s = planned.settings
    if planned.paced or s.default_gpu_full_host_preemption.enable or s.ssd_priority_preemption.enable:
        return
    tops = (
        *planned.snapshot.get("pools", ()),
        planned.snapshot.get("root", {}),
        *planned.operations.values(),
    )
    if any(row.get("limits") for row in tops):
        return
    last = {row["name"] for row in planned.state.get("nodes", ()) if row.get("last_preemptive") is not None}
    decided = planned.plan["decisions"]
    busy = {d["operation"] for d in decided}
    ledger = Ledger(planned.snapshot, s.victims_room)
    for name, node in planned.nodes.items():
        if name in last or any(d["node"] == name for d in decided) or not planned.had_heartbeat(name):
            continue
        gains = [
            row.get("resources", {})
            for row in planned.allocations.values()
            if row.get("node") == name and row["operation"] not in busy and _may_go(planned, row)
        ]
        for request in planned.snapshot.get("requests", ()):
            starving = planned.status(request["operation"], "operation")["starvation"] == "starving"
            if not starving or request["operation"] in busy or not request.get("count", 1):
                continue
            room = ledger.room(name, request)
            need = request.get("resources", {})
            if not set(need) <= set(room) or not _may_stand(planned, request, node):
                continue
            fits = all(room[r] + sum(g.get(r, 0) for g in gains) + EPSILON >= need.get(r, 0) for r in room)
            must(not fits, (name, request["name"]))


def _may_go(planned: Planned, row: Mapping[str, Any]) -> bool:
    operation = planned.operations[row["operation"]]
    starves = planned.status(row["operation"], "operation")["starvation"] != "non_starving"
    return (
        planned.plan["groups"].get(str(row["name"])) == "preemptible"
        and row.get("preemptible", True)
        and operation.get("settings", {}).get("preemption_mode", "normal") == "normal"
        and (planned.settings.allow_preemption_from_starving_operations or not starves)
    )


def _may_stand(planned: Planned, request: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    settings = planned.operations[request["operation"]].get("settings", {})
    return (
        node.get("schedulable", True)
        and set(request.get("node_tags", ())) <= set(node.get("tags", ()))
        and request.get("required_node") in (None, node["name"])
        and settings.get("unschedulable_reason") is None
    )


def _age_key(planned: Planned, name: Any) -> float:
    row = planned.allocations[name]
    started = float(row.get("last_job_start_time", row.get("start_time", 0)))
    saved = row.get("last_progress_time")
    if planned.settings.order_key == "last_progress" and saved is not None:
        return max(started, float(saved))
    return started


def _changed_before(planned: Planned, decision: Mapping[str, Any]) -> bool:
    return any(
        d["operation"] == decision["operation"] and d["step"] != decision["step"]
        for d in planned.plan["decisions"][: planned.plan["decisions"].index(decision)]
    )
