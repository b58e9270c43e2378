"""State: what one update leaves for the next, kept by names."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from evenhand import _core
from evenhand.accepted import checked
from evenhand.arguments import expect
from evenhand.building.jsontable import JsonRows, resting_collector
from evenhand.building.jsontext import DEEPEST, cut, what_is_wrong
from evenhand.building.problems import kind_of, told
from evenhand.errors import InputError, Problem
from evenhand.files import file_kind, replace_file, sealed, unsealed
from evenhand.frozen import freeze, thaw
from evenhand.state_tables import Pools, Remembered, number_of, read_table, wrong
from evenhand.systems import SYSTEMS
from evenhand.units.text import instant

__all__ = ["SCHEMA", "State"]

SCHEMA = "evenhand/state/1"
_TABLES = ("pools", "elements", "nodes", "operations", "victims", "requests", "queues")
_SNAPSHOT = {"now", "previous_update", "resources", "total"}  # which files of states lack
_Cells = Mapping[str, Any]
_KEYS = ("schema", "time", "updated", "settings", "policy", "provenance", *_TABLES)


@dataclass(frozen=True, slots=True, repr=False)
class State:
    """What one update leaves for the next: volumes of integral pools, clocks of starvation and of nodes.

    Attributes
    ----------
    time : float
        Instant of the update that left it, in the snapshot's seconds.
    pools : mapping
        Name of an integral pool to ``accumulated_volume`` (resource to amount × seconds) and
        ``last_share_ratio`` (largest component of the integral share given last).
    settings : str
        Fingerprint of that update's settings of fair shares.
    policy : str
        System and fingerprint of the policy that planned (``ytsaurus/0cd4…``); empty where there was none.
    elements : mapping
        (``"pool"`` or ``"operation"``, name) to ``since`` (start of its deficit, or None) and
        ``starvation``; elements that are neither below their share nor starving are left out.
    nodes : mapping
        Name of a node to ``last_preemptive`` (its last attempt to preempt) and ``overcommitted_since``,
        each None where there is none.
    operations : mapping
        Name of an operation to ``last_preempt``, when others were last preempted for it; or to what is
        ``requested`` for it (``forced``, ``providers``), how it was ``preempted_as``, and the job it was
        ``preempted_for`` as long as that has not started.
    victims : mapping
        As `elements`, to ``taken``: when its last victims left, as far as a policy's `pace` asks for it.
    requests : mapping
        Name of a request to ``missed`` (opportunities in a row), ``wait`` (cycles that it is left out of),
        ``last_attempt`` (to preempt, or None) and ``triggered`` (whether it has preempted).
    queues : mapping
        Name of a pool to ``over_quota_since``, since when it has used more than its max.
    updated : float, optional
        Instant of the update, where heartbeats followed that used it: then `time` is that of the last one.
    provenance : mapping
        What it was left by: ``evenhand`` (version), ``commit``, ``settings``, and of a plan ``system`` and
        ``preset``. Files have it; states that remember the same are equal whoever left them.
    """

    time: float
    pools: Mapping[str | int, Mapping[str, Any]] = field(default_factory=dict)
    settings: str = ""
    policy: str = ""
    elements: Mapping[tuple[str, str | int], Mapping[str, Any]] = field(default_factory=dict)
    nodes: Mapping[str | int, Mapping[str, Any]] = field(default_factory=dict)
    operations: Mapping[str | int, Mapping[str, Any]] = field(default_factory=dict)
    updated: float | None = None
    victims: Mapping[tuple[str, str | int], Mapping[str, Any]] = field(default_factory=dict)
    requests: Mapping[str | int, Mapping[str, Any]] = field(default_factory=dict)
    queues: Mapping[str | int, Mapping[str, Any]] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", number_of(self.time, None, "time"))
        if self.updated is not None:
            object.__setattr__(self, "updated", number_of(self.updated, None, "updated"))
            if self.updated > self.time:
                raise wrong("updated", "clock", f"updated is {self.updated}, after the state ({self.time})")
        for key in ("settings", "policy"):
            if not isinstance(value := getattr(self, key), str):
                raise wrong(key, "type", f"{key} is a text, not {told(value)}")
        for table in _TABLES:
            rows = getattr(self, table)
            kinds = set(map(type, rows.values())) if isinstance(rows, Mapping) else {object}
            if not all(issubclass(kind, Mapping) for kind in kinds):
                raise wrong(table, "type", f"{table} is an object of objects by name")
            object.__setattr__(self, table, freeze(rows))
        if not isinstance(self.provenance, Mapping):
            raise wrong("provenance", "type", f"provenance is an object, not {told(self.provenance)}")
        object.__setattr__(self, "provenance", freeze(self.provenance))

    def __repr__(self) -> str:
        found = ((len(getattr(self, table)), table) for table in _TABLES)
        counts = [f"{n:,} {table if n > 1 else table.removesuffix('s')}" for n, table in found if n]
        return (
            f"<State left at {instant(self.time, self.time)}: {', '.join(counts) or 'nothing is remembered'}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain values; tables are lists because names may be integers."""
        data = {
            "schema": SCHEMA,
            "time": self.time,
            "settings": self.settings,
            "pools": [{"name": name, **thaw(values)} for name, values in self.pools.items()],
        }
        if self.updated is not None:
            data["updated"] = self.updated
        if self.policy:
            data["policy"] = self.policy
        for table, own in (("elements", self.elements), ("victims", self.victims)):
            if own:
                data[table] = [{"name": n, "kind": kind, **thaw(of)} for (kind, n), of in own.items()]
        for table in ("nodes", "operations", "requests", "queues"):
            if rows := getattr(self, table):
                data[table] = [{"name": name, **values} for name, values in rows.items()]
        return data

    def check_clock(self, now: float) -> None:
        """Refuse an instant before the state's own.

        Parameters
        ----------
        now : float
            Instant of the snapshot that is to start from the state, in seconds.

        Raises
        ------
        InputError
            If it lies before the state's.
        """
        if self.time > number_of(now, None, "now"):
            message = f"the snapshot is of {now}, before the state ({self.time}): did its clock run back?"
            raise InputError([Problem("snapshot", None, None, "now", "clock", repr(now), message)])

    @checked("State.without")
    def without(self, removed: Collection[tuple[str, str]]) -> Self:
        """Return the state without what it remembers of operations and requests; O(rows of the state).

        Parameters
        ----------
        removed : collection of (str, str)
            Table and name, integers as texts; of other tables nothing is dropped.

        Returns
        -------
        State
        """
        expect_pairs(removed)

        def named(table: Literal["operations", "requests"]) -> dict[str | int, _Cells]:
            return {n: of for n, of in getattr(self, table).items() if (table, str(n)) not in removed}

        def elements(rows: Mapping[tuple[str, str | int], _Cells]) -> dict[tuple[str, str | int], _Cells]:
            return {(kind, n): of for (kind, n), of in rows.items() if (f"{kind}s", str(n)) not in operations}

        operations = {(table, name) for table, name in removed if table == "operations"}
        return replace(
            self,
            operations=named("operations"),
            requests=named("requests"),
            elements=elements(self.elements),
            victims=elements(self.victims),
        )

    @checked("State.set_back")
    def set_back(self, now: float) -> Self:
        """Return the state as of an earlier instant: all its clocks are as long ago as they were.

        Parameters
        ----------
        now : float
            In seconds. For a clock that was set back.

        Returns
        -------
        State
        """
        late = self.time - now
        columns = (column for system in SYSTEMS.values() for column in system.memory)
        others = {column.name for column in columns if column.kind in ("count", "rows")}

        def moved(tables: Mapping[Any, Mapping[str, Any]]) -> dict[Any, Mapping[str, Any]]:
            return {
                name: {
                    key: [instant - late for instant in value]
                    if isinstance(value, list) and key not in others
                    else value - late
                    if isinstance(value, int | float) and key not in others
                    else value
                    for key, value in row.items()
                }
                for name, row in tables.items()
            }

        return replace(
            self,
            time=now,
            updated=None if self.updated is None else self.updated - late,
            elements=moved(self.elements),
            nodes=moved(self.nodes),
            operations=moved(self.operations),
            victims=moved(self.victims),
            requests=moved(self.requests),
            queues=moved(self.queues),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build a state from what `to_dict` gave.

        Parameters
        ----------
        data : mapping
            As `to_dict` returns it, or read from its JSON.

        Returns
        -------
        State

        Raises
        ------
        InputError
            If the schema is another one, or a field is missing, unknown or of a wrong type.
        """
        return cls._of(data)

    @classmethod
    @resting_collector()
    @checked("State.load")
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a state file.

        Parameters
        ----------
        path : str or path-like
            What `save` wrote.

        Returns
        -------
        State

        Raises
        ------
        InputError
            If the file is not a complete state of this version, or not as it was written. A file without a
            digest, as earlier versions wrote it, is read.
        OSError
            If it cannot be read.
        """
        try:
            text, right = unsealed(Path(path).read_text(encoding="utf-8"))
            data = _parse(text)
        except UnicodeDecodeError as error:
            found = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
            raise wrong(None, "utf8", f"is not UTF-8 text: {found}") from error
        except InputError:
            raise
        except json.JSONDecodeError as error:
            empty = not error.doc.strip()
            said = "it is empty" if empty else what_is_wrong(error)
            raise wrong(None, "json", f"is not a complete JSON text: {said}") from error
        except RecursionError as error:
            raise wrong(None, "json", "is not a complete JSON text: it is nested too deeply") from error
        except ValueError as error:
            said = "it has a number of thousands of digits"
            raise wrong(None, "json", f"is not a complete JSON text: {said}") from error
        if right is False:
            said = 'is not as it was written; who changed it on purpose takes out its last key, "digest"'
            raise wrong("digest", "digest", said)
        if right is None and isinstance(data, Mapping) and "digest" in data:
            raise wrong("digest", "digest", "has a digest that is not its last line: it was written anew")
        return cls._of(data)

    @classmethod
    @resting_collector()
    def _of(cls, data: Any) -> Self:
        if not isinstance(data, Mapping):
            raise wrong(None, "type", f"a state is an object, not {kind_of(data)}")
        schema = data.get("schema")
        kind = file_kind(data) or ("a snapshot" if _SNAPSHOT & data.keys() else None)
        if kind not in (None, "a state"):
            raise wrong("schema", "schema", f"this is {kind}, not a state")
        if schema != SCHEMA:
            found = "missing" if schema is None else told(schema)
            raise wrong("schema", "schema", f"schema is {found}; this version reads {SCHEMA!r}")
        for key in data:
            if key not in _KEYS and key != "digest":
                raise wrong(str(key), "unknown_field", f"field {key!r} is unknown")
        time = number_of(data.get("time"), None, "time")
        fingerprints: dict[str, Any] = {key: data.get(key, "") for key in ("settings", "policy")}
        for key, value in fingerprints.items():
            if not isinstance(value, str):
                raise wrong(key, "type", f"{key} is a text, not {told(value)}")
        tables: dict[str, Any] = {
            table: read_table(Pools() if table == "pools" else Remembered(table, time), _rows(data, table))
            for table in _TABLES
        }
        made = data.get("provenance", {})
        return cls(time, **tables, **fingerprints, updated=data.get("updated"), provenance=made)

    @checked("State.save")
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state; the file is replaced at once or not at all.

        Parameters
        ----------
        path : str or path-like
            A JSON file; its folder must exist.

        Raises
        ------
        OSError
            If it is a link or no regular file, or cannot be written; the old file is then as it was.
        """
        replace_file(path, self._text())

    def _text(self) -> str:
        """Return what `save` writes."""
        made = {"provenance": thaw(self.provenance)} if self.provenance else {}
        return sealed(json.dumps(self.to_dict() | made, allow_nan=False, indent=1) + "\n")


def expect_pairs(removed: Collection[Any]) -> None:
    """Refuse what is no table and name."""
    for pair in removed:
        right = isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(x, str) for x in pair)
        expect(right, "without", "removed", pair, "pairs of a table and a name, both text")


def _rows(data: Mapping[str, Any], key: str) -> list[Any] | JsonRows:
    rows = data.get(key, [])
    if not isinstance(rows, list | JsonRows):
        raise wrong(key, "type", f"{key} is a list")
    return rows


def _parse(text: str) -> Any:
    """Return a text's data, tables as `JsonRows`, if it holds nothing that Python's parser alone accepts."""
    encoded = text if text.isascii() else text.encode()
    longest = sys.get_int_max_str_digits() or sys.maxsize
    strange, parts, depth, too_large = _core.scan_json(encoded, longest, 1, list(_KEYS))
    found = [*strange, *((None, "finite", at, size) for at, size in too_large)]
    if parts and not found and depth <= DEEPEST:
        return {key: _part(encoded, key, at, size) for key, at, size in parts}
    data = json.loads(text)
    for path, rule, at, size in found:
        if rule == "duplicate_key":
            raise wrong(path[-1], "unique", f"field {path[-1]!r} appears twice in an object")
        raise wrong(None, "finite", f"{cut(encoded, at, size)} is not a number of JSON, or too large for one")
    return data


def _part(encoded: bytes | str, key: str, at: int, size: int) -> Any:
    if key in _TABLES and cut(encoded, at, 1) == "[":
        return JsonRows(encoded, at, size)
    return json.loads(cut(encoded, at, size))
