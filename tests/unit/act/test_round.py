"""A round: beneficiaries that may not be served now hold up no other, and the log says why jobs wait."""

from __future__ import annotations

import itertools
import json
import logging
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, watch
from evenhand.act import round as rounds
from evenhand.act.book import Book
from evenhand.act.journal import Journal, read
from evenhand.act.metrics import metrics_text
from evenhand.act.waiting import waiting_text
from evenhand.act.watching import Cycle
from evenhand.adapters.commands import Result
from evenhand.cli import main
from tests.unit.act.scripted import Scripted
from tests.unit.act.slurm.cluster import FakeSlurm, job
from tests.unit.act.test_debts import DENIED, answering
from tests.unit.act.test_judging import evicted_before
from tests.unit.act.world import World

pytestmark = pytest.mark.usefixtures("quiet")

FREE = Caps(None, None, None, None)


class Fair(FakeSlurm):
    """Passes jobs that do not fit: those behind them start where there is room."""

    def schedule(self) -> None:
        waiting = [j for j in self.jobs.values() if j["state"] == "PENDING" and j["priority"] > 0]
        for j in sorted(waiting, key=lambda j: (-j["priority"], j["id"])):
            place = next((n for n in self.nodes if self.free(n) >= j["cpus"]), None)
            if place is not None and j["eligible"] <= self.clock.now and j["id"] not in self.never:
                j.update(state="RUNNING", node=place, start=self.clock.now)
                self.events.append(("start", str(j["id"]), j["turn"]))

    never: tuple[int, ...] = ()


def queue(folder: Path, *, heads: int = 1, one_owner: bool = False, **options: Any) -> World:
    """Three full nodes, a job on each; one job a plan is served, in the order of the queue.

    The heads of the queue start nowhere: the cluster passes them.
    """
    jobs = [
        job(n, 4, node=f"n{n}", user="u" if one_owner else f"u{n}", uid=1000 + (0 if one_owner else n))
        for n in (1, 2, 3)
    ]
    urgent = [job(90 + n, 4, priority=100 - n, user="eve", uid=2000) for n in range(heads + 1)]
    world = World(folder, [*jobs, *urgent], **options)
    world.cluster.__class__ = Fair
    world.cluster.never = tuple(range(90, 90 + heads))  # type: ignore[attr-defined]
    world.policy = Scripted(at_most=1)
    return world


def one_round(world: World, policy: Any = None, **options: Any) -> Cycle:
    cycles: list[Cycle] = []
    with world.driver(**options) as driver:
        watch(driver, policy or world.policy, once=True, each=cycles.append)
    return cycles[0]


def evicted(world: World) -> list[str]:
    return [name for what, name, _ in world.cluster.events if what == "evict"]


def did_not_start(world: World, name: str) -> None:
    """The journal says that a job left for another just now, and that one did not start."""
    victim = {"job": "77", "owner": "9", "action": "requeue_hold", "turn": 0, "reason": "x"}
    with Journal(world.journal, "fake", world.clock) as journal:
        step = journal.book.steps
        journal.append("step", step=step, beneficiary=name, victims=[victim], reason="", node="n1")
        journal.append("intent", step=step, action="requeue_hold", job="77", commands=[])
        journal.append("victim", step=step, job="77", answer="left")
        journal.append("end", step=step, outcome="not_started", why="x", owed={}, failures=1)


def test_a_head_in_its_pause_holds_up_no_other(tmp_path: Path) -> None:
    """All that pause leave the plan at once: however many they are, it is made twice."""
    world = queue(tmp_path, heads=3)
    for n in range(3):
        did_not_start(world, f"9{n}")
    plans: list[int] = []
    plain = Scripted.plan

    class Counted(Scripted):
        def plan(self, *args: Any, **more: Any) -> Any:
            plans.append(1)
            return plain(self, *args, **more)

    cycle = one_round(world, Counted(at_most=1))
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [
        ("refused", "90"),
        ("started", "93"),
    ]
    assert len(plans) == 3, "the second one and its check"
    assert cycle.waiting == {"did_not_start": ["90", "91", "92"]}
    assert [x["codes"] for x in read(world.journal) if x["kind"] == "refused"] == [["did_not_start"]]


@pytest.mark.parametrize("change", [{"priority": 0}, {"state": "CANCELLED"}])
def test_a_head_that_changes_before_its_step_holds_up_no_other(
    change: dict[str, Any], tmp_path: Path
) -> None:
    """One user holds and releases a job again and again: it is seen held when its step is to begin."""
    world = queue(tmp_path)
    plain, looks = world.cluster.squeue, itertools.count()

    def squeue(rest: list[str]) -> Result:
        result = plain(rest)
        if rest[0] == "--json" and next(looks) == 1:  # the fresh snapshot has it yet
            world.cluster.jobs["90"].update(change)
        return result

    world.cluster.squeue = squeue  # type: ignore[method-assign]
    cycle = one_round(world)
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [
        ("refused", "90"),
        ("started", "91"),
    ]
    assert cycle.report.rows[0].codes == ("beneficiary_not_pending",)
    assert len(evicted(world)) == 1


def test_a_head_whose_victim_cannot_be_looked_at_holds_up_no_other(tmp_path: Path) -> None:
    world = queue(tmp_path)
    squeue = world.cluster.squeue
    sick = Result(1, "", "slurm_load_jobs error: Unexpected message received")
    world.cluster.squeue = (  # type: ignore[method-assign]
        lambda rest: sick if any(w.startswith("--jobs=") and "90" in w for w in rest) else squeue(rest)
    )
    cycle = one_round(world)
    assert [row.outcome for row in cycle.report.rows] == ["refused", "started"]
    assert cycle.report.rows[0].codes == ("not_seen",)
    assert cycle.report.rows[1].beneficiary == "91"


def test_a_capped_head_holds_up_no_other(tmp_path: Path) -> None:
    """It wants two victims and one is allowed; the job behind it wants one."""
    jobs = [job(n, 2, node="n1", user=f"u{n}", uid=1000 + n) for n in (1, 2)]
    jobs += [job(n, 4, node=f"n{n - 1}", priority=200) for n in (3, 4)]
    world = World(tmp_path, [*jobs, job(8, 4, priority=95), job(9, 2, priority=90)])
    world.cluster.__class__ = Fair
    world.policy = Scripted(at_most=1)
    cycle = one_round(world, caps=Caps(1, None, None, None))
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [
        ("refused", "8"),
        ("started", "9"),
    ]
    assert cycle.report.rows[0].codes == ("cap",)
    assert cycle.waiting == {"cap": ["8"]}
    assert len(evicted(world)) == 1


def test_another_set_within_the_caps_is_tried(tmp_path: Path) -> None:
    """Of one owner one job may leave: the second victim is somebody else's, on another node."""
    jobs = [job(n, 2, node="n1", user="ann", uid=1000, start=1.69e9) for n in (1, 2)]
    jobs += [job(3, 2, node="n2", user="bob", uid=1001), job(4, 2, node="n2", user="cyd", uid=1002)]
    jobs += [job(5, 4, node="n3", priority=200)]
    world = World(tmp_path, [*jobs, job(9, 4, priority=90)])
    world.cluster.__class__ = Fair
    cycle = one_round(world, caps=Caps(None, None, 1, None))
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [("started", "9")]
    assert sorted(evicted(world)) == ["3", "4"]


def test_one_an_owner_serves_several_owners(tmp_path: Path) -> None:
    """The how-to's own beginning: every owner gives way once an hour, and no more."""
    world = queue(tmp_path, heads=2)
    world.policy = Scripted()
    world.cluster.never = ()  # type: ignore[attr-defined]
    cycle = one_round(world, caps=Caps(None, None, 1, None))
    assert cycle.report.counts == {"started": 3}
    (tmp_path / "one").mkdir()
    world = queue(tmp_path / "one", heads=2, one_owner=True)
    world.policy = Scripted()
    world.cluster.never = ()  # type: ignore[attr-defined]
    cycle = one_round(world, caps=Caps(None, None, 1, None))
    assert cycle.report.counts == {"started": 1, "refused": 2}
    assert cycle.waiting == {"cap": ["91", "92"]}
    world.clock.now += 3599.0
    assert one_round(world, caps=Caps(None, None, 1, None)).report.counts == {"refused": 2}
    assert len(evicted(world)) == 1
    world.clock.now += 2.0
    assert one_round(world, caps=Caps(None, None, 1, None)).report.counts["started"] == 1


def test_an_owner_at_the_cap_is_spared_in_all_jobs(tmp_path: Path) -> None:
    """Which was known of one of them only: the journal has numbers of owners, the snapshot names."""
    world = queue(tmp_path, one_owner=True)
    world.cluster.jobs["3"].update(user="v", uid=5, start=1.69e9)
    evicted_before(world, "1", "1000")
    world.cluster.never = ()  # type: ignore[attr-defined]
    cycle = one_round(world, caps=Caps(None, None, 1, None))
    assert evicted(world) == ["3"]
    assert cycle.report.counts["started"] == 1


def test_plans_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = queue(tmp_path, heads=30)
    for n in range(30):
        world.cluster.jobs[str(90 + n)]["cpus"] = 4
    made: list[int] = []
    plain = Scripted.plan

    class Counted(Scripted):
        def plan(self, *args: Any, **more: Any) -> Any:
            made.append(1)
            return plain(self, *args, **more)

    monkeypatch.setattr(rounds, "_PLANS", 4)
    one_round(world, Counted(at_most=1), caps=Caps(0, None, None, None))
    assert len(made) <= 4 * 4
    assert not evicted(world)


def tiers(world: World) -> Any:
    """Jobs from 90 on are of a partition whose jobs preempt those of the other."""
    plain, rows = world.cluster._json, world.cluster.sinfo
    world.cluster._json = (  # type: ignore[method-assign]
        lambda j: plain(j) | {"partition": "high" if j["id"] >= 90 else "low"}
    )

    def sinfo(rest: list[str]) -> Result:
        result = rows(rest)
        return Result(0, result.out.replace('["main"]', '["low", "high"]')) if "--json" in rest else result

    world.cluster.sinfo = sinfo  # type: ignore[method-assign]
    partitions = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10, "PreemptMode": "OFF"}}
    return eh.policies.Slurm(
        PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=partitions
    )


def impossible(folder: Path, heads: int, scheduler: str) -> tuple[World, Any]:
    """The heads want a feature of one node, on which a job runs that no job may preempt."""
    world = queue(folder, heads=heads)
    world.cluster.never = tuple(range(90, 91 + heads))  # type: ignore[attr-defined]
    world.cluster.nodes = {"n1": 4, "n2": 4, "n3": 4, "n9": 4}
    world.cluster.jobs["99"] = job(99, 4, node="n9", priority=300)
    policy = tiers(world)
    plain, rows = world.cluster._json, world.cluster.sinfo
    world.cluster._json = (  # type: ignore[method-assign]
        lambda j: plain(j) | ({"features": "big"} if 90 <= j["id"] < 90 + heads else {})
    )

    def sinfo(rest: list[str]) -> Result:
        result = rows(rest)
        if "--json" not in rest:
            return result
        data = json.loads(result.out)
        data["nodes"][-1]["active_features"] = "big"
        return Result(0, json.dumps(data))

    world.cluster.sinfo = sinfo  # type: ignore[method-assign]
    return world, policy.replace(SchedulerType=scheduler)


def test_impossible_heads_hold_up_no_other(tmp_path: Path) -> None:
    """No victims suffice for the first four; the pass that backfills serves the next."""
    world, policy = impossible(tmp_path, 4, "sched/backfill")
    world.cluster.never = (90, 91, 92, 93)  # type: ignore[attr-defined]
    cycle = one_round(world, policy)
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [("started", "94")]
    assert [job for jobs in cycle.waiting.values() for job in jobs] == ["90", "91", "92", "93"]
    assert len(evicted(world)) == 1


def test_a_head_that_holds_up_others_is_named(tmp_path: Path) -> None:
    """Without backfill Slurm starts nothing in a partition behind the first that waits there."""
    world, policy = impossible(tmp_path, 1, "sched/builtin")
    cycle = one_round(world, policy)
    assert cycle.report.rows == []
    assert cycle.waiting == {"no_room_even_with_victims": ["90"], "behind_first_waiting": ["91"]}
    assert cycle.held_up == ("1 wait behind 90, which the system serves first: no_room_even_with_victims")


# Trouble in the middle


def outage_after(world: World, evictions: int) -> None:
    """From the command after so many evictions on, the controller does not answer, for 50 seconds."""
    run, begun = world.faults._runner, [0.0]

    def gone(arguments: Any, timeout: float) -> Result:
        if len(evicted(world)) >= evictions and not begun[0]:
            begun[0] = world.clock.now
        if begun[0] and world.clock.now < begun[0] + 50.0:
            world.clock.now += 5.0
            return Result(1, "", "slurm_load_jobs error: Unable to contact slurm controller")
        return run(arguments, timeout)

    world.faults._runner = gone


@pytest.mark.parametrize("evictions", [1, 2])
def test_an_outage_is_not_blamed_on_the_beneficiary(evictions: int, tmp_path: Path) -> None:
    """Between two victims, and once both have left."""
    jobs = [job(n, 2, node="n1", user=f"u{n}", uid=1000 + n) for n in (1, 2)]
    jobs += [job(n, 4, node=f"n{n - 1}", priority=200) for n in (3, 4)]
    world = World(tmp_path, [*jobs, job(9, 4, priority=90)])
    world.cluster.__class__ = Fair
    world.cluster.never = (9,)  # type: ignore[attr-defined]
    outage_after(world, evictions)
    world.round()
    world.calm()
    with world.driver() as driver:
        assert driver.book.ends == {"not_started": 1}
        assert driver.book.failures == {}
    world.cluster.never = ()  # type: ignore[attr-defined]
    assert world.round()
    assert world.cluster.jobs["9"]["state"] == "RUNNING"
    world.calm()
    world.check()


def test_one_that_had_its_chance_is_to_blame(tmp_path: Path) -> None:
    """The same without an outage."""
    world = queue(tmp_path, heads=0)  # one job waits
    world.cluster.never = (90,)  # type: ignore[attr-defined]
    assert one_round(world).report.counts == {"not_started": 1}
    with world.driver() as driver:
        assert list(driver.book.failures) == ["90"]


def test_some_victims_left_is_no_blame() -> None:
    book = Book()
    names = ("1", "2")
    victims = [{"job": n, "owner": "", "action": "requeue", "turn": 0} for n in names]
    book.add({"kind": "step", "step": 0, "t": 1.0, "beneficiary": "9", "victims": victims})
    for answers, failed in (
        (("left", "left"), 1),
        (("left", "ended"), 1),
        (("left", "stays"), 0),
        (("left", "unknown"), 0),
        (("left", None), 0),
        (("ended", "ended"), 0),
    ):
        for name, answer in zip(names, answers, strict=True):
            book.open[0].victims[name].answer = answer
        assert book.failed(book.open[0], 2.0) == failed, answers


def test_a_late_command_takes_one_victim(tmp_path: Path) -> None:
    """It is not answered and arrives later: in the meantime no second job leaves for the same one."""
    world = queue(tmp_path, heads=0)
    plain = world.cluster.scontrol
    late: list[tuple[float, list[str]]] = []

    def scontrol(rest: list[str]) -> Result:
        if rest[0] == "requeuehold":
            late.append((world.clock.now + 100.0, rest))
            world.clock.now += 30.0
            return Result(None, "", "no answer within 30 s")
        return plain(rest)

    world.cluster.scontrol = scontrol  # type: ignore[method-assign]
    for _ in range(6):
        cycle = one_round(world)
        world.clock.now += 30.0
        for due, rest in list(late):
            if due <= world.clock.now:
                plain(rest)
                late.remove((due, rest))
        if not evicted(world):
            assert cycle.waiting in ({"busy": ["90"]}, {"did_not_start": ["90"]})
    assert len(evicted(world)) == 1
    assert world.cluster.jobs["90"]["state"] == "RUNNING"
    world.cluster.scontrol = plain  # type: ignore[method-assign]
    world.calm()
    world.check()


def test_a_refused_step_counts_as_no_attempt(tmp_path: Path) -> None:
    """What a policy keeps of an attempt for one that was refused is not in the state of the next round."""
    world = queue(tmp_path)
    did_not_start(world, "90")
    policy = tiers(world)
    cycle = one_round(world, policy)
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [
        ("refused", "90"),
        ("started", "91"),
    ]
    assert cycle.state is not None
    assert set(map(str, cycle.state.operations)) == {"91"}


# What is said


def test_what_waits_and_why(world: World, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In the output, the log and the figures; jobs that cannot be judged too."""
    world.cluster.jobs["7"] = job(7, 1, priority=1)
    plain = world.cluster._json
    world.cluster._json = (  # type: ignore[method-assign]
        lambda j: plain(j) | ({"licenses": "matlab"} if j["id"] == 7 else {})
    )
    world.cluster.schedule = lambda: None  # type: ignore[method-assign]
    metrics = tmp_path / "metrics"
    arguments = ["watch", "--once", "--journal", str(world.journal), "--metrics", str(metrics)]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    rules, waits = said.splitlines()
    assert rules == "rules: slurm:upstream"
    assert (
        waits == "round 0: 3 wait, not served because: 2 preemption_disabled, 1 a license that is not there"
    )
    text = metrics.read_text()
    assert 'evenhand_waiting_jobs{reason="preemption_disabled"} 2\n' in text
    assert 'evenhand_waiting_jobs{reason="a license that is not there"} 1\n' in text


def test_the_log_says_why_jobs_wait(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    world = queue(tmp_path)
    did_not_start(world, "90")
    log = logging.getLogger("evenhand.act")
    log.setLevel(logging.INFO)
    try:
        with caplog.at_level(logging.INFO, logger="evenhand.act"):
            one_round(world)
    finally:
        log.setLevel(logging.CRITICAL)
    (record,) = [r for r in caplog.records if "wait, not served" in r.getMessage()]
    assert record.getMessage() == "round 0: 1 wait, not served because: 1 did_not_start"
    assert record.evenhand == {"waiting": {"did_not_start": ["90"]}}  # type: ignore[attr-defined]


def test_waiting_text() -> None:
    assert waiting_text({}) == ""
    found = {"cap": ["1"], "busy": ["2", "3"], "a job array": ["4"]}
    assert waiting_text(found) == "4 wait, not served because: 2 busy, 1 a job array, 1 cap"
    cycle = Cycle(0, waiting=found)
    assert 'evenhand_waiting_jobs{reason="busy"} 2\n' in metrics_text(Book(), cycle, 0.0)
    assert json.dumps(found)


def test_where_the_system_serves_in_order_the_front_is_named(tmp_path: Path) -> None:
    """Backend.AI starts no session behind the first: no job leaves for those, and the log names it."""
    world = queue(tmp_path)
    world.cluster.jobs["92"] = job(92, 4, priority=50, user="eve", uid=2000)
    did_not_start(world, "90")
    policy = eh.policies.BackendAI(preemptible_priority=10)
    for j in world.cluster.jobs.values():
        j["priority"] = j["rank"] = min(j["priority"], 100)
    cycle = one_round(world, policy)
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [("refused", "90")]
    assert not evicted(world)
    assert cycle.waiting == {"did_not_start": ["90"], "behind_first_waiting": ["91", "92"]}
    assert cycle.held_up.startswith("2 wait behind 90, which the system serves first: ")


@pytest.mark.parametrize("answer", [DENIED, Result(None, "", "no answer within 30 s")])
def test_a_victim_that_cannot_be_evicted_is_left_alone(answer: Result, tmp_path: Path) -> None:
    """A refusal is an answer: another job leaves for the first. Else it waits, and the next is served."""
    world = queue(tmp_path)
    if answer is DENIED:
        world.cluster.never = ()  # type: ignore[attr-defined]
    with world.driver() as driver:
        plan = eh.plan(driver.snapshot(), world.policy)
    first = str(next(iter(plan.decisions.victims)).operation)
    answering(world, lambda rest: answer if rest[0] == "requeuehold" and rest[-1] == first else None)
    assert one_round(world).report.counts == {"not_started": 1}
    cycle = one_round(world)
    rows = [(row.outcome, row.beneficiary) for row in cycle.report.rows]
    if answer is DENIED:
        assert rows == [("started", "90")]
        assert first not in cycle.report.rows[0].victims
        assert "busy" not in cycle.waiting
    else:
        assert rows == [("refused", "90"), ("started", "91")]
        assert cycle.waiting == {"busy": ["90"]}


def test_room_that_went_to_one_that_was_left_out_is_no_blame(tmp_path: Path) -> None:
    """The cluster gave it to the job that stands before the beneficiary: the journal says to which."""
    world = queue(tmp_path)
    did_not_start(world, "90")
    world.cluster.never = ()  # type: ignore[attr-defined]
    cycle = one_round(world)
    assert [(row.outcome, row.beneficiary) for row in cycle.report.rows] == [
        ("refused", "90"),
        ("not_started", "91"),
    ]
    assert cycle.report.rows[1].why.endswith("; 90 started instead")
    with world.driver() as driver:
        assert list(driver.book.failures) == ["90"]
