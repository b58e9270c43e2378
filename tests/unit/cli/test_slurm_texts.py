"""A folder of what the commands of Slurm print, in the place of a snapshot: as the adapter reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters import AdapterError, slurm
from evenhand.systems.slurm.text.parts import NEEDED, PARTS, part_of
from tests.unit.act.slurm.recorded import NOW, PRINTED, Recorded, adapter, with_job, write


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return write(tmp_path)


def test_each_text_tells_what_it_is(files: dict[str, Path]) -> None:
    assert {part: part_of(file.read_text()) for part, file in files.items()} == {part: part for part in PARTS}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"meta": {}, "jobs": []}',
        '{"meta": {"slurm": {}}, "shares": []}',
        '{"jobs": []}',
        "PartitionName=low Nodes=ALL\n",
        "NodeName=n1 CPUs=4\n",
        "Name|Priority\n",
        "JOBID|NAME|EXCLUSIVE|\n",
    ],
)
def test_what_is_no_text_of_these(text: str) -> None:
    assert part_of(text) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"meta": {"Slurm": {"release": "22.05.8"}}, "jobs": []}', "jobs"),
        ('{"nodes": [], "meta": {"slurm": {}}}', "nodes"),
        ("No reservations in the system\n", "reservations"),
        ("No licenses configured in Slurm.\n", "licenses"),
        ("Name|Preempt\n", "qos"),
    ],
)
def test_what_is_one_of_another_release_or_of_a_small_cluster(text: str, part: str) -> None:
    assert part_of(text) == part


def test_files_say_what_the_live_cluster_says(files: dict[str, Path]) -> None:
    reading, live = slurm.read(**files), adapter()
    assert reading.snapshot == live.snapshot()
    assert reading.policy().settings == live.policy().settings
    assert reading.snapshot.now == NOW
    assert slurm.read(**files, now=NOW + 60).snapshot.now == NOW + 60
    changed = reading.policy(partitions={"low": {"PriorityTier": 7}}).settings
    assert (changed.partitions["low"].PriorityTier, changed.partitions["low"].GraceTime) == (7, 30)
    with pytest.raises(eh.InputError, match=r"no partitions\.lo;"):
        reading.policy(partitions={"lo": {}})


def test_what_is_left_out_or_assumed_is_said(files: dict[str, Path]) -> None:
    waits = json.loads(with_job(17, {"state_reason": "Resources"}))
    next(row for row in waits["jobs"] if row["job_id"] == 24)["state_reason"] = "Priority"
    needed = {part: file for part, file in files.items() if part in NEEDED} | {"jobs": json.dumps(waits)}
    whole = slurm.read(**files | needed)
    assert dict(whole.left_out) == {"nodes for one user": ("17",)}
    told = [(one.code, one.elements) for one in whole.diagnostics]
    assert told == [("slurm_left_out", ("17",)), ("slurm_not_read", ())]
    reading = slurm.read(**needed)
    licences = [one.snapshot.to_dict()["resources"]["license/ansys"]["capacity"] for one in (whole, reading)]
    assert licences == [4, 2], "those that are free are not known, those in use are"
    assert [
        one.message.partition("assumed. ")[2] for one in reading.diagnostics if "assumed" in one.code
    ] == [
        "Without squeue -O jobid:|,exclusive:| no job is known to take entire nodes from 26.05 on.",
        "Without sinfo -a -T no node is reserved.",
        "Without scontrol show lic no licence is free.",
        "Without sacctmgr -P show qos there are no QOS.",
    ]
    assert reading.settings.get("qos") is None
    assert reading.policy().settings.node_weights == whole.policy().settings.node_weights


@pytest.mark.parametrize("part", ["jobs", "nodes", "config", "partitions", "weights", "qos", "reservations"])
def test_a_text_that_is_cut_off_is_one_error(part: str, files: dict[str, Path]) -> None:
    text = files[part].read_text()
    with pytest.raises(AdapterError):
        slurm.read(**files | {part: text[: 2 * len(text) // 3].rstrip("\n")})


# On the command line


def test_a_folder_is_planned_on_as_the_cluster(files: dict[str, Path], tmp_path: Path, run: Any) -> None:
    status, out, err = run("plan", tmp_path, "--format", "json")
    assert status == 0
    assert json.loads(out) == json.loads(eh.plan(adapter().snapshot(), adapter().policy()).to_json())
    assert f"note: {tmp_path}: texts of Slurm, read with preset upstream\n" in err
    assert "nodes of the partition are for one user at a time" in err
    assert files
    status, out, err = run("explain", tmp_path, "29")
    assert status == 0
    assert "nor preempts for it: Dependency: afterany:1(unfulfilled)." in out


@pytest.mark.parametrize("words", [("validate",), ("shares",), ("plan", "--policy", "ytsaurus")])
def test_other_commands_and_policies_take_it(
    words: tuple[str, ...], files: dict[str, Path], tmp_path: Path, run: Any
) -> None:
    command, *more = words
    status, out, err = run(command, tmp_path, *more, "--format", "json")
    assert (status, bool(json.loads(out))) == (0, True), err
    assert files


@pytest.mark.parametrize(
    ("without", "said"),
    [
        ("jobs", "but not what squeue --json prints; give a folder with that too"),
        ("nodes", "but not what scontrol show nodes --json prints; give a folder with that too"),
        ("partitions", "but not what scontrol -o show partition prints; give a folder with that too"),
    ],
)
def test_what_a_folder_lacks(
    without: str, said: str, files: dict[str, Path], tmp_path: Path, run: Any
) -> None:
    files[without].unlink()
    status, _, err = run("plan", tmp_path)
    assert status
    assert said in err
    assert err.count("\n") == 1


def test_a_configuration_may_stand_beside_the_folder(
    files: dict[str, Path], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, run: Any
) -> None:
    whole = run("plan", tmp_path, "--format", "json")[1]
    beside = tmp_path_factory.mktemp("beside") / "config"
    files["config"].rename(beside)
    assert run("plan", tmp_path, "--config", beside, "--format", "json")[1] == whole


def test_the_commands_are_those_that_the_adapter_asks() -> None:
    """But for columns that `sacctmgr` prints, and nodes of 22.05."""
    runner = Recorded()
    live = slurm.Slurm(runner=runner, clock=lambda: NOW)
    live.snapshot()
    live.policy()
    printed = {tuple(words.split(" ")) for words in PRINTED.values()}
    assert {asked for asked in runner.asked if "assoc" not in asked} <= printed
