"""What a simulation leaves behind: tables of numbers, and of names on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME, units
from evenhand.plans.columns import rows_by_name
from evenhand.plans.memory import fingerprint
from evenhand.provenance import of_policy, seed_of
from evenhand.reasons import ACTIONS, MODES, REASONS, STAGES, STARVATION
from evenhand.simulate.loops import hours, loops, noted
from evenhand.simulate.record import record_of
from evenhand.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.diagnostics import Diagnostic
    from evenhand.explain import Explanation
    from evenhand.model import Snapshot
    from evenhand.plans import Plan
    from evenhand.simulate.metrics import Metrics
    from evenhand.simulate.parsed import Parsed
    from evenhand.simulate.workload import Workload

__all__ = ["OUTCOMES", "Result", "of_run"]

#: How a run of an allocation ended, in the order of its codes.
OUTCOMES = ("running", "completed", "preempted", "aborted", "suspended", "lost_node", "lost_part")


def of_run(snapshot: Snapshot, policy: Any, workload: Workload, rng: Any) -> dict[str, Any]:
    """Return what a run is made by and of; see `Result.provenance`."""
    return of_policy(policy, fingerprint(policy)) | {
        "snapshot": snapshot.fingerprint,
        "workload": workload.fingerprint,
        "seed": seed_of(rng),
    }


class Result:
    """What has happened in a simulation.

    Attributes
    ----------
    raw : mapping of str to mapping of str to array
        The columns as the core wrote them, by table. Times are microseconds (`NO_TIME`: none); rows are of
        the start snapshot's table, then of the workload's, in canonical order (-1: none); of nodes and pools,
        of the start snapshot alone; words are codes. Tables of names are made of these: `allocations`,
        `operations`, `decisions`, `series`, `spells`.
    snapshot : Snapshot
        What was at the beginning, with the workload's pools.
    policy, workload
        What it was simulated with.
    span : (float, float)
        From when until when, in seconds.
    counts : mapping
        ``events, updates, decided`` (triggers that were asked for), ``preemptions``, and the clocks.

    Notes
    -----
    ``allocations`` has a row for each run of an allocation on a node: ``request, operation, node, start,
    began`` (its work did: later than it started where others left for it), ``end, outcome, requeued, kept,
    lost`` (seconds of its work), ``reason, stage`` (of the decision that ended it), ``decision,
    resumed_from`` (rows). What was suspended at the beginning has a row without an end, with outcome
    ``suspended``.

    ``operations``: ``operation, pool, submit, first_start, end, waited`` (for its first start), ``run``
    (allocation time), ``lost`` (of it), ``preempted`` (how often), ``completed, lost_count, unfinished`` (how
    many of what it asked for), ``shortfall`` (share times hours that it was below its fair share, or its
    demand if that is less; of samples; NaN under a policy that computes none), ``cut_off``.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        policy: Any,
        workload: Workload,
        made: tuple[Any, ...],
        parsed: Parsed,
        raw: Mapping[str, Mapping[str, NDArray[Any]]],
        span: tuple[float, float],
        counts: Mapping[str, Any],
    ) -> None:
        self.snapshot, self.policy, self.workload = snapshot, policy, workload
        self.raw, self.span, self.counts = raw, span, counts
        self._parsed, self._made = parsed, made  # what a run of the same is made of

    @property
    def provenance(self) -> dict[str, Any]:
        """What the run was made by and of.

        Returns
        -------
        dict
            ``evenhand`` (version) and ``commit`` of the build, ``system`` and ``preset`` of the policy; the
            fingerprints of its ``settings``, of the ``snapshot`` and of the ``workload``: O(cells) when first
            asked for; ``seed`` (None: nodes report in canonical order). Every table has it.
        """
        return of_run(self.snapshot, self.policy, self.workload, self._made[3])

    @cached_property
    def operation_names(self) -> list[str | int]:
        """Names of operations by row: of the start snapshot, then of the workload."""
        return [*self.snapshot.names("operations"), *self._parsed.rows.names("operations")]

    @cached_property
    def request_names(self) -> list[str | int]:
        """Names of requests by row, likewise."""
        return [*self.snapshot.names("requests"), *self._parsed.rows.names("requests")]

    @cached_property
    def _never_fitting(self) -> tuple[Diagnostic, ...]:
        """What can never start, by the most that nodes ever have."""
        from evenhand.plans.hopeless import reasons_never_to_start, told
        from evenhand.simulate.columns import event_columns

        nodes = rows_by_name(self.snapshot, "nodes")
        capacity = np.array(self.snapshot._core.column("nodes", "capacity"), np.int64)
        capacity = capacity.reshape(len(nodes), -1)
        if events := self.workload._events:
            happens = event_columns(events, nodes, self.snapshot)
            np.maximum.at(capacity, happens["event_node"], happens["event_capacity"])
        start, later = self.snapshot, self._parsed.rows
        why = [reasons_never_to_start(rows, self.policy, start, capacity) for rows in (start, later)]
        first = np.asarray(start._core.column("requests", "operation"), np.int64)
        then = np.asarray(later._core.column("requests", "operation"), np.int64) + start.operation_count
        owner = np.concatenate([first, then])
        return told(np.concatenate(why), self.request_names, owner, self.operation_names)

    @cached_property
    def operation_pools(self) -> NDArray[np.int32]:
        """Pool of every operation, by rows."""
        names = rows_by_name(self.snapshot, "pools")
        later = np.array([names[str(name)] for name in self._parsed.rows.names("pools")], np.int32)
        of_start = np.asarray(self.snapshot._core.column("operations", "pool"), np.int32)
        of_later = np.asarray(self._parsed.rows._core.column("operations", "pool"), np.int32)
        return np.concatenate([of_start, later[of_later]])

    @cached_property
    def cut_off(self) -> NDArray[np.bool_]:
        """Whether an operation was cut off by the end of its source, by row."""
        first = self.snapshot.operation_count
        flags = np.zeros(len(self.operation_names), np.bool_)
        of = np.asarray(self._parsed.rows._core.column("requests", "operation"))
        flags[first + of[self._parsed.cut_off]] = True
        return flags

    @cached_property
    def allocations(self) -> Table:
        """One row a run of an allocation on a node."""
        raw = self.raw["allocations"]
        ended = raw["decision"]
        decided = self.raw["decisions"]
        return Table(
            {
                "request": _named(self.request_names, raw["request"]),
                "operation": _named(self.operation_names, raw["operation"]),
                "node": _named(self.snapshot.names("nodes"), raw["node"]),
                "start": _seconds(raw["start"]),
                "began": _seconds(raw["began"]),
                "end": _seconds(raw["end"]),
                "outcome": _words(OUTCOMES, raw["outcome"]),
                "requeued": raw["requeued"].astype(np.bool_),
                "kept": raw["kept"] / 1e6,
                "lost": raw["lost"] / 1e6,
                "reason": _words(REASONS, decided["reason"], ended),
                "stage": _words(STAGES, decided["stage"], ended),
                "decision": ended,
                "resumed_from": raw["resumed_from"],
            },
            title="allocations",
            provenance=lambda: self.provenance,
        )

    @cached_property
    def operations(self) -> Table:
        """One row an operation."""
        raw = self.raw["operations"]
        started = raw["first_start"] != NO_TIME
        waited = np.where(started, raw["first_start"] - raw["submit"], NO_TIME)
        return Table(
            {
                "operation": self.operation_names,
                "pool": _named(self.snapshot.names("pools"), self.operation_pools),
                "submit": _seconds(raw["submit"]),
                "first_start": _seconds(raw["first_start"]),
                "end": _seconds(raw["end"]),
                "waited": _seconds(waited),
                "run": raw["run"] / 1e6,
                "lost": raw["lost"] / 1e6,
                **{name: raw[name] for name in ("preempted", "completed", "lost_count", "unfinished")},
                "shortfall": self._of_shares(raw["shortfall"] / 3600),
                "cut_off": self.cut_off,
            },
            title="operations",
            provenance=lambda: self.provenance,
        )

    @cached_property
    def decisions(self) -> Table:
        """One row a decision."""
        raw = self.raw["decisions"]
        within = raw["within_fair_share"]
        return Table(
            {
                "time": _seconds(raw["time"]),
                "action": _words(ACTIONS, raw["action"]),
                "stage": _words(STAGES, raw["stage"]),
                "reason": _words(REASONS, raw["reason"]),
                "mode": _words(MODES, np.where(raw["action"] == 1, raw["mode"].astype(np.int64), -1)),
                "allocation": raw["allocation"],
                "operation": _named(self.operation_names, raw["operation"]),
                "node": _named(self.snapshot.names("nodes"), raw["node"]),
                "request": _named(self.request_names, raw["request"]),
                "beneficiary_operation": _named(self.operation_names, raw["beneficiary_operation"]),
                "beneficiary_request": _named(self.request_names, raw["beneficiary_request"]),
                "step": raw["step"],
                "within_fair_share": [None if w < 0 else bool(w) for w in within.tolist()],
                "grace": _seconds(raw["grace"]),
                **{
                    f"freed.{name}": units(raw["freed"][:, r], quantum)
                    for r, (name, quantum) in enumerate(self.snapshot.quantum.items())
                },
            },
            title="decisions",
            provenance=lambda: self.provenance,
        )

    @cached_property
    def series(self) -> Table:
        """One row a pool and sample: dominant shares, and how many starve, run and wait."""
        raw = self.raw["series"]
        names = ("usage", "fair_share", "demand", "guarantee", "starving", "running", "waiting")
        return Table(
            {
                "time": _seconds(raw["time"]),
                "pool": _named(self.snapshot.names("pools"), raw["pool"]),
                **{name: raw[name] for name in names},
            },
            title="series",
            provenance=lambda: self.provenance,
        )

    @cached_property
    def shortfall(self) -> Table:
        """One row a pool: share times hours that it was below its fair share and its guarantee.

        Neither is due beyond the demand. Of samples, each of which stands for the time until the next one.
        """
        raw, pools = self.raw["series"], self.snapshot.names("pools")
        every = {name: raw[name].reshape(-1, len(pools)) for name in raw}
        hours = np.diff(every["time"][:, 0], append=round(self.span[1] * 1e6)) / 3.6e9
        lacks = {
            name: (np.maximum(np.minimum(every[name], every["demand"]) - every["usage"], 0)).T @ hours
            for name in ("fair_share", "guarantee")
        }
        return Table(
            {"pool": pools, **{k: self._of_shares(v) for k, v in lacks.items()}},
            title="shortfall",
            provenance=lambda: self.provenance,
        )

    def _of_shares(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers that only a policy with fair shares knows."""
        return values if self.policy.RECORD.shares else np.full(len(values), np.nan)

    @cached_property
    def spells(self) -> Table:
        """One row a spell of starvation of a pool or an operation."""
        raw = self.raw["spells"]
        return Table(
            {
                "pool": _named(self.snapshot.names("pools"), raw["pool"]),
                "operation": _named(self.operation_names, raw["operation"]),
                "from": _seconds(raw["from"]),
                "until": _seconds(raw["until"]),
                "level": _words(STARVATION, raw["level"]),
            },
            title="spells",
            provenance=lambda: self.provenance,
        )

    @cached_property
    def metrics(self) -> Metrics:
        """Metrics of the whole run; `evenhand.simulate.measure` takes a part of it."""
        from evenhand.simulate.metrics import measure

        return measure(self)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What can hardly be meant of the input, what can never start, and what the rules led to."""
        from evenhand.implausible import of_requests
        from evenhand.plans.remarks import of_input

        of_rows = (*of_input(self.snapshot, self.policy), *of_requests(self._parsed.rows))
        return (*of_rows, *self._never_fitting, *self._looping, *self._noted)

    @cached_property
    def _noted(self) -> tuple[Diagnostic, ...]:
        found: tuple[Diagnostic, ...] = self.policy.noted_of_run(self)
        return found

    def plan(self, decision: int) -> Plan:
        """Return the plan that a decision was part of, with the reasons of all that it decided and refused.

        Parameters
        ----------
        decision : int
            Row of `decisions`.

        Returns
        -------
        Plan
            Of the heartbeat or the pass, and of the cluster just before; allocations are called as in
            `Simulation.snapshot`.

        Raises
        ------
        InputError
            If there is no such row.

        Notes
        -----
        The simulation is run again, twice, until that instant.
        """
        from evenhand.simulate.moment import moment

        return moment(self, decision).plan

    def why(self, decision: int) -> Explanation:
        """Explain a decision, from what was then.

        Parameters
        ----------
        decision : int
            Row of `decisions`.

        Returns
        -------
        Explanation
            As of `Plan.why`.

        Raises
        ------
        InputError
            If there is no such row.

        Notes
        -----
        As of `plan`, which answers several questions about one instant at the price of one.

        Examples
        --------
        >>> import evenhand as eh
        >>> work = eh.simulate.Workload({"name": ["a", "b"], "pool": ["x", "y"], "resources.cpu": [2, 2],
        ...                              "count": [2, 1], "submit_time": [0, 5], "run_time": [600, 30]})
        >>> result = eh.simulate(work.snapshot(nodes=1, cpu=4), eh.policies.YTsaurus(), work)
        >>> row = list(result.decisions["action"]).index("preempt")
        >>> print(str(result.why(row)).split(":")[0])
        Allocation a/1 of operation a leaves node n1
        """
        from evenhand.simulate.moment import moment

        return moment(self, decision).why()

    @cached_property
    def _looping(self) -> tuple[Diagnostic, ...]:
        return noted(loops(record_of(self)), self.operation_names, list(self.snapshot.resources))

    def _done(self) -> str:
        """Say what came of it: jobs finished, work kept and lost, and how much of that one job lost."""
        m = self.metrics
        said = [f"{int(m['jobs.finished']):,} of {int(m['jobs']):,} jobs finished"]
        for resource in self.snapshot.resources:
            kept, lost = (float(m[f"{name}.{resource}"]) for name in ("goodput", "lost_work"))
            if kept or lost:
                part = m[f"lost_work_of_one.{resource}"]
                by_one = f", {part:.0%} of it by one job" if lost else ""
                said.append(f"goodput {hours(kept)} {resource}-hours, lost work {hours(lost)}{by_one}")
        most = m["preempted.max"]
        return "; ".join([*said, "nothing preempted" if most != most else f"preempted.max {int(most):,}"])

    def _repr_html_(self) -> str:
        from evenhand.display.results import result_html

        return result_html(self, self._done())

    def __repr__(self) -> str:
        raw = self.raw
        begin, end = self.span
        never = [one.numbers["requests"] for one in self._never_fitting]
        counts = (
            f"<Result of {end - begin:,.0f} s: {self._done()}; "
            f"{len(raw['operations']['submit']):,} operations, "
            f"{len(raw['allocations']['start']):,} runs of allocations, "
            f"{len(raw['decisions']['time']):,} decisions"
            f"{''.join(f'; {count:,} requests can never start (diagnostics)' for count in never)}>"
        )
        return "\n".join([counts, *(f"{d.code}: {d.message}" for d in (*self._looping, *self._noted))])


def _named(names: Sequence[Any], rows: NDArray[Any]) -> list[Any]:
    every = [*names, None]
    return [every[row] for row in rows.tolist()]


def _words(words: Sequence[str], codes: NDArray[Any], at: NDArray[Any] | None = None) -> list[Any]:
    """Return words of codes; of the codes at some places, -1: none."""
    if at is not None:
        codes = np.append(codes.astype(np.int64), -1)[at]
    every = [*words, None]
    return [every[code] for code in codes.tolist()]


def _seconds(micros: NDArray[np.int64]) -> Any:
    known = micros != NO_TIME
    if known.all():
        return micros / 1e6
    return [m / 1e6 if there else None for m, there in zip(micros.tolist(), known.tolist(), strict=True)]
