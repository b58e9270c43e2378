"""Parses cells into raw columns, the form in which the core takes them.

Every kind of field has a path for columns whose types need no second look;
other columns go cell by cell (`single`). A cell that is reported is left out
of the raw column, as if it were absent.

Raw columns: numbers are an array, or (array, valid); names a list, an integer
array or (bytes, offsets); references likewise with validity; amounts
(values [N, R], given [N, R]); texts (words, codes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from itertools import chain, compress, count, islice, repeat
from operator import is_
from typing import Any

import numpy as np

from evenhand.building.cells import Cells, Numbers, Objects, Strings, Times, WordLists, Words, as_list
from evenhand.building.keys import cells_of, keys_of
from evenhand.building.problems import COUNTED, STAND_IN, Predicate, nearest
from evenhand.building.single import (
    INT64,
    CellError,
    one_duration,
    one_flag,
    one_integer,
    one_label,
    one_list,
    one_name,
    one_number,
    one_object,
    one_text,
    one_time,
    one_word,
)
from evenhand.fields import Field

_NONE = type(None)

Reporter = Callable[[int | None, str, Predicate, object], None]
Raw = Any


def convert(cells: Sequence[Any], one: Callable[[Any], Any], report: Reporter) -> list[Any]:
    """Convert cell by cell; what is wrong is reported and becomes None.

    So does the rest of the column once `COUNTED` cells are wrong.
    """
    converted: list[Any] = []
    wrong = 0
    for row, cell in enumerate(cells):
        plain = cell.item() if isinstance(cell, np.generic) else cell
        try:
            converted.append(None if plain is None else one(plain))
        except CellError as error:
            report(row, error.rule, str(error), plain)
            converted.append(None)
            wrong += 1
            if wrong == COUNTED:
                return converted + [None] * (len(cells) - len(converted))
    return converted


def pack(cells: list[Any], dtype: Any, blank: Any = 0) -> Raw:
    """Return an array of cells of one type, with validity if any is None."""
    if _NONE not in set(map(type, cells)):
        return np.array(cells, dtype)
    objects = np.array([*cells, None], object)[:-1]  # objects whatever they are
    valid = np.not_equal(objects, np.array(None, object)).astype(np.bool_)
    values = np.full(len(cells), blank, dtype)
    values[valid] = np.array(objects[valid].tolist(), dtype)
    return values, valid


def _raw(values: Any, valid: Any) -> Raw:
    return values if valid is None else (values, valid)


def number(cells: Cells, report: Reporter, one: Callable[[Any], Any] = one_number) -> Raw:
    """Parse numbers: int64 or float64, with validity if any is absent.

    A cell that is none already is what `one` makes of it.
    """
    if isinstance(cells, Numbers) and cells.values.dtype.kind in "iuf":
        return _raw(plain_number(cells.values), cells.valid)
    items = as_list(cells)
    kinds = set(map(type, items))
    if not kinds <= {int, float, _NONE}:
        items = convert(items, one, report)
        kinds = set(map(type, items))
    return _pack_numbers(items, kinds, report)


def _pack_numbers(items: list[Any], kinds: set[type], report: Reporter) -> Raw:
    if float not in kinds:
        try:
            return pack(items, np.int64)
        except OverflowError:
            pass
    try:
        return pack(items, np.float64)
    except OverflowError:
        return pack(convert(items, one_number, report), np.float64)


def plain_number(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an integer or float array as int64 or float64, without a copy if it is one."""
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, np.float64)
    if values.dtype == np.uint64 and len(values) and values.max() > INT64[1]:
        return values.astype(np.float64)
    return np.ascontiguousarray(values, np.int64)


def integer(cells: Cells, report: Reporter) -> Raw:
    """Parse whole numbers."""
    if isinstance(cells, Numbers) and cells.values.dtype.kind in "iu":
        values = plain_number(cells.values)
        if values.dtype == np.int64:
            return _raw(values, cells.valid)
    elif isinstance(cells, Numbers) and cells.values.dtype.kind == "f":
        reals = plain_number(cells.values)
        if ((np.floor(reals) == reals) & (np.abs(reals) < 2.0**63)).all():
            return _raw(reals.astype(np.int64), cells.valid)
    items = as_list(cells)
    if set(map(type, items)) <= {int, _NONE}:
        try:
            return pack(items, np.int64)
        except OverflowError:
            pass
    return pack(convert(items, one_integer, report), np.int64)


def flag(cells: Cells, report: Reporter) -> Raw:
    """Parse flags."""
    if isinstance(cells, Numbers) and cells.values.dtype.kind == "b":
        return _raw(cells.values, cells.valid)
    items = as_list(cells)
    if not set(map(type, items)) <= {bool, _NONE}:
        items = convert(items, one_flag, report)
    return pack(items, np.bool_, False)


def word(cells: Cells, field: Field, report: Reporter) -> Raw:
    """Parse an enum: codes in the order of its words; an absent cell has the default's."""
    codes: dict[Any, int] = {w: i for i, w in enumerate(field.words)}
    codes[None] = codes.get(field.default, 0)
    if isinstance(cells, Words) and len(cells.words) <= len(field.words):
        distinct = cells.words.tolist()
        if codes.keys() >= set(distinct):
            return np.array([codes[word] for word in [*distinct, None]], np.uint8)[cells.codes]
    items = as_list(cells)
    try:
        return np.array([codes[cell] for cell in items], np.uint8)
    except (KeyError, TypeError):
        items = convert(items, one_word(field.words), report)
        return np.array([codes[cell] for cell in items], np.uint8)


def given_words(cells: Cells, field: Field, report: Reporter) -> list[Any]:
    """Return the words of an enum as they are; None where there is none."""
    items = as_list(cells)
    if set(map(type, items)) <= {str, _NONE} and set(items) <= {*field.words, None}:
        return items
    return convert(items, one_word(field.words), report)


def instant(cells: Cells, zone: tzinfo | None, text: bool, report: Reporter) -> Raw:
    """Parse instants: float64 seconds, or int64 microseconds."""
    if isinstance(cells, Times) and not cells.span:
        return _raw(cells.micros, cells.valid)
    return _seconds(cells, one_time(zone, text=text), report)


def duration(cells: Cells, report: Reporter) -> Raw:
    """Parse durations: float64 seconds, or int64 microseconds."""
    if isinstance(cells, Times) and cells.span:
        return _raw(cells.micros, cells.valid)
    if isinstance(cells, Words):
        try:
            spans = np.array([*map(one_duration, cells.words.tolist()), 0.0], np.float64)
        except CellError:
            pass
        else:
            absent = cells.codes < 0
            return _raw(spans[cells.codes], ~absent if absent.any() else None)
    return _seconds(cells, one_duration, report)


def _seconds(cells: Cells, one: Callable[[Any], Any], report: Reporter) -> Raw:
    # int64 would be taken for microseconds.
    if isinstance(cells, Numbers) and cells.values.dtype.kind in "iuf":
        return _raw(cells.values.astype(np.float64), cells.valid)
    items = as_list(cells)
    if not set(map(type, items)) <= {int, float, _NONE}:
        items = convert(items, one, report)
    try:
        return pack(items, np.float64)
    except OverflowError:
        return pack(convert(items, one_number, report), np.float64)


def text(cells: Cells, report: Reporter) -> Raw:
    """Parse text with few distinct values: (words, codes), -1 for absent."""
    if isinstance(cells, Words):
        return _words(cells.words), cells.codes
    items = as_list(cells)
    if not _is_utf8(items, {str, _NONE}):
        items = convert(items, one_text, report)
    return _coded(items, len(items))


def texts(cells: Cells, report: Reporter) -> Raw:
    """Parse lists of text: (words, offsets, codes)."""
    if isinstance(cells, WordLists):
        return _words(cells.words), cells.offsets, cells.codes
    items = as_list(cells)
    if not (set(map(type, items)) <= {list, _NONE} and _is_utf8(list(_joined(items)), {str})):
        items = convert(items, one_list(one_text, "text"), report)
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum([len(cell or ()) for cell in items], out=offsets[1:])
    words, codes = _coded(_joined(items), int(offsets[-1]))
    return words, offsets, codes


def _words(words: Strings) -> Raw:
    return words.data, words.offsets


def _has_empty(words: Strings) -> bool:
    return not (np.diff(words.offsets) > 0).all()


def _joined(lists: list[Any]) -> Iterator[Any]:
    return chain.from_iterable(filter(None, lists))


def _coded(items: Iterable[Any], size: int) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Return the distinct texts in the order of their first places, and the code of each item (None: -1)."""
    first: dict[Any, int] = {}
    places = np.fromiter(map(first.setdefault, items, count()), np.int32, size)
    first.pop(None, None)
    codes = np.full(size, -1, np.int32)  # by first place
    codes[np.fromiter(first.values(), np.int32, len(first))] = np.arange(len(first), dtype=np.int32)
    return list(first), codes[places]


def names(cells: Cells, report: Reporter) -> tuple[Raw, bool]:
    """Parse the names of a table's rows; also returns whether all of them are usable.

    An unusable name gets a stand-in that no other row can have, so that the
    core continues with the rest of its row.
    """
    if isinstance(cells, Strings) and cells.valid is None and not _has_empty(cells):
        return (cells.data, cells.offsets), True
    if isinstance(cells, Numbers) and cells.valid is None and cells.values.dtype.kind in "iu":
        values = plain_number(cells.values)
        if values.dtype == np.int64:
            return values, True
    items = as_list(cells)
    if _are_names(items, {str, int}) and "" not in items:
        return items, True
    missing = list(islice(compress(count(), map(is_, items, repeat(None))), COUNTED))
    if len(missing) == COUNTED:
        items = items[: missing[-1] + 1]
    result = convert(items, one_name, report)
    for row in missing:
        report(row, "required", "is missing; every row needs one", None)
    usable = None not in result  # a table that was left is not asked for either
    return [f"{STAND_IN}{row}" if cell is None else cell for row, cell in enumerate(result)], usable


def reference(cells: Cells, report: Reporter) -> Raw:
    """Parse references by name."""
    if isinstance(cells, Strings):
        return cells.data, cells.offsets, cells.valid
    if isinstance(cells, Numbers) and cells.values.dtype == np.int64:
        return None, cells.values, cells.valid
    items = as_list(cells)
    return items if _are_names(items, {str, int, _NONE}) else convert(items, one_label, report)


def given_names(cells: Cells, report: Reporter) -> list[Any]:
    """Return names that need not exist, as they are; None where there is none."""
    items = as_list(cells)
    if isinstance(cells, Words) and not _has_empty(cells.words):
        return items
    if _are_names(items, {str, int, _NONE}) and "" not in items:
        return items
    return convert(items, one_name, report)


def labels(cells: Cells, report: Reporter) -> Raw:
    """Parse names that need not exist: as text, an integer as its decimal text."""
    if isinstance(cells, Words) and not _has_empty(cells.words):
        return _words(cells.words), cells.codes
    items = given_names(cells, report)
    if not set(map(type, items)) <= {str, _NONE}:
        items = [None if cell is None else str(cell) for cell in items]
    return _coded(items, len(items))


def given_texts(cells: Cells, report: Reporter) -> list[Any]:
    """Return texts as they are; None where there is none."""
    items = as_list(cells)
    if isinstance(cells, Words) or _is_utf8(items, {str, _NONE}):
        return items
    return convert(items, one_text, report)


def given_flags(cells: Cells, report: Reporter) -> list[Any]:
    """Return flags as they are; None where there is none."""
    items = as_list(cells)
    return items if set(map(type, items)) <= {bool, _NONE} else convert(items, one_flag, report)


def given_lists(cells: Cells, report: Reporter, own: bool) -> list[Any]:
    """Return copies of lists of names, or with `own` themselves; None where there is none."""
    items = as_list(cells)
    if isinstance(cells, WordLists) and not _has_empty(cells.words):
        return items
    if set(map(type, items)) <= {list, _NONE}:
        flat = list(_joined(items))
        if _are_names(flat, {str, int}) and "" not in flat:
            return items if own else [None if cell is None else cell[:] for cell in items]
    return convert(items, one_list(one_name, "names"), report)


def row_index(cells: Cells, report: Reporter) -> Raw:
    """Parse references by row number; absent is -1, none. The core looks whether the rows exist."""
    raw = integer(cells, report)
    return np.where(raw[1], raw[0], -1) if isinstance(raw, tuple) else raw


def _are_names(items: list[Any], kinds: set[type]) -> bool:
    """Tell whether all are text that UTF-8 can write, or integers that 64 bits hold, or None."""
    found = set(map(type, items))
    if int in found:
        whole = [cell for cell in items if type(cell) is int]
        if not INT64[0] <= min(whole) <= max(whole) <= INT64[1]:
            return False
        items = [cell for cell in items if type(cell) is not int] if len(found) > 1 else []
    return found <= kinds and _is_utf8(items, kinds)


def _is_utf8(items: list[Any], kinds: set[type]) -> bool:
    if not set(map(type, items)) <= kinds:
        return False
    joined = "".join(items if _NONE not in kinds else [cell for cell in items if cell is not None])
    if joined.isascii():
        return True
    try:
        joined.encode()
    except UnicodeEncodeError:
        return False
    return True


def amounts(
    cells: Cells | Objects | Mapping[str, Cells],
    rows: int,
    resources: list[str],
    one_cell: Callable[[str], Reporter],
    one: Callable[[str], Callable[[Any], Any]] = lambda _: one_number,
) -> Raw:
    """Parse amounts: (values [N, R], given [N, R] or None)."""
    if isinstance(cells, Objects):
        _report_unknown(cells.unknown, resources, one_cell)
        cells = cells.columns
    if not isinstance(cells, Mapping):
        cells = _by_resource(as_list(cells), resources, one_cell)
    known = {name: cells[name] for name in resources if name in cells}
    for name in cells:
        if name not in known:
            one_cell(name)(
                None,
                "unknown_resource",
                f"names no resource of this snapshot{nearest(name, resources)}",
                None,
            )
    columns = [
        number(known[name], one_cell(name), one(name)) if name in known else None for name in resources
    ]
    arrays = [c[0] if isinstance(c, tuple) else c for c in columns]
    whole = all(a is None or a.dtype == np.int64 for a in arrays)
    values = np.zeros((rows, len(resources)), np.int64 if whole else np.float64)
    given = None
    if any(c is None or isinstance(c, tuple) for c in columns):
        given = np.zeros((rows, len(resources)), np.bool_)
    for j, (column, array) in enumerate(zip(columns, arrays, strict=True)):
        if column is None:
            continue
        if array is not None:
            values[:, j] = array
        if given is not None:
            given[:, j] = column[1] if isinstance(column, tuple) else True
    if given is not None and values.dtype == np.float64:
        values[~given] = 0.0
    return values, given


def _report_unknown(
    unknown: Mapping[Any, Sequence[int]], resources: list[str], one_cell: Callable[[str], Reporter]
) -> None:
    for key, (row, rows) in unknown.items():
        one_cell(str(key))(row, "unknown_resource", _unknown_resource(key, resources, rows), None)


def _unknown_resource(key: object, resources: list[str], rows: int) -> Callable[[], str]:
    more = f" (in {rows - 1} more rows)" if rows > 1 else ""
    return lambda: f"names no resource of this snapshot{nearest(key, resources)}{more}"


def _by_resource(
    items: list[Any], resources: list[str], one_cell: Callable[[str], Reporter]
) -> dict[str, Cells]:
    if not set(map(type, items)) <= {dict, _NONE}:
        items = convert(items, one_object, one_cell(""))
    objects = [cell or {} for cell in items] if _NONE in set(map(type, items)) else items
    keys, strange = keys_of(objects, resources)
    _report_unknown(strange, resources, one_cell)
    return {name: cells_of(objects, name) for name in resources if name in keys}
