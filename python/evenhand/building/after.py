"""The snapshot after a plan: victims are leaving, what started runs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.changed import drop_rows, free_names, parts, set_labels, take
from evenhand.building.parse import Raw
from evenhand.building.readback import NO_TIME, matrix, read_back
from evenhand.fields import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["after", "taken_in_all"]

_START, _PREEMPT, _RESUME, _RESERVE, _RELEASE = range(5)
_STOPPED = (3, 4, 5)  # modes whose processes stop
_STATES = TABLES["allocations"]["state"].words
_RUNNING, _PREEMPTING, _PREEMPTED = map(_STATES.index, ("running", "preempting", "preempted"))


def after(
    snapshot: Snapshot,
    decisions: Mapping[str, NDArray[Any]],
    handed: Mapping[str, NDArray[Any]] | None = None,
) -> Raw:
    """Return raw columns of the snapshot once decisions are carried out.

    Parameters
    ----------
    snapshot : Snapshot
    decisions : mapping
        Columns, one row a decision: ``action`` (0 start, 1 preempt, 2 resume, 3 reserve, 4 release),
        ``allocation``, ``request``, ``operation``, ``node``, ``beneficiary_operation``,
        ``beneficiary_request`` (canonical rows, -1: none), ``at`` and ``until`` (microseconds); optionally
        ``kept`` (n, R): what a victim will keep, as its ``held``; ``needed`` (n, R): what is reserved, and
        whether it is ``soft``; ``mode``: a victim that is stopped (3 to 5) until ``at`` is so at once. Room
        that is planned ahead is no row.
    handed : mapping, optional
        ``allocation`` (rows) and ``amounts`` (quanta): room of leaving allocations that their beneficiaries
        took with this plan; with what was taken before it is kept as the setting ``room_taken``.

    Returns
    -------
    Raw
        Rows in canonical order, what started at the end of the allocations.

    Notes
    -----
    O(cells), by columns.
    """
    raw = read_back(snapshot)
    action = np.asarray(decisions["action"])
    victims = {name: column[action == _PREEMPT] for name, column in decisions.items()}
    starts = {name: column[action == _START] for name, column in decisions.items()}
    resumes, reserved = (
        {name: column[kept] for name, column in decisions.items()}
        for kept in (action == _RESUME, _kept_now(snapshot, decisions))
    )
    if len(victims["action"]):
        _leave(snapshot, raw.tables["allocations"], victims)
    if handed is not None:
        _hand_over(snapshot, raw, handed)
    if len(resumes["action"]):
        _resume(snapshot, raw, resumes)
    if len(reserved["action"]):
        _reserve(snapshot, raw, reserved)
    _let_go(raw, decisions)
    if len(starts["action"]):
        _start(snapshot, raw, starts)
        _shrink(snapshot, raw, starts["request"])
    return raw


def _kept_now(snapshot: Snapshot, decisions: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Return which decisions reserve room from now on; what is planned ahead is planned anew each time."""
    found = np.asarray(decisions["action"]) == _RESERVE
    if not found.any():
        return found
    ahead = np.asarray(decisions["soft"], np.bool_) & (decisions["at"] > round(snapshot.now * 1e6))
    return np.asarray(found & ~ahead, np.bool_)


def _leave(snapshot: Snapshot, table: dict[str, Any], victims: Mapping[str, NDArray[Any]]) -> None:
    rows = victims["allocation"]
    count = snapshot.allocation_count
    state = np.array(snapshot._core.column("allocations", "state"), np.uint8)
    at_once = np.isin(victims["mode"], _STOPPED) & (victims["until"] == victims["at"])
    state[rows] = np.where(at_once, _PREEMPTED, _PREEMPTING)
    table["state"] = state
    deadline, given = parts(table.get("deadline"), count, np.int64)
    deadline[rows], given[rows] = victims["until"], victims["until"] != NO_TIME
    table["deadline"] = (deadline, given)
    kept = np.asarray(victims.get("kept", np.zeros((len(rows), 0))))
    if kept.any():
        held, given = _amounts(snapshot, table, "held", count)
        held[rows], given[rows] = matrix(kept, np.asarray(snapshot._head["quantum"])), kept > 0
        table["held"] = (held, given)
    for field, names in (
        ("operation", snapshot.names("operations")),
        ("request", snapshot.names("requests")),
    ):
        beneficiaries = victims[f"beneficiary_{field}"].tolist()
        labels = [None if row < 0 else str(names[row]) for row in beneficiaries]
        set_labels(table, f"beneficiary.{field}", count, dict(zip(rows.tolist(), labels, strict=True)))


def _amounts(snapshot: Snapshot, table: dict[str, Any], field: str, rows: int) -> tuple[Any, Any]:
    """Return copies of a column of amounts as floats, and of which are given."""
    values, given = parts(table.get(field), rows, np.float64, len(snapshot.resources))
    return values.astype(np.float64), given


def _resume(snapshot: Snapshot, raw: Raw, resumes: Mapping[str, NDArray[Any]]) -> None:
    """Let allocations run from now on; nothing is left of the terms of their leaving."""
    table, settings = raw.tables["allocations"], dict(raw.settings.get("allocations", {}))
    rows, count = resumes["allocation"], snapshot.allocation_count
    state, _ = parts(table.get("state"), count, np.uint8)  # without it, all run
    state[rows] = _RUNNING
    table["state"] = state
    where = np.array(table.get("node_index", np.full(count, -1)), np.int64)
    where[rows] = resumes["node"]
    table["node_index"] = where
    times, given = parts(table.get("start_time"), count, np.int64)
    times[rows], given[rows] = resumes["at"], True
    table["start_time"] = (times, given)
    if "held" in table:
        held, given = _amounts(snapshot, table, "held", count)
        given[rows] = False
        table["held"] = (held, given)
    for field in ("deadline", "last_job_start_time"):
        if field in table:
            times, given = parts(table[field], count, np.int64)
            given[rows] = False
            table[field] = (times, given)
    for field in ("beneficiary.operation", "beneficiary.request"):
        if field in table:
            set_labels(table, field, count, dict.fromkeys(rows.tolist()))
    for row in rows.tolist():
        if "room_taken" in settings.get(row, {}):
            rest = {name: value for name, value in settings.pop(row).items() if name != "room_taken"}
            settings |= {row: rest} if rest else {}
    raw.settings["allocations"] = settings
    if not settings:
        raw.settings.pop("allocations")


def _reserve(snapshot: Snapshot, raw: Raw, reserved: Mapping[str, NDArray[Any]]) -> None:
    more, count = len(reserved["action"]), snapshot.reservation_count
    table = raw.tables.setdefault("reservations", {"name": []})
    requests = [snapshot.names("requests")[r] for r in reserved["request"].tolist()]
    names = table["name"] + free_names(set(map(str, table["name"])), requests)
    raw.tables["reservations"] = table = {
        name: names if name == "name" else _longer(name, column, more) for name, column in table.items()
    }
    raw.rows["reservations"] = count + more
    for field in ("request", "node"):
        column = table.setdefault(f"{field}_index", np.full(count + more, -1, np.int64))
        column[count:] = reserved[field]
    values, given = _amounts(snapshot, table, "resources", count + more)
    values[count:] = matrix(np.asarray(reserved["needed"]), np.asarray(snapshot._head["quantum"]))
    given[count:] = reserved["needed"] > 0
    table["resources"] = (values, given)
    times, given = parts(table.get("from"), count + more, np.int64)
    times[count:], given[count:] = reserved["at"], True
    table["from"] = (times, given)
    soft, given = parts(table.get("soft"), count + more, np.bool_)
    soft[count:], given[count:] = reserved["soft"], True
    table["soft"] = (soft, given)


def _let_go(raw: Raw, decisions: Mapping[str, NDArray[Any]]) -> None:
    """Drop reservations that are released, and those of what starts where room was kept for it."""
    table = raw.tables.get("reservations", {})
    ends = np.isin(decisions["action"], (_START, _RELEASE)) & (np.asarray(decisions["request"]) >= 0)
    if "request_index" not in table or not ends.any():
        return
    ended = Counter(zip(decisions["request"][ends].tolist(), decisions["node"][ends].tolist(), strict=True))
    rows = zip(table["request_index"].tolist(), table["node_index"].tolist(), strict=True)
    stays = np.ones(raw.rows["reservations"], np.bool_)
    for row, of in enumerate(rows):
        if ended[of] > 0:
            ended[of] -= 1
            stays[row] = False
    if not stays.all():
        take(raw, "reservations", np.flatnonzero(stays))


def taken_in_all(snapshot: Snapshot, handed: Mapping[str, NDArray[Any]]) -> dict[int, dict[str, Any]]:
    """Return by row the room that has been taken of leaving allocations, with what was taken before.

    Parameters
    ----------
    snapshot : Snapshot
    handed : mapping
        As of `after`.

    Returns
    -------
    dict of int to dict
        Row to resource → amount, the setting ``room_taken``.
    """
    rows, quanta = handed["allocation"].tolist(), np.array(handed["amounts"], np.int64)
    settings, quantum = snapshot.settings("allocations"), snapshot.quantum
    for place, row in enumerate(rows):
        before = settings.get(row, {}).get("room_taken") or {}
        quanta[place] += [round(before.get(name, 0) / quantum[name]) for name in snapshot.resources]
    amounts = matrix(quanta, np.asarray(snapshot._head["quantum"])).tolist()
    # Whole amounts as whole numbers: a snapshot that is read from its rows has them so.
    return {
        row: {
            name: int(value) if float(value).is_integer() else value
            for name, value in zip(snapshot.resources, values, strict=True)
            if value
        }
        for row, values in zip(rows, amounts, strict=True)
    }


def _hand_over(snapshot: Snapshot, raw: Raw, handed: Mapping[str, NDArray[Any]]) -> None:
    kept = dict(raw.settings.get("allocations", {}))
    for row, taken in taken_in_all(snapshot, handed).items():
        kept[row] = {**kept.get(row, {}), "room_taken": taken}
    if kept:
        raw.settings["allocations"] = kept


def _start(snapshot: Snapshot, raw: Raw, starts: Mapping[str, NDArray[Any]]) -> None:
    core, requests = snapshot._core, starts["request"]
    more, asked = len(requests), raw.tables["requests"]
    table = raw.tables.setdefault("allocations", {"name": []})
    count = snapshot.allocation_count
    asking = snapshot.names("requests")
    names = table["name"] + free_names(set(map(str, table["name"])), [asking[r] for r in requests.tolist()])
    raw.tables["allocations"] = table = {
        name: names if name == "name" else _longer(name, column, more) for name, column in table.items()
    }
    raw.rows["allocations"] = count + more
    where = {"operation": starts["operation"], "node": starts["node"]}
    if "required_node_index" in asked:
        where["required_node"] = asked["required_node_index"][requests]
    for field, rows in where.items():
        column = table.setdefault(f"{field}_index", np.full(count + more, -1, np.int64))
        column[count:] = rows
    amounts, given = asked.get("resources", (np.zeros((snapshot.request_count, 0)), None))
    if given is not None:
        values, known = parts(table.get("resources"), count + more, amounts.dtype, amounts.shape[1])
        values = values.astype(np.result_type(values, amounts), copy=False)
        values[count:], known[count:] = amounts[requests], given[requests]
        table["resources"] = (values, known)
    times, given = parts(table.get("start_time"), count + more, np.int64)
    times[count:], given[count:] = starts["at"], True
    table["start_time"] = (times, given)
    if "priority" in asked:
        wanted, has = parts(asked["priority"], snapshot.request_count, np.float64)
        values, given = parts(table.get("priority"), count + more, np.float64)
        values[count:], given[count:] = wanted[requests], has[requests]
        table["priority"] = (values, given)
    if "preemptible" in asked:
        values, given = parts(table.get("preemptible"), count + more, np.bool_)
        values[count:], given[count:] = (
            core.column("requests", "preemptible")[requests].astype(np.bool_),
            True,
        )
        table["preemptible"] = (values, given)


def _shrink(snapshot: Snapshot, raw: Raw, started: NDArray[Any]) -> None:
    """Let the counts of requests fall; those of which nothing is left go, and reservations for them."""
    old = snapshot.request_count
    left = np.array(snapshot._core.column("requests", "count"), np.int64)
    served = np.bincount(started, minlength=old)
    left -= served
    raw.tables["requests"]["count"] = left
    drop_rows(raw, "requests", (left > 0) | (served == 0))


def _longer(name: str, column: Any, more: int) -> Any:
    """Return a raw column with rows of absent cells at its end."""
    if name.endswith("_index"):
        return np.concatenate([column, np.full(more, -1, np.int64)])
    if isinstance(column, tuple) and isinstance(column[0], list):  # words and codes
        return column[0], np.concatenate([column[1], np.full(more, -1, column[1].dtype)])
    values, given = column if isinstance(column, tuple) else (column, np.ones(column.shape, np.bool_))
    blank = np.zeros((more, *values.shape[1:]), values.dtype)
    return np.concatenate([values, blank]), np.concatenate([given, blank.astype(np.bool_)])
