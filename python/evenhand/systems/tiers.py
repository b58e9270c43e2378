"""From shares to ranks: what a pool tree says to systems that know none."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import _core
from evenhand.arguments import expect
from evenhand.building.problems import kind_of, shorten
from evenhand.errors import InputError, Problem
from evenhand.table import Table

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["TIERS", "tiered"]

#: Name of a tier to the priority of its operations, from low to high.
TIERS: Mapping[str, int] = MappingProxyType({"best-effort": 5, "guaranteed": 20})


def tiered(
    snapshot: Snapshot,
    pools: Mapping[str | int, str] | None = None,
    *,
    tiers: Mapping[str, int] = TIERS,
) -> Snapshot:
    """Give operations the partition and the priority that their pools stand for.

    Systems that decide by rank have no place for shares: to put a pool tree before them, pools must be sorted
    into tiers first. The name of the tier becomes the operation's ``partition`` (Slurm), its number the
    ``priority`` (Backend.AI; Slurm's queue), in the place of what they were. Nothing else changes.

    Parameters
    ----------
    snapshot : Snapshot
    pools : mapping of pool to tier, optional
        Pools that are left out are in the tier of the pool above them, those without any in the lowest. By
        default pools with a strong guarantee are in the highest one.
    tiers : mapping of str to int
        Name of a tier to its priority.

    Returns
    -------
    Snapshot

    Raises
    ------
    InputError
        If a pool or a tier is unknown, there is no tier, or its number is none.

    Notes
    -----
    The translation is ours. O(cells of the snapshot).

    Examples
    --------
    >>> import evenhand as eh
    >>> snapshot = eh.Snapshot.from_dict({
    ...     "resources": {"cpu": {}},
    ...     "pools": [{"name": "lab", "strong_guarantee": {"cpu": 4}}, {"name": "lab/nlp", "parent": "lab"}],
    ...     "operations": [{"name": "a", "pool": "lab/nlp"}, {"name": "b"}]})
    >>> table = eh.policies.tiered(snapshot).table("operations")
    >>> table["partition"], table["priority"].tolist()
    (['guaranteed', 'best-effort'], [20, 5])
    """
    from evenhand.model import Snapshot

    expect(isinstance(snapshot, Snapshot), "tiered", "snapshot", snapshot, "a Snapshot")
    _check_tiers(tiers)
    names = list(tiers)
    lowest, highest = min(names, key=tiers.__getitem__), max(names, key=tiers.__getitem__)
    core, known = snapshot._core, [str(name) for name in snapshot.names("pools")]
    if pools is None:
        owed = np.asarray(core.column("pools", "strong_guarantee")).any(axis=1)
        chosen = dict.fromkeys(np.flatnonzero(owed).tolist(), highest)
    else:
        _check(pools, known, names)
        place = {name: row for row, name in enumerate(known)}
        chosen = {place[str(pool)]: tier for pool, tier in pools.items()}
    of_pool = [lowest] * len(known)
    parents = np.asarray(core.column("pools", "parent"), np.int32)
    for row in _core.tree_order(parents).tolist():
        of_pool[row] = chosen.get(row, of_pool[parents[row]] if parents[row] >= 0 else lowest)
    of = [of_pool[row] for row in np.asarray(core.column("operations", "pool")).tolist()]
    table = snapshot.table("operations")
    columns = {name: table[name] for name in table.columns}
    columns |= {"partition": of, "priority": [tiers[tier] for tier in of]}
    return snapshot.replace(operations=Table(columns))


def _check_tiers(tiers: Mapping[str, int]) -> None:
    _mapping("tiers", tiers, "names to numbers")
    found = []
    if not tiers:
        found.append(
            Problem("settings", None, None, "tiers", "required", None, "tiers is empty; one is needed")
        )
    for name, number in tiers.items():
        if isinstance(number, bool) or not isinstance(number, int):
            message = f"the number of the tier {name!r} is {kind_of(number)}; it must be a whole number"
            found.append(Problem("settings", None, None, f"tiers.{name}", "type", shorten(number), message))
    if found:
        raise InputError(found)


def _mapping(argument: str, value: Any, expected: str) -> None:
    if not isinstance(value, Mapping):
        message = f"{argument} is {kind_of(value)}; it must be a mapping of {expected}"
        raise InputError([Problem("settings", None, None, argument, "type", shorten(value), message)])


def _check(pools: Mapping[str | int, str], known: list[str], tiers: list[str]) -> None:
    _mapping("pools", pools, "pools to tiers")
    found = []
    for pool, tier in pools.items():
        if str(pool) not in known:
            found.append(Problem("pools", None, pool, "tier", "exists", None, f"there is no pool {pool!r}"))
        elif tier not in tiers:
            message = f"the tier of the pool {pool!r} is {tier!r}; there are {', '.join(tiers)}"
            found.append(Problem("pools", None, pool, "tier", "choice", repr(tier), message))
    if found:
        raise InputError(found)
