"""Every fair share obeys the laws, whatever the input: also where exact ties and nasty shapes abound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import evenhand as eh
from evenhand.testing.invariants import check_shares
from tests.properties.computing import IMPLEMENTATIONS, Inputs, inputs


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(drawn=inputs(min_operations=1))
def test_laws(implementation: str, drawn: Inputs) -> None:
    data, settings = drawn
    shares = IMPLEMENTATIONS[implementation](settings)(data)
    check_shares(shares, eh.Snapshot.from_dict(data), settings)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@given(drawn=inputs(min_operations=1, ties=True))
def test_laws_with_ties(implementation: str, drawn: Inputs) -> None:
    data, settings = drawn
    shares = IMPLEMENTATIONS[implementation](settings)(data)
    check_shares(shares, eh.Snapshot.from_dict(data), settings, ties=True)


@given(drawn=inputs(min_pools=1))
def test_laws_over_updates(drawn: Inputs) -> None:
    data, settings = drawn
    snapshot, state = eh.Snapshot.from_dict(data), None
    for _ in range(3):
        shares = eh.fair_share(snapshot, settings, state=state)
        check_shares(shares, state=state, ties=True)
        state, snapshot = shares.state, snapshot.replace(now=snapshot.now + 600)


@given(drawn=inputs(older=True, ties=True))
def test_everything_is_finite(drawn: Inputs) -> None:
    data, settings = drawn
    shares = eh.fair_share(eh.Snapshot.from_dict(data), settings)
    for quantity in shares.quantities:
        assert np.isfinite(shares[quantity]).all(), quantity
