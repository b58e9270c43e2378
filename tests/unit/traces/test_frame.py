"""Tables with names of their own."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from tests.unit.traces.files import problems, write

LOG: dict[str, Any] = {
    "id": ["a", "b", "c"],
    "t": [0, 30, 60],
    "gpus": [1, 8, 2],
    "secs": [300.0, 900.0, 5.5],
    "team": ["x/u", "x/v", None],
    "unused": [1, 2, 3],
}
NAMES = {"name": "id", "submit_time": "t", "run_time": "secs", "pool": "team", "resources.gpu": "gpus"}


def as_frame(kind: str) -> Any:
    if kind == "rows":
        return [dict(zip(LOG, row, strict=True)) for row in zip(*LOG.values(), strict=True)]
    if kind == "dict":
        return LOG
    if kind == "pyarrow":
        return pytest.importorskip("pyarrow").table(LOG)
    return pytest.importorskip(kind).DataFrame(LOG)


@pytest.mark.parametrize("kind", ["dict", "rows", "pandas", "polars", "pyarrow"])
def test_any_frame(kind: str) -> None:
    w = eh.traces.frame(as_frame(kind), NAMES)
    t = w.table().to_dict()
    assert t["name"] == ["a", "b", "c"]
    assert t["submit_time"] == [0, 30, 60]
    assert t["run_time"] == [300, 900, 5.5]
    assert t["resources.gpu"] == [1, 8, 2]
    assert "unused" not in t
    assert w.operations().to_dict()["pool"] == ["x/u", "x/v", None]
    assert w.pools().to_dict() == {"name": ["x", "x/u", "x/v"], "parent": [None, "x", "x"]}
    assert w.parsed(w.snapshot(nodes=2, gpu=8)).rows.request_count == 3


CSV = 'id,t,gpus,secs,team,note\na,0,1,300,x/u,"one, two"\nb,30,8,15m,x/v,"three\nlines"\n\nc,60,2,5.5,,\n'


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("text", [CSV, CSV.replace("\n", "\r\n"), "\ufeff" + CSV.rstrip()])
def test_a_file_says_the_same_as_a_frame(tmp_path: Path, pack: Any, text: str) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(pack(text.encode()))
    w = eh.traces.frame(path, NAMES)
    assert w.table().to_dict() == eh.traces.frame(LOG, NAMES).table().to_dict()
    assert w.operations().to_dict() == eh.traces.frame(LOG, NAMES).operations().to_dict()


def test_one_value_for_all_rows() -> None:
    w = eh.traces.frame(LOG, NAMES | {"gang": True, "count": 2, "kind": "batch", "labels.source": "log"})
    assert w.table().to_dict()["gang"] == [True] * 3
    assert w.table().to_dict()["count"] == [2] * 3
    assert w.operations().to_dict()["kind"] == ["batch"] * 3
    assert w.operations().to_dict()["labels.source"] == ["log"] * 3


def test_the_workloads_own_names_are_the_default() -> None:
    own = {"name": [1, 2], "resources.cpu": [1, 1], "submit_time": [0, 1], "run_time": [5, np.nan]}
    w = eh.traces.frame(own)
    assert w.table().to_dict()["run_time"] == [5, None]


def test_instants_need_a_time_zone(tmp_path: Path) -> None:
    path = write(tmp_path, ["id,t", "a,2026-01-01T00:00:00", "b,2026-01-01T01:00:00"], "log.csv")
    names = {"name": "id", "submit_time": "t"}
    w = eh.traces.frame(path, names, timezone="Europe/Berlin")
    assert w.end - w.begin == 3600
    assert problems(lambda: eh.traces.frame(path, names))


def test_flags_numbers_and_tags_of_a_file(tmp_path: Path) -> None:
    lines = ["id,g,p,tags,n", "a,true,3,x y,1", "b,0,,,2"]
    names = {"name": "id", "gang": "g", "priority": "p", "node_tags": "tags", "resources.cpu": "n"}
    t = eh.traces.frame(write(tmp_path, lines, "log.csv"), names).table().to_dict()
    assert t["gang"] == [True, False]
    assert t["node_tags"] == [["x", "y"], []]
    assert t["priority"] == [3, None]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], (1, None, "empty")),
        (["id,n,g", "a,1"], (2, None, "width")),
        (["id,n,g", "a,1,0", 'b,"2', 'x",0', "c,x,0"], (5, "n", "number")),
        (["id,n,g", "a,1,maybe"], (2, "g", "flag")),
        (["id,n,n", "a,1,2"], (1, "n", "duplicate_field")),
        (["id,n,g", 'a,"1,0'], (2, None, "csv")),
        (["id,n", "a,1"], (None, "g", "required")),
    ],
)
def test_broken_files(tmp_path: Path, lines: list[str], expected: tuple[Any, ...]) -> None:
    path = write(tmp_path, lines, "log.csv")
    names = {"name": "id", "resources.cpu": "n", "gang": "g"}
    assert expected in problems(lambda: eh.traces.frame(path, names))


def test_a_column_that_is_not_there_has_a_near_name() -> None:
    with pytest.raises(
        eh.InputError, match=r"no column 'gpu', of which resources.gpu .* did you mean \"gpus\""
    ):
        eh.traces.frame(LOG, NAMES | {"resources.gpu": "gpu"})
    assert problems(lambda: eh.traces.frame(LOG, {"submit_time": "t"})) == [(None, "name", "required")]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TypeError, match="frame\\(\\) takes"):
        eh.traces.frame(3)


@pytest.mark.parametrize("source", ["teem", "Team", "tea"])
def test_a_text_like_a_column_is_a_slip(source: str) -> None:
    with pytest.raises(eh.InputError, match=f"no column '{source}', of which pool .*; did you mean \"team\""):
        eh.traces.frame(LOG, NAMES | {"pool": source})
    w = eh.traces.frame(LOG, NAMES | {"pool": [source]})
    assert w.operations().to_dict()["pool"] == [source] * 3


def test_a_text_like_no_column_is_the_text_of_all_rows() -> None:
    w = eh.traces.frame(LOG, NAMES | {"pool": "research"})
    assert w.operations().to_dict()["pool"] == ["research"] * 3


def test_amounts_may_be_rounded() -> None:
    table = {"name": ["a"], "resources.gpu": [0.75], "run_time": [5]}
    exact = eh.traces.frame(table)
    with pytest.raises(eh.InputError, match="rounding"):
        exact.parsed(exact.snapshot(nodes=1, gpu=8))
    w = eh.traces.frame(table, rounding="nearest")
    snapshot = w.snapshot(nodes=1, gpu=7.6)
    assert snapshot.total == {"gpu": 8}
    assert w.parsed(snapshot).rows.to_dict()["requests"][0]["resources"] == {"gpu": 1}
    assert w.head(1).parsed(snapshot).rows.request_count == 1
    assert w.fingerprint != exact.fingerprint
    with pytest.raises(ValueError, match="nearest"):
        eh.traces.frame(table, rounding="up")


SACCT = "JobID|Submit|ElapsedRaw|NCPUS|Account"
SACCT_NAMES = {
    "name": "JobID",
    "submit_time": "Submit",
    "run_time": "ElapsedRaw",
    "resources.cpu": "NCPUS",
    "pool": "Account",
}


@pytest.mark.parametrize("end", ["", "|"])
@pytest.mark.parametrize("separator", ["|", "\t", ";", ","])
def test_separators_of_a_file(tmp_path: Path, separator: str, end: str) -> None:
    """``sacct -P`` separates by bars, ``-p`` ends lines with one, too."""
    rows = ["7|2026-01-01T00:00:00|60|4|lab", "8|2026-01-01T00:01:00|1-02:00:00|8|"]
    lines = [(line + end).replace("|", separator) for line in (SACCT, *rows)]
    w = eh.traces.frame(write(tmp_path, lines, "jobs.txt"), SACCT_NAMES, timezone="UTC")
    t = w.table().to_dict()
    assert t["name"] == ["7", "8"]
    assert t["run_time"] == [60, 93_600]
    assert t["resources.cpu"] == [4, 8]
    assert w.operations().to_dict()["pool"] == ["lab", None]


def test_a_line_ends_as_the_header_does(tmp_path: Path) -> None:
    path = write(tmp_path, ["id|n", "a|1|"], "jobs.txt")
    assert problems(lambda: eh.traces.frame(path, {"name": "id"})) == [(2, None, "width")]
    path = write(tmp_path, ["id|n|", "a|1", "b|2|", "c|3|4"], "jobs.txt")
    assert problems(lambda: eh.traces.frame(path, {"name": "id"})) == [(4, None, "width")]


def test_bars_within_comma_separated_values_are_text(tmp_path: Path) -> None:
    w = eh.traces.frame(write(tmp_path, ["id,p|q", "a,x|y"], "log.csv"), {"name": "id", "pool": "p|q"})
    assert w.operations().to_dict()["pool"] == ["x|y"]


TASKS = ["task_m1,1,j_1,1,Terminated,86400,86420,100,0.5", "M1,,j_2,1,Failed,86410,0,50,0.25"]
TASK_FIELDS = ["task", "instances", "job", "type", "status", "start", "end", "cpu", "memory"]


def test_a_file_without_a_header(tmp_path: Path) -> None:
    path = write(tmp_path, TASKS, "batch_task.csv")
    names = {
        "name": "task",
        "pool": "job",
        "submit_time": "start",
        "count": "instances",
        "resources.cpu": "cpu",
    }
    t = eh.traces.frame(path, names, header=TASK_FIELDS)
    assert t.table().to_dict()["name"] == ["task_m1", "M1"]
    assert t.table().to_dict()["count"] == [1, None]
    assert t.table().to_dict()["submit_time"] == [86400, 86410]
    with pytest.raises(eh.InputError, match=r"1 of line 1 is the name of two columns; header= has the names"):
        eh.traces.frame(path, names)
    assert problems(lambda: eh.traces.frame(path, names, header=TASK_FIELDS[:-1])) == [
        (1, None, "width"),
        (2, None, "width"),
    ]
    assert problems(lambda: eh.traces.frame(path, names, header=["task"] * 9)) == [
        (1, "task", "duplicate_field")
    ]
    with pytest.raises(eh.InputError, match="header is a list; it must be absent"):
        eh.traces.frame(LOG, NAMES, header=TASK_FIELDS)
