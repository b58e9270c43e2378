"""Laws that every plan of the BackendAI policy obeys, as named functions over the plan's JSON.

A law takes a `Scheduled` and raises `AssertionError`; `check_run` runs them all.

Not promised: that as few as possible go (unless `victim_selection` is "minimum"), that a session behind the
first that waits ever starts, and that a suspended session resumes soon.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand.testing._laws import PlanOfJobs, hold_all, must

if TYPE_CHECKING:
    from evenhand.systems.backendai.settings import BackendAISettings

__all__ = ["LAWS", "Scheduled", "check_run"]


@dataclass(frozen=True)
class Scheduled(PlanOfJobs):
    """A scheduling run and what it was made of; see `PlanOfJobs`. Without policies of users and projects."""

    settings: BackendAISettings

    @cached_property
    def victims(self) -> list[Mapping[str, Any]]:
        """Decisions that preempt."""
        return self.decided("preempt")

    def priority(self, name: Any) -> float:
        """Return a session's priority."""
        return float(self.jobs[str(name)].get("priority", 10))

    def rank(self, name: Any) -> float:
        """Return the number that decides which session may preempt which."""
        if self.settings.preemption_key == "priority":
            return self.priority(name)
        return float(self.jobs[str(name)].get("settings", {}).get("job_priority", 0))

    def place(self, node: Any, resource: str) -> tuple[str | None, str]:
        """Return where a resource is counted: on a node, or in the cluster."""
        wide = self.snapshot["resources"][resource].get("scope") == "cluster"
        return (None if wide or node is None else str(node)), resource

    def room(self) -> dict[tuple[str | None, str], float]:
        """Return free room by node and resource, once the victims and all that leaves have gone.

        What is counted in the cluster has node None.
        """
        spaces = self.snapshot["resources"]
        room: dict[tuple[str | None, str], float] = {
            (str(node["name"]), r): float(node.get("capacity", {}).get(r, 0))
            for node in self.snapshot.get("nodes", ())
            for r in spaces
        }
        for node in self.snapshot.get("nodes", ()):
            machine = node.get("physical")
            for r, amount in node.get("capacity", {}).items():
                if (str(machine), r) in room and machine != node["name"]:
                    room[str(machine), r] -= amount
        room |= {(None, r): float(space.get("capacity", 0)) for r, space in spaces.items()}
        gone = {str(d["allocation"]): d["kept"] for d in self.victims}
        resumed = {str(d["allocation"]): d for d in self.plan["decisions"] if d["action"] == "resume"}
        for name, row in self.allocations.items():
            state = row.get("state", "running")
            holds = gone.get(name, row.get("resources", {}))
            if state in ("preempting", "preempted"):
                holds = row.get("held", {})
            node = row.get("node")
            if name in resumed:
                holds, node = row.get("resources", {}), resumed[name]["node"]
            for r, amount in holds.items():
                room[self.place(node, r)] -= amount
        return room

    def needs(self, request: Any) -> Mapping[str, float]:
        """Return what a request asks for, once."""
        (row,) = (r for r in self.snapshot["requests"] if r["name"] == request)
        return dict(row.get("resources", {}))


def strictly_lower_priority(run: Scheduled) -> None:
    """No session is preempted by equal or lower priority."""
    for d in run.victims:
        must(run.rank(d["operation"]) < run.rank(d["beneficiary"]["operation"]), d)


def victims_within_threshold(run: Scheduled) -> None:
    """No session above the threshold is preempted."""
    if run.settings.victim_threshold == "none":
        return
    for d in run.victims:
        must(run.priority(d["operation"]) <= run.settings.preemptible_priority, d)


def sessions_leave_as_a_whole(run: Scheduled) -> None:
    """Victims leave as a whole; nothing is preempted that does not run or has opted out."""
    taken = {str(d["allocation"]) for d in run.victims}
    sessions = {str(d["operation"]) for d in run.victims}
    for name, row in run.allocations.items():
        if str(row["operation"]) in sessions:
            must((name in taken) == (row.get("state", "running") == "running"), name)
            must(row.get("preemptible", True), name)
    must(all(run.jobs[name].get("kind") != "system" for name in sessions), "")


def no_room_is_used_twice(run: Scheduled) -> None:
    """All that starts, resumes or is reserved fits once the victims have left."""
    room = run.room()
    touched = set()
    for d in run.plan["decisions"]:
        if d["action"] in ("start", "reserve"):
            for r, amount in run.needs(d["request"]).items():
                room[run.place(d["node"], r)] -= amount
                touched.add(run.place(d["node"], r))
        elif d["action"] == "resume":
            touched |= {
                run.place(d["node"], r) for r in run.allocations[str(d["allocation"])].get("resources", ())
            }
    for place in touched:
        must(room[place] >= -1e-9, place)


def only_allowed_nodes_are_used(run: Scheduled) -> None:
    """Nothing starts, resumes or is reserved on a node that takes nothing new, or that it may not run on."""
    nodes = {str(node["name"]): node for node in run.snapshot.get("nodes", ())}
    for d in run.decided("start", "reserve", "resume"):
        node = nodes[str(d["node"])]
        must(node.get("schedulable", True), d)
        row = run.requests[str(d["request"])] if d["request"] is not None else {}
        must(row.get("required_node") in (None, d["node"]), d)
        must(set(row.get("node_tags", ())) <= set(node.get("tags", ())), d)


def only_the_front_preempts(run: Scheduled) -> None:
    """Where only the front may preempt, one session is served, and it is first in the queue."""
    if run.settings.preemptors == "every" or not run.victims:
        return
    (served,) = {str(d["beneficiary"]["operation"]) for d in run.victims}
    waiting = {str(r["operation"]) for r in run.snapshot["requests"] if r.get("count", 1)}
    asleep = {str(a["operation"]) for a in run.allocations.values() if a.get("state") == "preempted"}
    must(run.priority(served) == max(map(run.priority, waiting | asleep)), "")


def sessions_start_as_a_whole(run: Scheduled) -> None:
    """Sessions start as a whole or not at all."""
    started = [d for d in run.plan["decisions"] if d["action"] == "start"]
    for name in {d["operation"] for d in started}:
        asked = sum(r.get("count", 1) for r in run.snapshot["requests"] if r["operation"] == name)
        must(sum(d["operation"] == name for d in started) == asked, name)


def every_request_is_answered(run: Scheduled) -> None:
    """Every request starts or is refused with a rule."""
    refused = {r["request"] for r in run.plan["refusals"]}
    started = {d["request"] for d in run.plan["decisions"] if d["action"] == "start"}
    waiting = {r["name"] for r in run.snapshot["requests"] if r.get("count", 1)}
    must(refused | started == waiting, "")
    must(not refused & started, "")


def victims_leave_by_the_mode(run: Scheduled) -> None:
    """Victims leave by the group's mode; those that cannot be suspended are terminated or spared."""
    s = run.settings
    for d in run.victims:
        batch = run.jobs[str(d["operation"])].get("kind", "batch") == "batch"
        suits = s.preemption_mode != "suspend" or batch
        mode = {"reschedule": "requeue"}.get(s.preemption_mode, s.preemption_mode)
        must(suits or s.suspend_fallback == "terminate", d)
        must(d["mode"] == (mode if suits else "terminate"), d)


def victims_free_what_they_do_not_keep(run: Scheduled) -> None:
    """Victims free all that they have on their node, but for what a kept container holds on to."""
    for d in run.victims:
        row = run.allocations[str(d["allocation"])]
        stays = d["mode"] == "suspend" and run.settings.suspend_approach == "keep"
        kept = {
            r: amount
            for r, amount in row.get("resources", {}).items()
            if stays and not run.snapshot["resources"][r].get("available_after_preemption", True)
        }
        freed = {r: amount for r, amount in row.get("resources", {}).items() if r not in kept}
        must({r: a for r, a in d["freed"].items() if a} == {r: a for r, a in freed.items() if a}, d)
        must({r: a for r, a in d["kept"].items() if a} == {r: a for r, a in kept.items() if a}, d)
        must((d["operation"], d["node"]) == (row["operation"], row.get("node")), d)


def a_served_session_preempts_no_more(run: Scheduled) -> None:
    """Planned again before any victim has left, a session that preempted takes no more victims."""
    from evenhand.model import Snapshot
    from evenhand.policies import BackendAI

    served = {str(d["beneficiary"]["operation"]) for d in run.victims}
    if not served:
        return
    again = BackendAI(**run.settings.model_dump()).plan(Snapshot.from_dict(_carried_out(run)))
    for d in again.to_dict()["decisions"]:
        must(d["action"] != "preempt" or str(d["beneficiary"]["operation"]) not in served, d)


def _carried_out(run: Scheduled) -> dict[str, Any]:
    """Return the snapshot once a plan is carried out and nothing has gone yet."""
    data = deepcopy(dict(run.snapshot))
    allocations = {str(row["name"]): row for row in data.get("allocations", ())}
    requests = {str(row["name"]): row for row in data.get("requests", ())}
    held = data.setdefault("reservations", [])
    gone = set()
    for number, d in enumerate(run.plan["decisions"]):
        row = allocations.get(str(d["allocation"]), {})
        if d["action"] == "preempt":
            row |= {"state": "preempting", "beneficiary": dict(d["beneficiary"]), "held": dict(d["kept"])}
        elif d["action"] == "resume":
            row |= {"state": "running", "node": d["node"], "start_time": d["at"], "held": {}}
        elif d["action"] == "start":
            asks = requests[str(d["request"])]
            asks["count"] = asks.get("count", 1) - 1
            if asks["count"] == 0:  # one that had none left before stays: victims may still leave for it
                gone.add(str(d["request"]))
            row = {"name": f"{d['request']}/{number}", "operation": d["operation"], "node": d["node"]}
            row |= {"resources": dict(asks.get("resources", {})), "start_time": d["at"]}
            allocations[row["name"]] = row
        elif d["action"] == "reserve":
            row = {"name": f"{d['request']}/{number}", "request": d["request"], "node": d["node"]}
            row |= {"resources": run.needs(d["request"]), "from": d["at"]}
            held.append(row)
    data["allocations"] = list(allocations.values())
    data["requests"] = [row for name, row in requests.items() if name not in gone]
    data["reservations"] = [row for row in held if str(row.get("request")) not in gone]
    return data


#: All laws by name.
LAWS: Mapping[str, Callable[[Scheduled], None]] = {
    law.__name__: law
    for law in (
        strictly_lower_priority,
        victims_within_threshold,
        sessions_leave_as_a_whole,
        no_room_is_used_twice,
        only_allowed_nodes_are_used,
        only_the_front_preempts,
        sessions_start_as_a_whole,
        every_request_is_answered,
        victims_leave_by_the_mode,
        victims_free_what_they_do_not_keep,
        a_served_session_preempts_no_more,
    )
}


def check_run(run: Scheduled) -> None:
    """Raise AssertionError if a law does not hold.

    Parameters
    ----------
    run : Scheduled

    Raises
    ------
    AssertionError
        With the law's name.
    """
    hold_all(LAWS.values(), run)
