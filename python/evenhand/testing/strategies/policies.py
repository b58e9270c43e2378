"""Strategies for policies of every system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

from evenhand.testing.strategies.gridengine import gridengine_settings
from evenhand.testing.strategies.jobs import slurm_settings
from evenhand.testing.strategies.preemption import ytsaurus_settings
from evenhand.testing.strategies.queues import yunikorn_settings
from evenhand.testing.strategies.sessions import backendai_settings

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.systems.base import Policy

__all__ = ["policies"]

_SETTINGS: Mapping[str, tuple[str, Callable[[], SearchStrategy[Any]]]] = {
    "ytsaurus": ("YTsaurus", ytsaurus_settings),
    "backendai": ("BackendAI", backendai_settings),
    "slurm": ("Slurm", slurm_settings),
    "yunikorn": ("YuniKorn", yunikorn_settings),
    "gridengine": ("GridEngine", gridengine_settings),
}


def policies(*systems: str) -> SearchStrategy[Policy]:
    """Draw policies with settings of one's own: a preset, and some switches and thresholds changed.

    Parameters
    ----------
    *systems : {"ytsaurus", "backendai", "slurm", "yunikorn", "gridengine"}
        Which; all of them by default. It shrinks towards the first.

    Returns
    -------
    SearchStrategy[Policy]
        Policies of `evenhand.policies`; `system_cluster_dicts` draws clusters that they fit.

    Raises
    ------
    InvalidArgument
        When an example is drawn, if there is no such system.
    """

    def build() -> SearchStrategy[Policy]:
        for system in systems:
            if system not in _SETTINGS:
                raise InvalidArgument(f"{system!r} is not one of {', '.join(_SETTINGS)}")
        return st.one_of(*(_of(system) for system in systems or _SETTINGS))

    return st.deferred(build)


def _of(system: str) -> SearchStrategy[Policy]:
    return _SETTINGS[system][1]().map(lambda drawn: policy_of(system, drawn))


def policy_of(system: str, settings: Any) -> Policy:
    """Return a system's policy with such settings."""
    from evenhand import policies as own

    policy: Policy = getattr(own, _SETTINGS[system][0])(**settings.model_dump())
    return policy
