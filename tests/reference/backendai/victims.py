"""Victims: candidates, their order, and which of them are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from evenhand.systems.backendai.settings import BackendAISettings
from tests.reference.backendai.room import Room, will_keep
from tests.reference.backendai.world import Amounts, Container, Session, World
from tests.reference.costs import Costs, cheapest_set

__all__ = ["candidates", "choose", "freed", "ordered"]


def candidates(
    world: World, settings: BackendAISettings, whose: Session, claimed: Iterable[Session]
) -> list[Session]:
    """Return the sessions that might give way for another, in canonical order."""
    return [
        s
        for s in world.sessions
        if _may_go(world, settings, s, whose) and s not in claimed and world.spared(s) is None
    ]


def _may_go(world: World, settings: BackendAISettings, s: Session, whose: Session) -> bool:
    running = s.running()
    if not running or any(c.state == "suspended" for c in s.containers) or s.kind == "system":
        return False
    if not s.preemptible or not all(c.preemptible for c in running):
        return False
    if settings.victim_threshold != "none" and s.priority > settings.preemptible_priority:
        return False
    not_suspendable = settings.preemption_mode == "suspend" and s.kind != "batch"
    if not_suspendable and settings.suspend_fallback == "not_a_victim":
        return False
    least = settings.preemption_min_runtime
    if least > 0 and (not s.started or s.start() > world.now - least):
        return False
    return s.scope is not None and s.scope == whose.scope and s.rank < whose.rank


def freed(container: Container, world: World, settings: BackendAISettings) -> Amounts:
    """Return what a container gives back."""
    kept = will_keep(container, world, settings)
    return {r: a - kept[r] for r, a in container.amounts.items()}


def ordered(
    found: Sequence[Session], settings: BackendAISettings, size: Callable[[Session], float]
) -> list[Session]:
    """Sort candidates: lowest priority, never started, then by the order, then canonically."""

    def key(s: Session) -> tuple[Any, ...]:
        by_size = size(s) if settings.preemption_order in ("fewest-sessions", "smallest-resources") else 0.0
        start = -s.start() if settings.preemption_order == "newest" else s.start()
        return s.rank, s.started, by_size, start, s.place

    return sorted(found, key=key)


def choose(
    wanted: Sequence[Session],
    settings: BackendAISettings,
    suffices: Callable[[list[Session]], bool],
    costs: Costs,
    helps: Callable[[Session, list[Session]], bool] | None = None,
) -> list[Session]:
    """Choose by the setting; empty if no prefix suffices.

    Parameters
    ----------
    wanted
        In order.
    settings
        ``victim_selection``.
    suffices
        Whether it would fit without these.
    costs
        Of sessions.
    helps
        Whether one more is of any use, those before being gone.
    """
    taken: list[Session] = []
    for session in wanted:
        if suffices(taken):
            break
        if helps is None or helps(session, taken):
            taken.append(session)
    if not suffices(taken):
        return []
    if settings.victim_selection == "prefix":
        return taken
    for session in reversed(list(taken)):
        rest = [s for s in taken if s is not session]
        if suffices(rest):
            taken = rest
    if settings.victim_selection == "minimum":
        best = cheapest_set(
            wanted,
            lambda s: costs.of(s.name, [c.name for c in s.running()]),
            lambda some: suffices(list(some)),
        )
        return best or []
    return taken


def usable(room: Room, needs: Sequence[tuple[Any, Amounts]]) -> list[Any]:
    """Return the nodes on which something of what is needed could stand."""
    return [
        n for n in room.world.nodes if any(room.fits(a, n) and room.allowed(what, n) for what, a in needs)
    ]
