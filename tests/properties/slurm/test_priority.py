"""Slurm's multifactor priority: the engine's columns against a readable implementation, and laws."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.systems.slurm.priority_settings import PRIORITY_FLAGS
from evenhand.systems.slurm.settings import SlurmSettings
from evenhand.testing.strategies import job_clusters, slurm_settings
from tests.properties.slurm.test_jobs import essence, plan_of
from tests.reference.slurm import reference_plan, reference_priorities

ACCOUNTS = {"lab": ("ann", "bob"), "firm": ("cy",)}
WEIGHTS = [f"PriorityWeight{name}" for name in ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS")]
FLAGS = sorted(set(PRIORITY_FLAGS) - {"DEPTH_OBLIVIOUS", "FAIR_TREE", "NO_FAIR_TREE"})


@st.composite
def trees(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    shares = st.one_of(st.integers(0, 3), st.just("parent"))
    for account, users in ACCOUNTS.items():
        rows[account] = {"shares": draw(shares), "user": False}
        for user in users:
            row = {"parent": account, "shares": draw(shares), "usage": float(draw(st.integers(0, 4)))}
            rows[f"{account}/{user}"] = row | {"user": True}
    return rows


@st.composite
def worlds(draw: st.DrawFn, *, classic: bool = False) -> tuple[dict[str, Any], SlurmSettings]:
    """A cluster whose jobs have owners, and settings with all weights."""
    data = draw(job_clusters())
    for op in data["operations"]:
        op["account"] = draw(st.sampled_from(sorted(ACCOUNTS)))
        op["user"] = draw(st.sampled_from(ACCOUNTS[op["account"]]))
        if draw(st.booleans()):
            op.setdefault("settings", {})["nice"] = draw(st.integers(-5, 5))
        if draw(st.integers(0, 3)) == 3:
            op.setdefault("settings", {})["accrue_time"] = draw(st.sampled_from((5.0, 900.0)))
        if draw(st.booleans()):
            op.pop("priority", None)
    flags = draw(st.lists(st.sampled_from(FLAGS), max_size=2, unique=True))
    fixed: dict[str, Any] = {name: draw(st.sampled_from((0, 1, 7, 1000))) for name in WEIGHTS}
    fixed["PriorityWeightTRES"] = draw(st.sampled_from(({}, {"cpu": 10.0, "mem": 3.0}, {"node": 5.0})))
    return data, draw(
        slurm_settings(
            **fixed,
            PriorityType="priority/multifactor",
            PriorityMaxAge=draw(st.sampled_from((100.0, 5000.0))),
            PriorityFavorSmall=draw(st.booleans()),
            PriorityFlags=[*flags, "NO_FAIR_TREE"] if classic else flags,
            tied_accounts=draw(st.sampled_from(("documented", "upstream"))),
            shares=draw(trees()),
            association_priority=draw(st.sampled_from(({}, {"lab/ann": 4, "firm/cy": 1}))),
        )
    )


def table_of(data: dict[str, Any], settings: SlurmSettings) -> dict[str, dict[str, float]]:
    policy = eh.policies.Slurm(**settings.model_dump())
    table = policy.priorities(eh.Snapshot.from_dict(data), normalised=True)
    columns = [name for name in table.columns if name not in ("name", "given", "site", "nice")]
    return {
        str(name): {column: float(table[column][row]) for column in columns}
        for row, name in enumerate(table["name"])
    }


@given(worlds())
def test_priorities_are_those_of_the_reference(world: tuple[dict[str, Any], SlurmSettings]) -> None:
    data, settings = world
    assert table_of(data, settings) == reference_priorities(eh.Snapshot.from_dict(data), settings)


@given(worlds(classic=True))
def test_classic_factors_are_those_of_the_reference(world: tuple[dict[str, Any], SlurmSettings]) -> None:
    data, settings = world
    wanted = reference_priorities(eh.Snapshot.from_dict(data), settings)
    for name, row in table_of(data, settings).items():
        assert row.pop("priority") == pytest.approx(wanted[name].pop("priority"), abs=1.0)
        assert row == pytest.approx(wanted[name], rel=1e-9, abs=1e-12)


@given(worlds())
def test_the_engine_plans_by_these_priorities(world: tuple[dict[str, Any], SlurmSettings]) -> None:
    data, settings = world
    snapshot = eh.Snapshot.from_dict(data)
    assert essence(plan_of(snapshot, settings).to_dict()) == essence(reference_plan(snapshot, settings))


@given(worlds(), st.integers(1, 1000))
def test_a_nicer_job_is_never_before(world: tuple[dict[str, Any], SlurmSettings], more: int) -> None:
    data, settings = world
    nicer = copy.deepcopy(data)
    first = nicer["operations"][0]
    own = first.setdefault("settings", {})
    own["nice"] = own.get("nice", 0) + more
    before, after = table_of(data, settings), table_of(nicer, settings)
    name = str(first["name"])
    assert after[name]["priority"] <= before[name]["priority"]
    assert all(after[other] == before[other] for other in before if other != name)


@given(worlds())
def test_a_priority_of_its_own_stands(world: tuple[dict[str, Any], SlurmSettings]) -> None:
    data, settings = world
    given_ones = {str(op["name"]): op["priority"] for op in data["operations"] if "priority" in op}
    found = table_of(data, settings)
    assert {name: found[name]["priority"] for name in given_ones} == given_ones
    assert np.isfinite([row["priority"] for row in found.values()]).all()
