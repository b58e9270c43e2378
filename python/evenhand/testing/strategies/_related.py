"""Strategy for cases of relations: crowded clusters with fields of every kind."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from evenhand.config.triggers import Cycle, SchedulingRun
from evenhand.errors import InputError
from evenhand.testing.relations.case import Case, built
from evenhand.testing.strategies._perturbing import FIELDS, enriched, perturbed
from evenhand.testing.strategies.clusters import system_cluster_dicts
from evenhand.testing.strategies.policies import policies

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["relation_cases"]

_ON: Mapping[str, tuple[Any, ...]] = {
    "yunikorn": (None, *map(Cycle, ("allocation", "quota", "both"))),
    "slurm": (None, None, *(SchedulingRun((one,)) for one in ("main", "backfill"))),
}
#: Texts that settings drawn for the system know.
_WORDS = {"partition": ["low", "mid", "high"], "qos": ["bronze", "silver", "gold"]}
_ROUNDS, _FIELDS = 3, 3


def relation_cases(system: str) -> SearchStrategy[Case]:
    """Draw what relations are held against: rich rows, settings of one's own, triggers and waits.

    Parameters
    ----------
    system : {"ytsaurus", "backendai", "slurm", "yunikorn", "gridengine"}

    Returns
    -------
    SearchStrategy[Case]
        Of a cluster of `system_cluster_dicts`, with reservations, resources of the cluster, pools and an idle
        operation, and with other values in some fields, whatever their kind. Its snapshot is valid; a policy
        may still refuse it.
    """
    return st.tuples(
        system_cluster_dicts(system),
        policies(system),
        st.sampled_from(_ON.get(system, (None,))),
        st.sampled_from((600.0, 600.0, None) if system == "ytsaurus" else (None,)),
        st.integers(0, 2**32 - 1),
    ).map(_case)


def _case(drawn: tuple[dict[str, Any], Any, Any, float | None, int]) -> Case:
    data, policy, on, waiting, seed = drawn
    chance = Random(seed)  # noqa: S311 - not for secrets
    case = Case(data, policy, on, waiting, chance.choice((0.0, 1.0, 30.0, 60.0, 400.0)))
    rich = enriched(data, chance)
    for _ in range(chance.randrange(_ROUNDS) + 1):
        if not _valid(rich):
            break
        data = rich
        rich = perturbed(data, chance.sample(sorted(FIELDS), chance.randint(1, _FIELDS)), chance, _WORDS)
    return Case(data, case.policy, case.on, case.waiting, case.step)


def _valid(data: dict[str, Any]) -> bool:
    try:
        built(data)
    except InputError:
        return False
    return True
