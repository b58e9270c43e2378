"""A simulation: a cluster, a policy and a workload, as time goes by."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand import _core
from evenhand.arguments import expect
from evenhand.building.assemble import Built
from evenhand.building.settings import labels_of
from evenhand.cluster.stage import Stage
from evenhand.errors import InputError, Problem, printable, require
from evenhand.files import replace_file
from evenhand.plans.own import expect_acting
from evenhand.plans.planning import expect_policy
from evenhand.simulate.columns import clocks_of, event_columns, sampling
from evenhand.simulate.raw import RawTables, samples
from evenhand.simulate.result import Result
from evenhand.simulate.workload import Parsed, Workload
from evenhand.units.text import instant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.systems.base import Policy

__all__ = ["Simulation", "simulate"]

_SLICES = 100
_TURNS = 1000
_PORTION = 20_000  # steps of a run
_MAGIC = f"evenhand simulation {_core.__version__}\n".encode()


class Simulation:
    """A cluster that a policy runs and a workload comes to.

    Parameters
    ----------
    snapshot : Snapshot
        What is at the beginning; its instant is the clock's.
    policy : policy
        One of `evenhand.policies`.
    workload : Workload
        What comes, and what happens to nodes. What came before the beginning comes then.
    literal : bool
        Whether every heartbeat, update and pass is visited, also those at which nothing can be decided. Slow;
        the result is the same.
    rng : int or numpy.random.Generator, optional
        Draws the order in which heartbeats of nodes are spread over their period; by default it is that of
        the snapshot. Nothing else is random.
    series_every : number or str, optional
        Seconds between samples of pools; by default there are about a thousand of them from the first arrival
        to the last, or so many fewer that those of all pools are two million rows. 0: none. What pools and
        operations lacked is summed over samples: where there are thousands of pools, say how often.
    give_up_after : int
        How often an operation may lose all that it has done, while nothing gets done, before a run without
        ``until`` ends with an error; likewise how many updates may pass while something waits and nothing
        runs or comes. At least 2.
    **clocks
        When the system acts: see `CLOCKS` of the policy.

    Raises
    ------
    InputError
        If an argument or a row is wrong, or the workload and the snapshot do not fit together.

    Notes
    -----
    An event costs what it changes; memory follows what is there at an instant, and the result.

    Examples
    --------
    >>> import evenhand as eh
    >>> work = eh.simulate.Workload({"name": ["a", "b"], "resources.cpu": [2, 4], "submit_time": [0, 5],
    ...                              "run_time": [60, 30]})
    >>> run = eh.simulate.Simulation(work.snapshot(nodes=1, cpu=4), eh.policies.YTsaurus(), work)
    >>> run.run(until=30)
    >>> run.now, run.done
    (30.0, False)
    >>> run.run()
    >>> run.result().allocations["start"].tolist()
    [0.0, 60.0]
    """

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        workload: Workload,
        *,
        literal: bool = False,
        rng: int | np.random.Generator | None = None,
        series_every: float | str | None = None,
        give_up_after: int = _TURNS,
        **clocks: float | str,
    ) -> None:
        from evenhand.model import Snapshot

        expect(isinstance(snapshot, Snapshot), "simulation", "snapshot", snapshot, "a Snapshot")
        expect_policy("simulation", policy)
        expect_acting("simulation", policy, "a simulation")
        expect(isinstance(workload, Workload), "simulation", "workload", workload, "a Workload")
        right = type(give_up_after) is int and 2 <= give_up_after < 2**31
        expect(right, "simulation", "give_up_after", give_up_after, "a number of at least 2")
        # A generator is used up by drawing; runs of the same draw of what it is now.
        kept_rng = copy.deepcopy(rng) if isinstance(rng, np.random.Generator) else rng
        options = {"literal": literal, "series_every": series_every, "give_up_after": give_up_after}
        self._made = (snapshot, policy, workload, kept_rng, {**options, **clocks})
        self._snapshot = workload.joined(snapshot)
        self._policy = cast("Any", policy)  # it acts by itself, which not every policy does
        self._workload = workload
        self._clocks = clocks_of(policy, clocks)
        self._parsed = parsed = workload.parsed(self._snapshot)
        stage = Stage(self._snapshot)
        self._total_stated = stage.total_stated
        planner = self._policy.live(stage, None, None)
        every = sampling(series_every, workload, self._snapshot.pool_count)
        options = {**options, **policy.drive(self._clocks), "series_every": every}
        columns = self._columns(parsed)
        if rng is not None:
            drawn = np.random.default_rng(rng).permutation(self._snapshot.node_count)
            columns["heartbeats"] = drawn.astype(np.int32)
        self._core = _core.Simulation(
            stage.core, planner, parsed.rows._core, columns, options, policy.coming(parsed.rows)
        )

    @classmethod
    def _of(cls, made: tuple[Any, ...]) -> Simulation:
        """Return a run at its beginning, of what another was made of."""
        snapshot, policy, workload, rng, options = made
        return cls(snapshot, policy, workload, rng=copy.deepcopy(rng), **options)

    def _columns(self, parsed: Parsed) -> dict[str, NDArray[Any]]:
        """Return the workload's columns as the core takes them, by rows of the start snapshot."""
        pools = self._snapshot.names("pools")
        place = {str(name): row for row, name in enumerate(pools)}
        own = np.array([place[str(name)] for name in parsed.rows.names("pools")], np.int32)
        of = np.asarray(parsed.rows._core.column("operations", "pool"))
        nodes = {str(name): row for row, name in enumerate(self._snapshot.names("nodes"))}
        events = self._workload._events
        columns = {
            "pool": own[of] if len(of) else np.zeros(0, np.int32),
            "node": np.arange(len(nodes), dtype=np.int32),
            "run_time": parsed.run_time,
            "checkpoint_every": parsed.checkpoint_every,
            "cut_off": parsed.cut_off.astype(np.uint8),
            "replica": parsed.replica.astype(np.uint8),
        }
        return columns | (event_columns(events, nodes, self._snapshot) if events else {})

    def run(self, until: float | None = None) -> None:
        """Let time go by.

        Parameters
        ----------
        until : number, optional
            Seconds; what happens at that instant is in it. By default until nothing can happen any more.

        Raises
        ------
        InputError
            If there is no ``until``, and operations preempt each other in turns, without end: nothing will
            come or ends by itself, and one of them has lost its work ``give_up_after`` times; or something
            waits without end: nothing will come or end, and as many updates have decided nothing.

        Notes
        -----
        It can be interrupted (Ctrl-C), and continues from there when it is called again.
        """
        self._core.run(_micros(until), None, until is None)
        self._must_end(until)

    def _must_end(self, until: float | None) -> None:
        """Raise if what was to run until its end has none."""
        if until is not None:
            return
        if (vain := self._core.vain) is not None:
            row, count, first = vain
            raise _endless(
                f'at {instant(self.now, self.now)} "{self.result().request_names[row]}" waits, and nothing'
                f" has been decided in {count} updates since {instant(first / 1e6, self.now)}: nothing will"
                " come or end; give until="
            )
        if (turns := self._core.turns) is None:
            return
        row, count, first = turns
        result = self.result()
        decisions, names = result.raw["decisions"], result.operation_names
        last = np.flatnonzero((decisions["operation"] == row) & (decisions["beneficiary_operation"] >= 0))
        other = (
            f', the last time for "{names[decisions["beneficiary_operation"][last[-1]]]}"'
            if len(last)
            else ""
        )
        raise _endless(
            f'at {instant(self.now, self.now)} "{names[row]}" has lost its work {count} times since'
            f" {instant(first / 1e6, self.now)}"
            f"{other}, and nothing got done: work is preempted in turns, without end; give until=, or a pace "
            "(victim_cooldown, max_victims_per_hour)"
        )

    def portions(self, until: float | None = None) -> Iterator[float]:
        """Let time go by as `run` does, but stop now and then.

        Parameters
        ----------
        until : number, optional
            As of `run`.

        Yields
        ------
        number
            The clock, after each portion of work of some tenths of a second.

        Raises
        ------
        InputError
            As of `run`.
        """
        while not self._core.run(_micros(until), _PORTION, until is None):
            yield self.now
        self._must_end(until)
        yield self.now

    def advance(self, until: float | None, steps: int) -> bool:
        """Let time go by as `run` does, but for so many steps at most; whether it has come to the end."""
        return bool(self._core.run(_micros(until), steps, until is None))

    @property
    def now(self) -> float:
        """The clock, in seconds."""
        return float(self._core.now) / 1e6

    @property
    def done(self) -> bool:
        """Whether nothing can happen any more."""
        return bool(self._core.done)

    @property
    def preemptions(self) -> int:
        """How many allocations were asked to leave so far; O(decisions)."""
        return int(self._core.preemptions)

    def copy(self) -> Simulation:
        """Return another run that stands where this one does; each can continue without the other.

        Returns
        -------
        Simulation

        Notes
        -----
        It costs what the cluster and the result so far hold. Pickles and files hold what the run was made of,
        and are run from the beginning, in the time that it took to come here.
        """
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"_core": self._core.copy()}
        return other

    __copy__ = copy

    def at(self, time: float) -> Simulation:
        """Return another run of the same, at any instant of it, also one that has passed.

        Parameters
        ----------
        time : number
            Seconds; what happens at that instant is in it.

        Returns
        -------
        Simulation
        """
        expect(time >= self._snapshot.now, "simulation", "time", time, "no instant before the beginning")
        other = self.copy() if time >= self.now else self._of(self._made)
        other.run(time)
        return other

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run into a file, from which it can continue in another process.

        Parameters
        ----------
        path : str or path-like
            Replaced at once or not at all.
        """
        replace_file(path, _MAGIC + pickle.dumps(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Simulation:
        """Return a run that was saved.

        Parameters
        ----------
        path : str or path-like
            A pickle: load only what you saved yourself.

        Returns
        -------
        Simulation

        Raises
        ------
        InputError
            If it is no saved run, or one of another version, which might come to something else.
        """
        content = Path(path).read_bytes()
        if not content.startswith(_MAGIC):
            message = f"{os.fspath(path)} is no saved simulation of version {_core.__version__}"
            raise InputError([Problem("simulation", None, None, "path", "format", None, printable(message))])
        run: Simulation = pickle.loads(content[len(_MAGIC) :])  # noqa: S301 - see the docstring
        return run

    def __reduce__(self) -> tuple[Any, ...]:
        return _stands_at, (self._made, self._core.steps, self._core.now)

    def _share(self, policies: Sequence[Any]) -> bool:
        """Let policies share the run, before it begins, of which its own is the first; whether they can."""
        self._sharing = tuple(policies)
        return bool(self._policy.share(self._core.planner, policies, self._parsed.rows))

    def _apart(self) -> list[int]:
        """Return which of those that share the run came to something else in its last step."""
        return list(_core.ytsaurus_apart(self._core.planner).tolist())

    def _become(self, rows: Sequence[int]) -> None:
        """Go on as the run of these of them, the first of which leads."""
        _core.ytsaurus_become(self._core.planner, np.array(rows, np.int32))
        self._sharing = tuple(self._sharing[row] for row in rows)
        self._policy = self._sharing[0]
        self._made = (self._made[0], self._policy, *self._made[2:])

    def snapshot(self) -> Snapshot:
        """Return the cluster as it is now.

        Returns
        -------
        Snapshot
            Allocations that the simulation has started are called ``"<request>/<row>"``, by their row of the
            result's ``allocations``.

        Notes
        -----
        O(cells of what is there).
        """
        return self._frozen()[0]

    def _frozen(self) -> tuple[Snapshot, dict[str, NDArray[Any]]]:
        """Return the cluster as it is now, and by table the core's row of each of its rows."""
        core, sources, here = self._core.frozen(self._total_stated)
        start, coming = self._snapshot._settings, self._parsed.rows._settings
        settings = {table: by_row for table, by_row in start.items() if table.startswith(("pools", "nodes"))}
        first = self._snapshot.operation_count
        for table, rows in sources.items():
            for key in (table, labels_of(table)):
                own = dict(start.get(key, {}))
                if table == "operations":
                    own |= {first + row: of_row for row, of_row in coming.get(key, {}).items()}
                if found := {row: own[its] for row, its in enumerate(rows.tolist()) if its in own}:
                    settings[key] = found
        built = Built(core, dict(sorted(settings.items())), self._snapshot._commands)
        return self._snapshot._of(built, self._snapshot._head), here

    def plan(self, on: Any = None) -> Any:
        """Return what the policy would plan now, with its reasons.

        Parameters
        ----------
        on : trigger, optional
            As of `evenhand.plan`.

        Returns
        -------
        Plan
            Of `snapshot`; clocks and back-offs begin anew.
        """
        return self._policy.plan(self.snapshot(), None, on)

    def result(self) -> Result:
        """Return what has happened so far."""
        core = self._core
        return Result(
            self._snapshot,
            self._policy,
            self._workload,
            self._made,
            self._parsed,
            RawTables(
                allocations=core.allocations(),
                operations=core.operations(),
                decisions=core.decisions(),
                series=partial(samples, core.series(), self._snapshot.pool_count),
                spells=core.spells(),
            ),
            (self._snapshot.now, self.now),
            {**core.counts(), "clocks": {name: micros / 1e6 for name, micros in self._clocks.items()}},
        )


def simulate(
    snapshot: Snapshot,
    policy: Policy,
    workload: Workload,
    until: float | None = None,
    *,
    rng: int | np.random.Generator | None = None,
    progress: bool = False,
    literal: bool = False,
    series_every: float | str | None = None,
    give_up_after: int = _TURNS,
    **clocks: float | str,
) -> Result:
    """Return what happens when a policy runs a cluster to which a workload comes.

    Parameters
    ----------
    snapshot, policy, workload, rng, literal, series_every, give_up_after, **clocks
        As of `Simulation`.
    until : number, optional
        Seconds; by default until nothing can happen any more.
    progress : bool
        Whether a bar shows how far it is.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        As of `Simulation` and `Simulation.run`.

    Examples
    --------
    >>> import evenhand as eh
    >>> work = eh.simulate.Workload({"name": ["a", "b"], "resources.cpu": [2, 4], "submit_time": [0, 5],
    ...                              "run_time": [60, 30]})
    >>> result = eh.simulate(work.snapshot(nodes=1, cpu=4), eh.policies.YTsaurus(), work)
    >>> result.operations["waited"].tolist()
    [0.0, 55.0]
    """
    options = {"literal": literal, "series_every": series_every, "give_up_after": give_up_after}
    run = Simulation(snapshot, policy, workload, rng=rng, **options, **clocks)  # type: ignore[arg-type]
    if progress:
        _with_bar(run, workload, until)
    run.run(until)
    return run.result()


def _stands_at(of: tuple[Any, ...], steps: int, now: int) -> Simulation:
    """Return a run after so many steps, at an instant before the next one."""
    run = Simulation._of(of)
    run._core.run(None, steps)
    if run._core.now < now:
        run._core.run(now)
    return run


def _endless(message: str) -> InputError:
    return InputError([Problem("simulation", None, None, "until", "endless", None, printable(message))])


def _micros(until: float | None) -> int | None:
    return None if until is None else round(until * 1e6)


def _with_bar(run: Simulation, workload: Workload, until: float | None) -> None:
    tqdm = require("tqdm.auto", "progress").tqdm
    begin = run.now
    end = workload.end if until is None else min(workload.end, until)
    with tqdm(total=round(max(end - begin, 0)), unit="s", desc="simulated") as bar:
        for i in range(1, _SLICES + 1):
            run.run(begin + (end - begin) * i / _SLICES)
            bar.update(round(run.now - begin) - bar.n)
