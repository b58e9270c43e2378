"""What Slurm's policy says of jobs that wait, by what stood in the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand.building.readback import NO_TIME
from evenhand.config.triggers import PASSES
from evenhand.explain.facts import listed, name_of, seconds
from evenhand.explain.told import NOTHING, Told
from evenhand.reasons import OUTCOMES
from evenhand.systems.slurm.limits import KINDS, limit_names, measures, unread_of
from evenhand.systems.slurm.telling import Telling, leaving_for, not_listed
from evenhand.units.text import number as shown

if TYPE_CHECKING:
    from evenhand.explain.facts import Facts

__all__ = ["of_request"]


#: How running jobs stand that may not be preempted for one.
_STANDING: Final[Mapping[str, str]] = {
    "tier_not_lower": "in no lower tier",
    "not_lower_priority": "of no lower priority",
    "qos_not_listed": "of a QOS that its own may not preempt",
    "preempt_mode_off": "whose `PreemptMode` is OFF",
    "above_min_exempt_priority": "above `min_exempt_priority`",
    "ran_too_short": "younger than `PreemptExemptTime`",
    "not_preemptible_flag": "marked as not preemptible",
    "suspend_not_allowed": "whose partition lets none be suspended",
    "outside_partition": "on other nodes",
    "already_preempting": "leaving for others",
    "same_operation": "of the job itself",
}


def _no_eligible_victims(t: Telling) -> Told:
    where, part = _turn(t)
    text = f"{where}there is too little free room, and "
    counts = np.asarray(t.rows.get("stood", ())).tolist()
    stood = {OUTCOMES[code]: int(count) for code, count in enumerate(counts) if count}
    if not stood:
        return Told(part, f"{text}no job runs that might be preempted for it")
    told = [f"{count:,} {_STANDING[code]}" for code, count in stood.items() if code in _STANDING]
    many = sum(stood.values())
    jobs = "the job that runs may not" if many == 1 else f"none of the {many:,} jobs that run may"
    why = f" ({', '.join(told)})" if len(told) == len(stood) else ""
    return Told({**part, "stood": stood, "running": many}, f"{text}{jobs} be preempted for it{why}")


def _no_room_even_with_victims(t: Telling) -> Told:
    lacks = t.facts.amounts(t.met["missing"])
    node = t.met["node"]
    text = "even if all gave way that may be preempted for it, "
    found: dict[str, Any] = {}
    if node is None:
        return Told(found, f"{text}{lacks} would be missing")
    there = f"node {name_of(node)}"
    if t.numbers.get("in_use"):
        text += f"other jobs would stay on {there}, and not all of them share it: {lacks} would be missing"
    else:
        text += f"{lacks} would be missing on {there}"
    found = {name: int(t.numbers[name]) for name in ("nodes_needed", "nodes_with_room") if name in t.numbers}
    if found.get("nodes_needed", 1) > 1:
        needed, with_room = found.values()
        text += f"; it needs {needed:,} nodes at once, and {with_room or 'none'} would have room"
    where, part = _turn(t)
    return Told({**found, **part}, where + text)


def _turn(t: Telling) -> tuple[str, dict[str, Any]]:
    """Return in which of several partitions of its job something was found."""
    part = t.numbers.get("partition")
    if part is None or not t.jobs.further(t.row):
        return "", {}
    name = [*t.jobs.partitions][int(part)]
    return f"in {t.partition(name)} ", {"partition": name}


def _behind(t: Telling) -> Told:
    other = t.other("operations", "behind")
    if other is None:
        return NOTHING
    served = t.code == "waits_for_next_pass"
    why = (
        "for which others leave, has its nodes until they have left"
        if served
        else "which waits, has its nodes"
    )
    where, part = _turn(t)
    return Told({"behind": other, **part}, f"{where}operation {name_of(other)}, {why}")


def _waits_for_next_pass(t: Telling) -> Told:
    asked = getattr(t.facts.plan.on, "passes", PASSES)
    if asked == ("backfill",) and t.settings.SchedulerType == "sched/builtin":
        none = "only a backfill pass was asked for, and with `SchedulerType` sched/builtin there is none"
        return Told({"SchedulerType": t.settings.SchedulerType}, none)
    if (found := _behind(t)) is not NOTHING:
        return found
    nodes = t.nodes("ending_on")
    if not nodes:
        return NOTHING
    where, part = _turn(t)
    text = f"jobs are still ending on {'node' if len(nodes) == 1 else 'nodes'} {listed(nodes)}"
    return Told({"ending_on": nodes, **part}, f"{where}{text}: it is considered in a later pass")


def _preemption_backoff(t: Telling) -> Told:
    since, until = (float(t.rows["times"][name]) / 1e6 for name in ("since", "until"))
    s = t.settings
    text = (
        f"others were asked to leave for its job at {t.facts.when(since)}; no more are until"
        f" {t.facts.when(until)}, `KillWait` {seconds(s.KillWait)} and `MessageTimeout`"
        f" {seconds(s.MessageTimeout)} later"
    )
    return Told({"since": since, "until": until}, text)


def _not_eligible_yet(t: Telling) -> Told:
    found = t.compared()
    return Told(found, f"its job may not start before {t.facts.when(found['eligible_time'])}")


def _partition_down(t: Telling) -> Told:
    found = t.compared()
    return Told(found, f"its {t.partition(found['partition'])} is {found['state']}")


def _partition_time_limit(t: Telling) -> Told:
    part = t.numbers.get("partition")
    name = t.jobs.partition(t.row) if part is None else [*t.jobs.partitions][int(part)]
    core, of = t.snapshot._core, t.jobs.partitions[name]
    mine = np.flatnonzero(core.column("requests", "operation") == t.row)
    durations = [row.get("duration") for row in t.snapshot.to_dict()["requests"]]
    asked = max((durations[i] for i in mine.tolist() if durations[i] is not None), default=of.DefaultTime)
    if asked is None or of.MaxTime is None:
        return NOTHING
    text = f"its job asks for {seconds(asked)}"
    text += f", and `MaxTime` of its {t.partition(name)} is {seconds(of.MaxTime)}"
    return Told({"time_limit": asked, "MaxTime": of.MaxTime, "partition": name}, text)


def _limit_reached(t: Telling) -> Told:
    number = {name: int(t.numbers[name]) for name in ("limit", "of_association", "limited", "measure")}
    association = bool(number["of_association"])
    name = limit_names(t.settings, association=association)[number["limited"]]
    kind = list(KINDS)[number["limit"]]
    whose = f"{'association' if association else 'QOS'} {name_of(name)}"
    amounts, count = KINDS[kind][2:] if association else KINDS[kind][:2]
    if kind == "unread":
        which = unread_of(t.snapshot, t.settings, number["limited"], association=association)
        text = f"{listed(which)} of {whose} cannot be judged, and no job that falls under it starts"
        return Told({"limits": which, "of": name}, text)
    minutes = 60.0 if kind.endswith("_run") else 1.0
    used, asked, most = (float(t.numbers[n]) / minutes for n in ("used", "asked", "most"))
    found: dict[str, Any] = {"of": name, "used": used, "asked": asked, "most": most}
    if kind == "wall":
        text = f"its job asks for {seconds(asked)}, and `{amounts}` of {whose} is {seconds(most)}"
        return Told({**found, "limit": amounts}, text)
    measure = measures(t.snapshot)[number["measure"]]
    field = count if measure == "jobs" else amounts
    found |= {"limit": field, "measure": measure}
    if kind.endswith("_run"):
        measure = f"minutes of {measure}"
    said = [shown(value, [most]) for value in (used, asked, most)]
    if kind in ("job", "node", "least"):
        text = f"its job asks for {said[1]} {measure}, and `{field}` of {whose} is {said[2]}"
    else:
        text = f"`{field}` of {whose} is {said[2]} {measure}: {said[0]} are in use, and it asks for {said[1]}"
    return Told(found, text)


def _larger_than_nodes(t: Telling) -> Told:
    where, part = _turn(t)
    text = f"{where}its job asks for more resources, or more nodes, than exist where it may run"
    return Told(part, text)


def _licenses_missing(t: Telling) -> Told:
    wide = t.shared()
    lacks = t.facts.amounts({r: a for r, a in t.met["missing"].items() if r in wide})
    text = f"too few licences are free for all of its job: {lacks} is missing"
    if t.settings.reclaim_licenses:
        text += ", even if all gave way that may be preempted for it"
    return Told({"reclaim_licenses": t.settings.reclaim_licenses}, text)


def _preemption_disabled(_t: Telling) -> Told:
    return Told({}, "there is too little free room, and `PreemptType` is none: nothing is preempted")


def _dry_run_omits_victims(t: Telling) -> Told:
    text = "it fits if others share their cpus with it, and with `victim_selection` test_only none is listed"
    return Told({"victim_selection": t.settings.victim_selection}, text)


def _other_request_waits(t: Telling) -> Told:
    other = t.other("requests", "lacking")
    if other is None:
        return NOTHING
    text = f"request {name_of(other)} of the same job cannot start, and all of them start together"
    return Told({"other_request": other}, text)


def _waits_for_victims(t: Telling) -> Told:
    me = str(t.snapshot.names("operations")[t.row])
    victims = t.facts.plan.decisions.victims
    now = [d for d in victims if d.beneficiary and str(d.beneficiary.operation) == me]
    before = leaving_for(t.snapshot, t.row)
    leaving = [str(d.allocation) for d in now] + before
    if not leaving:
        return NOTHING
    has = "has" if len(leaving) == 1 else "have"
    found: dict[str, Any] = {"leaving": leaving, **not_listed(leaving)}
    text = f"it starts once {listed(leaving)} {has} left"
    names = [str(name) for name in t.snapshot.names("allocations")]
    deadlines = np.asarray(t.snapshot._core.column("allocations", "deadline"))
    until = [d.until for d in now] + [_seconds(int(deadlines[names.index(name)])) for name in before]
    if all(one is not None for one in until):
        found["until"] = max(float(one) for one in until if one is not None)
        if found["until"] > t.snapshot.now:
            text += f", by {t.facts.when(found['until'])}"
    return Told(found, text)


def _seconds(micros: int) -> float | None:
    return None if micros == NO_TIME else micros / 1e6


def _wrong_place(t: Telling) -> Told:
    where, part = _turn(t)
    of = next(row for row in t.snapshot.to_dict()["requests"] if str(row["name"]) == str(t.met["request"]))
    number = t.numbers.get("partition")
    name = t.jobs.partition(t.row) if number is None else [*t.jobs.partitions][int(number)]
    in_ = t.partition(name) if name is not None else "the cluster"
    node, tags = of.get("required_node"), of.get("node_tags", [])
    if t.code == "node_outside_partition" and node is not None:
        text = f"it may run on node {name_of(node)} only, which is not in {in_}"
        return Told({"required_node": node, **part}, text)
    if t.code == "wrong_tags" and tags:
        text = f"no node of {in_} on which it might run has the tags {listed(tags)}"
        return Told({"node_tags": list(tags), **part}, text)
    if t.code == "node_not_schedulable":
        text = f"too few nodes of {in_} take anything new on which it would fit"
        return Told(part, text)
    return Told(part) if where else NOTHING


_REQUEST: Final[Mapping[str, Callable[[Telling], Told]]] = {
    "no_room_even_with_victims": _no_room_even_with_victims,
    "no_eligible_victims": _no_eligible_victims,
    "larger_than_nodes": _larger_than_nodes,
    "licenses_missing": _licenses_missing,
    "preemption_disabled": _preemption_disabled,
    "dry_run_omits_victims": _dry_run_omits_victims,
    "behind_first_waiting": _behind,
    "waits_for_next_pass": _waits_for_next_pass,
    "preemption_backoff": _preemption_backoff,
    "not_eligible_yet": _not_eligible_yet,
    "partition_down": _partition_down,
    "partition_time_limit": _partition_time_limit,
    "limit_reached": _limit_reached,
    "other_request_waits": _other_request_waits,
    "waits_for_victims": _waits_for_victims,
    **dict.fromkeys(("node_outside_partition", "wrong_tags", "node_not_schedulable"), _wrong_place),
}


def of_request(facts: Facts, row: int, met: Mapping[str, Any], recorded: Mapping[str, Any]) -> Told:
    """Return what is said of a request that did not start."""
    tell = _REQUEST.get(str(met["outcome"]))
    if tell is None or met["request"] is None:
        return NOTHING
    operation = int(facts.snapshot._core.column("requests", "operation")[row])
    return tell(Telling(facts, operation, met, recorded))
