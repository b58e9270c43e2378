"""Metrics of a simulated run by their definitions: one loop a sentence, no arrays, no hurry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from evenhand.simulate.record import NO_TIME, Record

HOUR = 3_600_000_000
NAN = float("nan")
COMPLETED, PREEMPTED, ABORTED, SUSPENDED, LOST_PART = 1, 2, 3, 4, 6
PREEMPT = 1
AGGRESSIVE = 2


def metrics(
    record: Record, *, warm_up: int, until: int | None, bound: int, flap_within: int
) -> dict[str, float]:
    """Return every metric; all times are microseconds."""
    begin = min(record.begin + warm_up, record.end)
    end = record.end if until is None else max(min(until, record.end), begin)

    def has(instant: int) -> bool:
        return instant != NO_TIME and begin <= instant and (until is None or instant < until)

    def overlap(a: int, b: int) -> int:
        return max(0, min(end if b == NO_TIME else b, end) - max(a, begin))

    hours = (end - begin) / HOUR
    window = (has, overlap, hours if end > begin else NAN)
    of_shares = starvation(record, window, until) | shares(record, window)
    if not record.shares:
        of_shares = dict.fromkeys(of_shares, NAN)
    return {
        "hours": hours,
        **jobs(record, window, bound, math.inf if until is None else until, end),
        **of_shares,
        **resources(record, window),
        **preemptions(record, window, flap_within),
    }


Window = tuple[Callable[[int], bool], Callable[[int, int], int], float]
Row = dict[str, Any]


def rows(record: Record, table: str) -> list[Row]:
    """Return a table's rows."""
    columns = {name: column.tolist() for name, column in record.tables[table].items()}
    count = len(next(iter(columns.values())))
    return [{name: column[i] for name, column in columns.items()} for i in range(count)]


def quantile(values: Sequence[float], percent: int) -> float:
    """Return the smallest value that at least so many percent do not exceed."""
    for value in sorted(values):
        if 100 * sum(other <= value for other in values) >= percent * len(values):
            return float(value)
    return NAN


def mean(values: Sequence[float]) -> float:
    """Return the mean, NaN of nothing."""
    return sum(values) / len(values) if values else NAN


def most(values: Sequence[float]) -> float:
    """Return the largest, NaN of nothing."""
    return float(max(values)) if values else NAN


def summary(name: str, values: Sequence[float]) -> dict[str, float]:
    """Return mean, quantiles and maximum."""
    quantiles = {f"{name}.p{p}": quantile(values, p) for p in (50, 90, 95, 99)}
    return {f"{name}.mean": mean(values), **quantiles, f"{name}.max": most(values)}


def jobs(record: Record, window: Window, bound: int, stop: float, last: int) -> dict[str, float]:
    """Counts, waits, slowdowns, fairness."""
    has, _, hours = window
    operations = rows(record, "operations")
    mine = [
        o
        for o in range(len(operations))
        if has(operations[o]["submit"]) and operations[o]["submit"] <= record.end
    ]

    def before(instant: int) -> bool:
        return instant != NO_TIME and instant < stop

    started = [o for o in mine if before(operations[o]["first_start"])]
    ended = [o for o in mine if before(operations[o]["end"])]
    waits: list[float] = []
    cut_waits: list[float] = []
    so_far = [
        (operations[o]["first_start"] if o in started else max(last, operations[o]["submit"]))
        - operations[o]["submit"]
        for o in mine
        if not record.cut_off[o]
    ]
    slow: list[float] = []
    fair: list[float] = []
    for o in started:
        wait = (operations[o]["first_start"] - operations[o]["submit"]) / 1e6
        (cut_waits if record.cut_off[o] else waits).append(wait)
    for o in ended:
        works = [w for q, w in zip(record.request_operation, record.work.tolist(), strict=True) if q == o]
        if record.cut_off[o] or NO_TIME in works or operations[o]["lost_count"]:
            continue
        work = max(works, default=0)
        response = operations[o]["end"] - operations[o]["submit"]
        slow.append(max(1.0, response / max(work, bound)))
        if work > 0:
            fair.append(response / max(1.0, alone(record, operations, o, work)))
    return {
        "jobs": len(mine),
        "jobs.started": len(started),
        "jobs.finished": len(ended),
        "jobs.never_started": len(mine) - len(started),
        "jobs_per_hour": sum(has(o["end"]) for o in operations) / hours,
        **summary("waiting", waits),
        **summary("waiting.censored", [wait / 1e6 for wait in so_far]),
        **summary("slowdown", slow),
        "finish_time_fairness.p50": quantile(fair, 50),
        "finish_time_fairness.p95": quantile(fair, 95),
        "finish_time_fairness.max": most(fair),
        "cut_off": sum(bool(record.cut_off[o]) for o in mine),
        "cut_off.waiting.p50": quantile(cut_waits, 50),
    }


def alone(record: Record, operations: list[Row], o: int, work: int) -> float:
    """Return how long a job takes on its part of the cluster, were it divided among all that are there."""
    share = 0.0
    for r in range(len(record.resources)):
        total = max(row[r] for row in record.capacity.tolist())
        asked = sum(
            record.amounts[q][r] * record.count[q]
            for q in range(len(record.count))
            if record.request_operation[q] == o
        )
        share = max(share, asked / total if total > 0 else 0.0)
    begin, end = operations[o]["submit"], operations[o]["end"]
    present = 0
    for other in operations:
        if other["submit"] == NO_TIME or other["submit"] > record.end:
            continue
        last = record.end if other["end"] == NO_TIME else other["end"]
        present += max(0, min(last, end) - max(other["submit"], begin))
    together = present / (end - begin) if end > begin else 1.0
    return work * max(1.0, share * together)


def starvation(record: Record, window: Window, stop: int | None) -> dict[str, float]:
    """Spells of operations and of pools."""
    found: dict[str, float] = {}
    for name, kind in (("starvation", "operation"), ("starvation.pools", "pool")):
        spells = sorted(
            (s[kind], s["from"], s["until"], s["level"]) for s in rows(record, "spells") if s[kind] >= 0
        )
        joined: list[list[int]] = []
        for element, begin, until, _ in spells:
            if joined and joined[-1][0] == element and joined[-1][2] == begin:
                joined[-1][2] = until
            else:
                joined.append([element, begin, until])
        long = [t / 1e6 for t in (window[1](b, u) for _, b, u in joined) if t > 0]
        found |= {
            f"{name}.spells": len(long),
            f"{name}.open": sum(
                window[1](b, u) > 0 and (u == NO_TIME or (stop is not None and u >= stop))
                for _, b, u in joined
            ),
            f"{name}.total": sum(long),
            f"{name}.p50": quantile(long, 50),
            f"{name}.p95": quantile(long, 95),
            f"{name}.max": most(long),
            f"{name}.aggressive": sum(
                window[1](b, u) / 1e6 for _, b, u, level in spells if level == AGGRESSIVE
            ),
        }
    return found


def shares(record: Record, window: Window) -> dict[str, float]:
    """What pools lacked, and how evenly they got what they were due."""
    leaves = [p for p in range(len(record.parent)) if p not in record.parent.tolist()]
    series = rows(record, "series")
    times = sorted({s["time"] for s in series})
    fair = guarantee = below = longest = 0.0
    lasting = dict.fromkeys(leaves, 0.0)
    due, got = dict.fromkeys(leaves, 0.0), dict.fromkeys(leaves, 0.0)
    for s in sorted(series, key=lambda s: s["time"]):
        if s["pool"] not in leaves:
            continue
        following = times.index(s["time"]) + 1
        until = times[following] if following < len(times) else NO_TIME
        hours = window[1](s["time"], until) / HOUR
        owed = min(s["fair_share"], s["demand"])
        lacks = owed - s["usage"] > 1e-9
        seconds = window[1](s["time"], until) / 1e6
        # A sample without length in the window neither adds to what lasts nor ends it before it began.
        lasting[s["pool"]] = lasting[s["pool"]] + seconds if lacks and seconds else 0.0
        longest = max(longest, lasting[s["pool"]])
        below += seconds if lacks else 0.0
        fair += max(owed - s["usage"], 0) * hours
        guarantee += max(min(s["guarantee"], s["demand"]) - s["usage"], 0) * hours
        due[s["pool"]] += owed * hours
        got[s["pool"]] += s["usage"] * hours
    parts = [got[p] / due[p] for p in leaves if due[p] > 0]
    squares = sum(x * x for x in parts)
    jain = sum(parts) ** 2 / (len(parts) * squares) if squares > 0 else NAN
    return {
        "below_share.total": below,
        "below_share.max": longest,
        "lost_share.fair_share": fair,
        "lost_share.guarantee": guarantee,
        "jain": jain,
    }


def resources(record: Record, window: Window) -> dict[str, float]:
    """Use, useful work, lost work, what incomplete gangs hold."""
    has, overlap, _ = window
    runs = [a for a in rows(record, "allocations") if a["request"] >= 0 and a["began"] != NO_TIME]
    found: dict[str, dict[str, float]] = {
        n: {} for n in ("utilisation", "goodput", "lost_work", "lost_work_of_one", "incomplete_gangs")
    }
    for r, name in enumerate(record.resources):
        room = 0.0
        for k, time in enumerate(record.capacity_time.tolist()):
            until = int(record.capacity_time[k + 1]) if k + 1 < len(record.capacity_time) else NO_TIME
            room += overlap(time, until) / HOUR * record.capacity[k][r]
        held = done = lost = 0.0
        by_one = [0.0] * len(record.pool)
        for a in runs:
            amount = record.amounts[a["request"]][r]
            held += overlap(a["began"], a["end"]) / HOUR * amount
            if has(a["end"]):
                lost += a["lost"] / HOUR * amount
                by_one[a["operation"]] += a["lost"] / HOUR * amount
                done += a["kept"] / HOUR * amount if a["outcome"] == COMPLETED else 0.0
        found["utilisation"][name] = held / room if room > 0 else NAN
        found["goodput"][name] = done
        found["lost_work"][name] = lost
        found["lost_work_of_one"][name] = max(by_one, default=0.0) / lost if lost > 0 else NAN
        found["incomplete_gangs"][name] = sum(
            incomplete(record, runs, q, overlap) / HOUR * record.amounts[q][r]
            for q in range(len(record.count))
            if record.gang[q] and record.count[q] > 1
        )
    return {f"{metric}.{name}": value for metric, by in found.items() for name, value in by.items()}


def incomplete(record: Record, runs: list[Row], request: int, overlap: Callable[[int, int], int]) -> float:
    """Return allocation time of a gang while a part of it neither runs nor has completed."""
    own = [a for a in runs if a["request"] == request]
    instants = sorted({t for a in own for t in (a["began"], a["end"]) if t != NO_TIME})
    held = 0
    for i, at in enumerate(instants):
        running = sum(a["began"] <= at and (a["end"] == NO_TIME or a["end"] > at) for a in own)
        done = sum(a["outcome"] == COMPLETED and a["end"] != NO_TIME and a["end"] <= at for a in own)
        if running > 0 and running + done < record.count[request]:
            held += running * overlap(at, instants[i + 1] if i + 1 < len(instants) else NO_TIME)
    return held


def loops(record: Record, window: Window) -> int:
    """Count the jobs that lose their work three times in a day, with nothing kept between."""
    runs = rows(record, "allocations")
    found = 0
    for job in range(len(record.pool)):
        own = [a for a in runs if a["operation"] == job and a["request"] >= 0 and window[0](a["end"])]
        lost: list[int] = []
        looping = False
        for time in sorted({a["end"] for a in own}):
            here = [a for a in own if a["end"] == time]
            had = [runs[a["resumed_from"]]["kept"] if a["resumed_from"] >= 0 else 0 for a in here]
            if any(a["outcome"] == COMPLETED or a["kept"] > h for a, h in zip(here, had, strict=True)):
                lost = []
            elif any(
                a["outcome"] in (PREEMPTED, ABORTED, LOST_PART) and a["decision"] >= 0 and a["lost"] > 0
                for a in here
            ):
                lost.append(time)
            looping |= len(lost) >= 3 and lost[-1] - lost[-3] <= 24 * HOUR
        found += looping
    return found


def preemptions(record: Record, window: Window, flap_within: int) -> dict[str, float]:
    """How often, why and for what."""
    has, _, hours = window
    decided = [d for d in rows(record, "decisions") if d["action"] == PREEMPT and has(d["time"])]
    runs = rows(record, "allocations")
    instants = {(d["operation"], d["time"]) for d in decided if d["operation"] >= 0}
    jobs_ = sorted({o for o, _ in instants})
    often = [sum(o == job for o, _ in instants) for job in jobs_]
    first: dict[tuple[str, int], int] = {}
    victims: dict[tuple[str, int], int] = {}
    for d in decided:
        if d["beneficiary_request"] >= 0:
            key = ("request", d["beneficiary_request"])
        elif d["beneficiary_operation"] >= 0:
            key = ("operation", d["beneficiary_operation"])
        else:
            continue
        first[key] = min(first.get(key, d["time"]), d["time"])
        victims[key] = victims.get(key, 0) + 1

    def served(key: tuple[str, int]) -> bool:
        kind, row = key
        return any(
            a["request"] >= 0 and a[kind] == row and a["start"] >= first[key] and has(a["start"])
            for a in runs
        )

    satisfied = [key for key in first if served(key)]
    flaps = 0
    for i, a in enumerate(runs):
        if a["outcome"] in (PREEMPTED, ABORTED, SUSPENDED, LOST_PART) and a["request"] >= 0 and has(a["end"]):
            flaps += any(
                b["request"] == a["request"] and a["end"] <= b["start"] <= a["end"] + flap_within
                for b in runs[i + 1 :]
            )
    found: dict[str, float] = {
        "preemptions": len(decided),
        "preemptions_per_hour": len(decided) / hours,
        "preempted.jobs": len(jobs_),
        "preempted.p95": quantile(often, 95),
        "preempted.max": most(often),
        "preemption_loops": loops(record, window),
        "requests.satisfied": len(satisfied),
        "requests.unsatisfied": len(first) - len(satisfied),
        "victims.per_satisfied_request": mean([victims[key] for key in satisfied]),
        "victims.in_vain": sum(victims[key] for key in first if key not in satisfied),
        "flaps": flaps,
        "victims.within_fair_share": sum(d["within_fair_share"] == 1 for d in decided),
    }
    for name, words in (("stage", record.stages), ("reason", record.reasons)):
        found |= counted(f"preemptions.{name}", (words[d[name]] for d in decided))
    return found


def counted(head: str, words: Iterable[str]) -> dict[str, float]:
    """Count words."""
    found: dict[str, float] = {}
    for word in words:
        found[f"{head}.{word}"] = found.get(f"{head}.{word}", 0) + 1
    return found


def same(a: float, b: float) -> bool:
    """Tell whether two numbers are equal but for rounding; NaN equals NaN."""
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
