"""Every rule is held by the engine and by the readable reference."""

from __future__ import annotations

import pytest

from tests.unit.ytsaurus import cluster


@pytest.fixture(params=[cluster.engine, cluster.reference], ids=["engine", "reference"])
def plan(request: pytest.FixtureRequest) -> cluster.Planner:
    """Plan one heartbeat of node n."""
    found: cluster.Planner = request.param
    return found
