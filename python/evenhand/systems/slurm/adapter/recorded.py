"""From what Slurm's commands have printed to a snapshot and the settings of its policy."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from evenhand.accepted import checked
from evenhand.adapters.commands import Result
from evenhand.arguments import instant_of
from evenhand.diagnostics import Diagnostic
from evenhand.frozen import freeze
from evenhand.systems.slurm.adapter.live import Slurm
from evenhand.systems.slurm.adapter.reading import Reader
from evenhand.systems.slurm.adapter.settings import live_settings, merged
from evenhand.systems.slurm.adapter.text import document, number
from evenhand.systems.texts import Notes

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.systems.slurm.policy import Slurm as SlurmPolicy

__all__ = ["Reading", "Source", "read"]

#: A text, or (path-like) the file that has it.
Source = str | os.PathLike[str]

#: How each command that the adapter asks begins, to the argument that has its answer.
_COMMANDS: Final[Mapping[tuple[str, ...], str]] = {
    ("squeue", "--json"): "jobs",
    ("scontrol", "show", "nodes", "--json"): "nodes",
    ("sinfo", "-N", "--json"): "nodes",
    ("scontrol", "show", "config"): "config",
    ("scontrol", "-o", "show", "partition"): "partitions",
    ("scontrol", "show", "node"): "weights",
    ("sacctmgr", "-P", "show", "qos"): "qos",
    ("sacctmgr", "-P", "show", "assoc"): "associations",
    ("sinfo", "-a", "-T"): "reservations",
    ("scontrol", "show", "lic"): "licenses",
}
#: What stands for a text that is not given, and what then is assumed.
_ABSENT: Final[Mapping[str, tuple[str, str]]] = {
    "qos": ("Name|Priority|Preempt\n", "Without sacctmgr -P show qos there are no QOS"),
    "associations": (
        "Cluster|Account|User|Partition\n",
        "Without sacctmgr -P show assoc no association has limits",
    ),
    "reservations": ("No reservations in the system\n", "Without sinfo -a -T no node is reserved"),
    "licenses": ("", "Without scontrol show lic no licence is free"),
    "exclusive": (
        "JOBID|EXCLUSIVE|\n",
        "Without squeue -O jobid:|,exclusive:| no job is known to take entire nodes from 26.05 on",
    ),
    "switches": ("JOBID|REQ_SWITCH|\n", "Jobs ask for no switches, as the JSON of this release does not say"),
}
_LAST_UPDATE: Final = re.compile(r'"last_update"\s*:\s*(\{[^{}]*\}|\d+)')


@dataclass(frozen=True)
class Reading:
    """What was read of a cluster.

    Attributes
    ----------
    snapshot : Snapshot
        As of `evenhand.adapters.slurm.Slurm.snapshot`.
    settings : mapping
        Settings of the policy that the cluster's configuration makes.
    diagnostics : tuple of Diagnostic
        What was left out, what was assumed, and what a person should know of the configuration.
    left_out : mapping of str to tuple of str
        Jobs that wait for room and ask for nothing in the snapshot: what they ask for that cannot be judged,
        with their numbers.
    """

    snapshot: Snapshot
    settings: Mapping[str, Any]
    diagnostics: tuple[Diagnostic, ...]
    left_out: Mapping[str, tuple[str, ...]]

    def policy(self, preset: str = "upstream", **changes: Any) -> SlurmPolicy:
        """Return the policy that the configuration makes.

        Parameters
        ----------
        preset : str
            As for `evenhand.policies.Slurm`; by default what the system itself does.
        **changes
            Settings that are to differ; partitions and QOS are changed field by field.

        Returns
        -------
        evenhand.policies.Slurm

        Raises
        ------
        InputError
            If the changes do not fit.
        """
        from evenhand.systems.slurm.policy import Slurm as Policy

        return Policy(preset, **merged(self.settings, changes))


@checked(
    "slurm.read",
    jobs="str | os.PathLike[str]",
    nodes="str | os.PathLike[str]",
    config="str | os.PathLike[str]",
    partitions="str | os.PathLike[str]",
    weights="str | os.PathLike[str] | None",
    qos="str | os.PathLike[str] | None",
    associations="str | os.PathLike[str] | None",
    reservations="str | os.PathLike[str] | None",
    licenses="str | os.PathLike[str] | None",
    exclusive="str | os.PathLike[str] | None",
    now="Any",
)
def read(
    jobs: Source,
    nodes: Source,
    config: Source,
    partitions: Source,
    *,
    weights: Source | None = None,
    qos: Source | None = None,
    associations: Source | None = None,
    reservations: Source | None = None,
    licenses: Source | None = None,
    exclusive: Source | None = None,
    now: float | datetime | str | None = None,
    own_rules: bool = True,
    pools: Literal["partition", "user"] = "partition",
) -> Reading:
    """Read a Slurm from what its commands have printed.

    Parameters
    ----------
    jobs : str or path-like
        Text of ``squeue --json``, or (path-like) a file; likewise the others.
    nodes : str or path-like
        ``scontrol show nodes --json``, or of 22.05 ``sinfo -N --json``.
    config : str or path-like
        ``scontrol show config``.
    partitions : str or path-like
        ``scontrol -o show partition``.
    weights : str or path-like, optional
        ``scontrol show node``; by default weights are those of `nodes`.
    qos : str or path-like, optional
        ``sacctmgr -P show qos``; without it there are no QOS.
    associations : str or path-like, optional
        ``sacctmgr -P show assoc``; without it no association has limits.
    reservations : str or path-like, optional
        ``sinfo -a -T``; without it no node is reserved.
    licenses : str or path-like, optional
        ``scontrol show lic``; without it no licence is free.
    exclusive : str or path-like, optional
        ``squeue -a -t all -O 'jobid:|,exclusive:|'``: from 26.05 on, who takes entire nodes.
    now : float, datetime or str, optional
        Seconds since 1970, a datetime with a time zone, or ISO text; by default when `jobs` was printed, or
        this moment where that does not say it (before 23.11).
    own_rules, pools
        As of `evenhand.adapters.slurm.Slurm`.

    Returns
    -------
    Reading

    Raises
    ------
    AdapterError
        If a text is incomplete or cannot be read.
    OSError
        If a file cannot be read.

    Notes
    -----
    What a live cluster is read by reads these texts, too. O(jobs + nodes).
    """
    given = {
        "jobs": jobs,
        "nodes": nodes,
        "config": config,
        "partitions": partitions,
        "weights": weights,
        "qos": qos,
        "associations": associations,
        "reservations": reservations,
        "licenses": licenses,
        "exclusive": exclusive,
    }
    texts = {name: _text(source) for name, source in given.items() if source is not None}
    texts.setdefault("weights", _weights(texts["nodes"]))
    at = _instant(texts["jobs"]) if now is None else instant_of("slurm.read", "now", now)
    played = _Played(texts)
    adapter = Slurm(own_rules=own_rules, pools=pools, runner=played, clock=lambda: at)
    snapshot = adapter.snapshot()
    not_read: list[str] = []
    settings = live_settings(Reader(played, adapter.timeout).ask, not_read)
    if "qos" in played.absent:
        settings.pop("qos", None)
    left_out = {why: tuple(names) for why, names in adapter.left_out.items()}
    notes = Notes()
    for why, names in left_out.items():
        notes.add("slurm_left_out", f"They wait and ask for {why}", *names)
    for said in adapter.notices:
        if not any(f"asking for {why} wait" in said for why in left_out):
            notes.add("slurm_left_out", _sentence(said))
    for said in played.absent.values():
        notes.add("slurm_assumed", said)
    for said in not_read:
        notes.add("slurm_not_read", _sentence(said))
    return Reading(snapshot, freeze(settings), tuple(notes.diagnostics()), freeze(left_out))


class _Played:
    """Answers commands that only read by texts; what is not there is assumed, and noted in `absent`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.absent: dict[str, str] = {}

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        del timeout
        part = _part_asked(tuple(arguments))
        if part in self.texts:
            return Result(0, self.texts[part])
        if part not in _ABSENT:
            return Result(1, "", f"no text has what {' '.join(arguments)} prints")
        answer, self.absent[part] = _ABSENT[part]
        return Result(0, answer)


def _part_asked(arguments: tuple[str, ...]) -> str:
    if "-O" in arguments:
        return "exclusive" if "exclusive" in arguments[-1] else "switches"
    return next((p for words, p in _COMMANDS.items() if arguments[: len(words)] == words), "")


def _sentence(said: str) -> str:
    return said[:1].upper() + said[1:]


def _weights(nodes: str) -> str:
    """Return what ``scontrol show node`` would say of weights, by the JSON of nodes."""
    rows = document(nodes, "nodes")
    return (
        "".join(
            f"NodeName={row.get('name')} Weight={number(row.get('weight')) or 0}\n"
            for row in rows
            if "weight" in row
        )
        or "\n"
    )


def _instant(jobs: str) -> float:
    """Return when a list of jobs was printed, or this moment."""
    said = _LAST_UPDATE.search(jobs)
    found = number(json.loads(said[1])) if said else None
    return float(found) if found else time.time()


def _text(source: Source) -> str:
    if isinstance(source, str):
        return source
    return Path(source).read_text(encoding="utf-8", errors="replace")
