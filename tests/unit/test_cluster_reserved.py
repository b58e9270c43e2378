"""A living cluster in which room is reserved: carrying out a plan freezes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import evenhand as eh
from evenhand.cluster.stage import Stage

if TYPE_CHECKING:
    import pytest

ROWS: dict[str, Any] = {
    "now": 100,
    "resources": {"cpu": {}},
    "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")],
    "operations": [{"name": "old"}, {"name": "new"}],
    "allocations": [
        {"name": f"a{i}", "operation": "old", "node": f"n{i % 2 + 1}", "resources": {"cpu": 1}}
        for i in range(8)
    ],
}
ASK = {"operation": "new", "resources": {"cpu": 1}}


def later(data: dict[str, Any], policy: Any) -> tuple[eh.Cluster, eh.Plan]:
    """A cluster that a planner follows, and what it plans when something has happened."""
    made = eh.Cluster(eh.Snapshot.from_dict(data), policy)
    made.plan()
    made.apply([{"event": "time", "now": 101}])
    return made, made.plan()


def said(plan: eh.Plan) -> list[tuple[str, Any, Any]]:
    return [(d.action, d.request, d.node) for d in plan.decisions]


def frozen_meanwhile(made: eh.Cluster, plan: eh.Plan, monkeypatch: pytest.MonkeyPatch) -> int:
    """Carry a plan out, and return how often the cluster was frozen for it."""
    freeze, frozen = Stage.freeze_with_rows, []

    def counted(self: Stage) -> Any:
        frozen.append(self)
        return freeze(self)

    with monkeypatch.context() as patched:
        patched.setattr(Stage, "freeze_with_rows", counted)
        made.carry_out(plan)
    assert made.snapshot() == plan.snapshot.after(plan)
    return len(frozen)


def test_reservations_end_without_freezing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the two that start there; the third of them waits on, and so does another request."""
    where = [("r", "n2"), ("r", "n2"), ("r", "n2"), ("big", "n1")]
    room = {"from": 90, "resources": {"cpu": 1}}
    data = {
        **ROWS,
        "allocations": [*ROWS["allocations"][::2], *ROWS["allocations"][1:4:2]],
        "requests": [{"name": "r", "count": 3, **ASK}, {"name": "big", **ASK, "resources": {"cpu": 4}}],
        "reservations": [
            {"name": f"k{i}", "request": request, "node": node, **room}
            for i, (request, node) in enumerate(where)
        ],
    }
    made, plan = later(data, eh.policies.YuniKorn("upstream"))
    assert said(plan) == [("start", "r", "n2")] * 2
    assert frozen_meanwhile(made, plan, monkeypatch) == 0
    assert [row["name"] for row in made.snapshot().to_dict()["reservations"]] == ["k2", "k3"]


def test_room_that_is_planned_ahead_freezes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grid Engine plans room of later instants anew each time, and keeps none of it."""
    held = [{**row, "planned_end": 130} for row in ROWS["allocations"]]
    ask = {**ASK, "name": "r", "resources": {"cpu": 4}, "reserve": True}
    data = {**ROWS, "allocations": held, "requests": [ask]}
    made, plan = later(data, eh.policies.GridEngine(max_reservation=5))
    assert said(plan) == [("reserve", "r", "n1")]
    assert frozen_meanwhile(made, plan, monkeypatch) == 0


def test_a_reservation_that_has_gone_meanwhile_is_not_given_back_again() -> None:
    data = {
        **ROWS,
        "allocations": ROWS["allocations"][:4],
        "requests": [{"name": "r", **ASK}],
        "reservations": [{"name": "k", "request": "r", "node": "n2", "resources": {"cpu": 1}, "from": 90}],
    }
    made, plan = later(data, eh.policies.YuniKorn("upstream"))
    assert said(plan) == [("start", "r", "n2")]
    made.apply([{"event": "remove", "table": "reservations", "name": "k"}])
    assert made.carry_out(plan).started == ("r/1",)
