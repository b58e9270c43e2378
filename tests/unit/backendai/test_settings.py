"""Settings of the BackendAI policy: presets, switches, resource policies, scheduler_opts."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.backendai.settings import BackendAISettings, PriorityPolicy, read_options

OPTIONS = {
    "allowed_session_types": ["interactive", "batch"],
    "pending_timeout": 0,
    "agent_selection_strategy": "dispersed",
    "agent_selection_resource_priority": ["gpu", "cpu"],
    "preemption": {
        "enabled": True,
        "order": "fewest-sessions",
        "mode": "reschedule",
        "preemption_min_runtime": 60,
        "victim_scope": "project",
        "preemptible_priority": 5,
    },
}


def problems(error: pytest.ExceptionInfo[eh.InputError]) -> list[tuple[str, str | None, str]]:
    return [(p.table, p.field, p.rule) for p in error.value.problems]


def test_presets_differ_in_named_switches_only() -> None:
    documented, upstream = eh.policies.BackendAI(), eh.policies.BackendAI("upstream")
    differ = {
        name
        for name in BackendAISettings.model_fields
        if getattr(documented.settings, name) != getattr(upstream.settings, name)
    }
    assert differ == set(BackendAISettings.UPSTREAM)
    back = upstream.replace(**{name: getattr(documented.settings, name) for name in differ})
    assert back == documented


def test_defaults_are_the_proposals() -> None:
    settings = eh.policies.BackendAI().settings
    assert settings.preemptible_priority == 5
    assert settings.preemption_order == "oldest"
    assert settings.preemption_mode == "terminate"


@pytest.mark.parametrize(
    ("settings", "field", "rule"),
    [
        ({"preemptible_priority": 101}, "preemptible_priority", "range"),
        ({"preemptible_priority": 2.5}, "preemptible_priority", "type"),
        ({"preemption_mode": "pause"}, "preemption_mode", "choice"),
        ({"preemption_ordre": "oldest"}, "preemption_ordre", "unknown_field"),
        ({"user_policies": {"a": {"default": 200}}}, "user_policies.a.default", "range"),
        ({"user_policies": {"a": {"ranges": [1, 2]}}}, "user_policies.a.ranges", "unknown_field"),
        ({"project_policies": {"a": {"range": [3, 2]}}}, "project_policies.a.range", "range"),
        ({"max_containers": 0}, "max_containers", "range"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], field: str, rule: str) -> None:
    with pytest.raises(eh.InputError) as error:
        eh.policies.BackendAI(**settings)
    assert problems(error) == [("settings", field, rule)]


def test_scheduler_opts_are_read() -> None:
    policy = eh.policies.BackendAI.from_scheduler_opts(json.dumps(OPTIONS))
    assert policy.preset == "upstream"
    got = policy.settings
    assert (got.enabled, got.preemption_order, got.preemption_mode) == (True, "fewest-sessions", "reschedule")
    assert (got.preemption_min_runtime, got.victim_scope, got.agent_selection) == (60, "project", "dispersed")
    assert got.agent_selection_resource_priority == ("gpu", "cpu")
    draft = {
        "preemption": {"preemptible_priority": 7, "preemption_order": "newest", "preemption_mode": "suspend"}
    }
    policy = eh.policies.BackendAI.from_scheduler_opts(draft, "documented", suspend_approach="keep")
    assert policy == eh.policies.BackendAI(
        preemptible_priority=7, preemption_order="newest", preemption_mode="suspend", suspend_approach="keep"
    )
    assert read_options("{}") == ({}, {})


def test_every_unknown_key_of_scheduler_opts_is_named() -> None:
    text = {"pending_timeut": 3, "preemption": {"orders": "oldest", "mode": "terminate", "enable": True}}
    with pytest.raises(eh.InputError) as error:
        read_options(text)
    assert problems(error) == [
        ("settings", "pending_timeut", "unknown_field"),
        ("settings", "preemption.orders", "unknown_field"),
        ("settings", "preemption.enable", "unknown_field"),
    ]
    assert 'did you mean "pending_timeout"?' in str(error.value)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "json"),
        ("[1]", "type"),
        ({"preemption": 3}, "type"),
        *(({"preemption": nothing}, "type") for nothing in ([], 0, "", False)),
        ('{"preemption": {"order": "oldest", "order": "newest"}}', "duplicate_key"),
        (f'{{"pending_timeout": {"9" * 5000}}}', "overflow"),
    ],
)
def test_other_texts_are_refused(text: Any, rule: str) -> None:
    with pytest.raises(eh.InputError) as error:
        read_options(text)
    assert [p.rule for p in error.value.problems] == [rule]


def test_a_key_and_its_other_name_exclude_each_other() -> None:
    with pytest.raises(eh.InputError, match="given twice"):
        read_options({"preemption": {"order": "oldest", "preemption_order": "newest"}})
    with pytest.raises(eh.InputError) as error:
        eh.policies.BackendAI.from_scheduler_opts({"preemption": {"order": "bogus"}})
    assert problems(error) == [("settings", "preemption.order", "choice")]
    assert "preemption.order is bogus" in str(error.value)
    with pytest.raises(eh.InputError) as error:
        eh.policies.BackendAI.from_scheduler_opts({"preemption": {"enabled": True}}, enabled=False)
    assert problems(error) == [("settings", "preemption.enabled", "unique")]


def test_priority_choice() -> None:
    choose = eh.policies.BackendAI.priority_choice
    assert choose() == {"default": 10, "range": [0, 100], "editable": True}
    assert choose({"range": [0, 8]}) == {"default": 8, "range": [0, 8], "editable": True}
    mine = PriorityPolicy(default=30, may_change=False)
    assert choose(mine, {"range": [0, 20]}) == {"default": 20, "range": [0, 20], "editable": False}
    with pytest.raises(eh.InputError) as error:
        choose({"range": [0, 10]}, {"range": [11, 20]})
    assert problems(error) == [("settings", "range", "range")]
    with pytest.raises(eh.InputError) as error:
        choose({"defaultt": 3})
    assert problems(error) == [("settings", "user.defaultt", "unknown_field")]
    for wrong in ("x", [1], 0):
        with pytest.raises(eh.InputError) as error:
            choose(None, wrong)
        assert problems(error) == [("settings", "project", "type")]


def test_a_policy_is_a_value(tmp_path: Path) -> None:
    policy = eh.policies.BackendAI("upstream", enabled=True, user_policies={"ann": {"range": [0, 20]}})
    assert pickle.loads(pickle.dumps(policy)) == policy
    path = tmp_path / "policy.toml"
    path.write_text(
        'system = "backendai"\npreset = "upstream"\nenabled = true\n[user_policies.ann]\nrange = [0, 20]\n'
    )
    assert eh.policies.from_toml(path) == policy
    assert policy != eh.policies.YTsaurus()
