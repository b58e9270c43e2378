"""Slow, readable references of the fair share rules of `evenhand.history`, in exact fractions.

Each function follows the published description; powers of two are the only roundings. A tree is a mapping of
name → `Row`; results are mappings of name → number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Row", "classic", "decayed", "factor", "fair_tree", "normalised_usage", "share_tree"]

INFINITE = math.inf


@dataclass(frozen=True)
class Row:
    """One account, project or user.

    Attributes
    ----------
    parent : str or None
        None: below the root.
    shares : Fraction or None
        None: FairShare=parent.
    usage : Fraction
        Own usage.
    user : bool
        Not an account.
    active : bool
        Has jobs.
    """

    parent: str | None
    shares: Fraction | None = Fraction(1)
    usage: Fraction = Fraction(0)
    user: bool = False
    active: bool = True


Tree = Mapping[str, Row]


def children(tree: Tree, parent: str | None) -> list[str]:
    """Names below a row, or below the root for None."""
    return [name for name, row in tree.items() if row.parent == parent]


def usage_of(tree: Tree, name: str | None) -> Fraction:
    """Usage of a row and all below it; of the root for None."""
    own = Fraction(0) if name is None else tree[name].usage
    return own + sum((usage_of(tree, child) for child in children(tree, name)), Fraction(0))


def shares_of(tree: Tree, names: Iterable[str]) -> Fraction:
    """Sum of the shares of some rows; FairShare=parent counts nothing."""
    return sum((tree[name].shares or Fraction(0) for name in names), Fraction(0))


def ratio(a: Fraction, b: Fraction) -> Fraction:
    """Divide; nothing of nothing is nothing."""
    return a / b if b else Fraction(0)


def dissolved(tree: Tree, name: str) -> bool:
    """Whether it is an account that inherits: it is dissolved into the one above."""
    return tree[name].shares is None and not tree[name].user


def siblings(tree: Tree, parent: str | None) -> list[str]:
    """Names below a row, with those of accounts that are dissolved into it."""
    found: list[str] = []
    for child in children(tree, parent):
        found += siblings(tree, child) if dissolved(tree, child) else [child]
    return found


def account(tree: Tree, name: str) -> str | None:
    """Find the next account above a row that is not dissolved."""
    parent = tree[name].parent
    return account(tree, parent) if parent is not None and dissolved(tree, parent) else parent


def classic(tree: Tree, total: Fraction, dampening: Fraction = Fraction(1)) -> dict[str, dict[str, float]]:
    """Slurm's classic fair share: name → norm_shares, effective_usage, factor."""

    def owed(name: str | None) -> tuple[Fraction, Fraction]:
        """Normalised shares and effective usage."""
        if name is None:
            return Fraction(1), Fraction(1)
        row = tree[name]
        above = account(tree, name)
        if row.shares is None:
            return owed(above)
        part = ratio(row.shares, shares_of(tree, siblings(tree, above)))
        shares_above, usage_above = owed(above)
        actual = min(ratio(usage_of(tree, name), total), Fraction(1))
        if above is None:
            return part, actual
        return shares_above * part, actual + (usage_above - actual) * part

    result = {}
    for name in tree:
        shares, usage = owed(name)
        factor = 2.0 ** -float(usage / shares / dampening) if shares else 0.0
        result[name] = {"norm_shares": float(shares), "effective_usage": float(usage), "factor": factor}
    return result


def fair_tree(
    tree: Tree,
    *,
    merge_tied_accounts: bool = False,
    number: Callable[[Fraction], float | Fraction] = Fraction,
) -> dict[str, float]:
    """Slurm's Fair Tree: user → factor.

    `number` rounds what level fair shares are computed from; `float` gives the ties of rounded numbers.
    """

    def level(name: str) -> float | Fraction:
        row = tree[name]
        if row.shares is None:
            return INFINITE
        if not row.shares:
            return 0
        used = usage_of(tree, name)
        if not used:
            return INFINITE
        owed = number(row.shares) / number(shares_of(tree, siblings(tree, account(tree, name))))
        return owed / (number(used) / number(usage_of(tree, account(tree, name))))

    levels = {name: level(name) for name in tree if not dissolved(tree, name)}
    users = sum(row.user for row in tree.values())
    rank = shared_rank = users
    ranks: dict[str, int] = {}

    def walk(names: list[str], tied_from_above: bool) -> None:
        nonlocal rank, shared_rank
        # Highest level first, users before accounts.
        waiting = sorted(names, key=lambda name: (-levels[name], not tree[name].user))
        previous: float | Fraction | None = None
        while waiting:
            name = waiting.pop(0)
            tied = tied_from_above or levels[name] == previous
            tied_from_above, previous = False, levels[name]
            if tree[name].user:
                if not tied:
                    shared_rank = rank
                ranks[name] = shared_rank
                rank -= 1
                continue
            below = siblings(tree, name)
            while merge_tied_accounts and waiting and levels[waiting[0]] == previous:
                below += siblings(tree, waiting.pop(0))
            walk(below, tied)

    walk(siblings(tree, None), False)
    return {name: ranks[name] / users for name, row in tree.items() if row.user}


def share_tree(tree: Tree, compensation_factor: Fraction) -> dict[str, tuple[Fraction, Fraction]]:
    """Grid Engine's share tree: name → overall long-term and short-term target."""

    def has_jobs(name: str) -> bool:
        return tree[name].active or any(has_jobs(child) for child in children(tree, name))

    result = dict.fromkeys(tree, (Fraction(0), Fraction(0)))

    def divide(parent: str | None, long_term: Fraction, short_term: Fraction) -> None:
        names = [name for name in children(tree, parent) if has_jobs(name)]
        shares = {name: tree[name].shares or Fraction(0) for name in names}
        whole = sum(shares.values(), Fraction(0))
        if not whole or not long_term:
            return
        long = {name: long_term * shares[name] / whole for name in names}
        weight = {name: ratio(shares[name] ** 2, max(usage_of(tree, name), long[name])) for name in names}
        whole_weight = sum(weight.values(), Fraction(0))
        if compensation_factor:
            for name in names:
                target, bound = short_term * weight[name] / whole_weight, compensation_factor * long[name]
                if target > bound > 0:
                    weight[name] *= bound / target
            whole_weight = sum(weight.values(), Fraction(0))
        for name in names:
            result[name] = long[name], short_term * weight[name] / whole_weight
            divide(name, *result[name])

    divide(None, Fraction(1), Fraction(1))
    return result


def normalised_usage(
    usage: Mapping[str, Fraction],
    capacity: Mapping[str, Fraction],
    weights: Mapping[str, Fraction],
    lookback_days: Fraction,
) -> Fraction:
    """Backend.AI's normalised usage of one row."""
    present = [name for name in weights if capacity.get(name)]
    parts = [
        weights[name] * usage.get(name, Fraction(0)) / (capacity[name] * lookback_days * 86400)
        for name in present
    ]
    return ratio(sum(parts, Fraction(0)), sum((weights[name] for name in present), Fraction(0)))


def factor(usage: Fraction, weight: Fraction) -> float:
    """Backend.AI's factor."""
    return min(1.0, 2.0 ** float(max(Fraction(-10), min(Fraction(10), -usage / weight))))


def decayed(events: Iterable[tuple[float, float]], base: float, period: float) -> float:
    """Σ amount · base^(age / period) over (age, amount)."""
    return math.fsum(amount * base ** (age / period) for age, amount in events)
