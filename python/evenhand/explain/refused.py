"""Why something was not done: told from what a recorder saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.decided import rows_of
from evenhand.explain.explanation import Explanation
from evenhand.explain.facts import Facts, amounts, name_of, sentence
from evenhand.fields import TABLES
from evenhand.reasons import GROUPS, OUTCOMES, STAGES, reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["explain_spared", "explain_waiting"]

_STATES = TABLES["allocations"]["state"].words
_MOST = 8  # kinds of outcomes told


def explain_spared(facts: Facts, row: int) -> Explanation:
    """Explain why an allocation was not preempted, by its row."""
    core, snapshot = facts.snapshot._core, facts.snapshot
    name = snapshot.names("allocations")[row]
    operation = int(core.column("allocations", "operation")[row])
    node = int(core.column("allocations", "node")[row])
    state = _STATES[core.column("allocations", "state")[row]]
    where = f" on node {name_of(facts.name('nodes', node))}" if node >= 0 else ""
    owner = name_of(facts.name("operations", operation))
    sentences = [f"Allocation {name_of(name)} of operation {owner}{where} was not preempted."]
    code = int(facts.plan.groups.codes[row])
    if state != "running":
        sentences.append(f"It is {state}.")
    elif code < len(GROUPS):
        element = facts.pools + operation
        group = GROUPS[code].replace("_", " ").replace("non preemptible", "non-preemptible")
        share = facts.against(element, facts.usage(element))
        sentences.append(
            f"It is {group}: operation {owner} had {share} of its fair share. {facts.protection(operation)}"
        )
    looked_at, told = _told(facts, facts.plan._core.trace("allocation", row), operation)
    verdict = looked_at[0]["outcome"] if looked_at else "nobody_asked"
    if not looked_at:
        sentences.append(sentence(reason(verdict, "unseen").sentence))
    return Explanation(name, "allocations", verdict, (*sentences, *told), {}, tuple(looked_at))


def explain_waiting(facts: Facts, row: int) -> Explanation:
    """Explain why a request did not start, by its row."""
    core, snapshot = facts.snapshot._core, facts.snapshot
    name = snapshot.names("requests")[row]
    operation = int(core.column("requests", "operation")[row])
    needed = facts.object(core.column("requests", "resources")[row])
    count = int(core.column("requests", "count")[row])
    many = f", {count:,} times" if count > 1 else ""
    owner = name_of(facts.name("operations", operation))
    started = len(rows_of(facts, "request", row, "start"))
    part = f"starts {started:,} of {count:,} times only" if started else "did not start"
    sentences = [
        f"Request {name_of(name)} of operation {owner} ({amounts(needed)}{many}) {part}.",
        sentence(facts.standing(facts.pools + operation)),
    ]
    claim = facts.claim(operation)
    refused = facts.refusal(row)
    looked_at, told = _told(facts, facts.plan._core.trace("request", row), operation)
    verdict = refused.rule if refused else looked_at[0]["outcome"] if looked_at else ""
    if refused and not told:
        sentences.append(refused.message)
    elif not verdict:
        verdict = "nobody_asked"
        sentences.append(sentence(reason(verdict, "unseen").sentence))
    every = (*sentences, *([claim] if claim else []), *told)
    numbers: dict[str, Any] = {"needed": needed, "count": count, **facts.order(operation)}
    if refused:
        numbers |= refused.numbers
    return Explanation(name, "requests", verdict, every, numbers, tuple(looked_at))


def _told(
    facts: Facts, trace: Mapping[str, NDArray[Any]], operation: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return one object and one sentence a kind of outcome, in the order in which they first came.

    That there was nothing to repair comes last, and is not said where there is more to say.
    """
    kinds: dict[tuple[int, int], list[int]] = {}
    for row, kind in enumerate(zip(trace["stage"].tolist(), trace["outcome"].tolist(), strict=True)):
        kinds.setdefault(kind, []).append(row)
    total = np.maximum(np.asarray(facts.snapshot._core.total, np.float64), 1.0)
    looked_at: list[dict[str, Any]] = []
    told: list[str] = []
    nothing = OUTCOMES.index("no_violation")
    for (stage, outcome), rows in sorted(kinds.items(), key=lambda kind: kind[0][1] == nothing):
        lacks = np.maximum(trace["numbers"][rows], 0)
        nearest = rows[int(np.argmin((lacks / total).max(axis=1, initial=0.0)))]
        code = OUTCOMES[outcome]
        event = _event(facts, trace, nearest)
        looked_at.append({"stage": STAGES[stage], "outcome": code, "times": len(rows), **event})
        if outcome != nothing or not told:
            told.append(_outcome(facts, stage, code, len(rows), event, operation))
    if len(told) > _MOST:
        told = [*told[:_MOST], f"{len(told) - _MOST} more kinds of outcomes are in looked_at."]
    return looked_at, told


def _event(facts: Facts, trace: Mapping[str, NDArray[Any]], row: int) -> dict[str, Any]:
    node, request = int(trace["node"][row]), int(trace["request"][row])
    return {
        "node": facts.name("nodes", node) if node >= 0 else None,
        "request": facts.name("requests", request) if request >= 0 else None,
        "missing": facts.object(np.maximum(trace["numbers"][row], 0)),
    }


def _outcome(
    facts: Facts, stage: int, code: str, times: int, event: Mapping[str, Any], operation: int
) -> str:
    where = reason(STAGES[stage], "stage").sentence
    template = reason(code, "request", "allocation").sentence
    request = event["request"]
    text = template.format(
        node="its node" if event["node"] is None else name_of(event["node"]),
        request="the request" if request is None else f"request {name_of(request)}",
        operation=name_of(facts.name("operations", operation)),
        missing=amounts(event["missing"]),
        stage=where,
    )
    if "{stage}" not in template:
        text = f"{where}: {text}"
    if times > 1:
        text += f" (the nearest of {times:,} times)"
    return sentence(text)
