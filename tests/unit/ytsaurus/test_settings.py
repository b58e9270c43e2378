"""Settings of the YTsaurus policy: presets, aliases, cross-checks, settings of rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

import evenhand as eh
from evenhand.systems.ytsaurus.rows import read_settings
from evenhand.systems.ytsaurus.settings import YTsaurusSettings
from evenhand.systems.ytsaurus.tag_filter import TagFilter


def problem_of(**settings: Any) -> eh.errors.Problem:
    with pytest.raises(eh.InputError) as caught:
        YTsaurusSettings(**settings)
    (problem,) = caught.value.problems
    assert problem.table == "settings"
    assert problem.field in problem.message
    return problem


def rows(**tables: Any) -> dict[str, dict[int, Any]]:
    return read_settings(eh.Snapshot.from_dict({"resources": {"cpu": {}}, **tables}))


def test_presets_differ_in_the_switches_only() -> None:
    documented = YTsaurusSettings.preset("documented").model_dump()
    upstream = YTsaurusSettings.preset("upstream").model_dump()
    assert {name: value for name, value in upstream.items() if documented[name] != value} == {
        "stage_order": "regular_aggressive_preemptive",
        "preemptive_stage_targets": "exactly_starving",
        "victim_selection": "prefix",
        "preemptive_starts": "one_per_heartbeat",
        "satisfied_demand_tolerance": "one",
        "usage_threshold_scope": "prefix",
        "limit_repair": "stage",
        "node_overcommit_delay": 15.0,
        "order_key": "last_progress",
        "victims_room": "free_at_once",
    }
    assert YTsaurusSettings() == YTsaurusSettings.preset("documented")
    with pytest.raises(eh.InputError, match="preset"):
        YTsaurusSettings.preset("other")  # type: ignore[arg-type]


@pytest.mark.parametrize("duration", [300, "5m", "00:05:00", timedelta(minutes=5)])
def test_durations(duration: Any) -> None:
    settings = YTsaurusSettings(preemptive_scheduling_backoff=duration)
    assert settings.preemptive_scheduling_backoff == 300.0


@pytest.mark.parametrize(
    ("settings", "field", "rule"),
    [
        ({"preemption_satisfaction_threshold": 0.0}, "preemption_satisfaction_threshold", "range"),
        ({"fair_share_starvation_tolerance": 1.01}, "fair_share_starvation_tolerance", "range"),
        ({"fair_share_starvation_timeout": "soon"}, "fair_share_starvation_timeout", "duration"),
        ({"fair_share_starvation_timeout": -1}, "fair_share_starvation_timeout", "range"),
        ({"fair_share_starvation_timeout": True}, "fair_share_starvation_timeout", "type"),
        ({"enable_pool_starvation": 1}, "enable_pool_starvation", "type"),
        ({"stage_order": "any"}, "stage_order", "choice"),
        (
            {"non_preemptible_resource_usage_threshold": None},
            *("non_preemptible_resource_usage_threshold", "type"),
        ),
        (
            {"ssd_priority_preemption": {"enable": True}},
            "ssd_priority_preemption.node_tag_filter",
            "required",
        ),
        (
            {"enable_infinite_resource_limits_overcommit": True},
            *("enable_infinite_resource_limits_overcommit", "needs"),
        ),
        (
            {"enable_aggressive_starvation": True, "fair_share_aggressive_starvation_timeout": 29},
            "fair_share_aggressive_starvation_timeout",
            "range",
        ),
        ({"fair_share": {"improve": True}}, "fair_share.improve", "unknown_field"),
    ],
)
def test_wrong_values(settings: dict[str, Any], field: str, rule: str) -> None:
    problem = problem_of(**settings)
    assert (problem.field, problem.rule) == (field, rule)


def test_the_aggressive_threshold_may_equal_the_plain_one_but_not_exceed_it() -> None:
    equal = {"preemption_satisfaction_threshold": 0.5, "aggressive_preemption_satisfaction_threshold": 0.5}
    settings = YTsaurusSettings(**equal)
    with pytest.raises(eh.InputError, match=r"is 0\.6; it must not exceed .* \(0\.5\)"):
        settings.replace(aggressive_preemption_satisfaction_threshold=0.6)


def test_a_rule_between_timeouts_holds_where_the_longer_one_is_read() -> None:
    """What nothing starves by refuses no setting of the other."""
    on, timeouts = {"enable_aggressive_starvation": True}, (119.999999, 120.0, 120.000001)
    for timeout in timeouts:
        YTsaurusSettings(fair_share_starvation_timeout=timeout)
    for timeout in timeouts[:2]:
        YTsaurusSettings(fair_share_starvation_timeout=timeout, **on)
    problem = problem_of(fair_share_starvation_timeout=timeouts[2], **on)
    assert (problem.field, problem.rule) == ("fair_share_aggressive_starvation_timeout", "range")
    with pytest.raises(eh.InputError, match="must not be shorter"):
        YTsaurusSettings(fair_share_starvation_timeout=300).replace(**on)


def test_an_unknown_setting_is_told_with_the_nearest_one() -> None:
    problem = problem_of(preemptive_sheduling_backoff=1)
    assert problem.rule == "unknown_field"
    assert 'did you mean "preemptive_scheduling_backoff"' in problem.message


SYSTEMS_NAMES = {
    "enable_step_function_for_gang_operations": "step_function_for_gang",
    "enable_fair_share_truncation_in_fifo_pool": "fifo_truncation",
}


@pytest.mark.parametrize(("theirs", "ours"), SYSTEMS_NAMES.items())
def test_the_systems_names_of_fair_share_settings(theirs: str, ours: str) -> None:
    """They are read where ours are, and beside the tree's other settings, as the system has them."""
    for made in (
        eh.FairShareSettings(**{theirs: True}),
        eh.FairShareSettings(improved=True).replace(**{theirs: True}),
        eh.FairShareSettings(improved=True, **{ours: False}).replace(**{theirs: True}),
        YTsaurusSettings(fair_share={theirs: True}).fair_share,
        YTsaurusSettings(**{theirs: True}).fair_share,
        YTsaurusSettings.preset("upstream", **{theirs: True}).fair_share,
        YTsaurusSettings(fair_share={"improved": True}, **{theirs: True}).fair_share,
        YTsaurusSettings(fair_share=eh.FairShareSettings(improved=True), **{theirs: True}).fair_share,
        eh.policies.YTsaurus(**{theirs: True}).settings.fair_share,
    ):
        assert {name for name in SYSTEMS_NAMES.values() if getattr(made, name)} == {ours}
    on = YTsaurusSettings(fair_share={"improved": True, ours: True})
    off = on.replace(**{theirs: False}).fair_share
    assert (off.improved, getattr(off, ours)) == (True, False)
    assert on.replace(node_overcommit_delay=1).fair_share == on.fair_share


@pytest.mark.parametrize(("theirs", "ours"), SYSTEMS_NAMES.items())
def test_wrong_values_under_the_systems_names(theirs: str, ours: str) -> None:
    assert problem_of(**{theirs: 3.5}).field == f"fair_share.{ours}"
    for twice in ({ours: True}, {theirs: True}, eh.FairShareSettings(**{ours: True})):
        problem = problem_of(fair_share=twice, **{theirs: True})
        assert (problem.field, problem.rule) == (f"fair_share.{ours}", "unique")
    assert problem_of(fair_share=3, **{theirs: True}).field == "fair_share"
    with pytest.raises(eh.InputError, match=theirs):
        eh.FairShareSettings(**{theirs: True, ours: True})


@pytest.mark.parametrize(
    ("field", "within", "beyond"),
    [
        ("fair_share_starvation_tolerance", (0.0, 1.0), (-1e-9, 1 + 1e-9)),
        ("allocation_count_preemption_timeout_coefficient", (1.0, 1e9), (1 - 1e-9,)),
        ("preemption_satisfaction_threshold", (0.2, 1e9), (0.199999, 0.0)),
        ("aggressive_preemption_satisfaction_threshold", (0.0, 1.0), (-1e-300, 1 + 1e-9)),
        ("fair_share_starvation_timeout", (0, 3_153_600_000.0), (-1e-6, 3_153_600_001.0)),
        ("fair_share_aggressive_starvation_timeout", (30, 3_153_600_000.0), (-1e-6, 3_153_600_001.0)),
        ("preemptive_scheduling_backoff", (0, 3_153_600_000.0), (-1e-6, 3_153_600_000.1)),
        ("allocation_preemption_timeout", (0, 3_153_600_000.0), (-1e-6, 3_153_600_000.1)),
        ("allocation_graceful_preemption_timeout", (0, 3_153_600_000.0), (-1e-6, 3_153_600_000.1)),
        ("node_overcommit_delay", (0, 3_153_600_000.0), (-1e-6, 3_153_600_000.1)),
        ("minimum_budget", (1, 10**9), (0, 10**9 + 1)),
    ],
)
def test_bounds_of_settings(field: str, within: tuple[Any, ...], beyond: tuple[Any, ...]) -> None:
    for value in within:
        assert getattr(YTsaurusSettings(**{field: value}), field) == value
    for value in beyond:
        assert problem_of(**{field: value}).rule == "range"


def test_a_threshold_of_nothing_is_refused() -> None:
    aggressive = {"aggressive_preemption_satisfaction_threshold": 0.0}
    assert YTsaurusSettings(preemption_satisfaction_threshold=5e-324, **aggressive)
    assert problem_of(preemption_satisfaction_threshold=0.0, **aggressive).rule == "range"


@pytest.mark.parametrize(
    ("field", "within", "beyond"),
    [("max_preemption_penalty", (0.0, 1e9), (-1e-9,)), ("timeout", (0, 3_153_600_000.0), (-1e-6,))],
)
def test_bounds_of_the_full_host_stage(
    field: str, within: tuple[float, ...], beyond: tuple[float, ...]
) -> None:
    for value in within:
        made = YTsaurusSettings(default_gpu_full_host_preemption={field: value})
        assert getattr(made.default_gpu_full_host_preemption, field) == value
    for value in beyond:
        problem = problem_of(default_gpu_full_host_preemption={field: value})
        assert (problem.field, problem.rule) == (f"default_gpu_full_host_preemption.{field}", "range")


def test_aliases() -> None:
    settings = YTsaurusSettings(fair_share_preemption_timeout=7, job_interrupt_timeout="1m")
    assert settings.fair_share_starvation_timeout == 7
    assert settings.allocation_preemption_timeout == 60
    upstream = YTsaurusSettings.preset("upstream", allowed_node_resources_overcommit_duration=1)
    assert upstream.replace(job_interrupt_timeout=2).node_overcommit_delay == 1
    both = problem_of(node_overcommit_delay=1, allowed_node_resources_overcommit_duration=1)
    assert (both.field, both.rule) == ("node_overcommit_delay", "unique")


@pytest.mark.parametrize(
    ("given", "threshold"),
    [({}, {"user_slots": 7.0}), ({"user_slots": 5.0}, {"user_slots": 5.0}), (None, {"user_slots": 7.0})],
)
def test_the_old_count_fills_the_threshold(given: Any, threshold: dict[str, float]) -> None:
    old: dict[str, Any] = {"max_unpreemptible_running_allocation_count": 7}
    if given is not None:
        old["non_preemptible_resource_usage_threshold"] = given
    assert YTsaurusSettings(**old).non_preemptible_resource_usage_threshold == threshold
    wrong = problem_of(max_unpreemptible_running_allocation_count=-1)
    assert wrong.field == "max_unpreemptible_running_allocation_count"


def test_json_and_back() -> None:
    settings = YTsaurusSettings.preset(
        "upstream", ssd_priority_preemption={"enable": True, "node_tag_filter": "ssd", "medium_names": ["s"]}
    )
    assert YTsaurusSettings(**settings.model_dump(mode="json")) == settings


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        YTsaurusSettings().minimum_budget = 1  # type: ignore[misc]


def test_settings_of_rows() -> None:
    read = rows(
        root={"settings": {"fair_share_starvation_tolerance": 0.7}},
        pools=[{"name": "p", "settings": {"allow_regular_jobs_on_ssd_nodes": False}}],
        operations=[{"name": "o", "settings": {"preemption_mode": "graceful", "disk_media": ["s"]}}],
        nodes=[{"name": "n"}],
        allocations=[{"name": "a", "operation": "o", "node": "n", "settings": {"disk_medium": "s"}}],
    )
    assert read["pools"][0].fair_share_starvation_tolerance == 0.7
    assert not read["pools"][1].allow_regular_allocations_on_ssd_nodes
    assert read["operations"][0].preemption_mode == "graceful"
    assert read["operations"][0].disk_media == ("s",)
    assert read["allocations"][0].disk_medium == "s"


@pytest.mark.parametrize(
    ("tables", "table", "name", "field", "rule"),
    [
        ({"root": {"settings": {"x": 1}}}, "root", None, "settings.x", "unknown_field"),
        ({"nodes": [{"name": "n", "settings": {"x": 1}}]}, "nodes", "n", "settings.x", "unknown_field"),
        (
            {"pools": [{"name": "p", "settings": {"fair_share_starvation_timeout": "x"}}]},
            *("pools", "p", "settings.fair_share_starvation_timeout", "duration"),
        ),
        (
            {"operations": [{"name": "o", "settings": {"preemption_mod": "graceful"}}]},
            *("operations", "o", "settings.preemption_mod", "unknown_field"),
        ),
        (
            {"pools": [{"name": "p", "settings": {"non_preemptible_resource_usage_threshold": {"gpu": 1}}}]},
            *("pools", "p", "settings.non_preemptible_resource_usage_threshold.gpu", "exists"),
        ),
        (
            {
                "pools": [
                    {
                        "name": "p",
                        "settings": {
                            "allow_aggressive_preemption": True,
                            "allow_aggressive_starvation_preemption": True,
                        },
                    }
                ]
            },
            *("pools", "p", "settings.allow_aggressive_starvation_preemption", "unknown_field"),
        ),
    ],
)
def test_wrong_settings_of_rows(
    tables: dict[str, Any], table: str, name: str | None, field: str, rule: str
) -> None:
    with pytest.raises(eh.InputError) as caught:
        rows(**tables)
    (problem,) = caught.value.problems
    assert (problem.table, problem.name, problem.field, problem.rule) == (table, name, field, rule)


def test_the_tree_may_name_only_resources_that_are_there() -> None:
    tree = YTsaurusSettings(non_preemptible_resource_usage_threshold={"gpu": 1})
    with pytest.raises(eh.InputError) as caught:
        read_settings(eh.Snapshot.from_dict({"resources": {"cpu": {}}}), tree)
    (problem,) = caught.value.problems
    assert (problem.table, problem.field) == ("settings", "non_preemptible_resource_usage_threshold.gpu")


@pytest.mark.parametrize(
    ("formula", "accepted"),
    [
        ("", [set(), {"a"}]),
        ("a", [{"a"}, {"a", "b"}]),
        ("a & !b", [{"a"}]),
        ("!(a | b)", [set(), {"c"}]),
        ("a | b & c", [{"a"}, {"b", "c"}, {"a", "b"}]),
        ("!!a", [{"a"}]),
    ],
)
def test_tag_filters(formula: str, accepted: list[set[str]]) -> None:
    worlds: list[set[str]] = [set(), {"a"}, {"b"}, {"c"}, {"a", "b"}, {"b", "c"}, {"a", "b", "c"}]
    found = [world for world in worlds if TagFilter(formula).accepts(world)]
    assert all(world in found for world in accepted)
    told = formula.replace("!", " not ").replace("&", " and ").replace("|", " or ")
    expected = [w for w in worlds if not told or eval(told, {}, {tag: tag in w for tag in "abc"})]
    assert found == expected


@pytest.mark.parametrize("formula", ["a &", "(a", "a)", "a b", "| a", "!", "()"])
def test_broken_tag_filters(formula: str) -> None:
    with pytest.raises(ValueError, match="is "):
        TagFilter(formula)


#: Settings that do not fit together where anything may starve aggressively, and what is at their bound.
AGGRESSIVE: list[tuple[dict[str, Any], str, bool]] = [
    ({"fair_share_starvation_timeout": 120}, "fair_share_aggressive_starvation_timeout", True),
    ({"fair_share_starvation_timeout": 120.000001}, "fair_share_aggressive_starvation_timeout", False),
]


@pytest.mark.parametrize(("settings", "field", "fits"), AGGRESSIVE)
def test_what_is_off_refuses_nothing(settings: dict[str, Any], field: str, fits: bool) -> None:
    assert eh.plan(world([{"name": "p"}]), eh.policies.YTsaurus(**settings)).decisions is not None
    if fits:
        YTsaurusSettings(enable_aggressive_starvation=True, **settings)
        eh.plan(world([{"name": "p", "settings": ON}]), eh.policies.YTsaurus(**settings))
        return
    assert problem_of(enable_aggressive_starvation=True, **settings).field == field
    eh.plan(world([{"name": "p", "settings": OFF}]), eh.policies.YTsaurus(**settings))
    with pytest.raises(eh.InputError) as caught:
        eh.plan(world([{"name": "p", "settings": ON}]), eh.policies.YTsaurus(**settings))
    assert [(p.table, p.field) for p in caught.value.problems] == [("settings", field)]


ON, OFF = {"enable_aggressive_starvation": True}, {"enable_aggressive_starvation": False}


def world(pools: list[dict[str, Any]]) -> eh.Snapshot:
    """Six allocations of an operation whose fair share is half of the cluster."""
    allocations = [
        {"name": f"a{i}", "operation": "o", "node": "n", "resources": {"cpu": 1}, "start_time": i}
        for i in range(6)
    ]
    return eh.Snapshot.from_dict(
        {
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": 10}}],
            "pools": [*pools, {"name": "q"}],
            "operations": [{"name": "o", "pool": "p"}, {"name": "w", "pool": "q"}],
            "allocations": allocations,
            "requests": [{"name": "r", "operation": "w", "resources": {"cpu": 8}}],
        }
    )
