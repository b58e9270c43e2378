"""Limits and free room must hold in every resource, also in those that a request does not take."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.ytsaurus.cluster import Planner, cluster, done, reasons, row, starving

LIMITED: list[dict[str, Any]] = [
    {"operations": [{"name": "a", "limits": {"memory": 4}}, {"name": "v"}]},
    {
        "operations": [{"name": "a", "pool": "p"}, {"name": "v"}],
        "pools": [{"name": "p", "limits": {"memory": 4}}],
    },
    {"operations": [{"name": "a"}, {"name": "v"}], "root": {"limits": {"memory": 4}}},
]


@pytest.mark.parametrize("tables", LIMITED, ids=["operation", "pool", "root"])
@pytest.mark.parametrize(("memory", "decided"), [(3, ["+q"]), (4, ["+q"]), (5, ["-a1"])])
def test_a_limit_that_is_exceeded_holds_every_request_back(
    plan: Planner, tables: dict[str, Any], memory: int, decided: list[str]
) -> None:
    """At the limit a request that takes none of the resource starts; beyond it nothing does."""
    data = cluster(
        {"cpu": 10, "memory": 10}, [row("a1", "a", cpu=1, memory=memory)], [row("q", "a", cpu=1)], **tables
    )
    assert done(plan(data)) == decided


@pytest.mark.parametrize(("memory", "decided"), [(4, ["-v1", "+q"]), (5, ["-a1"])])
def test_nobody_is_preempted_for_a_request_that_limits_hold_back(
    plan: Planner, memory: int, decided: list[str]
) -> None:
    running = [row("v1", "v", cpu=2), row("a1", "a", cpu=2, memory=memory)]
    data = cluster({"cpu": 4, "memory": 10}, running, [row("q", "a", cpu=1)], **LIMITED[0])
    assert done(plan(data, given=starving("a", preemptible=("v1",)))) == decided


@pytest.mark.parametrize(("memory", "decided"), [(2, ["+q"]), (3, ["+q"]), (4, ["-v1"])])
def test_nothing_starts_on_a_node_that_is_overfull_in_any_resource(
    plan: Planner, memory: int, decided: list[str]
) -> None:
    data = cluster({"cpu": 4, "memory": 3}, [row("v1", "v", cpu=1, memory=memory)], [row("q", "w", cpu=1)])
    assert done(plan(data)) == decided


@pytest.mark.parametrize("selection", ["irreducible", "prefix", "minimum"])
@pytest.mark.parametrize(("memory", "victims"), [(5, ["-b"]), (4, ["-b"]), (3, ["-b", "-a"])])
def test_victims_of_a_stage_clear_all_that_is_too_much(
    plan: Planner, memory: int, victims: list[str], selection: str
) -> None:
    """b frees the cpu that is wanted; 4 of memory are in use beside it."""
    stays = row("k", "k", cpu=1, memory=2, preemptible=False)
    running = [row("a", "v", memory=2), stays, row("b", "v", cpu=1)]
    data = cluster({"cpu": 2, "memory": memory}, running, [row("q", "w", cpu=1)])
    made = plan(data, given=starving("w", preemptible=("a", "b")), victim_selection=selection)
    assert done(made) == [*victims, "+q"]


def test_a_stage_takes_nobody_if_all_would_not_do_in_every_resource(plan: Planner) -> None:
    running = [row("a", "v", cpu=1), row("k", "k", cpu=1, memory=4, preemptible=False)]
    data = cluster({"cpu": 2, "memory": 3}, running, [row("q", "w", cpu=1)])
    made = plan(data, given=starving("w", preemptible=("a",)))
    assert (done(made), reasons(made)) == (["-k"], ["resource_overcommit"])


@pytest.mark.parametrize(("licences", "decided"), [(0, ["+q"]), (1, [])])
def test_what_is_counted_in_the_cluster_matters_to_those_who_take_it(
    plan: Planner, licences: int, decided: list[str]
) -> None:
    """It is no part of a node: licences that are overdrawn keep nobody from starting who takes none."""
    data = cluster({"cpu": 4}, [row("v1", "v", cpu=1, licence=2)], [row("q", "w", cpu=1, licence=licences)])
    data["resources"]["licence"] = {"scope": "cluster", "capacity": 1}
    assert done(plan(data)) == decided
