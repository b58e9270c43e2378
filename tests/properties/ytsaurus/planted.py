"""Defects that are planted into the JSON of plans of YTsaurus; see `planted`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.testing.plan_laws import Planned
from tests.properties.planted import Defect, Plan, copied, last_victim, without, wrong_freed, wrong_mode

__all__ = ["OF_ALLOCATIONS"]


def stage_steps(subject: Planned, stages: tuple[str, ...]) -> dict[Any, list[Mapping[str, Any]]]:
    steps: dict[Any, list[Mapping[str, Any]]] = {}
    for d in subject.victims:
        if d["stage"] in stages:
            steps.setdefault(d["step"], []).append(d)
    return steps


def too_few(subject: Planned) -> Plan | None:
    for victims in stage_steps(subject, ("preemptive", "aggressive")).values():
        return without(copied(subject), lambda d: d != victims[-1])  # noqa: B023
    return None


def one_more(subject: Planned) -> Plan | None:
    plan = copied(subject)
    taken = {d["allocation"] for d in subject.victims}
    for step, victims in stage_steps(subject, ("preemptive", "aggressive")).items():
        for name, row in subject.allocations.items():
            runs = row.get("state", "running") == "running" and row.get("node") == victims[0]["node"]
            if not runs or name in taken or not row.get("resources"):
                continue
            more = {**victims[-1], "allocation": name, "operation": row["operation"]}
            more["freed"] = dict(row["resources"])
            at = last_victim(plan, step)
            plan["decisions"].insert(at + 1, more)
            return plan
    return None


def oldest_first(subject: Planned) -> Plan | None:
    plan = copied(subject)
    for step, victims in stage_steps(subject, ("preemptive",)).items():
        if len(victims) > 1:
            turned = iter(reversed(victims))
            plan["decisions"] = [
                dict(next(turned)) if d["step"] == step and d["action"] == "preempt" else d
                for d in plan["decisions"]
            ]
            return plan
    return None


def older_instead(subject: Planned) -> Plan | None:
    """A victim stays, and an older one of the same operation and size goes in its place."""
    plan = copied(subject)
    taken = {d["allocation"] for d in subject.victims}
    for victims in stage_steps(subject, ("preemptive",)).values():
        for d in victims:
            mine = subject.allocations[d["allocation"]]
            for name, row in subject.allocations.items():
                alike = all(
                    row.get(f) == mine.get(f)
                    for f in ("operation", "node", "resources", "state", "preemptible", "settings")
                )
                started = [a.get("last_job_start_time", a.get("start_time", 0)) for a in (mine, row)]
                saved = any(a.get("last_progress_time") is not None for a in (mine, row))
                once = [v["operation"] for v in subject.plan["decisions"]].count(d["operation"]) == 1
                if alike and name not in taken and started[1] < started[0] and not saved and once:
                    next(v for v in plan["decisions"] if v == d)["allocation"] = name
                    cost = subject.settings.victim_selection == "minimum"
                    return None if cost and subject.settings.victim_cost != "victims" else plan
    return None


def starving_passed_over(subject: Planned) -> Plan | None:
    s = subject.settings
    tops = (
        *subject.snapshot.get("pools", ()),
        subject.snapshot.get("root", {}),
        *subject.operations.values(),
    )
    special = s.default_gpu_full_host_preemption.enable or s.ssd_priority_preemption.enable
    if special or subject.state.get("nodes") or any(row.get("limits") for row in tops):
        return None
    decisions = subject.plan["decisions"]
    for step, victims in stage_steps(subject, ("preemptive",)).items():
        of_node = [d for d in decisions if d["node"] == victims[0]["node"]]
        mine = {d["operation"] for d in of_node}
        elsewhere = {d["operation"] for d in decisions if d not in of_node}
        (served,) = {d["beneficiary"]["operation"] for d in victims}
        starves = subject.status(served, "operation")["starvation"] == "starving"
        cut = all(subject.plan["groups"][str(d["allocation"])] == "preemptible" for d in victims)
        if {d["step"] for d in of_node} == {step} and not mine & elsewhere and starves and cut:
            return without(copied(subject), lambda d: d not in of_node)  # noqa: B023
    return None


def satisfied_preempts(subject: Planned) -> Plan | None:
    """An operation that does not starve is served instead of one that does."""
    plan = copied(subject)
    calm = [
        r
        for r in subject.snapshot.get("requests", ())
        if subject.status(r["operation"], "operation")["starvation"] == "non_starving"
    ]
    pools = [row["name"] for row in subject.snapshot.get("pools", ())]
    if any(subject.status(p, "pool")["starvation"] != "non_starving" for p in (*pools, "<Root>")) or not calm:
        return None
    for step in stage_steps(subject, ("preemptive", "aggressive")):
        whom = {"operation": calm[0]["operation"], "request": calm[0]["name"]}
        for d in plan["decisions"]:
            if d["step"] == step:
                d["beneficiary"] = whom
                if d["action"] == "start":
                    d |= whom
        return plan
    return None


def those_who_have_come_first(subject: Planned) -> Plan | None:
    """What an operation without anything would get, one that has something gets."""
    if subject.snapshot.get("pools") or subject.snapshot.get("root"):
        return None
    rows = (*subject.operations.values(), subject.snapshot.get("root", {}))
    if any(row.get("limits") for row in rows):
        return None
    has = {row["operation"] for row in subject.allocations.values()}
    requests = {r["name"]: r for r in subject.snapshot.get("requests", ())}
    plan = copied(subject)
    decided = {d["operation"] for d in plan["decisions"]}
    for d in plan["decisions"]:
        if d["action"] != "start" or d["stage"] != "regular" or d["operation"] in has:
            continue
        if any(
            a.get("node") == d["node"] and a.get("state") == "preempting"
            for a in subject.allocations.values()
        ):
            continue
        if not requests[d["request"]].get("resources"):
            continue
        for name, row in requests.items():
            if row["operation"] in has - decided and row.get("count", 1):
                d |= {"operation": row["operation"], "request": name}
                d["beneficiary"] = {"operation": row["operation"], "request": name}
                return plan
        return None
    return None


OF_ALLOCATIONS: Mapping[str, tuple[Defect, str]] = {
    "needless victim": (one_more, "no_victim_is_needless"),
    "wrong order": (oldest_first, "newest_victims_first"),
    "wrong victim": (older_instead, "no_newer_twin_is_spared"),
    "wrong mode": (wrong_mode, "victims_are_started_again"),
    "wrong freed": (wrong_freed, "victims_were_running"),
    "too few victims": (too_few, "victims_make_room_for_a_start"),
    "missed preemption": (starving_passed_over, "starving_operations_preempt"),
    "wrong preemptor": (satisfied_preempts, "only_starving_operations_preempt"),
    "past the front": (those_who_have_come_first, "operations_without_room_start_first"),
}
