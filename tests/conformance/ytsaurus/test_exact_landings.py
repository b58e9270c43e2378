"""Where a jump lands exactly on a guarantee, the engine does as the published method.

Such landings are no accident: a gang that wants what its pool is guaranteed makes one, and so does an
integral pool, whose share ends exactly where its children's demands do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conformance.engines import ENGINES

CPU = {"resources": {"cpu": {"quantum": 0.01}, "memory": {}}, "total": {"cpu": 100, "memory": 1000}}
OTHER = {"name": "other", "demand": {"cpu": 100, "memory": 1000}}
VOLUME = {"cpu": 1e6, "memory": 1e7}
TIMES = {"now": 60, "previous_update": 0}


def want(name: str, cpu: float, memory: float = 0, **fields: Any) -> dict[str, Any]:
    return {"name": name, "pool": "p", "demand": {"cpu": cpu, "memory": memory}, "gang": True, **fields}


def promised(guarantee: float, *operations: dict[str, Any], **pool: Any) -> dict[str, Any]:
    row = {"name": "p", "strong_guarantee": {"cpu": guarantee}, "compute_promised_guarantee": True, **pool}
    return {**CPU, "pools": [row], "operations": [OTHER, *operations]}


def integral(kind: str, flow: float, *operations: dict[str, Any], **pool: Any) -> dict[str, Any]:
    given = {"type": kind, "resource_flow": {"cpu": flow}, "accumulated_volume": VOLUME}
    if kind == "burst":
        given["burst"] = {"cpu": flow}
    row = {"name": "p", "integral": given, "compute_promised_guarantee": True, **pool}
    return {**CPU, **TIMES, "pools": [row], "operations": [OTHER, *operations]}


TREES = {
    "gang on the guarantee": promised(20, want("a", 20)),
    "second gang beyond it": promised(20, want("a", 20), want("b", 10)),
    "two equal gangs, room for one": promised(20, want("a", 20), want("b", 20)),
    "two equal gangs, room for both": promised(40, want("a", 20), want("b", 20), want("c", 60)),
    "two gangs up to it": promised(20, want("a", 15), want("b", 5)),
    "second gang barred by the limit": promised(20, want("a", 20), want("b", 30), limits={"cpu": 40}),
    "gang on guarantee and limit": promised(20, want("a", 20), want("b", 10, gang=False), limits={"cpu": 20}),
    "gang, then an operation": promised(20, want("a", 20), want("b", 10, gang=False)),
    "operation, then a gang": promised(20, want("a", 5, gang=False), want("b", 15)),
    "gang of the whole cluster": promised(100, want("a", 100)),
    "growth beside the tightest resource": promised(
        20, want("a", 20, 100, gang=False, usage={"cpu": 20}), limits={"cpu": 60}
    ),
    "gang on the burst share": integral("burst", 20, want("a", 20)),
    "gang and more on the burst share": integral("burst", 20, want("a", 20), want("b", 5)),
    "relaxed share up to the demand": integral("relaxed", 10, want("a", 20)),
    "relaxed share, limited": integral("relaxed", 10, want("a", 20), want("b", 20), limits={"cpu": 20}),
}
SHARES = (
    "fair_share",
    "fair_share.integral_guarantee",
    "promised_guarantee_fair_share",
    "proposed_integral_share",
)


@pytest.mark.parametrize("mode", ["fair_share", "fifo"])
@pytest.mark.parametrize("improved", [False, True])
@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_engine_and_reference_agree(tree: dict[str, Any], improved: bool, mode: str) -> None:
    options = {"step_function_for_gang": True, "improved": improved}
    [pool] = tree["pools"]
    results = [ENGINES[e]({**tree, "pools": [{**pool, "mode": mode}]}, options, None) for e in ENGINES]
    for quantity in SHARES:
        engine, reference = (result.quantities(quantity) for result in results)
        np.testing.assert_allclose(engine, reference, rtol=0, atol=1e-9, err_msg=quantity)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", ["fair_share", "fifo"])
def test_a_gang_gets_the_guarantee_that_it_fills(mode: str, engine: str) -> None:
    result = ENGINES[engine](promised(20, want("a", 20), mode=mode), {"step_function_for_gang": True}, None)
    assert result.quantities("promised_guarantee_fair_share")[result.row("a")][0] == pytest.approx(0.2)
