"""Defects of plans of Slurm where several jobs wait: one passes another before it; see `planted`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.testing._job_queue_laws import (
    first_of_the_queue,
    has_usual_limits,
    stands_behind,
    waits_for_room,
)
from evenhand.testing._job_rows import candidates, count_of, running
from evenhand.testing.job_laws import JobPlan
from tests.properties.planted import Defect, Plan, copied, start_of, told_of

__all__ = ["OF_QUEUES"]

LONGEST = 7200
"""Seconds after which all that runs has ended."""


def room(subject: JobPlan) -> dict[str, dict[str, float]]:
    """What is free at once, the plan's starts carried out."""
    free = {node["name"]: dict(node.get("capacity", {})) for node in subject.snapshot["nodes"]}
    rows = [(a["node"], a["resources"]) for a in subject.allocations.values()]
    rows += [(d["node"], subject.requests[d["request"]]["resources"]) for d in subject.decided("start")]
    for node, amounts in rows:
        for r, amount in amounts.items():
            free[node][r] = free[node].get(r, 0) - amount
    return free


def behind(subject: JobPlan, front: str) -> Iterator[Mapping[str, Any]]:
    """Yield the refused requests of jobs that stand behind one in its partition, and wait for no victims."""
    served = {d["operation"] for d in subject.decided("reserve")}
    for refusal in subject.plan["refusals"]:
        request = subject.requests[str(refusal["request"])]
        job = request["operation"]
        alike = subject.jobs[job]["partition"] == subject.jobs[front]["partition"]
        if alike and job not in served and stands_behind(subject, job, front):
            yield request


def inside(subject: JobPlan, job: str) -> list[str]:
    """The names of the nodes of a job's partition."""
    nodes = subject.settings.partitions[subject.jobs[job]["partition"]].Nodes
    return [n["name"] for n in subject.snapshot["nodes"] if "ALL" in nodes or n["name"] in nodes]


def started(subject: JobPlan, request: Mapping[str, Any], stage: str) -> Plan | None:
    """The plan with a start of a refused request more, if there is free room for it."""
    free, need = room(subject), request.get("resources", {})
    fit = [
        n
        for n in inside(subject, str(request["operation"]))
        if all(free[n].get(r, 0) >= a for r, a in need.items())
    ]
    if len(fit) < request.get("count", 1):
        return None
    plan = copied(subject)
    plan["refusals"] = [r for r in plan["refusals"] if r["request"] != request["name"]]
    plan["decisions"] += [start_of(request, n) | {"stage": stage} for n in fit[: request.get("count", 1)]]
    return plan


def starts_in_a_closed_partition(subject: JobPlan) -> Plan | None:
    for front in subject.jobs if has_usual_limits(subject.settings) else ():
        if not waits_for_room(subject, front):
            continue
        for request in behind(subject, front):
            plan = started(subject, request, "scheduling_run")
            if plan is not None:
                return plan
    return None


def starts_on_kept_nodes(subject: JobPlan) -> Plan | None:
    """The first job wants all nodes of its partition; a long one behind it starts on some of them."""
    front = first_of_the_queue(subject)
    if front is None or subject.settings.SchedulerType != "sched/backfill":
        return None
    gone = candidates(subject, front)
    stay = [a for a in subject.allocations.values() if a["operation"] not in gone]
    if any(a.get("planned_end") is None or a.get("state", "running") != "running" for a in stay):
        return None
    if count_of(subject, front) != len(inside(subject, front)) or not waits_for_room(subject, front):
        return None
    if not has_usual_limits(subject.settings):
        return None
    for request in behind(subject, front):
        if (request.get("duration") or LONGEST) >= LONGEST:
            plan = started(subject, request, "backfill")
            if plan is not None:
                return plan
    return None


def preempts_in_a_closed_partition(subject: JobPlan) -> Plan | None:
    taken = {d["operation"] for d in subject.decided("preempt")}
    for front in subject.jobs if has_usual_limits(subject.settings) else ():
        if not waits_for_room(subject, front):
            continue
        for request in behind(subject, front):
            for victim in candidates(subject, request["operation"]):
                own = running(subject, victim)
                enough = all(
                    own[0]["resources"].get(r, 0) >= a for r, a in request.get("resources", {}).items()
                )
                at_home = own[0]["node"] in inside(subject, front)
                if request.get("count", 1) == 1 and victim not in taken and enough and at_home:
                    return preempting(subject, request, own)
    return None


def preempting(subject: JobPlan, request: Mapping[str, Any], own: list[Mapping[str, Any]]) -> Plan:
    """The plan with a preemption more, of all that a job has, for a request that takes its first node."""
    plan = copied(subject)
    job = subject.jobs[own[0]["operation"]]
    s = subject.settings
    part: Any = s.qos[job["qos"]] if s.PreemptType == "preempt/qos" else s.partitions[job["partition"]]
    mode = {"REQUEUE": "requeue"}.get((part.PreemptMode or s.PreemptMode).split(",")[0], "terminate")
    base = start_of(request, own[0]["node"])
    for a in own:
        more = {"action": "preempt", "allocation": a["name"], "operation": a["operation"], "node": a["node"]}
        more |= {
            "request": None,
            "mode": mode,
            "freed": dict(a["resources"]),
            "reason": "higher_partition_tier",
        }
        plan["decisions"].append({**base, **more})
    plan["decisions"].append({**base, "action": "reserve", "reason": "room_reserved"})
    return plan


def preempts_for_the_first_that_fits(subject: JobPlan) -> Plan | None:
    """The first job of the queue starts; instead another one is preempted for it."""
    first = first_of_the_queue(subject)
    mine = [d for d in subject.decided("start") if d["operation"] == first]
    if first is None or len(mine) != 1 or subject.settings.victim_selection in ("irreducible", "minimum"):
        return None
    for victim in candidates(subject, first):
        own = running(subject, victim)
        if own[0]["node"] == mine[0]["node"]:
            request = subject.requests[str(mine[0]["request"])]
            rest = copied(subject)
            rest["decisions"] = [d for d in rest["decisions"] if d["operation"] != first]
            rest["refusals"] = [*rest["refusals"], {"request": request["name"], "rule": "waits_for_victims"}]
            plan = preempting(JobPlan(subject.snapshot, rest, subject.settings), request, own)
            plan["decisions"] = [*plan["decisions"][-len(own) - 1 :], *plan["decisions"][: -len(own) - 1]]
            return plan if told_of(subject, plan, plan["decisions"][0]["step"]) else None
    return None


OF_QUEUES: Mapping[str, tuple[Defect, str]] = {
    "past the front": (starts_in_a_closed_partition, "closed_partitions_are_not_entered"),
    "past the front in backfill": (starts_on_kept_nodes, "planned_nodes_are_not_taken"),
    "victims past the front": (preempts_in_a_closed_partition, "closed_partitions_are_not_entered"),
    "gone for one that fits": (preempts_for_the_first_that_fits, "no_preemption_when_it_fits"),
}
