"""Slurm's multifactor priority: what a real controller printed, and each factor by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.history import slurm
from tests.unit.slurm.sprio import compare

RECORDED = json.loads((Path(__file__).parents[2] / "data" / "slurm-priority.json").read_text())
CASES = {case["name"]: case for case in RECORDED["cases"]}
FACTOR = {"PriorityType": "priority/multifactor"}


def recorded(name: str, **changes: Any) -> eh.policies.Slurm:
    case = {key: "\n".join(lines) for key, lines in CASES[name].items() if key != "name"}
    policy = eh.policies.Slurm.from_conf(
        case["conf"],
        qos="\n".join(RECORDED["qos"]),
        shares=case["shares"],
        associations=case["associations"],
        preset="upstream",
    )
    return policy.replace(**changes)


def against_sprio(name: str, policy: eh.policies.Slurm) -> int:
    texts = ["\n".join(CASES[name][key]) for key in ("jobs", "factors", "priorities")]
    # sshare printed usage in whole numbers: the classic factor is known to six digits.
    digits = 3e-6 if name == "classic" else 6e-8
    return compare(policy, *texts, nodes=4, cpus=8, memory=4000, fair_share_digits=digits)


@pytest.mark.parametrize(("name", "jobs"), [("fair_tree", 12), ("classic", 13), ("flags", 10)])
def test_all_factors_and_priorities_are_those_of_sprio(name: str, jobs: int) -> None:
    assert against_sprio(name, recorded(name)) == jobs


def test_the_classic_shares_and_usages_are_those_of_sshare() -> None:
    lines = [line.split("|") for line in CASES["classic"]["shares"]]
    place = {name: column for column, name in enumerate(lines[0])}
    tree = recorded("classic").settings.shares
    assert tree is not None
    table = slurm.classic(tree, root="root", fair_share_dampening_factor=3)
    for ours, theirs in (("norm_shares", "NormShares"), ("effective_usage", "EffectvUsage")):
        printed = [float(cells[place[theirs]]) for cells in lines[1:]]
        np.testing.assert_allclose(np.asarray(table[ours]), printed, rtol=0, atol=1e-6, err_msg=ours)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("fair_tree", {"tied_accounts": "documented"}),
        ("fair_tree", {"association_priority": {}}),
        ("fair_tree", {"PriorityFavorSmall": True}),
        ("fair_tree", {"PriorityFlags": "NO_FAIR_TREE"}),
        ("fair_tree", {"PriorityWeightQOS": 3999}),
        ("fair_tree", {"PriorityWeightTRES": "CPU=700"}),
        ("classic", {"FairShareDampeningFactor": 2}),
        ("classic", {"PriorityFlags": ()}),
        ("flags", {"PriorityFlags": "NO_NORMAL_ALL"}),
        ("flags", {"PriorityFlags": "SMALL_RELATIVE_TO_TIME"}),
    ],
)
def test_with_other_settings_they_are_others(name: str, changes: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        against_sprio(name, recorded(name, **changes))


def waiting(*jobs: dict[str, Any], running: tuple[str, ...] = ()) -> eh.Snapshot:
    """Jobs of one cpu that wait, or run since 60; now is 100."""
    return eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {}, "gres/gpu": {}},
            "nodes": [{"name": n, "capacity": {"cpu": 4, "gres/gpu": 2}} for n in ("n1", "n2")],
            "operations": [{"name": f"j{i}", "start_time": 0, **job} for i, job in enumerate(jobs)],
            "allocations": [
                {"name": f"{j}@n1", "operation": j, "node": "n1", "resources": {"cpu": 1}, "start_time": 60}
                for j in running
            ],
            "requests": [
                {"name": f"j{i}", "operation": f"j{i}", "resources": {"cpu": 1, "gres/gpu": 1}}
                for i in range(len(jobs))
                if f"j{i}" not in running
            ],
        }
    )


def priorities(snapshot: eh.Snapshot, **settings: Any) -> list[float]:
    return np.asarray(eh.policies.Slurm(**FACTOR, **settings).priorities(snapshot)["priority"]).tolist()


def test_age_counts_from_when_it_could_start_and_stops_when_it_did() -> None:
    own = [{"eligible_time": 50}, {"accrue_time": 75, "eligible_time": 50}, {"eligible_time": 200}, {}]
    snapshot = waiting(*({"settings": settings} for settings in own), {}, running=("j4",))
    age = {"PriorityWeightAge": 1000, "PriorityMaxAge": 1000}
    assert priorities(snapshot, **age) == [50, 25, 1, 100, 60]
    assert priorities(snapshot, **age, PriorityFlags="accrue_always,CALCULATE_RUNNING") == [100] * 5
    assert priorities(snapshot, PriorityWeightAge=1000, PriorityMaxAge=80)[3] == 1000


def test_nice_and_site_factor() -> None:
    snapshot = waiting(*({"settings": s} for s in ({"nice": 100}, {"nice": -100}, {"site_factor": 7}, {})))
    assert priorities(snapshot, PriorityWeightPartition=50) == [1, 150, 57, 50]


def test_parts_of_a_trackable_resource() -> None:
    assert priorities(waiting({}), PriorityWeightTRES="GRES/gpu=100,node=10") == [30]
    assert priorities(waiting({}), PriorityWeightTRES={"mem": 100}) == [1]


def test_an_association_of_a_partition_comes_first() -> None:
    tree = {
        "a": {},
        "a/u": {"parent": "a", "usage": 5.0},
        "a/u/fast": {"parent": "a"},
    }
    jobs = ({"account": "a", "user": "u", "partition": p} for p in ("fast", "slow"))
    parts = {"fast": {"PriorityJobFactor": 0}, "slow": {"PriorityJobFactor": 0}}
    assert priorities(waiting(*jobs), shares=tree, partitions=parts, PriorityWeightFairshare=100) == [100, 50]


def test_a_priority_of_its_own_stands_and_basic_knows_no_factors() -> None:
    snapshot = waiting({"priority": 5}, {})
    assert priorities(snapshot, PriorityWeightAge=1000, PriorityMaxAge=100) == [5, 1000]
    table = eh.policies.Slurm(PriorityWeightAge=1000).priorities(snapshot)
    assert table.columns == ("name", "priority", "given", "site", "nice")
    assert table["priority"].tolist() == [5, 1]
    assert table["given"].tolist() == [True, False]


def test_an_unknown_share_is_said() -> None:
    snapshot = waiting({"account": "a", "user": "u"}, {"account": "a", "user": "stranger"})
    tree = {"a": {}, "a/u": {"parent": "a"}}
    policy = eh.policies.Slurm(**FACTOR, shares=tree, PriorityWeightFairshare=10)
    found = [d for d in eh.plan(snapshot, policy).diagnostics if d.code == "slurm_share_unknown"]
    assert [d.elements for d in found] == [("j1",)]
    unweighed = eh.plan(snapshot, policy.replace(PriorityWeightFairshare=0))
    assert [d.code for d in unweighed.diagnostics] == ["fields_not_read"]


def test_the_order_follows_and_why_not_says_who_is_before_it() -> None:
    qos = {"gold": {"Priority": 10}, "tin": {"Priority": 5}}
    jobs = [{"qos": "tin", "settings": {"nice": 3}}, {"qos": "gold", "start_time": 50}]
    data = waiting(*jobs).to_dict()
    for request in data["requests"]:
        request["count"] = 2
        request["resources"] = {"cpu": 4}
    weights = {"PriorityWeightQOS": 100, "PriorityWeightAge": 1000, "PriorityMaxAge": 10_000}
    policy = eh.policies.Slurm(**FACTOR, qos=qos, **weights)
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    assert {d.request for d in plan.decisions.starts} == {"j1"}
    told = plan.why_not("j0")
    assert told.numbers["priority"] == 57
    assert told.numbers["priority_parts"] == {"age": 10.0, "qos": 50.0, "nice": -3.0}
    assert told.numbers["behind"] == {
        "operation": "j1",
        "priority": 105.0,
        "priority_parts": {"age": 5.0, "qos": 100.0},
    }
    assert "priority 57 (= age 10 + qos 50 - nice 3)" in str(told)
    assert "behind operation j1 with 105 (age 5 less, qos 50 more, nice 3 more)" in str(told)


def test_preemption_within_a_qos_goes_by_the_same_number() -> None:
    data = waiting({"settings": {"nice": 10}}, {}, running=("j0",)).to_dict()
    for row in data["operations"]:
        row["qos"] = "q"
    data["allocations"][0]["resources"] = {"cpu": 4}
    data["requests"][0] |= {"resources": {"cpu": 4}, "required_node": "n1"}
    settings = {
        **FACTOR,
        "PriorityWeightPartition": 100,
        "PreemptType": "preempt/qos",
        "PreemptMode": "CANCEL,WITHIN",
        "qos": {"q": {}},
    }
    victims = [
        [
            d.operation
            for d in eh.plan(eh.Snapshot.from_dict(data), eh.policies.Slurm(**each)).decisions.victims
        ]
        for each in (settings, {**settings, "PriorityType": "priority/basic"})
    ]
    assert victims == [["j0"], []]


@pytest.mark.parametrize(
    ("settings", "field", "rule"),
    [
        ({"PriorityType": "priority/age"}, "PriorityType", "choice"),
        ({"PriorityFlags": "DEPTH"}, "PriorityFlags", "choice"),
        ({"PriorityFlags": "FAIR_TREE,NO_FAIR_TREE"}, "PriorityFlags", "needs"),
        ({"PriorityWeightTRES": "gpu=3"}, "PriorityWeightTRES", "choice"),
        ({"PriorityWeightTRES": "cpu:3"}, "PriorityWeightTRES", "type"),
        ({"PriorityWeightAge": -1}, "PriorityWeightAge", "range"),
        ({"PriorityMaxAge": 0}, "PriorityMaxAge", "range"),
        ({"shares": {"a": {"parent": "b"}}}, "shares", "share_tree"),
        ({"shares": {"a": 3}}, "shares", "type"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], field: str, rule: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.policies.Slurm(**settings)
    problem = caught.value.problems[0]
    assert (problem.field, problem.rule) == (field, rule)


def test_a_policy_with_shares_comes_back_from_its_dict() -> None:
    from evenhand.systems.files import from_dict

    policy = recorded("fair_tree")
    again = from_dict(json.loads(json.dumps(policy.to_dict())))
    assert again == policy
    assert again.settings.shares == policy.settings.shares
    assert hash(again) == hash(policy)
    assert policy.replace(shares={}) != policy


def test_the_older_word_for_tier_and_factor() -> None:
    policy = eh.policies.Slurm.from_conf("PartitionName=a Priority=7")
    partition = policy.settings.partitions["a"]
    assert (partition.PriorityTier, partition.PriorityJobFactor) == (7, 7)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"PriorityFlags": "DEPTH_OBLIVIOUS", "PriorityWeightFairshare": 1}, "PriorityFlags"),
        ({"PriorityWeightTRES": "billing=3"}, "PriorityWeightTRES"),
    ],
)
def test_what_is_not_computed_is_refused_where_it_counts(settings: dict[str, Any], field: str) -> None:
    assert priorities(waiting({"priority": 4}), **settings) == [4]
    with pytest.raises(eh.InputError) as caught:
        priorities(waiting({"priority": 4}, {}), **settings)
    assert caught.value.problems[0].field == field


@pytest.mark.parametrize("name", ["cpu", "cpus", "cores", "CPU", "vcpus", "threads"])
@pytest.mark.parametrize("weight", [{"PriorityWeightJobSize": 1000}, {"PriorityWeightTRES": {"cpu": 1000}}])
def test_cpus_are_what_is_of_their_kind(name: str, weight: dict[str, Any]) -> None:
    """Whatever the resource is called, and whatever another of another kind is called."""
    data = {
        "now": 1000,
        "resources": {"slots": {}, name: {"kind": "cpu", "quantum": 0.001}},
        "nodes": [{"name": node, "capacity": {name: 8, "slots": 1}} for node in ("n1", "n2")],
        "operations": [{"name": "a"}, {"name": "b"}],
        "requests": [
            {"name": job, "operation": job, "resources": {name: cpus}} for job, cpus in (("a", 2), ("b", 8))
        ],
    }
    policy = eh.policies.Slurm(**FACTOR, **weight)
    found = policy.priorities(eh.Snapshot.from_dict(data))["priority"]
    assert list(found) == ([312.0, 500.0] if "PriorityWeightJobSize" in weight else [125.0, 500.0])


def test_memory_is_what_is_of_its_kind() -> None:
    data = {
        "now": 1000,
        "resources": {"rss": {"kind": "memory"}},
        "nodes": [{"name": "n", "capacity": {"rss": 8}}],
        "operations": [{"name": "a"}],
        "requests": [{"name": "a", "operation": "a", "resources": {"rss": 2}}],
    }
    policy = eh.policies.Slurm(**FACTOR, PriorityWeightTRES={"mem": 1000})
    assert list(policy.priorities(eh.Snapshot.from_dict(data))["priority"]) == [250.0]
