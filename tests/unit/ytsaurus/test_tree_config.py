"""The configuration of a pool tree: its times are milliseconds, its older names are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters import ytsaurus

CONFIG: dict[str, Any] = {
    "preemption_satisfaction_threshold": 0.99,
    "fair_share_starvation_tolerance": 0.8,
    "fair_share_starvation_timeout": 30000,
    "fair_share_aggressive_starvation_timeout": 120000,
    "nodes_filter": "gpu & !broken",
    "default_parent_pool": "research",
    "max_operation_count": 50000,
    "max_unpreemptable_running_job_count": 0,
    "preemptive_scheduling_backoff": 5000,
    "job_graceful_interrupt_timeout": 10000,
    "default_gpu_full_host_preemption": {"enable": True, "timeout": 90500},
    "integral_guarantees": {"smooth_period": 60001, "pool_capacity_saturation_period": 3600000},
    "enable_step_function_for_gang_operations": True,
    "allow_aggressive_preemption": None,
}


def test_times_are_milliseconds() -> None:
    settings = ytsaurus.read(CONFIG).policy().settings
    assert settings.fair_share_starvation_timeout == 30
    assert settings.fair_share_aggressive_starvation_timeout == 120
    assert settings.preemptive_scheduling_backoff == 5
    assert settings.allocation_graceful_preemption_timeout == 10
    assert settings.default_gpu_full_host_preemption.timeout == 90.5
    assert settings.fair_share.integral_smooth_period_s == 60.001
    assert settings.fair_share.integral_pool_capacity_saturation_period_s == 3600
    assert settings.fair_share.step_function_for_gang
    assert settings.preemption_satisfaction_threshold == 0.99
    assert settings.allow_aggressive_preemption  # null: as if it were not there


def test_it_is_planned_as_the_system_does_unless_another_preset_is_named() -> None:
    reading = ytsaurus.read(CONFIG)
    assert reading.policy().preset == "upstream"
    assert reading.policy("documented").preset == "documented"
    assert reading.policy(fair_share_starvation_timeout="1m").settings.fair_share_starvation_timeout == 60


def test_what_plays_no_part_is_named() -> None:
    reading = ytsaurus.read(
        {**CONFIG, "fair_share_starvation_tolerrance": 1, "integral_guarantees": {"other": 1}}
    )
    assert {d.code for d in reading.diagnostics} == {"ytsaurus_not_read"}
    assert [d.elements for d in reading.diagnostics] == [
        ("nodes_filter", "default_parent_pool", "max_operation_count", "integral_guarantees.other"),
        ("fair_share_starvation_tolerrance",),
    ]
    assert 'did you mean "fair_share_starvation_tolerance"?' in reading.diagnostics[1].message


@pytest.mark.parametrize(
    "name", ["max_unpreemptable_running_job_count", "max_unpreemptible_running_allocation_count"]
)
@pytest.mark.parametrize(("count", "threshold"), [(0, {}), (1, {"user_slots": 1}), (10, {"user_slots": 10})])
def test_the_count_of_protected_jobs(name: str, count: int, threshold: dict[str, float]) -> None:
    settings = ytsaurus.read({name: count}).policy().settings
    assert dict(settings.non_preemptible_resource_usage_threshold) == threshold


@pytest.mark.parametrize("form", ["text", "file", "wrapped"])
def test_the_forms_of_a_configuration(form: str, tmp_path: Path) -> None:
    text = json.dumps(CONFIG)
    path = tmp_path / "config.json"
    path.write_text(text)
    source: Any = {"text": text, "file": path, "wrapped": {"$value": CONFIG, "$attributes": {}}}[form]
    assert ytsaurus.read(source) == ytsaurus.read(CONFIG)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "{fair_share_starvation_timeout = 30000}",
            r'no JSON; it looks like YSON: add --format json to "yt get"',
        ),
        ("", "the configuration is no JSON"),
        ("[1]", "the configuration is a list; it must be an object"),
        ({"fair_share_starvation_timeout": True}, "fair_share_starvation_timeout is a flag"),
        (
            {"fair_share_starvation_timeout": "soon"},
            'fair_share_starvation_timeout is "soon", not a duration',
        ),
        (
            {"default_gpu_full_host_preemption": {"timeout": []}},
            "default_gpu_full_host_preemption.timeout is a list",
        ),
    ],
)
def test_what_is_no_configuration(source: Any, said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        ytsaurus.read(source)


def test_settings_that_break_a_rule_are_refused_by_the_policy() -> None:
    reading = ytsaurus.read({"preemption_satisfaction_threshold": -1})
    with pytest.raises(eh.InputError, match="preemption_satisfaction_threshold"):
        reading.policy()


# Milliseconds where seconds are meant


def told(pools: list[dict[str, Any]] | None = None, **settings: Any) -> list[Any]:
    data = {"resources": {"cpu": {}}, "nodes": [{"name": "n", "capacity": {"cpu": 1}}], "pools": pools or []}
    snapshot = eh.Snapshot.from_dict(data)
    diagnostics = eh.plan(snapshot, eh.policies.YTsaurus("upstream", **settings)).diagnostics
    return [d for d in diagnostics if d.code == "setting_in_milliseconds"]


@pytest.mark.parametrize(
    ("seconds", "is_told"),
    [
        (9999, False),
        (10_000, True),
        (10_001, False),
        (9000, False),
        (11_000, True),
        (14_400, False),
        (30_000, True),
    ],
)
def test_a_timeout_that_looks_like_milliseconds(seconds: float, is_told: bool) -> None:
    found = told(preemptive_scheduling_backoff=seconds)
    assert [dict(d.numbers["settings"]) for d in found] == (
        [{"preemptive_scheduling_backoff": seconds}] if is_told else []
    )


@pytest.mark.parametrize(("seconds", "is_told"), [(9999, False), (10_000, True), (10_001, False)])
def test_a_timeout_of_a_pool_that_looks_like_milliseconds(seconds: float, is_told: bool) -> None:
    found = told([{"name": "p", "settings": {"fair_share_starvation_timeout": seconds}}, {"name": "q"}])
    assert [d.elements for d in found] == ([("p",)] if is_told else [])


@pytest.mark.parametrize("key", ["nodes_filter", "max_operation_count", "default_parent_pool"])
def test_a_trees_configuration_as_settings_is_refused_with_its_unit(key: str) -> None:
    with pytest.raises(eh.InputError, match=f"{key} is unknown; .* milliseconds: evenhand.adapters.ytsaurus"):
        eh.policies.YTsaurus("upstream", **CONFIG)
    with pytest.raises(eh.InputError, match=f"{key} is unknown; it is of a pool tree's own configuration"):
        eh.policies.YTsaurus(**{key: CONFIG[key]})
