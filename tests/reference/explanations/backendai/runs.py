"""The slow scheduling run that explanations of Backend.AI are held against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reference.backendai.plan import _Run
from tests.reference.backendai.victims import candidates
from tests.reference.explanations.jobs import asker
from tests.reference.explanations.registry import Said, amounts_are, must
from tests.reference.explanations.world import World, same

if TYPE_CHECKING:
    from tests.reference.backendai.world import Session

__all__ = ["asks_of", "candidates_for", "own_of", "ranks_are", "rooms_are", "run_of", "session", "stands"]


def run_of(world: World) -> _Run:
    """Return the slow scheduling run of the same snapshot, made once."""
    run: _Run | None = world.__dict__.get("_run")
    if run is None:
        run = _Run(world.plan.snapshot, world.settings, world.state)
        run.go()
        world.__dict__["_run"] = run
    return run


def session(world: World, name: object) -> Session:
    """Return a session by its name."""
    return next(s for s in run_of(world).world.sessions if same(s.name, name))


def own_of(world: World, said: Said) -> Session:
    """Return the session of what is explained."""
    return session(world, said.row["operation"])


def asks_of(world: World, said: Said) -> Session:
    """Return the session that waits: of the request that is explained, or that asked."""
    if said.explanation.table == "requests":
        return own_of(world, said)
    return session(world, asker(world, said)["name"])


def candidates_for(world: World, own: Session) -> list[Session]:
    """Return the sessions that might give way for one."""
    run = run_of(world)
    return candidates(run.world, world.settings, own, run.claimed)


def ranks_are(world: World, found: dict[str, Any], *sessions: Session) -> None:
    """Raise `AssertionError` unless the numbers that decide are said of these sessions, as they are."""
    for one in sessions:
        told = found.get(f"{world.settings.preemption_key}_of_{one.name}")
        must(told == one.rank, f"{world.settings.preemption_key} of {one.name}", told, one.rank)


def stands(world: World, s: Session, asks: Session) -> str:
    """Return what is first in the way of preempting a session for another one; empty: nothing."""
    settings, running = world.settings, s.running()
    least = settings.preemption_min_runtime
    bars = {
        "not_running": not running or any(c.state == "suspended" for c in s.containers),
        "system_work": s.kind == "system",
        "not_preemptible_flag": not s.preemptible or not all(c.preemptible for c in running),
        "above_threshold": settings.victim_threshold != "none" and s.priority > settings.preemptible_priority,
        "not_suspendable": settings.preemption_mode == "suspend"
        and settings.suspend_fallback == "not_a_victim"
        and s.kind != "batch",
        "ran_too_short": least > 0 and bool(running) and (not s.started or s.start() > world.now - least),
        "other_scope": s.scope is None or s.scope != asks.scope,
        "not_lower_priority": s.rank >= asks.rank,
    }
    return next((code for code, holds in bars.items() if holds), "")


def rooms_are(world: World, place: int) -> None:
    """Raise `AssertionError` unless a decision says what was free and needed where it takes effect."""
    run, decision = run_of(world), world.decisions[place]
    found = {
        what: {r: a * run.world.quantum[r] for r, a in amounts.items()}
        for what, amounts in run.rooms[place].items()
    }
    amounts_are(decision["numbers"].get("free_before", {}), found["free"], "what was free")
    amounts_are(decision["numbers"].get("needed", {}), found["needed"], "what was needed")
