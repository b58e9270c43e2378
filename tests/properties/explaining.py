"""Drawn plans of every system, whose explanations are checked.

    python -m tests.properties.explaining PLANS [SYSTEM...] [--seed N]

draws so many plans a system, prints what is false by table and code, each with the first sentence or number
that was found, and exits with 1 if there is any.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

import evenhand as eh
from evenhand.plans import Plan
from evenhand.testing.strategies import plan_inputs, policies, system_cluster_dicts
from evenhand.testing.strategies._picking import Pick, picks
from tests.drawing import each, every_system
from tests.properties.gridengine.asking import asked_for
from tests.reference.explanations import falsehoods

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import SearchStrategy

    from evenhand.testing.strategies import PlanInput

__all__ = ["SYSTEMS", "plans", "some_plans"]

_ON: Mapping[str, tuple[Any, ...]] = {
    "yunikorn": (None, None, None, *map(eh.Cycle, ("allocation", "quota", "both"))),
    "gridengine": (None, eh.Commands()),
    "slurm": (None, None, None, *(eh.SchedulingRun((one,)) for one in ("main", "backfill"))),
}

SYSTEMS = ("ytsaurus", "yunikorn", "backendai", "slurm", "gridengine")


def plans(system: str, *, first: bool = False) -> SearchStrategy[Plan]:
    """Draw plans of one system: crowded clusters, settings of one's own, with YTsaurus states, too.

    Of the others also single cycles and passes, what persons asked for before, and a second plan; not if only
    first plans are wanted.
    """
    if system == "ytsaurus":
        return plan_inputs().map(_planned)
    on = st.sampled_from((None,) if first else _ON.get(system, (None,)))
    after = st.sampled_from((False,) if first else (False, False, False, True))
    return st.tuples(system_cluster_dicts(system), policies(system), on, picks(32), after).map(_of)


def _of(drawn: tuple[dict[str, Any], Any, Any, Pick, bool]) -> Plan:
    """Plan: of Grid Engine half of them what persons asked for before; one in four again, once it is done."""
    data, policy, on, pick, after = drawn
    snapshot, state = eh.Snapshot.from_dict(data), None
    if isinstance(on, eh.Commands):
        on, state = None, eh.plan(snapshot, policy, on=eh.Commands((asked_for(data, pick),))).state
    plan = eh.plan(snapshot, policy, state, on=on)
    return eh.plan(snapshot.after(plan), policy, plan.state) if after else plan


def _planned(drawn: PlanInput) -> Plan:
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    state = eh.State.from_dict(drawn.state) if drawn.state else None
    snapshot = eh.Snapshot.from_dict(drawn.snapshot)
    return eh.plan(snapshot, policy, state, on=drawn.on, given=drawn.given)


def some_plans(system: str, count: int, first: int = 0) -> list[Plan]:
    """Return so many first plans; others for another number."""
    found: list[Plan] = []
    each(plans(system, first=True), count, first, found.append)
    return found


def _true(system: str, count: int, first: int) -> bool:
    """Print what the plans of one system explain falsely; whether there is nothing."""
    counted: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], str] = {}
    began, drawn = time.monotonic(), 0

    def look(plan: Plan) -> None:
        nonlocal drawn
        drawn += 1
        for one in falsehoods(plan):
            counted[one.table, one.code] += 1
            shown.setdefault((one.table, one.code), f"plan {drawn}: {one}")

    each(plans(system), count, first, look)
    took = time.monotonic() - began
    print(f"{system}: {drawn:,} plans in {took:,.0f} s, {counted.total():,} falsehoods", flush=True)
    for key, many in counted.most_common():
        print(f"  {many:6,} {' '.join(key)}: {shown[key]}", flush=True)
    return not counted


if __name__ == "__main__":
    sys.exit(every_system("tests.properties.explaining", SYSTEMS, _true))
