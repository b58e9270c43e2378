"""Logs that bend the format: conversions, models, and files that are something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from tests.unit.traces.files import job, problems, write


def read(folder: Path, header: str, *lines: str, **options: Any) -> eh.simulate.Workload:
    path = folder / "log.swf"
    path.write_text(header + "".join(f"{line}\n" for line in lines))
    return eh.traces.swf(path, **options)


UNKNOWN = {"queue": -1, "partition": -1, "user": -1, "group": -1}


@pytest.mark.parametrize("part", ["queue", "group", "user", "partition"])
@pytest.mark.parametrize("known", [0, 1, 2])
def test_what_is_unknown_of_a_job_is_a_pool_of_its_own(tmp_path: Path, part: str, known: int) -> None:
    # Numbers begin at 0: that one is a queue like any other.
    lines = [job(i + 1, **{part: i if i < known else -1}) for i in range(2)]
    named = [f"{part}{i}" if i < known else f"{part}-unknown" for i in range(2)]
    assert read(tmp_path, "", *lines, pools=part).operations().to_dict()["pool"] == named
    other = "user" if part != "user" else "group"
    number = 7 if part != "user" else 3
    both = read(tmp_path, "", *lines, pools=f"{part}/{other}")
    assert both.operations().to_dict()["pool"] == [f"{name}/{other}{number}" for name in named]


def test_a_function_sees_the_unknown_queue_by_the_same_name(tmp_path: Path) -> None:
    w = read(tmp_path, "", job(1, queue=-1), pools=lambda log: log["queue_name"])
    assert w.operations().to_dict()["pool"] == ["queue-unknown"]


def test_priorities_name_queues_that_there_are(tmp_path: Path) -> None:
    header = "; Queue: 1 fast\n"
    w = read(tmp_path, header, job(1), job(2, queue=-1), priority={"fast": 9, "fats": 8, "slow": 7})
    assert w.operations().to_dict()["priority"] == [9, None]
    assert w.notes["priority_of_no_queue"] == ["fats", "slow"]


@pytest.mark.parametrize(
    ("header", "options", "nodes", "size"),
    [
        ("; MaxNodes: 3\n", {}, 3, 1),
        ("; MaxNodes: 3\n", {"processors_per_node": 8}, 3, 8),
        ("; MaxNodes: 3\n; MaxProcs: 3\n", {}, 3, 1),
        ("; MaxNodes: 3\n; MaxProcs: 6\n", {}, 3, 2),
        ("; MaxProcs: 6\n", {"processors_per_node": 4}, 2, 4),
        (";MaxNodes:3\n;\tMaxProcs:\t6\n", {}, 3, 2),
        ("; MaxNodes: 1,024 (in two rooms)\n", {}, 1024, 1),
        ("; MaxNodes: 1,02\n", {}, 1, 1),
    ],
)
def test_nodes_of_the_header(
    tmp_path: Path, header: str, options: dict[str, int], nodes: int, size: int
) -> None:
    snapshot = read(tmp_path, header, job(1), **options).snapshot()
    assert (snapshot.node_count, snapshot.total) == (nodes, {"cpu": nodes * size})


@pytest.mark.parametrize("header", ["", "; MaxProcs: 6\n", "; MaxNodes: UNKNOWN\n", "; MaxNodes: 0\n"])
def test_a_header_that_does_not_say_has_no_nodes(tmp_path: Path, header: str) -> None:
    w = read(tmp_path, header, job(1, processors=16))
    assert w.table().to_dict()["count"] == [1]
    with pytest.raises(eh.InputError, match="nodes"):
        w.snapshot()


@pytest.mark.parametrize(("wait", "below"), [(-2, 1), (-3600, 1), (-0.5, 1), (-1, 0), (-0.0, 0), (1, 0)])
def test_the_recorded_wait_is_read_by_no_rule(tmp_path: Path, wait: float, below: int) -> None:
    w = read(tmp_path, "", job(1, wait=wait))
    assert w.recorded is not None
    assert w.recorded.to_dict()["wait"] == [wait]
    assert w.notes["negative_wait"] == below


@pytest.mark.parametrize("name", ["wait", "memory", "executable", "think_time", "requested_memory"])
def test_what_no_rule_reads_may_be_anything(tmp_path: Path, name: str) -> None:
    other: dict[str, Any] = {name: "?"}
    w = read(tmp_path, "; MaxNodes: 1\n", job(1, **other), job(2))
    assert w.notes["no_number"] == 1
    assert w.table().to_dict()["name"] == [1, 2]
    if name == "requested_memory":
        path = tmp_path / "log.swf"
        assert problems(lambda: eh.traces.swf(path, memory_per_node=1)) == [(2, name, "number")]


@pytest.mark.parametrize(("amount", "refused"), [(-2, True), (-1, False), (0, False)])
def test_requested_memory_has_a_range_where_it_is_read(tmp_path: Path, amount: int, refused: bool) -> None:
    line = job(1, requested_memory=amount)
    assert len(read(tmp_path, "", line)) == 1
    if refused:
        found = problems(lambda: read(tmp_path, "", line, memory_per_node=1))
        assert found == [(1, "requested_memory", "range")]
    else:
        read(tmp_path, "", line, memory_per_node=1)


@pytest.mark.parametrize(
    ("limit", "expected"), [(2**32 - 3, 2**32 - 3), (2**32 - 2, None), (2**32 - 1, None), (0, None)]
)
def test_a_limit_of_all_bits_is_none(tmp_path: Path, limit: int, expected: float | None) -> None:
    w = read(tmp_path, "", job(1, requested_time=limit), job(2, requested_time=5))
    assert w.table().to_dict()["duration"] == [expected, 5]


def test_a_byte_order_mark_is_no_field(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(b"\xef\xbb\xbf" + f"; MaxNodes: 2\n{job(1)}\n".encode())
    assert eh.traces.swf(path).notes["MaxNodes"] == "2"
    path.write_bytes(b"\xef\xbb\xbf" + f"{job(1)}\n".encode())
    assert eh.traces.swf(path).table().to_dict()["name"] == [1]
    path.write_bytes(f"{job(1)}\n".encode() + b"\xef\xbb\xbf" + f"{job(2)}\n".encode())
    assert problems(lambda: eh.traces.swf(path)) == [(2, "job", "integer")]


@pytest.mark.parametrize("more", [0, 1, 2])
def test_fields_behind_the_eighteenth_are_left_out_and_counted(tmp_path: Path, more: int) -> None:
    lines = [job(1, user=3), job(2, user=4)]
    w = read(tmp_path, "; Version: 2.2\n", *(line + " 7 x"[: 2 * more] for line in lines))
    assert w.notes["more_fields"] == more
    plain = read(tmp_path, "", *lines)
    assert w.table().to_dict() == plain.table().to_dict()


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 0), (1, 2), (2, 1), (-1, 0), (0, -1)])
def test_lines_of_different_widths_are_refused(tmp_path: Path, first: int, second: int) -> None:
    def wide(number: int, more: int) -> str:
        return " ".join((job(number) + " 7 8").split()[: 18 + more])

    with pytest.raises(eh.InputError, match=f"must have {max(18 + first, 18)}"):
        read(tmp_path, "", wide(1, first), wide(2, second))


COMMAS = job(1).replace(" ", ",")
NAMES = "job submit wait run procs cpu mem rprocs rtime rmem status user group exe queue part prec think"


@pytest.mark.parametrize(
    ("lines", "expected", "said"),
    [
        (["1 2 3 4 5"], [(2, None, "width")], "line 2 has 5 fields; it must have 18"),
        ([NAMES, job(1)], [(2, None, "header")], "line 2 has names, not numbers; a line .* begins with ;"),
        (["job submit", job(1)], [(2, None, "header")], "line 2 has names"),
        (["1,2,3,4,5"], [(2, None, "separator")], "is separated by commas; it must have 18 fields"),
        ([COMMAS, COMMAS], [(2, None, "separator")], "line 2 is separated by commas; .* 18 fields"),
        ([job(1).replace(" ", ", ")], [(2, None, "separator")], "is separated by commas"),
        ([job(1).replace(" ", " | ")], [(2, None, "separator")], "is separated by bars"),
        ([job(1).replace(" ", "|")], [(2, None, "separator")], "is separated by bars"),
        ([job(1), COMMAS], [(3, None, "width")], "line 3 has 1 field; it must have 18"),
    ],
)
def test_files_that_are_something_else(
    tmp_path: Path, lines: list[str], expected: list[Any], said: str
) -> None:
    path = tmp_path / "log.swf"
    path.write_text("\n".join(["; a comment", *lines, ""]))
    assert problems(lambda: eh.traces.swf(path))[:1] == expected
    with pytest.raises(eh.InputError, match=said):
        eh.traces.swf(path)


def test_the_example_of_the_guide_reads_a_log_of_no_queues(tmp_path: Path) -> None:
    w = eh.traces.swf(write(tmp_path, [job(i, queue=-1, user=i) for i in (1, 2)]), pools="queue/user")
    assert list(w.pools()["name"]) == ["queue-unknown", "queue-unknown/user1", "queue-unknown/user2"]
    assert w.parsed(w.snapshot()).rows.request_count == 2
