"""Workloads of tables with names of their own: frames, dicts of arrays, comma-separated values."""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Literal

import numpy as np

from evenhand.accepted import PATH, checked, taken
from evenhand.arguments import expect
from evenhand.building.problems import kind_of, nearest
from evenhand.errors import InputError, Problem, WrongKindError, printable, shorten
from evenhand.simulate.given import columns_of_rows
from evenhand.simulate.workload import Workload
from evenhand.traces._blocks import blocks, file_name
from evenhand.traces._fields import Wrong
from evenhand.traces._paths import pool_rows

__all__ = ["frame"]

_TEXTS = {
    "name",
    "operation",
    "pool",
    "user",
    "project",
    "account",
    "partition",
    "qos",
    "kind",
    "required_node",
}
#: Columns that may have one text for all rows.
_CONSTANT = (_TEXTS - {"name"}) | {"labels"}
_SEPARATORS = ("|", "\t", ";")
_FLAGS = {"gang", "preemptible", "cut_off", "replica", "reserve", "whole"}
_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@checked("frame")
def frame(
    data: Any,
    columns: Mapping[str, str | Any] | None = None,
    *,
    resources: Mapping[str, Any] | None = None,
    timezone: str | tzinfo | None = None,
    rounding: Literal["nearest"] | None = None,
    header: Sequence[str] | None = None,
) -> Workload:
    """Read a workload from a table, one row a request, whose columns have other names.

    Parameters
    ----------
    data : frame, dict of arrays, list of dicts, or path
        A pandas, polars or pyarrow table, or a file with a header whose fields commas separate, or bars
        (``sacct -P``, ``-p``), tabs or semicolons; also compressed by gzip, bzip2, xz or zstd.
    columns : mapping, optional
        Column of the workload → name of the table's column, or one value for all rows:
        ``{"name": "job_id", "submit_time": "submit", "resources.gpu": "gpus", "gang": True}``. A text that
        is no column is such a value, where the column is of text (``"kind": "batch"``) and no column has a
        name like it; ``["batch"]`` is always one. Columns which are not named are left out. By default the
        table has the workload's own names.
    resources : mapping, optional
        As in `Snapshot.from_frames`; by default those that are asked for.
    timezone : str or tzinfo, optional
        Time zone of instants that have none.
    rounding : {None, "nearest"}
        As in `Snapshot.from_frames`: what becomes of amounts that are no multiple of their quantum.
    header : sequence of str, optional
        Names of the columns of a file that has none: its first line is a row, too.

    Returns
    -------
    Workload
        A pool ``a/b`` is made a pool of this name in the pool ``a``.

    Raises
    ------
    InputError
        A column is missing or wrong, a line of a file has another number of fields, or a field is no number.
    OSError
        If it cannot be read.

    Notes
    -----
    In a file an empty field is absent; times may be seconds, ISO instants, or durations such as ``1h30m``.
    O(cells).

    Examples
    --------
    >>> from evenhand import traces
    >>> log = {"id": ["a", "b"], "t": [0, 60], "gpus": [1, 8], "secs": [300, 900], "team": ["x/u", "x/v"]}
    >>> names = {"name": "id", "submit_time": "t", "run_time": "secs", "pool": "team"}
    >>> traces.frame(log, names | {"resources.gpu": "gpus"})
    Workload(2 requests, 2 operations, 3 pools, 60 s)
    """
    file = isinstance(data, str | os.PathLike)
    if file:
        taken("frame", "data", data, PATH)
    expect(header is None or file, "frame", "header", header, "absent, where the data is no file")
    expect(header is None or isinstance(header, list | tuple), "frame", "header", header, "a list of names")
    given, lines = _csv(data, header) if file else (_columns(data), None)
    table = file_name(data) if file else "frame"
    wanted = {name: name for name in given} if columns is None else dict(columns)
    for name, column in given.items():
        shown = shorten(name)
        expect(
            hasattr(column, "__len__"), "frame", f"data[{shown!r}]", column, "a column: a list or an array"
        )
    rows = len(next(iter(given.values()))) if given else 0
    wrong = Wrong(table)
    found: dict[str, Any] = {}
    if "name" not in wanted:
        hint = nearest("name", given) if columns is None else ""
        message = f"there is no column 'name'; columns={{'name': COLUMN}} says which one it is{hint}"
        raise InputError([Problem(table, None, None, "name", "required", None, message)])
    for target, source in wanted.items():
        if isinstance(source, str) and source in given:
            cells = given[source]
            if target == "pool" and hasattr(cells, "to_pylist"):
                cells = cells.to_pylist()
            found[target] = cells if lines is None else _typed(target, source, cells, lines, wrong)
            continue
        texts = target.partition(".")[0] in _CONSTANT
        if isinstance(source, str) and (not texts or nearest(source, given)):
            hint = nearest(source, given)
            if texts:
                hint += f" [{source!r}] would be the text of all rows"
            message = f"there is no column {source!r}, of which {target} should be made{hint}"
            message = printable(message)
            raise InputError([Problem(table, None, None, source[:100], "required", None, message)])
        alone = texts and isinstance(source, list) and len(source) == 1
        found[target] = (source if alone else [source]) * rows
    wrong.done()
    pools = None
    if "pool" in found:
        paths = np.empty(rows, object)
        paths[:] = [None if _absent(p) else str(p) for p in found["pool"]]
        found["pool"], pools = paths, pool_rows(paths)
    return Workload(
        found,
        pools=pools,
        resources=resources,
        timezone=timezone,
        rounding=rounding,
        notes={"source": table},
    )


def _absent(cell: Any) -> bool:
    return cell is None or cell == "" or (isinstance(cell, float) and cell != cell)


def _columns(data: Any) -> dict[str, Any]:
    if isinstance(data, list | tuple):
        data = columns_of_rows("frame", data)
    if isinstance(data, Mapping):
        return {str(name): column for name, column in data.items()}
    import narwhals.stable.v2 as nw

    try:
        native = nw.from_native(data, eager_only=True)
    except TypeError:
        kinds = "a pandas, polars or pyarrow table, a dict of arrays, a list of dicts or a path"
        said = f"frame() takes {kinds}, not {kind_of(data)}"
        raise WrongKindError.about("frame", "data", "type", said) from None
    return {str(series.name): series.to_native() for series in native.iter_columns()}


def _csv(path: str | os.PathLike[str], names: Sequence[str] | None) -> tuple[dict[str, list[str]], list[int]]:
    """Return columns of text, and the line number of each row."""
    wrong = Wrong(file_name(path))
    text = _lines(path)
    first = next(text, "")
    # Commas, unless the first line has none and another separator.
    separator = "," if "," in first else next((s for s in _SEPARATORS if s in first), ",")
    reader = csv.reader(itertools.chain([first] if first else [], text), strict=True, delimiter=separator)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        header = [str(name).strip() for name in (next(reader, []) if names is None else names)]
        ended = names is None and len(header) > 1 and not header[-1]
        if ended:
            header.pop()  # sacct -p ends each line with a separator
        line = reader.line_num + 1
        for row in reader:
            if ended and len(row) == len(header) + 1 and not row[-1]:
                row.pop()
            if len(row) == len(header):
                rows.append(row)
                lines.append(line)
            elif row:
                wrong.add(line, None, "width", f"has {len(row)} fields; it must have {len(header)}")
            line = reader.line_num + 1
    except csv.Error as error:
        said = "has quotes that are not closed, or closed within a field"
        wrong.add(reader.line_num, None, "csv", said, str(error))
    for name in {name for name in header if header.count(name) > 1}:
        hint = "" if names is not None else "; header= has the names of a file without a line of these"
        wrong.add(1, name, "duplicate_field", f"is the name of two columns{hint}")
    if not wrong.count and not header:
        wrong.add(1, None, "empty", "is missing: the file has no header")
    wrong.done()
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in header]
    return dict(zip(header, columns, strict=True)), lines


def _lines(path: str | os.PathLike[str]) -> Iterator[str]:
    for _, block in blocks(path):
        yield from io.StringIO(block.decode("utf-8", "replace"), newline="")


def _typed(target: str, source: str, cells: list[str], lines: list[int], wrong: Wrong) -> Any:
    """Return fields of a file as what the workload's column holds."""
    head = target.partition(".")[0]
    if head in _TEXTS or head in ("labels", "settings"):
        return [cell or None for cell in cells]
    if head == "node_tags":
        return [cell.split() for cell in cells]
    if head in _FLAGS:
        flags = [_WORDS.get(cell.strip().lower()) if cell else None for cell in cells]
        for line, cell, value in zip(lines, cells, flags, strict=True):
            if cell and value is None:
                wrong.add(line, source, "flag", f"is {cell!r}; it must be true or false", cell)
        return flags
    return _numbers(
        source, cells, lines, wrong, times=head in ("submit_time", "duration", "run_time", "checkpoint_every")
    )


def _numbers(source: str, cells: list[str], lines: list[int], wrong: Wrong, *, times: bool) -> Any:
    try:
        return np.array(cells, np.float64) if cells else cells
    except ValueError:
        pass
    found: list[Any] = []
    for line, cell in zip(lines, cells, strict=True):
        try:
            found.append(float(cell) if cell.strip() else None)
        except ValueError:
            if not times:
                wrong.add(line, source, "number", f"is {cell!r}; it must be a number", cell)
            found.append(cell)
    return found
