"""Whether a set of victims is the smallest: the proof of the search, checked in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from evenhand.testing._laws import must

__all__ = ["check_minimum", "fewest", "multiplier_bound"]

ENUMERATED = 16
"""So many candidates are also tried in all their subsets."""

Rows = Sequence[Sequence[int]]


def check_minimum(
    amounts: Rows, shortage: Sequence[int], taken: Sequence[int], proof: Mapping[str, Any]
) -> str:
    """Check what a search for the fewest victims says of its result.

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

    Returns
    -------
    {"certified", "enumerated", "claimed", "open"}
        What it rests on that no set is smaller: the multipliers alone; a trial of all subsets of at most 16
        candidates; the search's word that it was exhausted; nothing, the search ran out of its budget.

    Raises
    ------
    AssertionError
        If the victims do not cover the shortage, one of them is not needed, the multipliers prove less than
        ``root_bound``, the numbers contradict each other, or a trial of all subsets finds otherwise.

    Notes
    -----
    O(n R) fractions; 2^n sums where n is at most 16. The bound is that of linear programming duality: for
    any multipliers y of at least 0 and any cover x, the number of victims is at least
    y·shortage − sum of max(0, y·min(amount, shortage) − 1) over all candidates.
    """
    cost, least, root = (int(proof[name]) for name in ("cost", "lower_bound", "root_bound"))
    must(list(taken) == sorted(set(taken)), f"positions {list(taken)} are not ascending")
    must(cost == len(taken), f"cost {cost} of {len(taken)} victims")
    must(covers(amounts, shortage, taken), f"victims {list(taken)} do not cover {list(shortage)}")
    for spare in taken:
        others = [i for i in taken if i != spare]
        must(not covers(amounts, shortage, others), f"victim {spare} is not needed")
    proven = math.ceil(multiplier_bound(amounts, shortage, proof["multipliers"]))
    must(root <= max(proven, min(cost, 1)), f"multipliers prove {proven}, not {root}")
    must(root <= least <= cost, f"bounds {root}, {least} and cost {cost} are out of order")
    must(bool(proof["proved"]) == (least == cost), f"proved is {proof['proved']} with {least} of {cost}")
    must(proof["proved"] or not proof["first"], "first of the smallest, which is not proved")
    if len(amounts) <= ENUMERATED:
        best = fewest(amounts, shortage)
        if best is None:
            raise AssertionError("all candidates together do not cover the shortage")
        must(least <= len(best), f"{len(best)} victims suffice, below the bound {least}")
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


def multiplier_bound(amounts: Rows, shortage: Sequence[int], multipliers: Sequence[float]) -> Fraction:
    """Return what multipliers prove: no cover has fewer victims.

    Parameters
    ----------
    amounts : sequence of sequence of int, (n, R)
    shortage : sequence of int, (R,)
    multipliers : sequence of float, (R,)
        Of at least 0.

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
    for row in amounts:
        price = sum((y[r] * min(int(row[r]), int(shortage[r])) for r in short), Fraction(0))
        bound -= max(Fraction(0), price - 1)
    return bound


def fewest(amounts: Rows, shortage: Sequence[int]) -> tuple[int, ...] | None:
    """Return the smallest cover by trying all subsets; of those the first in order.

    Parameters
    ----------
    amounts : sequence of sequence of int, (n, R)
    shortage : sequence of int, (R,)

    Returns
    -------
    tuple of int or None
        Positions, ascending; None: all together do not cover it.

    Notes
    -----
    O(2^n R).
    """
    for count in range(len(amounts) + 1):
        for taken in combinations(range(len(amounts)), count):
            if covers(amounts, shortage, taken):
                return taken
    return None
