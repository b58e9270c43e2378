"""What `gang` means to the YTsaurus policy, and what it does not."""

from __future__ import annotations

import pytest

from evenhand.fields import TABLES
from evenhand.systems import SYSTEMS
from tests.unit.ytsaurus.cluster import Planner, cluster, done, row


@pytest.mark.parametrize("gang", [False, True])
def test_a_part_of_a_gang_may_start(plan: Planner, gang: bool) -> None:
    """There is room for two of three."""
    operations = [{"name": "w", "gang": gang}]
    data = cluster({"cpu": 2}, [], [row("q", "w", cpu=1, count=3)], operations=operations)
    assert done(plan(data)) == ["+q", "+q"]


@pytest.mark.parametrize(
    ("limit", "gang", "status"),
    [(2.999, True, "normal"), (3, True, "below_fair_share"), (2.999, False, "below_fair_share")],
)
def test_a_gang_has_a_fair_share_of_all_or_nothing(
    plan: Planner, limit: float, gang: bool, status: str
) -> None:
    operations = [{"name": "w", "gang": gang, "limits": {"cpu": limit}}]
    data = cluster({"cpu": 8}, [], [row("q", "w", cpu=1, count=3)], operations=operations)
    made = plan(data, fair_share={"step_function_for_gang": True})
    assert made["statuses"]["w"]["status"] == status


@pytest.mark.parametrize(("gang", "spared"), [(True, True), (False, False)])
def test_gangs_may_be_spared_from_aggressive_preemption(plan: Planner, gang: bool, spared: bool) -> None:
    operations = [{"name": "v", "gang": gang}, {"name": "w"}]
    data = cluster({"cpu": 2}, [row("v1", "v", cpu=2)], [row("q", "w", cpu=1)], operations=operations)
    given = {
        "starvation": {"w": "aggressively_starving", "v": "non_starving"},
        "groups": {"v1": "aggressively_preemptible"},
    }
    made = plan(data, given=given, allow_aggressive_preemption_for_gang_operations=False)
    assert done(made) == ([] if spared else ["-v1", "+q"])
    assert done(plan(data, given=given)) == ["-v1", "+q"]


def test_the_reference_of_the_field_says_so() -> None:
    says = TABLES["operations"]["gang"].description
    assert "YTsaurus' rules" in says
    assert "starts one by one" in says
    assert "starts one by one" in SYSTEMS["ytsaurus"].reads["operations"]["gang"]
