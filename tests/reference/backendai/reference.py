"""The plan of one scheduling run by the published rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.systems.backendai.settings import BackendAISettings
from tests.reference.backendai.plan import _Run

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["reference_plan"]


def reference_plan(
    snapshot: Snapshot,
    settings: BackendAISettings | None = None,
    state: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Plan one scheduling run by the published rules, slowly.

    Parameters
    ----------
    snapshot : Snapshot
        One resource group.
    settings : BackendAISettings, optional
        Default: the preset "documented".
    state : mapping, optional
        "victims" of the last plan.

    Returns
    -------
    dict
        ``decisions`` and ``refusals`` as in a plan's JSON, with the keys that are decided here.

    Raises
    ------
    InputError
        If the settings of a row are wrong, or ranges of policies do not meet.
    """
    run = _Run(snapshot, settings or BackendAISettings(), state)
    run.go()
    waiting = [r for s in run.world.sessions for r in s.waiting() if r.name not in run.started]
    return {
        "decisions": run.decisions,
        "refusals": [{"request": r.name, "rule": r.session.refused or run.rule_of(r)} for r in waiting],
        "statuses": {},
        "groups": {},
        "diagnostics": [],
        "state": {"victims": run.world.pace.victims()},
    }
