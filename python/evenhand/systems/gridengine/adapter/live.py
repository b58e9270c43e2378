"""Grid Engine: snapshots from its commands, actions as its commands."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.accepted import checked as accepting
from evenhand.adapters.commands import Result, Runner, Subprocesses, reading
from evenhand.adapters.protocol import AdapterError, Answer, Standing
from evenhand.errors import InputError
from evenhand.systems.gridengine.adapter.acting import answer_of, checked, commands_of, said_of
from evenhand.systems.gridengine.adapter.details import details_of, details_of_each
from evenhand.systems.gridengine.adapter.following import MACHINES, TASKS, Follower
from evenhand.systems.gridengine.adapter.rights import rights_of
from evenhand.systems.gridengine.adapter.standing import standing_of

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.systems.gridengine.policy import GridEngine as GridEnginePolicy
    from evenhand.systems.gridengine.text.jobs import Task
    from evenhand.systems.gridengine.text.reading import Reading

__all__ = ["GridEngine"]

_UNKNOWN = {"P": "preempt", "N": "enhanced_suspend"}
_NAMED = 5  # jobs of a notice
_NOT_RESTARTABLE = "not restartable"  # says qmod -rj

_SYSTEM_HOLD = (*TASKS, "-s", "hs")


class GridEngine:
    """A Grid Engine cluster, through the commands of this machine.

    ``qstat``, ``qhost`` and ``qconf`` say what is; ``qmod``, ``qdel``, ``qhold`` and ``qrls`` act.

    Parameters
    ----------
    force : bool
        Whether jobs that are not rerunnable go back to the queue all the same where a plan says so: a
        manager's ``qmod -f -rj``.
    suspended_slots_are_free : bool
        Whether slots of a job that ``qmod -sj`` suspended are free for others. By default only where the
        complexes say so (``aapre``, the ninth column): open Grid Engine counts them as taken, so a driver
        refuses to suspend a job for another one.
    timeout : float
        Seconds that a command may take.
    runner : Runner, optional
        What runs commands; by default processes.
    clock : callable
        What time it is, in seconds since 1970.

    Attributes
    ----------
    seconds : dict of str to float
        How long each of Grid Engine's commands took when the cluster was last read.
    left_out : dict of str to list of str
        Jobs that waited when the cluster was last read and are not in the snapshot: what they ask for that
        cannot be judged, with their names.

    Notes
    -----
    Victims of other users need the rights of a manager, from an administrative host. Nothing is interpreted
    by a shell, and nothing that users wrote becomes part of a command: jobs are named by number.
    """

    name = "gridengine"
    whole = True

    @accepting("GridEngine", runner="Callable | None")
    def __init__(
        self,
        *,
        force: bool = False,
        suspended_slots_are_free: bool = False,
        timeout: float = 30.0,
        runner: Runner | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.force, self.suspended_slots_are_free = force, suspended_slots_are_free
        self.timeout, self.clock = timeout, clock
        self.run: Runner = runner or Subprocesses()
        self.seconds: dict[str, float] = {}
        self.left_out: dict[str, list[str]] = {}
        self._identity: str | None = None
        self._notices: dict[str, list[str]] = {}
        self._follower = Follower(self._ask, self._result)
        self._rerun: dict[str, bool] | None = None  # of queues
        self._staying: set[str] = set()  # jobs that it has refused to send back to the queue

    @property
    def identity(self) -> str:
        """The cluster's qmaster and cell; `AdapterError` if it does not answer."""
        if self._identity is None:
            import os

            master = self._ask("qconf", "-sss").strip()
            cell = os.environ.get("SGE_CELL") or "default"
            port = os.environ.get("SGE_QMASTER_PORT") or "sge_qmaster"
            self._identity = f"gridengine {master}:{port} cell {cell}"
        return self._identity

    @identity.setter
    def identity(self, identity: str) -> None:
        self._identity = identity

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know of how the cluster was last read."""
        return tuple(notice for found in self._notices.values() for notice in found)

    # What is

    @accepting("GridEngine.snapshot")
    def snapshot(self, leaving: Mapping[str, str] | None = None) -> Snapshot:
        """Read the cluster.

        Parameters
        ----------
        leaving : mapping of str to str, optional
            Jobs that were asked to leave, with the job that they leave for.

        Returns
        -------
        Snapshot
            As `evenhand.adapters.gridengine.read` makes it.

        Raises
        ------
        AdapterError
            If a command fails or its answer is incomplete.

        Notes
        -----
        `seconds` says afterwards how long Grid Engine's own commands took.
        """
        return self.follow(leaving or {})

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
        The listing of all tasks says which jobs have changed; only of these ``qstat -j`` is asked.
        """
        self.seconds = {}
        reading = self._read(leaving, about)
        self.left_out = {why: list(names) for why, names in reading.left_out.items()}
        self._notices["jobs"] = [
            f"{_some(self.left_out[why])} asking for {why} wait and are left out: which jobs would give way"
            " to them cannot be judged"
            for why in sorted(self.left_out)
        ]
        self._notices["texts"] = [
            one.message for one in reading.diagnostics if one.code == "gridengine_not_read"
        ]
        quotas = self._result("qconf", "-srqsl")
        self._notices["quotas"] = (
            ["the cluster has resource quotas, which no plan reads: qconf -srqsl"]
            if quotas.status == 0 and quotas.out.strip()
            else []
        )
        return reading.snapshot

    def _read(self, leaving: Mapping[str, str], about: Collection[str] | None) -> Reading:
        from evenhand.systems.gridengine.text.reading import reading_of

        now = self.clock()
        try:
            reading = reading_of(
                self._follower.texts(about, now),
                now,
                aapre={"slots": self.suspended_slots_are_free},
                leaving=leaving,
                subordination=False,
                staying=() if self.force else self._staying,
            )
        except InputError as error:
            raise AdapterError(f"what Grid Engine says cannot be read: {error.problems[0]}") from error
        self._rerun = {name: queue["rerun"] for name, queue in reading.settings["queues"].items()}
        return reading

    def policy(self, preset: str = "upstream", **changes: Any) -> GridEnginePolicy:
        """Return the rules of this cluster as it has them now.

        Parameters
        ----------
        preset : str
            As for `evenhand.policies.GridEngine`; by default what the system itself does.
        **changes
            Settings that are to differ. Open Grid Engine has none of those of preemption: which jobs are
            preempted, and how many at a time, these must say (`automatic_preemption`, `max_preemptees`).

        Returns
        -------
        evenhand.policies.GridEngine
            By ``qconf -ssconf`` and ``qconf -sq``. The action where none is named is R, not the advisor's,
            which chooses among those that open Grid Engine has.

        Raises
        ------
        AdapterError
            If a command fails or its answer cannot be read, or `preemption_action` is P or N, which open
            Grid Engine does not have.
        InputError
            If the changes do not fit.

        Examples
        --------
        >>> from evenhand import adapters
        >>> engine = adapters.load("gridengine")  # doctest: +SKIP
        >>> policy = engine.policy(automatic_preemption=True, max_preemptees=10)  # doctest: +SKIP
        """
        from evenhand.systems.gridengine.policy import GridEngine as Policy
        from evenhand.systems.gridengine.text.config import read_queues, read_scheduler
        from evenhand.systems.gridengine.text.reading import queue_settings

        scheduler, queues = self._ask("qconf", "-ssconf"), self._ask("qconf", "-sq", "*")
        try:
            live = read_scheduler(scheduler)
            live["queues"] = queue_settings(read_queues(queues), subordination=False)
        except InputError as error:
            raise AdapterError(f"what Grid Engine says cannot be read: {error.problems[0]}") from error
        self._rerun = {name: queue["rerun"] for name, queue in live["queues"].items()}
        for queue in live["queues"].values():
            queue.pop("rerun")  # each job says it for itself: with -r n it is not rerunnable in any queue
        given = dict(changes)
        if isinstance(given.get("queues"), Mapping):
            own = {name: {**live["queues"].get(name, {}), **dict(q)} for name, q in given["queues"].items()}
            given["queues"] = {**live["queues"], **own}
            for queue in given["queues"].values():
                queue.pop("subordinate_list", None)  # Grid Engine does what it says by itself
        rules = {"preemption_action": "R", **live, **given}
        policy = Policy(preset, **rules)
        chosen = {queue.preemption_action for queue in policy.settings.queues.values()}
        chosen.add(policy.settings.preemption_action)
        for letter in _UNKNOWN:
            if letter in chosen:
                raise _unknown(letter)
        if "actions" not in rules:
            suspends = self.suspended_slots_are_free or "S" in chosen
            policy = Policy(preset, **rules, actions=("T", "R", "C", *(("S",) if suspends else ())))
        self._notices["policy"] = _lacking(policy)
        return policy

    # How a job stands

    def rights(self) -> tuple[str, bool]:
        """Return the user of this process, and whether it is a manager of the cluster."""
        return rights_of(self._ask)

    def look(self, names: Iterable[str]) -> dict[str, Standing]:
        """Return how jobs stand now.

        Parameters
        ----------
        names : iterable of str
            ``job``, or ``job.task`` of arrays.

        Returns
        -------
        dict of str to Standing
            ``turn`` is the second in which the job started; of one that went back to the queue, and waits
            there, it is above all of those.

        Raises
        ------
        AdapterError
            If a command fails or its answer is incomplete. A job that Grid Engine does not list is ``gone``.
        """
        wanted = list(dict.fromkeys(map(checked, names)))
        if not wanted:
            return {}
        tasks = self._tasks(TASKS)
        held, rerun = self._tasks(_SYSTEM_HOLD), self._queues_rerun()
        details, unread = details_of_each(self._ask, wanted)
        found = {}
        for name in wanted:
            task = tasks.get(name)
            queue = next(iter(task.parts), "").partition("@")[0] if task is not None else ""
            found[name] = standing_of(
                name,
                task,
                details.get(name.partition(".")[0]),
                system_hold=name in held,
                rerunnable=rerun.get(queue, False),
                force=self.force,
                stays=name in self._staying or name.partition(".")[0] in unread,
            )
        return found

    def _queues_rerun(self) -> dict[str, bool]:
        """Return which queues are rerunnable, as they last were."""
        if self._rerun is None:
            self.policy()
        return self._rerun or {}

    def _tasks(self, command: tuple[str, ...]) -> dict[str, Task]:
        from evenhand.systems.gridengine.text.jobs import read_tasks

        try:
            return {task.key: task for task in read_tasks(self._ask(*command), utc=True)}
        except InputError as error:
            raise AdapterError(f"qstat: {error.problems[0]}") from error

    def room(self, name: str) -> bool:
        """Whether what a suspended job needs is free where it stands.

        Parameters
        ----------
        name : str

        Returns
        -------
        bool
            A suspended job keeps its slots and all else, so it has its room as long as it is there. If its
            slots count as free (`suspended_slots_are_free`), whether so many slots of the host are.

        Raises
        ------
        AdapterError
            If a command fails.
        """
        tasks = self._tasks(TASKS)
        task = tasks.get(checked(name))
        if task is None or not task.parts:
            return False
        if not self.suspended_slots_are_free:
            return True
        from evenhand.systems.gridengine.text.machines import read_machines

        try:
            machines = read_machines(self._ask(*MACHINES))
        except InputError as error:
            raise AdapterError(f"qhost: {error.problems[0]}") from error
        slots = {f"{i.queue}@{m.name}": i.slots for m in machines.values() for i in m.instances}
        used: dict[str, int] = {}
        for other in tasks.values():
            if other.key != task.key and not set("sST") & set(other.state):
                for instance, taken in other.parts.items():
                    used[instance] = used.get(instance, 0) + taken
        return all(used.get(at, 0) + taken <= slots.get(at, 0) for at, taken in task.parts.items())

    # What can be done

    def action(self, mode: str | None) -> str:
        """Return the action for a decision's mode.

        Raises
        ------
        AdapterError
            If open Grid Engine has none: P and N (``preempt``, ``enhanced_suspend``).
        """
        for letter, unknown in _UNKNOWN.items():
            if mode == unknown:
                raise _unknown(letter)
        return {"terminate": "cancel", "suspend": "suspend"}.get(mode or "", "requeue_hold")

    def commands(self, action: str, name: str, reason: str) -> list[tuple[str, ...]]:
        """Return the commands of an action.

        Parameters
        ----------
        action : str
            Of `evenhand.adapters.protocol.ACTIONS`.
        name : str
            ``job`` or ``job.task``.
        reason : str
            Of a note: ``qalter -ac`` puts it into the job's context, which ``qstat -j`` shows to its owner.

        Returns
        -------
        list of tuple of str
            Argument lists. A job with a checkpoint environment is asked for first: it goes back to the queue
            by ``qmod -sj``, if it checkpoints when it is suspended.

        Raises
        ------
        AdapterError
            If the cluster does not answer.
        """
        job = checked(name)
        migrates = stopped = False
        if action in ("requeue", "requeue_hold"):
            detail = details_of(self._ask, [job]).get(job.partition(".")[0])
            migrates = detail is not None and bool(detail.checkpoint) and detail.migrates
        elif action == "release":
            standing = self.look([job])[job]
            stopped = standing.marked and standing.state == "suspended"
        state = {"migrates": migrates, "stopped": stopped}
        return commands_of(action, job, **state, force=self.force, reason=reason)

    def do(self, action: str, name: str, reason: str) -> Answer:
        """Carry out an action; see `commands`. Where a job stays after all, its hold is taken back."""
        try:
            commands = self.commands(action, name, reason)
        except AdapterError as error:  # of what is to be run: it was not
            return Answer("refused", str(error))
        for place, arguments in enumerate(commands):
            answer = answer_of(arguments, self.run(arguments, self.timeout))
            if answer.status != "done":
                if answer.status == "refused" and _NOT_RESTARTABLE in answer.message:
                    self._staying.add(name)
                if answer.status == "refused" and action == "requeue_hold" and place:
                    self.run(commands_of("release", checked(name))[0], self.timeout)
                return answer
        return Answer("done")

    def keep(self, descriptor: int) -> None:
        """Let processes inherit a descriptor; a negative one: none any more."""
        if hasattr(self.run, "inherited"):
            self.run.inherited = (descriptor,) if descriptor >= 0 else ()

    def _result(self, *arguments: str) -> Result:
        begin = time.monotonic()
        result = reading(self.run)(arguments, self.timeout)
        program = next(word for word in arguments if word.startswith("q"))
        self.seconds[program] = self.seconds.get(program, 0.0) + time.monotonic() - begin
        return result

    def _ask(self, *arguments: str) -> str:
        result = self._result(*arguments)
        if result.status != 0:
            program = next(word for word in arguments if word.startswith("q"))
            raise AdapterError(f"{program}: {said_of(result)}")
        return result.out


def _unknown(letter: str) -> AdapterError:
    said = f"open Grid Engine does not have action {letter} ({_UNKNOWN[letter]})"
    return AdapterError(f"{said}: no job was touched; preemption_action can be T, R, C or S")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{'job' if len(names) == 1 else 'jobs'} {', '.join(names[:_NAMED])}{more}"


def _lacking(policy: GridEnginePolicy) -> list[str]:
    """Return which settings keep everything from being preempted."""
    settings = policy.settings
    found = [
        f"{name} is 0: no job is preempted"
        for name in ("max_reservation", "max_preemptees")
        if not getattr(settings, name)
    ]
    if not settings.automatic_preemption:
        found.append("automatic_preemption is off: no job is preempted without a command")
    return found
