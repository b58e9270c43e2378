"""Explanations of systems that start and preempt whole jobs or sessions."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.reasons import TABLE

TIERS: dict[str, Any] = {
    name: {"PriorityTier": tier, "OverSubscribe": "FORCE:1"} for name, tier in (("low", 1), ("high", 10))
}


def slurm(mode: str = "REQUEUE", **settings: Any) -> eh.policies.Slurm:
    tiers = {"PreemptType": "preempt/partition_prio", "PreemptMode": mode, "partitions": TIERS}
    return eh.policies.Slurm(**{**tiers, **settings})


def two_nodes(**changes: Any) -> eh.Snapshot:
    """Return two nodes of 4 cpus that one job, or session, fills; another waits for one of them."""
    data: dict[str, Any] = {
        "now": 100,
        "resources": {"cpu": {}},
        "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")],
        "operations": [
            {"name": "wide", "partition": "low", "priority": 1},
            {"name": "p", "partition": "high", "priority": 50},
        ],
        "allocations": [
            {
                "name": f"wide@{node}",
                "operation": "wide",
                "node": node,
                "resources": {"cpu": 4},
                "start_time": 10,
            }
            for node in ("n1", "n2")
        ],
        "requests": [{"name": "p-r", "operation": "p", "resources": {"cpu": 4}}],
    }
    return eh.Snapshot.from_dict(data | changes)


def one_node(used: float, **changes: Any) -> eh.Snapshot:
    """Return a node of 4 cpus where `back` was suspended, and another uses some."""
    allocations = [
        {"name": "back@n1", "operation": "wide", "node": "n1", "resources": {"cpu": 3}, "state": "preempted"},
        {"name": "p@n1", "operation": "p", "node": "n1", "resources": {"cpu": used}},
    ]
    return two_nodes(
        allocations=allocations, requests=[], nodes=[{"name": "n1", "capacity": {"cpu": 4}}], **changes
    )


POLICIES = [
    slurm(),
    eh.policies.BackendAI(),
    eh.policies.BackendAI("upstream", enabled=True, victim_scope="resource-group", preemption_key="priority"),
]


@pytest.mark.parametrize("policy", POLICIES, ids=["slurm", "backendai", "backendai-upstream"])
def test_the_rest_of_a_whole_job_is_told_as_such(policy: Any) -> None:
    plan = eh.plan(two_nodes(), policy)
    texts = [plan.why(f"wide@{node}").text for node in ("n1", "n2")]
    assert sorted("nothing of this node is used" in text for text in texts) == [False, True]
    for text in texts:
        rest = "nothing of this node is used" in text
        assert ("needed         4" in text) != rest
        assert ("4 cpu more is needed there" in text) != rest
        assert "of 2, of 1 operation, that leave in this step; they free 8 cpu together" in text


def test_the_fewest_are_counted_in_operations() -> None:
    text = eh.plan(two_nodes(), slurm(victim_selection="minimum")).why("wide@n1").text
    assert "One operation is the fewest that make room for it." in text


@pytest.mark.parametrize("policy", [slurm("SUSPEND,GANG"), eh.policies.BackendAI(preemption_mode="suspend")])
def test_what_goes_on_and_what_stays_suspended(policy: Any) -> None:
    plan = eh.plan(one_node(1), policy)
    assert [d.action for d in plan.decisions] == ["resume"]
    for told in (plan.why("back@n1"), plan.why_not("back@n1")):
        assert told.code == "resumes"
        assert told.sentences[0] == (
            "Allocation back@n1 of operation wide resumes on node n1: it needs 3 cpu, and 3 cpu was free."
        )
    stays = eh.plan(one_node(2), policy).why_not("back@n1")
    first, second, *_ = stays.sentences
    assert first.startswith("Allocation back@n1 of operation wide on node n1 was suspended before, and stays")
    assert second == "To resume it needs 3 cpu more than it keeps."
    assert stays.numbers["needed"] == {"cpu": 3}


def test_what_leaves_already() -> None:
    leaving = {"state": "preempting", "deadline": 130, "beneficiary": {"operation": "p"}}
    rows = [{**row, **leaving} for row in two_nodes().to_dict()["allocations"]]
    for policy in (slurm(), eh.policies.BackendAI()):
        told = eh.plan(two_nodes(allocations=rows), policy).why("wide@n1")
        assert told.code == "already_preempting"
        assert told.sentences[0].endswith("has been asked to leave already, so it is not asked again.")


QOS = {"PreemptType": "preempt/qos", "qos": {"bronze": {}, "gold": {"Preempt": ["bronze"]}}}
COMPARED: dict[str, tuple[Any, dict[str, Any], str, dict[str, Any]]] = {
    "tier_not_lower": (
        slurm(partitions={"low": {"PriorityTier": 10}, "high": {"PriorityTier": 5}}),
        {},
        "its partition low has tier 10, not below tier 5 of partition high",
        {"tier_of_wide": 10, "tier_of_p": 5},
    ),
    "above_min_exempt_priority": (
        slurm(min_exempt_priority=0.5),
        {},
        "its priority 1 is above `min_exempt_priority` 0.5",
        {"priority_of_wide": 1, "min_exempt_priority": 0.5},
    ),
    "ran_too_short": (
        slurm(PreemptExemptTime=200),
        {},
        "its job has run for 90 s of 3 min 20 s `PreemptExemptTime`: it is no victim until 210 s",
        {"seconds": 90, "PreemptExemptTime": 200, "until": 210},
    ),
    "preempt_mode_off": (
        slurm(partitions={**TIERS, "low": {"PriorityTier": 1, "PreemptMode": "OFF"}}),
        {},
        "`PreemptMode` of its partition low is OFF",
        {"partition": "low"},
    ),
    "qos_not_listed": (
        slurm(**QOS),
        {"operations": [{"name": "wide", "partition": "low", "qos": "gold"}, {"name": "p", "qos": "bronze"}]},
        "its QOS gold is not in `Preempt` of QOS bronze of request p-r of operation p",
        {"QOS_of_wide": "gold", "QOS_of_p": "bronze"},
    ),
    "above_threshold": (
        eh.policies.BackendAI(preemptible_priority=0),
        {},
        "its priority (1) is above preemptible_priority (0)",
        {"priority_of_wide": 1, "preemptible_priority": 0},
    ),
    "not_lower_priority": (
        eh.policies.BackendAI(),
        {"operations": [{"name": "wide", "priority": 3}, {"name": "p", "priority": 2}]},
        "its priority (3) is not lower than that of operation p (2)",
        {"priority_of_wide": 3, "priority_of_p": 2},
    ),
    "other_scope": (
        eh.policies.BackendAI(victim_scope="user"),
        {
            "operations": [
                {"name": "wide", "priority": 3, "user": "ann"},
                {"name": "p", "priority": 50, "user": "bob"},
            ]
        },
        "it is of user ann, operation p of user bob, and victim_scope is user",
        {"user_of_wide": "ann", "user_of_p": "bob", "victim_scope": "user"},
    ),
    "ran_too_short of Backend.AI": (
        eh.policies.BackendAI(preemption_min_runtime=1000),
        {},
        "has run for 90 s, less than preemption_min_runtime (16 min 40 s)",
        {"seconds": 90, "preemption_min_runtime": 1000, "until": 1010},
    ),
}


@pytest.mark.parametrize("code", sorted(COMPARED))
def test_what_was_compared_is_told_with_whose_it_is(code: str) -> None:
    policy, changes, words, numbers = COMPARED[code]
    told = eh.plan(two_nodes(**changes), policy).why_not("wide@n1")
    assert told.code == code.partition(" ")[0]
    assert words in told.text
    assert told.numbers == numbers


def test_a_priority_out_of_range_is_told_with_the_range() -> None:
    policy = eh.policies.BackendAI(user_policies={"ann": {"range": [0, 30]}})
    operations = [{"name": "wide", "priority": 1}, {"name": "p", "priority": 50, "user": "ann"}]
    told = eh.plan(two_nodes(operations=operations), policy).why_not("p-r")
    assert told.code == "priority_out_of_range"
    assert "its priority (50) is outside the range that the policy of user ann allows (0 to 30)" in told.text
    assert {"priority_of_p": 50, "lowest": 0, "highest": 30}.items() <= told.numbers.items()


def test_a_session_without_a_user_has_no_users_policy() -> None:
    policy = eh.policies.BackendAI(user_policies={"": {"range": [0, 30]}})
    operations = [{"name": "wide", "priority": 1}, {"name": "p", "priority": 50}]
    assert eh.plan(two_nodes(operations=operations), policy).decisions.victims
    operations[1]["user"] = ""
    assert eh.plan(two_nodes(operations=operations), policy).why_not("p-r").code == "priority_out_of_range"


def test_names_that_are_compared_are_safe_to_print() -> None:
    operations = [{"name": "a\x1b[31m", "priority": 3}, {"name": "p", "priority": 2}]
    rows = [{**row, "operation": "a\x1b[31m"} for row in two_nodes().to_dict()["allocations"]]
    snapshot = two_nodes(operations=operations, allocations=rows)
    assert "\x1b" not in eh.plan(snapshot, eh.policies.BackendAI()).why_not("wide@n1").text


@pytest.mark.parametrize("policy", POLICIES, ids=["slurm", "backendai", "backendai-upstream"])
def test_no_sentence_names_a_node_that_is_none(policy: Any) -> None:
    data = two_nodes().to_dict()
    data["resources"]["lic"] = {"scope": "cluster", "capacity": 2}
    data["allocations"].append({"name": "wide@", "operation": "wide", "resources": {"lic": 2}})
    data["operations"].append({"name": "q", "partition": "high", "priority": 40})
    data["requests"] += [
        {"name": "q-r", "operation": "q", "resources": {"cpu": 9}},
        {"name": "q-l", "operation": "q", "resources": {"lic": 1}},
    ]
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    for name in ("wide@n1", "wide@n2", "wide@", "p-r", "q-r", "q-l"):
        for text in (plan.why(name).text, plan.why_not(name).text):
            assert "None" not in text, text
            assert "node its node" not in text, text


def test_templates_say_node_in_one_way() -> None:
    """But for checks, which name theirs by themselves."""
    for row in TABLE:
        assert row.kind == "check" or "node {node}" not in row.sentence, row.code
