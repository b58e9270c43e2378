"""What the tests of the command line share."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from tests.waiting import HANG

CLUSTER: dict[str, Any] = {
    "now": 600.0,
    "previous_update": 540.0,
    "resources": {"cpu": {}, "gpu": {}},
    "nodes": [{"name": "n1", "capacity": {"cpu": 100, "gpu": 10}}],
    "pools": [
        {"name": "lab", "strong_guarantee": {"cpu": 40}},
        {"name": "lab/nlp", "parent": "lab", "mode": "fifo"},
        {"name": "web", "weight": 3},
        {
            "name": "flow",
            "integral": {"type": "burst", "resource_flow": {"cpu": 10}, "burst": {"cpu": 20}},
        },
    ],
    "operations": [
        {"name": "train", "pool": "lab/nlp", "demand": {"cpu": 90, "gpu": 5}, "usage": {"cpu": 5}},
        {"name": "serve", "pool": "web", "demand": {"cpu": 60}, "usage": {"cpu": 50}},
        {"name": "nightly", "pool": "flow", "demand": {"cpu": 30}},
    ],
}
HOSTILE = "\x1b]0;owned\x07\x1b[31m\r\n\u202e\x9b\x7f<b>"


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evenhand", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=HANG,
        check=False,
        **options,
    )


def rows_of(text: str) -> list[str]:
    """The tree's rows, root first."""
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("<Root>"))
    end = next(i for i, line in enumerate(lines) if line.startswith("% of"))
    return lines[start:end]
