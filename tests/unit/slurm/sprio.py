"""What ``scontrol -o show job`` and ``sprio`` print, as a snapshot and as factors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.systems.slurm.text.values import seconds

__all__ = ["FORMAT", "compare", "jobs_of", "snapshot_of"]

#: ``sprio -n -o``: the factors, each of 0 to 1; and ``sprio -o "%i|%Y"``: the priorities.
FORMAT = "%i|%a|%b|%f|%j|%p|%q"
_FACTORS = ("age", "assoc", "fairshare", "jobsize", "partition", "qos")


def _instant(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def jobs_of(text: str) -> dict[str, dict[str, str]]:
    """Fields of the jobs of ``scontrol -o show job``, by number."""
    rows = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in text.splitlines() if line.strip()]
    return {row["JobId"]: row for row in rows}


def snapshot_of(
    jobs: Mapping[str, Mapping[str, str]], now: float, nodes: int, cpus: int, memory: int
) -> eh.Snapshot:
    """Jobs that wait, as a snapshot of equal nodes n1, n2 and so on."""
    operations, requests = [], []
    for name, job in jobs.items():
        many = int(job["NumNodes"].split("-")[0])
        held = re.search(r"mem=([\d.]+)([MG])", job["TRES"])
        assert held is not None, job["TRES"]
        mebibytes = float(held[1]) * {"M": 1, "G": 1024}[held[2]]
        settings: dict[str, Any] = {"nice": int(job["Nice"])}
        if job["AccrueTime"] != "Unknown":
            settings["accrue_time"] = _instant(job["AccrueTime"])
        operations.append(
            {
                "name": name,
                "user": job["UserId"].split("(")[0],
                "account": None if job["Account"] == "(null)" else job["Account"],
                "partition": job["Partition"],
                "qos": None if job["QOS"] in ("N/A", "(null)") else job["QOS"],
                "start_time": _instant(job["SubmitTime"]),
                "settings": settings,
            }
        )
        limit = seconds(job["TimeLimit"])
        needs = {"cpu": int(job["NumCPUs"]) / many, "memory": mebibytes / many}
        row = {"name": name, "operation": name, "resources": needs, "count": many}
        requests.append(row | ({} if limit is None else {"duration": limit}))
    return eh.Snapshot.from_dict(
        {
            "now": now,
            "resources": {"cpu": {"quantum": 0.125}, "memory": {"quantum": 0.125}},
            "nodes": [
                {"name": f"n{i}", "capacity": {"cpu": cpus, "memory": memory}} for i in range(1, nodes + 1)
            ],
            "operations": operations,
            "requests": requests,
        }
    )


def compare(
    policy: eh.policies.Slurm,
    jobs: str,
    factors: str,
    priorities: str,
    *,
    nodes: int,
    cpus: int,
    memory: int,
    fair_share_digits: float = 6e-8,
) -> int:
    """Hold a policy against what sprio printed, which is seven digits; return the number of jobs.

    Slurm computes priorities at an instant of its own: the ages that it prints say which.
    """
    known = jobs_of(jobs)
    printed = {cells[0]: cells[1:] for cells in (line.split("|") for line in factors.splitlines() if line)}
    total = dict(line.split("|") for line in priorities.splitlines() if line)
    waiting = {name: known[name] for name in printed}
    oldest = max(waiting, key=lambda name: float(printed[name][0]))
    age = float(printed[oldest][0])
    assert 0 < age < 1, "the age tells the instant only if it is below PriorityMaxAge"
    now = _instant(waiting[oldest]["AccrueTime"]) + round(age * policy.settings.PriorityMaxAge)
    table = policy.priorities(snapshot_of(waiting, now, nodes, cpus, memory), normalised=True)
    rows = {str(name): row for row, name in enumerate(table["name"])}
    for place, factor in enumerate(_FACTORS):
        wanted = [float(printed[name][place]) for name in rows]
        digits = fair_share_digits if factor == "fairshare" else 6e-8
        np.testing.assert_allclose(np.asarray(table[factor]), wanted, rtol=0, atol=digits, err_msg=factor)
    ours = {name: int(table["priority"][row]) for name, row in rows.items()}
    assert ours == {name: int(total[name]) for name in rows}
    return len(rows)
