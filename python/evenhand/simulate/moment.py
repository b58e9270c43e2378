"""A decision of a run that has passed: the plan that it was part of, made again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import plain
from evenhand.arguments import expect
from evenhand.config.triggers import Heartbeat, SchedulingRun
from evenhand.explain.explanation import Claim
from evenhand.explain.facts import name_of
from evenhand.plans.mapped import frozen_answers
from evenhand.plans.plan import Plan
from evenhand.reasons import ACTIONS
from evenhand.simulate.running import Simulation
from evenhand.units.text import instant

if TYPE_CHECKING:
    from evenhand.explain import Explanation
    from evenhand.simulate.result import Result

__all__ = ["Moment", "moment"]


@dataclass(frozen=True)
class Moment:
    """What was decided at one step of a run.

    Attributes
    ----------
    plan : Plan
        Of the cluster just before.
    row : int
        Which of its decisions was asked for.
    result : Result
        Of the run.
    decision : int
        The row there.
    """

    plan: Plan
    row: int
    result: Result
    decision: int

    def why(self) -> Explanation:
        """Return why it was decided."""
        decision = self.plan.decisions[self.row]
        if decision.action in ("preempt", "resume"):
            said = self.plan.why(str(decision.allocation), table="allocations")
            more = self._before() if decision.action == "preempt" else []
            return replace(said, claims=(*said.claims, *more))
        return self.plan.why(str(decision.request), table="requests")

    def _before(self) -> list[Claim]:
        """Say how often work of the operation was preempted before, and what ends turns."""
        raw = self.result.raw["decisions"]
        time, operation = raw["time"][self.decision], raw["operation"][self.decision]
        served, by = raw["beneficiary_operation"][self.decision], raw["beneficiary_operation"]
        earlier = (raw["action"] == ACTIONS.index("preempt")) & (raw["time"] < time)
        found = []
        own = earlier & (raw["operation"] == operation)
        if count := len(np.unique(raw["time"][own])):
            name = name_of(self.result.operation_names[operation])
            last = instant(float(raw["time"][own][-1]) / 1e6, float(time) / 1e6)
            often = "once" if count == 1 else f"{count:,} times"
            said = (
                f"Work of {name} was preempted {often} before in this run, last at {last}: this is time"
                f" {count + 1:,}."
            )
            found.append(Claim("before", said, {"count": count}))
        if (earlier & (raw["operation"] == served) & (by == operation)).any():
            notes = self.result.diagnostics
            found += [Claim("turns", n.message, n.numbers) for n in notes if n.code == "starts_preemptible"]
        return found


def moment(result: Result, decision: int) -> Moment:
    """Return the plan that a decision was part of."""
    times = result.raw["decisions"]["time"]
    decision = plain(decision)
    whole = isinstance(decision, int) and not isinstance(decision, bool)
    right = whole and 0 <= decision < len(times)
    expect(right, "simulation", "decision", decision, f"a row of the {len(times)} decisions")
    decision = int(decision)
    time = int(times[decision])
    run = Simulation._of(result._made)
    if time > run._core.now:
        run._core.run(time - 1)
    before = run.copy()
    while run._core.decided <= decision:
        steps, first = run._core.steps, run._core.decided
        run._core.run(time, 1)
    steps -= before._core.steps
    run, on, arguments = _poised(result, before, steps)
    run._core.planner.decide(**arguments)

    def traced(kind: str, row: int) -> Any:
        again, _, arguments = _poised(result, before, steps)
        return again._core.planner.traced(kind, row, **arguments)

    snapshot, core = frozen_answers(run._core.planner, run._frozen, result.policy.RECORD.memory, traced)
    return Moment(Plan(snapshot, result.policy, core, None, on), decision - first, result, decision)


def _poised(result: Result, before: Simulation, steps: int) -> tuple[Simulation, Any, dict[str, Any]]:
    """Return a copy that stands so many steps later, before one that asks the planner; what it asks."""
    run = before.copy()
    run._core.run(None, steps)
    node, main, backfill = run._core.poise()
    if node >= 0:
        return run, Heartbeat(result.snapshot.names("nodes")[node]), {"nodes": [node]}
    on = result.policy._trigger(None)
    if isinstance(on, SchedulingRun):
        on = replace(on, passes=("main",) * main + ("backfill",) * backfill)
    return run, on, {"main_pass": main, "backfill_pass": backfill}
