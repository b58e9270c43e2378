"""Whose rules a watch plans by: the adapter's own, unless others are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand import adapters
from evenhand.adapters import AdapterError
from evenhand.adapters.guarded import guarded
from evenhand.cli import main
from tests.unit.act.site import Site, SiteAdapter


class Asked(SiteAdapter):
    """Writes down what it is asked for."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.policies: list[tuple[str, dict[str, Any]]] = []

    def policy(self, preset: str = "documented", **changes: Any) -> Any:
        self.policies.append((preset, changes))
        return super().policy(preset, **changes)


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Asked:
    adapter = Asked(Site({"n1": 4}, low=(4, 1, "n1"), high=(4, 20, None)))
    monkeypatch.setattr(adapters, "available", lambda: {"site": "of this test"})
    monkeypatch.setattr(adapters, "load", lambda name, **options: guarded(adapter))
    return adapter


def watched(folder: Path, *more: str) -> int:
    """One round without a change; the site has a clock of its own."""
    journal = ["--journal", str(folder / "journal"), "--once", "--dry-run", "--max-age", "3000000000"]
    return main(["watch", "--adapter", "site", *journal, *more])


def test_the_adapter_is_asked_for_its_own(
    adapter: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watched(tmp_path) == 0
    out = capsys.readouterr().out
    assert "rules: those of the adapter site\n" in out
    assert "dry run: low gives way to high" in out
    assert adapter.policies == [("documented", {})]


def test_it_gets_the_settings_that_a_file_changes(
    adapter: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "changes.toml"
    file.write_text('preset = "upstream"\npreemption_mode = "terminate"\n')
    assert watched(tmp_path, "--config", str(file)) == 0
    assert "rules: those of the adapter site:upstream\n" in capsys.readouterr().out
    assert adapter.policies == [("upstream", {"preemption_mode": "terminate"})]
    file.write_text('no_such_setting = "3"\n')
    assert watched(tmp_path, "--config", str(file)) == 1
    assert f"{file}: " in capsys.readouterr().err


@pytest.mark.parametrize("where", ["policy", "config"])
def test_rules_that_are_named_are_said(
    where: str, adapter: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.toml"
    file.write_text('system = "backendai"\n')
    more = ["--policy", "backendai"] if where == "policy" else ["--config", str(file)]
    assert watched(tmp_path, *more) == 0
    assert "rules: backendai:documented\n" in capsys.readouterr().out
    assert adapter.policies == []


def test_an_adapter_without_rules_says_so(
    adapter: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise AdapterError("a site has no rules of its own; name a policy")

    monkeypatch.setattr(adapter, "policy", none)
    assert watched(tmp_path) == 1
    said = capsys.readouterr()
    assert "a site has no rules of its own; name a policy" in said.err
    assert "rules: those of the adapter site\n" in said.out
