"""What guarantees still owe a queue of YuniKorn, counted anew from the rules of release 1.9."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.reference.explanations.world import ROOT, Amounts, World
from tests.reference.explanations.yunikorn.queues import held, queue_of

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["owed", "path_of"]


def path_of(world: World, operation: Row) -> list[str]:
    """Return the queues of an application, the root first."""
    return [ROOT, *reversed([pool for pool in world.pools_of(operation) if pool != ROOT])]


def _path_text(world: World, queue: str) -> str:
    if queue == ROOT:
        return "root"
    if queue.startswith("root."):
        return queue
    return f"{_path_text(world, str(world.row('pools', queue).get('parent') or ROOT))}.{queue}"


def owed(world: World, operation: Row, asking: Row, count: int) -> Amounts | None:
    """Return what the queue of an application is owed; None: no guarantee applies.

    The least over all queues above it; one that it shares with the asking queue counts for nothing where
    the asking queue has a guarantee, and what its own guarantee names counts for the asking queue.

    Parameters
    ----------
    world : World
    operation : mapping
        Whose queue it is.
    asking : mapping
        The application that asks.
    count : int
        After so many decisions.
    """
    asks = queue_of(asking)
    guaranteed = {q: world.row("pools", q).get("strong_guarantee") or {} for q in world.tables["pools"]}
    above = set(path_of(world, asking))
    if world.settings.ancestors_by_path_text:
        own = _path_text(world, asks)
        above |= {q for q in world.tables["pools"] if own.startswith(_path_text(world, q))}
    nested = {str(row.get("parent")) for row in world.tables["pools"].values()}
    asks_guaranteed = bool(guaranteed[asks]) and asks not in nested
    rest: Amounts | None = None
    for queue in path_of(world, operation):
        guarantee = guaranteed[queue]
        if not rest and not guarantee:
            rest = None
            continue
        used = held(world, queue, count)
        left = {r: float(amount) - used[r] for r, amount in guarantee.items()}
        if queue != ROOT and left:
            if queue == asks and asks not in nested:
                rest = {**(rest or {}), **left}
                continue
            if queue in above and asks_guaranteed:
                rest = None
                continue
        if rest is None:
            rest = left
        else:
            rest = {r: min(x[r] for x in (rest, left) if r in x) for r in {*rest, *left}}
    return rest
