"""What those are told in three sentences whose work leaves, or who wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.clauses import Known
from evenhand.explain.decided import rows_of, victims_of_step
from evenhand.explain.dispatch import find
from evenhand.explain.explanation import Claim, Explanation
from evenhand.explain.facts import Facts, sentence
from evenhand.explain.refused import allocation_named, explain_spared, explain_waiting, request_named
from evenhand.explain.told import known_of_victim
from evenhand.explain.told import rows_of as cells_of
from evenhand.reasons import reason
from evenhand.systems.letters import letters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenhand.plans.plan import Plan

__all__ = ["letter"]

_TABLES = ("operations", "allocations", "requests")
_PLAIN = letters("operation", {}, part="allocation")
"""Words of systems that have none of their own."""


def letter(plan: Plan, name: str | int) -> Explanation:
    """Say what becomes of someone's work; see `Plan.letter`."""
    where, row = find(plan, name, _TABLES)
    says = plan._system.says
    facts = Facts(plan, *(clause.sentence for clause in says.get(("letter", "work"), ())))
    if where == "allocations":
        return _of_allocation(facts, row)
    return _of_request(facts, row) if where == "requests" else _of_operation(facts, row)


def _of_operation(facts: Facts, row: int) -> Explanation:
    """Say what leaves of an operation, else what waits, else what starts or runs."""
    core = facts.snapshot._core
    own = {
        table: np.flatnonzero(np.asarray(core.column(table, "operation")) == row).tolist()
        for table in ("allocations", "requests")
    }
    for action in ("preempt", "resume"):
        if decided := rows_of(facts, "operation", row, action):
            return _of_victim(facts, decided[0]) if action == "preempt" else _of_resumed(facts, decided[0])
    waiting = [one for one in own["requests"] if facts.refusal(one) is not None]
    if waiting or own["requests"]:
        return _of_request(facts, (waiting or own["requests"])[0])
    if own["allocations"]:
        return _of_allocation(facts, own["allocations"][0])
    code = "left_out" if "waits_for" in facts.snapshot.settings("operations").get(row, {}) else "nothing"
    known = Known(facts, {}, {"operation": facts.name("operations", row)}, {"operation": ("operations", row)})
    return _written(facts, "operations", row, code, [(code, *_said(known, ("letter", code)))])


def _of_allocation(facts: Facts, row: int) -> Explanation:
    for action, of in (("preempt", _of_victim), ("resume", _of_resumed)):
        if decided := rows_of(facts, "allocation", row, action):
            return of(facts, decided[0])
    told = explain_spared(facts, row)
    known = _known(facts, "allocation", row)
    first = _who(known) + told.summary.removeprefix(allocation_named(facts, row))
    claims = [(told.code, first, told.claims[0].numbers)]
    if told.code != "already_preempting":
        claims.append(("spared", *_said(known, ("letter", "spared"))))
    return _written(facts, "allocations", row, told.code, claims)


def _of_request(facts: Facts, row: int) -> Explanation:
    started = rows_of(facts, "request", row, "start")
    if started and facts.refusal(row) is None:
        decisions = facts.plan.decisions
        nodes = [decisions[one].node for one in started]
        victims = [decisions[one] for one in victims_of_step(facts, started[0])]
        leaving = [victim.allocation for victim in victims] or None
        mode = victims[0].mode if victims else None
        known = _known(facts, "request", row, {"on": _once(nodes), "leaving": leaving, "mode": mode})
        code = decisions[started[0]].reason
        return _written(facts, "requests", row, code, [(code, *_said(known, ("letter", "started")))])
    told = explain_waiting(facts, row)
    known = _known(facts, "request", row)
    first = _who(known, "whose") + told.summary.removeprefix(request_named(facts, row))
    claims = [(told.code, first, told.claims[0].numbers)]
    if told.code != "count_exhausted":
        claims.append(("waits", *_said(known, ("letter", "waits"))))
    return _written(facts, "requests", row, told.code, claims)


def _of_victim(facts: Facts, row: int) -> Explanation:
    """Say that work leaves, for whom, by which rule, and what becomes of it."""
    decisions = facts.plan.decisions
    decision, same = facts.decision(row), [row]
    if facts.preempts_operations:  # with all that it has
        own = decisions.column("operation")
        same = [one for one in victims_of_step(facts, row) if own[one] == own[row]]
    served = decision.beneficiary
    more = {
        "allocation": decision.allocation,
        "operation": decision.operation,
        "on": _once(decisions[one].node for one in same),
        "asks": None if served is None else served.operation,
        "grace": decision.grace,
        "until": decision.until,
    }
    known = known_of_victim(facts, row, more)
    rule = _said(known, ("rule", decision.reason))
    claims = [
        (decision.reason, *_said(known, ("letter", "victim"))),
        ("rule", *(rule if rule[0] else (reason(decision.reason, "victim").doc, {}))),
        ("fate", *_said(known, ("fate", str(decision.mode)))),
    ]
    row = int(decisions.column("allocation")[row])
    return _written(facts, "allocations", row, decision.reason, claims)


def _of_resumed(facts: Facts, row: int) -> Explanation:
    decision = facts.plan.decisions[row]
    row = int(facts.plan.decisions.column("allocation")[row])
    known = _known(facts, "allocation", row, {"on": _once([decision.node])})
    return _written(
        facts, "allocations", row, decision.reason, [(decision.reason, *_said(known, ("letter", "resumed")))]
    )


def _known(facts: Facts, what: str, row: int, more: Mapping[str, Any] | None = None) -> Known:
    cells = cells_of(facts, what, row)
    owner = facts.name("operations", cells["operation"][1])
    return Known(facts, {}, {what: facts.name(f"{what}s", row), "operation": owner, **(more or {})}, cells)


def _once(nodes: Iterable[Any]) -> list[Any]:
    """Return each node once, without the cluster."""
    return [node for node in dict.fromkeys(nodes) if node is not None]


def _said(known: Known, key: tuple[str, str]) -> tuple[str, dict[str, Any]]:
    known.says = {**_PLAIN, **known.says}
    return known.first(known.says.get(key, ())) or ("", {})


def _who(known: Known, how: str = "who") -> str:
    text = _said(known, ("letter", how))[0]
    return text[:1].upper() + text[1:]


def _written(
    facts: Facts, table: str, row: int, code: str, claims: Iterable[tuple[str, str, Mapping[str, Any]]]
) -> Explanation:
    """Return a letter of what there is to say, without the marks that settings have."""
    found = tuple(Claim(of, sentence(text.replace("`", "")), numbers) for of, text, numbers in claims if text)
    return Explanation(facts.name(table, row), table, code, found, found[0].numbers if found else {})
