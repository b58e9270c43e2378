"""The nodes of a synthetic cluster: sizes that suit the work, and where each allocation runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.synthetic._stream import Stream
from evenhand.synthetic._work import PROFILES, shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.synthetic._work import Work

GPUS = 8  # of a gpu node
FILLED = {"memory": 0.82, "gpu": 0.92}  # of the capacity in use; cpu's is a parameter
ZONES = ("zone-a", "zone-b", "zone-c")


@dataclass(frozen=True)
class Machines:
    """Nodes in row order; `where` holds the nodes of each profile's allocations."""

    words: list[str]
    capacity: NDArray[np.int64]  # (N, R)
    where: list[NDArray[np.int64]]

    def columns(self, resources: Sequence[str], seed: int) -> dict[str, Any]:
        """Return the table of nodes."""
        count = len(self.words)
        zones = Stream(seed, "nodes.zone").integers(0, len(ZONES), count)
        table: dict[str, Any] = {
            "name": self.names(),
            "tags": [[word, ZONES[zone]] for word, zone in zip(self.words, zones.tolist(), strict=True)],
        }
        return table | {f"capacity.{r}": self.capacity[:, i] for i, r in enumerate(resources)}

    def names(self) -> list[str]:
        """Return names such as gpu-0042."""
        return [f"{word}-{i:04d}" for i, word in enumerate(self.words)]


def make(work: Work, resources: Sequence[str], nodes: int, utilization: float, seed: int) -> Machines:
    """Size `nodes` nodes for the running work and place it on them."""
    count = np.bincount(work.profile, weights=work.running, minlength=len(PROFILES)).astype(np.int64)
    growth = dict.fromkeys(resources, 1.0)
    while True:
        words, capacity = _sizes(work, count, resources, nodes, utilization, growth, seed)
        where, short = _place(shapes(resources), count, capacity, resources, seed)
        if not short:
            return Machines(words, capacity, where)
        # What is left over at the edges of nodes was too much: try again with more of what is needed.
        for resource in short:
            growth[resource] *= 1.02


def _sizes(
    work: Work,
    count: NDArray[np.int64],
    resources: Sequence[str],
    nodes: int,
    utilization: float,
    growth: dict[str, float],
    seed: int,
) -> tuple[list[str], NDArray[np.int64]]:
    """Return each node's type and capacity, (N, R)."""
    shape = shapes(resources)
    # A pending operation should be able to run on an empty cluster, so it counts here.
    used = np.bincount(work.profile, minlength=len(PROFILES)) > 0
    need = dict(zip(resources, (count[:, None] * shape).sum(axis=0).tolist(), strict=True))
    on_gpus = np.array([p.gpu > 0 for p in PROFILES]) & ("gpu" in resources)

    def largest(resource: str, profiles: NDArray[np.bool_]) -> int:
        return max((getattr(PROFILES[p], resource) for p in np.flatnonzero(profiles & used)), default=1)

    gpus, gpu_nodes = GPUS, 0
    if "gpu" in resources:
        wanted = need["gpu"] * growth["gpu"] / FILLED["gpu"]
        gpu_nodes = min(nodes, max(1, int(np.ceil(wanted / gpus))))
        gpus = max(gpus, int(np.ceil(wanted / gpu_nodes)))
    kinds = Stream(seed, "nodes.kind").uniform(nodes)
    order = Stream(seed, "nodes.gpu").order(nodes)
    gpu = np.zeros(nodes, dtype=bool)
    gpu[order[:gpu_nodes]] = True
    kind = np.where(gpu, 3, np.searchsorted(np.array([0.6, 0.85]), kinds, side="right"))
    words = [("cpu", "big", "fat", "gpu")[k] for k in kind.tolist()]

    def sized(resource: str, factor: NDArray[np.float64], filled: float, step: int) -> NDArray[np.int64]:
        least = np.where(gpu, largest(resource, used), largest(resource, used & ~on_gpus))
        base = need.get(resource, 0) * growth.get(resource, 1.0) / (filled * np.cumsum(factor)[-1])
        return (np.ceil(np.maximum(base * factor, least) / step) * step).astype(np.int64)

    capacity = {
        "cpu": sized("cpu", np.array([1.0, 1.5, 0.75, 1.0])[kind], utilization, 2),
        "memory": sized("memory", np.array([1.0, 1.5, 1.5, 1.25])[kind], FILLED["memory"], 16),
        "gpu": np.where(gpu, gpus, 0),
    }
    capacity["user_slots"] = capacity["cpu"] * 2
    return words, np.stack([capacity[r] for r in resources], axis=1)


def _place(
    shape: NDArray[np.int64],
    count: NDArray[np.int64],
    capacity: NDArray[np.int64],
    resources: Sequence[str],
    seed: int,
) -> tuple[list[NDArray[np.int64]], Sequence[str]]:
    """Return the nodes of each profile's allocations, and of which resources there should be more.

    The largest shapes come first, each spread over the nodes in proportion to
    the room that is left for it. The first that does not fit says what is short:
    gpus, if those that are left would not do by themselves; else all the others.
    """
    nodes = len(capacity)
    free = capacity.copy()
    where: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * len(shape)
    size = [(PROFILES[p].gpu if "gpu" in resources else 0, PROFILES[p].cpu) for p in range(len(shape))]
    for p in sorted(range(len(shape)), key=size.__getitem__, reverse=True):
        asks = shape[p] > 0
        room = (free[:, asks] // shape[p][asks]).min(axis=1)
        whole, wanted = int(room.sum()), int(count[p])
        if wanted > whole:
            if size[p][0] == 0:
                return where, resources
            gpu = list(resources).index("gpu")
            if wanted > int((free[:, gpu] // shape[p][gpu]).sum()):
                return where, ("gpu",)
            return where, [r for r in resources if r != "gpu"]
        take = room * wanted // whole if whole else np.zeros(nodes, np.int64)
        order = Stream(seed, f"nodes.room.{p}").order(nodes)
        ready = order[(take < room)[order]]
        take[ready[: wanted - int(take.sum())]] += 1
        free -= take[:, None] * shape[p]
        spread = np.repeat(np.arange(nodes), take)
        where[p] = spread[Stream(seed, f"nodes.where.{p}").order(wanted)]
    return where, ()
