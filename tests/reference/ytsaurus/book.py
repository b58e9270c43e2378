"""The decisions of a plan, and what each changes at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.reference.ytsaurus.codes import OUTCOMES, REASONS
from tests.reference.ytsaurus.vectors import EPSILON, plus
from tests.reference.ytsaurus.world import Allocation, Element, Node, Request, World

__all__ = ["Book"]


class Book:
    """Writes decisions and carries them out on the world.

    Attributes
    ----------
    decisions : list of dict
        As in the results' JSON, in the order in which they are to be carried out.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.decisions: list[dict[str, Any]] = []
        self._step = -1
        self._best: dict[Request, str] = {}

    def refused(self, request: Request, outcome: str) -> None:
        """Note why a request did not start, if it was closer than before."""
        best = self._best.get(request, OUTCOMES[0])
        self._best[request] = max(best, outcome, key=OUTCOMES.index)

    def refusals(self) -> list[dict[str, Any]]:
        """Return the requests of which something is left, and why."""
        return [
            {"request": r.name, "rule": self._best.get(r, OUTCOMES[0]), "numbers": {"left": r.left}}
            for r in self.world.requests
            if r.left
        ]

    def start(self, request: Request, node: Node, stage: str, victims: list[Allocation]) -> None:
        """Take the victims and start one allocation of a request."""
        self._step += 1
        for victim in victims:
            self._take(victim, stage, beneficiary=request)
        request.left -= 1
        node.started.append(request.amounts)
        self.world.use(request.operation, request.amounts, 1)
        self.decisions.append(
            {
                "action": "start",
                "request": request.name,
                "operation": request.operation.name,
                "node": node.name,
                "at": self.world.now / 1e6,
                "reason": "fits_after_preemption" if victims else "fits_free_room",
                "stage": stage,
                "step": self._step,
                "beneficiary": {"operation": request.operation.name, "request": request.name},
            }
        )

    def take(self, victims: Iterable[Allocation], stage: str) -> None:
        """Take victims for nobody; each is a step of its own."""
        for victim in victims:
            self._step += 1
            self._take(victim, stage, beneficiary=None)

    def over_limit(self, operation: Element) -> Element | None:
        """Return the operation, or the nearest pool above it, that uses more than its limits allow."""
        for element in operation.upwards():
            pairs = zip(element.usage, element.limits, strict=True)
            if any(limit is not None and used > limit for used, limit in pairs):
                return element
        return None

    def within_guarantee(self, operation: Element) -> bool | None:
        """Return whether a pool above it uses at most its strong guarantee; None: none has one."""
        owed = [
            [(u, g) for u, g in zip(pool.usage, pool.guarantee, strict=True) if g > 0]
            for pool in operation.upwards()
            if any(pool.guarantee)
        ]
        return any(all(u <= g for u, g in pairs) for pairs in owed) if owed else None

    def _take(self, victim: Allocation, stage: str, beneficiary: Request | None) -> None:
        world, operation = self.world, victim.operation
        tree = world.settings
        share = world.share(operation.usage)
        inside = all(u <= f + EPSILON for u, f in zip(share, operation.fair_share, strict=True))
        grace = (
            tree.allocation_graceful_preemption_timeout
            if stage == "graceful"
            else tree.allocation_preemption_timeout
        )
        numbers: dict[str, Any] = {"group": victim.group}
        if stage == "limit_repair":
            violated = self.over_limit(operation)
            numbers["violated"] = None if violated is None else violated.name
        decision: dict[str, Any] = {
            "action": "preempt",
            "allocation": victim.name,
            "operation": operation.name,
            "node": None if victim.node is None else victim.node.name,
            "mode": "requeue",
            "grace": grace,
            "at": world.now / 1e6,
            "until": world.now / 1e6 + grace,
            "reason": REASONS[stage],
            "numbers": numbers,
            "stage": stage,
            "step": self._step,
            "victim_within_fair_share": inside,
            "victim_pool_within_guarantee": self.within_guarantee(operation),
            "freed": world.named(victim.amounts),
            "kept": {},
        }
        if beneficiary is not None:
            decision["beneficiary"] = {
                "operation": beneficiary.operation.name,
                "request": beneficiary.name,
            }
        self.decisions.append(decision)
        world.pace.took(operation.name, None if operation.parent is None else operation.parent.name)
        victim.leaves = True
        world.use(operation, victim.amounts, -1)

    def usage_with(self, element: Element, request: Request) -> list[int]:
        """Return what an element would use with one more allocation of a request."""
        return plus(element.usage, request.amounts)
