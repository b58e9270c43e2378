"""The table of effects, cell by cell, and a scheduling run for each of its rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import evenhand as eh

KINDS = {"slots": "slots", "memory": "memory", "other": "other", "managed licence": "license"}


def expected(action: str, kind: str, aapre: bool) -> bool:
    """What the manual says: whether it is free."""
    if action in "TRC" or kind == "managed licence":
        return True
    if action == "S":
        return kind == "slots"
    return aapre and (action == "P" or kind != "memory")


def test_the_table_is_whole() -> None:
    table = eh.policies.GridEngine.effects().to_dict()
    rows = {
        (a, k, y): f
        for a, k, y, f in zip(*(table[c] for c in ("action", "resource", "aapre", "frees")), strict=True)
    }
    assert rows == {
        (a, k, y): "free" if expected(a, k, y) else "kept"
        for a, k, y in product("TRCPNS", KINDS, (True, False))
    }


@pytest.mark.parametrize(
    ("action", "kind", "aapre", "keep"), list(product("TRCPNS", KINDS, (True, False), (True, False)))
)
def test_a_run_does_what_the_table_says(action: str, kind: str, aapre: bool, keep: bool) -> None:
    held: dict[str, Any] = {"slots": 2, "x": 4}
    data = {
        "resources": {
            "slots": {"kind": "slots"},
            "x": {"kind": KINDS[kind], "available_after_preemption": aapre},
        },
        "nodes": [{"name": "h", "capacity": held}],
        "operations": [{"name": "1", "priority": 0.1}, {"name": "2", "priority": 0.9}],
        "allocations": [
            {
                "name": "a",
                "operation": "1",
                "node": "h",
                "resources": held,
                "checkpointable": True,
                "rerunnable": True,
            }
        ],
        "requests": [{"name": "r", "operation": "2", "resources": {"slots": 1}, "reserve": True}],
    }
    policy = eh.policies.GridEngine(
        max_reservation=1,
        max_preemptees=1,
        preemptees_keep_resources=keep,
        lo_licenses=["x"] if kind == "managed licence" else [],
    )
    snapshot = eh.Snapshot.from_dict(data)
    command = {"consumer": "2", "providers": ["1"], "action": action, "manager": True}
    asked = eh.plan(snapshot, policy, on=eh.Commands((command,)))
    (victim,) = eh.plan(snapshot, policy, asked.state).decisions.victims
    free = expected(action, kind, aapre)
    taken = not keep or action in "TRC" or kind == "managed licence"  # the preemptor takes none of it
    assert victim.freed.get("x", 0) == (4 if free and taken else 0)
    assert victim.kept.get("x", 0) == (0 if free and taken else 4)
    assert victim.freed["slots"] == (1 if keep and action in "PNS" else 2)


def test_what_is_accepted_is_kept_in_a_state_file() -> None:
    data = {
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "h", "capacity": {"slots": 1}}],
        "operations": [{"name": "1", "priority": 0.1}, {"name": "2", "priority": 0.9}],
        "allocations": [{"name": "a", "operation": "1", "node": "h", "resources": {"slots": 1}}],
        "requests": [{"name": "r", "operation": "2", "resources": {"slots": 1}, "reserve": True}],
    }
    policy = eh.policies.GridEngine(max_reservation=1, max_preemptees=1)
    snapshot = eh.Snapshot.from_dict(data)
    command = {"consumer": "2", "providers": ["1"], "action": "N", "manager": True}
    state = eh.plan(snapshot, policy, on=eh.Commands((command,))).state
    again = eh.State.from_dict(state.to_dict())
    assert again == state
    run = eh.plan(snapshot, policy, again)
    assert [d.mode for d in run.decisions.victims] == ["enhanced_suspend"]
    assert run.job_states["1"].status == "N"
    assert run.state.operations["1"]["preempted_as"] == "N"
    assert not run.state.operations.get("2")
