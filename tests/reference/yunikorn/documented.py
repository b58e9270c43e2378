"""The seed's design: allocation and preemption cycles, one routine for both.

Where the text leaves a choice, what is pinned is followed; what is pinned nowhere is chosen here and marked
"chosen".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tests.reference.yunikorn.cluster import Amounts, Ask, Cluster, Pool, Running, plus, read_cluster

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Rules", "ideal_shares", "reference_plan"]

_NONE = Fraction(0)
_LONGEST_WAIT = 1200  # an hour of cycles, one every three seconds

#: Columns by which victims are ordered, cheapest first.
_COLUMNS = {
    "opted_out": lambda a, now: a.opted_out,
    "originator": lambda a, now: a.originator,
    "priority": lambda a, now: a.priority,
    "live_time": lambda a, now: now - a.started,
}
_COSTS = {
    "default": ("opted_out", "originator", "priority", "live_time"),
    "live_time": ("live_time",),
    "priority": ("priority",),
    "kind": ("opted_out", "originator"),
}


@dataclass(frozen=True)
class Rules:
    """Settings of the preset."""

    n_alloc: int = 100
    ask_candidates: int = 100
    limit: float | Mapping[str, float] | None = 0.1
    policies: Sequence[str] = ("inter_queue", "intra_queue")
    cost: str = "default"
    grace: float = 0.0
    mode: str = "sniper"
    dead_zone: float = 0.0

    def key(self, a: Running, now: float) -> tuple[Any, ...]:
        """Return the cost of a victim."""
        return tuple(_COLUMNS[column](a, now) for column in _COSTS[self.cost])


@dataclass
class Result:
    """An ask that got room."""

    ask: Ask
    node: str
    victims: list[Running]


def ideal_shares(root: Pool) -> None:
    """Write the ideal share of every pool: its guarantee first, the rest by weight, at most what it wants.

    Wanted are usage that stays and what waits, at most the limit, of a pool with children what they want.
    Guarantees that are too large together are met in proportion (chosen).
    """
    for child in root.children:
        child.ideal = {}
    for resource, amount in root.ideal.items():
        most = {child: child.wants(resource) for child in root.children}
        first = {c: min(c.guarantee.get(resource, _NONE), most[c]) for c in root.children}
        promised = sum(first.values(), _NONE)
        if promised > amount:
            first = {c: share * amount / promised for c, share in first.items()}
        rest = amount - sum(first.values(), _NONE)
        open_to = [c for c in root.children if first[c] < most[c] and c.weight > 0]
        while rest > 0 and open_to:
            weights = sum((c.weight for c in open_to), _NONE)
            full = [c for c in open_to if first[c] + rest * c.weight / weights >= most[c]]
            for c in full or open_to:
                part = rest * c.weight / weights
                first[c] = most[c] if full else first[c] + part
            rest = amount - sum(first.values(), _NONE) if full else _NONE
            open_to = [c for c in open_to if c not in full]
        for child in root.children:
            child.ideal[resource] = first[child]
    for child in root.children:
        ideal_shares(child)


@dataclass
class Cycle:
    """A cycle under way."""

    cluster: Cluster
    rules: Rules
    missed: dict[str, tuple[int, int]]
    results: list[Result] = field(default_factory=list)
    shot: list[Running] = field(default_factory=list)
    noted: set[str] = field(default_factory=set)

    # -- who asks -------------------------------------------------------------------------------------

    def share(self, pool: Pool, *, preemption: bool) -> Fraction:
        """Return the dominant share of a queue over its guarantee, over the cluster where it has none."""
        used = pool.stays if preemption else pool.used
        found = _NONE
        for resource, amount in used.items():
            of = pool.guarantee.get(resource, _NONE) or self.cluster.total.get(resource, _NONE)
            if amount > 0:
                found = max(found, amount / of if of > 0 else Fraction(1))
        return found

    def leaves(self, pool: Pool, *, preemption: bool) -> list[Pool]:
        """Return queues with applications in the order in which they are asked."""
        below = sorted(pool.children, key=lambda c: (self.share(c, preemption=preemption), c.row))
        own = [pool] if pool.apps else []
        return own + [leaf for child in below for leaf in self.leaves(child, preemption=preemption)]

    def asks_of(self, leaf: Pool) -> list[Ask]:
        """Return what waits in a queue: applications by their highest priority, then by submission."""
        waiting = [ask for ask in self.cluster.asks if ask.app.pool is leaf and ask.left > 0]
        highest: dict[str, float] = {}
        for ask in waiting:
            highest[ask.app.name] = max(ask.priority, highest.get(ask.app.name, ask.priority))
        place = {app.name: row for row, app in enumerate(leaf.apps)}

        def rank(ask: Ask) -> tuple[Any, ...]:
            name = ask.app.name
            own = (-ask.priority, ask.submitted, ask.row)
            return (-highest[name], ask.app.submitted, place[name], *own)

        return sorted(waiting, key=rank)

    def find(self, count: int, *, policy: str | None, mask: set[str]) -> list[Ask]:
        """Return at most so many asks, queue by queue; each unit of a request is one."""
        found: list[Ask] = []
        for leaf in self.leaves(self.cluster.root, preemption=policy is not None):
            for ask in self.asks_of(leaf):
                waits = policy is None and self.missed.get(ask.name, (0, 0))[1] > 0
                if ask.name in mask or waits or not self.may_ask(ask, policy):
                    continue
                found += [ask] * min(ask.left, count - len(found))
        return found

    def may_ask(self, ask: Ask, policy: str | None) -> bool:
        """Whether its queue is entitled to more, by the policy's word."""
        if policy is None:
            return True
        pool = ask.app.pool
        wanted = [r for r, amount in ask.amounts.items() if amount > 0]
        have = {r: pool.stays.get(r, _NONE) for r in wanted}
        if policy == "inter_queue":
            return any(have[r] < pool.ideal.get(r, _NONE) for r in wanted)
        return all(have[r] <= pool.ideal.get(r, _NONE) for r in wanted)

    # -- who gives ------------------------------------------------------------------------------------

    def may_give(self, a: Running, ask: Ask, policy: str | None) -> bool:
        """Whether an allocation is a candidate for an ask."""
        if policy is None or a.state != "running" or a.required_node or not ask.may_preempt:
            return False
        if a.app.pool.policy == "disabled":
            return False
        if not any(a.amounts.get(r, _NONE) > 0 for r, v in ask.amounts.items() if v > 0):
            return False
        if policy == "inter_queue":
            return a.app.pool is not ask.app.pool and ask.app.pool.fence() in a.app.pool.path()
        return a.app.pool is ask.app.pool and a.app is not ask.app and a.priority < ask.priority

    def floors_hold(self, victims: Sequence[Running], ask: Ask | None) -> bool:
        """Whether all that give stay above guarantee and ideal share.

        Those that the asker is in stay above their guarantee, with the ask in the place of what leaves.
        """
        above = {self.cluster.root} if ask is None else set(ask.app.pool.path())
        slack = 1 + Fraction(str(self.rules.dead_zone))
        for pool in {pool for a in victims for pool in a.app.pool.path()}:
            given: Amounts = {}
            for a in victims:
                if pool in a.app.pool.path():
                    given = plus(given, a.amounts)
            given = {r: v for r, v in given.items() if v > 0}
            stays, left = pool.stays, plus(pool.stays, given, -1)
            if pool in above:
                left = left if ask is None else plus(left, ask.amounts)
                owed = {} if pool.parent is None else pool.guarantee
                if any(left[r] < min(stays[r], owed.get(r, _NONE)) for r in given):
                    return False
                continue
            if any(left[r] < pool.floor.get(r, _NONE) for r in given):
                return False
            if slack > 1 and any(stays[r] <= slack * pool.guarantee.get(r, _NONE) for r in given):
                return False
        return True

    def leaving_for(self, ask: Ask) -> list[Running]:
        """Return what leaves for an ask since an earlier plan."""
        return [a for a in self.cluster.running if a.state == "preempting" and a.beneficiary == ask.name]

    def lacking(self, ask: Ask, node: str, victims: Sequence[Running]) -> list[tuple[Pool | None, str]]:
        """Return what an ask lacks on a node, and below the limits of queues, when victims have gone."""
        gone = [*victims, *self.leaving_for(ask)]
        wanted = {r: v for r, v in ask.amounts.items() if v > 0}
        free = self.cluster.free[node]
        for a in gone:
            if a.node == node:
                free = plus(free, a.amounts)
        found: list[tuple[Pool | None, str]] = [
            (None, r) for r, v in wanted.items() if v > free.get(r, _NONE)
        ]
        for pool in ask.app.pool.path():
            used = plus(pool.used, ask.amounts)
            for a in gone:
                if pool in a.app.pool.path():
                    used = plus(used, a.amounts, -1)
            found += [(pool, r) for r, most in pool.limits.items() if r in wanted and used[r] > most]
        return found

    def victims_on(self, ask: Ask, node: str, policy: str | None) -> list[Running] | None:
        """Return who must leave a node: in the order of cost until it fits, then given back from the end."""
        there = [a for a in self.cluster.running if a.node == node and self.may_give(a, ask, policy)]
        there.sort(key=lambda a: self.cost(a))
        taken: list[Running] = []
        for a in there:
            lacks = self.lacking(ask, node, taken)
            if not lacks:
                break
            helps = any(
                a.amounts.get(r, _NONE) > 0 and (pool is None or pool in a.app.pool.path())
                for pool, r in lacks
            )
            if helps and self.floors_hold([*taken, a], ask):
                taken.append(a)
        if self.lacking(ask, node, taken):
            return None
        for a in reversed(taken[:]):
            rest = [b for b in taken if b is not a]
            if not self.lacking(ask, node, rest):
                taken = rest
        return taken

    def cost(self, a: Running) -> tuple[Any, ...]:
        """Return what makes a victim dear; canonical order counts last."""
        return (*self.rules.key(a, self.cluster.now), a.row)

    def place(self, ask: Ask, policy: str | None) -> Result | None:
        """Return where an ask goes: fewest victims, least cost of all of them together, canonical order."""
        best: tuple[Any, ...] | None = None
        found = None
        for place, node in enumerate(self.cluster.nodes):
            open_to = self.cluster.schedulable[node] and ask.tags <= self.cluster.tags[node]
            if not open_to or ask.node not in (None, node):
                continue
            victims = self.victims_on(ask, node, policy)
            if victims is None:
                continue
            keys = [self.rules.key(a, self.cluster.now) for a in victims]
            rank = (len(victims), [sum(column) for column in zip(*keys, strict=True)], place)
            if best is None or rank < best:
                best, found = rank, Result(ask, node, victims)
        return found

    def carry_out(self, result: Result) -> None:
        """Count a result before the next ask is looked at.

        The ask takes the room of its victims first; what they leave beyond it is nobody's yet.
        """
        ask, cluster = result.ask, self.cluster
        ask.left -= 1
        cluster.count(ask.app.pool, "used", ask.amounts)
        cluster.count(ask.app.pool, "pending", ask.amounts, -1)
        rest = ask.amounts
        for a in [*result.victims, *self.leaving_for(ask)]:
            rest = plus(rest, a.amounts, -1) if a.node == result.node else rest
            a.beneficiary = None
        rest = {r: max(_NONE, amount) for r, amount in rest.items()}
        cluster.free[result.node] = plus(cluster.free[result.node], rest, -1)
        for a in result.victims:
            a.state = "taken"
            cluster.count(a.app.pool, "leaving", a.amounts)
        self.results.append(result)

    def note(self, served: Sequence[str], failed: Sequence[str]) -> None:
        """Update missed opportunities; a failure counts once in a cycle."""
        for name in served:
            self.missed.pop(name, None)
            self.noted.discard(name)
        for name in [name for name in failed if name not in self.noted]:
            self.noted.add(name)
            count = self.missed.get(name, (0, 0))[0] + 1
            self.missed[name] = (count, min(_LONGEST_WAIT, 2**count))

    # -- the cycles -----------------------------------------------------------------------------------

    def allocate(self) -> None:
        """Run an allocation cycle."""
        left = self.rules.n_alloc
        mask: set[str] = set()
        while left > 0:
            asks = self.find(left, policy=None, mask=mask)
            served: list[str] = []
            failed: list[str] = []
            for ask in asks:
                result = None if ask.name in failed else self.place(ask, None)
                if result is not None:
                    self.carry_out(result)
                    served.append(ask.name)
                elif ask.name not in failed:
                    failed.append(ask.name)
            self.note(served, failed)
            mask |= set(failed)
            left -= len(served)
            if not served:
                return

    def within(self, total: Amounts) -> bool:
        """Whether the pace lets one more ask be looked at."""
        limit = self.rules.limit
        if limit is None:
            return True
        if not isinstance(limit, Mapping):
            most = {r: Fraction(str(limit)) * v for r, v in self.cluster.total.items() if v > 0}
        else:
            most = {r: Fraction(str(v)) for r, v in limit.items()}
        return all(total.get(r, _NONE) < v for r, v in most.items())

    def preempt(self) -> None:
        """Run a preemption cycle: each policy in turn."""
        for policy in self.rules.policies:
            ideal_shares(self.cluster.root)
            if self.rules.mode == "shotgun":
                self.shoot(policy)
                continue
            total: Amounts = {}
            mask: set[str] = set()
            while self.within(total):
                asks = self.find(self.rules.ask_candidates, policy=policy, mask=mask)
                if not asks:
                    break
                served: list[str] = []
                for ask in asks:
                    if not self.within(total):
                        break
                    if ask.name in mask or not self.may_ask(ask, policy):
                        continue
                    result = self.place(ask, policy)
                    if result is None:
                        mask.add(ask.name)
                        self.note((), [ask.name])
                        continue
                    self.carry_out(result)
                    total = plus(total, ask.amounts)
                    self.note([ask.name], ())
                    served.append(ask.name)

    def shoot(self, policy: str) -> None:
        """Name victims by the surplus of queues alone, until nothing that they have is claimed (chosen)."""
        if policy != "inter_queue":
            return
        claims: Amounts = {}
        for pool in self.cluster.pools():
            may = [a for a in self.cluster.asks if a.app.pool is pool and a.left > 0 and a.may_preempt]
            if pool.fence().parent is None and may:
                lacks = {r: max(_NONE, v) for r, v in plus(pool.ideal, pool.stays, -1).items()}
                claims = plus(claims, lacks)
        total: Amounts = {}
        order = sorted(
            (a for a in self.cluster.running if a.state == "running" and not a.required_node),
            key=lambda a: self.cost(a),
        )
        for a in order:
            if not self.within(total):
                break
            open_claims = plus(claims, total, -1)
            useful = any(v > 0 and open_claims.get(r, _NONE) > 0 for r, v in a.amounts.items())
            if not useful or a.app.pool.policy == "disabled" or not self.floors_hold([a], None):
                continue
            total = plus(total, a.amounts)
            a.state = "taken"
            self.cluster.count(a.app.pool, "leaving", a.amounts)
            self.shot.append(a)


def reference_plan(
    snapshot: Snapshot,
    rules: Rules | None = None,
    cycle: str = "preemption",
    missed: Mapping[str, tuple[int, int]] | None = None,
) -> dict[str, Any]:
    """Plan one cycle by the seed's design, slowly.

    Parameters
    ----------
    snapshot : Snapshot
    rules : Rules, optional
    cycle : {"preemption", "allocation"}
    missed : mapping, optional
        Request to missed opportunities in a row and allocation cycles that it still waits.

    Returns
    -------
    dict
        ``starts`` (request, node, number of victims), ``victims`` with their beneficiary, ``missed``.
    """
    run = Cycle(read_cluster(snapshot), rules or Rules(), dict(missed or {}))
    if cycle == "allocation":
        waits = {name: (count, wait) for name, (count, wait) in run.missed.items()}
        run.allocate()
        run.missed = {
            name: (count, wait - 1) if waits.get(name) == (count, wait) and wait > 0 else (count, wait)
            for name, (count, wait) in run.missed.items()
        }
    else:
        run.preempt()
    return {
        "starts": [{"request": r.ask.name, "node": r.node, "victims": len(r.victims)} for r in run.results],
        "victims": [
            {"allocation": a.name, "request": r.ask.name, "node": r.node}
            for r in run.results
            for a in r.victims
        ]
        + [{"allocation": a.name, "request": None, "node": a.node} for a in run.shot],
        "missed": run.missed,
    }
