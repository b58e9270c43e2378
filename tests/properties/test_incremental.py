"""An engine that goes on from its last update gives the bits of one that starts afresh."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.testing.assertions import assert_shares_close
from tests.properties.computing import Inputs, inputs

WEIGHTS = (0.5, 1, 2, 3.25)


def changed(draw: st.DrawFn, snapshot: dict[str, Any]) -> dict[str, Any]:
    """Change a few rows: what an operation wants, has or weighs, a pool's weight, limits or guarantee."""
    after = copy.deepcopy(snapshot)
    for _ in range(draw(st.integers(0, 3))):
        table = draw(st.sampled_from([t for t in ("operations", "pools") if after[t]] or [None]))
        if table is None:
            break
        row = draw(st.sampled_from(after[table]))
        field = draw(
            st.sampled_from(("weight", "gang", "demand", "usage", "limits", "strong_guarantee", "row"))
        )
        if field == "weight":
            row["weight"] = draw(st.sampled_from(WEIGHTS))
        elif field == "gang" and table == "operations":
            row["gang"] = not row.get("gang", False)
        elif field == "demand" and "demand" in row:
            row["demand"] = {resource: 2 * amount for resource, amount in row["demand"].items()}
        elif field == "row" and table == "operations" and "demand" in row:
            # Another set of elements than before.
            after["operations"].remove(row)
        elif field != "demand":
            row.pop(field, None)
    return after


@given(inputs(), st.data())
def test_incremental_updates_have_the_bits_of_full_ones(drawn: Inputs, data: st.DataObject) -> None:
    snapshot, settings = drawn
    engine = eh.FairShareEngine(settings)
    for _ in range(data.draw(st.integers(2, 5))):
        built = eh.Snapshot.from_dict(snapshot)
        kept, afresh = engine.update(built), eh.fair_share(built, settings)
        assert_shares_close(kept, afresh, 0)
        assert kept.diagnostics == afresh.diagnostics
        assert kept.state == afresh.state
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
