"""Laws of the Slurm policy about victims: how they leave, whether they suffice, who is needless or left out.

They hold whatever pass a job is served in and however many wait: what a job may count on is what is free when
its victims are told, and what has been told to leave by then. What is promised of the first job of the queue
only is asked where one job waits. Cluster-wide resources, jobs that take whole nodes, reservations and jobs
that suspend others are left to other laws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from evenhand.config.slurm import partitions_named, split_mode
from evenhand.testing._laws import must

if TYPE_CHECKING:
    from evenhand.config.slurm import SlurmSettings
    from evenhand.testing.job_laws import JobPlan

__all__ = [
    "cheaper_ones_go_first",
    "has_usual_limits",
    "is_plain",
    "needless_jobs_stay",
    "nobody_goes_when_it_fits",
    "nothing_passes_onto_promised_nodes",
    "stands_behind",
    "the_only_job_that_waits_preempts",
    "those_who_go_make_room",
    "victims_free_what_they_do_not_keep",
    "victims_leave_by_their_mode",
]

Free = dict[str, dict[str, float]]
_MODES = {"CANCEL": "terminate", "REQUEUE": "requeue", "SUSPEND": "suspend"}


def victims_leave_by_their_mode(run: JobPlan) -> None:
    """Victims leave as their partition or QOS says; what cannot be requeued ends."""
    for d in run.decided("preempt"):
        job = run.jobs[str(d["operation"])]
        own = job.get("settings", {})
        mode = _mode(run, job)
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


def those_who_go_make_room(run: JobPlan) -> None:
    """Jobs for which others leave find room on as many nodes as they ask for, once these have gone."""
    for job, _, free, nodes in _steps(run):
        must(len(_fit(run, job, free, nodes)) >= _count(run, job), job)


def nobody_goes_when_it_fits(run: JobPlan) -> None:
    """Nobody is preempted for a job that fits without; if others wait, nodes may be kept for these."""
    if len({str(r["operation"]) for r in run.requests.values() if r.get("count", 1)}) > 1:
        return
    for job, victims, free, nodes in _steps(run):
        before = _without(run, free, victims)
        must(len(_fit(run, job, before, nodes)) < _count(run, job), job)


def needless_jobs_stay(run: JobPlan) -> None:
    """All victims stand on nodes that can be those of the job; of an irreducible set none can stay."""
    for job, victims, free, nodes in _steps(run):
        fit, count = _fit(run, job, free, nodes), _count(run, job)
        if count > len(fit):  # which another law says
            continue
        places = [{row.get("node") for row in _running(run, victim)} for victim in victims]
        must(any(all(at & set(some) for at in places) for some in combinations(fit, count)), (job, victims))
        if run.settings.victim_selection in ("irreducible", "minimum"):
            for spared in victims:
                left = _fit(run, job, _without(run, free, [spared]), nodes)
                must(len(left) < count, (job, spared))


def cheaper_ones_go_first(run: JobPlan) -> None:
    """No job stays that is wanted before a victim and has the like of it on the same nodes."""
    s = run.settings
    if s.victim_selection == "minimum" and s.victim_cost != "victims":
        return
    taken = {str(d["operation"]) for d in run.decided("preempt")}
    for job, victims, _, _ in _steps(run):
        for victim in victims:
            for other in _candidates(run, job):
                if other in taken or _footprint(run, other) != _footprint(run, victim):
                    continue
                must(not _rank(run, other) < _rank(run, victim), (job, victim, other))


def the_only_job_that_waits_preempts(run: JobPlan) -> None:
    """If only one job waits, and fits once all that it may preempt have gone, it starts or they go."""
    waiting = sorted({str(r["operation"]) for r in run.requests.values() if r.get("count", 1)})
    if len(waiting) != 1 or run.decided("start", "preempt", "resume") or not is_plain(run, waiting[0]):
        return
    job = waiting[0]
    settings, row = run.settings, run.jobs[job]
    odd = any(a.get("state", "running") != "running" for a in run.allocations.values())
    later = row.get("settings", {}).get("eligible_time", 0) > run.snapshot["now"]
    if settings.PreemptType is None or settings.victim_selection == "test_only" or odd or later:
        return
    nodes = _nodes(run, job)
    gone = _candidates(run, job)
    free = _free(run)
    for name in gone:
        for a in _running(run, name):
            _add(free, a.get("node"), a.get("resources", {}), 1)
    must(len(_fit(run, job, free, nodes)) < _count(run, job), job)


def nothing_passes_onto_promised_nodes(run: JobPlan) -> None:
    """On nodes where a job waits for its victims no job behind it in its partition starts.

    By tiers, and with the limits of both passes as they are by default.
    """
    if run.settings.PreemptType != "preempt/partition_prio" or not has_usual_limits(run.settings):
        return
    held: dict[str, set[Any]] = {}
    served = {str(d["beneficiary"]["operation"]) for d in run.decided("preempt")}
    for d in run.decided("reserve"):
        held.setdefault(str(d["operation"]), set()).add(d["node"])
    for d in run.decided("start"):
        for job in served:
            if stands_behind(run, str(d["operation"]), job):
                must(d["node"] not in held.get(job, ()), (job, d))


def has_usual_limits(settings: SlurmSettings) -> bool:
    """Return whether neither pass is told to look at fewer jobs, or to plan for fewer, than by default."""
    fields = type(settings).model_fields
    limits = [name for name in fields if name.startswith(("bf_", "sched_", "partition_job", "default_queue"))]
    return all(getattr(settings, name) == fields[name].get_default() for name in limits)


def stands_behind(run: JobPlan, job: str, front: str) -> bool:
    """Return whether a job comes after another in the queue of the one partition that both name."""
    rows = list(run.jobs)
    if job == front or not (is_plain(run, job) and is_plain(run, front)):
        return False
    mine, its = run.jobs[job], run.jobs[front]
    if mine["partition"] != its["partition"] or mine.get("settings") or its.get("settings"):
        return False

    def key(name: str) -> tuple[float, float, int]:
        row = run.jobs[name]
        return -float(row.get("priority", 1)), float(row.get("start_time", 0)), rows.index(name)

    return key(front) < key(job)


# What the laws count with.


def _steps(run: JobPlan) -> Iterator[tuple[str, list[str], Free, list[str]]]:
    """Yield jobs for which others end: victims, and what is free once these have gone, too."""
    free = _free(run)
    decided = run.plan["decisions"]
    told: set[str] = set()
    for place, d in enumerate(decided):
        if d["action"] == "start" and d["node"] is not None:
            _add(free, d["node"], run.requests[str(d["request"])].get("resources", {}), -1)
        if d["action"] != "preempt" or str(d["operation"]) in told:
            continue
        job = str(d["beneficiary"]["operation"])
        mine = [v for v in decided[place:] if v["action"] == "preempt" and v["step"] == d["step"]]
        victims = list(dict.fromkeys(str(v["operation"]) for v in mine))
        told |= set(victims)
        for v in mine:
            _add(free, v["node"], v["freed"], 1)
        if all(v["mode"] != "suspend" for v in mine) and is_plain(run, job):
            yield job, victims, free, _nodes(run, job)


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
        and "SUSPEND" not in {_mode(run, row) for row in run.jobs.values()}
        and "GANG" not in split_mode(run.settings.PreemptMode)[1]
    )


def _mode(run: JobPlan, job: Mapping[str, Any]) -> str:
    s = run.settings
    if s.PreemptType == "preempt/qos":
        part: Any = s.qos[job["qos"]] if job.get("qos") in s.qos else None
    else:
        part = s.partitions[partitions_named(job["partition"])[0]]
    given = None if part is None else part.PreemptMode
    base = split_mode(s.PreemptMode if given is None else given)[0]
    flags = (job.get("settings", {}).get("signal") or "").split(":")[:-1]
    return "CANCEL" if base == "SUSPEND" and "r" in "".join(flags).lower() else base


def _is_cpu(name: str, space: Mapping[str, Any]) -> bool:
    from evenhand.fields import resource_kind

    return space.get("kind", resource_kind(name)) in ("cpu", "slots")


def _count(run: JobPlan, job: str) -> int:
    return sum(r.get("count", 1) for r in run.requests.values() if str(r["operation"]) == job)


def _need(run: JobPlan, job: str) -> Mapping[str, float]:
    (row,) = (r for r in run.requests.values() if str(r["operation"]) == job and r.get("count", 1))
    return dict(row.get("resources", {}))


def _nodes(run: JobPlan, job: str) -> list[str]:
    """Return the nodes on which a job may run."""
    (row,) = (r for r in run.requests.values() if str(r["operation"]) == job and r.get("count", 1))
    part = run.settings.partitions[partitions_named(run.jobs[job]["partition"])[0]]
    return [
        str(node["name"])
        for node in run.snapshot.get("nodes", ())
        if ("ALL" in part.Nodes or str(node["name"]) in part.Nodes)
        and node.get("schedulable", True)
        and row.get("required_node") in (None, node["name"])
        and set(row.get("node_tags", ())) <= set(node.get("tags", ()))
    ]


def _running(run: JobPlan, job: str) -> list[Mapping[str, Any]]:
    return [a for a in run.allocations.values() if str(a["operation"]) == job]


def _candidates(run: JobPlan, job: str) -> list[str]:
    """Return the jobs that may be preempted for one, by the laws that forbid it."""
    from evenhand.testing.job_laws import nobody_goes_for_a_lower_one, shielded_jobs_stay

    found = []
    inside = set(_nodes(run, job))
    for name in run.jobs:
        own = _running(run, name)
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
            nobody_goes_for_a_lower_one(asked)
            shielded_jobs_stay(asked)
        except AssertionError:
            continue
        found.append(name)
    return found


def _footprint(run: JobPlan, job: str) -> list[Any]:
    return sorted(
        (str(a.get("node")), sorted(a.get("resources", {}).items()), a.get("state", "running"))
        for a in _running(run, job)
    )


def _rank(run: JobPlan, job: str) -> float:
    """Return the number by which victims are wanted, the least first."""
    s, row = run.settings, run.jobs[job]
    if s.youngest_first and "GANG" not in split_mode(s.PreemptMode)[1]:
        return -min(float(a.get("start_time", 0)) for a in _running(run, job))
    if s.PreemptType == "preempt/qos":
        return float(s.qos[row["qos"]].Priority)
    return float(s.partitions[partitions_named(row["partition"])[0]].PriorityTier)


def _free(run: JobPlan) -> Free:
    """Return what is free on every node once those have gone that are leaving already."""
    free: Free = {
        str(node["name"]): {
            r: float(node.get("capacity", {}).get(r, 0))
            for r in run.snapshot["resources"]
            if r not in run.wide
        }
        for node in run.snapshot.get("nodes", ())
    }
    for row in run.allocations.values():
        if row.get("state", "running") != "preempting":
            _add(free, row.get("node"), row.get("resources", {}), -1)
    return free


def _add(free: Free, node: Any, amounts: Mapping[str, float], sign: int) -> None:
    for r, amount in amounts.items():
        if str(node) in free and r in free[str(node)]:
            free[str(node)][r] += sign * amount


def _without(run: JobPlan, free: Free, victims: Sequence[str]) -> Free:
    """Return what is free if these victims stay."""
    rest = {node: dict(amounts) for node, amounts in free.items()}
    for victim in victims:
        for row in _running(run, victim):
            _add(rest, row.get("node"), row.get("resources", {}), -1)
    return rest


def _fit(run: JobPlan, job: str, free: Free, nodes: Sequence[str]) -> list[str]:
    need = _need(run, job)
    return [n for n in nodes if all(free[n].get(r, 0) + 1e-9 >= amount for r, amount in need.items())]
