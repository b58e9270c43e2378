"""What may be preempted as soon as it starts, and what stays alone though others wait: counted exactly."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.ytsaurus.cluster import cluster, row

CROSSING = "consider_allocation_on_fair_share_bound_preemptible"
SCOPE = "scheduling_preemption_priority_scope"
USAGE = "non_preemptible_resource_usage_threshold"
STEP = 4e-9  # more than shares that count as equal differ


def planned(data: dict[str, Any], given: Any = None, **settings: Any) -> eh.Plan:
    return eh.plan(eh.Snapshot.from_dict(data), eh.policies.YTsaurus(**settings), given=given)


def said(plan: eh.Plan, code: str) -> eh.Diagnostic | None:
    found = [d for d in plan.diagnostics if d.code == code]
    assert len(found) <= 1
    return found[0] if found else None


def starts(plan: eh.Plan) -> tuple[int, int]:
    """How many starts cross a bound, and how many are beyond it, that may be preempted at once."""
    found = said(plan, "starts_preemptible")
    if found is None:
        return 0, 0
    numbers = found.numbers
    assert numbers["starts"] == numbers["crossing"] + numbers["beyond"] > 0
    assert (CROSSING in found.message) == (numbers["crossing"] > 0)
    assert (SCOPE in found.message) == (numbers["beyond"] > 0)
    assert f"{numbers['crossing'] or numbers['beyond']} start" in found.message
    return numbers["crossing"], numbers["beyond"]


def asks(*running: float, **more: Any) -> dict[str, Any]:
    """Five cpus are free of ten that are shared; w wants four of them, twice."""
    mine = [row(f"w{i}", "w", cpu=cpu) for i, cpu in enumerate(running)]
    other = [row("v", "v", cpu=5 - sum(running))]
    fields = {"total": {"cpu": 10}, **{k: more.pop(k) for k in ("pools", "operations") if k in more}}
    return cluster({"cpu": 10}, mine + other, [row("r", "w", cpu=4, count=2, **more)], **fields)


def share(fair: float) -> dict[str, Any]:
    return {"fair_share": {"w": {"cpu": fair}}}


@pytest.mark.parametrize(
    ("running", "fair", "crosses"),
    [
        ((), 0.4, 0),
        ((), 0.4 - 5e-10, 0),
        ((), 0.4 - STEP, 1),
        ((), 0.4 + STEP, 0),
        ((), STEP, 1),
        ((), 0.0, 0),  # nothing is owed: it is preemptible whatever the setting says
        ((2,), 0.2, 0),  # so is what is beyond a bound that was reached before
        ((2,), 0.2 + STEP, 1),
        ((2,), 0.6 - STEP, 1),
        ((2,), 0.6, 0),
        ((1, 2), 0.1, 0),
        ((1, 2), 0.3 + STEP, 1),
    ],
)
def test_starts_that_cross_the_bound_are_counted(
    running: tuple[float, ...], fair: float, crosses: int
) -> None:
    plan = planned(asks(*running), share(fair), **{CROSSING: True})
    assert [d.request for d in plan.decisions] == ["r"]
    assert starts(plan) == (crosses, 0)
    assert starts(planned(asks(*running), share(fair))) == (0, 0)


@pytest.mark.parametrize(("threshold", "crosses"), [(0.5, 1), (2.0, 1), (2.0 + 4e-8, 0)])
def test_the_threshold_of_the_settings_counts(threshold: float, crosses: int) -> None:
    settings = {CROSSING: True, "preemption_satisfaction_threshold": threshold}
    assert starts(planned(asks(), share(0.2 - 2e-9), **settings)) == (crosses, 0)


def test_all_starts_of_a_plan_are_counted() -> None:
    data = cluster(
        {"cpu": 10},
        [],
        [row("a", "a", cpu=3, count=2), row("b", "b", cpu=4, count=2)],
    )
    shares = {"fair_share": {"a": {"cpu": 0.4}, "b": {"cpu": 0.3}}}
    plan = planned(data, shares, **{CROSSING: True})
    assert sorted(str(d.request) for d in plan.decisions) == ["a", "a", "b"]
    assert starts(plan) == (2, 0)  # the second of a, and b


@pytest.mark.parametrize(
    ("more", "crosses"),
    [
        ({}, 1),
        ({"preemptible": False}, 0),
        ({"pools": [{"name": "p"}], "operations": [{"name": "v"}, {"name": "w", "pool": "p"}]}, 1),
        (
            {
                "pools": [{"name": "p", "settings": {"allow_normal_preemption": False}}],
                "operations": [{"name": "v"}, {"name": "w", "pool": "p"}],
            },
            0,
        ),
    ],
)
def test_what_no_stage_may_take_is_not_counted(more: dict[str, Any], crosses: int) -> None:
    assert starts(planned(asks(**more), share(0.3), **{CROSSING: True})) == (crosses, 0)


@pytest.mark.parametrize(("threshold", "crosses"), [(4, 1), (4.001, 0), (3, 1)])
@pytest.mark.parametrize("scope", ["operation", "prefix"])
def test_usage_below_its_threshold_is_safe(threshold: float, crosses: int, scope: Any) -> None:
    """With what starts, as it will be at the next update."""
    settings = {CROSSING: True, "usage_threshold_scope": scope, USAGE: {"cpu": threshold}}
    assert starts(planned(asks(), share(0.3), **settings)) == (crosses, 0)


@pytest.mark.parametrize(
    ("fair", "scope", "beyond"),
    [
        (0.2, "operation_and_ancestors", 1),
        (0.2 - STEP, "operation_and_ancestors", 1),
        (0.2 + STEP, "operation_and_ancestors", 0),
        (0.2, "operation_only", 0),
    ],
)
def test_a_satisfied_operation_that_preempts_is_told_of(fair: float, scope: Any, beyond: int) -> None:
    """On the strength of its pool it takes what others may take from it at once, whatever crosses."""
    data = cluster(
        {"cpu": 10},
        [row("w1", "w", cpu=2), row("v1", "v", cpu=4), row("v2", "v", cpu=4)],
        [row("r", "w", cpu=2)],
        pools=[{"name": "p"}, {"name": "q"}],
        operations=[{"name": "w", "pool": "p"}, {"name": "v", "pool": "q"}],
    )
    given = {**share(fair), "starvation": {"p": "starving"}, "groups": {"v2": "preemptible"}}
    plan = planned(data, given, **{SCOPE: scope})
    victims = [] if scope == "operation_only" else ["v2"]
    assert [d.allocation for d in plan.decisions.victims] == victims
    assert starts(plan) == (0, beyond)


# --- what stays


def waits(sizes: dict[str, list[float]], free: float = 0, **fields: Any) -> dict[str, Any]:
    """Operations run so much on a node, each wants more; w waits for two cpus."""
    running = [row(f"{o}{i}", o, cpu=cpu) for o, cpus in sizes.items() for i, cpu in enumerate(cpus)]
    used = sum(map(sum, sizes.values()))
    asked = [row("r", "w", cpu=2), *(row(f"{o}-more", o, cpu=used + 9) for o in sizes)]
    return cluster({"cpu": used + free}, running, asked, total={"cpu": 10}, **fields)


def stays(plan: eh.Plan) -> tuple[tuple[str | int, ...], int, int]:
    """Operations that stay, of how many, and how many wait."""
    found = said(plan, "single_allocations_stay")
    if found is None:
        return (), 0, 0
    numbers = found.numbers
    assert len(found.elements) == numbers["operations"]
    assert f"{numbers['operations']} of {numbers['above']} operation" in found.message
    assert CROSSING in found.message
    return found.elements, numbers["above"], numbers["waiting"]


def owed(**fair: float) -> dict[str, Any]:
    return {"fair_share": {"w": {"cpu": 0.2}, **{o: {"cpu": f} for o, f in fair.items()}}}


@pytest.mark.parametrize("preset", ["documented", "upstream"])
@pytest.mark.parametrize(
    ("fair", "stay"),
    [
        (0.4, False),
        (0.4 - 5e-10, False),
        (0.4 - STEP, True),
        (0.4 + STEP, False),
        (STEP, True),
        (0.0, False),  # it is preemptible
    ],
)
def test_one_allocation_above_the_fair_share_stays(preset: str, fair: float, stay: bool) -> None:
    policy = eh.policies.YTsaurus(preset)
    data = eh.Snapshot.from_dict(waits({"o": [4]}))
    plan = eh.plan(data, policy, given=owed(o=fair))
    assert stays(plan) == ((("o",), 1, 1) if stay else ((), 0, 0))
    on = policy.replace(**{CROSSING: True})
    assert stays(eh.plan(data, on, given=owed(o=fair))) == ((), 0, 0)


@pytest.mark.parametrize(
    ("fields", "given", "settings"),
    [
        ({}, {}, {"preemption_satisfaction_threshold": 2.0}),  # within twice its fair share
        ({}, {"groups": {"o0": "non_preemptible"}}, {}),
        ({}, {}, {USAGE: {"cpu": 4.001}}),
        ({}, {}, {USAGE: {"cpu": 4.001}, "usage_threshold_scope": "prefix"}),
    ],
)
def test_what_stays_for_another_reason_is_not_counted(fields: Any, given: Any, settings: Any) -> None:
    data = waits({"o": [4]}, **fields)
    assert stays(planned(data, {**owed(o=0.3), **given}, **settings)) == ((), 0, 0)
    assert stays(planned(data, owed(o=0.3), **{USAGE: {"cpu": 4}})) == (("o",), 1, 1)


def test_what_has_opted_out_is_not_counted() -> None:
    data = waits({"o": [4]})
    data["allocations"][0]["preemptible"] = False
    assert stays(planned(data, owed(o=0.3))) == ((), 0, 0)


def test_where_the_fair_share_is_the_demand_nothing_is_above_it() -> None:
    data = waits({"o": [4]})
    data["requests"] = data["requests"][:1]
    for threshold in (0.5, 1.0):
        settings = {"preemption_satisfaction_threshold": threshold}
        assert stays(planned(data, owed(o=0.4), **settings)) == ((), 0, 0)
        assert stays(planned(data, owed(o=0.4 - STEP), **settings)) == (("o",), 1, 1)


def test_one_that_is_preemptible_does_not_stay() -> None:
    data = waits({"o": [4], "z": [4], "y": [4]})
    assert stays(planned(data, owed(o=0.2, z=0.0, y=0.2))) == (("o", "y"), 3, 1)
    assert stays(planned(data, owed(o=0.2, z=0.0, y=0.5))) == ((), 0, 0)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"o": [2, 2]}, ((), 0, 0)),  # the second one is preemptible
        ({"o": [4], "p": [2, 2]}, ((), 0, 0)),  # as many as not
        ({"o": [4], "p": [2, 2], "q": [4]}, (("o", "q"), 3, 1)),
        ({"o": [4], "p": [2, 2], "q": [4], "s": [2, 2]}, ((), 0, 0)),
        ({"o": [4], "p": [4, 4]}, ((), 0, 0)),  # the first one of p stays, too, but is not alone
        ({"o": [4], "p": [1, 1], "q": [1]}, (("o",), 1, 2)),  # p is within its share, q waits for more
    ],
)
def test_most_of_those_above_their_share_must_be_of_one_allocation(
    sizes: dict[str, list[float]], expected: Any
) -> None:
    shares = owed(**dict.fromkeys(sizes, 0.2))
    assert stays(planned(waits(sizes), shares)) == expected


@pytest.mark.parametrize(
    ("free", "fair", "waiting"), [(0, 0.2, 1), (1.999, 0.2, 1), (2, 0.2, 0), (0, 0.0, 0)]
)
def test_nothing_is_said_where_nothing_waits_below_its_share(free: float, fair: float, waiting: int) -> None:
    given = {"fair_share": {"w": {"cpu": fair}, "o": {"cpu": 0.3}}}
    assert stays(planned(waits({"o": [4]}, free), given))[2] == waiting


def test_what_waits_in_a_pool_below_its_share_counts() -> None:
    """Its own status is normal, as it has an allocation; the pool's is not."""
    data = waits({"o": [4]}, operations=[{"name": "o"}, {"name": "w", "pool": "b"}])
    data["pools"] = [{"name": "a"}, {"name": "b", "parent": "a"}]
    shares = {"a": {"cpu": 0.5}, "b": {"cpu": 0.0}, "w": {"cpu": 0.0}, "o": {"cpu": 0.3}}
    assert stays(planned(data, {"fair_share": shares})) == (("o",), 1, 1)
    assert stays(planned(data, {"fair_share": {**shares, "a": {"cpu": 0.0}}})) == ((), 0, 0)


# --- the same of runs


def run(rows: dict[str, Any], **settings: Any) -> eh.simulate.Result:
    work = eh.simulate.Workload(rows)
    return eh.simulate(work.snapshot(nodes=1, cpu=8), eh.policies.YTsaurus(**settings), work, until=3000)


TWO: dict[str, Any] = {
    "name": ["a", "b"],
    "resources.cpu": [6, 6],
    "submit_time": [0, 10],
    "run_time": [2000, 500],
}


def test_a_run_in_turns_says_so_and_what_ends_them() -> None:
    result = run(TWO, **{CROSSING: True})
    loop, found = result.diagnostics
    assert (loop.code, found.code) == ("preemption_loop", "starts_preemptible")
    # All but the first preemption take from the one that preempted before.
    assert found.numbers == {"turns": result.metrics["preemptions"] - 1}
    assert f"{CROSSING} is on" in found.message
    assert "starts_preemptible: " in repr(result)


def test_one_preemption_is_no_turn() -> None:
    result = run(TWO, **{CROSSING: True, "pace": {"victim_cooldown": 3000}})
    assert result.metrics["preemptions"] == 2
    assert [d.numbers for d in result.diagnostics] == [{"turns": 1}]
    result = run(TWO, **{CROSSING: True, "pace": {"max_victims_per_hour": 1}})
    assert result.metrics["preemptions"] == 1
    assert result.diagnostics == ()


def test_turns_of_aggressive_starvation_name_that_setting() -> None:
    rows = {**TWO, "resources.cpu": [2.5, 2.5], "count": [3, 3], "run_time": [3000, 3000]}
    result = run(rows, enable_aggressive_starvation=True)
    loop, found = result.diagnostics
    assert (loop.code, found.code) == ("preemption_loop", "starts_preemptible")
    assert "enable_aggressive_starvation is on" in found.message


def test_a_run_without_turns_says_what_stays() -> None:
    result = run(TWO)
    (found,) = result.diagnostics
    assert (found.code, found.numbers["operations"], found.numbers["started"]) == (
        "single_allocations_stay",
        2,
        2,
    )
    assert found.numbers["spells"] == len(result.spells["from"]) > 0
    assert "single_allocations_stay: 2 of 2 operations" in repr(result)
    alone = {name: column[:1] for name, column in TWO.items()}
    assert run(alone).diagnostics == ()  # nothing starves


@pytest.mark.parametrize(("arrays", "said"), [(1, True), (2, False), (3, False)])
def test_most_operations_of_a_run_must_be_of_one_allocation(arrays: int, said: bool) -> None:
    more = {
        "name": [f"c{i}" for i in range(arrays)],
        "resources.cpu": [1] * arrays,
        "submit_time": [20] * arrays,
        "run_time": [10] * arrays,
    }
    rows = {name: [*TWO[name], *more[name]] for name in TWO} | {"count": [1, 1, *[2] * arrays]}
    result = run(rows)
    assert bool(result.diagnostics) == said
    if said:
        assert result.diagnostics[0].numbers["operations"] == 2


def test_other_systems_say_nothing_of_it() -> None:
    work = eh.simulate.Workload(TWO)
    assert eh.simulate(work.snapshot(nodes=1, cpu=8), eh.policies.Slurm(), work).diagnostics == ()


def test_what_is_beyond_is_not_protected_by_what_it_used_before() -> None:
    settings = {CROSSING: True, USAGE: {"cpu": 3}}
    assert starts(planned(asks(2), share(0.2), **settings)) == (0, 0)
