"""Every threshold of shares and amounts: at exactly its value, and one step to each side."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand import _core
from tests.reference.ytsaurus.status import satisfaction
from tests.unit.ytsaurus.cluster import Made, Planner, cluster, done, row, starving

CROSSING = "consider_allocation_on_fair_share_bound_preemptible"
LARGE = 1_000_000_000  # one of so many is a share of 1e-9: two of them are needed to differ


def status(made: Made, name: str = "w") -> str:
    found: str = made["statuses"][name]["status"]
    return found


def using(plan: Planner, used: float, fair_share: float, total: float = 100, **more: Any) -> str:
    """Status of w, which uses so much of the total and wants all of it."""
    fields = {key: more.pop(key) for key in ("settings", "resources") if key in more}
    data = cluster(
        {"cpu": total},
        [row("w1", "w", cpu=used)],
        [row("q", "w", cpu=total - used)],
        operations=[{"name": "w", "settings": fields.pop("settings", {})}],
        **fields,
    )
    return status(plan(data, given={"fair_share": {"w": {"cpu": fair_share}}}, **more))


@pytest.mark.parametrize(
    ("tolerance", "used", "expected"),
    [
        (0.8, 41, "normal"),
        (0.8, 40, "normal"),
        (0.8, 39.999, "below_fair_share"),
        (1.0, 50, "normal"),
        (1.0, 49.999, "below_fair_share"),
        (0.0, 0, "normal"),
    ],
)
def test_tolerance(plan: Planner, tolerance: float, used: float, expected: str) -> None:
    assert using(plan, used, 0.5, fair_share_starvation_tolerance=tolerance) == expected
    own = {"fair_share_starvation_tolerance": tolerance}
    assert using(plan, used, 0.5, settings=own, fair_share_starvation_tolerance=1.0) == expected


@pytest.mark.parametrize(("less", "expected"), [(0, "normal"), (1, "normal"), (2, "below_fair_share")])
def test_shares_within_a_billionth_are_equal(plan: Planner, less: int, expected: str) -> None:
    used = LARGE * 2 // 5 - less
    assert using(plan, used, 0.5, LARGE, resources={"cpu": {"quantum": 1}}) == expected


@pytest.mark.parametrize(
    ("fair_share", "expected"),
    [(0.5, "below_fair_share"), (0.4999, "below_fair_share"), (0.49989, "normal")],
)
def test_upstream_forgets_the_tolerance_where_the_demand_is_covered(
    plan: Planner, fair_share: float, expected: str
) -> None:
    """45 of 50 are used; covered is what lacks no more than a ten-thousandth."""
    data = cluster({"cpu": 100}, [row("w1", "w", cpu=45)], [row("q", "w", cpu=5)])
    given = {"fair_share": {"w": {"cpu": fair_share}}}
    assert status(plan(data, given=given, satisfied_demand_tolerance="one")) == expected
    assert status(plan(data, given=given)) == "normal"


@pytest.mark.parametrize(
    ("smallest", "expected"),
    [(9.999, "below_fair_share"), (10, "normal"), (10.001, "normal")],
)
def test_a_gap_that_is_no_larger_than_an_allocation_is_no_deficit(
    plan: Planner, smallest: float, expected: str
) -> None:
    data = cluster({"cpu": 100}, [row("w1", "w", cpu=15)], [row("q", "w", cpu=smallest, count=8)])
    given = {"fair_share": {"w": {"cpu": 0.25}}}
    on = {"enable_absolute_fair_share_starvation_tolerance": True}
    assert status(plan(data, given=given, **on)) == expected
    assert status(plan(data, given=given)) == "below_fair_share"


def groups(plan: Planner, fair_share: float, count: int = 5, pending: int = 1, **settings: Any) -> str:
    """Groups of allocations of a tenth of the cluster each, oldest first, by their first letters."""
    running = [row(f"o{i}", "o", cpu=1) for i in range(count)]
    data = cluster({"cpu": 10}, running, [row("q", "o", cpu=pending)] if pending else [])
    made = plan(data, given={"fair_share": {"o": {"cpu": fair_share}}}, **settings)
    return "".join(made["groups"][f"o{i}"][0] for i in range(count))


@pytest.mark.parametrize(
    ("fair_share", "beyond", "inside"),
    [
        (0.3, "naapp", "nnapp"),  # bounds of 0.15 and 0.3: the second one crosses the first of them
        (0.4, "nnaap", "nnaap"),  # 0.2, 0.4: exactly two, exactly four
        (0.4 - 5e-10, "nnaap", "nnaap"),
        (0.4 - 4e-9, "naapp", "nnaap"),
        (0.4 + 5e-10, "nnaap", "nnaap"),
        (0.4 + 4e-9, "nnaap", "nnnaa"),
    ],
)
def test_bounds_of_groups(plan: Planner, fair_share: float, beyond: str, inside: str) -> None:
    thresholds = {
        "aggressive_preemption_satisfaction_threshold": 0.5,
        "preemption_satisfaction_threshold": 1.0,
    }
    for preset in ("documented", "upstream"):
        assert groups(plan, fair_share, preset=preset, **thresholds) == inside
        assert groups(plan, fair_share, preset=preset, **thresholds, **{CROSSING: True}) == beyond


@pytest.mark.parametrize(
    ("thresholds", "beyond", "inside"),
    [
        ((0.0, 1.0), "aaapp", "aaapp"),
        ((1.0, 1.0), "nnnpp", "nnnpp"),
        ((0.5, 2.0), "naaaa", "nnaaa"),
        ((0.0, 1e-12), "ppppp", "ppppp"),
    ],
)
def test_thresholds_at_their_ends(
    plan: Planner, thresholds: tuple[float, float], beyond: str, inside: str
) -> None:
    first, second = thresholds
    settings = {
        "aggressive_preemption_satisfaction_threshold": first,
        "preemption_satisfaction_threshold": second,
    }
    assert groups(plan, 0.3, **settings) == inside
    assert groups(plan, 0.3, **settings, **{CROSSING: True}) == beyond


@pytest.mark.parametrize(
    ("fair_share", "beyond", "inside"),
    [
        (0.5, "naaaa", "naaaa"),
        (0.5 - 5e-10, "naaaa", "naaaa"),
        (0.5 - 4e-9, "naaap", "naaaa"),
        (0.4 + 4e-9, "aaaap", "naaaa"),
        (0.4, "aaaap", "naaap"),
    ],
)
def test_nothing_is_preemptible_where_the_fair_share_is_the_demand(
    plan: Planner, fair_share: float, beyond: str, inside: str
) -> None:
    assert groups(plan, fair_share, pending=0) == inside
    assert groups(plan, fair_share, pending=0, **{CROSSING: True}) == beyond


USAGE = "non_preemptible_resource_usage_threshold"


@pytest.mark.parametrize(
    ("threshold", "operation", "beyond", "inside"),
    [
        (6, "nnnnn", "nnnnn", "nnnnn"),
        (5.001, "nnnnn", "nnnnn", "nnnnn"),
        (5.0001, "nnnnn", "nnnnn", "nnnnn"),
        (5, "ppppp", "nnnnp", "nnnnn"),
        (4.999, "ppppp", "nnnnp", "nnnnn"),
        (4, "ppppp", "nnnpp", "nnnnp"),
        (1, "ppppp", "ppppp", "npppp"),
        (0, "ppppp", "ppppp", "ppppp"),
    ],
)
def test_usage_threshold(plan: Planner, threshold: float, operation: str, beyond: str, inside: str) -> None:
    """Protected is usage below it, not at it; the operation uses five and has no fair share."""
    settings = {USAGE: {"cpu": threshold}}
    assert groups(plan, 0.0, **settings) == operation
    assert groups(plan, 0.0, **settings, **{CROSSING: True}) == operation
    settings["usage_threshold_scope"] = "prefix"
    assert groups(plan, 0.0, **settings) == inside
    assert groups(plan, 0.0, **settings, **{CROSSING: True}) == beyond


@pytest.mark.parametrize(("own", "expected"), [(5, "ppppp"), (5.001, "nnnnn"), (6, "nnnnn")])
@pytest.mark.parametrize("tree", [{}, {USAGE: {}}])
def test_an_operations_own_usage_threshold_protects_where_nothing_is_inherited(
    plan: Planner, own: float, expected: str, tree: dict[str, Any]
) -> None:
    data = cluster(
        {"cpu": 10},
        [row(f"o{i}", "o", cpu=1) for i in range(5)],
        [row("q", "o", cpu=1)],
        operations=[{"name": "o", "settings": {USAGE: {"cpu": own}}}],
    )
    made = plan(data, given={"fair_share": {"o": {"cpu": 0.0}}}, **tree)
    assert "".join(made["groups"][f"o{i}"][0] for i in range(5)) == expected


@pytest.mark.parametrize(("own", "expected"), [(2, "ppppp"), (6, "nnnnn"), (9, "nnnnn")])
def test_where_one_is_inherited_the_lower_one_counts(plan: Planner, own: float, expected: str) -> None:
    data = cluster(
        {"cpu": 10},
        [row(f"o{i}", "o", cpu=1) for i in range(5)],
        [row("q", "o", cpu=1)],
        operations=[{"name": "o", "settings": {USAGE: {"cpu": own}}}],
    )
    made = plan(data, given={"fair_share": {"o": {"cpu": 0.0}}}, **{USAGE: {"cpu": 6}})
    assert "".join(made["groups"][f"o{i}"][0] for i in range(5)) == expected


@pytest.mark.parametrize(("limit", "decided"), [(4, ["+q"]), (3, ["+q"]), (2.999, []), (2, [])])
@pytest.mark.parametrize("where", ["operation", "pool"])
def test_a_limit_holds_with_the_new_allocation(
    plan: Planner, limit: float, where: str, decided: list[str]
) -> None:
    limited = {"limits": {"cpu": limit}}
    operation = {"name": "w", "pool": "p", **(limited if where == "operation" else {})}
    pool = {"name": "p", **(limited if where == "pool" else {})}
    data = cluster(
        {"cpu": 9}, [row("w1", "w", cpu=2)], [row("q", "w", cpu=1)], operations=[operation], pools=[pool]
    )
    assert done(plan(data)) == decided


@pytest.mark.parametrize(("slack", "decided"), [(0.999, []), (1, ["-v1", "+q"]), (1.001, ["-v1", "+q"])])
def test_slack_of_a_pools_limits_in_preemptive_stages(
    plan: Planner, slack: float, decided: list[str]
) -> None:
    pool = {
        "name": "p",
        "limits": {"cpu": 2},
        "settings": {"resource_limits_overcommit_tolerance": {"cpu": slack}},
    }
    data = cluster(
        {"cpu": 4},
        [row("v1", "v", cpu=2), row("w1", "w", cpu=2)],
        [row("q", "w", cpu=1)],
        operations=[{"name": "v"}, {"name": "w", "pool": "p"}],
        pools=[pool],
    )
    given = starving("w", preemptible=("v1",))
    assert done(plan(data, given=given, limit_repair="stage")) == decided


@pytest.mark.parametrize(("limit", "decided"), [(4, []), (3.999, ["-w1"])])
def test_a_limit_is_exceeded_by_more_than_it(plan: Planner, limit: float, decided: list[str]) -> None:
    operations = [{"name": "w", "limits": {"cpu": limit}}]
    data = cluster({"cpu": 9}, [row("w1", "w", cpu=4)], [], operations=operations)
    assert done(plan(data)) == decided


@pytest.mark.parametrize(("fair_share", "within"), [(0.5, True), (0.5 - 5e-10, True), (0.5 - 2e-9, False)])
def test_a_victim_within_its_fair_share(plan: Planner, fair_share: float, within: bool) -> None:
    data = cluster(
        {"cpu": 4}, [row("v1", "v", cpu=2), row("u1", "u", cpu=2, preemptible=False)], [row("q", "w", cpu=2)]
    )
    given = starving("w", preemptible=("v1",), fair_share={"v": {"cpu": fair_share}})
    victim = plan(data, given=given)["decisions"][0]
    assert (victim["allocation"], victim["victim_within_fair_share"]) == ("v1", within)


@pytest.mark.parametrize(
    ("satisfaction", "shielded"),
    [(0.5, True), (0.50009, True), (0.5 + 1e-4, False), (0.50011, False), (1.0, False)],
)
def test_who_is_served_below_the_threshold_shields_its_work(satisfaction: float, shielded: bool) -> None:
    """An older rule: by less than the threshold and a ten-thousandth."""
    assert _core.shields([-1, 0], [False, False], [1e9, satisfaction], 0.5).tolist()[1] == (
        1 if shielded else -1
    )


@pytest.mark.parametrize(
    ("fair", "usage", "demand", "expected"),
    [
        ([0.5], [0.5], [1.0], 1.0),
        ([0.5], [0.25], [1.0], 0.5),
        ([1e-9], [1.0], [1.0], 1e9),  # nothing worth the name is owed
        ([2e-9], [0.0], [1.0], 0.0),
        # The first is blocked and at its fair share: not above it, so what is open counts.
        ([0.5, 0.5], [0.5 + 5e-10, 0.25], [0.5, 1.0], 0.5),
        ([0.5, 0.5], [0.5 + 2e-9, 0.25], [0.5, 1.0], 1.0 + 4e-9),
        ([0.5 - 5e-10, 0.5], [0.2, 0.25], [0.5, 1.0], 0.5),
        ([0.5 - 2e-9, 0.5], [0.4, 0.25], [0.5, 1.0], 0.8 * (1 + 4e-9)),
        ([0.0, 0.5], [5e-10, 0.25], [0.0, 1.0], 0.5),
        ([0.0, 0.5], [2e-9, 0.25], [0.0, 1.0], 1e9),
    ],
)
def test_satisfaction(fair: list[float], usage: list[float], demand: list[float], expected: float) -> None:
    assert _core.satisfaction(fair, usage, demand) == pytest.approx(expected, rel=1e-12)
    assert satisfaction(fair, usage, demand) == pytest.approx(expected, rel=1e-12)
