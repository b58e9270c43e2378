"""What the laws of the Slurm policy count with: rows of a job, its nodes, free room, possible victims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.systems.slurm.settings import partitions_named, split_mode

if TYPE_CHECKING:
    from evenhand.testing.job_laws import JobPlan

__all__ = [
    "Free",
    "add",
    "candidates",
    "count_of",
    "fit",
    "free_room",
    "is_plain",
    "mode_of",
    "nodes_of",
    "request_of",
    "running",
    "steps",
    "without",
]

Free = dict[str, dict[str, float]]


def steps(run: JobPlan) -> Iterator[tuple[str, list[str], Free, list[str]]]:
    """Yield jobs for which others end: victims, and what is free for the job once these have gone, too.

    What is leaving counts for the job that it leaves for. Where others may count on it, too, in its grace
    time, only the first step is yielded, if nothing leaves yet.
    """
    again = run.settings.victim_selection == "reorder" and _has_grace(run)
    if again and any(a.get("state", "running") == "preempting" for a in run.allocations.values()):
        return
    now = free_room(run, leaving=False)
    decided = run.plan["decisions"]
    seen: set[str] = set()
    for place, d in enumerate(decided):
        if d["action"] == "start" and d["node"] is not None:
            add(now, d["node"], run.requests[str(d["request"])].get("resources", {}), -1)
        if d["action"] != "preempt" or str(d["operation"]) in seen:
            continue
        job = str(d["beneficiary"]["operation"])
        mine = [v for v in decided[place:] if v["action"] == "preempt" and v["step"] == d["step"]]
        victims = list(dict.fromkeys(str(v["operation"]) for v in mine))
        seen |= set(victims)
        free = without(run, now, [])
        for row in run.allocations.values():
            if row.get("state", "running") == "preempting" and _leaves_for(run, row, job):
                add(free, row.get("node"), row.get("resources", {}), 1)
        for v in mine:
            add(free, v["node"], v["freed"], 1)
        if all(v["mode"] != "suspend" for v in mine) and is_plain(run, job):
            yield job, victims, free, nodes_of(run, job)
        if again:
            return


def _has_grace(run: JobPlan) -> bool:
    s = run.settings
    parts = (*s.partitions.values(), *s.qos.values())
    leaving = [a for a in run.allocations.values() if a.get("state", "running") == "preempting"]
    return any(part.GraceTime for part in parts) or any(
        (a.get("deadline") or 0) > run.snapshot["now"] for a in leaving
    )


def is_plain(run: JobPlan, job: str) -> bool:
    """Return whether the laws speak of a job: one request, one partition that is up, and shared nodes."""
    asks = [r for r in run.requests.values() if str(r["operation"]) == job and r.get("count", 1)]
    named = partitions_named(run.jobs[job]["partition"])
    rows = (*run.allocations.values(), *asks)
    return (
        len(asks) == 1
        and len(named) == 1
        and run.settings.partitions[named[0]].State == "UP"
        and not run.snapshot.get("reservations")
        and not any(set(row.get("resources", {})) & run.wide for row in rows)
        and not any(run.takes_whole_nodes(name) for name in run.jobs)
        and not any(row.get("state", "running") in ("suspended", "preempted") for row in rows)
        and "SUSPEND" not in {mode_of(run, row) for row in run.jobs.values()}
        and "GANG" not in split_mode(run.settings.PreemptMode)[1]
    )


def mode_of(run: JobPlan, job: Mapping[str, Any]) -> str:
    """Return the mode by which a job is preempted, before it is seen whether it can be requeued."""
    s = run.settings
    if s.PreemptType == "preempt/qos":
        part: Any = s.qos[job["qos"]] if job.get("qos") in s.qos else None
    else:
        part = s.partitions[partitions_named(job["partition"])[0]]
    given = None if part is None else part.PreemptMode
    base = split_mode(s.PreemptMode if given is None else given)[0]
    flags = (job.get("settings", {}).get("signal") or "").split(":")[:-1]
    return "CANCEL" if base == "SUSPEND" and "r" in "".join(flags).lower() else base


def count_of(run: JobPlan, job: str) -> int:
    """Return on how many nodes a job asks to run."""
    return sum(r.get("count", 1) for r in run.requests.values() if str(r["operation"]) == job)


def request_of(run: JobPlan, job: str) -> Mapping[str, Any]:
    """Return the one request of a plain job."""
    (row,) = (r for r in run.requests.values() if str(r["operation"]) == job and r.get("count", 1))
    return row


def nodes_of(run: JobPlan, job: str, *, tagged: bool = True) -> list[str]:
    """Return the nodes on which a job may run or, unless ``tagged``, all of its partition."""
    row = request_of(run, job)
    part = run.settings.partitions[partitions_named(run.jobs[job]["partition"])[0]]
    return [
        str(node["name"])
        for node in run.snapshot.get("nodes", ())
        if ("ALL" in part.Nodes or str(node["name"]) in part.Nodes)
        and (not tagged or node.get("schedulable", True))
        and (not tagged or row.get("required_node") in (None, node["name"]))
        and (not tagged or set(row.get("node_tags", ())) <= set(node.get("tags", ())))
    ]


def running(run: JobPlan, job: str) -> list[Mapping[str, Any]]:
    """Return what a job has."""
    return [a for a in run.allocations.values() if str(a["operation"]) == job]


def candidates(run: JobPlan, job: str) -> list[str]:
    """Return the jobs that may be preempted for one, by the laws that forbid it."""
    from evenhand.testing.job_laws import protected_jobs_stay, victims_have_lower_priority

    found = []
    inside = set(nodes_of(run, job))
    for name in run.jobs:
        own = running(run, name)
        if not own or any(a.get("state", "running") != "running" for a in own):
            continue
        if not inside & {str(a.get("node")) for a in own}:
            continue
        if run.settings.PreemptType == "preempt/qos" and run.jobs[name]["qos"] == run.jobs[job]["qos"]:
            continue  # only WITHIN lets it go
        decision = {
            "action": "preempt",
            "operation": name,
            "mode": "requeue",
            "beneficiary": {"operation": job},
        }
        asked = type(run)(run.snapshot, {"decisions": [decision]}, run.settings)
        try:
            victims_have_lower_priority(asked)
            protected_jobs_stay(asked)
        except AssertionError:
            continue
        found.append(name)
    return found


def _leaves_for(run: JobPlan, row: Mapping[str, Any], job: str) -> bool:
    """Return whether an allocation that leaves does so for a job."""
    whom = row.get("beneficiary") or {}
    request = run.requests.get(str(whom.get("request")), {})
    return job in (whom.get("operation"), request.get("operation"))


def free_room(run: JobPlan, *, empty: bool = False, leaving: bool = True) -> Free:
    """Return what is free on each node, once what is leaving has gone if ``leaving``; if ``empty``, all."""
    free: Free = {
        str(node["name"]): {
            r: float(node.get("capacity", {}).get(r, 0))
            for r in run.snapshot["resources"]
            if r not in run.wide
        }
        for node in run.snapshot.get("nodes", ())
    }
    for row in run.allocations.values():
        if not empty and not (leaving and row.get("state", "running") == "preempting"):
            add(free, row.get("node"), row.get("resources", {}), -1)
    return free


def add(free: Free, node: Any, amounts: Mapping[str, float], sign: int) -> None:
    """Add amounts to what is free on a node (1), or take them off it (-1)."""
    for r, amount in amounts.items():
        if str(node) in free and r in free[str(node)]:
            free[str(node)][r] += sign * amount


def without(run: JobPlan, free: Free, victims: Sequence[str]) -> Free:
    """Return what is free if these victims stay."""
    rest = {node: dict(amounts) for node, amounts in free.items()}
    for victim in victims:
        for row in running(run, victim):
            add(rest, row.get("node"), row.get("resources", {}), -1)
    return rest


def fit(run: JobPlan, job: str, free: Free, nodes: Sequence[str]) -> list[str]:
    """Return those of some nodes on which a job fits, each with its request."""
    need = request_of(run, job).get("resources", {})
    return [n for n in nodes if all(free[n].get(r, 0) + 1e-9 >= amount for r, amount in need.items())]
