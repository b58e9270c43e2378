"""Drawn plans of every system, whose explanations are checked.

    python -m tests.properties.explaining PLANS [SYSTEM...] [--seed N]

draws so many plans a system, prints what is false by table and code, each with the first sentence or number
that was found, and exits with 1 if there is any.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.plans import Plan
from evenhand.testing.explanations import falsehoods
from evenhand.testing.strategies import plan_inputs, policies, system_cluster_dicts

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from evenhand.testing.strategies import PlanInput

__all__ = ["SYSTEMS", "plans", "some_plans"]

SYSTEMS = ("ytsaurus", "yunikorn", "backendai", "slurm", "gridengine")


def plans(system: str) -> SearchStrategy[Plan]:
    """Draw plans of one system: crowded clusters, settings of one's own, with YTsaurus states, too."""
    if system == "ytsaurus":
        return plan_inputs().map(_planned)
    return st.tuples(system_cluster_dicts(system), policies(system)).map(_of)


def _of(drawn: tuple[dict[str, Any], Any]) -> Plan:
    return eh.plan(eh.Snapshot.from_dict(drawn[0]), drawn[1])


def _planned(drawn: PlanInput) -> Plan:
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    state = eh.State.from_dict(drawn.state) if drawn.state else None
    snapshot = eh.Snapshot.from_dict(drawn.snapshot)
    return eh.plan(snapshot, policy, state, on=drawn.on, given=drawn.given)


def some_plans(system: str, count: int, first: int = 0) -> list[Plan]:
    """Return so many drawn plans; others for another number."""
    found: list[Plan] = []
    _each(system, count, first, found.append)
    return found


def _each(system: str, count: int, first: int, look: Callable[[Plan], None]) -> None:
    @seed(first)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(plans(system))
    def drawn(plan: Plan) -> None:
        look(plan)

    drawn()


def _false(system: str, count: int, first: int) -> bool:
    """Print what the plans of one system explain falsely."""
    counted: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], str] = {}
    began, drawn = time.monotonic(), 0

    def look(plan: Plan) -> None:
        nonlocal drawn
        drawn += 1
        for one in falsehoods(plan):
            counted[one.table, one.code] += 1
            shown.setdefault((one.table, one.code), f"plan {drawn}: {one}")

    _each(system, count, first, look)
    took = time.monotonic() - began
    print(f"{system}: {drawn:,} plans in {took:,.0f} s, {counted.total():,} falsehoods", flush=True)
    for key, many in counted.most_common():
        print(f"  {many:6,} {' '.join(key)}: {shown[key]}", flush=True)
    return bool(counted)


def main() -> int:
    """Check as many plans as the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.properties.explaining", allow_abbrev=False)
    parser.add_argument("plans", type=int)
    parser.add_argument("systems", nargs="*", metavar="SYSTEM")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    false = [system for system in chosen.systems or SYSTEMS if _false(system, chosen.plans, chosen.seed)]
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
