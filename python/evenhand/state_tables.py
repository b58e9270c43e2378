"""The tables of a state: rows of plain data, or of a JSON text, by name."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any

from evenhand.building.cells import Cells, Numbers, Objects, as_list
from evenhand.building.jsontable import JsonRows, json_columns
from evenhand.building.problems import told
from evenhand.errors import InputError, Problem
from evenhand.frozen import FrozenDict, freeze
from evenhand.systems import SYSTEMS, Column

__all__ = ["Pools", "Remembered", "number_of", "read_table", "wrong"]

_KINDS = ("pool", "operation")
_LISTED = ("instants", "rows")  # kinds of columns of which a row has any number of cells

#: So many rows are looked at together; where one of them may be wrong, each of them.
_TOGETHER = 512


class Table(ABC):
    """What the rows of a table are."""

    #: Each field's default.
    fields: Mapping[str, Any]
    #: How the core reads fields but the name from a JSON text: "plain", "words", "written" or "objects".
    forms: Mapping[str, str]
    #: Whether rows that have other fields than the rest are read one by one.
    differ = False

    @abstractmethod
    def one(self, given: Any, row: int) -> tuple[Any, str, dict[str, Any]]:
        """Return a row's key, what it is called, and its cells."""

    @abstractmethod
    def together(self, found: Mapping[str, Sequence[Any]], rows: int) -> Iterable[tuple[Any, FrozenDict]]:
        """Return keys and cells of many rows, given as columns, if nothing is wrong with them."""

    @abstractmethod
    def null_is_absent(self, found: Mapping[str, Sequence[Any]]) -> bool:
        """Whether no row of these columns means something else by null than by a field that it lacks."""


class _Dicts:
    """Rows of plain data."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, at: int) -> Any:
        return self.rows[at]

    def columns(self, at: int, end: int, table: Table) -> dict[str, Sequence[Any]]:
        """Return columns, if rows are objects with known fields; where rows may differ, all with the same."""
        rows = self.rows[at:end]
        _expect(set(map(type, rows)) == {dict})
        heads = list(set().union(*rows))
        _expect(table.fields.keys() >= set(heads))
        if len(heads) > 1 and set(map(len, rows)) == {len(heads)}:
            return dict(zip(heads, zip(*map(itemgetter(*heads), rows), strict=True), strict=True))
        _expect(not table.differ or heads == ["name"])
        return {head: [row.get(head, table.fields[head]) for row in rows] for head in heads}


class _Columns:
    """Rows of a JSON text, as columns; an absent cell is None."""

    def __init__(self, given: JsonRows, table: Table) -> None:
        self.rows, columns, unknown, strange = json_columns(given, _wanted(table, ()))
        if any(isinstance(cells, Objects) for cells in columns.values()):  # the keys of which are known now
            inner = (cells.unknown for cells in columns.values() if isinstance(cells, Objects))
            self.rows, columns, unknown, strange = json_columns(
                given, _wanted(table, chain.from_iterable(inner))
            )
        self.cells = {
            head: _objects(cells) if isinstance(cells, Objects) else as_list(cells)
            for head, cells in columns.items()
        }
        self.strange = {row: json.loads(text) for row, text in strange}
        self.unknown: dict[int, dict[str, None]] = {}
        for key, (row, _) in unknown.items():
            self.unknown.setdefault(row, {})[key] = None

    def __len__(self) -> int:
        return self.rows

    def row(self, at: int) -> Any:
        if at in self.strange:
            return self.strange[at]
        cells = {head: cells[at] for head, cells in self.cells.items() if cells[at] is not None}
        return cells | self.unknown.get(at, {})

    def columns(self, at: int, end: int, _: Table) -> dict[str, Sequence[Any]]:
        _expect(not any(at <= row < end for row in chain(self.strange, self.unknown)))
        return {head: cells[at:end] for head, cells in self.cells.items()}


def _wanted(table: Table, inner: Iterable[str]) -> list[Any]:
    """Return fields as the core reads them, objects with these keys."""
    keys: list[Any] = [(key, "plain", True, []) for key in inner]
    return [
        ("name", "plain", False, []),
        *((head, form, True, keys if form == "objects" else []) for head, form in table.forms.items()),
    ]


def _objects(cells: Objects) -> Sequence[FrozenDict | None]:
    """Return objects that all have the same keys; None for each if they do not."""
    columns = [_reals(inner) for inner in cells.columns.values()]
    if not columns or cells.unknown or any(None in column for column in columns):
        return (None,)
    return list(_frozen_rows(tuple(cells.columns), columns))


def _reals(cells: Cells) -> list[Any]:
    if isinstance(cells, Numbers) and cells.values.dtype.kind == "i":
        return Numbers(cells.values.astype(float), cells.valid).tolist()
    return as_list(cells)


def read_table(table: Table, given: list[Any] | JsonRows) -> FrozenDict:
    """Return rows by name: many at a time, and one by one where one of these may be wrong."""
    rows: _Dicts | _Columns
    if isinstance(given, JsonRows):
        rows = _Columns(given, table)
        if not table.null_is_absent(rows.cells):
            rows = _Dicts(json.loads(given.text[given.at : given.at + given.size]))
    else:
        rows = _Dicts(given)
    found = FrozenDict()
    for at in range(0, len(rows), _TOGETHER):
        end = min(at + _TOGETHER, len(rows))
        before = len(found)
        with suppress(ValueError, OverflowError):
            dict.update(found, table.together(rows.columns(at, end, table), end - at))
        if len(found) == before + end - at:
            continue
        for key in list(islice(reversed(found), len(found) - before)):
            dict.__delitem__(found, key)
        for row in range(at, end):
            key, called, values = table.one(rows.row(row), row)
            if key in found:
                raise wrong("name", "unique", f"{called} appears twice", row)
            dict.__setitem__(found, key, freeze(values))
    return found


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError("rows of which one may be wrong")


def _expect_types(cells: Iterable[Any], *types: type) -> None:
    _expect(set(types).issuperset(map(type, cells)))


def _named(given: Any, what: str, fields: Mapping[str, Any], row: int) -> str | int:
    """Return the name of a row, if it is an object with these fields at most."""
    if not isinstance(given, Mapping):
        raise wrong(None, "type", f"{what} is an object", row)
    name = given.get("name")
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise wrong("name", "type", f"a name is a text or an integer, not {told(name)}", row)
    for key in given:
        if key not in fields:
            raise wrong(str(key), "unknown_field", f"field {key!r} is unknown", row)
    return name


class Remembered(Table):
    """What systems remember of the rows of a table."""

    def __init__(self, table: str, time: float) -> None:
        self.time = time
        self.kinds = ("kind",) if table in ("elements", "victims") else ()
        self.called = table.removesuffix("s")
        self.what = f"an {self.called}" if table in ("elements", "operations") else f"a {self.called}"
        self.declared = [[c for c in system.memory if c.table == table] for system in SYSTEMS.values()]
        declared = (c.name for columns in self.declared for c in columns)
        self.fields = dict.fromkeys(("name", *self.kinds, *declared))
        cells = {c.name: c for columns in self.declared for c in columns}.values()
        self.forms = dict.fromkeys(self.kinds, "words") | {c.name: _form(c) for c in cells}
        self.differ = len({tuple(columns) for columns in self.declared if columns}) > 1

    def columns(self, heads: Iterable[str]) -> dict[str, Column]:
        """Return all columns of the systems that declare one of these; of all systems where none does."""
        some = [columns for columns in self.declared if any(c.name in heads for c in columns)]
        return {c.name: c for columns in some or self.declared for c in columns}

    def one(self, given: Any, row: int) -> tuple[Any, str, dict[str, Any]]:
        """Return a row's key, what it is called, and its cells."""
        name = _named(given, self.what, self.fields, row)
        columns = self.columns(given)
        if self._has_none(given, columns):
            return name, f"{self.called} {name!r}", {c.name: c.absent for c in columns.values()}
        cells = {
            c.name: _word(given, c.name, c.words, row)
            if c.kind == "word"
            else _CELLS[c.kind](given, c.name, row, self.time)
            for c in columns.values()
        }
        if not self.kinds:
            return name, f"{self.called} {name!r}", cells
        kind = _word(given, "kind", _KINDS, row)
        return (kind, name), f"{kind} {name!r}", cells

    def null_is_absent(self, found: Mapping[str, Sequence[Any]]) -> bool:
        """Not of a list of instants; nor where a row without a value would be one of any system."""
        heads = [head for head in found if head in self.columns(found)]
        if any(self.columns(found)[head].kind in _LISTED for head in heads):
            return False
        if not heads or not self.differ:
            return True
        alike = all(self.columns([head]) == self.columns(heads) for head in heads)
        cells = zip(*(found[head] for head in heads), strict=True)
        return alike and all(any(cell is not None for cell in row) for row in cells)

    def together(self, found: Mapping[str, Sequence[Any]], rows: int) -> Iterable[tuple[Any, FrozenDict]]:
        """Return keys and cells of many rows, if nothing is wrong with them."""
        names = found.get("name", (None,))
        _expect_types(names, str, int)
        keys = zip(_words(found, "kind", _KINDS), names, strict=True) if self.kinds else names
        columns = self.columns(found)
        if self._has_none(found, columns):
            return zip(keys, repeat(freeze({c.name: c.absent for c in columns.values()})))
        _expect({c.kind for c in columns.values()} <= {"instant", "word"})  # there are few others
        cells = [
            _words(found, c.name, c.words) if c.kind == "word" else self._instants(found, c.name, rows)
            for c in columns.values()
        ]
        return zip(keys, _frozen_rows(tuple(columns), cells), strict=True)

    def _has_none(self, heads: Iterable[str], columns: Mapping[str, Column]) -> bool:
        return not self.kinds and columns.keys().isdisjoint(heads)

    def _instants(self, found: Mapping[str, Sequence[Any]], key: str, rows: int) -> Sequence[float | None]:
        cells = found.get(key, (None,) * rows)
        types = set(map(type, cells))
        _expect(types <= {float, int, type(None)})
        numbers = cells if type(None) not in types else [cell for cell in cells if cell is not None]
        _expect(all(map(math.isfinite, numbers)) and max(numbers, default=self.time) <= self.time)
        return cells if int not in types else [cell if cell is None else float(cell) for cell in cells]


def _form(column: Column) -> str:
    return "written" if column.kind in _LISTED else "words" if column.kind == "word" else "plain"


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
        raise wrong(key, "word", f"{key} is {told(value)}; it must be one of {', '.join(words)}", row)
    return str(value)


def _instant(given: Mapping[str, Any], key: str, row: int, time: float) -> float | None:
    if given.get(key) is None:
        return None
    instant = number_of(given[key], row, key, signed=True)
    if instant > time:
        raise wrong(key, "clock", f"{key} is {instant}, after the state itself ({time})", row)
    return instant


def _count(given: Mapping[str, Any], key: str, row: int, time: float) -> int:
    del time
    value = given.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(key, "type", f"{key} is a whole number, not {told(value)}", row)
    if value < 0:
        raise wrong(key, "non_negative", f"{key} is {value}, below 0", row)
    return value


def _instants(given: Mapping[str, Any], key: str, row: int, time: float) -> list[float | None]:
    if not isinstance(values := given.get(key, []), list):
        raise wrong(key, "type", f"{key} is a list", row)
    return [_instant({key: math.nan if value is None else value}, key, row, time) for value in values]


def _names(given: Mapping[str, Any], key: str, row: int, time: float) -> list[str | int]:
    del time
    values = given.get(key, [])
    plain = isinstance(values, list) and all(
        isinstance(value, str | int) and not isinstance(value, bool) for value in values
    )
    if not plain:
        raise wrong(key, "type", f"{key} is a list of names", row)
    return list(values)


#: What reads a row's cell of a kind.
_CELLS: Mapping[str, Callable[[Mapping[str, Any], str, int, float], Any]] = {
    "instant": _instant,
    "count": _count,
    "instants": _instants,
    "rows": _names,
}


_POOL: dict[str, Any] = {"name": None, "accumulated_volume": {}, "last_share_ratio": 0.0}


class Pools(Table):
    """What integral guarantees remember of pools."""

    fields = _POOL
    forms = {"accumulated_volume": "objects", "last_share_ratio": "plain"}  # noqa: RUF012

    def one(self, given: Any, row: int) -> tuple[Any, str, dict[str, Any]]:
        """Return a row's key, what it is called, and its cells."""
        name = _named(given, "a pool", self.fields, row)
        volume = given.get("accumulated_volume", {})
        if not isinstance(volume, Mapping):
            raise wrong("accumulated_volume", "type", "accumulated_volume is an object", row)
        volumes = {str(r): number_of(v, row, f"accumulated_volume.{r}") for r, v in volume.items()}
        ratio = number_of(given.get("last_share_ratio", 0.0), row, "last_share_ratio")
        return name, f"pool {name!r}", {"accumulated_volume": volumes, "last_share_ratio": ratio}

    def null_is_absent(self, found: Mapping[str, Sequence[Any]]) -> bool:
        """Not of any field."""
        return not any(None in cells for head, cells in found.items() if head in self.forms)

    def together(self, found: Mapping[str, Sequence[Any]], rows: int) -> Iterable[tuple[Any, FrozenDict]]:
        """Return keys and cells of many rows, if nothing is wrong with them."""
        names = found.get("name", (None,))
        volumes = found.get("accumulated_volume", ({},) * rows)
        ratios = found.get("last_share_ratio", (0.0,) * rows)
        _expect_types(names, str, int)
        _expect_types(volumes, dict, FrozenDict)
        _expect_types(chain.from_iterable(volumes), str)
        amounts = list(chain.from_iterable(map(dict.values, volumes)))
        for numbers in (ratios, amounts):
            _expect_types(numbers, float, int)
            _expect(all(map(math.isfinite, numbers)) and min(numbers, default=0) >= 0)
        frozen = volumes if set(map(type, volumes)) == {FrozenDict} else list(map(FrozenDict, volumes))
        if int in set(map(type, amounts)):
            frozen = [FrozenDict({key: float(of) for key, of in volume.items()}) for volume in frozen]
        ratios = list(map(float, ratios))
        return zip(
            names, _frozen_rows(("accumulated_volume", "last_share_ratio"), (frozen, ratios)), strict=True
        )


def number_of(value: Any, row: int | None, where: str, *, signed: bool = False) -> float:
    """Return a number of a state; of a row, one that is not below 0 unless it may be `signed`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(where, "type", f"{where} is a number, not {told(value)}", row)
    try:
        number = float(value)
    except OverflowError:
        raise wrong(where, "range", f"{where} is too large", row) from None
    if not math.isfinite(number):
        raise wrong(where, "finite", f"{where} is {value}; it must be finite", row)
    if row is not None and number < 0 and not signed:
        raise wrong(where, "non_negative", f"{where} is {number}, below 0", row)
    return number


def wrong(where: str | None, rule: str, message: str, row: int | None = None) -> InputError:
    """Return an error that names the table's row and field, and the rule."""
    return InputError([Problem("state", row, None, where, rule, None, message)])
