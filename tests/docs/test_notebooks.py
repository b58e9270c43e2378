"""What the notebooks read, and that the one of simulations does what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.layers import ROOT


def test_the_small_log_is_drawn_by_its_tool() -> None:
    tool = [sys.executable, "tools/make_small_log.py", "--check"]
    done = subprocess.run(tool, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "up to date\n"), done.stderr


def test_the_replay_shows_what_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.chdir(ROOT / "notebooks")
    notebook = json.loads(Path("05_replay_a_real_log.ipynb").read_text())
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    exec(compile("\n".join(code), "05_replay_a_real_log.ipynb", "exec"), names)
    plt.close("all")
    metrics = names["metrics"]
    assert metrics["slurm"]["preemptions"] == 0 < metrics["ytsaurus"]["preemptions"]  # type: ignore[index]
    assert metrics["ytsaurus"]["waiting.p50"] < metrics["slurm"]["waiting.p50"]  # type: ignore[index]
    assert "lost_work.cpu" in capsys.readouterr().out
