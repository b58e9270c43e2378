"""Jobs that ask for tasks and no number of nodes, for switches, or may run into a reservation."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.slurm.adapter.jobs import Job
from evenhand.systems.slurm.adapter.live import Slurm
from evenhand.systems.slurm.adapter.nodes import Node
from evenhand.systems.slurm.adapter.snapshot import build, left_out
from tests.unit.act.slurm.cluster import T0, Clock, FakeSlurm, job
from tests.unit.act.test_adapters import read

RUNS = {"job_resources": None, "job_state": "RUNNING", "node_count": 1}
ASKS = {
    "job_state": "PENDING",
    "state_reason": "Resources",
    "nodes": "",
    "job_resources": None,
    "tres_alloc_str": "",
    "priority": 90,
    "max_nodes": 0,
    "tasks_per_node": 0,
    "minimum_cpus_per_node": 1,
    "memory_per_node": 50,
    "memory_per_cpu": None,
    "partition": "main",
}


def nodes(count: int = 3, memory: int = 1000) -> list[Node]:
    return [
        Node(f"n{n}", {"cpu": 4, "memory": memory}, ("partition:main",), True) for n in range(1, count + 1)
    ]


def runs(number: int, node: str, cpus: int) -> Job:
    tres = f"cpu={cpus},mem=100M,node=1"
    return read(
        **RUNS, job_id=number, nodes=node, cpus=cpus, tres_req_str=tres, tres_alloc_str=tres, priority=1
    )


def asks(number: int, each: int = 1, **more: Any) -> Job:
    cpus = number * each
    guess = {"node_count": -(-cpus // 4), "tres_req_str": f"cpu={cpus},mem=50M,node=1"}
    return read(**ASKS | guess | {"job_id": 9, "tasks": number, "cpus": cpus} | more)


def requests(jobs: list[Job], places: list[Node] | None = None) -> list[tuple[str, int, float, str | None]]:
    data = build(jobs, places or nodes(), T0, "partition", None, {}).to_dict()
    return [
        (r["name"], r.get("count", 1), r["resources"]["cpu"], r.get("required_node"))
        for r in data["requests"]
    ]


HALF = [runs(1, "n1", 2), runs(2, "n2", 2), runs(3, "n3", 2), runs(4, "n3", 2)]


def test_what_is_free_and_the_rest_elsewhere() -> None:
    """Six tasks, two cpus free on each of two nodes: others leave for two tasks, not for three and three."""
    assert requests([*HALF, asks(6)]) == [("9", 1, 2, "n1"), ("9/1", 1, 2, "n2"), ("9/2", 1, 2, None)]
    policy = eh.policies.Slurm(
        PreemptType="preempt/qos", PreemptMode="REQUEUE", qos={"high": {"Preempt": ["low"]}, "low": {}}
    )
    jobs = [
        Job(**{f: getattr(j, f) for f in Job.__slots__} | {"qos": "high" if j.name == "9" else "low"})
        for j in [*HALF, asks(6)]
    ]
    plan = eh.plan(build(jobs, nodes(), T0, "partition", None, {}), policy)
    assert len(list(plan.decisions.victims)) == 1


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        (2, [("9", 1, 2, None)]),  # fits on one node
        (3, [("9", 1, 2, "n1"), ("9/1", 1, 1, "n2")]),  # fits on what is free of two
        (4, [("9", 1, 2, "n1"), ("9/1", 1, 2, "n2")]),  # exactly
        (5, [("9", 1, 2, "n1"), ("9/1", 1, 2, "n2"), ("9/2", 1, 1, None)]),
        (8, [("9", 1, 2, "n1"), ("9/1", 1, 2, "n2"), ("9/2", 1, 4, None)]),
        (9, [("9", 1, 2, "n1"), ("9/1", 1, 2, "n2"), ("9/2", 2, 3, None)]),
    ],
)
def test_how_tasks_are_spread(tasks: int, expected: Any) -> None:
    assert requests([*HALF, asks(tasks)]) == expected


@pytest.mark.parametrize(
    "more",
    [
        {"max_nodes": 2, "tres_req_str": "cpu=6,mem=100M,node=2"},
        {"tasks_per_node": 3, "minimum_cpus_per_node": 3},
        {"tasks": 1},
        {"tasks": 4},
        {"tres_req_str": "cpu=6,mem=50M,node=1,gres/gpu=2"},
        {"max_nodes": None},
    ],
)
def test_where_nodes_are_counted_they_are(more: dict[str, Any]) -> None:
    gpus = [Node(n.name, {**n.capacity, "gres/gpu": 4}, n.tags, True) for n in nodes()]
    assert requests([asks(6, **more)], gpus) == [("9", 2, 3, None)]


def test_several_cpus_a_task() -> None:
    """A task is not cut: of three free cpus it takes two."""
    jobs = [runs(1, "n1", 1), runs(2, "n2", 3), runs(3, "n3", 2), runs(4, "n3", 2)]
    assert requests([*jobs, asks(3, 2)]) == [("9", 1, 2, "n1"), ("9/1", 1, 4, None)]
    assert left_out([asks(2, 5)], nodes()) == {"more than there is": ["9"]}
    assert not left_out([asks(3, 4)], nodes())


def test_memory_of_what_is_spread() -> None:
    """Of each node, or of each cpu."""
    each = asks(6, tres_req_str="cpu=6,mem=400M,node=1")
    places = [
        *nodes(1, 1000),
        Node("n2", {"cpu": 4, "memory": 450}, ("partition:main",), True),
        *nodes(3)[2:],
    ]
    data = build([*HALF, each], places, T0, "partition", None, {}).to_dict()
    assert [(r.get("required_node"), r["resources"]) for r in data["requests"]] == [
        ("n1", {"cpu": 2, "memory": 400}),  # n2 has 350 MiB to spare
        (None, {"cpu": 4, "memory": 400}),
    ]
    a_cpu = asks(6, tres_req_str="cpu=6,mem=900M,node=1", memory_per_cpu=150, memory_per_node=None)
    data = build([*HALF, a_cpu], nodes(3, 400), T0, "partition", None, {}).to_dict()
    assert [(r.get("required_node"), r["resources"]) for r in data["requests"]] == [
        ("n1", {"cpu": 2, "memory": 300}),
        ("n2", {"cpu": 2, "memory": 300}),
        (None, {"cpu": 2, "memory": 300}),
    ]


def test_what_one_uses_is_not_free_for_the_next() -> None:
    """In the order of their priorities."""
    second = asks(4, job_id=8, priority=80)
    found = requests([*HALF, second, asks(3)])
    assert [r for r in found if r[0].startswith("9")] == [("9", 1, 2, "n1"), ("9/1", 1, 1, "n2")]
    assert [r for r in found if r[0].startswith("8")] == [("8", 1, 1, "n2"), ("8/1", 1, 3, None)]


def test_nodes_that_may_not_be_used_are_not() -> None:
    places = [*nodes(2), Node("n3", {"cpu": 4, "memory": 1000}, ("partition:other",), True)]
    places += [Node("n4", {"cpu": 4, "memory": 1000}, ("partition:main",), False)]
    jobs = [runs(1, "n1", 2), runs(2, "n2", 2)]
    assert requests([*jobs, asks(6)], places)[:2] == [("9", 1, 2, "n1"), ("9/1", 1, 2, "n2")]


# Switches, and numbers of what is left out


def test_switches_are_left_out_by_number() -> None:
    """JSON before 23.02 does not tell of them."""
    clock = Clock()
    cluster = FakeSlurm(clock, {"n1": 4}, [job(1, 4, node="n1"), job(8, 4, priority=9), job(9, 4)])
    cluster.schedule = lambda: None  # type: ignore[method-assign]
    plain = cluster._cells
    cluster._cells = lambda j: plain(j) | ({"reqswitch": "2"} if j["id"] == 9 else {})  # type: ignore[method-assign]
    for text in (False, True):
        adapter = Slurm(runner=cluster, clock=clock)
        adapter._reader.json = False if text else None
        assert [r["name"] for r in adapter.snapshot().to_dict()["requests"]] == ["8"]
        assert adapter.left_out == {"switches": ["9"]}
        assert adapter.notices[0].startswith("job 9 asking for switches wait")
    asked = [words for words in cluster.asked if "jobid:|,reqswitch:|" in words]
    assert len(asked) == 1


def test_many_that_are_left_out_are_named_in_part() -> None:
    clock = Clock()
    cluster = FakeSlurm(clock, {"n1": 4}, [job(1, 4, node="n1"), *(job(n, 9) for n in range(10, 17))])
    cluster.schedule = lambda: None  # type: ignore[method-assign]
    adapter = Slurm(runner=cluster, clock=clock)
    adapter.snapshot()
    (notice,) = adapter.notices
    assert notice.startswith("jobs 10, 11, 12, 13, 14 and 2 more asking for more than there is wait")


# Reservations that begin later


@pytest.mark.parametrize(("limit", "elsewhere"), [(59, False), (60, False), (61, True), (None, True)])
def test_one_that_may_run_into_a_reservation_starts_elsewhere(limit: int | None, elsewhere: bool) -> None:
    """The reservation of n2 begins in an hour: Slurm starts nothing there that may last longer."""
    clock = Clock()
    cluster = FakeSlurm(
        clock, {"n1": 4, "n2": 4}, [job(1, 4, node="n1"), job(2, 4, node="n2"), job(9, 4, priority=90)]
    )
    cluster.schedule = lambda: None  # type: ignore[method-assign]
    plain = cluster._json
    cluster._json = lambda j: plain(j) | {"time_limit": limit or 4294967295}  # type: ignore[method-assign]
    adapter = Slurm(runner=cluster, clock=clock)
    before = adapter.snapshot().to_dict()
    cluster.reservations = reservation(clock.now + 3600)
    data = adapter.snapshot().to_dict()
    (request,) = data["requests"]
    assert ("reserved:never" in request["node_tags"]) == elsewhere
    assert [n["name"] for n in data["nodes"] if "reserved:never" in n["tags"]] == ["n1"]
    assert all(n.get("schedulable", True) for n in data["nodes"])
    assert not [n for n in before["nodes"] if "reserved:never" in n["tags"]]
    assert request.get("duration") == (None if limit is None else limit * 60.0)


def reservation(begins: float) -> str:
    from datetime import UTC, datetime

    start = datetime.fromtimestamp(begins, UTC).astimezone().strftime("%Y-%m-%dT%H:%M:%S")
    head = "RESV_NAME     STATE           START_TIME             END_TIME     DURATION  NODELIST"
    return f"{head}\nlater      INACTIVE  {start}  2099-11-22T15:04:45     01:00:00  n2\n"


def test_a_reservation_that_cannot_be_read() -> None:
    from evenhand.adapters.protocol import AdapterError

    clock = Clock()
    cluster = FakeSlurm(clock, {"n1": 4}, [])
    cluster.reservations = reservation(clock.now).replace("INACTIVE", "INACTIVE?")
    with pytest.raises(AdapterError, match="garbled"):
        Slurm(runner=cluster, clock=clock).snapshot()
    cluster.reservations = reservation(clock.now).replace("T", "?")
    with pytest.raises(AdapterError, match="garbled"):
        Slurm(runner=cluster, clock=clock).snapshot()
