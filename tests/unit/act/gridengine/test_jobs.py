"""The adapter of Grid Engine, against a small one."""

from __future__ import annotations

import contextlib
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.act import Caps, Driver, Timing
from evenhand.act.journal import read
from evenhand.adapters import AdapterError
from evenhand.adapters.commands import Result
from evenhand.adapters.gridengine import GridEngine
from evenhand.testing.adapters import check_adapter
from tests.drawing import some
from tests.unit.act.faults import Fault, Faults
from tests.unit.act.gridengine.cluster import T0, Clock, Engine, job

RULES: dict[str, Any] = {"automatic_preemption": True, "max_preemptees": 10, "preemption_distance": 0.0}


class Killed(BaseException):
    """The driver is killed."""


def full(**more: Any) -> dict[int, dict[str, Any]]:
    """Four jobs that run, the fourth the youngest, and an urgent one that waits."""
    jobs = {n: job(start=T0 - 1000 + n, **more) for n in (1, 2, 3, 4)}
    return jobs | {9: job("qw", priority=0.9, start=T0 - 500)}


def adapter_of(engine: Any, clock: Clock, **more: Any) -> GridEngine:
    return GridEngine(runner=engine, clock=clock, **more)


def driver(folder: Path, adapter: GridEngine, clock: Clock, **more: float) -> Driver:
    timing = Timing(
        **{"start": 60.0, "settle": 10.0, "poll": 1.0, "forget": 100.0, **more},
        clock=clock,
        sleep=clock.sleep,
    )
    caps = Caps(None, None, None, None)
    return Driver(adapter, folder / "journal", lock=folder / "lock", caps=caps, timing=timing)


def act(folder: Path, adapter: GridEngine, clock: Clock, action: str = "R") -> Any:
    with driver(folder, adapter, clock) as driving:
        plan = eh.plan(adapter.snapshot(), adapter.policy(**RULES, preemption_action=action))
        rows = driving.act(plan).rows
        return rows, driving.book


def test_a_victim_is_held_until_its_beneficiary_runs(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    (row,), book = act(tmp_path, adapter_of(engine, clock), clock)
    assert (row.outcome, row.beneficiary, row.victims) == ("started", "9", ("4",))
    assert engine.asked == [("qhold", "-h", "s", "4"), ("qmod", "-rj", "4"), ("qrls", "-h", "s", "4")]
    assert engine.jobs[9]["state"] == "r"
    assert engine.jobs[4]["state"] == "Rq"
    assert not book.owed


def test_termination(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    (row,), book = act(tmp_path, adapter_of(engine, clock), clock, "T")
    assert (row.outcome, engine.asked) == ("started", [("qdel", "4")])
    assert not book.owed


@pytest.mark.parametrize(
    ("attr", "may"), [(1, False), (2, False), (3, False), (4, True), (5, True), (7, True)]
)
def test_checkpoints(attr: int, may: bool, tmp_path: Path) -> None:
    """A job migrates when it is suspended if its `when` has x; else C is no way for it."""
    clock = Clock()
    engine = Engine(full(ckpt=attr), clock)
    adapter = adapter_of(engine, clock)
    assert adapter.look(["4"])["4"].requeueable is may
    rows, _ = act(tmp_path, adapter, clock, "C")
    if may:
        assert engine.asked == [("qhold", "-h", "s", "4"), ("qmod", "-sj", "4"), ("qrls", "-h", "s", "4")]
        assert rows[0].outcome == "started"
    else:
        assert not engine.asked


def test_suspension(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    rows, _ = act(tmp_path, adapter_of(engine, clock), clock, "S")
    assert [row.outcome for row in rows] == ["refused"]
    assert "suspend_frees_less" in rows[0].codes
    assert not engine.asked
    adapter = adapter_of(engine, clock, suspended_slots_are_free=True)
    other = tmp_path / "other"
    other.mkdir()
    (row,), book = act(other, adapter, clock, "S")
    assert engine.asked[0] == ("qmod", "-sj", "4")
    assert row.outcome == "not_started"
    assert [owed.what for owed in book.owed.values()] == ["resume"]
    with driver(other, adapter, clock) as driving:
        assert not driving.book.owed
    assert engine.jobs[4]["state"] == "r"


def test_the_room_of_a_suspended_job(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    engine.jobs[4].update(state="s")
    assert adapter_of(engine, clock).room("4")  # it keeps its slots
    adapter = adapter_of(engine, clock, suspended_slots_are_free=True)
    assert adapter.room("4")  # three others of four
    engine.jobs[5] = job()
    assert not adapter.room("4")  # four others
    assert not adapter.room("77")


@pytest.mark.parametrize("letter", ["P", "N"])
def test_p_and_n_are_refused(letter: str) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    adapter = adapter_of(engine, clock)
    for settings in ({"preemption_action": letter}, {"queues": {"low.q": {"preemption_action": letter}}}):
        with pytest.raises(AdapterError, match=f"does not have action {letter}.*no job was touched"):
            adapter.policy(**settings)
    with pytest.raises(AdapterError, match=f"action {letter}"):
        adapter.action({"P": "preempt", "N": "enhanced_suspend"}[letter])
    assert not engine.asked


def test_a_user_without_rights(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    engine.manager = False
    (row,), book = act(tmp_path, adapter_of(engine, clock), clock)
    assert row.outcome == "not_started"
    assert "must be manager to set manager hold" in row.why
    assert engine.asked == [("qhold", "-h", "s", "4")]
    assert engine.jobs[4]["state"] == "r"
    assert all(owed.what.startswith("look:") for owed in book.owed.values())


def test_what_is_refused_with_status_0_takes_the_hold_back() -> None:
    clock = Clock()
    engine = Engine(full(rerun=2), clock)
    answer = adapter_of(engine, clock).do("requeue_hold", "4", "")
    assert (answer.status, answer.message) == ("refused", "The job 4 is not restartable")
    assert not engine.jobs[4]["hold"]
    forced = adapter_of(engine, clock, force=True)
    assert forced.look(["4"])["4"].requeueable
    assert forced.do("requeue_hold", "4", "").status == "done"
    assert engine.jobs[4] | {"state": "Rq", "hold": True} == engine.jobs[4]


def test_a_job_that_does_not_run_is_not_asked_to_leave() -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    answer = adapter_of(engine, clock).do("requeue_hold", "9", "")
    assert (answer.status, "does not run" in answer.message) == ("refused", True)
    assert not engine.jobs[9]["hold"]


@pytest.mark.parametrize("name", ["", "x", "1;ls", "-1", "0", "1.0", "1.2.3", "--help"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(AdapterError, match="is not the number of a Grid Engine job"):
        GridEngine(runner=Engine({}, Clock())).look([name])


@pytest.mark.parametrize(
    ("number", "ckpt", "stuck", "kind"),
    some(list(product(range(60), [0, 4], [False, True], ["die", "die_after"]))),
)
def test_killed_at_any_command(kind: Any, number: int, stuck: bool, ckpt: int, tmp_path: Path) -> None:
    """Whichever command a driver is killed at: no job stays held or suspended, and none leaves twice."""
    clock = Clock()
    engine = Engine(full(ckpt=ckpt), clock)
    engine.stuck = stuck

    def die() -> None:
        raise Killed

    faults = Faults(engine, {number: Fault(kind)}, die)
    with contextlib.suppress(Killed):
        act(tmp_path, adapter_of(faults, clock), clock, "C" if ckpt else "R")
    for _ in range(6):  # drivers that only bring to an end
        clock.now += 30.0
        with driver(tmp_path, adapter_of(engine, clock), clock):
            pass
    with driver(tmp_path, adapter_of(engine, clock), clock) as driving:
        assert not driving.book.open
        assert not driving.book.owed
    for one in engine.jobs.values():
        assert not one["hold"]
        assert one["state"] in ("r", "Rr", "qw", "Rq")
    assert set(engine.jobs) == {1, 2, 3, 4, 9}
    asked = [words for words in engine.asked if words[:2] in (("qmod", "-rj"), ("qmod", "-sj"))]
    assert len(asked) <= 1


def test_an_adapter_that_keeps_its_promises() -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    assert check_adapter(adapter_of(engine, clock), victim="1")[-1] == "evicts_and_releases"


def test_what_the_policy_lacks_is_said() -> None:
    clock = Clock()
    adapter = adapter_of(Engine(full(), clock), clock)
    policy = adapter.policy()
    assert policy.settings.preemption_action == "R"
    assert policy.settings.max_reservation == 10
    assert adapter.notices == (
        "max_preemptees is 0: no job is preempted",
        "automatic_preemption is off: no job is preempted without a command",
    )
    adapter.policy(**RULES)
    assert adapter.notices == ()


def test_the_journal_has_the_commands(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    act(tmp_path, adapter_of(engine, clock), clock)
    intents = [line for line in read(tmp_path / "journal") if line["kind"] == "intent"]
    assert [line["commands"] for line in intents] == [
        [["qalter", "-ac", "evenhand=gives_way_to_9:_automatic_preemption", "4"]],
        [["qhold", "-h", "s", "4"], ["qmod", "-rj", "4"]],
        [["qrls", "-h", "s", "4"]],
    ]


# What is refused, or cannot be read


def rounds(folder: Path, adapter: GridEngine, clock: Clock, action: str) -> list[tuple[str, tuple[str, ...]]]:
    """Two rounds of one driver: outcome and victims of each step."""
    found = []
    with driver(folder, adapter, clock) as driving:
        for _ in range(2):
            driving.recover()
            plan = eh.plan(driving.snapshot(), adapter.policy(**RULES, preemption_action=action))
            found += [(row.outcome, row.victims) for row in driving.act(plan).rows]
            clock.now += 1.0
    return found


def test_after_a_refusal_others_leave_at_once(tmp_path: Path) -> None:
    """It is an answer: neither the beneficiary nor other victims wait for what may yet arrive."""
    clock = Clock()
    engine = Engine(full(), clock)
    engine.jobs[4]["stubborn"] = True
    found = rounds(tmp_path, adapter_of(engine, clock), clock, "R")
    assert found == [("not_started", ("4",)), ("started", ("3",))]
    assert not engine.jobs[4]["hold"]
    assert engine.jobs[4]["state"] == "r"


def test_the_advisor_takes_the_next_action_where_one_was_refused() -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    engine.jobs[4]["stubborn"] = True
    adapter = adapter_of(engine, clock)

    def chosen(action: str) -> list[tuple[Any, Any]]:
        plan = eh.plan(adapter.snapshot(), adapter.policy(**RULES, preemption_action=action))
        return [(d.operation, d.mode) for d in plan.decisions.victims]

    assert chosen("advisor") == chosen("R") == [("4", "requeue")]
    assert adapter.do("requeue_hold", "4", "").status == "refused"
    assert chosen("R") == [("3", "requeue")]
    assert chosen("advisor") == [("4", "terminate")]
    assert not adapter.look(["4"])["4"].requeueable
    engine.jobs[4]["stubborn"] = False
    forced = adapter_of(engine, clock, force=True)
    forced._staying.add("4")
    assert forced.look(["4"])["4"].requeueable


def test_the_advisor_chooses_among_what_there_is() -> None:
    clock = Clock()
    adapter = adapter_of(Engine(full(rerun=2), clock), clock)
    policy = adapter.policy(**RULES, preemption_action="advisor")
    assert policy.settings.actions == ("T", "R", "C")
    plan = eh.plan(adapter.snapshot(), policy)
    assert [d.mode for d in plan.decisions.victims] == ["terminate"]
    free = adapter_of(Engine(full(), clock), clock, suspended_slots_are_free=True)
    policy = free.policy(**RULES, preemption_action="advisor")
    assert policy.settings.actions == ("T", "R", "C", "S")
    assert [d.mode for d in eh.plan(free.snapshot(), policy).decisions.victims] == ["suspend"]
    assert adapter.policy(actions=["R"]).settings.actions == ("R",)


def test_where_none_may_be_rerun_that_is_said() -> None:
    clock = Clock()
    adapter = adapter_of(Engine(full(rerun=2), clock), clock)
    plan = eh.plan(adapter.snapshot(), adapter.policy(**RULES))
    assert [(r.request, r.rule) for r in plan.refusals] == [("9", "no_job_allows_action")]


@pytest.mark.parametrize("garble", ["<JB_restart>7</JB_restart>", "<JB_restart>", "&"])
def test_a_release_waits_for_no_text_that_cannot_be_read(garble: str, tmp_path: Path) -> None:
    """A killed driver left a job held; `qstat -j` cannot be read since."""
    clock = Clock()
    engine = Engine(full(), clock)

    def die() -> None:
        raise Killed

    asked = [0]

    def runner(arguments: Any, timeout: float) -> Any:
        answer = engine(arguments, timeout)
        asked[0] += "-rj" in arguments
        if asked[0]:
            die()
        return answer

    with contextlib.suppress(Killed):
        act(tmp_path, adapter_of(runner, clock), clock)
    assert engine.jobs[4]["hold"]
    engine.garbled = lambda text: text.replace("<JB_restart>1</JB_restart>", garble)
    clock.now += 100.0
    with driver(tmp_path, adapter_of(engine, clock), clock) as driving:
        assert not driving.book.owed
    assert not engine.jobs[4]["hold"]
    assert not adapter_of(engine, clock).look(["3"])["3"].requeueable


@pytest.mark.parametrize(
    ("garble", "said"),
    [
        ("<JB_restart>7</JB_restart>", "JB_restart of job {} is 7; it must be 0, 1 or 2"),
        ("<JB_restart>", "this is no well-formed XML: mismatched tag"),
        ("&", "this is no well-formed XML: not well-formed (invalid token)"),
    ],
)
@pytest.mark.parametrize("unread", [3, 9])
def test_a_job_that_cannot_be_read_is_left_out_alone(unread: int, garble: str, said: str) -> None:
    """Job 9 waits: the others are planned for. Job 3 runs: it keeps its slot, and others leave."""
    clock = Clock()
    engine = Engine(full() | {9: job("qw", priority=0.9), 10: job("qw", priority=0.8)}, clock)
    head, end = f"<JB_job_number>{unread}</JB_job_number>", "<JB_restart>1</JB_restart>"

    def garbled(text: str) -> str:
        before, found, after = text.partition(head)
        return before + found + after.replace(end, garble, 1) if found else text

    engine.garbled = garbled
    adapter = adapter_of(engine, clock)
    snapshot = adapter.snapshot()
    rows = snapshot.to_dict()
    asking = [row["name"] for row in rows["requests"]]
    assert asking == (["10"] if unread == 9 else ["10", "9"])
    assert [row["operation"] for row in rows["allocations"]] == ["1", "2", "3", "4"]
    victims = {row["operation"] for row in rows["allocations"] if row.get("preemptible", True)}
    assert victims == {"1", "2", "3", "4"} - {str(unread)}
    plan = eh.plan(snapshot, adapter.policy(**RULES))
    left = {d.operation for d in plan.decisions.victims}
    assert len(left) == len(asking)
    assert left <= victims
    told = [text for text in adapter.notices if said.format(unread) in text]
    if unread == 9:
        assert len(told) == 1
        assert told[0].startswith("job 9 asking for what cannot be read of qstat -j (")
        assert [list(names) for names in adapter.left_out.values()] == [["9"]]
        assert "nor preempts for it: what cannot be read of qstat -j (" in plan.why("9").text
        assert said.format(unread) in plan.why("9").text
    else:
        assert not adapter.left_out


@pytest.mark.parametrize(("count", "fails"), [(8, False), (9, True)])
def test_where_no_job_can_be_read_it_is_not_the_jobs(count: int, fails: bool) -> None:
    clock = Clock()
    engine = Engine({n: job() for n in (1, 2, 3, 4)} | {n: job("qw") for n in range(10, 10 + count)}, clock)

    def garbled(text: str) -> str:
        return (
            "&" if any(f"<JB_job_number>{n}</JB_job_number>" in text for n in range(10, 10 + count)) else text
        )

    engine.garbled = garbled
    adapter = adapter_of(engine, clock)
    if fails:
        with pytest.raises(AdapterError, match="no well-formed XML"):
            adapter.snapshot()
    else:
        assert adapter.snapshot().request_count == 0
        assert sum(map(len, adapter.left_out.values())) == count


def test_of_jobs_that_are_looked_at_the_others_are_read() -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    engine.garbled = lambda text: text.replace(
        "<JB_job_number>3</JB_job_number>",
        "<JB_job_number>3</JB_job_number><JB_checkpoint_attr>x</JB_checkpoint_attr>",
    )
    found = adapter_of(engine, clock).look(["2", "3"])
    assert {name: one.requeueable for name, one in found.items()} == {"2": True, "3": False}
    assert found["3"].state == "running"


def test_a_restarted_qmaster_is_read(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)
    tasks = (
        "<JB_ja_tasks><JATASK:     366.><JAT_task_number>1</JAT_task_number></JATASK:     366.></JB_ja_tasks>"
    )
    engine.garbled = lambda text: text.replace("</element>", f"{tasks}</element>")
    (row,), book = act(tmp_path, adapter_of(engine, clock), clock)
    assert row.outcome == "started"
    assert not book.owed


# What owners can see


def test_owners_see_for_which_job_theirs_gives_way(tmp_path: Path) -> None:
    """In the context of the job, which `qstat -j` shows."""
    clock = Clock()
    engine = Engine(full(), clock)
    act(tmp_path, adapter_of(engine, clock), clock)
    assert engine.jobs[4]["context"] == "evenhand=gives_way_to_9:_automatic_preemption"
    assert "context" not in engine.jobs[3]


@pytest.mark.parametrize(
    ("reason", "said"),
    [("a,b=c d\n-x", "a_b_c_d_-x"), ("", ""), ("x" * 200, "x" * 200), ("x" * 201, "x" * 200)],
)
def test_a_reason_is_one_value_of_a_context(reason: str, said: str) -> None:
    clock = Clock()
    (command,) = adapter_of(Engine(full(), clock), clock).commands("note", "4", reason)
    assert command == ("qalter", "-ac", f"evenhand={said}", "4")


def test_tasks_are_marked_in_their_job() -> None:
    """`qalter -ac` works on jobs only; each task has a variable of its own."""
    clock = Clock()
    (command,) = adapter_of(Engine(full(), clock), clock).commands("note", "4.17", "why")
    assert command == ("qalter", "-ac", "evenhand_17=why", "4")


def test_a_mark_that_is_refused_stops_nothing(tmp_path: Path) -> None:
    clock = Clock()
    engine = Engine(full(), clock)

    def runner(arguments: Any, timeout: float) -> Any:
        return Result(1, "denied: no right\n") if "qalter" in arguments else engine(arguments, timeout)

    (row,), _ = act(tmp_path, adapter_of(runner, clock), clock)
    assert row.outcome == "started"
