"""Why a request did not start and an allocation was not preempted: every outcome that the engine tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import evenhand as eh
from evenhand.reasons import OUTCOMES, STAGES
from tests.unit.ytsaurus.cluster import NOW, Planner, cluster, done, reasons, row, starving

SSD = {"enable": True, "node_tag_filter": "ssd", "medium_names": ["fast"]}
AGGRESSIVE = {"w": "aggressively_starving"}


def made(data: Mapping[str, Any], state: Any = None, given: Any = None, **settings: Any) -> eh.Plan:
    kept = eh.State.from_dict(state) if state else None
    policy = eh.policies.YTsaurus(settings.pop("preset", "documented"), **settings)
    return eh.plan(eh.Snapshot.from_dict(data), policy, kept, on=eh.Heartbeat("n"), given=given)


def met(plan: eh.Plan, what: str, name: str) -> list[str]:
    """What a request or an allocation met, stage by stage."""
    rows = plan.snapshot.names(f"{what}s")
    trace = plan._core.trace(what, rows.index(name))
    pairs = zip(trace["stage"].tolist(), trace["outcome"].tolist(), strict=True)
    return [f"{STAGES[stage]}: {OUTCOMES[outcome]}" for stage, outcome in pairs]


def small(allocation: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Four cpus, taken by v; w asks for one."""
    running = [{**row("v1", "v", cpu=4), **(allocation or {})}]
    return cluster({"cpu": 4}, running, [{**row("q", "w", cpu=1), **more.pop("request", {})}], **more)


def attempted(ago: float) -> dict[str, Any]:
    node = {"name": "n", "last_preemptive": NOW - ago, "overcommitted_since": None}
    return {"schema": "evenhand/state/1", "time": NOW, "settings": "", "pools": [], "nodes": [node]}


PREEMPTIBLE = starving("w", preemptible=("v1",))
PROTECTED = {"starvation": {"w": "starving"}, "groups": {"v1": "non_preemptible"}}
NORMAL = {"starvation": {"w": "non_starving"}, "groups": {"v1": "preemptible"}}
OPERATIONS = [{"name": "v"}, {"name": "w"}]


def with_w(**settings: Any) -> list[dict[str, Any]]:
    return [{"name": "v"}, {"name": "w", **settings}]


REQUESTS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "starts": (small(), {"given": PREEMPTIBLE}, ["no_free_room", "started", "count_exhausted"]),
    "free": (
        {**small(), "nodes": [{"name": "n", "capacity": {"cpu": 5}}]},
        {},
        ["started", "count_exhausted", "count_exhausted"],
    ),
    "not starving": (
        small(),
        {"given": NORMAL},
        ["no_free_room", "not_starving", "not_aggressively_starving"],
    ),
    "starving": (
        small(),
        {"given": PROTECTED},
        ["no_free_room", "no_room_even_with_victims", "not_aggressively_starving"],
    ),
    "aggressively starving": (
        small(),
        {"given": {**PROTECTED, "starvation": AGGRESSIVE}},
        ["no_free_room", "no_room_even_with_victims", "no_room_even_with_victims"],
    ),
    "back-off": (small(), {"given": PREEMPTIBLE, "state": attempted(5)}, ["no_free_room", "backoff"]),
    "back-off, not starving": (
        small(),
        {"given": NORMAL, "state": attempted(5)},
        ["no_free_room", "not_starving"],
    ),
    "tags": (small(request={"node_tags": ["x"]}), {"given": PREEMPTIBLE}, ["wrong_tags"] * 3),
    "node": (
        small(
            request={"required_node": "m"},
            nodes=[{"name": "n", "capacity": {"cpu": 4}}, {"name": "m", "capacity": {"cpu": 4}}],
        ),
        {"given": PREEMPTIBLE},
        ["wrong_node"] * 3,
    ),
    "not schedulable": (
        small(nodes=[{"name": "n", "capacity": {"cpu": 4}, "schedulable": False}]),
        {"given": PREEMPTIBLE},
        ["node_not_schedulable"] * 3,
    ),
    "suspended": (
        small(operations=with_w(settings={"unschedulable_reason": "suspended"})),
        {"given": PREEMPTIBLE},
        ["unschedulable"] * 3,
    ),
    "graceful": (
        small(operations=with_w(settings={"preemption_mode": "graceful"})),
        {"given": {**NORMAL, "fair_share": {"w": {"cpu": 0.0}}}},
        ["graceful_while_normal"] * 3,
    ),
    "limit": (
        {**small(operations=with_w(limits={"cpu": 0.5})), "nodes": [{"name": "n", "capacity": {"cpu": 5}}]},
        {"given": PREEMPTIBLE},
        ["limits_of_operation_or_pool", "limits_of_operation_or_pool", "not_aggressively_starving"],
    ),
    "another took the stage": (
        {**small(), "requests": [row("p", "w", cpu=1), row("q", "w", cpu=1)]},
        {"given": PREEMPTIBLE},
        ["no_free_room", "stage_taken", "not_aggressively_starving"],
    ),
}


@pytest.mark.parametrize("case", REQUESTS)
def test_of_a_request(case: str) -> None:
    data, arguments, expected = REQUESTS[case]
    stages = ["regular", "preemptive", "aggressive"]
    told = [f"{stage}: {outcome}" for stage, outcome in zip(stages, expected, strict=False)]
    assert met(made(data, **arguments), "request", "q") == told


REFUSALS = {
    "not starving": "no_free_room",
    "starving": "no_room_even_with_victims",
    "aggressively starving": "no_room_even_with_victims",
    "back-off": "backoff",
    "tags": "wrong_tags",
    "node": "wrong_node",
    "not schedulable": "node_not_schedulable",
    "suspended": "unschedulable",
    "graceful": "graceful_while_normal",
    "limit": "limits_of_operation_or_pool",
}


def refused(plan: eh.Plan) -> dict[Any, str]:
    return {refusal["request"]: refusal["rule"] for refusal in plan.refusals.to_list()}


@pytest.mark.parametrize(("case", "rule"), REFUSALS.items())
def test_of_a_request_that_still_waits(case: str, rule: str) -> None:
    data, arguments, _ = REQUESTS[case]
    assert refused(made(data, **arguments)) == {"q": rule}


def test_who_came_second_in_a_stage_still_waits() -> None:
    running = [row("v1", "v", cpu=2), row("v2", "v", cpu=2)]
    data = cluster({"cpu": 4}, running, [row("p", "w", cpu=2), row("q", "w", cpu=2)])
    assert refused(made(data, given=starving("w", preemptible=("v1", "v2")))) == {"q": "stage_taken"}


@pytest.mark.parametrize("preset", ["documented", "upstream"])
@pytest.mark.parametrize("state", ["non_starving", "starving"])
@pytest.mark.parametrize("where", ["operation", "pool"])
def test_a_limit_that_was_repaired_held_the_request_back(preset: str, state: str, where: str) -> None:
    """Memory of 6 and 1 more of 4; after the repair the request would fit."""
    limited = {"limits": {"memory": 4}}
    operations = [{"name": "w", "pool": "p", **(limited if where == "operation" else {})}]
    pools = [{"name": "p", **(limited if where == "pool" else {})}]
    data = cluster(
        {"cpu": 9, "memory": 9},
        [row("w1", "w", cpu=1, memory=6)],
        [row("q", "w", cpu=1, memory=1)],
        operations=operations,
        pools=pools,
    )
    given = {"starvation": {"w": state}, "groups": {"w1": "preemptible"}, "fair_share": {"w": {"cpu": 1.0}}}
    plan = made(data, given=given, preset=preset, allow_preemption_from_starving_operations=True)
    assert [str(d.allocation) for d in plan.decisions.victims] == ["w1"]
    (refusal,) = plan.refusals.to_list()
    assert refusal["rule"] == "limits_of_operation_or_pool"
    assert refusal["numbers"]["missing"] == {"memory": 3}


def test_room_that_came_free_after_the_regular_stage_was_not_there() -> None:
    """Upstream hands out what leaves at once; the node's repair comes last."""
    data = cluster({"cpu": 4}, [row("v1", "v", cpu=5)], [row("q", "w", cpu=1)])
    plan = made(data, preset="upstream", node_overcommit_delay=0)
    assert [str(d.allocation) for d in plan.decisions.victims] == ["v1"]
    assert refused(plan) == {"q": "no_free_room"}


def test_without_a_node_there_is_no_heartbeat() -> None:
    data = {**cluster({"cpu": 4}, [], [row("q", "w", cpu=1)]), "nodes": []}
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.YTsaurus())
    assert refused(plan) == {"q": "no_heartbeat"}


def test_work_that_is_kept_off_ssd_nodes_waits() -> None:
    nodes = [{"name": "n", "capacity": {"cpu": 5}, "tags": ["ssd"]}]
    pools = [{"name": "p", "settings": {"allow_regular_allocations_on_ssd_nodes": False}}]
    data = small(nodes=nodes, pools=pools, operations=with_w(pool="p"))
    assert refused(made(data, given=PREEMPTIBLE, ssd_priority_preemption=SSD)) == {"q": "ssd_only"}


def test_an_overfull_resource_is_what_is_missing() -> None:
    data = cluster({"cpu": 4, "memory": 3}, [row("v1", "v", cpu=1, memory=4)], [row("q", "w", cpu=1)])
    plan = made(data, node_overcommit_delay=15)
    assert met(plan, "request", "q")[0] == "regular: no_free_room"
    assert plan.why_not("q").looked_at[0]["missing"] == {"memory": 1}
    assert plan.refusals.to_list()[0]["numbers"]["missing"] == {"memory": 1}


def test_upstream_an_aggressively_starving_one_is_not_said_to_lack_starvation() -> None:
    """It is served in the aggressive stage alone there."""
    given = {"starvation": AGGRESSIVE, "groups": {"v1": "non_preemptible"}}
    told = met(made(small(), given=given, preset="upstream"), "request", "q")
    assert told == ["regular: no_free_room", "aggressive: no_room_even_with_victims"]
    told = met(made(small(), given=given, preset="upstream", state=attempted(5)), "request", "q")
    assert told == ["regular: no_free_room", "preemptive: backoff"]


def test_stages_for_ssd_nodes_say_nothing_of_those_who_need_no_ssd() -> None:
    nodes = [{"name": "n", "capacity": {"cpu": 4}, "tags": ["ssd"]}]
    told = met(made(small(nodes=nodes), given=PROTECTED, ssd_priority_preemption=SSD), "request", "q")
    assert told == [
        "regular: no_free_room",
        "preemptive: no_room_even_with_victims",
        "aggressive: not_aggressively_starving",
    ]


def test_plain_work_may_be_kept_off_ssd_nodes() -> None:
    nodes = [{"name": "n", "capacity": {"cpu": 5}, "tags": ["ssd"]}]
    pools = [{"name": "p", "settings": {"allow_regular_allocations_on_ssd_nodes": False}}]
    data = small(nodes=nodes, pools=pools, operations=with_w(pool="p"))
    told = met(made(data, given=PREEMPTIBLE, ssd_priority_preemption=SSD), "request", "q")
    assert set(told) == {
        f"{stage}: ssd_only"
        for stage in ("regular", "ssd_preemptive", "ssd_aggressive", "preemptive", "aggressive")
    }


@pytest.mark.parametrize(
    ("stage", "state"), [("ssd_preemptive", "starving"), ("ssd_aggressive", "aggressively_starving")]
)
def test_ssd_stages_have_reasons_of_their_own(plan: Planner, stage: str, state: str) -> None:
    """Work that uses the disks may go in the aggressive one, other work in both."""
    nodes = [{"name": "n", "capacity": {"cpu": 4}, "tags": ["ssd"]}]
    operations = with_w(settings={"disk_media": ["fast"]})
    aggressive = stage == "ssd_aggressive"
    uses = {"settings": {"disk_medium": "fast"}} if aggressive else {}
    data = small(uses, nodes=nodes, operations=operations)
    group = "aggressively_preemptible" if aggressive else "non_preemptible"
    given = {"starvation": {"w": state, "v": "non_starving"}, "groups": {"v1": group}}
    found = plan(data, given=given, ssd_priority_preemption=SSD)
    reason = "ssd_aggressive_preemption" if aggressive else "ssd_preemption"
    assert reasons(found) == [reason, "fits_after_preemption"]
    assert [d["stage"] for d in found["decisions"]] == [stage] * 2


def host(penalty: float = 0.0, share: float = 1.0, allocation: Any = None, **more: Any) -> list[str]:
    data = cluster(
        {"gpu": 8}, [{**row("v1", "v", gpu=4), **(allocation or {})}], [row("q", "w", gpu=8)], **more
    )
    element = {"name": "w", "kind": "operation", "since": NOW - 500, "starvation": "non_starving"}
    state = {"schema": "evenhand/state/1", "time": NOW, "settings": "", "pools": [], "elements": [element]}
    given = {
        "groups": {"v1": "non_preemptible"},
        "starvation": {"w": "non_starving"},
        "fair_share": {"w": {"gpu": share}},
    }
    stage = {"enable": True, "max_preemption_penalty": penalty}
    plan = made(
        data, state, given, default_gpu_full_host_preemption=stage, fair_share={"main_resource": "gpu"}
    )
    return met(plan, "request", "q")


def test_the_stage_for_whole_nodes() -> None:
    assert host(1e9)[-1] == "full_host: started"
    assert host(0.0)[-1] == "full_host: penalty_too_high"
    assert host(1e9, share=0.5)[-1] == "full_host: within_fair_share_only"
    whole = {"resources": {"gpu": 8}}
    assert host(1e9, allocation=whole)[-1] == "full_host: penalty_too_high"
    assert host(1e9, allocation={"preemptible": False})[-1] == "full_host: no_room_even_with_victims"


def test_the_stage_for_whole_nodes_says_nothing_of_smaller_requests() -> None:
    data = cluster({"gpu": 8}, [row("v1", "v", gpu=8)], [row("q", "w", gpu=4)])
    plan = made(
        data,
        given={**PROTECTED},
        default_gpu_full_host_preemption={"enable": True},
        fair_share={"main_resource": "gpu"},
    )
    assert not any(outcome.startswith("full_host") for outcome in met(plan, "request", "q"))


def spared(allocation: dict[str, Any] | None = None, given: Any = None, **settings: Any) -> list[str]:
    data = small(allocation, operations=settings.pop("operations", OPERATIONS))
    return met(made(data, given=given, **settings), "allocation", "v1")


NOTHING_TO_REPAIR = ["limit_repair: no_violation", "overcommit: no_violation"]


@pytest.mark.parametrize(
    ("arguments", "preemptive", "aggressive"),
    [
        ({"given": PROTECTED}, "protected_group", "protected_group"),
        (
            {"given": {**PROTECTED, "groups": {"v1": "aggressively_preemptible"}}},
            "protected_group",
            "no_start_in_stage",
        ),
        (
            # In the preemptive stage the group alone protects it.
            {
                "given": {**PROTECTED, "groups": {"v1": "aggressively_preemptible"}},
                "allow_aggressive_preemption": False,
            },
            "protected_group",
            "aggressive_not_allowed",
        ),
        (
            {"given": {"starvation": {"v": "starving", "w": "starving"}, "groups": {"v1": "preemptible"}}},
            *("operation_starving", "operation_starving"),
        ),
        (
            {"given": PREEMPTIBLE, "allocation": {"preemptible": False}},
            *("not_preemptible_flag", "not_preemptible_flag"),
        ),
        ({"given": NORMAL}, "no_start_in_stage", "no_start_in_stage"),
        (
            {
                "given": PROTECTED,
                "operations": [{"name": "v", "settings": {"preemption_mode": "graceful"}}, {"name": "w"}],
            },
            *("graceful_operation", "graceful_operation"),
        ),
    ],
)
def test_of_an_allocation(arguments: dict[str, Any], preemptive: str, aggressive: str) -> None:
    told = [f"preemptive: {preemptive}", f"aggressive: {aggressive}", *NOTHING_TO_REPAIR]
    assert spared(**arguments) == told


def test_of_an_allocation_on_a_node_that_backs_off() -> None:
    data = small()
    plan = made(data, attempted(5), PREEMPTIBLE)
    assert met(plan, "allocation", "v1") == ["preemptive: no_start_in_stage", *NOTHING_TO_REPAIR]


@pytest.mark.parametrize(
    ("state", "outcome"), [("preempting", "already_preempting"), ("suspended", "not_running")]
)
def test_of_what_does_not_run(state: str, outcome: str) -> None:
    assert spared({"state": state}, PROTECTED) == [f"regular: {outcome}"]


def test_of_what_was_given_back_or_came_too_late() -> None:
    """For 3: the newest of 1, then 3, which does alone; what is older is not looked at."""
    running = [row("old", "v", cpu=3), row("large", "v", cpu=3), row("new", "v", cpu=1)]
    data = cluster({"cpu": 7}, running, [row("q", "w", cpu=3)])
    plan = made(data, given=starving("w", preemptible=("old", "large", "new")))
    assert [str(d.allocation) for d in plan.decisions.victims] == ["large"]
    assert met(plan, "allocation", "new")[0] == "preemptive: given_back"
    assert met(plan, "allocation", "old")[0] == "preemptive: spared_fits_without"
    assert met(plan, "allocation", "large")[0] == "preemptive: taken"


def test_a_start_of_a_preemptive_stage_in_free_room(plan: Planner) -> None:
    """The pool's slack counts in preemptive stages only; nobody has to leave."""
    settings = {"resource_limits_overcommit_tolerance": {"cpu": 1}}
    pools = [{"name": "p", "limits": {"cpu": 0.5}, "settings": settings}]
    data = cluster(
        {"cpu": 4}, [], [row("q", "w", cpu=1)], pools=pools, operations=[{"name": "w", "pool": "p"}]
    )
    found = plan(data, given=starving("w"), limit_repair="stage")
    assert done(found) == ["+q"]
    assert reasons(found) == ["fits_free_room"]
    assert [d["stage"] for d in found["decisions"]] == ["preemptive"]


@pytest.mark.parametrize("starts", [False, True])
def test_repair_in_the_stage_with_and_without_a_start(plan: Planner, starts: bool) -> None:
    data = cluster(
        {"cpu": 4},
        [row("v1", "v", cpu=2), row("u1", "u", cpu=2)],
        [row("q", "w", cpu=2 if starts else 9)],
        operations=[{"name": "u", "limits": {"cpu": 1}}, {"name": "v"}, {"name": "w"}],
    )
    given = starving("w", preemptible=("u1", "v1"), fair_share={"u": {"cpu": 0.0}})
    given["groups"]["u1"] = "preemptible"
    found = plan(data, given=given, limit_repair="stage")
    # The newest goes for the start; who is over its limit goes either way.
    assert done(found) == (["-u1", "+q"] if starts else ["-u1"])
    assert reasons(found) == (
        ["preemption", "fits_after_preemption"] if starts else ["resource_limits_violated"]
    )


def test_repair_in_the_stage_after_a_start(plan: Planner) -> None:
    data = cluster(
        {"cpu": 4},
        [row("u1", "u", cpu=2), row("v1", "v", cpu=2)],
        [row("q", "w", cpu=2)],
        operations=[{"name": "u", "limits": {"cpu": 1}}, {"name": "v"}, {"name": "w"}],
    )
    found = plan(data, given=starving("w", preemptible=("u1", "v1")), limit_repair="stage")
    assert done(found) == ["-v1", "+q", "-u1"]
    assert reasons(found) == ["preemption", "fits_after_preemption", "resource_limits_violated"]
