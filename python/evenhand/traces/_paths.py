"""Pools named by paths: a job's pool, and the rows of all pools on the way to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def objects(values: Iterable[Any], said: Callable[[Any], Any]) -> NDArray[Any]:
    """Return what each value is called; `said` is asked once for each different one."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        different, inverse = np.unique(values, return_inverse=True)
        words = np.empty(len(different), object)
        words[:] = [said(v) for v in different.tolist()]
        return words[inverse.reshape(-1)]
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    known = {value: said(value) for value in set(listed)}
    out = np.empty(len(listed), object)
    out[:] = [known[value] for value in listed]
    return out


def paths(tiers: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join columns of names to paths, one a row."""
    if len(tiers) == 1:
        return tiers[0]
    rows = list(zip(*(tier.tolist() for tier in tiers), strict=True))
    return objects(rows, "/".join)


def pool_rows(given: NDArray[Any]) -> dict[str, Any]:
    """Return the table of the pools of paths, and of all pools above them, parents first."""
    different = sorted({path for path in given.tolist() if path is not None})
    names: dict[str, str | None] = {}
    for path in different:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            names["/".join(parts[:depth])] = "/".join(parts[: depth - 1]) or None
    return {"name": list(names), "parent": list(names.values())}
