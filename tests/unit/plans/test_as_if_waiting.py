"""A plan as if all had been as it is for some time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import evenhand as eh

SIZES: dict[str, Any] = {"pools": 6, "depth": 2, "operations": 25, "allocations": 150, "nodes": 8}


def cluster(seed: int = 1) -> eh.Snapshot:
    return eh.Snapshot.from_dict(eh.synthetic.cluster(**SIZES, contention=1.6, seed=seed))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_plan_after_one_so_much_earlier(seed: int) -> None:
    snapshot, policy = cluster(seed), eh.policies.YTsaurus(enable_aggressive_starvation=True)
    earlier = eh.plan(snapshot.replace(now=snapshot.now - 600, previous_update=None), policy)
    assert not len(earlier.decisions.victims), "its own decisions would count otherwise"
    plan = eh.plan(snapshot, policy, earlier.state)
    assert len(plan.decisions.victims), "nothing is tested where nothing is preempted"
    for waiting in (600, 600.0, "10m", timedelta(minutes=10)):
        made = eh.plan(snapshot, policy, as_if_waiting=waiting)
        assert made.to_dict() == plan.to_dict()


def test_what_the_first_plan_would_have_preempted_was_not() -> None:
    """Back-offs and cooldowns of decisions that were never carried out spare nothing."""
    low = {"name": "low", "priority": 1, "partition": "p"}
    high = {"name": "high", "priority": 20, "partition": "p"}
    snapshot = eh.Snapshot.from_dict(
        {
            "now": 100,
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": 1}}],
            "operations": [low, high],
            "allocations": [{"name": "a", "operation": "low", "node": "n", "resources": {"cpu": 1}}],
            "requests": [{"name": "r", "operation": "high", "resources": {"cpu": 1}}],
        }
    )
    policy = eh.policies.BackendAI(pace={"victim_cooldown": "1h"})
    first = eh.plan(snapshot, policy)
    assert [d.allocation for d in first.decisions.victims] == ["a"]
    assert first.state.victims, "the first plan remembers its victims"
    again = eh.plan(snapshot, policy, as_if_waiting="10m")
    assert again.decisions == first.decisions


def test_several_snapshots_have_all_waited() -> None:
    policy = eh.policies.YTsaurus()
    made = eh.plan({"one": cluster(1)}, policy, as_if_waiting="10m")
    assert made["one"] == eh.plan(cluster(1), policy, as_if_waiting="10m")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("soon", 'as_if_waiting is "soon", not a duration'),
        (-1, "as_if_waiting is -1; it must be between 0 and a hundred years"),
        (1e300, r"as_if_waiting is 1e\+300; it must be between 0"),
        (True, "as_if_waiting is a flag; it must be a duration"),
    ],
)
def test_wrong_durations(given: Any, said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        eh.plan(cluster(), eh.policies.YTsaurus(), as_if_waiting=given)


def test_a_state_already_says_how_long() -> None:
    snapshot, policy = cluster(), eh.policies.YTsaurus()
    with pytest.raises(eh.InputError, match="must be absent where a state is given"):
        eh.plan(snapshot, policy, eh.plan(snapshot, policy).state, as_if_waiting=60)


def test_a_plan_says_that_nothing_has_waited() -> None:
    snapshot, policy = cluster(), eh.policies.YTsaurus()
    first, later = eh.plan(snapshot, policy), eh.plan(snapshot, policy, as_if_waiting="1s")
    said = "None of them has waited yet"
    assert said in str(first)
    assert said in first._repr_html_()
    assert said not in str(later)
    assert said not in later._repr_html_()
    assert said not in str(eh.plan(snapshot, eh.policies.BackendAI()))
