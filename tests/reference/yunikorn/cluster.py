"""Pools, nodes, allocations and asks of a snapshot, for the seed's design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tests.reference.yunikorn.world import inherited, properties_of

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Amounts", "Application", "Ask", "Cluster", "Pool", "Running", "plus", "read_cluster"]

Amounts = dict[str, Fraction]
_NONE = Fraction(0)


def plus(left: Mapping[str, Fraction], right: Mapping[str, Fraction], sign: int = 1) -> Amounts:
    """Add, or subtract."""
    return {r: left.get(r, _NONE) + sign * right.get(r, _NONE) for r in {**left, **right}}


@dataclass(eq=False)
class Application:
    """An operation: what it runs and what it waits for."""

    name: str
    pool: Pool
    submitted: float
    priority: float


@dataclass(eq=False)
class Running:
    """An allocation."""

    name: str
    row: int
    app: Application
    node: str
    amounts: Amounts
    started: float
    priority: float
    state: str
    opted_out: bool
    originator: bool
    required_node: bool
    beneficiary: str | None


@dataclass(eq=False)
class Ask:
    """A request, of which `left` units wait."""

    name: str
    row: int
    app: Application
    amounts: Amounts
    submitted: float
    priority: float
    left: int
    tags: frozenset[str]
    node: str | None
    may_preempt: bool


@dataclass(eq=False)
class Pool:
    """A queue; its usage is what runs, what leaves (also part of it) and what this plan has placed."""

    name: str
    row: int
    parent: Pool | None
    weight: Fraction
    guarantee: Amounts
    limits: Amounts
    children: list[Pool] = field(default_factory=list)
    apps: list[Application] = field(default_factory=list)
    used: Amounts = field(default_factory=dict)
    leaving: Amounts = field(default_factory=dict)
    pending: Amounts = field(default_factory=dict)
    ideal: Amounts = field(default_factory=dict)
    policy: str = "default"

    def wants(self, resource: str) -> Fraction:
        """Return what it can take of a resource: what it has and asks for, or its children can."""
        own = self.stays.get(resource, _NONE) + self.pending.get(resource, _NONE)
        below = sum((child.wants(resource) for child in self.children), _NONE)
        most = below + self.own.get(resource, _NONE) if self.children else own
        return max(_NONE, min(most, self.limits.get(resource, most)))

    @property
    def own(self) -> Amounts:
        """What its own applications have and ask for, beside those of its children."""
        found = plus(self.stays, self.pending)
        for child in self.children:
            found = plus(found, plus(child.stays, child.pending), -1)
        return found

    def infer(self) -> None:
        """Give every pool below the figures that it has not: what its children are guaranteed."""
        for child in self.children:
            child.infer()
        if self.parent is None or not self.children:
            return
        own = self.guarantee if any(self.guarantee.values()) else {}
        sums: Amounts = {}
        for child in self.children:
            sums = plus(sums, child.guarantee)
        self.guarantee = {r: min(v, self.limits.get(r, v)) for r, v in sums.items()} | own

    def fence(self) -> Pool:
        """Return the pool below which its applications take victims."""
        return next(pool for pool in self.path() if pool.parent is None or pool.policy == "fence")

    def path(self) -> Iterator[Pool]:
        """Yield the queue and all above it."""
        pool: Pool | None = self
        while pool is not None:
            yield pool
            pool = pool.parent

    @property
    def stays(self) -> Amounts:
        """Usage without what leaves."""
        return plus(self.used, self.leaving, -1)

    @property
    def floor(self) -> Amounts:
        """What nobody takes it below."""
        kept = {**self.guarantee, **self.ideal}
        return {r: max(self.guarantee.get(r, _NONE), self.ideal.get(r, _NONE)) for r in kept}


@dataclass
class Cluster:
    """A partition."""

    now: float
    total: Amounts
    root: Pool
    nodes: list[str]
    tags: dict[str, frozenset[str]]
    schedulable: dict[str, bool]
    free: dict[str, Amounts]
    running: list[Running]
    asks: list[Ask]

    def pools(self) -> Iterator[Pool]:
        """Yield all pools, those above first."""
        waiting = [self.root]
        while waiting:
            pool = waiting.pop(0)
            yield pool
            waiting += pool.children

    def count(self, pool: Pool, what: str, amounts: Amounts, sign: int = 1) -> None:
        """Count amounts in a quantity of a pool and of all above it."""
        for above in pool.path():
            setattr(above, what, plus(getattr(above, what), amounts, sign))


def _exact(amounts: Mapping[str, Any] | None) -> Amounts:
    return {resource: Fraction(str(value)) for resource, value in (amounts or {}).items()}


def _pools(data: Mapping[str, Any], total: Amounts) -> tuple[Pool, dict[str, Pool]]:
    top = data.get("root") or {}
    root = Pool(
        "<Root>", -1, None, Fraction(1), _exact(top.get("strong_guarantee")), _exact(top.get("limits"))
    )
    root.ideal = {r: min(v, root.limits.get(r, v)) for r, v in total.items()}
    rows = data.get("pools", ())
    rows_by = {str(row["name"]): row for row in rows}
    found = {
        str(row["name"]): Pool(
            str(row["name"]),
            place,
            None,
            Fraction(str(row.get("weight", 1))),
            _exact(row.get("strong_guarantee")),
            _exact(row.get("limits")),
        )
        for place, row in enumerate(rows)
    }
    for row in rows:
        pool = found[str(row["name"])]
        pool.parent = root if row.get("parent") is None else found[str(row["parent"])]
        pool.parent.children.append(pool)
    texts: dict[Pool, dict[str, str]] = {}
    waiting = [root]
    while waiting:
        above = waiting.pop()
        for pool in above.children:
            own = rows_by[pool.name].get("settings", {}).get("properties") or {}
            texts[pool] = inherited(texts.get(above, {}), own)
            pool.policy = properties_of(texts[pool])["preemption.policy"]
            waiting.append(pool)
    root.infer()
    return root, found


def read_cluster(snapshot: Snapshot) -> Cluster:
    """Read a snapshot.

    Parameters
    ----------
    snapshot : Snapshot

    Returns
    -------
    Cluster
    """
    data = snapshot.to_dict()
    nodes = {str(row["name"]): row for row in data.get("nodes", ())}
    free = {name: _exact(row.get("capacity")) for name, row in nodes.items()}
    schedulable = {name: row.get("schedulable", True) for name, row in nodes.items()}
    total: Amounts = {}
    for name, capacity in free.items():
        total = plus(total, capacity) if schedulable[name] else total
    total = {**total, **_exact(data.get("total"))}
    root, pools = _pools(data, total)
    apps = {}
    for row in data.get("operations", ()):
        pool = root if row.get("pool") is None else pools[str(row["pool"])]
        app = Application(
            str(row["name"]), pool, row.get("start_time", 0.0), float(row.get("priority") or 0.0)
        )
        apps[app.name] = app
        pool.apps.append(app)
    found = Cluster(
        data.get("now", 0.0),
        total,
        root,
        list(nodes),
        {name: frozenset(row.get("tags", ())) for name, row in nodes.items()},
        schedulable,
        free,
        [],
        [],
    )
    owners = {str(q["name"]): q for q in data.get("requests", ())}
    for place, row in enumerate(data.get("allocations", ())):
        app = apps[str(row["operation"])]
        whose = (row.get("beneficiary") or {}).get("request")
        running = Running(
            str(row["name"]),
            place,
            app,
            str(row.get("node")),
            _exact(row.get("resources")),
            row.get("start_time", 0.0),
            float(app.priority if row.get("priority") is None else row["priority"]),
            row.get("state", "running"),
            not row.get("preemptible", True),
            row.get("originator", False),
            row.get("required_node") is not None,
            None if whose is None or str(whose) not in owners else str(whose),
        )
        if running.state == "preempted":
            running.amounts = _exact(row.get("held"))
        found.running.append(running)
        found.count(app.pool, "used", running.amounts)
        if running.state == "preempting":
            found.count(app.pool, "leaving", running.amounts)
        if running.node in free:
            free[running.node] = plus(free[running.node], running.amounts, -1)
    for place, row in enumerate(data.get("requests", ())):
        app = apps[str(row["operation"])]
        ask = Ask(
            str(row["name"]),
            place,
            app,
            _exact(row.get("resources")),
            row.get("submit_time", 0.0),
            float(app.priority if row.get("priority") is None else row["priority"]),
            row.get("count", 1),
            frozenset(row.get("node_tags", ())),
            None if row.get("required_node") is None else str(row["required_node"]),
            row.get("settings", {}).get("allow_preempt_other", True) and app.pool.policy != "disabled",
        )
        found.asks.append(ask)
        for _ in range(ask.left):
            found.count(app.pool, "pending", ask.amounts)
    return found
