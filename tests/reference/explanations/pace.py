"""Why the pace of preemption spared work, of every system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import ROOT, World

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["allocations_meant"]

_HOUR = 3600.0


def allocations_meant(world: World, row: Row) -> list[Row]:
    """Return what would leave with an allocation: all that runs of its operation, where that is the rule."""
    if not world.plan._system.preempts_operations:
        return [row]
    return [a for a in world.allocations_of(row["operation"]) if World.state_of(a) == "running"] or [row]


def _now(world: World, said: Said) -> None:
    told = said.compared.get("now")
    must(told is None or told == world.now, "now is said to be", told)


def _until(said: Said, instant: float) -> None:
    """Raise `AssertionError` if it is said to be spared until another instant."""
    told = said.compared.get("until")
    must(told is None or abs(told - instant) < 1e-6, "until when", told, instant)


@checks("allocation", "victim_cooldown")
def victim_cooldown(world: World, said: Said) -> None:
    """Its operation was preempted less than the cooldown ago."""
    _now(world, said)
    cooldown = world.settings.pace.victim_cooldown
    last = said.number("last_preempted")
    known = {
        str(row["name"]): max(row["taken"])
        for row in world.state.get("victims", ())
        if row["kind"] == "operation" and row["taken"]
    }
    before = known.get(str(said.row["operation"]))
    mine = world.decided("preempt", operation=said.row["operation"])
    instants = [at for at in (before, *(d["at"] for d in mine)) if at is not None]
    must(any(abs(last - at) < 1e-6 for at in instants), "last preempted", last, instants)
    must(world.now - last < cooldown, "the cooldown has passed", world.now, last, cooldown)
    must(said.compared.get("victim_cooldown") == cooldown, "the cooldown", cooldown)
    _until(said, last + cooldown)


@checks("allocation", "spared_run_time")
def spared_run_time(world: World, said: Said) -> None:
    """Whether it, or what leaves with it, has run for less than the setting."""
    _now(world, said)
    least, began = world.settings.pace.spare_if_ran_less_than, said.number("began")
    starts = [float(a.get("start_time", 0.0)) for a in allocations_meant(world, said.row)]
    must(began in starts, "it began", began, starts)
    must(world.now - began < least, "it has run long enough", world.now, began, least)
    must(said.compared.get("spare_if_ran_less_than") == least, "the setting", least)
    _until(said, began + least)


@checks("allocation", "spared_ends_soon")
def spared_ends_soon(world: World, said: Said) -> None:
    """Whether it is planned to end within the setting."""
    _now(world, said)
    within, end = world.settings.pace.spare_if_ends_within, said.number("planned_end")
    ends = [a.get("planned_end") for a in allocations_meant(world, said.row)]
    must(end in ends, "it is planned to end", end, ends)
    must(0 <= end - world.now <= within, "it does not end soon", end, world.now, within)
    must(said.compared.get("spare_if_ends_within") == within, "the setting", within)


def _pool_meant(world: World, said: Said, told: object) -> str:
    name = str(told).removeprefix("pool ")
    pool = ROOT if name in ("the cluster", "the cluster as a whole") else name
    must(pool in world.pools_of(world.operation_of(said.row)), "it is not in that pool", told)
    return pool


@checks("allocation", "pool_immune")
def pool_immune(world: World, said: Said) -> None:
    """Whether the pool that is named has immune hours, and it is one of them."""
    _now(world, said)
    pool = _pool_meant(world, said, said.compared.get("immune"))
    pace = world.pace
    must(any(pace._is_hour(text) for text in pace.hours[pool]), "no such hour", pool, pace.hours[pool])
    until = said.compared.get("until")
    must(until is not None and until > world.now, "until when", until, world.now)


@checks("allocation", "pool_victims_per_hour")
def pool_victims_per_hour(world: World, said: Said) -> None:
    """Whether the pool that is named has given as many victims within an hour as it may."""
    pool = _pool_meant(world, said, said.compared.get("pool"))
    cap, told = world.pace.caps.get(pool), said.compared.get("max_victims_per_hour")
    must(cap is not None and told == cap, "the cap", told, cap)
    given = [t / 1e6 for t in world.pace.taken[pool] if world.now - t / 1e6 < _HOUR]
    inside = [d for d in world.decided("preempt") if pool in world.pools_of(world.operation_of(d))]
    units = {d["operation"] if world.plan._system.preempts_operations else d["allocation"] for d in inside}
    victims = said.number("victims")
    must(victims <= len(given) + len(units), "victims of the last hour", victims)
    must(victims >= len(given), "victims of the last hour", victims, len(given))
    again = said.compared.get("again_from")
    if again is not None and given:
        must(again <= max([*given, world.now]) + _HOUR + 1e-6, "again from", again)


@checks("request", "victims_spared")
def victims_spared(world: World, said: Said) -> None:
    """Whether the policy has a pace, by which some running work is spared."""
    pace, rows = (
        world.pace,
        [a for a in world.tables["allocations"].values() if World.state_of(a) == "running"],
    )
    must(not world.settings.pace.is_off or pace.caps or any(pace.hours.values()), "there is no pace")
    must(rows, "nothing runs that could be spared", said.row["name"])
