"""Laws of the Slurm policy about the queue: what its first job gets, what no job behind another one takes.

They follow from the rules of the two passes alone and use no planner. The main pass closes the partition of a
job that has to wait, with all its nodes. The backfill pass keeps nodes for such a job, from its planned
start for as long as its time limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from evenhand.systems.slurm.settings import flags_of, partitions_named
from evenhand.testing._job_rows import (
    add,
    candidates,
    count_of,
    fit,
    free_room,
    is_plain,
    nodes_of,
    request_of,
    running,
    steps,
    without,
)
from evenhand.testing._laws import must

if TYPE_CHECKING:
    from evenhand.systems.slurm.settings import SlurmSettings
    from evenhand.testing.job_laws import JobPlan

__all__ = [
    "closed_partitions_are_not_entered",
    "first_of_the_queue",
    "has_usual_limits",
    "no_preemption_when_it_fits",
    "planned_nodes_are_not_taken",
    "stands_behind",
    "the_first_job_preempts",
    "waits_for_room",
]

_YEAR = 365 * 86_400.0


def no_preemption_when_it_fits(run: JobPlan) -> None:
    """No job is preempted for the first job of the queue if that fits without.

    What leaves already counts for the job that it leaves for.
    """
    first = first_of_the_queue(run)
    for job, victims, free, nodes in steps(run):
        if job != first:
            continue
        must(len(fit(run, job, without(run, free, victims), nodes)) < count_of(run, job), job)


def the_first_job_preempts(run: JobPlan) -> None:
    """If the first job of the queue fits without all that it may preempt, it starts or preempts."""
    job = first_of_the_queue(run)
    if job is None or run.settings.PreemptType is None:
        return
    served = {str(d["operation"]) for d in run.decided("start")}
    served |= {str(d["beneficiary"]["operation"]) for d in run.decided("preempt")}
    odd = any(a.get("state", "running") != "running" for a in run.allocations.values())
    if job in served or odd or not _asks_for_time_it_may_have(run, job):
        return
    must(not _fits_without(run, job, candidates(run, job)), job)


def closed_partitions_are_not_entered(run: JobPlan) -> None:
    """In the main pass no job starts, or preempts, on nodes of a partition where a job before it waits."""
    if not has_usual_limits(run.settings):
        return
    moves = [d for d in run.decided("start", "reserve") if d["stage"] != "backfill"]
    for front in run.jobs if moves else ():
        if not waits_for_room(run, front) or request_of(run, front).get("required_node") is not None:
            continue
        closed = set(nodes_of(run, front, tagged=False))
        for d in moves:
            if stands_behind(run, str(d["operation"]), front):
                must(d["node"] not in closed, (front, d))


def planned_nodes_are_not_taken(run: JobPlan) -> None:
    """With backfill, jobs behind one that waits leave it as many entire nodes as it asks for.

    Asked of the first job of the queue, which is always planned, and of each for which that pass preempts.
    Nodes are kept from the planned start; jobs that end before it may have them. Which nodes the estimate
    names is not known here, only that they are some on which the job fits by then.
    """
    if run.settings.SchedulerType != "sched/backfill" or not has_usual_limits(run.settings):
        return
    served = {str(d["beneficiary"]["operation"]) for d in run.decided("preempt") if d["stage"] == "backfill"}
    first = first_of_the_queue(run)
    for front in sorted(served | ({first} if first is not None else set())):
        if not waits_for_room(run, front):
            continue
        planned = _planned(run, front, known=front in served)
        if planned is None:
            continue
        latest, nodes = planned
        taken = {
            str(d["node"])
            for d in run.decided("start", "reserve")
            if stands_behind(run, str(d["operation"]), front)
            and run.snapshot["now"] + time_limit(run, str(d["operation"])) >= latest
        }
        must(len(set(nodes) - taken) >= count_of(run, front), (front, taken))


# What the laws count with.


def has_usual_limits(settings: SlurmSettings) -> bool:
    """Return whether no setting makes a pass look at fewer jobs, or plan for fewer, than by default."""
    fields = type(settings).model_fields
    limits = [name for name in fields if name.startswith(("bf_", "sched_", "partition_job", "default_queue"))]
    return all(getattr(settings, name) == fields[name].get_default() for name in limits)


def stands_behind(run: JobPlan, job: str, front: str) -> bool:
    """Return whether a job certainly comes after another in the queue.

    By tiers the tier decides, then the priority, then the submission. By QOS that is said only of jobs of one
    QOS in one partition, where the order of all that waits has no circle.
    """
    s, rows = run.settings, list(run.jobs)
    if job == front or s.PriorityType != "priority/basic":
        return False
    if not (is_plain(run, job) and is_plain(run, front)):
        return False
    mine, its = run.jobs[job], run.jobs[front]
    if any(set(row.get("settings", {})) - {"preemption_cost"} for row in (mine, its)):
        return False
    one_tier = len({part.PriorityTier for part in s.partitions.values()}) <= 1
    if s.SchedulerType == "sched/builtin" and one_tier and run.release < "24.11":
        return False
    if s.PreemptType == "preempt/qos":
        alike = mine["partition"] == its["partition"] and mine.get("qos") == its.get("qos")
        if not alike or _may_have_circles(run):
            return False

    def key(name: str) -> tuple[float, float, float, int]:
        row = run.jobs[name]
        tier = s.partitions[row["partition"]].PriorityTier
        return -tier, -float(row.get("priority", 1)), float(row.get("start_time", 0)), rows.index(name)

    return key(front) < key(job)


def _may_have_circles(run: JobPlan) -> bool:
    """Return whether "may preempt", with tier and priority where it says nothing, may go in circles."""
    s = run.settings
    named = (run.jobs[str(r["operation"])].get("qos") for r in run.requests.values())
    waiting = {name for name in named if name is not None}
    several = [s.qos[name] for name in waiting if name in s.qos]
    if len(waiting) < 2 or not any(waiting & set(qos.Preempt) for qos in several):
        return len(waiting) > 1 and any("WITHIN" in flags_of(s, qos) for qos in several)
    mutual = all(waiting & set(qos.Preempt) for qos in several)
    return len(waiting) > 2 or mutual or any(flags_of(s, qos) & {"WITHIN", "PRIORITY"} for qos in several)


def first_of_the_queue(run: JobPlan) -> str | None:
    """Return the job behind which all others certainly stand, if there is one that the laws speak of."""
    waiting = sorted({str(r["operation"]) for r in run.requests.values() if r.get("count", 1)})
    for job in waiting:
        if is_plain(run, job) and all(stands_behind(run, other, job) for other in waiting if other != job):
            return job
    return None


def waits_for_room(run: JobPlan, job: str) -> bool:
    """Return whether a job has to wait only because others run: both passes then hold something for it."""
    if not is_plain(run, job) or job in {str(d["operation"]) for d in run.decided("start")}:
        return False
    if not _asks_for_time_it_may_have(run, job):
        return False
    return len(_suited(run, job)) >= count_of(run, job)


def _planned(run: JobPlan, job: str, known: bool) -> tuple[float, list[str]] | None:
    """Return the latest instant for which a start is planned, and nodes of which some are kept from then on.

    None where it is not certain that there is such a plan; ``known`` says that it is one for now.
    """
    now = float(run.snapshot["now"])
    gone = set(candidates(run, job))
    free = free_room(run)
    for name in gone | {str(d["operation"]) for d in run.decided("preempt")}:
        for a in running(run, name):
            add(free, a.get("node"), a.get("resources", {}), 1)
    soon = fit(run, job, free, nodes_of(run, job))
    if known or _fits_without(run, job, gone):
        return now + 1, soon
    stay = [a for a in run.allocations.values() if str(a["operation"]) not in gone]
    ends = [a.get("planned_end") for a in stay]
    if any(a.get("state", "running") != "running" for a in stay):
        return None
    if any(end is None or not now < end <= now + run.settings.bf_window for end in ends):
        return None
    return max([now + 1, *(float(end) for end in ends if end is not None)]), _suited(run, job)


def _fits_without(run: JobPlan, job: str, gone: Iterable[str]) -> bool:
    """Return whether a job fits in what is free once these have gone."""
    free = free_room(run)
    for name in gone:
        for a in running(run, name):
            add(free, a.get("node"), a.get("resources", {}), 1)
    return len(fit(run, job, free, nodes_of(run, job))) >= count_of(run, job)


def time_limit(run: JobPlan, job: str) -> float:
    """Return the seconds for which a job asks, or those that its partition gives it."""
    part = run.settings.partitions[partitions_named(run.jobs[job]["partition"])[0]]
    asked = request_of(run, job).get("duration")
    limits = (asked, part.DefaultTime, part.MaxTime) if asked is None else (asked,)
    limit = next((float(one) for one in limits if one is not None), _YEAR)
    return limit if part.MaxTime is None else min(limit, part.MaxTime)


def _asks_for_time_it_may_have(run: JobPlan, job: str) -> bool:
    """Return whether a job is eligible, and its time within its partition's."""
    part = run.settings.partitions[partitions_named(run.jobs[job]["partition"])[0]]
    asked = request_of(run, job).get("duration")
    eligible = run.jobs[job].get("settings", {}).get("eligible_time", 0) <= run.snapshot["now"]
    return eligible and (part.MaxTime is None or asked is None or asked <= part.MaxTime)


def _suited(run: JobPlan, job: str) -> list[str]:
    """Return the nodes on which a job fits if nothing else runs."""
    return fit(run, job, free_room(run, empty=True), nodes_of(run, job))
