"""What runs and waits in a synthetic cluster: operations and their allocations' shapes and counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.synthetic import _pools
from evenhand.synthetic._stream import Stream, zipf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LARGEST_GANG = 256  # allocations
MOST_GPUS = 96  # that one operation wants


class Profile(NamedTuple):
    """A typical operation; `cpu` in cores, `memory` in GiB, a single allocation's."""

    word: str
    kind: str
    share: float  # of operations
    cpu: int
    memory: int
    gpu: int = 0
    gang: float = 0.0  # probability
    checkpointable: bool = False
    rerunnable: bool = False


PROFILES = (
    Profile("etl", "batch", 0.15, 2, 6, rerunnable=True),
    Profile("join", "batch", 0.10, 4, 20, rerunnable=True),
    Profile("map", "batch", 0.15, 1, 3, rerunnable=True),
    Profile("reduce", "batch", 0.09, 3, 14, rerunnable=True),
    Profile("query", "interactive", 0.09, 2, 12),
    Profile("notebook", "interactive", 0.07, 2, 8),
    Profile("infer", "inference", 0.07, 4, 10),
    Profile("serve", "inference", 0.02, 6, 24, 1),
    Profile("build", "batch", 0.06, 8, 12, rerunnable=True),
    Profile("sim", "batch", 0.07, 12, 24, gang=0.5, checkpointable=True),
    Profile("solve", "batch", 0.04, 16, 96, gang=0.3, checkpointable=True),
    Profile("finetune", "batch", 0.04, 6, 40, 1, checkpointable=True),
    Profile("train", "batch", 0.04, 24, 160, 4, gang=0.6, checkpointable=True),
    Profile("pretrain", "batch", 0.01, 48, 320, 8, gang=0.9, checkpointable=True),
)


@dataclass(frozen=True)
class Work:
    """Operations in row order; `shape` holds one allocation's amounts, (O, R)."""

    pool: NDArray[np.int64]
    profile: NDArray[np.int64]
    shape: NDArray[np.int64]
    gang: NDArray[np.bool_]
    running: NDArray[np.int64]
    pending: NDArray[np.int64]
    luck: NDArray[np.float64]  # how well its pool and itself have been served, in [0, 1)

    @property
    def usage(self) -> NDArray[np.int64]:
        """Amounts in use, (O, R)."""
        return self.shape * self.running[:, None]

    def names(self) -> list[str]:
        """Return names such as train-0153."""
        return [f"{PROFILES[p].word}-{i:04d}" for i, p in enumerate(self.profile.tolist())]


def shapes(resources: Sequence[str]) -> NDArray[np.int64]:
    """Return the amounts of one allocation of every profile, (profiles, R)."""
    return np.array(
        [[1 if r == "user_slots" else getattr(p, r) for r in resources] for p in PROFILES], np.int64
    )


def make(
    tree: _pools.Tree, resources: Sequence[str], operations: int, allocations: int, excess: float, seed: int
) -> Work:
    """Make operations of Zipf sizes, `allocations` running and about (excess - 1) times as many waiting."""
    pool = _pools.homes(tree, operations, seed)
    wanted = _sizes(operations, allocations * excess, seed)
    profile, gang = _profiles(wanted, "gpu" in resources, seed)
    shape = shapes(resources)[profile]

    own, shared = Stream(seed, "operations.luck"), Stream(seed, "pools.luck")
    top = np.arange(len(tree))
    while (below := tree.parent[top] >= 0).any():
        top[below] = tree.parent[top[below]]
    of_pool = shared.uniform(len(tree))[pool]
    of_top = shared.uniform(len(tree))[top[pool]]
    luck = 0.35 * of_top + 0.35 * of_pool + 0.3 * own.uniform(operations)

    wanted, running, gang = _serve(wanted, gang, luck, allocations)
    pending = np.zeros_like(running)
    on_gpus = np.array([p.gpu > 0 for p in PROFILES])[profile]
    for some in (on_gpus, ~on_gpus):
        # Each kind of machine is wanted by the same factor more than there is of it.
        cpu = shape[some, list(resources).index("cpu")]
        pending[some] = _wait(wanted[some], running[some], gang[some], cpu, excess)
    return Work(pool, profile, shape, gang, running, pending, luck)


def _sizes(operations: int, total: float, seed: int) -> NDArray[np.int64]:
    """Draw numbers of wanted allocations by Zipf's law, about `total` together, each at least 1."""
    law = zipf(operations)[Stream(seed, "operations.size_rank").order(operations)]
    low, high = 0.0, total * operations + 1.0
    for _ in range(64):
        scale = (low + high) / 2
        low, high = (
            (low, scale) if np.maximum(law * scale, 1).astype(np.int64).sum() > total else (scale, high)
        )
    return np.maximum(law * low, 1).astype(np.int64)


def _profiles(
    wanted: NDArray[np.int64], gpus: bool, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    count = len(wanted)
    any_ = [p.share * (gpus or not p.gpu) for p in PROFILES]
    small = [p.share * (p.cpu <= 4) * (p.kind == "batch") for p in PROFILES]
    stream = Stream(seed, "operations.profile")
    profile, modest = stream.pick(any_, count), stream.pick(small, count)
    # A huge operation is made of small allocations, as in practice.
    large = (wanted > LARGEST_GANG) | (wanted * np.array([p.gpu for p in PROFILES])[profile] > MOST_GPUS)
    profile = np.where(large, modest, profile)
    chance = np.array([p.gang for p in PROFILES])[profile]
    return profile, (Stream(seed, "operations.gang").uniform(count) < chance) & (wanted > 1)


def _serve(
    wanted: NDArray[np.int64], gang: NDArray[np.bool_], luck: NDArray[np.float64], allocations: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Decide how many allocations of each operation run: gangs all or none, others the more, the luckier.

    Returns what is wanted, what runs, and which operations are gangs; the first and the last
    are changed only where `allocations` could not be met exactly otherwise.
    """

    def at(level: float) -> NDArray[np.int64]:
        part = np.clip(level + 4 * luck, 0.0, 1.0)
        return np.where(gang, wanted * (part > 0.4), np.floor(wanted * part)).astype(np.int64)

    low, high = -5.0, 5.0
    for _ in range(64):
        level = (low + high) / 2
        low, high = (low, level) if at(level).sum() > allocations else (level, high)
    wanted, running, gang = wanted.copy(), at(low), gang.copy()
    lucky_first = np.argsort(-luck, kind="stable")
    while missing := allocations - int(running.sum()):
        more = lucky_first[(~gang & (running < wanted))[lucky_first]][:missing]
        running[more] += 1
        if not len(more):
            gang[lucky_first[0]] = False
            wanted[~gang] += 1
    return wanted, running, gang


def _wait(
    wanted: NDArray[np.int64],
    running: NDArray[np.int64],
    gang: NDArray[np.bool_],
    cpu: NDArray[np.int64],
    excess: float,
) -> NDArray[np.int64]:
    """Return pending counts, scaled so that cpu demand is `excess` times usage; gangs wait as they are."""
    pending = wanted - running
    target = (excess - 1) * float((running * cpu).sum()) - float((pending * cpu)[gang].sum())
    free = float((pending * cpu)[~gang].sum())
    scale = max(target, 0.0) / free if free else 0.0
    return np.where(gang, pending, np.floor(pending * scale + 0.5)).astype(np.int64)
