"""How an element or a node stands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.explanation import Claim, Explanation, claims
from evenhand.explain.facts import Facts, listed, name_of, number, seconds
from evenhand.explain.fair import bound_rows, scaled, share_rows

if TYPE_CHECKING:
    from evenhand.plans.statuses import Status

__all__ = ["explain_element", "explain_node"]

_MOST = 3  # requests listed
_ON_NODE = (
    ("Allocations that leave", "preempt", "allocation"),
    ("Requests that start", "start", "request"),
    ("Allocations that resume", "resume", "allocation"),
    ("Requests for which room is kept", "reserve", "request"),
)


def explain_element(facts: Facts, row: int) -> Explanation:
    """Explain how a pool or an operation stands, by its row among the elements."""
    pool = row < facts.pools
    name = facts.snapshot.element_names[row]
    if not facts.shared:
        first, decided = facts.standing(row), _decided(facts, row)
        if pool:  # of which a system without fair shares has nothing more to say
            text = f"{first.sentence.removesuffix('.')}: {decided[:1].lower()}{decided[1:]}"
            return Explanation(name, "pools", "no_fair_shares", (replace(first, sentence=text),))
        if fate := facts.plan.policy.fate(facts.snapshot, row - facts.pools):
            first = replace(first, sentence=f"{first.sentence.removesuffix('.')}; {fate}.")
        said = (first, *_noted(facts, row), *claims("decided", [decided, *_waiting(facts, row)], {}))
        return Explanation(name, "operations", "no_fair_shares", said)
    status = facts.plan.statuses.at(row)
    found = [facts.standing(row), *_noted(facts, row)]
    if row:
        found.append(Claim("rule", _rule(facts, row, status)))
    if not pool:
        operation = row - facts.pools
        if status.priority != "none":
            may = {"normal": "preempt", "aggressive": "preempt aggressively"}[status.priority]
            found += [Claim("priority", f"It may {may}."), *facts.claim(operation)]
        found += facts.protection(operation)
    found += claims("decided", [_decided(facts, row), *_waiting(facts, row)], {})
    numbers: dict[str, Any] = {
        "satisfaction": status.satisfaction,
        "tolerance": status.tolerance,
        "timeout": status.timeout,
        "since": status.since,
    }
    code = status.starvation if status.starvation != "non_starving" else status.status
    amounts = facts.table(share_rows(facts, row) | bound_rows(found))
    return Explanation(name, "pools" if pool else "operations", code, tuple(found), numbers, **amounts)


def _noted(facts: Facts, row: int) -> list[Claim]:
    """Say what an operation waits for in the system itself, if its reader noted that; nothing of a pool."""
    if row < facts.pools:
        return []
    why = facts.snapshot.settings("operations").get(row - facts.pools, {}).get("waits_for")
    if why is None:
        return []
    text = f"It waits, and this plan neither starts it nor preempts for it: {name_of(why)}."
    return [Claim("waits_for", text, {"waits_for": why})]


def _rule(facts: Facts, row: int, status: Status) -> str:
    touched = "may" if status.aggressive_preemption else "may not"
    if facts.given("starvation", row):
        return f"Whether it starves was given to this plan; aggressive preemption {touched} touch it."
    satisfied = (
        "no fair share" if status.satisfaction >= 1e9 else f"satisfaction {number(status.satisfaction, [1])}"
    )
    text = f"It counts as below under {number(status.tolerance)} of its fair share ({satisfied})"
    if status.timeout is not None:
        after, by = scaled(facts, row, status.timeout)
        told = f" (fair_share_starvation_timeout{by})" if by else ""
        text += f", and starves when it was below for more than {seconds(after)}{told}"
    aggressive = "may" if status.aggressive_starvation else "may not"
    return f"{text}; it {aggressive} starve aggressively, and aggressive preemption {touched} touch it."


def _decided(facts: Facts, row: int) -> str:
    """Count the decisions on an element's operations, and those for them."""
    decisions = facts.plan.decisions
    snapshot = facts.snapshot
    parent = np.concatenate(
        [snapshot._core.column("pools", "parent"), snapshot._core.column("operations", "pool")]
    )
    inside = np.zeros(len(parent), np.bool_)
    inside[row] = True
    frontier = {row}
    while frontier:
        children = np.flatnonzero(np.isin(parent, list(frontier)))
        frontier = set(children[~inside[children]].tolist())
        inside[children] = True
    operations = inside[facts.pools :]
    mine = decisions.take(operations[decisions.column("operation")]) if len(decisions) else decisions
    starts, victims = len(mine.starts), len(mine.victims)
    text = f"This plan starts {starts:,} of its requests and preempts {victims:,} of its allocations"
    others = decisions.victims
    served = others.column("beneficiary_operation")
    made = int(np.count_nonzero(operations[served[served >= 0]]))
    return f"{text}, and {made:,} {'is' if made == 1 else 'are'} preempted for it." if made else f"{text}."


def _waiting(facts: Facts, row: int) -> list[str]:
    """Say why an operation's requests do not start; nothing of a pool."""
    if row < facts.pools:
        return []
    core = facts.snapshot._core
    requests = np.flatnonzero(core.column("requests", "operation") == row - facts.pools)
    refused = [(facts.name("requests", int(r)), facts.refusal(int(r))) for r in requests]
    texts = [f"Request {name_of(name)} waits: {why.message}" for name, why in refused if why is not None]
    more = len(texts) - _MOST
    return texts if more < 2 else [*texts[:_MOST], f"{more:,} more of its requests wait."]


def explain_node(facts: Facts, row: int) -> Explanation:
    """Explain what a plan does on a node, by its row."""
    decisions = facts.plan.decisions
    name = facts.name("nodes", row)
    mine = decisions.take(decisions.column("node") == row)
    if not len(mine):
        nothing = f"On node {name_of(name)} this plan preempts nothing and starts nothing."
        return Explanation(name, "nodes", "nothing_decided", claims("nothing_decided", [nothing], {}))
    free = facts.amounts(facts.object(mine.column("free_before")[0], zeros=True))
    done = f"preempts {len(mine.victims):,} and starts {len(mine.starts):,}"
    sentences = [f"On node {name_of(name)} this plan {done}. Free before: {free}."]
    for what, action, column in _ON_NODE:
        names = [getattr(one, column) for one in mine if one.action == action]
        if names:
            sentences.append(f"{what}: {listed(dict.fromkeys(names))}.")
    return Explanation(name, "nodes", "decided", claims("decided", sentences, {}))
