"""What the core takes beside rows: clocks, how often pools are sampled, events of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import SEED, plain, refuse, seconds_of, taken
from evenhand.building.problems import kind_of
from evenhand.errors import InputError, Problem, shorten
from evenhand.simulate.workload import NODE_EVENTS, Workload

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["clocks_of", "event_columns", "generator", "sampling", "span"]

_SAMPLES = 1000
#: Rows of samples that a run has at most unless it is said how often they are taken.
_SAMPLED_ROWS = 2_000_000


def clocks_of(policy: Any, given: Mapping[str, Any]) -> dict[str, int]:
    """Return the microseconds of a policy's clocks, of which some are given."""
    known = policy.CLOCKS
    problems = []
    found = {name: round(seconds * 1e6) for name, seconds in known.items()}
    for name, value in given.items():
        if name not in known:
            message = f"{type(policy).__name__} has no clock {name}; it has {', '.join(known)}"
            problems.append(Problem("simulation", None, None, name, "unknown_field", None, message))
            continue
        try:
            micros = span(name, value)
        except InputError as error:
            problems.extend(error.problems)
            continue
        if micros < (0 if name.endswith("delay") else 1):
            message = f"{name} is {shorten(value)}; it must be positive"
            problems.append(Problem("simulation", None, None, name, "range", shorten(value), message))
        found[name] = micros
    if problems:
        raise InputError(problems)
    return found


def span(name: str, value: Any) -> int:
    """Return a span of time in microseconds."""
    return round(seconds_of("simulation", name, value) * 1e6)


def sampling(given: Any, workload: Workload, pools: int) -> dict[str, int]:
    """Return the microseconds between samples, and after how many of them spans get longer (0: never)."""
    if given is not None:
        every = span("series_every", given)
        if every == 0 and plain(given) != 0:
            said = f"is {shorten(given)}; it must be 0, or a microsecond at least"
            raise refuse("simulation", "series_every", given, "range", said)
        return {"series_every": every, "series_evenly": 0}
    samples = max(min(_SAMPLES, _SAMPLED_ROWS // pools), 1)
    every = max(round((workload.end - workload.begin) * 1e6) // samples, 1_000_000)
    return {"series_every": every, "series_evenly": 2 * samples}


def generator(function: str, name: str, rng: Any) -> int | np.random.Generator | None:
    """Return what an order is drawn by: a generator, or what one begins with."""
    rng = plain(rng)
    if rng is None or isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, int):
        said = f"is {kind_of(rng)}; it must be a whole number, or a generator of numpy.random"
        raise refuse(function, name, rng, "type", said)
    found: int = taken(function, name, rng, SEED)
    return found


def event_columns(events: Mapping[str, Any], nodes: Mapping[str, int], snapshot: Snapshot) -> dict[str, Any]:
    """Return events of nodes as columns."""
    names = [str(name) for name in events["node"].tolist()]
    if strange := [name for name in names if name not in nodes]:
        message = f"an event is of {strange[0]!r}, which is no node of the snapshot"
        raise InputError([Problem("nodes", None, None, "node", "exists", repr(strange[0]), message)])
    capacity = np.zeros((len(names), len(snapshot.resources)), np.int64)
    usual = np.asarray(snapshot._core.column("nodes", "capacity"))
    rows = np.array([nodes[name] for name in names], np.int32)
    before = {row: usual[row].copy() for row in set(rows.tolist())}
    for i, (row, word) in enumerate(zip(rows.tolist(), events["event"].tolist(), strict=True)):
        if word == "capacity":
            for r, (resource, quantum) in enumerate(snapshot.quantum.items()):
                cell = events.get(f"capacity.{resource}")
                if cell is not None and cell[i] is not None and cell[i] == cell[i]:
                    before[row][r] = round(float(cell[i]) / quantum)
        capacity[i] = before[row]
    return {
        "event_time": events["micros"].astype(np.int64),
        "event_node": rows,
        "event": np.array([NODE_EVENTS.index(word) for word in events["event"].tolist()], np.uint8),
        "event_capacity": capacity,
    }
