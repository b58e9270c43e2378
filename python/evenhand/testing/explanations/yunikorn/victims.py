"""What is said of victims of YuniKorn's policy: priorities, queues and places, held against the cycle."""

from __future__ import annotations

from typing import Any

from evenhand.testing.explanations.decided import for_a_request, own_decisions
from evenhand.testing.explanations.registry import Said, checks, must
from evenhand.testing.explanations.world import World, same
from evenhand.testing.explanations.yunikorn.queues import held, priority_of, queue_of, root

__all__ = ["for_an_ask", "for_nobody"]

_SYSTEM = "yunikorn"


@checks("victim", "surplus_of_queue", "above_quota", system=_SYSTEM)
def for_nobody(world: World, said: Said) -> None:
    """Whether it is taken once, and its queue used what is said just before."""
    (made,) = own_decisions(world, said, "preempt")
    _queue(world, said, world.decisions.index(made))
    if "since" in said.met:
        until = said.met["since"] + said.met["delay"]
        must(until <= world.now, "the quota is not enforced yet", until, world.now)


@checks(
    "victim",
    *("below_ideal_share", "higher_priority_in_queue", "below_guarantee", "for_required_node"),
    system=_SYSTEM,
)
def for_an_ask(world: World, said: Said) -> None:
    """Whether it is taken once for an ask; priorities, queue and place are those of the cycle."""
    for_a_request(world, said)
    (made,) = own_decisions(world, said, "preempt")
    met: Any = said.met
    served: Any = made["beneficiary"]
    request = world.row("requests", served["request"])
    if "priority" in met:
        own, asks = priority_of(world, said.row), priority_of(world, request)
        must((met["priority"], met["asking_priority"]) == (own, asks), "priorities", met, own, asks)
        lower = own < asks if said.code == "higher_priority_in_queue" else own <= asks
        must(lower, "its priority is not lower", own, asks)
    if "asking_queue" in met:
        must(root(met["asking_queue"]) == queue_of(world.operation_of(request)), "the queue that asks", met)
    _queue(world, said, world.decisions.index(made))
    if "place" in met:
        here = [a for a in world.tables["allocations"].values() if same(a.get("node"), said.row["node"])]
        must(1 <= met["place"] <= met["candidates"] <= len(here), "place", met, len(here))


def _queue(world: World, said: Said, count: int) -> None:
    """Raise `AssertionError` unless the queue that is named used so much just before, more than is said."""
    met: Any = said.met
    if "used" not in met:
        return
    queue, most = root(met["queue"]), met.get("keeps", met.get("max", {}))
    must(queue in world.pools_of(world.operation_of(said.row)), "it is not in that queue", queue)
    used = held(world, queue, count)
    must(all(abs(used[r] - a) < 1e-6 for r, a in met["used"].items()), "used", met["used"], used)
    if "max" in met:
        limits = world.row("pools", queue).get("limits") or {}
        must(all(limits.get(r) == a for r, a in most.items()), "its max", most, limits)
    else:
        must(all(used[r] > a - 1e-9 for r, a in most.items()), "it keeps that", used, most)
