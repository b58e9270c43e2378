"""The C++ engine gives what the NumPy reference gives, on every quantity."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given

from evenhand.testing import strategies as es
from evenhand.testing.assertions import SharesLike, assert_shares_close
from tests.properties.computing import Inputs, engine, inputs, many, reference

TOLERANCE = 1e-9
FEW = es.resource_spaces(max_size=4)


@many
@given(drawn=inputs(resources=FEW, min_pools=1, min_operations=2, max_nodes=0))
def test_engine_is_the_reference(drawn: Inputs) -> None:
    compare(drawn)


@given(drawn=inputs(min_operations=1, max_nodes=0))
def test_engine_is_the_reference_with_many_resources(drawn: Inputs) -> None:
    compare(drawn)


@given(drawn=inputs(resources=FEW, min_operations=1, min_nodes=1))
def test_engine_is_the_reference_with_nodes(drawn: Inputs) -> None:
    compare(drawn)


@given(drawn=inputs(resources=FEW, min_pools=1, min_operations=2, max_nodes=0, older=True))
def test_engine_is_the_reference_in_older_revisions(drawn: Inputs) -> None:
    compare(drawn)


def compare(drawn: Inputs) -> None:
    data, settings = drawn
    actual, expected = engine(settings)(data), reference(settings)(data)
    assert set(actual.quantities) == set(expected.quantities)
    assert_shares_close(actual, expected, TOLERANCE, quantities=set(expected.quantities) - {"satisfaction"})
    compare_satisfaction(actual, expected)
    assert diagnoses(actual) == diagnoses(expected)


def compare_satisfaction(actual: SharesLike, expected: SharesLike) -> None:
    fair, usage = expected["fair_share"], expected["usage_share"]
    wanted, found = expected["satisfaction"], actual["satisfaction"]
    # It jumps where usage passes the fair share, and divides by that share.
    above = fair - usage
    clear = np.all((above == 0) | (np.abs(above) > TOLERANCE), axis=1)
    least = np.where(fair > TOLERANCE, fair, 1.0).min(axis=1)
    operations = np.array([kind == "operation" for kind in expected.kinds])
    close = np.abs(found - wanted) <= TOLERANCE * (1 + wanted) / least
    assert (close | ~clear | ~operations).all()
    for pool in np.flatnonzero(~operations):
        children = [i for i, parent in enumerate(expected.parents) if parent == expected.names[pool]]
        assert found[pool] == min(found[children], default=1e9)


def diagnoses(shares: Any) -> list[tuple[str, list[str]]]:
    """Codes with their elements; in which order they were found says nothing."""
    return sorted((d.code, sorted(map(str, d.elements))) for d in shares.diagnostics)
