"""What is said of fair shares: how an element stands, on whose strength it preempts, what is safe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.explanation import Claim
from evenhand.explain.facts import number, seconds, sentence
from evenhand.reasons import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from evenhand.explain.facts import Facts

__all__ = ["bound_rows", "claim", "holding", "protection", "scaled", "share_rows", "standing"]

_EQUAL = 1e-9  # shares that differ by less are the same


def shares_of(facts: Facts, element: int) -> dict[str, NDArray[np.float64]]:
    """Return fair share, usage and demand of an element at the update, as shares of the cluster."""
    shares = facts.plan.shares
    quantities = {"fair_share": "fair_share", "usage": "usage_share", "demand": "demand_share"}
    return {name: np.asarray(shares[column][element]) for name, column in quantities.items()}


def deciding(fair: NDArray[np.float64], used: NDArray[np.float64], demand: NDArray[np.float64]) -> int:
    """Return the resource by which an element is compared with its fair share.

    Of those that it could use more of the one in which it comes closest to its share; if there are none,
    the one in which it is furthest below. Of several the one of which its share is the largest.
    """
    ratio = np.divide(used, fair, out=np.where(used > _EQUAL, np.inf, 0.0), where=fair > _EQUAL)
    wanted = fair < demand - _EQUAL
    if wanted.any():
        nearest = np.where(wanted, ratio, -1.0)
        return int(np.where(nearest >= nearest.max() - _EQUAL, fair, -1.0).argmax())
    owed = fair > _EQUAL
    if not owed.any():
        return int(used.argmax())
    nearest = np.where(owed, ratio, np.inf)
    return int(np.where(nearest <= nearest.min() + _EQUAL, fair, -1.0).argmax())


def holding(facts: Facts, element: int, quanta: NDArray[np.int64]) -> str:
    """Return usage and fair share in the resource that decides: ``10 cpu, where its fair share is 8 cpu``."""
    of, used = shares_of(facts, element), facts.share(quanta)
    place = deciding(of["fair_share"], used, of["demand"])
    if not quanta[place]:  # as where no node takes new work, and all shares are 0
        place = int(np.argmax(quanta))
    resource = facts.snapshot.resources[place]
    held, fair = facts.object(quanta, zeros=True)[resource], facts.from_shares(of["fair_share"])[resource]
    used_, owed = {resource: held}, {resource: fair}
    return f"{facts.amounts(used_, beside=owed)}, where its fair share is {facts.amounts(owed, beside=used_)}"


def share_rows(
    facts: Facts, element: int, used: NDArray[np.float64] | None = None
) -> dict[str, dict[str, float]]:
    """Return usage and fair share of an element as amounts, by quantity."""
    of = shares_of(facts, element)
    name = facts.short(element)
    rows = {
        f"usage of {name}": of["usage"] if used is None else used,
        f"fair share of {name}": of["fair_share"],
    }
    return {quantity: facts.from_shares(shares) for quantity, shares in rows.items()}


def standing(facts: Facts, element: int) -> Claim:
    """Say how an element stands to its fair share."""
    of = shares_of(facts, element)
    place = deciding(of["fair_share"], of["usage"], of["demand"])
    resource = facts.snapshot.resources[place]
    held = {name: facts.from_shares(shares)[resource] for name, shares in of.items()}
    status = facts.plan.statuses.at(element)
    has = facts.amounts_of({resource: held["usage"]}, {resource: held["fair_share"]})
    numbers: dict[str, Any] = {
        "element": facts.keys[element],
        "status": status.status,
        "starvation": status.starvation,
        "resource": resource,
        **held,
    }
    what = facts.element(element)
    if facts.given("starvation", element):
        numbers["given"] = True
        word = status.starvation.replace("_", " ").replace("non starving", "not starving")
        return Claim("standing", sentence(f"{what} is {word}, as was given: it uses {has}"), numbers)
    if element == 0:
        return Claim("standing", sentence(f"{what} uses {has}"), numbers)
    if status.status == "normal" and status.starvation == "non_starving":
        return Claim("standing", sentence(f"{what} is not below its fair share: it uses {has}"), numbers)
    numbers |= {"tolerance": status.tolerance, "since": status.since, "timeout": status.timeout}
    state = {
        "non_starving": "is below its fair share",
        "starving": "is starving",
        "aggressively_starving": "is aggressively starving",
    }[status.starvation]
    text = f"{what} {state}: it uses {has}"
    ratio = status.tolerance * of["fair_share"][place]
    if of["usage"][place] < ratio - _EQUAL and status.tolerance < 1:
        text += f", under {number(status.tolerance)} of its fair share (fair_share_starvation_tolerance)"
    elif of["usage"][place] < of["fair_share"][place] - _EQUAL:
        text += ", less than its fair share"
    return Claim("standing", sentence(text + _waited(facts, element, numbers)), numbers)


def _waited(facts: Facts, element: int, numbers: dict[str, Any]) -> str:
    """Say for how long an element has been below, against the timeout that decides."""
    since, timeout = numbers["since"], numbers["timeout"]
    if since is None:
        return ""
    waited = facts.snapshot.now - since
    numbers["waited"] = waited
    setting = "fair_share_starvation_timeout"
    if numbers["starvation"] == "aggressively_starving":
        setting = "fair_share_aggressive_starvation_timeout"
        numbers["timeout"] = timeout = facts.setting(setting)
    below = f", for {seconds(waited)}"
    if timeout is None:
        return below if waited or numbers["starvation"] != "non_starving" else ""
    after, by = scaled(facts, element, timeout)
    if by:
        numbers["after"] = after
    if numbers["starvation"] == "non_starving":
        starves = f"; it starves after more than {seconds(after)} ({setting}{by})"
        return (below if waited else "") + (starves if waited <= after else "")
    if waited <= after:
        return below
    return f"{below}, longer than {setting}" + (f"{by}: {seconds(after)}" if by else f" ({seconds(timeout)})")


def scaled(facts: Facts, element: int, timeout: float) -> tuple[float, str]:
    """Return a timeout as it holds for an element, and what makes it shorter; nothing does of most."""
    setting = "allocation_count_preemption_timeout_coefficient"
    coefficient = facts.setting(setting)
    if element < facts.pools or coefficient is None:
        return timeout, ""
    core = facts.snapshot._core
    mine = np.asarray(core.column("requests", "operation")) == element - facts.pools
    waiting = int(np.asarray(core.column("requests", "count"))[mine].sum())
    if waiting >= coefficient:
        return timeout, ""
    by = f" {seconds(timeout)}, times {waiting:,} that {'waits' if waiting == 1 else 'wait'} of {setting}"
    return timeout * waiting / coefficient, f"{by} {number(coefficient)}"


def claim(facts: Facts, operation: int) -> Claim | None:
    """Say on whose strength an operation preempts; None if on its own, or it may not."""
    status = facts.plan.statuses.at(facts.pools + operation)
    above = status.lowest_aggressive_ancestor or status.lowest_starving_ancestor
    # Under some settings a pool lends its operations nothing.
    if status.starvation != "non_starving" or status.priority == "none" or above is None:
        return None
    row = facts.keys.index(str(above))
    pool = standing(facts, row)
    text = f"it may preempt on the strength of its pool: {pool.sentence[:1].lower()}{pool.sentence[1:]}"
    return Claim("claim", sentence(text), pool.numbers)


def protection(facts: Facts, operation: int) -> Claim | None:
    """Say how an operation's work is divided into groups at the update; None if nothing of it runs."""
    core = facts.snapshot._core
    mine = np.asarray(core.column("allocations", "operation")) == operation
    codes = facts.plan.groups.codes[mine]
    counts = [int((codes == code).sum()) for code in range(len(GROUPS))]
    if not sum(counts):
        return None
    holds = np.asarray(core.column("allocations", "resources"))[mine]
    ends = [facts.object(holds[codes <= code].sum(axis=0, dtype=np.int64)) for code in range(2)]
    numbers: dict[str, Any] = dict(zip(GROUPS, counts, strict=True)) | {
        "non_preemptible_up_to": ends[0],
        "aggressively_preemptible_up_to": ends[1],
    }
    factors = [facts.setting(f"{kind}preemption_satisfaction_threshold") for kind in ("aggressive_", "")]
    bounds = ""
    if None not in factors:
        numbers |= dict(zip(("aggressive_threshold", "threshold"), factors, strict=True))
        bounds = (
            f", as aggressive_preemption_satisfaction_threshold is {number(factors[0])} and"
            f" preemption_satisfaction_threshold {number(factors[1])} of its fair share"
        )
    groups = (
        f"At the update its allocations were, oldest first: {counts[0]:,} non-preemptible, {counts[1]:,}"
        f" aggressively preemptible and {counts[2]:,} preemptible{bounds}."
    )
    texts = [groups]
    of = shares_of(facts, facts.pools + operation)
    if (np.abs(of["fair_share"] - of["demand"]) <= _EQUAL).all() and (of["demand"] > _EQUAL).any():
        texts.append("As its fair share covers its demand, nothing of it is preemptible without aggression.")
    texts.append(_below_threshold(facts, operation, numbers))
    return Claim("groups", " ".join(filter(None, texts)), numbers)


def bound_rows(claims: Iterable[Claim]) -> dict[str, dict[str, float]]:
    """Return what of an operation's work is in the groups that are safer, as `protection` claims it."""
    names = {
        "non_preemptible_up_to": "non-preemptible up to",
        "aggressively_preemptible_up_to": "aggressively preemptible up to",
        "usage_threshold": "usage threshold",
    }
    return {
        names[name]: dict(amounts)
        for claim in claims
        for name, amounts in claim.numbers.items()
        if claim.code == "groups" and name in names
    }


def _below_threshold(facts: Facts, operation: int, numbers: dict[str, Any]) -> str:
    """Say what an operation's usage threshold protects of it; empty if there is none."""
    threshold = facts.plan.statuses.at(facts.pools + operation).usage_threshold
    if not threshold:
        return ""
    numbers["usage_threshold"] = dict(threshold)
    setting = f"non_preemptible_resource_usage_threshold ({facts.amounts(threshold)})"
    if facts.setting("usage_threshold_scope") == "prefix":
        return f"Its oldest work is safe while it uses less than {setting}, too."
    held = facts.object(facts.snapshot._core.column("operations", "usage")[operation], zeros=True)
    used = {resource: held[resource] for resource in threshold}
    numbers["usage"] = used
    if all(used[resource] < most for resource, most in threshold.items()):
        return f"All of it is safe, as it uses {facts.amounts(used)}: less than {setting}."
    return f"It uses {facts.amounts(used)}, which is not less than {setting} in each: that protects nothing."
