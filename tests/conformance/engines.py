"""The implementations that a fair-share case can be run on, behind one small form of result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

ROOT = "<Root>"


@dataclass(frozen=True)
class Result:
    """What one fair-share update gave.

    Attributes
    ----------
    rows
        (kind, name) of an element to its row; the root is ``("pool", "<Root>")``.
    quantities
        Name of a quantity to its array, one row an element.
    diagnostics
        (code, names of elements, numbers) of each diagnostic.
    state
        To be handed to the next update of the same tree.
    """

    rows: Mapping[tuple[str, str | int], int]
    quantities: Callable[[str], np.ndarray]
    diagnostics: tuple[tuple[str, tuple[Any, ...], Mapping[str, Any]], ...]
    state: Any

    def row(self, name: str | int) -> int | None:
        """Return the row of the pool or operation of this name, ``None`` if there is neither."""
        return self.rows.get(("pool", name), self.rows.get(("operation", name)))


Engine = Callable[[dict[str, Any], dict[str, Any], Any], Result]
"""Takes a snapshot (dict of the file format), options and the last result's state."""


def evenhand(snapshot: dict[str, Any], options: dict[str, Any], state: Any = None) -> Result:
    """Run the library itself."""
    import evenhand as eh
    from evenhand.implausible import OF_SHARES

    shares = eh.fair_share(
        eh.Snapshot.from_dict(snapshot, order="rows"), eh.FairShareSettings(**options), state=state
    )
    return Result(
        rows={pair: row for row, pair in enumerate(zip(shares.kinds, shares.names, strict=True))},
        quantities=lambda name: np.asarray(shares[name]),
        diagnostics=tuple(
            (d.code, tuple(d.elements), d.numbers) for d in shares.diagnostics if d.code not in OF_SHARES
        ),
        state=shares.state,
    )


def reference(snapshot: dict[str, Any], options: dict[str, Any], state: Any = None) -> Result:
    """Run the slow, readable implementation of the published method."""
    from tests.reference import fill_order, reference_fair_share

    shares = reference_fair_share(fill_order(snapshot), state=state, **options)
    return Result(
        rows={pair: row for row, pair in enumerate(zip(shares.kinds, shares.names, strict=True))},
        quantities=lambda name: shares[name],
        diagnostics=tuple((d.code, d.elements, d.numbers) for d in shares.diagnostics),
        state=shares.state,
    )


ENGINES: dict[str, Engine] = {"evenhand": evenhand, "reference": reference}
