"""What Slurm says at its edges: units, equal numbers, this instant. Source: manual pages of its commands."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.systems.slurm.adapter import text as slurm_text
from evenhand.systems.slurm.adapter.nodes import Node, nodes_of_text
from evenhand.systems.slurm.adapter.snapshot import build, left_out
from tests.unit.act.slurm.cluster import T0, job
from tests.unit.act.slurm.test_jobs import WAITING, as_text
from tests.unit.act.test_adapters import read

END = 4_000_000_000  # what lies beyond stands for never


def allocations(**changes: Any) -> list[dict[str, Any]]:
    nodes = [Node(name, {"cpu": 8, "memory": 1000}, ("partition:main",), True) for name in ("n2", "n3")]
    return build([read(**changes)], nodes, T0, "partition", None, {}).to_dict()["allocations"]


@pytest.mark.parametrize(
    ("said", "mebibytes"),
    [
        *(("1K", 1), ("1023K", 1), ("1024K", 1), ("1025K", 2), ("1536K", 2)),
        *(("0M", 0), ("1M", 1), ("1.2M", 2), ("7", 7)),
        *(("1G", 1024), ("0.5G", 512), ("1T", 1024**2), ("1.5T", 1536 * 1024), ("2P", 2 * 1024**3)),
    ],
)
def test_units_of_memory(said: str, mebibytes: int) -> None:
    """Each suffix is 1024 of the one before, a bare number is mebibytes, and a part of one is a whole one."""
    assert slurm_text.amounts(f"mem={said}")["memory"] == mebibytes


@pytest.mark.parametrize(
    ("cells", "unfit"),
    [
        ({"maxnodes": "1"}, ""),  # it asks for one node
        ({"maxnodes": "2"}, "a range of nodes"),
        ({"mincpus": "2"}, ""),  # and two cpus there
        ({"mincpus": "3"}, "cpus on each node"),
    ],
)
def test_as_many_as_there_are(cells: dict[str, str], unfit: str) -> None:
    assert as_text([job(9, 2)], **cells)[0].unfit == unfit


@pytest.mark.parametrize(("nodes", "unfit"), [(0, ""), (1, ""), (2, "tasks spread over a range of nodes")])
def test_as_many_nodes_in_json(nodes: int, unfit: str) -> None:
    assert read(**WAITING | {"max_nodes": nodes}).unfit == unfit


@pytest.mark.parametrize(
    ("state", "takes"),
    [("idle", True), ("mixed", True), ("idle*", False), ("mixed*", False), ("down*", False), ("idle~", True)],
)
def test_a_node_that_does_not_answer_takes_no_work(state: str, takes: bool) -> None:
    """The star says so: sinfo, NODE STATE CODES."""
    head = "NODELIST|STATE|CPUS|MEMORY|GRES|PARTITION|ACTIVE_FEATURES|\n"
    (node,) = nodes_of_text(f"{head}n1|{state}|8|1000|(null)|main|(null)|\n")
    assert node.schedulable == takes


@pytest.mark.parametrize(
    ("ends", "planned"),
    [(T0 - 1, False), (T0, False), (T0 + 1, True), (END - 1, True), (END, False), (2**32 - 1, False)],
)
def test_a_planned_end_lies_ahead(ends: float, planned: bool) -> None:
    assert all(("planned_end" in a) == planned for a in allocations(end_time=int(ends)))


@pytest.mark.parametrize(("start", "expected"), [(-1, -1), (0, 0), (1, 0)])
def test_nothing_starts_after_this_instant(start: int, expected: int) -> None:
    """The clocks of the controller and of this machine differ."""
    assert [a["start_time"] for a in allocations(start_time=int(T0) + start)] == [T0 + expected] * 2


@pytest.mark.parametrize(
    ("count", "cpus", "why"), [(1, 8, ""), (2, 16, "more than there is"), (1, 9, "more than there is")]
)
def test_all_that_there_is(count: int, cpus: int, why: str) -> None:
    asks = WAITING | {"node_count": count, "cpus": cpus, "tres_req_str": f"cpu={cpus},mem=1000M,node={count}"}
    found = left_out([read(**asks)], [Node("n1", {"cpu": 8, "memory": 1000}, ("partition:main",), True)])
    assert list(found) == ([why] if why else [])
