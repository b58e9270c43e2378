"""Every record fits its system: what it names is there, and says the same of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

import evenhand as eh
from evenhand import adapters, systems
from evenhand.systems import SYSTEMS, System
from evenhand.systems.files import from_dict
from evenhand.systems.record import named

EVERY = pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.word)
FOLDERS = {path.name for path in Path(systems.__file__).parent.iterdir() if (path / "record.py").exists()}


def test_every_folder_has_its_record_in_the_list() -> None:
    assert list(SYSTEMS) == [system.word for system in SYSTEMS.values()]
    assert set(SYSTEMS) == FOLDERS


@EVERY
def test_the_policy_is_public_and_knows_its_record(system: System) -> None:
    policy = system.policy
    assert policy.RECORD is system
    assert policy.system == system.word
    assert getattr(eh.policies, policy.__name__) is policy
    assert policy.__module__ == f"evenhand.systems.{system.word}.policy"


@EVERY
def test_settings_are_all_told_of(system: System) -> None:
    models = [named(place) for place in system.settings_at]
    assert models[0] is system.policy.model
    assert all(issubclass(model, BaseModel) for model in models)


@EVERY
def test_presets_are_those_of_the_settings(system: System) -> None:
    for preset in system.presets:
        assert from_dict({"system": system.word, "preset": preset}) == system.policy(preset)
    assert from_dict({"system": system.word}) == system.policy(system.presets[0]) == system.policy()
    with pytest.raises(eh.InputError, match="preset"):
        from_dict({"system": system.word, "preset": "other"})


@EVERY
def test_the_adapter_has_the_systems_name(system: System) -> None:
    assert (system.word in adapters.available()) == bool(system.adapter_at)
    if system.adapter_at:
        assert adapters.load(system.word).name == system.word
        assert named(system.adapter_at) is type(adapters.load(system.word))


@EVERY
def test_memory_is_what_plans_leave(system: System) -> None:
    data = {"resources": {"cpu": {}}, "nodes": [{"name": "n"}], "operations": [{"name": "o"}]}
    plan = eh.plan(eh.Snapshot.from_dict(data), system.policy())
    assert {column.name for column in system.memory if column.kind != "instants"} <= set(plan._core.memory())
    assert {column.table for column in system.memory} <= {
        *("elements", "nodes", "operations", "queues", "requests", "victims")
    }
    assert len({(column.table, column.name) for column in system.memory}) == len(system.memory)
    assert bool(plan.statuses) == system.shares


@EVERY
def test_codes_are_of_this_system_or_of_all(system: System) -> None:
    assert {row.source for row in system.reasons} <= {system.title, "Evenhand"}


def test_columns_of_one_name_are_the_same_in_all_systems() -> None:
    """State files do not say whose they are."""
    found = [column for system in SYSTEMS.values() for column in system.memory]
    assert len({(column.table, column.name) for column in found}) == len(set(found))


def test_records_are_read_without_policies_and_settings() -> None:
    late = {"pydantic", "evenhand.plans", "evenhand.systems.base"}
    code = f"import sys, evenhand.systems; print(*{late} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout == "\n"
