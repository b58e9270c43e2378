"""Whether jobs on many nodes that give way cost least: the proof of the search, in exact fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from evenhand.testing._laws import must
from evenhand.testing.fewest import (
    Verdict,
    cheapest,
    covers,
    helps,
    multiplier_bound,
    positions,
    round_up,
    whole_numbers,
)

__all__ = ["Site", "Spread", "cheapest_jobs", "check_minimum_jobs", "part_bound"]

ENUMERATED = 12
"""So many jobs are also tried in all their subsets, and so many of one node."""


@dataclass(frozen=True)
class Site:
    """A node on which jobs run and copies of a request might.

    Attributes
    ----------
    jobs : tuple of int
        Those on it, ascending.
    amounts : tuple of tuple of int, (jobs, R)
        What each frees here.
    lacks : tuple of tuple of int, (L, R)
        What must be freed for one copy more, two more, ...; never less than the level before.
    must : bool
        Its one level is needed in any case, and holds no copy: what a whole cluster shares.
    """

    jobs: tuple[int, ...]
    amounts: tuple[tuple[int, ...], ...]
    lacks: tuple[tuple[int, ...], ...]
    must: bool = False

    def levels(self, taken: set[int]) -> int:
        """Return for how many copies it is enough that these jobs go."""
        rows = [i for i, job in enumerate(self.jobs) if job in taken]
        enough = [covers(self.amounts, lack, rows) for lack in self.lacks]
        return next((level for level, holds in enumerate(enough) if not holds), len(enough))


@dataclass(frozen=True)
class Spread:
    """Jobs on nodes, and copies of one request that want room there.

    Attributes
    ----------
    costs : tuple of int, (n,)
        Of each job, at least 1, in the order in which they are wanted.
    sites : tuple of Site
    copies : int
        How many levels are wanted, in sum over the sites that need not be freed in any case.
    """

    costs: tuple[int, ...]
    sites: tuple[Site, ...]
    copies: int

    def suffices(self, taken: Sequence[int]) -> bool:
        """Return whether all copies find room once these jobs are gone."""
        gone = set(taken)
        had = [(site, site.levels(gone)) for site in self.sites]
        able = all(levels for site, levels in had if site.must)
        return able and sum(levels for site, levels in had if not site.must) >= self.copies

    def cost(self, taken: Sequence[int]) -> int:
        """Return what these jobs cost."""
        return sum(self.costs[i] for i in taken)


def cheapest_jobs(spread: Spread) -> tuple[int, ...] | None:
    """Return the cheapest jobs that suffice by trying all subsets; of those the first in order.

    Parameters
    ----------
    spread : Spread

    Returns
    -------
    tuple of int or None
        Ascending; None: all together do not suffice.

    Notes
    -----
    O(2^n) tests.
    """
    best: tuple[int, tuple[int, ...]] | None = None
    for count in range(len(spread.costs) + 1):
        for taken in combinations(range(len(spread.costs)), count):
            found = (spread.cost(taken), taken)
            if (best is None or found < best) and spread.suffices(taken):
                best = found
    return None if best is None else best[1]


def check_minimum_jobs(spread: Spread, taken: Sequence[int], proof: Mapping[str, Any]) -> Verdict:
    """Check what a search for the cheapest jobs says of its result.

    Parameters
    ----------
    spread : Spread
    taken : sequence of int
        The jobs that go, ascending.
    proof : mapping
        ``cost``, ``lower_bound``, ``root_bound``, ``proved``, ``first``; ``scale``, ``parts`` (one a job and
        site, sites in order), ``bounds`` (one a level of a site, in parts; -1: not to be had) and
        ``multipliers`` (levels x R).

    Returns
    -------
    Verdict
        All subsets are tried, of each node or of all jobs, of at most 12 of them.

    Raises
    ------
    AssertionError
        If a job is none, a cost or a bound is no whole number or there are not as many as there should be; if
        the jobs do not suffice, one is not needed, the parts of a job are more than it costs, the
        bounds prove less than ``root_bound``, the numbers contradict each other, or a trial finds otherwise.

    Notes
    -----
    A job's cost is split into parts, one a site; of as many sites as copies are wanted they are together no
    more than it costs, sites that must be freed included. To free a site for so many copies costs at least a
    bound in parts; the least sum of bounds over all ways to choose as many copies as are wanted, with the
    bounds of all that must be freed, bounds the cost.
    """
    cost, least, root = whole_numbers([proof[n] for n in ("cost", "lower_bound", "root_bound")], "bounds")
    _check_instance(spread)
    taken = positions(taken, len(spread.costs))
    must(cost == spread.cost(taken), f"cost {cost} of jobs that cost {spread.cost(taken)}")
    must(spread.suffices(taken), f"jobs {list(taken)} do not suffice")
    for spare in taken:
        must(not spread.suffices([i for i in taken if i != spare]), f"job {spare} is not needed")
    must(root <= least <= cost, f"bounds {root}, {least} and cost {cost} are out of order")
    must(bool(proof["proved"]) == (least == cost), f"proved is {proof['proved']} with {least} of {cost}")
    must(proof["proved"] or not proof["first"], "first of the cheapest, which is not proved")
    small = len(spread.costs) <= ENUMERATED
    if small:
        best = cheapest_jobs(spread)
        if best is None:
            raise AssertionError("all jobs together do not suffice")
        lowest = spread.cost(best)
        must(least <= lowest, f"jobs that cost {lowest} suffice, below the bound {least}")
        must(not proof["first"] or list(best) == list(taken), f"{list(best)} is before {list(taken)}")
    proven, how = part_bound(spread, proof)
    must(root <= max(proven, 0), f"the parts prove {proven}, not {root}")
    tried = "enumerated" if small else "claimed"
    order = tried if proof["first"] else "open"
    if not proof["proved"]:
        return Verdict("open", order)
    return Verdict(how if root == cost else tried, order)


def _check_instance(spread: Spread) -> None:
    """Raise AssertionError if rows are not of known jobs, as wide as each other, or of whole numbers."""
    must(min(whole_numbers(spread.costs, "costs"), default=1) >= 1, "a cost is less than 1")
    for site in spread.sites:
        positions(site.jobs, len(spread.costs))
        must(len(site.amounts) == len(site.jobs), "amounts must be one row a job")
        rows = [*site.amounts, *site.lacks]
        must(len({len(row) for row in rows}) <= 1, "rows are not as wide as each other")
        for row in rows:
            whole_numbers(row, "amounts")
        must(all(min(row, default=0) >= 0 for row in site.amounts), "an amount is negative")


def part_bound(spread: Spread, proof: Mapping[str, Any]) -> tuple[int, str]:
    """Return what the parts prove: no set of jobs costs less; and what that rests on.

    Parameters
    ----------
    spread : Spread
    proof : mapping
        As of `check_minimum_jobs`.

    Returns
    -------
    bound : int
    how : {"certified", "enumerated", "claimed"}

    Raises
    ------
    AssertionError
        If there are not as many parts, bounds and multipliers as there should be, the parts of a job are more
        than its cost, or a bound is more than a trial finds.
    """
    (scale,) = whole_numbers([proof["scale"]], "scale")
    must(scale >= 1, f"scale {scale}")
    parts, claims = whole_numbers(proof["parts"], "parts"), whole_numbers(proof["bounds"], "bounds")
    must(all(part >= 0 for part in parts), "a part is negative")
    must(len(parts) == sum(len(site.jobs) for site in spread.sites), f"{len(parts)} parts")
    must(len(claims) == sum(len(site.lacks) for site in spread.sites), f"{len(claims)} bounds")
    count = sum(len(lack) for site in spread.sites for lack in site.lacks)
    must(len(proof["multipliers"]) == count, f"{len(proof['multipliers'])} multipliers of {count}")
    spent: list[list[int]] = [[] for _ in spread.costs]
    options: list[list[int]] = []
    how = "certified"
    piece = first = needed = 0
    together = spread.copies + sum(site.must for site in spread.sites)
    for site in spread.sites:
        own = parts[piece : piece + len(site.jobs)]
        piece += len(site.jobs)
        for job, part in zip(site.jobs, own, strict=True):
            spent[job].append(part)
        bounds = [0]
        for level, lack in enumerate(site.lacks, first):
            claim = claims[level]
            y = proof["multipliers"][level * len(lack) : (level + 1) * len(lack)]
            if claim < 0:
                must(not covers(site.amounts, lack, range(len(own))), "a level can be had after all")
                break
            useful = [part for part, row in zip(own, site.amounts, strict=True) if helps(row, lack)]
            if claim > round_up(multiplier_bound(site.amounts, lack, y, own), useful):
                if len(own) > ENUMERATED:
                    how = "claimed"
                else:
                    how = "enumerated" if how == "certified" else how
                    best = cheapest(site.amounts, lack, own)
                    must(best is None or claim <= sum(own[i] for i in best), "a bound is too high")
            bounds.append(claim)
        first += len(site.lacks)
        if site.must:
            must(len(bounds) == len(site.lacks) + 1 == 2, "what must be freed has one level that can be had")
            needed += bounds[1]
        else:
            options.append(bounds)
    for job, own in enumerate(spent):
        most = sum(sorted(own, reverse=True)[: max(together, 0)])
        must(most <= scale * spread.costs[job], f"the parts of job {job} are more than it costs")
    return -(-(needed + _least(options, spread.copies)) // scale), how


def _least(options: list[list[int]], copies: int) -> int:
    """Return the least sum of one option a site with so many levels, or a great number."""
    never = 10**18
    best = [0] + [never] * max(copies, 0)
    for bounds in options:
        after = list(best)
        for have, cost in enumerate(best):
            for level, bound in enumerate(bounds):
                to = min(len(best) - 1, have + level)
                after[to] = min(after[to], cost + bound)
        best = after
    return best[-1]
