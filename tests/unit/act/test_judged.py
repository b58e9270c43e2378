"""All steps of a round are judged by one fresh snapshot with one fresh plan."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Timing
from evenhand.act.judging import judge
from evenhand.act.tasks import Task, tasks_of
from evenhand.plans import Plan
from tests.unit.act.slurm.cluster import T0, job
from tests.unit.act.world import World
from tests.unit.plans.test_check_again import CHANGES, Change, group, jobs, later, planned, row, slurm

WHOLE: Any = SimpleNamespace(whole=True, action=lambda mode: mode)


def timing(now: float = 1005.0) -> Timing:
    return Timing(clock=lambda: now)


def tasks(plan: Plan) -> list[Task]:
    return tasks_of(plan, WHOLE)


class Counting(eh.policies.Slurm):
    """Counts how often it plans."""

    __slots__ = ()
    planned: list[eh.Snapshot] = []  # noqa: RUF012 - of the class

    def plan(self, snapshot: eh.Snapshot, *rest: Any, **more: Any) -> Plan:
        self.planned.append(snapshot)
        return super().plan(snapshot, *rest, **more)


def test_one_plan_for_all_steps() -> None:
    policy = Counting(**slurm().settings.model_dump())
    plan = planned(jobs(), policy)
    assert len(plan.steps()) == 2
    Counting.planned.clear()
    fresh = later(jobs())
    judged = judge(plan, fresh, timing())
    assert [judged.refusals(task) for task in tasks(plan)] == [[], []]
    judged.leave_out(0)
    assert judged.refusals(tasks(plan)[1]) == []
    assert Counting.planned == [fresh]


def test_a_step_that_is_left_out_makes_no_room(tmp_path: Path) -> None:
    """What its victim has beyond its beneficiary's need serves the next, with a victim of its own."""
    running = [job(1, 6, node="n1", start=T0 - 10), job(2, 2, node="n1", start=T0 - 1000)]
    world = World(tmp_path, [*running, job(8, 3, priority=100), job(9, 5, priority=90)])
    world.cluster.nodes = {"n1": 8}
    snapshot = world.adapter().snapshot()
    plan = eh.plan(snapshot, world.policy)
    first, second = tasks(plan)
    judged = judge(plan, snapshot, world.timing())
    assert judged.refusals(first) == judged.refusals(second) == []
    judged.leave_out(first.step.number)
    assert [refusal.code for refusal in judged.refusals(second)] == ["step_broken", "node_full"]


@pytest.mark.parametrize(("change", "code", "said"), [pytest.param(*r, id=n) for n, *r in CHANGES])
def test_sessions_leave_only_for_one_that_still_needs_it(change: Change, code: str | None, said: str) -> None:
    """The steps of such a plan hold no start: the beneficiary stands in its victims."""
    plan = planned(group(), eh.policies.BackendAI())
    (task,) = tasks(plan)
    refusals = judge(plan, later(group(), change), timing()).refusals(task)
    assert [refusal.code for refusal in refusals] == ([] if code is None else [code])
    assert all(said in refusal.message for refusal in refusals)


def test_what_is_true_of_all_steps() -> None:
    plan = planned(jobs(), slurm())

    def moved(data: Any) -> None:
        row(data, "operations", "p")["partition"] = "nowhere"

    gpu = eh.Snapshot.from_dict({"now": 1005, "resources": {"gpu": {}}})
    for fresh, now, code in (
        (later(jobs()), 1066.0, "snapshot_old"),
        (later(jobs(), moved), 1005.0, "cannot_plan"),
        (gpu, 1005.0, "resources_changed"),
    ):
        judged = judge(plan, fresh, timing(now))
        judged.leave_out(0)
        assert [[r.code for r in judged.refusals(task)] for task in tasks(plan)] == [[code], [code]]
    assert not judge(plan, later(jobs()), timing(1065.0)).refusals(tasks(plan)[0])


def changed(jobs: dict[str, dict[str, Any]], rng: random.Random) -> None:
    """Let a job end, begin anew, move, grow, or become more or less urgent or protected."""
    found = jobs[rng.choice(sorted(jobs))]
    runs = found["state"] == "RUNNING"
    change = rng.choice(
        [
            {"state": "COMPLETED"},
            {"priority": (rank := rng.choice([1, 5, 15, 50, 95, 150])), "rank": rank},
            {"cpus": rng.choice([1, 2, 3, 4, 20])},
            {"account": "dear"},
            {"requeue": False} if runs else {"priority": 0},
            {"start": T0 - rng.choice([1, 500])} if runs else {"state": "CANCELLED"},
            {"node": rng.choice(["n1", "n2", "n3"])} if runs else {"state": "RUNNING", "node": "n3"},
        ]
    )
    found.update(change)


@pytest.mark.parametrize("block", range(4))
def test_no_job_leaves_for_a_step_that_a_fresh_plan_would_not_take(block: int, tmp_path: Path) -> None:
    """Whatever happens to one to three jobs between the plan and the look before its first step."""
    left, stayed = 0, 0
    for seed in range(25):
        rng = random.Random(100 * block + seed)
        (tmp_path / str(seed)).mkdir()
        running = [
            job(n, rng.randint(1, 4), node=f"n{1 + n % 3}", priority=rng.choice([10, 20]), start=T0 - 100 * n)
            for n in range(1, 7)
        ]
        waiting = [job(8, 4, priority=100), job(9, 3, priority=90)]
        world = World(tmp_path / str(seed), [*running, *waiting])
        world.cluster.nodes = {f"n{n}": 8 if n == 1 else 4 for n in (1, 2, 3)}
        world.cluster.schedule = lambda: None  # type: ignore[method-assign]
        plan = eh.plan(world.adapter().snapshot(), world.policy)
        for _ in range(rng.randint(1, 3)):
            changed(world.cluster.jobs, rng)
        now = eh.plan(world.adapter().snapshot(), world.policy)
        allowed = [{str(victim.operation) for victim in step.victims} for step in now.steps()]
        with world.driver() as driver:
            rows = driver.act(plan).rows
        begun = [set(row.victims) for row in rows if row.outcome != "refused"]
        left += bool(begun)
        stayed += not begun
        assert all(victims in allowed for victims in begun[:1])
        assert {name for what, name, _ in world.cluster.events if what == "evict"} <= set().union(*begun)
    assert left > 2
    assert stayed > 2
