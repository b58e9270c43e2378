"""The implementations of plans that the properties are held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import evenhand as eh
from evenhand.testing.strategies import PlanInput
from tests.reference.ytsaurus import reference_plan

Compute = Callable[[PlanInput], Mapping[str, Any]]


def reference(drawn: PlanInput) -> Mapping[str, Any]:
    """The readable reference."""
    snapshot = eh.Snapshot.from_dict(drawn.snapshot)
    return reference_plan(snapshot, drawn.settings, drawn.state, on=drawn.on, given=drawn.given)


def engine(drawn: PlanInput) -> Mapping[str, Any]:
    """The library itself."""
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    state = eh.State.from_dict(drawn.state) if drawn.state else None
    snapshot = eh.Snapshot.from_dict(drawn.snapshot)
    return eh.plan(snapshot, policy, state, on=drawn.on, given=drawn.given).to_dict()
