"""What one snapshot has that another has not, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.fields import TABLES
from evenhand.frozen import thaw
from evenhand.units.text import named

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["RowDiff", "rows_between", "summary_of", "text_of"]

_NAMED = 3
"""So many rows of a table are named in a summary."""


@dataclass(frozen=True, slots=True)
class RowDiff:
    """A row that only one of two snapshots has, or a field of a row that they say differently.

    Attributes
    ----------
    table : str
        "snapshot" for ``total``, "root" for the root pool; commands are rows by their position.
    what : str
        ``"more"`` (only the other snapshot has it), ``"less"`` (only the first) or ``"other"``.
    name : str, int or None
        Of the row; of ``"other"`` with the field: ``n1.capacity``.
    before, after : object
        The values; of an entire row None where there is no such row.
    """

    table: str
    what: str
    name: str | int | None
    before: Any
    after: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain values."""
        names = ("what", "table", "name", "before", "after")
        return {name: thaw(getattr(self, name)) for name in names}


def rows_between(before: Snapshot, after: Snapshot) -> Iterator[RowDiff]:
    """Yield how two snapshots differ; the instants are left out.

    Parameters
    ----------
    before, after : Snapshot

    Yields
    ------
    RowDiff
        By table, then rows less, rows more and rows with other values.

    Notes
    -----
    O(cells); O(1) for one and the same snapshot, or two whose fingerprints are known to be equal.
    """
    if before == after:
        return
    old, new = before.to_dict(), after.to_dict()
    for key in ("total", "root"):
        table = "snapshot" if key == "total" else key
        yield from _fields(table, key, {key: old.get(key)}, {key: new.get(key)}, whole=True)
    for table in TABLES:
        if table != "root":
            yield from _rows(table, _by_name(old.get(table)), _by_name(new.get(table)))


def _by_name(rows: Any) -> dict[Any, Any]:
    if isinstance(rows, Mapping):  # resources
        return dict(rows)
    return {row.get("name", at): row for at, row in enumerate(rows or ())}


def _rows(table: str, old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[RowDiff]:
    yield from (RowDiff(table, "less", name, row, None) for name, row in old.items() if name not in new)
    yield from (RowDiff(table, "more", name, None, row) for name, row in new.items() if name not in old)
    for name, row in old.items():
        if name in new and row != new[name]:
            yield from _fields(table, name, row, new[name])


def _fields(
    table: str, name: Any, old: Mapping[str, Any], new: Mapping[str, Any], *, whole: bool = False
) -> Iterator[RowDiff]:
    for field in dict.fromkeys((*old, *new)):
        pair = old.get(field), new.get(field)
        if pair[0] != pair[1]:
            yield RowDiff(table, "other", name if whole else f"{name}.{field}", *pair)


def summary_of(rows: Iterable[RowDiff]) -> str:
    """Say how two clusters differ, in a sentence; nothing if they do not."""
    from evenhand.display.text import clean

    found = list(rows)
    names: dict[tuple[str, str], list[str]] = {}
    for row in found:
        names.setdefault((row.table, row.what), []).append(clean(row.name))
    counts = Counter((row.table, row.what) for row in found)
    words = {"less": "less", "more": "more", "other": "with other values"}
    said = []
    for (table, what), count in counts.items():
        some = ", ".join(names[table, what][:_NAMED])
        more = f" and {count - _NAMED:,} more" if count > _NAMED else ""
        noun = table if table in ("snapshot", "root") else table.removesuffix("s") if count == 1 else table
        head = f"the {noun}" if table in ("snapshot", "root") else f"{count:,} {noun} {words[what]}"
        said.append(f"{head} ({some}{more})")
    return f"The clusters differ: {'; '.join(said)}." if said else ""


def text_of(value: Any, name: str = "") -> str:
    """Return a value of a row in short, by the name of its field: an object as ``cpu 8, memory 4``."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {text_of(item, str(key))}" for key, item in value.items())
    if isinstance(value, int | float) and not isinstance(value, bool):
        return named(name.rpartition(".")[2], value)
    return "" if value is None else str(value)
