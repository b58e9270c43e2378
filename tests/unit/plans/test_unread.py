"""Values that a policy does not read are told; what plans leave in a snapshot is not."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.plans.unread import unread_fields
from tests.counting import calls

SLURM = eh.policies.Slurm(
    PreemptType="preempt/partition_prio",
    PreemptMode="REQUEUE",
    partitions={"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10}},
)


def cluster(old: dict[str, Any], new: dict[str, Any]) -> eh.Snapshot:
    """A full node, and who would have it."""
    return eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
            "operations": [{"name": "old", **old}, {"name": "new", **new}],
            "allocations": [{"name": "a", "operation": "old", "node": "n1", "resources": {"cpu": 4}}],
            "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 4}}],
        }
    )


@pytest.mark.parametrize(
    ("policy", "old", "new", "given"),
    [
        (eh.policies.YTsaurus(), {}, {}, {"starvation": {"new": "starving"}, "groups": {"a": "preemptible"}}),
        (eh.policies.BackendAI(), {"priority": 5}, {"priority": 20}, None),
        (SLURM, {"partition": "low"}, {"partition": "high"}, None),
    ],
)
def test_a_plan_says_nothing_of_what_the_plan_before_left(
    policy: Any, old: dict[str, Any], new: dict[str, Any], given: Any
) -> None:
    snapshot = cluster(old, new)
    plan = eh.plan(snapshot, policy, given=given)
    assert [d.allocation for d in plan.decisions.victims] == ["a"]
    assert not plan.diagnostics
    assert not eh.plan(snapshot.after(plan), policy, plan.state).diagnostics


def test_what_is_not_read_is_told_once() -> None:
    plan = eh.plan(cluster({"partition": "low", "weight": 2}, {"partition": "high", "gang": True}), SLURM)
    (told,) = plan.diagnostics
    assert told.code == "fields_not_read"
    assert told.numbers == {"operations": ["gang", "weight"]}
    assert told.message == "The policy slurm does not read operations: gang, weight."


def test_settings_that_no_plan_reads_are_told() -> None:
    snapshot = cluster({"partition": "low"}, {"partition": "high"})
    assert not eh.plan(snapshot, SLURM.replace(suspend_grace_time=2)).diagnostics, "the default"
    (told,) = eh.plan(snapshot, SLURM.replace(suspend_grace_time=9, send_user_signal=True)).diagnostics
    assert told.code == "settings_not_read"
    assert told.numbers == {"settings": ["send_user_signal", "suspend_grace_time"]}
    assert (
        told.message == "No plan of the policy slurm reads its settings send_user_signal, suspend_grace_time."
    )


@pytest.mark.parametrize("pool", ["all.q", "mid.q", "project"])
def test_a_pool_that_is_called_like_a_queue_is_read(pool: str) -> None:
    """A job without a queue of its own is in the one that its pool is called like."""
    policy = eh.policies.GridEngine(queues={"all.q": {"subordinate_list": "slots=1(mid.q:0:lr)"}})
    data = {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "n", "capacity": {"slots": 12}}],
        "pools": [{"name": "top"}, {"name": pool, "parent": "top"}],
        "operations": [{"name": "b"}, {"name": "c", "pool": pool}],
        "allocations": [
            {"name": name, "operation": job, "node": "n", "resources": {"slots": 2}, "settings": own}
            for name, job, own in (
                ("x", "b", {"queue": "all.q"}),
                ("y", "c", {}),
                ("z", "b", {"queue": "all.q"}),
            )
        ],
    }
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    unread = [dict(d.numbers) for d in plan.diagnostics if d.code == "fields_not_read"]
    assert unread == [{"pools": ["parent"], **({"operations": ["pool"]} if pool == "project" else {})}]
    assert bool(len(plan.decisions)) == (pool == "mid.q")


def test_a_cluster_without_nodes_has_diagnostics() -> None:
    rows = {"resources": {"cpu": {}}, "operations": [{"name": "o"}]}
    asked = {**rows, "requests": [{"name": "r", "operation": "o", "resources": {"cpu": 1}}]}
    for data in (rows, asked):
        plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.YTsaurus())
        assert isinstance(plan.diagnostics, tuple)


def test_what_is_on_no_node_fills_none() -> None:
    rows = {"resources": {"cpu": {}}, "total": {"cpu": 4}, "operations": [{"name": "o"}]}
    held = [{"name": "a", "operation": "o", "resources": {"cpu": 2}}]
    for nodes in ([], [{"name": "n", "capacity": {"cpu": 1}}]):
        snapshot = eh.Snapshot.from_dict({**rows, "nodes": nodes, "allocations": held})
        assert not [d for d in eh.plan(snapshot, eh.policies.YTsaurus()).diagnostics if "node" in d.code]


def test_the_cells_of_a_snapshot_are_looked_at_once() -> None:
    rows = {"resources": {"cpu": {}}, "operations": [{"name": "o", "qos": "gold", "gang": True}]}
    snapshot, said = eh.Snapshot.from_dict(rows), []
    first = calls(lambda: said.append(unread_fields(snapshot, eh.policies.YTsaurus())))
    again = calls(lambda: said.append(unread_fields(snapshot, eh.policies.YTsaurus())))
    unread_fields(snapshot, SLURM)
    said.append(unread_fields(snapshot, eh.policies.YTsaurus()))
    assert 4 * again < 3 * first
    assert [dict(one.numbers) for one in said[0]] == [{"operations": ["qos"]}]
    assert said[0] == said[1] == said[2]
