"""Slurm's own dry run, what Slurm then did, and what would have been enough: three lists for each case."""

from __future__ import annotations

from typing import Any

import evenhand as eh
from tests.conformance import files
from tests.conformance.slurm.cases import World
from tests.shared import DATA


def victims(case: dict[str, Any], selection: str) -> tuple[set[str], set[str]]:
    """Jobs that a first plan preempts, and nodes that it would place the pending job on."""
    world = World(case)
    world.policy = world.policy.replace(victim_selection=selection)
    world.submit(case["pending"])
    plan = eh.plan(eh.Snapshot.from_dict(world.tables), world.policy)
    placed = {str(d.node) for d in plan.decisions if d.action in ("start", "reserve") and d.node is not None}
    return {str(d.operation) for d in plan.decisions.victims}, placed


def test_the_dry_run_is_predicted_too_and_is_mostly_wrong() -> None:
    cases = files.read(DATA / "conformance" / "priority-slurm.json.gz")["cases"]
    plain = [c for c in cases if c["kind"] == "live" and "GANG" not in c["config"]["PreemptMode"]]
    found = {
        selection: [victims(c, selection) for c in plain] for selection in ("test_only", "minimum", "reorder")
    }
    printed = [
        ours == set(map(str, c["native_dry_run"]["victims"]))
        for (ours, _), c in zip(found["test_only"], plain, strict=True)
    ]
    real = [set(map(str, c["expected"]["victims"])) for c in plain]
    assert [ours for ours, _ in found["reorder"]] == real
    assert len(plain) == 130
    assert sum(printed) == 129
    assert [c["name"] for c, same in zip(plain, printed, strict=True) if not same] == ["live_exempt_time_8s"]
    preempting = [i for i, jobs in enumerate(real) if jobs]
    told = sum(set(map(str, plain[i]["native_dry_run"]["victims"])) == real[i] for i in preempting)
    fewest = [len(ours) for ours, _ in found["minimum"]]
    assert all(few <= len(jobs) for few, jobs in zip(fewest, real, strict=True))
    killed, enough = sum(map(len, real)), sum(fewest)
    print(f"{len(preempting)} preempt; printed list right in {told}; {killed} jobs killed, {enough} enough")
    assert told < len(preempting) / 3
    assert enough < killed
