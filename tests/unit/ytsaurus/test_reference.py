"""The readable planner, where cases and laws say little: rooms, exotic stages, limits, clocks."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.ytsaurus.settings import YTsaurusSettings
from tests.reference.ytsaurus import reference_plan

NODE: dict[str, Any] = {"name": "n", "capacity": {"cpu": 4}}


def allocation(name: str, cpu: int, operation: str = "v", **fields: Any) -> dict[str, Any]:
    return {"name": name, "operation": operation, "node": "n", "resources": {"cpu": cpu}, **fields}


def request(name: str, cpu: int, operation: str = "w", **fields: Any) -> dict[str, Any]:
    return {"name": name, "operation": operation, "resources": {"cpu": cpu}, **fields}


def plan(
    allocations: list[dict[str, Any]],
    requests: list[dict[str, Any]],
    *,
    preset: Any = "documented",
    node: dict[str, Any] | None = None,
    rows: dict[str, Any] | None = None,
    starving: tuple[str, ...] = ("w",),
    groups: dict[str, str] | None = None,
    state: dict[str, Any] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Plan one heartbeat: v gives, w wants; all that runs is preemptible unless told otherwise."""
    names = {"v", "w", *(row["operation"] for row in (*allocations, *requests))}
    data = {
        "now": 1000.0,
        "resources": {"cpu": {}},
        "nodes": [{**NODE, **(node or {})}],
        "operations": [{"name": name} for name in sorted(names)],
        "allocations": allocations,
        "requests": requests,
        **(rows or {}),
    }
    given = {
        "groups": {a["name"]: "preemptible" for a in allocations} | (groups or {}),
        "starvation": {name: "starving" if name in starving else "non_starving" for name in names},
        "fair_share": {"w": {"cpu": 1.0}},
    }
    chosen = YTsaurusSettings.preset(preset, **settings)
    return reference_plan(eh.Snapshot.from_dict(data), chosen, state, on=eh.Heartbeat("n"), given=given)


def done(made: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(d["action"], d.get("allocation", d.get("request")), d["stage"]) for d in made["decisions"]]


@pytest.mark.parametrize(("preset", "next_start"), [("documented", []), ("upstream", ["small"])])
def test_what_victims_free_beyond_the_need_is_nobodys_until_they_are_gone(
    preset: str, next_start: list[str]
) -> None:
    rows = {"operations": [{"name": "v", "settings": {"preemption_mode": "graceful"}}, {"name": "w"}]}
    made = plan([allocation("a", 4)], [request("small", 1)], preset=preset, rows=rows, starving=())
    assert done(made)[0] == ("preempt", "a", "graceful")
    assert [d["request"] for d in made["decisions"] if d["action"] == "start"] == next_start


def test_what_is_leaving_is_room_for_its_beneficiary_only() -> None:
    leaving = allocation("gone", 3, state="preempting", deadline=1010.0)
    for_mine = {**leaving, "beneficiary": {"operation": "w", "request": "mine"}}
    assert done(plan([for_mine], [request("mine", 4)])) == [("start", "mine", "regular")]
    assert done(plan([for_mine], [request("other", 4)])) == []
    assert done(plan([for_mine], [request("other", 4)], preset="upstream")) == [("start", "other", "regular")]
    for_all_of_w = {**leaving, "beneficiary": {"operation": "w"}}
    assert done(plan([for_all_of_w], [request("any", 4)])) == [("start", "any", "regular")]


def test_room_that_leaves_for_somebody_is_used_once() -> None:
    leaving = allocation("gone", 4, state="preempting", beneficiary={"operation": "w", "request": "mine"})
    made = plan([leaving], [request("mine", 2, count=5)])
    assert done(made) == [("start", "mine", "regular")] * 2


def test_suspended_and_kept_room_is_taken() -> None:
    suspended, kept = (
        allocation("s", 2, state="suspended"),
        allocation("k", 2, state="preempted", held={"cpu": 1}),
    )
    assert done(plan([suspended, kept], [request("r", 2)])) == []
    assert done(plan([suspended, kept], [request("r", 1)])) == [("start", "r", "regular")]


def test_who_has_opted_out_stays() -> None:
    made = plan([allocation("a", 2), allocation("b", 2, preemptible=False)], [request("r", 4)])
    assert done(made) == []


def test_on_an_unschedulable_node_nothing_starts_but_it_is_repaired() -> None:
    made = plan([allocation("a", 5)], [request("r", 1)], node={"schedulable": False})
    assert done(made) == [("preempt", "a", "overcommit")]


def test_limits_must_hold_before_any_victim_goes() -> None:
    rows = {"operations": [{"name": "v"}, {"name": "w", "limits": {"cpu": 2}}]}
    mine = allocation("mine", 2, "w")
    assert done(plan([mine, allocation("a", 2)], [request("r", 1)], rows=rows)) == []
    free = {"use_precommit_for_preemption": True, "enable_infinite_resource_limits_overcommit": True}
    made = plan([mine, allocation("a", 2)], [request("r", 1)], rows=rows, **free)
    # The start breaks the limit, which the repair then mends; starving work is not immune there.
    assert done(made) == [
        ("preempt", "a", "preemptive"),
        ("start", "r", "preemptive"),
        ("preempt", "mine", "limit_repair"),
    ]


def test_a_pool_may_grant_slack_to_preemptive_stages() -> None:
    def made(slack: int) -> dict[str, Any]:
        settings = {"resource_limits_overcommit_tolerance": {"cpu": slack}}
        pool = {"name": "p", "limits": {"cpu": 2}, "settings": settings}
        rows = {"pools": [pool], "operations": [{"name": "v"}, {"name": "w", "pool": "p"}]}
        return plan([allocation("a", 4)], [request("r", 3)], rows=rows, limit_repair="stage")

    assert done(made(0)) == []
    assert done(made(1)) == [("preempt", "a", "preemptive"), ("start", "r", "preemptive")]


def test_repair_in_the_stage_takes_what_the_stage_may_take() -> None:
    rows = {"operations": [{"name": "v", "limits": {"cpu": 1}}, {"name": "w"}]}
    running = [allocation("old", 2, start_time=1.0), allocation("new", 2, start_time=2.0)]
    groups = {"old": "non_preemptible"}
    upstream = plan(running, [], rows=rows, groups=groups, preset="upstream")
    assert done(upstream) == [("preempt", "new", "limit_repair")]
    assert upstream["decisions"][0]["numbers"]["violated"] == "v"
    documented = plan(running, [], rows=rows, groups=groups)
    assert done(documented) == [("preempt", "new", "limit_repair"), ("preempt", "old", "limit_repair")]


def test_repair_gives_back_what_was_not_needed() -> None:
    rows = {"operations": [{"name": "v", "limits": {"cpu": 3}}, {"name": "w"}]}
    running = [allocation("big", 3, start_time=1.0), allocation("small", 1, start_time=2.0)]
    running.append(allocation("tiny", 1, start_time=3.0))
    rows["operations"][0]["limits"] = {"cpu": 2}
    made = plan(running, [], rows=rows, node={"capacity": {"cpu": 5}})
    # Newest first all three go; then "small" may come back, and with it "tiny".
    assert done(made) == [("preempt", "big", "limit_repair")]


def test_progress_makes_a_cheaper_victim_upstream_only() -> None:
    running = [
        allocation("saved", 2, start_time=1.0, last_progress_time=900.0),
        allocation("newer", 2, start_time=2.0),
    ]
    assert done(plan(running, [request("r", 2)]))[0] == ("preempt", "newer", "preemptive")
    assert done(plan(running, [request("r", 2)], preset="upstream"))[0] == ("preempt", "saved", "preemptive")


def test_a_licence_is_counted_in_the_cluster() -> None:
    rows = {
        "resources": {"cpu": {}, "licence": {"scope": "cluster", "capacity": 1}},
        "nodes": [NODE, {"name": "m", "capacity": {"cpu": 4}}],
    }
    elsewhere = {**allocation("a", 1), "node": "m", "resources": {"cpu": 1, "licence": 1}}
    wanting = {**request("r", 1), "resources": {"cpu": 1, "licence": 1}}
    assert done(plan([elsewhere], [wanting], rows=rows)) == []
    here = {**elsewhere, "node": "n"}
    made = plan([here], [wanting], rows=rows)
    assert done(made) == [("preempt", "a", "preemptive"), ("start", "r", "preemptive")]


SSD = {"enable": True, "node_tag_filter": "ssd", "medium_names": ["fast"]}


def test_ssd_work_pushes_out_protected_work_on_ssd_nodes() -> None:
    rows = {"operations": [{"name": "v"}, {"name": "w", "settings": {"disk_media": ["fast"]}}]}
    protected = {"rows": rows, "groups": {"a": "non_preemptible"}}
    assert done(plan([allocation("a", 4)], [request("r", 1)], node={"tags": ["ssd"]}, **protected)) == []
    made = plan(
        [allocation("a", 4)],
        [request("r", 1)],
        node={"tags": ["ssd"]},
        **protected,
        ssd_priority_preemption=SSD,
    )
    assert done(made) == [("preempt", "a", "ssd_preemptive"), ("start", "r", "ssd_preemptive")]
    assert made["decisions"][0]["reason"] == "ssd_preemption"


def test_plain_work_may_be_kept_off_ssd_nodes() -> None:
    settings = {"allow_regular_allocations_on_ssd_nodes": False}
    rows = {
        "pools": [{"name": "p", "settings": settings}],
        "operations": [{"name": "w", "pool": "p"}, {"name": "v"}],
    }
    node = {"tags": ["ssd"]}
    assert done(plan([], [request("r", 1)], rows=rows, node=node, ssd_priority_preemption=SSD)) == []
    assert done(plan([], [request("r", 1)], rows=rows, ssd_priority_preemption=SSD)) == [
        ("start", "r", "regular")
    ]


@pytest.mark.parametrize(
    ("penalty", "since", "fair_share", "starts"),
    [
        (80.0, 800.0, 1.0, True),
        (79.0, 800.0, 1.0, False),
        (80.0, 900.0, 1.0, False),
        (80.0, 800.0, 0.4, False),
    ],
)
def test_full_host_stage(penalty: float, since: float, fair_share: float, starts: bool) -> None:
    """Ten seconds of a protected allocation with eight gpus are a penalty of 80."""
    data = {
        "now": 1000.0,
        "resources": {"gpu": {}},
        "nodes": [{"name": "n", "capacity": {"gpu": 8}}, {"name": "m", "capacity": {"gpu": 8}}],
        "operations": [{"name": "v"}, {"name": "w"}],
        "allocations": [
            {"name": f"a{i}", "operation": "v", "node": "n", "resources": {"gpu": 4}, "start_time": 990.0}
            for i in range(2)
        ],
        "requests": [{"name": "r", "operation": "w", "resources": {"gpu": 8}}],
    }
    settings = YTsaurusSettings(
        default_gpu_full_host_preemption={"enable": True, "max_preemption_penalty": penalty},
        fair_share={"main_resource": "gpu"},
    )
    state = {
        "schema": "evenhand/state/1",
        "time": 999.0,
        "settings": "",
        "pools": [],
        "elements": [{"name": "w", "kind": "operation", "since": since, "starvation": "non_starving"}],
    }
    given = {
        "groups": {"a0": "non_preemptible", "a1": "non_preemptible"},
        "starvation": {"w": "non_starving"},
        "fair_share": {"w": {"gpu": fair_share}},
    }
    made = reference_plan(eh.Snapshot.from_dict(data), settings, state, on=eh.Heartbeat("n"), given=given)
    expected = [("preempt", "a1", "full_host"), ("preempt", "a0", "full_host"), ("start", "r", "full_host")]
    assert done(made) == (expected if starts else [])


def test_next_due() -> None:
    """The first of: starving (30 s), the back-off (5 s) after the attempt at 1000."""
    rows = {"operations": [{"name": "v"}, {"name": "w"}]}
    made = plan(
        [allocation("a", 4)], [request("r", 1)], rows=rows, starving=(), groups={"a": "non_preemptible"}
    )
    assert made["next_due"] == 1005.0
    assert made["state"]["nodes"] == [{"name": "n", "last_preemptive": 1000.0, "overcommitted_since": None}]
    assert [e["name"] for e in made["state"]["elements"]] == ["w"]


def test_an_overcommit_is_waited_out() -> None:
    def made(state: dict[str, Any] | None, since: float | None = None) -> dict[str, Any]:
        node = {"capacity": {"cpu": 3}, **({} if since is None else {"overcommitted_since": since})}
        return plan([allocation("a", 4)], [], node=node, preset="upstream", state=state)

    first = made(None)
    assert done(first) == []
    assert first["state"]["nodes"][0]["overcommitted_since"] == 1000.0
    assert done(made(None, since=985.0)) == []
    assert done(made(None, since=984.0)) == [("preempt", "a", "overcommit")]


def test_refusals_say_what_stood_in_the_way() -> None:
    made = plan([allocation("a", 4)], [request("r", 5), request("s", 1, node_tags=["x"])])
    assert {r["request"]: r["rule"] for r in made["refusals"]} == {
        "r": "no_room_even_with_victims",
        "s": "wrong_tags",
    }
