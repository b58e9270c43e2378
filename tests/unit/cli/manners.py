"""A call of every command that succeeds, and standard streams of all kinds to call it with."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import evenhand as eh
from evenhand import adapters
from evenhand.adapters.gridengine import GridEngine
from evenhand.cli import parser
from evenhand.cli.parsing import Parser
from tests.unit.act.gridengine.cluster import Clock, Engine
from tests.unit.act.gridengine.test_jobs import full
from tests.unit.act.world import World
from tests.unit.traces.files import job, write

if TYPE_CHECKING:
    import pytest

SMALL: dict[str, Any] = {
    "now": 3600,
    "resources": {"cpu": {}, "gpu": {}},
    "nodes": [{"name": "n1", "capacity": {"cpu": 64, "gpu": 8}}],
    "pools": [{"name": "research", "strong_guarantee": {"gpu": 4}}, {"name": "students"}],
    "operations": [
        {"name": "training", "pool": "research"},
        {"name": "notebooks", "pool": "students"},
    ],
    "allocations": [
        {
            "name": f"notebook-{i}",
            "operation": "notebooks",
            "node": "n1",
            "resources": {"cpu": 8, "gpu": 4},
            "start_time": 60 * i,
        }
        for i in range(2)
    ],
    "requests": [{"name": "train", "operation": "training", "resources": {"cpu": 16, "gpu": 4}}],
}

#: Words of a call by command; words in capitals are files, which `calls` makes.
CALLS = {
    "demo": "demo --top 3",
    "validate": "validate SNAPSHOT",
    "shares": "shares SNAPSHOT",
    "plan": "plan SNAPSHOT --as-if-waiting 10m",
    "explain": "explain SNAPSHOT train --as-if-waiting 10m",
    "diff": "diff SNAPSHOT LATER --as-if-waiting 10m",
    "simulate": "simulate LOG --until 1h --table allocations --top 5",
    "sweep": "sweep LOG --until 1h --workers 1 --set fair_share_starvation_timeout=30,900",
    "snapshot": "snapshot",
    "watch": "watch --once --dry-run --journal NEW",
    "preempt": "preempt 9 --dry-run --journal NEWER",
    "journal": "journal JOURNAL",
    "schema": "schema",
    "versions": "versions",
}

COMMANDS: dict[str, Parser] = parser().commands  # type: ignore[attr-defined]


def calls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The words of a call by command, with files that are there, and a live cluster that is none."""
    world = World(folder)
    world.round()
    files = {
        "SNAPSHOT": folder / "small.json",
        "LATER": folder / "later.json",
        "LOG": write(folder, [job(n, 10 * n, 300, 4, user=n % 3) for n in range(1, 13)]),
        "JOURNAL": world.journal,
        "NEW": folder / "new",
        "NEWER": folder / "newer",
    }
    files["SNAPSHOT"].write_text(json.dumps(SMALL), encoding="utf-8")
    files["LATER"].write_text(json.dumps(SMALL | {"requests": []}), encoding="utf-8")
    clock = Clock()
    cell = GridEngine(runner=Engine(full(), clock))

    def load(name: str, **_: Any) -> Any:
        return cell if name == "gridengine" else world.adapter()

    monkeypatch.setattr(adapters, "load", load)
    monkeypatch.setattr(eh.synthetic, "demo", lambda: eh.Snapshot.from_dict(SMALL))
    return {command: [str(files.get(word, word)) for word in line.split()] for command, line in CALLS.items()}


@contextmanager
def standard_output(
    monkeypatch: pytest.MonkeyPatch, descriptor: int, encoding: str = "utf-8"
) -> Iterator[Any]:
    """Let standard output be this file, as in a process: the rest is written at its end."""
    stream = io.TextIOWrapper(io.FileIO(descriptor, "w", closefd=False), encoding, write_through=False)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        yield stream
        stream.flush()
    stream.detach()
    os.close(descriptor)


def given(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Let standard input be these bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
