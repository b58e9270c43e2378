"""Planted falsehoods: other numbers, groups and codes, a comparison the other way round. Each is caught."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import evenhand as eh
from evenhand.explain import Explanation
from evenhand.plans import Plan
from tests.drawing import examples
from tests.properties.explaining import SYSTEMS, some_plans
from tests.properties.planting import Plant, planted, told
from tests.reference.explanations import check_explanation
from tests.reference.explanations.checker import found_false, told_by
from tests.reference.explanations.world import World

Met = Mapping[str, Any]
Lie = Callable[[Plan, Met], dict[str, Any] | None]

RETOLD = min(examples(), 40)


def _lies(table: str, codes: tuple[str, ...], lie: Lie) -> Plant:
    """Replace one outcome by a false one."""

    def plant(world: World, true: Explanation) -> Iterable[Explanation]:
        for place, met in enumerate(true.looked_at if true.table == table else ()):
            changed = lie(world.plan, met) if met["outcome"] in codes else None
            if changed is not None:
                rows = [*true.looked_at]
                rows[place] = {**met, **changed}
                first = rows[0]["outcome"] if table == "allocations" else true.code
                yield replace(true, looked_at=tuple(rows), code=first)

    return plant


def more_is_missing(_plan: Plan, met: Met) -> dict[str, Any] | None:
    """One more of a resource than is missing."""
    missing = {r: a for r, a in met["missing"].items() if a}
    return (
        {"missing": {**missing, next(iter(missing)): missing[next(iter(missing))] + 1}} if missing else None
    )


def less_is_missing(_plan: Plan, met: Met) -> dict[str, Any] | None:
    """One less, which may be nothing."""
    missing = {r: a for r, a in met["missing"].items() if a}
    return (
        {"missing": {**missing, next(iter(missing)): missing[next(iter(missing))] - 1}} if missing else None
    )


def another_resource(plan: Plan, met: Met) -> dict[str, Any] | None:
    """As much of another resource."""
    missing = {r: a for r, a in met["missing"].items() if a}
    others = [r for r in plan.snapshot.resources if r not in missing]
    return {"missing": {others[0]: next(iter(missing.values()))}} if missing and others else None


def another_group(_plan: Plan, met: Met) -> dict[str, Any] | None:
    """A group that it is not in."""
    groups = ("non_preemptible", "aggressively_preemptible", "preemptible")
    return {"group": groups[(groups.index(met["group"]) + 1) % 3]} if "group" in met else None


def the_other_way_round(_plan: Plan, met: Met) -> dict[str, Any] | None:
    """What was compared, the values exchanged where they differ."""
    compared = dict(met.get("compared", {}))
    values = [*compared.values()]
    if len(compared) != 2 or values[0] == values[1]:
        return None
    return {"compared": dict(zip(compared, reversed(values), strict=True))}


def another_number(_plan: Plan, met: Met) -> dict[str, Any] | None:
    """The first number that was compared, one more."""
    compared = dict(met.get("compared", {}))
    for name, value in compared.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"compared": {**compared, name: value + 1}}
    return None


def another_code(code: str) -> Lie:
    """Another outcome, which does not hold."""
    return lambda _plan, _met: {"outcome": code}


def no_request(_plan: Plan, met: Met) -> dict[str, Any] | None:
    """No word of the request that asked."""
    return {"request": None} if met.get("request") is not None else None


def one_more_runs(_plan: Plan, met: Met) -> dict[str, Any] | None:
    """One more job runs that may not be preempted."""
    stood = met.get("compared", {}).get("stood")
    if not stood:
        return None
    first = next(iter(stood))
    return {"compared": {**met["compared"], "stood": {**stood, first: stood[first] + 1}}}


def behind_itself(plan: Plan, met: Met) -> dict[str, Any] | None:
    """The job that is before it is itself."""
    if "behind" not in met.get("compared", {}):
        return None
    owners = {str(r["name"]): r["operation"] for r in plan.snapshot.to_dict()["requests"]}
    return {"compared": {**met["compared"], "behind": owners[str(met["request"])]}}


_ROOM = ("no_free_room", "no_room_even_with_victims")

PLANTED: tuple[tuple[str, str, tuple[str, ...], Lie], ...] = (
    *(("ytsaurus", "requests", _ROOM, lie) for lie in (more_is_missing, less_is_missing, another_resource)),
    ("ytsaurus", "requests", ("limits_of_operation_or_pool",), more_is_missing),
    ("ytsaurus", "requests", ("not_starving",), another_code("backoff")),
    ("ytsaurus", "requests", ("no_free_room",), another_code("wrong_tags")),
    ("ytsaurus", "requests", ("no_free_room",), another_code("node_not_schedulable")),
    ("ytsaurus", "requests", ("not_aggressively_starving",), another_code("graceful_while_normal")),
    ("ytsaurus", "requests", ("no_free_room",), another_code("unschedulable")),
    ("ytsaurus", "allocations", ("protected_group",), another_group),
    ("ytsaurus", "allocations", ("protected_group",), another_code("aggressive_not_allowed")),
    ("ytsaurus", "allocations", ("protected_group",), another_code("operation_starving")),
    ("ytsaurus", "allocations", ("operation_starving",), another_code("graceful_operation")),
    ("ytsaurus", "allocations", ("no_start_in_stage",), another_code("protected_group")),
    ("ytsaurus", "allocations", ("no_start_in_stage",), another_code("spared_fits_without")),
    ("ytsaurus", "allocations", ("no_start_in_stage",), another_code("taken")),
    ("yunikorn", "allocations", ("same_queue",), another_code("other_queue")),
    ("yunikorn", "allocations", ("other_queue",), another_code("same_queue")),
    ("backendai", "allocations", ("not_lower_priority",), another_number),
    ("backendai", "allocations", ("above_threshold",), another_number),
    ("backendai", "allocations", ("not_lower_priority",), another_code("system_work")),
    ("backendai", "allocations", ("no_start_in_stage",), another_code("spared_fits_without")),
    ("backendai", "allocations", ("spared_fits_without", "given_back"), another_number),
    ("backendai", "requests", ("no_lower_priority", "behind_first_waiting"), another_number),
    ("backendai", "requests", ("no_room_even_with_victims",), another_number),
    ("backendai", "requests", ("no_room_even_with_victims",), more_is_missing),
    ("slurm", "allocations", ("not_lower_priority",), the_other_way_round),
    ("slurm", "allocations", ("not_lower_priority",), another_number),
    ("slurm", "allocations", ("no_start_in_stage",), another_code("spared_fits_without")),
    ("slurm", "allocations", ("qos_not_listed",), another_code("preempt_mode_off")),
    ("slurm", "requests", ("no_free_room",), more_is_missing),
    ("slurm", "requests", ("no_room_even_with_victims",), more_is_missing),
    ("slurm", "requests", ("no_room_even_with_victims",), another_number),
    ("slurm", "requests", ("no_room_even_with_victims",), another_code("no_eligible_victims")),
    ("slurm", "requests", ("behind_first_waiting", "waits_for_next_pass"), behind_itself),
    ("slurm", "requests", ("no_eligible_victims",), one_more_runs),
    ("slurm", "requests", ("other_request_waits",), another_code("wrong_tags")),
    ("slurm", "allocations", ("tier_not_lower",), another_number),
    ("slurm", "allocations", ("spared_fits_without",), another_code("given_back")),
    ("slurm", "allocations", ("tier_not_lower",), another_code("no_start_in_stage")),
    ("gridengine", "allocations", ("not_lower_priority",), another_number),
    ("gridengine", "allocations", ("not_preemptible_flag",), another_code("already_preempting")),
)


@pytest.mark.parametrize(
    ("system", "table", "codes", "lie"),
    PLANTED,
    ids=[f"{p[0]}-{p[2][-1]}-{i}" for i, p in enumerate(PLANTED)],
)
def test_planted_falsehoods_are_caught(system: str, table: str, codes: tuple[str, ...], lie: Lie) -> None:
    for world, explanation in planted(system, _lies(table, codes, lie)):
        assert found_false(world, explanation), explanation.looked_at


def _several_leave() -> eh.Plan:
    """Return a plan in which several victims make room for one request, which is rarely drawn."""
    old = [
        {"name": f"a{i}", "operation": "old", "node": "n", "resources": {"cpu": 1}, "start_time": i}
        for i in range(8)
    ]
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 3600,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": 8}}],
            "operations": [{"name": "old"}, {"name": "new"}],
            "allocations": old,
            "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 3}}],
        }
    )
    return eh.plan(snapshot, eh.policies.YTsaurus(), as_if_waiting="1h")


@cache
def _true_sentences() -> list[tuple[World, Explanation, int]]:
    """Return the sentences of drawn plans of which the explanation is true, each by its place."""
    found = []
    for system in SYSTEMS:
        plans = [*some_plans(system, RETOLD), *([_several_leave()] if system == "ytsaurus" else [])]
        for world in map(World, plans):
            told = [one for one in told_by(world.plan) if not found_false(world, one)]
            found += [(world, true, place) for true in told for place in range(len(true.sentences))]
    return found


def _retold(pattern: str, by: str) -> Iterator[tuple[World, Explanation]]:
    """Yield explanations with one sentence in which something was replaced."""
    for world, true, place in _true_sentences():
        other = re.sub(pattern, by, true.sentences[place], count=1)
        if other != true.sentences[place]:
            changed = [*true.claims]
            changed[place] = replace(changed[place], sentence=other)
            yield world, replace(true, claims=tuple(changed))


@pytest.mark.parametrize(
    ("pattern", "by"),
    [
        (r"preempts (\d+) of its", r"preempts 1\1 of its"),
        (r"starts (\d+) of its", r"starts 1\1 of its"),
        (r"(\d+) more of its requests", r"1\1 more of its requests"),
        (r"this plan preempts (\d+)", r"this plan preempts 1\1"),
        (r"victim (\d+) of (\d+) of this", r"victim \2 of 1\2 of this"),
        (r"first: (\d+) non-preemptible", r"first: 1\1 non-preemptible"),
        (r"it uses (\d+) ", r"it uses 777\1 "),
        (r"fair share is (\d+) ", r"fair share is 777\1 "),
        (r"needs (\d+) ", r"needs 777\1 "),
        (r"priority (\d+)", r"priority 777\1"),
        (r"\((\d+) against", r"(777\1 against"),
        (r"number (\d+) of", r"number 777\1 of"),
    ],
)
def test_sentences_with_other_numbers_are_caught(pattern: str, by: str) -> None:
    """Counts are counted anew, and other numbers must belong to the explanation."""
    planted = [*_retold(pattern, by)]
    assert planted
    for world, explanation in planted:
        assert found_false(world, explanation), explanation.text


@pytest.mark.parametrize("system", SYSTEMS)
def test_codes_without_a_check_are_caught(system: str) -> None:
    """What the checker does not know it does not believe."""
    world, _ = told(system, 0)[-1]
    (name, *_) = world.plan.snapshot.names("nodes")
    false = replace(world.plan.why(name, table="nodes"), code="of_its_own")
    with pytest.raises(AssertionError, match="nothing checks the node code 'of_its_own'"):
        check_explanation(world.plan, false)
