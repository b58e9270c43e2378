"""Laws of plans whose queues ask others to give, as named functions.

Numbers are those of YuniKorn's own list, where it has one. A law takes a `QueuePlan` and raises
`AssertionError`; `check_queue_plan` runs those that both presets of YuniKorn promise once its defects are
switched off. `BROKEN_BY` says which switch of the preset "upstream" breaks which law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from evenhand.systems.yunikorn.properties import QueueProperties, inherited, properties_of
from evenhand.testing._laws import PlanOfJobs, hold_all, must

__all__ = [
    "BROKEN_BY",
    "LAWS",
    "QueuePlan",
    "Step",
    "applications_spare_themselves",
    "asks_are_owed",
    "asks_fit_afterwards",
    "check_queue_plan",
    "disabled_queues_do_not_ask",
    "givers_were_above_their_guarantee",
    "guarantees_are_kept",
    "last_victim_is_needed",
    "lowest_priority_leaves_first",
    "no_victim_is_in_vain",
    "priorities_are_kept",
]

Amounts = Mapping[str, float]
_BETWEEN_QUEUES = ("below_ideal_share", "below_guarantee")


@dataclass(frozen=True)
class Step:
    """What is decided for one ask: who leaves, where it will run, and how things stood before.

    Attributes
    ----------
    ask : mapping
        The request.
    node : str
    victims : list of mapping
        Allocations, in their order.
    reason : str
        Why they leave.
    used : mapping
        Pool to what runs in it and below, without what leaves.
    free : mapping
        What is free on the node, without what leaves.
    """

    ask: Mapping[str, Any]
    node: str
    victims: list[Mapping[str, Any]]
    reason: str
    used: Mapping[str, Amounts]
    free: Amounts


@dataclass(frozen=True)
class QueuePlan(PlanOfJobs):
    """A cycle of queues, and what it was made of: snapshot, plan and settings as their plain values."""

    @cached_property
    def pools(self) -> dict[str, Mapping[str, Any]]:
        """Pools by name."""
        return self._by_name("pools")

    def pool(self, row: Mapping[str, Any]) -> str | None:
        """Return the pool of an allocation or a request; None: the root."""
        found = self.jobs[str(row["operation"])].get("pool")
        return None if found is None else str(found)

    def path(self, pool: str | None) -> list[str]:
        """Return a pool and all above it but the root."""
        found: list[str] = []
        while pool is not None:
            found.append(pool)
            above = self.pools[pool].get("parent")
            pool = None if above is None else str(above)
        return found

    def apart(self, victim: Mapping[str, Any], ask: Mapping[str, Any]) -> list[str]:
        """Return the pools above a victim that the asker is not in."""
        shared = set(self.path(self.pool(ask)))
        return [name for name in self.path(self.pool(victim)) if name not in shared]

    def guarantee(self, pool: str) -> Amounts:
        """Return what a pool is owed; all zeros are as if it were not set."""
        owed: Amounts = self.pools[pool].get("strong_guarantee") or {}
        return owed if any(owed.values()) else {}

    @cached_property
    def properties(self) -> dict[str, QueueProperties]:
        """Properties of pools, with what they inherit."""
        texts: dict[str, dict[str, str]] = {}

        def of(name: str) -> dict[str, str]:
            if name not in texts:
                row = self.pools[name]
                above = row.get("parent")
                own = row.get("settings", {}).get("properties") or {}
                texts[name] = inherited({} if above is None else of(str(above)), own)
            return texts[name]

        return {name: properties_of(of(name)) for name in self.pools}

    def priority(self, row: Mapping[str, Any]) -> float:
        """Return the priority of an ask or an allocation."""
        own = row.get("priority")
        return float(self.jobs[str(row["operation"])].get("priority") or 0 if own is None else own)

    def steps(self) -> Iterator[Step]:
        """Yield what is decided for each ask for which others leave."""
        used: dict[str, dict[str, float]] = {name: {} for name in self.pools}
        free = {str(n["name"]): dict(n.get("capacity", {})) for n in self.snapshot.get("nodes", ())}

        def count(row: Mapping[str, Any], sign: int) -> None:
            for name in self.path(self.pool(row)):
                for r, amount in row.get("resources", {}).items():
                    used[name][r] = used[name].get(r, 0) + sign * amount

        def room(node: Any, amounts: Amounts, sign: int) -> None:
            for r, amount in amounts.items():
                free[str(node)][r] = free[str(node)].get(r, 0) + sign * amount

        for row in self.allocations.values():
            if row.get("state", "running") == "running":
                count(row, 1)
            room(row["node"], row.get("resources", {}), -1)
        mine: list[Mapping[str, Any]] = []
        reason = ""
        for d in self.plan["decisions"]:
            if d["action"] == "preempt":
                if d.get("beneficiary"):
                    mine.append(self.allocations[str(d["allocation"])])
                    reason = d["reason"]
                else:
                    count(self.allocations[str(d["allocation"])], -1)
                continue
            ask, node = self.requests[str(d["request"])], str(d["node"])
            if mine:
                yield Step(
                    ask, node, mine, reason, {name: dict(of) for name, of in used.items()}, dict(free[node])
                )
            for victim in mine:
                count(victim, -1)
            if d["action"] == "start":
                count(ask, 1)
                gone = {r: sum(v.get("resources", {}).get(r, 0) for v in mine) for r in free[node]}
                rest = {r: max(0, a - gone.get(r, 0)) for r, a in ask.get("resources", {}).items()}
                room(node, rest, -1)
            else:  # nothing else is placed there
                free[node] = {r: min(amount, 0) for r, amount in free[node].items()}
            mine = []

    def between_queues(self) -> Iterator[Step]:
        """Yield the steps in which queues take from each other."""
        return (step for step in self.steps() if step.reason in _BETWEEN_QUEUES)


def guarantees_are_kept(run: QueuePlan) -> None:
    """Law 2: no queue has less than its guarantee, in anything that it gave."""
    for step in run.between_queues():
        left = {name: dict(of) for name, of in step.used.items()}
        for victim in step.victims:
            gives = victim.get("resources", {})
            for name in run.path(run.pool(victim)):
                for r, amount in gives.items():
                    left[name][r] = left[name].get(r, 0) - amount
            for name in run.apart(victim, step.ask):
                owed = run.guarantee(name)
                short = [r for r in gives if gives[r] and left[name].get(r, 0) < owed.get(r, 0)]
                must(not short, f"{victim['name']} leaves {name} {left[name]} of its guarantee {owed}")


def applications_spare_themselves(run: QueuePlan) -> None:
    """Law 3: nothing is taken within an application."""
    for step in run.steps():
        for victim in step.victims:
            same = str(victim["operation"]) == str(step.ask["operation"])
            must(step.reason == "for_required_node" or not same, f"{victim['name']} leaves for its own")


def asks_are_owed(run: QueuePlan) -> None:
    """Law 4: the asking queue, or one above it, has a guarantee of everything that is asked for.

    Of cycles the ideal share stands in its place, and every queue has one.
    """
    for step in run.between_queues():
        if step.reason != "below_guarantee":
            continue
        owed = {r for name in run.path(run.pool(step.ask)) for r in run.guarantee(name)}
        wants = {r for r, amount in step.ask.get("resources", {}).items() if amount}
        must(wants <= owed, f"{step.ask['name']} asks for {wants - owed}, of which nothing is guaranteed")


def givers_were_above_their_guarantee(run: QueuePlan) -> None:
    """Law 5: what gives was above its guarantee in something, or has none.

    Of cycles the guarantee of a resource for which none is given is 0.
    """
    for step in run.between_queues():
        used = {name: dict(of) for name, of in step.used.items()}
        for victim in step.victims:
            apart = run.apart(victim, step.ask)
            owed = {name: run.guarantee(name) for name in apart}
            shared = [name for name in run.path(run.pool(victim)) if name not in apart]
            gives = victim.get("resources", {})
            above = any(
                used[name].get(r, 0) > of.get(r, 0)
                for name, of in owed.items()
                for r in (of if step.reason == "below_guarantee" else gives)
            )
            none = not any(owed.values()) or any(map(run.guarantee, shared))
            must(above or none, f"{victim['name']} leaves {apart}, which are within {owed}")
            for name in run.path(run.pool(victim)):
                for r, amount in gives.items():
                    used[name][r] = used[name].get(r, 0) - amount


def priorities_are_kept(run: QueuePlan) -> None:
    """Law 6: victims have at most the ask's priority, as the queue sees both that is above both.

    Offsets and fences count up to that queue, and not those of the queue itself or above it.
    """
    for step in run.between_queues():
        if step.reason != "below_guarantee":
            continue
        for victim in step.victims:
            level = run.priority(step.ask)
            shared = set(run.path(run.pool(victim)))
            for name in run.path(run.pool(step.ask)):
                if name in shared:
                    break
                of = run.properties[name]
                level = of.priority_offset + (0 if of.priority_policy == "fence" else level)
            free = False
            for name in reversed(run.apart(victim, step.ask)):
                of = run.properties[name]
                if of.priority_policy == "fence":
                    must(of.priority_offset <= level, f"{victim['name']} leaves from behind a fence")
                    free = True
                else:
                    level -= of.priority_offset
            own = run.priority(victim)
            must(free or own <= level, f"{victim['name']} has priority {own}, {step.ask['name']} {level}")


def disabled_queues_do_not_ask(run: QueuePlan) -> None:
    """Where tasks of a queue are never victims, it takes from no other."""
    for step in run.between_queues():
        pool = run.pool(step.ask)
        if step.reason == "below_guarantee" and pool is not None:
            must(run.properties[pool].preemption_policy != "disabled", f"{pool} is disabled and asks")


def _lacks(run: QueuePlan, step: Step, victims: list[Mapping[str, Any]]) -> list[str]:
    """Return what an ask lacks on its node, or below maxima, once victims have gone."""
    wants = {r: a for r, a in step.ask.get("resources", {}).items() if a}
    gone = [v for v in victims if str(v["node"]) == step.node]
    found = [
        f"{r} on {step.node}"
        for r, amount in wants.items()
        if amount > max(step.free.get(r, 0), 0) + sum(v.get("resources", {}).get(r, 0) for v in gone)
    ]
    for name in run.path(run.pool(step.ask)):
        limits = run.pools[name].get("limits") or {}
        inside = [v for v in victims if name in run.path(run.pool(v))]
        for r, amount in wants.items():
            left = step.used[name].get(r, 0) - sum(v.get("resources", {}).get(r, 0) for v in inside)
            if any(limits.values()) and r in limits and left + amount > limits[r]:
                found.append(f"{r} below the maximum of {name}")
    return found


def asks_fit_afterwards(run: QueuePlan) -> None:
    """Where victims make room the ask fits, on the node and below maxima."""
    for step in run.steps():
        lacks = _lacks(run, step, step.victims)
        must(not lacks, f"{step.ask['name']} lacks {lacks} once its victims have gone")


def last_victim_is_needed(run: QueuePlan, reason: str | None = None) -> None:
    """If the last of its victims stays, an ask does not fit; of a reason alone, if one is given."""
    for step in run.steps():
        if reason in (None, step.reason):
            lacks = _lacks(run, step, step.victims[:-1])
            must(bool(lacks), f"{step.ask['name']} fits without {step.victims[-1]['name']}")


def no_victim_is_in_vain(run: QueuePlan) -> None:
    """Without any of its victims an ask does not fit."""
    for step in run.steps():
        must(bool(_lacks(run, step, [])), f"{step.ask['name']} fits without {len(step.victims)} victims")


def lowest_priority_leaves_first(run: QueuePlan) -> None:
    """Of allocations that are alike but for priority and age, the one with the lowest priority leaves."""
    gone: set[str] = set()
    for step in run.between_queues():
        mine = {str(v["name"]) for v in step.victims}
        for victim in step.victims:
            for other in run.allocations.values():
                stays = str(other["name"]) not in mine | gone
                alike = run.pool(other) == run.pool(victim) and all(
                    other.get(cell, default) == victim.get(cell, default)
                    for cell, default in (
                        ("node", None),
                        ("resources", {}),
                        ("preemptible", True),
                        ("originator", False),
                        ("required_node", None),
                        ("state", "running"),
                    )
                )
                lower = run.priority(other) < run.priority(victim)
                must(not (stays and alike and lower), f"{victim['name']} leaves and {other['name']} stays")
        gone |= mine


LAWS: dict[str, Callable[[QueuePlan], None]] = {
    law.__name__: law
    for law in (
        guarantees_are_kept,
        applications_spare_themselves,
        asks_are_owed,
        givers_were_above_their_guarantee,
        priorities_are_kept,
        disabled_queues_do_not_ask,
        asks_fit_afterwards,
        no_victim_is_in_vain,
        last_victim_is_needed,
        lowest_priority_leaves_first,
    )
}

#: Switch of YuniKorn's settings to the law that it breaks.
BROKEN_BY: Mapping[str, Callable[[QueuePlan], None]] = {
    "gives_below_guarantee": guarantees_are_kept,
    "ancestors_by_path_text": givers_were_above_their_guarantee,
    "unguaranteed_types_open": asks_are_owed,
    "common_ancestors_lift_ask": priorities_are_kept,
    "disabled_queues_preempt": disabled_queues_do_not_ask,
    "stops_at_any_type": asks_fit_afterwards,
    "newest_before_lowest_priority": lowest_priority_leaves_first,
    "ignores_free_room": partial(last_victim_is_needed, reason="below_guarantee"),
    "required_node_ignores_free_room": partial(last_victim_is_needed, reason="for_required_node"),
}


def check_queue_plan(snapshot: Mapping[str, Any], plan: Mapping[str, Any], settings: Any) -> None:
    """Hold a plan of YuniKorn to all laws.

    Parameters
    ----------
    snapshot, plan : mapping
        As ``to_dict()`` returns them.
    settings : YuniKornSettings
        Without the defects that break a law.

    Raises
    ------
    AssertionError
        A law does not hold; the message begins with its name.
    """
    hold_all(LAWS.values(), QueuePlan(snapshot, plan, settings))
