"""Queues of several jobs: what the passes of a plan do, and what a real slurmctld then does."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from dataclasses import astuple, dataclass
from types import ModuleType
from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.slurm.adapter.live import Slurm
from tests.conformance.slurm.passes import Event, Passes, engine_plan
from tests.live.slurm import regions, rounds
from tests.live.slurm.conftest import Cluster
from tests.live.slurm.order import actions, events, position, torn, write_down
from tests.live.slurm.rounds import GROUPS, WATCH, Group, Seen, fill, submit, switch, watch

pytestmark = [pytest.mark.live, pytest.mark.slow]

ROUNDS = int(os.environ.get("EVENHAND_LIVE_ROUNDS") or 15)


@dataclass
class Played:
    """What was to be planned, and what happened, of all groups."""

    snapshot: eh.Snapshot
    settings: dict[str, Any]
    running: list[list[str]]
    waiting: list[list[str]]
    seen: list[Seen]
    events: list[Event]
    actions: list[str]

    def planned(self) -> list[Seen]:
        """Return what plans do in the controller's order of passes and ends."""
        world = Passes(self.snapshot.to_dict(), self.settings, engine_plan)
        world.follow(self.events)
        runs = world.running()
        return [
            Seen(
                {place for place, name in enumerate(waits) if name in runs},
                {place for place, name in enumerate(names) if name in world.preempted},
            )
            for names, waits in zip(self.running, self.waiting, strict=True)
        ]


def play(cluster: Cluster, groups: list[Group]) -> Played:
    """Let the jobs of all groups run, wait and be preempted; again where they were not released at once."""
    running = fill(cluster, groups)
    adapter = Slurm(evict="as_planned")
    policy = adapter.policy()
    switch(cluster, groups, "DOWN")
    waiting = [[name for job in group.waiting for name in submit(cluster, job)] for group in groups]
    snapshot = adapter.snapshot(released=[name for names in waiting for name in names])
    assert not adapter.left_out
    since = position(cluster)
    switch(cluster, groups, "UP")
    seen = watch(cluster, running, waiting, time.monotonic() + WATCH)
    if torn(cluster, since):
        return play(cluster, groups)
    order = events(cluster, since, time.time())
    said = actions(cluster, since)
    return Played(snapshot, policy.settings.model_dump(), running, waiting, seen, order, said)


@pytest.mark.parametrize("draws", [rounds, regions], ids=["plain", "regions"])
def test_sixty_random_queues(
    draws: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which jobs start and which are preempted within thirty seconds, in at least 57 of 60 queues.

    Plans are made at each pass of the controller, and victims end when they ended there: the page on Slurm
    leaves that order open. All groups are played together, as an estimate depends on ends everywhere.
    """
    seed = int(os.environ.get("EVENHAND_LIVE_SEED") or random.randrange(10**6))
    chance = random.Random(seed)
    parts = draws.layout(chance)
    right = 0
    kinds: Counter[str] = Counter()
    begin = time.monotonic()
    with draws.started_for(parts) as cluster:
        monkeypatch.setenv("SLURM_CONF", cluster.conf)
        assert "bf_interval=2," in cluster.run("scontrol", "show", "config")
        write_down(cluster)
        for _ in range(ROUNDS):
            groups = [draws.draw(chance, one) for one in parts]
            kinds.update(regions.kind_of(job) for group in groups for job in group.waiting)
            one = play(cluster, groups)
            planned = one.planned()
            for group, plan, seen in zip(groups, planned, one.seen, strict=True):
                right += plan == seen
                if plan != seen:
                    with capsys.disabled():
                        print(f"\n{group}\nplanned {plan}\nseen {seen}\n{one.snapshot.to_json()}")
                        print(json.dumps([astuple(event) for event in one.events]))
                        print(json.dumps(one.settings, default=str))
                        print(json.dumps([one.running, one.waiting]))
                        print(json.dumps(one.actions))
    seconds = time.monotonic() - begin
    with capsys.disabled():
        print(
            f"\nseed {seed}, {ROUNDS * GROUPS} queues in {seconds:.0f} s: as planned in {right};"
            f" waiting {dict(kinds)}"
        )
    assert right >= ROUNDS * GROUPS - 3
    assert set(kinds) == (set(regions.KINDS) if draws is regions else {"plain"})
