"""Whatever model of settings is made by itself, a wrong value raises the package's own error."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import BaseModel

import evenhand as eh
from evenhand.config.pace import PacedPool, PaceSettings
from evenhand.systems import SYSTEMS
from evenhand.systems.record import named


def models_in(annotation: Any) -> set[type[BaseModel]]:
    """Models that a type names, with those of their own fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        inner = (field.annotation for field in annotation.model_fields.values())
        return {annotation}.union(*map(models_in, inner))
    return set().union(*map(models_in, get_args(annotation)))


FIRST: list[Any] = [eh.FairShareSettings, PaceSettings, PacedPool]
for system in SYSTEMS.values():
    FIRST += [system.policy.model, *map(named, system.settings_at)]
MODELS = sorted(set().union(*map(models_in, FIRST)), key=lambda model: model.__qualname__)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__qualname__)
def test_a_wrong_value_names_field_and_rule(model: type[BaseModel]) -> None:
    with pytest.raises(eh.InputError) as caught:
        model(nothing=1)
    (problem,) = caught.value.problems
    assert (problem.table, problem.field, problem.rule) == ("settings", "nothing", "unknown_field")
    refused = 0
    for name in model.model_fields:
        with pytest.raises(eh.InputError) as caught:
            model(**{name: object()})
        problem = caught.value.problems[0]
        assert str(problem.field).startswith(name)
        assert problem.rule
        refused += 1
    assert refused == len(model.model_fields)


def test_models_within_others_are_among_them() -> None:
    found = {model.__qualname__ for model in MODELS}
    assert {"FairShareSettings", "PaceSettings", "PriorityPolicy", "SlurmPartition", "SlurmQos"} <= found
    assert {"GridEngineQueue", "FullHostPreemption", "SsdPriorityPreemption", "YuniKornRequest"} <= found


@pytest.mark.parametrize(
    ("wrong", "field", "rule"),
    [
        ({"improved": 3.5}, "improved", "type"),
        ({"integral_smooth_period_s": 0}, "integral_smooth_period_s", "range"),
        ({"main_resource": ""}, "main_resource", "length"),
        ({"improve": True}, "improve", "unknown_field"),
        (
            {"fifo_truncation": True, "enable_fair_share_truncation_in_fifo_pool": True},
            "fifo_truncation",
            "unique",
        ),
    ],
)
def test_settings_of_fair_shares(wrong: dict[str, Any], field: str, rule: str) -> None:
    for call in (eh.FairShareSettings, eh.FairShareSettings().replace):
        with pytest.raises(eh.InputError) as caught:
            call(**wrong)
        assert [(p.table, p.field, p.rule) for p in caught.value.problems] == [("settings", field, rule)]


def test_a_part_of_other_settings_has_its_place_in_their_error() -> None:
    wrong = {"partitions": {"low": {"PriorityTier": -1, "GraceTime": -1}}, "pace": {"victim_cooldown": -1}}
    with pytest.raises(eh.InputError) as caught:
        eh.policies.Slurm(**wrong)
    fields = {problem.field for problem in caught.value.problems}
    assert fields == {"partitions.low.PriorityTier", "partitions.low.GraceTime", "pace.victim_cooldown"}
