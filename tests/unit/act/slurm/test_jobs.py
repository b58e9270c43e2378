"""What Slurm's words for a job come to: its state, and whether a driver can judge what it waits for."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.adapters import AdapterError
from evenhand.adapters.commands import Result
from evenhand.systems.slurm.adapter import jobs as slurm_jobs
from evenhand.systems.slurm.adapter import nodes as slurm_nodes
from evenhand.systems.slurm.adapter.jobs import COLUMNS, jobs_of_text
from evenhand.systems.slurm.adapter.live import Slurm
from evenhand.systems.slurm.adapter.nodes import Node, reserved_of
from evenhand.systems.slurm.adapter.snapshot import build, left_out
from evenhand.systems.slurm.adapter.states import base_of, standing
from evenhand.systems.slurm.adapter.text import words
from tests.unit.act.slurm.cluster import T0, Clock, FakeSlurm, job
from tests.unit.act.test_adapters import LATER, read

NODE = Node("n1", {"cpu": 8, "memory": 1000}, ("partition:main",), True)
WAITING = {
    "job_state": "PENDING",
    "state_reason": "Resources",
    "nodes": "",
    "node_count": 1,
    "job_resources": None,
    "cpus": 2,
    "tres_req_str": "cpu=2,mem=100M,node=1",
    "tres_alloc_str": "",
}

#: As one word (until 23.02) and as lists (from 23.11 on).
STATES = {
    "PENDING": (
        *("PENDING", ["PENDING"], ["PENDING", "LAUNCH_FAILED"], "REQUEUED", ["PENDING", "REQUEUED"]),
        *("EXPEDITING", ["PENDING", "EXPEDITING"], "LAUNCH_FAILED", "RECONFIG_FAIL"),
    ),
    "RUNNING": (
        *("RUNNING", ["RUNNING", "CONFIGURING"], "CONFIGURING", "SIGNALING", "RESIZING", "POWER_UP_NODE"),
        *(["RUNNING", "POWER_UP_NODE"], ["RUNNING", "RESIZING"], ["RUNNING", "STAGE_OUT"]),
    ),
    "SUSPENDED": ("SUSPENDED", ["SUSPENDED", "NEW"]),
    "STOPPED": ("STOPPED", ["RUNNING", "STOPPED"]),
    "COMPLETING": (
        "COMPLETING",
        ["RUNNING", "COMPLETING"],
        ["CANCELLED", "COMPLETING"],
        "CANCELLED+COMPLETING",
    ),
    "CANCELLED": ("CANCELLED", ["CANCELLED", "SIGNALING"]),
    "COMPLETED": ("COMPLETED", "STAGE_OUT", ["COMPLETED", "STAGE_OUT"]),
    "UNKNOWN": ("NEW", ["NEW", "NEWER"], [], ""),
}
PAIRS = [(said, base) for base, found in STATES.items() for said in found]


@pytest.mark.parametrize(("said", "base"), PAIRS, ids=str)
def test_words_for_states(said: Any, base: str) -> None:
    found = read(job_state=said)
    assert found.state == base == base_of(words(said))
    holds = base in ("RUNNING", "SUSPENDED", "STOPPED", "COMPLETING")
    assert set(found.parts) == ({"n2", "n3"} if holds else set())


@pytest.mark.parametrize("word", ["REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT", "REQUEUE_FED"])
def test_what_somebody_must_release_first(word: str) -> None:
    for said in (word, ["PENDING", word]):
        found = read(**WAITING | {"job_state": said})
        assert (found.state, found.held) == ("PENDING", True)
        assert build([found], [NODE], T0, "partition", None, {}).request_count == 0
        assert build([found], [NODE], T0, "partition", None, {}, {"4"}).request_count == 1
    assert standing("4", row(state=word)).state == "held"


def row(**changes: str) -> dict[str, str]:
    plain = {"state": "RUNNING", "reasonlist": "n1", "prioritylong": "7", "restartcnt": "2", "userid": "10"}
    return plain | {"requeue": "1", "nodelist": "n1"} | changes


@pytest.mark.parametrize(
    ("word", "state"),
    [
        *[
            ("RUNNING", "running"),
            ("CONFIGURING", "running"),
            ("SIGNALING", "running"),
            ("STOPPED", "suspended"),
        ],
        *[
            ("SUSPENDED", "suspended"),
            ("COMPLETING", "leaving"),
            ("STAGE_OUT", "ended"),
            ("TIMEOUT", "ended"),
        ],
        *[("PENDING", "pending"), ("REQUEUED", "pending"), ("NEW_WORD", "unknown"), ("", "unknown")],
    ],
)
def test_how_a_job_stands(word: str, state: str) -> None:
    found = standing("4", row(state=word))
    assert found.state == state
    assert found.started == (state in ("running", "suspended", "leaving", "ended"))
    assert (found.turn, found.owner, found.held) == (2, "10", False)


def test_a_hold_on_a_job_that_runs() -> None:
    """Whoever held it does not want it to start again: a release would lift that."""
    assert standing("4", row(prioritylong="0")).held
    assert not standing("4", row(prioritylong="0", state="SUSPENDED")).held, "Slurm does so itself"
    snapshot = build([read(priority=0), read(job_id=5)], _both(), T0, "partition", None, {})
    may = {a["operation"]: a.get("preemptible", True) for a in snapshot.to_dict()["allocations"]}
    assert may == {"4": False, "5": True}


def _both() -> list[Node]:
    return [Node(name, {"cpu": 99, "memory": 9999}, (), True) for name in ("n2", "n3")]


def test_a_number_that_is_none() -> None:
    for field in ("restartcnt", "prioritylong"):
        with pytest.raises(AdapterError, match="job 4"):
            standing("4", row(**{field: "?"}))
    with pytest.raises(AdapterError, match="node n1"):
        slurm_nodes.nodes_of_text("N|S|C|M|G|P|F|\nn1|idle|x|4000|(null)|main|(null)|\n")


def test_a_stopped_job_keeps_its_cpus() -> None:
    for state, kept in (("SUSPENDED", False), ("STOPPED", True)):
        snapshot = build([read(job_state=state)], _both(), T0, "partition", None, {})
        for a in snapshot.to_dict()["allocations"]:
            assert a["state"] == ("suspended" if kept else "preempted")
            assert ("cpu" in a.get("held", {"cpu": 1})) == kept


@pytest.mark.parametrize("state", ["RUNNING", "CONFIGURING", "STOPPED", "COMPLETING"])
def test_no_room_beside_who_has_the_cpus(state: str) -> None:
    clock = Clock()
    jobs = [job(1, 4, node="n1", state="SUSPENDED"), job(2, 4, node="n1", state=state)]
    cluster = FakeSlurm(clock, {"n1": 4}, jobs)
    plain = cluster._json
    cluster._json = lambda j: plain(j) | {"nodes": "n1", "tres_alloc_str": "cpu=4"}  # type: ignore[method-assign]
    adapter = Slurm(runner=cluster, clock=clock)
    assert not adapter.room("1")
    cluster.jobs["2"]["state"] = "COMPLETED"
    assert adapter.room("1")


@pytest.mark.parametrize(
    ("changes", "unfit"),
    [
        ({"het_job_id": 3}, "heterogeneous"),
        ({"shared": "none"}, ""),
        ({"shared": ["user"]}, "nodes for one user"),
        ({"shared": ["mcs"]}, "nodes for one MCS label"),
        ({"exclusive": ["topo"]}, "a block of nodes for itself"),
        ({"exclusive": ["true"]}, ""),
        ({"exclusive": ["false"]}, ""),
        ({"licenses": "matlab:1"}, "a license that is not there"),
        ({"licenses": "a:1|b:1"}, "one of several licenses"),
        ({"dependency": "afterok:1(fulfilled)"}, ""),
        ({"dependency": "afterok:1(fulfilled),singleton(unfulfilled)"}, "a dependency"),
        ({"qos": "fast,normal"}, "several QOS"),
        ({"prefer": "ib"}, "features that it prefers"),
        ({"segment_size": 2}, "segments of nodes"),
        ({"cpus_per_tres": "gres/gpu:4"}, "cpus or memory by device"),
        ({"excluded_nodes": "n1"}, "excluded nodes"),
        ({"dependency": "afterok:1"}, "a dependency"),
        ({"features": "a&b"}, "a combination of features"),
        ({"features": "ib*2"}, "a combination of features"),
        ({"required_nodes": "n1,n2"}, "several required nodes"),
        ({"required_nodes": "gone7"}, "a node that is not there"),
        ({"partition": "low,main"}, ""),
        ({"resv_name": "r1"}, "a reservation"),
        ({"contiguous": True}, "contiguous nodes"),
        ({"contiguous": False, "resv_name": None}, ""),
        ({"burst_buffer": "#BB"}, "a burst buffer"),
        ({"mcs_label": "a"}, "an MCS label"),
        ({"batch_features": "ib"}, "features of the first node"),
        ({"sockets_per_node": 1}, "sockets and cores"),
        ({"cores_per_socket": {"set": True, "infinite": False, "number": 2}}, "sockets and cores"),
        ({"cores_per_socket": {"set": False, "infinite": False, "number": 0}}, ""),
        ({"threads_per_core": 1}, "sockets and cores"),
        ({"core_spec": 1}, "specialised cores"),
        ({"core_spec": 65534, "thread_spec": 32766}, ""),  # unset: all 16 bits but the last, and 15 of them
        ({"core_spec": 0, "thread_spec": 65534}, ""),
        ({"thread_spec": 32765}, "specialised cores"),
        ({"core_spec": 65533}, "specialised cores"),
        ({"tres_per_task": "cpu=3"}, ""),
        ({"tres_per_task": "cpu:3"}, ""),
        ({"tres_per_task": "cpu=1,gres/gpu=1"}, "devices that the cluster does not account"),
        ({"minimum_tmp_disk_per_node": 100}, "temporary disk"),
        ({"required_switches": 1}, "switches"),
        ({"minimum_cpus_per_node": 4}, "cpus on each node"),
        ({"minimum_cpus_per_node": 2}, ""),
        ({"max_nodes": 3}, "tasks spread over a range of nodes"),
        ({"max_nodes": 1}, ""),
        ({"max_nodes": 3, "flags": ["JOB_IMPLICIT_MAX_NODES"]}, ""),
        ({"flags": ["GRES_ENFORCE_BIND"]}, "cores bound to devices"),
        ({"flags": ["GRES_BINDING_ENFORCED"]}, "cores bound to devices"),
        ({"tres_per_node": "gres:gpu:2"}, "devices that the cluster does not account"),
        ({"tres_per_node": "gres/gpu", "tres_req_str": "cpu=2,gres/gpu=1"}, "more than there is"),
        ({"cpus": 10**18}, "more than there is"),
        ({"node_count": 10**9, "tres_req_str": f"cpu=2,node={10**9}"}, "more than there is"),
        ({"tres_req_str": "cpu=3,mem=99999999999999999999T"}, "more than there is"),
        ({"submit_time": 2**60}, ""),
        ({"features": "gpu"}, ""),
        ({"required_nodes": "n1"}, ""),
    ],
    ids=str,
)
def test_what_cannot_be_judged_is_left_out(changes: dict[str, Any], unfit: str) -> None:
    found = read(**WAITING | changes)
    others = [read(job_id=8), read(**WAITING | {"job_id": 9})]
    snapshot = build([found, *others], [NODE], T0, "partition", None, {})
    assert snapshot.request_count == 1 + (not unfit)
    assert left_out([found, *others], [NODE]) == ({unfit: ["4"]} if unfit else {})
    held = read(**WAITING | changes | {"priority": 0})
    assert not left_out([held], [NODE]), "it does not wait for room"


@pytest.mark.parametrize(
    ("asked", "tag"),
    [
        ("gres:gpu:2", None),
        ("gres:gpu", None),
        ("gres:gpu:a100:2", "gres/gpu:a100"),
        ("gres/gpu:a100:2", "gres/gpu:a100"),
        ("gres/gpu:a100=2", "gres/gpu:a100"),
        ("gpu:a100", "gres/gpu:a100"),
    ],
)
def test_kinds_of_devices(asked: str, tag: str | None) -> None:
    """A node with one kind is called for by it; where there are several, nobody can say which are free."""
    found = read(**WAITING | {"tres_per_node": asked, "tres_req_str": "cpu=2,gres/gpu=2"})
    assert (found.unfit, found.tags) == ("", (tag,) if tag else ())
    text = "N|S|C|M|G|P|F|\n" + "".join(
        f"{name}|idle|8|1000|{gres}|main|(null)|\n"
        for name, gres in (
            ("n1", "gpu:a100:4(S:0-1)"),
            ("n2", "gpu:v100:4"),
            ("n3", "gpu:a100:2,gpu:v100:2"),
            ("n4", "gpu:4"),
        )
    )
    nodes = slurm_nodes.nodes_of_text(text)
    assert [node.name for node in nodes if "gres/gpu:a100" in node.tags] == ["n1"]
    (request,) = build([found], nodes, T0, "partition", None, {}).to_dict()["requests"]
    assert request["node_tags"] == ["partition:main", *found.tags]


def test_a_job_that_names_several_partitions() -> None:
    """It may start on the nodes of each; the policy knows in which turn."""
    tags = {"n1": ("low",), "n2": ("high", "low"), "n3": ("other",), "n4": ("high",)}
    nodes = [
        Node(n, {"cpu": 8, "memory": 999}, tuple(f"partition:{p}" for p in found), True)
        for n, found in tags.items()
    ]
    data = build([read(**WAITING | {"partition": "high,low"})], nodes, T0, "partition", None, {}).to_dict()
    (request,), (operation,) = data["requests"], data["operations"]
    (tag,) = request["node_tags"]
    assert [n["name"] for n in data["nodes"] if tag in n["tags"]] == ["n1", "n2", "n4"]
    assert (operation["partition"], operation["pool"]) == ("high,low", "high")


def test_one_users_job_hides_nobody_elses() -> None:
    """Whatever is wrong with one job, the others are in the snapshot; and it is said once."""
    clock = Clock()
    cluster = FakeSlurm(
        clock, {"n1": 4}, [job(1, 2, node="n1"), job(8, 4, priority=9), job(9, 4, priority=8)]
    )
    plain = cluster._json
    cluster._json = lambda j: plain(j) | ({"resv_name": "r"} if j["id"] == 9 else {})  # type: ignore[method-assign]
    adapter = Slurm(runner=cluster, clock=clock)
    assert [r["name"] for r in adapter.snapshot().to_dict()["requests"]] == ["8"]
    assert adapter.left_out == {"a reservation": ["9"]}
    assert len(adapter.notices) == 1
    assert "a reservation" in adapter.notices[0]


def test_what_cannot_be_true_is_an_error_of_the_adapter() -> None:
    clock = Clock()
    cluster = FakeSlurm(clock, {"n1": 4}, [job(1, 2, node="n1")])
    plain = cluster._json
    cluster._json = lambda j: plain(j) | {"cpus": 2**63, "tres_alloc_str": f"cpu={2**64}"}  # type: ignore[method-assign]
    with pytest.raises(AdapterError, match="inconsistent"):
        Slurm(runner=cluster, clock=clock).snapshot()


_ODD: list[Any] = [
    None,
    True,
    -1,
    2**63,
    1e300,
    float("inf"),
    float("nan"),
    "",
    "n[1-3]",
    "n[",
    "cpu=1e9",
    "\0",
]
_ODD += [
    [],
    [None],
    ["RUNNING"],
    [[]],
    {},
    {"a": 1},
    {"set": True, "number": float("inf")},
    {"set": 1, "number": "x"},
]
_FIELDS = (
    "job_resources",
    "array_job_id",
    "array_task_id",
    "tres_per_node",
    "end_time",
    "max_nodes",
    "shared",
    "flags",
)


@given(st.data())
def test_whatever_stands_in_the_json(data: st.DataObject) -> None:
    """A snapshot, or one error of the adapter."""
    clock = Clock()
    cluster = FakeSlurm(clock, {"n1": 4}, [job(1, 2, node="n1"), job(9, 4, priority=8)])
    squeue, sinfo = cluster.squeue, cluster.sinfo

    def odd(result: Result, table: str, *more: str) -> Result:
        document = json.loads(result.out)
        row = data.draw(st.sampled_from(document[table]))
        for field in data.draw(st.sets(st.sampled_from([*row, *more]), max_size=2)):
            row[field] = data.draw(st.sampled_from(_ODD))
        return Result(0, json.dumps(document))

    cluster.squeue = (  # type: ignore[method-assign]
        lambda rest: odd(squeue(rest), "jobs", *_FIELDS) if "--json" in rest else squeue(rest)
    )
    cluster.sinfo = lambda rest: (  # type: ignore[method-assign]
        odd(sinfo(rest), "nodes") if "--json" in rest else sinfo(rest)
    )
    with contextlib.suppress(AdapterError):
        Slurm(runner=cluster, clock=clock).snapshot()


def test_later_versions_ask_for_nothing_unless_they_do() -> None:
    unset = {"set": False, "infinite": False, "number": 0}
    numbers = dict.fromkeys(("core_spec", "thread_spec", "sockets_per_node", "threads_per_core"), unset)
    assert not read(
        **LATER
        | WAITING
        | {"job_state": ["PENDING"]}
        | numbers
        | {"exclusive": [], "shared": [], "flags": ["EXACT_TASK_COUNT"]}
    ).unfit


def as_text(jobs: list[dict[str, Any]], **cells: str) -> list[slurm_jobs.Job]:
    cluster = FakeSlurm(Clock(), {"n1": 4}, jobs)
    plain = cluster._cells
    cluster._cells = lambda j: plain(j) | cells  # type: ignore[method-assign]
    return jobs_of_text(cluster.squeue(["-O", ",".join(f"{c}:|" for c in COLUMNS)]).out)


@pytest.mark.parametrize(
    ("cells", "unfit"),
    [
        ({}, ""),
        ({"feature": "ib"}, ""),
        ({"feature": "ib|ssd"}, "a combination of features"),
        ({"reservation": "r1"}, "a reservation"),
        ({"contiguous": "1"}, "contiguous nodes"),
        ({"reqswitch": "2"}, "switches"),
        ({"reqswitch": "0"}, ""),
        ({"excnodes": "n3"}, "excluded nodes"),
        ({"maxnodes": "3"}, "a range of nodes"),
        ({"dependency": "singleton(unfulfilled)"}, "a dependency"),
        ({"mincpus": "3"}, "cpus on each node"),
        ({"partition": "low,high"}, ""),
        ({"hetjobid": "4"}, "heterogeneous"),
        ({"oversubscribe": "USER"}, ""),  # said by whom it shares its nodes with
        ({"dependency": "afterok:1(fulfilled)"}, ""),
        ({"qos": "a,b"}, "several QOS"),
    ],
)
def test_the_same_in_text(cells: dict[str, str], unfit: str) -> None:
    (found,) = as_text([job(9, 2)], **cells)
    assert found.unfit == unfit
    assert found.comment is None
    assert found.tags == ((cells["feature"],) if "feature" in cells else ())


def test_one_that_higher_tiers_leave_no_room_waits_for_room() -> None:
    clock = Clock()
    cluster = FakeSlurm(clock, {"n1": 4}, [job(1, 2, node="n1"), job(9, 4, priority=8)])
    cluster._said = lambda j: (  # type: ignore[method-assign]
        "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    )
    adapter = Slurm(runner=cluster, clock=clock)
    adapter._reader.json = False
    assert [r["name"] for r in adapter.snapshot().to_dict()["requests"]] == ["9"]


def test_comments_that_cannot_be_read_stay() -> None:
    clock = Clock()
    cluster = FakeSlurm(clock, {"n1": 4}, [job(1, 2, node="n1", comment="mine")])

    def run(arguments: Any, timeout: float) -> Result:
        if "--json" in arguments:
            return Result(1, "", "squeue: unrecognized option '--json'")
        return cluster(arguments, timeout)

    adapter = Slurm(runner=run, clock=clock)
    adapter.snapshot()
    assert adapter.commands("note", "1", "gives way") == []


def test_reserved_nodes_take_no_work() -> None:
    """Jobs that run there have the reservation, and no other can start: nobody gives way for nothing."""
    head = "RESV_NAME     STATE           START_TIME             END_TIME     DURATION  NODELIST"
    line = "r         {:>8}  2026-11-21T23:40:20  2026-11-22T00:40:20     01:00:00  {}"
    assert reserved_of("No reservations in the system\n") == {}
    both = "\n".join((head, line.format("ACTIVE", "n[1-2]"), line.format("ACTIVE", ""), ""))
    assert reserved_of(both) == {"n1": 0.0, "n2": 0.0}
    later = reserved_of("\n".join((head, line.format("INACTIVE", "n3"), line.format("ACTIVE", "n1"), "")))
    assert later["n1"] == 0.0
    assert later["n3"] > T0
    for text in ("", both[:-1], both[: both.index("ACTIVE")] + "\n"):
        with pytest.raises(AdapterError):
            reserved_of(text)
    clock = Clock()
    cluster = FakeSlurm(clock, {"n1": 4, "n2": 4, "n3": 4}, [])
    cluster.reservations = both
    nodes = Slurm(runner=cluster, clock=clock).snapshot().to_dict()["nodes"]
    assert [n["name"] for n in nodes if n.get("schedulable", True)] == ["n3"]


@pytest.mark.parametrize("linear", [False, True])
def test_jobs_that_take_entire_nodes_are_served(linear: bool) -> None:
    """One asks for a cpu of an entire node; with select/linear every job has entire nodes."""
    clock = Clock()
    jobs = [job(1, 1, node="n1"), job(2, 1, node="n2", priority=1), job(9, 1, priority=90)]
    cluster = FakeSlurm(clock, {"n1": 4, "n2": 4, "n3": 4}, jobs)
    cluster.schedule = lambda: None  # type: ignore[method-assign]
    plain, whole = cluster._json, ("1", "2", "9") if linear else ("9",)
    cluster._json = lambda j: plain(j) | ({"shared": "none"} if str(j["id"]) in whole else {})  # type: ignore[method-assign]
    if linear:
        said = "SelectType              = select/linear\nPreemptMode"
        cluster.shows["config"] = cluster.shows["config"].replace("PreemptMode", said)
    adapter = Slurm(runner=cluster, clock=clock)
    rules = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE,PRIORITY"}
    policy = adapter.policy(partitions={"main": {"PreemptMode": None}}, **rules)
    assert (policy.settings.SelectType == "select/linear") == linear
    snapshot = adapter.snapshot()
    assert not adapter.left_out
    own = {row["name"]: row.get("settings") or {} for row in snapshot.to_dict()["operations"]}
    assert {name for name, said in own.items() if said.get("exclusive")} == set(whole)
    plan = eh.plan(snapshot, policy)
    starts = [(d.operation, d.node) for d in plan.decisions if d.action == "start"]
    assert starts == [("9", "n3")], "the others have room, and are in use"


def test_a_job_with_a_licence_is_served_as_far_as_there_are_some() -> None:
    clock = Clock()
    jobs = [job(1, 1, node="n1"), job(8, 1, priority=90), job(9, 1, priority=80)]
    cluster = FakeSlurm(clock, {"n1": 4}, jobs)
    cluster.schedule = lambda: None  # type: ignore[method-assign]
    plain, asks = cluster._json, {1: "ansys:2", 8: "ansys:3,fluent", 9: "fluent:1"}
    cluster._json = lambda j: plain(j) | {"licenses": asks[j["id"]]}  # type: ignore[method-assign]
    lines = [
        f"LicenseName={name}\n    Total={total} Used={used} Free={free} Reserved=0 Remote=no\n"
        for name, total, used, free in (("ansys", 4, 2, 2), ("fluent", 2, 1, 1))
    ]
    cluster.shows["lic"] = "".join(lines)
    adapter = Slurm(runner=cluster, clock=clock)
    snapshot = adapter.snapshot()
    capacity = {name: spec.get("capacity") for name, spec in snapshot.to_dict()["resources"].items()}
    assert (capacity["license/ansys"], capacity["license/fluent"]) == (4, 1), "one is used by others"
    plan = eh.plan(snapshot, eh.policies.Slurm())
    assert [d.operation for d in plan.decisions if d.action == "start"] == ["9"]
    assert {r.request: r.rule for r in plan.refusals} == {"8": "licenses_missing"}
    cluster.shows["lic"] = "LicenseName=ansys\n    Total=4"
    with pytest.raises(AdapterError, match="show lic"):
        adapter.snapshot()
