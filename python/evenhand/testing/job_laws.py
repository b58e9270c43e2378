"""Laws that every plan of the Slurm policy obeys, as named functions over the plan's JSON.

A law takes a `JobPlan` and raises `AssertionError`; `check_jobs` runs them all.

Not promised: that no victim is useless (jobs on a chosen node go whether needed or not, unless
``victim_selection`` is "irreducible" or "minimum"), and that a job that others are preempted for gets their
room: nothing is reserved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from evenhand.systems.slurm.releases import RELEASES, release_of
from evenhand.systems.slurm.settings import flags_of, partitions_named, split_mode
from evenhand.testing import _job_queue_laws as of_queues
from evenhand.testing import _job_victim_laws as of_victims
from evenhand.testing._laws import PlanOfJobs, hold_all, must

if TYPE_CHECKING:
    from evenhand.systems.slurm.settings import SlurmSettings

__all__ = ["LAWS", "JobPlan", "check_jobs"]


@dataclass(frozen=True)
class JobPlan(PlanOfJobs):
    """A scheduling run and what it was made of; see `PlanOfJobs`."""

    settings: SlurmSettings

    @cached_property
    def release(self) -> str:
        """Release by whose rules the plan was made."""
        version = (self.snapshot.get("root") or {}).get("settings", {}).get("slurm_version")
        return self.settings.release or (release_of(version) if version else None) or RELEASES[-1]

    @cached_property
    def wide(self) -> set[str]:
        """Resources that are counted for the cluster as a whole."""
        return {r for r, spec in self.snapshot["resources"].items() if spec.get("scope") == "cluster"}

    def takes_whole_nodes(self, job: str) -> bool:
        """Whether no other job may be on a job's nodes."""
        row, s = self.jobs[job], self.settings
        partition = s.partitions.get(row.get("partition", ""))
        apart = partition is not None and partition.OverSubscribe == "EXCLUSIVE"
        return apart or s.SelectType == "select/linear" or bool(row.get("settings", {}).get("exclusive"))

    def room(self, *, at_once: bool = False) -> dict[tuple[str | None, str], float]:
        """Return free room by node and resource; cluster-wide: node None.

        Once all victims have gone or, ``at_once``, while only those have that are suspended for others.
        """
        wide = self.wide
        room: dict[tuple[str | None, str], float] = {
            (str(node["name"]), r): float(node.get("capacity", {}).get(r, 0))
            for node in self.snapshot.get("nodes", ())
            for r in self.snapshot["resources"]
        }
        room |= {(None, r): float(self.snapshot["resources"][r].get("capacity", 0)) for r in wide}
        gone = {
            str(d["allocation"]): d["kept"]
            for d in self.decided("preempt")
            if d["mode"] == "suspend" or not at_once
        }
        resumed = {str(d["allocation"]) for d in self.decided("resume")}
        for name, row in self.allocations.items():
            holds = gone.get(name, row.get("resources", {}))
            if row.get("state", "running") == "preempting" and not at_once:
                holds = {}
            if row.get("state", "running") == "preempted" and name not in resumed:
                holds = row.get("held", {})
            for r, amount in holds.items():
                place = None if r in wide else row.get("node")
                if (place, r) in room:
                    room[place, r] -= amount
        return room


def victims_have_lower_priority(run: JobPlan) -> None:
    """No job is preempted by equal or lower priority, as the type of preemption defines it."""
    s = run.settings
    for d in run.decided("preempt"):
        victim, asks = run.jobs[str(d["operation"])], run.jobs[str(d["beneficiary"]["operation"])]
        must(victim is not asks, d)
        mine, its = asks.get("priority", 1), victim.get("priority", 1)
        if s.PreemptType == "preempt/partition_prio":
            tiers = [
                max(s.partitions[name].PriorityTier for name in partitions_named(job["partition"]))
                for job in (victim, asks)
            ]
            must(tiers[0] < tiers[1], d)
            named = [s.partitions[name] for name in partitions_named(asks["partition"])]
            must(mine >= its or any("PRIORITY" not in flags_of(s, part) for part in named), d)
        elif victim["qos"] == asks["qos"]:
            must(mine > its, d)
        else:
            must(victim["qos"] in s.qos[asks["qos"]].Preempt, d)
            must("PRIORITY" not in flags_of(s, s.qos[asks["qos"]]) or mine > its, d)


def protected_jobs_stay(run: JobPlan) -> None:
    """Jobs above the exempt priority, within the exempt time, opted out or of mode OFF are not preempted."""
    s = run.settings
    for d in run.decided("preempt"):
        job = run.jobs[str(d["operation"])]
        own = [a for a in run.allocations.values() if a["operation"] == job["name"]]
        part = (
            s.partitions[job["partition"]] if s.PreemptType == "preempt/partition_prio" else s.qos[job["qos"]]
        )
        must(split_mode(part.PreemptMode or s.PreemptMode)[0] != "OFF", d)
        must(s.min_exempt_priority is None or job.get("priority", 1) <= s.min_exempt_priority, d)
        must(all(a.get("preemptible", True) for a in own), d)
        ran = max(run.snapshot["now"] - min(a.get("start_time", 0) for a in own), 0)
        by_release = s.gang_exempt_time == "by_release" and run.release < "26.05"
        ignored = d["mode"] == "suspend" and (s.gang_exempt_time == "ignored" or by_release)
        must(ran >= (s.PreemptExemptTime or 0) or ignored, d)


def jobs_leave_as_a_whole(run: JobPlan) -> None:
    """All allocations of a victim leave, in one mode, for one job, once."""
    taken = [str(d["allocation"]) for d in run.decided("preempt")]
    must(len(taken) == len(set(taken)), taken)
    for job in {str(d["operation"]) for d in run.decided("preempt")}:
        mine = [d for d in run.decided("preempt") if d["operation"] == job]
        must(len({(d["mode"], d["step"], d["beneficiary"]["operation"]) for d in mine}) == 1, mine)
        runs = {
            name
            for name, a in run.allocations.items()
            if a["operation"] == job and a.get("state", "running") in ("running", "suspended")
        }
        must(runs == {str(d["allocation"]) for d in mine}, job)


def beneficiaries_fit_afterwards(run: JobPlan) -> None:
    """Every job that starts or preempts fits once the victims have left; no job is preempted in vain.

    What is reserved for others is no room. Jobs that preempt are checked one by one: room is tied to none of
    them, and one may start, or count on room, where another one does.
    """
    placed = {str(d["operation"]) for d in run.decided("start", "reserve")}
    together = list(run.decided("start"))
    alone = [
        [d for d in run.decided("reserve") if str(d["operation"]) == job]
        for job in {str(d["operation"]) for d in run.decided("reserve")}
    ]
    for decisions in (together, *alone):
        room = run.room()
        touched = set()
        for d in decisions:
            for r, amount in run.requests[str(d["request"])].get("resources", {}).items():
                place = (None if r in run.wide else d["node"], r)
                room[place] -= amount
                touched.add(place)
        comes = {str(d["operation"]) for d in decisions}
        for row in run.snapshot.get("reservations", ()):
            owner = run.requests.get(str(row.get("request")), {}).get("operation")
            begun = row.get("from", 0) <= run.snapshot["now"]
            ended = row.get("until") is not None and row["until"] <= run.snapshot["now"]
            if owner in comes or row.get("soft", False) or not begun or ended:
                continue
            for r, amount in row.get("resources", {}).items():
                if r not in run.wide:
                    room[row["node"], r] -= amount
        for place in touched:
            must(room[place] >= -1e-9, place)
    for d in run.decided("preempt"):
        must(str(d["beneficiary"]["operation"]) in placed, d)


def starts_fit_at_once(run: JobPlan) -> None:
    """Jobs that start or resume fit while the victims that end are still there."""
    room = run.room(at_once=True)
    touched = set()
    for d in run.decided("start", "resume"):
        starts = d["action"] == "start"
        row = run.requests[str(d["request"])] if starts else run.allocations[str(d["allocation"])]
        for r, amount in row.get("resources", {}).items():
            place = (None if r in run.wide else d["node"], r)
            room[place] -= amount if starts else 0
            touched.add(place)
    for place in touched:
        must(room[place] >= -1e-9, place)


def exclusive_nodes_are_not_shared(run: JobPlan) -> None:
    """Nodes that a job takes exclusively have no other job once the plan is carried out."""
    gone = {str(d["allocation"]) for d in run.decided("preempt")}
    there: dict[str, set[str]] = {}
    for name, row in run.allocations.items():
        if row.get("state", "running") in ("running", "suspended") and name not in gone:
            there.setdefault(str(row.get("node")), set()).add(str(row["operation"]))
    comes = [
        (str(d["node"]), str(d["operation"])) for d in run.decided("start", "reserve", "resume") if d["node"]
    ]
    for node, job in comes:
        there.setdefault(node, set()).add(job)
    for node, job in comes:
        whole = any(run.takes_whole_nodes(one) for one in there[node])
        must(not whole or there[node] == {job}, (node, there[node]))


def no_job_ends_for_an_immediate_start(run: JobPlan) -> None:
    """No job ends for one that starts at once; jobs may be suspended for it."""
    started = {str(d["operation"]) for d in run.decided("start")}
    for d in run.decided("preempt"):
        must(d["mode"] == "suspend" or str(d["beneficiary"]["operation"]) not in started, d)


def jobs_start_as_a_whole(run: JobPlan) -> None:
    """All that a job asks for starts, each of a request's count on another node, or nothing."""
    for action in ("start", "reserve"):
        for job in {str(d["operation"]) for d in run.decided(action)}:
            mine = [d for d in run.decided(action) if d["operation"] == job]
            for request in (q for q in run.requests.values() if q["operation"] == job and q.get("count", 1)):
                spots = [d["node"] for d in mine if d["request"] == request["name"]]
                if action == "reserve" and not spots:  # licences are not held
                    must(set(request.get("resources", ())) <= run.wide, request)
                    continue
                must(len(spots) == request.get("count", 1), request)
                must(None in spots or len(set(spots)) == len(spots), request)


def jobs_stay_in_a_partition(run: JobPlan) -> None:
    """All of a job starts on nodes of one partition that it names, and that lets its jobs start."""
    for job in {str(d["operation"]) for d in run.decided("start", "reserve")}:
        nodes = {d["node"] for d in run.decided("start", "reserve") if str(d["operation"]) == job} - {None}
        named = [run.settings.partitions[name] for name in partitions_named(run.jobs[job]["partition"])]
        there = [p for p in named if "ALL" in p.Nodes or nodes <= set(p.Nodes)]
        must(any(p.State in ("UP", "DRAIN") for p in there), job)


def every_request_is_answered(run: JobPlan) -> None:
    """Every request starts or is refused with a rule."""
    refused = {str(r["request"]) for r in run.plan["refusals"]}
    started = {str(d["request"]) for d in run.decided("start")}
    must(refused | started == {name for name, row in run.requests.items() if row.get("count", 1)}, "")
    must(not refused & started, "")


#: All laws by name.
LAWS: Mapping[str, Callable[[JobPlan], None]] = {
    law.__name__: law
    for law in (
        victims_have_lower_priority,
        protected_jobs_stay,
        jobs_leave_as_a_whole,
        beneficiaries_fit_afterwards,
        starts_fit_at_once,
        exclusive_nodes_are_not_shared,
        no_job_ends_for_an_immediate_start,
        jobs_start_as_a_whole,
        jobs_stay_in_a_partition,
        every_request_is_answered,
        of_victims.victims_leave_by_their_mode,
        of_victims.victims_free_what_they_do_not_keep,
        of_victims.victims_make_room,
        of_victims.no_victim_is_needless,
        of_victims.cheaper_victims_first,
        of_queues.no_preemption_when_it_fits,
        of_queues.the_first_job_preempts,
        of_queues.closed_partitions_are_not_entered,
        of_queues.planned_nodes_are_not_taken,
    )
}


def check_jobs(run: JobPlan) -> None:
    """Raise AssertionError if a law does not hold.

    Parameters
    ----------
    run : JobPlan

    Raises
    ------
    AssertionError
        With the law's name.
    """
    hold_all(LAWS.values(), run)
