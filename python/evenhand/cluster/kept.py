"""A cluster as plain values, and back: for files, copies in other processes, and another day."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.errors import InputError, Problem
from evenhand.model import Snapshot
from evenhand.state import State
from evenhand.systems.files import from_dict

if TYPE_CHECKING:
    from evenhand.systems.base import Policy

__all__ = ["SCHEMA", "Kept", "kept_of", "read", "text_of"]

SCHEMA = "evenhand/cluster/1"
_FIELDS = ("schema", "version", "snapshot", "total_stated", "policy", "states")

#: What a cluster is made of: snapshot, whether its total is stated, its policy, and states by system and
#: settings.
Kept = tuple[Snapshot, bool, Any, dict[tuple[str, str], Any]]


def text_of(kept: Kept) -> str:
    """Return a cluster as JSON text.

    Parameters
    ----------
    kept : Kept

    Returns
    -------
    str

    Raises
    ------
    InputError
        If its policy is not of a system of this package: a file cannot say what it does.
    """
    from evenhand._core import __version__

    snapshot, total_stated, policy, states = kept
    return json.dumps(
        {
            "schema": SCHEMA,
            "version": __version__,
            "snapshot": snapshot.to_dict(),
            "total_stated": total_stated,
            "policy": None if policy is None else _written(policy),
            "states": [
                {"system": system, "settings": json.loads(settings), "state": state.to_dict()}
                for (system, settings), state in states.items()
            ],
        },
        ensure_ascii=False,
        allow_nan=False,
    )


def _written(policy: Policy) -> dict[str, Any]:
    said = policy.to_dict()
    if from_dict(said) != policy:
        message = f"the policy {type(policy).__name__} cannot be written to a file"
        raise InputError([Problem("cluster", None, None, "policy", "type", None, message)])
    return said


def read(path: str | os.PathLike[str]) -> Kept:
    """Read what `text_of` wrote.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    Kept

    Raises
    ------
    InputError
        If the file is not a complete cluster of this version; the message names the version that wrote it.
    OSError
        If it cannot be read.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise _wrong(None, "utf8", f"is not UTF-8 text: {error.reason}") from error
    except (ValueError, RecursionError) as error:
        raise _wrong(None, "json", f"is not a complete JSON text: {error}") from error
    return kept_of(data)


def kept_of(data: Any) -> Kept:
    """Return a cluster from plain values; see `read`."""
    if not isinstance(data, Mapping):
        raise _wrong(None, "type", f"a cluster is an object, not {type(data).__name__}")
    if (schema := data.get("schema")) != SCHEMA:
        by = f", written by evenhand {data['version']}" if data.get("version") else ""
        raise _wrong("schema", "schema", f"schema is {schema!r}{by}; this version reads {SCHEMA!r}")
    for key in data:
        if key not in _FIELDS:
            raise _wrong(str(key), "unknown_field", f"field {key!r} is unknown")
    for key in _FIELDS:
        if key not in data:
            raise _wrong(key, "required", f"field {key!r} is missing")
    states = data["states"]
    whole = isinstance(states, list) and all(
        isinstance(row, Mapping) and row.keys() == {"system", "settings", "state"} for row in states
    )
    if not whole:
        raise _wrong("states", "type", "states are a list of objects with system, settings and state")
    if not isinstance(data["total_stated"], bool):
        raise _wrong("total_stated", "type", "total_stated is true or false")
    policy = data["policy"]
    if policy is not None and not isinstance(policy, dict):
        raise _wrong("policy", "type", "policy is an object or null")
    return (
        Snapshot.from_dict(data["snapshot"]),
        data["total_stated"],
        None if policy is None else from_dict(policy),
        {
            (str(row["system"]), json.dumps(row["settings"], sort_keys=True)): State.from_dict(row["state"])
            for row in states
        },
    )


def _wrong(field: str | None, rule: str, message: str) -> InputError:
    return InputError([Problem("cluster", None, None, field, rule, None, message)])
