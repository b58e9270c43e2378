"""Jobs of virtual clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from tests.unit.traces.files import problems, write

HEAD = "vc,job_id,submit_s,gpus,duration_s"
LINES = [HEAD, "b,0,0,1,100", "a,0,5,32,300", "a,1,100,12,10", "b,1,50,8,0"]


def read(folder: Path, lines: list[str] = LINES, **options: Any) -> eh.simulate.Workload:
    return eh.traces.philly(write(folder, lines, "jobs.csv"), **options)


def test_jobs_are_gangs_of_whole_nodes(tmp_path: Path) -> None:
    w = read(tmp_path)
    t = w.table().to_dict()
    assert t["name"] == ["b/0", "a/0", "a/1", "b/1"]
    assert t["count"] == [1, 4, 2, 1]
    assert t["resources.gpu"] == [1, 8, 6, 8]
    assert t["gang"] == [False, True, True, False]
    assert w.operations().to_dict()["pool"] == ["b", "a", "a", "b"]
    assert w.notes["gangs"] == 2
    assert w.notes["zero_run_time"] == 1
    # 32 x 300 + 12 x 10 GPU-seconds in 100 s; 100 of them in b.
    assert w.notes["offered_gpus"] == {"a": 97.2, "b": 1.0}


@pytest.mark.parametrize(
    ("guarantees", "expected"),
    [("load", [63, 1]), ("equal", [32, 32]), ({"b": 3}, [0, 3]), (None, None)],
)
def test_guarantees_divide_the_cluster(tmp_path: Path, guarantees: Any, expected: list[int] | None) -> None:
    w = read(tmp_path, nodes=8, guarantees=guarantees)
    assert w.pools().to_dict().get("strong_guarantee.gpu") == expected
    assert w.snapshot().total == {"gpu": 64}


def test_what_is_left_over_goes_to_the_largest_remainders(tmp_path: Path) -> None:
    lines = [HEAD, *(f"v{i},0,{i},1,10" for i in range(3))]
    owed = read(tmp_path, lines, nodes=4).pools().to_dict()["strong_guarantee.gpu"]
    assert owed == [11, 11, 10]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], (1, None, "empty")),
        ([HEAD], (1, None, "empty")),
        (["vc,id", "a,1"], (1, None, "header")),
        ([HEAD, "a,0,0,1"], (2, None, "width")),
        ([HEAD, "a,0,0,0,1"], (2, "gpus", "range")),
        ([HEAD, "a,0,0,1,-1"], (2, "duration_s", "range")),
        ([HEAD, "a,0,0,1,1", "b,0,0,1,1", "a,0,3,1,1"], (4, "job_id", "unique")),
        ([HEAD, "a,0,0,one,1"], (2, "gpus", "integer")),
    ],
)
def test_broken_files(tmp_path: Path, lines: list[str], expected: tuple[Any, ...]) -> None:
    assert problems(lambda: read(tmp_path, lines))[0] == expected


@pytest.mark.parametrize(
    "options", [{"nodes": 0}, {"gpus_per_node": 0}, {"guarantees": "x"}, {"guarantees": {"z": 1}}]
)
def test_other_options_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    rule = "choice" if "x" in options.values() else "type"
    assert problems(lambda: read(tmp_path, **options)) == [(None, *options, rule)]
