"""Passes of the preset "upstream" through `eh.plan`, against the readable reference."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given

import evenhand as eh
from tests.properties.yunikorn.partitions import partitions
from tests.reference.yunikorn.upstream import reference_passes


@given(partitions())
def test_the_plan_is_that_of_the_reference(data: dict[str, Any]) -> None:
    snapshot = eh.Snapshot.from_dict(data)
    plan = eh.plan(snapshot, eh.policies.YuniKorn("upstream"))
    said = [(d.action, d.allocation if d.action == "preempt" else d.request, d.node) for d in plan.decisions]
    event(f"victims: {sum(action == 'preempt' for action, _, _ in said)}")
    assert said == reference_passes(snapshot)
