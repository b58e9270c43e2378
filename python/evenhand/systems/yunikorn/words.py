"""What YuniKorn's policy says of asks and allocations, with numbers: from what a recorder saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.explain.facts import name_of
from evenhand.explain.told import NOTHING, Told
from evenhand.plans.columns import rows_by_name
from evenhand.plans.live import limits
from evenhand.reasons import ACTIONS
from evenhand.units.text import duration as seconds
from evenhand.units.text import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.explain.facts import Facts

__all__ = ["BECAUSE", "Seen", "queue_of", "told", "told_of_unseen"]

#: Why an allocation is no candidate, in the order of the core's enumeration.
BECAUSE = (
    *("needs_its_node", "spared", "holds_nothing", "same_queue", "asker_disabled", "queue_disabled"),
    *("outside_fence", "within_guarantee", "priority"),
)
_Told = tuple[str, dict[str, Any]]


class Seen(NamedTuple):
    """What a recorder saw where something was tried."""

    facts: Facts
    row: int
    node: Any
    request: Any
    missing: Mapping[str, float]
    recorded: Mapping[str, Mapping[str, Any]]

    def number(self, name: str) -> float | None:
        """Return a number that was recorded."""
        value = self.recorded["numbers"].get(name)
        return None if value is None else float(value)

    def time(self, name: str) -> float | None:
        """Return an instant or a span that was recorded, in seconds."""
        value = self.recorded["times"].get(name)
        return None if value is None else float(value) / 1e6

    def queue(self, name: str = "queue") -> str | None:
        """Return the name of a queue that was recorded."""
        pool = self.recorded["pools"].get(name)
        return None if pool is None else queue_of(self.facts, int(pool))

    def amounts(self, name: str, only: Any = None) -> dict[str, float]:
        """Return amounts that were recorded, of the resources of a mask; none that were not."""
        quanta = self.recorded["amounts"].get(name)
        if quanta is None:
            return {}
        found = self.facts.object(np.asarray(quanta), zeros=True)
        mask = np.ones(len(found), bool) if only is None else np.asarray(only, bool)
        return {r: amount for (r, amount), shown in zip(found.items(), mask, strict=True) if shown}

    @property
    def asked(self) -> str:
        """The ask in words; in the mode shotgun there is none."""
        return "what other queues claim" if self.request is None else f"request {name_of(self.request)}"

    @property
    def needs(self) -> Any:
        """What the ask needs, in quanta."""
        rows = rows_by_name(self.facts.snapshot, "requests")
        row = self.row if self.request is None else rows[str(self.request)]
        return np.asarray(self.facts.snapshot._core.column("requests", "resources"))[row]


def queue_of(facts: Facts, pool: int) -> str:
    """Return the name of a queue by its row."""
    return "root" if pool == 0 else str(facts.name("pools", pool))


def told(what: str, code: str, seen: Seen) -> Told:
    """Return what is said of an outcome and the numbers of it; of some what their code says is all."""
    tell = (_REQUESTS if what == "request" else _ALLOCATIONS).get(code)
    found = None if tell is None or not seen.recorded else tell(seen)
    return NOTHING if found is None else Told(found[1], found[0])


def told_of_unseen(facts: Facts, what: str) -> Told:
    """Return why an ask was not tried, or why no ask looked at what runs."""
    s = facts.plan.policy.settings
    if s.preemption == "cycles" and s.mode == "shotgun":
        if "inter_queue" not in s.policies:
            text = "mode shotgun takes work between queues only, and policies has no inter_queue"
        elif what == "request":
            text = "mode shotgun makes room for queues as a whole, and starts nothing itself"
        else:
            return NOTHING
        return Told({"mode": "shotgun"}, text)
    if getattr(facts.plan.on, "name", "") == "quota":
        asks = (
            "it places no ask" if what == "request" else "it takes only from queues that use more than that"
        )
        return Told({"cycle": "quota"}, f"the cycle only holds queues to their max: {asks}")
    if what == "request":
        return NOTHING
    decisions = facts.plan.decisions
    waiting = np.array(facts.snapshot._core.column("requests", "count"))
    starts = decisions.column("request")[decisions.column("action") == ACTIONS.index("start")]
    np.subtract.at(waiting, starts, 1)
    if not waiting.any():
        return Told({"waiting": 0}, "no ask waits that found no room")
    return Told({}, "no ask looked for victims on its node")


def _room(seen: Seen) -> _Told | None:
    if not seen.missing:
        return None
    lacks = seen.facts.amounts(seen.missing)
    where = seen.facts.of_node(seen.node, "the node that lacks least")
    return f"{where} lacks least: {lacks} more would have to be free there", {}


def _room_of_victims(seen: Seen) -> _Told | None:
    found = _room(seen)
    if found is None:
        return None
    return f"no victims that may leave make room for it; {found[0]}", {}


def _maximum(seen: Seen) -> _Told | None:
    queue = seen.queue()
    if queue is None:
        return None
    needs, core = seen.needs, seen.recorded["amounts"]
    has = np.asarray(core["used"]) + np.asarray(core["leaving"])
    pool = int(seen.recorded["pools"]["queue"])
    most = np.asarray(core["max"])
    limited = limits(seen.facts.snapshot)[1][pool] | ((pool == 0) & (most > 0))
    over = (needs > 0) & limited & (has + needs > most)
    used, leaving, limit = (seen.amounts(name, over) for name in ("used", "leaving", "max"))
    numbers: dict[str, Any] = {"queue": queue, "used": used, "max": limit}
    still = ""
    if any(leaving.values()):
        numbers["leaving"] = leaving
        still = f", and what still leaves of it {seen.facts.amounts(leaving)}"
    uses = seen.facts.amounts_of(used, limit)
    return f"with it, queue {name_of(queue)} would have more than its max: it uses {uses}{still}", numbers


def _missed(seen: Seen) -> _Told | None:
    missed, left = seen.number("missed"), seen.number("cycles_left")
    if missed is None or left is None:
        return None
    times = "once" if missed == 1 else f"{number(missed)} times"
    more = f", and of {number(left)} more" if left else ""
    return f"it found no room {times} before, and is left out of this allocation cycle{more}", {
        "missed": int(missed),
        "cycles_left": int(left),
    }


def _has_its_share(seen: Seen) -> _Told | None:
    queue = seen.queue("asking")
    if queue is None:
        return None
    needs = seen.needs > 0
    used, ideal = seen.amounts("asking_used", needs), seen.amounts("asking_ideal", needs)
    within = bool(seen.number("within_queue"))
    if within:
        ideal = seen.amounts("asking_below", needs) or ideal
    has = seen.facts.amounts_of(used, ideal)
    policy = "intra_queue" if within else "inter_queue"
    share = "more than its ideal share of some" if within else "its ideal share of all"
    text = f"policy {policy} preempts nothing for it: its queue {name_of(queue)} has {share} that it asks for"
    return f"{text}, {has}", {"queue": queue, "used": used, "ideal": ideal, "policy": policy}


def _cycle_full(seen: Seen) -> _Told:
    ended = "the cycle ended before it came to it"
    if (placed := seen.number("placed")) is None:
        most, limit = _limit(seen.facts)
        text = f"{ended}: asks that others are preempted for add up to {most} at most (limit)"
        return text, {"limit": limit}
    most = seen.facts.plan.policy.settings.n_alloc
    numbers = {"placed": int(placed), "n_alloc": most}
    if placed >= most:
        were = "1 was" if placed == 1 else f"{number(placed)} were"
        return f"{ended}: {were} placed, as many as may be in one (n_alloc)", numbers
    numbers["looked"] = looked = int(seen.number("looked") or 0)
    round_ = f"none of the {number(looked)} asks" if looked > 1 else "the one ask"
    could = "could be placed" if looked > 1 else "could not be placed"
    return f"{ended}: {round_} of its last round {could} (n_alloc is {number(most)})", numbers


def _not_owed(seen: Seen) -> _Told | None:
    queue = seen.queue()
    if queue is None:
        return None
    needs = seen.needs > 0
    given = np.asarray(seen.recorded["amounts"]["has_guarantee"]) > 0
    if not given.any():
        text = f"its queue {name_of(queue)} has no guarantee, and only a queue within its guarantee preempts"
        return text, {"queue": queue}
    owed = seen.amounts("owed", given & needs)
    if not owed:
        text = f"its queue {name_of(queue)} has no guarantee of what it asks for"
        return text, {"queue": queue}
    rest = {r: max(amount, 0.0) for r, amount in owed.items()}
    text = (
        f"guarantees owe its queue {name_of(queue)} {seen.facts.amounts(rest) or 'nothing'} more, less than"
        " it asks for, even if all left that may leave"
    )
    return text, {"queue": queue, "owed": owed}


def _waits(seen: Seen) -> _Told | None:
    facts = seen.facts
    if seen.number("may_preempt") == 0:
        return "it may never preempt: it has allow_preempt_other off", {"allow_preempt_other": False}
    if seen.number("queue_disabled"):
        queue = seen.queue()
        text = f"preemption.policy is disabled in its queue {name_of(queue)}, so it preempts nothing"
        return text, {"queue": queue}
    since, until, delay = (seen.time(name) for name in ("since", "until", "delay"))
    if since is None or until is None or delay is None:
        return None
    now = facts.snapshot.now
    if seen.number("triggered"):
        return "it has preempted before, and does so once only (asks_once)", {"asks_once": True}
    required = int(facts.snapshot._core.column("requests", "required_node")[seen.row])
    if required >= 0:
        node = facts.name("nodes", required)
        return f"it needs its {facts.of_node(node, '')}, and preempts nowhere else", {"required_node": node}
    if now < until:
        numbers = {"since": since, "until": until, "delay": delay}
        text = f"it has waited since {facts.when(since)}, and may preempt from {facts.when(until)} on"
        return f"{text}: preemption.delay of its queue is {seconds(delay)}", numbers
    last, again = seen.time("last_attempt"), seen.time("again_from")
    if last is None or again is None or now >= again:
        return None
    text = f"its last attempt was {facts.when(last)}, and the next may be {facts.when(again)}"
    retry = facts.setting("retry")
    return f"{text}: retry is {seconds(retry)}", {"last_attempt": last, "again_from": again, "retry": retry}


def _not_lower(seen: Seen) -> _Told | None:
    own, asks = seen.number("priority"), seen.number("asking_priority")
    if own is None or asks is None:
        return None
    text = f"its priority {number(own)} is not lower than {number(asks)}, that of {seen.asked}"
    return text, {"priority": own, "asking_priority": asks}


def _of_its_queue(seen: Seen) -> _Told | None:
    """Say of which queues victims are taken, and of which it is."""
    if seen.request is None:
        return None
    facts, column = seen.facts, seen.facts.snapshot._core.column
    asks = rows_by_name(facts.snapshot, "requests")[str(seen.request)]
    rows = column("allocations", "operation")[seen.row], column("requests", "operation")[asks]
    own, asking = (queue_of(facts, int(column("operations", "pool")[int(row)])) for row in rows)
    numbers: dict[str, Any] = {"queue": own, "asking_queue": asking}
    rule = ""
    if (within := seen.number("within_queue")) is not None:
        numbers["within_queue"] = bool(within)
        rule = f"under policy {'intra' if within else 'inter'}_queue "
    takes = f"{rule}{seen.asked} takes victims of"
    if own == asking:
        return f"{takes} other queues only, and both are in queue {name_of(own)}", numbers
    return f"{takes} its own queue {name_of(asking)} only, and this is of queue {name_of(own)}", numbers


def _not_claimed(seen: Seen) -> _Told:
    claimed = {r: amount for r, amount in seen.amounts("claimed").items() if amount > 0}
    if not claimed:
        return "no queue claims more than it has", {"claimed": {}}
    return f"it has nothing of the {seen.facts.amounts(claimed)} that queues claim still", {
        "claimed": claimed
    }


def _surplus_full(seen: Seen) -> _Told:
    text, limit = _limit(seen.facts)
    return f"as much leaves before it as may: {text} (limit)", {"limit": limit}


def _limit(facts: Facts) -> tuple[str, Any]:
    limit = facts.plan.policy.settings.limit
    if isinstance(limit, float):
        return f"{number(limit)} of the partition", limit
    return facts.amounts(limit) or "nothing", dict(limit)


def _keeper(seen: Seen) -> _Told | None:
    queue, place = seen.queue(), seen.number("resource")
    if queue is None or place is None:
        return None
    only = np.arange(len(seen.facts.snapshot.resources)) == int(place)
    used, ideal, owed = (seen.amounts(name, only) for name in ("used", "ideal", "guaranteed"))
    numbers: dict[str, Any] = {"queue": queue, "used": used, "guaranteed": owed}
    uses = f"it uses {seen.facts.amounts(used, beside=owed) or 'nothing'}"
    guarantee = f"its guarantee is {seen.facts.amounts(owed, beside=used) or 'nothing'}"
    of = f"for {seen.asked} queue {name_of(queue)}"
    if seen.number("dead_zone"):
        zone = numbers["dead_zone"] = seen.facts.setting("dead_zone")
        return (
            f"{of} gives nothing: {uses}, {guarantee}, and dead_zone {number(zone)} keeps as much more",
            numbers,
        )
    if seen.number("shared"):
        return f"{of}, of which both are, would have less than it is owed: {uses}, and {guarantee}", numbers
    numbers["ideal"] = ideal
    share = f"its ideal share {seen.facts.amounts(ideal, beside=used) or 'nothing'}"
    return f"{of} keeps what it is owed: {uses}, {guarantee} and {share}", numbers


def _no_candidate(seen: Seen) -> _Told | None:
    why = seen.number("why")
    because = "needs_its_node" if why is None else BECAUSE[int(why)]
    queue = seen.queue()
    numbers: dict[str, Any] = {"because": because}
    if queue is not None:
        numbers["queue"] = queue
    named, asked = name_of(queue), seen.asked
    match because:
        case "needs_its_node":
            text = f"it may run on no other node, so it is not taken for {asked}"
        case "holds_nothing":
            text = f"it has nothing that {asked} asks for"
        case "asker_disabled":
            text = f"preemption.policy is disabled in the queue of {asked}, so nothing is taken for it"
        case "queue_disabled":
            text = f"preemption.policy is disabled in its queue {named}, so {asked} takes nothing from it"
        case "outside_fence":
            fence = seen.queue("fence")
            numbers["fence"] = fence
            text = (
                f"{asked} takes victims from within queue {name_of(fence)} only, which is a fence or would"
                f" have more than its max with it, and queue {named} is not in it"
            )
        case "within_guarantee":
            owed = numbers["owed"] = {r: a for r, a in seen.amounts("owed").items() if a}
            more = f" ({seen.facts.amounts(owed)} more)" if owed else ""
            text = f"its queue {named} is within its guarantees, which owe it no less than it has{more}"
        case _:
            own, most = seen.number("priority"), seen.number("highest")
            if own is None or most is None or not np.isfinite(most):
                text = f"a priority fence keeps {asked} from queue {named}"
            else:
                numbers |= {"priority": own, "highest": most}
                text = (
                    f"its priority {number(own)} is higher than {number(most)}, up to which {asked} takes"
                    f" victims in queue {named}"
                )
    return text, numbers


def _place(seen: Seen) -> tuple[str, dict[str, Any]]:
    place, of = seen.number("place"), seen.number("candidates")
    if place is None or of is None:
        return "", {}
    text = f"it is candidate {number(place)} of {number(of)} on {seen.facts.of_node(seen.node, 'its node')}"
    return f"{text}, the cheapest first", {"place": int(place), "candidates": int(of)}


def _not_chosen(seen: Seen) -> _Told:
    place, numbers = _place(seen)
    placed = {int(row) for row in seen.recorded["nodes"].get("placed_on", ())}
    text = f"other victims make room for {seen.asked}"
    if placed:
        numbers["placed_on"] = seen.facts.name("nodes", min(placed))
        text += f", on node {name_of(numbers['placed_on'])}"
    return (f"{text}; {place}" if place else text), numbers


def _nothing_started(seen: Seen) -> _Told:
    place, numbers = _place(seen)
    within = seen.number("within_queue")
    where = ""
    if within is not None:
        where = " of its own queue" if within else " of other queues"
        numbers["within_queue"] = bool(within)
    text = f"no victims{where} made room for {seen.asked} when it was tried, so it took none"
    return (f"{text}; {place}" if place else text), numbers


_REQUESTS: Any = {
    "no_free_room": _room,
    "no_room_even_with_victims": _room_of_victims,
    "limits_of_operation_or_pool": _maximum,
    "missed_opportunity": _missed,
    "queue_has_its_share": _has_its_share,
    "cycle_full": _cycle_full,
    "not_below_guarantee": _not_owed,
    "may_not_preempt_yet": _waits,
}
_ALLOCATIONS: Any = {
    **dict.fromkeys(("same_queue", "other_queue"), _of_its_queue),
    "frees_nothing_useful": _not_claimed,
    "cycle_full": _surplus_full,
    "not_lower_priority": _not_lower,
    "queue_keeps_it": _keeper,
    "not_a_candidate": _no_candidate,
    "not_chosen": _not_chosen,
    "no_start_in_stage": _nothing_started,
}
