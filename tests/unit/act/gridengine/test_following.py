"""A Grid Engine that is read again by what has changed: the same as if all of it were read, for less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters.commands import Result
from evenhand.adapters.gridengine import GridEngine
from tests.unit.act.gridengine.cluster import T0, Clock, Engine, job


class Still(Engine):
    """Nothing starts by itself; `details` are the jobs that ``qstat -j`` was asked of."""

    def __init__(self, count: int = 30) -> None:
        runs = {n: job(start=T0 - 1000 + n) for n in (1, 2, 3, 4)}
        super().__init__(runs | {n: job("qw", start=T0 - 500) for n in range(100, 100 + count)}, Clock())
        self.details: list[str] = []
        self.fails = False

    def schedule(self) -> None:
        pass

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        if "-j" in arguments:
            self.details.append(arguments[-1])
            if self.fails and arguments[-1] != "*":
                return Result(1, "", "Following jobs do not exist")
        return super().__call__(arguments, timeout)


def adapter_of(engine: Still) -> GridEngine:
    return GridEngine(runner=engine, clock=engine.clock)


def followed(engine: Still) -> GridEngine:
    """An adapter that has read all of it."""
    adapter = adapter_of(engine)
    adapter.follow({})
    assert engine.details == ["*"]
    engine.details.clear()
    return adapter


def same(engine: Still, follower: GridEngine, about: Sequence[str] = ()) -> eh.Snapshot:
    """A snapshot by changes, held against one that another adapter reads as a whole."""
    found = follower.follow({}, about)
    asked = list(engine.details)
    whole = adapter_of(engine)
    assert found.to_dict() == whole.snapshot().to_dict()
    assert follower.left_out == whole.left_out
    assert follower.notices == whole.notices
    engine.details = asked
    return found


def test_what_has_not_changed_is_not_read_again() -> None:
    engine = Still()
    follower = followed(engine)
    for _ in range(3):
        same(engine, follower)
    assert engine.details == []


CHANGES: dict[str, tuple[dict[str, Any], bool]] = {
    "starts": ({"state": "r", "start": T0}, True),
    "is held": ({"hold": True}, True),
    "waits anew": ({"start": T0 - 400}, True),
    "priority": ({"priority": 0.7}, False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_read(change: str) -> None:
    more, again = CHANGES[change]
    engine = Still()
    follower = followed(engine)
    engine.jobs[105].update(more)
    same(engine, follower)
    assert engine.details == (["105"] if again else [])
    same(engine, follower)
    assert len(engine.details) == again, "once"


def test_jobs_come_and_go() -> None:
    engine = Still()
    follower = followed(engine)
    del engine.jobs[104]
    engine.jobs[300] = job("qw", start=T0 - 1)
    found = same(engine, follower)
    assert {"104", "300"} & set(map(str, found.names("operations"))) == {"300"}
    assert engine.details == ["300"]


def test_the_step_s_own_jobs_are_read_in_any_case() -> None:
    """Whether a job is rerunnable, the listing does not say; tasks are read by their job."""
    engine = Still()
    follower = followed(engine)
    for number in (3, 4):
        engine.jobs[number]["rerun"] = 2
    found = follower.follow({}, ["3.1", "105"])
    assert engine.details == ["3,105"]
    rerunnable = {row["operation"]: row.get("rerunnable", False) for row in found.to_dict()["allocations"]}
    assert (rerunnable["3"], rerunnable["4"]) == (False, True)
    assert same(engine, follower, ["4"]).to_dict() != found.to_dict()


@pytest.mark.parametrize("details", ["<JB_restart>x</JB_restart>", "&"], ids=["no value", "no XML"])
def test_a_job_that_cannot_be_read_stays_one_until_it_is_read_again(details: str) -> None:
    engine = Still()
    whole = "<JB_restart>1</JB_restart>"

    def garbled(text: str) -> str:
        head, found, rest = text.partition("<JB_job_number>105</JB_job_number>")
        return head + found + (rest.replace(whole, details, 1) if found else rest)

    engine.garbled = garbled
    follower = adapter_of(engine)
    follower.follow({})
    engine.details.clear()
    same(engine, follower)
    assert engine.details == []
    assert "105" in [name for names in follower.left_out.values() for name in names]
    engine.garbled = lambda text: text
    same(engine, follower, ["105"])
    assert not follower.left_out
    engine.garbled = garbled
    same(engine, follower, ["105"])
    assert "105" in [name for names in follower.left_out.values() for name in names]


def test_where_the_command_fails_all_is_read() -> None:
    engine = Still()
    follower = followed(engine)
    engine.jobs[105]["hold"] = engine.fails = True
    same(engine, follower)
    assert engine.details == ["105", "*"]


@pytest.mark.parametrize(("changed", "whole"), [(199, False), (200, False), (201, True)])
def test_where_many_have_changed_all_are_read(changed: int, whole: bool) -> None:
    engine = Still(400)
    follower = followed(engine)
    for n in range(changed):
        engine.jobs[100 + n]["hold"] = True
    same(engine, follower)
    assert (engine.details == ["*"]) == whole


@pytest.mark.parametrize(("changed", "whole"), [(302, False), (303, True)])
def test_or_where_a_quarter_has(changed: int, whole: bool) -> None:
    """Of 1,211 jobs."""
    engine = Still(1207)
    follower = followed(engine)
    for n in range(changed):
        engine.jobs[100 + n]["hold"] = True
    follower.follow({}, [])
    assert (engine.details == ["*"]) == whole


@pytest.mark.parametrize(("later", "whole"), [(59.0, 0), (60.0, 1), (61.0, 1), (-1.0, 2)])
def test_a_minute_later_all_is_read(later: float, whole: int) -> None:
    """As not all that matters is in the listing; so if the clock was set back."""
    engine = Still()
    follower = followed(engine)
    engine.clock.now += later / 2
    follower.follow({}, [])
    engine.clock.now += later - later / 2
    follower.follow({}, [])
    assert engine.details == ["*"] * whole, "counted from when all was read"
