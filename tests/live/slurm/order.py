"""The order of passes and ends on a real Slurm, as its controller wrote it down."""

from __future__ import annotations

import re
from datetime import datetime

from tests.conformance.slurm.passes import PASSES, Event
from tests.live.slurm.conftest import Cluster

_RELEASED = "update_part: setting state_up to 3 "
_EVENTS = {
    "main": re.compile(r"sched: Running job scheduler for "),
    "backfill": re.compile(r"_attempt_backfill: beginning$"),
    "start": re.compile(r"(?:sched: Allocate|_start_job: Started) JobId=(\d+(?:_\d+)?)(?:\(\d+\))? "),
    "end": re.compile(r"_slurm_rpc_epilog_complete: JobId=(\d+(?:_\d+)?)(?:\(\d+\))? Node=(\S+)"),
}

_ACTIONS = re.compile("Allocate |Started |preempt|reempted|equeu")


def write_down(cluster: Cluster) -> None:
    """Let the controller write down passes and ends."""
    cluster.run("scontrol", "setdebug", "debug2")
    cluster.run("scontrol", "setdebugflags", "+backfill")


def position(cluster: Cluster) -> int:
    """Return how long the controller's log is."""
    return (cluster.folder / "slurmctld.log").stat().st_size


def events(cluster: Cluster, since: int, until: float) -> list[Event]:
    """Return what happened between the release of all partitions and an instant.

    Parameters
    ----------
    cluster
    since
        Position in the log before the release.
    until
        Seconds since the epoch.
    """
    text = _log(cluster, since)
    return read(text[text.rindex(_RELEASED) :], until)


def torn(cluster: Cluster, since: int) -> bool:
    """Return whether a pass ran in the midst of the release, when only some partitions were up."""
    text = _log(cluster, since)
    amid = text[text.index(_RELEASED) : text.rindex(_RELEASED)].splitlines()
    return any(_EVENTS[name].search(line.rstrip()) for name in PASSES for line in amid)


def actions(cluster: Cluster, since: int) -> list[str]:
    """Return the lines of the log on what the controller started and preempted, for beside a difference."""
    text = _log(cluster, since)
    return [line for line in text[text.rindex(_RELEASED) :].splitlines() if _ACTIONS.search(line)]


def _log(cluster: Cluster, since: int) -> str:
    with (cluster.folder / "slurmctld.log").open("rb") as log:
        log.seek(since)
        return log.read().decode("utf-8", "replace")


def read(text: str, until: float) -> list[Event]:
    """Return the events of a part of a log."""
    found = []
    for line in text.splitlines():
        stamp, _, said = line.partition("] ")
        for what, pattern in _EVENTS.items():
            if match := pattern.search(said.rstrip()):
                at = datetime.fromisoformat(stamp[1:]).timestamp()
                if at <= until:
                    found.append(Event(at, what, *match.groups()))
    return found
