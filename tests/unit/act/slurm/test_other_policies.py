"""Snapshots of live systems under the policies of all: each plans, and says what it does not read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.adapters import gridengine
from evenhand.systems import SYSTEMS
from tests.unit.act.slurm.recorded import adapter

TEXTS = Path(__file__).parents[3] / "data" / "gridengine"
OWN = ["settings.cpus_per_task", "settings.exclusive", "settings.max_nodes", "settings.time_min"]


def snapshot(priority: int | None = None) -> eh.Snapshot:
    """Job 14 has a shortest limit, 15 six tasks, 16 is exclusive, 33 has three cpus a task."""
    slurm = adapter()
    key = ("squeue", "--json")
    data = json.loads(slurm.run.answers[key])  # type: ignore[attr-defined]
    for row in data["jobs"]:
        if priority is not None and row["priority"]["number"]:
            row["priority"]["number"] = priority
    slurm.run.answers[key] = json.dumps(data)  # type: ignore[attr-defined]
    return slurm.snapshot(released=["13", "14", "15", "16", "33"])


def test_these_are_all_systems() -> None:
    assert set(SYSTEMS) == {"backendai", "gridengine", "slurm", "ytsaurus", "yunikorn"}


@pytest.mark.parametrize("system", sorted(SYSTEMS))
@pytest.mark.parametrize("preset", ["documented", "upstream"])
def test_each_policy_plans_and_says_what_it_does_not_read(system: str, preset: str) -> None:
    policy = SYSTEMS[system].policy(preset)
    given = snapshot(50)
    plan = eh.plan(given, policy)
    told = next(one for one in plan.diagnostics if one.code == "fields_not_read")
    unread = [name for name in told.numbers["operations"] if name.startswith("settings.")]
    assert unread == ([] if system == "slurm" else OWN)
    assert all(name in told.message for name in unread)
    live = eh.Cluster(given, policy)
    assert live.plan().to_dict()["decisions"] == plan.to_dict()["decisions"]


@pytest.mark.parametrize("system", sorted(set(SYSTEMS) - {"slurm"}))
def test_a_name_that_no_reader_says_is_still_an_error(system: str) -> None:
    rows = snapshot(50).to_dict()
    rows["operations"][0]["settings"] = {"unheard": True}
    with pytest.raises(eh.InputError, match=r"settings\.unheard "):
        eh.plan(eh.Snapshot.from_dict(rows), SYSTEMS[system].policy())


def test_the_priorities_of_slurm_are_none_of_backend_ai() -> None:
    with pytest.raises(eh.InputError, match="must be a whole number from 0 to 100"):
        eh.plan(snapshot(), eh.policies.BackendAI())


@pytest.mark.parametrize("system", ["slurm", "ytsaurus", "yunikorn", "gridengine"])
def test_so_do_those_of_grid_engine(system: str) -> None:
    """But for Backend.AI, whose priorities are whole numbers."""
    files = {file.stem: file for file in TEXTS.iterdir()}
    reading = gridengine.read(files.pop("complexes"), now=1_770_000_000, **files)
    plan = eh.plan(reading.snapshot, SYSTEMS[system].policy())
    told = next(one for one in plan.diagnostics if one.code == "fields_not_read").numbers
    unread = [name for table in ("operations", "allocations") for name in told.get(table, ())]
    expected = [] if system == "gridengine" else ["settings.job_name", "settings.queue"]
    assert [name for name in unread if name.startswith("settings.")] == expected
