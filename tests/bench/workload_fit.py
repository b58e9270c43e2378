"""Fit the profiles of synthetic workloads to recorded ones, and say how near they come.

    python -m tests.bench.workload_fit            # both logs in ../shared/traces
    python -m tests.bench.workload_fit LOG.swf.gz --zone -8

Prints the constants of evenhand/synthetic/_profiles.py and, beside each other, moments of the log and of as
many jobs drawn from the rounded constants.
"""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.synthetic._profiles import Profile
from evenhand.synthetic._workload import _work
from tests.shared import SHARED

LOGS = {
    "sdsc": (SHARED / "traces" / "sdsc-blue-2000" / "SDSC-BLUE-2000-4.2-cln.swf.gz", -7.5),
    "ricc": (SHARED / "traces" / "ricc-2010" / "RICC-2010-2_d00-90.swf.gz", 9),
}
BREAK = 1200
"""Seconds without a submission after which a user begins another session."""


def columns(workload: eh.simulate.Workload) -> dict[str, Any]:
    """Submission, run time, processors and user of each job that ran, in order of submission."""
    t, o = workload.table(), workload.operations()
    order = np.argsort(t["submit_time"], kind="stable")
    order = order[np.asarray(t["run_time"])[order] > 0]
    user = np.unique([str(u) for u in o["user"]], return_inverse=True)[1]
    every = {
        "submit": np.asarray(t["submit_time"], float),
        "run": np.asarray(t["run_time"], float),
        "size": np.asarray(t["count"]) * np.asarray(t["resources.cpu"]),
        "user": user,
    }
    return {name: column[order] for name, column in every.items()}


def sessions(c: dict[str, Any]) -> np.ndarray:
    """Session of each job: jobs of a user with less than `BREAK` between them."""
    order = np.lexsort((c["submit"], c["user"]))
    user, submit = c["user"][order], c["submit"][order]
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(user) != 0) | (np.diff(submit) >= BREAK)
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(new) - 1
    return found


def fit(c: dict[str, Any], machine: tuple[int, int], zone: float, start: float) -> Profile:
    """Return the profile of a log."""
    power = np.round(np.log2(c["size"])).astype(int)
    log = np.log2(c["run"])
    slope = float(np.cov(power, log)[0, 1] / np.var(power, ddof=1)) if power.var() > 0 else 0.0
    base = float(log.mean() - slope * power.mean())
    rest = log - base - slope * power
    session = sessions(c)
    count = np.bincount(session)
    mean = np.bincount(session, rest) / count
    # One-way analysis of variance: what sessions explain, beyond what chance would.
    within = float(((rest - mean[session]) ** 2).sum() / (len(rest) - len(count)))
    between = float((count * (mean - rest.mean()) ** 2).sum() / (len(count) - 1))
    size = (len(rest) - float((count.astype(float) ** 2).sum()) / len(rest)) / (len(count) - 1)
    alike = max(0.0, (between - within) / (between - within + size * within))
    local = c["submit"] + start + 3600 * zone
    hours = np.bincount((local // 3600 % 24).astype(int), minlength=24)
    days = np.bincount(((local // 86400 + 3) % 7).astype(int), minlength=7)
    of_user = np.sort(np.bincount(c["user"][np.unique(session, return_index=True)[1]]))[::-1]
    busy = of_user[: max(2, np.count_nonzero(of_user) // 2)]
    zipf = -np.polyfit(np.log(np.arange(1, len(busy) + 1)), np.log(busy), 1)[0]
    order = np.lexsort((c["submit"], session))
    gap = np.diff(c["submit"][order])[np.diff(session[order]) == 0]
    per_node, nodes = machine
    work = float((c["size"] * c["run"]).sum())
    found = Profile(
        processors_per_node=per_node,
        nodes=nodes,
        load=round(work / (per_node * nodes * float(np.ptp(c["submit"]))), 3),
        sizes=tuple(np.round(np.bincount(power) / len(power), 4).tolist()),
        log_run=round(base, 3),
        log_run_by_size=round(slope, 3),
        spread=round(float(rest.std()), 3),
        alike=round(alike, 3),
        longest=float(c["run"].max()),
        hours=tuple(np.round(hours / hours.mean(), 2).tolist()),
        days=tuple(np.round(days / days.mean(), 2).tolist()),
        users=int(c["user"].max()) + 1,
        zipf=round(float(zipf), 2),
        jobs_per_session=round(len(rest) / len(count), 2),
        gap=round(float(gap.mean()), 1),
    )
    return replace(found, longest=cut(found, work / len(rest)))


def cut(profile: Profile, work: float) -> float:
    """Return where run times are cut so that a job has as much work on average as recorded."""
    _, size, run = _work(replace(profile, longest=1e12), 200_000, profile.nodes, seed=1)
    low, high = 1.0, profile.longest
    while high - low > 60:
        middle = (low + high) / 2
        low, high = (middle, high) if (size * np.minimum(run, middle)).mean() < work else (low, middle)
    return float(round(high))


def moments(c: dict[str, Any]) -> dict[str, float]:
    """What a log and a drawn workload are compared by."""
    log, size, run = np.log2(c["run"]), c["size"], c["run"]
    gap = np.diff(c["submit"])
    return {
        "jobs": len(run),
        "days": float(np.ptp(c["submit"])) / 86400,
        "run time, mean": float(run.mean()),
        "run time, median": float(np.median(run)),
        "run time, 90 %": float(np.quantile(run, 0.9)),
        "log2 run time, mean": float(log.mean()),
        "log2 run time, deviation": float(log.std()),
        "processors, mean": float(size.mean()),
        "processor-hours, mean": float((size * run).mean() / 3600),
        "correlation of logarithms": float(np.corrcoef(np.log2(size), log)[0, 1]),
        "time between jobs, mean": float(gap.mean()),
        "time between jobs, variation": float(gap.std() / gap.mean()),
        "jobs of the busiest user": float(np.bincount(c["user"]).max() / len(run)),
        "jobs a session": len(run) / (int(sessions(c).max()) + 1),
    }


def main() -> None:
    """Print constants and moments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", nargs="?", type=Path)
    parser.add_argument("--zone", type=float, default=0, help="hours of local time ahead of UTC")
    given = parser.parse_args()
    logs = {given.log.stem: (given.log, given.zone)} if given.log else LOGS
    for name, (path, zone) in logs.items():
        workload = eh.traces.swf(path)
        c = columns(workload)
        nodes, total = int(workload.notes["MaxNodes"]), int(workload.notes["MaxProcs"])
        profile = fit(c, (total // nodes, nodes), zone, float(workload.notes["UnixStartTime"]))
        print(f"{name.upper()} = Profile(")
        for field in fields(profile):
            print(f"    {field.name}={getattr(profile, field.name)},")
        print(")\n")
        drawn = columns(eh.synthetic.workload(profile=profile, jobs=len(c["run"]), seed=1))
        theirs, ours = moments(c), moments(drawn)
        for word, value in theirs.items():
            print(f"{word:30s} {value:12,.2f} {ours[word]:12,.2f}")
        print()


if __name__ == "__main__":
    main()
