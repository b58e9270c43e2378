"""The toy's core: what `evenhand.plans.columns.CorePlan` asks for, as columns of row numbers and quanta."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.readback import NO_TIME
from evenhand.fields import TABLES
from evenhand.reasons import ACTIONS, MODES, OUTCOMES, REASONS, STAGES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["ToyCore"]

_RUN = STAGES.index("scheduling_run")
_RUNNING = TABLES["allocations"]["state"].words.index("running")
_ROWS = ("allocation", "request", "operation", "node", "beneficiary_operation", "beneficiary_request")
_TIMES = ("grace", "at", "until")
_AMOUNTS = ("freed", "kept", "free_before", "needed", "usage_before")


class ToyCore:
    """One run: each request starts where there is room, or has the newest less urgent allocation leave."""

    next_due = None

    def __init__(self, snapshot: Snapshot, settings: Any, memory: dict[str, NDArray[Any]]) -> None:
        core = snapshot._core
        self._now, self._width = core.now, core.resource_count
        self._memory = {name: column.copy() for name, column in memory.items()}
        self._settings, self._rest = settings, round(settings.rest * 1e6)
        table = {
            name: {field: np.asarray(core.column(name, field)) for field in fields}
            for name, fields in (
                ("allocations", ("operation", "node", "resources", "start_time", "state")),
                ("requests", ("operation", "resources")),
            )
        }
        self._held, self._asks = table["allocations"], table["requests"]
        self._priority = np.asarray(core.column("operations", "priority"))
        self._free = np.array(core.column("nodes", "capacity"), np.int64)
        runs = np.flatnonzero((self._held["state"] == _RUNNING) & (self._held["node"] >= 0))
        self._runs = sorted(runs.tolist(), key=lambda row: (-self._held["start_time"][row], row))
        stays = np.flatnonzero(self._held["node"] >= 0)  # what is leaving still has its room
        np.subtract.at(self._free, self._held["node"][stays], self._held["resources"][stays])
        self._decided: list[dict[str, Any]] = []
        self._refused: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []
        for request in range(len(self._asks["operation"])):
            self._serve(request)

    def _serve(self, request: int) -> None:
        needed = self._asks["resources"][request]
        asks = {"request": request, "operation": int(self._asks["operation"][request])}
        for node, free in enumerate(self._free):
            if (needed <= free).all():
                told = {"node": node, "needed": needed, "free_before": free.copy()}
                self._decide(asks, "start", "fits_free_room", told | asks)
                self._meet(asks, node, "started")
                self._free[node] -= needed
                return
            self._meet(asks, node, "no_free_room", missing=np.maximum(needed - free, 0))
        for node, free in enumerate(self._free if self._settings.preempts else ()):
            last = self._memory["last_cleared"][node]
            if last != NO_TIME and self._now - last < self._rest:
                self._meet(asks, node, "node_rests")
            elif (victim := self._victim(asks, node, needed - free)) is not None:
                freed, whose = self._held["resources"][victim], int(self._held["operation"][victim])
                told = {"allocation": victim, "operation": whose, "node": node, "freed": freed}
                more = {"needed": needed, "free_before": free, "grace": 0, "until": self._now}
                self._decide(asks, "preempt", "newest_leaves", told | more)
                self._meet(asks, node, "taken", allocation=victim)
                self._memory["last_cleared"][node] = self._now
                self._runs.remove(victim)
                self._refused.append({**asks, "rule": "waits_for_victims", "missing": np.zeros_like(needed)})
                return
        met = [event for event in self._events if event["request"] == request]
        self._refused.append({**asks, "rule": met[-1]["outcome"], "missing": met[-1]["missing"]})

    def _victim(self, asks: dict[str, int], node: int, lacking: NDArray[Any]) -> int | None:
        urgent = self._priority[asks["operation"]]
        for row in self._runs:
            less = self._priority[self._held["operation"][row]] < urgent
            if less and self._held["node"][row] == node and (lacking <= self._held["resources"][row]).all():
                return row
        return None

    def _decide(self, asks: dict[str, int], action: str, reason: str, told: dict[str, Any]) -> None:
        whom = {f"beneficiary_{what}": row for what, row in asks.items()}
        codes = {"action": ACTIONS.index(action), "reason": REASONS.index(reason), "stage": _RUN}
        self._decided.append({**whom, **codes, "step": len(self._decided), "at": self._now, **told})

    def _meet(self, asks: dict[str, int], node: int, outcome: str, **told: Any) -> None:
        event = {"missing": np.zeros(self._width, np.int64), "allocation": -1, **told}
        self._events.append({**asks, "node": node, "outcome": outcome, **event})

    def decisions(self) -> dict[str, NDArray[Any]]:
        def column(name: str, absent: Any, dtype: Any) -> NDArray[Any]:
            return np.array([row.get(name, absent) for row in self._decided], dtype)

        nothing = np.zeros(self._width, np.int64)
        return {
            **{name: column(name, -1, np.int32) for name in (*_ROWS, "step", "violated")},
            **{name: column(name, NO_TIME, np.int64) for name in _TIMES},
            **{name: column(name, 0, np.uint8) for name in ("action", "reason", "stage")},
            "mode": column("mode", MODES.index("terminate"), np.uint8),
            "group": column("group", 255, np.uint8),
            "within_fair_share": column("within", -1, np.int8),
            **{name: column(name, nothing, np.int64).reshape(-1, self._width) for name in _AMOUNTS},
        }

    def elements(self) -> dict[str, NDArray[Any]]:
        return {}

    def groups(self) -> NDArray[Any]:
        return np.full(len(self._held["node"]), 255, np.uint8)

    def counts(self) -> dict[str, int]:
        return dict(Counter(f"scheduling_run.{event['outcome']}" for event in self._events))

    def refusals(self) -> dict[str, NDArray[Any]]:
        missing = [row["missing"] for row in self._refused]
        return {
            "request": np.array([row["request"] for row in self._refused], np.int32),
            "rule": np.array([OUTCOMES.index(row["rule"]) for row in self._refused], np.uint8),
            "nodes": np.full(len(self._refused), len(self._free), np.int64),
            "best_missing": np.array(missing, np.int64).reshape(-1, self._width),
        }

    def memory(self) -> dict[str, NDArray[Any]]:
        return self._memory

    def trace(self, kind: str, row: int) -> dict[str, NDArray[Any]]:
        met = [event for event in self._events if event[kind] == row]
        amounts = np.array([event["missing"] for event in met], np.int64).reshape(-1, self._width)
        return {
            **{
                name: np.array([event[name] for event in met], np.int32)
                for name in ("node", "operation", "request", "allocation")
            },
            "stage": np.full(len(met), _RUN, np.uint8),
            "outcome": np.array([OUTCOMES.index(event["outcome"]) for event in met], np.uint8),
            "numbers": amounts,
        }
