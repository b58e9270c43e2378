"""Drawn workloads: sessions of users that come by the hours of the day, and their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.synthetic import _rows
from evenhand.synthetic._exact import exp2, exponential, log2, normal
from evenhand.synthetic._profiles import Profile
from evenhand.synthetic._stream import Stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

#: Seconds that people ask for: a quarter of an hour to three days.
LIMITS = tuple(round(3600 * h) for h in (0.25, 0.5, 1, 2, 4, 8, 12, 18, 24, 36, 48, 72, 96))
_HOUR = 3600.0
_WEEK = 7 * 24


def draw(
    profile: Profile, *, jobs: int, nodes: int, load: float, users: int, groups: int, start: float, seed: int
) -> dict[str, Any]:
    """Return columns of jobs in order of submission."""
    session, size, run = _work(profile, jobs, nodes, seed)
    sessions = int(session[-1]) + 1
    capacity = nodes * profile.processors_per_node
    span = float(np.cumsum(size * run)[-1]) / (capacity * load)
    begin = arrivals(profile, sessions, span, start, seed)
    user = Stream(seed, "workload.user").pick(powers(users, profile.zipf), sessions)
    # Active users are spread over the groups like all others.
    of_user = Stream(seed, "workload.group").integers(0, groups, users)
    gaps = np.floor(exponential(Stream(seed, "workload.gap"), jobs) * profile.gap)
    first = np.flatnonzero(np.diff(session, prepend=-1))
    passed = np.cumsum(gaps)
    submit = np.floor(begin)[session] + passed - passed[first][session]
    limit = _limits(run, seed)
    order = np.argsort(submit, kind="stable")
    return {
        "submit": submit[order],
        "run": run[order],
        "limit": limit[order],
        "size": size[order],
        "user": user[session][order],
        "group": of_user[user[session]][order],
        "session": session[order],
    }


def _work(profile: Profile, jobs: int, nodes: int, seed: int) -> tuple[Ints, Ints, Floats]:
    """Return each job's session, processors and run time; jobs of a session have one size."""
    # As many sessions as hold the jobs: geometric numbers of them, at least one each.
    rate = 1.0 / profile.jobs_per_session
    lengths: list[NDArray[np.float64]] = []
    stream = Stream(seed, "workload.session")
    while not lengths or sum(float(x.sum()) for x in lengths) < jobs:
        u = 1.0 - stream.uniform(max(16, round(1.2 * jobs * rate)))
        bottom = log2(np.array([1.0 - rate])) if rate < 1 else np.array([-np.inf])
        lengths.append(1.0 + np.floor(log2(u) / bottom))
    session = np.repeat(np.arange(sum(map(len, lengths))), np.concatenate(lengths).astype(np.int64))[:jobs]
    sessions = int(session[-1]) + 1
    power = Stream(seed, "workload.size").pick(profile.sizes, sessions)
    largest = (nodes * profile.processors_per_node).bit_length() - 1
    power = np.minimum(power, largest)[session]
    mine = np.sqrt(1.0 - profile.alike) * normal(Stream(seed, "workload.run"), jobs)
    common = np.sqrt(profile.alike) * normal(Stream(seed, "workload.like"), sessions)[session]
    log = profile.log_run + profile.log_run_by_size * power + profile.spread * (mine + common)
    run = np.clip(np.floor(exp2(log)), 1.0, profile.longest)
    return session, np.int64(1) << power, run


def arrivals(profile: Profile, count: int, span: float, start: float, seed: int) -> Floats:
    """Draw instants of a Poisson process whose rate has the profile's hours and days, by thinning.

    Candidates come at the highest rate; each stays with the probability that the rate of its hour is of the
    highest one (Lewis and Shedler, 1979).
    """
    weight = (np.array(profile.days)[:, None] * np.array(profile.hours)[None, :]).ravel()
    top, mean = float(weight.max()), float(np.cumsum(weight)[-1]) / _WEEK
    gap = span / count * mean / top
    times, kept = Stream(seed, "workload.arrival"), Stream(seed, "workload.thinning")
    found: list[Floats] = []
    at, have = start, 0
    while have < count:
        candidates = at + np.cumsum(
            exponential(times, max(64, round(1.3 * (count - have) * top / mean))) * gap
        )
        at = float(candidates[-1])
        # Days of the week count from a Monday, as 1970-01-05 was one.
        hour = np.floor(candidates / _HOUR).astype(np.int64) - 4 * 24
        stays = kept.uniform(len(candidates)) * top < weight[hour % _WEEK]
        found.append(candidates[stays])
        have += int(stays.sum())
    return np.concatenate(found)[:count]


def powers(count: int, exponent: float) -> Floats:
    """Return n to the power of minus the exponent, for n from 1 on."""
    return exp2(-exponent * log2(np.arange(1, count + 1).astype(np.float64)))


def _limits(run: Floats, seed: int) -> Floats:
    """Draw what users ask for: the next usual limit above a multiple of the run time."""
    u = Stream(seed, "workload.limit").uniform(len(run))
    wanted = run / np.maximum(u, 0.02)
    at = np.searchsorted(LIMITS, wanted)
    beyond = np.maximum(run, LIMITS[-1])
    return np.where(at < len(LIMITS), np.array(LIMITS)[np.minimum(at, len(LIMITS) - 1)], beyond).astype(
        np.float64
    )


def names(drawn: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the user and the pool of each job."""
    people = [_rows.person(u) for u in range(int(drawn["user"].max()) + 1)]
    user = [people[u] for u in drawn["user"].tolist()]
    pool = [f"group{g + 1}/{u}" for g, u in zip(drawn["group"].tolist(), user, strict=True)]
    return user, pool
