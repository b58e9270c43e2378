"""Fixtures of the command line: a file and a way to call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.cli import main
from tests.unit.cli.cases import CLUSTER


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(CLUSTER), encoding="utf-8")
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return status, captured.out, captured.err

    return call
