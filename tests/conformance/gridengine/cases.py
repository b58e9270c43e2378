"""Answers to Grid Engine's kinds of priority.json, in the shape of each case's ``expected``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import evenhand as eh

Answers = dict[str, Any]
Row = dict[str, Any]

_LETTERS = ("T", "C", "R", "P", "N", "S")


def actions(case: Mapping[str, Any]) -> Answers:
    """What each action frees."""
    return {letter: _freed(case, letter, {"slots": 1}, keep=False) for letter in _LETTERS}


def keep_resources(case: Mapping[str, Any]) -> Answers:
    """What each action that stops processes frees for a preemptor."""
    return {letter: _freed(case, letter, case["preemptor"], keep=True) for letter in "PNS"}


def _freed(case: Mapping[str, Any], letter: str, need: Mapping[str, Any], *, keep: bool) -> dict[str, Any]:
    """One job that has the whole cluster is preempted for another."""
    managed = [name for name, of in case["complexes"].items() if of.get("lo")]
    policy = eh.policies.GridEngine(
        max_reservation=1, max_preemptees=1, preemptees_keep_resources=keep, lo_licenses=managed
    )
    waits = {"name": "w", "operation": "2", "resources": dict(need), "reserve": True}
    # What S keeps is never free for others: they do not ask for it here.
    if letter == "S":
        waits["resources"] = {"slots": need["slots"]}
    runs = {"name": "a", "operation": "1", "node": "h", "resources": case["job"]}
    snapshot = eh.Snapshot.from_dict(
        {
            "resources": {
                name: {"kind": of["kind"], "available_after_preemption": of["aapre"]}
                for name, of in case["complexes"].items()
            },
            "nodes": [{"name": "h", "capacity": case["job"]}],
            "operations": [{"name": "1", "priority": 0.1, "user": "ann"}, {"name": "2", "priority": 0.9}],
            "allocations": [{**runs, "checkpointable": True, "rerunnable": True}],
            "requests": [waits],
        }
    )
    plan = _carried_out(
        snapshot, policy, {"consumer": "2", "providers": ["1"], "action": letter, "manager": True}
    )
    (victim,) = plan.decisions.victims
    assert {r: victim.freed.get(r, 0) + victim.kept.get(r, 0) for r in case["job"]} == case["job"]
    return dict(victim.freed)


def _carried_out(snapshot: eh.Snapshot, policy: Any, command: Row) -> eh.Plan:
    """Return the scheduling run after a command that is accepted."""
    asked = eh.plan(snapshot, policy, on=eh.Commands([command]))
    return eh.plan(snapshot, policy, asked.state)


def manual_request(case: Mapping[str, Any]) -> Answers:
    """A command, then a scheduling run."""
    config = case["config"]
    policy = _policy(case)
    now = _seconds(config["now"])
    pending = [case["pending"], *case.get("other_pending", ())]
    snapshot = _snapshot(now, case, case["complexes"], case["running"], pending)
    command = eh.policies.GridEngine.parse_command(case["command"])
    command |= {"user": case["user"], "manager": case["user"] in config["managers"]}
    asked = eh.plan(snapshot, policy, on=eh.Commands([command]))
    refused = [r for r in asked.refusals if r.command == 0]
    run = eh.plan(snapshot, policy, asked.state)
    (dropped,) = [r.rule for r in run.refusals if r.request == str(case["pending"]["id"])] or [None]
    found = {
        "accepted": not refused,
        "code": refused[0].rule if refused else None,
        "executed": bool(run.decisions.victims),
        "drop_code": dropped if dropped in ("within_preemption_distance", "available_now") else None,
    }
    if "reservation_distance_s" in case["expected"]:
        plain = eh.plan(snapshot, policy)
        (reserved,) = [d for d in plain.decisions if d.action == "reserve"]
        found["reservation_distance_s"] = reserved.at - now
    return found


def _policy(case: Mapping[str, Any]) -> Any:
    config = case["config"]
    settings = {
        name: config[name]
        for name in (
            *("max_reservation", "max_preemptees", "preemption_distance"),
            *("prioritize_preemptees", "preemptees_keep_resources"),
        )
        if name in config
    }
    for name in ("max_reservation", "max_preemptees"):
        if isinstance(given := settings[name], Mapping):  # the smallest number of the range
            settings[name] = given["min"] + bool(given.get("exclusive"))
    queues = {name: {"rerun": of["rerun"]} for name, of in case.get("queues", {}).items()}
    return eh.policies.GridEngine(**settings, DURATION_OFFSET=config["duration_offset_s"], queues=queues)


def _snapshot(
    now: float,
    case: Mapping[str, Any],
    complexes: Mapping[str, Any],
    running: list[Row],
    pending: list[Row],
    capacity: Mapping[str, int] | None = None,
) -> eh.Snapshot:
    """What is, job by job."""
    resources: dict[str, Row] = {
        name: {"kind": of.get("kind", "other"), "available_after_preemption": of["aapre"]}
        for name, of in complexes.items()
    }
    for name, amount in (capacity or {}).items():
        resources[name] |= {"kind": "license", "scope": "cluster", "capacity": amount}
    jobs = [*running, *pending]
    operations = [
        {"name": str(job["id"]), "priority": job["priority"], "user": job.get("owner", "ann")} for job in jobs
    ]
    return eh.Snapshot.from_dict(
        {
            "now": now,
            "resources": resources,
            "nodes": [
                {"name": node["name"], "capacity": {"slots": node["slots"] or 1}} for node in case["nodes"]
            ],
            "operations": operations,
            "allocations": [_running(job) for job in running],
            "requests": [
                {
                    "name": str(job["id"]),
                    "operation": str(job["id"]),
                    "resources": job["request"],
                    "duration": job["h_rt"],
                    "reserve": job["reserve"],
                }
                for job in pending
            ],
        },
        order="rows",
    )


def _running(job: Row) -> Row:
    row = {
        "name": f"{job['id']}@{job['host']}",
        "operation": str(job["id"]),
        "node": job["host"],
        "resources": job["request"],
        "start_time": _seconds(job["start"]),
        "checkpointable": job.get("checkpoint_env") is not None,
        "rerunnable": bool(job.get("rerunnable")),
        "settings": {"queue": job["queue"]},
    }
    if job["state"] == "preempted":
        return {**row, "state": "preempted", "held": {}}
    return {**row, "planned_end": _seconds(job["start"]) + job["h_rt"]}


def manual_preemption(case: Mapping[str, Any]) -> Answers:
    """Use case A: the reservation, the request, what stops, what starts, what is reserved then."""
    config = case["config"]
    policy = _policy(case)
    line = config["complex"]
    complexes = {"slots": {"kind": "slots", "aapre": True}, line["name"]: {"aapre": line["aapre"]}}
    waiting, running = case["pending"], [dict(job) for job in case["running"]]
    free = config["global_capacity"][line["name"]] - sum(job["request"][line["name"]] for job in running)

    def at(time: str, running: list[Row], pending: list[Row]) -> eh.Snapshot:
        return _snapshot(_seconds(time), case, complexes, running, pending, config["global_capacity"])

    before = at(config["now"], running, [waiting])
    (first,) = [d for d in eh.plan(before, policy).decisions if d.action == "reserve"]
    distance = first.at - before.now
    command = eh.policies.GridEngine.parse_command(case["command"]) | {"manager": True}
    stopped = at(config["preempted_at"], running, [waiting])
    asked = eh.plan(stopped, policy, on=eh.Commands([command]))
    run = eh.plan(stopped, policy, asked.state)
    victims = {d.operation: d for d in run.decisions.victims}
    for job in running:
        job["state"] = "preempted" if str(job["id"]) in victims else job["state"]
    next_run = eh.plan(at(config["next_run_at"], running, [waiting]), policy, run.state)
    (start,) = next_run.decisions.starts
    runs = {**waiting, "host": start.node, "start": config["next_run_at"], "queue": "all.q", "state": "r"}
    later = eh.plan(at(config["next_run_at"], [*running, runs], []), policy, next_run.state)
    (text,) = [d.message for d in asked.diagnostics if d.code == "preemption_request_accepted"]
    return {
        "before": {
            "free_license": free,
            "reservation_of_pending": [_clock(first.at), _clock(first.until)],
            "reservation_distance_s": distance,
            "exceeds_preemption_distance": distance > policy.settings.preemption_distance,
            "reservation_host": first.node,
        },
        "accepted": not [r for r in asked.refusals if r.command is not None],
        "acceptance_text": text,
        "after": {
            "states": {name: state.status for name, state in later.job_states.items()},
            "preempted_resources": sorted({r for d in victims.values() for r in d.freed}),
            "preemptor_host": start.node,
            "preemptees_listed_as": "pending" if set(victims) <= _preempted(later) else None,
            "preemptor_start": _clock(start.at),
            "preemptee_wallclock_s": {name: d.numbers["wallclock"] for name, d in victims.items()},
            "reservation_of_preemptee": {
                str(d.operation): [_clock(d.at), _clock(d.until)]
                for d in later.decisions
                if d.action == "reserve"
            },
        },
    }


def _preempted(plan: eh.Plan) -> set[str]:
    """Jobs that are listed among those that wait."""
    return {
        str(name) for name, state in plan.job_states.items() if state.status in ("P", "N", "S", "Rq", "qw")
    }


def slotwise(case: Mapping[str, Any]) -> Answers:
    """Tasks that are suspended on subordinate queues, in order.

    Once as all of them run already, and once as runs start the last one: both must say the same.
    """
    *others, last = case["tasks"]
    policy = eh.policies.GridEngine(queues=_queues(case))
    stopped = [d.operation for d in eh.plan(_host(case, [*others, last], []), policy).decisions.victims]
    first = eh.plan(_host(case, others, [last]), policy)
    second = eh.plan(_host(case, others, [last]).after(first), policy, first.state)
    in_turn = [d.operation for plan in (first, second) for d in plan.decisions.victims]
    if sorted(in_turn) != sorted(stopped):
        raise AssertionError(f"{in_turn} stop where the last task starts, {stopped} where all run")
    return {"suspended": stopped}


def _queues(case: Mapping[str, Any]) -> dict[str, Row]:
    """The lists of the queues that have any."""
    lists = {}
    for name, most in case["thresholds"].items():
        below = [
            f"{queue}:{of['seq']}:{of['action']}"
            for queue, of in case["queues"].items()
            if of["parent"] == name
        ]
        lists[name] = {"subordinate_list": f"slots={most}({','.join(below)})"}
    return lists


def _host(case: Mapping[str, Any], running: list[Row], waiting: list[Row]) -> eh.Snapshot:
    """One host with room for all tasks."""
    tasks = [*running, *waiting]
    return eh.Snapshot.from_dict(
        {
            "now": max(task["start"] for task in tasks),
            "resources": {"slots": {}},
            "nodes": [{"name": "host", "capacity": {"slots": len(tasks)}}],
            "pools": [{"name": queue} for queue in case["queues"]],
            "operations": [{"name": task["id"], "pool": task["queue"]} for task in tasks],
            "allocations": [
                {
                    "name": f"{task['id']}@host",
                    "operation": task["id"],
                    "node": "host",
                    "resources": {"slots": 1},
                    "start_time": task["start"],
                }
                for task in running
            ],
            "requests": [
                {"name": task["id"], "operation": task["id"], "resources": {"slots": 1}} for task in waiting
            ],
        }
    )


def _seconds(clock: str) -> int:
    hours, minutes, seconds = map(int, clock.split(":"))
    return 3600 * hours + 60 * minutes + seconds


def _clock(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


SETS = frozenset({"after.preempted_resources"})

KINDS: Mapping[str, Callable[[Mapping[str, Any]], Answers]] = {
    function.__name__: function
    for function in (actions, keep_resources, manual_request, manual_preemption, slotwise)
}
