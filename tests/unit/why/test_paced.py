"""When the pace lets go, as explanations name it."""

from __future__ import annotations

import pytest

import evenhand as eh
from tests.unit.plans.test_pace import NOW, SYSTEMS, cluster, planned, system


@system
@pytest.mark.parametrize(("most", "said"), [(0, False), (1, False), (2, True)])
def test_a_pool_beyond_its_cap_names_no_instant(system: str, most: int, said: bool) -> None:
    kept = {"schema": "evenhand/state/1", "time": NOW - 1, "settings": "", "pools": []}
    rows = [{"kind": "pool", "name": "p", "taken": [NOW - 2, NOW - 1]}]
    state = eh.State.from_dict({**kept, "victims": rows})
    told = planned(SYSTEMS[system](), cluster(p={"max_victims_per_hour": most}), state).why_not("a0")
    assert told.code == "pool_victims_per_hour"
    assert ("again_from" in told.numbers) == said
