"""What each action frees, by action, kind of resource, aapre and keep_resources (U8 to U13).

The table is that of the manual, Univa Grid Engine 8.5.4, sge_preemption(5), written down by hand; slots
that are not available after preemption, of which the manual does not speak, are kept by P and N and freed
by S.
"""

from __future__ import annotations

import importlib.util
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh

#: By action: slots, memory, other and managed licences, each with aapre YES and NO; F is freed, k kept.
MANUAL = """
   slots  memory  other  managed licence
T  F F    F F     F F    F F
C  F F    F F     F F    F F
R  F F    F F     F F    F F
P  F k    F k     F k    F F
N  F k    k k     F k    F F
S  F F    k k     k k    F F
"""
KINDS = {"slots": "slots", "memory": "memory", "other": "other", "managed licence": "license"}
HELD = 4
PAGE = Path(__file__).parents[3] / "docs" / "generate.py"


def frees(action: str, kind: str, aapre: bool) -> bool:
    """A cell of the manual's table."""
    rows = {line[0]: line.split()[1:] for line in MANUAL.strip("\n").splitlines()[1:]}
    return rows[action][2 * list(KINDS).index(kind) + (not aapre)] == "F"


CELLS = list(product("TCRPNS", KINDS, (True, False)))


def test_the_table_of_the_library_is_the_manuals() -> None:
    table = eh.policies.GridEngine.effects().to_dict()
    names = ("action", "resource", "aapre", "frees", "keeping")
    rows = list(zip(*(table[name] for name in names), strict=True))
    assert sorted(row[:3] for row in rows) == sorted(CELLS)
    for action, kind, aapre, is_free, keeping in rows:
        free = frees(action, kind, aapre)
        cut = free and action in "PNS" and kind != "managed licence"
        assert is_free == ("free" if free else "kept")
        assert keeping == ("as much as the preemptor takes" if cut else "free" if free else "kept")


def test_the_page_has_every_cell() -> None:
    spec = importlib.util.spec_from_file_location("generate", PAGE)
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    lines = [
        line.strip("| ").split(" | ") for line in generate.actions_page().splitlines() if line[:1] == "|"
    ]
    cells = {(row[0], row[2], row[3]): row[4] for row in lines[2:]}
    assert cells == {
        (action, kind, "yes" if aapre else "no"): "free" if frees(action, kind, aapre) else "kept"
        for action, kind, aapre in CELLS
    }


@pytest.mark.parametrize(("action", "kind", "aapre"), CELLS)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("takes", [0, 1, HELD - 1, HELD, HELD + 1])
def test_a_run_does_what_the_table_says(action: str, kind: str, aapre: bool, keep: bool, takes: int) -> None:
    """The preemptor wants so much of x, of which the preemptee has four, and one is free beside."""
    cluster = kind == "managed licence"
    x: dict[str, Any] = {"kind": KINDS[kind], "available_after_preemption": aapre}
    x |= {"scope": "cluster", "capacity": HELD + 1} if cluster else {}
    snapshot = eh.Snapshot.from_dict(
        {
            "resources": {"cores": {"kind": "slots"}, "x": x},
            "nodes": [{"name": "h", "capacity": {"cores": 2} | ({} if cluster else {"x": HELD + 1})}],
            "operations": [{"name": "1", "priority": 0.1}, {"name": "2", "priority": 0.9}],
            "allocations": [
                {
                    "name": "a",
                    "operation": "1",
                    "node": "h",
                    "resources": {"cores": 2, "x": HELD},
                    "checkpointable": True,
                    "rerunnable": True,
                }
            ],
            "requests": [
                {"name": "r", "operation": "2", "resources": {"cores": 1, "x": takes}, "reserve": True}
            ],
        }
    )
    policy = eh.policies.GridEngine(
        max_reservation=1,
        max_preemptees=1,
        preemptees_keep_resources=keep,
        lo_licenses=["x"] if cluster else [],
    )
    command = {"consumer": "2", "providers": ["1"], "action": action, "manager": True}
    asked = eh.plan(snapshot, policy, on=eh.Commands((command,)))
    plan = eh.plan(snapshot, policy, asked.state)
    free = frees(action, kind, aapre)
    if not free and takes > 1:  # more than is there beside what stays with the job
        assert not plan.decisions.victims
        assert [r.rule for r in plan.refusals] == ["no_room_even_with_victims"]
        return
    (victim,) = plan.decisions.victims
    cut = keep and action in "PNS" and kind != "managed licence"
    freed = min(HELD, max(takes - 1, 0)) if cut else HELD
    assert dict(victim.freed).get("x", 0) == (freed if free else 0)
    assert dict(victim.kept).get("x", 0) == HELD - (freed if free else 0)
    assert victim.freed["cores"] == (1 if keep and action in "PNS" else 2)
    assert (
        victim.mode
        == {
            "T": "terminate",
            "R": "requeue",
            "C": "checkpoint",
            "P": "preempt",
            "N": "enhanced_suspend",
            "S": "suspend",
        }[action]
    )
