"""Plans recorded once: bytes stay, on any compiler, with any number of threads, for rows in any order.

``python -m tests.golden.test_plans`` records them anew; look at the difference before you commit it.
"""

from __future__ import annotations

import hashlib
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand import synthetic
from evenhand.arguments import as_json

RECORDED = Path(__file__).parents[1] / "data" / "golden"
SMALL = {"pools": 8, "depth": 3, "operations": 12, "allocations": 60, "nodes": 6, "seed": 11}
PRESETS = ("documented", "upstream")


def cluster(later: float) -> dict[str, Any]:
    """Return the small cluster so many seconds after its first instant."""
    data = synthetic.cluster(**SMALL)  # type: ignore[arg-type]
    return {**data, "now": data["now"] + later}


def plans(preset: str, shuffle: random.Random | None = None) -> list[dict[str, Any]]:
    """Plan at once and ten minutes later, when somebody starves."""
    policy = eh.policies.YTsaurus(preset, enable_aggressive_starvation=True)
    state, found = None, []
    for later in (0.0, 600.0):
        data = cluster(later)
        if shuffle is not None:
            for table in ("nodes", "pools", "operations", "allocations", "requests"):
                shuffle.shuffle(data[table])
        plan = eh.plan(eh.Snapshot.from_dict(data), policy, state)
        state = plan.state
        found.append(recorded(plan))
    return found


def text(preset: str) -> str:
    """Return the recorded form."""
    return json.dumps(plans(preset), indent=1, sort_keys=True) + "\n"


@pytest.mark.parametrize("preset", PRESETS)
def test_the_plan_is_the_recorded_one(preset: str) -> None:
    assert (RECORDED / f"plan-{preset}.json").read_text() == text(preset)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_order_of_rows_does_not_matter(preset: str) -> None:
    assert plans(preset, random.Random(7)) == plans(preset)


def test_two_threads_give_the_bytes_of_one() -> None:
    alone = {preset: text(preset) for preset in PRESETS}
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(text, PRESETS * 8))
    assert found == [alone[preset] for preset in PRESETS * 8]


def recorded(plan: eh.Plan) -> dict[str, Any]:
    """Return what is recorded of a plan: all but which build made it."""
    return {part: value for part, value in plan.to_dict().items() if part != "provenance"}


def demo() -> tuple[eh.Plan, str]:
    """Return the demo's second plan, and a digest of it."""
    snapshot = synthetic.demo()
    policy = eh.policies.YTsaurus()
    first = eh.plan(snapshot, policy)
    plan = eh.plan(snapshot.replace(now=snapshot.now + 600), policy, first.state)
    return plan, hashlib.sha256(as_json(recorded(plan), None).encode()).hexdigest()


def test_the_demo_is_planned_as_recorded() -> None:
    plan, digest = demo()
    assert digest == (RECORDED / "plan-demo.sha256").read_text().strip()
    assert any(d.action == "preempt" for d in plan.decisions)


def record() -> None:
    """Write the plans anew."""
    for preset in PRESETS:
        (RECORDED / f"plan-{preset}.json").write_text(text(preset))
    (RECORDED / "plan-demo.sha256").write_text(demo()[1] + "\n")


if __name__ == "__main__":
    record()
