"""What a plan leaves for the next one if some of its steps are not carried out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.plans.again import nodes_with_victims, victims_taken

if TYPE_CHECKING:
    from evenhand.plans.plan import Plan
    from evenhand.plans.steps import Step
    from evenhand.state import State

__all__ = ["without_steps"]


def without_steps(plan: Plan, undone: Collection[int]) -> State:
    """Return the state of a plan in which some steps have left nothing."""
    after, before = plan.state, plan.state_before
    steps = [step for step in plan.steps() if step.victims]
    undone = {step.number for step in steps if step.number in undone}
    if not undone:
        return after
    operations, requests = _touched(steps, undone)
    of_node = nodes_with_victims(plan)
    tried = {node for step in steps if step.number not in undone for node in of_node[step.number]}
    nodes = {node for number in undone for node in of_node[number]} - tried
    known: dict[str, Any] = {
        table: {} if before is None else getattr(before, table)
        for table in ("operations", "requests", "nodes", "victims")
    }
    last = {
        name: {**kept, "last_preemptive": known["nodes"].get(name, {}).get("last_preemptive")}
        if str(name) in nodes
        else kept
        for name, kept in after.nodes.items()
    }
    return replace(
        after,
        operations=_restored(after.operations, known["operations"], operations),
        requests=_restored(after.requests, known["requests"], requests),
        nodes={name: kept for name, kept in last.items() if any(v is not None for v in kept.values())},
        victims=_victims(plan, undone, known["victims"]),
    )


def _touched(steps: Collection[Step], undone: Collection[int]) -> tuple[set[str], set[str]]:
    """Return operations and requests of undone steps that no other step has."""
    found: dict[bool, tuple[set[str], set[str]]] = {True: (set(), set()), False: (set(), set())}
    for step in steps:
        operations, requests = found[step.number in undone]
        operations |= {str(victim.operation) for victim in step.victims}
        if step.beneficiary is not None:
            operations.add(str(step.beneficiary.operation))
            requests.add(str(step.beneficiary.request))
    return found[True][0] - found[False][0], found[True][1] - found[False][1]


def _restored(after: Any, before: Any, names: Collection[str]) -> dict[Any, Any]:
    """Return rows of a state in which those of some names are as they were."""
    kept = {name: row for name, row in after.items() if str(name) not in names}
    return kept | {name: row for name, row in before.items() if str(name) in names}


def _victims(plan: Plan, undone: Collection[int], before: Any) -> dict[Any, Any]:
    """Return when victims were taken, without those of undone steps."""
    found = dict(plan.state.victims)
    others = {step.number for step in plan.steps()} - set(undone)
    still = victims_taken(plan, others)
    for key, instants in victims_taken(plan, undone).items():
        if key not in found:
            continue
        if key[0] == "pool":
            # Instants rise, and those of the plan are the last.
            taken = list(found[key]["taken"])[: -len(instants)]
        else:
            taken = list(found[key]["taken"] if key in still else before.get(key, {}).get("taken", ()))
        if taken:
            found[key] = {"taken": taken}
        else:
            del found[key]
    return found
