"""Threads that compute at the same time in one process give the bytes of a computation alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

import evenhand as eh
from evenhand import synthetic

SETTINGS = eh.FairShareSettings(step_function_for_gang=True, fifo_reordering=True)


def result_bytes(snapshot: eh.Snapshot, settings: eh.FairShareSettings = SETTINGS) -> bytes:
    shares = eh.fair_share(snapshot, settings)
    arrays = b"".join(np.ascontiguousarray(shares[quantity]).tobytes() for quantity in shares.quantities)
    return arrays + repr(shares.diagnostics).encode()


def test_two_threads_give_the_bytes_of_one() -> None:
    sizes = {"pools": 60, "depth": 4, "operations": 800, "allocations": 3000, "nodes": 60}
    first, second = (eh.Snapshot.from_frames(**synthetic.columns(seed=seed, **sizes)) for seed in (1, 2))
    plain = eh.FairShareSettings()
    # One snapshot with itself, with other settings, with another snapshot.
    pairs = [
        ((first, SETTINGS), (first, SETTINGS)),
        ((first, SETTINGS), (first, plain)),
        ((first, plain), (second, SETTINGS)),
    ]
    alone = [[result_bytes(*given) for given in pair] for pair in pairs]
    assert len({found for pair in alone for found in pair}) == 3  # the inputs can be told apart
    together = Barrier(2)

    def repeatedly(given: tuple[eh.Snapshot, eh.FairShareSettings]) -> set[bytes]:
        together.wait(timeout=60)
        return {result_bytes(*given) for _ in range(20)}

    with ThreadPoolExecutor(2) as pool:
        for pair, expected in zip(pairs, alone, strict=True):
            assert list(pool.map(repeatedly, pair)) == [{e} for e in expected]
