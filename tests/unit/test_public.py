"""The package's front door: public names, imports on first use, versions."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest

import evenhand as eh
from evenhand.systems import SYSTEMS
from evenhand.versions import versions


def test_every_public_name_is_there() -> None:
    assert set(eh.__all__) == set(dir(eh))
    for name in eh.__all__:
        value = getattr(eh, name)
        assert value is getattr(eh, name)
        if isinstance(value, type):
            assert value.__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = eh.nonsense
    assert eh.synthetic is importlib.import_module("evenhand.synthetic")


def test_snapshots_need_neither_pydantic_nor_frames() -> None:
    code = (
        "import sys, evenhand as eh;"
        "s = eh.Snapshot.from_dict({'resources': {'cpu': {}}, 'nodes': [{'name': 'n'}]});"
        "s.replace(now=5).to_json();"
        "eh.Snapshot.from_frames(resources={'cpu': {}}, nodes={'name': ['n']});"
        "print(*{'pydantic', 'narwhals', 'pandas', 'polars', 'pyarrow', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_policy_needs_its_own_system_only() -> None:
    code = """
import sys, evenhand as eh
from evenhand.systems import SYSTEMS

for system in SYSTEMS.values():
    before = set(sys.modules)
    policy = getattr(eh.policies, system.policy_at.partition(":")[2])()
    new = {name.partition(".policy")[0] for name in set(sys.modules) - before if name.endswith(".policy")}
    print(type(policy) is system.policy, *new)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"True evenhand.systems.{word}" for word in SYSTEMS]


def test_every_name_of_policies_is_there() -> None:
    named: dict[str, object] = {}
    exec("from evenhand.policies import *", named)
    assert {name for name in named if name != "__builtins__"} == set(dir(eh.policies))
    assert set(dir(eh.policies)) == set(eh.policies.__all__)
    with pytest.raises(AttributeError, match="no attribute 'YTsarus'"):
        _ = eh.policies.YTsarus  # type: ignore[attr-defined]


def test_versions(capsys: pytest.CaptureFixture[str]) -> None:
    found = versions()
    assert found["evenhand"] == eh.__version__
    assert found["numpy"]
    eh.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == list(found)
    assert lines[0].split() == ["evenhand", eh.__version__]


def test_versions_say_what_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    real = metadata.version

    def version(package: str) -> str:
        if package == "polars":
            raise metadata.PackageNotFoundError(package)
        return real(package)

    monkeypatch.setattr(metadata, "version", version)
    assert versions()["polars"] == "not installed"


@pytest.mark.parametrize("name", ["simulate", "sweep"])
def test_a_room_that_is_called_shows_the_function(name: str) -> None:
    room = getattr(eh, name)
    function = getattr(room, name)
    assert inspect.signature(room) == inspect.signature(function)
    assert type(room).__dict__["__call__"].__func__ is function
    # What type checkers read is what the module has.
    assert {n for n in vars(type(room)) if not n.startswith("_")} == set(room.__all__)
    assert all(
        getattr(type(room), n) is getattr(importlib.import_module(f"evenhand.{name}"), n)
        for n in room.__all__
    )
