"""Whether a set of victims is the smallest or cheapest: proofs of the search, in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from operator import index
from typing import Any, NamedTuple

from evenhand.testing._laws import must

__all__ = [
    "Verdict",
    "cheapest",
    "check_minimum",
    "covers",
    "helps",
    "multiplier_bound",
    "positions",
    "round_up",
    "whole_numbers",
]

ENUMERATED = 16
"""So many candidates are also tried in all their subsets."""

Rows = Sequence[Sequence[int]]


class Verdict(NamedTuple):
    """What it rests on that no set costs less, and that none of the same cost is before it in the order.

    Attributes
    ----------
    cost : {"certified", "enumerated", "claimed", "open"}
        The multipliers alone; a trial of all subsets, if there are few; the search's word that it was
        exhausted; nothing, its budget was spent.
    order : {"enumerated", "claimed", "open"}
        The same of the order, of which multipliers say nothing.
    """

    cost: str
    order: str


def check_minimum(
    amounts: Rows,
    shortage: Sequence[int],
    taken: Sequence[int],
    proof: Mapping[str, Any],
    costs: Sequence[int] | None = None,
) -> Verdict:
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
    Verdict
        All subsets are tried of at most 16 candidates.

    Raises
    ------
    AssertionError
        If a position is none, a cost, a bound or an amount is no whole number, a multiplier is no number of
        at least 0, or there are not as many as there should be; if the victims do not cover the shortage,
        one of them is not needed, the multipliers prove less than ``root_bound``, the numbers contradict
        each other, or a trial of all subsets finds otherwise.

    Notes
    -----
    O(n R) fractions; 2^n sums where n is at most 16. The bound is that of linear programming duality: for
    any multipliers y of at least 0 and any cover x, the cost is at least
    y·shortage − sum of max(0, y·min(amount, shortage) − cost) over all candidates; it is a multiple of the
    greatest common divisor of the costs of those that free any of what is short: a cheapest cover has no
    others.
    """
    cost, least, root = whole_numbers([proof[n] for n in ("cost", "lower_bound", "root_bound")], "bounds")
    must(all(len(row) == len(shortage) for row in amounts), "amounts must be n x R")
    whole_numbers(shortage, "amounts")
    must(all(min(whole_numbers(row, "amounts"), default=0) >= 0 for row in amounts), "an amount is negative")
    prices = [1] * len(amounts) if costs is None else whole_numbers(costs, "costs")
    must(len(prices) == len(amounts), f"{len(prices)} costs of {len(amounts)} candidates")
    must(min(prices, default=1) >= 1, "a cost is less than 1")
    taken = positions(taken, len(amounts))
    paid = sum(prices[i] for i in taken)
    must(cost == paid, f"cost {cost} of {len(taken)} victims that cost {paid}")
    must(covers(amounts, shortage, taken), f"victims {list(taken)} do not cover {list(shortage)}")
    for spare in taken:
        others = [i for i in taken if i != spare]
        must(not covers(amounts, shortage, others), f"victim {spare} is not needed")
    useful = [price for price, row in zip(prices, amounts, strict=True) if helps(row, shortage)]
    proven = round_up(multiplier_bound(amounts, shortage, proof["multipliers"], prices), useful)
    must(root <= max(proven, min(cost, math.gcd(*useful))), f"multipliers prove {proven}, not {root}")
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
    tried = "enumerated" if len(amounts) <= ENUMERATED else "claimed"
    order = tried if proof["first"] else "open"
    if not proof["proved"]:
        return Verdict("open", order)
    return Verdict("certified" if root == cost else tried, order)


def whole_numbers(values: Sequence[Any], what: str) -> list[int]:
    """Return values as integers of Python, whose sums do not overflow.

    Parameters
    ----------
    values : sequence
    what : str
        What the values are, for the error.

    Returns
    -------
    list of int

    Raises
    ------
    AssertionError
        If one is not of an integer type.
    """
    try:
        return [index(value) for value in values]
    except TypeError:
        raise AssertionError(f"{what} {list(values)} must be whole numbers") from None


def positions(taken: Sequence[Any], count: int) -> list[int]:
    """Return positions as integers of Python, after a look at whether they are some.

    Parameters
    ----------
    taken : sequence of int
    count : int
        Of the rows in which they are positions.

    Returns
    -------
    list of int

    Raises
    ------
    AssertionError
        If they do not ascend, one stands twice, or one is not from 0 to count - 1.
    """
    found = whole_numbers(taken, "positions")
    must(found == sorted(set(found)), f"positions {found} are not ascending")
    must(all(0 <= i < count for i in found), f"positions {found} are not from 0 to {count - 1}")
    return found


def helps(row: Sequence[int], shortage: Sequence[int]) -> bool:
    """Return whether a candidate frees any of what is short.

    Parameters
    ----------
    row : sequence of int, (R,)
    shortage : sequence of int, (R,)

    Returns
    -------
    bool
    """
    return any(freed > 0 and lacking > 0 for freed, lacking in zip(row, shortage, strict=True))


def covers(amounts: Rows, shortage: Sequence[int], taken: Sequence[int]) -> bool:
    """Return whether candidates together free what is missing.

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
        If a multiplier is negative or not finite, or there are not R.
    """
    must(len(multipliers) == len(shortage), f"{len(multipliers)} multipliers of {len(shortage)} resources")
    must(all(math.isfinite(y) for y in multipliers), f"multipliers {list(multipliers)} are not finite")
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
