"""Thresholds and clocks of guarantees and volumes: at exactly their value, and one step to each side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import evenhand as eh
from tests.reference import reference_fair_share

Compute = Callable[..., Any]


def engine(data: dict[str, Any], **settings: Any) -> Any:
    return eh.fair_share(eh.Snapshot.from_dict(data), eh.FairShareSettings(**settings))


@pytest.fixture(params=[engine, reference_fair_share], ids=["engine", "reference"])
def compute(request: pytest.FixtureRequest) -> Compute:
    found: Compute = request.param
    return found


def pools(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"resources": {"slots": {}}, "total": {"slots": 100}, "pools": list(rows), **more}


@pytest.mark.parametrize(("second", "told"), [(39, 0), (40, 0), (41, 2)])
def test_guarantees_up_to_the_whole_cluster_are_no_overcommit(
    compute: Compute, second: int, told: int
) -> None:
    """With nothing else: one diagnostic for flows, one for bursts."""
    data = pools(
        {"name": "a", "strong_guarantee": {"slots": 60}}, {"name": "b", "strong_guarantee": {"slots": second}}
    )
    shares = compute(data, main_resource="slots")
    assert [d.code for d in shares.diagnostics] == ["pool_tree_guarantees_overcommit"] * told


@pytest.mark.parametrize(("flow", "burst", "told"), [(40, 40, 0), (41, 41, 2), (40, 41, 1)])
def test_flows_and_bursts_count_beside_guarantees(compute: Compute, flow: int, burst: int, told: int) -> None:
    integral = {"type": "burst", "resource_flow": {"slots": flow}, "burst": {"slots": burst}}
    data = pools({"name": "a", "strong_guarantee": {"slots": 60}}, {"name": "b", "integral": integral})
    assert len(compute(data, main_resource="slots").diagnostics) == told


def volume(compute: Compute, seconds: float, had: float = 0.0, **settings: Any) -> float:
    """Volume of a pool with a flow of 2 slots, so many seconds later."""
    integral = {
        "type": "relaxed",
        "resource_flow": {"slots": 2},
        "accumulated_volume": {"slots": had},
    }
    data = pools({"name": "p", "integral": integral}, now=1000.0 + seconds, previous_update=1000.0)
    shares = compute(data, **settings)
    return float(shares["volume.accumulated_after"][shares.names.index("p"), 0])


@pytest.mark.parametrize(
    ("seconds", "had", "expected"),
    [
        (9.999999, 0, 19.999998),
        (10, 0, 20),
        (10.000001, 0, 20),
        (1e-6, 0, 2e-6),
        (0, 0, 0),
        (1, 19.5, 20),
        (1, 20, 20),
        (1, 25, 25),  # what is above the capacity stays, and grows no more
    ],
)
def test_a_pool_saves_up_its_flow_for_the_saturation_period(
    compute: Compute, seconds: float, had: float, expected: float
) -> None:
    found = volume(compute, seconds, had, integral_pool_capacity_saturation_period_s=10.0)
    assert found == pytest.approx(expected, abs=1e-9)


def test_the_usual_saturation_period_is_a_day(compute: Compute) -> None:
    assert volume(compute, 86_399) == pytest.approx(2 * 86_399)
    assert volume(compute, 86_401) == pytest.approx(2 * 86_400)


@pytest.mark.parametrize(
    ("period", "saved", "share"),
    [
        (60.0, 60.0, 0.01),
        (60.0, 59.0, 59 / 6000),
        (30.0, 60.0, 0.02),
        (120.0, 60.0, 0.005),
        (1.0, 60.0, 0.06),
    ],
)
def test_a_volume_is_spent_over_the_smooth_period(
    compute: Compute, period: float, saved: float, share: float
) -> None:
    """60 slots × s are one slot of a hundred for a minute; at most three times the flow, 0.06, is given."""
    integral = {
        "type": "relaxed",
        "resource_flow": {"slots": 2},
        "accumulated_volume": {"slots": saved},
    }
    data = pools(
        {"name": "p", "integral": integral},
        operations=[
            {"name": "o", "pool": "p", "demand": {"slots": 100}},
            {"name": "u", "demand": {"slots": 100}},
        ],
    )
    shares = compute(data, main_resource="slots", integral_smooth_period_s=period)
    row = shares.names.index("p")
    assert float(shares["fair_share.integral_guarantee"][row, 0]) == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize(("limit", "strong"), [(29, 0.29), (30, 0.3), (31, 0.3)])
def test_a_limit_cuts_the_guarantee(compute: Compute, limit: int, strong: float) -> None:
    data = pools({"name": "a", "strong_guarantee": {"slots": 30}, "limits": {"slots": limit}})
    shares = compute(data, main_resource="slots")
    assert float(shares["strong_guarantee_share"][shares.names.index("a"), 0]) == pytest.approx(strong)
