"""Jobs of a real 26.05.3 that no plan can judge, or that wait for something else than room: `why` says it."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.act.slurm.recorded import adapter, with_job


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"het_job_id": 13}, "heterogeneous"),
        ({"resv_name": "tomorrow"}, "a reservation"),
        ({"excluded_nodes": "n1"}, "excluded nodes"),
        ({"contiguous": True}, "contiguous nodes"),
        ({"burst_buffer": "#DW jobdw"}, "a burst buffer"),
        ({"mcs_label": "secret"}, "an MCS label"),
        ({"batch_features": "ib"}, "features of the first node"),
        ({"cores_per_socket": 2}, "sockets and cores"),
        ({"minimum_tmp_disk_per_node": 10}, "temporary disk"),
        ({"required_switches": 1}, "switches"),
        ({"segment_size": 2}, "segments of nodes"),
        ({"prefer": "big"}, "features that it prefers"),
        ({"cpus_per_tres": "gres:gpu:2"}, "cpus or memory by device"),
        ({"core_spec": 1}, "specialised cores"),
        ({"flags": ["GRES_ENFORCE_BIND"]}, "cores bound to devices"),
        ({"tres_per_node": "gres/fpga=1"}, "devices that the cluster does not account"),
        (
            {"tres_per_job": "gres/gpu=2", "tres_req_str": "cpu=8,node=2,gres/gpu=2"},
            "devices in total on several nodes",
        ),
        ({"licenses": "ansys:1|fluent:1"}, "one of several licenses"),
        ({"dependency": "singleton(unfulfilled)"}, "a dependency"),
        ({"qos": "std,qe"}, "several QOS"),
        ({"required_nodes": "n1,n2"}, "several required nodes"),
        ({"required_nodes": "n99"}, "a node that is not there"),
        ({"features": "ib&big"}, "a combination of features"),
        ({"minimum_cpus_per_node": 5}, "cpus on each node"),
        ({"max_nodes": 4, "tasks_per_node": 0}, "tasks spread over a range of nodes"),
        ({"licenses": "matlab:1"}, "a license that is not there"),
        ({"cpus": 80}, "more than there is"),
    ],
)
def test_what_a_job_asks_for_that_no_plan_can_judge_is_its_reason(asked: dict[str, Any], why: str) -> None:
    """Job 13 (four cpus on each of two nodes) asks for it, too; the others are planned for as before."""
    slurm = adapter()
    slurm.run.answers["squeue", "--json"] = with_job(13, asked)  # type: ignore[attr-defined]
    snapshot = slurm.snapshot(released=["13", "14"])
    assert slurm.left_out == {why: ["13"]}
    assert [row["operation"] for row in snapshot.to_dict()["requests"]] == ["14"]
    assert (
        f"neither starts it nor preempts for it: {why}." in eh.plan(snapshot, slurm.policy()).why("13").text
    )


@pytest.mark.parametrize(
    ("sharing", "why"),
    [
        ("USER", "nodes for one user"),
        ("MCS", "nodes for one MCS label"),
        ("TOPO", "a block of nodes for itself"),
        ("RACK", "nodes in a way that this version does not know"),
    ],
)
def test_whom_a_job_shares_its_nodes_with_is_its_reason(sharing: str, why: str) -> None:
    slurm = adapter()
    answers = slurm.run.answers  # type: ignore[attr-defined]
    key = next(key for key in answers if any("exclusive" in word for word in key))
    lines = [line.split("|") for line in answers[key].split("\n")]
    answers[key] = "\n".join("|".join([*c[:3], sharing, *c[4:]] if c[0] == "13" else c) for c in lines)
    snapshot = slurm.snapshot(released=["13"])
    assert slurm.left_out == {why: ["13"]}
    assert f"nor preempts for it: {why}." in eh.plan(snapshot, slurm.policy()).why("13").text


@pytest.mark.parametrize(
    "reason",
    [
        *("Dependency", "DependencyNeverSatisfied", "JobHeldAdmin", "JobHeldUser", "BeginTime", "Licenses"),
        *(
            "QOSMaxCpuPerUserLimit",
            "AssocGrpCpuLimit",
            "ReqNodeNotAvail",
            "PartitionTimeLimit",
            "Reservation",
        ),
    ],
)
def test_what_slurm_says_that_a_job_waits_for_is_its_reason(reason: str) -> None:
    """A singleton waits while another job of its name and user runs: Slurm says so, and when it is over."""
    slurm = adapter()
    asked: dict[str, Any] = {"state_reason": reason}
    if reason.startswith("Dependency"):
        asked["dependency"] = "singleton(unfulfilled)"
    slurm.run.answers["squeue", "--json"] = with_job(13, asked)  # type: ignore[attr-defined]
    snapshot = slurm.snapshot()
    assert snapshot.request_count == 0
    assert not slurm.left_out
    said = f"{reason}: singleton(unfulfilled)" if "dependency" in asked else reason
    assert f"nor preempts for it: {said}." in eh.plan(snapshot, slurm.policy()).why("13").text


@pytest.mark.parametrize(
    ("dependency", "waits"),
    [
        ("singleton(fulfilled)", False),
        ("afterok:1(fulfilled),afterany:2(unfulfilled)", True),
        ("afterok:1(fulfilled),afterany:2(fulfilled)", False),
        ("afterok:1(fulfilled)?afterany:2(unfulfilled)", False),
        ("afterok:1(failed)?afterany:2(unfulfilled)", True),
    ],
)
def test_a_dependency_that_is_satisfied_keeps_no_job_waiting(dependency: str, waits: bool) -> None:
    slurm = adapter()
    slurm.run.answers["squeue", "--json"] = with_job(13, {"dependency": dependency})  # type: ignore[attr-defined]
    slurm.snapshot(released=["13"])
    assert slurm.left_out == ({"a dependency": ["13"]} if waits else {})


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"max_nodes": 3}, 2),  # four tasks on each of two or three nodes
        ({"max_nodes": 3, "tasks": 9}, None),
        ({"max_nodes": 3, "flags": ["EXACT_TASK_COUNT_REQUESTED"]}, None),
        ({"max_nodes": 3, "flags": None}, None),
        ({"max_nodes": 3, "tasks_per_node": 3}, None),
        ({"max_nodes": 3, "tasks_per_node": 0, "tasks": 2}, 2),  # -N2-3 alone: a task on each
        ({"max_nodes": 3, "tasks_per_node": 0, "tasks": 3}, None),
    ],
)
def test_a_range_of_nodes_is_read_as_the_fewest_that_start_it(
    asked: dict[str, Any], count: int | None
) -> None:
    slurm = adapter()
    slurm.run.answers["squeue", "--json"] = with_job(13, {"node_count": 3} | asked)  # type: ignore[attr-defined]
    data = slurm.snapshot(released=["13"]).to_dict()
    assert [(row["count"], row["resources"]["cpu"]) for row in data["requests"]] == (
        [(count, 4)] if count else []
    )
    assert slurm.left_out == ({} if count else {"tasks spread over a range of nodes": ["13"]})
