"""A signal is heard during a long call of the core, not only after it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import _core

#: At which poll of a call the signal comes: its first, one in the midst.
POLLS = (1, 4)


class Stop(Exception):
    """What the handler raises."""


class Bell:
    """A signal that the core sends itself at a poll of the next call: no clock says when."""

    def __init__(self) -> None:
        self.rung = 0
        self.raises = True

    def ring(self, *_: object) -> None:
        self.rung += 1
        if self.raises:
            raise Stop

    def at(self, polls: int) -> None:
        _core.signal_at_poll(signal.SIGUSR1, polls)


@pytest.fixture
def bell() -> Iterator[Bell]:
    made = Bell()
    before = signal.signal(signal.SIGUSR1, made.ring)
    try:
        yield made
    finally:
        _core.signal_at_poll(0, 0)
        signal.signal(signal.SIGUSR1, before)


def flat(count: int) -> eh.Snapshot:
    """One pool of many operations whose functions all differ."""
    return eh.Snapshot.from_frames(
        resources={"cpu": {}, "memory": {}},
        total={"cpu": count, "memory": count},
        operations={
            "name": np.arange(count),
            "weight": 1 + np.arange(count) % 1009,
            "demand.cpu": 1 + np.arange(count) % 7,
            "demand.memory": 1 + np.arange(count) % 11,
        },
    )


def full(nodes: int, running: int) -> eh.Snapshot:
    """Nodes full of small work of so many operations, and much larger work that waits."""
    count = nodes * 10
    some = np.arange(running + nodes)
    rows = np.arange(count)
    return eh.Snapshot.from_frames(
        now=10_000,
        resources={"cpu": {"quantum": 1}, "memory": {"quantum": 1}},
        nodes={
            "name": np.arange(nodes),
            "capacity.cpu": np.full(nodes, 40),
            "capacity.memory": np.full(nodes, 80),
        },
        operations={
            "name": some,
            "priority": np.where(some < running, 1, 20),
            "partition": np.where(some < running, "low", "high"),
        },
        allocations={
            "name": rows,
            "operation": rows % running,
            "node": rows // 10,
            "resources.cpu": np.full(count, 4),
            "resources.memory": 1 + rows % 8,
            "start_time": rows,
        },
        requests={
            "name": np.arange(nodes),
            "operation": running + np.arange(nodes),
            "resources.cpu": 17 + np.arange(nodes) % 19,
            "resources.memory": 20 + np.arange(nodes) % 13,
        },
    )


def ytsaurus() -> Callable[[], Any]:
    snapshot = full(40, 100)
    given = {"starvation": {100 + i: "starving" for i in range(40)}}
    return lambda: eh.plan(snapshot, eh.policies.YTsaurus(), given=given)


def slurm() -> Callable[[], Any]:
    tiers = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10, "PreemptMode": "OFF"}}
    policy = eh.policies.Slurm(PreemptType="preempt/partition_prio", PreemptMode="CANCEL", partitions=tiers)
    snapshot = full(40, 400)
    return lambda: eh.plan(snapshot, policy)


def hard() -> tuple[Any, Any, Any]:
    """Amounts and costs of candidates, and a shortage, that a search does not get done with soon."""
    rng = np.random.default_rng(5)
    amounts = rng.integers(10**6, 10**7, (60, 5))
    costs = amounts.sum(axis=1) // 10**4 + rng.integers(0, 50, 60)
    return amounts, costs, amounts.sum(axis=0) // 2


BUDGET = 10_000  # branches of a search


def backendai() -> Callable[[], Any]:
    """One node of sessions of which the cheapest that make room are hard to find."""
    amounts, costs, shortage = hard()
    resources: dict[str, Any] = {f"r{i}": {} for i in range(5)}
    rows = np.arange(60)

    def columns(field: str, values: Any) -> dict[str, Any]:
        return {f"{field}.r{i}": values[:, i] for i in range(5)}

    snapshot = eh.Snapshot.from_frames(
        resources=resources,
        nodes={"name": ["n"], **columns("capacity", amounts.sum(axis=0)[None, :])},
        operations={
            "name": np.arange(61),
            "priority": np.where(np.arange(61) < 60, 1, 20),
            "settings.preemption_cost": [*costs.tolist(), 1],
        },
        allocations={"name": rows, "operation": rows, "node": ["n"] * 60, **columns("resources", amounts)},
        requests={"name": [0], "operation": [60], **columns("resources", shortage[None, :])},
    )
    policy = eh.policies.BackendAI(victim_selection="minimum", victim_cost="given", minimum_budget=BUDGET)
    return lambda: eh.plan(snapshot, policy)


def fair_share() -> Callable[[], Any]:
    snapshot = flat(20_000)
    return lambda: eh.fair_share(snapshot)


def engine() -> Callable[[], Any]:
    snapshot, made = flat(20_000), eh.FairShareEngine()
    return lambda: made.update(snapshot)


def search() -> Callable[[], Any]:
    amounts, costs, shortage = hard()
    return lambda: _core.select_victims(amounts, shortage, "minimum", BUDGET, costs)


#: Calls, and how often each asks at least: once a node, a job, a branch, or a thousand light steps.
CALLS: dict[Callable[[], Callable[[], Any]], int] = {
    ytsaurus: 40,
    slurm: 5,  # jobs that are looked at
    backendai: BUDGET,
    fair_share: 20_000 // 1024,
    engine: 20_000 // 1024,
    search: BUDGET,
}


def heard(call: Callable[[], Any], bell: Bell, polls: int) -> int:
    """Call until the bell is heard; return how often it was asked for."""
    before = _core.polls()
    bell.at(polls)
    with pytest.raises(Stop):
        call()
    return _core.polls() - before


@pytest.mark.parametrize("make", CALLS, ids=lambda make: make.__name__)
def test_a_signal_ends_a_call(make: Callable[[], Callable[[], Any]], bell: Bell) -> None:
    call = make()
    for polls in POLLS:
        assert heard(call, bell, polls) == polls
    assert bell.rung == len(POLLS)


@pytest.mark.parametrize("make", CALLS, ids=lambda make: make.__name__)
def test_a_call_asks_for_signals_all_along(make: Callable[[], Callable[[], Any]]) -> None:
    before = _core.polls()
    make()()
    assert _core.polls() - before >= CALLS[make]


def test_an_engine_is_usable_after_a_signal(bell: Bell) -> None:
    """What an update left half done is not used again."""
    small, large = flat(1000), flat(20_000)
    made = eh.FairShareEngine()
    made.update(large)
    changed = large.replace(total={"cpu": 12_000, "memory": 15_000})
    for polls in (1, 5, 15):
        assert heard(lambda: made.update(changed), bell, polls) == polls
    assert made.update(changed) == eh.fair_share(changed)
    assert made.update(small) == eh.fair_share(small)


def test_a_handler_that_returns_changes_nothing(bell: Bell) -> None:
    bell.raises = False
    call = fair_share()
    bell.at(7)
    again = call()
    assert bell.rung == 1
    assert again == call()


def test_other_threads_hear_none(bell: Bell) -> None:
    """Handlers run in the main thread only: a call elsewhere ends as it would have."""
    snapshot, found = flat(20_000), []

    def elsewhere() -> None:
        bell.at(3)
        found.append(eh.fair_share(snapshot))

    bell.raises = False
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [eh.fair_share(snapshot)]
    assert bell.rung == 1  # by this thread, afterwards
