"""What YTsaurus concludes."""

from __future__ import annotations

from collections.abc import Callable

from evenhand.plans import Plan
from tests.properties.conclusions.case import QUANTUM, Case, Conclusions, Data, met, tries, until

__all__: list[str] = []

_YT = "ytsaurus"
_FAR = 1e6


@tries("allocations", "preemption", system=_YT)
def _within_the_threshold(case: Case) -> Conclusions:
    setting = "preemption_satisfaction_threshold"
    if setting in case.numbers:
        again: Callable[[], Plan] = lambda: case.again(**{setting: _FAR})  # noqa: E731
        yield "within the threshold", lambda: not case.leaves(again(), reason="preemption")


@tries("allocations", "aggressive_preemption", system=_YT)
def _within_the_aggressive_threshold(case: Case) -> Conclusions:
    names = ("preemption_satisfaction_threshold", "aggressive_preemption_satisfaction_threshold")
    if names[1] in case.numbers:
        reason = "aggressive_preemption"
        again: Callable[[], Plan] = lambda: case.again(**dict.fromkeys(names, _FAR))  # noqa: E731
        yield "within the threshold", lambda: not case.leaves(again(), reason=reason)


@tries("allocations", "resource_limits_violated", system=_YT)
def _within_its_limits(case: Case) -> Conclusions:
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


@tries("allocations", "graceful_preemption", system=_YT)
def _of_normal_mode(case: Case) -> Conclusions:
    if case.numbers.get("preemption_mode") == "graceful":

        def change(data: Data) -> None:
            for row in [*data["operations"], *data.get("pools", ())]:
                row["settings"] = {**row.get("settings", {}), "preemption_mode": "normal"}

        yield "of normal mode", lambda: not case.leaves(case.again(change), reason=case.said.code)


@tries("requests", "backoff", system=_YT)
def _after_the_backoff(case: Case) -> Conclusions:
    if (instant := met(case, "backoff").get("until")) is not None:
        yield "over", lambda: until(case, "backoff", instant + QUANTUM)


@tries("requests", "limits_of_operation_or_pool", system=_YT)
def _without_its_limits(case: Case) -> Conclusions:
    """Without limits none is named."""

    def change(data: Data) -> None:
        for row in [*data["operations"], *data.get("pools", ()), data.get("root") or {}]:
            row.pop("limits", None)

    code = "limits_of_operation_or_pool"
    yield "limits", lambda: code not in {one["outcome"] for one in case.outcomes(case.again(change))}
    told, table = met(case, code), ""
    for name in ("pools", "operations"):
        if any(str(row["name"]) == str(told.get("element")) for row in case.data.get(name, ())):
            table = table or name
    once = case.row(case.data, "requests", case.said.name).get("count", 1) == 1
    # Where nothing else was decided: then no other request need be there.
    within = all(told["used"][r] <= most for r, most in told.get("limit", {}).items())
    if table and once and within and not len(case.plan.decisions):
        least, below_it = case.just_over(told, "limit")

        def named(limits: dict[str, float]) -> bool:
            def change(data: Data) -> None:
                row = case.row(data, table, told["element"])
                row["limits"] = {**row.get("limits", {}), **limits}
                data["requests"] = [case.row(data, "requests", case.said.name)]

            plan = case.again(change)
            return any(
                one["outcome"] == code and str(one["compared"].get("element")) == str(told["element"])
                for one in case.outcomes(plan)
            )

        yield "the least limit", lambda: not named(least) and named(below_it)


@tries("allocations", "preemption", "aggressive_preemption", system=_YT)
def _the_only_one(case: Case) -> Conclusions:
    """Where it may not be taken nothing is taken there for the request in that stage."""
    if not any("the only one that the stage might take there" in one for one in case.said.sentences):
        return
    change = case.sets("allocations", case.said.name, preemptible=False)
    request, node = case.served()[1], case.row(case.data, "allocations", case.said.name)["node"]

    def taken() -> bool:
        return any(
            d.reason == case.said.code
            and str(d.node) == str(node)
            and d.beneficiary is not None
            and str(d.beneficiary.request) == request
            for d in case.again(change).decisions.victims
        )

    yield "the only one", lambda: not taken()
