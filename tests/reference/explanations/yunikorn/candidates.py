"""Why an allocation was no candidate of an ask: the one thing that is named, held against queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.systems.yunikorn.properties import inherited, properties_of
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import ROOT, World, without_zeros
from tests.reference.explanations.yunikorn.guarantees import owed, path_of
from tests.reference.explanations.yunikorn.outcomes import asked
from tests.reference.explanations.yunikorn.queues import over_max, priority_of, queue_of, root

if TYPE_CHECKING:
    from evenhand.systems.yunikorn.properties import QueueProperties
    from tests.reference.explanations.world import Row

__all__ = ["fenced", "properties"]


def properties(world: World, queue: str) -> QueueProperties:
    """Return the properties of a queue with what it inherits."""
    row = world.row("pools", queue)
    above: dict[str, str] = {}
    for name in path_of(world, {"pool": None if queue == ROOT else queue}):
        own = world.row("pools", name).get("settings", {}).get("properties") or {}
        above = inherited(above, own)
    must(row is not None, "no such queue", queue)
    return properties_of(above)


def fenced(world: World, operation: Row) -> str:
    """Return the queue below which an application takes victims in a cycle."""
    for queue in reversed(path_of(world, operation)):
        if queue == ROOT or properties(world, queue).preemption_policy == "fence":
            return queue
    return ROOT


@checks("allocation", "not_a_candidate", system="yunikorn")
def not_a_candidate(world: World, said: Said) -> None:
    """Whether what is named holds: its node, the fence, the guarantee, a disabled queue, or its priority."""
    asked(world, said)
    name, told = said.met.get("request"), said.compared
    request: Row = {} if name is None else world.row("requests", name)
    mine = world.operation_of(said.row)
    asks: Row = {} if name is None else world.operation_of(request)
    if "queue" in told:
        must(root(told["queue"]) == queue_of(mine), "its queue", told["queue"])
    rule = _RULES.get(str(told.get("because")))
    must(rule is not None, "no reason is named", told)
    must(rule and rule(world, said, request, mine, asks), "that does not hold", told)


def _needs_its_node(_w: World, said: Said, _request: Row, _mine: Row, _asks: Row) -> bool:
    return said.row.get("required_node") is not None


def _holds_nothing(_w: World, said: Said, request: Row, _mine: Row, _asks: Row) -> bool:
    wants = without_zeros(request.get("resources") or {}).keys()
    return not wants & without_zeros(said.row.get("resources") or {}).keys()


def _asker_disabled(world: World, _said: Said, _request: Row, _mine: Row, asks: Row) -> bool:
    disabled = properties(world, queue_of(asks)).preemption_policy == "disabled"
    return disabled and not world.settings.disabled_queues_preempt


def _queue_disabled(world: World, _said: Said, _request: Row, mine: Row, _asks: Row) -> bool:
    return properties(world, queue_of(mine)).preemption_policy == "disabled"


def _outside_fence(world: World, said: Said, request: Row, mine: Row, asks: Row) -> bool:
    fence = root(said.compared.get("fence"))
    if fence in path_of(world, mine) or fence not in path_of(world, asks):
        return False
    if properties(world, fence).preemption_policy == "fence":
        return True
    above = path_of(world, asks)
    above = above[: above.index(fence) + 1]  # the least of their maxima counts
    counts = range(len(world.decisions) + 1)
    return any(over_max(world, queue, request, count) for queue in above for count in counts) or any(
        _over_least(world, fence, above, request, count) for count in counts
    )


def _over_least(world: World, queue: str, above: list[str], request: Row, count: int) -> bool:
    """Return whether a queue would have more than the least max of those above, in anything."""
    from tests.reference.explanations.yunikorn.queues import held, leaving

    most: dict[str, float] = dict(world.total)
    for name in above:
        for r, limit in (world.row("pools", name).get("limits") or {}).items():
            most[r] = min(most.get(r, float(limit)), float(limit))
    used, still, need = (
        held(world, queue, count),
        leaving(world, queue, count),
        request.get("resources") or {},
    )
    return any(used[r] + still[r] + need.get(r, 0) > limit + 1e-9 for r, limit in most.items())


def _within_guarantee(world: World, said: Said, _request: Row, mine: Row, asks: Row) -> bool:
    told = said.compared.get("owed", {})
    for count in range(len(world.decisions) + 1):
        rest = owed(world, mine, asks, count)
        if rest is not None and min(rest.values(), default=0.0) >= 0 and without_zeros(rest) == told:
            return True
    return False


def _priority(world: World, said: Said, _request: Row, mine: Row, _asks: Row) -> bool:
    told: Any = said.compared
    if "highest" in told:
        own = priority_of(world, said.row)
        return bool(told["priority"] == own and own > told["highest"])
    return any(properties(world, queue).priority_policy == "fence" for queue in path_of(world, mine))


_RULES = {
    "needs_its_node": _needs_its_node,
    "holds_nothing": _holds_nothing,
    "asker_disabled": _asker_disabled,
    "queue_disabled": _queue_disabled,
    "outside_fence": _outside_fence,
    "within_guarantee": _within_guarantee,
    "priority": _priority,
}
