"""Configuration and state read from texts, those of a Grid Engine 8.1.9 among them."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters import gridengine
from evenhand.systems.gridengine.text.config import read_complexes, read_parallel, read_queues, read_scheduler
from evenhand.systems.gridengine.text.jobs import read_details, read_tasks
from evenhand.systems.gridengine.text.machines import read_machines
from evenhand.systems.gridengine.text.values import amount, memory, seconds
from tests.shared import DATA

RECORDED = DATA / "gridengine"
NOW = 1795584375.0  # when qstat and qhost were run
FILES = {name: RECORDED / f"{name}.txt" for name in ("scheduler", "queues", "hosts", "parallel")}
FILES |= {name: RECORDED / f"{name}.xml" for name in ("machines", "jobs", "details")}


def recorded(**more: Any) -> gridengine.Reading:
    return gridengine.read(RECORDED / "complexes.txt", **{**FILES, "now": NOW, "utc": True, **more})


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    data = recorded().snapshot.to_dict()
    return {
        table: {row["name"]: row for row in data[table]} for table in ("allocations", "requests", "nodes")
    }


# Values


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("0", 0),
        ("512", 512),
        ("1k", 1000),
        ("1K", 1024),
        ("512M", 512 * 1024**2),
        ("1m", 10**6),
        ("4.000G", 4 * 1024**3),
        ("1g", 10**9),
        ("2T", 2 * 1024**4),
        ("1t", 10**12),
        ("0x10", 16),
        ("0.5K", 512),
        ("1.0001K", 1025),  # 1024.1024, rounded up
        ("INFINITY", None),
        ("infinity", None),
    ],
)
def test_memory(text: str, bytes_: int | None) -> None:
    """sge_types(5), memory_specifier: small letters are powers of 1000, capital ones of 1024."""
    assert memory(text) == bytes_


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0", 0.0),
        ("3600", 3600.0),
        ("1:00:00", 3600.0),
        ("1:0:1", 3601.0),
        ("1::1", 3601.0),
        ("1::", 3600.0),
        (":1:", 60.0),
        ("::1", 1.0),
        ("0:0:2", 2.0),
        ("00:15:00", 900.0),
        ("3600.000000", 3600.0),
        ("INFINITY", None),
    ],
)
def test_times(text: str, found: float | None) -> None:
    """sge_types(5), time_specifier."""
    assert seconds(text) == found


@pytest.mark.parametrize("text", ["", "1:00", "::", "-1", "1:2:3:4", "one", "1d", "9" * 30, "1.5"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        seconds(text)


@pytest.mark.parametrize("text", ["", "-1", "1KB", "G", "1 G", "9" * 30, "1e9", "0x"])
def test_what_is_no_memory(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        memory(text)


def test_amounts_to_the_largest() -> None:
    assert amount("INT", str(2**62)) == 2**62
    with pytest.raises(ValueError, match=r"below 2\^62"):
        amount("INT", str(2**62 + 1))
    assert memory(str(2**62)) == 2**62
    with pytest.raises(ValueError, match=r"below 2\^62"):
        memory(str(2**62 + 1))


# Configuration

EXAMPLE_A = "license lic INT <= YES YES 0 0 YES"  # sge_preemption(5), common use case A


def test_the_complex_of_example_a() -> None:
    (one,) = read_complexes(f"...\n{EXAMPLE_A}\n...\n").values()
    assert (one.name, one.shortcut, one.kind, one.relop) == ("license", "lic", "INT", "<=")
    assert (one.consumable, one.default, one.aapre) == ("YES", "0", True)
    reading = gridengine.read(
        f"slots s INT <= YES YES 1 1000 YES\n{EXAMPLE_A}",
        hosts="hostname global\ncomplex_values license=2\nhostname waikiki\nhostname hookipa\n",
        queues="qname all.q\nslots 10\n",
    )
    resources = reading.snapshot.to_dict()["resources"]
    assert resources["license"] == {"kind": "other", "scope": "cluster", "capacity": 2}
    data = reading.snapshot.to_dict()
    assert [(n["name"], n["capacity"]) for n in data["nodes"]] == [
        ("hookipa", {"slots": 10}),
        ("waikiki", {"slots": 10}),
    ]


def test_the_ninth_column_is_what_stays() -> None:
    hosts = "hostname global\ncomplex_values license=2\nhostname h\n"
    for column, available in (("YES", True), ("NO", False)):
        text = f"license lic INT <= YES YES 0 0 {column}"
        resources = gridengine.read(text, hosts=hosts).snapshot.to_dict()["resources"]
        assert resources["license"].get("available_after_preemption", True) is available
    for given in (True, False):
        reading = gridengine.read(EXAMPLE_A.removesuffix(" YES"), hosts=hosts, aapre=given)
        assert (
            reading.snapshot.to_dict()["resources"]["license"].get("available_after_preemption", True)
            is given
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("license lic INT <= YES YES 0", "8 columns, 9 with aapre, 10 with affinity or 12 with"),
        ("license lic INT <= YES YES 0 0 YES 0 NO", "here are 11"),
        ("license lic INTEGER <= YES YES 0 0", "type of license is INTEGER; it must be one of INT"),
        ("license lic INT =< YES YES 0 0", "relop of license is =<"),
        ("license lic INT <= YES MAYBE 0 0", "consumable of license is MAYBE"),
        ("license lic INT <= YES YES 0 0 PERHAPS", "aapre of license is PERHAPS; it must be YES or NO"),
        ("license lic INT <= YES YES many 0", "default of license is many; it must be a number"),
        (f"{EXAMPLE_A}\n{EXAMPLE_A}", "line 2: the name license appears twice"),
        ("# nothing", "there is no complex"),
    ],
)
def test_complexes_that_are_none(text: str, said: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        read_complexes(text)
    assert any(said in problem.message for problem in caught.value.problems)
    assert {problem.table for problem in caught.value.problems} == {"qconf -sc"}


def test_the_scheduler() -> None:
    settings = read_scheduler(
        "algorithm default\nmax_reservation 10\ndefault_duration INFINITY\n"
        "params DURATION_OFFSET=0:0:30,PROFILE=1\nmax_preemptees 4\nprioritize_preemptees TRUE\n"
        "preemptees_keep_resources 0\npreemption_distance 00:05:00\n"
    )
    policy = eh.policies.GridEngine(**settings)
    assert policy.settings.default_duration is None
    assert policy.settings.DURATION_OFFSET == 30.0
    assert (policy.settings.max_preemptees, policy.settings.preemption_distance) == (4, 300.0)
    assert policy.settings.prioritize_preemptees
    assert not policy.settings.preemptees_keep_resources
    assert read_scheduler((RECORDED / "scheduler.txt").read_text()) == {
        "max_reservation": 10,
        "default_duration": 3600.0,
    }
    for text, said in (
        ("algorithm default\nmax_reservation many", "max_reservation is many; it must be a whole number"),
        ("algorithm default\nalgorithm default", "algorithm appears twice"),
        ("algorithm default\npreemption_distance INFINITY", "it must have an end"),
        ("qname all.q", "no scheduler configuration"),
    ):
        with pytest.raises(eh.InputError, match=said):
            read_scheduler(text)


def test_queues() -> None:
    queues = read_queues((RECORDED / "queues.txt").read_text())
    assert list(queues) == ["low.q", "high.q"]
    high = queues["high.q"]
    assert (high.slots, high.rerun, high.suspend_method, high.batch) == (4, True, None, True)
    assert (high.environments, high.checkpoints) == (("mpi",), ("user",))
    assert (high.subordinate_list, queues["low.q"].subordinate_list) == ("slots=4(low.q:0:sr)", None)
    text = "qname a\nslots 1,[h1=4], \\\n  [h2=8]\nsuspend_method /m.sh $action\nuser_lists staff\nseq_no 3\n"
    one = read_queues(text)["a"]
    assert (one.slots, one.suspend_method, one.restricted, one.seq_no) == (
        1,
        "/m.sh $action",
        ("user_lists",),
        3,
    )
    assert one.varies == ("slots",)
    for text, said in (
        ("slots 4", "slots stands before any qname"),
        ("qname a\nslots -1", "slots of a is -1; it must be a whole number"),
        ("qname a\nrerun perhaps", "rerun of a is perhaps"),
        ("qname a\nqname a", "the queue a appears twice"),
        ("qname a\nsubordinate_list slots=x(b)", "subordinate_list of a"),
        ("qname a\ncomplex_values license", "license is no name=value"),
        ("qname a\nh_rt soon", "h_rt of a is soon; it must be a time"),
    ):
        with pytest.raises(eh.InputError, match=said):
            read_queues(text)


def test_lists_of_subordinate_queues_decide_in_plans_unless_the_system_acts_by_itself() -> None:
    reading = recorded()
    assert reading.settings["queues"]["high.q"]["subordinate_list"] == "slots=4(low.q:0:sr)"
    assert reading.policy().settings.queues["high.q"].slots == 4
    assert "subordinate_list" not in reading.settings["queues"]["low.q"]
    apart = recorded(subordination=False)
    assert not [q for q in apart.settings["queues"].values() if "subordinate_list" in q]


def test_parallel_environments() -> None:
    (one,) = read_parallel((RECORDED / "parallel.txt").read_text()).values()
    assert (one.name, one.slots, one.allocation_rule) == ("mpi", 8, "$fill_up")
    for rule in ("0", "fill", "$slots", "\N{SUPERSCRIPT TWO}"):
        (one,) = read_parallel(f"pe_name a\nslots 4\nallocation_rule {rule}").values()
        assert not one.known
    for rule in ("1", "12", "$round_robin", "$pe_slots"):
        (one,) = read_parallel(f"pe_name a\nslots 4\nallocation_rule {rule}").values()
        assert one.known


# State, as a Grid Engine 8.1.9 showed it


def test_what_runs(rows: dict[str, Any]) -> None:
    runs = rows["allocations"]
    assert sorted(runs) == ["33@vm", "34@vm", "35@vm", "41@vm"]  # 40.1 was in transit: it waited yet
    suspended, checkpoints, parallel, plain = (runs[f"{n}@vm"] for n in (33, 34, 35, 41))
    assert suspended["state"] == "suspended"
    assert suspended["resources"] == {"mem": 512 * 1024**2, "slots": 1, "slots@low.q": 1}
    assert "rerunnable" not in suspended  # -r n in a rerunnable queue: qmod -rj refuses it
    assert checkpoints["checkpointable"]
    assert "rerunnable" not in checkpoints  # so is one with a checkpoint environment
    assert parallel["resources"] == {
        "mem": 3 * 1024**3,  # each slot
        "perjob": 2,  # once: consumable JOB
        "pe:mpi": 3,
        "slots": 3,
        "slots@high.q": 2,
        "slots@low.q": 1,
    }
    assert parallel["rerunnable"]
    assert plain["start_time"] == 1795584368
    assert plain["settings"] == {"queue": "high.q"}


def test_what_waits(rows: dict[str, Any]) -> None:
    asks = rows["requests"]
    assert sorted(asks) == ["32", "37", "40.1", "40.3", "43"]
    assert asks["37"]["resources"] == {"license": 2, "slots": 1, "slots@high.q": 1}
    assert asks["37"]["reserve"]
    assert (asks["37"]["duration"], asks["37"]["submit_time"]) == (3600, 1795584367)
    assert set(asks["43"]["node_tags"]) <= set(rows["nodes"]["vm"]["tags"])
    assert {"arch==lx-amd64", "hostname==vm", "mem_free<=1G"} <= set(asks["43"]["node_tags"])


def test_what_is_left_out() -> None:
    reading = recorded()
    assert dict(reading.left_out) == {
        "more tasks at a time than its array allows": ("40.5", "40.7"),
        "a group of hosts": ("42",),
        "more than there is": ("44", "45"),  # 100G of 8G; mem_free of 1T
    }
    assert {one.code for one in reading.diagnostics} == {"gridengine_left_out"}
    assert {name for one in reading.diagnostics for name in one.elements} == {
        "40.5",
        "40.7",
        "42",
        "44",
        "45",
    }


def test_what_waits_for_something_else_asks_for_nothing_and_why_says_what() -> None:
    """Job 36 is held by a user, 38 by another job, 39 by a time that has not come."""
    reading = recorded()
    held = {"36": "it is held (hqw)", "38": "it is held (hqw)", "39": "its start time has not come"}
    held |= {name: why for why, names in reading.left_out.items() for name in names}
    rows = reading.snapshot.to_dict()
    found = {row["name"]: row["settings"].get("waits_for") for row in rows["operations"]}
    assert {name: why for name, why in found.items() if why} == held
    assert not set(held) & {row["operation"] for row in rows["requests"]}
    plan = eh.plan(reading.snapshot, reading.policy())
    for name, why in held.items():
        assert f"neither starts it nor preempts for it: {why}." in plan.why(name).text


def test_an_error_state_is_what_a_job_waits_for() -> None:
    rows = small(qstat(job("Eqw", queue=""), section="job_info"))
    assert [row["settings"]["waits_for"] for row in rows["operations"]] == ["it is in an error state (Eqw)"]
    assert not rows.get("requests")


def test_what_the_host_has(rows: dict[str, Any]) -> None:
    assert rows["nodes"]["vm"]["capacity"] == {
        "mem": 8 * 1024**3,
        "perjob": 5,
        "slots": 8,
        "slots@high.q": 4,
        "slots@low.q": 4,
    }


def test_a_plan_of_what_was_read() -> None:
    reading = recorded()
    policy = reading.policy(max_preemptees=10, automatic_preemption=True, preemption_action="R")
    assert policy.settings.queues["low.q"].rerun
    plan = eh.plan(reading.snapshot, policy)
    assert plan.snapshot.now == NOW


def test_without_details_it_is_said_what_is_assumed() -> None:
    reading = recorded(details=None)
    assert "gridengine_assumed" in {one.code for one in reading.diagnostics}
    assert not any(row.get("reserve") for row in reading.snapshot.to_dict()["requests"])


# Letters, one by one


def qstat(*jobs: str, section: str = "queue_info") -> str:
    return f"<job_info><{section}>{''.join(jobs)}</{section}></job_info>"


def job(state: str, number: int = 1, queue: str = "all.q@h", **more: object) -> str:
    tags = {
        "JB_job_number": number,
        "JAT_prio": "0.5",
        "state": state,
        "JAT_start_time": 100,
        "queue_name": queue,
        "slots": 1,
    }
    parts = "".join(f"<{tag}>{value}</{tag}>" for tag, value in {**tags, **more}.items())
    return f"<job_list>{parts}</job_list>"


def small(text: str, **more: Any) -> dict[str, Any]:
    options = {"hosts": "hostname h", "queues": "qname all.q\nslots 4\nrerun TRUE", "now": 200.0, **more}
    return gridengine.read("slots s INT <= YES YES 1 1000", jobs=text, **options).snapshot.to_dict()


@pytest.mark.parametrize(
    ("letters", "state"),
    [
        ("r", "running"),
        ("hr", "running"),
        ("t", "running"),
        ("Rr", "running"),
        ("s", "suspended"),
        ("S", "preempted"),
        ("hS", "preempted"),
        ("Ss", "suspended"),
        ("TS", "suspended"),
        ("dS", "preempting"),
        ("T", "suspended"),
        ("Ts", "suspended"),
        ("dr", "preempting"),
        ("dRr", "preempting"),
        ("ds", "preempting"),
    ],
)
def test_letters_of_what_holds_room(letters: str, state: str) -> None:
    (row,) = small(qstat(job(letters)))["allocations"]
    assert row.get("state", "running") == state
    assert row.get("held") == (row["resources"] if state == "preempted" else None)


def test_what_stops_by_itself_is_suspended() -> None:
    (row,) = small(qstat(job("S")), subordination=False)["allocations"]
    assert row["state"] == "suspended"
    assert "held" not in row


@pytest.mark.parametrize(
    ("letters", "asks"),
    [("qw", True), ("Rq", True), ("hqw", False), ("hRq", False), ("Eqw", False), ("dqw", False)],
)
def test_letters_of_what_waits(letters: str, asks: bool) -> None:
    data = small(qstat(job(letters, queue=""), section="job_info"))
    assert bool(data.get("requests")) is asks


@pytest.mark.parametrize(("now", "may"), [(101.9, False), (102.0, True), (102.1, True)])
def test_what_started_a_moment_ago_is_no_victim(now: float, may: bool) -> None:
    """Of a job that went back within the second of its start, that would not show."""
    (row,) = small(qstat(job("r")), now=now)["allocations"]
    assert row.get("preemptible", True) is may


def test_a_master_that_takes_no_slot() -> None:
    """With job_is_first_task FALSE the master has a row of its own beside those of the slots."""
    rows = [job("r", master="MASTER", granted_pe=2), *[job("r", master="SLAVE", granted_pe=2)] * 2]
    (task,) = read_tasks(qstat(*rows))
    assert (task.slots, task.parts) == (2, {"all.q@h": 2})


@pytest.mark.parametrize(
    ("said", "tasks"), [("3", ["1.3"]), ("1-5:2", ["1.1", "1.3", "1.5"]), ("2,4-5:1", ["1.2", "1.4", "1.5"])]
)
def test_tasks_of_arrays(said: str, tasks: list[str]) -> None:
    text = qstat(job("qw", queue="", tasks=said), section="job_info")
    assert [task.key for task in read_tasks(text)] == tasks


@pytest.mark.parametrize("said", ["x", "5-1", "1-9:0", "1-99999999", "1-2:1-3"])
def test_tasks_that_are_none(said: str) -> None:
    with pytest.raises(eh.InputError, match="tasks of job 1"):
        read_tasks(qstat(job("qw", queue="", tasks=said), section="job_info"))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"state": "r1"}, "state of job 1 is r1; it must be made of the letters"),
        ({"state": "r\N{LATIN SMALL LETTER E WITH ACUTE}"}, "it must be made of the letters"),
        ({"state": ""}, "state of job 1 is missing"),
        ({"JAT_prio": "high"}, "JAT_prio of job 1 is high; it must be a number"),
        ({"JB_job_number": "x"}, "JB_job_number of job x is x; it must be a whole number"),
        ({"slots": "-1"}, "slots of job 1 is -1"),
        ({"queue_name": "all.q"}, "queue_name of job 1 is all.q; it must be queue@host"),
        ({"JAT_start_time": "yesterday"}, "JAT_start_time of job 1 is yesterday; it must be a time"),
    ],
)
def test_jobs_that_are_none(more: dict[str, str], said: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        read_tasks(qstat(job(more.pop("state", "r"), **more)))
    assert any(said in problem.message for problem in caught.value.problems)


# Hostile texts

BOMB = '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;&b;&b;">]><job_info>&c;&c;</job_info>'
OUTSIDE = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><job_info>&b;</job_info>'


@pytest.mark.parametrize("reader", [read_tasks, read_details, read_machines])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "declares a document type or entities"),
        (OUTSIDE, "declares a document type or entities"),
        ("", "no well-formed XML"),
        ("<job_info><queue_info>", "cut off"),
        ("<job_info></queue_info>", "no well-formed XML"),
        ("<job_info>&undefined;</job_info>", "no well-formed XML"),
        ("error: commlib error", "no well-formed XML"),
        ("<html></html>", "this is <html>, not <"),
        ("<a>" * 10_000, "nested more than 32 deep"),
    ],
)
def test_hostile_xml(reader: Any, text: str, said: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        reader(text)
    (problem,) = caught.value.problems
    assert said in problem.message


def test_characters_that_xml_forbids() -> None:
    """A user's environment may have them, and qstat writes them as they are."""
    text = (RECORDED / "details.xml").read_text().replace("<JB_owner>root", "<JB_owner>ro\x01\x1bot", 1)
    assert read_details(text).keys() == read_details((RECORDED / "details.xml").read_text()).keys()


@pytest.mark.parametrize("name", ["jobs", "details", "machines"])
def test_every_text_that_is_cut_off_is_one_error(name: str) -> None:
    whole = (RECORDED / f"{name}.xml").read_text()
    for part in range(0, 100, 7):
        with pytest.raises(eh.InputError):
            recorded(**{name: whole[: len(whole) * part // 100]})
