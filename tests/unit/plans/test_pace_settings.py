"""Settings of the pace: what they may be, in policies and in pools."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import evenhand as eh
from evenhand.config.pace import DailyHours, daily_hours
from tests.unit.plans.test_pace import SYSTEMS, cluster, planned, system


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("22:00-06:30 +02:00", DailyHours(79_200, 23_400, "+02:00")),
        ("00:00-24:00 UTC", DailyHours(0, 86_400, "UTC")),
        ("24:00-01:00 UTC", DailyHours(0, 3600, "UTC")),
        ("09:00:01-09:00:02  Asia/Kolkata", DailyHours(32_401, 32_402, "Asia/Kolkata")),
    ],
)
def test_hours_are_read(text: str, hours: DailyHours) -> None:
    assert daily_hours(text) == hours


@pytest.mark.parametrize(
    "text",
    [
        *("", "9-17 UTC", "09:00-18:00", "09:00-09:00 UTC", "24:00-00:00 UTC", "09:00-24:01 UTC"),
        *(
            "25:00-26:00 UTC",
            "09:60-10:00 UTC",
            "09:00-10:00:60 UTC",
            "09:00-18:00 Mars/Base",
            "09:00-18:00 +2",
        ),
        *("09:00-18:00 +25:00", "09:00-18:00 ../etc/passwd"),
    ],
)
def test_wrong_hours_are_refused(text: str) -> None:
    with pytest.raises(eh.InputError) as policy:
        SYSTEMS["slurm"](immune_hours=[text])
    assert policy.value.problems[0].field.startswith("pace.immune_hours")
    for name in SYSTEMS:
        with pytest.raises(eh.InputError) as row:
            planned(SYSTEMS[name](), cluster(p={"immune_hours": [text]}))
        assert row.value.problems[0].table == "pools"


@pytest.mark.parametrize(
    "pace",
    [
        {"victim_cooldown": -1},
        {"max_victims_per_hour": -1},
        {"max_victims_per_hour": 1.5},
        {"spare_if_ends_within": "soon"},
        {"victim_cool_down": 1},
    ],
)
@system
def test_wrong_settings_are_refused(system: str, pace: dict[str, Any]) -> None:
    with pytest.raises(eh.InputError) as error:
        SYSTEMS[system](**pace)
    assert error.value.problems[0].field.startswith("pace.")


@system
def test_settings_by_name(system: str) -> None:
    policy = SYSTEMS[system](victim_cooldown="10m", immune_hours=["09:00-18:00 UTC"])
    data = policy.to_dict()
    assert data["pace"]["victim_cooldown"] == 600.0
    assert data["pace"]["immune_hours"] == ["09:00-18:00 UTC"]
    again = eh.policies.from_dict(data) if hasattr(eh.policies, "from_dict") else policy
    assert again == policy
    assert pickle.loads(pickle.dumps(policy)) == policy
