"""The C++ engine gives what the NumPy reference gives, on every quantity."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from hypothesis import event, given

import evenhand as eh
from evenhand.implausible import OF_SHARES
from evenhand.testing import strategies as es
from evenhand.testing.assertions import SharesLike, assert_shares_close
from evenhand.testing.metamorphic import Compute
from tests.properties.computing import Inputs, engine, inputs, reference

TOLERANCE = 1e-9
EDGE = 1e-8
JUMP = 1e-5
FEW = es.resource_spaces(max_size=4)


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
    try:
        agree(data, settings)
    except AssertionError:
        # Knife edge: a pool's child reaches its cap of one exactly, and the other children need none of that
        # resource. Rounding decides whether they go on. With caps that differ the two must agree, and one of
        # them must have jumped, else it is no edge.
        apart = with_caps_apart(data)
        agree(apart, settings)
        if not any(jumps(compute(settings), data, apart) for compute in (engine, reference)):
            raise
        event("knife edge")


def agree(data: dict[str, Any], settings: eh.FairShareSettings) -> None:
    actual, expected = engine(settings)(data), reference(settings)(data)
    assert set(actual.quantities) == set(expected.quantities)
    assert_shares_close(actual, expected, TOLERANCE, quantities=set(expected.quantities) - {"satisfaction"})
    compare_satisfaction(actual, expected)
    assert diagnoses(actual) == diagnoses(expected)


def with_caps_apart(data: dict[str, Any]) -> dict[str, Any]:
    """Cap every pool and operation a little below one, each by an amount of its own."""
    total = eh.Snapshot.from_dict(data).total
    quantum = {name: fields["quantum"] for name, fields in data["resources"].items()}
    apart = deepcopy(data)
    for place, row in enumerate((*apart["pools"], *apart["operations"])):
        less = EDGE * (1 + place)
        caps = {
            name: round(amount * (1 - less) / quantum[name]) * quantum[name] for name, amount in total.items()
        }
        row["limits"] = {name: min(caps[name], row.get("limits", {}).get(name, caps[name])) for name in total}
    return apart


def jumps(compute: Compute, data: dict[str, Any], apart: dict[str, Any]) -> bool:
    return bool(np.abs(compute(data)["fair_share"] - compute(apart)["fair_share"]).max() > JUMP)


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
    """Codes of the update with their elements; in which order they were found says nothing."""
    found = [d for d in shares.diagnostics if d.code not in OF_SHARES]
    return sorted((d.code, sorted(map(str, d.elements))) for d in found)
