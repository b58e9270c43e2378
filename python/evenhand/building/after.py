"""The snapshot after a plan: victims are leaving, what started runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.parse import Raw
from evenhand.building.readback import NO_TIME, matrix, read_back
from evenhand.fields import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["after"]

_START, _PREEMPT, _RESUME, _RESERVE = range(4)
_SUSPEND = 5
_STATES = TABLES["allocations"]["state"].words
_RUNNING, _PREEMPTING, _PREEMPTED = map(_STATES.index, ("running", "preempting", "preempted"))


def after(snapshot: Snapshot, decisions: Mapping[str, NDArray[Any]]) -> Raw:
    """Return raw columns of the snapshot once decisions are carried out.

    Parameters
    ----------
    snapshot : Snapshot
    decisions : mapping
        Columns, one row a decision: ``action`` (0 start, 1 preempt, 2 resume, 3 reserve), ``allocation``,
        ``request``, ``operation``, ``node``, ``beneficiary_operation``, ``beneficiary_request`` (canonical
        rows, -1: none), ``at`` and ``until`` (microseconds); optionally ``handed`` (n, R): room of a victim
        that its beneficiary has taken with this plan, kept as the setting ``room_taken``; ``kept`` (n, R):
        what a victim will keep, as its ``held``; ``needed`` (n, R): what is reserved, and whether it is
        ``soft``; ``mode``: a victim that is suspended (5) until ``at`` is so at once.

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
        {name: column[action == code] for name, column in decisions.items()} for code in (_RESUME, _RESERVE)
    )
    if len(victims["action"]):
        _leave(snapshot, raw.tables["allocations"], victims)
        _hand_over(snapshot, raw, victims)
    if len(resumes["action"]):
        _resume(snapshot, raw.tables["allocations"], resumes)
    if len(reserved["action"]):
        _reserve(snapshot, raw, reserved)
    if len(starts["action"]):
        _start(snapshot, raw, starts)
        _shrink(snapshot, raw, starts["request"])
    return raw


def _leave(snapshot: Snapshot, table: dict[str, Any], victims: Mapping[str, NDArray[Any]]) -> None:
    rows = victims["allocation"]
    count = snapshot.allocation_count
    state = np.array(snapshot._core.column("allocations", "state"), np.uint8)
    at_once = (victims["mode"] == _SUSPEND) & (victims["until"] == victims["at"])
    state[rows] = np.where(at_once, _PREEMPTED, _PREEMPTING)
    table["state"] = state
    deadline, given = _parts(table.get("deadline"), count, np.int64)
    deadline[rows], given[rows] = victims["until"], ~at_once & (victims["until"] != NO_TIME)
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
        words, codes = table.get(f"beneficiary.{field}", ((), np.full(count, -1, np.int32)))
        words, codes = list(words), np.array(codes, np.int32)
        code_of = {word: code for code, word in enumerate(words)}
        for row, whom in zip(rows.tolist(), victims[f"beneficiary_{field}"].tolist(), strict=True):
            codes[row] = -1 if whom < 0 else code_of.setdefault(str(names[whom]), len(code_of))
        table[f"beneficiary.{field}"] = (list(code_of), codes)


def _amounts(snapshot: Snapshot, table: dict[str, Any], field: str, rows: int) -> tuple[Any, Any]:
    """Return copies of a column of amounts as floats, and of which are given."""
    values, given = _parts(table.get(field), rows, np.float64, len(snapshot.resources))
    return values.astype(np.float64), given


def _resume(snapshot: Snapshot, table: dict[str, Any], resumes: Mapping[str, NDArray[Any]]) -> None:
    rows, count = resumes["allocation"], snapshot.allocation_count
    state, _ = _parts(table.get("state"), count, np.uint8)  # without it, all run
    state[rows] = _RUNNING
    table["state"] = state
    where = np.array(table.get("node_index", np.full(count, -1)), np.int64)
    where[rows] = resumes["node"]
    table["node_index"] = where
    times, given = _parts(table.get("last_job_start_time"), count, np.int64)
    times[rows], given[rows] = resumes["at"], True
    table["last_job_start_time"] = (times, given)
    if "held" in table:
        held, given = _amounts(snapshot, table, "held", count)
        given[rows] = False
        table["held"] = (held, given)


def _reserve(snapshot: Snapshot, raw: Raw, reserved: Mapping[str, NDArray[Any]]) -> None:
    more, count = len(reserved["action"]), snapshot.reservation_count
    table = raw.tables.setdefault("reservations", {"name": []})
    requests = [snapshot.names("requests")[r] for r in reserved["request"].tolist()]
    names = table["name"] + _names(table["name"], requests)
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
    times, given = _parts(table.get("from"), count + more, np.int64)
    times[count:], given[count:] = reserved["at"], True
    table["from"] = (times, given)
    soft, given = _parts(table.get("soft"), count + more, np.bool_)
    soft[count:], given[count:] = reserved["soft"], True
    table["soft"] = (soft, given)


def _hand_over(snapshot: Snapshot, raw: Raw, victims: Mapping[str, NDArray[Any]]) -> None:
    handed = np.asarray(victims.get("handed", np.zeros((len(victims["action"]), 0))))
    some = np.flatnonzero(handed.any(axis=1))
    if len(some) == 0:
        return
    amounts = matrix(handed[some], np.asarray(snapshot._head["quantum"])).tolist()
    kept = raw.settings["allocations"] = dict(raw.settings.get("allocations", {}))
    for row, values in zip(victims["allocation"][some].tolist(), amounts, strict=True):
        taken = {name: value for name, value in zip(snapshot.resources, values, strict=True) if value}
        kept[row] = {**kept.get(row, {}), "room_taken": taken}


def _start(snapshot: Snapshot, raw: Raw, starts: Mapping[str, NDArray[Any]]) -> None:
    core, requests = snapshot._core, starts["request"]
    more, asked = len(requests), raw.tables["requests"]
    table = raw.tables.setdefault("allocations", {"name": []})
    count = snapshot.allocation_count
    names = table["name"] + _names(table["name"], [snapshot.names("requests")[r] for r in requests.tolist()])
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
        values, known = _parts(table.get("resources"), count + more, amounts.dtype, amounts.shape[1])
        values = values.astype(np.result_type(values, amounts), copy=False)
        values[count:], known[count:] = amounts[requests], given[requests]
        table["resources"] = (values, known)
    times, given = _parts(table.get("start_time"), count + more, np.int64)
    times[count:], given[count:] = starts["at"], True
    table["start_time"] = (times, given)
    if "priority" in asked:
        wanted, has = _parts(asked["priority"], snapshot.request_count, np.float64)
        values, given = _parts(table.get("priority"), count + more, np.float64)
        values[count:], given[count:] = wanted[requests], has[requests]
        table["priority"] = (values, given)
    if "preemptible" in asked:
        values, given = _parts(table.get("preemptible"), count + more, np.bool_)
        values[count:], given[count:] = (
            core.column("requests", "preemptible")[requests].astype(np.bool_),
            True,
        )
        table["preemptible"] = (values, given)


def _names(taken: list[str | int], requests: list[str | int]) -> list[str]:
    """Return a name for every start, ``"<request>/<number>"``, that no allocation has."""
    known = set(map(str, taken))
    number: dict[str, int] = {}
    result = []
    for request in map(str, requests):
        place = number.get(request, 1)
        while f"{request}/{place}" in known:
            place += 1
        number[request] = place + 1
        result.append(f"{request}/{place}")
    return result


def _shrink(snapshot: Snapshot, raw: Raw, started: NDArray[Any]) -> None:
    """Let the counts of requests fall; those of which nothing is left go, and reservations for them."""
    old = snapshot.request_count
    left = np.array(snapshot._core.column("requests", "count"), np.int64)
    left -= np.bincount(started, minlength=old)
    raw.tables["requests"]["count"] = left
    keep = left > 0
    if keep.all():
        return
    new_row = np.where(keep, np.cumsum(keep) - 1, -1)
    reservations = raw.tables.get("reservations")
    if reservations is not None and "request_index" in reservations:
        wanted = reservations["request_index"]
        stays = (wanted < 0) | keep[wanted]
        reservations["request_index"] = np.where(wanted < 0, -1, new_row[wanted])
        _take(raw, "reservations", np.flatnonzero(stays))
    _take(raw, "requests", np.flatnonzero(keep))


def _take(raw: Raw, table: str, rows: NDArray[Any]) -> None:
    settings = raw.settings.pop(table, {})
    if len(rows) == 0:
        del raw.tables[table], raw.rows[table]
        return
    raw.tables[table] = {name: _some(column, rows) for name, column in raw.tables[table].items()}
    raw.rows[table] = len(rows)
    kept = {i: settings[row] for i, row in enumerate(rows.tolist()) if row in settings}
    if kept:
        raw.settings[table] = kept


def _parts(column: Any, rows: int, dtype: Any, width: int | None = None) -> tuple[Any, Any]:
    """Return copies of values and validity of a raw column that may be absent."""
    shape = rows if width is None else (rows, width)
    if column is None:
        return np.zeros(shape, dtype), np.zeros(shape, np.bool_)
    values, given = column if isinstance(column, tuple) else (column, None)
    return np.array(values), np.ones(shape, np.bool_) if given is None else np.array(given)


def _longer(name: str, column: Any, more: int) -> Any:
    """Return a raw column with rows of absent cells at its end."""
    if name.endswith("_index"):
        return np.concatenate([column, np.full(more, -1, np.int64)])
    if isinstance(column, tuple) and isinstance(column[0], list):  # words and codes
        return column[0], np.concatenate([column[1], np.full(more, -1, column[1].dtype)])
    values, given = column if isinstance(column, tuple) else (column, np.ones(column.shape, np.bool_))
    blank = np.zeros((more, *values.shape[1:]), values.dtype)
    return np.concatenate([values, blank]), np.concatenate([given, blank.astype(np.bool_)])


def _some(column: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of a raw column."""
    if isinstance(column, list):
        return [column[row] for row in rows.tolist()]
    if isinstance(column, tuple) and len(column) == 3:  # lists of words
        words, offsets, codes = column
        lengths = np.diff(offsets)
        chosen = np.zeros(len(lengths), np.bool_)
        chosen[rows] = True
        kept = codes[np.repeat(chosen, lengths)]
        return words, np.concatenate([[0], np.cumsum(lengths[rows])]).astype(offsets.dtype), kept
    if isinstance(column, tuple) and isinstance(column[0], list):
        return column[0], column[1][rows]
    if isinstance(column, tuple):
        return column[0][rows], None if column[1] is None else column[1][rows]
    return column[rows]
