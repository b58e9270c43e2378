"""Answers that rest on an exact tie.

Where a cap is hit exactly, or two children would jump at once, one unit in the last place decides over a
whole operation's share: two correct implementations may differ there.

Source: YTsaurus fair-share specification, section 2.18 (knife edge).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.reference.tree import Settings, Tree
from tests.reference.update import compute

DISTURBANCE = 1e-12
SHARES = ("fair_share", "promised_guarantee_fair_share", "proposed_integral_share")


def tie_dependent(
    snapshot: Mapping[str, Any],
    *,
    state: Mapping[Any, Mapping[str, Any]] | None = None,
    tolerance: float = 1e-9,
    trials: int = 8,
    **options: Any,
) -> bool:
    """Tell whether the shares of a snapshot change when its numbers change next to nothing.

    Parameters
    ----------
    snapshot, state, **options
        As for `reference_fair_share`.
    tolerance
        The largest change of a share that does not count.
    trials
        How often weights, demands, limits and guarantees are disturbed, each by up to one part in 10^12.

    Returns
    -------
    bool
        True also where the input is so ill-conditioned that such a disturbance is magnified a thousandfold.

    Raises
    ------
    TypeError
        If an option is unknown.

    Notes
    -----
    Costs one update a trial, and one more. The disturbances are the same in every call.
    """
    settings = Settings(**options)
    plain = compute(snapshot, state or {}, settings)
    for trial in range(trials):
        other = compute(snapshot, state or {}, settings, _disturbance(np.random.default_rng(trial)))
        if any(np.abs(plain[q] - other[q]).max(initial=0.0) > tolerance for q in SHARES):
            return True
    return False


def _disturbance(random: np.random.Generator) -> Callable[[Tree], None]:
    def factor(size: int | None = None) -> Any:
        return 1 + random.uniform(-DISTURBANCE, DISTURBANCE, size)

    def disturb(tree: Tree) -> None:
        for element in tree.elements:
            element.weight *= factor()
            element.limits_share = element.limits_share * factor(element.size)
            element.strong = element.strong * factor(element.size)
            element.demand_share = np.maximum(
                element.demand_share * factor(element.size), element.usage_share
            )

    return disturb
