"""An engine that goes on from its last update gives the bits of one that starts afresh."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.testing import strategies as ehst

COMPARED = (
    "fair_share",
    "promised_guarantee_fair_share",
    "usage_share",
    "demand_share",
    "strong_guarantee_share",
    "proposed_integral_share",
    "volume.accumulated_after",
)


def changed(draw: st.DrawFn, snapshot: dict[str, Any]) -> dict[str, Any]:
    """Change a few rows: what an operation wants or weighs, a pool's weight or limits."""
    after = copy.deepcopy(snapshot)
    operations, pools = after.get("operations", []), after.get("pools", [])
    for _ in range(draw(st.integers(0, 3))):
        if operations and draw(st.booleans()):
            operation = draw(st.sampled_from(operations))
            if draw(st.booleans()):
                operation["weight"] = draw(st.sampled_from([0.5, 1, 2, 3.25]))
            else:
                operation["gang"] = not operation.get("gang", False)
        elif pools:
            pool = draw(st.sampled_from(pools))
            if draw(st.booleans()):
                pool["weight"] = draw(st.sampled_from([0.5, 1, 2, 3.25]))
            else:
                pool.pop("strong_guarantee", None)
    return after


@given(st.data())
def test_incremental_updates_have_the_bits_of_full_ones(data: st.DataObject) -> None:
    snapshot = data.draw(ehst.snapshot_dicts())
    settings = eh.FairShareSettings(
        step_function_for_gang=data.draw(st.booleans()), improved=data.draw(st.booleans())
    )
    engine = eh.FairShareEngine(settings)
    for _ in range(data.draw(st.integers(2, 5))):
        built = eh.Snapshot.from_dict(snapshot)
        kept, afresh = engine.update(built), eh.fair_share(built, settings)
        for quantity in COMPARED:
            np.testing.assert_array_equal(kept[quantity], afresh[quantity], err_msg=quantity)
        assert kept.diagnostics == afresh.diagnostics
        snapshot = changed(data.draw, snapshot)


def test_state_carries_volumes_on() -> None:
    """Two updates joined by the state are two updates whose volumes were written by hand."""
    pool = {"name": "p", "integral": {"type": "relaxed", "resource_flow": {"cpu": 10}}}
    first = eh.Snapshot.from_dict(
        {"resources": {"cpu": {}}, "total": {"cpu": 100}, "now": 60, "previous_update": 0, "pools": [pool]}
    )
    state = eh.fair_share(first).state
    assert state.pools["p"]["accumulated_volume"] == {"cpu": 600.0}
    later = first.replace(now=120.0)
    by_hand = later.replace(
        previous_update=60.0,
        pools=[{**pool, "integral": {**pool["integral"], "accumulated_volume": {"cpu": 600}}}],  # type: ignore[dict-item]
    )
    joined, written = eh.fair_share(later, state=state), eh.fair_share(by_hand)
    np.testing.assert_array_equal(joined["volume.accumulated_after"], written["volume.accumulated_after"])
    assert joined.state == written.state
