"""What YTsaurus' plans say: numbers of the heartbeat, the setting that decided, and what spares a victim."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import evenhand as eh
from tests.reference.explanations import check_explanation, check_explanations
from tests.unit.ytsaurus.cluster import cluster, row

CROSSING = "consider_allocation_on_fair_share_bound_preemptible"
FULL = cluster(
    {"cpu": 8}, [row("a1", "a", cpu=2), row("a2", "a", cpu=2), row("a3", "a", cpu=4)], [row("r", "b", cpu=4)]
)
STARVING = {"starvation": {"b": "starving"}}


def planned(
    data: dict[str, Any], *, state: Any = None, on: Any = None, given: Any = None, **settings: Any
) -> eh.Plan:
    """Plan a heartbeat of node n, and hold all that the plan explains against it."""
    kept = None if state is None else eh.State.from_dict(state)
    policy = eh.policies.YTsaurus(**settings)
    plan = eh.plan(eh.Snapshot.from_dict(data), policy, kept, on=on or eh.Heartbeat("n"), given=given)
    check_explanations(plan)
    return plan


def asked(plan: eh.Plan) -> str:
    return plan.why_not("r", table="requests").summary


def remembered(**more: Any) -> dict[str, Any]:
    return {"schema": "evenhand/state/1", "time": 999.0, "settings": "", "pools": [], "elements": [], **more}


def planting(plan: eh.Plan, outcome: str, **false: Any) -> None:
    """Plant something else that was compared, and expect that it is caught."""
    true = plan.why_not("r", table="requests")
    rows = [
        {**met, "compared": {**met["compared"], **false}} if met["outcome"] == outcome else met
        for met in true.looked_at
    ]
    assert rows != [*true.looked_at]
    with pytest.raises(AssertionError):
        check_explanation(plan, replace(true, looked_at=tuple(rows)))


def test_a_victim_is_told_which_threshold_would_have_spared_it_and_what_chose_it() -> None:
    why = planned(FULL, given=STARVING).why("a3")
    assert why.summary == (
        "Allocation a3 of operation a leaves node n: 4 cpu more is needed there for request r of b, in the"
        " preemptive stage; within its operation's fair share (preemption_satisfaction_threshold) the"
        " preemptive stage could not have taken it."
    )
    assert why.numbers["preemption_satisfaction_threshold"] == 1
    assert (why.numbers["place"], why.numbers["candidates"], why.numbers["began"]) == (1, 1, 3)
    assert why.numbers["order_key"] == "last_job_start"
    lenient = planned(FULL, given=STARVING, preemption_satisfaction_threshold=0.5).why("a3")
    assert "within 0.5 of its operation's fair share (preemption_satisfaction_threshold)" in lenient.summary
    aggressive = planned(FULL, given={"starvation": {"b": "aggressively_starving"}}).why("a2")
    assert aggressive.code in ("aggressive_preemption", "protected_group", "no_start_in_stage")


def test_the_newest_of_several_is_told_its_place() -> None:
    data = cluster({"cpu": 8}, [row(f"a{i}", "a", cpu=1) for i in range(8)], [row("r", "b", cpu=2)])
    plan = planned(data, given={**STARVING, "groups": {f"a{i}": "preemptible" for i in range(8)}})
    assert [d.allocation for d in plan.decisions.victims] == ["a7", "a6"]
    why = plan.why("a6")
    assert (why.numbers["place"], why.numbers["candidates"]) == (2, 8)
    assert (
        "Of 8 that the stage might take there it was number 2: the most preemptible first" in why.sentences[1]
    )
    assert "within" not in why.summary  # the groups were given, no threshold cut them
    saved = planned(data, given=plan.given, order_key="last_progress").why("a6").sentences[1]
    assert "of those the newest, or with the latest saved progress (its last job began" in saved


@pytest.mark.parametrize(
    ("data", "summary"),
    [
        (
            {**FULL, "operations": [{"name": "a", "limits": {"cpu": 5}}, {"name": "b"}]},
            "operation a is over its limits, 8 of 5 cpu; within these limits nothing would leave for them.",
        ),
        (
            cluster({"cpu": 8}, [row("a1", "a", cpu=6), row("a3", "a", cpu=4)], []),
            "2 cpu too much.",
        ),
        (
            {
                **FULL,
                "operations": [{"name": "a", "settings": {"preemption_mode": "graceful"}}, {"name": "b"}],
            },
            "with preemption_mode normal it would not leave for that.",
        ),
    ],
    ids=["limits", "overcommit", "graceful"],
)
def test_other_victims_are_told_what_would_have_spared_them(data: dict[str, Any], summary: str) -> None:
    assert planned(data).why("a3").summary.endswith(summary)


def test_a_limit_is_named_with_its_element_and_its_value() -> None:
    data = {
        **FULL,
        "pools": [{"name": "p", "limits": {"cpu": 3}}],
        "operations": [{"name": "a"}, {"name": "b", "pool": "p"}],
    }
    given = {**STARVING, "groups": {"a3": "preemptible"}}
    why = planned(data, given=given).why_not("r", table="requests")
    assert why.summary == (
        "Request r of operation b (4 cpu) did not start: in the preemptive stage, pool p would be"
        " over its limits with it: it uses 0 of 3 cpu."
    )
    met = next(one for one in why.looked_at if one["outcome"] == "limits_of_operation_or_pool")
    assert met["compared"] == {"element": "p", "used": {"cpu": 0}, "limit": {"cpu": 3}}


def test_a_limit_of_nothing_is_named() -> None:
    nodes = [{"name": "n", "capacity": {"cpu": 16}}]
    data = {**FULL, "nodes": nodes, "operations": [{"name": "a"}, {"name": "b", "limits": {"cpu": 0}}]}
    why = planned(data).why_not("r", table="requests")
    assert "operation b would be over its limits with it: it uses 0 of 0 cpu" in str(why)


def test_a_given_reason_is_repeated() -> None:
    settings = {"unschedulable_reason": "the operation is suspended"}
    data = {**FULL, "operations": [{"name": "a"}, {"name": "b", "settings": settings}]}
    assert asked(planned(data)).endswith("operation b cannot be scheduled: the operation is suspended.")


def test_a_back_off_says_since_when_and_until_when() -> None:
    state = remembered(nodes=[{"name": "n", "last_preemptive": 998.5, "overcommitted_since": None}])
    plan = planned(FULL, given=STARVING, state=state)
    assert asked(plan).endswith(
        "the last attempt to preempt on node n was 998.5 s (1.5 s ago), and the next is after 1,003.5 s"
        " (in 3.5 s): preemptive_scheduling_backoff is 5 s."
    )
    planting(plan, "backoff", until=1004.0)
    planting(plan, "backoff", last_attempt=998.0)
    # Another node where it does not fit has no back-off: still it is the back-off that holds it.
    small = {"name": "m", "capacity": {"cpu": 1}}
    two = {**FULL, "nodes": [*FULL["nodes"], small]}
    given = {**STARVING, "groups": {"a3": "preemptible"}}
    plan = planned(two, given=given, state=state, on=eh.Round())
    assert plan.refusals[0].rule == "backoff"


def test_no_stage_is_said_to_be_taken_where_nothing_started() -> None:
    """What repair frees comes after the stages."""
    data = cluster(
        {"cpu": 4, "memory": 1}, [row("a1", "a", cpu=4, memory=2)], [row("r", "b", cpu=1, memory=1)]
    )
    data["allocations"][0]["preemptible"] = False
    plan = planned(data, given=STARVING, victims_room="free_at_once")
    assert [d.reason for d in plan.decisions.victims] == ["resource_overcommit"]
    assert plan.refusals[0].rule == "no_free_room"


def test_the_request_that_a_stage_served_instead_is_named() -> None:
    data = cluster(
        {"cpu": 8},
        [row("a1", "a", cpu=4), row("a2", "a", cpu=4)],
        [row("q", "b", cpu=4), row("r", "b", cpu=4)],
    )
    plan = planned(data, given={**STARVING, "groups": {"a1": "preemptible", "a2": "preemptible"}})
    met = next(m for m in plan.why_not("r", table="requests").looked_at if m["outcome"] == "stage_taken")
    assert met["compared"] == {"started": "q", "operation": "b"}
    planting(plan, "stage_taken", started="r")


def test_a_pool_that_bars_normal_preemption_is_named() -> None:
    """Its operation does not starve."""
    pool = {"name": "p", "settings": {"allow_normal_preemption": False}}
    data = {**FULL, "pools": [pool], "operations": [{"name": "a", "pool": "p"}, {"name": "b"}]}
    why = planned(data, given=STARVING).why("a3")
    assert why.code == "operation_starving"
    assert why.summary.endswith(
        "in the preemptive stage, allow_normal_preemption of pool p is off,"
        " so this stage takes nothing of it."
    )


def test_nothing_is_given_back_where_the_fewest_are_taken() -> None:
    data = cluster(
        {"cpu": 8},
        [row("a1", "a", cpu=4), row("a2", "a", cpu=1), row("a3", "a", cpu=3)],
        [row("r", "b", cpu=4)],
    )
    groups = dict.fromkeys(("a1", "a2", "a3"), "preemptible")
    plan = planned(data, given={**STARVING, "groups": groups}, victim_selection="minimum")
    assert [d.allocation for d in plan.decisions.victims] == ["a1"]
    for name in ("a2", "a3"):
        assert (
            "other victims make room for request r, the least by victim_cost victims"
            in plan.why(name).summary
        )


def test_under_the_scope_of_operations_no_pool_lends_strength() -> None:
    data = {**FULL, "pools": [{"name": "p"}], "operations": [{"name": "a"}, {"name": "b", "pool": "p"}]}
    given = {"starvation": {"p": "starving"}}
    lent = planned(data, given=given)
    assert "on the strength of its pool: pool p is starving" in str(lent.why("r"))
    own = planned(data, given=given, scheduling_preemption_priority_scope="operation_only")
    assert "strength" not in str(own.why_not("r", table="requests"))


def test_the_threshold_that_protects_is_named() -> None:
    settings = {"non_preemptible_resource_usage_threshold": {"cpu": 100}}
    data = {**FULL, "operations": [{"name": "a", "settings": settings}, {"name": "b"}]}
    why = planned(data, given=STARVING).why("a3")
    assert (
        "All of it is safe, as it uses 8 cpu: less than non_preemptible_resource_usage_threshold (100 cpu)."
        in str(why)
    )


def test_groups_are_those_of_the_heartbeat() -> None:
    """What has left on another node since the update lets newer work be safe, if the crossing one is not."""
    data = {
        "now": 1000.0,
        "resources": {"cpu": {}},
        "nodes": [{"name": "m", "capacity": {"cpu": 4}}, {"name": "n", "capacity": {"cpu": 4}}],
        "operations": [{"name": "a"}, {"name": "b"}],
        "allocations": [
            {"name": "old", "operation": "a", "node": "n", "resources": {"cpu": 2}, "start_time": 1.0},
            {"name": "large", "operation": "a", "node": "m", "resources": {"cpu": 4}, "start_time": 4.0},
            {"name": "new", "operation": "a", "node": "n", "resources": {"cpu": 2}, "start_time": 5.0},
        ],
        "requests": [
            {"name": "r", "operation": "b", "resources": {"cpu": 4}},
            {"name": "q", "operation": "b", "resources": {"cpu": 2}},
        ],
    }
    heartbeats = (eh.Heartbeat("m"), eh.Heartbeat("n"))
    settings = {"aggressive_preemption_satisfaction_threshold": 1.0, CROSSING: True}
    plan = planned(data, given=STARVING, on=heartbeats, **settings)
    assert [d.allocation for d in plan.decisions.victims] == ["large"]
    assert plan.groups.to_dict()["new"] == "preemptible"
    kept = plan.why("new")
    assert kept.looked_at[0]["group"] == "non_preemptible"
    assert "It was preemptible at the update, and non-preemptible when its node reported" in str(kept)


def test_victims_of_the_plan_itself_count_for_the_pace() -> None:
    data = cluster(
        {"cpu": 8}, [row("a1", "a", cpu=4), row("a2", "a", cpu=4)], [row("r", "b", cpu=4, count=2)]
    )
    given = {**STARVING, "groups": {"a1": "preemptible", "a2": "preemptible"}}
    plan = planned(data, given=given, pace={"victim_cooldown": 60})
    assert [d.allocation for d in plan.decisions.victims] == ["a2"]
    assert [r.rule for r in plan.refusals] == ["victims_spared"]
    assert [r.rule for r in planned(data, given=given).refusals] == ["stage_taken"]


def test_a_given_starvation_is_not_contradicted() -> None:
    """A pool on whose strength is preempted is not said to have enough."""
    data = {**FULL, "pools": [{"name": "p"}], "operations": [{"name": "a"}, {"name": "b", "pool": "p"}]}
    data["allocations"] = [*FULL["allocations"][:2], {**FULL["allocations"][2], "operation": "b"}]
    plan = planned(data, given={"starvation": {"p": "starving"}})
    told = str(plan.why_not("r", table="requests"))
    assert "pool p is not below" not in told


def test_a_threshold_of_nothing_spares_nothing() -> None:
    given = {"starvation": {"b": "aggressively_starving"}}
    thresholds = {
        "aggressive_preemption_satisfaction_threshold": 0.0,
        "preemption_satisfaction_threshold": 2.0,
    }
    plan = planned(FULL, given=given, **thresholds)
    victims = [plan.why(d.allocation) for d in plan.decisions.victims]
    assert [one.code for one in victims] == ["aggressive_preemption"]
    assert "within" not in victims[0].summary


def test_a_pool_is_named_once() -> None:
    pool = {"name": "p", "settings": {"max_victims_per_hour": 0}}
    data = {**FULL, "pools": [pool], "operations": [{"name": "a", "pool": "p"}, {"name": "b"}]}
    told = str(planned(data, given=STARVING).why("a3"))
    assert "(pool p, victims 0, max_victims_per_hour 0)" in told


@pytest.mark.parametrize("starts", [False, True], ids=["", "what starts later"])
def test_limits_are_those_before_the_first_repair(starts: bool) -> None:
    """What left for an overcommitted node held the limits back, too; what starts later did not yet."""
    data = {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [
            {"name": "n", "capacity": {"cpu": 5}, "overcommitted_since": 900},
            {"name": "other", "capacity": {"cpu": 1}, "tags": ["other"]},
        ],
        "pools": [{"name": "p", "limits": {"cpu": 6}}],
        "operations": [{"name": name, "pool": "p"} for name in "abc"],
        "allocations": [
            {"name": f"{o}{i}", "operation": o, "node": "n", "resources": {"cpu": 2}, "start_time": start + i}
            for o, count, start in (("a", 2, 0), ("b", 3, 10))
            for i in range(count)
        ],
        "requests": [
            {"name": "r", "operation": "a", "resources": {"cpu": 1}, "required_node": "n"},
            *([{"name": "s", "operation": "c", "resources": {"cpu": 1}, "node_tags": ["other"]}] * starts),
        ],
    }
    plan = planned(data, on=eh.Round(), node_overcommit_delay=0, victims_room="free_at_once")
    assert [(d.allocation, d.reason) for d in plan.decisions.victims] == [
        ("b2", "resource_limits_violated"),
        ("b1", "resource_limits_violated"),
        ("a1", "resource_overcommit"),
    ]
    assert [d.request for d in plan.decisions.starts] == ["s"] * starts
    (refused,) = plan.refusals
    assert (refused.request, refused.rule) == ("r", "limits_of_operation_or_pool")
    assert refused.numbers["missing"] == {"cpu": 5}


@pytest.mark.parametrize("graceful", [[], ["b"]], ids=["", "what is preempted gracefully before"])
def test_limits_that_the_preemptive_stage_repairs_hold_back_in_the_stage_before(graceful: list[str]) -> None:
    """The aggressive stage starts nothing, and so repairs nothing."""
    one = {"operation": "a", "node": "n", "resources": {"cpu": 1}}
    data = {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4 + len(graceful)}}],
        "pools": [{"name": "p", "settings": {"allow_aggressive_preemption": False}}],
        "operations": [
            {"name": "a", "pool": "p", "limits": {"cpu": 3}},
            *({"name": name, "settings": {"preemption_mode": "graceful"}} for name in graceful),
        ],
        "allocations": [
            *({"name": f"a{i}", "start_time": i, **one} for i in range(4)),
            *({"name": name, **one, "operation": name} for name in graceful),
        ],
        "requests": [{"name": "r", "operation": "a", "resources": {"cpu": 1}}],
    }
    given = {
        "starvation": {"p": "aggressively_starving"},
        "groups": dict.fromkeys((*(f"a{i}" for i in range(4)), *graceful), "preemptible"),
    }
    settings = {"limit_repair": "stage", "stage_order": "regular_aggressive_preemptive"}
    plan = planned(data, given=given, **settings)
    assert [(d.allocation, d.reason) for d in plan.decisions] == [
        *((name, "graceful_preemption") for name in graceful),
        ("a3", "resource_limits_violated"),
    ]
    why = plan.why_not("r", table="requests")
    met = {one["stage"]: one for one in why.looked_at}
    assert met["aggressive"]["outcome"] == "limits_of_operation_or_pool"
    assert met["aggressive"]["missing"] == {"cpu": 2}
    assert (why.code, why.numbers["element"]) == ("limits_of_operation_or_pool", "a")
