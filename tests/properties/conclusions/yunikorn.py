"""What YuniKorn concludes."""

from __future__ import annotations

import math
from collections.abc import Callable

import evenhand as eh
from evenhand.plans import Plan
from tests.properties.conclusions.case import Case, Change, Conclusions, Data, below, met, tries, until

__all__: list[str] = []

_YK = "yunikorn"


@tries("allocations", "higher_priority_in_queue", "for_required_node", system=_YK)
def _priority_for_the_request(case: Case) -> Conclusions:
    above, request = case.said.code == "for_required_node", case.served()[1]
    at = case.printed("and above", " it could") if above else case.printed("and with", " or more")
    least, most = (math.nextafter(at, math.inf), at) if above else (at, below(at))

    def again(priority: float) -> Plan:
        return case.again(case.sets("allocations", case.said.name, priority=priority))

    yield "priority", lambda: not case.leaves(again(least), request=request)
    yield (
        "one below that priority it may be",
        lambda: not case.barred(again(most), "not_lower_priority", request=request),
    )


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
        for r, amount in case.numbers.get("used", {}).items():  # with what has started in the cycle
            used[r] = max(amount, used.get(r, 0))
        row["strong_guarantee"] = owed | {r: max(a, owed.get(r, 0)) for r, a in used.items()}

    return change, own


@tries("allocations", "below_ideal_share", "surplus_of_queue", "below_guarantee", system=_YK)
def _queue_gives_nothing(case: Case) -> Conclusions:
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


@tries("requests", "limits_of_operation_or_pool", system=_YK)
def _without_the_maximum(case: Case) -> Conclusions:
    queue = met(case, "limits_of_operation_or_pool").get("queue")

    def named(limits: dict[str, float] | None) -> bool:
        def change(data: Data) -> None:
            row = case.row(data, "pools", queue)
            row["limits"] = {} if limits is None else {**row.get("limits", {}), **limits}
            if limits is not None:
                data["requests"] = [case.row(data, "requests", case.said.name)]

        found = case.outcomes(case.again(change))
        code = "limits_of_operation_or_pool"
        return any(one["outcome"] == code and one["compared"].get("queue") == queue for one in found)

    if queue is None or not any(str(p["name"]) == str(queue) for p in case.data.get("pools", ())):
        return
    yield "its max", lambda: not named(None)
    told = met(case, "limits_of_operation_or_pool")
    # Where nothing else was decided: then no other request need be there.
    within = all(told["used"][r] <= most for r, most in told["max"].items())
    once = case.row(case.data, "requests", case.said.name).get("count", 1) == 1
    if once and within and not len(case.plan.decisions):
        least, below_it = case.just_over(told, "max", "leaving")
        yield "the least max", lambda: not named(least) and named(below_it)


@tries("requests", "cycle_full", system=_YK)
def _without_the_limit(case: Case) -> Conclusions:
    if "ends_at" in met(case, "cycle_full"):
        again: Callable[[], Plan] = lambda: case.again(limit={})  # noqa: E731
        yield "limit", lambda: "cycle_full" not in {one["outcome"] for one in case.outcomes(again())}


@tries("requests", "no_room_even_with_victims", system=_YK)
def _whatever_the_limit(case: Case) -> Conclusions:
    """Where no policy was cut off the limit is not why it waits."""
    if case.said.code == "no_room_even_with_victims" and case.plan.policy.settings.preemption == "cycles":
        before = case.starts(case.plan)
        yield "whatever the limit", lambda: case.starts(case.again(limit={})) <= before


@tries("requests", "may_not_preempt_yet", system=_YK)
def _once_it_may(case: Case) -> Conclusions:
    told, code = met(case, "may_not_preempt_yet"), "may_not_preempt_yet"
    if "until" in told:
        yield "until", lambda: until(case, code, told["until"], "delay")
    if "again_from" in told:  # its last attempt may be of this plan
        again: Callable[[], Plan] = lambda: case.again(case.at(told["again_from"]), case.plan.state)  # noqa: E731
        yield (
            "again_from",
            lambda: (
                not any(  # of several copies the next meets what the first has just tried
                    one.get("compared", {}).get("last_attempt", told["again_from"]) < told["again_from"]
                    for one in case.outcomes(again())
                )
            ),
        )


@tries("requests", "waits_for_victims", system=_YK)
def _fits_once_they_have_left(case: Case) -> Conclusions:
    if any("where it fits once" in one for one in case.said.sentences):
        yield "it fits once they have left", lambda: case.starts(case.once_gone()) > 0


@tries("requests", "missed_opportunity", system=_YK)
def _left_out_of_so_many(case: Case) -> Conclusions:
    """In so many allocation cycles more it is left out, and not in the next."""
    left = met(case, "missed_opportunity").get("cycles_left")

    def right() -> bool:
        state, found = case.plan.state, []
        for _ in range(left + 1):
            plan = eh.plan(case.plan.snapshot, case.plan.policy, state, on=eh.Cycle("allocation"))
            found.append({one["outcome"] for one in case.outcomes(plan)})
            state = plan.state
        return (
            all("missed_opportunity" in one for one in found[:-1]) and "missed_opportunity" not in found[-1]
        )

    if left is not None:
        yield "so many cycles more", right


@tries("allocations", "not_considered", system=_YK)
def _no_ask_looked(case: Case) -> Conclusions:
    """None that victims leave for on its node."""
    if "no ask looked for victims on its node" in case.said.summary:
        node = case.row(case.data, "allocations", case.said.name).get("node")
        made = case.plan.decisions.victims
        yield "no ask looked there", lambda: not any(str(d.node) == str(node) and d.beneficiary for d in made)


@tries("allocations", "below_ideal_share", "higher_priority_in_queue", "below_guarantee", system=_YK)
def _its_place(case: Case) -> Conclusions:
    """Victims of one step on a node have places of their own, and there are no more than candidates."""
    row = next(d for d in case.plan.decisions.victims if str(d.allocation) == case.name)
    same = [d for d in case.plan.decisions.victims if d.step == row.step and str(d.node) == str(row.node)]
    told = [case.plan.why(d.allocation, table="allocations").numbers for d in same]
    places, most = [one.get("place") for one in told], {one.get("candidates") for one in told}
    yield (
        "its place",
        lambda: (
            None not in places
            and len(set(places)) == len(places)
            and len(most) == 1
            and max(places) <= max(most)
        ),
    )


@tries("allocations", "below_ideal_share", "higher_priority_in_queue", "below_guarantee", system=_YK)
def _nothing_else_might_leave(case: Case) -> Conclusions:
    """All but it need their node."""
    if "Nothing else might leave" in " ".join(case.said.sentences):
        node = case.row(case.data, "allocations", case.said.name).get("node")

        def change(data: Data) -> None:
            for row in data["allocations"]:
                if str(row["name"]) == case.name:
                    row["required_node"] = row["node"]

        request = case.served()[1]
        left = {str(d.allocation) for d in case.plan.decisions.victims}  # by other copies of it, too
        yield (
            "nothing else",
            lambda: (
                not any(
                    str(d.node) == str(node)
                    and str(d.allocation) not in left
                    and d.beneficiary is not None
                    and str(d.beneficiary.request) == request
                    and d.reason == case.said.code
                    for d in case.again(change).decisions.victims
                )
            ),
        )
