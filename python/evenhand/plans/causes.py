"""What has changed between two snapshots that spoils a step, found without planning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.fields import TABLES
from evenhand.plans.balance import CLUSTER, Balance, change, limits
from evenhand.plans.columns import Name, element_keys, objects
from evenhand.reasons import ACTIONS, REASONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.plans.plan import Plan

__all__ = ["Causes", "Found"]

_STATES = TABLES["allocations"]["state"].words
_RUNNING = _STATES.index("running")
_PREEMPT, _RESERVE = ACTIONS.index("preempt"), ACTIONS.index("reserve")
_SERVING = [ACTIONS.index("start"), _RESERVE]
_REPAIRS = {REASONS.index(code) for code in ("resource_limits_violated", "resource_overcommit")}


_Cells = Callable[[str], tuple[Any, Any]]


class Found(NamedTuple):
    """What spoils a decision: its row, a code and what was compared."""

    row: int
    code: str
    numbers: dict[str, Any]


class Causes:
    """Looks at the steps of a plan one by one; those that hold are carried out on the fresh numbers."""

    def __init__(self, plan: Plan, fresh: Snapshot) -> None:
        self.old, self.new = plan.snapshot, fresh
        self.decisions = plan.decisions
        self.balance = Balance(fresh)
        self.limits, self.limited = limits(fresh)
        self._keep_read_limits(plan.policy.reads)
        self.bounded = np.asarray(self.limited.any(axis=1))
        self.started: dict[int, int] = {}
        self._columns: dict[tuple[int, str, str], Any] = {}
        tables = ("allocations", "requests", "operations", "nodes")
        self.names = {table: self.old.names(table) for table in tables}
        self.row_of = {table: _rows(self.names[table], fresh.names(table)) for table in tables}
        self.nodes, self.operations = fresh.names("nodes"), fresh.names("operations")
        self.pools = self.old.names("pools"), fresh.names("pools")
        self.keys = element_keys(self.old)
        self.key_row = {key: row for row, key in enumerate(element_keys(fresh))}

    def _keep_read_limits(self, reads: Mapping[str, Collection[str]]) -> None:
        """Leave out limits that the policy does not read: its plans are within others by chance only."""
        rows = {
            "root": slice(0, 1),
            "pools": slice(1, self.balance.pools),
            "operations": slice(self.balance.pools, None),
        }
        for table, of in rows.items():
            if reads and "limits" not in reads.get(table, ()):
                self.limited[of] = False

    def unchanged(self) -> NDArray[np.bool_]:
        """Return of which decisions the victim, and whatever is served, are what they were; by columns."""
        c = self.decisions.column
        action, victims = c("action"), c("action") == _PREEMPT
        same = victims | np.isin(action, _SERVING)
        for table, column in (("operations", "operation"), ("nodes", "node")):
            same &= (c(column) < 0) | (self.row_of[table][c(column)] >= 0)
        old = c("allocation")[victims]
        still, rows = self._same("allocations", old, ("operation", "node"))
        if still.any():
            was, now = (self._column(side, "allocations", "state") for side in (0, 1))
            still &= (was[old] == now[rows]) | (now[rows] == _RUNNING)
        same[victims] &= still
        asked = np.where(victims, c("beneficiary_request"), c("request"))
        named = asked >= 0
        same[named] &= self._same("requests", asked[named], ("operation",))[0]
        return same

    def _same(
        self, table: str, old: NDArray[Any], references: tuple[str, ...]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which rows refer to and hold the same, and the fresh rows (any, of one that is gone)."""
        new = self.row_of[table][old]
        same, rows = new >= 0, np.maximum(new, 0)
        if not same.any():
            return same, rows
        for column in references:
            was, now = (self._column(side, table, column) for side in (0, 1))
            same &= self.row_of[f"{column}s"][was[old]] == now[rows]
        was, now = (self._column(side, table, "resources") for side in (0, 1))
        return same & (was[old] == now[rows]).all(axis=1), rows

    def facts(self, rows: list[int]) -> list[Found]:
        """Return what can be said of each decision of a step alone, and of its beneficiary."""
        action = self.decisions.column("action")[rows]
        takes = bool((action == _PREEMPT).any())
        found = [f for row in rows for f in self._facts(row, takes)]
        if (action == _PREEMPT).all():  # what it serves starts in a later run
            found += self._beneficiary(rows[0])
        return found

    def numbers(self, rows: list[int]) -> list[Found]:
        """Return what limits and room say after all steps that were carried out; O(decisions of the step)."""
        found: list[Found] = []
        if self._only_reserves(rows):
            return found
        room: dict[int, Any] = {}
        used: dict[int, Any] = {}  # more (or less) of each element by the step itself, so far
        for row in rows:
            c = self.decisions.column
            operation = self._now("operations", int(c("operation")[row]))
            assert operation is not None  # noqa: S101 - facts were asked for first
            node = self._now("nodes", int(c("node")[row]))
            takes = change(self.decisions, row)
            preempts = c("action")[row] == _PREEMPT
            if not preempts:
                found += self._limits(row, operation, takes, used)
            for element in self.balance.path(self.balance.pools + operation):
                used[element] = used.get(element, 0) + takes
            if not preempts:
                takes = np.asarray(c("needed")[row], np.int64)
            elif c("reason")[row] in _REPAIRS and node is not None:
                found += self._violation(row, node)
            for place in (CLUSTER,) if node is None else (node, CLUSTER):
                left = room.setdefault(place, self.balance.free[place].copy())
                if not preempts:
                    lacks = np.where(takes > 0, np.maximum(takes - left, 0), 0)
                    if lacks.any():
                        found.append(self._full(row, place, lacks))
                left -= takes
        return found

    def carry_out(self, rows: list[int]) -> None:
        """Count a step as carried out, for those behind it."""
        for row in [] if self._only_reserves(rows) else rows:
            c = self.decisions.column
            amounts = change(self.decisions, row)
            takes = amounts if c("action")[row] == _PREEMPT else np.asarray(c("needed")[row], np.int64)
            operation, node = (self._now(f"{of}s", int(c(of)[row])) for of in ("operation", "node"))
            assert operation is not None  # noqa: S101 - a step that holds
            self.balance.add(operation, amounts)
            for place in (CLUSTER,) if node is None else (node, CLUSTER):
                self.balance.free[place] -= takes
            if (request := int(c("request")[row])) >= 0:
                self.started[request] = self.started.get(request, 0) + 1

    def _only_reserves(self, rows: list[int]) -> bool:
        """Return whether a step plans for room that comes free by itself, later: none is needed now."""
        return bool((self.decisions.column("action")[rows] == _RESERVE).all())

    def _both(self, table: str, old: int, new: int) -> _Cells:
        """Return a row's cells in both snapshots by column: before and after."""

        def cells(column: str) -> tuple[Any, Any]:
            before, after = (self._column(side, table, column) for side in (0, 1))
            return before[old], after[new]

        return cells

    def _column(self, side: int, table: str, column: str) -> Any:
        """Return a column of the old (0) or the fresh (1) snapshot; the core makes some when asked."""
        key = (side, table, column)
        if key not in self._columns:
            self._columns[key] = (self.old, self.new)[side]._core.column(table, column)
        return self._columns[key]

    def _name(self, table: str, row: int) -> Name:
        return self.names[table][row]

    def _now(self, table: str, row: int) -> int | None:
        """Return the fresh row of one of the plan's rows, or None if it is gone or -1."""
        now = int(self.row_of[table][row])
        return None if now < 0 else now

    def _facts(self, row: int, takes: bool) -> list[Found]:
        columns = ("action", "operation", "node", "request")
        c = {name: int(self.decisions.column(name)[row]) for name in columns}
        found = []
        operation = self._now("operations", c["operation"])
        if operation is None:
            name = self._name("operations", c["operation"])
            found.append(Found(row, "operation_gone", {"operation": name}))
        if c["node"] >= 0 and self._now("nodes", c["node"]) is None:
            found.append(Found(row, "node_gone", {"node": self._name("nodes", c["node"])}))
        if operation is None or found:
            return found
        action = ACTIONS[c["action"]]
        if action in ("start", "reserve") and c["request"] >= 0:
            return self._start(row, c["operation"], operation, takes)
        return self._resumed(row) if action in ("resume", "reserve") else self._victim(row)

    def _resumed(self, row: int) -> list[Found]:
        old = int(self.decisions.column("allocation")[row])
        name, new = self._name("allocations", old), self._now("allocations", old)
        if new is None:
            return [Found(row, "victim_ended", {"allocation": name})]
        state = _STATES[self._both("allocations", old, new)("state")[1]]
        if state != "preempted":
            return [Found(row, "not_suspended", {"allocation": name, "now": state})]
        return []

    def _victim(self, row: int) -> list[Found]:
        old = int(self.decisions.column("allocation")[row])
        name, new = self._name("allocations", old), self._now("allocations", old)
        if new is None:
            return [Found(row, "victim_ended", {"allocation": name})]
        column = self._both("allocations", old, new)
        found = []
        planned, state = column("state")
        if state not in (planned, _RUNNING):
            found.append(Found(row, "victim_leaving", {"allocation": name, "now": _STATES[state]}))
        was, now = column("operation")
        if self._now("operations", int(was)) != now:
            of = {"was": self._name("operations", int(was)), "now": self.operations[now]}
            found.append(Found(row, "victim_of_another", {"allocation": name, **of}))
        was, now = (
            "no node" if node < 0 else str(names[node])
            for names, node in zip((self.names["nodes"], self.nodes), column("node"), strict=True)
        )
        if was != now:
            found.append(Found(row, "victim_moved", {"allocation": name, "was": was, "now": now}))
        before, after = column("resources")
        if (before != after).any():
            amounts = objects(self.new, np.stack([before, after]))
            numbers = {"allocation": name, "was": amounts[0], "now": amounts[1]}
            found.append(Found(row, "victim_changed", numbers))
        before, after = self._priorities(column)
        if after > before:
            found.append(Found(row, "priority_raised", {"allocation": name, "was": before, "now": after}))
        clocks = ("last_job_start_time", "last_progress_time")
        if any(a != b for a, b in map(column, clocks)):
            found.append(Found(row, "order_changed", {"allocation": name}))
        return found

    def _priorities(self, of: _Cells) -> tuple[float, float]:
        """Return what the victim's own priority and its operation's were and are: the first that rose."""
        was, now = of("priority")
        if not now > was:
            rows = map(int, of("operation"))
            was, now = self._both("operations", *rows)("priority")
        return float(was), float(now)

    def _beneficiary(self, row: int) -> list[Found]:
        """Return what became of the one that a step serves without starting it."""
        c = self.decisions.column
        old_operation, old = int(c("beneficiary_operation")[row]), int(c("beneficiary_request")[row])
        if old_operation < 0 or old < 0:
            return []
        operation, new = self._now("operations", old_operation), self._now("requests", old)
        if operation is None or new is None:
            numbers = {"beneficiary": self._name("operations", old_operation)}
            return [Found(row, "beneficiary_gone", numbers)]
        return self._request(row, old, new, old_operation, operation, takes=True)

    def _start(self, row: int, old_operation: int, operation: int, takes: bool) -> list[Found]:
        old = int(self.decisions.column("request")[row])
        name, new = self._name("requests", old), self._now("requests", old)
        if new is None:
            return [Found(row, "request_gone", {"request": name})]
        found = self._request(row, old, new, old_operation, operation, takes=takes)
        count = int(self._column(1, "requests", "count")[new])
        if count < (started := self.started.get(old, 0) + 1):
            found.append(Found(row, "request_shrunk", {"request": name, "was": started, "now": count}))
        node = self._now("nodes", int(self.decisions.column("node")[row]))
        if node is not None and not self._column(1, "nodes", "schedulable")[node]:
            found.append(Found(row, "node_not_schedulable", {"node": self.nodes[node]}))
        return found

    def _request(
        self, row: int, old: int, new: int, old_operation: int, operation: int, *, takes: bool
    ) -> list[Found]:
        """Return what changed of a request and of its operation; ``takes``: others leave for it."""
        found: list[Found] = []
        name = self._name("requests", old)
        column = self._both("requests", old, new)
        before, after = column("resources")
        if (before != after).any():
            amounts = objects(self.new, np.stack([before, after]))
            changed = {"request": name, "was": amounts[0], "now": amounts[1]}
            found.append(Found(row, "request_changed", changed))
        of_operation = self._both("operations", old_operation, operation)
        if takes:
            fell = [(was, now) for was, now in (of("priority") for of in (column, of_operation)) if now < was]
            for was, now in fell[:1]:
                priorities = {"request": name, "was": float(was), "now": float(now)}
                found.append(Found(row, "priority_fell", priorities))
        was, now = (names[pool] for names, pool in zip(self.pools, of_operation("pool"), strict=True))
        if str(was) != str(now):
            pools = {"operation": self._name("operations", old_operation), "was": was, "now": now}
            found.append(Found(row, "operation_moved", pools))
        return found

    def _full(self, row: int, place: int, lacks: Any) -> Found:
        resumes = self.decisions.column("request")[row] < 0
        table, column = ("allocations", "allocation") if resumes else ("requests", "request")
        named = {"request": self._name(table, int(self.decisions.column(column)[row]))}
        if place != CLUSTER:
            named["node"] = self.nodes[place]
        code = "cluster_full" if place == CLUSTER else "node_full"
        return Found(row, code, {"missing": objects(self.new, lacks[None, :])[0], **named})

    def _limits(self, row: int, operation: int, needed: Any, used: Mapping[int, Any]) -> list[Found]:
        for element in self.balance.path(self.balance.pools + operation):
            if not self.bounded[element]:
                continue
            over = self.balance.usage[element] + used.get(element, 0) + needed - self.limits[element]
            over = np.where(self.limited[element] & (needed > 0), np.maximum(over, 0), 0)
            if over.any():
                missing = objects(self.new, over[None, :])[0]
                name = element_keys(self.new)[element]
                return [Found(row, "limits_exceeded", {"element": name, "missing": missing})]
        return []

    def _violation(self, row: int, node: int) -> list[Found]:
        old = int(self.decisions.column("violated")[row])
        if old < 0:
            if (self.balance.free[node] < 0).any():
                return []
            return [Found(row, "violation_gone", {"element": f"node {self.nodes[node]}"})]
        element = self.key_row.get(self.keys[old])
        if element is not None:
            over = self.limited[element] & (self.balance.usage[element] > self.limits[element])
            if over.any():
                return []
        return [Found(row, "violation_gone", {"element": self.keys[old]})]


def _rows(old: list[Name], new: list[Name]) -> NDArray[np.int64]:
    """Return the new row of each old one by name; -1: it is gone. The last is that of row -1."""
    row_of = {str(name): row for row, name in enumerate(new)}
    return np.array([*(row_of.get(str(name), -1) for name in old), -1], np.int64)
