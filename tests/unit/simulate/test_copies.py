"""Runs that are copied, saved and looked at again."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.simulate import Simulation
from tests.properties.simulating import SYSTEMS, drawn

each_system = pytest.mark.parametrize("system", SYSTEMS)


def begun(system: str, seed: int = 3, **options: Any) -> Simulation:
    of = drawn(seed, system)
    return Simulation(of.snapshot, of.policy, of.workload, **of.clocks, **options)


def content(run: Simulation) -> bytes:
    """All that a result says, as bytes."""
    result = run.result()
    return pickle.dumps(
        (
            result.span,
            dict(result.counts),
            {t: {n: c.tolist() for n, c in cs.items()} for t, cs in result.raw.items()},
        )
    )


@each_system
def test_a_copy_stands_where_the_run_does(system: str) -> None:
    run = begun(system)
    for steps in (0, 1, 7, 20, 60):
        run._core.run(None, steps - run._core.steps)
        assert content(run.copy()) == content(run)  # also in the middle of an instant
    stop = run.now + 50.456
    run.run(stop)
    other = run.copy()
    assert other.now == run.now == stop
    assert content(other) == content(run)
    assert other.snapshot() == run.snapshot()
    run.run(1000)
    assert other.now == stop  # on its own
    other.run(1000)
    assert content(other) == content(run)


@each_system
def test_a_run_is_saved_and_continues_elsewhere(system: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    run = begun(system)
    run.run(60)
    run.save(path)
    code = (
        "import sys; from evenhand.simulate import Simulation\n"
        "from tests.unit.simulate.test_copies import content\n"
        "run = Simulation.load(sys.argv[1]); run.run(600); sys.stdout.buffer.write(content(run))"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code, str(path)], cwd=root, capture_output=True, check=True)
    run.run(600)
    assert done.stdout == content(run)


def test_any_instant_can_be_looked_at_again() -> None:
    run = begun("ytsaurus")
    run.run(40)
    before = run.snapshot()
    run.run(600)
    assert run.at(40).snapshot() == before
    assert run.now == 600
    with pytest.raises(eh.InputError, match="before the beginning"):
        run.at(-1)


def test_a_generator_is_kept_as_it_was() -> None:
    run = begun("ytsaurus", rng=np.random.default_rng(5))
    run.run(100)
    assert content(run.copy()) == content(run)
    assert content(run.copy()) == content(run)


def test_other_files_are_no_runs(tmp_path: Path) -> None:
    path = tmp_path / "run"
    for text in (b"", b"evenhand simulation 0.0.0\n", pickle.dumps(1)):
        path.write_bytes(text)
        with pytest.raises(eh.InputError, match="no saved simulation"):
            Simulation.load(path)


def test_portions_change_nothing() -> None:
    run, whole = begun("slurm"), begun("slurm")
    whole.run(600)
    clocks = list(run.portions(600))
    assert clocks[-1] == 600
    assert content(run) == content(whole)
