"""Names, amounts and shares as they stand in sentences."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.plans.columns import objects
from evenhand.reasons import GROUPS, OUTCOMES
from evenhand.units import text as written
from evenhand.units.text import amounts, number, percent
from evenhand.units.text import duration as seconds
from evenhand.units.text import share as fraction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from evenhand.plans.plan import Plan
    from evenhand.plans.refusals import Refusal

__all__ = [
    "Facts",
    "amounts",
    "fraction",
    "listed",
    "name_of",
    "number",
    "one_amount",
    "percent",
    "seconds",
    "sentence",
]

_MOST = 4  # resources, names
_EQUAL = 1e-9  # shares that differ by less are the same


def name_of(value: object) -> str:
    """Return a name that is safe to print."""
    from evenhand.display.text import clean

    return clean(value)


def one_amount(value: float) -> str:
    """Return an amount as it is, to ten digits: ``3,457``, ``0.000053``."""
    return number(value)


def sentence(text: str) -> str:
    """Begin a text with a capital, and end it with a full stop."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def listed(names: Iterable[object]) -> str:
    """Return names in a row, the first few of many."""
    shown = [name_of(name) for name in names]
    more = len(shown) - _MOST
    if more > 1:
        return f"{', '.join(shown[:_MOST])} and {more} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


class Facts:
    """Numbers of a plan by the rows of its snapshot."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.snapshot = plan.snapshot
        self.pools = plan.snapshot.pool_count
        #: Whether the policy knows fair shares; else operations are described in the policy's own words.
        self.shared = plan._system.shares
        #: Whether operations are preempted as a whole.
        self.preempts_operations = plan._system.preempts_operations

    @cached_property
    def keys(self) -> list[str]:
        """How elements are called."""
        from evenhand.plans.columns import element_keys

        return element_keys(self.snapshot)

    def name(self, table: str, row: int) -> str | int:
        """Return the name of a row."""
        return self.snapshot.names(table)[row]

    def element(self, row: int) -> str:
        """Return what an element is called in a sentence: ``operation a``, ``pool p``, ``the root``."""
        if row == 0:
            return "the cluster as a whole"
        kind, table, first = (
            ("pool", "pools", 0) if row < self.pools else ("operation", "operations", self.pools)
        )
        return f"{kind} {name_of(self.name(table, row - first))}"

    def of_node(self, name: object, otherwise: str) -> str:
        """Return what a node is called in a sentence: ``node n1``; without one, other words."""
        return otherwise if name is None else f"node {name_of(name)}"

    def compared(self, code: str, operation: int, request: int) -> dict[str, Any]:
        """Return the numbers that a policy compared for an outcome; none of most."""
        numbers = getattr(self.plan.policy, "compared", None)
        return {} if numbers is None else dict(numbers(self.snapshot, code, operation, request))

    def paced(self, trace: Mapping[str, NDArray[Any]], event: int) -> dict[str, Any]:
        """Return what the pace compared where it spared a victim, of a recorded event; else nothing."""
        if "pace" not in trace:
            return {}
        pool, instant = int(trace["pool"][event]), float(trace["instant"][event]) / 1e6
        why = OUTCOMES[int(trace["pace"][event])]
        pace, name = self.setting("pace"), self.element(pool) if pool > 0 else "the cluster"
        if why == "victim_cooldown":
            numbers = {"last_preempted": instant, "victim_cooldown": pace.victim_cooldown}
        elif why == "spared_run_time":
            numbers = {"began": instant, "spare_if_ran_less_than": pace.spare_if_ran_less_than}
        elif why == "spared_ends_soon":
            numbers = {"planned_end": instant, "spare_if_ends_within": pace.spare_if_ends_within}
        elif why == "pool_immune":
            return {"immune": name, "until": instant, "now": self.snapshot.now}
        elif why == "pool_victims_per_hour":
            victims, most = int(trace["victims"][event]), int(trace["most"][event])
            again = {"again_from": instant} if victims else {}
            return {"pool": name, "victims": victims, "max_victims_per_hour": most, **again}
        else:
            return {}
        return {**numbers, "now": self.snapshot.now}

    def object(self, quanta: NDArray[Any], *, zeros: bool = False) -> dict[str, float]:
        """Return one row of quanta as an object."""
        return objects(self.snapshot, np.asarray(quanta)[None, :], zeros=zeros)[0]

    def amounts(self, values: Mapping[str, float], *, beside: Mapping[str, float] | None = None) -> str:
        """Return amounts by resource: ``1.5 cpu``; see `evenhand.units.text.amounts`."""
        return amounts(values, self.snapshot.units, beside=beside)

    def amounts_of(self, values: Mapping[str, float], most: Mapping[str, float]) -> str:
        """Return amounts and what each is held against: ``0 of 8 cpu``."""
        return written.amounts_of(values, most, self.snapshot.units)

    def pairs(self, values: Mapping[str, Any]) -> str:
        """Return what was compared: ``priority 7, preemptible_priority 5``."""
        now, units = self.snapshot.now, self.snapshot.units
        return ", ".join(
            f"{name_of(name.replace('_of_', ' of '))} {written.named(name, value, now, units)}"
            for name, value in values.items()
        )

    def instant(self, value: float) -> str:
        """Return an instant: ``2026-01-01 00:00:30 UTC``, or ``3,600 s`` where times are not Unix times."""
        return written.instant(value, self.snapshot.now)

    def when(self, instant: float) -> str:
        """Return an instant and how far it is from now: ``2026-01-01 00:00:30 UTC (in 20 s)``."""
        return written.when(instant, self.snapshot.now)

    def share(self, quanta: NDArray[Any]) -> NDArray[np.float64]:
        """Return quanta as shares of the cluster's total; 0 of what it has not."""
        total = np.asarray(self.snapshot._core.total, np.float64)
        return np.divide(quanta, total, out=np.zeros(len(total)), where=total > 0)

    def against(self, element: int, used: NDArray[np.float64]) -> str:
        """Return usage against an element's fair share, by the resources that matter."""
        fair = np.asarray(self.plan.shares["fair_share"][element])
        order = np.argsort(-np.maximum(fair, used), kind="stable").tolist()
        rows = [r for r in order if fair[r] > 0 or used[r] > 0][:_MOST]
        names = self.snapshot.resources
        parts = [f"{name_of(names[r])} {fraction(used[r])} of {fraction(fair[r])}" for r in rows]
        return ", ".join(parts) or "0 of 0"

    def usage(self, element: int) -> NDArray[np.float64]:
        """Return an element's usage share at the update."""
        return np.asarray(self.plan.shares["usage_share"][element])

    def refusal(self, request: int) -> Refusal | None:
        """Return what is said of a request that did not start, or not all of it."""
        rows = np.flatnonzero(self.plan.refusals.column("request") == request)
        return self.plan.refusals[int(rows[0])] if len(rows) else None

    def setting(self, name: str) -> Any:
        """Return one of the policy's settings, or None if it has none of that name."""
        return getattr(getattr(self.plan.policy, "settings", None), name, None)

    def order(self, operation: int) -> dict[str, Any]:
        """Return numbers of a policy that say why an operation comes when it comes; none of most."""
        numbers = getattr(self.plan.policy, "order_numbers", None)
        return {} if numbers is None else dict(numbers(self.snapshot, operation))

    def standing(self, element: int) -> str:
        """Say how an element stands to its fair share, or what the policy says of an operation."""
        if not self.shared:
            row = element - self.pools
            return self.element(element) if row < 0 else str(self.plan.policy.standing(self.snapshot, row))
        status = self.plan.statuses.at(element)
        what = self.element(element)
        held = f"of its fair share it has {self.against(element, self.usage(element))}"
        if element == 0:
            return f"{what}: {held}."
        if status.status == "normal":
            return f"{what} is not below its fair share: {held}."
        since = "" if status.since is None else f" for {seconds(self.snapshot.now - status.since)}"
        words = {
            "non_starving": "is below its fair share",
            "starving": "is starving, below its fair share",
            "aggressively_starving": "is aggressively starving, below its fair share",
        }
        waits = ""
        if status.starvation == "non_starving" and status.timeout is not None:
            waits = f"; it starves after more than {seconds(status.timeout)}"
        return f"{what} {words[status.starvation]}{since}: {held}{waits}."

    def claim(self, operation: int) -> str:
        """Say on whose strength an operation preempts; empty if on its own."""
        if not self.shared:
            return ""
        element = self.pools + operation
        status = self.plan.statuses.at(element)
        above = status.lowest_aggressive_ancestor or status.lowest_starving_ancestor
        # Under some settings a pool lends its operations nothing.
        if status.starvation != "non_starving" or status.priority == "none" or above is None:
            return ""
        row = self.keys.index(str(above))
        return f"It may preempt on the strength of a pool: {self.standing(row)}"

    def protection(self, operation: int) -> str:
        """Say where an operation's groups end, as shares of the cluster; empty if nothing of it runs."""
        if not self.shared:
            return ""
        core = self.snapshot._core
        mine = np.asarray(core.column("allocations", "operation")) == operation
        codes = self.plan.groups.codes[mine]
        holds = np.asarray(core.column("allocations", "resources"))[mine]
        ends = [holds[codes <= code].sum(axis=0, dtype=np.int64) for code in range(2)]
        counts = [int((codes == code).sum()) for code in range(len(GROUPS))]
        if not sum(counts):
            return ""
        fair = np.asarray(self.plan.shares["fair_share"][self.pools + operation])
        rows = np.argsort(-np.maximum(fair, self.share(ends[1])), kind="stable").tolist()[:1]

        def up_to(end: NDArray[Any]) -> str:
            share = self.share(end)
            return ", ".join(f"{name_of(self.snapshot.resources[r])} {fraction(share[r])}" for r in rows)

        bounds = ""
        factors = [self.setting(f"{kind}preemption_satisfaction_threshold") for kind in ("aggressive_", "")]
        if None not in factors:
            bounds = f" The bounds are {factors[0]:g} and {factors[1]:g} times its fair share."
        demand = np.asarray(self.plan.shares["demand_share"][self.pools + operation])
        if (np.abs(fair - demand) <= _EQUAL).all() and (demand > _EQUAL).any():
            bounds += " As its fair share covers its demand, nothing of it is preemptible without aggression."
        bounds += self._below_threshold(operation)
        return (
            f"Its oldest work is safe up to {up_to(ends[0])} of the cluster ({counts[0]:,} non-preemptible),"
            f" what follows up to {up_to(ends[1])} is preempted in aggressive preemption only"
            f" ({counts[1]:,}), and the rest is preemptible ({counts[2]:,}).{bounds}"
        )

    def _below_threshold(self, operation: int) -> str:
        """Say what an operation's usage threshold protects of it; empty if there is none."""
        threshold = self.plan.statuses.at(self.pools + operation).usage_threshold
        if not threshold:
            return ""
        setting = f"non_preemptible_resource_usage_threshold ({self.amounts(threshold)})"
        if self.setting("usage_threshold_scope") == "prefix":
            return f" Its oldest work is safe while it uses less than {setting}, too."
        held = self.object(self.snapshot._core.column("operations", "usage")[operation], zeros=True)
        used = {resource: held[resource] for resource in threshold}
        if all(used[resource] < most for resource, most in threshold.items()):
            return f" All of it is safe, as it uses {self.amounts(used)}: less than {setting}."
        return (
            f" It uses {self.amounts(used)}, which is not less than {setting} in each: that protects nothing."
        )
