"""What a fresh plan does in the place of a step that it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.config.pace import pace_columns
from evenhand.fields import TABLES
from evenhand.plans.causes import Found
from evenhand.reasons import ACTIONS, reason
from evenhand.reasons.pace import PACED

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.plans.again import Again, Essence
    from evenhand.plans.plan import Plan

__all__ = ["instead"]

_PREEMPT = ACTIONS.index("preempt")
_OF_OPERATION = ("kind", "user", "project", "account", "partition", "qos")


def instead(again: Again, plan: Plan, rows: list[int], step: int) -> list[Found]:
    """Say what a fresh plan does instead of a step, where nothing that changed spoils the step by itself."""
    was = again.before[step]
    now = again.serving(was)
    first = rows[0]
    if not was.victims:
        return [_start(again, was, now, first) if was.places else _reserved(again, plan, was, now, first)]
    spared = [Found(row, "victim_protected", numbers) for row, numbers in _protected(again, plan, rows)]
    spared = spared or _paced(again, plan, rows)
    if was.operation is None:
        return spared or [_others(was, now, first)]
    for other in now:
        if {name for name, _ in other.victims} == {name for name, _ in was.victims}:
            return _same_victims(again, plan, was, other, rows)
    served = [other for other in now if other.victims]
    fits = [other for other in now if any(place[1] == was.request for place in other.places)]
    if fits and not served:
        numbers = {"beneficiary": was.operation, "nodes": _nodes(fits)}
        return [Found(first, "beneficiary_fits_without_victims", numbers)]
    if spared:
        return spared
    return [_others(was, served, first) if served else _not_served(again, was, first)]


def _start(again: Again, was: Essence, now: list[Essence], row: int) -> Found:
    """Say why something would not start or resume there in free room."""
    _, name, node = was.places[0]
    nodes = [place[2] for other in now for place in other.places if place[1] == name]
    if now and nodes and not any(other.victims for other in now):
        return Found(row, "starts_elsewhere", {"request": name, "was": node, "now": nodes})
    needs = next((other for other in now if other.victims), None)
    if needs is not None:
        victims = sorted(victim for victim, _ in needs.victims)
        return Found(row, "needs_victims", {"request": name, "victims": victims})
    return _not_served(again, was, row, name)


def _reserved(again: Again, plan: Plan, was: Essence, now: list[Essence], row: int) -> Found:
    """Say what becomes of something for which room was only reserved."""
    request, allocation = (int(plan.decisions.column(of)[row]) for of in ("request", "allocation"))
    name = str(plan.snapshot.names("requests")[request] if request >= 0 else again.names[allocation])
    starts = [other for other in now if any(place[1] == name for place in other.places)]
    if starts and not any(other.victims for other in starts):
        numbers = {"beneficiary": was.operation, "nodes": _nodes(starts)}
        return Found(row, "beneficiary_fits_without_victims", numbers)
    victims = sorted(name for other in now for name, _ in other.victims)
    if victims:
        return Found(row, "needs_victims", {"request": name, "victims": victims})
    return _not_served(again, was, row, name)


def _not_served(again: Again, was: Essence, row: int, name: str | None = None) -> Found:
    request = name or was.request or ""
    rule = again.rules.get(request)
    why = "no step is planned for it" if rule is None else _plain(reason(rule, "request").doc)
    return Found(row, "beneficiary_not_served", {"request": request, "rule": rule, "why": why})


def _others(was: Essence, now: list[Essence], row: int) -> Found:
    numbers: dict[str, Any] = {
        "was": sorted(name for name, _ in was.victims),
        "now": sorted(name for other in now for name, _ in other.victims),
    }
    if was.operation is None:
        return Found(row, "other_repair", numbers)
    return Found(row, "other_victims", {"beneficiary": was.operation, **numbers})


def _same_victims(again: Again, plan: Plan, was: Essence, now: Essence, rows: list[int]) -> list[Found]:
    before, after = dict(was.victims), dict(now.victims)
    names = again.names
    column = plan.decisions.column
    found = []
    for row in rows:
        if column("action")[row] == _PREEMPT:
            name = str(names[column("allocation")[row]])
            if before[name] != after[name]:
                numbers = {"allocation": name, "was": before[name], "now": after[name]}
                found.append(Found(row, "mode_changed", numbers))
    if found:
        return found
    if was.request != now.request:
        requests = {"beneficiary": was.operation, "was": was.request, "now": now.request}
        return [Found(rows[0], "other_request", requests)]
    was_on, now_on = (sorted(node for _, _, node in of.places) for of in (was, now))
    return [Found(rows[0], "starts_elsewhere", {"request": was.request, "was": was_on, "now": now_on})]


def _nodes(steps: list[Essence]) -> list[str]:
    return sorted({node for step in steps for _, _, node in step.places})


def _protected(again: Again, plan: Plan, rows: list[int]) -> list[tuple[int, dict[str, Any]]]:
    """Return the rows of victims that the fresh plan leaves alone and of which something else changed."""
    names = again.names
    column = plan.decisions.column
    found = []
    for row in rows:
        old = int(column("allocation")[row])
        if column("action")[row] != _PREEMPT or str(names[old]) in again.victims:
            continue
        new = again.row(str(names[old]))
        for field, was, now in _changes(plan.snapshot, again.fresh, old, new):
            numbers = {"allocation": names[old], "field": field, "was": was, "now": now}
            found.append((row, numbers))
            break
    return found


def _paced(again: Again, plan: Plan, rows: list[int]) -> list[Found]:
    """Return victims that the pace spares in the fresh plan; one more plan each, where there is a pace."""
    fresh, column, found = again.plan, plan.decisions.column, []
    pace = None if fresh is None else fresh.policy.setting("pace")
    if fresh is None or pace is None or not pace_columns(again.fresh, pace):
        return []
    for row in rows:
        name = again.names[int(column("allocation")[row])]
        if column("action")[row] != _PREEMPT or str(name) in again.victims:
            continue
        told = fresh.why_not(name, table="allocations")
        if any(told.code == code.code for code in PACED):
            operation = plan.snapshot.names("operations")[int(column("operation")[row])]
            why = reason(told.code, "allocation").sentence.format(operation=operation)
            numbers = {"allocation": name, "rule": told.code, "why": why, **told.numbers}
            found.append(Found(row, "victim_spared", numbers))
    return found


def _changes(old: Snapshot, new: Snapshot, before: int, after: int) -> list[tuple[str, Any, Any]]:
    """Return fields of an allocation and of its operation that may protect it: name, before, after."""
    sides = ((old, before), (new, after))
    operations = [(s, int(s._core.column("allocations", "operation")[row])) for s, row in sides]
    cells: list[tuple[str, list[Any]]] = [
        ("preemptible", [bool(s._core.column("allocations", "preemptible")[row]) for s, row in sides]),
        ("start_time", [_seconds(s._core.column("allocations", "start_time")[row]) for s, row in sides]),
    ]
    kinds = TABLES["operations"]["kind"].words
    cells += [("kind", [kinds[s._core.column("operations", "kind")[row]] for s, row in operations])]
    cells += [(name, [_word(s, name, row) for s, row in operations]) for name in _OF_OPERATION[1:]]
    for table, rows in (("operations", operations), ("allocations", sides)):
        own = [s.settings(table).get(row, {}) for s, row in rows]
        cells += [(name, [of.get(name) for of in own]) for name in sorted({*own[0], *own[1]})]
    return [(name, was, now) for name, (was, now) in cells if was != now]


def _seconds(micros: Any) -> float:
    return float(micros) / 1e6


def _word(snapshot: Snapshot, name: str, row: int) -> str | None:
    values, codes = snapshot._core.text("operations", name)
    return None if not len(codes) or codes[row] < 0 else str(values[codes[row]])


def _plain(doc: str) -> str:
    text = doc.rstrip(".")
    return text[:1].lower() + text[1:]
