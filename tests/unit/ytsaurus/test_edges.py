"""YTsaurus' thresholds, clocks and units: exactly there and a step to each side; engine and reference alike.

Sources: the description's words ("more than", "at most"), and the rules pinned for what it leaves open.
"""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.ytsaurus.settings import YTsaurusSettings
from tests.properties.ytsaurus.test_preemption import essence
from tests.reference.ytsaurus import reference_plan

STEP = 1e-6  # a microsecond, the unit of clocks
NOW = 1000.0
FULL = {"name": "n", "capacity": {"cpu": 4}}
Done = list[tuple[str, str, str]]


def allocation(name: str, cpu: int, operation: str = "v", **fields: Any) -> dict[str, Any]:
    return {"name": name, "operation": operation, "node": "n", "resources": {"cpu": cpu}, **fields}


def request(name: str, cpu: int, operation: str = "w", **fields: Any) -> dict[str, Any]:
    return {"name": name, "operation": operation, "resources": {"cpu": cpu}, **fields}


def state(**fields: Any) -> dict[str, Any]:
    return {"schema": "evenhand/state/1", "time": NOW, "settings": "", "pools": [], **fields}


def deficit(since: float, starvation: str = "non_starving", name: str = "w") -> dict[str, Any]:
    row = {"name": name, "kind": "operation", "since": since, "starvation": starvation}
    return state(elements=[row])


def planned(
    data: dict[str, Any],
    given: dict[str, Any] | None,
    before: dict[str, Any] | None,
    preset: Any = "documented",
    **settings: Any,
) -> eh.Plan:
    """Return the engine's plan of a heartbeat, which is the reference's."""
    snapshot = eh.Snapshot.from_dict({"now": NOW, "resources": {"cpu": {}}, "nodes": [FULL], **data})
    chosen = YTsaurusSettings.preset(preset, **settings)
    on = eh.Heartbeat("n")
    expected = reference_plan(snapshot, chosen, before, on=on, given=given)
    policy = eh.policies.YTsaurus(**chosen.model_dump())
    made = eh.plan(snapshot, policy, before and eh.State.from_dict(before), on=on, given=given)
    assert essence(made.to_dict()) == essence(expected)
    return made


def done(made: eh.Plan) -> Done:
    return [(d.action, str(d.allocation or d.request), d.stage) for d in made.decisions]


def one(
    allocations: list[dict[str, Any]],
    requests: list[dict[str, Any]],
    *,
    starving: str = "starving",
    groups: dict[str, str] | None = None,
    before: dict[str, Any] | None = None,
    rows: dict[str, Any] | None = None,
    **settings: Any,
) -> eh.Plan:
    """v has the whole node, all of it preemptible unless told otherwise; w wants some of it."""
    operations = [{"name": "v"}, {"name": "w"}]
    data = {"operations": operations, "allocations": allocations, "requests": requests, **(rows or {})}
    given = {
        "groups": {a["name"]: "preemptible" for a in allocations} | (groups or {}),
        "starvation": {"w": starving, "v": "non_starving"},
        "fair_share": {"w": {"cpu": 1.0}},
    }
    return planned(data, given, before, **settings)


# --- clocks


@pytest.mark.parametrize(
    ("waited", "starvation"),
    [(30 - STEP, "non_starving"), (30, "non_starving"), (30 + STEP, "starving")],
)
@pytest.mark.parametrize("aggressive", [False, True])
def test_starvation_after_more_than_its_timeout(waited: float, starvation: str, aggressive: bool) -> None:
    settings: dict[str, Any] = {"fair_share_starvation_timeout": 30.0}
    if aggressive:
        settings = {
            "fair_share_starvation_timeout": 10.0,
            "fair_share_aggressive_starvation_timeout": 30.0,
            "enable_aggressive_starvation": True,
        }
        starvation = "aggressively_starving" if starvation == "starving" else "starving"
    data = {
        "operations": [{"name": "v"}, {"name": "w"}],
        "allocations": [allocation("a", 4)],
        "requests": [request("r", 1, count=100)],
    }
    before = deficit(NOW - waited, "non_starving" if not aggressive else "starving")
    made = planned(data, None, before, **settings)
    assert made.statuses["w"].starvation == starvation


def test_the_first_update_of_a_deficit_only_notes_it() -> None:
    data = {
        "operations": [{"name": "v"}, {"name": "w"}],
        "allocations": [allocation("a", 4)],
        "requests": [request("r", 1)],
    }
    made = planned(data, None, None, fair_share_starvation_timeout=0.0)
    assert (made.statuses["w"].since, made.statuses["w"].starvation) == (NOW, "non_starving")
    over = {**data, "allocations": [allocation("a", 2), allocation("b", 2, "w")]}
    made = planned(over, {"fair_share": {"w": {"cpu": 0.5}}}, deficit(900.0, "starving"))
    assert (made.statuses["w"].since, made.statuses["w"].starvation) == (None, "non_starving")


@pytest.mark.parametrize(("ago", "tries"), [(5 - STEP, False), (5, False), (5 + STEP, True)])
def test_another_attempt_after_more_than_the_back_off(ago: float, tries: bool) -> None:
    node = {"name": "n", "last_preemptive": NOW - ago, "overcommitted_since": None}
    made = one([allocation("a", 4)], [request("r", 4)], before=state(nodes=[node]))
    assert [d.allocation for d in made.decisions.victims] == (["a"] if tries else [])
    assert made.state.nodes["n"]["last_preemptive"] == (NOW if tries else NOW - ago)


def test_an_attempt_without_a_candidate_renews_the_back_off() -> None:
    made = one([allocation("a", 4)], [request("r", 4)], starving="non_starving")
    assert not made.decisions
    assert made.state.nodes["n"]["last_preemptive"] == NOW


@pytest.mark.parametrize(("ago", "goes"), [(15 - STEP, False), (15, False), (15 + STEP, True)])
def test_an_overcommit_goes_after_more_than_its_delay(ago: float, goes: bool) -> None:
    node = {**FULL, "capacity": {"cpu": 3}}
    clock = {"name": "n", "last_preemptive": None, "overcommitted_since": NOW - ago}
    rows = {"nodes": [node]}
    made = one([allocation("a", 4)], [], rows=rows, before=state(nodes=[clock]), node_overcommit_delay=15.0)
    assert done(made) == ([("preempt", "a", "overcommit")] if goes else [])
    assert made.state.nodes["n"]["overcommitted_since"] == (None if goes else NOW - ago)


def test_an_overcommit_that_ended_begins_anew() -> None:
    clock = {"name": "n", "last_preemptive": None, "overcommitted_since": 900.0}
    made = one([allocation("a", 4)], [], before=state(nodes=[clock]), node_overcommit_delay=15.0)
    assert made.state.nodes["n"]["overcommitted_since"] is None


def test_each_grace_is_its_own() -> None:
    v = {"name": "v", "settings": {"preemption_mode": "graceful"}}
    settings = {"allocation_preemption_timeout": 7.0, "allocation_graceful_preemption_timeout": 11.0}
    gracefully = one([allocation("a", 4)], [], rows={"operations": [v, {"name": "w"}]}, **settings)
    assert [(d.stage, d.grace, d.until) for d in gracefully.decisions.victims] == [("graceful", 11.0, 1011.0)]
    asked = one([allocation("a", 4)], [request("r", 4)], **settings)
    assert [(d.stage, d.grace, d.until) for d in asked.decisions.victims] == [("preemptive", 7.0, 1007.0)]


# --- the stage of full hosts


def full_host(
    fair_share: float = 1.0,
    waited: float = 200.0,
    started: float = 990.0,
    wanted: int = 8,
    resources: tuple[float, ...] = (4, 4),
    **settings: Any,
) -> bool:
    data = {
        "resources": {"gpu": {}},
        "nodes": [{"name": name, "capacity": {"gpu": 8}} for name in "nm"],
        "operations": [{"name": "v"}, {"name": "w"}],
        "allocations": [
            {"name": f"a{i}", "operation": "v", "node": "n", "resources": {"gpu": gpus}}
            | {"start_time": started, "last_job_start_time": 999.0}
            for i, gpus in enumerate(resources)
        ],
        "requests": [{"name": "r", "operation": "w", "resources": {"gpu": wanted}}],
    }
    given = {
        "groups": {f"a{i}": "non_preemptible" for i in range(len(resources))},
        "starvation": {"w": "non_starving"},
        "fair_share": {"w": {"gpu": fair_share}},
    }
    stage = {"enable": True, "max_preemption_penalty": 1e9, **settings}
    made = planned(
        data,
        given,
        deficit(NOW - waited),
        default_gpu_full_host_preemption=stage,
        fair_share={"main_resource": "gpu"},
    )
    return any(d.stage == "full_host" for d in made.decisions)


@pytest.mark.parametrize(("most", "taken"), [(79.999, False), (80.0, True), (80.001, True)])
def test_penalty_of_a_full_host_in_gpu_seconds(most: float, taken: bool) -> None:
    """Two protected allocations of four gpus lose ten seconds each, counted from the allocation's start."""
    assert full_host(max_preemption_penalty=most) == taken


@pytest.mark.parametrize(("waited", "taken"), [(120 - STEP, False), (120, False), (120 + STEP, True)])
def test_a_full_host_after_more_than_its_timeout(waited: float, taken: bool) -> None:
    assert full_host(waited=waited, timeout=120.0) == taken


@pytest.mark.parametrize(("fair_share", "taken"), [(0.5, True), (0.5 - 1e-10, True), (0.5 - 1e-8, False)])
def test_a_full_host_within_the_fair_share(fair_share: float, taken: bool) -> None:
    """Eight gpus are half of the cluster; shares that differ by 1e-9 are equal."""
    assert full_host(fair_share) == taken


@pytest.mark.parametrize(("wanted", "taken"), [(7, False), (8, True)])
def test_only_what_takes_all_gpus_takes_a_full_host(wanted: int, taken: bool) -> None:
    assert full_host(wanted=wanted) == taken


def test_who_has_a_full_host_keeps_it() -> None:
    assert not full_host(resources=(8,))
    assert full_host(resources=(7, 1))


# --- limits


@pytest.mark.parametrize(("limit", "goes"), [(3, True), (4, False), (5, False)])
def test_repair_of_a_limit_that_is_exceeded(limit: int, goes: bool) -> None:
    rows = {"operations": [{"name": "v", "limits": {"cpu": limit}}, {"name": "w"}]}
    made = one([allocation("a", 4)], [], rows=rows)
    assert done(made) == ([("preempt", "a", "limit_repair")] if goes else [])


@pytest.mark.parametrize(("slack", "starts"), [(0, False), (1, True)])
@pytest.mark.parametrize("stage", ["regular", "preemptive"])
def test_slack_of_a_limit_in_preemptive_stages_only(slack: int, starts: bool, stage: str) -> None:
    """A pool of at most 3 cpus, or 4 with its slack, wants 4."""
    settings = {"resource_limits_overcommit_tolerance": {"cpu": slack}}
    pool = {"name": "p", "limits": {"cpu": 3}, "settings": settings}
    rows = {"pools": [pool], "operations": [{"name": "v"}, {"name": "w", "pool": "p"}]}
    running = [] if stage == "regular" else [allocation("a", 4)]
    starving = "non_starving" if stage == "regular" else "starving"
    made = one(running, [request("r", 4)], rows=rows, starving=starving, limit_repair="stage")
    assert [d.stage for d in made.decisions.starts] == ([stage] if starts and stage == "preemptive" else [])


@pytest.mark.parametrize("stage", ["regular", "preemptive"])
def test_limits_are_overcommitted_in_preemptive_stages_only(stage: str) -> None:
    rows = {"operations": [{"name": "v"}, {"name": "w", "limits": {"cpu": 3}}]}
    running = [] if stage == "regular" else [allocation("a", 4)]
    starving = "non_starving" if stage == "regular" else "starving"
    settings = {"use_precommit_for_preemption": True, "enable_infinite_resource_limits_overcommit": True}
    made = one(running, [request("r", 4)], rows=rows, starving=starving, **settings)
    assert [d.stage for d in made.decisions.starts] == (["preemptive"] if stage == "preemptive" else [])


# --- stages and victims


@pytest.mark.parametrize(
    ("order", "stage"), [("regular_first", "preemptive"), ("aggressive_first", "aggressive")]
)
def test_order_of_stages(order: str, stage: str) -> None:
    settings = {"regular_first": "documented", "aggressive_first": "upstream"}
    made = one(
        [allocation("a", 4)], [request("r", 4)], starving="aggressively_starving", preset=settings[order]
    )
    assert [d.stage for d in made.decisions.starts] == [stage]


@pytest.mark.parametrize(("switch", "starts"), [("one_per_stage", 2), ("one_per_heartbeat", 1)])
def test_starts_of_a_heartbeat(switch: str, starts: int) -> None:
    """Of one that starves aggressively, and is served in the preemptive stage, too."""
    running = [allocation(f"a{i}", 2) for i in range(2)]
    made = one(
        running, [request("r", 2, count=2)], starving="aggressively_starving", preemptive_starts=switch
    )
    assert len(made.decisions.starts) == starts


@pytest.mark.parametrize(("switch", "stages"), [("documented", ["preemptive"]), ("upstream", [])])
def test_who_is_served_in_the_preemptive_stage(switch: str, stages: list[str]) -> None:
    """Aggressively starving ones too, or not: then what only the aggressive stage may take is left to it."""
    given = {
        "preemptive_stage_targets": "starving_and_aggressively_starving" if stages else "exactly_starving"
    }
    made = one([allocation("a", 4)], [request("r", 4)], starving="aggressively_starving", **given)
    assert [d.stage for d in made.decisions.starts] == (stages or ["aggressive"])


@pytest.mark.parametrize(("fair_share", "within"), [(1.0, True), (1.0 - 1e-10, True), (0.99, False)])
def test_a_victim_within_its_fair_share(fair_share: float, within: bool) -> None:
    data = {
        "operations": [{"name": "v"}, {"name": "w"}],
        "allocations": [allocation("a", 4)],
        "requests": [request("r", 4)],
    }
    given = {
        "groups": {"a": "preemptible"},
        "starvation": {"w": "starving"},
        "fair_share": {"w": {"cpu": 1.0}, "v": {"cpu": fair_share}},
    }
    made = planned(data, given, None)
    assert [d.victim_within_fair_share for d in made.decisions.victims] == [within]


@pytest.mark.parametrize(("limit", "first"), [(1, "b"), (2, "b"), (3, "a")])
def test_of_protected_work_that_which_leaves_cpu_idle_goes_first(limit: int, first: str) -> None:
    """Both use two cpus; a, which started first, may use so many."""
    running = [
        allocation("a", 2, start_time=10.0, settings={"resource_limits": {"cpu": limit}}),
        allocation("b", 2, start_time=20.0),
    ]
    protected = dict.fromkeys("ab", "aggressively_preemptible")
    made = one(running, [request("r", 2)], starving="aggressively_starving", groups=protected)
    assert [(d.allocation, d.stage) for d in made.decisions.victims] == [(first, "aggressive")]


@pytest.mark.parametrize(
    ("used", "stage"),
    [(1, None), (2, "aggressive"), (3, "aggressive"), (4, "aggressive"), (5, "preemptive")],
)
def test_who_is_served_badly_shields_its_work(used: int, stage: str | None) -> None:
    """Older revisions, which the reference leaves out: below the stage's own threshold, 1.0 or 0.4.

    v has a fair share of four cpus of eight.
    """
    data = {
        "now": NOW,
        "resources": {"cpu": {}},
        "nodes": [{**FULL, "capacity": {"cpu": 8}}],
        "operations": [{"name": "v"}, {"name": "w"}, {"name": "x"}],
        "allocations": [allocation("a", used), allocation("rest", 8 - used, "x", preemptible=False)],
        "requests": [request("r", 1), request("more", 8, "v")],
    }
    given = {
        "groups": {"a": "preemptible", "rest": "non_preemptible"},
        "starvation": {"v": "non_starving", "w": "aggressively_starving", "x": "non_starving"},
        "fair_share": {"v": {"cpu": 0.5}, "w": {"cpu": 1.0}},
    }
    policy = eh.policies.YTsaurus(
        preemption_check_satisfaction=True, aggressive_preemption_satisfaction_threshold=0.4
    )
    made = eh.plan(eh.Snapshot.from_dict(data), policy, on=eh.Heartbeat("n"), given=given)
    assert [d.stage for d in made.decisions.victims] == ([stage] if stage else [])


@pytest.mark.parametrize(("used", "below"), [(1, True), (2, False), (3, False)])
@pytest.mark.parametrize("sizes", [(2, 4), (4, 2), (2, 2)])
def test_a_gap_that_holds_no_allocation_is_no_deficit(used: int, below: bool, sizes: tuple[int, int]) -> None:
    """Of a fair share of four cpus so many are used; the smallest request wants two: more must be missing."""
    data = {
        "nodes": [{**FULL, "capacity": {"cpu": 8}}],
        "operations": [{"name": "v"}, {"name": "w"}],
        "allocations": [allocation("a", used, "w"), allocation("rest", 8 - used)],
        "requests": [request(f"r{i}", size) for i, size in enumerate(sizes)],
    }
    given = {"fair_share": {"w": {"cpu": 0.5}}}
    made = planned(data, given, None, enable_absolute_fair_share_starvation_tolerance=True)
    assert made.statuses["w"].status == ("below_fair_share" if below else "normal")
