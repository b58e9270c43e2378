"""Each victim is looked at when it is asked to leave: the first and the later ones, of each step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, Report
from evenhand.act.journal import read
from evenhand.adapters.protocol import Answer
from tests.unit.act.site import Site, SiteAdapter, acted, driver_of, paid

Change = Callable[[Site, str], object]


def two_victims(evict: str = "requeue_hold") -> SiteAdapter:
    """Two victims for one job; the first command is not answered, and is done three seconds later."""
    nodes = {"n1": 4, "n2": 4}
    low = {"v1": (2, 1, "n1"), "v2": (2, 2, "n1")}
    adapter = SiteAdapter(Site(nodes, **low, other=(4, 30, "n2"), high=(4, 20, None)), evict)
    for name in low:
        adapter.late(name)
    return adapter


def change_the_other(site: Site, change: Change, after: float = 1.5) -> None:
    """Change the victim that is not asked yet, while what became of the first one is awaited."""

    def now() -> None:
        (asked,) = site.evicted()
        change(site, "v2" if asked == "v1" else "v1")

    site.later(after, now)


def restarts_elsewhere(site: Site, name: str) -> None:
    site.end("other")
    site.leave(name)
    site.start(name, "n2")


CHANGES: dict[str, tuple[str, Change]] = {
    "held": ("requeue_hold", lambda site, name: site.set(name, held=True)),
    "protected": ("requeue_hold", lambda site, name: site.set(name, protected=True)),
    "restarted": ("requeue_hold", restarts_elsewhere),
    "suspended": ("requeue_hold", lambda site, name: site.set(name, state="suspended")),
    "suspended by a person": ("suspend", lambda site, name: site.set(name, state="suspended")),
    "ended": ("cancel", lambda site, name: site.end(name)),
    "urgent": ("requeue_hold", lambda site, name: site.set(name, priority=25)),
    "beneficiary held": ("requeue_hold", lambda site, name: site.set("high", state="held")),
    "beneficiary gone": ("cancel", lambda site, name: site.end("high")),
    "beneficiary fits": ("requeue_hold", lambda site, name: site.end("other")),
    "beneficiary less urgent": ("requeue_hold", lambda site, name: site.set("high", priority=0)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_victim_that_is_asked_later_has_changed(change: str, tmp_path: Path) -> None:
    """It is left alone, and the one before it has its place back."""
    evict, what = CHANGES[change]
    adapter = two_victims(evict)
    site = adapter.site
    change_the_other(site, what)
    report = acted(adapter, tmp_path)
    assert isinstance(report, Report)
    (row,) = report.rows
    assert len(site.evicted()) == 1
    assert row.outcome == "not_started"
    (first,) = site.evicted()
    assert row.victims == (first,)
    book = paid(adapter, tmp_path, 60).book
    assert not book.open
    assert not book.owed
    assert site.jobs[first]["state"] not in ("held", "suspended")


def test_a_victim_that_is_asked_later_leaves_if_nothing_has_changed(tmp_path: Path) -> None:
    adapter = two_victims()
    site = adapter.site
    site.later(8, lambda: site.start("high", "n1"))
    report = acted(adapter, tmp_path)
    assert isinstance(report, Report)
    (row,) = report.rows
    assert (row.outcome, set(row.victims)) == ("started", {"v1", "v2"})
    assert site.jobs["v1"]["state"] == site.jobs["v2"]["state"] == "pending"


def test_why_a_victim_was_not_asked_is_said(tmp_path: Path) -> None:
    adapter = two_victims()
    change_the_other(adapter.site, CHANGES["held"][1])
    report = acted(adapter, tmp_path)
    assert isinstance(report, Report)
    (first,) = adapter.site.evicted()
    other = "v2" if first == "v1" else "v1"
    assert report.rows[0].why.startswith(f"{other} was not asked to leave: {other} runs and is held")
    (end,) = (line for line in read(tmp_path / "journal") if line["kind"] == "end")
    assert end["why"] == report.rows[0].why
    assert "failures" not in end, "the beneficiary is not to blame"


def test_a_policy_that_fails_lets_no_further_victim_be_asked(tmp_path: Path) -> None:
    """It is asked again whether the second victim is to leave; the first has its place back."""
    adapter = two_victims()
    site = adapter.site

    class Fails(eh.policies.BackendAI):
        def plan(self, *arguments: Any, **options: Any) -> Any:
            if site.evicted():
                raise ZeroDivisionError("mine")
            return super().plan(*arguments, **options)

    policy = Fails("documented", preemptors="every", preemption_mode="reschedule")
    adapter.policy = lambda *_, **__: policy  # type: ignore[method-assign]
    report = acted(adapter, tmp_path)
    assert isinstance(report, Report)
    (row,) = report.rows
    assert "ZeroDivisionError: mine" in row.why
    (first,) = site.evicted()
    assert site.jobs[first]["state"] == "pending"


@pytest.mark.parametrize("stops", ["stop", "stop file"])
def test_no_further_victim_is_asked_once_the_driver_is_stopped(stops: str, tmp_path: Path) -> None:
    adapter = two_victims()
    file = tmp_path / "stopped"
    with driver_of(adapter, tmp_path, stop_file=file) as driver:
        plan = adapter.policy().plan(driver.snapshot())
        change_the_other(adapter.site, lambda *_: driver.stop.set() if stops == "stop" else file.touch())
        (row,) = driver.act(plan).rows
    assert len(adapter.site.evicted()) == 1
    assert ("asked to stop" if stops == "stop" else str(file)) in row.why


@pytest.mark.parametrize(("age", "asked"), [(4.0, 1), (5.0, 2)])
def test_no_further_victim_is_asked_by_an_old_plan(age: float, asked: int, tmp_path: Path) -> None:
    """What became of the first one shows after four polls of a second; the plan is five seconds old then."""
    adapter = two_victims()
    adapter.site.later(0.5, lambda: None)
    for name in ("v1", "v2"):
        adapter.late(name, 5.0)
    acted(adapter, tmp_path, max_age=age)
    assert len(adapter.site.evicted()) == asked


def slow(adapter: SiteAdapter, name: str, seconds: float, change: Callable[[], object]) -> None:
    """Let the eviction of a job take its time, in which something changes; it is answered."""

    def done() -> Answer:
        adapter.site.sleep(seconds)
        if adapter.site.evicted() == [name]:
            change()
        return adapter.done(adapter.evict, name)

    adapter.on[adapter.evict, name] = done


@pytest.mark.parametrize(("seconds", "asked"), [(1.0, 2), (1.001, 1)])
def test_a_look_is_good_for_as_long_as_lies_between_two(seconds: float, asked: int, tmp_path: Path) -> None:
    """The first command took its time; a person held the second victim meanwhile."""
    adapter = two_victims()
    site = adapter.site
    for name, other in (("v1", "v2"), ("v2", "v1")):
        slow(adapter, name, seconds, lambda other=other: site.set(other, held=True))
    acted(adapter, tmp_path)
    assert len(site.evicted()) == asked


@pytest.mark.parametrize(("seconds", "asked"), [(10.0, 2), (10.001, 1)])
def test_a_snapshot_is_good_for_as_long_as_a_command_takes_to_show(
    seconds: float, asked: int, tmp_path: Path
) -> None:
    """That a job is protected shows in a snapshot only."""
    adapter = two_victims()
    site = adapter.site
    for name, other in (("v1", "v2"), ("v2", "v1")):
        slow(adapter, name, seconds, lambda other=other: site.set(other, protected=True))
    acted(adapter, tmp_path)
    assert len(site.evicted()) == asked


def two_steps() -> SiteAdapter:
    nodes = {"n1": 4, "n2": 4, "n3": 4}
    low = {"low1": (4, 1, "n1"), "low2": (4, 1, "n2"), "spare": (4, 30, "n3")}
    return SiteAdapter(Site(nodes, **low, high1=(4, 20, None), high2=(4, 19, None)))


def runs_elsewhere(site: Site) -> None:
    site.end("spare")
    site.start("high2", "n3")


BESIDE: dict[str, Callable[[Site], object]] = {
    "beneficiary cancelled": lambda site: site.end("high2"),
    "beneficiary runs": runs_elsewhere,
    "victim held": lambda site: site.set("low2", held=True),
    "victim suspended": lambda site: site.set("low2", state="suspended"),
    "victim protected": lambda site: site.set("low2", protected=True),
    "victim ended": lambda site: site.end("low2"),
}


@pytest.mark.parametrize("change", BESIDE)
def test_a_step_begins_by_a_look_of_its_own(change: str, tmp_path: Path) -> None:
    """The command of the step before it was not answered for 30 seconds."""
    adapter = two_steps()
    site = adapter.site

    def silent() -> Answer:
        site.sleep(30)
        return Answer("unknown", "no answer within 30 s")

    adapter.on["requeue_hold", "low1"] = silent
    site.later(5, lambda: BESIDE[change](site))
    report = acted(adapter, tmp_path)
    assert isinstance(report, Report)
    assert site.evicted() == ["low1"]
    outcomes = {row.beneficiary: row.outcome for row in report.rows}
    assert outcomes == {"high1": "not_started", "high2": "refused"}


@pytest.mark.parametrize(
    ("seconds", "changed", "asked"),
    [
        (1.0, "held", 2),  # a look is good for a second
        (1.001, "held", 1),
        (10.0, "protected", 2),  # a snapshot for ten
        (10.001, "protected", 1),
    ],
)
def test_a_step_beside_others_begins_by_what_was_read_lately(
    seconds: float, changed: str, asked: int, tmp_path: Path
) -> None:
    adapter = two_steps()
    slow(adapter, "low1", seconds, lambda: adapter.site.set("low2", **{changed: True}))
    acted(adapter, tmp_path)
    assert len(adapter.site.evicted()) == asked


def three_victims(*users: str) -> SiteAdapter:
    low = {"a": (2, 1, "n1", users[0]), "b": (2, 1, "n1", users[1]), "c": (4, 1, "n2", users[2])}
    adapter = SiteAdapter(Site({"n1": 4, "n2": 4}, **low, high1=(4, 20, None), high2=(4, 19, None)))
    for name in "ab":
        adapter.late(name)
    return adapter


@pytest.mark.parametrize(
    ("caps", "users"),
    [
        (Caps(per_run=2), ("u", "v", "w")),
        (Caps(per_hour=2), ("u", "v", "w")),
        (Caps(per_owner=2), ("u", "u", "u")),
    ],
)
def test_caps_count_whom_a_step_may_still_ask(caps: Caps, users: tuple[str, ...], tmp_path: Path) -> None:
    """The step beside it would be the third, counted with the victim that is asked a little later."""
    adapter = three_victims(*users)
    adapter.users = False  # only a look says whose a job is
    report = acted(adapter, tmp_path, caps=caps)
    assert isinstance(report, Report)
    assert sorted(adapter.site.evicted()) == ["a", "b"]
    assert [row.codes for row in report.rows if row.outcome == "refused"] == [("cap",)]
    assert paid(adapter, tmp_path, 30).book.evicted == 2


def test_caps_count_what_is_not_asked_only_while_it_may_be(tmp_path: Path) -> None:
    """The second victim was held by a person, and was not asked: the next step may have its place."""
    adapter = two_victims()
    site = adapter.site
    change_the_other(site, CHANGES["held"][1])
    caps = Caps(per_run=2, per_hour=2)
    with driver_of(adapter, tmp_path, caps=caps) as driver:
        driver.act(adapter.policy().plan(driver.snapshot()))
        assert driver._victims == 1
        assert driver.book.promised() == []
        site.set("other", priority=1)
        (row,) = driver.act(adapter.policy().plan(driver.snapshot())).rows
        assert row.victims == ("other",)


def test_caps_count_whom_a_step_of_an_earlier_driver_might_have_asked(tmp_path: Path) -> None:
    """It stays open, as its jobs cannot be looked at: whether all were asked shows when it has its end."""
    adapter = two_victims()
    site = adapter.site

    class Killed(BaseException):
        pass

    def killed() -> Answer:
        raise Killed

    for name in ("v1", "v2"):
        adapter.on["requeue_hold", name] = killed
    with driver_of(adapter, tmp_path) as driver:
        plan = adapter.policy().plan(driver.snapshot())
        with pytest.raises(Killed):
            driver.act(plan)
        assert len(driver.book.evictions) == 1
        assert [job for _, job in driver.book.promised()] == ["v2" if site.evicted() == ["v1"] else "v1"]
        assert driver.book.promised(but=0) == []
        for cap, fits in ((2, False), (3, True)):
            excess = Caps(None, cap, None, None).exceeded(driver.book, site.now, 0, [("x", "x")])
            assert (excess is None) == fits
        own = [(job, owner) for owner, job in driver.book.promised()]
        assert Caps(None, 2, None, None).exceeded(driver.book, site.now, 0, own, but=0) is None
        assert Caps(None, 1, None, None).exceeded(driver.book, site.now, 0, own, but=0) is not None
    with driver_of(adapter, tmp_path) as driver:
        assert driver.book.promised() == []
