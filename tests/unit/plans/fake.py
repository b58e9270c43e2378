"""A plan with decisions of one's choice, where a test is about what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

import evenhand as eh
from evenhand.plans import Plan
from evenhand.reasons import ACTIONS, GROUPS, MODES, OUTCOMES, REASONS, STAGES, STARVATION
from evenhand.systems import SYSTEMS
from evenhand.systems.base import Policy
from evenhand.systems.ytsaurus.settings import YTsaurusSettings

HOSTILE = "<script>alert(1)</script>\x1b[31m\r\n\u202e\x9b&amp;\"'"
NO_TIME = np.iinfo(np.int64).min
SECOND = 1_000_000

#: Ten allocations of A fill n1 and n2; B, which has nothing, waits; P on n3 is over its limit.
CLUSTER: dict[str, Any] = {
    "now": 100,
    "resources": {"cpu": {}, "memory": {}},
    "nodes": [
        {"name": "n1", "capacity": {"cpu": 10, "memory": 100}},
        {"name": "n2", "capacity": {"cpu": 10, "memory": 100}},
        {"name": "n3", "capacity": {"cpu": 4, "memory": 10}},
    ],
    "pools": [{"name": "P", "limits": {"cpu": 2}}],
    "operations": [{"name": "A"}, {"name": "B"}, {"name": "C", "pool": "P"}],
    "allocations": [
        *(
            {
                "name": f"a{i:02}",
                "operation": "A",
                "node": f"n{2 - i % 2}",
                "resources": {"cpu": 2, "memory": 5},
                "start_time": i,
            }
            for i in range(1, 11)
        ),
        {"name": "c1", "operation": "C", "node": "n3", "resources": {"cpu": 2}, "start_time": 1},
        {"name": "c2", "operation": "C", "node": "n3", "resources": {"cpu": 2}, "start_time": 2},
    ],
    "requests": [
        {"name": "b", "operation": "B", "resources": {"cpu": 2, "memory": 4}, "count": 3, "submit_time": 0},
        {"name": "c", "operation": "C", "resources": {"cpu": 1}},
    ],
}


def row(snapshot: eh.Snapshot, table: str, name: object) -> int:
    """Row of a name; -1 for None."""
    return -1 if name is None else snapshot.names(table).index(name)  # type: ignore[arg-type]


def element(snapshot: eh.Snapshot, name: object) -> int:
    return -1 if name is None else snapshot.element_names.index(name)  # type: ignore[arg-type]


class FakeCore:
    """What the core would say: decisions as dicts of names and amounts, the rest by name."""

    def __init__(
        self,
        snapshot: eh.Snapshot,
        decisions: list[dict[str, Any]] | None = None,
        *,
        starving: dict[str, tuple[str, float]] | None = None,
        groups: dict[str, str] | None = None,
        refused: dict[str, tuple[str, int, dict[str, float]]] | None = None,
        traces: dict[tuple[str, str], list[dict[str, Any]]] | None = None,
        attempts: dict[str, float] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.said = decisions or []
        self.starving = starving or {}
        self.given_groups = groups or {}
        self.refused = refused or {}
        self.traces = traces or {}
        self.attempts = attempts or {}
        self.shares = eh.fair_share(snapshot)._core

    def quanta(self, rows: list[dict[str, float]]) -> Any:
        quantum = self.snapshot.quantum
        values = [[round(of.get(r, 0) / q) for r, q in quantum.items()] for of in rows]
        return np.array(values, np.int64).reshape(len(rows), len(quantum))

    def decisions(self) -> dict[str, Any]:
        s, said = self.snapshot, self.said

        def rows(table: str, key: str) -> Any:
            return np.array([row(s, table, d.get(key)) for d in said], np.int32)

        def times(key: str) -> Any:
            return np.array([round(d[key] * SECOND) if key in d else NO_TIME for d in said], np.int64)

        def codes(words: Sequence[str], key: str, absent: int) -> Any:
            return np.array([words.index(d[key]) if key in d else absent for d in said], np.uint8)

        return {
            "action": codes(ACTIONS, "action", 0),
            "allocation": rows("allocations", "allocation"),
            "request": rows("requests", "request"),
            "operation": rows("operations", "operation"),
            "node": rows("nodes", "node"),
            "mode": codes(MODES, "mode", 0),
            "grace": times("grace"),
            "at": np.full(len(said), round(s.now * SECOND), np.int64),
            "until": times("until"),
            "reason": codes(REASONS, "reason", 0),
            "stage": codes(STAGES, "stage", 0),
            "step": np.array([d["step"] for d in said], np.int32),
            "beneficiary_operation": rows("operations", "for_operation"),
            "beneficiary_request": rows("requests", "for_request"),
            "violated": np.array([element(s, d.get("violated")) for d in said], np.int32),
            "within_fair_share": np.array([d.get("within", -1) for d in said], np.int8),
            "group": codes(GROUPS, "group", 255),
            **{
                name: self.quanta([d.get(name, {}) for d in said])
                for name in ("freed", "kept", "free_before", "needed", "usage_before")
            },
        }

    def elements(self) -> dict[str, Any]:
        s, count = self.snapshot, len(self.snapshot.element_names)
        below = np.array([name in self.starving for name in s.element_names])
        words = [self.starving.get(str(name), ("non_starving", 0))[0] for name in s.element_names]
        starvation = np.array([STARVATION.index(word) for word in words], np.uint8)
        own = np.where(starvation > 0, np.arange(count), -1).astype(np.int32)
        since = [self.starving.get(str(name), ("", 0.0))[1] for name in s.element_names]
        return {
            "status": below.astype(np.uint8),
            "starvation": starvation,
            "since": np.where(below, np.round(np.array(since) * SECOND), NO_TIME).astype(np.int64),
            "satisfaction": eh.fair_share(s)["satisfaction"],
            "tolerance": np.full(count, 0.8),
            "timeout": np.full(count, 30 * SECOND, np.int64),
            "aggressive_starvation": np.zeros(count, np.uint8),
            "aggressive_preemption": np.ones(count, np.uint8),
            "lowest_starving_ancestor": own,
            "lowest_aggressive_ancestor": np.where(starvation == 2, own, -1).astype(np.int32),
            "priority": np.where(np.arange(count) < s.pool_count, 0, starvation).astype(np.uint8),
        }

    def groups(self) -> Any:
        names = self.snapshot.names("allocations")
        words = [self.given_groups.get(str(name)) for name in names]
        return np.array([255 if word is None else GROUPS.index(word) for word in words], np.uint8)

    def counts(self) -> dict[str, int]:
        return {"preemptive.started": 2, "regular.no_free_room": 5}

    def refusals(self) -> dict[str, Any]:
        items = list(self.refused.items())
        return {
            "request": np.array([row(self.snapshot, "requests", name) for name, _ in items], np.int32),
            "rule": np.array([OUTCOMES.index(rule) for _, (rule, _, _) in items], np.uint8),
            "nodes": np.array([nodes for _, (_, nodes, _) in items], np.int64),
            "best_missing": self.quanta([missing for _, (_, _, missing) in items]),
        }

    @property
    def next_due(self) -> int | None:
        return None

    def memory(self) -> dict[str, Any]:
        elements = self.elements()
        nodes = self.snapshot.names("nodes")
        attempts = [self.attempts.get(str(name)) for name in nodes]
        return {
            "since": elements["since"],
            "starvation": elements["starvation"],
            "last_preemptive": np.array(
                [NO_TIME if t is None else round(t * SECOND) for t in attempts], np.int64
            ),
            "overcommitted_since": np.full(len(nodes), NO_TIME, np.int64),
        }

    def trace(self, kind: str, at: int) -> dict[str, Any]:
        s = self.snapshot
        name = str(s.names(f"{kind}s")[at])
        events = self.traces.get((kind, name), [])
        tables = {
            "node": "nodes",
            "operation": "operations",
            "request": "requests",
            "allocation": "allocations",
        }
        return {
            **{
                key: np.array([row(s, table, e.get(key)) for e in events], np.int32)
                for key, table in tables.items()
            },
            "stage": np.array([STAGES.index(e["stage"]) for e in events], np.uint8),
            "outcome": np.array([OUTCOMES.index(e["outcome"]) for e in events], np.uint8),
            "numbers": self.quanta([e.get("missing", {}) for e in events]),
        }


class FakePolicy(Policy):
    """A policy of the tests: plans are made by hand, and it would decide some things again now."""

    RECORD = replace(SYSTEMS["ytsaurus"], says={})
    model = YTsaurusSettings
    reads: ClassVar[Any] = {}  # type: ignore[misc]
    __setattr__ = object.__setattr__

    def __init__(self, again: list[dict[str, Any]] | None = None, **settings: Any) -> None:
        super().__init__()
        self.settings = SimpleNamespace(fair_share=eh.FairShareSettings(), **settings)
        self.again = again

    def to_dict(self) -> dict[str, Any]:
        return {"policy": "fake", "fair_share_starvation_timeout": 30}

    def plan(self, snapshot: eh.Snapshot, state: Any = None, on: Any = None, given: Any = None) -> Plan:
        return Plan(snapshot, self, FakeCore(snapshot, self.again), state, on, given)


POLICY = FakePolicy()


def victim(allocation: str, node: str, step: int, **more: Any) -> dict[str, Any]:
    """A preemption of one of A's allocations for b."""
    return {
        "action": "preempt",
        "allocation": allocation,
        "operation": "A",
        "node": node,
        "mode": "requeue",
        "grace": 30,
        "until": 130,
        "reason": "preemption",
        "stage": "preemptive",
        "step": step,
        "for_operation": "B",
        "for_request": "b",
        "within": 0,
        "group": "preemptible",
        "freed": {"cpu": 2, "memory": 5},
        "needed": {"cpu": 2, "memory": 4},
        "free_before": {"memory": 75},
        "usage_before": {"cpu": 20, "memory": 50},
    } | more


def start(request: str, operation: str, node: str, step: int, **more: Any) -> dict[str, Any]:
    """A start of b in the room of a victim."""
    return {
        "action": "start",
        "request": request,
        "operation": operation,
        "node": node,
        "reason": "fits_after_preemption",
        "stage": "preemptive",
        "step": step,
        "for_operation": operation,
        "for_request": request,
        "needed": {"cpu": 2, "memory": 4},
        "free_before": {"memory": 75},
    } | more


DECISIONS = [
    victim("a09", "n1", 0),
    start("b", "B", "n1", 0),
    victim("a10", "n2", 1, usage_before={"cpu": 18, "memory": 45}),
    start("b", "B", "n2", 1),
    {
        "action": "preempt",
        "allocation": "c2",
        "operation": "C",
        "node": "n3",
        "mode": "terminate",
        "grace": 30,
        "until": 130,
        "reason": "resource_limits_violated",
        "stage": "limit_repair",
        "step": 2,
        "violated": "P",
        "within": 1,
        "group": "preemptible",
        "freed": {"cpu": 2},
        "free_before": {"memory": 10},
        "usage_before": {"cpu": 4},
    },
]
GROUPS_OF_A = {
    f"a{i:02}": "non_preemptible" if i < 4 else "aggressively_preemptible" if i < 7 else "preemptible"
    for i in range(1, 11)
}
TRACES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("allocation", "a01"): [
        {"node": "n1", "stage": "preemptive", "operation": "B", "request": "b", "outcome": "protected_group"},
    ],
    ("allocation", "a07"): [
        {
            "node": "n1",
            "stage": "preemptive",
            "operation": "B",
            "request": "b",
            "outcome": "spared_fits_without",
        },
    ],
    ("request", "c"): [
        {
            "node": node,
            "stage": "regular",
            "operation": "C",
            "request": "c",
            "outcome": "limits_of_operation_or_pool",
            "missing": {"cpu": missing},
        }
        for node, missing in (("n1", 3), ("n2", 1), ("n3", 2))
    ],
}


def make(
    decisions: list[dict[str, Any]] | None = None,
    snapshot: eh.Snapshot | None = None,
    again: list[dict[str, Any]] | None = None,
    **more: Any,
) -> Plan:
    """The plan of `CLUSTER`, or another; its policy would decide `again` now."""
    snapshot = snapshot or eh.Snapshot.from_dict(CLUSTER)
    said: dict[str, Any] = {
        "starving": {"B": ("starving", 0.0)},
        "groups": GROUPS_OF_A | {"c1": "non_preemptible", "c2": "preemptible"},
        "refused": {"c": ("limits_of_operation_or_pool", 3, {"cpu": 1})},
        "traces": TRACES,
        "attempts": {"n1": 100, "n2": 100},
    }
    core = FakeCore(snapshot, DECISIONS if decisions is None else decisions, **(said | more))
    return Plan(snapshot, FakePolicy(again), core, None, "a round")


def remade(plan: Plan, *, policy: Any = None, on: Any = None) -> Plan:
    """The same plan of another policy, or on another trigger."""
    return Plan(plan.snapshot, policy or plan.policy, plan._core, plan.state_before, on or plan.on)
