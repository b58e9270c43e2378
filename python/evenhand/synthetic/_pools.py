"""The pool tree of a synthetic cluster: names, shape, guarantees, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.synthetic._stream import Stream, zipf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Column = list[Any]

WORDS = (
    ("research", "ads", "search", "maps", "payments", "platform", "analytics", "media", "robotics",
     "logistics", "market", "security", "genomics", "climate", "mobile", "finance"),
    ("nlp", "vision", "speech", "ranking", "fraud", "forecast", "routing", "catalog", "quality", "features",
     "metrics", "crawl", "index", "recommend", "translate", "simulation", "graphs", "signals"),
    ("core", "labs", "growth", "batch", "online", "offline", "backfill", "experiments", "reports", "models",
     "data", "tools", "regional", "archive"),
    ("nightly", "hourly", "adhoc", "training", "evaluation", "serving", "cleanup", "export"),
    ("east", "west", "north", "south", "prod", "staging", "canary"),
)  # fmt: skip

STRONG = 0.48  # of the cluster is guaranteed to pools outright
FLOW = 0.08  # of the cluster is what integral pools earn together
BURST = 0.22  # of the cluster is what burst pools may take together
VOLUME_HOURS = (0.0, 0.2, 2.0, 12.0, 24.0)  # hours of flow that integral pools have saved


@dataclass(frozen=True)
class Tree:
    """Shape of the tree; parents stand before their children, -1 is the root."""

    names: list[str]
    parent: NDArray[np.int64]
    depth: NDArray[np.int64]
    leaf: NDArray[np.bool_]
    fifo: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.names)

    def subtree_sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add the rows of every pool's descendants to its own."""
        sums = values.copy()
        for pool in range(len(self) - 1, -1, -1):
            if self.parent[pool] >= 0:
                sums[self.parent[pool]] += sums[pool]
        return sums


def grow(pools: int, depth: int, seed: int) -> Tree:
    """Grow a tree of `pools` pools in which some path has `depth` of them."""
    stream = Stream(seed, "pools.parent")
    top = max(1, min(pools - depth + 1, int(np.sqrt(pools) * 0.7)))
    parent, level = [-1] * top, [1] * top
    inner = list(range(top)) if depth > 1 else [-1]
    for pool, u in zip(range(top, pools), stream.uniform(pools - top), strict=True):
        # One chain reaches the full depth; the rest prefer pools near the root.
        above = pool - 1 if pool - top < depth - 1 else inner[int(u * u * len(inner))]
        parent.append(above)
        level.append(1 if above < 0 else level[above] + 1)
        if level[pool] < depth and above >= 0:
            inner.append(pool)
    leaf = np.ones(pools, dtype=bool)
    leaf[[p for p in parent if p >= 0]] = False
    fifo = leaf & (Stream(seed, "pools.mode").uniform(pools) < 0.2)
    return Tree(_names(parent, level, seed), np.array(parent), np.array(level), leaf, fifo)


def _names(parent: list[int], level: list[int], seed: int) -> list[str]:
    names: list[str] = []
    taken: set[str] = set()
    for above, depth, word in zip(parent, level, Stream(seed, "pools.name").words(len(parent)), strict=True):
        words = WORDS[min(depth, len(WORDS)) - 1]
        prefix = "" if above < 0 else names[above] + "/"
        first = int(word) % len(words)
        number = 0
        while (name := prefix + _word(words, first, number)) in taken:
            number += 1
        taken.add(name)
        names.append(name)
    return names


def _word(words: Sequence[str], first: int, number: int) -> str:
    round_, step = divmod(number, len(words))
    return words[(first + step) % len(words)] + (f"-{round_ + 1}" if round_ else "")


def columns(
    tree: Tree, resources: Sequence[str], total: NDArray[np.int64], usage: NDArray[np.int64], seed: int
) -> dict[str, Column]:
    """Return the table of pools."""
    count = len(tree)
    weights = (1, 1, 1, 2, 3, 5, 0.5, 10)
    table: dict[str, Column] = {
        "name": tree.names,
        "parent": [None if p < 0 else tree.names[p] for p in tree.parent],
        "weight": [weights[i] for i in Stream(seed, "pools.weight").integers(0, len(weights), count)],
        "mode": ["fifo" if f else "fair_share" for f in tree.fifo],
        "fifo_reordering": (
            tree.fifo & (Stream(seed, "pools.fifo_reordering").uniform(count) < 0.5)
        ).tolist(),
    }
    strong, explicit = _strong_guarantees(tree, seed)
    for r, resource in enumerate(resources):
        # Where only cpu is guaranteed, the rest is inferred from it.
        given = (strong > 0) & (explicit | (resource == "cpu"))
        amounts = np.floor(strong * total[r]).astype(np.int64)
        table[f"strong_guarantee.{resource}"] = _optional(amounts, given)
    table["limits.cpu"] = _limits(
        tree, int(total[resources.index("cpu")]), usage[:, resources.index("cpu")], seed
    )
    table |= _integral(tree, resources, total, seed)
    return table | _special(tree, strong)


def _strong_guarantees(tree: Tree, seed: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Split `STRONG`, a share of the cluster, over some top pools, and part of theirs over some children."""
    count = len(tree)
    stream = Stream(seed, "pools.strong_guarantee")
    size, chance, part = 0.2 + stream.uniform(count), stream.uniform(count), 0.4 + 0.5 * stream.uniform(count)
    # The first top pool always takes part, so that no tree is without guarantees.
    takes = chance < np.where(tree.depth == 1, 0.7, 0.35)
    takes[0] = True
    strong = np.zeros(count)
    explicit = np.zeros(count, dtype=bool)
    for above in range(-1, count):
        budget = STRONG if above < 0 else strong[above] * part[above]
        children = np.flatnonzero((tree.parent == above) & takes)
        if budget and len(children):
            strong[children] = budget * size[children] / np.cumsum(size[children])[-1]
            explicit[children] = chance[children] < 0.25 if above < 0 else explicit[above]
    return strong, explicit


def _limits(tree: Tree, total: int, usage: NDArray[np.int64], seed: int) -> Column:
    """Limit some pools' cpu to a little more than they use now."""
    chance, slack = Stream(seed, "pools.limits").uniform(2 * len(tree)).reshape(2, -1)
    used = tree.subtree_sums(usage)
    limits = np.ceil(used * (1.05 + 0.6 * slack) + total * 0.002).astype(np.int64)
    return _optional(limits, (chance < 0.1) & (tree.depth > 1))


def _integral(tree: Tree, resources: Sequence[str], total: NDArray[np.int64], seed: int) -> dict[str, Column]:
    """Make some pools below the top burst or relaxed ones; none lies below another."""
    count = len(tree)
    stream = Stream(seed, "pools.integral")
    kind: Column = [None] * count
    wanted = max(1, count // 40)
    chosen: list[int] = []
    for pool in stream.order(count).tolist():
        if len(chosen) < 2 * wanted and tree.leaf[pool] and (tree.depth[pool] > 1 or count < 8):
            kind[pool] = "relaxed" if len(chosen) % 2 else "burst"
            chosen.append(pool)
    size = 1 + stream.uniform(count)
    share = np.zeros(count)
    share[chosen] = size[chosen] / np.cumsum(size[chosen])[-1] if chosen else 0
    burst = np.array([k == "burst" for k in kind])
    hours = np.array(VOLUME_HOURS)[stream.integers(0, len(VOLUME_HOURS), count)]
    integral = np.array([k is not None for k in kind])
    cpu = total[resources.index("cpu")]
    flow = np.floor(FLOW * share * cpu).astype(np.int64)
    table: dict[str, Column] = {
        "integral.type": kind,
        "integral.resource_flow.cpu": _optional(flow, integral),
        "integral.burst.cpu": _optional(np.floor(BURST * share * cpu).astype(np.int64), burst),
        "integral.last_share_ratio": [
            s if k else None
            for s, k in zip((FLOW * share * stream.uniform(count)).tolist(), kind, strict=True)
        ],
    }
    for r, resource in enumerate(resources):
        volume = np.floor(flow / cpu * total[r] * hours * 3600).astype(np.int64)
        table[f"integral.accumulated_volume.{resource}"] = _optional(volume, integral & (hours > 0))
    return table


def _special(tree: Tree, strong: NDArray[np.float64]) -> dict[str, Column]:
    """Give one pair of guaranteed pools priority and donorship, and one top pool a promised fair share."""
    count = len(tree)
    priority, donor, promised = [False] * count, [False] * count, [False] * count
    guaranteed = [p for p in range(count) if tree.parent[p] >= 0 and strong[p] > 0]
    if guaranteed:
        priority[guaranteed[0]] = donor[int(tree.parent[guaranteed[0]])] = True
    promised[int(np.argmax(strong))] = True
    return {
        "priority_strong_guarantee": priority,
        "priority_donor": donor,
        "compute_promised_guarantee": promised,
    }


def _optional(values: NDArray[Any], given: NDArray[np.bool_]) -> Column:
    return [value if there else None for value, there in zip(values.tolist(), given.tolist(), strict=True)]


def homes(tree: Tree, operations: int, seed: int) -> NDArray[np.int64]:
    """Return the pool of each operation: most in leaves, by Zipf's law, a few in inner pools."""
    leaves, inner = np.flatnonzero(tree.leaf), np.flatnonzero(~tree.leaf)
    leaves = leaves[Stream(seed, "operations.leaf_rank").order(len(leaves))]
    # The law is flattened a little: in its pure form one pool would hold a sixth of all operations.
    popularity = zipf(len(leaves)) + 2.0 / len(leaves)
    home = leaves[Stream(seed, "operations.pool").pick(popularity, operations)]
    if len(inner):
        stream = Stream(seed, "operations.inner_pool")
        home = np.where(
            stream.uniform(operations) < 0.03, inner[stream.integers(0, len(inner), operations)], home
        )
    return home
