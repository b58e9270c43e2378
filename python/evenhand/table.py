"""A light columnar result: what every result type hands to people and to data frame libraries.

A `Table` needs NumPy only. It becomes a pandas, polars or pyarrow frame on request, and any library that
reads the Arrow PyCapsule interface can take it directly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import InputError, NoSuchNameError, WrongKindError, require, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


__all__ = ["Table", "Tabular"]

Column = np.ndarray | tuple[Any, ...]


class Table:
    """Named columns of equal length; immutable.

    Parameters
    ----------
    columns
        Column name → one value a row. Arrays of numbers and truth values are kept without a copy (as
        read-only views); other sequences may hold ``None`` for a missing value.
    title
        A caption for text and HTML.
    provenance
        What the rows were made by and of, as plain values by name, or a function that returns it when it is
        first asked for. pandas has it as ``frame.attrs["evenhand"]``, pyarrow as JSON in the metadata.

    Raises
    ------
    ValueError
        If the columns differ in length or an array has more than one dimension.

    Notes
    -----
    Source of the exchange format: Apache Arrow, "The Arrow PyCapsule Interface". Building costs O(rows) for
    sequences and O(1) for arrays; every export copies each column once.

    Examples
    --------
    >>> table = Table({"name": ["a", "b"], "share": np.array([0.25, 0.75])}, title="shares")
    >>> len(table), table.columns
    (2, ('name', 'share'))
    >>> table["share"].sum()
    np.float64(1.0)
    >>> table
    shares
    name   share
    a     0.2500
    b     0.7500
    """

    __slots__ = ("_columns", "_length", "_provenance", "title")

    def __init__(
        self,
        columns: Mapping[str, Sequence[Any] | np.ndarray],
        *,
        title: str = "",
        provenance: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    ) -> None:
        if not isinstance(columns, Mapping):
            said = f"columns are an object (name: values), not {type(columns).__name__}"
            raise WrongKindError.about("table", "columns", "type", said)
        self._columns: dict[str, Column] = {str(name): _normalise(name, v) for name, v in columns.items()}
        self.title = title
        self._provenance = provenance
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError.about("table", "columns", "length", f"columns differ in length: {lengths}")
        self._length = next(iter(lengths.values()), 0)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._columns)

    @property
    def provenance(self) -> dict[str, Any]:
        """What the rows were made by and of; empty where that is not known."""
        if callable(self._provenance):
            self._provenance = self._provenance()
        return dict(self._provenance or {})

    def made_by(self, provenance: Mapping[str, Any] | Callable[[], Mapping[str, Any]]) -> Table:
        """Return the same rows with a provenance.

        Parameters
        ----------
        provenance
            As of the constructor.
        """
        return Table(self._columns, title=self.title, provenance=provenance)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> np.ndarray | list[Any]:
        """One column: an array for numbers and truth values without gaps, otherwise a list."""
        column = self._column(name)
        return column if isinstance(column, np.ndarray) else list(column)

    def _column(self, name: object) -> Column:
        if not isinstance(name, str) or name not in self._columns:
            known = ", ".join(self._columns) or "none"
            said = f"there is no column {shorten(name)!r}; there are {known}"
            raise NoSuchNameError.about("table", "name", "exists", said)
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._columns

    def get(self, name: str, default: Any = None) -> np.ndarray | list[Any]:
        """Return one column, or the default in every row if the table lacks it.

        Parameters
        ----------
        name
            Name of the column.
        default
            What a lacking column holds.
        """
        return self[name] if name in self else [default] * len(self)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns as lists of plain Python values."""
        return {name: _plain(column) for name, column in self._columns.items()}

    def rows(self, limit: int | None = None) -> list[tuple[Any, ...]]:
        """Return rows as tuples of plain Python values in column order.

        Parameters
        ----------
        limit
            Most rows returned; None for all.
        """
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
            said = f"limit is a number of rows, not {type(limit).__name__}"
            raise WrongKindError.about("table", "limit", "type", said)
        parts = [_plain(column[:limit]) for column in self._columns.values()]
        return list(zip(*parts, strict=True))

    def to_pandas(self) -> Any:
        """Return a pandas frame; integers and truth values with gaps become its nullable types.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        pd = require("pandas", "pandas")
        nullable = {"integer": "Int64", "flag": "boolean"}
        series = {}
        for name, column in self._columns.items():
            kind, values = typed(column)
            gaps = isinstance(column, tuple)
            series[name] = pd.array(values, dtype=nullable[kind]) if gaps and kind in nullable else values
        frame = pd.DataFrame(series, columns=list(series))
        if made := self.provenance:
            frame.attrs["evenhand"] = made
        return frame

    def to_polars(self) -> Any:
        """Return a polars frame.

        Raises
        ------
        MissingExtraError
            If polars is not installed.
        """
        return require("polars", "polars").DataFrame(self)

    def to_arrow(self) -> Any:
        """Return a pyarrow table.

        Raises
        ------
        MissingExtraError
            If pyarrow is not installed.
        """
        table = require("pyarrow", "arrow").table(self)
        made = self.provenance
        return table.replace_schema_metadata({"evenhand": json.dumps(made)}) if made else table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return an Arrow stream of one record batch; no Arrow library is needed."""
        from evenhand.arrow_export import stream

        return stream({name: typed(column) for name, column in self._columns.items()}, len(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (dict(self._columns), self.title, self.provenance)

    def __repr__(self) -> str:
        from evenhand.display import table_text

        return table_text(self)

    def _repr_html_(self) -> str:
        from evenhand.display import table_html

        return table_html(self)


def _restore(columns: dict[str, Any], title: str, provenance: dict[str, Any] | None = None) -> Table:
    return Table(columns, title=title, provenance=provenance)


class Tabular:
    """What gives its rows as a `Table` gives them as any frame, too."""

    __slots__ = ()

    def table(self) -> Table:
        """Return the rows as a table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return `table` as a pandas DataFrame."""
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """Return `table` as a polars DataFrame."""
        return self.table().to_polars()

    def to_arrow(self) -> Any:
        """Return `table` as a pyarrow Table."""
        return self.table().to_arrow()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return `table` as an Arrow stream."""
        return self.table().__arrow_c_stream__(requested_schema)


def typed(column: Column) -> tuple[str, np.ndarray | list[Any]]:
    """Return the kind of a column and its values: what typed frames need to know.

    Kinds are ``number``, ``integer``, ``flag``, ``text`` and ``texts`` (a list of strings a row). Gaps are
    ``None`` in a list. Values of mixed type (names may be strings and integers) become text.
    """
    if isinstance(column, np.ndarray):
        return {"f": "number", "i": "integer", "b": "flag"}[column.dtype.kind], column
    kinds = set(map(type, column)) - {type(None)}
    if kinds and kinds <= {list, tuple}:
        return "texts", [None if v is None else [str(item) for item in v] for v in column]
    if kinds == {bool}:
        return "flag", list(column)
    if kinds == {int} and all(-(2**63) <= v < 2**63 for v in column if v is not None):
        return "integer", list(column)
    if float in kinds and kinds <= {int, float}:
        return "number", [None if v is None else float(v) for v in column]
    return "text", [v if v is None or type(v) is str else str(v) for v in column]


def _normalise(name: object, values: Sequence[Any] | np.ndarray) -> Column:
    """Arrays of float64, int64 or bool; tuples of plain values for everything else."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            said = f"column {shorten(name)!r} has {values.ndim} dimensions, not 1"
            raise InputError.about("table", "columns", "length", said)
        target = {"f": np.float64, "i": np.int64, "b": np.bool_}.get(values.dtype.kind)
        if values.dtype.kind == "u" and (values.dtype.itemsize < 8 or not (values >> np.uint64(63)).any()):
            target = np.int64
        if target is None:
            return tuple(values.tolist())
        view: np.ndarray = values.astype(target, copy=False).view()
        view.flags.writeable = False
        return view
    try:
        column = tuple(values)
    except TypeError:
        said = f"column {shorten(name)!r} is {type(values).__name__}, not a sequence"
        raise WrongKindError.about("table", "columns", "type", said) from None
    kinds = set(map(type, column))
    if any(issubclass(kind, np.generic) for kind in kinds):
        column = tuple(value.item() if isinstance(value, np.generic) else value for value in column)
        kinds = set(map(type, column))
    if kinds in ({float}, {int}, {bool}, {int, float}):
        array = np.array(column)
        # Integers beyond 64 bits would lose digits as floats.
        if array.dtype.kind in ("ib" if float not in kinds else "f"):
            return _normalise(name, array)
    return column


def _plain(column: Iterable[Any]) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)
