"""What is said of whole allocations: those that may be preempted at once, and those that never are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME
from evenhand.diagnostics import Diagnostic
from evenhand.fields import TABLES
from evenhand.reasons import ACTIONS, GROUPS, STATUSES
from evenhand.systems.ytsaurus.columns import row_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.plans.plan import Plan
    from evenhand.simulate.result import Result

__all__ = ["of_plan", "of_run"]

_CROSSING = "consider_allocation_on_fair_share_bound_preemptible"
_SCOPE = "scheduling_preemption_priority_scope"
_EQUAL = 1e-9  # shares so near each other are equal, as in the core
_PREEMPTIBLE = GROUPS.index("preemptible")
_BELOW = STATUSES.index("below_fair_share")
_RUNNING = TABLES["allocations"]["state"].words.index("running")


def of_plan(plan: Plan) -> tuple[Diagnostic, ...]:
    """Return what a plan starts that may be preempted at once, and what stays though others wait."""
    bounds = _Bounds(plan)
    found = _starts(*bounds.exposed_starts())
    if plan.policy.setting(_CROSSING):
        return found
    staying = bounds.staying()
    preemptible = np.asarray(plan._core.groups()) == _PREEMPTIBLE
    above = len(staying) + len(np.unique(_operations(plan)[preemptible]))
    waiting = _waiting(plan) if 2 * len(staying) > above else 0
    if not waiting:
        return found
    names = plan.snapshot.names("operations")
    said = (
        f"{_of(len(staying), above)} above the fair share {_have(len(staying))} one allocation each: it"
        f" stays, as {_CROSSING} is off, while {_counted(waiting, 'operation')} below the fair share, or in"
        f" a pool that is, {'waits' if waiting == 1 else 'wait'}. {_CURE}"
    )
    numbers = {"operations": len(staying), "above": above, "waiting": waiting}
    return (*found, Diagnostic("single_allocations_stay", tuple(names[o] for o in staying), said, numbers))


def of_run(result: Result) -> tuple[Diagnostic, ...]:
    """Return whether operations of a simulation preempted each other in turns, or what stayed."""
    found = _turns(result)
    spells = len(result.raw["spells"]["from"])
    if result.policy.setting(_CROSSING) or not spells:
        return found
    started = result.raw["operations"]["first_start"] != NO_TIME
    single = started & (_asked(result) == 1)
    count, every = int(single.sum()), int(started.sum())
    if 2 * count <= every:
        return found
    said = (
        f"{_of(count, every)} that started {_have(count)} one allocation, which is not preemptible while its"
        f" operation is owed anything, as {_CROSSING} is off; there were {_counted(spells, 'spell')} of"
        f" starvation. {_CURE}"
    )
    numbers = {"operations": count, "started": every, "spells": spells}
    return (*found, Diagnostic("single_allocations_stay", (), said, numbers))


_CURE = (
    "Where the jobs of an owner or of an array are one operation, what is beyond its fair share is"
    " preemptible."
)


def _counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _of(count: int, every: int) -> str:
    return f"{count:,} of {_counted(every, 'operation')}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _starts(crossing: int, beyond: int) -> tuple[Diagnostic, ...]:
    """Say what starts and may be preempted at once, and by which setting that ends."""
    if not crossing + beyond:
        return ()
    said = []
    if crossing:
        said.append(
            f"{_counted(crossing, 'start')} of this plan may be preempted at once: what starts is more than"
            f" the rest of its operation's fair share, and {_CROSSING} is on. So operations can preempt each"
            " other in turns, without end; with that setting off they do not."
        )
    if beyond:
        said.append(
            f"{_counted(beyond, 'start')} of this plan, for which others leave, may be preempted at once: the"
            f" operation has its fair share already, and preempts on the strength of a pool. With {_SCOPE}"
            ' "operation_only" it does not.'
        )
    numbers = {"starts": crossing + beyond, "crossing": crossing, "beyond": beyond}
    return (Diagnostic("starts_preemptible", (), " ".join(said), numbers),)


def _turns(result: Result) -> tuple[Diagnostic, ...]:
    """Say how often work left for what it had been preempted for, and by which setting that ends."""
    decisions, settings = result.raw["decisions"], result.policy.settings
    taken = (decisions["action"] == ACTIONS.index("preempt")) & (decisions["beneficiary_operation"] >= 0)
    lost: set[tuple[int, int]] = set()
    turns = 0
    pairs = zip(
        decisions["operation"][taken].tolist(),
        decisions["beneficiary_operation"][taken].tolist(),
        strict=True,
    )
    for loser, winner in pairs:
        turns += (winner, loser) in lost
        lost.add((loser, winner))
    if not turns:
        return ()
    if getattr(settings, _CROSSING):
        cause, end = f"{_CROSSING} is on, so what starts may be preempted at once", "with that setting off"
    elif settings.enable_aggressive_starvation:
        cause = "enable_aggressive_starvation is on, and what starts is aggressively preemptible at once"
        end = "with that setting off"
    else:
        cause = "operations preempt on the strength of their pools, beyond their own fair shares"
        end = f'with {_SCOPE} "operation_only"'
    said = (
        f"{_counted(turns, 'preemption')} of this run took from an operation what it had preempted from the"
        f" same one before: {cause}. That ends {end}, or by a pace (victim_cooldown, spare_if_ran_less_than)."
    )
    return (Diagnostic("starts_preemptible", (), said, {"turns": turns}),)


class _Bounds:
    """Bounds beyond which work of operations is preemptible, at a plan's update."""

    def __init__(self, plan: Plan) -> None:
        core, shares = plan.snapshot._core, plan.shares
        self.plan, self.core, self.settings = plan, core, plan.policy.settings
        first = core.pool_count
        self.fair, self.demand = shares["fair_share"][first:], shares["demand_share"][first:]
        total = np.asarray(core.total, np.float64)
        self.total = np.where(total > 0, total, np.inf)
        unset = np.full((first + core.operation_count, len(total)), -1)
        self.threshold = np.asarray(plan._core.elements().get("usage_threshold", unset))[first:]
        self.used = np.zeros((core.operation_count, len(total)), np.int64)
        self.amounts = np.asarray(core.column("allocations", "resources")).reshape(-1, len(total))
        running = _running(plan)
        np.add.at(self.used, _operations(plan)[running], self.amounts[running])
        self.whole = np.array(core.column("operations", "usage")).reshape(-1, len(total))

    def within(self, o: int, used: Any, whole: Any, *, on_bound: bool) -> bool:
        """Return whether so much is not above the bound; `whole`: with what is counted elsewhere."""
        fair, demand, threshold = self.fair[o], self.demand[o], self.threshold[o]
        if (np.abs(fair - demand) <= _EQUAL).all() and (demand > _EQUAL).any():
            return True
        named = threshold >= 0
        safe = whole if self.settings.usage_threshold_scope == "operation" else used
        if named.any() and (safe < threshold)[named].all():
            return True
        share, bound = used / self.total, fair * self.settings.preemption_satisfaction_threshold
        if on_bound and (np.abs(share - bound) <= _EQUAL).all():
            return True
        is_open, below = fair < demand - _EQUAL, bound > share + _EQUAL
        return bool(below[is_open].all() if is_open.any() else below.any())

    def staying(self) -> list[int]:
        """Return operations whose only allocation stays because what crosses a bound is within it."""
        core, operations, running = self.core, _operations(self.plan), _running(self.plan)
        alone = np.bincount(operations[running], minlength=core.operation_count) == 1
        rows = np.flatnonzero(
            running
            & alone[operations]
            & (np.asarray(core.column("allocations", "preemptible")) != 0)
            & (np.asarray(self.plan._core.groups()) != _PREEMPTIBLE)
        )
        given = set(map(str, (self.plan.given or {}).get("groups", {})))
        names = self.plan.snapshot.names("allocations")
        its = [int(operations[row]) for row in rows.tolist() if str(names[row]) not in given]
        return [o for o in its if not self.within(o, self.used[o], self.whole[o], on_bound=True)]

    def exposed_starts(self) -> tuple[int, int]:
        """Return how many starts cross a bound or are beyond it, and may be preempted as soon as they run.

        They cross one only where this makes them preemptible; those in free room beyond it are not counted.
        """
        decisions, core = self.plan.decisions.columns, self.core
        on = getattr(self.settings, _CROSSING)
        preempts = decisions["action"] == ACTIONS.index("preempt")
        served = set(decisions["step"][preempts].tolist())
        if not on and not served:
            return 0, 0
        needs = np.asarray(core.column("requests", "resources")).reshape(-1, len(self.total))
        may_leave = np.asarray(core.column("requests", "preemptible")) != 0
        barred = self._barred()
        used, whole = self.used.copy(), self.whole.copy()
        crossing = beyond = 0
        for row, (o, preempted) in enumerate(zip(decisions["operation"].tolist(), preempts, strict=True)):
            if preempted:
                amount = -self.amounts[decisions["allocation"][row]]
            elif decisions["action"][row] == ACTIONS.index("start"):
                request, step = int(decisions["request"][row]), int(decisions["step"][row])
                amount = needs[request]
                after = used[o] + amount, whole[o] + amount
                if (on or step in served) and may_leave[request] and o not in barred:
                    if not self.within(o, used[o], whole[o] + amount, on_bound=False):
                        beyond += step in served
                    elif on and not self.within(o, *after, on_bound=True):
                        crossing += 1
            else:
                continue
            used[o] += amount
            whole[o] += amount
        return crossing, beyond

    def _barred(self) -> set[int]:
        """Return operations of which their pools keep the preemptive stage away."""
        allowed = row_columns(self.plan.snapshot, self.settings).get("allow_normal")
        if allowed is None:
            return set()
        parents = np.asarray(self.core.column("pools", "parent")).tolist()
        closed = [not flag for flag in allowed]
        for pool, above in enumerate(parents):  # pools stand before those in them
            closed[pool] |= above >= 0 and closed[above]
        pools = np.asarray(self.core.column("operations", "pool")).tolist()
        return {o for o, pool in enumerate(pools) if closed[pool]}


def _operations(plan: Plan) -> NDArray[Any]:
    return np.asarray(plan.snapshot._core.column("allocations", "operation"))


def _running(plan: Plan) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.asarray(plan.snapshot._core.column("allocations", "state")) == _RUNNING
    return found


def _waiting(plan: Plan) -> int:
    """Return how many operations still want something, and are below their share or in a pool that is."""
    core, decisions = plan.snapshot._core, plan.decisions.columns
    started = decisions["request"][decisions["action"] == ACTIONS.index("start")]
    left = np.asarray(core.column("requests", "count")) - np.bincount(started, minlength=core.request_count)
    asking = np.unique(np.asarray(core.column("requests", "operation"))[left > 0])
    below = np.asarray(plan._core.elements()["status"]) == _BELOW
    parents = np.asarray(core.column("pools", "parent"))
    pools = np.asarray(core.column("operations", "pool"))

    def waits(operation: int) -> bool:
        element, above = core.pool_count + operation, int(pools[operation])
        while not below[element] and above >= 0:
            element, above = above, int(parents[above])
        return bool(below[element])

    return sum(map(waits, asking.tolist()))


def _asked(result: Result) -> NDArray[Any]:
    """Return how many allocations each operation of a run has had or asked for, by row."""
    first = result.snapshot.operation_count
    asked = np.zeros(len(result.operation_names), np.int64)
    start, coming = result.snapshot._core, result._parsed.rows._core
    np.add.at(asked, np.asarray(start.column("allocations", "operation")), 1)
    for core, begin in ((start, 0), (coming, first)):
        of = np.asarray(core.column("requests", "operation")) + begin
        np.add.at(asked, of, np.asarray(core.column("requests", "count")))
    return asked
