"""One scheduling run as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.systems.slurm.settings import SlurmSettings
from tests.reference.slurm.backfill import Backfill
from tests.reference.slurm.queue import queue_of
from tests.reference.slurm.world import read_world

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.model import Snapshot

__all__ = ["reference_plan"]


def reference_plan(
    snapshot: Snapshot,
    settings: SlurmSettings | None = None,
    last_preempt: Mapping[str | int, float] | None = None,
    passes: Sequence[str] = ("main", "backfill"),
    state: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Plan one scheduling run by the published rules, slowly.

    Parameters
    ----------
    snapshot : Snapshot
    settings : SlurmSettings, optional
        Default: the preset "documented".
    last_preempt : mapping, optional
        Name of a job to when others were last preempted for it.
    passes : sequence of {"main", "backfill"}
        Which of the two passes there are; with sched/builtin there is no second one.
    state : mapping, optional
        "victims" of the last plan.

    Returns
    -------
    dict
        ``decisions`` and ``refusals`` as in a plan's JSON, with the keys that are decided here.
    """
    run = Backfill(read_world(snapshot, settings or SlurmSettings(), state), dict(last_preempt or {}))
    queue = queue_of(run.world)
    if "main" in passes:
        run.main(queue)
    run.resume(None)
    run.skip(queue)
    if "backfill" in passes and run.world.settings.SchedulerType == "sched/backfill":
        run.backfill(queue)
    run.tell(queue)
    return {
        "decisions": run.decisions,
        "refusals": run.refusals,
        "statuses": {},
        "groups": {},
        "diagnostics": [],
        "state": {"victims": run.world.pace.victims()},
    }
