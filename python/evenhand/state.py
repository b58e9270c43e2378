"""State: what one update leaves for the next, kept by names."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from evenhand.building.problems import shorten
from evenhand.errors import InputError, Problem
from evenhand.files import replace_file
from evenhand.frozen import freeze, thaw
from evenhand.systems import SYSTEMS, Column

__all__ = ["SCHEMA", "State"]

SCHEMA = "evenhand/state/1"
_KEYS = {"schema", "time", "updated", "settings", "policy", "pools", "elements", "nodes", "operations"}
_KINDS = ("pool", "operation")


@dataclass(frozen=True, slots=True)
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
        Fingerprint of the policy that planned; empty where there was none.
    elements : mapping
        (``"pool"`` or ``"operation"``, name) to ``since`` (start of its deficit, or None) and
        ``starvation``; elements that are neither below their share nor starving are left out.
    nodes : mapping
        Name of a node to ``last_preemptive`` (its last attempt to preempt) and ``overcommitted_since``,
        each None where there is none.
    operations : mapping
        Name of an operation to ``last_preempt``, when others were last preempted for it.
    updated : float, optional
        Instant of the update, where heartbeats followed that used it: then `time` is that of the last one.
    """

    time: float
    pools: Mapping[str | int, Mapping[str, Any]] = field(default_factory=dict)
    settings: str = ""
    policy: str = ""
    elements: Mapping[tuple[str, str | int], Mapping[str, Any]] = field(default_factory=dict)
    nodes: Mapping[str | int, Mapping[str, Any]] = field(default_factory=dict)
    operations: Mapping[str | int, Mapping[str, Any]] = field(default_factory=dict)
    updated: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", _number(self.time, None, "time"))
        if self.updated is not None:
            object.__setattr__(self, "updated", _number(self.updated, None, "updated"))
            if self.updated > self.time:
                raise _wrong("updated", "clock", f"updated is {self.updated}, after the state ({self.time})")
        for key in ("settings", "policy"):
            if not isinstance(value := getattr(self, key), str):
                raise _wrong(key, "type", f"{key} is a text, not {shorten(value)}")
        for table in ("pools", "elements", "nodes", "operations"):
            rows = getattr(self, table)
            if not isinstance(rows, Mapping) or not all(isinstance(v, Mapping) for v in rows.values()):
                raise _wrong(table, "type", f"{table} is an object of objects by name")
        for table in ("pools", "elements", "nodes", "operations"):
            object.__setattr__(self, table, freeze(getattr(self, table)))

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
        if self.elements:
            data["elements"] = [
                {"name": name, "kind": kind, **values} for (kind, name), values in self.elements.items()
            ]
        if self.nodes:
            data["nodes"] = [{"name": name, **values} for name, values in self.nodes.items()]
        if self.operations:
            data["operations"] = [{"name": name, **values} for name, values in self.operations.items()]
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
        if self.time > _number(now, None, "now"):
            message = f"the snapshot is of {now}, before the state ({self.time}): did its clock run back?"
            raise InputError([Problem("snapshot", None, None, "now", "clock", repr(now), message)])

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

        def moved(tables: Mapping[Any, Mapping[str, Any]]) -> dict[Any, Mapping[str, Any]]:
            return {
                name: {
                    key: value - late if isinstance(value, int | float) else value
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
        if not isinstance(data, Mapping):
            raise _wrong(None, "type", f"a state is an object, not {type(data).__name__}")
        schema = data.get("schema")
        if schema != SCHEMA:
            raise _wrong("schema", "schema", f"schema is {schema!r}; this version reads {SCHEMA!r}")
        for key in data:
            if key not in _KEYS:
                raise _wrong(str(key), "unknown_field", f"field {key!r} is unknown")
        time = _number(data.get("time"), None, "time")
        fingerprints = {key: data.get(key, "") for key in ("settings", "policy")}
        for key, value in fingerprints.items():
            if not isinstance(value, str):
                raise _wrong(key, "type", f"{key} is a text, not {value!r}")
        pools: dict[str | int, Mapping[str, Any]] = {}
        for row, pool in enumerate(_rows(data, "pools")):
            name, values = _pool(pool, row)
            _once(name, pools, f"pool {name!r}", row)
            pools[name] = values
        elements: dict[tuple[str, str | int], Mapping[str, Any]] = {}
        declared = _declared("elements")
        for row, element in enumerate(_rows(data, "elements")):
            name, values = _remembered(element, "an element", declared, row, time)
            pair = _word(element, "kind", _KINDS, row), name
            _once(pair, elements, f"{pair[0]} {pair[1]!r}", row)
            elements[pair] = values
        others: list[dict[str | int, Mapping[str, Any]]] = [{}, {}]
        for table, what, rows in zip(
            ("nodes", "operations"), ("a node", "an operation"), others, strict=True
        ):
            declared = _declared(table)
            for row, given in enumerate(_rows(data, table)):
                name, values = _remembered(given, what, declared, row, time)
                _once(name, rows, f"{table.removesuffix('s')} {name!r}", row)
                rows[name] = values
        nodes, operations = others
        printed = fingerprints["settings"], fingerprints["policy"]
        return cls(time, pools, *printed, elements, nodes, operations, data.get("updated"))

    @classmethod
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
            If the file is not a complete state of this version.
        OSError
            If it cannot be read.
        """
        try:
            data = json.loads(
                Path(path).read_text(encoding="utf-8"),
                parse_constant=_refuse_number,
                parse_float=_finite,
                object_pairs_hook=_fields,
            )
        except UnicodeDecodeError as error:
            raise _wrong(None, "utf8", f"is not UTF-8 text: {error.reason}") from error
        except InputError:
            raise
        except (ValueError, RecursionError) as error:  # also of a number with thousands of digits
            raise _wrong(None, "json", f"is not a complete JSON text: {error}") from error
        return cls.from_dict(data)

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
        replace_file(path, json.dumps(self.to_dict(), allow_nan=False, indent=1) + "\n")


def _rows(data: Mapping[str, Any], key: str) -> list[Any]:
    rows = data.get(key, [])
    if not isinstance(rows, list):
        raise _wrong(key, "type", f"{key} is a list")
    return rows


def _once(name: Any, known: Mapping[Any, Any], what: str, row: int) -> None:
    if name in known:
        raise _wrong("name", "unique", f"{what} appears twice", row)


def _named(given: Any, what: str, fields: set[str], row: int) -> str | int:
    """Return the name of a row, if it is an object with these fields at most."""
    if not isinstance(given, Mapping):
        raise _wrong(None, "type", f"{what} is an object", row)
    name = given.get("name")
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise _wrong("name", "type", f"a name is a text or an integer, not {name!r}", row)
    for key in given:
        if key not in fields | {"name"}:
            raise _wrong(str(key), "unknown_field", f"field {key!r} is unknown", row)
    return name


def _declared(table: str) -> list[list[Column]]:
    """Return the columns of a table that systems remember, system by system."""
    return [[c for c in system.memory if c.table == table] for system in SYSTEMS.values()]


def _remembered(
    given: Any, what: str, declared: list[list[Column]], row: int, time: float
) -> tuple[str | int, Mapping[str, Any]]:
    """Return a row's name, and all columns of the systems that declare one that it has."""
    known = {column.name for columns in declared for column in columns}
    name = _named(given, what, known | {"kind"} if what == "an element" else known, row)
    some = [columns for columns in declared if any(c.name in given for c in columns)]
    return name, {
        c.name: _word(given, c.name, c.words, row) if c.words else _instant(given, c.name, row, time)
        for columns in some or declared
        for c in columns
    }


def _word(given: Mapping[str, Any], key: str, words: tuple[str, ...], row: int) -> str:
    value = given.get(key)
    if value not in words:
        raise _wrong(key, "word", f"{key} is {value!r}; it must be one of {', '.join(words)}", row)
    return str(value)


def _instant(given: Mapping[str, Any], key: str, row: int, time: float) -> float | None:
    if given.get(key) is None:
        return None
    instant = _number(given[key], row, key, signed=True)
    if instant > time:
        raise _wrong(key, "clock", f"{key} is {instant}, after the state itself ({time})", row)
    return instant


def _pool(pool: Any, row: int) -> tuple[str | int, Mapping[str, Any]]:
    name = _named(pool, "a pool", {"accumulated_volume", "last_share_ratio"}, row)
    volume = pool.get("accumulated_volume", {})
    if not isinstance(volume, Mapping):
        raise _wrong("accumulated_volume", "type", "accumulated_volume is an object", row)
    return name, {
        "accumulated_volume": {str(r): _number(v, row, f"accumulated_volume.{r}") for r, v in volume.items()},
        "last_share_ratio": _number(pool.get("last_share_ratio", 0.0), row, "last_share_ratio"),
    }


def _number(value: Any, row: int | None, where: str, *, signed: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(where, "type", f"{where} is a number, not {value!r}", row)
    try:
        number = float(value)
    except OverflowError:
        raise _wrong(where, "range", f"{where} is too large", row) from None
    if not math.isfinite(number):
        raise _wrong(where, "finite", f"{where} is {value}; it must be finite", row)
    if row is not None and number < 0 and not signed:
        raise _wrong(where, "non_negative", f"{where} is {value}, below 0", row)
    return number


def _refuse_number(text: str) -> float:
    raise _wrong(None, "finite", f"{text} is not a number of JSON, or too large for one")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object whose fields have one value each."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        name = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _wrong(name, "unique", f"field {name!r} appears twice in an object")
    return found


def _wrong(where: str | None, rule: str, message: str, row: int | None = None) -> InputError:
    return InputError([Problem("state", row, None, where, rule, None, message)])
