"""Laws of the Slurm policy about victims: how they leave, whether they suffice, which are needless.

They hold whatever pass a job is served in and however many wait: what a job may count on is what is free when
its victims are chosen, and what is leaving by then. Cluster-wide resources, jobs that take whole
nodes, reservations and jobs that suspend others are left to other laws.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.systems.slurm.settings import partitions_named, split_mode
from evenhand.testing._job_rows import candidates, count_of, fit, mode_of, running, steps, without
from evenhand.testing._laws import must

if TYPE_CHECKING:
    from evenhand.testing.job_laws import JobPlan

__all__ = [
    "cheaper_victims_first",
    "no_victim_is_needless",
    "victims_free_what_they_do_not_keep",
    "victims_leave_by_their_mode",
    "victims_make_room",
]

_MODES = {"CANCEL": "terminate", "REQUEUE": "requeue", "SUSPEND": "suspend"}


def victims_leave_by_their_mode(run: JobPlan) -> None:
    """Victims leave as their partition or QOS says; what cannot be requeued ends."""
    for d in run.decided("preempt"):
        job = run.jobs[str(d["operation"])]
        own = job.get("settings", {})
        mode = mode_of(run, job)
        again = own.get("requeue", run.settings.JobRequeue) if own.get("requeue") is not None else None
        again = run.settings.JobRequeue if again is None else again
        if mode == "REQUEUE" and (not again or job.get("kind", "batch") != "batch"):
            mode = "CANCEL"
        must(d["mode"] == _MODES.get(mode), d)


def victims_free_what_they_do_not_keep(run: JobPlan) -> None:
    """Jobs that end free all that they have; suspended ones free their cpus and slots."""
    spaces = run.snapshot["resources"]
    for d in run.decided("preempt"):
        row = run.allocations[str(d["allocation"])]
        has = {r: amount for r, amount in row.get("resources", {}).items() if amount}
        gives = {r: a for r, a in has.items() if d["mode"] != "suspend" or _is_cpu(r, spaces[r])}
        must({r: a for r, a in d["freed"].items() if a} == gives, d)
        must({r: a for r, a in d["kept"].items() if a} == {r: a for r, a in has.items() if r not in gives}, d)
        must((d["operation"], d["node"]) == (row["operation"], row.get("node")), d)


def victims_make_room(run: JobPlan) -> None:
    """Jobs that preempt fit on as many nodes as they ask for once their victims have left."""
    for job, _, free, nodes in steps(run):
        must(len(fit(run, job, free, nodes)) >= count_of(run, job), job)


def no_victim_is_needless(run: JobPlan) -> None:
    """All victims stand on nodes that the job takes; of an irreducible set none can stay.

    Of these nodes: others may be closed to the job, or kept for one before it.
    """
    for job, victims, free, _ in steps(run):
        nodes = [str(d["node"]) for d in run.decided("reserve") if str(d["operation"]) == job]
        for victim in victims:
            must(any(row.get("node") in nodes for row in running(run, victim)), (job, victim))
        if run.settings.victim_selection in ("irreducible", "minimum"):
            for spared in victims:
                left = fit(run, job, without(run, free, [spared]), nodes)
                must(len(left) < count_of(run, job), (job, spared))


def cheaper_victims_first(run: JobPlan) -> None:
    """No job is spared that comes before a victim in the order and has the same on the same nodes."""
    s = run.settings
    if s.victim_selection == "minimum" and s.victim_cost != "victims":
        return
    taken = {str(d["operation"]) for d in run.decided("preempt")}
    for job, victims, _, _ in steps(run):
        for victim in victims:
            for other in candidates(run, job):
                if other in taken or _footprint(run, other) != _footprint(run, victim):
                    continue
                must(not _rank(run, other) < _rank(run, victim), (job, victim, other))


# What the laws count with.


def _is_cpu(name: str, space: Mapping[str, Any]) -> bool:
    from evenhand.fields import resource_kind

    return space.get("kind", resource_kind(name)) in ("cpu", "slots")


def _footprint(run: JobPlan, job: str) -> list[Any]:
    return sorted(
        (str(a.get("node")), sorted(a.get("resources", {}).items()), a.get("state", "running"))
        for a in running(run, job)
    )


def _rank(run: JobPlan, job: str) -> float:
    """Return the number by which victims are wanted, the least first."""
    s, row = run.settings, run.jobs[job]
    if s.youngest_first and "GANG" not in split_mode(s.PreemptMode)[1]:
        return -min(float(a.get("start_time", 0)) for a in running(run, job))
    if s.PreemptType == "preempt/qos":
        return float(s.qos[row["qos"]].Priority)
    return float(s.partitions[partitions_named(row["partition"])[0]].PriorityTier)
