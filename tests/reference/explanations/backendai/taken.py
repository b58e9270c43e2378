"""What is said of sessions that start, resume or are preempted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.reference.explanations.backendai.runs import (
    own_of,
    ranks_are,
    rooms_are,
    run_of,
    session,
    stands,
)
from tests.reference.explanations.decided import for_a_request, own_decisions, starts
from tests.reference.explanations.decided import resumes as resumes_once
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import World

if TYPE_CHECKING:
    from tests.reference.backendai.world import Session

_SYSTEM = "backendai"


@checks("victim", "lower_priority", system=_SYSTEM)
def lower_priority(world: World, said: Said) -> None:
    """Whether its rank is lower, and its place, its start, the room and what would have spared it are so."""
    for_a_request(world, said)
    (made,) = own_decisions(world, said, "preempt")
    rooms_are(world, world.decisions.index(made))
    own, asks = own_of(world, said), session(world, made["beneficiary"]["operation"])  # type: ignore[index]
    must(own.rank < asks.rank, "its rank is not lower", own.rank, asks.rank)
    told = dict(said.met)
    ranks_are(world, told, own, asks)
    _spared_from(world, own, asks, told.get("spared_from"))
    s = world.settings
    for name in ("preemption_order", "preemption_mode", "preemptible_priority", "suspend_approach"):
        must(name not in told or told[name] == getattr(s, name), name, told.get(name))
    must("began" not in told or told["began"] == own.start(), "it began", told.get("began"), own.start())
    if "place" in told:
        found = run_of(world).places.get((asks, own))
        must((told["place"], told["candidates"]) == found, "its place", told["place"], found)


def _spared_from(world: World, own: Session, asks: Session, least: object) -> None:
    """Raise `AssertionError` unless it is a candidate with one less, and none with this number."""
    must(isinstance(least, float | int), "what would have spared it is not said")
    number = int(least)  # type: ignore[call-overload]
    for rank, spared in ((number, True), (number - 1, False)):
        other = replace(own, rank=rank)
        if world.settings.preemption_key == "priority":
            other = replace(other, priority=rank)
        found = stands(world, other, asks)
        must(bool(found) == spared, "with this number", rank, found)


@checks("start", "fits_free_room", "room_reserved", "reservation_due", system=_SYSTEM)
def started(world: World, said: Said) -> None:
    """Whether it starts, and each time what is left by those before is said to be free."""
    starts(world, said)
    for decision in own_decisions(world, said, "start"):
        rooms_are(world, world.decisions.index(decision))


@checks("start", "resumes", system=_SYSTEM)
def resumes(world: World, said: Said) -> None:
    """Whether it resumes, where what is said to be free is free."""
    resumes_once(world, said)
    for decision in own_decisions(world, said, "resume"):
        rooms_are(world, world.decisions.index(decision))
