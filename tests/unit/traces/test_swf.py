"""Logs in the Standard Workload Format."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.traces.swf import FIELDS
from tests.unit.traces.files import HEADER, job, problems, write


def read(folder: Path, *lines: str, **options: Any) -> eh.simulate.Workload:
    return eh.traces.swf(write(folder, lines), **options)


def test_a_job_is_an_operation_of_whole_allocations(tmp_path: Path) -> None:
    w = read(tmp_path, job(1), job(2, 10, 90.5, 20), job(3, 20, 30, 16, requested_time=-1))
    requests = w.table().to_dict()
    assert requests["name"] == [1, 2, 3]
    assert requests["submit_time"] == [0, 10, 20]
    assert requests["run_time"] == [60, 90.5, 30]
    # 20 processors on nodes of 8: three allocations of 7, one more in all than it asked for.
    assert requests["count"] == [1, 3, 2]
    assert requests["resources.cpu"] == [4, 7, 8]
    assert requests["gang"] == [False, True, True]
    assert requests["duration"][2] is None
    assert requests["duration"][:2] == [100, 100]
    assert w.notes["processors_rounded_up"] == 1
    assert w.operations().to_dict()["user"] == ["user7"] * 3
    assert w.operations().to_dict()["account"] == ["group3"] * 3
    assert w.operations().to_dict()["qos"] == ["fast"] * 3


def test_the_header_becomes_a_start_snapshot(tmp_path: Path) -> None:
    w = read(tmp_path, job(1), pools="queue/user")
    s = w.snapshot()
    assert (s.node_count, s.total) == (4, {"cpu": 32})
    assert list(s.names("pools")) == ["<Root>", "fast", "fast/user7"]
    assert w.notes["UnixStartTime"] == "1000"
    assert w.parsed(s).rows.request_count == 1


def test_without_a_header_a_job_is_one_allocation(tmp_path: Path) -> None:
    path = tmp_path / "bare.swf"
    path.write_text(job(1, processors=900) + "\n")
    w = eh.traces.swf(path)
    assert w.table().to_dict()["count"] == [1]
    with pytest.raises(eh.InputError):
        w.snapshot()
    assert eh.traces.swf(path, processors_per_node=300).table().to_dict()["count"] == [3]


def test_each_kind_of_job_is_counted(tmp_path: Path) -> None:
    w = read(
        tmp_path,
        job(1, status=0),
        job(2, status=5, run=-1),
        job(3, status=5, run=0),
        job(4, status=5, run=9),
        job(5, status=2),
        job(5, status=3),
        job(5, status=1, run=120, requested_time=50),
        job(6, processors=-1),
        job(7, processors=6, requested_processors=-1),
        job(8, run=-1),
        job(9, run=-1, cpu_time=33),
        job(10, run=0, preceding_job=9),
        job(11, wait=0),
    )
    assert w.table().to_dict()["name"] == [1, 4, 5, 7, 9, 10, 11]
    assert w.table().to_dict()["run_time"] == [60, 9, 120, 60, 33, 0, 60]
    counted = {
        "lines": 13,
        "partial": 2,
        "cancelled_before_start": 2,
        "no_processors": 1,
        "no_run_time": 1,
        "jobs": 7,
        "failed": 1,
        "cancelled_running": 1,
        "zero_run_time": 1,
        "over_limit": 1,
        "dependent": 1,
        "out_of_order": 0,
    }
    assert {key: w.notes[key] for key in counted} == counted
    assert w.recorded is not None
    assert w.recorded.to_dict()["status"] == [0, 5, 1, 1, 1, 1, 1]


def test_a_time_that_was_not_requested_is_unknown(tmp_path: Path) -> None:
    w = read(tmp_path, job(1, requested_time=-1, run=90), job(2, requested_time=50, run=90))
    assert w.table().to_dict()["duration"] == [None, 50]
    assert w.notes["over_limit"] == 1
    assert w.scaled(run_time=2).table().to_dict()["duration"] == [None, 100]
    eh.simulate(w.snapshot(), eh.policies.YTsaurus(), w)


def test_cancelled_jobs_may_be_kept(tmp_path: Path) -> None:
    w = read(tmp_path, job(1, status=5, run=-1), job(2), cancelled="keep")
    assert w.table().to_dict()["run_time"] == [0, 60]
    assert w.notes["cancelled_before_start"] == 1
    assert w.notes["cancelled_running"] == 0


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        ("queue", ["fast", "slow", "queue9"]),
        ("user", ["user7"] * 3),
        ("group/user", ["group3/user7"] * 3),
        ("partition", ["partition-unknown"] * 3),
        (lambda log: np.where(log["queue_name"] == "fast", "a", "b/c"), ["a", "b/c", "b/c"]),
        (lambda log: [None, "x", 4], [None, "x", "4"]),
    ],
)
def test_pools_by_what_the_log_says(tmp_path: Path, pools: Any, expected: list[str]) -> None:
    w = read(tmp_path, job(1), job(2, queue=2), job(3, queue=9), pools=pools)
    assert w.operations().to_dict()["pool"] == expected
    rows = w.pools().to_dict()
    parents = dict(zip(rows["name"], rows["parent"], strict=True))
    for pool in filter(None, expected):
        assert parents[pool] == (pool.rpartition("/")[0] or None)
    assert set(filter(None, parents.values())) <= set(parents)


@pytest.mark.parametrize("pools", ["", "user/user", 3, "queue//user"])
def test_other_forms_of_pools_are_refused(tmp_path: Path, pools: Any) -> None:
    assert problems(lambda: read(tmp_path, job(1), pools=pools)) == [(None, "pools", "type")]


@pytest.mark.parametrize(
    ("pools", "said"),
    [
        ("queues/user", "pools names 'queues'; .*; did you mean \"queue\"\\?"),
        ("user/grp", "pools names 'grp'; .*; did you mean \"group\"\\?"),
        ("team", "pools names 'team'; it must be of queue, group, user, partition, joined by /"),
    ],
)
def test_another_word_for_pools_is_named(tmp_path: Path, pools: str, said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        read(tmp_path, job(1), pools=pools)


def test_memory_is_asked_for_where_nodes_have_some(tmp_path: Path) -> None:
    w = read(tmp_path, job(1, requested_memory=1000), job(2), memory_per_node=2)
    assert w.table().to_dict()["resources.memory"] == [4000 / 2**20, 0]
    assert w.notes["no_memory"] == 1
    assert w.snapshot().total == {"cpu": 32, "memory": 8}
    assert w.parsed(w.snapshot()).rows.request_count == 2


def test_priorities_by_queue(tmp_path: Path) -> None:
    w = read(tmp_path, job(1), job(2, queue=2), priority={"fast": 9})
    assert w.operations().to_dict()["priority"] == [9, None]


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_line_ends_blank_lines_and_comments_in_the_middle(tmp_path: Path, end: str) -> None:
    lines = [HEADER.strip().replace("\n", end), job(1), "", "  ; resumed after an outage", "\t" + job(2)]
    path = tmp_path / "log.swf"
    path.write_bytes((end.join(lines) + end + job(3).replace(" ", "   ")).encode())
    assert eh.traces.swf(path).table().to_dict()["name"] == [1, 2, 3]
    assert eh.traces.swf(path).notes["MaxProcs"] == "32"


def test_submissions_need_not_be_in_order(tmp_path: Path) -> None:
    w = read(tmp_path, job(1, 50), job(2, 10), job(3, 60))
    assert w.notes["out_of_order"] == 1
    assert (w.begin, w.end) == (10, 60)


def test_broken_lines_are_named(tmp_path: Path) -> None:
    lines = [job(1), "1 2 3", job(2) + " 9", job(3).replace("60", "x60"), job(4, submit="1-2")]  # type: ignore[arg-type]
    assert problems(lambda: read(tmp_path, *lines)) == [
        (8, None, "width"),
        (9, None, "width"),
        (10, "run_time", "number"),
        (11, "submit", "number"),
    ]
    with pytest.raises(eh.InputError) as found:
        read(tmp_path, *lines)
    assert str(found.value).splitlines()[0] == ("log.swf[8]: line 8 has 3 fields; it must have 18 [width]")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (job(1, run=-5), ("run_time", "range")),
        (job(1, submit=-1), ("submit", "range")),
        (job(1, run=float("nan")), ("run_time", "number")),
        (job(1, run=float("inf")), ("run_time", "number")),
        (job(1, user=1.5), ("user", "integer")),
        (job(1, processors=10**20), ("processors", "integer")),
        (job(1).replace("60", "6_0"), ("run_time", "number")),
        (job(1).replace("60", "--6"), ("run_time", "number")),
    ],
)
def test_fields_out_of_range(tmp_path: Path, line: str, expected: tuple[str, str]) -> None:
    assert (7, *expected) in problems(lambda: read(tmp_path, line))


def test_numbers_may_have_any_form(tmp_path: Path) -> None:
    line = job(1, submit="+1e1", run="0060.50", requested_time="2E2", user="7.0")  # type: ignore[arg-type]
    row = read(tmp_path, line).table().to_dict()
    assert (row["submit_time"], row["run_time"], row["duration"]) == ([10], [60.5], [200])


def test_a_job_number_stands_once(tmp_path: Path) -> None:
    assert problems(lambda: read(tmp_path, job(1), job(2), job(1))) == [(9, "job", "unique")]


def test_at_most_a_hundred_problems_are_shown(tmp_path: Path) -> None:
    with pytest.raises(eh.InputError) as found:
        read(tmp_path, *("1 2" for _ in range(250)))
    assert (len(found.value.problems), found.value.omitted) == (100, 150)


@pytest.mark.parametrize("text", ["", HEADER, "\n\n"])
def test_a_file_without_jobs_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log.swf"
    path.write_text(text)
    assert problems(lambda: eh.traces.swf(path)) == [(1, None, "empty")]


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lzma.compress])
def test_compressed_files_are_read_as_they_are(tmp_path: Path, pack: Any) -> None:
    whole = write(tmp_path, [job(n, n, processors=n % 30 + 1) for n in range(1, 3000)])
    packed = tmp_path / "log"
    packed.write_bytes(pack(whole.read_bytes()))
    assert eh.traces.swf(packed).table().to_dict() == eh.traces.swf(whole).table().to_dict()
    packed.write_bytes(packed.read_bytes()[:-200])
    ((line, field, rule),) = problems(lambda: eh.traces.swf(packed))
    assert (line is not None, field, rule) == (True, None, "damaged")
    broken = bytearray(pack(whole.read_bytes()))
    broken[len(broken) // 2] ^= 0xFF
    packed.write_bytes(broken)
    assert problems(lambda: eh.traces.swf(packed))


def test_zstd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstandard = pytest.importorskip("zstandard")
    whole = write(tmp_path, [job(n) for n in range(1, 3000)])
    packed = tmp_path / "log.zst"
    content = zstandard.ZstdCompressor().compress(whole.read_bytes())
    packed.write_bytes(content)
    assert len(eh.traces.swf(packed)) == 2999
    packed.write_bytes(content[: len(content) // 2])
    assert [rule for _, _, rule in problems(lambda: eh.traces.swf(packed))] == ["damaged"]
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(eh.MissingExtraError, match=r"evenhand\[zstd\]"):
        eh.traces.swf(packed)


def test_blocks_cut_nowhere_else_than_between_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, [job(n, n * 1000, n * 7.25) for n in range(1, 60)])
    whole = eh.traces.swf(path)
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr("evenhand.traces._blocks.blocks.__defaults__", (size,))
        assert eh.traces.swf(path).table().to_dict() == whole.table().to_dict()
        assert eh.traces.swf(path).notes == whole.notes


def test_there_are_18_fields() -> None:
    assert len(FIELDS) == len(set(FIELDS)) == len(job(1).split()) == 18
