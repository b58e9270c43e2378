"""Requests for preemption: refused, or remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.reference.gridengine.world import Job, World


@dataclass(frozen=True)
class Accepted:
    """What the next scheduling run is to carry out for a consumer."""

    action: str  # a letter, or "configured"
    providers: tuple[str, ...]
    forced: bool


def named(world: World, name: str) -> list[Job]:
    """Jobs that a command means."""
    if name in world.jobs:
        return [world.jobs[name]]
    found = [job for job in world.jobs.values() if job.name.startswith(f"{name}.")]
    found = found or [job for job in world.jobs.values() if job.job_name == name]
    return [job for job in found if job.some("running")] or found


def judge(world: World, command: Mapping[str, Any]) -> str | tuple[str, Accepted]:
    """Return the rule that refuses a command, or its consumer and what is accepted."""
    s = world.settings
    if s.max_reservation == 0:
        return "reservation_disabled"
    if s.max_preemptees == 0:
        return "preemption_disabled"
    consumers = named(world, command["consumer"])
    if len(consumers) != 1 or not consumers[0].requests:
        return "consumer_not_pending"
    (consumer,) = consumers
    if not any(row.get("reserve") for row in consumer.requests):
        return "consumer_without_reservation"
    user, manager = command.get("user") or "", command.get("manager", False)
    names = list(command.get("providers") or ())
    found: list[Job] = []
    if not names and not manager:
        found = [
            job
            for job in world.jobs.values()
            if world.is_provider(job)
            and all(a.get("preemptible", True) for a in job.some("running"))
            and job.user == user != ""
            and job.priority < consumer.priority
        ]
        if not found:
            return "provider_not_running"
        needs = {"C": world.checkpointable, "R": world.rerunnable}.get(command.get("action") or "")
        found = sorted((job for job in found if needs is None or needs(job)), key=world.turn)
        if not found:
            return "provider_not_checkpointable" if command["action"] == "C" else "provider_not_rerunnable"
    for name in names:
        jobs = named(world, name)
        if not jobs:
            return "provider_not_running"
        found += [job for job in jobs if job not in found]
    if not all(world.is_provider(job) for job in found):
        return "provider_not_running"
    if not manager and any(job.user != user or not user for job in found):
        return "not_owner"
    if any(job.priority >= consumer.priority for job in found):
        return "provider_not_lower_priority"
    action = command.get("action") or ("P" if names else "configured")
    forced = bool(command.get("force") and manager)
    if action == "C" and not all(map(world.checkpointable, found)):
        return "provider_not_checkpointable"
    if action == "R" and not forced and not all(map(world.rerunnable, found)):
        return "provider_not_rerunnable"
    return consumer.name, Accepted(action, tuple(job.name for job in found), forced)
