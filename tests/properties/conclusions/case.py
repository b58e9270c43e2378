"""One explanation, plans of the same inputs but for a change, and functions that try a conclusion."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.errors import InputError
from evenhand.explain import Explanation
from evenhand.plans import Plan
from evenhand.reasons import OUTCOMES

__all__ = [
    "QUANTUM",
    "REGISTERED",
    "Case",
    "Change",
    "Conclusions",
    "Data",
    "NotTriedError",
    "Tried",
    "below",
    "met",
    "tried",
    "tries",
    "until",
]

Data = dict[str, Any]
Change = Callable[[Data], object]

QUANTUM = 1e-6
"""Seconds: the least by which instants differ."""


@dataclass
class Case:
    """One explanation of a plan, and plans of the same inputs but for a change."""

    plan: Plan
    said: Explanation
    data: Data = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What is explained."""
        return str(self.said.name)

    @property
    def numbers(self) -> Any:
        """Its numbers."""
        return self.said.numbers

    def again(self, change: Change | None = None, state: eh.State | None = None, **settings: Any) -> Plan:
        """Plan again, with rows changed, from another state, or with other settings."""
        data = deepcopy(self.data)
        if change is not None:
            change(data)
        policy = self.plan.policy.replace(**settings) if settings else self.plan.policy
        given = self.plan.given or None
        snapshot = eh.Snapshot.from_dict(data)
        before = self.plan.state_before if state is None else state
        return eh.plan(snapshot, policy, before, on=self.plan.on, given=given)

    def printed(self, before: str, after: str = "") -> float:
        """Return the number that its sentences print between these words."""
        found = re.search(f"{before} ([-\\d,.]+){after}", " ".join(self.said.sentences))
        assert found, (before, self.said.summary)
        return float(found[1].replace(",", ""))

    @property
    def own(self) -> Data:
        """Return the row of the operation that it is of."""
        return self.row(
            self.data, "operations", self.row(self.data, self.said.table, self.said.name)["operation"]
        )

    def once_gone(self) -> Plan:
        """Plan the next time, once all that leaves has left, where no other operation waits."""
        data = self.plan.snapshot.after(self.plan).to_dict()
        data["allocations"] = [a for a in data["allocations"] if a.get("state") != "preempting"]
        data["requests"] = [r for r in data["requests"] if str(r["operation"]) == str(self.own["name"])]
        kept = {str(r["name"]) for r in data["requests"]}
        data["reservations"] = [r for r in data.get("reservations", ()) if str(r.get("request")) in kept]
        return eh.plan(eh.Snapshot.from_dict(data), self.plan.policy, self.plan.state, on=self.plan.on)

    def row(self, data: Data, table: str, name: object) -> Data:
        """Return a row by its name."""
        return next(row for row in data[table] if str(row["name"]) == str(name))

    def sets(self, table: str, name: object, **fields: Any) -> Change:
        """Return a change of one row."""
        return lambda data: self.row(data, table, name).update(fields)

    def at(self, now: float) -> Change:
        """Return a change of the instant."""
        return lambda data: data.update(now=now)

    def outcomes(self, plan: Plan) -> list[dict[str, Any]]:
        """Return what another plan says of the same row."""
        why = plan.why_not(self.said.name, table=self.said.table)
        return list(why.looked_at) or [{"outcome": why.code, "compared": why.numbers}]

    def served(self) -> tuple[str, str]:
        """Return the operation and the request for which a victim leaves."""
        made = next(d for d in self.plan.decisions.victims if str(d.allocation) == self.name)
        asks = made.beneficiary
        return ("", "") if asks is None else (str(asks.operation), str(asks.request))

    def leaves(self, plan: Plan, *, operation: str = "", request: str = "", reason: str = "") -> bool:
        """Whether it is a victim of another plan: of this operation, of this request, for this reason."""
        return any(
            str(d.allocation) == self.name
            and (not reason or d.reason == reason)
            and (not operation or (d.beneficiary is not None and str(d.beneficiary.operation) == operation))
            and (not request or (d.beneficiary is not None and str(d.beneficiary.request) == request))
            for d in plan.decisions.victims
        )

    def just_over(
        self, told: Any, limit: str, leaving: str = ""
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return the least limits within which a request is, and limits one quantum of a resource below."""
        asked = self.row(self.data, "requests", self.said.name)["resources"]
        more = told.get(leaving) or {}
        least = {r: told["used"][r] + more.get(r, 0) + asked[r] for r in told[limit]}
        first = next(iter(least))
        quantum = self.data["resources"][first].get("quantum", 1)
        return least, {**least, first: least[first] - quantum}

    def barred(self, plan: Plan, *codes: str, operation: str = "", request: str = "") -> bool:
        """Whether another plan meets it with one of these outcomes, for this operation or request."""
        row = [str(name) for name in plan.snapshot.names("allocations")].index(self.name)
        trace = plan._trace("allocation", row)
        asked = ("operation", "operations", operation), ("request", "requests", request)
        there = np.isin(trace["outcome"], [OUTCOMES.index(code) for code in codes])
        for column, table, name in asked:
            if name:
                names = [str(one) for one in plan.snapshot.names(table)]
                there &= trace[column] == names.index(name)
        return bool(there.any())

    def starts(self, plan: Plan) -> int:
        """How many of a request start in another plan."""
        return sum(d.action == "start" and str(d.request) == self.name for d in plan.decisions)


class NotTriedError(Exception):
    """After the change something else decides before what was to be tried."""


Conclusions = Iterator[tuple[str, Callable[[], bool]]]
"""What is changed, and whether the conclusion holds then."""

Try = Callable[[Case], Conclusions]
_TRIES: dict[tuple[str, str, str], list[Try]] = {}

REGISTERED = _TRIES.keys()
"""What is tried: system, table and code."""


def tries(table: str, *codes: str, system: str) -> Callable[[Try], Try]:
    """Let a function name what one of these codes concludes, and how each is tried."""

    def keep(function: Try) -> Try:
        for code in codes:
            _TRIES.setdefault((system, table, code), []).append(function)
        return function

    return keep


@dataclass(frozen=True)
class Tried:
    """One conclusion that was tried."""

    kind: str
    holds: bool
    sentence: str
    case: Case


def tried(plan: Plan) -> Iterator[Tried]:
    """Try what a plan concludes of its allocations and requests."""
    data = plan.snapshot.to_dict()
    for table in ("allocations", "requests"):
        for name in plan.snapshot.names(table):
            said = plan.why_not(name, table=table)
            case = Case(plan, said, data)
            for code in dict.fromkeys([said.code, *(met["outcome"] for met in said.looked_at)]):
                for function in _TRIES.get((plan.policy.system, table, code), ()):
                    for kind, holds in function(case):
                        try:
                            yield Tried(f"{code}: {kind}", holds(), said.summary, case)
                        except (InputError, NotTriedError):
                            continue


def below(value: float) -> float:
    """Return the next whole number below, or the next double."""
    return value - 1 if float(value).is_integer() else math.nextafter(value, -math.inf)


def met(case: Case, code: str) -> dict[str, Any]:
    """Return the numbers of an outcome."""
    found = [one.get("compared", {}) for one in case.said.looked_at if one["outcome"] == code]
    return found[0] if found else {}


def until(case: Case, code: str, instant: float, key: str | None = None, value: object = None) -> bool:
    """Whether an outcome (with such a number) is not met at an instant, and is met just before."""

    def there(now: float, value: object = None) -> bool:
        found = case.outcomes(case.again(case.at(now)))
        return any(
            one["outcome"] == code
            and (key is None or key in one.get("compared", {}))
            and (value is None or one["compared"][key] == value)
            for one in found
        )

    return not there(instant, value) and there(instant - QUANTUM)
