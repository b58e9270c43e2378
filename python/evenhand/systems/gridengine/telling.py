"""What Grid Engine's policy says of jobs that wait, and of jobs that are left as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.facts import listed, name_of, number, seconds
from evenhand.explain.told import NOTHING, Told
from evenhand.fields import TABLES
from evenhand.plans.columns import rows_by_name
from evenhand.systems.gridengine.order import leaving_for, order_of
from evenhand.systems.gridengine.spared import left_out
from evenhand.systems.gridengine.subordinates import SubordinateList

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts

__all__ = ["instant_of", "of_allocation", "of_request", "priority_of", "queue_action"]

Recorded = Mapping[str, Any]

_NEVER = 2**63 - 1
_STATES = TABLES["allocations"]["state"].words
_RUNNING, _LEAVES = _STATES.index("running"), _STATES.index("preempting")
_WHOLE = ("not_preemptible_flag", "not_running", "already_preempting")
_BARRED = {
    "node_not_schedulable": "no node on which it may run takes new work",
    "wrong_tags": "no node on which it may run has {tags}",
}
_WAITS = (
    *("no_free_room", "no_room_even_with_victims", "no_lower_priority", "no_job_allows_action"),
    "max_preemptees",
    *("waits_for_reservation", "within_preemption_distance", "waits_for_victims"),
)


def instant_of(recorded: Recorded, name: str = "starts_at") -> float | None:
    """Return an instant that was recorded, in seconds; infinite: never; None: nothing was."""
    value = recorded.get("times", {}).get(name)
    if value is None:
        return None
    return math.inf if int(value) == _NEVER else int(value) / 1e6


def priority_of(facts: Facts, operation: int) -> float:
    """Return the priority of a job, by its row."""
    given = facts.snapshot._core.column("operations", "priority")
    return float(given[operation]) if len(given) else 0.0


def queue_action(facts: Facts, operation: int) -> tuple[str, str]:
    """Return the configured action of a job, and the setting that says so."""
    settings, snapshot = facts.plan.policy.settings, facts.snapshot
    core = snapshot._core
    own = snapshot.settings("allocations")
    pool = int(core.column("operations", "pool")[operation])
    of_pool = str(snapshot.names("pools")[pool]) if pool > 0 else None
    found = (settings.preemption_action, "`preemption_action`")
    for row, whose in enumerate(core.column("allocations", "operation").tolist()):
        queue = own.get(row, {}).get("queue", of_pool)
        known = settings.queues.get(queue)
        if whose == operation and known is not None and known.preemption_action is not None:
            found = (known.preemption_action, f"`preemption_action` of queue {name_of(queue)}")
    return found


def _owner(facts: Facts, operation: int) -> str:
    return name_of(facts.name("operations", operation))


def _room(
    facts: Facts, row: int, missing: Mapping[str, float], recorded: Recorded, *, with_victims: bool = False
) -> tuple[str, Told]:
    """Say what is missing where a request comes closest to starting: a sentence's part, and its values."""
    best = recorded.get("nodes", {}).get("best")
    name = None if best is None else facts.name("nodes", int(best[0]))
    node = facts.of_node(name, "each node that was tried")
    refused = facts.refusal(row)
    tried = 1 if refused is None else int(refused.numbers.get("nodes", 1))
    lacks = facts.amounts(missing)
    numbers: dict[str, Any] = {}
    count = int(facts.snapshot._core.column("requests", "count")[row])
    part = "it" if count == 1 else f"one of its {count:,} copies"
    if (other := recorded.get("requests", {}).get("other")) is not None:
        numbers["other_request"] = facts.name("requests", int(other))
        part = f"request {name_of(numbers['other_request'])} of the same job"
    gone = ", even with all gone that may be preempted for it" if with_victims else ""
    if (many := recorded.get("numbers", {}).get("planned")) is not None:
        numbers |= {"planned": int(many), **_planned(facts, recorded)}
        who = _whose(numbers, int(many))
        lasts = instant_of(recorded, "lasts")
        long = "" if lasts is None or lasts == math.inf else f" ({seconds(lasts)})"
        free = "would be free with all gone that may be preempted for it," if with_victims else "is free now"
        text = f"{lacks} on {node} {free} and planned for {who} while {part} would run{long}"
        if lasts is not None and lasts != math.inf:
            numbers["lasts"] = lasts
        return text, Told(numbers=numbers, node=name)
    where = f"on {node}" if tried <= 1 or name is None else f"on {node}, which comes closest,"
    return f"{where} {lacks} is missing for {part}{gone}", Told(numbers=numbers, node=name)


def _planned(facts: Facts, recorded: Recorded) -> dict[str, Any]:
    first = recorded.get("operations", {}).get("planned_for")
    return {} if first is None else {"planned_for": facts.name("operations", int(first))}


def _whose(numbers: Mapping[str, Any], many: int) -> str:
    if "planned_for" not in numbers:
        return "a reservation that begins later"
    more = f" and {many - 1:,} more" if many > 1 else ""
    return f"operation {name_of(numbers['planned_for'])}{more}"


def of_request(facts: Facts, row: int, met: Mapping[str, Any], recorded: Recorded) -> Told:
    """Say why a request waits: what is missing where, what is planned, and which setting decided."""
    code, missing = met["outcome"], met["missing"]
    operation = int(facts.snapshot._core.column("requests", "operation")[row])
    if code in _BARRED:
        return _barred(facts, row, code, recorded)
    if code == "subordinate_queue_suspended":
        return _suspended(facts, operation, "where there is room for it")
    if code not in _WAITS:
        return NOTHING
    with_victims = code == "no_room_even_with_victims"
    if with_victims and not missing:
        return _suspended(facts, operation, "where there would be room with all gone that it may preempt")
    room, told = _room(facts, row, missing, recorded, with_victims=with_victims)
    text, numbers, more = _rule(facts, code, operation, room, recorded)
    if code == "waits_for_victims":
        room = f"without them, {room}"
    sentences = [*([room] if text != room and missing else []), *more]
    return Told({**told.numbers, **numbers}, text, tuple(sentences), told.node)


def _barred(facts: Facts, row: int, code: str, recorded: Recorded) -> Told:
    """Say which request of a job may run nowhere."""
    other = recorded.get("requests", {}).get("other")
    if other is None:
        return Told(text=_BARRED[code].format(tags=facts.tags(row)))
    name = facts.name("requests", int(other))
    barred = _BARRED[code].format(tags=facts.tags(int(other)))
    text = f"of its job request {name_of(name)} cannot start: {barred}"
    return Told({"other_request": name}, text)


def _suspended(facts: Facts, operation: int, where: str) -> Told:
    """Say which list suspends the queue of a job that waits, and from how many slots on."""
    pool = int(facts.snapshot._core.column("operations", "pool")[operation])
    queue = str(facts.name("pools", pool))
    text = f"{where}, its queue {name_of(queue)} is suspended"
    found = []
    for name, above in facts.plan.policy.settings.queues.items():
        own = SubordinateList.parse(above.subordinate_list or "")
        below = [] if own.most else [one for one in own.below if one.queue == queue]
        found += [(name, one.used or above.slots) for one in below]
    if len(found) != 1:
        return Told({"queue": queue}, text)
    by, least = found[0]
    rule = f"`subordinate_list` of queue {name_of(by)} suspends it from {least:,} slots in use there on"
    return Told({"queue": queue, "by_queue": by, "slots": least}, f"{text}: {rule}")


def _rule(
    facts: Facts, code: str, operation: int, room: str, recorded: Recorded
) -> tuple[str, dict[str, Any], list[str]]:
    """Return what decided as the end of the first sentence, its values, and further sentences."""
    s = facts.plan.policy.settings
    counted = recorded.get("numbers", {})
    starts = instant_of(recorded)
    numbers: dict[str, Any] = {} if starts in (None, math.inf) else {"starts_at": starts}
    distance = seconds(s.preemption_distance)
    if code in ("no_lower_priority", "no_job_allows_action"):
        numbers["priority"] = least = priority_of(facts, operation)
        by_action = code == "no_job_allows_action"
        allows = (
            "allows the action by which it would leave" if by_action else "runs that may be preempted for it"
        )
        said = f"no job of lower priority than {number(least)} {allows}"
        if named := _named(facts, operation):
            numbers["named"] = named
            may = "allows its action" if by_action else "may be preempted"
            said = f"of the jobs that the request for preemption names none {may}: {listed(named)}"
        return said, numbers, [*left_out(facts, recorded, numbers), *_reserved(facts, operation)]
    if code == "max_preemptees":
        text, more = _too_many(facts, "it", numbers, counted)
        taken = leaving_for(facts, operation, numbers)
        if taken:
            more = [f"For it {listed(taken)} {'leaves' if len(taken) == 1 else 'leave'} now", *more]
        return text, numbers, [*more, *_reserved(facts, operation)]
    if code == "within_preemption_distance" and starts is not None:
        numbers["preemption_distance"] = s.preemption_distance
        said = (
            f"it starts at {facts.when(starts)} without preemption, within `preemption_distance` ({distance})"
        )
        return said, numbers, [_nearer(facts, starts)]
    if code == "waits_for_reservation" and starts is not None:
        said = f"its reservation begins at {facts.when(starts)}"
        return said, numbers, _no_preemption(facts, starts, numbers)
    if code == "waits_for_victims":
        waits_for = leaving_for(facts, operation, numbers)
        verb = "has" if len(waits_for) == 1 else "have"
        return f"it starts once {listed(waits_for)} {verb} left for it", numbers, []
    if code == "no_free_room":
        return room, numbers, _no_reservation(facts, operation, starts, numbers)
    return room, numbers, [*left_out(facts, recorded, numbers), *_reserved(facts, operation)]


def _named(facts: Facts, operation: int) -> list[str]:
    """Return the jobs that a person has named, to give way to one that waits."""
    return [str(name) for name in _cells(facts, operation).get("providers") or ()]


def _cells(facts: Facts, operation: int) -> Mapping[str, Any]:
    """Return what the state before has of a job, by its row."""
    before = facts.plan.state_before
    return {} if before is None else before.operations.get(facts.name("operations", operation), {})


def _too_many(
    facts: Facts, whom: str, numbers: dict[str, Any], counted: Mapping[str, Any]
) -> tuple[str, list[str]]:
    """Say what `max_preemptees` forbids, and which value would allow it."""
    most = facts.plan.policy.settings.max_preemptees
    wanted, before = int(counted.get("wanted", 0)), int(counted.get("preemptees", 0))
    enough = wanted + before
    numbers |= {"wanted": wanted, "preemptees": before, "max_preemptees": most, "enough": enough}
    beside = f" beside the {before:,} that {'is' if before == 1 else 'are'} preempted" if before else ""
    jobs = "1 job" if wanted == 1 else f"{wanted:,} jobs"
    text = f"{jobs} would have to be preempted for {whom}{beside}, more than `max_preemptees` {most:,} allows"
    return text, [f"With `max_preemptees` {enough:,} {'it' if wanted == 1 else 'they'} would have been"]


def _nearer(facts: Facts, starts: float) -> str:
    return f"With a `preemption_distance` below {seconds(starts - facts.snapshot.now)} it could preempt"


def _reserved(facts: Facts, operation: int) -> list[str]:
    """Say since when room is reserved for a job that waits, and where."""
    name = str(facts.name("operations", operation))
    mine = [
        d for d in facts.plan.decisions if d.action == "reserve" and str(d.operation) == name and d.request
    ]
    if not mine:
        return []
    nodes = dict.fromkeys(str(d.node) for d in mine)
    return [f"Room is reserved for it on {listed(nodes)} from {facts.when(float(mine[0].at or 0))} on"]


def _no_preemption(facts: Facts, starts: float, numbers: dict[str, Any]) -> list[str]:
    """Say which setting keeps a job with a reservation from preempting."""
    s = facts.plan.policy.settings
    if not s.automatic_preemption:
        return ["`automatic_preemption` is off: no job is preempted for it unless someone requests it"]
    if s.max_preemptees == 0:
        return ["`max_preemptees` is 0: no job is preempted"]
    numbers["preemption_distance"] = s.preemption_distance
    within = f"That is within `preemption_distance` ({seconds(s.preemption_distance)})"
    return [f"{within}, so no job is preempted for it", _nearer(facts, starts)]


def _no_reservation(facts: Facts, operation: int, starts: float | None, numbers: dict[str, Any]) -> list[str]:
    """Say why a job that finds no room has no reservation either."""
    s, core = facts.plan.policy.settings, facts.snapshot._core
    of = core.column("requests", "operation")
    if not (core.column("requests", "reserve")[of == operation] != 0).any():
        return ["It asks for no reservation, so no room is planned and no job is preempted for it"]
    if s.max_reservation == 0:
        return ["`max_reservation` is 0: no job gets a reservation, and none is preempted"]
    if starts is None:
        numbers["max_reservation"] = s.max_reservation
        most = f"`max_reservation` {s.max_reservation:,}"
        return [
            f"As many jobs before it have a reservation as {most} allows, so it gets none and preempts no job"
        ]
    never = "It has no reservation: so far as ends are planned, there is never enough room for it"
    return [never, *_no_preemption(facts, starts, numbers)[:1]]


def of_allocation(facts: Facts, row: int, met: Mapping[str, Any], recorded: Recorded) -> Told:
    """Say why a job is not preempted, or does not resume."""
    code = met["outcome"]
    operation = int(facts.snapshot._core.column("allocations", "operation")[row])
    if code == "no_free_room":
        return _stays(facts, row, met, recorded)
    if code == "subordinate_queue_suspended":
        return _queue_of_part(facts, recorded)
    if met["request"] is None:
        return NOTHING
    if code in _WHOLE:
        return _whole(facts, row, operation, code)
    asks = _asks(facts, met)
    request = f"request {name_of(met['request'])} of operation {_owner(facts, asks)}"
    counted = recorded.get("numbers", {})
    if code == "not_lower_priority":
        own, other = priority_of(facts, operation), priority_of(facts, asks)
        compare = f"its job's priority {number(own, [other])} is not lower than {number(other, [own])}"
        return Told(text=f"{compare} of {request}, for which jobs to preempt were looked for")
    numbers: dict[str, Any] = {
        name: int(counted[name]) for name in ("place", "candidates") if name in counted
    }
    if code == "action_not_allowed":
        action, setting = queue_action(facts, operation)
        says = f"{setting} is {action}"
        if (requested := _cells(facts, asks).get("requested")) not in (None, "no", "configured"):
            action, says = str(requested), f"the request for preemption says {requested}"
        lacks = {"C": "it has no checkpoint environment", "R": "neither it nor its queue is rerunnable"}
        if action not in facts.plan.policy.settings.actions:
            lacks = {"advisor": "none of `actions` would do"}
        text = f"{says}, and {lacks.get(action, '`actions` does not have it')}"
        return Told({"action": action}, text)
    if code in ("max_preemptees", "no_start_in_stage") and counted.get("wanted"):
        text, more = _too_many(facts, request, numbers, counted)
        taken = leaving_for(facts, asks, numbers)
        if taken:
            return Told(
                numbers, f"{text}, so only {listed(taken)} {'leaves' if len(taken) == 1 else 'leave'}"
            )
        return Told(numbers, f"{text}, so none is", tuple(more) if code == "max_preemptees" else ())
    if code == "no_start_in_stage":
        many = numbers.get("candidates", 0)
        if many < 2:
            return Told(numbers, f"{request} would not fit even with it gone")
        text = f"{request} would not fit even with all {many:,} jobs gone that may be preempted for it"
        return Told(numbers, f"{text}, so none is")
    if code == "spared_fits_without":
        return _spared(facts, operation, asks, request, numbers, recorded)
    return NOTHING


def _queue_of_part(facts: Facts, recorded: Recorded) -> Told:
    """Say of which other part of a stopped job the queue is suspended."""
    if (other := recorded.get("allocations", {}).get("other")) is None:
        return NOTHING
    name = facts.name("allocations", int(other))
    node = int(facts.snapshot._core.column("allocations", "node")[int(other)])
    where = facts.of_node(None if node < 0 else facts.name("nodes", node), "its node")
    text = f"its job resumes as a whole, and the queue of allocation {name_of(name)} is suspended on {where}"
    return Told({"other_allocation": name}, text)


def _whole(facts: Facts, row: int, operation: int, code: str) -> Told:
    """Say which other part of a job keeps it, where it is not the allocation itself."""
    core = facts.snapshot._core
    states = np.asarray(core.column("allocations", "state"))
    willing = np.asarray(core.column("allocations", "preemptible")) != 0
    keeps = {
        "not_preemptible_flag": (~willing & (states == _RUNNING), "is marked as not preemptible"),
        "not_running": (states != _RUNNING, "does not run"),
        "already_preempting": (states == _LEAVES, "has been asked to leave already"),
    }[code]
    parts = np.flatnonzero(keeps[0] & (core.column("allocations", "operation") == operation))
    if row in parts or not len(parts):
        return NOTHING
    name = facts.name("allocations", int(parts[0]))
    text = f"its job is preempted as a whole, and allocation {name_of(name)} of it {keeps[1]}"
    return Told({"other_allocation": name}, text)


def _asks(facts: Facts, met: Mapping[str, Any]) -> int:
    row = rows_by_name(facts.snapshot, "requests")[str(met["request"])]
    return int(facts.snapshot._core.column("requests", "operation")[row])


def _spared(
    facts: Facts, operation: int, asks: int, request: str, numbers: dict[str, Any], recorded: Recorded
) -> Told:
    """Say for whom others leave in its place, and by which order."""
    nodes = list(dict.fromkeys(int(n) for n in recorded.get("nodes", {}).get("placed_on", [])))
    names = [facts.name("nodes", n) for n in nodes]
    numbers["placed_on"] = [str(name) for name in names]
    on = f" on node{'s' * (len(names) > 1)} {listed(names)}" if names else ""
    victims = leaving_for(facts, asks, numbers)
    text = f"{request} fits{on} once {listed(victims)} {'has' if len(victims) == 1 else 'have'} left"
    place = order_of(facts, operation, asks, numbers)
    return Told(numbers, text, (place,) if place else ())


def _stays(facts: Facts, row: int, met: Mapping[str, Any], recorded: Recorded) -> Told:
    """Say what a stopped job lacks; it resumes as a whole."""
    best = recorded.get("nodes", {}).get("best")
    name = None if best is None else facts.name("nodes", int(best[0]))
    at = int(facts.snapshot._core.column("allocations", "node")[row])
    node = facts.of_node(name if name is not None else facts.name("nodes", at), "its node")
    lacks, numbers = facts.amounts(met["missing"]), dict[str, Any]()
    text = f"{lacks} is missing on {node}"
    if (many := recorded.get("numbers", {}).get("planned")) is not None:
        numbers |= {"planned": int(many), **_planned(facts, recorded)}
        text = f"{lacks} on {node} is free now and planned for {_whose(numbers, int(many))}"
    if (other := recorded.get("allocations", {}).get("other")) is not None:
        numbers["other_allocation"] = facts.name("allocations", int(other))
        text = f"its job resumes as a whole, and for allocation {name_of(numbers['other_allocation'])} {text}"
    sentences = []
    starts = instant_of(recorded)
    if starts is not None and starts != math.inf:
        numbers["starts_at"] = starts
        sentences.append(f"Its reservation begins at {facts.when(starts)}")
    if (behind := recorded.get("operations", {}).get("behind")) is not None:
        numbers["behind_operation"] = facts.name("operations", int(behind))
        first = name_of(numbers["behind_operation"])
        turn = f"With `prioritize_preemptees` it comes next behind operation {first}"
        sentences.append(f"{turn}, for which it was preempted")
    return Told(numbers, text, tuple(sentences))
