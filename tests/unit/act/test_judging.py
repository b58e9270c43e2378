"""Why a step is not begun, what that costs, and that the next plan looks for others."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, Timing, act, watch
from evenhand.act.book import Book
from evenhand.act.journal import Journal, read
from evenhand.act.sparing import spare
from evenhand.act.watching import Cycle
from evenhand.adapters.commands import Result
from tests.unit.act.slurm.cluster import T0, job
from tests.unit.act.test_debts import Never, acted, answering, one_step
from tests.unit.act.world import World

FREE = Caps(None, None, None, None)


def evicted(world: World) -> list[str]:
    return [name for what, name, _ in world.cluster.events if what == "evict"]


def evicted_before(world: World, name: str, owner: str, step: int = 0) -> None:
    """The journal says that a job was asked to leave just now."""
    victim = {"job": name, "owner": owner, "action": "requeue_hold", "turn": 0, "reason": "x"}
    with Journal(world.journal, "fake", world.clock) as journal:
        journal.append("step", step=step, beneficiary=None, victims=[victim], reason="", node="n1")
        journal.append("intent", step=step, action="requeue_hold", job=name, commands=[])
        journal.append("victim", step=step, job=name, answer="ended")
        journal.append("end", step=step, outcome="repaired", why="x", owed={})


def test_a_step_that_was_refused_takes_no_part(tmp_path: Path) -> None:
    """The room that it would have made is not there for the next one."""
    jobs = [job(1, 6, node="n1", start=T0 - 10), job(2, 2, node="n1", uid=1001, start=T0 - 1000)]
    world = World(tmp_path, [*jobs, job(8, 3, priority=100), job(9, 5, priority=90)])
    world.cluster.nodes = {"n1": 8}
    with world.driver(caps=Caps(None, None, 1, None)) as driver:
        plan = eh.plan(driver.snapshot(), world.policy)
        assert [[str(v.operation) for v in step.victims] for step in plan.steps()] == [["1"], ["2"]]
        driver._journal.append(  # type: ignore[union-attr]
            "step",
            step=0,
            beneficiary=None,
            victims=[{"job": "77", "owner": "1000", "action": "cancel", "turn": 0, "reason": "x"}],
        )
        driver._journal.append("intent", step=0, action="cancel", job="77")  # type: ignore[union-attr]
        rows = driver.act(plan).rows
    assert [row.codes[0] for row in rows] == ["cap", "step_broken"]
    assert "3 cpu is missing" in rows[1].why
    assert not evicted(world)


def test_what_is_known_costs_no_look(tmp_path: Path) -> None:
    world = World(tmp_path)
    with world.driver(caps=Caps(per_run=0)) as driver:
        plan = eh.plan(driver.snapshot(), world.policy)
        asked = len(world.cluster.asked)
        assert {row.codes for row in driver.act(plan).rows} == {("cap",)}
        world.clock.now += 61.0
        (row,) = driver.act(plan).rows
        assert row.codes[0] == "plan_old"
        assert len(world.cluster.asked) == asked


def test_one_that_did_not_start_is_left_alone(tmp_path: Path) -> None:
    """For half an hour, then an hour, and so on; whoever drives, and after the journal began anew too."""
    jobs = [job(n, 2, node=f"n{n % 3 + 1}", uid=1000 + n) for n in range(1, 7)]
    world = World(tmp_path, [*jobs, job(9, 4, priority=90)])
    world.cluster.__class__ = Never
    times: list[float] = []
    for _ in range(220):
        with world.driver(rotate_at=0) as driver:
            for row in driver.act(eh.plan(driver.snapshot(), world.policy)).rows:
                assert (row.outcome == "not_started") != ("did_not_start" in row.codes)
                if row.outcome == "not_started":
                    times.append(world.clock.now)
        world.clock.now += 300.0
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert len(times) == 6
    for pause, least in zip(pauses, (1800, 3600, 7200, 14400, 28800), strict=True):
        assert least <= pause < least + 700
    assert world.timing().pause_after(100) == world.timing().pause_after(6)
    world.cluster.__class__ = type(World(tmp_path / "x").cluster)
    world.clock.now += 8 * 3600.0
    assert world.round()
    with world.driver() as driver:
        assert not driver.book.failures


def test_a_killed_driver_is_not_the_beneficiary_s_fault(tmp_path: Path) -> None:
    world = one_step(tmp_path)
    victims = [
        {"job": name, "owner": "1000", "action": "requeue_hold", "turn": 0, "reason": "x"} for name in "12"
    ]
    with Journal(world.journal, "fake", world.clock) as journal:
        journal.append("step", step=0, beneficiary="9", victims=victims, reason="", node="n1")
        journal.append("intent", step=0, action="requeue_hold", job="1", commands=[])
    world.cluster.scontrol(["requeuehold", "Incomplete", "1"])
    world.cluster.jobs["4"] = job(4, 4, node="n1", priority=20)
    with world.driver() as driver:
        assert driver.book.ends == {"not_started": 1}
        assert not driver.book.failures


@pytest.mark.parametrize("caps", [Caps(None, None, None, 1), Caps(None, None, 1, None)])
def test_others_leave_instead_of_those_at_their_cap(caps: Caps, tmp_path: Path) -> None:
    """Of a job it is known at once, of an owner once one of his jobs was looked at."""
    jobs = [job(1, 4, node="n1", uid=1), job(2, 4, node="n2", uid=2, user="bob", start=T0 - 5000)]
    world = World(tmp_path, [*jobs, job(3, 4, node="n3", priority=200), job(9, 4, priority=90)])
    evicted_before(world, "1", "1")
    outcomes = []
    with world.driver(caps=caps) as driver:
        for _ in range(2):
            plan = eh.plan(driver.snapshot(), world.policy)
            outcomes += [row.outcome for row in driver.act(plan).rows]
    assert outcomes == (["started"] if caps.per_job else ["refused", "started"])
    assert evicted(world) == ["2"]


@pytest.mark.parametrize(
    ("change", "code"), [({"requeueable": False}, "not_requeueable"), ({"held": True}, "victim_held")]
)
def test_others_leave_instead_of_those_that_may_not(
    change: dict[str, Any], code: str, tmp_path: Path
) -> None:
    jobs = [job(1, 4, node="n1"), job(2, 4, node="n2", start=T0 - 5000), job(3, 4, node="n3", priority=200)]
    world = World(tmp_path, [*jobs, job(9, 4, priority=90)])
    with world.driver(caps=FREE) as driver:
        plain = driver.adapter.look

        def look(names: Any) -> Any:
            return {
                name: dataclasses.replace(found, **change) if name == "1" else found
                for name, found in plain(names).items()
            }

        driver.adapter.look = look  # type: ignore[method-assign]
        (row,) = driver.act(eh.plan(driver.snapshot(), world.policy)).rows
        assert row.codes == (code,)
        (row,) = driver.act(eh.plan(driver.snapshot(), world.policy)).rows
        assert (row.outcome, row.victims) == ("started", ("2",))


def test_busy_jobs_are_not_planned_with(tmp_path: Path) -> None:
    world = one_step(tmp_path)
    unanswered = Result(None, "", "no answer within 30 s")
    answering(world, lambda rest: unanswered if rest[0] == "requeuehold" else None)
    _, owed = acted(world)
    assert list(owed) == ["1"]
    with world.driver() as driver:
        assert not eh.plan(driver.snapshot(), world.policy).steps()


def test_spared_jobs_differ_in_nothing_else(tmp_path: Path) -> None:
    snapshot = World(tmp_path).adapter().snapshot()
    data = snapshot.to_dict()
    for row in data["allocations"]:
        if row["operation"] in ("1", "3"):
            row["preemptible"] = False
    assert spare(snapshot, {"1", "3", "4@n3", "nobody"}, whole=True) == eh.Snapshot.from_dict(data)
    assert spare(snapshot, {"nobody"}, whole=True) is snapshot
    assert spare(snapshot, set(), whole=True) is snapshot


def test_caps_count_whatever_the_clock_said_in_between() -> None:
    """A machine began without its time: what it wrote then hides nothing that was before."""
    book = Book()
    book.evictions = [(T0 - 60, "a", "1"), (1000.0, "b", "2"), (T0 - 10, "a", "3")]
    assert Caps(None, None, 2, 1).spent(book, T0) == ({"1", "3"}, {"a"})
    assert Caps(None, 2, None, None).exceeded(book, T0, 0, [("4", "c")]) is not None


@pytest.mark.parametrize("value", [-1, "5", 2.5, math.nan, True])
def test_caps_are_whole_numbers(value: Any) -> None:
    """No count exceeds one that is no number."""
    with pytest.raises(ValueError, match=r"per_hour is .* whole number"):
        Caps(per_hour=value)


@pytest.mark.parametrize("value", [-1.0, "5", math.nan, math.inf, None])
def test_times_are_seconds(value: Any, tmp_path: Path) -> None:
    """A driver that waits until then would wait for ever."""
    with pytest.raises(ValueError, match=r"start is .* seconds"):
        Timing(start=value)
    world = one_step(tmp_path)
    plan = eh.plan(world.adapter().snapshot(), world.policy)
    if value is not None:
        with pytest.raises(ValueError, match="max_age is"):
            act(plan, world.adapter(), journal=world.journal, max_age=value)
    assert not world.journal.exists()


def test_spent_caps() -> None:
    book = Book()
    book.evictions = [(T0 - 7200, "a", "1"), (T0 - 60, "b", "1"), (T0, "b", "2")]
    assert Caps(None, None, 2, 2).spent(book, T0) == ({"1"}, {"b"})
    assert Caps(None, None, None, None).spent(book, T0) == (set(), set())
    assert Caps(None, None, 1, 1).spent(book, T0 + 86400) == ({"2"}, set())


def test_a_beneficiary_must_be_what_it_was(tmp_path: Path) -> None:
    change: Callable[[dict[str, Any]], object]
    for number, (change, code) in enumerate(
        [
            (lambda j: j.update(account="dear"), "beneficiary_reclassified"),
            (lambda j: j.update(priority=1), "priority_fell"),
        ]
    ):
        (tmp_path / str(number)).mkdir()
        world = one_step(tmp_path / str(number))
        plan = eh.plan(world.adapter().snapshot(), world.policy)
        change(world.cluster.jobs["9"])
        with world.driver() as driver:
            (row,) = driver.act(plan).rows
        assert row.outcome == "refused"
        assert code in row.codes
        assert not evicted(world)


def test_a_dry_run_counts_its_own_victims(tmp_path: Path) -> None:
    """It refuses what acting would refuse, in every round anew."""
    for caps in (Caps(2, None, None, None), Caps(None, 2, None, None), Caps(None, None, 1, None)):
        folder = tmp_path / str(caps)
        folder.mkdir()
        world = World(folder)
        with world.driver(caps=caps, dry_run=True) as driver:
            for _ in range(3):
                dry = driver.act(eh.plan(driver.snapshot(), world.policy)).rows
        with world.driver(caps=caps) as driver:
            done = driver.act(eh.plan(driver.snapshot(), world.policy)).rows
        assert [(r.victims, r.codes, r.outcome == "refused") for r in dry] == [
            (r.victims, r.codes, r.outcome == "refused") for r in done
        ]


def test_per_run_is_per_round_of_a_watch(tmp_path: Path) -> None:
    world = World(tmp_path)
    cycles: list[Cycle] = []

    def each(cycle: Cycle) -> None:
        cycles.append(cycle)
        if len(cycles) == 2:
            driver.stop.set()

    with world.driver(caps=Caps(2, None, None, None)) as driver:
        watch(driver, world.policy, interval=1e-3, each=each)
        assert len(driver.report.rows) == len(cycles[1].report.rows), "of earlier rounds nothing is kept"
    assert [cycle.report.counts for cycle in cycles] == [{"started": 1, "refused": 1}, {"started": 1}]


def test_who_was_told(tmp_path: Path) -> None:
    """Not the victims behind one that stays."""
    jobs = [job(n, 1, node="n1") for n in range(1, 5)]
    others = [job(n, 4, node=f"n{n // 10}", priority=200) for n in (20, 30)]
    world = World(tmp_path, [*jobs, *others, job(9, 4, priority=90)])
    denied = Result(1, "", "Access/permission denied")
    answering(world, lambda rest: denied if rest[0] == "requeuehold" else None)
    (row,), _ = acted(world)
    asked = [x["job"] for x in read(world.journal) if x["kind"] == "intent" and x["action"] == "requeue_hold"]
    assert row.victims == tuple(asked)
    assert len(asked) == 1
