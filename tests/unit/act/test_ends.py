"""Acting always ends: whatever cannot be looked at, read or told, what was begun comes to its end first."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import act
from evenhand.act.journal import read
from evenhand.adapters import AdapterError
from evenhand.adapters.protocol import Answer
from evenhand.errors import InputError
from tests.unit.act.site import Site, SiteAdapter, acted, driver_of


def held(site: Site) -> list[str]:
    return [name for name, job in site.jobs.items() if job["state"] == "held"]


def two_of_one_owner() -> SiteAdapter:
    """Two steps that may not run side by side."""
    nodes = {"n1": 4, "n2": 4}
    low = {"low1": (4, 1, "n1", "ann"), "low2": (4, 1, "n2", "ann")}
    return SiteAdapter(Site(nodes, **low, high1=(4, 20, None), high2=(4, 19, None)))


def test_a_step_behind_one_whose_jobs_cannot_be_looked_at_is_refused(tmp_path: Path) -> None:
    adapter = two_of_one_owner()

    def fails() -> None:
        if adapter.site.asked:
            raise AdapterError("connection refused")

    adapter.before_look = fails
    plan = eh.plan(adapter.snapshot(), adapter.policy())
    rows: list[Any] = []
    journal = tmp_path / "journal"
    with pytest.raises(AdapterError, match="connection refused"):
        act(plan, adapter, journal=journal, timing=adapter.site.timing(), progress=rows.append)
    assert adapter.site.evicted() == ["low1"]
    assert [(row.beneficiary, row.codes) for row in rows] == [("high2", ("busy",))]
    adapter.before_look = lambda: None
    with driver_of(adapter, tmp_path) as driver:
        assert not driver.book.open
    assert not held(adapter.site)


def test_a_snapshot_that_cannot_be_built_is_one_error_once_steps_ended(tmp_path: Path) -> None:
    """A node goes whose job does not: high2 is never seen to start, and low2 has its place back."""
    low = {"low1": (4, 1, "n1", "ann"), "low2": (4, 1, "n2", "bob"), "low3": (4, 1, "n3", "ann")}
    high = {f"high{n}": (4, 21 - n, None) for n in (1, 2, 3)}
    site = Site({"n1": 4, "n2": 4, "n3": 4}, **low, **high)
    adapter = SiteAdapter(site)

    def node_gone() -> None:
        if site.jobs["high1"]["node"]:
            site.nodes.pop("n3", None)

    adapter.before_snapshot = node_gone
    site.later(2, lambda: site.start("high1", "n1"))
    told = acted(adapter, tmp_path)
    assert isinstance(told, AdapterError)
    assert "low3" in str(told)
    assert "n3" in str(told)
    assert site.evicted() == ["low1", "low2"]
    assert not held(site)


def test_what_an_adapter_says_of_wrong_settings_stays_an_input_error(tmp_path: Path) -> None:
    adapter = two_of_one_owner()
    with driver_of(adapter, tmp_path) as driver:
        with pytest.raises(InputError, match="preemptor"):
            driver.adapter.policy(preemptors="never")
        adapter.site.nodes.clear()
        with pytest.raises(AdapterError, match=r"snapshot failed: .*low1.*n1.*, and 1 more"):
            driver.adapter.snapshot()


@pytest.mark.parametrize("error", [ValueError("mine"), KeyError("mine")])
def test_a_caller_or_a_policy_that_fails_leaves_no_step_half_way(error: Exception, tmp_path: Path) -> None:
    """Told of the first step that ended: the second is still open."""
    adapter = two_of_one_owner()
    site = adapter.site
    site.jobs["low2"]["user"] = "bob"
    for name, node in (("high1", "n1"), ("high2", "n2")):
        site.later(2 if name == "high1" else 8, lambda name=name, node=node: site.start(name, node))

    def progress(row: Any) -> None:
        raise error

    plan = eh.plan(adapter.snapshot(), adapter.policy())
    with pytest.raises(type(error), match="mine"):
        act(plan, adapter, journal=tmp_path / "journal", timing=site.timing(), progress=progress)
    assert not held(site)
    ends = [line["outcome"] for line in read(tmp_path / "journal") if line["kind"] == "end"]
    assert ends == ["started", "started"]


@pytest.mark.parametrize(("action", "job"), [("requeue_hold", "low2"), ("release", "low1")])
def test_commands_that_cannot_be_told_leave_no_step_half_way(action: str, job: str, tmp_path: Path) -> None:
    """What is to be run may have to be asked of the cluster; a job of another step has its place back."""
    adapter = two_of_one_owner()
    site = adapter.site
    site.jobs["low2"]["user"] = "bob"
    plain, failed = adapter.commands, list[str]()

    def commands(asked: str, name: str, reason: str) -> Any:
        if (asked, name) == (action, job) and not failed:
            failed.append(name)
            raise AdapterError("connection refused")
        return plain(asked, name, reason)

    adapter.commands = commands  # type: ignore[method-assign]
    acted(adapter, tmp_path)
    assert failed
    with driver_of(adapter, tmp_path) as driver:
        assert not driver.book.open
        assert not driver.book.owed
    assert not held(site)


def test_a_stop_is_heard_between_steps_side_by_side(tmp_path: Path) -> None:
    """It comes while the first command is under way: no further step begins."""
    adapter = two_of_one_owner()
    site = adapter.site
    site.jobs["low2"]["user"] = "bob"
    with driver_of(adapter, tmp_path) as driver:

        def stops() -> Answer:
            driver.stop.set()
            return adapter.done("requeue_hold", "low1")

        adapter.on["requeue_hold", "low1"] = stops
        rows = driver.act(eh.plan(driver.snapshot(), adapter.policy())).rows
    assert site.evicted() == ["low1"]
    assert [row.outcome for row in rows] == ["stopped", "unwatched"]


def test_a_descriptor_that_cannot_be_kept_is_no_reason_to_keep_the_lock(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    adapter = two_of_one_owner()
    kept: list[int] = []

    def keep(descriptor: int) -> None:
        kept.append(descriptor)
        if descriptor < 0:
            raise AdapterError("cannot be told")

    adapter.keep = keep  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING, logger="evenhand.act"):
        for _ in range(2):
            with driver_of(adapter, tmp_path):
                pass
    assert [descriptor < 0 for descriptor in kept] == [False, True] * 2
    assert "cannot be told" in caplog.text
    for descriptor in kept[::2]:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
