"""Room of what leaves is nobody's but its beneficiary's until it has gone, on an overfull node too."""

from __future__ import annotations

import pytest

import evenhand as eh
from tests.unit.ytsaurus.cluster import Planner, cluster, done, row, starving

GRACEFUL = [{"name": "g", "settings": {"preemption_mode": "graceful"}}, {"name": "v"}, {"name": "w"}]


@pytest.mark.parametrize(
    ("capacity", "decided"),
    [(4, ["-g1"]), (5, ["-g1", "-v1", "+q"]), (7, ["-g1", "+q"])],
)
def test_room_of_graceful_victims_on_an_overfull_node(
    plan: Planner, capacity: int, decided: list[str]
) -> None:
    """Five run. The graceful three are not free yet: of four there is 1 without them, v's two make 3 of 5."""
    running = [row("g1", "g", cpu=3), row("v1", "v", cpu=2)]
    data = cluster({"cpu": capacity}, running, [row("q", "w", cpu=2)], operations=GRACEFUL)
    made = plan(data, given=starving("w", preemptible=("g1", "v1")))
    assert done(made) == decided


def test_upstream_hands_it_out_at_once(plan: Planner) -> None:
    running = [row("g1", "g", cpu=3), row("v1", "v", cpu=2)]
    data = cluster({"cpu": 4}, running, [row("q", "w", cpu=2)], operations=GRACEFUL)
    made = plan(data, given=starving("w", preemptible=("g1", "v1")), preset="upstream")
    assert done(made) == ["-g1", "+q"]


@pytest.mark.parametrize("beneficiary", [{}, {"operation": "u"}])
@pytest.mark.parametrize(
    ("stays", "goes", "decided"),
    [(0, 1, ["-v1", "+q"]), (1, 1, []), (1, 3, []), (0, 4, ["-v1", "+q"])],
    ids=["fits", "does-not", "overfull-does-not", "overfull-fits"],
)
def test_room_of_what_the_snapshot_says_is_leaving(
    plan: Planner, stays: int, goes: int, beneficiary: dict[str, str], decided: list[str]
) -> None:
    """Free is the capacity, 5, without what runs and without the 2 that leave; w wants 3."""
    leaving = row("old", "o", cpu=2, state="preempting", deadline=1010.0, beneficiary=beneficiary)
    running = [row("k1", "k", cpu=stays, preemptible=False), row("v1", "v", cpu=goes)]
    operations = [{"name": name} for name in "kouvw"]
    data = cluster({"cpu": 5}, [leaving, *running], [row("q", "w", cpu=3)], operations=operations)
    made = plan(data, given=starving("w", preemptible=("v1",)))
    assert done(made) == decided


def test_the_beneficiary_has_it_on_an_overfull_node(plan: Planner) -> None:
    """Six of five run and leave: the beneficiary's three are one less, as much as the overlap."""
    for wanted, decided in ((2, ["+q"]), (3, [])):
        leaving = row("old", "o", cpu=3, state="preempting", beneficiary={"operation": "w"})
        data = cluster({"cpu": 5}, [leaving, row("k", "k", cpu=3)], [row("q", "w", cpu=wanted)])
        assert done(plan(data)) == decided


def test_room_of_what_leaves_for_a_request_that_has_gone_is_for_none() -> None:
    """No request is left to look up."""
    leaves = row("a", "g", cpu=2, state="preempting", beneficiary={"request": "gone"})
    snapshot = eh.Snapshot.from_dict(cluster({"cpu": 4}, [leaves], [], operations=GRACEFUL))
    assert len(eh.plan(snapshot, eh.policies.YTsaurus()).refusals) == 0
