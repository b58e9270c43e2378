"""The readable fair-share reference as a whole, on trees small enough to work out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.reference import fill_order, reference_fair_share, tie_dependent


def cluster(resources: int = 1, **tables: Any) -> dict[str, Any]:
    names = [f"r{i}" for i in range(resources)]
    return {"resources": {r: {} for r in names}, "total": dict.fromkeys(names, 100), **tables}


def operation(name: Any, pool: Any, amount: int = 100, resources: int = 1, **fields: Any) -> dict[str, Any]:
    return {"name": name, "pool": pool, "demand": {f"r{i}": amount for i in range(resources)}, **fields}


@pytest.mark.parametrize("resources", [1, 2, 7, 16])
@pytest.mark.parametrize("improved", [False, True])
def test_any_number_of_resources(resources: int, improved: bool) -> None:
    operations = [operation(n, None, 100, resources, weight=w) for n, w in (("a", 3), ("b", 1))]
    shares = reference_fair_share(cluster(resources, operations=operations), improved=improved)
    assert shares["fair_share"].shape == (3, resources)
    np.testing.assert_allclose(
        shares["fair_share"][1:], np.full((2, resources), [[0.75], [0.25]]), atol=1e-12
    )


def test_rows_are_canonical_and_names_may_be_integers() -> None:
    data = cluster(
        pools=[{"name": 2, "order": 2}, {"name": 10, "order": 1}, {"name": 1, "parent": 2}],
        operations=[operation("ö", 10), operation("z", 10), operation("a", 1)],
    )
    shares = reference_fair_share(data)
    assert shares.names == ["<Root>", 10, 2, 1, "a", "z", "ö"]
    assert shares.parents == [None, "<Root>", "<Root>", 2, 1, 10, 10]
    assert shares.kinds == ["pool"] * 4 + ["operation"] * 3


def test_order_of_rows_becomes_order_of_children() -> None:
    data = cluster(operations=[operation("z", None), operation("a", None, order=-1)], pools=[{"name": "p"}])
    filled = fill_order(data)
    assert [row["order"] for row in filled["pools"] + filled["operations"]] == [0, 1, -1]
    assert reference_fair_share(filled).names == ["<Root>", "p", "a", "z"]


def test_strong_guarantee_and_weight() -> None:
    """A guarantee of 60 beside an equal weight: what the guarantee leaves is halved."""
    data = cluster(
        pools=[{"name": "owner", "strong_guarantee": {"r0": 60}}, {"name": "other"}],
        operations=[operation("a", "owner"), operation("b", "other")],
    )
    shares = reference_fair_share(data, main_resource="r0")
    owner = shares.names.index("owner")
    assert shares["fair_share"][owner, 0] == pytest.approx(0.8)
    assert shares["fair_share.strong_guarantee"][owner, 0] == pytest.approx(0.6)
    assert shares["fair_share.weight_proportional"][owner, 0] == pytest.approx(0.2)
    assert shares["inferred_strong_guarantee"][owner, 0] == 60


def test_volume_goes_on_from_the_state() -> None:
    pool = {"name": "p", "integral": {"type": "relaxed", "resource_flow": {"r0": 10}}}
    data = cluster(pools=[pool], operations=[], now=60, previous_update=0)
    first = reference_fair_share(data)
    assert first["volume.accumulated_after"][1, 0] == pytest.approx(600)
    more = {**data, "now": 120, "previous_update": 60, "operations": [operation("o", "p", 30)]}
    second = reference_fair_share(more, state=first.state)
    assert second["volume.accumulated_after"][1, 0] == pytest.approx(1200)
    assert second["fair_share.integral_guarantee"][1, 0] == pytest.approx(0.2)
    assert reference_fair_share(more)["fair_share.integral_guarantee"][1, 0] == pytest.approx(0.1)


def test_satisfaction() -> None:
    operations = [
        operation("half", None, 40, usage={"r0": 20}),
        operation("over", None, 100, usage={"r0": 100}),
    ]
    shares = reference_fair_share(cluster(pools=[{"name": "empty"}], operations=operations))
    satisfaction = dict(zip(shares.names, shares["satisfaction"], strict=True))
    assert satisfaction["half"] == pytest.approx(0.5)
    assert satisfaction["over"] == pytest.approx(100 / 60)
    assert satisfaction["<Root>"] == satisfaction["half"]
    assert satisfaction["empty"] == 1e9


def test_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="improve"):
        reference_fair_share(cluster(), improve=True)


def test_usage_and_demand_of_allocations_and_requests() -> None:
    work: list[dict[str, Any]] = [
        {"name": "a0", "operation": "o", "resources": {"r0": 8}},
        {"name": "a1", "operation": "o", "resources": {"r0": 16}, "state": "preempting"},
        {"name": "a2", "operation": "o", "resources": {"r0": 32}, "state": "preempted", "held": {"r0": 4}},
    ]
    requests = [{"name": "q", "operation": "o", "resources": {"r0": 5}, "count": 3}]
    nodes: list[dict[str, Any]] = [
        {"name": "n", "capacity": {"r0": 60}},
        {"name": "m", "capacity": {"r0": 40}},
    ]
    nodes.append({"name": "off", "capacity": {"r0": 99}, "schedulable": False})
    data = cluster(operations=[{"name": "o"}], allocations=work, requests=requests, nodes=nodes)
    del data["total"]
    shares = reference_fair_share(data)
    assert shares["usage_share"][1, 0] == pytest.approx(0.12)
    assert shares["demand_share"][1, 0] == pytest.approx(0.27)


def test_cpu_is_rounded_and_other_resources_are_cut() -> None:
    """Implied guarantees of three pools with a third each: 33.33 cpu, 33 of anything else."""
    resources = {"vcores": {"quantum": 0.01}, "gpu": {}, "shards": {"quantum": 0.01}}
    pools = [{"name": n, "strong_guarantee": {"main": 1}} for n in "abc"]
    data = {
        "resources": {"main": {}, **resources},
        "total": {"main": 3, "vcores": 100, "gpu": 100, "shards": 100},
    }
    shares = reference_fair_share({**data, "pools": pools}, main_resource="main")
    assert shares["inferred_strong_guarantee"][1] == pytest.approx([1, 33.33, 33, 33.33])
    data["total"] = {"main": 3, "vcores": 200, "gpu": 200, "shards": 200}
    shares = reference_fair_share({**data, "pools": pools}, main_resource="main")
    assert shares["inferred_strong_guarantee"][1] == pytest.approx([1, 66.67, 66, 66.66])


@pytest.mark.parametrize(("cpu", "expected"), [(100, True), (99, False), (40, False)])
def test_tie_of_a_cap_that_is_hit_exactly(cpu: int, expected: bool) -> None:
    """The first operation takes all of one resource, the second wants another only."""
    data = {
        "resources": {"cpu": {}, "memory": {}},
        "total": {"cpu": 100, "memory": 100},
        "pools": [{"name": "p", "mode": "fifo"}],
        "operations": [
            {"name": "a", "pool": "p", "weight": 2, "demand": {"cpu": cpu}},
            {"name": "b", "pool": "p", "demand": {"memory": 50}},
        ],
    }
    assert tie_dependent(data) is expected
