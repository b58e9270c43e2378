"""State: what one update leaves for the next, kept by names."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from evenhand import _core
from evenhand.building.jsontable import resting_collector
from evenhand.building.problems import shorten
from evenhand.errors import InputError, Problem
from evenhand.files import replace_file
from evenhand.frozen import FrozenDict, freeze, thaw
from evenhand.systems import SYSTEMS, Column

__all__ = ["SCHEMA", "State"]

SCHEMA = "evenhand/state/1"
_KEYS = {"schema", "time", "updated", "settings", "policy"}
_KEYS |= {"pools", "elements", "nodes", "operations", "victims"}
_KINDS = ("pool", "operation")
_POOL: dict[str, Any] = {"name": None, "accumulated_volume": {}, "last_share_ratio": 0.0}

#: So many rows are looked at together; where one of them may be wrong, each of them.
_TOGETHER = 512


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
    victims : mapping
        As `elements`, to ``taken``: when its last victims left, as far as a policy's `pace` asks for it.
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
    victims: Mapping[tuple[str, str | int], Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", _number(self.time, None, "time"))
        if self.updated is not None:
            object.__setattr__(self, "updated", _number(self.updated, None, "updated"))
            if self.updated > self.time:
                raise _wrong("updated", "clock", f"updated is {self.updated}, after the state ({self.time})")
        for key in ("settings", "policy"):
            if not isinstance(value := getattr(self, key), str):
                raise _wrong(key, "type", f"{key} is a text, not {shorten(value)}")
        for table in ("pools", "elements", "nodes", "operations", "victims"):
            rows = getattr(self, table)
            kinds = set(map(type, rows.values())) if isinstance(rows, Mapping) else {object}
            if not all(issubclass(kind, Mapping) for kind in kinds):
                raise _wrong(table, "type", f"{table} is an object of objects by name")
            object.__setattr__(self, table, freeze(rows))

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
        for table, rows in (("nodes", self.nodes), ("operations", self.operations)):
            if rows:
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
                    key: [instant - late for instant in value]
                    if isinstance(value, list)
                    else value - late
                    if isinstance(value, int | float)
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
        return cls._of(data, own=False)

    @classmethod
    @resting_collector()
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
            data = _parse(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise _wrong(None, "utf8", f"is not UTF-8 text: {error.reason}") from error
        except InputError:
            raise
        except (ValueError, RecursionError) as error:  # also of a number with thousands of digits
            raise _wrong(None, "json", f"is not a complete JSON text: {error}") from error
        return cls._of(data, own=True)

    @classmethod
    @resting_collector()
    def _of(cls, data: Any, own: bool) -> Self:
        """Build a state; rows of `own` lists are used up on the way."""
        if not isinstance(data, Mapping):
            raise _wrong(None, "type", f"a state is an object, not {type(data).__name__}")
        schema = data.get("schema")
        if schema != SCHEMA:
            raise _wrong("schema", "schema", f"schema is {schema!r}; this version reads {SCHEMA!r}")
        for key in data:
            if key not in _KEYS:
                raise _wrong(str(key), "unknown_field", f"field {key!r} is unknown")
        time = _number(data.get("time"), None, "time")
        fingerprints: dict[str, Any] = {key: data.get(key, "") for key in ("settings", "policy")}
        for key, value in fingerprints.items():
            if not isinstance(value, str):
                raise _wrong(key, "type", f"{key} is a text, not {value!r}")
        tables: dict[str, Any] = {"pools": _read(_rows(data, "pools"), own, _pools, _pool)}
        for table in ("elements", "nodes", "operations", "victims"):
            of = _Remembered(table, time)
            tables[table] = _read(_rows(data, table), own, of.together, of.one)
        return cls(time, **tables, **fingerprints, updated=data.get("updated"))

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


def _read(
    rows: list[Any],
    own: bool,
    together: Callable[[list[Any]], Iterable[tuple[Any, FrozenDict]]],
    one: Callable[[Any, int], tuple[Any, str, dict[str, Any]]],
) -> FrozenDict:
    """Return rows by name: many at a time, and one by one where that says that one may be wrong."""
    found = FrozenDict()
    for at in range(0, len(rows), _TOGETHER):
        part = rows[at : at + _TOGETHER]
        before = len(found)
        with suppress(ValueError, OverflowError):
            dict.update(found, together(part))
        if len(found) < before + len(part):
            for key in list(islice(reversed(found), len(found) - before)):
                dict.__delitem__(found, key)
            for row, given in enumerate(part, at):
                key, called, values = one(given, row)
                if key in found:
                    raise _wrong("name", "unique", f"{called} appears twice", row)
                dict.__setitem__(found, key, freeze(values))
        if own:
            rows[at : at + _TOGETHER] = repeat(None, len(part))
    return found


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError("rows of which one may be wrong")


def _columns(rows: list[Any], fields: Mapping[str, Any], alike: bool = False) -> dict[str, Sequence[Any]]:
    """Return the fields that rows have, if they are objects with these, the values of which are defaults.

    Where they have to be alike, all have the same ones.
    """
    _expect(set(map(type, rows)) == {dict})
    heads = list(set().union(*rows))
    _expect(fields.keys() >= set(heads))
    if len(heads) > 1 and set(map(len, rows)) == {len(heads)}:
        return dict(zip(heads, zip(*map(itemgetter(*heads), rows), strict=True), strict=True))
    _expect(not alike)
    return {head: [row.get(head, fields[head]) for row in rows] for head in heads}


def _expect_types(cells: Iterable[Any], *types: type) -> None:
    _expect(set(types).issuperset(map(type, cells)))


def _named(given: Any, what: str, fields: Mapping[str, Any], row: int) -> str | int:
    """Return the name of a row, if it is an object with these fields at most."""
    if not isinstance(given, Mapping):
        raise _wrong(None, "type", f"{what} is an object", row)
    name = given.get("name")
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise _wrong("name", "type", f"a name is a text or an integer, not {name!r}", row)
    for key in given:
        if key not in fields:
            raise _wrong(str(key), "unknown_field", f"field {key!r} is unknown", row)
    return name


class _Remembered:
    """What systems remember of the rows of a table."""

    def __init__(self, table: str, time: float) -> None:
        self.time = time
        self.kinds = ("kind",) if table in ("elements", "victims") else ()
        self.called = table.removesuffix("s")
        self.what = f"an {self.called}" if table in ("elements", "operations") else f"a {self.called}"
        self.declared = [[c for c in system.memory if c.table == table] for system in SYSTEMS.values()]
        declared = (c.name for columns in self.declared for c in columns)
        self.fields = dict.fromkeys(("name", *self.kinds, *declared))
        self.differ = len({tuple(columns) for columns in self.declared if columns}) > 1

    def columns(self, heads: Iterable[str]) -> dict[str, Column]:
        """Return all columns of the systems that declare one of these; of all systems where none does."""
        some = [columns for columns in self.declared if any(c.name in heads for c in columns)]
        return {c.name: c for columns in some or self.declared for c in columns}

    def one(self, given: Any, row: int) -> tuple[Any, str, dict[str, Any]]:
        """Return a row's key, what it is called, and its cells."""
        name = _named(given, self.what, self.fields, row)
        cells = {
            c.name: _instants(given, c.name, row, self.time)
            if c.many
            else _word(given, c.name, c.words, row)
            if c.words
            else _instant(given, c.name, row, self.time)
            for c in self.columns(given).values()
        }
        if not self.kinds:
            return name, f"{self.called} {name!r}", cells
        kind = _word(given, "kind", _KINDS, row)
        return (kind, name), f"{kind} {name!r}", cells

    def together(self, rows: list[Any]) -> Iterable[tuple[Any, FrozenDict]]:
        """Return the same of many rows, if nothing is wrong with them."""
        found = _columns(rows, self.fields, alike=self.differ)
        names = found.get("name", (None,))
        _expect_types(names, str, int)
        keys = zip(_words(found, "kind", _KINDS), names, strict=True) if self.kinds else names
        columns = self.columns(found)
        _expect(not any(c.many for c in columns.values()))  # there are few of them
        cells = [
            _words(found, c.name, c.words) if c.words else self._instants(found, c.name, len(rows))
            for c in columns.values()
        ]
        if found.keys().isdisjoint(columns):
            return zip(keys, repeat(FrozenDict(dict.fromkeys(columns))))
        return zip(keys, _frozen_rows(tuple(columns), cells), strict=True)

    def _instants(self, found: Mapping[str, Sequence[Any]], key: str, rows: int) -> Sequence[float | None]:
        cells = found.get(key, (None,) * rows)
        types = set(map(type, cells))
        _expect(types <= {float, int, type(None)})
        numbers = cells if type(None) not in types else [cell for cell in cells if cell is not None]
        _expect(all(map(math.isfinite, numbers)) and max(numbers, default=self.time) <= self.time)
        return cells if int not in types else [cell if cell is None else float(cell) for cell in cells]


def _frozen_rows(columns: tuple[str, ...], cells: Sequence[Sequence[Any]]) -> Iterable[FrozenDict]:
    """Return the rows of columns; two columns, the usual number, in half the time."""
    if len(columns) == 2:
        one, other = columns
        return [FrozenDict({one: a, other: b}) for a, b in zip(*cells, strict=True)]
    return map(FrozenDict, map(zip, repeat(columns), zip(*cells, strict=True)))


def _words(found: Mapping[str, Sequence[Any]], key: str, words: tuple[str, ...]) -> Sequence[str]:
    cells = found.get(key, (None,))
    _expect_types(cells, str)
    _expect(set(words).issuperset(cells))
    return cells


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


def _instants(given: Mapping[str, Any], key: str, row: int, time: float) -> list[float | None]:
    if not isinstance(values := given.get(key, []), list):
        raise _wrong(key, "type", f"{key} is a list", row)
    return [_instant({key: math.nan if value is None else value}, key, row, time) for value in values]


def _pool(pool: Any, row: int) -> tuple[str | int, str, dict[str, Any]]:
    name = _named(pool, "a pool", _POOL, row)
    volume = pool.get("accumulated_volume", {})
    if not isinstance(volume, Mapping):
        raise _wrong("accumulated_volume", "type", "accumulated_volume is an object", row)
    cells = {
        "accumulated_volume": {str(r): _number(v, row, f"accumulated_volume.{r}") for r, v in volume.items()},
        "last_share_ratio": _number(pool.get("last_share_ratio", 0.0), row, "last_share_ratio"),
    }
    return name, f"pool {name!r}", cells


def _pools(rows: list[Any]) -> Iterable[tuple[Any, FrozenDict]]:
    """Return what `_pool` does of many rows, if nothing is wrong with them."""
    found = _columns(rows, _POOL)
    names = found.get("name", (None,))
    volumes = found.get("accumulated_volume", ({},) * len(rows))
    ratios = found.get("last_share_ratio", (0.0,) * len(rows))
    _expect_types(names, str, int)
    _expect_types(volumes, dict)
    _expect_types(chain.from_iterable(volumes), str)
    numbers = [*ratios, *chain.from_iterable(map(dict.values, volumes))]
    _expect_types(numbers, float, int)
    _expect(all(map(math.isfinite, numbers)) and min(numbers) >= 0)
    if int in map(type, numbers):
        volumes = [dict(zip(volume, map(float, volume.values()), strict=True)) for volume in volumes]
        ratios = list(map(float, ratios))
    return [
        (name, FrozenDict({"accumulated_volume": FrozenDict(volume), "last_share_ratio": ratio}))
        for name, volume, ratio in zip(names, volumes, ratios, strict=True)
    ]


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


def _parse(text: str) -> Any:
    """Return what a JSON text holds, if nothing is in it that Python's parser alone lets pass."""
    encoded = text if text.isascii() else text.encode()
    strange, _, _, too_large = _core.scan_json(encoded, sys.maxsize, 1, [])
    found = [*strange, *((None, "finite", at, size) for at, size in too_large)]
    cut = [encoded[at : at + size] for _, _, at, size in found]
    numbers = [number if isinstance(number, str) else number.decode() for number in cut]
    del encoded, cut
    data = json.loads(text)
    for (path, rule, *_), number in zip(found, numbers, strict=True):
        if rule == "duplicate_key":
            raise _wrong(path[-1], "unique", f"field {path[-1]!r} appears twice in an object")
        raise _wrong(None, "finite", f"{number} is not a number of JSON, or too large for one")
    return data


def _wrong(where: str | None, rule: str, message: str, row: int | None = None) -> InputError:
    return InputError([Problem("state", row, None, where, rule, None, message)])
