"""REST answers of queues, applications and nodes: a snapshot of them, and what they do not tell."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters import yunikorn
from tests.shared import DATA

FOLDER = DATA / "yunikorn"
NOW = 1_790_000_000.0
GI = 2**30


def answers() -> dict[str, Any]:
    return {
        name: json.loads((FOLDER / f"{name}.json").read_text())
        for name in ("queues", "applications", "nodes")
    }


def full_dump() -> dict[str, Any]:
    found = answers()
    return {
        "timestamp": int(NOW * 1e9),
        "queues": [found["queues"]],
        "applications": found["applications"],
        "nodes": [{"partitionName": "default", "nodesInfo": found["nodes"]}],
        "logLevel": "INFO",
        "rmDiagnostics": {"empty": "true"},
    }


def rows(reading: yunikorn.Reading, table: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in reading.snapshot.to_dict()[table]}


def said(reading: yunikorn.Reading) -> set[tuple[str, tuple[str | int, ...]]]:
    return {(d.code, d.elements) for d in reading.diagnostics}


def test_queues_are_pools_with_what_the_answer_says() -> None:
    pools = rows(yunikorn.read(now=NOW, **answers()), "pools")
    assert pools["root.research"] == {
        "name": "root.research",
        "strong_guarantee": {"vcore": 6, "memory": 24 * GI},
        "limits": {"vcore": 10, "memory": 48 * GI, "nvidia.com/gpu": 4},
        "settings": {
            "properties": {
                "application.sort.policy": "fifo",
                "preemption.policy": "fence",
                "preemption.delay": "10s",
            }
        },
    }
    # Queues that were made as they were needed are not configured.
    assert pools["root.sandbox.alice"] == {
        "name": "root.sandbox.alice",
        "parent": "root.sandbox",
        "settings": {"managed": False},
    }


def test_applications_are_operations_and_asks_requests() -> None:
    reading = yunikorn.read(now=NOW, **answers())
    assert rows(reading, "operations")["train-2"] == {
        "name": "train-2",
        "pool": "root.sandbox.alice",
        "user": "alice",
        "start_time": 1789999500.123456,
    }
    allocations = rows(reading, "allocations")
    assert allocations["driver-1"] == {
        "name": "driver-1",
        "operation": "spark-1",
        "node": "n-1",
        "resources": {"vcore": 0.5, "memory": 2 * GI, "pods": 1},
        "priority": 0,
        "start_time": NOW - 900,
        "originator": True,
    }
    assert allocations["worker-1"]["state"] == "preempting"
    assert allocations["worker-1"]["beneficiary"] == {"request": "web-1"}
    assert allocations["worker-2"]["priority"] == -5
    assert allocations["agent-1"]["required_node"] == "n-2"
    assert allocations["exec-2"]["labels"] == {"task_group": "executors"}
    requests = rows(reading, "requests")
    assert requests["web-1"] == {
        "name": "web-1",
        "operation": "web-3",
        "resources": {"vcore": 4, "memory": 8 * GI, "pods": 1},
        "priority": 100,
        "submit_time": NOW - 60,
    }
    assert requests["web-2"]["labels"] == {"originator": 1}
    assert requests["agent-2"]["required_node"] == "n-1"
    assert requests["exec-3"]["labels"] == {"placeholder": 1, "task_group": "executors"}
    assert rows(reading, "reservations") == {
        "n-2|web-1": {
            "name": "n-2|web-1",
            "request": "web-1",
            "node": "n-2",
            "resources": {"vcore": 4, "memory": 8 * GI, "pods": 1},
        }
    }
    assert reading.triggered == ("web-1",)


def test_what_others_occupy_is_no_capacity() -> None:
    reading = yunikorn.read(now=NOW, **answers())
    nodes = rows(reading, "nodes")
    assert nodes["n-1"]["capacity"] == {"vcore": 7.5, "memory": 30 * GI, "pods": 107}
    assert nodes["n-3"]["schedulable"] is False
    assert nodes["n-1"]["labels"]["kubernetes.io/arch"] == "amd64"
    # The root's maximum is all there is, also on nodes that take nobody.
    total = reading.snapshot.to_dict()["total"]
    assert total == {"vcore": 20, "memory": 72 * GI, "pods": 330, "nvidia.com/gpu": 4}


def test_what_is_not_told_or_left_out_is_named() -> None:
    found = said(yunikorn.read(now=NOW, **answers()))
    assert found == {
        ("yunikorn_assumed", ("worker-1",)),
        ("yunikorn_assumed", ("web-1",)),
        ("yunikorn_assumed", ("n-2|web-1",)),
        ("yunikorn_assumed", ()),
        ("yunikorn_left_out", ("old-4",)),
    }


def test_what_the_interface_does_not_tell_can_be_given() -> None:
    given = yunikorn.read(now=NOW, opted_out=["exec-1"], never_preempting=["web-2"], **answers())
    assert rows(given, "allocations")["exec-1"]["preemptible"] is False
    assert "preemptible" not in rows(given, "allocations")["exec-2"]
    assert rows(given, "requests")["web-2"]["settings"] == {"allow_preempt_other": False}
    messages = " ".join(d.message for d in given.diagnostics)
    assert "opted out" not in messages
    assert "may not preempt" not in messages


def test_a_full_dump_says_the_same() -> None:
    apart, whole = yunikorn.read(now=NOW, **answers()), yunikorn.read(dump=json.dumps(full_dump()))
    assert whole.snapshot == apart.snapshot
    assert said(whole) == said(apart)


def test_a_part_stands_in_the_place_of_the_dumps() -> None:
    reading = yunikorn.read(dump=full_dump(), applications=[])
    assert reading.snapshot.to_dict()["operations"] == []
    # What runs on the nodes stays in use.
    assert rows(reading, "nodes")["n-2"]["capacity"]["vcore"] == 2.25
    left_out = next(d for d in reading.diagnostics if d.code == "yunikorn_left_out")
    assert set(left_out.elements) == {"driver-1", "exec-1", "exec-2", "worker-1", "worker-2", "agent-1"}


def test_other_partitions_are_passed_over() -> None:
    dump = full_dump()
    other = copy.deepcopy(dump)
    for row in (*other["applications"], *other["queues"]):
        row["partition"] = "[mycluster]gpu"
    other["nodes"][0]["partitionName"] = "gpu"
    both = {**dump, **{k: dump[k] + other[k] for k in ("queues", "applications", "nodes")}}
    assert yunikorn.read(dump=both).snapshot == yunikorn.read(dump=dump).snapshot
    assert yunikorn.read(dump=both, partition="gpu").snapshot == yunikorn.read(dump=dump).snapshot


def test_the_configuration_counts_where_both_speak() -> None:
    text = (FOLDER / "queues.yaml").read_text()
    same = yunikorn.read(text, now=NOW, **answers())
    assert not {d.code for d in same.diagnostics} & {"yunikorn_differs", "yunikorn_sums_differ"}
    assert {"root.sandbox.alice", "root.research.physics"} <= set(rows(same, "pools"))
    changed = text.replace("{vcore: 2500m, memory: 8Gi}", "{vcore: 4, memory: 8Gi}")
    changed = changed.replace("- name: sandbox", "- name: new\n          - name: sandbox")
    changed = changed.replace("- name: chemistry", "- name: alchemy")
    reading = yunikorn.read(changed, now=NOW, **answers())
    assert rows(reading, "pools")["root.research.physics"]["strong_guarantee"]["vcore"] == 4
    assert {
        (d.message.split(". ")[1].split(":")[0], d.elements)
        for d in reading.diagnostics
        if d.code == "yunikorn_differs"
    } == {
        ("Maxima or guarantees, as configured", ("root.research.physics",)),
        ("Configured queues that are not there yet", ("root.research.alchemy", "root.new")),
        ("Queues that the configuration lacks", ("root.research.chemistry",)),
    }


def test_fields_that_are_not_known_are_named() -> None:
    given = answers()
    given["queues"]["children"][0]["quotaDelay"] = "5m"
    given["applications"][0]["allocations"][0]["mood"] = 1
    given["nodes"][0]["allocations"][0]["mood"] = 1
    found = [d for d in yunikorn.read(now=NOW, **given).diagnostics if d.code == "yunikorn_field_unknown"]
    assert [(d.elements, d.message.rsplit("read. ", 1)[1]) for d in found] == [
        (("mood",), "allocation (2): mood."),
        (("quotaDelay",), "queue (1): quotaDelay."),
    ]


def test_sums_that_differ_are_named() -> None:
    given = answers()
    given["queues"]["children"][1]["allocatedResource"]["vcore"] += 1
    given["nodes"][1]["allocated"]["vcore"] += 1
    given["nodes"][2]["occupied"] = {"vcore": 5000}
    reading = yunikorn.read(now=NOW, **given)
    assert {d.elements for d in reading.diagnostics if d.code == "yunikorn_sums_differ"} == {
        ("root.production",),
        ("n-2",),
        ("n-3",),
    }
    assert rows(reading, "nodes")["n-3"]["capacity"] == {"memory": 8 * GI, "pods": 110}


def test_older_releases() -> None:
    given = answers()
    # One list, flags as texts, an ask for several, no tag of the creation.
    given["queues"] = [given["queues"]]
    given["queues"][0]["children"][1]["isLeaf"] = "true"
    ask = given["applications"][2]["requests"][1]
    ask |= {"pendingCount": 3, "allocationTags": {}}
    given["applications"][2]["requests"][2]["pendingCount"] = 0
    given["applications"][0]["allocations"][2]["allocationTags"] = None
    reading = yunikorn.read(now=NOW, **given)
    request = rows(reading, "requests")["web-2"]
    assert (request["count"], request["submit_time"]) == (3, NOW - 50 + 0.123456)
    assert "agent-2" not in rows(reading, "requests")
    # Its request time is that of the placeholder whose room it took.
    assert ("yunikorn_assumed", ("exec-2",)) in said(reading)


def test_whom_they_leave_for_is_told_by_a_reservation_alone() -> None:
    given = answers()
    del given["applications"][2]["requests"][0]["triggeredPreemption"]
    worker = rows(yunikorn.read(now=NOW, **given), "allocations")["worker-1"]
    assert worker["state"] == "preempting"
    assert "beneficiary" not in worker


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(given: dict[str, Any]) -> None:
        *above, last = (int(key) if key.isdecimal() else key for key in path.split("."))
        at: Any = given
        for key in above:
            at = at[key]
        if value is None:
            del at[last]
        else:
            at[last] = value

    return apply


@pytest.mark.parametrize(
    ("path", "value", "table", "field", "rule"),
    [
        ("queues.children.0.maxResource.vcore", "8", "queues", "[0].children[0].maxResource", "type"),
        ("queues.children.0.maxResource.vcore", 8.5, "queues", "[0].children[0].maxResource", "type"),
        ("queues.children.0.maxResource.vcore", -8, "queues", "[0].children[0].maxResource", "type"),
        ("queues.children.0.isManaged", "perhaps", "queues", "[0].children[0].isManaged", "type"),
        ("queues.children.0.properties", {"a": 1}, "queues", "[0].children[0].properties", "type"),
        ("queues.children.0.queuename", None, "queues", "[0].children[0].queuename", "required"),
        ("queues.children.1.queuename", "root.nowhere.x", "queues", "queuename", "exists"),
        ("applications.0.queueName", "root.production2", "applications", "queueName", "exists"),
        ("applications.0.requests.0.priority", "high", "applications", "[0].requests[0].priority", "type"),
        ("applications.0.requests", {}, "applications", "[0].requests", "type"),
        ("applications.0.allocations.0.nodeId", "n-9", "applications", "nodeId", "exists"),
        (
            "applications.0.allocations.0.nodeId",
            None,
            "applications",
            "[0].allocations[0].nodeId",
            "required",
        ),
        ("applications.1.applicationID", 5, "applications", "[1].applicationID", "type"),
        ("applications.1", 5, "applications", "[1]", "type"),
        ("nodes.0.capacity", None, "nodes", "[0].capacity", "required"),
        ("nodes.0.reservations", [5], "nodes", "[0].reservations", "type"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    path: str, value: Any, table: str, field: str, rule: str
) -> None:
    given = answers()
    change(path, value)(given)
    with pytest.raises(eh.InputError) as caught:
        yunikorn.read(now=NOW, **given)
    assert (table, field, rule) in [(p.table, p.field, p.rule) for p in caught.value.problems]


def test_names_that_are_there_twice_are_the_snapshots_to_refuse() -> None:
    given = answers()
    given["applications"][1]["applicationID"] = "spark-1"
    with pytest.raises(eh.InputError) as caught:
        yunikorn.read(now=NOW, **given)
    assert [(p.table, p.rule) for p in caught.value.problems] == [("operations", "unique")]


@pytest.mark.parametrize("text", ["{", '{"timestamp": 1, "timestamp": 2}', b"\xff\xfe\xff", "[" * 100_000])
def test_what_is_no_json(text: Any) -> None:
    with pytest.raises(eh.InputError) as caught:
        yunikorn.read(dump=text)
    assert [(p.table, p.rule) for p in caught.value.problems] == [("dump", "json")]


def test_an_instant_is_needed_and_queues() -> None:
    with pytest.raises(eh.InputError, match="now must be given where there is no dump"):
        yunikorn.read(**answers())
    with pytest.raises(eh.InputError, match="queues of the partition default are missing"):
        yunikorn.read(applications=[], nodes=[], now=NOW)


def test_resources_that_are_named_with_zero_are_kept() -> None:
    """YuniKorn tells them from those that are not named."""
    given = answers()
    first = next(app for app in given["applications"] if app.get("allocations"))
    first["allocations"][0]["resource"]["nvidia.com/gpu"] = 0
    asking = next(app for app in given["applications"] if app.get("requests"))
    asking["requests"][0]["resource"]["nvidia.com/gpu"] = 0
    reading = yunikorn.read(now=NOW, **given)
    for table, row in (
        ("allocations", first["allocations"][0]),
        ("requests", asking["requests"][0]),
    ):
        assert rows(reading, table)[row["allocationKey"]]["settings"]["zeros"] == {"nvidia.com/gpu": 0}
    assert eh.plan(reading.snapshot, eh.policies.YuniKorn("upstream")) is not None
