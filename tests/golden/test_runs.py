"""Whole small simulations, recorded as text that can be read.

``python -m tests.golden.test_runs`` records them anew; look at the difference before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.recording import runs, text

RECORDED = Path(__file__).parent / "runs"


@pytest.mark.parametrize("system", ["ytsaurus", "slurm", "backendai"])
def test_the_run_is_the_recorded_one(system: str) -> None:
    found = text(runs()[system])
    assert (RECORDED / f"{system}.txt").read_text() == found
    assert "preempt " in found
    assert " completed" in found


def record() -> None:
    """Write the runs anew."""
    for system, result in runs().items():
        (RECORDED / f"{system}.txt").write_text(text(result))


if __name__ == "__main__":
    record()
