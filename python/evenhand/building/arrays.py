"""Columns of frames and single arrays to cells.

pandas, polars and pyarrow are reached through narwhals; numpy arrays, lists
and the Arrow buffers of text columns directly, without a copy where the
layout allows.
"""

from __future__ import annotations

import sys
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.building.cells import Cells, Numbers, Strings, Times
from evenhand.building.columns import Reporter
from evenhand.building.times import local_to_utc

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    from numpy.typing import NDArray


class NotAColumn(ValueError):
    """What stands for a column is none; the message says what it is."""


def array_cells(values: Any, zone: tzinfo | None, report: Reporter) -> Cells:
    """Turn one array of a dict of arrays into cells.

    Parameters
    ----------
    values : list, numpy array, or a pandas, polars or pyarrow column
    zone : tzinfo, optional
        Time zone of instants without one.
    report : function
        Reporter of this column.

    Raises
    ------
    NotAColumn
        If it is a scalar, or has more than one dimension.
    """
    if isinstance(values, list | tuple | range):
        return list(values)
    if isinstance(values, np.ndarray):
        return _numpy_cells(values, zone, report)
    if isinstance(values, str | bytes | int | float | dict) or values is None:
        raise NotAColumn(f"is {type(values).__name__}, not an array")
    import narwhals.stable.v2 as nw

    if (pyarrow := sys.modules.get("pyarrow")) and isinstance(values, pyarrow.Array):
        values = pyarrow.chunked_array([values])
    try:
        series = nw.from_native(values, series_only=True)
    except TypeError:
        if not hasattr(values, "__array__"):
            raise NotAColumn(f"is {type(values).__name__}, not an array") from None
        return _numpy_cells(np.asarray(values), zone, report)
    return series_cells(series, zone, report)


def _numpy_cells(values: NDArray[Any], zone: tzinfo | None, report: Reporter) -> Cells:
    if values.ndim != 1:
        raise NotAColumn(f"has {values.ndim} dimensions; a column has one")
    valid = None
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        valid = ~mask if mask.any() else None
        values = (
            values.filled(values.dtype.type(0))
            if valid is not None and values.dtype.kind != "O"
            else values.data
        )
    match values.dtype.kind:
        case "b" | "i" | "u" | "f":
            return Numbers(values, valid)
        case "M" | "m":
            return _numpy_times(values, valid, zone, report)
        case _:
            cells = values.tolist()
            return cells if valid is None else [c if v else None for c, v in zip(cells, valid, strict=True)]


def _numpy_times(values: NDArray[Any], valid: Any, zone: tzinfo | None, report: Reporter) -> Cells:
    missing = np.isnat(values)
    if missing.any():
        valid = ~missing if valid is None else valid & ~missing
    span = values.dtype.kind == "m"
    unit, _step = np.datetime_data(values.dtype)
    if unit in ("ns", "ps", "fs", "as"):
        ticks = values.astype(f"{values.dtype.kind}8[ns]").view(np.int64)
        micros = (ticks + 500) // 1000
    else:
        if unit == "generic":
            values = np.zeros(len(values), f"{values.dtype.kind}8[us]")
        micros = values.astype(f"{values.dtype.kind}8[us]").view(np.int64)
    micros = np.where(missing, 0, micros)
    return Times(micros, valid, True) if span else _instants(micros, valid, zone, report)


def _instants(micros: NDArray[np.int64], valid: Any, zone: tzinfo | None, report: Reporter) -> Cells:
    """Instants without a time zone: read in `zone`, refused without it."""
    if zone is None:
        message = "holds instants without a time zone; give the column one, or the argument timezone="
        report(None, "timezone", message, None)
        return [None] * len(micros)
    micros, trouble = local_to_utc(micros, zone)
    if trouble:
        valid = np.ones(len(micros), np.bool_) if valid is None else valid.copy()
        for row, why in sorted(trouble.items()):
            if valid[row]:
                report(row, "timezone", why, None)
                valid[row] = False
    return Times(micros, valid, False)


def series_cells(series: nw.Series[Any], zone: tzinfo | None, report: Reporter) -> Cells:
    """Turn a column of a frame into cells."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype.is_decimal():
        series, dtype = series.cast(nw.Float64), nw.Float64()
    if dtype.is_integer() or dtype.is_float() or dtype == nw.Boolean:
        return Numbers(*_values(series))
    if isinstance(dtype, nw.Datetime | nw.Duration):
        micros, valid = _micros(series, dtype)
        if isinstance(dtype, nw.Duration):
            return Times(micros, valid, True)
        return Times(micros, valid, False) if dtype.time_zone else _instants(micros, valid, zone, report)
    if dtype == nw.String and (strings := _arrow_strings(series.to_native())) is not None:
        return strings
    cells = series.to_list()
    if series.implementation.is_pandas_like():
        # pandas' object columns mark absent cells by NaN, NaT or NA as well.
        absent = series.is_null().to_list()
        cells = [None if gone else cell for cell, gone in zip(cells, absent, strict=True)]
    return cells


def _values(series: nw.Series[Any]) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    absent = series.is_null()
    if not absent.any():
        return series.to_numpy(), None
    blank = 0 if series.dtype.is_numeric() else False
    return series.fill_null(blank).to_numpy(), ~absent.to_numpy()


def _micros(
    series: nw.Series[Any], dtype: nw.Datetime | nw.Duration
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    import narwhals.stable.v2 as nw

    absent = series.is_null()
    # Integers beside absent ones would become floats in pandas, which do not hold nanoseconds.
    given = series.drop_nulls() if absent.any() else series
    fine, spans = dtype.time_unit == "ns", isinstance(dtype, nw.Duration)
    if spans:
        ticks = given.dt.total_nanoseconds() if fine else given.dt.total_microseconds()
    else:
        ticks = given.dt.timestamp("ns" if fine else "us")
    micros = ticks.to_numpy().astype(np.int64)
    micros = (micros + 500) // 1000 if fine else micros
    if not absent.any():
        return micros, None
    valid = ~absent.to_numpy()
    full = np.zeros(len(valid), np.int64)
    full[valid] = micros
    return full, valid


def _arrow_strings(native: Any) -> Strings | None:
    """Return the Arrow buffers of a text column, None if it has none or pyarrow is not in use."""
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None:
        return None
    if not isinstance(native, pyarrow.ChunkedArray):
        if hasattr(native, "to_arrow"):  # polars
            native = native.to_arrow()
        elif hasattr(getattr(native, "array", None), "__arrow_array__"):  # pandas, Arrow-backed
            native = native.array.__arrow_array__()
        else:
            return None
    if isinstance(native, pyarrow.ChunkedArray):
        native = native.combine_chunks()
    if isinstance(native, pyarrow.ChunkedArray):  # of no chunks
        return None
    array = native.cast(pyarrow.large_string())
    _, offsets, data = array.buffers()
    if offsets is None or len(array) == 0:
        return Strings(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    ends = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
    text = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    valid = None if array.null_count == 0 else array.is_valid().to_numpy(zero_copy_only=False)
    return Strings(text, ends, valid)
