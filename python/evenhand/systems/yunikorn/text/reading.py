"""From YuniKorn's configuration and REST answers to a snapshot and the settings of its policy."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evenhand.accepted import checked
from evenhand.arguments import instant_of
from evenhand.building.jsontable import resting_collector
from evenhand.building.problems import nearest
from evenhand.config.rows import raise_found
from evenhand.errors import Problem
from evenhand.frozen import freeze
from evenhand.model import Snapshot
from evenhand.state import State
from evenhand.systems import texts
from evenhand.systems.yunikorn.text.answers import read_answers
from evenhand.systems.yunikorn.text.build import Builder
from evenhand.systems.yunikorn.text.config import Partition, read_partitions
from evenhand.systems.yunikorn.text.laws import check
from evenhand.systems.yunikorn.text.manifest import configuration
from evenhand.systems.yunikorn.text.tree import FILE, Found

__all__ = ["Reading", "read"]


@dataclass(frozen=True, kw_only=True)
class Reading(texts.Reading):
    """What was read of one partition.

    Attributes
    ----------
    snapshot : Snapshot
        Queues are pools, named by their paths; applications operations, asks requests. A vcore is a whole
        one, in thousandths; all other amounts are in YuniKorn's own units, memory in bytes.
    settings : mapping
        Settings of the policy that the configuration makes.
    diagnostics : tuple of Diagnostic
        What the texts have that nothing reads, what was left out, and what was assumed.
    triggered : tuple of str
        Asks that have preempted already; YuniKorn lets each do so once.
    """

    system = "yunikorn"

    snapshot: Snapshot
    triggered: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """What a first plan starts from: asks that have preempted already."""
        row = {"missed": 0, "wait": 0, "last_attempt": None, "triggered": "yes"}
        return State(self.snapshot.now, requests=dict.fromkeys(self.triggered, row))


@resting_collector()
@checked("yunikorn.read")
def read(
    config: str | os.PathLike[str] | None = None,
    *,
    dump: Any = None,
    queues: Any = None,
    applications: Any = None,
    nodes: Any = None,
    partition: str = "default",
    now: float | datetime | str | None = None,
    opted_out: Collection[str] | None = None,
    never_preempting: Collection[str] | None = None,
) -> Reading:
    """Read a partition of YuniKorn: its configuration, its state, or both.

    Parameters
    ----------
    config : str or path-like, optional
        Text of a queue configuration, or (path-like) a file; also of the ConfigMap that has it, alone or
        among other manifests. It says what configured queues may have; where the answers differ, it is
        right, so that a change can be tried before it is made.
    dump : str, bytes, path-like or mapping, optional
        The full state dump (``/ws/v1/fullstatedump``).
    queues, applications, nodes : str, bytes, path-like, list or mapping, optional
        Answers of ``/ws/v1/partition/{partition}/queues``, applications of all queues in one list, and
        ``.../nodes``; each stands in the place of its part of the dump.
    partition : str, default "default"
    now : float, datetime or str, optional
        Seconds since 1970, a datetime with a time zone, or ISO text; by default the dump's time. Without a
        dump it must be given where there are applications.
    opted_out : collection of str, optional
        Keys of allocations (uids of pods) that wish not to be preempted; the interface does not tell.
    never_preempting : collection of str, optional
        Keys of asks that may not preempt others; the interface does not tell.

    Returns
    -------
    Reading

    Raises
    ------
    InputError
        With a problem for each value that cannot be read and for each law of
        `evenhand.systems.yunikorn.text.laws.LAWS` that the configuration breaks; its row is the line of the
        text and its name the queue's path.
    MissingExtraError
        If there is a configuration, and PyYAML is not installed.
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> from evenhand.adapters import yunikorn
    >>> reading = yunikorn.read('''
    ... partitions:
    ...   - name: default
    ...     queues:
    ...       - name: root
    ...         queues:
    ...           - name: batch
    ...             resources: {guaranteed: {vcore: 500m, memory: 2Gi}}
    ... ''')
    >>> reading.snapshot.to_dict()["pools"][0]["strong_guarantee"]
    {'vcore': 0.5, 'memory': 2147483648}
    """
    at = None if now is None else instant_of("yunikorn.read", "now", now)
    said, passed_over = (None, ()) if config is None else _configured(config, partition)
    answers = read_answers(partition, dump=dump, queues=queues, applications=applications, nodes=nodes)
    if said is None and not answers.queues:
        message = (
            f"queues of the partition {partition} are missing: neither a configuration nor an answer has them"
        )
        raise_found([Problem("queues", None, None, None, "required", None, message)])
    builder = Builder(answers, said, at, opted_out, never_preempting)
    if passed_over:
        builder.notes.add("yunikorn_not_read", "Beside the queues the manifests have", *passed_over)
    data = builder.build()
    settings = {}
    if said is not None:
        settings = {"enabled": said.preemption, "quota_preemption": said.quota_preemption}
    diagnostics = tuple(builder.notes.diagnostics())
    return Reading(
        settings=freeze(settings),
        diagnostics=diagnostics,
        snapshot=Snapshot.from_dict(data),
        triggered=tuple(builder.triggered),
    )


def _configured(config: str | os.PathLike[str], partition: str) -> tuple[Partition, tuple[str, ...]]:
    """Return a partition of a configuration, and what stands beside that one."""
    found = Found()
    given = configuration(config, found)
    partitions = read_partitions(given.tree, found)
    if not found.problems:
        check(partitions, found)
    found.complain()
    for one in partitions:
        if one.name.lower() == partition.lower():
            return one, given.passed_over
    names = [one.name for one in partitions]
    message = f"partition is {partition}; there are {', '.join(names)}{nearest(partition, names)}"
    raise_found([Problem(FILE, None, None, "partition", "exists", partition, message)])
    raise AssertionError  # for the checker of types: it was raised
