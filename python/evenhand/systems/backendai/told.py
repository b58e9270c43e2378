"""Why a session was not preempted, or waits: with the settings that decided and what was compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.facts import listed, name_of, number, seconds
from evenhand.explain.told import NOTHING, Told
from evenhand.plans.columns import rows_by_name
from evenhand.reasons import OUTCOMES
from evenhand.systems.backendai.met import Met, Words
from evenhand.systems.backendai.paced import paced_words
from evenhand.systems.backendai.sessions import Sessions
from evenhand.systems.backendai.settings import choice_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenhand.explain.facts import Facts

__all__ = ["ordered_by", "told", "told_of_unseen"]


def told(facts: Facts, what: str, row: int, met: Mapping[str, Any], recorded: Mapping[str, Any]) -> Told:
    """Return what is said of an outcome; see `evenhand.explain.told.told_of_outcome`."""
    allocation = what == "allocation"
    row_of = rows_by_name(facts.snapshot, "requests")
    asks = -1 if met["request"] is None else row_of[str(met["request"])]
    found = _words(
        facts,
        Met(
            what,
            row,
            str(met["outcome"]),
            int(facts.snapshot._core.column(f"{what}s", "operation")[row]),
            asks if allocation else row,
            recorded,
            {OUTCOMES[code]: int(count) for code, count in enumerate(recorded.get("stood", ())) if count},
            met["missing"],
            recorded.get("spared", ""),
            recorded.get("paced", {}),
        ),
    )
    if found is None:
        return NOTHING
    return Told(
        found.numbers, found.text, asks=facts.of_request(met["request"]) if allocation and asks >= 0 else ""
    )


def told_of_unseen(facts: Facts, row: int) -> Told:
    """Return what is said of running work that was not looked at, by its row."""
    operation = int(facts.snapshot._core.column("allocations", "operation")[row])
    found = _words(facts, Met("unseen", row, "not_considered", operation, -1))
    return NOTHING if found is None else Told(found.numbers, found.text)


def _words(facts: Facts, met: Met) -> Words | None:
    """Return what is said of an outcome; None: what is said of its code in every system."""
    tell = {"allocation": _ALLOCATIONS, "request": _REQUESTS}.get(met.what, _UNSEEN).get(met.code)
    if tell is None and met.paced and met.code == met.spared:
        return paced_words(facts, met)
    return None if tell is None else tell(Sessions(facts), met)


def ordered_by(of: Sessions) -> str:
    """Return in which order victims are taken."""
    never = ", those that never ran first" if _any_unstarted(of) else ""
    return f"lowest {of.key} first{never}, then by preemption_order {of.s.preemption_order}"


def _any_unstarted(of: Sessions) -> bool:
    return any(own.get("started") is False for own in of.snapshot.settings("operations").values())


def _asker(of: Sessions, met: Met) -> int:
    """Return the row of the session that asked."""
    return int(of.snapshot._core.column("requests", "operation")[met.request])


def _request(of: Sessions, met: Met) -> str:
    return f"request {name_of(of.snapshot.names('requests')[met.request])}"


# Why an allocation stays.


def _not_lower(of: Sessions, met: Met) -> Words:
    asks = _asker(of, met)
    if asks == met.operation:
        return Words("it is of the session that asks, which preempts nothing of its own")
    text = (
        f"its {of.key} ({number(of.rank(met.operation))}) is not lower than that of {of.name(asks)}"
        f" ({number(of.rank(asks))}); only a session of a higher {of.key} may preempt it"
    )
    return Words(text, of.of("rank", met.operation, asks))


def _above(of: Sessions, met: Met) -> Words:
    own, most = of.priority(met.operation), of.s.preemptible_priority
    text = (
        f"its priority ({number(own)}) is above preemptible_priority ({number(most)}); it may be"
        f" preempted only where that is {number(own)} or more"
    )
    return Words(text, of.of("priority", met.operation, preemptible_priority=most))


def _system(of: Sessions, met: Met) -> Words:
    return Words("it is of a session of kind system, which is never preempted", of.of("kind", met.operation))


def _opted_out(of: Sessions, met: Met) -> Words:
    if of.own(met.operation).get("is_preemptible") is False:
        values = {f"is_preemptible_of_{of.names[met.operation]}": False}
        return Words("its session has opted out (is_preemptible false)", values)
    core, names = of.snapshot._core, of.snapshot.names("allocations")
    marks = np.asarray(core.column("allocations", "preemptible"))
    marked = [one for one in of.running(met.operation) if len(marks) and not marks[one]]
    if marked:
        own = met.row in marked
        which = "it is" if own else f"allocation {name_of(names[marked[0]])} of its session is"
        values = {f"preemptible_of_{names[met.row if own else marked[0]]}": False}
        return Words(f"{which} marked as not preemptible", values)
    kind = of.kind(met.operation)
    text = (
        f"it is of kind {kind}, which is not preemptible (inference_preemptible false) unless its session"
        " says so (is_preemptible)"
    )
    return Words(text, of.of("kind", met.operation, inference_preemptible=of.s.inference_preemptible))


def _stopped(of: Sessions, met: Met) -> Words:
    stopped = [one for one in of.allocations(met.operation) if of.state(one) in ("suspended", "preempted")]
    names = of.snapshot.names("allocations")
    if not stopped or of.state(met.row) != "running":
        return Words("it does not run")
    state = of.state(stopped[0])
    text = f"allocation {name_of(names[stopped[0]])} of its session was stopped before (state {state})"
    return Words(
        f"{text}, and only sessions of which nothing is stopped are preempted",
        {f"state_of_{names[stopped[0]]}": state},
    )


def _not_suspendable(of: Sessions, met: Met) -> Words:
    kind = of.kind(met.operation)
    text = (
        f"it is of kind {kind}, which cannot resume later: with preemption_mode suspend and suspend_fallback"
        " not_a_victim only batch sessions are preempted"
    )
    settings = {"preemption_mode": of.s.preemption_mode, "suspend_fallback": of.s.suspend_fallback}
    return Words(text, of.of("kind", met.operation, **settings))


def _too_short(of: Sessions, met: Met) -> Words:
    least, now = of.s.preemption_min_runtime, of.snapshot.now
    if of.own(met.operation).get("started") is False:
        text = f"its session has never run, and preemption_min_runtime is {seconds(least)}"
        values = {f"started_of_{of.names[met.operation]}": False}
        return Words(text, values | {"preemption_min_runtime": least})
    began = of.began(met.operation) or 0.0
    text = (
        f"its session has run for {seconds(now - began)}, less than preemption_min_runtime"
        f" ({seconds(least)}); it may be preempted from {of.facts.when(began + least)} on"
    )
    return Words(text, {"seconds": now - began, "preemption_min_runtime": least, "until": began + least})


def _other_scope(of: Sessions, met: Met) -> Words:
    asks, scope = _asker(of, met), of.s.victim_scope
    own, theirs = of.scope(met.operation), of.scope(asks)
    if own is None and theirs is None:
        text = f"neither its session nor {of.name(asks)} names a {scope}, and victim_scope is {scope}"
    elif own is None:
        text = f"its session names no {scope}, and victim_scope is {scope}"
    elif theirs is None:
        text = f"{of.name(asks)} names no {scope}, and victim_scope is {scope}"
    else:
        text = (
            f"it is of {scope} {name_of(own)}, {of.name(asks)} of {scope} {name_of(theirs)},"
            f" and victim_scope is {scope}"
        )
    return Words(text, of.of("scope", met.operation, asks, victim_scope=scope))


def _useless(of: Sessions, met: Met) -> Words:
    asks = of.name(_asker(of, met))
    return Words(f"it holds nothing that {asks} needs on a node where that could be placed")


def _not_enough(of: Sessions, met: Met) -> Words:
    asks = of.name(_asker(of, met))
    return Words(
        f"all that may be preempted for {asks} together does not make enough room, so nothing leaves"
    )


def _placed(of: Sessions, met: Met) -> tuple[str, dict[str, Any]]:
    """Return which candidate of how many it was, and as values; empty where that was not noted."""
    numbers = met.facts.get("numbers", {})
    if "place" not in numbers:
        return "", {}
    place, among = int(numbers["place"]), int(numbers["candidates"])
    values = {"place": place, "candidates": among, "preemption_order": of.s.preemption_order}
    where = " on the node that was chosen" if of.s.victim_area == "agent" else ""
    return f"number {place:,} of {among:,} candidates{where} ({ordered_by(of)})", values


def _fits_without(of: Sessions, met: Met) -> Words:
    asks, (place, values) = of.name(_asker(of, met)), _placed(of, met)
    if of.s.victim_selection == "minimum":
        text = f"the sessions that leave for {asks} suffice, and were chosen as they cost least"
        settings = {"victim_selection": "minimum", "victim_cost": of.s.victim_cost}
        return Words(f"{text} (victim_selection minimum, victim_cost {of.s.victim_cost})", values | settings)
    nodes = [int(row) for row in met.facts.get("nodes", {}).get("placed_on", [])]
    names = list(dict.fromkeys(of.snapshot.names("nodes")[row] for row in nodes))
    values |= {"placed_on": names}
    where = f" on node{'s' * (len(names) > 1)} {listed(names)}" if names else ""
    text = f"others that leave make enough room for {asks}{where}"
    return Words(f"{text}; it was {place}" if place else text, values)


def _given_back(of: Sessions, met: Met) -> Words:
    asks, (place, values) = of.name(_asker(of, met)), _placed(of, met)
    text = f"it was wanted for {asks} first and then given back, as the others suffice"
    chosen = f" (victim_selection {of.s.victim_selection})"
    values |= {"victim_selection": of.s.victim_selection}
    return Words(f"{text}{chosen}; it was {place}" if place else text + chosen, values)


# Why a request waits; of these some are said of allocations, too.


def _lacking(of: Sessions, met: Met) -> str:
    """Say what is missing of free room, of the request that found none."""
    if not met.missing:
        return ""
    return f"{of.facts.amounts(met.missing)} is missing on the node that comes nearest, and "


def _disabled(of: Sessions, met: Met) -> Words:
    return Words(f"{_lacking(of, met)}preemption is switched off (enabled false)", {"enabled": of.s.enabled})


def _not_first(of: Sessions, met: Met) -> Words:
    front = int(met.facts.get("operations", {}).get("front", -1))
    asks = of.name(met.operation if met.what == "request" else _asker(of, met))
    if front < 0:
        return Words(f"{_lacking(of, met)}{asks} is not first in the queue (preemptors front)")
    text = f"{_lacking(of, met)}only {of.name(front)}, which is first in the queue, may preempt"
    values = {"front": of.names[front], "preemptors": of.s.preemptors}
    return Words(f"{text} (preemptors {of.s.preemptors})", values)


def _asks_nothing(of: Sessions, met: Met) -> Words:
    asks = met.operation if met.what == "request" else _asker(of, met)
    text = f"{_lacking(of, met)}{of.name(asks)} is of kind system, which preempts nothing"
    return Words(text, of.of("kind", asks))


def _nothing_lower(of: Sessions, met: Met) -> Words:
    own = f"{number(of.rank(met.operation))}"
    counts, values = _stood(of, met)
    text = f"{_lacking(of, met)}nothing that runs may be preempted for its {of.key} ({own})"
    return Words(text + (f": {counts}" if counts else ""), of.of("rank", met.operation) | values)


def _stood(of: Sessions, met: Met) -> tuple[str, dict[str, Any]]:
    """Count running sessions by what spares them; nothing where the session itself runs in part."""
    if of.allocations(met.operation):
        return "", {}
    s, found, values = of.s, list[str](), dict[str, Any]()
    phrases = {
        "not_lower_priority": f"no lower {of.key}",
        "above_threshold": f"a priority above preemptible_priority ({number(s.preemptible_priority)})",
        "other_scope": f"another {s.victim_scope} or none (victim_scope {s.victim_scope})"
        if s.victim_scope == "resource-group" or of.scope(met.operation) is not None
        else f"no {s.victim_scope} in common with it, as it names none (victim_scope {s.victim_scope})",
        "not_preemptible_flag": "opted out of it",
        "system_work": "the kind system",
        "not_suspendable": "a kind that is not suspended (suspend_fallback not_a_victim)",
        "ran_too_short": f"not run for preemption_min_runtime ({seconds(s.preemption_min_runtime)}) yet",
    }
    for code, phrase in phrases.items():
        if count := met.stood.get(code, 0):
            what = "" if found else " of these sessions"
            found.append(f"{count:,}{what} {'has' if count == 1 else 'have'} {phrase}")
            values[code] = count
    return ", ".join(found), {"sessions": values} if values else {}


def _no_room(of: Sessions, met: Met) -> Words:
    # Where a pool gave as many as it may, these are not all that were looked at.
    count = 0 if "pool_victims_per_hour" in met.stood else met.stood.get("no_start_in_stage", 0)
    missing = of.facts.amounts(met.missing)
    if not count:
        return Words(f"even if all left that may be preempted for it, {missing} would be missing")
    gone = "if the one session left" if count == 1 else f"if all {count:,} sessions left"
    text = (
        f"even {gone} that may be preempted for it, {missing} would be missing on the node that comes nearest"
    )
    return Words(text, {"candidates": count})


def _no_free_room(of: Sessions, met: Met) -> Words | None:
    if not met.missing:
        return None
    return Words(f"{of.facts.amounts(met.missing)} is missing on the node that comes nearest")


def _containers(of: Sessions, _met: Met) -> Words:
    most = of.s.max_containers
    text = (
        f"every node where it could run has as many allocations as max_containers allows"
        f" ({number(most)}), those that would leave included"
    )
    return Words(text, {"max_containers": most})


def _other_waits(of: Sessions, met: Met) -> Words | None:
    other = int(met.facts.get("requests", {}).get("other", -1))
    if other < 0:
        return None
    name = of.snapshot.names("requests")[other]
    text = f"request {name_of(name)} of the same operation cannot start, and a session starts as a whole"
    return Words(text, {"other": name})


def _behind(of: Sessions, met: Met) -> Words | None:
    before = met.facts.get("operations", {})
    own = of.name(met.operation)
    if (other := int(before.get("reserved_before", -1))) >= 0:
        text = f"{of.name(other)} has reserved room on the same node since earlier and has not started yet"
        return Words(text, {"behind": of.names[other]})
    other = int(before.get("behind", -1))
    if other < 0:
        return None
    values = {"behind": of.names[other], "blocked_by": of.s.blocked_by}
    if other == met.operation:
        return Words(f"what is suspended of {own} resumes first, and cannot yet", values)
    text = (
        f"{of.name(other)} (priority {number(of.priority(other))}) is before it in the queue and cannot start"
        f" yet; {own} has priority {number(of.priority(met.operation))}"
    )
    return Words(text, values | of.of("priority", other, met.operation))


def _leaving(of: Sessions, met: Met) -> Words:
    column = of.facts.plan.decisions.column
    mine = (column("allocation") >= 0) & (column("beneficiary_operation") == met.operation)
    rows = column("allocation")[mine].tolist()
    if not rows:
        reserved = ", or stands where room is reserved for it," if of.s.preemptor_room == "reserved" else ""
        return Words(f"what was asked to leave for it before{reserved} has not left yet")
    names = [of.snapshot.names("allocations")[row] for row in rows]
    verb, they = ("has", "it has") if len(rows) == 1 else ("have", "they have")
    text = f"{listed(names)} {verb} been asked to leave for it, and it starts once {they} left"
    return Words(text, {"victims": names})


def _spared(of: Sessions, met: Met) -> Words | None:
    first = paced_words(of.facts, met)
    if first is None:
        return None
    missing = f"{of.facts.amounts(met.missing)} is missing on the node that comes nearest, and "
    text = f"{missing if met.missing else ''}what could make room for it is spared by the pace"
    return Words(f"{text}: of the first of these, {first.text}", first.numbers)


def _wrong_tags(of: Sessions, met: Met) -> Words:
    words, offsets, codes = of.snapshot._core.text_list("requests", "node_tags")
    tags = [str(words[code]) for code in codes[offsets[met.row] : offsets[met.row + 1]]]
    return Words(f"no node that it may take has all of its node_tags ({listed(tags)})", {"node_tags": tags})


def _takes_nothing(_of: Sessions, _met: Met) -> Words:
    return Words("each node where it could run takes nothing new (schedulable false)")


def _unasked(_of: Sessions, _met: Met) -> Words:
    return Words("no session looked for victims in this scheduling run")


def _may_not_change(of: Sessions, met: Met) -> Words:
    owners, _ = _owners(of, met.operation)
    text = (
        f"it sets its own priority ({number(of.priority(met.operation))}), which the policy of {owners} does"
        " not allow (may_change false)"
    )
    return Words(text, of.of("priority", met.operation, may_change=False))


def _out_of_range(of: Sessions, met: Met) -> Words:
    owners, pair = _owners(of, met.operation)
    lowest, highest = choice_for(of.s, *pair)[1]
    text = (
        f"its priority ({number(of.priority(met.operation))}) is outside the range that the policy of"
        f" {owners} allows ({number(lowest)} to {number(highest)})"
    )
    return Words(text, of.of("priority", met.operation, lowest=lowest, highest=highest))


def _owners(of: Sessions, row: int) -> tuple[str, tuple[str | None, str | None]]:
    user, project = of.text("user", row), of.text("project", row)
    policies = {"user": (user, of.s.user_policies), "project": (project, of.s.project_policies)}
    said = [f"{what} {name_of(name)}" for what, (name, known) in policies.items() if name in known]
    return " and ".join(said), (user, project)


_ALLOCATIONS: dict[str, Callable[[Sessions, Met], Words | None]] = {
    "not_lower_priority": _not_lower,
    "above_threshold": _above,
    "system_work": _system,
    "not_preemptible_flag": _opted_out,
    "not_running": _stopped,
    "not_suspendable": _not_suspendable,
    "ran_too_short": _too_short,
    "other_scope": _other_scope,
    "frees_nothing_useful": _useless,
    "no_start_in_stage": _not_enough,
    "spared_fits_without": _fits_without,
    "given_back": _given_back,
    "preemption_disabled": _disabled,
    "not_first_in_queue": _not_first,
    "system_does_not_preempt": _asks_nothing,
    "no_free_room": _no_free_room,
    "behind_first_waiting": _behind,
    "max_containers": _containers,
}
_REQUESTS: dict[str, Callable[[Sessions, Met], Words | None]] = {
    "preemption_disabled": _disabled,
    "not_first_in_queue": _not_first,
    "system_does_not_preempt": _asks_nothing,
    "no_lower_priority": _nothing_lower,
    "no_room_even_with_victims": _no_room,
    "max_containers": _containers,
    "other_request_waits": _other_waits,
    "behind_first_waiting": _behind,
    "waits_for_victims": _leaving,
    "priority_change_disabled": _may_not_change,
    "priority_out_of_range": _out_of_range,
    "victims_spared": _spared,
    "wrong_tags": _wrong_tags,
    "node_not_schedulable": _takes_nothing,
}
_UNSEEN: dict[str, Callable[[Sessions, Met], Words | None]] = {"not_considered": _unasked}
