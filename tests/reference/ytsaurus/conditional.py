"""Conditional preemption, a rule of older revisions (section 2.6).

A starving or badly served element blocked what runs below it from being taken. What the nearest such
element, if it was a pool, blocked could still be taken for candidates inside that pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.reference.ytsaurus.status import satisfaction
from tests.reference.ytsaurus.vectors import LARGE_EPSILON, Shares

__all__ = ["Ranked", "blocking_ancestor", "conditional_discount"]


@dataclass(frozen=True)
class Ranked:
    """What the rule looks at of an element; the root is nobody's parent."""

    name: str
    parent: str | None
    is_pool: bool
    fair_share: Shares
    usage: Shares
    demand: Shares
    starving: bool


def _upwards(name: str, elements: Mapping[str, Ranked]) -> list[Ranked]:
    chain = [elements[name]]
    while chain[-1].parent is not None:
        chain.append(elements[chain[-1].parent])
    return chain


def blocking_ancestor(
    name: str,
    elements: Mapping[str, Ranked],
    threshold: float,
    *,
    check_starvation: bool = True,
    check_satisfaction: bool = True,
) -> str | None:
    """Return the first element from this one upwards that blocks what runs in it, None if none does."""
    for element in _upwards(name, elements):
        served = satisfaction(element.fair_share, element.usage, element.demand)
        if check_starvation and element.starving:
            return element.name
        if check_satisfaction and served < threshold + LARGE_EPSILON:
            return element.name
    return None


def conditional_discount(
    name: str, elements: Mapping[str, Ranked], blocked: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """Return what a candidate may count on beside the plain discount.

    Parameters
    ----------
    name : str
        The candidate.
    elements : mapping of str to Ranked
    blocked : mapping
        Pool to the amounts of what it blocks and no lower element does.

    Returns
    -------
    dict
        Sum over the candidate's pools, without zeros.
    """
    total: dict[str, float] = {}
    for element in _upwards(name, elements):
        for resource, amount in blocked.get(element.name, {}).items() if element.is_pool else ():
            total[resource] = total.get(resource, 0) + amount
    return {resource: amount for resource, amount in total.items() if amount}
