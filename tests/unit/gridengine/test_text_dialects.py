"""What other Grid Engines write, and what people have saved: fewer options, other times, lists of queues."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters import gridengine
from evenhand.systems.gridengine.text.config import read_queues
from evenhand.systems.gridengine.text.jobs import read_details, read_jobs, read_tasks

COMPLEXES = "slots s INT <= YES YES 1 1000\nmem m MEMORY <= YES YES 0 0"
HOSTS = "hostname h1\ncomplex_values mem=4G\nhostname h2\ncomplex_values mem=4G\n"
QUEUE = "qname all.q\nslots 8,[h2=4]\nqtype BATCH INTERACTIVE\npe_list mpi smp\nrerun TRUE\n"
FILL = "pe_name mpi\nslots 99\nallocation_rule $fill_up\n"
ONE_HOST = "pe_name smp\nslots 99\nallocation_rule $pe_slots\n"


def job(number: int, state: str = "r", **more: object) -> str:
    tags = {
        "JB_job_number": number,
        "JAT_prio": "0.5",
        "JB_name": "work",
        "JB_owner": "ada",
        "state": state,
        "JAT_start_time": 100,
        "queue_name": "" if "q" in state else "all.q@h1",
        "slots": 1,
    }
    given = {tag: value for tag, value in {**tags, **more}.items() if value is not None}
    parts = "".join(f"<{tag}>{value}</{tag}>" for tag, value in given.items())
    return f"<job_list>{parts}</job_list>"


def qstat(running: str = "", waiting: str = "") -> str:
    return f"<job_info><queue_info>{running}</queue_info><job_info>{waiting}</job_info></job_info>"


def listed(name: str, slots: object, state: str, *jobs: str) -> str:
    """An entry of qstat -f."""
    of_queue = f"<name>{name}</name><slots_total>{slots}</slots_total><state>{state}</state>"
    return f"<Queue-List>{of_queue}{''.join(jobs)}</Queue-List>"


def detail(number: int, **more: object) -> str:
    tags = {"JB_job_number": number, "JB_ar": 0, "JB_submission_time": 90, "JB_owner": "ada", **more}
    parts = "".join(f"<{tag}>{value}</{tag}>" for tag, value in tags.items())
    return f"<detailed_job_info><djob_info><element>{parts}</element></djob_info></detailed_job_info>"


def read(jobs: str | None, **more: Any) -> gridengine.Reading:
    options = {"hosts": HOSTS, "queues": QUEUE, "parallel": FILL, "now": 200.0, "utc": True, **more}
    return gridengine.read(COMPLEXES, jobs=jobs, **options)


def tables(reading: gridengine.Reading) -> dict[str, dict[str, Any]]:
    data = reading.snapshot.to_dict()
    return {t: {r["name"]: r for r in data.get(t, [])} for t in ("nodes", "allocations", "requests")}


# Where slots are


def test_a_job_of_several_slots_in_one_row_is_somewhere() -> None:
    """Without -g t the row has all slots, and the queue instance of the master alone."""
    text = qstat(job(71) + job(77, slots=12))
    with pytest.raises(eh.InputError, match=r"12 slots of job 77 are .*: add -g t \(qstat -xml -u '\*' -r"):
        read(text)


@pytest.mark.parametrize("slots", [1, 2])
def test_one_slot_is_where_its_row_says(slots: int) -> None:
    text = qstat(job(77, slots=slots))
    if slots == 1:
        assert tables(read(text))["allocations"]["77@h1"]["resources"] == {"slots": 1}
    else:
        with pytest.raises(eh.InputError, match="add -g t"):
            read(text)


@pytest.mark.parametrize(("each", "read_"), [("3", False), ("4", True), ("5", True)])
def test_an_environment_that_keeps_a_job_on_one_host_says_where_it_is(each: str, read_: bool) -> None:
    text = qstat(job(77, slots=4))
    parallel = f"pe_name mpi\nslots 99\nallocation_rule {each}\n"
    if read_:
        assert tables(read(text, parallel=parallel))["allocations"]["77@h1"]["resources"]["slots"] == 4
    else:
        with pytest.raises(eh.InputError, match="4 slots of job 77"):
            read(text, parallel=parallel)
    parallel = ONE_HOST
    assert tables(read(text, parallel=parallel))["allocations"]["77@h1"]["resources"]["slots"] == 4


def test_on_the_only_host_is_where_all_slots_are() -> None:
    rows = tables(read(qstat(job(77, slots=4)), hosts="hostname h1\n"))
    assert rows["allocations"]["77@h1"]["resources"] == {"slots": 4, "pe:mpi": 4}


def test_rows_of_each_slot_need_no_more() -> None:
    text = qstat(
        job(77, slots=1, master="MASTER")
        + job(77, slots=1, master="SLAVE")
        + job(77, queue_name="all.q@h2", master="SLAVE", slots=2)
    )
    rows = tables(read(text))["allocations"]
    assert {name: row["resources"]["slots"] for name, row in rows.items()} == {"77@h1": 2, "77@h2": 2}


# Which environment


def test_the_only_environment_is_that_of_jobs_of_several_slots() -> None:
    reading = read(qstat(waiting=job(79, "qw", slots=4) + job(80, "qw", slots=1)))
    asks = tables(reading)["requests"]
    assert asks["79"]["resources"] == {"slots": 1, "pe:mpi": 1}
    assert asks["79"]["count"] == 4
    assert asks["80"]["resources"] == {"slots": 1}
    (said,) = [d for d in reading.diagnostics if "the only parallel environment" in d.message]
    assert said.elements == ("79",)


def test_of_several_environments_none_is_guessed() -> None:
    reading = read(qstat(waiting=job(79, "qw", slots=2) + job(80, "qw")), parallel=FILL + ONE_HOST)
    assert list(tables(reading)["requests"]) == ["80"]
    assert dict(reading.left_out) == {"slots of a parallel environment that is not in the texts": ("79",)}


def test_details_say_the_environment_and_what_is_asked_for() -> None:
    """Without -r requests and environments stand in qstat -j alone."""
    more = {
        "JB_pe": "smp",
        "JB_pe_range": "<ranges><RN_min>2</RN_min><RN_max>2</RN_max><RN_step>1</RN_step></ranges>",
        "JB_hard_resource_list": "<qstat_l_requests><CE_name>mem</CE_name><CE_stringval>1G</CE_stringval>"
        "</qstat_l_requests>",
    }
    reading = read(
        qstat(waiting=job(79, "qw", slots=2)), parallel=FILL + ONE_HOST, details=detail(79, **more)
    )
    (row,) = tables(reading)["requests"].values()
    assert row["resources"] == {"slots": 2, "pe:smp": 2, "mem": 2 * 1024**3}
    assert not reading.diagnostics


def test_without_requests_it_is_said_what_is_assumed() -> None:
    def said(reading: gridengine.Reading) -> bool:
        return any("Without -r of qstat" in d.message for d in reading.diagnostics)

    assert said(read(qstat(job(1))))
    assert not said(read(qstat(job(1, full_job_name="work"))))
    assert not said(read(qstat(job(1)), details=detail(1)))


# Times


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("1719575983", 1719575983.0),
        ("99999999999", 99999999999.0),
        ("100000000000", 100000000.0),  # 1973 in milliseconds; in seconds the year 5138
        ("1719575983834", 1719575983.834),
        ("99999999999999", 99999999999.999),
        ("100000000000000", 100000000.0),
        ("1719575983834192", 1719575983.834192),
        ("2024-06-28T11:59:43", 1719575983.0),
        ("2024-06-28T11:59:43.834", 1719575983.834),
        ("2024-06-28T11:59:43.834192", 1719575983.834192),
        ("2024-06-28T13:59:43+02:00", 1719575983.0),
        ("2024-06-28T11:59:43Z", 1719575983.0),
    ],
)
def test_times_of_every_grid_engine(said: str, seconds: float) -> None:
    """Seconds, Altair's milliseconds and Open Cluster Scheduler's microseconds, as numbers or dates."""
    (task,) = read_tasks(qstat(job(1, JAT_start_time=said)), utc=True)
    assert task.since == seconds
    (one,) = read_details(detail(1, JB_submission_time=said)).values() if said.isdecimal() else [task]
    assert getattr(one, "submitted", seconds) == seconds


@pytest.mark.parametrize("said", ["1" * 18, "1" * 5000, "-5", "1e9", "tomorrow"])
def test_what_is_no_time(said: str) -> None:
    with pytest.raises(eh.InputError, match="must be a time"):
        read_tasks(qstat(job(1, JAT_start_time=said)))


NOON = datetime(2011, 11, 23, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "now",
    [
        NOON,
        NOON.astimezone(timezone(timedelta(hours=5))),
        NOON.timestamp(),
        int(NOON.timestamp()),
        "2011-11-23T12:00:00Z",
    ],
)
def test_now_in_any_form(now: Any) -> None:
    assert read(None, now=now).snapshot.now == NOON.timestamp()


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (NOON.replace(tzinfo=None), "now .*time zone"),
        ("noon", "now is"),
        (float("nan"), "now is nan; it must be finite"),
        (float("inf"), "now is inf"),
        (True, "now is a flag"),
        ([1], "now is a list"),
    ],
)
def test_what_is_no_instant(now: Any, said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        read(None, now=now)


# qstat -f


def test_jobs_in_a_list_of_queue_instances() -> None:
    text = qstat(
        listed("all.q@h1", 8, "", job(100, queue_name=None, slots=2))
        + listed(
            "all.q@h2",
            4,
            "d",
            job(100, queue_name=None, slots=2),
            job(101, "s", queue_name=None),
        ),
        job(300, "qw", tasks="1-2:1") + job(202, "Eqw") + job(301, "f", queue_name=None),
    )
    rows = tables(read(text))
    assert {n: r["capacity"]["slots"] for n, r in rows["nodes"].items()} == {"h1": 8, "h2": 4}
    assert [n for n, r in rows["nodes"].items() if r.get("schedulable", True)] == ["h1"]
    assert {n: r["resources"]["slots"] for n, r in rows["allocations"].items()} == {
        "100@h1": 2,
        "100@h2": 2,
        "101@h2": 1,
    }
    assert rows["allocations"]["101@h2"]["state"] == "suspended"
    assert sorted(rows["requests"]) == ["300.1", "300.2"]


def qhost(*instances: str) -> str:
    """Hosts that have queue=slots."""
    found = []
    for instance in instances:
        host, _, queues = instance.partition(":")
        rows = ""
        for part in queues.split(","):
            queue, _, slots = part.partition("=")
            of_queue = f"<queuevalue qname='{queue}' name='slots'>{slots}</queuevalue>"
            rows += f"<queue name='{queue}'>{of_queue}</queue>"
        found.append(f"<host name='{host}'>{rows}</host>")
    return f"<qhost>{''.join(found)}</qhost>"


def test_a_list_counts_where_it_differs_from_qhost() -> None:
    machines = qhost("h1:all.q=8,gpu.q=2", "h2:all.q=8")
    text = qstat(listed("all.q@h1", 8, "") + listed("all.q@h2", 4, "au"))
    reading = read(text, machines=machines)
    rows = tables(reading)["nodes"]
    assert rows["h1"]["capacity"] == {"mem": 4 * 1024**3, "slots": 10, "slots@all.q": 8, "slots@gpu.q": 2}
    assert rows["h2"]["capacity"]["slots"] == 4
    assert rows["h2"]["schedulable"] is False
    (said,) = [d for d in reading.diagnostics if "differ" in d.message]
    assert said.elements == ("all.q@h2",)
    same = read(qstat(listed("all.q@h2", 8, "")), machines=machines)
    assert not [d for d in same.diagnostics if "differ" in d.message]


def test_without_qhost_a_list_has_all_queues_of_its_hosts() -> None:
    queues = QUEUE + "qname gpu.q\nslots 2\n"
    rows = tables(read(qstat(listed("gpu.q@h1", 1, "")), queues=queues))["nodes"]
    assert rows["h1"]["capacity"]["slots"] == 1
    assert rows["h2"]["capacity"]["slots"] == 6


@pytest.mark.parametrize(
    ("name", "slots", "state", "said"),
    [
        ("all.q", 1, "", "name of a queue instance is all.q; it must be queue@host"),
        ("", 1, "", "name of a queue instance is missing"),
        ("all.q@h1", "", "", "slots_total of all.q@h1 is missing"),
        ("all.q@h1", -1, "", "slots_total of all.q@h1 is -1; it must be a whole number"),
        ("all.q@h1", 1, "-", "state of all.q@h1 is -; it must be made of letters"),
    ],
)
def test_instances_that_are_none(name: str, slots: object, state: str, said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        read_jobs(qstat(listed(name, slots, state)))


# States


def test_what_has_ended_is_nothing() -> None:
    text = qstat(job(1), job(2, "f", queue_name=None) + job(3, "z"))
    assert [task.key for task in read_tasks(text)] == ["1"]


def test_an_unknown_letter_concerns_its_job_alone() -> None:
    reading = read(qstat(job(1, "rX") + job(2), job(3, "qXw") + job(4, "qw")))
    rows = tables(reading)
    assert rows["allocations"]["1@h1"]["resources"] == {"slots": 1}
    assert rows["allocations"]["1@h1"]["preemptible"] is False
    assert rows["allocations"]["2@h1"].get("preemptible", True)
    assert list(rows["requests"]) == ["4"]
    assert dict(reading.left_out) == {"what the letter X of its state is": ("3",)}
    (said,) = [d for d in reading.diagnostics if "unknown letter of their state (X)" in d.message]
    assert said.elements == ("1",)


# Slots of single hosts


@pytest.mark.parametrize(
    "slots",
    ["8,[h2=4]", "8,[h1=8],\\\n   [h2=4]", "8,[h1=8], \\\n   [h2=4]", "8, [h2=4]", "8,[h2=4],[@big=16]"],
)
def test_slots_of_single_hosts_count_where_qhost_does_not_say(slots: str) -> None:
    reading = read(None, queues=QUEUE.replace("8,[h2=4]", slots))
    nodes = tables(reading)["nodes"]
    assert {name: row["capacity"]["slots"] for name, row in nodes.items()} == {"h1": 8, "h2": 4}
    said = [d for d in reading.diagnostics if "for groups" in d.message]
    assert [d.elements for d in said] == ([("@big",)] if "@big" in slots else [])
    machines = qhost("h1:all.q=8", "h2:all.q=6")
    nodes = tables(read(None, machines=machines))["nodes"]
    assert nodes["h2"]["capacity"]["slots"] == 6


def test_slots_of_single_hosts_are_numbers() -> None:
    with pytest.raises(eh.InputError, match="slots of a at h1 is many; it must be a whole number"):
        read_queues("qname a\nslots 1,[h1=many]\n")


# No XML


def test_plain_text_is_named() -> None:
    with pytest.raises(eh.InputError, match="it begins with job-ID: is it the text of qstat -xml"):
        read_tasks("job-ID  prior   name       user         state\n------\n 1 0.5 x ada r\n")


@pytest.mark.parametrize("rule", ["0", "$slots"])
def test_an_unknown_allocation_rule_concerns_its_jobs_alone(rule: str) -> None:
    parallel = FILL + f"pe_name odd\nslots 9\nallocation_rule {rule}\n"

    def waiting(number: int, environment: str) -> str:
        asked = f'<requested_pe name="{environment}">2</requested_pe>'
        return job(number, "qw", slots=2).replace("</job_list>", asked + "</job_list>")

    reading = read(qstat(waiting=waiting(79, "odd") + waiting(80, "mpi")), parallel=parallel)
    assert list(tables(reading)["requests"]) == ["80"]
    assert dict(reading.left_out) == {
        f"a parallel environment of the unknown allocation_rule {rule}": ("79",)
    }
    text = qstat(job(77, slots=2, granted_pe=2).replace("<granted_pe>", '<granted_pe name="odd">'))
    with pytest.raises(eh.InputError, match="2 slots of job 77"):
        read(text, parallel=parallel)
