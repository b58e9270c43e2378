"""Whatever happens to a live cluster: it is as if all had been built afresh, for every system."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import evenhand as eh
from evenhand.systems import SYSTEMS
from tests.drawing import examples
from tests.properties.living import lived

#: Where planted defects are looked for, each is to be found in so many lives.
LIVES = 25 if examples() <= 30 else 300


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_live_cluster_says_what_a_frozen_one_does(system: str) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for number in range(LIVES):
        trace = lived(system, number, 0, counts)
        assert not trace, f"life {number}: {trace[-1]}"
    assert sum(n for (kind, _), n in counts.items() if kind == "victim") > LIVES / 10


@pytest.mark.parametrize("system", SYSTEMS)
def test_long_lives(system: str) -> None:
    for number in range(LIVES // 20):
        trace = lived(system, number, 1, Counter(), steps=60)
        assert not trace, f"life {number}: {trace[-1]}"


@pytest.mark.parametrize("between", [(), ({"event": "time", "now": 1},)])
def test_a_request_that_is_put_twice_is_there_once(between: tuple[Any, ...]) -> None:
    rows: dict[str, Any] = {
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "operations": [{"name": "o"}],
    }
    cluster = eh.Cluster(eh.Snapshot.from_dict(rows))
    z = {"name": "z", "operation": "o", "resources": {"cpu": 1}}
    node = {"name": "m", "capacity": {"cpu": 1}}
    cluster.apply([{"event": "put", "table": "requests", "row": z}])
    put = [{"event": "put", "table": table, "row": row} for table, row in (("nodes", node), ("requests", z))]
    cluster.apply([put[0], *between, put[1]])
    expected = {**rows, "now": len(between), "nodes": [*rows["nodes"], node], "requests": [z]}
    assert cluster.snapshot() == eh.Snapshot.from_dict(expected)
    assert len(cluster.plan(eh.policies.BackendAI()).decisions.starts) == 1
