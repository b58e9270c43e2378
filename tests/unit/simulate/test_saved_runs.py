"""A saved run that is not as it was written is refused; nothing is read in the place of it."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random

import pytest

import evenhand as eh
from evenhand.simulate import Simulation

WORK = eh.simulate.Workload(
    {"name": ["a", "b"], "resources.cpu": [2, 4], "submit_time": [0, 5], "run_time": [60, 30]}
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    run = Simulation(WORK.snapshot(nodes=1, cpu=4), eh.policies.YTsaurus(), WORK)
    run.run(20)
    run.save(tmp_path / "run")
    return tmp_path / "run"


def test_a_run_that_is_cut_or_added_to(saved: Path) -> None:
    whole = saved.read_bytes()
    assert Simulation.load(saved).now == 20
    for size in (0, 5, 30, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:size])
        with pytest.raises(eh.InputError, match=r"no saved simulation|was cut"):
            Simulation.load(saved)
    saved.write_bytes(whole + b"x")
    with pytest.raises(eh.InputError, match="added to"):
        Simulation.load(saved)


def test_every_bit_that_flips_is_seen(saved: Path) -> None:
    whole, chance = saved.read_bytes(), Random(1)
    head = whole.index(b"\n") + 1
    for place in [*range(head), *(chance.randrange(head, len(whole)) for _ in range(300))]:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << chance.randrange(8)
        saved.write_bytes(flipped)
        with pytest.raises(eh.InputError):
            Simulation.load(saved)


def test_a_head_without_a_digest_is_read_if_the_rest_is_whole(saved: Path) -> None:
    whole = saved.read_bytes()
    body = whole[whole.index(b"\n") + 1 :]
    older = f"evenhand simulation {eh.__version__}\n".encode()
    saved.write_bytes(older + body)
    assert Simulation.load(saved).now == 20
    saved.write_bytes(older + body[: len(body) // 2])
    with pytest.raises(eh.InputError, match="damaged") as error:
        Simulation.load(saved)
    assert isinstance(error.value.__cause__, pickle.UnpicklingError)


def test_a_run_of_another_version(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes().replace(eh.__version__.encode(), b"0.0", 1))
    with pytest.raises(eh.InputError, match="no saved simulation of version"):
        Simulation.load(saved)
