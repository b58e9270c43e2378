"""A simulation: a cluster, a policy and a workload, as time goes by."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand import _core
from evenhand.accepted import FLAG, checked, count_of, instant_from, taken
from evenhand.arguments import expect
from evenhand.building.assemble import Built
from evenhand.building.settings import labels_of
from evenhand.cluster.following import one_at_a_time
from evenhand.cluster.stage import Stage
from evenhand.errors import InputError, Problem, printable
from evenhand.plans.columns import rows_by_name
from evenhand.plans.own import expect_acting
from evenhand.plans.planning import expect_policy
from evenhand.simulate.columns import clocks_of, event_columns, generator, sampling
from evenhand.simulate.memory import remembered
from evenhand.simulate.parsed import Parsed
from evenhand.simulate.raw import MOST_SAMPLED, RawTables, samples, too_many_samples
from evenhand.simulate.result import Result, of_run
from evenhand.simulate.saved import read_run, write_run
from evenhand.simulate.workload import Workload
from evenhand.units.text import instant

if TYPE_CHECKING:
    from datetime import timedelta

    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.systems.base import Policy

__all__ = ["Simulation"]

TURNS = 1000
_PORTION = 20_000  # steps of a run


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
        to the last, or so many fewer that those of all pools are two million rows, and after twice that time
        they are ever farther from each other, so that a run of any length has few. 0: none. What pools and
        operations lacked is summed over samples: where there are thousands of pools, say how often.
    give_up_after : int
        How many times an operation may lose all its work without progress before a run without ``until`` ends
        with an error; likewise how many updates may pass while something waits and nothing runs or
        arrives. At least 2.
    **clocks
        When the system acts: see `CLOCKS` of the policy.

    Raises
    ------
    InputError
        If an argument or a row is wrong, or the workload and the snapshot do not fit together.

    Notes
    -----
    An event costs what it changes; memory follows what is there at an instant, and the result. Calls from
    several threads on one run take turns.

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
        give_up_after: int = TURNS,
        **clocks: float | str,
    ) -> None:
        from evenhand.model import Snapshot

        expect(isinstance(snapshot, Snapshot), "simulation", "snapshot", snapshot, "a Snapshot")
        expect_policy("simulation", policy)
        expect_acting("simulation", policy, "a simulation")
        expect(isinstance(workload, Workload), "simulation", "workload", workload, "a Workload")
        literal = taken("simulation", "literal", literal, FLAG)
        give_up_after = count_of("simulation", "give_up_after", give_up_after, 2, 2**31 - 1)
        rng = generator("simulation", "rng", rng)
        self._lock = RLock()
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
        options |= {
            **policy.drive(self._clocks),
            **sampling(series_every, workload, self._snapshot.pool_count),
        }
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
        nodes = rows_by_name(self._snapshot, "nodes")
        events = self._workload._events
        columns = {
            "pool": own[of] if len(of) else np.zeros(0, np.int32),
            "node": np.arange(len(nodes), dtype=np.int32),
            "run_time": parsed.run_time,
            "checkpoint_every": parsed.checkpoint_every,
            "cut_off": parsed.cut_off.astype(np.uint8),
            "replica": parsed.replica.astype(np.uint8),
            "whole": parsed.whole.astype(np.uint8),
        }
        return columns | (event_columns(events, nodes, self._snapshot) if events else {})

    @one_at_a_time
    def run(self, until: float | str | timedelta | None = None) -> None:
        """Let time go by.

        Parameters
        ----------
        until : number, str or timedelta, optional
            Instant in seconds, or text such as ``"10d"``: so long after the beginning. What happens at that
            instant is in it. By default until nothing can happen any more.

        Raises
        ------
        InputError
            If ``until`` is no such instant, or before the beginning; or if there is none, and operations
            preempt each other in turns, without end: nothing will come or ends by itself, and one of them
            has been interrupted ``give_up_after`` times, while nothing got done or nearer to its end; or
            something waits without end: nothing will come or end, and as many updates, passes, cycles or
            scheduling runs have decided nothing, whatever checkpoints were taken. A run in which all that
            waits needs more than any node has, or nothing waits, and nothing else is left, just ends.

        Notes
        -----
        It can be interrupted (Ctrl-C), and continues from there when it is called again.
        """
        self._core.run(self._micros(until), None, until is None)
        self._must_end(until)

    def _micros(self, until: Any, name: str = "until") -> int | None:
        """Return an instant in microseconds."""
        if until is None:
            return None
        return round(self._instant(name, until) * 1e6)

    def _instant(self, name: str, value: Any) -> float:
        """Return an instant of the run, in seconds."""
        begin = self._snapshot.now
        return instant_from("simulation", name, value, begin, least=begin, zone=self._workload._zone)

    def _must_end(self, until: object) -> None:
        """Raise if what was to run until its end has none."""
        if until is not None:
            return
        if (vain := self._core.vain) is not None:
            row, count, first, by_beats = vain
            rounds = "heartbeats of every node" if by_beats else self._policy.ROUNDS
            raise _endless(
                f'at {instant(self.now, self.now)} "{self.result().request_names[row]}" waits, and nothing'
                f" has been decided in {count} {rounds} since"
                f" {instant(first / 1e6, self.now)}: nothing will come or end; give until="
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
        ends = [d.message for d in result.diagnostics if d.code == "starts_preemptible"]
        raise _endless(
            f'at {instant(self.now, self.now)} "{names[row]}" has been interrupted {count} times since'
            f" {instant(first / 1e6, self.now)}"
            f"{other}, and nothing got done: work is preempted in turns, without end; give until=, or a pace "
            f"(victim_cooldown, max_victims_per_hour){''.join(f'. {said}' for said in ends)}"
        )

    def portions(self, until: float | str | timedelta | None = None) -> Iterator[float]:
        """Let time go by as `run` does, but stop now and then.

        Parameters
        ----------
        until : number, str or timedelta, optional
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
        while not self.advance(until, _PORTION):
            yield self.now
        with self._lock:
            self._must_end(until)
        yield self.now

    @one_at_a_time
    def advance(self, until: float | str | timedelta | None, steps: int) -> bool:
        """Let time go by as `run` does, but for so many steps at most; whether it has come to the end.

        Parameters
        ----------
        until : number, str or timedelta, optional
            As of `run`.
        steps : int
            At least 1.
        """
        steps = count_of("simulation", "steps", steps, 1, 2**62)
        return bool(self._core.run(self._micros(until), steps, until is None))

    @property
    def now(self) -> float:
        """The clock, in seconds."""
        with self._lock:
            return float(self._core.now) / 1e6

    @property
    def done(self) -> bool:
        """Whether nothing can happen any more."""
        with self._lock:
            return bool(self._core.done)

    @property
    def preemptions(self) -> int:
        """How many allocations were asked to leave so far; O(decisions)."""
        with self._lock:
            return int(self._core.preemptions)

    @one_at_a_time
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
        other.__dict__ |= self.__dict__ | {"_core": self._core.copy(), "_lock": RLock()}
        return other

    __copy__ = copy

    @one_at_a_time
    def at(self, time: float | str | timedelta) -> Simulation:
        """Return another run of the same, at any instant of it, also one that has passed.

        Parameters
        ----------
        time : number, str or timedelta
            As ``until`` of `run`; what happens at that instant is in it.

        Returns
        -------
        Simulation

        Raises
        ------
        InputError
            If it is no instant, or before the beginning.
        """
        instant = self._instant("time", time)
        other = self.copy() if instant >= self.now else self._of(self._made)
        other.run(instant)
        return other

    @checked("Simulation.save")
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run into a file, from which it can continue in another process.

        Parameters
        ----------
        path : str or path-like
            Replaced at once or not at all.

        Raises
        ------
        OSError
            If it cannot be written; an old file is then as it was.
        """
        write_run(path, self, of_run(*self._made[:4]))

    @classmethod
    @checked("Simulation.load")
    def load(cls, path: str | os.PathLike[str]) -> Simulation:
        """Return a run that was saved.

        Parameters
        ----------
        path : str or path-like
            A pickle behind a head with its length and digest: load only what you saved yourself.

        Returns
        -------
        Simulation

        Raises
        ------
        InputError
            If it is not a saved run, is incomplete, or comes from another version, whose results may differ.
        OSError
            If it cannot be read.
        """
        run: Simulation = read_run(path)
        return run

    @one_at_a_time
    def __reduce__(self) -> tuple[Any, ...]:
        return _stands_at, (self._made, self._core.steps, self._core.now)

    def _share(self, policies: Sequence[Any]) -> bool:
        """Let policies share the run, before it begins, of which its own is the first; whether they can."""
        self._sharing = tuple(policies)
        return bool(self._policy.share(self._core.planner, policies, self._parsed.rows))

    def _apart(self) -> list[int]:
        """Return which of those that share the run came to something else in its last step."""
        apart: list[int] = self._policy.apart(self._core.planner)
        return apart

    def _become(self, rows: Sequence[int]) -> None:
        """Go on as the run of these of them, the first of which leads."""
        self._policy.become(self._core.planner, rows)
        self._sharing = tuple(self._sharing[row] for row in rows)
        self._policy = self._sharing[0]
        self._made = (self._made[0], self._policy, *self._made[2:])

    @one_at_a_time
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

    @one_at_a_time
    def plan(self, on: Any = None) -> Any:
        """Return what the policy would plan now, with its reasons.

        Parameters
        ----------
        on : trigger, optional
            As of `evenhand.plan`.

        Returns
        -------
        Plan
            Of `snapshot`, with what the run's policy remembers: since when what starves, and when what was
            preempted.
        """
        snapshot, here = self._frozen()
        state = remembered(self._policy, self._core.planner, self._snapshot, snapshot, here)
        return self._policy.plan(snapshot, state, on)

    @one_at_a_time
    def result(self) -> Result:
        """Return what has happened so far."""
        core, pools = self._core, self._snapshot.pool_count
        many = core.samples * pools
        series = (
            partial(too_many_samples, many) if many > MOST_SAMPLED else partial(samples, core.series(), pools)
        )
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
                series=series,
                spells=core.spells(),
            ),
            (self._snapshot.now, self.now),
            {**core.counts(), "clocks": {name: micros / 1e6 for name, micros in self._clocks.items()}},
        )


def _stands_at(of: tuple[Any, ...], steps: int, now: int) -> Simulation:
    """Return a run after so many steps, at an instant before the next one."""
    run = Simulation._of(of)
    run._core.run(None, steps)
    if run._core.now < now:
        run._core.run(now)
    return run


def _endless(message: str) -> InputError:
    return InputError([Problem("simulation", None, None, "until", "endless", None, printable(message))])
