"""Planted falsehoods: another node, number, group or name, a comparison the other way round. Each is caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from evenhand.explain import Explanation
from evenhand.plans import Plan
from evenhand.testing.explanations import check_explanation
from tests.properties.explaining import SYSTEMS, some_plans

Met = Mapping[str, Any]
Lie = Callable[[Plan, Met], dict[str, Any] | None]

PLANS = 150


@cache
def _plans(system: str) -> list[Plan]:
    return some_plans(system, PLANS)


def _lies(system: str, table: str, codes: tuple[str, ...], lie: Lie) -> Iterator[tuple[Plan, Explanation]]:
    """Yield true explanations in which one outcome was replaced by a false one."""
    for plan in _plans(system):
        for name in plan.snapshot.names(table):
            true = plan.why_not(name, table=table)
            if _is_false(plan, true):
                continue
            for place, met in enumerate(true.looked_at):
                changed = lie(plan, met) if met["outcome"] in codes else None
                if changed is not None:
                    rows = [*true.looked_at]
                    rows[place] = {**met, **changed}
                    first = rows[place]["outcome"] if place == 0 else true.code
                    yield (
                        plan,
                        replace(
                            true, looked_at=tuple(rows), code=first if table == "allocations" else true.code
                        ),
                    )


def _is_false(plan: Plan, explanation: Explanation) -> bool:
    try:
        check_explanation(plan, explanation)
    except AssertionError:
        return True
    return False


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


_ROOM = ("no_free_room", "no_room_even_with_victims")

PLANTED: tuple[tuple[str, str, tuple[str, ...], Lie], ...] = (
    *(("ytsaurus", "requests", _ROOM, lie) for lie in (more_is_missing, less_is_missing, another_resource)),
    ("ytsaurus", "requests", ("limits_of_operation_or_pool",), more_is_missing),
    ("ytsaurus", "requests", ("not_starving",), another_code("backoff")),
    ("ytsaurus", "requests", ("no_free_room",), another_code("wrong_tags")),
    ("ytsaurus", "requests", ("no_free_room",), another_code("node_not_schedulable")),
    ("ytsaurus", "requests", ("no_free_room",), another_code("started")),
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
    ("yunikorn", "allocations", ("not_lower_priority",), no_request),
    ("yunikorn", "requests", ("no_room_even_with_victims",), more_is_missing),
    ("backendai", "allocations", ("not_lower_priority",), another_number),
    ("backendai", "allocations", ("above_threshold",), another_number),
    ("backendai", "allocations", ("not_lower_priority",), another_code("system_work")),
    ("backendai", "allocations", ("no_start_in_stage",), another_code("spared_fits_without")),
    ("backendai", "requests", ("no_room_even_with_victims",), more_is_missing),
    ("slurm", "allocations", ("tier_not_lower",), the_other_way_round),
    ("slurm", "allocations", ("not_lower_priority",), the_other_way_round),
    ("slurm", "allocations", ("not_lower_priority",), another_number),
    ("slurm", "allocations", ("no_start_in_stage",), another_code("spared_fits_without")),
    ("slurm", "allocations", ("qos_not_listed",), another_code("preempt_mode_off")),
    ("slurm", "requests", ("no_free_room",), more_is_missing),
    ("gridengine", "allocations", ("not_lower_priority",), another_number),
    ("gridengine", "allocations", ("not_preemptible_flag",), another_code("already_preempting")),
    ("gridengine", "requests", ("no_free_room",), more_is_missing),
)


@pytest.mark.parametrize(
    ("system", "table", "codes", "lie"),
    PLANTED,
    ids=[f"{p[0]}-{p[2][-1]}-{i}" for i, p in enumerate(PLANTED)],
)
def test_planted_falsehoods_are_caught(system: str, table: str, codes: tuple[str, ...], lie: Lie) -> None:
    """Wherever it can be planted."""
    planted = [*_lies(system, table, codes, lie)]
    assert planted
    for plan, explanation in planted:
        with pytest.raises(AssertionError):
            check_explanation(plan, explanation)


@pytest.mark.parametrize("system", SYSTEMS)
def test_codes_without_a_check_are_caught(system: str) -> None:
    """What the checker does not know it does not believe."""
    plan = next(p for p in _plans(system) if p.snapshot.allocation_count)
    (name, *_) = plan.snapshot.names("nodes")
    true = plan.why(name, table="nodes")
    with pytest.raises(AssertionError, match="nothing checks the node code 'of_its_own'"):
        check_explanation(plan, replace(true, code="of_its_own"))
