"""Synthetic clusters: seeded, plausible, contended, and the same on every machine.

A cluster comes as the columns that `evenhand.Snapshot.from_frames` reads
(`columns`), as the rows that `evenhand.Snapshot.from_dict` reads (`cluster`),
or as the bundled snapshot that ``evenhand demo`` shows (`demo`).

The work is made first and the hardware to suit it: operations of Zipf sizes
from a catalogue of typical ones, some of them gangs; a part of them runs,
unevenly over the pools, so that some have more than their fair share and others
less; then nodes of a few types on which exactly that fits. Cores and gpus are
whole, memory is in GiB, times are seconds.

The random numbers are SplitMix64 in counter mode (`evenhand.synthetic._stream`).
The same arguments give the same cluster within a version of Evenhand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.accepted import COUNT, SEED, SIZE, checked, count_of, instant_from
from evenhand.errors import InputError, shorten
from evenhand.synthetic import _nodes, _pools, _rows, _work, _workload
from evenhand.synthetic._profiles import PROFILES, Profile
from evenhand.synthetic._stream import Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.model import Snapshot
    from evenhand.simulate.workload import Workload

__all__ = ["cluster", "columns", "demo", "workload"]

NOW = 1_767_225_600  # 2026-01-01T00:00:00Z
OLDEST = 14 * 86_400  # seconds since the oldest operation was started
_SIZES = {**dict.fromkeys(("pools", "depth", "operations", "allocations", "nodes"), SIZE), "seed": SEED}
RESOURCES = ("cpu", "memory", "gpu", "user_slots")
STARVING = 0.06  # of the waiting operations, the unluckiest, have waited for hours or days


@checked("synthetic.demo", seed=SEED)
def demo(seed: int = 7) -> Snapshot:
    """Return the cluster of ``evenhand demo``.

    300 pools, 5 levels deep, with 4,000 operations and 40,000 allocations on
    1,500 nodes. Demand is about 1.45 times the cpu capacity, usage 0.94 of it.

    Parameters
    ----------
    seed : int, default 7
        Seed of the generator.

    Returns
    -------
    Snapshot
        The validated snapshot; built in about a second.
    """
    from evenhand.model import Snapshot

    return Snapshot.from_frames(**columns(seed=seed))


@checked("synthetic.cluster", **_SIZES)
def cluster(
    *,
    pools: int = 300,
    depth: int = 5,
    operations: int = 4_000,
    allocations: int = 40_000,
    nodes: int = 1_500,
    resources: Sequence[str] = ("cpu", "memory", "gpu"),
    contention: float = 1.45,
    utilization: float = 0.94,
    seed: int,
) -> dict[str, Any]:
    """Return a synthetic cluster in the snapshot's file format.

    Parameters
    ----------
    pools, depth : int
        How many pools, and how many of them stand on the longest path.
    operations, allocations, nodes : int
        How many rows these tables have. Allocations are those that run; what
        waits is one request an operation.
    resources : sequence of str
        Any of "cpu", "memory", "gpu" and "user_slots", "cpu" among them.
    contention : float
        Demand of cpu in units of the capacity, at least `utilization`. Gangs,
        which wait as a whole, can lift it in clusters of few operations.
    utilization : float
        Usage of cpu in units of the capacity, in [0.001, 1]. It comes out lower
        where few allocations run on a node and do not fill it.
    seed : int
        Seed of the generator.

    Returns
    -------
    dict
        For `Snapshot.from_dict`, or to be written as JSON.

    Raises
    ------
    ValueError
        A parameter is out of its range; the message says which.

    Notes
    -----
    Time grows as pools x depth + operations + allocations + nodes.
    """
    return _rows.from_columns(
        columns(
            pools=pools,
            depth=depth,
            operations=operations,
            allocations=allocations,
            nodes=nodes,
            resources=resources,
            contention=contention,
            utilization=utilization,
            seed=seed,
        )
    )


@checked("synthetic.columns", **_SIZES)
def columns(
    *,
    pools: int = 300,
    depth: int = 5,
    operations: int = 4_000,
    allocations: int = 40_000,
    nodes: int = 1_500,
    resources: Sequence[str] = ("cpu", "memory", "gpu"),
    contention: float = 1.45,
    utilization: float = 0.94,
    seed: int,
) -> dict[str, Any]:
    """Return a synthetic cluster as tables of columns: the keyword arguments of `Snapshot.from_frames`.

    Parameters are those of `cluster`. References between tables are row
    numbers (`pool_index`, `operation_index`, `node_index`); None means absent.
    """
    _check(pools, depth, operations, allocations, nodes, resources, contention, utilization)
    tree = _pools.grow(pools, depth, seed)
    work = _work.make(tree, resources, operations, allocations, contention / utilization, seed)
    machines = _nodes.make(work, resources, nodes, utilization, seed)
    used = np.zeros((pools, len(resources)), dtype=np.int64)
    np.add.at(used, work.pool, work.usage)
    started = NOW - _ages(operations, seed)
    return {
        "now": NOW,
        "previous_update": NOW - 60,
        "resources": {r: {"quantum": 0.001 if r == "cpu" else 1} for r in resources},
        "pools": _pools.columns(tree, resources, machines.capacity.sum(axis=0), used, seed),
        "operations": _operations(work, started, seed),
        "nodes": machines.columns(resources, seed),
        "allocations": _allocations(work, machines, resources, started, seed),
        "requests": _requests(work, resources, started, seed),
    }


@checked("synthetic.workload", profile="str | Profile", jobs=COUNT, groups=COUNT, seed=SEED)
def workload(
    *,
    jobs: int = 10_000,
    nodes: int | None = None,
    load: float | None = None,
    users: int | None = None,
    groups: int = 8,
    gangs: bool = True,
    start: float = NOW,
    profile: Literal["sdsc", "ricc"] | Profile = "sdsc",
    seed: int,
) -> Workload:
    """Return a synthetic workload: sessions of users by the hours of the day, with heavy tails and gangs.

    Parameters
    ----------
    jobs : int
        How many.
    nodes : int, optional
        Of the machine; by default as many as the profile's had. No job is larger than it.
    load : float, optional
        Work that arrives, over what the machine can do until the last arrival; by default the profile's.
    users, groups : int
        People, by default as many as the profile had, and the groups that they are dealt to: pools
        ``group/user``.
    gangs : bool
        Whether jobs of several nodes run as a whole or not at all.
    start : number
        When it begins, in seconds since 1970: hours and days of the week count from it.
    profile : {"sdsc", "ricc"} or Profile
        What it is like; see the notes.
    seed : int
        Seed of the generator.

    Returns
    -------
    Workload
        ``workload.snapshot()`` has the nodes.

    Raises
    ------
    ValueError
        A parameter is out of its range; the message says which.

    Notes
    -----
    Sessions arrive as a Poisson process whose rate follows hours and weekdays, by thinning (Lewis and
    Shedler, 1979). Each is of a user, drawn by a power law, and has a geometric number of jobs of one size,
    a power of two of processors. Run times are lognormal, longer for larger jobs, alike within a session,
    and cut off. Users ask for the next usual limit above a multiple of the run time.

    Fitted to two logs of the Parallel Workloads Archive, SDSC Blue Horizon (2000 to 2003) and RIKEN RICC (90
    days of 2010), by ``tests/bench/workload_fit.py``, which prints this for as many jobs as they have:

    ============================  =====  =====  ======  ======
    moment (times in s)           SDSC   drawn  RICC    drawn
    ============================  =====  =====  ======  ======
    run time, mean                4,240  2,780  16,814  8,203
    run time, median              219    384    367     512
    run time, 90 %                8,168  5,721  48,014  31,356
    log2 run time, mean           8.62   8.6    9.16    8.93
    log2 run time, deviation      2.99   2.99   4.53    4.25
    processors, mean              41.3   41.8   25.1    25.2
    processor-hours, mean         89.1   90.1   95.2    113
    correlation of logarithms     0.38   0.38   0.16    0.16
    time between jobs, mean       362    367    46.1    55.1
    time between jobs, variation  3.65   2.2    10.3    11.3
    jobs of the busiest user      0.08   0.05   0.3     0.14
    jobs a session                2.62   2.61   28.4    29.8
    ============================  =====  =====  ======  ======

    What is drawn has too few of the longest small jobs: run times are cut so that the work is right.

    The clock is set so that `load` comes out. O(jobs log jobs).

    Examples
    --------
    >>> from evenhand import synthetic
    >>> synthetic.workload(jobs=500, nodes=16, seed=1)
    Workload(500 requests, 500 operations, ...)
    """
    from evenhand.simulate.workload import Workload
    from evenhand.traces._paths import pool_rows

    shape = PROFILES.get(profile) if isinstance(profile, str) else profile
    if not isinstance(shape, Profile):
        said = f"profile is one of {', '.join(PROFILES)}, not {shorten(profile)!r}"
        raise InputError.about("synthetic workload", "profile", "choice", said, shorten(profile))
    nodes = shape.nodes if nodes is None else count_of("synthetic workload", "nodes", nodes)
    load = shape.load if load is None else load
    start = instant_from("synthetic workload", "start", start, 0.0)
    users = shape.users if users is None else count_of("synthetic workload", "users", users)
    rules = {
        f"jobs is at least 1, not {jobs}": jobs >= 1,
        f"nodes is at least 1, not {nodes}": nodes >= 1,
        f"load is above 0 and at most 1000, not {load}": 0 < load <= 1000,
        f"users is at least 1, not {users}": users >= 1,
        f"groups is at least 1, not {groups}": groups >= 1,
    }
    _refuse("synthetic workload", rules)
    drawn = _workload.draw(
        shape, jobs=jobs, nodes=nodes, load=load, users=users, groups=groups, start=start, seed=seed
    )
    user, pool = _workload.names(drawn)
    per_node = shape.processors_per_node
    count = -(-drawn["size"] // per_node)
    paths = np.array(pool, object)
    return Workload(
        {
            "name": [f"j{i:0{len(str(jobs))}d}" for i in range(1, jobs + 1)],
            "user": user,
            "pool": paths,
            "submit_time": drawn["submit"],
            "run_time": drawn["run"],
            "duration": drawn["limit"],
            "count": count,
            "gang": (count > 1) & gangs,
            "resources.cpu": np.minimum(drawn["size"], per_node),
        },
        pools=pool_rows(paths),
        resources={"cpu": {"quantum": 1}},
        machines={
            "name": [f"n{i:0{len(str(nodes))}d}" for i in range(1, nodes + 1)],
            "capacity.cpu": np.full(nodes, per_node, np.int64),
        },
        notes={"profile": profile if isinstance(profile, str) else "given", "seed": seed, "load": load},
    )


def _check(
    pools: int,
    depth: int,
    operations: int,
    allocations: int,
    nodes: int,
    resources: Sequence[str],
    contention: float,
    utilization: float,
) -> None:
    rules = {
        f"depth is at least 1, not {depth}": depth >= 1,
        f"pools is at least depth, not {pools}": pools >= depth,
        f"operations is not negative, as {operations} is": operations >= 0,
        f"allocations is not negative, as {allocations} is": allocations >= 0,
        "allocations need operations": operations > 0 or allocations == 0,
        f"nodes is at least 1, not {nodes}": nodes >= 1,
        f"resources are distinct and among {', '.join(RESOURCES)}, not {', '.join(map(str, resources))}": (
            set(resources) <= set(RESOURCES) and len(set(resources)) == len(resources)
        ),
        "resources include cpu": "cpu" in resources,
        f"utilization is at least 0.001 and at most 1, not {utilization}": 0.001 <= utilization <= 1,
        f"contention is at least utilization, not {contention}": contention >= utilization,
        f"contention is at most 1000, not {contention}": contention <= 1000,
    }
    _refuse("synthetic cluster", rules)


def _refuse(what: str, rules: dict[str, bool]) -> None:
    for rule, holds in rules.items():
        if not holds:
            raise InputError.about(what, None, "range", rule)


def _ages(operations: int, seed: int) -> NDArray[np.int64]:
    """Draw ages in seconds: most operations are young, a few as old as `OLDEST`."""
    u = Stream(seed, "operations.start_time").uniform(operations)
    return np.floor(600 * u / (1.0 - u * (1 - 600 / OLDEST))).astype(np.int64) + 30


def _operations(work: _work.Work, started: NDArray[np.int64], seed: int) -> dict[str, Any]:
    count = len(work.pool)
    stream = Stream(seed, "operations.user")
    # A pool has a handful of users of its own.
    population = max(3, count // 25)
    of_pool = Stream(seed, "pools.users").words(int(work.pool.max(initial=0)) + 1) % np.uint64(population)
    user = (of_pool.astype(np.int64)[work.pool] + stream.integers(0, 5, count)) % population
    weights = (1, 1, 1, 1, 2, 0.5, 3)
    profiles = [_work.PROFILES[p] for p in work.profile.tolist()]
    return {
        "name": work.names(),
        "pool_index": work.pool,
        "user": [_rows.person(u) for u in user.tolist()],
        "weight": [weights[i] for i in Stream(seed, "operations.weight").integers(0, len(weights), count)],
        "kind": [p.kind for p in profiles],
        "gang": work.gang,
        "start_time": started,
    }


def _allocations(
    work: _work.Work,
    machines: _nodes.Machines,
    resources: Sequence[str],
    started: NDArray[np.int64],
    seed: int,
) -> dict[str, Any]:
    operation = np.repeat(np.arange(len(work.pool)), work.running)
    profile = work.profile[operation]
    node = np.empty(len(operation), dtype=np.int64)
    for p, where in enumerate(machines.where):
        node[profile == p] = where
    u = Stream(seed, "allocations.start_time").uniform(len(operation))
    # Members of a gang start together; others come and go while the operation lives.
    u = np.where(work.gang[operation], 0.0, u * u)
    start = started[operation] + np.floor(u * (NOW - started[operation])).astype(np.int64)
    first = np.cumsum(work.running) - work.running
    names = work.names()
    number = np.arange(len(operation)) - first[operation]
    table: dict[str, Any] = {
        "name": [f"{names[o]}/{n}" for o, n in zip(operation.tolist(), number.tolist(), strict=True)],
        "operation_index": operation,
        "node_index": node,
        "start_time": start,
        "checkpointable": np.array([p.checkpointable for p in _work.PROFILES])[profile],
        "rerunnable": np.array([p.rerunnable for p in _work.PROFILES])[profile],
    }
    return table | {f"resources.{r}": work.shape[operation, i] for i, r in enumerate(resources)}


def _requests(
    work: _work.Work, resources: Sequence[str], started: NDArray[np.int64], seed: int
) -> dict[str, Any]:
    operation = np.flatnonzero(work.pending)
    count = len(operation)
    recent, long = Stream(seed, "requests.submit_time").uniform(2 * count).reshape(2, -1)
    unlucky = np.argsort(work.luck[operation], kind="stable")[: int(np.ceil(STARVING * count))]
    starving = np.zeros(count, dtype=bool)
    starving[unlucky] = True
    waited = np.where(starving, 4 * 3600 + long * 3 * 86_400, 5 + recent * recent * 1800)
    # What was not served yet waits since the operation came; the starving ones came long ago.
    submitted = NOW - np.floor(waited).astype(np.int64)
    started[operation] = np.where(
        starving, np.minimum(started[operation], submitted - 60), started[operation]
    )
    names = work.names()
    table: dict[str, Any] = {
        "name": [f"{names[o]}/pending" for o in operation.tolist()],
        "operation_index": operation,
        "count": work.pending[operation],
        "submit_time": np.maximum(submitted, started[operation]),
    }
    return table | {f"resources.{r}": work.shape[operation, i] for i, r in enumerate(resources)}
