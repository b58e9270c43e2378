"""Acting on one plan as one call, also for asyncio."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from evenhand.act import Driver, LockedError, Report, Row, act, act_async
from evenhand.act.journal import read
from evenhand.act.lock import Lock
from tests.unit.act.test_driver import evicted, planned
from tests.unit.act.world import JOBS, World
from tests.waiting import HANG, pause, soon


def test_act_and_its_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    world = World(tmp_path)
    adapter = world.adapter()
    adapter.identity = f"fake {tmp_path}"
    with caplog.at_level(logging.INFO, logger="evenhand.act"):
        report = act(planned(world), adapter, journal=world.journal, timing=world.timing(), max_age=30.0)
    assert report.counts == {"started": 2}
    assert "9 started" in repr(report)
    assert report.to_dict()["counts"] == {"started": 2}
    assert {getattr(record, "evenhand", {}).get("status") for record in caplog.records} >= {"done"}
    assert isinstance(report, Report)


def test_act_async(tmp_path: Path) -> None:
    world = World(tmp_path)
    adapter = world.adapter()
    adapter.identity = f"fake {tmp_path}"
    told: list[Row] = []

    async def both() -> Report:
        work = act_async(
            planned(world), adapter, journal=world.journal, timing=world.timing(), progress=told.append
        )
        report = await work
        await asyncio.sleep(0)
        return report

    assert asyncio.run(both()).counts == {"started": 2}
    assert [row.outcome for row in told] == ["started", "started"]


def test_cancelling_ends_the_step_that_was_begun(tmp_path: Path) -> None:
    world = World(tmp_path, jobs=[JOBS[2], JOBS[6]])
    world.cluster.nodes = {"n2": 4}
    adapter = world.adapter()
    adapter.identity = f"fake {tmp_path}"
    plan = planned(world)
    world.cluster.schedule = lambda: None  # type: ignore[method-assign]
    timing = dataclasses.replace(world.timing(), sleep=pause, start=1e6)

    async def cancel() -> None:
        work = asyncio.create_task(act_async(plan, adapter, journal=world.journal, timing=timing))
        await soon(lambda: evicted(world))
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cancel())
    assert [line["outcome"] for line in read(world.journal) if line["kind"] == "end"] == ["unwatched"]
    assert world.cluster.jobs["3"]["priority"] > 0


def test_cancelled_twice_it_keeps_the_lock_until_its_thread_ends(tmp_path: Path) -> None:
    world = World(tmp_path, jobs=[JOBS[2], JOBS[6]])
    world.cluster.nodes = {"n2": 4}
    adapter = world.adapter()
    adapter.identity = f"fake {tmp_path}"
    plan = planned(world)
    plain = world.cluster.scontrol
    begun, looked = threading.Event(), threading.Event()

    def slow(rest: list[str]) -> Any:
        if rest[0] == "requeuehold":
            begun.set()
            assert looked.wait(HANG)
        return plain(rest)

    world.cluster.scontrol = slow  # type: ignore[method-assign]

    async def cancel() -> None:
        work = asyncio.create_task(act_async(plan, adapter, journal=world.journal, timing=world.timing()))
        await soon(begun.is_set)
        for _ in range(3):
            work.cancel()
            await asyncio.sleep(0)
        with pytest.raises(LockedError):
            Lock(f"{world.journal}.lock", patience=0.0)
        looked.set()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cancel())
    Lock(f"{world.journal}.lock", patience=0.0).release()
    assert [line["kind"] for line in read(world.journal)][-1] == "end"


def test_cancelled_while_the_driver_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    adapter = world.adapter()
    adapter.identity = f"fake {tmp_path}"
    plan = planned(world)
    recover = Driver.recover
    begun, cancelled = threading.Event(), threading.Event()

    def slow(driver: Driver) -> None:
        begun.set()
        assert cancelled.wait(HANG)
        recover(driver)

    monkeypatch.setattr(Driver, "recover", slow)

    async def cancel() -> None:
        work = asyncio.create_task(act_async(plan, adapter, journal=world.journal, timing=world.timing()))
        await soon(begun.is_set)
        work.cancel()
        for _ in range(3):  # it is heard in the next turn of the loop
            await asyncio.sleep(0)
        cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cancel())
    Lock(f"{world.journal}.lock", patience=0.0).release()
    assert not evicted(world)
