"""Defects that are planted into the JSON of real plans, by system.

A defect is a function of a subject (a plan and what it was made of) that returns the plan with the defect,
or None where it cannot be planted, or would be no defect.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from evenhand.testing._job_rows import steps
from evenhand.testing.job_laws import JobPlan
from evenhand.testing.priority_laws import Scheduled

Plan = dict[str, Any]
Defect = Callable[[Any], Plan | None]
MODES = ("terminate", "requeue", "suspend")


def copied(subject: Any) -> Plan:
    plan: Plan = copy.deepcopy(dict(subject.plan))
    return plan


def first(plan: Plan, action: str, **cells: Any) -> dict[str, Any] | None:
    for d in plan["decisions"]:
        if d["action"] == action and all(d[field] == value for field, value in cells.items()):
            found: dict[str, Any] = d
            return found
    return None


def wrong_mode(subject: Any) -> Plan | None:
    plan = copied(subject)
    victim = first(plan, "preempt")
    if victim is None:
        return None
    victim["mode"] = next(mode for mode in MODES if mode != victim["mode"])
    return plan


def wrong_freed(subject: Any) -> Plan | None:
    plan = copied(subject)
    victim = next((d for d in plan["decisions"] if d["action"] == "preempt" and d["freed"]), None)
    if victim is None:
        return None
    victim["freed"][next(iter(victim["freed"]))] += 1
    return plan


def victims_of(plan: Plan) -> dict[Any, list[str]]:
    """Return by step the operations that are preempted for somebody, in order."""
    found: dict[Any, list[str]] = {}
    for d in plan["decisions"]:
        if d["action"] == "preempt" and d["beneficiary"] and d["operation"] not in found.get(d["step"], ()):
            found.setdefault(d["step"], []).append(d["operation"])
    return found


def last_victim(plan: Plan, step: Any) -> int:
    decisions = enumerate(plan["decisions"])
    return max(i for i, d in decisions if d["step"] == step and d["action"] == "preempt")


def without(plan: Plan, keep: Callable[[Mapping[str, Any]], bool]) -> Plan:
    plan["decisions"] = [d for d in plan["decisions"] if keep(d)]
    return plan


# Whole jobs and sessions.


def too_few_jobs(subject: Any) -> Plan | None:
    plan = copied(subject)
    for step, jobs in victims_of(plan).items():
        for job in jobs[::-1]:
            left = [other for other in jobs if other != job]
            if left and told_of(subject, plan, step) and not enough(subject, plan, step, left):
                return without(
                    plan,
                    lambda d: (d["step"], d["action"], d["operation"]) != (step, "preempt", job),  # noqa: B023
                )
    return None


def enough(subject: Any, plan: Plan, step: Any, jobs: list[str]) -> bool:
    """Whether a job of Slurm finds nodes enough once these have gone, others that leave included."""
    if not isinstance(subject, JobPlan):
        return False
    row = first(plan, "preempt", step=step)
    assert row is not None
    (asks,) = (r for r in subject.requests.values() if r["operation"] == row["beneficiary"]["operation"])
    all_gone = {d["operation"] for d in plan["decisions"] if d["action"] == "preempt" and d["step"] != step}
    free = {node["name"]: dict(node.get("capacity", {})) for node in subject.snapshot["nodes"]}
    for a in subject.allocations.values():
        stays = a["operation"] not in (*jobs, *all_gone) and a.get("state", "running") != "preempting"
        for r, amount in a.get("resources", {}).items():
            free[a["node"]][r] = free[a["node"]].get(r, 0) - (amount if stays else 0)
    need = asks.get("resources", {})
    fit = [node for node, room in free.items() if all(room.get(r, 0) >= a for r, a in need.items())]
    return len(fit) >= asks.get("count", 1)


def one_job_more(subject: Any) -> Plan | None:
    plan = copied(subject)
    found = victims_of(plan)
    taken = {job for jobs in found.values() for job in jobs}
    for step, jobs in found.items():
        row = first(plan, "preempt", step=step)
        if row is None or not told_of(subject, plan, step):
            continue
        for job in subject.jobs:
            own = [a for a in subject.allocations.values() if str(a["operation"]) == job]
            if not own or job in taken or any(a.get("state", "running") != "running" for a in own):
                continue
            if isinstance(subject, JobPlan) and not needless(subject, row, jobs, own):
                continue
            last = last_victim(plan, step)
            more = [
                {**row, "allocation": a["name"], "operation": a["operation"], "node": a.get("node")}
                | {"freed": dict(a.get("resources", {})), "kept": {}}
                for a in own
            ]
            plan["decisions"][last + 1 : last + 1] = more
            return plan
    return None


def told_of(subject: Any, plan: Plan, step: Any) -> bool:
    """Whether the laws of victims speak of a step: under Slurm not of each, see `_job_rows.steps`."""
    row = first(plan, "preempt", step=step)
    if row is None or not isinstance(subject, JobPlan):
        return row is not None
    return row["beneficiary"]["operation"] in {job for job, *_ in steps(replace(subject, plan=plan))}


def needless(subject: JobPlan, row: Mapping[str, Any], jobs: list[str], own: list[Any]) -> bool:
    """Whether another victim is of no use: where sets are irreducible, or it stands elsewhere."""
    if subject.settings.victim_selection in ("irreducible", "minimum"):
        return True
    asked = [r for r in subject.requests.values() if r["operation"] == row["beneficiary"]["operation"]]
    there = {a.get("node") for a in subject.allocations.values() if a["operation"] in jobs}
    return sum(r.get("count", 1) for r in asked) == 1 and not there & {a.get("node") for a in own}


def reversed_sessions(subject: Scheduled) -> Plan | None:
    plan = copied(subject)
    for step, jobs in victims_of(plan).items():
        if len(jobs) > 1 and subject.settings.victim_selection != "minimum":
            mine = [d for d in plan["decisions"] if d["step"] == step and d["action"] == "preempt"]
            turned = iter(sorted(mine, key=lambda d: -jobs.index(d["operation"])))
            plan["decisions"] = [next(turned) if d in mine else d for d in plan["decisions"]]
            return plan
    return None


def dearer(subject: JobPlan, twin: str, job: str) -> bool:
    """Whether a job that has the same as another one is wanted after it."""
    s, rows = subject.settings, (subject.jobs[twin], subject.jobs[job])
    if s.youngest_first or (s.victim_selection == "minimum" and s.victim_cost != "victims"):
        return False
    if s.PreemptType == "preempt/qos":
        ranks = [s.qos[row["qos"]].Priority for row in rows]
    else:
        ranks = [s.partitions[row["partition"]].PriorityTier for row in rows]
    return ranks[0] > ranks[1]


def dearer_twin(subject: JobPlan) -> Plan | None:
    """Instead of a victim its twin of a higher tier goes."""
    plan = copied(subject)
    taken = {d["operation"] for d in plan["decisions"] if d["action"] == "preempt"}
    for job in sorted(taken):
        row = first(plan, "preempt", operation=job)
        if row is None or not told_of(subject, plan, row["step"]):
            continue
        twin = f"{job}-twin"
        if twin not in subject.jobs or twin in taken or not dearer(subject, twin, job):
            continue
        for d in plan["decisions"]:
            if d["action"] == "preempt" and d["operation"] == job:
                d |= {"operation": twin, "allocation": f"{d['allocation']}-twin"}
        return plan
    return None


def no_preemption(subject: Any) -> Plan | None:
    """The first for whom others leave is passed over."""
    plan = copied(subject)
    victim = first(plan, "preempt")
    if victim is None or (isinstance(subject, JobPlan) and first(plan, "start") is not None):
        return None
    if isinstance(subject, JobPlan):
        victims = [d for d in plan["decisions"] if d["action"] == "preempt"]
        waiting = {r["operation"] for r in subject.requests.values() if r.get("count", 1)}
        told = len(waiting) == 1 and told_of(subject, plan, victim["step"])
        whom = victim["beneficiary"]["operation"]
        if subject.settings.PreemptType == "preempt/qos":  # of those of one QOS the law says nothing
            told &= all(subject.jobs[d["operation"]]["qos"] != subject.jobs[whom]["qos"] for d in victims)
        odd = any(a.get("state", "running") != "running" for a in subject.allocations.values())
        return without(plan, lambda d: False) if told and not odd else None
    return without(plan, lambda d: d["step"] != victim["step"])


def dearer_set(subject: Scheduled) -> Plan | None:
    fewest = subject.settings.victim_selection == "minimum" and subject.settings.victim_area == "group"
    return one_job_more(subject) if fewest else None


def gone_for_one_that_fits(subject: Scheduled) -> Plan | None:
    """The first that starts waits instead, for a session of lower priority."""
    plan = copied(subject)
    started = first(plan, "start", reason="fits_free_room")
    if started is None or started["step"] != 0:
        return None
    for row in subject.allocations.values():
        rank = subject.rank(row["operation"]) < subject.rank(started["operation"])
        if rank and row.get("state", "running") == "running" and row["operation"] != started["operation"]:
            victim = {**started, "action": "preempt", "reason": "lower_priority", "mode": "terminate"}
            victim |= {"allocation": row["name"], "operation": row["operation"], "node": row.get("node")}
            victim |= {"request": None, "freed": dict(row.get("resources", {})), "kept": {}}
            mine = [d for d in plan["decisions"] if d["step"] == started["step"]]
            plan["decisions"] = [victim, *(d for d in plan["decisions"] if d not in mine)]
            return plan
    return None


def start_of(request: Mapping[str, Any], node: Any) -> dict[str, Any]:
    return {
        **dict.fromkeys(("allocation", "mode", "grace", "until", "victim_within_fair_share")),
        "action": "start",
        "operation": request["operation"],
        "request": request["name"],
        "node": node,
        "at": 1000.0,
        "reason": "fits_free_room",
        "numbers": {},
        "stage": "scheduling_run",
        "step": 99,
        "beneficiary": {"operation": request["operation"], "request": request["name"]},
        "freed": {},
        "kept": {},
    }


def past_the_front(subject: Scheduled) -> Plan | None:
    plan = copied(subject)
    behind = {r["request"] for r in plan["refusals"] if r["rule"] == "behind_first_waiting"}
    for job in subject.jobs:
        asks = [r for r in subject.requests.values() if r["operation"] == job and r.get("count", 1)]
        if asks and all(r["name"] in behind for r in asks):
            node = next(iter(subject.snapshot["nodes"]))["name"]
            started = {r["name"] for r in asks}
            plan["refusals"] = [r for r in plan["refusals"] if r["request"] not in started]
            plan["decisions"] += [start_of(r, node) for r in asks for _ in range(r.get("count", 1))]
            return plan
    return None


# Defect, what plants it, and the law that says so; another law may say so, too.
OF_SESSIONS: Mapping[str, tuple[Defect, str]] = {
    "needless victim": (one_job_more, "no_victim_is_needless"),
    "wrong order": (reversed_sessions, "victims_in_the_order_of_settings"),
    "wrong mode": (wrong_mode, "victims_leave_by_the_mode"),
    "wrong freed": (wrong_freed, "victims_free_what_they_do_not_keep"),
    "too few victims": (too_few_jobs, "victims_suffice"),
    "missed preemption": (no_preemption, "every_entitled_session_preempts"),
    "past the front": (past_the_front, "no_start_behind_a_waiting_session"),
    "gone for one that fits": (gone_for_one_that_fits, "no_preemption_when_it_fits"),
    "need not served": (too_few_jobs, "a_served_session_preempts_no_more"),
    "dearer set": (dearer_set, "fewest_cost_no_more"),
}
OF_JOBS: Mapping[str, tuple[Defect, str]] = {
    "needless victim": (one_job_more, "no_victim_is_needless"),
    "wrong order": (dearer_twin, "cheaper_victims_first"),
    "wrong mode": (wrong_mode, "victims_leave_by_their_mode"),
    "wrong freed": (wrong_freed, "victims_free_what_they_do_not_keep"),
    "too few victims": (too_few_jobs, "victims_make_room"),
    "missed preemption": (no_preemption, "the_first_job_preempts"),
}
