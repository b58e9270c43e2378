"""What YuniKorn's policy says of a victim: what would have spared it, and what chose it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.facts import name_of
from evenhand.explain.recorded import recorded_of_victim
from evenhand.explain.told import Told
from evenhand.systems.yunikorn.words import Seen, queue_of
from evenhand.units.text import duration as seconds
from evenhand.units.text import number

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts
    from evenhand.plans.decisions import Decision

__all__ = ["victim"]

_COST = {
    "opted_out": "opted out last",
    "originator": "originators last",
    "priority": "the lowest priority first",
    "live_time": "the shortest live time first",
    "lost_work": "the least lost work first",
    "own": "by the given cost",
}
_NAMED = {
    "default": ("opted_out", "originator", "priority", "live_time"),
    "live_time": ("live_time",),
    "priority": ("priority",),
    "kind": ("opted_out", "originator"),
}


def victim(facts: Facts, row: int) -> Told:
    """Return what would have spared a victim, what chose it, and the numbers of both."""
    decision = facts.plan.decisions[row]
    allocation = int(facts.plan.decisions.column("allocation")[row])
    request = decision.beneficiary.request if decision.beneficiary is not None else None
    seen = Seen(facts, allocation, decision.node, request, {}, recorded_of_victim(facts, allocation))
    numbers: dict[str, Any] = {}
    tell = _SPARED.get(decision.reason)
    spared = "" if tell is None else tell(seen, numbers)
    order = _order(seen, decision, numbers)
    return Told(numbers, f"; {spared}" if spared else "", (order,) if order else ())


def _queue_share(seen: Seen, numbers: dict[str, Any]) -> str:
    """Compare what its queue used just before with its ideal share and its guarantee."""
    queue = seen.queue()
    if queue is None:
        return ""
    used = _before(seen, "used")
    keeps = {r: max(a, seen.amounts("guaranteed")[r]) for r, a in seen.amounts("ideal").items()}
    above = [r for r, has in _own(seen).items() if has and used[r] > keeps[r]]
    if not above:
        return ""
    numbers |= {"queue": queue, "used": {r: used[r] for r in above}, "keeps": {r: keeps[r] for r in above}}
    uses = seen.facts.amounts_of(numbers["used"], numbers["keeps"])
    keeps_ = "that its ideal share and its guarantee keep"
    return f"its queue {name_of(queue)} used {uses} {keeps_}, and within them it would have been spared"


def _own(seen: Seen) -> dict[str, float]:
    row = np.asarray(seen.facts.snapshot._core.column("allocations", "resources"))[seen.row]
    return seen.facts.object(row, zeros=True)


def _before(seen: Seen, name: str) -> dict[str, float]:
    """Return amounts that were recorded when it had left, with its own."""
    own = _own(seen)
    return {r: amount + own[r] for r, amount in seen.amounts(name).items()}


def _priority(seen: Seen, numbers: dict[str, Any], spared: str = "with {} or more") -> str:
    own, asks = seen.number("priority"), seen.number("asking_priority")
    if own is None or asks is None:
        return ""
    numbers |= {"priority": own, "asking_priority": asks}
    return f"its priority was {number(own)}, and {spared.format(number(asks))} it would have been spared"


def _required(seen: Seen, numbers: dict[str, Any]) -> str:
    return _priority(seen, numbers, "above {}")


def _guarantee(seen: Seen, numbers: dict[str, Any]) -> str:
    """Compare what guarantees owe the queue that asks with what its own queue has beyond them."""
    asking, core = seen.queue(), seen.facts.snapshot._core
    if asking is None:
        return ""
    given = np.asarray(seen.recorded["amounts"]["has_guarantee"]) > 0
    owed = {r: a for r, a in seen.amounts("owed", given & (seen.needs > 0)).items() if a > 0}
    beyond = {r: -a for r, a in seen.amounts("own_owed").items() if a < 0}
    pool = int(core.column("operations", "pool")[int(core.column("allocations", "operation")[seen.row])])
    own = queue_of(seen.facts, pool)
    numbers |= {"asking_queue": asking, "queue": own, "owed": owed, "beyond": beyond}
    amounts = seen.facts.amounts
    has = "none: within one" if not beyond else f"{amounts(beyond)} beyond what guarantees keep, within which"
    owes = f"it owes queue {name_of(asking)} {amounts(owed)} more"
    return f"{owes}, and its own queue {name_of(own)} has {has} it would have been spared"


def _quota(seen: Seen, numbers: dict[str, Any]) -> str:
    queue, since, delay = seen.queue(), seen.time("since"), seen.time("delay")
    if queue is None or since is None or delay is None:
        return ""
    used, most = _before(seen, "used"), seen.amounts("max")
    over = [r for r in used if most[r] and used[r] + seen.amounts("leaving")[r] > most[r]]
    numbers |= {
        "queue": queue,
        "used": {r: used[r] for r in over},
        "max": {r: most[r] for r in over},
        "since": since,
        "delay": delay,
    }
    uses = f", {seen.facts.amounts_of(numbers['used'], numbers['max'])}" if over else ""
    return (
        f"within the max of queue {name_of(queue)}{uses} it would have been spared; that was exceeded"
        f" since {seen.facts.when(since)}, longer than quota.preemption.delay ({seconds(delay)})"
    )


_SPARED: Any = {
    "below_ideal_share": _queue_share,
    "surplus_of_queue": _queue_share,
    "higher_priority_in_queue": _priority,
    "for_required_node": _required,
    "below_guarantee": _guarantee,
    "above_quota": _quota,
}


def _order(seen: Seen, decision: Decision, numbers: dict[str, Any]) -> str:
    """Say where it stood among what might leave, and by what."""
    place, of = seen.number("place"), seen.number("candidates")
    if place is None or of is None:
        return ""
    numbers |= {"place": int(place), "candidates": int(of)}
    where = seen.facts.of_node(decision.node, "its node")
    if of == 1:
        return f"Nothing else might leave on {where}."
    text = f"Of {number(of)} that might leave on {where} it was number {number(place)}"
    s = seen.facts.plan.policy.settings
    if s.preemption == "per_ask":
        by = "the newest" if s.newest_before_lowest_priority else "the lowest priority, then the newest"
        return f"{text}: opted-out tasks and originators come last, and of the others {by} first."
    cost = _NAMED[s.cost] if isinstance(s.cost, str) else s.cost
    numbers["cost"] = s.cost if isinstance(s.cost, str) else list(s.cost)
    return f"{text}, by cost: {', '.join(_COST[one] for one in cost)}."
