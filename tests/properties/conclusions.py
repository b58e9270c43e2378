"""Sentences that conclude, found by their codes and numbers in what plans explain, and tried: what each names
is changed, and planned again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import evenhand as eh
from evenhand.errors import InputError
from evenhand.explain import Explanation
from evenhand.plans import Plan

__all__ = ["Case", "Data", "Tried", "tried"]

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

    def starts(self, plan: Plan) -> int:
        """How many of a request start in another plan."""
        return sum(d.action == "start" and str(d.request) == self.name for d in plan.decisions)


Try = Callable[[Case], Iterator[tuple[str, Callable[[], bool]]]]
_TRIES: dict[tuple[str, str, str], list[Try]] = {}


def _tries(table: str, *codes: str, system: str) -> Callable[[Try], Try]:
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
                        except InputError:
                            continue


def met(case: Case, code: str) -> dict[str, Any]:
    """Return the numbers of an outcome."""
    found = [one.get("compared", {}) for one in case.said.looked_at if one["outcome"] == code]
    return found[0] if found else {}


# --- YTsaurus

_YT = "ytsaurus"
_FAR = 1e6


@_tries("allocations", "preemption", system=_YT)
def _within_the_threshold(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    setting = "preemption_satisfaction_threshold"
    if setting in case.numbers:
        again: Callable[[], Plan] = lambda: case.again(**{setting: _FAR})  # noqa: E731
        yield "within the threshold", lambda: not case.leaves(again(), reason="preemption")


@_tries("allocations", "aggressive_preemption", system=_YT)
def _within_the_aggressive_threshold(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    names = ("preemption_satisfaction_threshold", "aggressive_preemption_satisfaction_threshold")
    if names[1] in case.numbers:
        reason = "aggressive_preemption"
        again: Callable[[], Plan] = lambda: case.again(**dict.fromkeys(names, _FAR))  # noqa: E731
        yield "within the threshold", lambda: not case.leaves(again(), reason=reason)


@_tries("allocations", "resource_limits_violated", system=_YT)
def _within_its_limits(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    made = next(d for d in case.plan.decisions.victims if str(d.allocation) == case.name)
    at = case.plan.decisions.column("violated")[list(case.plan.decisions).index(made)]
    names = case.plan.snapshot.element_names
    table = "pools" if at < len(case.plan.snapshot.names("pools")) else "operations"

    def change(data: Data) -> None:
        row = case.row(data, table, names[int(at)])
        row["limits"] = {r: a for r, a in row["limits"].items() if r not in case.numbers["limits"]}

    if at > 0:
        reason = "resource_limits_violated"
        yield "within its limits", lambda: not _for_element(case.again(change), str(names[int(at)]), reason)


def _for_element(plan: Plan, element: str, reason: str) -> bool:
    """Whether anything leaves for the limits of an element."""
    names = [str(name) for name in plan.snapshot.element_names]
    rows = plan.decisions.column("violated")
    return any(
        d.reason == reason and row >= 0 and names[int(row)] == element
        for d, row in zip(plan.decisions, rows, strict=True)
    )


@_tries("allocations", "resource_overcommit", system=_YT)
def _on_a_larger_node(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    made = next(d for d in case.plan.decisions.victims if str(d.allocation) == case.name)
    row = list(case.plan.decisions).index(made)
    lacks = case.plan.decisions.column("free_before")[row]
    quantum = case.plan.snapshot.quantum

    def change(data: Data) -> None:
        capacity = case.row(data, "nodes", made.node)["capacity"]
        for r, name in enumerate(case.plan.snapshot.resources):
            capacity[name] = capacity.get(name, 0) + max(-float(lacks[r]), 0) * quantum[name]

    yield "on a larger node", lambda: not case.leaves(case.again(change), reason=case.said.code)


@_tries("allocations", "graceful_preemption", system=_YT)
def _of_normal_mode(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    if case.numbers.get("preemption_mode") == "graceful":

        def change(data: Data) -> None:
            for row in [*data["operations"], *data.get("pools", ())]:
                row["settings"] = {**row.get("settings", {}), "preemption_mode": "normal"}

        yield "of normal mode", lambda: not case.leaves(case.again(change), reason=case.said.code)


@_tries("requests", "backoff", system=_YT)
def _after_the_backoff(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    if (until := met(case, "backoff").get("until")) is not None:
        yield "over", lambda: _until(case, "backoff", until + QUANTUM)


def _until(case: Case, code: str, instant: float, key: str | None = None) -> bool:
    """Whether an outcome is not met at an instant, and is met just before."""

    def there(now: float) -> bool:
        found = case.outcomes(case.again(case.at(now)))
        return any(
            one["outcome"] == code and (key is None or key in one.get("compared", {})) for one in found
        )

    return not there(instant) and there(instant - QUANTUM)


# --- YuniKorn

_YK = "yunikorn"


@_tries("allocations", "higher_priority_in_queue", "for_required_node", system=_YK)
def _priority_for_the_request(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    beyond = case.said.code == "for_required_node"
    least = case.numbers["asking_priority"] + (1 if beyond else 0)
    change = case.sets("allocations", case.said.name, priority=least)
    yield "priority", lambda: not case.leaves(case.again(change), request=case.served()[1])


def _guarantee(case: Case, queue: str) -> tuple[Change, list[str]]:
    """Return a change by which a queue is guaranteed all that it uses, and the operations in it."""
    inside = {str(queue)}
    for _ in case.data["pools"]:
        inside |= {str(p["name"]) for p in case.data["pools"] if str(p.get("parent")) in inside}
    own = [str(o["name"]) for o in case.data["operations"] if str(o.get("pool")) in inside]

    def change(data: Data) -> None:
        used: dict[str, float] = {}
        for row in data["allocations"]:
            if str(row["operation"]) in own:
                for r, amount in (row.get("resources") or {}).items():
                    used[r] = used.get(r, 0) + amount
        row = case.row(data, "pools", queue)
        owed = row.get("strong_guarantee") or {}
        row["strong_guarantee"] = owed | {r: max(a, owed.get(r, 0)) for r, a in used.items()}

    return change, own


@_tries("allocations", "below_ideal_share", "surplus_of_queue", "below_guarantee", system=_YK)
def _queue_gives_nothing(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    queue = case.numbers.get("queue")
    if queue is None or not any(str(p["name"]) == str(queue) for p in case.data.get("pools", ())):
        return
    change, own = _guarantee(case, queue)
    yield (
        "a queue within gives nothing",
        lambda: (
            not any(
                d.reason == case.said.code
                and str(d.operation) in own
                and (d.beneficiary is None or str(d.beneficiary.operation) not in own)
                for d in case.again(change).decisions.victims
            )
        ),
    )


@_tries("requests", "limits_of_operation_or_pool", system=_YK)
def _without_the_maximum(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    queue = met(case, "limits_of_operation_or_pool").get("queue")

    def change(data: Data) -> None:
        case.row(data, "pools", queue).pop("limits", None)

    def named() -> bool:
        found = case.outcomes(case.again(change))
        code = "limits_of_operation_or_pool"
        return any(one["outcome"] == code and one["compared"].get("queue") == queue for one in found)

    if queue is not None and any(str(p["name"]) == str(queue) for p in case.data.get("pools", ())):
        yield "its max", lambda: not named()


@_tries("requests", "cycle_full", system=_YK)
def _without_the_limit(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    if "ends_at" in met(case, "cycle_full"):
        again: Callable[[], Plan] = lambda: case.again(limit={})  # noqa: E731
        yield "limit", lambda: "cycle_full" not in {one["outcome"] for one in case.outcomes(again())}


@_tries("requests", "no_room_even_with_victims", system=_YK)
def _whatever_the_limit(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Where no policy was cut off the limit is not why it waits."""
    if case.said.code == "no_room_even_with_victims" and case.plan.policy.settings.preemption == "cycles":
        before = case.starts(case.plan)
        yield "whatever the limit", lambda: case.starts(case.again(limit={})) <= before


@_tries("requests", "may_not_preempt_yet", system=_YK)
def _once_it_may(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    told, code = met(case, "may_not_preempt_yet"), "may_not_preempt_yet"
    if "until" in told:
        yield "until", lambda: _until(case, code, told["until"], "delay")
    if "again_from" in told:  # its last attempt may be of this plan
        again: Callable[[], Plan] = lambda: case.again(case.at(told["again_from"]), case.plan.state)  # noqa: E731
        yield (
            "again_from",
            lambda: not any("retry" in one.get("compared", {}) for one in case.outcomes(again())),
        )


# --- Backend.AI

_BE = "backendai"


@_tries("allocations", "lower_priority", system=_BE)
def _rank_for_the_session(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    row = case.row(case.data, "allocations", case.said.name)
    asks, _ = case.served()
    rank = case.numbers["spared_from"]
    for_all = "it would have been spared" in case.said.summary  # by the threshold

    def set_to(value: float) -> Change:
        own = case.row(case.data, "operations", row["operation"])
        if case.plan.policy.settings.preemption_key == "priority":
            return case.sets("operations", own["name"], priority=value)
        settings = {**own.get("settings", {}), "job_priority": int(value)}
        return case.sets("operations", own["name"], settings=settings)

    if for_all:
        yield "spared at all", lambda: not case.leaves(case.again(set_to(rank)))
    else:
        yield "not for this session", lambda: not case.leaves(case.again(set_to(rank)), operation=asks)


@_tries("allocations", "above_threshold", system=_BE)
def _threshold(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    told = met(case, "above_threshold")
    (own,) = (value for name, value in told.items() if name.startswith("priority_of_"))

    def above(threshold: float) -> bool:
        found = case.outcomes(case.again(preemptible_priority=int(threshold)))
        return any(one["outcome"] == "above_threshold" for one in found)

    yield "only where that is as much", lambda: above(own - 1)


@_tries("allocations", "ran_too_short", "victim_cooldown", "spared_run_time", system=_BE)
def _until_when(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    for one in case.said.looked_at:
        if (until := one.get("compared", {}).get("until")) is not None:
            yield "until", lambda one=one, until=until: _until(case, one["outcome"], until)


@_tries("requests", "no_room_even_with_victims", system=_BE)
def _if_all_left(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    if "candidates" not in met(case, "no_room_even_with_victims"):
        return
    names = case.plan.snapshot.names("allocations")
    stays = [
        str(name)
        for name in names
        for one in case.plan.why_not(name, table="allocations").looked_at
        if one["outcome"] == "no_start_in_stage" and str(one["request"]) == case.name
    ]

    def change(data: Data) -> None:
        data["allocations"] = [row for row in data["allocations"] if str(row["name"]) not in stays]

    yield "if all left", lambda: not case.starts(case.again(change))


@_tries("requests", "behind_first_waiting", system=_BE)
def _before_it(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    """One more of priority and it is not behind that one."""
    told, own = (
        met(case, "behind_first_waiting"),
        case.row(case.data, "requests", case.said.name)["operation"],
    )
    if "blocked_by" not in told or str(told["behind"]) == str(own):
        return
    most = told[f"priority_of_{told['behind']}"] + 1

    def behind(data: Change) -> bool:
        found = case.outcomes(case.again(data))
        return any(str(one.get("compared", {}).get("behind")) == str(told["behind"]) for one in found)

    if most <= 100 and "behind" in told:
        change = case.sets("operations", own, priority=most)
        yield "in the queue", lambda: not behind(change)


# --- Slurm

_SLURM = "slurm"


def _own_row(case: Case) -> Data:
    """Return the row of the operation that an allocation or a request is of."""
    return case.row(
        case.data, "operations", case.row(case.data, case.said.table, case.said.name)["operation"]
    )


@_tries("allocations", "higher_partition_tier", system=_SLURM)
def _tier_for_the_request(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    asks, request = case.served()
    own, tier = _own_row(case), case.numbers.get(f"tier_of_{asks}")
    partitions = getattr(case.plan.policy.settings, "partitions", None)
    if tier is None or own.get("partition") not in (partitions or {}):
        return
    changed = {
        name: {
            **part.model_dump(exclude_unset=True),
            **({"PriorityTier": tier} if name == own["partition"] else {}),
        }
        for name, part in partitions.items()
    }
    yield "tier", lambda: not case.leaves(case.again(partitions=changed), request=request)


@_tries("allocations", "higher_priority_in_qos", system=_SLURM)
def _priority_for_the_job(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    asks, request = case.served()
    priority = case.numbers.get(f"priority_of_{asks}")
    if priority is not None and case.plan.policy.settings.PriorityType == "priority/basic":
        change = case.sets("operations", _own_row(case)["name"], priority=priority)
        yield "priority", lambda: not case.leaves(case.again(change), request=request)


# --- Grid Engine

_GE = "gridengine"


@_tries("allocations", "automatic_preemption", system=_GE)
def _priority_of_the_preemptee(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    if "beneficiary_priority" in case.numbers:
        change = case.sets(
            "operations", _own_row(case)["name"], priority=case.numbers["beneficiary_priority"]
        )
        yield "priority, spared", lambda: not case.leaves(case.again(change))


@_tries("requests", "waits_for_reservation", system=_GE)
def _nearer(case: Case) -> Iterator[tuple[str, Callable[[], bool]]]:
    """With the largest distance below it something leaves for it."""
    starts = case.numbers.get("starts_at")
    if starts is None or not any("it could preempt" in one for one in case.said.sentences):
        return
    distance = starts - case.data["now"]
    own = str(_own_row(case)["name"])

    def preempts() -> bool:
        plan = case.again(preemption_distance=distance - QUANTUM)
        return any(
            d.beneficiary is not None and str(d.beneficiary.operation) == own for d in plan.decisions.victims
        )

    yield "it could preempt", preempts
