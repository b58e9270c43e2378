"""What a plan says of its input reaches ``validate --policy``, for each system and each code there is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

import evenhand as eh
from evenhand.diagnostics import CODES
from evenhand.systems import SYSTEMS


class Case(NamedTuple):
    """A policy, rows and settings, and codes that are said of them."""

    policy: str
    codes: set[str]
    rows: Mapping[str, Any]
    settings: Mapping[str, Any] = MappingProxyType({})


def world(**rows: Any) -> dict[str, Any]:
    data: dict[str, Any] = {
        "now": 3600,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "operations": [{"name": "a"}, {"name": "b"}],
    }
    return {**data, **rows}


def allocation(name: str = "x", cpu: float = 4, **more: Any) -> dict[str, Any]:
    return {"name": name, "operation": "a", "node": "n", "resources": {"cpu": cpu}, "start_time": 10, **more}


def request(name: str = "r", cpu: float = 4, **more: Any) -> dict[str, Any]:
    return {"name": name, "operation": "b", "resources": {"cpu": cpu}, **more}


def pool(name: str, cpu: float, parent: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "parent": parent, "strong_guarantee": {"cpu": cpu}, **more}


#: Wrong in whatever system: times, amounts, a request that fits nowhere, a field that none of them reads.
WRONG = world(
    now=1e11,
    allocations=[allocation(cpu=5, start_time=2e11)],
    requests=[request("nothing", 0), request("huge", 100)],
    pools=[{"name": "p", "weight": 2, "mode": "fifo"}],
)
ANYWHERE = {
    *("now_in_milliseconds", "start_time_after_now", "request_without_resources", "node_overfull"),
    "never_fits",
}
TIERS = {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"} | {
    "partitions": {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10}}
}
GANGS = TIERS | {"PreemptMode": "SUSPEND,GANG"}
COSTLY = world(
    operations=[
        {"name": "a", "priority": 1, "settings": {"preemption_cost": 2}},
        {"name": "b", "priority": 9},
    ],
    allocations=[allocation()],
    requests=[request()],
)
HARD = [(3, 3), (3, 3), (3, 3), (1, 1), (2, 4), (2, 4)]
BUDGET = {
    "now": 100,
    "resources": {"cpu": {}, "memory": {}},
    "nodes": [{"name": "n", "capacity": {"cpu": 14, "memory": 18}}],
    "operations": [{"name": f"a{i}", "priority": 1} for i in range(len(HARD))]
    + [{"name": "b", "priority": 9}],
    "allocations": [
        {"name": f"x{i}", "operation": f"a{i}", "node": "n", "start_time": i}
        | {"resources": {"cpu": cpu, "memory": memory}}
        for i, (cpu, memory) in enumerate(HARD)
    ],
    "requests": [{"name": "r", "operation": "b", "resources": {"cpu": 7, "memory": 11}}],
}
LIMIT = world(
    nodes=[{"name": f"n{i}", "capacity": {"cpu": 1}} for i in range(11)],
    operations=[{"name": "a", "priority": 1}, {"name": "b", "priority": 9}],
    allocations=[allocation(f"x{i}", 1, node=f"n{i}", start_time=-1e12) for i in range(11)],
    requests=[request(cpu=1)],
)
CONTESTED = world(
    operations=[
        {"name": name, "partition": tier, "priority": priority}
        for name, tier, priority in (("a", "low", 1), ("b", "high", 5), ("c", "high", 4))
    ],
    allocations=[
        allocation(state="preempting", beneficiary={"operation": "c"}, deadline=3609, planned_end=7200)
    ],
    requests=[request(duration=3600), request("s", operation="c", duration=3600)],
)
CASES = [
    *(Case(word, ANYWHERE | {"fields_not_read"}, WRONG) for word in SYSTEMS if word != "ytsaurus"),
    Case("ytsaurus", ANYWHERE, WRONG),
    *(Case(f"{word}:upstream", ANYWHERE, WRONG) for word in SYSTEMS),
    *(
        Case(word, {"costs_not_read"}, COSTLY, {"victim_selection": "irreducible", "victim_cost": "given"})
        for word in ("ytsaurus", "slurm", "backendai")
    ),
    *(
        Case(word, {"no_costs_given"}, world(), {"victim_selection": "minimum", "victim_cost": "given"})
        for word in ("ytsaurus", "slurm", "backendai")
    ),
    Case("ytsaurus", {"pool_tree_guarantees_overcommit"}, world(pools=[pool("p", 40)])),
    Case("ytsaurus", {"guarantee_above_pool"}, world(pools=[pool("p", 2), pool("c", 3, "p")])),
    Case(
        "ytsaurus",
        {"main_resource_absent"},
        world(resources={"gpu": {}}, nodes=[], pools=[{"name": "p", "strong_guarantee": {"gpu": 1}}]),
    ),
    Case(
        "ytsaurus",
        {"nested_promised_guarantee_fair_share_pools"},
        world(
            pools=[
                {"name": "p", "compute_promised_guarantee": True},
                {"name": "c", "parent": "p", "compute_promised_guarantee": True},
            ]
        ),
    ),
    Case(
        "ytsaurus",
        {"gang_in_part"},
        world(
            operations=[{"name": "a", "gang": True}],
            allocations=[allocation()],
            requests=[request(operation="a")],
        ),
    ),
    Case(
        "ytsaurus",
        {"single_allocations_stay"},
        world(
            operations=[{"name": "a"}, {"name": "b", "settings": {"fair_share_starvation_tolerance": 1}}],
            allocations=[allocation()],
            requests=[request()],
        ),
    ),
    Case("ytsaurus", {"setting_in_milliseconds"}, world(), {"fair_share_starvation_timeout": 30_000}),
    Case("yunikorn", {"queue_guarantees_overcommit"}, world(pools=[pool("root.a", 3), pool("root.b", 2)])),
    Case(
        "yunikorn:upstream",
        {"queue_guarantees_overcommit"},
        world(pools=[pool("root.a", 3), pool("root.a.b", 4, "root.a")]),
    ),
    Case("slurm", {"slurm_choice_not_used"}, world(), GANGS | {"youngest_first": True}),
    Case(
        "backendai",
        {"machine_unknown"},
        world(nodes=[{"name": "n", "capacity": {"cpu": 4}, "physical": "box"}]),
    ),
    Case("backendai", {"minimum_budget_spent"}, BUDGET, {"victim_selection": "minimum", "minimum_budget": 1}),
    Case(
        "backendai", {"victim_cost_limit"}, LIMIT, {"victim_selection": "minimum", "victim_cost": "lost_work"}
    ),
    Case(
        "ytsaurus",
        {"priority_strong_guarantee_adjustment_pools_without_donor"},
        world(pools=[{"name": "p", "priority_strong_guarantee": True}]),
    ),
    Case("slurm", {"settings_not_read"}, world(), {"send_user_signal": True}),
    Case(
        "slurm",
        {"slurm_share_unknown"},
        world(operations=[{"name": "b", "account": "a", "user": "stranger"}], requests=[request()]),
        {"PriorityType": "priority/multifactor", "PriorityWeightFairshare": 10}
        | {"shares": {"a": {}, "u": {"parent": "a"}}},
    ),
    Case("slurm", {"slurm_room_contested"}, CONTESTED, TIERS | {"SchedulerType": "sched/backfill"}),
    Case(
        "ytsaurus",
        {"starts_preemptible"},
        world(
            operations=[{"name": "a"}, {"name": "b"}],
            allocations=[allocation(cpu=1)],
            requests=[request(cpu=3), request("more", 3, operation="a")],
        ),
        {"consider_allocation_on_fair_share_bound_preemptible": True},
    ),
]


def toml(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {toml(of)}" for name, of in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.policy} {min(case.codes)}")
def test_all_that_a_plan_says_is_said(case: Case, tmp_path: Path, run: Any) -> None:
    system, _, preset = case.policy.partition(":")
    policy = SYSTEMS[system].policy(preset or "documented", **case.settings)
    snapshot = eh.Snapshot.from_dict(case.rows)
    said = eh.plan(snapshot, policy).diagnostics
    assert case.codes <= {one.code for one in said}
    file, config = tmp_path / "cluster.json", tmp_path / "policy.toml"
    file.write_text(snapshot.to_json())
    config.write_text("".join(f"{name} = {toml(value)}\n" for name, value in case.settings.items()))
    words = ("validate", file, "--policy", case.policy, *(("--config", config) if case.settings else ()))
    status, out, _ = run(*words, "--format", "json")
    told = json.loads(out)["diagnostics"]
    assert (status, [one.to_dict() for one in said if one.to_dict() not in told]) == (0, [])
    shown = run(*words)[1]
    assert not [one.code for one in said if f"{one.code}: " not in shown]


#: What is said only of more than a snapshot and a policy.
OF_MORE = {
    *("state_pool_left", "state_element_left", "state_node_left", "state_settings_changed"),  # a state
    "state_of_another_system",
    "optuna_missing",  # tuning
    "preemption_loop",  # a simulation
    "preemption_request_accepted",  # --on commands
    "slurm_not_read",  # a slurm.conf
    *("slurm_assumed", "slurm_left_out"),  # what Slurm's commands print
    *(code for code in CODES if code.startswith(("yunikorn_", "gridengine_", "ytsaurus_"))),  # texts
}


def test_no_code_is_left_out() -> None:
    """A new code is entered above, in a case or with what it needs beside a snapshot."""
    assert {code for case in CASES for code in case.codes} == CODES.keys() - OF_MORE


def test_what_counts_for_fair_shares_alone_is_not_said_of_others(tmp_path: Path, run: Any) -> None:
    rows = world(pools=[pool("p", 2), pool("c", 3, "p")])
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(rows))
    for words, said in (
        ((), True),
        (("--policy", "ytsaurus"), True),
        (("--policy", "slurm"), False),
        (("--policy", "backendai"), False),
    ):
        assert ("guarantee_above_pool" in run("validate", file, *words)[1]) is said
