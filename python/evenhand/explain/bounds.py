"""What made a fair share this number: demand, a limit, a guarantee, weights, an order, or a gang."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.arguments import looked_up
from evenhand.explain.explanation import Explanation, claims
from evenhand.explain.facts import listed, name_of
from evenhand.table import Table
from evenhand.units.text import amount, number, percent

if TYPE_CHECKING:
    from evenhand.shares import Shares

__all__ = ["CAUSES", "element", "why"]

#: What can make a fair share the number that it is, by code.
CAUSES = {
    "demand": "It has all that it wants.",
    "limit": "Its own limit, or that of the root.",
    "child_limit": "All below it have what they want, or as much as their limits allow.",
    "gang": "A gang takes all that it wants or nothing, and there was not enough.",
    "order": "Its pool serves operations one after the other.",
    "guarantee": "It has its guarantee, and its pool could pass on nothing beyond guarantees.",
    "weight": "Beyond its guarantee it grew as its siblings did, by weights, until there was no more.",
    "pool": "It has all that its pool could pass on.",
}
_NAMED = 3
_FIFO = 1


class Step(NamedTuple):
    """What made the share of one element of the path."""

    element: str | int
    kind: str
    cause: str
    resource: str
    numbers: dict[str, Any]


def element(shares: Shares, name: str | int, kind: str | None) -> Table:
    """Return what one element has, a row a resource; see `Shares.element`."""
    row = _row(shares, name, kind)
    parent, total = shares.parents[row], shares.snapshot.total
    columns: dict[str, Any] = {"resource": list(shares.resources), "total": list(total.values())}
    for quantity in (
        *("fair_share", "fair_share.strong_guarantee", "fair_share.integral_guarantee"),
        *("fair_share.weight_proportional", "usage_share", "demand_share", "limits_share"),
        "strong_guarantee_share",
    ):
        columns[quantity.removeprefix("fair_share.")] = shares[quantity][row]
    under = "" if parent is None else f" of {name_of(parent)}"
    return Table(columns, title=f"{name_of(shares.names[row])}: {shares.kinds[row]}{under}")


def why(shares: Shares, name: str | int, kind: str | None) -> Explanation:
    """Say what made the share of an element; see `Shares.why`."""
    row = _row(shares, name, kind)
    bounds = _Bounds(shares)
    path = [row]
    while path[0] > 0:
        path.insert(0, bounds.parent[path[0]])
    steps = [bounds.step(one) for one in path]
    shown = [len(steps) - 1]
    while shown[0] > 0 and steps[shown[0]].cause in ("pool", "weight", "guarantee", "order", "gang"):
        shown.insert(0, shown[0] - 1)
    said = [_sentence(steps[i], None if i == 0 else steps[i - 1]) for i in reversed(shown)]
    deciding = next(step for step in reversed(steps) if step.cause != "pool")
    numbers = {
        **steps[-1].numbers,
        "resource": steps[-1].resource,
        "decides": deciding.element,
        "path": [step._asdict() for step in steps],
    }
    return Explanation(
        shares.names[row], f"{steps[-1].kind}s", deciding.cause, claims(deciding.cause, said, {}), numbers
    )


def _row(shares: Shares, name: str | int, kind: str | None) -> int:
    rows = {
        str(own): row
        for row, (own, its) in reversed([*enumerate(zip(shares.names, shares.kinds, strict=True))])
        if kind in (None, its)
    }
    return int(looked_up(rows, str(name), kind or "pool or operation"))


class _Bounds:
    """Causes of all elements, looked at as they are asked for; O(elements × resources) at first."""

    def __init__(self, shares: Shares) -> None:
        self.shares, core = shares, shares.snapshot._core
        self.fair, self.demand, self.limits, self.usage = (
            shares[q] for q in ("fair_share", "demand_share", "limits_share", "usage_share")
        )
        self.guarantee = shares["strong_guarantee_share"] + shares["proposed_integral_share"]
        self.weight = np.concatenate([core.column("pools", "weight"), core.column("operations", "weight")])
        self.fifo = core.column("pools", "mode") == _FIFO
        self.gang = core.column("operations", "gang").astype(bool)
        self.parent: list[int] = shares._parent_rows().tolist()
        self.pools = shares.snapshot.pool_count
        # Shares are sums of quotients: equal means up to their rounding.
        slack = 1e-9 * np.maximum(self.demand, self.fair) + 1e-13
        lacks = self.demand - self.fair > slack
        self.met = ~lacks.any(axis=1)
        self.at_limit = (self.fair >= self.limits - slack) & (self.demand > self.limits + slack)
        beyond = self.fair - self.guarantee
        self.tight = beyond.argmax(axis=1)
        self.beyond = np.maximum(beyond.max(axis=1), 0)
        self.beyond[self.beyond <= slack.max(axis=1)] = 0

    @cached_property
    def children(self) -> list[list[int]]:
        """Rows below each pool, pools first."""
        found: list[list[int]] = [[] for _ in range(self.pools)]
        for row, parent in enumerate(self.parent):
            if parent >= 0:
                found[parent].append(row)
        return found

    @cached_property
    def stopped(self) -> list[bool]:
        """Whether an element would take no more if more were offered."""
        stopped = (self.met | self.at_limit.any(axis=1)).tolist()
        # Pools stand in canonical order, not parents first: the deepest are looked at first.
        for pool in sorted(range(self.pools), key=self._depth, reverse=True):
            stopped[pool] = stopped[pool] or all(stopped[child] for child in self.children[pool])
        return stopped

    def _depth(self, pool: int) -> int:
        depth = 0
        while (pool := self.parent[pool]) >= 0:
            depth += 1
        return depth

    def _whole(self, row: int) -> bool:
        """Whether there is a gang that takes all or nothing and has not all."""
        settings = self.shares.settings
        if row >= self.pools:
            allowed = settings.step_function_for_gang or settings.fifo_truncation
            return allowed and bool(self.gang[row - self.pools]) and not self.met[row]
        return any(self._whole(child) for child in self.children[row])

    def step(self, row: int) -> Step:
        """Return what made the share of an element."""
        cause, resource, more = self._cause(row)
        names, of = self.shares.names, self.shares.snapshot.total
        word = self.shares.resources[resource]
        numbers = {
            "fair_share": float(self.fair[row, resource]),
            "demand": float(self.demand[row, resource]),
            "limit": float(self.limits[row, resource]),
            "guarantee": float(self.guarantee[row, resource]),
            "total": of[word],
            "unit": self.shares.snapshot.units[word],
            **more,
        }
        kind = "pool" if row < self.pools else "operation"
        return Step(names[row], kind, cause, word, numbers)

    def _cause(self, row: int) -> tuple[str, int, dict[str, Any]]:
        """Return the cause, the resource that decided, and what belongs to it."""
        lacking = self.demand[row] - self.fair[row]
        if self.met[row]:
            return "demand", int(self.demand[row].argmax()), {}
        if self.at_limit[row].any():
            return "limit", int(np.where(self.at_limit[row], lacking, -1).argmax()), {}
        worst = int(lacking.argmax())
        if self.stopped[row]:
            return "child_limit", worst, {"limited": self._limited(row, worst)}
        if row >= self.pools and self._whole(row):
            return "gang", worst, {}
        parent = self.parent[row]
        if parent < 0:  # all of the cluster that could be given is given, but for what a gang leaves
            return "gang", worst, {}
        if self.fifo[parent]:
            return "order", worst, {}
        tight = int(self.tight[row])
        others = [c for c in self.children[parent] if c != row and not self.stopped[c]]
        level = self.beyond / self.weight
        if any(level[c] > level[row] * (1 + 1e-6) for c in others) and self._whole(row):
            return "gang", worst, {}
        if not others:
            return "pool", worst, {}
        if not self.beyond[row]:
            return "guarantee", worst, {}
        names = [self.shares.names[c] for c in others]
        level_here = float(level[row])
        siblings = {"siblings": names, "weights": [float(self.weight[c]) for c in others]}
        return "weight", tight, {"weight": float(self.weight[row]), "level": level_here, **siblings}

    def _limited(self, row: int, resource: int) -> list[dict[str, Any]]:
        """Return what is limited below a pool, the one that lacks most first."""
        found, open_rows = [], [*self.children[row]]
        while open_rows:
            child = open_rows.pop()
            if self.at_limit[child].any():
                lacking = np.where(self.at_limit[child], self.demand[child] - self.fair[child], -1)
                of = resource if self.at_limit[child, resource] else int(lacking.argmax())
                found.append((float(self.demand[child, resource] - self.fair[child, resource]), child, of))
            elif not self.met[child]:
                open_rows += self.children[child]
        found.sort(key=lambda entry: (-entry[0], entry[1]))
        return [
            {
                "element": self.shares.names[child],
                "child": self.parent[child] == row,
                "kind": "pool" if child < self.pools else "operation",
                "limit": float(self.limits[child, of]),
                "resource": self.shares.resources[of],
                "lacks": lacks,
            }
            for lacks, child, of in found
        ]


def _has(step: Step) -> str:
    fair, wants = step.numbers["fair_share"], step.numbers["demand"]
    beside = [] if step.cause == "demand" else [fair, wants]

    def of_all(share: float) -> str:
        # Products of shares have more digits than what they stand for.
        held, others = (float(f"{s * step.numbers['total']:.12g}") for s in (share, fair + wants - share))
        of = amount(held, step.resource, step.numbers["unit"], beside=[others] if beside else [])
        return f"{percent(share, beside)} ({of})"

    if step.cause == "demand":
        return f"{name_of(step.element)} has all that it wants: {of_all(fair)}"
    return f"{name_of(step.element)} has {of_all(fair)} of the {of_all(wants)} that it wants"


def _sentence(step: Step, above: Step | None) -> str:
    """Say what made a share; `above` is the step of the pool."""
    n, pool = step.numbers, "" if above is None else name_of(above.element)
    resource = name_of(step.resource)
    match step.cause:
        case "demand":
            return f"{_has(step)}."
        case "limit" if n["limit"] >= 1:
            return f"{_has(step)}: there is no more {resource} in the cluster."
        case "limit":
            return f"{_has(step)}, because it is limited to {percent(n['limit'])}."
        case "child_limit":
            return f"{_has(step)}, because {_limits(step)}."
        case "gang":
            return f"{_has(step)}: a gang gets all that it wants or nothing, and that much was not left."
        case "order":
            return f"{_has(step)}: {pool} serves operations in order, and those before it come first."
        case "guarantee":
            own = f"its guarantee is {percent(n['guarantee'])}" if n["guarantee"] else "it has no guarantee"
            return f"{_has(step)}: {own}, and {pool} had nothing to pass on beyond guarantees."
        case "pool":
            return f"{_has(step)}: all that {pool} could pass on, and no other child of it takes more."
    ours = sum(n["weights"]) + n["weight"]
    mine, together = number(n["weight"], [ours]), number(ours, [n["weight"]])
    by = f"{percent(n['level'] * n['weight'])} by its weight, {mine} of {together}"
    own = f"{percent(n['guarantee'])} by guarantee and " if n["guarantee"] else ""
    want = "wants" if len(n["siblings"]) == 1 else "want"
    return f"{_has(step)}: {own}{by} with {listed(n['siblings'])}, which {want} more of {pool} too."


def _limits(step: Step) -> str:
    """Name what is limited below a pool."""
    limited = step.numbers["limited"]
    parts = []
    for one in limited[:_NAMED]:
        what = "its child " if one["child"] else ""
        of = "" if one["resource"] == step.resource else f" of {name_of(one['resource'])}"
        parts.append(f"{what}{name_of(one['element'])} is limited to {percent(one['limit'])}{of}")
    more = f" and {len(limited) - _NAMED} more below it are limited" if len(limited) > _NAMED else ""
    return ", ".join(parts) + more
