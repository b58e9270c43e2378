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


_FINER = {"ns": 1000, "ps": 10**6, "fs": 10**9, "as": 10**12}
_COARSER = {
    "us": 1,
    "ms": 10**3,
    "s": 10**6,
    "m": 60 * 10**6,
    "h": 3600 * 10**6,
    "D": 86400 * 10**6,
    "W": 7 * 86400 * 10**6,
}


class NotAColumn(ValueError):
    """What stands for a column is none; the message says what it is."""


def array_cells(values: Any, zone: tzinfo | None, report: Reporter) -> Cells:
    """Turn one array of a dict of arrays into cells."""
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


def _numpy_times(
    values: NDArray[Any], valid: NDArray[np.bool_] | None, zone: tzinfo | None, report: Reporter
) -> Cells:
    """Turn a datetime64 or timedelta64 array without time zone into cells."""
    micros, valid = _micros(values, valid, report)
    if values.dtype.kind == "m":
        return Times(micros, valid, True)
    return _instants(micros, valid, zone, report)


def _micros(
    values: NDArray[Any], valid: NDArray[np.bool_] | None, report: Reporter
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Return microseconds, and which of them are given; NaT is absent, what does not fit is reported."""
    unit, step = np.datetime_data(values.dtype)
    if step != 1 or (unit in ("Y", "M") and values.dtype.kind == "m"):
        raise NotAColumn(f"has the dtype {values.dtype}, whose unit has no fixed length or is not understood")
    given = ~np.isnat(values) if valid is None else valid & ~np.isnat(values)
    ticks = np.where(given, values.view(np.int64), 0)
    small = np.ones(len(ticks), np.bool_)
    if unit in _FINER:
        per_micro = _FINER[unit]
        # Halves up, without a sum that could overflow.
        micros = ticks // per_micro + (2 * (ticks % per_micro) >= per_micro)
    elif unit in ("Y", "M"):
        few = np.clip(ticks, -10_000, 10_000)
        small = few == ticks
        micros = few.astype(values.dtype).astype("M8[us]").view(np.int64)
    else:
        length = _COARSER.get(unit, 1)  # a column of NaT only may have no unit
        most = (2**63 - 1) // length
        small = (ticks >= -most) & (ticks <= most)
        micros = np.where(small, ticks, 0) * length
    for row in np.flatnonzero(given & ~small).tolist():
        report(row, "range", "does not fit in 64 bits of microseconds", None)
    given &= small
    return micros, None if given.all() else given


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
    if isinstance(dtype, nw.Int128 | nw.UInt128):  # NumPy has none
        return series.to_list()
    if dtype.is_integer() or dtype.is_float() or dtype == nw.Boolean:
        return Numbers(*_values(series))
    if isinstance(dtype, nw.Datetime | nw.Duration):
        values, valid = _ticks(series.to_native())
        if isinstance(dtype, nw.Duration) or dtype.time_zone is None:
            return _numpy_times(values, valid, zone, report)
        return Times(*_micros(values, valid, report), False)
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


def _ticks(native: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return a column of times as datetime64 (UTC where it has a time zone) or timedelta64."""
    if hasattr(native, "to_physical"):  # polars
        kind = "m" if "Duration" in str(native.dtype) else "M"
        valid = None if native.null_count() == 0 else native.is_not_null().to_numpy()
        return native.to_physical().fill_null(0).to_numpy().view(f"{kind}8[{native.dtype.time_unit}]"), valid
    if hasattr(native, "array"):  # pandas
        if isinstance(native.dtype, np.dtype):
            return native.to_numpy(), None
        if not hasattr(native.array, "__arrow_array__") or hasattr(native.dtype, "tz"):
            return native.to_numpy(dtype=f"M8[{native.dtype.unit}]"), None
        native = native.array.__arrow_array__()
    import pyarrow

    array = native.combine_chunks() if isinstance(native, pyarrow.ChunkedArray) else native
    kind = "m" if pyarrow.types.is_duration(array.type) else "M"
    valid = None if array.null_count == 0 else array.is_valid().to_numpy(zero_copy_only=False)
    ticks = array.cast(pyarrow.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return ticks.view(f"{kind}8[{array.type.unit}]"), valid


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
    try:
        array = native.cast(pyarrow.large_string())
    except NotImplementedError:  # string views, before pyarrow 17
        array = pyarrow.array(native.to_pylist(), pyarrow.large_string())
    _, offsets, data = array.buffers()
    if offsets is None or len(array) == 0:
        return Strings(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    ends = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
    text = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    valid = None if array.null_count == 0 else array.is_valid().to_numpy(zero_copy_only=False)
    return Strings(text, ends, valid)
