"""What the notebooks read, and that the one of simulations does what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.layers import ROOT


def test_the_small_log_is_drawn_by_its_tool() -> None:
    tool = [sys.executable, "tools/make_small_log.py", "--check"]
    done = subprocess.run(tool, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "up to date\n"), done.stderr


def _executed(notebook: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the names that a notebook's cells leave behind."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(ROOT / "notebooks")
    cells = json.loads(Path(notebook).read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    exec(compile("\n".join(code), notebook, "exec"), names)
    plt.close("all")
    return names


def test_the_replay_shows_what_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = _executed("05_replay_a_real_log.ipynb", monkeypatch)
    metrics = names["metrics"]
    assert metrics["slurm"]["preemptions"] == metrics["ytsaurus"]["preemptions"] == 0
    assert metrics["ytsaurus"]["waiting.p50"] < metrics["slurm"]["waiting.p50"]
    assert metrics["shared"]["preemptions"] > 0
    assert metrics["shared"]["starvation.p50"] < metrics["ytsaurus"]["starvation.p50"]
    assert metrics["shared"]["jain"] > metrics["ytsaurus"]["jain"]
    out = capsys.readouterr().out
    assert "lost_work.cpu" in out
    assert "single_allocations_stay: " in out


def test_the_thresholds_show_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    names = _executed("06_tune_thresholds_to_a_target.ipynb", monkeypatch)
    table, front, tuned = names["table"], names["front"], names["tuned"]
    assert table["error"] == [None] * 9
    assert 1 < len(front) < 9  # there is a trade, and some points are worse in both
    assert front["starvation.p50"].argmin() == front["lost_work.cpu"].argmax()
    assert tuned.met
    assert not tuned.held
    assert any(error is not None for error in tuned.points["error"])
