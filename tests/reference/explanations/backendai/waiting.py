"""What Backend.AI's policy says of requests that wait, held against the slow run."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.reference.backendai.room import bar
from tests.reference.explanations.backendai.runs import (
    asks_of,
    candidates_for,
    own_of,
    run_of,
    session,
    stands,
)
from tests.reference.explanations.jobs import waits_for_victims
from tests.reference.explanations.pace import victims_spared
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import CLOSE, World, same, without_zeros

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
    must(without_zeros(said.met.get("missing", {})), "nothing is said to be missing")
    _lacks_free_room(world, said)


@checks("request", "victims_spared", system=_SYSTEM)
def spared_by_the_pace(world: World, said: Said) -> None:
    """Whether the pace spares something, and by a setting and an instant that are so."""
    victims_spared(world, said)
    told, pace = _told(said), world.settings.pace
    for name in ("victim_cooldown", "spare_if_ran_less_than", "spare_if_ends_within"):
        must(name not in told or told[name] == getattr(pace, name), name, told.get(name))
    for instant, least in (("last_preempted", "victim_cooldown"), ("began", "spare_if_ran_less_than")):
        right = instant not in told or world.now - told[instant] < told[least]
        must(right, f"{least} has passed", told.get(instant))
    if (end := told.get("planned_end")) is not None:
        must(0 <= end - world.now <= told["spare_if_ends_within"], "it does not end soon", end)
    must("until" not in told or told["until"] > world.now, "until when", told.get("until"))


@checks("request", "wrong_tags", "node_not_schedulable", system=_SYSTEM)
def runs_nowhere(world: World, said: Said) -> None:
    """Whether it may run on no node, whatever stands there; its tags are those that are said."""
    _rule_is(world, said)
    tags = _told(said).get("node_tags")
    if said.code == "wrong_tags":
        must(sorted(tags or ()) == sorted(said.row.get("node_tags", ())), "its tags", tags)
    (request,) = [r for r in own_of(world, said).requests if same(r.name, said.row["name"])]
    bars = [bar(request, n, run_of(world).world, world.settings) for n in run_of(world).world.nodes]
    must(None not in bars and said.code in bars, "what is in its way", bars)


def _lacks_free_room(world: World, said: Said) -> None:
    """Raise `AssertionError` unless what is said to be missing is what the node lacked that came nearest."""
    told = without_zeros(said.met.get("missing", {}))
    if not told or said.explanation.table != "requests":
        return
    run = run_of(world)
    lacks = run.lacks.get(own_of(world, said), [])
    found = [{r: a * run.world.quantum[r] for r, a in one.items()} for one in lacks]
    far = [
        max((a / max(world.total[r], run.world.quantum[r]) for r, a in one.items()), default=0)
        for one in found
    ]
    nearest = [one for one, lack in zip(found, far, strict=True) if lack <= min(far) + CLOSE]
    right = any(
        told.keys() == one.keys() and all(abs(told[r] - one[r]) < CLOSE for r in told) for one in nearest
    )
    must(right, "missing", told, nearest)
