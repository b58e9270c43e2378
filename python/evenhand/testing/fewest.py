"""Whether a set of victims is the smallest or cheapest: proofs of the search, in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from evenhand.testing._laws import must

__all__ = ["cheapest", "check_minimum", "covers", "multiplier_bound", "round_up"]

ENUMERATED = 16
"""So many candidates are also tried in all their subsets."""

Rows = Sequence[Sequence[int]]


def check_minimum(
    amounts: Rows,
    shortage: Sequence[int],
    taken: Sequence[int],
    proof: Mapping[str, Any],
    costs: Sequence[int] | None = None,
) -> str:
    """Check what a search for the fewest or cheapest victims says of its result.

    Parameters
    ----------
    amounts : sequence of sequence of int, (n, R)
        What each candidate frees, in the order in which they are wanted.
    shortage : sequence of int, (R,)
        What is missing; entries up to 0 are no shortage.
    taken : sequence of int
        Positions of the victims, ascending.
    proof : mapping
        ``cost``, ``lower_bound``, ``root_bound``, ``proved``, ``first``, ``multipliers`` (R).
    costs : sequence of int, (n,), optional
        Of each candidate, at least 1; all 1: the number of victims counts.

    Returns
    -------
    {"certified", "enumerated", "claimed", "open"}
        What it rests on that no set costs less: the multipliers alone; a trial of all subsets of at most 16
        candidates; the search's word that it was exhausted; nothing, the search ran out of its budget.

    Raises
    ------
    AssertionError
        If the victims do not cover the shortage, one of them is not needed, the multipliers prove less than
        ``root_bound``, the numbers contradict each other, or a trial of all subsets finds otherwise.

    Notes
    -----
    O(n R) fractions; 2^n sums where n is at most 16. The bound is that of linear programming duality: for
    any multipliers y of at least 0 and any cover x, the cost is at least
    y·shortage − sum of max(0, y·min(amount, shortage) − cost) over all candidates; it is a multiple of the
    greatest common divisor of the costs.
    """
    cost, least, root = (int(proof[name]) for name in ("cost", "lower_bound", "root_bound"))
    must(list(taken) == sorted(set(taken)), f"positions {list(taken)} are not ascending")
    prices = [1] * len(amounts) if costs is None else [int(c) for c in costs]
    paid = sum(prices[i] for i in taken)
    must(cost == paid, f"cost {cost} of {len(taken)} victims that cost {paid}")
    must(covers(amounts, shortage, taken), f"victims {list(taken)} do not cover {list(shortage)}")
    for spare in taken:
        others = [i for i in taken if i != spare]
        must(not covers(amounts, shortage, others), f"victim {spare} is not needed")
    proven = round_up(multiplier_bound(amounts, shortage, proof["multipliers"], prices), prices)
    must(root <= max(proven, min(cost, math.gcd(*prices))), f"multipliers prove {proven}, not {root}")
    must(root <= least <= cost, f"bounds {root}, {least} and cost {cost} are out of order")
    must(bool(proof["proved"]) == (least == cost), f"proved is {proof['proved']} with {least} of {cost}")
    must(proof["proved"] or not proof["first"], "first of the smallest, which is not proved")
    if len(amounts) <= ENUMERATED:
        best = cheapest(amounts, shortage, prices)
        if best is None:
            raise AssertionError("all candidates together do not cover the shortage")
        lowest = sum(prices[i] for i in best)
        must(least <= lowest, f"{len(best)} victims suffice, below the bound {least}: they cost {lowest}")
        must(not proof["first"] or list(best) == list(taken), f"{list(best)} is before {list(taken)}")
    if not proof["proved"]:
        return "open"
    if root == cost:
        return "certified"
    return "enumerated" if len(amounts) <= ENUMERATED else "claimed"


def covers(amounts: Rows, shortage: Sequence[int], taken: Sequence[int]) -> bool:
    """Tell whether candidates together free what is missing.

    Parameters
    ----------
    amounts : sequence of sequence of int, (n, R)
    shortage : sequence of int, (R,)
    taken : sequence of int
        Positions.

    Returns
    -------
    bool
    """
    return all(
        sum(int(amounts[i][r]) for i in taken) >= lacking for r, lacking in enumerate(map(int, shortage))
        if lacking > 0
    )  # fmt: skip


def round_up(bound: Fraction, costs: Sequence[int]) -> int:
    """Return the least sum of costs that a bound allows: a multiple of their greatest common divisor.

    Parameters
    ----------
    bound : Fraction
    costs : sequence of int, (n,)

    Returns
    -------
    int
    """
    unit = math.gcd(*costs) or 1
    return math.ceil(bound / unit) * unit


def multiplier_bound(
    amounts: Rows,
    shortage: Sequence[int],
    multipliers: Sequence[float],
    costs: Sequence[int] | None = None,
) -> Fraction:
    """Return what multipliers prove: no cover costs less.

    Parameters
    ----------
    amounts : sequence of sequence of int, (n, R)
    shortage : sequence of int, (R,)
    multipliers : sequence of float, (R,)
        Of at least 0.
    costs : sequence of int, (n,), optional
        1 each.

    Returns
    -------
    Fraction

    Raises
    ------
    AssertionError
        If a multiplier is negative or not finite.
    """
    short = [r for r, lacking in enumerate(shortage) if lacking > 0]
    y = {r: Fraction(float(multipliers[r])) for r in short}
    must(all(value >= 0 for value in y.values()), f"negative multipliers {list(multipliers)}")
    bound = sum((y[r] * int(shortage[r]) for r in short), Fraction(0))
    for i, row in enumerate(amounts):
        cost = 1 if costs is None else int(costs[i])
        price = sum((y[r] * min(int(row[r]), int(shortage[r])) for r in short), Fraction(0))
        bound -= max(Fraction(0), price - cost)
    return bound


def cheapest(
    amounts: Rows, shortage: Sequence[int], costs: Sequence[int] | None = None
) -> tuple[int, ...] | None:
    """Return the cheapest cover by trying all subsets; of those the first in order.

    Parameters
    ----------
    amounts : sequence of sequence of int, (n, R)
    shortage : sequence of int, (R,)
    costs : sequence of int, (n,), optional
        At least 1; by default 1 each, so that the cheapest is the smallest.

    Returns
    -------
    tuple of int or None
        Positions, ascending; None: all together do not cover it.

    Notes
    -----
    O(2^n R).
    """
    prices = [1] * len(amounts) if costs is None else costs
    best: tuple[int, tuple[int, ...]] | None = None
    for count in range(len(amounts) + 1):
        for taken in combinations(range(len(amounts)), count):
            found = (sum(int(prices[i]) for i in taken), taken)
            if (best is None or found < best) and covers(amounts, shortage, taken):
                best = found
        if best is not None and count + 1 > best[0]:  # each costs 1 at least
            break
    return None if best is None else best[1]
