"""What lives begin with: drawn by hypothesis, or of a seed."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from evenhand.testing.living.life import Begin
from evenhand.testing.living.standing import system_of
from evenhand.testing.strategies._pace import paced
from evenhand.testing.strategies._picking import Pick, picks
from evenhand.testing.strategies._seeded import seeded_case, seeded_cluster, seeded_policy
from evenhand.testing.strategies.clusters import SYSTEMS
from evenhand.testing.strategies.policies import policies

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.systems.base import Policy

__all__ = ["beginnings", "seeded"]

#: Settings with which it counts what rows set, and how large and old they are.
_KEEN: Mapping[str, dict[str, Any]] = {
    "ytsaurus": {
        "ssd_priority_preemption": {"enable": True, "node_tag_filter": "!none", "medium_names": ["ssd"]}
    },
    "slurm": {
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": 50,
        "PriorityMaxAge": 100,
        "PriorityWeightJobSize": 100,
    },
    "gridengine": {
        "queues": {"all.q": {"subordinate_list": "low.q=1,mid.q=1,other.q=1"}, "low.q": {"rerun": True}}
    },
}


def beginnings(
    clusters: SearchStrategy[dict[str, Any]], own: SearchStrategy[Policy], others: SearchStrategy[Policy]
) -> SearchStrategy[Begin]:
    """Draw what a life begins with."""
    return st.tuples(clusters, clusters, own, others, policies(), picks(64)).map(lambda drawn: _begin(*drawn))


def seeded(system: str, chance: Random) -> Begin:
    """Return what a life begins with: in most cases a cluster where something is preempted."""
    cluster, own = seeded_case(system, chance)
    stock, other = seeded_cluster(system, chance), seeded_policy(system, chance)
    any_one = seeded_policy(chance.choice([*[system] * 3, *SYSTEMS]), chance)
    return _begin(cluster, stock, own, other, any_one, Pick(chance.randbytes(64)))


def _begin(
    cluster: dict[str, Any], stock: dict[str, Any], own: Policy, other: Policy, any_one: Policy, pick: Pick
) -> Begin:
    if system_of(other) == "yunikorn" and pick(range(3)) == 2:
        other = other.replace(cost=("own", "priority"))
    if pick(range(3)) == 2:
        cluster, own = _with_pace(cluster, own, pick)
    if pick(range(3)) == 2:
        own = own.replace(**_KEEN.get(system_of(own), {}))
    if system_of(own) == "yunikorn":
        stock = {
            **stock,
            "requests": [_meek(row) if pick(range(3)) == 2 else row for row in stock["requests"]],
        }
    return Begin(cluster, stock, (own, other, any_one), pick((None, "10m", "10m", "1d")))


def _meek(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request of YuniKorn that lets nothing be preempted for it."""
    return {**request, "settings": {"allow_preempt_other": False}}


def _with_pace(cluster: dict[str, Any], policy: Policy, pick: Pick) -> tuple[dict[str, Any], Policy]:
    """Return a cluster whose rows have what a pace reads, and the policy with that pace."""
    rows = {t: [dict(row) for row in v] if isinstance(v, list) else v for t, v in cluster.items()}
    for row in rows.setdefault("pools", []):
        if "settings" in row:
            row["settings"] = dict(row["settings"])
    pace, _ = paced(rows, pick)
    if pace and pick(range(2)) == 1:  # so long that rows move meanwhile
        pace["victim_cooldown"] = 600.0
    return rows, policy.replace(pace=pace) if pace else policy
