"""Laws of plans of queues: they hold without the defects, and each defect breaks its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, find, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

import evenhand as eh
from evenhand.systems.yunikorn.settings import SWITCHES
from evenhand.testing.queue_laws import BROKEN_BY, QueuePlan, check_queue_plan
from tests.drawing import examples
from tests.properties.yunikorn.partitions import partitions
from tests.properties.yunikorn.tight import tight
from tests.shared import DATA

FIXED = eh.policies.YuniKorn("upstream", **dict.fromkeys(SWITCHES, False))
DOCUMENTED = eh.policies.YuniKorn(limit=1.0)
either = st.one_of(tight(), partitions())


def planned(data: Mapping[str, Any], policy: Any) -> QueuePlan:
    snapshot = eh.Snapshot.from_dict(data)
    return QueuePlan(snapshot.to_dict(), eh.plan(snapshot, policy).to_dict(), policy.settings)


@pytest.mark.parametrize("policy", [DOCUMENTED, FIXED], ids=["documented", "upstream without defects"])
@given(data=either)
def test_all_laws_hold(policy: Any, data: dict[str, Any]) -> None:
    run = planned(data, policy)
    check_queue_plan(run.snapshot, run.plan, run.settings)


def breaks(switch: str, data: Mapping[str, Any]) -> bool:
    """Whether the preset "upstream" breaks the law of a switch; without the switch it never does."""
    upstream = eh.policies.YuniKorn("upstream")
    for policy in (upstream.replace(**{switch: False}), FIXED):
        BROKEN_BY[switch](planned(data, policy))
    try:
        BROKEN_BY[switch](planned(data, upstream))
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("switch", BROKEN_BY)
def test_each_defect_breaks_its_law(switch: str) -> None:
    """On the smallest partitions that the search below has found."""
    assert breaks(switch, json.loads((DATA / "yunikorn-defects.json").read_text())[switch])


@pytest.mark.skipif(examples() < 1000, reason="at night there is time to search")
@pytest.mark.parametrize("switch", BROKEN_BY)
def test_each_defect_is_found(switch: str) -> None:
    limits = bounds(
        max_examples=4000,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    print(switch, json.dumps(find(tight(), lambda data: breaks(switch, data), settings=limits)))


@pytest.mark.parametrize("switch", BROKEN_BY)
@bounds(max_examples=examples(0.3))
@given(data=either)
def test_with_the_switch_fixed_the_law_holds(switch: str, data: dict[str, Any]) -> None:
    BROKEN_BY[switch](planned(data, eh.policies.YuniKorn("upstream", **{switch: False})))
