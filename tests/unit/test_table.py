"""Tables: columns in, frames, Arrow, text and HTML out."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import MissingExtraError
from evenhand.table import Table
from tests.unit.markup_check import Page
from tests.waiting import HANG

COLUMNS: dict[str, Any] = {
    "name": ["a", "ß", "日本", None],
    "mixed": ["a", 1, None, 2],
    "share": np.array([0.5, np.nan, -0.0, np.inf]),
    "gappy": [0.5, None, 2, 1.0],
    "count": np.array([1, 2, 3, 4], dtype=np.uint16),
    "limit": [1, None, 3, 2**40],
    "gang": np.array([True, False, True, True]),
    "maybe": [True, None, False, None],
    "tags": [["x", "y"], [], None, ["z"]],
}


@pytest.fixture
def table() -> Table:
    return Table(COLUMNS, title="all kinds")


def same(left: Any, right: Any) -> Any:
    both_nan = isinstance(left, float) and isinstance(right, float) and np.isnan(left) and np.isnan(right)
    return both_nan or left == right


def test_columns_and_rows(table: Table) -> None:
    assert table.columns == tuple(COLUMNS)
    assert len(table) == 4
    assert "limit" in table
    assert "nothing" not in table
    assert isinstance(table["share"], np.ndarray)
    assert np.asarray(table["count"]).dtype == np.int64
    assert table["limit"] == [1, None, 3, 2**40]
    assert table.rows(2)[1][:2] == ("ß", 1)
    assert [row[4] for row in table.rows()] == [1, 2, 3, 4]
    plain = table.to_dict()
    assert {type(value) for value in plain["count"]} == {int}
    assert {type(value) for value in plain["gang"]} == {bool}


def test_sequences_of_one_kind_become_arrays() -> None:
    table = Table({"i": [1, 2], "f": [1, 2.5], "b": [True, False], "n": [np.float32(0.5), np.int8(1)]})
    kinds = [table[name].dtype for name in table.columns]  # type: ignore[union-attr]
    assert kinds == [np.int64, np.float64, bool, np.float64]


def test_a_table_does_not_change() -> None:
    mine = np.array([1.0, 2.0])
    table = Table({"x": mine})
    column = table["x"]
    assert isinstance(column, np.ndarray)
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 5.0
    assert np.shares_memory(column, mine), "large arrays are not copied"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1], "b": [1, 2]}, r"columns differ in length: \{'a': 1, 'b': 2\}"),
        ({"a": np.zeros((2, 2))}, "column 'a' has 2 dimensions, not 1"),
    ],
)
def test_wrong_columns(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Table(columns)


def test_integers_beyond_64_bits_are_kept() -> None:
    table = Table({"big": [2**63, 1], "unsigned": np.array([2**64 - 1, 1], dtype=np.uint64)})
    assert table.to_dict() == {"big": [2**63, 1], "unsigned": [2**64 - 1, 1]}
    pytest.importorskip("pyarrow")
    assert table.to_arrow()["big"].to_pylist() == [str(2**63), "1"]


def test_arrow(table: Table) -> None:
    pa = pytest.importorskip("pyarrow")
    arrow = table.to_arrow()
    arrow.validate(full=True)
    assert arrow.schema.field("name").type == pa.large_string()
    assert arrow.schema.field("tags").type == pa.large_list(pa.large_string())
    assert arrow.schema.field("limit").type == pa.int64()
    expected = table.to_dict() | {"mixed": ["a", "1", None, "2"]}
    for name, values in arrow.to_pydict().items():
        assert all(map(same, values, expected[name])), name


def test_polars(table: Table) -> None:
    pl = pytest.importorskip("polars")
    frame = table.to_polars()
    assert frame.schema["tags"] == pl.List(pl.String)
    assert frame.schema["maybe"] == pl.Boolean
    expected = table.to_dict() | {"mixed": ["a", "1", None, "2"]}
    for name, values in frame.to_dict(as_series=False).items():
        assert all(map(same, values, expected[name])), name


def test_pandas(table: Table) -> None:
    pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert list(frame.columns) == list(COLUMNS)
    assert str(frame["limit"].dtype) == "Int64"
    assert str(frame["maybe"].dtype) == "boolean"
    assert frame["share"].dtype == np.float64
    assert frame["limit"].isna().tolist() == [False, True, False, False]
    assert frame["tags"].tolist()[0] == ["x", "y"]
    frame.loc[0, "share"] = 9.0  # a frame of one's own
    assert table["share"][0] == 0.5


def test_duckdb_reads_the_stream(table: Table) -> None:
    duckdb = pytest.importorskip("duckdb")
    result = table  # found by its name in the query
    assert duckdb.sql("select sum(count), count(name), sum(len(tags)) from result").fetchall() == [(10, 3, 3)]
    assert len(result) == 4


@pytest.mark.parametrize("columns", [{}, {"a": [], "x": np.array([])}])
def test_empty_tables(columns: dict[str, Any]) -> None:
    table = Table(columns)
    assert len(table) == 0
    assert table.rows() == []
    assert repr(table)
    Page(table._repr_html_())
    for library in ("pyarrow", "polars", "pandas"):
        pytest.importorskip(library)
    assert table.to_arrow().num_rows == 0
    assert table.to_polars().columns == list(columns)
    assert list(table.to_pandas().columns) == list(columns)


TEXTS = st.text("ab\0é日\U0001f600", max_size=5)
ROWS = st.lists(
    st.tuples(
        st.none() | st.floats(),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.booleans(),
        st.none() | TEXTS,
        st.none() | st.lists(TEXTS, max_size=3),
    ),
    max_size=20,
)


@given(ROWS)
def test_arrow_round_trip(rows: list[tuple[Any, ...]]) -> None:
    pytest.importorskip("pyarrow")
    columns = {name: [row[i] for row in rows] for i, name in enumerate("fibtl")}
    arrow = Table(columns).to_arrow()
    arrow.validate(full=True)
    for name, values in columns.items():
        assert all(map(same, arrow[name].to_pylist(), values)), name


def test_no_arrow_library_is_needed() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
from evenhand.table import Table
import polars
frame = polars.DataFrame(Table({"name": ["a", None], "x": [1, 2]}))
assert frame.rows() == [("a", 1), (None, 2)], frame
"""
    pytest.importorskip("polars")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=HANG)


def test_streams_are_released_in_any_order_and_thread(table: Table) -> None:
    pa = pytest.importorskip("pyarrow")
    unused = table.__arrow_c_stream__()
    columns = [table.to_arrow().column("name") for _ in range(3)]  # outlive the tables they came from
    del unused
    gc.collect()
    reader = pa.RecordBatchReader.from_stream(table)
    assert [batch.num_rows for batch in reader] == [4]
    kept = [table.to_polars() for _ in range(3)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert [column.to_pylist() for column in columns] == [["a", "ß", "日本", None]] * 3


def test_lone_surrogates_do_not_break_arrow() -> None:
    pytest.importorskip("pyarrow")
    assert Table({"name": ["a\ud800"]}).to_arrow()["name"].to_pylist() == ["a\\ud800"]


@pytest.mark.parametrize("extra", ["pandas", "polars", "pyarrow"])
def test_a_missing_extra_names_its_command(monkeypatch: pytest.MonkeyPatch, table: Table, extra: str) -> None:
    monkeypatch.setitem(sys.modules, extra, None)
    method = "to_arrow" if extra == "pyarrow" else f"to_{extra}"
    with pytest.raises(MissingExtraError, match=r'pip install "evenhand\[(pandas|polars|arrow)\]"'):
        getattr(table, method)()


def test_text() -> None:
    table = Table({"name": ["ab", "日本"], "share": [0.25, 12.5], "n": [1, None]}, title="two rows")
    assert repr(table).split("\n") == [
        "two rows",
        "name    share  n",
        "ab     0.2500  1",
        "日本  12.5000",
    ]


def test_text_is_capped() -> None:
    table = Table({f"column {i}": np.arange(100) for i in range(30)})
    lines = repr(table).split("\n")
    assert len(lines) == 1 + 20 + 2
    assert lines[-2] == "… 80 more rows"
    assert lines[-1].startswith("… 19 more columns: column 11, ")
    assert max(map(len, lines)) <= 110


def test_html() -> None:
    page = Page(Table({"name": ["<b>", "x"], "share": [0.25, 1 / 3]}, title="a & b")._repr_html_())
    assert page.texts == ["a & b", "name", "share", "<b>", "0.25", "x", "0.333333"]


def test_html_is_capped() -> None:
    table = Table({f"c{i}": np.arange(1000) for i in range(100)})
    html = table._repr_html_()
    assert len(html) < 60_000
    assert "… 980 more rows, 60 more columns" in Page(html).texts


HOSTILE = "<script>alert(1)</script>\x1b[31m\r\n\u202e\u2066\x00\x9b&amp;\"'"


def test_hostile_text_is_harmless() -> None:
    table = Table({HOSTILE: [HOSTILE, "x"]}, title=HOSTILE)
    text = repr(table)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert text.count("\n") == 3
    assert "\\x1b[31m\\x0d\\x0a\\u202e" in text
    page = Page(table._repr_html_())
    assert sum("<script>alert(1)</script>\\x1b" in t for t in page.texts) == 3
