"""The parts of the metrics, each a function of a run's columns without a Python loop over rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.reasons import ACTIONS, STARVATION
from evenhand.simulate.loops import loops
from evenhand.simulate.record import NO_TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.simulate.record import Record

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

HOUR = 3_600_000_000
COMPLETED = 1  # codes of outcomes
_INTERRUPTED = (2, 3, 4, 6)  # preempted, aborted, suspended, lost with another part
_PREEMPT = ACTIONS.index("preempt")
_EQUAL = 1e-9  # shares so near each other are equal, as in the core
_AGGRESSIVE = STARVATION.index("aggressively_starving")


@dataclass(frozen=True)
class Window:
    """What counts: instants from `begin` on and before `before`; spans between `begin` and `end`."""

    begin: int
    end: int
    before: int

    @property
    def length(self) -> int:
        """Microseconds."""
        return self.end - self.begin

    @property
    def hours(self) -> float:
        """NaN if it is empty."""
        return self.length / HOUR if self.length else float("nan")

    def has(self, instants: Ints) -> Flags:
        """Tell which instants are in it."""
        return (instants >= self.begin) & (instants < self.before) & (instants != NO_TIME)

    def overlap(self, begin: Ints, end: Ints) -> Ints:
        """Return how long spans are in it; an end of `NO_TIME` is none."""
        last = np.where(end == NO_TIME, self.end, np.minimum(end, self.end))
        return np.maximum(last - np.maximum(begin, self.begin), 0)


def window(record: Record, warm_up: int, until: int | None) -> Window:
    """Return what counts of a run."""
    begin = min(record.begin + warm_up, record.end)
    end = record.end if until is None else max(min(until, record.end), begin)
    # What happens at the run's last instant is in it; what happens at a given end is not.
    return Window(begin, end, np.iinfo(np.int64).max if until is None else until)


def quantile(values: NDArray[Any], percent: int) -> float:
    """Return the smallest value that at least so many percent of the values do not exceed."""
    if not len(values):
        return float("nan")
    return float(np.sort(values)[max(-(-percent * len(values) // 100) - 1, 0)])


def _summary(name: str, values: NDArray[Any], scale: float = 1e6) -> dict[str, float]:
    some = len(values) > 0
    return {
        f"{name}.mean": float(values.sum() / len(values) / scale) if some else float("nan"),
        **{f"{name}.p{p}": quantile(values, p) / scale for p in (50, 90, 95, 99)},
        f"{name}.max": float(values.max() / scale) if some else float("nan"),
    }


def jobs(record: Record, w: Window, bound: int) -> dict[str, float]:
    """Return counts of jobs, waiting times, slowdowns and finish-time fairness."""
    t = record.tables["operations"]
    submit, first, end = (t[name].astype(np.int64) for name in ("submit", "first_start", "end"))
    mine = w.has(submit) & (submit <= record.end)  # others have not come yet
    started = mine & (first != NO_TIME) & (first < w.before)
    ended = mine & (end != NO_TIME) & (end < w.before)
    whole = ~record.cut_off
    work = np.zeros(len(submit), np.int64)
    np.maximum.at(work, record.request_operation, record.work)
    endless = np.zeros(len(submit), np.bool_)
    endless[record.request_operation[record.work == NO_TIME]] = True
    finished = ended & whole & ~endless & (t["lost_count"] == 0)
    response = (end - submit)[finished]
    last = np.maximum(w.end, submit)  # what has not started has waited until then, at least
    slowdown = np.maximum(response / np.maximum(work[finished], bound), 1.0)
    return {
        "jobs": int(mine.sum()),
        "jobs.started": int(started.sum()),
        "jobs.finished": int(ended.sum()),
        "jobs.never_started": int((mine & ~started).sum()),
        "jobs_per_hour": float(w.has(end).sum() / w.hours),
        **_summary("waiting", (first - submit)[started & whole]),
        **_summary("waiting.censored", (np.where(started, first, last) - submit)[mine & whole]),
        **_summary("slowdown", slowdown, 1.0),
        **_fairness(record, finished, submit, end, work),
        "cut_off": int((mine & ~whole).sum()),
        "cut_off.waiting.p50": quantile((first - submit)[started & ~whole], 50) / 1e6,
    }


def _fairness(record: Record, finished: Flags, submit: Ints, end: Ints, work: Ints) -> dict[str, float]:
    """Return how much later jobs end than alone on an equal part of the cluster (Themis, NSDI 2020)."""
    total = np.maximum.reduce(record.capacity, axis=0)
    asked = np.zeros((len(submit), len(total)))
    np.add.at(asked, record.request_operation, record.amounts * record.count[:, None])
    share = np.max(asked / np.where(total > 0, total, np.inf), axis=1, initial=0.0)
    # Jobs that are there, as a function of time that is constant between arrivals and ends.
    last = np.where(end == NO_TIME, record.end, end)
    there = (submit <= record.end) & (submit != NO_TIME)
    times = np.concatenate([submit[there], last[there]])
    steps = np.repeat([1.0, -1.0], int(there.sum()))
    order = np.argsort(times, kind="stable")
    times, present = times[order], np.cumsum(steps[order])
    passed = np.concatenate([[0], np.cumsum(present[:-1] * np.diff(times))]) if len(times) else np.zeros(0)
    # Where several things happen at once, nothing passes between them.
    a, b = (np.searchsorted(times, instants[finished]) for instants in (submit, end))
    span = (end - submit)[finished]
    some = span > 0
    mean = np.ones(len(span))
    mean[some] = (passed[b] - passed[a])[some] / span[some]
    alone = work[finished] * np.maximum(share[finished] * mean, 1.0)
    ratio = (span / np.maximum(alone, 1))[work[finished] > 0]
    return {
        "finish_time_fairness.p50": quantile(ratio, 50),
        "finish_time_fairness.p95": quantile(ratio, 95),
        "finish_time_fairness.max": float(ratio.max()) if len(ratio) else float("nan"),
    }


def starvation(record: Record, w: Window) -> dict[str, float]:
    """Return spells of starvation of operations, and of pools."""
    t = record.tables["spells"]
    operation, pool = t["operation"].astype(np.int64), t["pool"].astype(np.int64)
    found: dict[str, float] = {}
    for name, element in (("starvation", operation), ("starvation.pools", pool)):
        of = element >= 0
        begin, end = t["from"][of].astype(np.int64), t["until"][of].astype(np.int64)
        long = _spells(element[of], begin, end, w)
        lasts = (w.overlap(begin, end) > 0) & ((end == NO_TIME) | (end >= w.before))
        aggressive = w.overlap(begin, end)[t["level"][of] == _AGGRESSIVE]
        found |= {
            f"{name}.spells": len(long),
            f"{name}.open": int(lasts.sum()),
            f"{name}.total": float(long.sum() / 1e6),
            f"{name}.p50": quantile(long, 50) / 1e6,
            f"{name}.p95": quantile(long, 95) / 1e6,
            f"{name}.max": float(long.max() / 1e6) if len(long) else float("nan"),
            f"{name}.aggressive": float(aggressive.sum() / 1e6),
        }
    return found if record.shares else dict.fromkeys(found, float("nan"))


def _spells(element: Ints, begin: Ints, end: Ints, w: Window) -> Ints:
    """Return how long spells last within the window; one that changes its level is one spell."""
    order = np.lexsort((begin, element))
    element, begin = element[order], begin[order]
    end = np.where(end == NO_TIME, np.iinfo(np.int64).max, end)[order]
    goes_on = np.zeros(len(element), np.bool_)
    goes_on[1:] = (element[1:] == element[:-1]) & (begin[1:] == end[:-1])
    spell = np.cumsum(~goes_on) - 1
    inside = w.overlap(begin, end)
    long = np.bincount(spell, inside, int(spell[-1]) + 1 if len(spell) else 0).astype(np.int64)
    return long[long > 0]


def shares(record: Record, w: Window) -> dict[str, float]:
    """Return what pools lacked of their shares, and how evenly they got them; of sampled instants."""
    t = record.tables["series"]
    pools = len(record.parent)
    leaf = np.ones(pools, np.bool_)
    leaf[record.parent[record.parent >= 0]] = False
    order = np.lexsort((t["pool"], t["time"]))
    times = t["time"][order][:: max(pools, 1)].astype(np.int64)
    # A sample stands for what is until the next one.
    span = w.overlap(times, np.append(times[1:], NO_TIME))[:, None]
    hours = span / HOUR
    sampled: Callable[[str], Floats] = lambda name: t[name][order].reshape(-1, pools)[:, leaf]  # noqa: E731
    usage, demand = sampled("usage"), sampled("demand")
    owed = np.minimum(sampled("fair_share"), demand)
    promised = np.minimum(sampled("guarantee"), demand)
    due = (owed * hours).sum(axis=0)
    got = (usage * hours).sum(axis=0)[due > 0] / due[due > 0]
    squares = float((got * got).sum())
    below = np.where(owed - usage > _EQUAL, span, 0) / 1e6
    found = {
        "below_share.total": float(below.sum()),
        "below_share.max": _longest(below),
        "lost_share.fair_share": float((np.maximum(owed - usage, 0) * hours).sum()),
        "lost_share.guarantee": float((np.maximum(promised - usage, 0) * hours).sum()),
        "jain": float(got.sum()) ** 2 / (len(got) * squares) if squares > 0 else float("nan"),
    }
    return found if record.shares else dict.fromkeys(found, float("nan"))


def _longest(below: Floats) -> float:
    """Return the largest sum of numbers above 0 that follow each other in a column; 0 if there are none."""
    sums = np.cumsum(below, axis=0)
    before = np.maximum.accumulate(np.where(below > 0, 0.0, sums), axis=0)
    return float((sums - before).max(initial=0.0))


def resources(record: Record, w: Window) -> dict[str, float]:
    """Return use, useful work and lost work, and what gangs held without being whole."""
    t = record.tables["allocations"]
    request = t["request"].astype(np.int64)
    # Room is held from when others have left it; before, and where they never did, there is none.
    known = (request >= 0) & (t["began"] != NO_TIME)
    request = request[known]
    start, end = (t[name][known].astype(np.int64) for name in ("began", "end"))
    amounts = record.amounts[request]
    ends = w.has(end)
    kept = np.where(ends & (t["outcome"][known] == COMPLETED), t["kept"][known], 0)
    lost = np.where(ends, t["lost"][known], 0)
    until = np.append(record.capacity_time[1:], NO_TIME)
    room = (w.overlap(record.capacity_time, until)[:, None] * record.capacity).sum(axis=0) / HOUR
    held = _hours(w.overlap(start, end), amounts)
    parts = _incomplete(record, w, request, start, end, t["outcome"][known] == COMPLETED)
    thrown = lost[:, None] / HOUR * amounts
    of_each = np.zeros((len(record.pool), amounts.shape[1]))
    np.add.at(of_each, t["operation"][known].astype(np.int64), thrown)
    every, most = of_each.sum(axis=0), of_each.max(axis=0, initial=0.0)
    found: dict[str, float] = {}
    for name, column in (
        ("utilisation", np.divide(held, room, out=np.full(len(room), np.nan), where=room > 0)),
        ("goodput", _hours(kept, amounts)),
        ("lost_work", _hours(lost, amounts)),
        ("lost_work_of_one", np.divide(most, every, out=np.full(len(every), np.nan), where=every > 0)),
        ("incomplete_gangs", parts),
    ):
        found |= {f"{name}.{r}": float(v) for r, v in zip(record.resources, column.tolist(), strict=True)}
    return found


def _hours(micros: Ints, amounts: Floats) -> Floats:
    return (micros[:, None] / HOUR * amounts).sum(axis=0)


def _incomplete(record: Record, w: Window, request: Ints, start: Ints, end: Ints, done: Flags) -> Floats:
    """Return resource-hours held by gangs of which a part neither runs nor has completed."""
    of = record.gang[request] & (record.count[request] > 1)
    request, start, end, done = request[of], start[of], end[of], done[of]
    gone = end != NO_TIME
    time = np.concatenate([start, end[gone]])
    owner = np.concatenate([request, request[gone]])
    runs = np.repeat([1, -1], [len(start), int(gone.sum())])
    ready = np.concatenate([np.zeros(len(start), np.int64), done[gone].astype(np.int64)])
    order = np.lexsort((time, owner))
    time, owner = time[order], owner[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1) != 0)
    length = np.diff(np.append(first, len(owner)))

    def level(steps: Ints) -> Ints:
        every = np.cumsum(steps[order])
        before = np.repeat(every[first] - steps[order][first], length)
        return every - before

    running, completed = level(runs), level(ready)
    following = np.append(time[1:], NO_TIME)
    following[np.append(first[1:], len(owner)) - 1 if len(first) else first] = NO_TIME
    partial = (running > 0) & (running + completed < record.count[owner])
    return _hours(np.where(partial, w.overlap(time, following) * running, 0), record.amounts[owner])


def preemptions(record: Record, w: Window, flap_within: int) -> dict[str, float]:
    """Return how often, why and for what work was preempted."""
    t = record.tables["decisions"]
    of = (t["action"] == _PREEMPT) & w.has(t["time"].astype(np.int64))
    time, operation = t["time"][of].astype(np.int64), t["operation"][of].astype(np.int64)
    count = len(time)
    within = t["within_fair_share"][of] == 1
    times = _distinct(operation, time)
    again = np.bincount(times, minlength=len(record.pool)) if len(times) else np.zeros(0, np.int64)
    again = again[again > 0]
    found: dict[str, float] = {
        "preemptions": count,
        "preemptions_per_hour": count / w.hours,
        "preempted.jobs": len(again),
        "preempted.p95": quantile(again, 95),
        "preempted.max": float(again.max()) if len(again) else float("nan"),
        "preemption_loops": len(loops(record, w.has(record.tables["allocations"]["end"].astype(np.int64)))),
        **_satisfied(record, w, of),
        "flaps": _flaps(record, w, flap_within),
        "victims.within_fair_share": int(within.sum()),
    }
    for name, words in (("stage", record.stages), ("reason", record.reasons)):
        codes = np.bincount(t[name][of].astype(np.int64), minlength=len(words))
        found |= {f"preemptions.{name}.{word}": int(codes[i]) for i, word in enumerate(words) if codes[i]}
    return found


def _distinct(operation: Ints, time: Ints) -> Ints:
    """Return an operation once for each instant at which any of it was preempted."""
    order = np.lexsort((time, operation))
    operation, time = operation[order], time[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(operation) != 0) | (np.diff(time) != 0)
    return operation[new & (operation >= 0)]


def _satisfied(record: Record, w: Window, of: Flags) -> dict[str, float]:
    """Return victims for each request that then got what they left."""
    t, runs = record.tables["decisions"], record.tables["allocations"]
    requests = len(record.count)
    wanted = t["beneficiary_request"][of].astype(np.int64)
    asking = t["beneficiary_operation"][of].astype(np.int64)
    # Where a decision names no request it is for its whole operation.
    key = np.where(wanted >= 0, wanted, np.where(asking >= 0, requests + asking, -1))
    time, key = t["time"][of].astype(np.int64)[key >= 0], key[key >= 0]
    late = np.iinfo(np.int64).max
    first = np.full(requests + len(record.pool), late)
    np.minimum.at(first, key, time)
    last = np.full(len(first), -1 - late)
    started = runs["start"].astype(np.int64)
    own = runs["request"].astype(np.int64)
    counted = (own >= 0) & (started < w.before) & (started != NO_TIME)
    np.maximum.at(last, own[counted], started[counted])
    np.maximum.at(last, requests + runs["operation"].astype(np.int64)[counted], started[counted])
    satisfied = (first != late) & (last >= first)
    victims = int(satisfied[key].sum())
    return {
        "requests.satisfied": int(satisfied.sum()),
        "requests.unsatisfied": int(((first != late) & ~satisfied).sum()),
        "victims.per_satisfied_request": victims / int(satisfied.sum()) if satisfied.any() else float("nan"),
        "victims.in_vain": int(len(key) - victims),
    }


def _flaps(record: Record, w: Window, within: int) -> int:
    """Count interrupted runs whose request starts a run again within a span of time."""
    t = record.tables["allocations"]
    request, start, end = (t[name].astype(np.int64) for name in ("request", "start", "end"))
    left = np.isin(t["outcome"], _INTERRUPTED) & w.has(end) & (request >= 0)
    # Rows stand in the order of starts: what starts behind an end, in a later row, is another run.
    row = np.arange(len(request))
    owner = np.concatenate([request, request[left]])
    time = np.concatenate([start, end[left]])
    step = np.concatenate([2 * row, 2 * row[left] + 1])
    order = np.lexsort((step, time, owner))
    owner, time, is_end = owner[order], time[order], step[order] % 2 == 1
    place = np.where(is_end, len(order), np.arange(len(order)))
    following = np.minimum.accumulate(place[::-1])[::-1][is_end]
    known = following < len(order)
    following, ended = following[known], np.flatnonzero(is_end)[known]
    return int(((owner[following] == owner[ended]) & (time[following] - time[ended] <= within)).sum())
