"""Clusters and policies of each system of seeded bytes: what the strategies draw, without a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from evenhand.testing.strategies import _crowded, gridengine, jobs, preemption, queues, sessions
from evenhand.testing.strategies._picking import Pick
from evenhand.testing.strategies.policies import policy_of

if TYPE_CHECKING:
    from evenhand.systems.base import Policy

__all__ = ["seeded_case", "seeded_cluster", "seeded_policy"]

_BYTES = 1024
_TRIES = 4


def _ytsaurus_settings(pick: Pick) -> Any:
    switches = sum(pick(range(256)) << 8 * place for place in range(6)) & preemption.SWITCHES
    thresholds = pick(range(7)), pick(range(7))
    stages = pick((False, True)), pick((False, True))
    return preemption.settings_of(
        (pick(("documented", "upstream")), switches, thresholds, pick(range(5)), stages)
    )


_MADE: Mapping[str, tuple[Callable[[Pick], dict[str, Any]], Callable[[Pick], Any]]] = {
    "ytsaurus": (lambda pick: _crowded.snapshot(_crowded.picked(pick)), _ytsaurus_settings),
    "backendai": (
        lambda pick: sessions.made_group(pick, 3, 6, 3),
        lambda pick: sessions.made_settings(pick, 5),
    ),
    "slurm": (
        lambda pick: jobs.made_cluster(pick, 5, 6, 3, mixed=False),
        lambda pick: jobs.made_settings(pick, 4, {}),
    ),
    "yunikorn": (
        lambda pick: queues.made_partition(pick, 3, 12),
        lambda pick: queues.made_settings(pick, 4),
    ),
    "gridengine": (
        lambda pick: gridengine.made_cluster(pick, 3, 6, 4),
        lambda pick: gridengine.made_settings(pick, 5, licences=True),
    ),
}


def seeded_cluster(system: str, chance: Random) -> dict[str, Any]:
    """Return a cluster in the file format, as `system_cluster_dicts` draws them."""
    return _MADE[system][0](Pick(chance.randbytes(_BYTES)))


def seeded_policy(system: str, chance: Random) -> Policy:
    """Return a policy, as `policies` draws them."""
    return policy_of(system, _MADE[system][1](Pick(chance.randbytes(_BYTES))))


def _partitions(mode: str) -> dict[str, Any]:
    tiers = {"low": 1, "mid": 5, "high": 10}
    common = {"PreemptMode": mode, "OverSubscribe": "FORCE:1"}
    return {name: {"PriorityTier": tier, **common} for name, tier in tiers.items()}


#: Settings with which a system preempts often, in each of its modes.
_EAGER: Mapping[str, tuple[dict[str, Any], ...]] = {
    "ytsaurus": ({"preemption_satisfaction_threshold": 1.5},),
    "backendai": tuple(
        {"preemption_mode": mode, "preemptible_priority": 8, "preemption_min_runtime": 0.0}
        for mode in ("terminate", "suspend", "suspend", "reschedule")
    ),
    "slurm": tuple(
        {
            "PreemptType": "preempt/partition_prio",
            "PreemptMode": "SUSPEND,GANG" if mode == "SUSPEND" else mode,
            "partitions": _partitions(mode),
        }
        for mode in ("CANCEL", "REQUEUE", "SUSPEND")
    ),
    "yunikorn": ({"limit": 1.0}, {"grace": 30.0, "limit": 1.0}),
    "gridengine": tuple(
        {
            "automatic_preemption": True,
            "max_preemptees": 10,
            "max_reservation": 10,
            "preemption_distance": 0.0,
            "preemption_action": letter,
        }
        for letter in ("T", "T", "R", "R", "R", "C", "C", "P", "P", "P", "N", "N", "N", "S")
    ),
}


def seeded_case(system: str, chance: Random) -> tuple[dict[str, Any], Policy]:
    """Return a cluster and a policy that preempts something there, if one of a few tries has such."""
    from evenhand.errors import InputError
    from evenhand.model import Snapshot
    from evenhand.plans.planning import plan

    for _ in range(_TRIES):
        cluster, policy = seeded_cluster(system, chance), seeded_policy(system, chance)
        if chance.random() < 0.6:
            policy = policy.replace(**chance.choice(_EAGER[system]))
        if system == "gridengine" and chance.random() < 0.6:  # else few jobs allow C or R
            for row in cluster["allocations"]:
                row |= {"checkpointable": True, "rerunnable": True}
        try:
            made = plan(Snapshot.from_dict(cluster), policy, as_if_waiting="1d")
        except InputError:
            continue
        if any(d.action == "preempt" for d in made.decisions):
            break
    return cluster, policy
