"""From the texts of Grid Engine's commands to a snapshot and the settings of its policy."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evenhand.accepted import checked
from evenhand.arguments import instant_of
from evenhand.building.jsontable import resting_collector
from evenhand.frozen import freeze
from evenhand.model import Snapshot
from evenhand.systems import texts as own_texts
from evenhand.systems.gridengine.text.build import Builder, Texts
from evenhand.systems.gridengine.text.config import (
    Queue,
    read_complexes,
    read_hosts,
    read_parallel,
    read_queues,
    read_scheduler,
)
from evenhand.systems.gridengine.text.jobs import read_details, read_jobs
from evenhand.systems.gridengine.text.machines import read_machines
from evenhand.systems.texts import Source, text_of

__all__ = ["Reading", "Source", "queue_settings", "read", "reading_of"]


@dataclass(frozen=True, kw_only=True)
class Reading(own_texts.Reading):
    """What was read of a cluster.

    Attributes
    ----------
    snapshot : Snapshot
        Hosts are nodes; jobs, and tasks of arrays (``job.task``), operations. Amounts of memory are in bytes.
    settings : mapping
        Settings of the policy that the configuration makes.
    diagnostics : tuple of Diagnostic
        What was left out, what was assumed, and what the texts have that no plan reads.
    left_out : mapping of str to tuple of str
        Jobs that wait and are not in the snapshot: what they ask for that cannot be judged, with their names.
    """

    system = "gridengine"

    snapshot: Snapshot
    left_out: Mapping[str, tuple[str, ...]]


@resting_collector()
@checked(
    "gridengine.read",
    complexes="str | os.PathLike[str]",
    scheduler="str | os.PathLike[str] | None",
    queues="str | os.PathLike[str] | None",
    hosts="str | os.PathLike[str] | None",
    parallel="str | os.PathLike[str] | None",
    machines="str | os.PathLike[str] | None",
    jobs="str | os.PathLike[str] | None",
    details="str | os.PathLike[str] | None",
    now="Any",
)
def read(
    complexes: Source,
    *,
    scheduler: Source | None = None,
    queues: Source | None = None,
    hosts: Source | None = None,
    parallel: Source | None = None,
    machines: Source | None = None,
    jobs: Source | None = None,
    details: Source | None = None,
    now: float | datetime | str | None = None,
    aapre: bool | Mapping[str, bool] = True,
    utc: bool = False,
    leaving: Mapping[str, str] | None = None,
    subordination: bool = True,
    staying: Collection[str] = (),
    unread: Mapping[str, str] | None = None,
) -> Reading:
    r"""Read a Grid Engine: its configuration, its state, or both.

    Parameters
    ----------
    complexes : str or path-like
        Text of ``qconf -sc``, or (path-like) a file; likewise the others.
    scheduler : str or path-like, optional
        ``qconf -ssconf``: settings of the policy.
    queues : str or path-like, optional
        ``qconf -sq '*'``, one queue after the other. Slots of single hosts (``[host=4]``) count where neither
        `machines` nor `jobs` says how many there are.
    hosts : str or path-like, optional
        ``qconf -se`` of ``global`` and of each host, one after the other: capacities of consumables.
    parallel : str or path-like, optional
        ``qconf -sp`` of each parallel environment.
    machines : str or path-like, optional
        ``qhost -xml -F -q``: queue instances and what hosts report. Without it each host of `hosts` has an
        open instance of each queue.
    jobs : str or path-like, optional
        ``qstat -xml -u '*' -r -g t``, or with ``-f``, whose slots and states of queue instances then count.
        Its times are in the time zone of this machine, or (`utc`) in UTC; those of `details` need no zone.
        Without ``-r`` requests are read of `details`; without ``-g t`` and ``-f`` a job of several slots can
        be read only if its parallel environment keeps it on one host.
    details : str or path-like, optional
        ``qstat -xml -j '*'``, or several of it: who asks for a reservation, is rerunnable, has a checkpoint
        environment, and in which queues a job may be. A job with a value that cannot be read is left out if
        it waits, and no victim if it runs.
    now : float, datetime or str, optional
        Seconds since 1970, a datetime with a time zone, or ISO text; by default this moment.
    aapre : bool or mapping of str to bool, default True
        Whether consumables are available after preemption where the complexes have no ninth column, as in
        every Grid Engine but Univa's from 8.3 on. That one sets it for slots and all consumables when a
        cluster is upgraded to it. A mapping has single complexes; the others are not available.
    utc : bool, default False
        Whether times of `jobs` are in UTC (``TZ=UTC0 qstat``).
    leaving : mapping of str to str, optional
        Jobs that were asked to leave, with the job that each leaves for.
    subordination : bool, default True
        Whether plans decide what stops and resumes in subordinate queues: the settings have each
        ``subordinate_list``, and what such a list has stopped is preempted and keeps all it holds. Otherwise
        it is suspended by others.
    staying : collection of str, optional
        Jobs that cannot go back to the queue, whatever the texts say: Grid Engine has refused that.
    unread : mapping of str to str, optional
        Numbers of jobs that are not in `details` as what it says of them cannot be read, with why not.

    Returns
    -------
    Reading

    Raises
    ------
    InputError
        With a problem for each value that cannot be read; its table is the command, its row the line of the
        text.
    OSError
        If a file cannot be read.

    Notes
    -----
    O(tasks × (hosts + queues)).

    Examples
    --------
    >>> from evenhand.adapters import gridengine
    >>> reading = gridengine.read(
    ...     "slots s INT <= YES YES 1 1000 YES\nlicense lic INT <= YES YES 0 0 YES",
    ...     hosts="hostname global\ncomplex_values license=2\nhostname waikiki\ncomplex_values NONE",
    ...     queues="qname all.q\nslots 10",
    ... )
    >>> reading.snapshot.to_dict()["resources"]["license"]["capacity"]
    2
    """
    at = time.time() if now is None else instant_of("gridengine.read", "now", now)
    not_read = dict(unread or {})
    tasks, listed = ([], {}) if jobs is None else read_jobs(text_of(jobs), utc=utc)
    texts = Texts(
        read_complexes(text_of(complexes)),
        {} if queues is None else read_queues(text_of(queues)),
        {} if hosts is None else read_hosts(text_of(hosts)),
        {} if parallel is None else read_parallel(text_of(parallel)),
        {} if machines is None else read_machines(text_of(machines)),
        tasks,
        None if details is None else read_details(text_of(details), not_read),
        listed,
        not_read,
    )
    settings = {} if scheduler is None else read_scheduler(text_of(scheduler))
    return reading_of(
        texts, at, settings, aapre=aapre, leaving=leaving, subordination=subordination, staying=staying
    )


@resting_collector()
def reading_of(
    texts: Texts,
    at: float,
    settings: dict[str, Any] | None = None,
    *,
    aapre: bool | Mapping[str, bool] = True,
    leaving: Mapping[str, str] | None = None,
    subordination: bool = True,
    staying: Collection[str] = (),
) -> Reading:
    """Return what texts that were read add up to, as `read`."""
    settings = settings or {}
    if texts.queues:
        settings["queues"] = queue_settings(texts.queues, subordination=subordination)
    builder = Builder(
        texts,
        at,
        aapre=aapre,
        leaving=leaving or {},
        subordination=subordination,
        staying=frozenset(staying),
    )
    snapshot = Snapshot.from_dict(builder.build())
    left_out = freeze({why: tuple(names) for why, names in builder.left_out.items()})
    return Reading(
        settings=freeze(settings),
        diagnostics=tuple(builder.notes.diagnostics()),
        snapshot=snapshot,
        left_out=left_out,
    )


def queue_settings(queues: Mapping[str, Queue], *, subordination: bool) -> dict[str, dict[str, Any]]:
    """Return what the policy's settings have of queues; lists of subordinate queues only if asked for."""
    found: dict[str, dict[str, Any]] = {}
    for name, queue in queues.items():
        found[name] = {"rerun": queue.rerun}
        if queue.suspend_method is not None:
            found[name]["suspend_method"] = queue.suspend_method
        if subordination and queue.subordinate_list is not None:
            found[name] |= {"subordinate_list": queue.subordinate_list, "slots": max(queue.slots, 1)}
    return found
