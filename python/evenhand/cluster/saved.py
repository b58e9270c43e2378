"""A cluster as plain values, and back: for files, copies in other processes, and another day."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from evenhand.cluster.columns import Listed
from evenhand.cluster.events import as_event
from evenhand.cluster.log import Contents, Entry, Happened, Planned, Remembered, Updated, Written
from evenhand.config.triggers import Commands, Cycle, Heartbeat, Round, SchedulingRun
from evenhand.errors import InputError, Problem, shorten
from evenhand.files import replace_file
from evenhand.model import Snapshot
from evenhand.plans.memory import fingerprint
from evenhand.provenance import made_by, of_plans
from evenhand.state import State
from evenhand.systems.files import from_dict, written

__all__ = ["SCHEMA", "contents_of", "read", "text_of", "write"]

SCHEMA = "evenhand/cluster/2"
_BEFORE = "evenhand/cluster/1"  # it had no log
_FIELDS = ("schema", "version", "snapshot", "total_stated", "policy", "states", "log")
_MAY_HAVE = ("provenance",)  # it is for people: nothing is made of it


def write(path: str | os.PathLike[str], contents: Contents) -> None:
    """Write a cluster to a file, which is replaced at once or not at all; see `text_of`."""
    replace_file(path, text_of(contents) + "\n")


def text_of(contents: Contents) -> str:
    """Return a cluster as JSON text."""
    from evenhand._core import __version__

    policy = None if contents.policy is None else written("cluster", contents.policy)
    try:
        return json.dumps(
            {
                "schema": SCHEMA,
                "version": __version__,
                "provenance": _made_by(contents),
                "snapshot": contents.snapshot.to_dict(),
                "total_stated": contents.total_stated,
                "policy": policy,
                "states": [
                    {
                        "system": attachment.key[0],
                        "settings": json.loads(attachment.key[1]),
                        "state": attachment.state and attachment.state.to_dict(),
                        "by_period": attachment.by_period,
                    }
                    for attachment in contents.attachments
                ],
                "log": [_said(entry) for entry in contents.entries],
            },
            ensure_ascii=False,
            allow_nan=False,
            default=_plain,
        )
    except TypeError as error:
        raise _wrong("log", "type", f"the log cannot be written to a file: {error}") from error


def _made_by(contents: Contents) -> dict[str, Any]:
    """Return what a file was written by, and the fingerprints of what it begins with."""
    policy, snapshot = contents.policy, contents.snapshot
    if policy is None:
        return made_by() | {"snapshot": snapshot.fingerprint}
    return of_plans(policy, fingerprint(policy), snapshot)


def _plain(value: Any) -> Any:
    """Return what JSON has no word for as a value that means the same in a row."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not of JSON")


def _said(entry: Entry) -> dict[str, Any]:
    """Return an entry of a log as plain values."""
    match entry:
        case Happened(events):
            return {"events": [_event(as_event(events[i])) for i in range(len(events))]}
        case Updated(policy, given):
            return {"updated": written("cluster", policy), "given": given}
        case Planned(policy, on, updates):
            return {"planned": written("cluster", policy), "on": _trigger(on), "updates": updates}
        case Remembered(policy, state):
            return {"remembered": written("cluster", policy), "state": state.to_dict()}


def _event(event: Any) -> dict[str, Any]:
    cells = {field.name: getattr(event, field.name) for field in fields(event)}
    return {"event": type(event).__name__.lower(), **cells}


def _trigger(on: Any) -> Any:
    if isinstance(on, tuple):
        return [one.node for one in on]
    if isinstance(on, SchedulingRun):
        return {"passes": list(on.passes)}
    if isinstance(on, Commands):
        return {"commands": [asdict(row) for row in on.rows]}
    if isinstance(on, Cycle):
        return {"cycle": on.name}
    return {"node": on.node} if isinstance(on, Heartbeat) else {}


def _entry(given: Mapping[str, Any]) -> Entry:
    """Return what `_said` wrote."""
    if "events" in given:
        return Happened(Listed(map(as_event, given["events"])))
    if "updated" in given:
        stated = given["given"]
        if not (stated is None or isinstance(stated, Mapping)):
            raise ValueError("given is an object or null")
        return Updated(from_dict(given["updated"]), stated)
    if "planned" in given:
        return Planned(from_dict(given["planned"]), _asked(given["on"]), bool(given["updates"]))
    return Remembered(from_dict(given["remembered"]), State.from_dict(given["state"]))


def _asked(on: Any) -> Any:
    if isinstance(on, list):
        return tuple(Heartbeat(node) for node in on)
    if "passes" in on:
        return SchedulingRun(tuple(on["passes"]))
    if "commands" in on:
        return Commands(tuple(on["commands"]))
    if "cycle" in on:
        return Cycle(on["cycle"])
    return Heartbeat(on["node"]) if "node" in on else Round()


def read(path: str | os.PathLike[str]) -> Contents:
    """Read what `text_of` wrote."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise _wrong(None, "utf8", f"is not UTF-8 text: {error.reason}") from error
    except (ValueError, RecursionError) as error:
        raise _wrong(None, "json", f"is not a complete JSON text: {error}") from error
    return contents_of(data)


def contents_of(data: Any) -> Contents:
    """Return a cluster from plain values; see `read`."""
    if not isinstance(data, Mapping):
        raise _wrong(None, "type", f"a cluster is an object, not {type(data).__name__}")
    if (schema := data.get("schema")) not in (SCHEMA, _BEFORE):
        by = f", written by evenhand {data['version']}" if data.get("version") else ""
        said = f"schema is {shorten(schema)!r}{by}; this version reads {SCHEMA!r} and {_BEFORE!r}"
        raise _wrong("schema", "schema", said)
    if schema == _BEFORE and "log" not in data:
        data = {**data, "log": []}
    for key in data:
        if key not in (*_FIELDS, *_MAY_HAVE):
            raise _wrong(str(key), "unknown_field", f"field {key!r} is unknown")
    for key in _FIELDS:
        if key not in data:
            raise _wrong(key, "required", f"field {key!r} is missing")
    if not isinstance(data["total_stated"], bool):
        raise _wrong("total_stated", "type", "total_stated is true or false")
    policy = data["policy"]
    if policy is not None and not isinstance(policy, dict):
        raise _wrong("policy", "type", "policy is an object or null")
    return Contents(
        Snapshot.from_dict(data["snapshot"]),
        data["total_stated"],
        None if policy is None else from_dict(policy),
        tuple(_state(row) for row in _listed(data, "states")),
        tuple(_step(row) for row in _listed(data, "log")),
    )


def _listed(data: Mapping[str, Any], key: str) -> list[Any]:
    rows = data[key]
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise _wrong(key, "type", f"{key} are a list of objects")
    return rows


def _state(row: Mapping[str, Any]) -> Written:
    if row.keys() - {"by_period"} != {"system", "settings", "state"}:
        raise _wrong("states", "type", "states are a list of objects with system, settings and state")
    key = str(row["system"]), json.dumps(row["settings"], sort_keys=True)
    state = None if row["state"] is None else State.from_dict(row["state"])
    return Written(key, state, bool(row.get("by_period")))


def _step(row: Mapping[str, Any]) -> Entry:
    try:
        return _entry(row)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _wrong("log", "type", f"the log has an entry that is none: {error}") from error


def _wrong(field: str | None, rule: str, message: str) -> InputError:
    return InputError([Problem("cluster", None, None, field, rule, None, message)])
