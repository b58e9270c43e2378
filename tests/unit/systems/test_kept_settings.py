"""Settings of every system survive whatever they are written into, and what was left out stays left out."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

import evenhand as eh
from evenhand.errors import InputError
from evenhand.history.tree import ShareTree
from evenhand.plans.saved import opened, saved
from evenhand.systems import SYSTEMS
from evenhand.systems.files import from_dict, from_toml

#: No resource has a name that any setting has by default.
ROWS: dict[str, Any] = {
    "now": 1000,
    "resources": {"slots": {}},
    "nodes": [{"name": "n1", "capacity": {"slots": 8}}],
    "pools": [{"name": "v"}, {"name": "s", "strong_guarantee": {"slots": 4}}],
    "operations": [{"name": "v", "pool": "v", "priority": 1}, {"name": "s", "pool": "s", "priority": 9}],
    "allocations": [
        {"name": f"v{i}", "operation": "v", "node": "n1", "resources": {"slots": 1}, "start_time": i}
        for i in range(8)
    ],
    "requests": [{"name": "r", "operation": "s", "resources": {"slots": 2}}],
}

SNAPSHOT = eh.Snapshot.from_dict(ROWS)

#: Values of what has a form of its own, and of what goes with other settings only.
VALUES: Mapping[str, dict[str, Any]] = {
    "fair_share.main_resource": {"fair_share": {"main_resource": "slots"}},
    "pace.immune_hours": {"pace": {"immune_hours": ["22:00-06:00 Europe/Berlin"]}},
    "non_preemptible_resource_usage_threshold": {"non_preemptible_resource_usage_threshold": {"slots": 2}},
    "ssd_priority_preemption.enable": {"ssd_priority_preemption": {"enable": True, "node_tag_filter": "ssd"}},
    "enable_infinite_resource_limits_overcommit": {
        "enable_infinite_resource_limits_overcommit": True,
        "use_precommit_for_preemption": True,
    },
    "agent_selection_resource_priority": {"agent_selection_resource_priority": ["mem", "cuda"]},
    "user_policies": {"user_policies": {"u": {}}},
    "release": {"release": "24.05"},
    "node_weights": {"node_weights": {"n": 2}},
    "project_policies": {"project_policies": {"p": {}}},
    "shares": {"shares": ShareTree.from_dict({"a": {}, "b": {"parent": "a", "shares": 3}})},
    "PriorityWeightTRES": {"PriorityWeightTRES": {"mem": 1.5}},
    "PriorityFlags": {"PriorityFlags": ["ACCRUE_ALWAYS"]},
    "association_priority": {"association_priority": {"s": 3}},
    "association_limits": {"association_limits": {"lab": {"GrpTRES": {"cpu": 3}, "GrpJobs": 3}}},
    "PreemptType": {"PreemptType": "preempt/partition_prio", "PreemptMode": "REQUEUE"},
    "PreemptMode": {"PreemptMode": "REQUEUE", "PreemptType": "preempt/partition_prio"},
    "partitions": {"partitions": {"a": {"PriorityTier": 2}}},
    "qos": {"qos": {"gold": {"Preempt": ["bronze"]}, "bronze": {}}},
    "queues": {"queues": {"all.q": {}}},
}


def candidates(of: Any, default: Any) -> Iterator[Any]:
    """Values of a type that differ from the default."""
    if get_origin(of) in (Union, UnionType):
        for one in get_args(of):
            yield from candidates(one, default)
    elif get_origin(of) is Literal:
        yield from (word for word in get_args(of) if word != default)
    elif of is bool:
        yield not default
    elif of in (int, float):
        near = 0 if default is None else default
        yield from (v for v in (near + 1, near / 2, near - 1, 0.5, 60, 4096) if of is float or v == int(v))
    elif of is str:
        yield from ("slots", "preempt/qos", "root", "1h")
    elif get_origin(of) is tuple:
        yield from ([one] for one in candidates(get_args(of)[0], None))


def fields_of(model: type[BaseModel], *path: str) -> Iterator[tuple[str, Any, Any]]:
    """Dotted names of the settings, with types and defaults."""
    types = get_type_hints(model)
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            yield from fields_of(type(default), *path, name)
        else:
            yield ".".join((*path, name)), types[name], default


EVERY = [
    pytest.param(word, name, of, default, id=f"{word}-{name}")
    for word, system in SYSTEMS.items()
    for name, of, default in fields_of(system.policy.model)
]


def policy_with(word: str, name: str, of: Any, default: Any) -> Any:
    """A policy of which this setting is not what it is by default."""
    make = SYSTEMS[word].policy
    if name in VALUES:
        return make(**VALUES[name])
    for value in candidates(of, default):
        given = value
        for part in reversed(name.split(".")):
            given = {part: given}
        try:
            return make(**given)
        except InputError:
            continue
    raise AssertionError(f"no value was found of {name}: give one in VALUES")


def toml_of(values: Mapping[str, Any]) -> str:
    """A policy as TOML, which has no word for null: what is null is left out."""

    def inline(value: Any) -> str:
        if isinstance(value, Mapping):
            inner = (f"{json.dumps(key)} = {inline(v)}" for key, v in value.items() if v is not None)
            return "{" + ", ".join(inner) + "}"
        return f"[{', '.join(map(inline, value))}]" if isinstance(value, list | tuple) else json.dumps(value)

    return "".join(f"{json.dumps(key)} = {inline(v)}\n" for key, v in values.items() if v is not None)


def through_toml(policy: Any, folder: Path) -> Any:
    path = folder / "policy.toml"
    path.write_text(toml_of(policy.to_dict()))
    return from_toml(path)


def through_a_cluster(policy: Any, folder: Path) -> Any:
    made = eh.Cluster(SNAPSHOT, policy)
    said(lambda: made.plan())
    made.save(folder / "cluster.json")
    again = eh.Cluster.load(folder / "cluster.json")
    assert said(lambda: again.plan().to_json()) == said(lambda: made.plan().to_json())
    return again._policy


def through_a_plan(policy: Any, folder: Path) -> Any:
    plan = eh.plan(SNAPSHOT, policy)
    return opened(saved(plan)).policy


WAYS: Mapping[str, Callable[[Any, Path], Any]] = {
    "dict": lambda policy, _: from_dict(policy.to_dict()),
    "json": lambda policy, _: from_dict(json.loads(json.dumps(policy.to_dict()))),
    "toml": through_toml,
    "pickle": lambda policy, _: pickle.loads(pickle.dumps(policy)),
    "replace": lambda policy, _: policy.replace(pace=policy.settings.pace.model_dump()),
    "cluster": through_a_cluster,
    "plan": through_a_plan,
}


def said(what: Callable[[], Any]) -> Any:
    """What comes of it, be it a refusal."""
    try:
        return what()
    except InputError as error:
        return str(error)


def plan_of(policy: Any) -> Any:
    return said(lambda: eh.plan(SNAPSHOT, policy, as_if_waiting="10m").to_json())


def law(policy: Any, folder: Path, planned: Collection[str] = WAYS) -> None:
    """Whatever a policy is written into, it is the same policy, and plans the same."""
    plan = plan_of(policy)
    for way, through in WAYS.items():
        if way == "plan" and plan[0] != "{":
            continue  # what cannot be planned is not saved
        again = through(policy, folder)
        assert type(again) is type(policy), way
        assert (again, hash(again)) == (policy, hash(policy)), way
        assert (repr(again), again.to_dict()) == (repr(policy), policy.to_dict()), way
        if way in planned:
            assert plan_of(again) == plan, way


@pytest.mark.parametrize("preset", ["documented", "upstream"])
@pytest.mark.parametrize("word", SYSTEMS)
def test_what_was_left_out_stays_so(word: str, preset: str, tmp_path: Path) -> None:
    policy = SYSTEMS[word].policy(preset)
    assert plan_of(policy)[0] == "{", "a cluster whose resources have other names is planned"
    law(policy, tmp_path)


@pytest.mark.parametrize(("word", "name", "of", "default"), EVERY)
def test_every_setting_survives(word: str, name: str, of: Any, default: Any, tmp_path: Path) -> None:
    law(policy_with(word, name, of, default), tmp_path, planned=("toml",))
