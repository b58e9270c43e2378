"""Why something was not done: explained from what a recorder saw."""

from __future__ import annotations

import re
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.explain.decided import rows_of, victims_of_step
from evenhand.explain.explanation import Claim, Explanation
from evenhand.explain.facts import Facts, agreed, listed, name_of, sentence
from evenhand.explain.fair import bound_rows, holding, share_rows
from evenhand.explain.told import NOTHING, Told, told_of_outcome, told_of_unseen
from evenhand.fields import TABLES
from evenhand.plans.refusals import LIMITS
from evenhand.reasons import GROUPS, OUTCOMES, STAGES, reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.reasons import Kind

__all__ = ["allocation_named", "explain_spared", "explain_waiting", "request_named"]

_STATES = TABLES["allocations"]["state"].words
_STANDS = {
    "preempting": "has been asked to leave already, so it is not asked again",
    "preempted": "was suspended before, and stays suspended",
    "suspended": "was stopped by a person, and is not preempted",
}
_MOST = 8  # kinds of outcomes that are reported


def explain_spared(facts: Facts, row: int) -> Explanation:
    """Explain why an allocation was not preempted, by its row."""
    core, snapshot = facts.snapshot._core, facts.snapshot
    name = snapshot.names("allocations")[row]
    operation = int(core.column("allocations", "operation")[row])
    state = _STATES[core.column("allocations", "state")[row]]
    owner = name_of(facts.name("operations", operation))
    first = f"{allocation_named(facts, row)} {_STANDS.get(state, 'was not preempted')}."
    said = list[Claim]()
    rows: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    code = int(facts.plan.groups.codes[row])
    looked_at, found, because, _ = _outcomes(facts, "allocation", row, operation)
    if because:
        first = first.removesuffix(".") + because
    elif looked_at and state in (("running",) if facts.shared else ("running", "preempted")):
        first, found, _ = _begun(first, found, looked_at[0]["outcome"])
    if state == "preempted":
        numbers["needed"] = needed = _back(facts, row)
        said.append(Claim("needs", f"To resume it needs {facts.amounts(needed)} more than it keeps."))
    elif state == "running" and code < len(GROUPS):
        element = facts.pools + operation
        held = holding(facts, element, np.asarray(core.column("operations", "usage"))[operation])
        rows = share_rows(facts, element)
        # Work that started or left since the update may have moved it.
        decided = next((met["group"] for met in looked_at if "group" in met), GROUPS[code])
        group = f"It is {_group(decided)}"
        if decided != GROUPS[code]:
            group = (
                f"It was {_group(GROUPS[code])} at the update, and {_group(decided)} when its node reported"
            )
        said.append(Claim("group", f"{group}: operation {owner} used {held}."))
        said += facts.protection(operation)
        rows |= bound_rows(said)
    if looked_at:
        verdict = looked_at[0]["outcome"]
        numbers |= looked_at[0].get("compared", {})
    else:
        verdict = {"preempted": "stays_suspended", "preempting": "already_preempting"}.get(
            state, "not_considered"
        )
        told = told_of_unseen(facts, "allocation", row) if state == "running" else NOTHING
        if told.text or (verdict == "not_considered" and state == "running"):
            waits = np.asarray(core.column("requests", "count")).any()
            unseen = reason(verdict, "unseen").sentence if waits else "no request waits"
            first = _because(first, told.text or unseen)
            numbers |= told.numbers
        elif verdict == "stays_suspended":
            said.append(Claim(verdict, sentence(reason(verdict, "unseen").sentence)))
    every = (Claim(verdict, first, numbers), *said, *found)
    table = facts.table(rows)
    return Explanation(name, "allocations", verdict, every, numbers, tuple(looked_at), **table)


def allocation_named(facts: Facts, row: int) -> str:
    """Return what the first sentence about an allocation begins with: of what and where it is."""
    core = facts.snapshot._core
    operation, node = (int(core.column("allocations", one)[row]) for one in ("operation", "node"))
    where = f" on node {name_of(facts.name('nodes', node))}" if node >= 0 else ""
    owner = name_of(facts.name("operations", operation))
    return f"Allocation {name_of(facts.name('allocations', row))} of {facts.work} {owner}{where}"


def request_named(facts: Facts, row: int) -> str:
    """Return what the first sentence about a request begins with: whose it is."""
    owner = facts.name("operations", int(facts.snapshot._core.column("requests", "operation")[row]))
    return f"Request {name_of(facts.name('requests', row))} of {facts.work} {name_of(owner)}"


def _group(word: str) -> str:
    return word.replace("_", " ").replace("non preemptible", "non-preemptible")


def _back(facts: Facts, row: int) -> dict[str, float]:
    """Return what a suspended allocation takes when it resumes."""
    core = facts.snapshot._core
    held = np.asarray(core.column("allocations", "held"))
    has = np.asarray(core.column("allocations", "resources"))[row]
    return facts.object(has - held[row] if len(held) else has)


def explain_waiting(facts: Facts, row: int) -> Explanation:
    """Explain why a request did not start, by its row."""
    core, snapshot = facts.snapshot._core, facts.snapshot
    name = snapshot.names("requests")[row]
    operation = int(core.column("requests", "operation")[row])
    needed = facts.object(core.column("requests", "resources")[row])
    count = int(core.column("requests", "count")[row])
    if not count:
        text = f"{request_named(facts, row)} asks for nothing: its count is 0."
        none = {"needed": needed, "count": 0}
        return Explanation(name, "requests", "count_exhausted", (Claim("count_exhausted", text, none),), none)
    started = len(rows_of(facts, "request", row, "start"))
    part = f"starts {started:,} of {count:,} times only" if started else "did not start"
    many = f", {count:,} times" if count > 1 else ""
    first = f"{request_named(facts, row)} ({facts.amounts(needed)}{many}) {part}."
    said = [facts.standing(facts.pools + operation)]
    after = facts.claim(operation)
    refused = facts.refusal(row)
    looked_at, found, because, lead = _outcomes(
        facts, "request", row, operation, refused.rule if refused else ""
    )
    alone = first
    if because:
        first = first.removesuffix(".") + because
    verdict = refused.rule if refused else looked_at[0]["outcome"] if looked_at else ""
    moved: Mapping[str, Any] = {}
    # With what has started it would be over a limit, which no stage met.
    late = refused and verdict == LIMITS and all(met["outcome"] != LIMITS for met in looked_at)
    if late and refused and looked_at and not because:
        text, moved = _over_limits(facts, operation, refused.numbers.get("missing", {}))
        first = _because(first, text)
    elif looked_at and not because:
        first, found, moved = _begun(first, found, verdict, refused.message if refused else "")
    unseen = _unseen(facts, row, refused.rule) if refused and not looked_at else NOTHING
    if unseen.text:
        first = _because(first, unseen.text)
    elif refused and not looked_at:
        first = _because(first, refused.message)
    reserved = rows_of(facts, "request", row, "reserve")
    if reserved and verdict in ("", "waits_for_victims"):
        verdict = "waits_for_victims"
        if first == alone:
            kept = [_kept_for(facts, one) for one in reserved]
            first = _because(first, kept.pop(0))
            said += [Claim(verdict, one) for one in kept]
        else:  # what it waits for has been said
            said.append(Claim(verdict, _kept_on(facts, reserved)))
    elif not verdict:
        verdict = "not_considered"
        unseen = told_of_unseen(facts, "request", row)
        first = _because(first, unseen.text or reason(verdict, "unseen").sentence)
        moved = unseen.numbers
    numbers: dict[str, Any] = {"needed": needed, "count": count, **facts.order(operation)}
    if refused:
        numbers |= {**refused.numbers, **(unseen.numbers if unseen.text else {})}
    numbers |= looked_at[lead].get("compared", {}) if because else moved
    every = (Claim(verdict, first, numbers), *said, *after, *found)
    rows: dict[str, Any] = {"needed": needed}
    if looked_at and looked_at[0]["missing"]:
        node, missing = looked_at[0]["node"], looked_at[0]["missing"]
        rows["missing" if node is None else f"missing on {node}"] = missing
    if facts.shared:
        rows |= share_rows(facts, facts.pools + operation)
    table = facts.table(rows, ("needed",))
    return Explanation(name, "requests", verdict, every, numbers, tuple(looked_at), **table)


def _over_limits(
    facts: Facts, operation: int, missing: Mapping[str, float]
) -> tuple[str, dict[str, dict[str, float]]]:
    """Say whose limits a request would break at the end of a plan: of each that limits what is missing."""
    core, owners, numbers = facts.snapshot._core, [], {}
    parents = core.column("pools", "parent")
    at = [r for r, name in enumerate(facts.snapshot.resources) if missing.get(name)]
    table, row, element = "operations", operation, facts.pools + operation
    while element >= 0:
        given = [r for r in at if int(core.column(table, "limits_given")[row]) >> r & 1]
        if given:
            limits = np.zeros(len(facts.snapshot.resources), np.int64)
            limits[given] = core.column(table, "limits")[row][given]
            most = numbers[f"limits_of_{facts.short(element)}"] = facts.object(limits)
            owners.append(f"{facts.element(element)} (at most {facts.amounts(most) or 'nothing'})")
        row = element = int(core.column("operations", "pool")[row] if table == "operations" else parents[row])
        table = "pools"
    over = f"over its limits with it, by {facts.amounts(missing)}"
    return f"at the end of the plan {' or '.join(owners)} would be {over}", numbers


def _unseen(facts: Facts, row: int, rule: str) -> Told:
    """Return what the policy says of a request that was refused before anything was looked at."""
    none = {"stage": "", "outcome": rule, "times": 0, "node": None, "request": None, "missing": {}}
    return told_of_outcome(facts, "request", row, none, {})


def _because(first: str, why: str) -> str:
    """Return a first sentence that ends with the reason."""
    return f"{first.removesuffix('.')}: {why[:1].lower()}{why[1:].removesuffix('.')}."


def _begun(
    first: str, found: list[Claim], verdict: str, otherwise: str = ""
) -> tuple[str, list[Claim], Mapping[str, Any]]:
    """Return a first sentence that ends with what a stage says of the verdict.

    With it the other claims, and the numbers of what was said. Where no stage says it, it was found at the
    end: then it ends with other words.
    """
    for place, claim in enumerate(found):
        if claim.code == verdict:
            said = re.sub(r"^(In the [\w ]*): ", r"\1, ", claim.sentence)
            return _because(first, said), [*found[:place], *found[place + 1 :]], claim.numbers
    return _because(first, otherwise) if otherwise else first, found, {}


def _kept_for(facts: Facts, row: int) -> str:
    """Say where a request waits for room, and what leaves there, by the decision that keeps the room."""
    decision = facts.plan.decisions[row]
    where = facts.of_node(decision.node, "the cluster")
    victims = [facts.plan.decisions[one].allocation for one in victims_of_step(facts, row)]
    if not victims:
        return f"Room is kept for it on {where}."
    leave = "has" if len(victims) == 1 else "have"
    return f"It waits for {where}, where it fits once {listed(victims)} {leave} left."


def _kept_on(facts: Facts, rows: list[int]) -> str:
    """Say where room is kept for a request, by the decisions that keep it."""
    nodes = list(dict.fromkeys(facts.plan.decisions[row].node for row in rows))
    if None in nodes:
        return "Room is kept for it in the cluster."
    return f"Room is kept for it on node{'s' * (len(nodes) > 1)} {listed(nodes)}."


def _outcomes(
    facts: Facts, what: Literal["request", "allocation"], row: int, operation: int, verdict: str = ""
) -> tuple[list[dict[str, Any]], list[Claim], str, int]:
    """Return one object and one claim a kind of outcome, in the order in which they first came.

    That there was nothing to repair comes last, and is not said where there is more to say. What a policy
    says of the verdict in its own words, else of the first, is not among the claims: it ends the first
    sentence. Last comes which one that is.
    """
    trace = facts.plan._trace(what, row)
    kinds: dict[tuple[int, int], list[int]] = {}
    for place, kind in enumerate(zip(trace["stage"].tolist(), trace["outcome"].tolist(), strict=True)):
        kinds.setdefault(kind, []).append(place)
    total = np.maximum(np.asarray(facts.snapshot._core.total, np.float64), 1.0)
    looked_at: list[dict[str, Any]] = []
    found: list[Claim] = []
    because, begins, said = "", "", 0
    nothing = OUTCOMES.index("no_violation")
    every_kind = sorted(kinds.items(), key=lambda kind: kind[0][1] == nothing)
    codes = [OUTCOMES[outcome] for (_, outcome), _ in every_kind]
    lead = codes.index(verdict) if verdict in codes else 0
    for (stage, outcome), rows in every_kind:
        lacks = np.maximum(trace["numbers"][rows], 0)
        nearest = rows[int(np.argmin((lacks / total).max(axis=1, initial=0.0)))]
        code = OUTCOMES[outcome]
        event = _event(facts, trace, nearest)
        paced = facts.paced(trace, nearest)
        met = {"stage": STAGES[stage], "outcome": code, "times": len(rows), **event}
        told = told_of_outcome(facts, what, row, met, _recorded(trace, nearest, paced))
        node = {} if told.node is None else {"node": told.node}
        every = {**paced, **told.numbers}
        looked_at.append({**met, **node, **({"compared": every} if every else {})})
        if outcome == nothing and found:
            continue
        said += 1
        if said > _MOST:
            continue
        if told.text and told.text == begins:  # as it was in the pass before
            continue
        if not told.text:
            compared = {"compared": paced} if paced else {}
            text = _outcome(facts, what, row, stage, code, len(rows), {**event, **compared}, operation)
            found.append(Claim(code, text, every))
        elif len(looked_at) == lead + 1:
            begins = told.text
            asks = f" for {told.asks}" if told.asks else ""
            because = f"{asks}: {told.text}{_nearest(len(rows))}."
        else:
            asks = f"for {told.asks}: " if told.asks else ""
            found.append(Claim(code, sentence(asks + told.text + _nearest(len(rows))), every))
        found += [Claim(code, sentence(one), told.numbers) for one in told.sentences]
    if said > _MOST:
        found.append(Claim("more", f"{said - _MOST} more kinds of outcomes are in looked_at."))
    return looked_at, found, because, lead


def _nearest(times: int) -> str:
    return f" (the nearest of {times:,} times)" if times > 1 else ""


def _recorded(trace: Mapping[str, NDArray[Any]], row: int, paced: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what was recorded of an event; of a request also what became of how many running jobs."""
    facts: Any = trace.get("facts")
    if facts is None:
        return {}
    found = dict(facts[row])
    if (stood := trace.get("stood")) is not None:
        found["stood"] = stood
    if paced:
        found |= {"spared": OUTCOMES[int(trace["pace"][row])], "paced": paced}
    return found


def _event(facts: Facts, trace: Mapping[str, NDArray[Any]], row: int) -> dict[str, Any]:
    node, request = int(trace["node"][row]), int(trace["request"][row])
    facts_of: Any = trace.get("facts")
    placed = [] if facts_of is None else list(facts_of[row]["nodes"].get("placed_on", []))
    if placed and trace["outcome"][row] == OUTCOMES.index("spared_fits_without"):
        node = int(placed[0])  # the room was where the request was placed, not where the allocation is
    code = int(trace["group"][row]) if "group" in trace else len(GROUPS)
    group = {"group": GROUPS[code]} if code < len(GROUPS) else {}
    return {
        "node": facts.name("nodes", node) if node >= 0 else None,
        "request": facts.name("requests", request) if request >= 0 else None,
        "missing": facts.object(np.maximum(trace["numbers"][row], 0)),
        **group,
    }


def _worded(facts: Facts, template: str) -> str:
    """Return a template with operations as they are called, its fields as they are."""
    parts = Formatter().parse(template)
    return "".join(facts.worded(text) + (f"{{{name}}}" if name else "") for text, name, _, _ in parts)


def _outcome(
    facts: Facts,
    what: Kind,
    row: int,
    stage: int,
    code: str,
    times: int,
    event: Mapping[str, Any],
    operation: int,
) -> str:
    where = reason(STAGES[stage], "stage").sentence
    template = _worded(facts, reason(code, what, "request", "allocation").sentence)
    missing = facts.amounts(event["missing"])
    template = agreed(template, missing=missing)
    request = event["request"]
    nowhere = "each node that was tried" if what == "request" else "its node"
    text = template.format(
        node=facts.of_node(event["node"], nowhere),
        request="the request" if request is None else f"request {name_of(request)}",
        operation=name_of(facts.name("operations", operation)),
        missing=missing,
        stage=where,
        tags=facts.tags(row, event["node"]) if "{tags}" in template else "",
    )
    if event.get("compared"):
        text += f" ({facts.pairs(event['compared'])})"
    if where and "{stage}" not in template:
        text = f"{where}: {text}"
    return sentence(text + _nearest(times))
