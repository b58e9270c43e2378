"""In which order jobs are preempted for another, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.facts import name_of
from evenhand.fields import TABLES

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts

__all__ = ["OF_CLUSTER", "leaving_for", "needed_in_all", "order_of", "serves"]

#: Scope of resources that are counted once.
OF_CLUSTER = TABLES["resources"]["scope"].words.index("cluster")

_LEAVES = TABLES["allocations"]["state"].words.index("preempting")
_BY_NAME = "Jobs leave in the order in which the request for preemption names them, as far as they are needed"
_FEWEST = "As few jobs leave as can be"
_ON_ONE = f"{_FEWEST}; of as many on one host those whose highest priority is lowest, on the first host"
_RANK = "the lowest priority comes first, of equal ones the last that started"


def serves(decision: Any, asks: str) -> bool:
    """Return whether a decision is for a job."""
    return decision.beneficiary is not None and str(decision.beneficiary.operation) == asks


def leaving_for(facts: Facts, operation: int, numbers: dict[str, Any]) -> list[str]:
    """Return how the jobs are called that leave for a job, or leave already."""
    asks, core = str(facts.name("operations", operation)), facts.snapshot._core
    mine = facts.snapshot.names("requests")
    requests = {str(mine[row]) for row in np.flatnonzero(core.column("requests", "operation") == operation)}
    found = [str(d.operation) for d in facts.plan.decisions.victims if serves(d, asks)]
    of, leaves = core.column("allocations", "operation"), core.column("allocations", "state") == _LEAVES
    for column, wanted in (("operation", {asks}), ("request", requests)):
        names, codes = core.text("allocations", f"beneficiary.{column}")
        known = [place for place, name in enumerate(names) if str(name) in wanted]
        found += [
            str(facts.name("operations", int(of[row])))
            for row in np.flatnonzero(leaves & np.isin(codes, known))
        ]
    if found:
        numbers["victims"] = [*dict.fromkeys(found)]
    return [f"operation {name_of(name)}" for name in dict.fromkeys(found)]


def needed_in_all(facts: Facts, operation: int) -> Any:
    """Return what a job that waits needs in all, in quanta."""
    core = facts.snapshot._core
    mine = core.column("requests", "operation") == operation
    counts = np.asarray(core.column("requests", "count"))[mine]
    return (np.asarray(core.column("requests", "resources"))[mine] * counts[:, None]).sum(axis=0)


def order_of(facts: Facts, operation: int, asks: int, numbers: Mapping[str, Any]) -> str:
    """Say where a job stands among those that may be preempted for another, and how these are ordered."""
    if "place" not in numbers:
        return ""
    owner, many = name_of(facts.name("operations", operation)), numbers["candidates"]
    if many == 1:
        return f"Operation {owner} is the only job that may be preempted for it"
    stands = f"operation {owner} is number {numbers['place']:,} of {many:,} that may be preempted for it"
    name = str(facts.name("operations", asks))
    made = [d.reason == "manual_preemption" for d in facts.plan.decisions.victims if serves(d, name)]
    if any(made):
        return f"{_BY_NAME}: {stands}"
    rule = _ON_ONE if _on_one_host(facts, asks) else _FEWEST
    return f"{rule}; {_RANK}: {stands}"


def _on_one_host(facts: Facts, asks: int) -> bool:
    """Return whether a job has one place, and the cluster has enough left of what it shares."""
    core, victims = facts.snapshot._core, facts.plan.decisions.victims
    mine = core.column("requests", "operation") == asks
    if int(np.asarray(core.column("requests", "count"))[mine].sum()) != 1:
        return False
    served = np.flatnonzero(victims.column("beneficiary_operation") == asks)
    if not len(served):
        return False
    free = np.asarray(victims.column("free_before")[served[0]])
    wide = np.asarray(facts.snapshot._head["scope"]) == OF_CLUSTER
    return not bool((wide & (needed_in_all(facts, asks) > free)).any())
