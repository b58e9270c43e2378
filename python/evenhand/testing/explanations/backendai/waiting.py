"""What Backend.AI's policy says of requests that wait, held against the slow run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from evenhand.testing.explanations.backendai.runs import (
    asks_of,
    candidates_for,
    own_of,
    run_of,
    session,
    stands,
)
from evenhand.testing.explanations.jobs import waits_for_victims
from evenhand.testing.explanations.registry import Said, checks, must
from evenhand.testing.explanations.world import World, same, without_zeros
from evenhand.testing.sessions.room import Placed, bar

if TYPE_CHECKING:
    from evenhand.testing.sessions.world import Session

_SYSTEM = "backendai"


def _told(said: Said) -> dict[str, Any]:
    """Return the numbers that belong to a code: of what was looked at, else of the explanation."""
    return dict(said.compared or said.met)


def _rule_is(world: World, said: Said) -> None:
    """Raise `AssertionError` unless the slow run says the same of the request."""
    run = run_of(world)
    for s in run.world.sessions:
        for request in s.waiting():
            if same(request.name, said.row["name"]) and request.name not in run.started:
                rule = s.refused or run.rule_of(request)
                must(rule == said.code, "what is in its way", rule)
                return
    must(False, "it does not wait", said.row["name"])


@checks("request", "count_exhausted", system=_SYSTEM)
def count_exhausted(_world: World, said: Said) -> None:
    """Whether it asks for nothing."""
    must(said.row.get("count", 1) == 0, "count", said.row.get("count", 1))


@checks("request", "preemption_disabled", system=_SYSTEM)
@checks("allocation", "preemption_disabled", system=_SYSTEM)
def preemption_disabled(world: World, said: Said) -> None:
    """Whether preemption is switched off."""
    must(not world.settings.enabled and _told(said).get("enabled") is False, "preemption is switched on")
    _lacks_free_room(world, said)


@checks("request", "system_does_not_preempt", system=_SYSTEM)
@checks("allocation", "system_does_not_preempt", system=_SYSTEM)
def system_does_not_preempt(world: World, said: Said) -> None:
    """Whether the session that waits is of the system."""
    asks = asks_of(world, said)
    must(asks.kind == "system" == _told(said).get(f"kind_of_{asks.name}"), "kind", asks.kind)
    _lacks_free_room(world, said)


@checks("request", "not_first_in_queue", system=_SYSTEM)
@checks("allocation", "not_first_in_queue", system=_SYSTEM)
def not_first(world: World, said: Said) -> None:
    """Whether only the first in the queue may preempt, and that is the session that is named."""
    asks, (first, *_) = asks_of(world, said), run_of(world).queue()
    must(world.settings.preemptors == "front", "every session may preempt")
    must(same(_told(said).get("front"), first[0].name), "the first in the queue", first[0].name)
    must(first[0] is not asks or first[1], "it is first in the queue", asks.name)
    _lacks_free_room(world, said)


@checks("request", "behind_first_waiting", system=_SYSTEM)
@checks("allocation", "behind_first_waiting", system=_SYSTEM)
def behind(world: World, said: Said) -> None:
    """Whether the session that is named is before it in the queue, or has reserved room, and waits."""
    run, own, told = run_of(world), own_of(world, said), _told(said)
    other = session(world, told.get("behind"))
    waits = any(str(r.name) in world.refusals for r in other.waiting())
    asleep = [c for c in other.containers if c.state == "preempted"]
    asleep = [c for c in asleep if not world.decided("resume", allocation=c.name)]
    must(waits or asleep, "it does not wait", other.name)
    if "blocked_by" not in told:
        names = {r.name for r in other.requests}
        held = any(row.get("request") in names for row in run.world.reservations)
        must(held and other is not own, "it has reserved nothing", other.name)
        return
    suspended = World.state_of(said.row) == "preempted"
    queue = [(s, s_suspended) for s, s_suspended, _ in run.queue()]
    mine = queue.index((own, said.explanation.table == "allocations" and suspended))
    before = [place for place, (s, _) in enumerate(queue) if s is other and place < mine]
    must(before, "it is not before it in the queue", other.name)
    must(told["blocked_by"] == world.settings.blocked_by, "blocked_by", told["blocked_by"])
    for one in (own, other) if other is not own else ():
        must(told.get(f"priority_of_{one.name}") == one.priority, "priority", one.name, one.priority)


@checks("request", "waits_for_victims", system=_SYSTEM)
def waits(world: World, said: Said) -> None:
    """Whether work was asked to leave for it; what this plan asks is named."""
    waits_for_victims(world, said)
    made = world.decided("preempt")
    mine = [d["allocation"] for d in made if same(d["beneficiary"]["operation"], said.row["operation"])]
    must(list(_told(said).get("victims", [])) == mine, "what leaves for it", mine)


@checks("request", "no_lower_priority", system=_SYSTEM)
def no_lower_priority(world: World, said: Said) -> None:
    """No session may be preempted for it; as many as are said are spared by each rule."""
    _rule_is(world, said)
    own, told = own_of(world, said), _told(said)
    could = candidates_for(world, own)
    must(not could, "they could be preempted", [one.name for one in could])
    must(told.get(f"{world.settings.preemption_key}_of_{own.name}") == own.rank, "its rank", own.rank)
    run = run_of(world)
    found = Counter(stands(world, s, own) for s in run.world.sessions)
    taken = Counter(stands(world, s, own) for s in run.claimed)  # for those before it, or after it
    for code, count in told.get("sessions", {}).items():
        right = found[code] - taken[code] <= count <= found[code]
        must(right, f"sessions of which {code} is said", found[code], taken[code])
    _lacks_free_room(world, said)


@checks("request", "other_request_waits", system=_SYSTEM)
def other_request_waits(world: World, said: Said) -> None:
    """Whether the request that is named, of the same session, cannot start."""
    _rule_is(world, said)
    other = _told(said).get("other")
    must(other is not None, "it is not said which")
    row = world.row("requests", other)
    must(
        same(row["operation"], said.row["operation"]) and other != said.row["name"], "not another one", other
    )
    rule = world.refusals.get(str(other), {}).get("rule")
    must(rule not in (None, "other_request_waits"), "nothing is in its way", other, rule)


@checks("request", "max_containers", system=_SYSTEM)
def max_containers(world: World, said: Said) -> None:
    """Whether no node may have one allocation more, by the setting."""
    _rule_is(world, said)
    most = world.settings.max_containers
    must(most is not None and _told(said).get("max_containers") == most, "max_containers", most)


@checks("request", "no_nodes", system=_SYSTEM)
def by_the_slow_run(world: World, said: Said) -> None:
    """Whether the slow run says the same."""
    _rule_is(world, said)


@checks("request", "started", system=_SYSTEM)
def started(world: World, said: Said) -> None:
    """Whether it starts."""
    must(world.decided("start", request=said.row["name"]), "it does not start")


@checks("request", "priority_change_disabled", system=_SYSTEM)
def priority_change_disabled(world: World, said: Said) -> None:
    """Whether it sets a priority that its user or project may not change."""
    _rule_is(world, said)
    own, told = own_of(world, said), _told(said)
    must(told.get(f"priority_of_{own.name}") == own.priority, "its priority", own.priority)
    must(told.get("may_change") is False, "it may be changed")


@checks("request", "priority_out_of_range", system=_SYSTEM)
def priority_out_of_range(world: World, said: Said) -> None:
    """Its priority is outside the range of user and project."""
    own = own_of(world, said)
    must(own.refused == "priority_out_of_range", "it is refused", own.refused)
    told = _told(said)
    low, high = (float(told.get(name, "nan")) for name in ("lowest", "highest"))
    must(low <= high and not low <= own.priority <= high, "priority and range", own.priority, low, high)


@checks("request", "no_free_room", "no_room_even_with_victims", system=_SYSTEM)
def no_room(world: World, said: Said) -> None:
    """Whether a unit of the request finds no node, and the nearest one lacks what is said to be missing."""
    _rule_is(world, said)
    own = own_of(world, said)
    even = said.code == "no_room_even_with_victims"
    could = candidates_for(world, own) if even else []
    count = _told(said).get("candidates")
    must(count is None or count == len(could), "sessions that may be preempted", count, len(could))
    told = without_zeros(said.met.get("missing", {}))
    must(told, "nothing is said to be missing")
    if not (world.settings.victim_area == "agent" or world.settings.preemptors == "every"):
        found = _missing(world, own, said.row["name"], leaving_counts=True, gone=could)
        must(told in found, "missing", told, found)


def _lacks_free_room(world: World, said: Said) -> None:
    """Raise `AssertionError` if something is said to be missing that is not."""
    told = without_zeros(said.met.get("missing", {}))
    if not told or said.explanation.table != "requests" or world.settings.preemptors == "every":
        return
    found = _missing(world, own_of(world, said), said.row["name"])
    must(told in found, "missing", told, found)


def _missing(world: World, own: Session, name: object, **suppositions: Any) -> list[dict[str, float]]:
    """Return what nodes lack for the units of a request, those before being placed."""
    run = run_of(world)
    room, found = run.room(whose=own, **suppositions), list[dict[str, float]]()
    units = [(r, r.amounts) for r in own.waiting() for _ in range(r.count)]
    for request, amounts in units:
        if same(request.name, name):
            found += _lacks(world, run, room, request, amounts)
        node = room.best(request, amounts)
        if node is None:
            break
        room.placed.append(Placed(request, node, amounts))
    return found


def _lacks(
    world: World, run: Any, room: Any, request: Any, amounts: dict[str, int]
) -> list[dict[str, float]]:
    found = []
    for node in run.world.nodes:
        if bar(request, node, run.world, world.settings) is None and room.takes_one_more(node):
            lacks = {
                r: (a - room.free(node, r)) * run.world.quantum[r]
                for r, a in amounts.items()
                if a > 0 and a > room.free(node, r)
            }
            found.append(without_zeros(lacks))
    return found
