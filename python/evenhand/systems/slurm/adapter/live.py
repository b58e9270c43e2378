"""Slurm: snapshots from its commands, actions as its commands."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from evenhand.accepted import checked
from evenhand.adapters.commands import Result, Runner, Subprocesses, reading
from evenhand.adapters.protocol import AdapterError, Answer, Standing
from evenhand.errors import InputError
from evenhand.systems.slurm.adapter.arrays import MOST, has_task
from evenhand.systems.slurm.adapter.following import Follower
from evenhand.systems.slurm.adapter.jobs import Job
from evenhand.systems.slurm.adapter.reading import said
from evenhand.systems.slurm.adapter.states import HOLDING, standing
from evenhand.systems.slurm.adapter.text import rows

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.systems.slurm.adapter.nodes import Node
    from evenhand.systems.slurm.policy import Slurm as SlurmPolicy

__all__ = ["Slurm"]

_LOOK = (
    *("jobid", "arrayjobid", "arraytaskid", "state", "reasonlist", "prioritylong", "restartcnt"),
    *("userid", "requeue", "nodelist"),
)
_NAME = re.compile(r"\d+(_\d+)?")
_GONE = "Invalid job id"
#: What commands say whose request may have been sent, and whose answer was lost. scontrol 22.05 says the last
#: of whatever kept an answer away, also of a controller that is slow and carries the request out later.
_LOST = (
    *("timed out on send/recv", "Zero Bytes were transmitted or received", "receive failure"),
    "Unexpected message received",
)
_ACTIONS = {"requeue": "requeue_hold", "checkpoint": "requeue_hold", "preempt": "requeue_hold"}
_ACTIONS |= {"terminate": "cancel", "suspend": "suspend", "enhanced_suspend": "suspend"}
_NOTE = 200
_NAMED = 5  # jobs of a notice

Evict = Literal["requeue_hold", "requeue", "as_planned"]


class Slurm:
    """A Slurm cluster, through the commands of this machine.

    ``squeue`` and ``sinfo`` say what is, ``scontrol`` and ``scancel`` act; ``scontrol show``, ``sacctmgr``
    and ``sshare`` say by which rules the cluster lives.

    Parameters
    ----------
    evict : {"requeue_hold", "requeue", "as_planned"}
        How victims leave that are to end: back to the queue and held until their beneficiary started (the
        default: they cannot take the room again), back to the queue, or as the plan's mode says, where
        ``terminate`` is ``scancel``. Victims that are to be suspended are suspended.
    pools : {"partition", "account", "user"}
        What the snapshot's pools are. Accounts have the parents and, as weights, the raw shares of
        ``sshare``, where the cluster keeps accounting.
    preemptible : callable, optional
        Whether a job, as a mapping of its fields, may be a victim; by default all that can be requeued.
    own_rules : bool
        Whether Slurm's own rules plan on the snapshots, as by default. Those of other systems take jobs that
        need entire nodes for ordinary ones, and a diagnostic says so: with False these are left out, and
        nothing is said that Slurm's rules alone read. Before acting by other rules set it to False.
    note : bool
        Whether victims get a reason in their comment. A comment that another person wrote stays as it is, and
        one that cannot be read (where ``squeue`` has no JSON) is not touched.
    timeout : float
        Seconds that a command may take.
    runner : Runner, optional
        What runs commands; by default processes.
    clock : callable
        What time it is, in seconds since 1970.

    Attributes
    ----------
    seconds : dict of str to float
        How long each of Slurm's commands took when the cluster was last read.
    version : str or None
        Slurm's release, such as ``"22.05.8"``: the controller's, as it says itself.
    left_out : dict of str to list of str
        Jobs that waited for room when the cluster was last read and are not in the snapshot: what they ask
        for that cannot be judged, with their numbers.

    Notes
    -----
    Evicting needs the rights of an operator. Nothing is interpreted by a shell, and nothing that users wrote
    becomes part of a command: jobs are named by number. Finished jobs must be remembered a while
    (``MinJobAge``).
    """

    name = "slurm"
    whole = True

    @checked(
        "Slurm",
        evict="Literal['requeue_hold', 'requeue', 'as_planned']",
        runner="Callable | None",
    )
    def __init__(
        self,
        *,
        evict: Evict = "requeue_hold",
        pools: Literal["partition", "account", "user"] = "partition",
        preemptible: Callable[[Job], bool] | None = None,
        own_rules: bool = True,
        note: bool = True,
        timeout: float = 30.0,
        runner: Runner | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.evict, self.pools, self.preemptible, self.note = evict, pools, preemptible, note
        self.own_rules, self.timeout, self.clock = own_rules, timeout, clock
        self.run: Runner = runner or Subprocesses()
        self._reader = Follower(self._run, timeout)
        self.left_out: dict[str, list[str]] = {}
        self._identity: str | None = None
        self._notices: dict[str, list[str]] = {}
        self._comments: dict[str, str] = {}  # where they were read

    def _run(self, arguments: Sequence[str], timeout: float) -> Result:
        return reading(self.run)(arguments, timeout)

    @property
    def identity(self) -> str:
        """The cluster's name and controller, as it says itself; `AdapterError` if it does not answer."""
        from evenhand.systems.slurm.adapter.settings import identity_of

        if self._identity is None:
            self._identity = identity_of(self._reader.ask)
        return self._identity

    @identity.setter
    def identity(self, identity: str) -> None:
        self._identity = identity

    @property
    def seconds(self) -> dict[str, float]:
        """How long each of Slurm's commands took when the cluster was last read."""
        return self._reader.seconds

    @property
    def version(self) -> str | None:
        """Slurm's release; None: nothing was read yet, or it does not say."""
        return self._reader.version

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of the cluster's own rules as they were last read."""
        return tuple(notice for found in self._notices.values() for notice in found)

    # What is

    @checked("Slurm.snapshot")
    def snapshot(self, leaving: Mapping[str, str] | None = None, *, released: Iterable[str] = ()) -> Snapshot:
        """Read the cluster.

        Parameters
        ----------
        leaving : mapping of str to str, optional
            Jobs that were asked to leave, with the job that they leave for.
        released : iterable of str, optional
            Jobs that wait for whatever reason, held ones too, and are read as if they waited for room: so a
            plan shows which jobs would be preempted if they were released.

        Returns
        -------
        Snapshot
            Operations are jobs by number (``array_task`` of arrays), allocations ``job@node``, requests the
            jobs that wait for room and could be served. Nodes of reservations that are in force take no
            work, as no job that asks for one is among the requests.

        Raises
        ------
        AdapterError
            If a command fails or its answer is incomplete.

        Notes
        -----
        `seconds` says afterwards how long Slurm's own commands took. O(jobs + nodes).
        """
        self._reader.seconds.clear()
        now = self.clock()
        return self._built(*self._reader.cluster(), now, leaving or {}, set(released))

    def follow(self, leaving: Mapping[str, str], about: Collection[str] | None = None) -> Snapshot:
        """Read the cluster as `snapshot` does, or what has changed since the last call.

        Parameters
        ----------
        leaving : mapping of str to str
            As of `snapshot`.
        about : collection of str or None
            Jobs that are read anew in any case. None: all is read, and noted for the next calls.

        Returns
        -------
        Snapshot

        Raises
        ------
        AdapterError
            As `snapshot`.

        Notes
        -----
        A listing of all jobs says which of them have changed; only their JSON is asked for.
        """
        self._reader.seconds.clear()
        now = self.clock()
        return self._built(*self._reader.follow(about, now), now, leaving, set())

    def _built(
        self, jobs: list[Job], nodes: list[Node], now: float, leaving: Mapping[str, str], chosen: set[str]
    ) -> Snapshot:
        from evenhand.systems.slurm.adapter.snapshot import build, left_out

        reader = self._reader
        self._comments = {job.name: job.comment for job in jobs if job.comment is not None}
        accounts = self._accounts() if self.pools == "account" else {}
        reserved = reader.reservations()
        later = {name: begins for name, begins in reserved.items() if begins > now}
        nodes = [
            replace(node, schedulable=node.schedulable and (node.name not in reserved or node.name in later))
            for node in nodes
        ]
        beside = reader.beside(jobs, own_rules=self.own_rules)
        try:
            snapshot = build(
                *(jobs, nodes, now, self.pools, self.preemptible, leaving, chosen, accounts, later),
                beside,
            )
        except InputError as error:
            raise AdapterError(
                f"what Slurm says of its jobs and nodes is inconsistent: {error.problems[0]}"
            ) from error
        self.left_out = left_out(jobs, nodes, chosen, beside)
        self._notices["jobs"] = [
            f"{_some(self.left_out[what])} asking for {what} wait and are left out: which jobs would give "
            "way to them cannot be judged"
            for what in sorted(self.left_out)
        ]
        self._notices["jobs"] += [
            f"of array {array} {MOST} tasks are planned for at once; {count} more of its tasks wait"
            for array, count in reader.more.items()
        ]
        unknown = sum(job.state == "UNKNOWN" for job in jobs)
        if unknown:
            self._notices["jobs"].append(
                "there are jobs in a state that this version does not know; it ignores them"
            )
        return snapshot

    def policy(self, preset: str = "upstream", **changes: Any) -> SlurmPolicy:
        """Return Slurm's rules as this cluster has them now.

        Parameters
        ----------
        preset : str
            As for `evenhand.policies.Slurm`; by default what the system itself does.
        **changes
            Settings that are to differ; partitions and QOS are changed field by field. A cluster whose own
            preemption is off does not say which jobs may preempt which: these settings must.

        Returns
        -------
        evenhand.policies.Slurm
            By ``scontrol show config``, ``scontrol show partition``, ``scontrol show node`` and, where the
            cluster keeps accounting, ``sacctmgr show qos``.

        Raises
        ------
        AdapterError
            If a command fails or its answer cannot be read.
        InputError
            If the changes do not fit.

        Examples
        --------
        >>> from evenhand import adapters
        >>> policy = adapters.load("slurm").policy(victim_selection="minimum")  # doctest: +SKIP
        """
        from evenhand.systems.slurm.adapter.settings import live_settings, merged, notices_of
        from evenhand.systems.slurm.policy import Slurm as Policy

        notes: list[str] = []
        live = live_settings(self._reader.ask, notes)
        rules = merged(live, changes)
        self._notices["policy"] = notices_of(live, rules) + notes
        return Policy(preset, **rules)

    def _accounts(self) -> dict[str, tuple[str | None, float]]:
        """Return parent and weight of every account, by name."""
        from evenhand.systems.slurm.adapter.settings import read_shares

        tree = read_shares(self._reader.ask)
        self._notices["shares"] = []
        if tree is None:
            self._notices["shares"] = ["the cluster keeps no accounting: accounts have no shares"]
            return {}
        return {
            str(tree.names[row]): (
                None if tree.parent[row] < 0 else str(tree.names[tree.parent[row]]),
                1.0 if tree.inherits[row] else float(tree.shares[row]),
            )
            for row in range(len(tree.names))
            if not tree.user[row]
        }

    # How a job stands

    def look(self, names: Iterable[str]) -> dict[str, Standing]:
        """Return how jobs stand now.

        Parameters
        ----------
        names : iterable of str
            Numbers of jobs, ``array_task`` of arrays.

        Returns
        -------
        dict of str to Standing

        Raises
        ------
        AdapterError
            If a command fails or its answer is incomplete. A job is ``gone`` only if Slurm says so.
        """
        wanted = list(dict.fromkeys(map(_checked, names)))
        found = self._look(wanted) if wanted else {}
        for name in [n for n in wanted if n not in found]:
            found |= self._look([name])
            array, _, task = name.partition("_")
            if name not in found and task and self._look([array], anything=True):
                found[name] = Standing.gone(name, "its array is known, it is not")
            if name not in found:
                raise AdapterError(f"squeue has no answer for job {name}")
        return {name: found[name] for name in wanted}

    def _look(self, names: list[str], *, anything: bool = False) -> dict[str, Standing]:
        columns = ",".join(f"{c}:|" for c in _LOOK)
        result = self._reader.read("squeue", "-a", "-t", "all", f"--jobs={','.join(names)}", "-O", columns)
        if result.status == 1 and len(names) == 1 and _GONE in result.err:
            return {names[0]: Standing.gone(names[0], "Slurm knows it no more")}
        if result.status != 0 and not (len(names) > 1 and _GONE in result.err):
            raise AdapterError(f"squeue: {said(result)}")
        found = {}
        for cells in rows(result.out, len(_LOOK)):
            row = dict(zip(_LOOK, cells, strict=True))
            task, array = row["arraytaskid"], row["arrayjobid"]
            name = f"{array}_{task}" if task.isdecimal() else row["jobid"]
            # A task that waits stands in the row of its array until it begins.
            tasks = [
                one for one in names if one.startswith(f"{array}_") and has_task(task, int(one.split("_")[1]))
            ]
            for one in dict.fromkeys((*([name] if name in names or anything else []), *tasks)):
                found[one] = standing(one, row)
        return found

    def room(self, name: str) -> bool:
        """Whether the cpus of a suspended job are free where it stands.

        ``scontrol resume`` does not ask: it shares the cpus silently with the jobs that have them by then.

        Parameters
        ----------
        name : str
            Number of the job.

        Returns
        -------
        bool
            Cpus of running, stopped and completing jobs count; a job of which nothing is known has no room.

        Raises
        ------
        AdapterError
            If a command fails.
        """
        listed, nodes = self._reader.cluster()
        jobs = {job.name: job for job in listed}
        capacity = {node.name: node.capacity.get("cpu", 0) for node in nodes}
        job = jobs.get(name)
        if job is None or not job.parts:
            return False
        used: dict[str, int] = {}
        for other in jobs.values():
            if other.state in HOLDING and other.state != "SUSPENDED" and other.name != name:
                for node, part in other.parts.items():
                    used[node] = used.get(node, 0) + part.get("cpu", 0)
        return all(
            used.get(node, 0) + part.get("cpu", 0) <= capacity.get(node, 0)
            for node, part in job.parts.items()
        )

    # What can be done

    def action(self, mode: str | None) -> str:
        """Return the action for a decision's mode."""
        planned = _ACTIONS.get(mode or "requeue", "requeue_hold")
        return planned if planned == "suspend" or self.evict == "as_planned" else self.evict

    def commands(self, action: str, name: str, reason: str) -> list[tuple[str, ...]]:
        """Return the commands of an action.

        Parameters
        ----------
        action : str
            Of `evenhand.adapters.protocol.ACTIONS`.
        name : str
            Number of the job.
        reason : str
            What a note says.

        Returns
        -------
        list of tuple of str
            Argument lists. Requeues are restricted to jobs that have not ended (``Incomplete``): without it,
            Slurm runs a job anew that ended a moment before.
        """
        job = _checked(name)
        if action == "note":
            theirs = self._comments.get(job)
            if not self.note or theirs is None or (theirs and not theirs.startswith("evenhand:")):
                return []
            text = re.sub(r"[^\w .:,@()/-]", "?", reason, flags=re.ASCII)[:_NOTE]
            return [("scontrol", "update", f"JobId={job}", f"Comment=evenhand: {text}")]
        known: dict[str, list[tuple[str, ...]]] = {
            "requeue": [("scontrol", "requeue", "Incomplete", job)],
            "requeue_hold": [("scontrol", "requeuehold", "Incomplete", job)],
            "cancel": [("scancel", job)],
            "suspend": [("scontrol", "suspend", job)],
            "release": [("scontrol", "release", job)],
            "resume": [("scontrol", "resume", job)],
        }
        return known[action]

    def do(self, action: str, name: str, reason: str) -> Answer:
        """Carry out an action; see `commands`."""
        for arguments in self.commands(action, name, reason):
            result = self.run(arguments, self.timeout)
            if result.status != 0:
                lost = result.status is None or any(words in result.out + result.err for words in _LOST)
                return Answer("unknown" if lost else "refused", said(result))
        return Answer("done")

    def keep(self, descriptor: int) -> None:
        """Let processes inherit a descriptor; a negative one: none any more."""
        if hasattr(self.run, "inherited"):
            self.run.inherited = (descriptor,) if descriptor >= 0 else ()


def _some(names: list[str]) -> str:
    """Return the numbers of jobs, the first few of many."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{'job' if len(names) == 1 else 'jobs'} {', '.join(names[:_NAMED])}{more}"


def _checked(name: Any) -> str:
    if not _NAME.fullmatch(str(name)):
        raise AdapterError(f"{str(name)[:40]!r} is not the number of a Slurm job")
    return str(name)
