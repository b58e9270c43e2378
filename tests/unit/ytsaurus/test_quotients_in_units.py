"""Quotients of cpu amounts are taken of doubles in units, as YTsaurus takes them, and then cut or rounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import evenhand as eh
from tests.reference import reference_fair_share


def engine(data: dict[str, Any], **settings: Any) -> Any:
    return eh.fair_share(eh.Snapshot.from_dict(data), eh.FairShareSettings(**settings))


@pytest.fixture(params=[engine, reference_fair_share], ids=["engine", "reference"])
def compute(request: pytest.FixtureRequest) -> Callable[..., Any]:
    found: Callable[..., Any] = request.param
    return found


def cluster(total: Mapping[str, float], pools: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    resources = {name: {"quantum": 0.01} if name == "cpu" else {} for name in total}
    return {"resources": resources, "total": dict(total), "pools": pools, **more}


def implied(
    compute: Callable[..., Any], data: dict[str, Any], pool: str, **settings: Any
) -> dict[str, float]:
    """Return a pool's guarantee, what is implied included, in units."""
    shares = compute(data, **settings)
    amounts = shares["inferred_strong_guarantee"][shares.names.index(pool)].tolist()
    return dict(zip(data["resources"], amounts, strict=True))


@pytest.mark.parametrize(
    ("cpu", "gpu"),
    [(2.79, 6), (2.8, 6), (2.81, 7), (4.0, 10), (3.99, 9), (10.0, 25)],
)
@pytest.mark.parametrize("quantum", [0.01, 0.001])
def test_a_guarantee_is_divided_in_units_and_then_cut(
    compute: Callable[..., Any], cpu: float, gpu: int, quantum: float
) -> None:
    """2.8 / 10 is a little less than 0.28, so that of 25 gpu it implies 6; 280 / 1000 would imply 7."""
    data = cluster({"cpu": 10, "gpu": 25}, [{"name": "p", "strong_guarantee": {"cpu": cpu}}])
    data["resources"]["cpu"]["quantum"] = quantum
    assert implied(compute, data, "p")["gpu"] == gpu


@pytest.mark.parametrize(("slots", "gpu"), [(27, 6), (28, 7), (29, 7)])
def test_whole_numbers_are_their_own_unit(compute: Callable[..., Any], slots: int, gpu: int) -> None:
    """28 / 100 × 25 is 7 and a little more."""
    data = cluster({"user_slots": 100, "gpu": 25}, [{"name": "p", "strong_guarantee": {"user_slots": slots}}])
    assert implied(compute, data, "p", main_resource="user_slots")["gpu"] == gpu


@pytest.mark.parametrize(("gpu", "cpu"), [(1, 3.33), (2, 6.67), (3, 10.0)])
def test_implied_cpu_is_rounded_to_its_quantum(compute: Callable[..., Any], gpu: int, cpu: float) -> None:
    data = cluster({"cpu": 10, "gpu": 3}, [{"name": "p", "strong_guarantee": {"gpu": gpu}}])
    assert implied(compute, data, "p", main_resource="gpu")["cpu"] == pytest.approx(cpu, abs=1e-9)


def test_the_quotient_below_a_pool_is_of_the_pools_own_guarantee(compute: Callable[..., Any]) -> None:
    """Of a pool with 10 cpu and 25 gpu in a cluster of 20 and 50."""
    pools = [
        {"name": "p", "strong_guarantee": {"cpu": 10, "gpu": 25}},
        {"name": "q", "parent": "p", "strong_guarantee": {"cpu": 2.8}},
    ]
    assert implied(compute, cluster({"cpu": 20, "gpu": 50}, pools), "q")["gpu"] == 6


def volumes(compute: Callable[..., Any], free: float) -> list[float]:
    """Return the volumes of two pools, in cpu × s, after a third one's overflow was handed to them.

    One second passes; the third pool is full and its flow of `free` flows over.
    """
    full = {"accumulated_volume": {"cpu": 1e6}, "type": "relaxed", "resource_flow": {"cpu": free}}
    hungry = {"type": "relaxed", "accumulated_volume": {"cpu": 0}, "resource_flow": {"cpu": 1}}
    pools = [
        *({"name": name, "integral": hungry} for name in "ab"),
        {"name": "full", "integral": full},
    ]
    root = {"integral": {"should_distribute_free_volume_among_children": True}}
    data = cluster({"cpu": 10}, pools, root=root, now=1.0, previous_update=0.0)
    shares = compute(data)
    rows = [shares.names.index(name) for name in "ab"]
    return [round(float(shares["volume.accepted_free"][row, 0]), 9) for row in rows]


@pytest.mark.parametrize(("free", "each"), [(0.28, 0.14), (0.29, 0.14), (0.30, 0.15)])
def test_free_volume_is_divided_in_units_and_then_rounded(
    compute: Callable[..., Any], free: float, each: float
) -> None:
    """Half of 0.29 is 0.145, in doubles a little less, so 0.14; half of 29 hundredths would be rounded up."""
    assert volumes(compute, free) == [each, each]
