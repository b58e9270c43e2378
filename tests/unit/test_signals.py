"""A signal is heard during a long call of the core, not only after it."""

from __future__ import annotations

import linecache
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import _core

#: CPU seconds of a call after which the signal comes, and by how much later it is heard at most.
AFTER, LATE = 0.02, 0.2
#: How much larger an input is made, one after the other, until a call lasts longer than that in the core.
SIZES = (1, 2, 4, 8, 16)


class Stop(Exception):
    """What the handler raises."""


class Alarm:
    """A signal after some CPU time of this process, so that a busy machine changes nothing."""

    def __init__(self) -> None:
        self.late = -1.0  # of the ring that was heard in the core
        self.raises = True
        self._on = False
        self._due = 0.0

    def ring(self, _: int, frame: FrameType | None) -> None:
        assert frame
        if not self._on:
            return  # the call is over, and the signal came just before the clock was stopped
        if "core." not in linecache.getline(
            frame.f_code.co_filename, frame.f_lineno or 0
        ):  # a line that calls it
            self.set()  # it was in Python; the core is yet to come
            return
        self.late = time.process_time() - self._due
        if self.raises:
            raise Stop

    def set(self) -> None:
        """Start."""
        self._on = True
        self._due = time.process_time() + AFTER
        signal.setitimer(signal.ITIMER_PROF, AFTER)

    def stop(self) -> None:
        """Ring no more, not even for a signal that is on its way."""
        self._on = False
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    made = Alarm()
    before = signal.signal(signal.SIGPROF, made.ring)
    try:
        yield made
    finally:
        made.stop()
        signal.signal(signal.SIGPROF, before)


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


def ytsaurus(size: int) -> Callable[[], Any]:
    count = 16_000 * size
    snapshot = full(count, 100)
    given = {"starvation": {100 + i: "starving" for i in range(count)}}
    return lambda: eh.plan(snapshot, eh.policies.YTsaurus(), given=given)


def slurm(size: int) -> Callable[[], Any]:
    tiers = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10, "PreemptMode": "OFF"}}
    policy = eh.policies.Slurm(PreemptType="preempt/partition_prio", PreemptMode="CANCEL", partitions=tiers)
    snapshot = full(4000 * size, 40_000 * size)
    return lambda: eh.plan(snapshot, policy)


def hard() -> tuple[Any, Any, Any]:
    """Amounts and costs of candidates, and a shortage, that a search does not get done with soon."""
    rng = np.random.default_rng(5)
    amounts = rng.integers(10**6, 10**7, (60, 5))
    costs = amounts.sum(axis=1) // 10**4 + rng.integers(0, 50, 60)
    return amounts, costs, amounts.sum(axis=0) // 2


def backendai(_: int) -> Callable[[], Any]:
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
    policy = eh.policies.BackendAI(victim_selection="minimum", victim_cost="given", minimum_budget=10**7)
    return lambda: eh.plan(snapshot, policy)


def fair_share(size: int) -> Callable[[], Any]:
    snapshot = flat(300_000 * size)
    return lambda: eh.fair_share(snapshot)


def engine(size: int) -> Callable[[], Any]:
    snapshot, made = flat(300_000 * size), eh.FairShareEngine()
    return lambda: made.update(snapshot)


def search(_: int) -> Callable[[], Any]:
    amounts, costs, shortage = hard()
    return lambda: _core.select_victims(amounts, shortage, "minimum", 10**9, costs)


CALLS = [ytsaurus, slurm, backendai, fair_share, engine, search]


def heard(call: Callable[[], Any], alarm: Alarm) -> bool:
    """Whether the call was interrupted; it was not if it was over before the signal came."""
    alarm.set()
    try:
        call()
    except Stop:
        return True
    finally:
        alarm.stop()
    return False


@pytest.mark.parametrize("make", CALLS, ids=lambda make: make.__name__)
def test_a_signal_is_heard_soon(make: Callable[[int], Callable[[], Any]], alarm: Alarm) -> None:
    assert any(heard(make(size), alarm) for size in SIZES)
    assert alarm.late <= LATE


def test_an_engine_is_usable_after_a_signal(alarm: Alarm) -> None:
    """What an update left half done is not used again."""
    small = flat(1000)
    for size in SIZES:
        made, large = eh.FairShareEngine(), flat(300_000 * size)
        made.update(large)
        changed = large.replace(total={"cpu": 200_000, "memory": 250_000})
        if heard(lambda made=made, changed=changed: made.update(changed), alarm):
            break
    assert alarm.late >= 0
    assert made.update(changed) == eh.fair_share(changed)
    assert made.update(small) == eh.fair_share(small)


def test_a_handler_that_returns_changes_nothing(alarm: Alarm) -> None:
    alarm.raises = False
    for size in SIZES:
        call = fair_share(size)
        assert not heard(call, alarm)
        again = call()
        if alarm.late >= 0:
            break
    assert 0 <= alarm.late <= LATE
    assert again == call()


def test_other_threads_hear_none(alarm: Alarm) -> None:
    """Handlers run in the main thread only: a call elsewhere ends as it would have."""
    snapshot, found = flat(100_000), []
    thread = threading.Thread(target=lambda: found.append(eh.fair_share(snapshot)))
    alarm.raises = False
    alarm.set()
    thread.start()
    thread.join()
    assert found == [eh.fair_share(snapshot)]
