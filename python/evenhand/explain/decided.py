"""Why a decision was taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.explain.explanation import Claim, Explanation, claims
from evenhand.explain.facts import Facts, agreed, agreeing, listed, name_of, seconds, sentence
from evenhand.explain.fair import bound_rows, holding, share_rows
from evenhand.explain.told import told_of_victim
from evenhand.reasons import ACTIONS, GROUPS, reason

if TYPE_CHECKING:
    from evenhand.plans.decisions import Decision

__all__ = ["explain_resumed", "explain_start", "explain_victim", "rows_of", "victims_of_step"]


def rows_of(facts: Facts, column: str, row: int, action: str) -> list[int]:
    """Return the decisions of an action that concern a row of the snapshot."""
    decisions = facts.plan.decisions
    chosen = (decisions.column(column) == row) & (decisions.column("action") == ACTIONS.index(action))
    return np.flatnonzero(chosen).tolist()


def victims_of_step(facts: Facts, row: int) -> list[int]:
    """Return the preemptions of a decision's step."""
    decisions = facts.plan.decisions
    same = decisions.column("step") == decisions.column("step")[row]
    return np.flatnonzero(same & (decisions.column("action") == ACTIONS.index("preempt"))).tolist()


def explain_victim(facts: Facts, row: int) -> Explanation:
    """Explain a preemption, by its row among the decisions."""
    decision = facts.decision(row)
    column = facts.plan.decisions.column
    operation = int(column("operation")[row])
    beneficiary = decision.beneficiary
    needed = facts.object(column("needed")[row])
    lacks = facts.object(np.maximum(column("needed")[row] - column("free_before")[row], 0))
    more = facts.amounts(lacks)
    lacking = more + agreeing(" more is needed there", more) if lacks else "all of it was needed"
    if not needed:
        what = "of this node " if decision.node is not None else ""
        lacking = f"its operation leaves as a whole, though nothing {what}is used,"
    fields = {
        "allocation": f"allocation {name_of(decision.allocation)}",
        "operation": name_of(decision.operation),
        "node": facts.of_node(decision.node, "the cluster"),
        "request": name_of(beneficiary.request) if beneficiary else "",
        "beneficiary": name_of(beneficiary.operation) if beneficiary else "",
        "lacking": lacking,
        "violated": "",
        "over": "",
        **_counted(decision),
    }
    told = told_of_victim(facts, row)
    fields |= told.fields
    if decision.reason == "resource_overcommit":
        over = facts.object(np.maximum(-column("free_before")[row], 0))
        fields["lacking"] = f"{facts.amounts(over)} too much"
    violated = int(column("violated")[row])
    if violated >= 0:
        fields["violated"] = facts.element(violated)
        given = decision.numbers
        fields["over"] = facts.amounts_of(given.get("usage", {}), given.get("limits", {}))
    text = sentence(reason(decision.reason, "victim").sentence.format(**fields) + told.text)
    numbers = {**decision.numbers, **told.numbers}
    found = [Claim(decision.reason, text, numbers)]
    found += [Claim("chosen", sentence(one), told.numbers) for one in told.sentences]
    served = int(column("beneficiary_operation")[row])
    rows = {
        "needed": needed,
        "free before": facts.object(column("free_before")[row], zeros=True),
        "given back": dict(decision.freed),
        "kept": dict(decision.kept),
    }
    if beneficiary is not None and served >= 0:
        found += _beneficiary(facts, served)
    found += [Claim("fewest", text) for text in _fewest(facts, row, decision)]
    found += told.claims
    found += _victim(facts, row, decision, operation)
    if facts.shared:
        before = facts.share(column("usage_before")[row])
        rows |= share_rows(facts, facts.pools + operation, before) | bound_rows(found)
        if served >= 0 and served != operation:
            rows |= share_rows(facts, facts.pools + served)
    return Explanation(
        decision.allocation if decision.allocation is not None else "",
        "allocations",
        decision.reason,
        tuple(found),
        numbers,
        **facts.table(rows, ("needed", "given back", "kept")),
    )


def _fewest(facts: Facts, row: int, decision: Decision) -> list[str]:
    proof = decision.numbers.get("minimum")
    if not proof:
        return []
    settings = facts.plan.policy.settings
    kind = getattr(settings, "victim_cost", "victims")
    # With one agent for each copy nothing is said of others.
    where = " there" if getattr(settings, "victim_area", "group") == "agent" else ""
    spent = facts.plan.decisions.column("minimum_spent")[row] != 0
    budget = settings.minimum_budget
    within = f"within the budget of {budget:,} branch{'es' * (budget != 1)}"
    open_ = f"no {{}} set was found {within}" if spent else "whether a {} set would suffice is open"
    if kind != "victims":
        seconds_ = "node-second" if proof["cost"] == 1 else "node-seconds"
        unit = {"lost_work": f"{seconds_} of lost work", "given": "by what their rows say"}[kind]
        paid = f"The victims of this step cost {proof['cost']:,} {unit}"
        if proof["proved"]:
            return [f"{paid}; none that cost less make room for it{where}."]
        least = f"at least {proof['lower_bound']:,} must be paid{where}"
        return [f"{paid}; {least}: {open_.format('cheaper')}."]
    what = "operation" if facts.preempts_operations else "victim"  # what is counted: allocations, or jobs
    if proof["proved"]:
        if proof["cost"] == 1:
            return [f"One {what} is the fewest that make room for it{where}."]
        return [f"No fewer than the {proof['cost']} {what}s of this step make room for it{where}."]
    must, do = proof["lower_bound"], proof["cost"]
    least = f"At least {must} {what}{'s' * (must != 1)}" if facts.preempts_operations else f"At least {must}"
    return [f"{least} must leave{where} and {do} suffice: {open_.format('smaller')}."]


def _beneficiary(facts: Facts, operation: int) -> list[Claim]:
    return [facts.standing(facts.pools + operation), *facts.claim(operation)]


def _victim(facts: Facts, row: int, decision: Decision, operation: int) -> list[Claim]:
    column = facts.plan.decisions.column
    found, sentences = [], []
    if facts.shared:
        held = holding(facts, facts.pools + operation, column("usage_before")[row])
        text = f"just before, operation {name_of(decision.operation)} used {held}"
        group = int(column("group")[row])
        if group < len(GROUPS):
            word = GROUPS[group].replace("_", " ").replace("non preemptible", "non-preemptible")
            found.append(Claim("group", f"{name_of(decision.allocation)} is {word}: {text}."))
            found += facts.protection(operation)
        else:
            found.append(Claim("group", sentence(text)))
    else:
        found.append(facts.standing(facts.pools + operation))
    if decision.victim_within_fair_share:
        sentences.append("That was within its fair share.")
    same = victims_of_step(facts, row)
    if len(same) > 1:
        together = facts.object(column("freed")[same].sum(axis=0, dtype=np.int64))
        place = same.index(row) + 1
        count = len(set(column("operation")[same].tolist()))
        if facts.preempts_operations:
            owners = f"{count} operation{'s' if count > 1 else ''}"
            text = f"It is allocation {place} of {len(same)}, of {owners}, that leave in this step; they free"
        else:
            text = f"It is victim {place} of {len(same)} of this step, which free"
        sentences.append(f"{text} {facts.amounts(together)} together.")
    kept = f" and keeps {facts.amounts(decision.kept)}" if decision.kept else ""
    leaves = f"It gives back {facts.amounts(decision.freed)}{kept}"
    if decision.until is not None and decision.grace == 0:
        leaves += ", at once"
    elif decision.until is not None and decision.grace is not None:
        leaves += f", within {seconds(decision.grace)}, until {facts.instant(decision.until)}"
    again = "; its work starts again" if decision.mode == "requeue" else ""
    return [*found, *(Claim("leaves", one) for one in [*sentences, f"{leaves}{again}."])]


def explain_resumed(facts: Facts, row: int) -> Explanation:
    """Explain why a suspended allocation resumes, by its row among the decisions."""
    decisions = facts.plan.decisions
    decision = decisions[row]
    needed, free = (decisions.column(name)[row] for name in ("needed", "free_before"))
    held = facts.amounts(facts.object(free, zeros=True))
    text = agreed(reason(decision.reason, "start").sentence, free=held).format(
        allocation=f"allocation {name_of(decision.allocation)}",
        operation=name_of(decision.operation),
        node=facts.of_node(decision.node, "no node"),
        needed=facts.amounts(facts.object(needed)),
        free=held,
        **_counted(decision),
    )
    numbers = decision.numbers
    found = (
        Claim(decision.reason, sentence(text), numbers),
        *_beneficiary(facts, int(decisions.column("operation")[row])),
    )
    rows = {"needed": facts.object(needed), "free before": facts.object(free, zeros=True)}
    name = decision.allocation if decision.allocation is not None else ""
    table = facts.table(rows, ("needed",))
    return Explanation(name, "allocations", decision.reason, found, numbers, **table)


def _counted(decision: Decision) -> dict[str, str]:
    """Return what was counted in a queue, as it stands in a sentence."""
    count = decision.numbers.get("count", "")
    return {"jobs": f"{count} job{'s' * (count != 1)}"} | {
        name: name_of(decision.numbers.get(name, ""))
        for name in ("queue", "count", "most", "level", "seq_no")
    }


def explain_start(facts: Facts, rows: list[int]) -> Explanation:
    """Explain the starts of a request, by their rows among the decisions."""
    decisions = facts.plan.decisions
    first = decisions[rows[0]]
    sentences = []
    for row in rows[:3]:
        decision = decisions[row]
        victims = [d.allocation for d in map(decisions.__getitem__, victims_of_step(facts, row))]
        fields = {
            "request": name_of(decision.request),
            "operation": name_of(decision.operation),
            "node": facts.of_node(decision.node, "no node"),
            "victims": f"{listed(victims)} {'has' if len(victims) == 1 else 'have'}",
            "needed": facts.amounts(facts.object(decisions.column("needed")[row])),
            "free": facts.amounts(facts.object(decisions.column("free_before")[row], zeros=True)),
        }
        template = agreed(reason(decision.reason, "start").sentence, free=fields["free"])
        sentences.append(sentence(template.format(**fields)))
    if len(rows) > 3:
        sentences.append(f"It starts {len(rows) - 3} more times.")
    found = [*claims(first.reason, sentences, first.numbers)]
    found += _beneficiary(facts, int(decisions.column("operation")[rows[0]]))
    name = first.request if first.request is not None else ""
    request = int(decisions.column("request")[rows[0]])
    waiting = int(facts.snapshot._core.column("requests", "count")[request]) - len(rows)
    if waiting > 0:
        refused = facts.refusal(request)
        message = f": {refused.message}" if refused else "."
        still = f"{waiting:,} more of it still {'waits' if waiting == 1 else 'wait'}{message}"
        found.append(Claim("waits", still))
    needed, free = (decisions.column(column)[rows[0]] for column in ("needed", "free_before"))
    table = facts.table(
        {"needed": facts.object(needed), "free before": facts.object(free, zeros=True)}, ("needed",)
    )
    return Explanation(name, "requests", first.reason, tuple(found), first.numbers, **table)
