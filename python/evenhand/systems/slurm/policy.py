"""Slurm: jobs preempted as a whole, by partition tier or QOS, in a scheduling run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from evenhand.accepted import PATH, checked, taken
from evenhand.arguments import expect
from evenhand.systems.base import Policy
from evenhand.systems.slurm import columns, words
from evenhand.systems.slurm.record import SLURM
from evenhand.systems.slurm.releases import release_in_force
from evenhand.systems.slurm.settings import SlurmSettings

if TYPE_CHECKING:
    from evenhand.diagnostics import Diagnostic
    from evenhand.history.tree import ShareTree
    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows
    from evenhand.table import Table

__all__ = ["Slurm"]


class Slurm(Policy):
    """Preemption as Slurm does it: partition tiers or QOS, jobs as a whole, reordered victims.

    Parameters
    ----------
    preset : {"documented", "upstream"}
        What the documentation says, which is what was observed (the default); or release 22.05, which lets
        jobs be suspended by tier whatever their ``PreemptExemptTime``.
    **settings
        Fields of `evenhand.systems.slurm.settings.SlurmSettings` that differ from the preset.

    Attributes
    ----------
    preset : str
    settings : SlurmSettings

    Raises
    ------
    InputError
        If a setting is unknown or breaks a rule.

    Notes
    -----
    Immutable. A job is an operation: what it runs its allocations, what it waits for its requests, each of
    whose ``count`` takes another node. Source: Slurm documentation, preemption; its select and preempt
    plugins.

    A plan is one scheduling run (`SchedulingRun`); nothing is given. A job that others are preempted for
    starts in a later run, when they have gone, and a ``reserve`` decision says where; one that others are
    suspended for starts at once. O(J log J + P (J + N R)) for J running and P pending jobs, N nodes and R
    resources.

    Examples
    --------
    >>> import evenhand as eh
    >>> tiers = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10, "PreemptMode": "OFF"}}
    >>> eh.policies.Slurm(
    ...     PreemptType="preempt/partition_prio", PreemptMode="requeue", partitions=tiers
    ... ).settings.PreemptMode
    'REQUEUE'
    """

    RECORD = SLURM
    model = SlurmSettings
    ROUNDS = "passes"
    CLOCKS: ClassVar[Mapping[str, float]] = {
        "sched_interval": 60.0,
        "bf_interval": 30.0,
        "requeue_delay": 121.0,
    }
    __slots__ = ("_notes",)

    settings: SlurmSettings
    _notes: tuple[str, ...]

    def __init__(self, preset: str = "documented", **settings: Any) -> None:
        super().__init__(preset, **settings)
        object.__setattr__(self, "_notes", ())

    @classmethod
    def from_conf(
        cls,
        text: str | os.PathLike[str],
        *,
        partitions: str | None = None,
        qos: Mapping[str, Any] | str | None = None,
        shares: ShareTree | Mapping[str, Any] | str | None = None,
        associations: Mapping[str, int] | str | None = None,
        preset: str = "upstream",
    ) -> Self:
        """Return the policy that a slurm.conf describes.

        Parameters
        ----------
        text : str or path-like
            Text of a slurm.conf, or (path-like) a file; or what ``scontrol show config`` prints, which lacks
            partitions.
        partitions : str, optional
            What ``scontrol show partition`` prints (with ``-o`` or without); its partitions stand in the
            place of those of the file.
        qos : mapping or str, optional
            QOS by name, as in the settings, or what ``sacctmgr show qos -P`` prints: they live in a database,
            not in the file.
        shares : ShareTree, mapping or str, optional
            Shares and usage, as in the settings, or what ``sshare -a -P`` prints.
        associations : mapping or str, optional
            Priorities of associations, as in the settings, or what ``sacctmgr show assoc -P`` prints, with
            their limits.
        preset : str
            As for the policy; by default what Slurm itself does, as the text is of one.

        Returns
        -------
        Slurm

        Raises
        ------
        InputError
            With a problem for each parameter that is unknown or wrong; its row is the line of the text.
        OSError
            If the file cannot be read.

        Examples
        --------
        >>> import evenhand as eh
        >>> policy = eh.policies.Slurm.from_conf('''
        ... PreemptType=preempt/partition_prio
        ... PreemptMode=CANCEL
        ... NodeName=n[1-4] CPUs=4
        ... PartitionName=low Nodes=ALL PriorityTier=1 Default=YES
        ... PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF
        ... ''')
        >>> policy.settings.partitions["high"].PriorityTier
        10
        """
        expect(isinstance(text, str | os.PathLike), "settings", "text", text, "text or a path")
        for name, kinds, value in (
            ("partitions", str, partitions),
            ("qos", str | Mapping, qos),
            ("shares", object if hasattr(shares, "rows") else str | Mapping, shares),
            ("associations", str | Mapping, associations),
        ):
            known = "text" if kinds is str else "text or an object"
            expect(value is None or isinstance(value, kinds), "settings", name, value, known)
        from evenhand.systems.slurm.text.accounting import (
            parse_associations,
            parse_limits,
            parse_qos,
            parse_shares,
        )
        from evenhand.systems.slurm.text.conf import read_conf
        from evenhand.systems.slurm.text.partitions import read_partitions
        from evenhand.systems.slurm.text.shown import HEAD, read_shown

        notes: list[str] = []
        path = None
        if not isinstance(text, str):
            path = Path(taken("settings", "text", text, PATH))
            text = path.read_text(encoding="utf-8")
        if text.startswith(HEAD):
            settings = read_shown(text, notes=notes)
        else:
            settings = read_conf(text, path=path, notes=notes)
        if partitions is not None:
            settings["partitions"] = read_partitions(partitions, notes=notes)
        if qos is not None:
            settings["qos"] = parse_qos(qos, notes=notes) if isinstance(qos, str) else dict(qos)
        if shares is not None:
            settings["shares"] = parse_shares(shares) if isinstance(shares, str) else shares
        if associations is not None:
            given = parse_associations(associations) if isinstance(associations, str) else dict(associations)
            settings["association_priority"] = given
            if isinstance(associations, str):
                settings["association_limits"] = parse_limits(associations)
        made = cls(preset, **settings)
        object.__setattr__(made, "_notes", tuple(notes))
        return made

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What there is to say of the text that it was read from; plans say it, too."""
        from evenhand.diagnostics import CODES, Diagnostic

        if not self._notes:
            return ()
        message = f"{CODES['slurm_not_read']} {'; '.join(self._notes)}."
        return (Diagnostic("slurm_not_read", (), message, {"notes": list(self._notes)}),)

    @property
    def _beside(self) -> dict[str, Any]:
        return {**super()._beside, "_notes": self._notes}

    def _columns(self, snapshot: Snapshot, given: Mapping[str, Any] | None) -> dict[str, Any]:  # noqa: ARG002
        jobs = columns.Jobs.of(snapshot, self.settings)
        return {"settings": jobs.switches, "rows": jobs.columns}

    def _said(self, snapshot: Snapshot, on: Any, core: Any) -> Iterable[Diagnostic]:  # noqa: ARG002
        return (
            *self.diagnostics,
            *words.unknown_shares(columns.Jobs.of(snapshot, self.settings)),
            *words.unused_choices(self.settings),
            *words.contested(snapshot, core.contested()),
        )

    def _later(self, stage: LiveRows, table: str, rows: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        return columns.later_columns(stage, self.settings, table, rows)

    def drive(self, clocks: Mapping[str, int]) -> dict[str, Any]:
        """Return how a simulation asks it: passes after events and at ticks, backfill at its own."""
        s = self.settings
        backfill = s.SchedulerType == "sched/backfill"
        return {
            "drive": 1,
            "period": clocks["sched_interval"],
            "second": clocks["bf_interval"],
            "requeue_delay": clocks["requeue_delay"],
            "backfill": backfill,
            "whole_operations": True,
            "planned_ends": backfill or s.PreemptType is not None or s.PriorityType != "priority/basic",
        }

    def coming(self, rows: Snapshot) -> dict[str, Any]:
        """Return what the jobs of a workload set."""
        return columns.Jobs.of(rows, self.settings).columns

    @checked("priorities")
    def priorities(self, snapshot: Snapshot, *, normalised: bool = False) -> Table:
        """Return the priority of every job and what it is the sum of, as ``sprio -l`` does.

        Parameters
        ----------
        snapshot : Snapshot
        normalised : bool
            The factors themselves, mostly of 0 to 1, and not weight times factor.

        Returns
        -------
        Table
            Columns ``name, priority, given`` (it is the operation's own), ``site``, with priority/multifactor
            ``age, assoc, fairshare, jobsize, partition, qos`` and ``tres/<name>``, and ``nice``.

        Raises
        ------
        InputError
            As `plan`.

        Notes
        -----
        O(jobs · factors + rows of the share tree · log). Source: Slurm documentation, priority_multifactor.

        Examples
        --------
        >>> import evenhand as eh
        >>> snapshot = eh.Snapshot.from_dict(
        ...     {
        ...         "now": 60,
        ...         "resources": {"cpu": {}},
        ...         "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        ...         "operations": [{"name": "a", "start_time": 0}, {"name": "b", "start_time": 30}],
        ...         "requests": [{"name": name, "operation": name, "resources": {"cpu": 2}} for name in "ab"],
        ...     }
        ... )
        >>> policy = eh.policies.Slurm(
        ...     PriorityType="priority/multifactor", PriorityWeightAge=100, PriorityMaxAge=120
        ... )
        >>> policy.priorities(snapshot)["priority"]
        array([50., 25.])
        """
        self._expect(snapshot)
        names = snapshot.names("operations")
        return columns.Jobs.of(snapshot, self.settings).priorities.table(names, normalised=normalised)

    def made_for(self, snapshot: Snapshot) -> Mapping[str, Any]:
        """Return the release by whose rules a snapshot is planned."""
        self._expect(snapshot)
        return {"release": release_in_force(snapshot, self.settings)}

    def standing(self, snapshot: Snapshot, row: int) -> str:
        """Return what a job falls under, in words.

        Parameters
        ----------
        snapshot : Snapshot
        row : int
            Of the operation.

        Returns
        -------
        str
        """
        return words.tier_and_qos(snapshot, self.settings, row)

    def fate(self, snapshot: Snapshot, row: int) -> str:
        """Return what becomes of a job that is preempted: it is requeued, cancelled or suspended.

        Parameters
        ----------
        snapshot : Snapshot
        row : int
            Of the operation.

        Returns
        -------
        str
        """
        return words.becomes(snapshot, self.settings, row)

    def order_numbers(self, snapshot: Snapshot, row: int) -> dict[str, Any]:
        """Return a job's priority and its parts, and those of the job that it is next behind.

        Parameters
        ----------
        snapshot : Snapshot
        row : int
            Of the operation.

        Returns
        -------
        dict
            ``priority``, ``priority_parts``, and ``behind`` if another pending job of its tier is before it.
        """
        return words.priority_numbers(snapshot, self.settings, row)
