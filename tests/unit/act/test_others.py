"""Other people use the cluster, too: whatever they do and whenever, and whatever goes wrong with commands."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.act.journal import read
from evenhand.adapters.commands import Result
from tests.drawing import some
from tests.unit.act.faults import Fault
from tests.unit.act.slurm.cluster import FakeSlurm
from tests.unit.act.test_faults import FAULTS, MODES
from tests.unit.act.world import JOBS, World

DEEDS_AFTER_EACH = [("cancel", "8"), ("suspend", "1"), ("end", "3")]
DEEDS = st.tuples(
    st.sampled_from(["cancel", "end", "suspend"]), st.sampled_from([str(j["id"]) for j in JOBS])
)


pytestmark = pytest.mark.usefixtures("quiet")


class Others:
    """Answers commands; after some of them somebody does something to a job."""

    def __init__(self, cluster: FakeSlurm, deeds: dict[int, tuple[str, str]]) -> None:
        self.cluster, self.deeds = cluster, deeds
        self.suspended: set[str] = set()
        self.count = 0

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        result = self.cluster(arguments, timeout)
        if any(word.startswith("--jobs=") for word in arguments):
            self.cluster.events.append(("look", "", 0))
        deed = self.deeds.get(self.count)
        self.count += 1
        if deed is not None:
            self.do(*deed)
        return result

    def do(self, what: str, name: str) -> None:
        state = self.cluster.jobs[name]["state"]
        if what == "cancel" and state in ("PENDING", "RUNNING", "SUSPENDED"):
            self.cluster.jobs[name]["state"] = "CANCELLED"
            self.cluster.events.append(("cancelled", name, 0))
        elif what == "end" and state == "RUNNING":
            self.cluster.jobs[name]["state"] = "COMPLETED"
        elif what == "suspend" and state == "RUNNING":
            self.cluster.jobs[name]["state"] = "SUSPENDED"
            self.suspended.add(name)


def live_with(deeds: dict[int, tuple[str, str]], schedule: dict[int, Fault], rounds: int, mode: str) -> World:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), faults=schedule, mode=mode)
        others = Others(world.cluster, deeds)
        world.faults._runner = others
        for _ in range(rounds):
            world.round()
            world.clock.now += 10.0
        others.deeds = {}
        for name in others.suspended:  # who suspended them lets them go on
            if world.cluster.jobs[name]["state"] == "SUSPENDED":
                world.cluster.jobs[name]["state"] = "RUNNING"
        for name in ("8", "9"):  # all have had what they wanted
            others.do("cancel", name)
        world.calm()
        lines = read(world.journal)
        with world.driver() as driver:
            assert not driver.book.open
            assert not driver.book.owed
        for name, j in world.cluster.jobs.items():
            assert j["priority"] > 0 or j["state"] != "PENDING", f"{name} is held"
            assert j["state"] != "SUSPENDED", f"{name} is suspended"
        told_for_nobody(world, lines)
        return world


def told_for_nobody(world: World, lines: list[dict[str, Any]]) -> None:
    """No job is evicted for one that is gone once a look has shown that."""
    step_of = {
        (x["job"], x["step"]): next(y for y in lines if y["kind"] == "step" and y["step"] == x["step"])
        for x in lines
        if x["kind"] == "intent" and x["action"] in ("requeue_hold", "suspend")
    }
    whom: dict[str, list[str]] = {}
    for (job, _), step in step_of.items():
        whom.setdefault(job, []).append(step["beneficiary"])
    gone: set[str] = set()
    seen: set[str] = set()
    late: Counter[str] = Counter()
    for what, name, _ in world.cluster.events:
        if what == "cancelled":
            gone.add(name)
        elif what == "look":
            seen |= gone
        elif what == "evict" and whom.get(name):
            beneficiary = whom[name].pop(0)
            late[beneficiary] += beneficiary in seen
    assert not any(late.values()), late


@pytest.mark.parametrize("deed", DEEDS_AFTER_EACH)
@pytest.mark.parametrize("mode", ["requeue", "suspend"])
def test_one_deed_after_each_command(deed: tuple[str, str], mode: str) -> None:
    for number in some(range(50), DEEDS_AFTER_EACH.index(deed) + (mode == "suspend")):  # of a round
        live_with({number: deed}, {}, 1, mode)


@given(st.dictionaries(st.integers(0, 60), DEEDS, max_size=6), st.integers(1, 3), MODES)
def test_whatever_others_do(deeds: dict[int, tuple[str, str]], rounds: int, mode: str) -> None:
    live_with(deeds, {}, rounds, mode)


@given(
    st.dictionaries(st.integers(0, 60), DEEDS, max_size=4),
    st.dictionaries(st.integers(0, 60), FAULTS, max_size=4),
    st.integers(1, 3),
)
def test_whatever_others_do_and_commands_do(
    deeds: dict[int, tuple[str, str]], schedule: dict[int, Fault], rounds: int
) -> None:
    live_with(deeds, schedule, rounds, "requeue")
