"""Which decisions of a plan still hold on a fresh snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import printable
from evenhand.fields import TABLES
from evenhand.frozen import freeze
from evenhand.plans.columns import Name, element_keys, objects
from evenhand.plans.live import CLUSTER, Live, change, limits
from evenhand.plans.steps import rows_by_step
from evenhand.reasons import ACTIONS, REASONS, reason

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from evenhand.model import Snapshot
    from evenhand.plans.decisions import Decisions
    from evenhand.plans.plan import Plan
    from evenhand.table import Table

__all__ = ["Check", "Finding", "check"]

_STATES = TABLES["allocations"]["state"].words
_RUNNING = _STATES.index("running")
_PREEMPT, _RESUME = ACTIONS.index("preempt"), ACTIONS.index("resume")
_REPAIRS = {REASONS.index(code) for code in ("resource_limits_violated", "resource_overcommit")}


@dataclass(frozen=True, slots=True)
class Finding:
    """Why one decision no longer holds.

    Attributes
    ----------
    decision : int
        Its place among the plan's decisions.
    step : int
        Its step.
    code : str
        See `evenhand.reasons`; ``"step_broken"``: something else of its step does not hold.
    message : str
        The same in words.
    numbers : mapping
        What it was, and what it is now.
    """

    decision: int
    step: int
    code: str
    message: str
    numbers: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", printable(self.message))
        object.__setattr__(self, "numbers", freeze(self.numbers))

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""
        return {
            "decision": self.decision,
            "step": self.step,
            "code": self.code,
            "message": self.message,
            "numbers": dict(self.numbers),
        }


@dataclass(frozen=True)
class Check:
    """Result of `Plan.check`: what no longer holds, and what does.

    Attributes
    ----------
    plan : Plan
    findings : tuple of Finding
        Empty if the whole plan holds.
    skipped : frozenset of int
        Steps that were not looked at.
    """

    plan: Plan
    findings: tuple[Finding, ...]
    skipped: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return not self.findings

    @cached_property
    def decisions(self) -> Decisions:
        """The decisions that still hold: whole steps."""
        stale = {finding.decision for finding in self.findings}
        holds = np.array([row not in stale for row in range(len(self.plan.decisions))], np.bool_)
        if self.skipped:
            holds &= ~np.isin(self.plan.decisions.column("step"), list(self.skipped))
        return self.plan.decisions.take(holds)

    @property
    def steps(self) -> list[int]:
        """Numbers of the steps that still hold."""
        return list(dict.fromkeys(self.decisions.column("step").tolist()))

    def table(self) -> Table:
        """Return one row a finding."""
        from evenhand.table import Table

        heads = ("decision", "step", "code", "message")
        return Table({h: [getattr(f, h) for f in self.findings] for h in heads}, title="what no longer holds")

    def to_dict(self) -> dict[str, Any]:
        """Return the findings and the steps that hold as plain values."""
        return {"findings": [finding.to_dict() for finding in self.findings], "steps": self.steps}

    @property
    def _head(self) -> str:
        return f"{len(self.decisions):,} of {len(self.plan.decisions):,} decisions hold"

    def __repr__(self) -> str:
        return self._head if not self.findings else f"{self._head}\n{self.table()!r}"

    def _repr_html_(self) -> str:
        from evenhand.display import table_html

        return table_html(self.table(), head=self._head)


def check(plan: Plan, fresh: Snapshot, skip: Collection[int] = ()) -> Check:
    """Hold a plan against a fresh snapshot; see `Plan.check`."""
    if fresh.resources != plan.snapshot.resources or fresh.quantum != plan.snapshot.quantum:
        raise ValueError("the fresh snapshot has other resources than the plan's")
    return Check(plan, tuple(_Checker(plan, fresh, skip).run()), frozenset(skip))


class _Checker:
    """Walks over the steps; those that hold are carried out on the fresh snapshot's numbers."""

    def __init__(self, plan: Plan, fresh: Snapshot, skip: Collection[int]) -> None:
        self.old, self.new = plan.snapshot, fresh
        self.decisions = plan.decisions
        self.steps = {step: rows for step, rows in rows_by_step(plan.decisions).items() if step not in skip}
        action = plan.decisions.column("action")
        self.taking = {s for s, rows in self.steps.items() if (action[rows] == _PREEMPT).any()}
        self.live = Live(fresh)
        self.limits, self.limited = limits(fresh)
        self.started: dict[int, int] = {}
        self.tables = ("allocations", "requests", "operations", "nodes")
        self.names = {table: self.old.names(table) for table in self.tables}
        self.row_of = {
            table: {str(name): row for row, name in enumerate(fresh.names(table))} for table in self.tables
        }
        self.nodes = fresh.names("nodes")
        self.keys = element_keys(self.old)
        self.key_row = {key: row for row, key in enumerate(element_keys(fresh))}

    def run(self) -> list[Finding]:
        """Return all findings, in the order of the decisions."""
        found: list[Finding] = []
        for step, rows in self.steps.items():
            of_step = [f for row in rows for f in self._facts(row, step)]
            if not of_step:
                of_step = self._numbers(rows, step)
            stale = {finding.decision for finding in of_step}
            if of_step:
                of_step += [self._finding(row, step, "step_broken") for row in rows if row not in stale]
            found += of_step
        return sorted(found, key=lambda finding: finding.decision)

    def _finding(self, row: int, step: int, code: str, **fields: Any) -> Finding:
        sentence = reason(code, "check").sentence
        return Finding(row, step, code, sentence.format(**{k: _text(v) for k, v in fields.items()}), fields)

    def _name(self, table: str, row: int) -> Name:
        return self.names[table][row]

    def _now(self, table: str, row: int) -> int | None:
        """Return the fresh row of one of the plan's rows, or None if it is gone or -1."""
        return None if row < 0 else self.row_of[table].get(str(self._name(table, row)))

    def _facts(self, row: int, step: int) -> list[Finding]:
        """Return what can be said of one decision alone."""
        c = {name: int(self.decisions.column(name)[row]) for name in ("action", "operation", "node")}
        found = []
        operation = self._now("operations", c["operation"])
        if operation is None:
            name = self._name("operations", c["operation"])
            found.append(self._finding(row, step, "operation_gone", operation=name))
        if c["node"] >= 0 and self._now("nodes", c["node"]) is None:
            found.append(self._finding(row, step, "node_gone", node=self._name("nodes", c["node"])))
        if found:
            return found
        action = ACTIONS[c["action"]]
        if action in ("start", "reserve"):
            return self._request(row, step, c["operation"], operation)
        return self._resumed(row, step) if action == "resume" else self._victim(row, step)

    def _resumed(self, row: int, step: int) -> list[Finding]:
        old = int(self.decisions.column("allocation")[row])
        name, new = self._name("allocations", old), self._now("allocations", old)
        if new is None:
            return [self._finding(row, step, "victim_ended", allocation=name)]
        state = _STATES[_Both(self.old, self.new, "allocations", old, new)("state")[1]]
        if state != "preempted":
            return [self._finding(row, step, "not_suspended", allocation=name, now=state)]
        return []

    def _victim(self, row: int, step: int) -> list[Finding]:
        old = int(self.decisions.column("allocation")[row])
        name, new = self._name("allocations", old), self._now("allocations", old)
        if new is None:
            return [self._finding(row, step, "victim_ended", allocation=name)]
        column = _Both(self.old, self.new, "allocations", old, new)
        found = []
        planned, state = column("state")
        if state not in (planned, _RUNNING):
            found.append(self._finding(row, step, "victim_leaving", allocation=name, now=_STATES[state]))
        was, now = (
            "no node" if node < 0 else str(names[node])
            for names, node in zip((self.names["nodes"], self.nodes), column("node"), strict=True)
        )
        if was != now:
            found.append(self._finding(row, step, "victim_moved", allocation=name, was=was, now=now))
        before, after = column("resources")
        if (before != after).any():
            amounts = objects(self.new, np.stack([before, after]))
            found.append(
                self._finding(row, step, "victim_changed", allocation=name, was=amounts[0], now=amounts[1])
            )
        before, after = self._priorities(old, new)
        if after > before:
            found.append(self._finding(row, step, "priority_raised", allocation=name, was=before, now=after))
        clocks = ("last_job_start_time", "last_progress_time")
        if any(a != b for a, b in map(column, clocks)):
            found.append(self._finding(row, step, "order_changed", allocation=name))
        return found

    def _priorities(self, old: int, new: int) -> tuple[float, float]:
        """Return what the victim's own priority and its operation's were and are: the first that rose."""
        was, now = _Both(self.old, self.new, "allocations", old, new)("priority")
        if not now > was:
            rows = _Both(self.old, self.new, "allocations", old, new)("operation")
            was, now = _Both(self.old, self.new, "operations", *map(int, rows))("priority")
        return float(was), float(now)

    def _request(self, row: int, step: int, old_operation: int, operation: int | None) -> list[Finding]:
        old = int(self.decisions.column("request")[row])
        name, new = self._name("requests", old), self._now("requests", old)
        if new is None:
            return [self._finding(row, step, "request_gone", request=name)]
        found = []
        column = _Both(self.old, self.new, "requests", old, new)
        before, after = column("resources")
        if (before != after).any():
            amounts = objects(self.new, np.stack([before, after]))
            found.append(
                self._finding(row, step, "request_changed", request=name, was=amounts[0], now=amounts[1])
            )
        count, started = int(column("count")[1]), self.started.get(old, 0) + 1
        if count < started:
            found.append(self._finding(row, step, "request_shrunk", request=name, was=started, now=count))
        node = self._now("nodes", int(self.decisions.column("node")[row]))
        if node is not None and not self.new._core.column("nodes", "schedulable")[node]:
            found.append(self._finding(row, step, "node_not_schedulable", node=self.nodes[node]))
        if step in self.taking and operation is not None:
            both = column, _Both(self.old, self.new, "operations", old_operation, operation)
            fell = [(was, now) for was, now in (of("priority") for of in both) if now < was]
            for was, now in fell[:1]:
                found.append(
                    self._finding(row, step, "priority_fell", request=name, was=float(was), now=float(now))
                )
        pools = [
            snapshot.names("pools")[snapshot._core.column("operations", "pool")[r]]
            for snapshot, r in ((self.old, old_operation), (self.new, operation))
        ]
        if str(pools[0]) != str(pools[1]):
            found.append(
                self._finding(
                    row,
                    step,
                    "operation_moved",
                    operation=self._name("operations", old_operation),
                    was=pools[0],
                    now=pools[1],
                )
            )
        return found

    def _numbers(self, rows: list[int], step: int) -> list[Finding]:
        """Return what limits and room say after all steps before; the step is carried out if it holds."""
        found: list[Finding] = []
        changes = []
        room: dict[int, Any] = {}
        for row in rows:
            c = self.decisions.column
            operation = self._now("operations", int(c("operation")[row]))
            assert operation is not None  # noqa: S101 - looked at in _facts
            node = self._now("nodes", int(c("node")[row]))
            amounts = change(self.decisions, row)
            takes = amounts
            preempts = c("action")[row] == _PREEMPT
            if not preempts:
                found += self._limits(row, step, operation, amounts)
                takes = np.asarray(c("needed")[row], np.int64)
            elif c("reason")[row] in _REPAIRS and node is not None:
                found += self._violation(row, step, node)
            for place in (CLUSTER,) if node is None else (node, CLUSTER):
                left = room.setdefault(place, self.live.free[place].copy())
                if not preempts:
                    lacks = np.where(takes > 0, np.maximum(takes - left, 0), 0)
                    if lacks.any():
                        found.append(self._full(row, step, place, lacks))
                left -= takes
            changes.append((operation, amounts))
        if not found:
            for place, left in room.items():
                self.live.free[place] = left
            for operation, amounts in changes:
                self.live.add(operation, amounts)
            for request in filter(lambda r: r >= 0, self.decisions.column("request")[rows].tolist()):
                self.started[request] = self.started.get(request, 0) + 1
        return found

    def _full(self, row: int, step: int, place: int, lacks: Any) -> Finding:
        resumes = self.decisions.column("action")[row] == _RESUME
        table, column = ("allocations", "allocation") if resumes else ("requests", "request")
        named = {"request": self._name(table, int(self.decisions.column(column)[row]))}
        if place != CLUSTER:
            named["node"] = self.nodes[place]
        code = "cluster_full" if place == CLUSTER else "node_full"
        return self._finding(row, step, code, missing=objects(self.new, lacks[None, :])[0], **named)

    def _limits(self, row: int, step: int, operation: int, needed: Any) -> list[Finding]:
        for element in self.live.path(self.live.pools + operation):
            over = self.live.usage[element] + needed - self.limits[element]
            over = np.where(self.limited[element] & (needed > 0), np.maximum(over, 0), 0)
            if over.any():
                missing = objects(self.new, over[None, :])[0]
                name = element_keys(self.new)[element]
                return [self._finding(row, step, "limits_exceeded", element=name, missing=missing)]
        return []

    def _violation(self, row: int, step: int, node: int) -> list[Finding]:
        old = int(self.decisions.column("violated")[row])
        if old < 0:
            if (self.live.free[node] < 0).any():
                return []
            return [
                self._finding(row, step, "violation_gone", element=f"node {self.new.names('nodes')[node]}")
            ]
        element = self.key_row.get(self.keys[old])
        if element is not None:
            over = self.limited[element] & (self.live.usage[element] > self.limits[element])
            if over.any():
                return []
        return [self._finding(row, step, "violation_gone", element=self.keys[old])]


class _Both:
    """A row's cells in two snapshots, before and after."""

    def __init__(self, old: Snapshot, new: Snapshot, table: str, old_row: int, new_row: int) -> None:
        self._of = ((old, old_row), (new, new_row))
        self._table = table

    def __call__(self, column: str) -> tuple[Any, Any]:
        before, after = (s._core.column(self._table, column)[row] for s, row in self._of)
        return before, after


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{resource} {amount:g}" for resource, amount in value.items()) or "nothing"
    return str(value)
