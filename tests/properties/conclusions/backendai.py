"""What Backend.AI concludes."""

from __future__ import annotations

from tests.properties.conclusions.case import Case, Change, Conclusions, Data, met, tries

__all__: list[str] = []

_BE = "backendai"


@tries("allocations", "lower_priority", system=_BE)
def _rank_for_the_session(case: Case) -> Conclusions:
    row = case.row(case.data, "allocations", case.said.name)
    asks, _ = case.served()
    rank = case.printed("with (?:job )?priority", " or more")
    for_all = "it could not be preempted (" in case.said.summary  # by the threshold

    def set_to(value: float) -> Change:
        own = case.row(case.data, "operations", row["operation"])
        if case.plan.policy.settings.preemption_key == "priority":
            return case.sets("operations", own["name"], priority=value)
        settings = {**own.get("settings", {}), "job_priority": int(value)}
        return case.sets("operations", own["name"], settings=settings)

    code = "above_threshold" if for_all else "not_lower_priority"
    kind, for_whom = ("for no session", "") if for_all else ("not for this session", asks)
    yield kind, lambda: not case.leaves(case.again(set_to(rank)), operation=for_whom)
    yield (
        f"{kind}: one below it may be",
        lambda: not case.barred(case.again(set_to(rank - 1)), code, operation=for_whom),
    )


@tries("allocations", "above_threshold", system=_BE)
def _threshold(case: Case) -> Conclusions:
    told = met(case, "above_threshold")
    (own,) = (value for name, value in told.items() if name.startswith("priority_of_"))

    def above(threshold: float) -> bool:
        found = case.outcomes(case.again(preemptible_priority=int(threshold)))
        return any(one["outcome"] == "above_threshold" for one in found)

    yield "only where that is as much", lambda: above(own - 1) and not above(own)


@tries("requests", "no_room_even_with_victims", system=_BE)
def _if_all_left(case: Case) -> Conclusions:
    told = "candidates" in met(case, "no_room_even_with_victims")
    if not told or not any("ven if all" in one or "ven if the" in one for one in case.said.sentences):
        return  # where room is reserved it says nothing of what would be
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


@tries("requests", "behind_first_waiting", system=_BE)
def _before_it(case: Case) -> Conclusions:
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


@tries("allocations", "not_considered", system=_BE)
def _no_session_looked(case: Case) -> Conclusions:
    if "no session looked for victims" in case.said.summary:
        yield "no session looked", lambda: not len(case.plan.decisions.victims)


@tries("requests", "no_lower_priority", system=_BE)
def _nothing_may_be_preempted(case: Case) -> Conclusions:
    """Also not of one that asks for a part of it."""
    asked = case.row(case.data, "requests", case.said.name)
    less = dict.fromkeys(asked.get("resources") or {}, 0)
    change = case.sets("requests", case.said.name, resources=less)
    yield (
        "nothing may be",
        lambda: (
            not any(
                d.beneficiary is not None and str(d.beneficiary.operation) == str(case.own["name"])
                for d in case.again(change).decisions.victims
            )
        ),
    )


@tries("allocations", "lower_priority", system=_BE)
def _taken_in_order(case: Case) -> Conclusions:
    """Of a prefix: all that come before the last one that leaves."""
    made = next(d for d in case.plan.decisions.victims if str(d.allocation) == case.name)
    settings = case.plan.policy.settings
    if settings.victim_selection != "prefix" or settings.victim_area == "agent":
        return
    same = [d for d in case.plan.decisions.victims if d.step == made.step]
    told = [case.plan.why(d.allocation, table="allocations").numbers for d in same]
    places = {one.get("place") for one in told}
    yield "in that order", lambda: places == set(range(1, len({str(d.operation) for d in same}) + 1))
