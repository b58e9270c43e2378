"""What newer and restarted Grid Engines write: more columns, RSMAP, switches, tasks named by number."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.adapters import gridengine
from evenhand.systems.gridengine.text.config import read_complexes, read_hosts, read_scheduler
from evenhand.systems.gridengine.text.jobs import read_details
from evenhand.systems.gridengine.text.parts import part_of
from tests.unit.gridengine.test_text_dialects import COMPLEXES, detail, job, qstat, read, tables

GPU = f"{COMPLEXES}\ngpu gpu RSMAP <= YES HOST NONE 0 YES 0"
GPU_HOSTS = "hostname h1\ncomplex_values gpu=4(0-3),mem=4G\nhostname h2\ncomplex_values gpu=2(0 1)\n"


# Complexes


@pytest.mark.parametrize("more", ["", " NO", " NO 0.000000", " NO 0.000000 YES NO"])
def test_complexes_of_all_widths(more: str) -> None:
    found = read_complexes(f"license lic INT <= YES YES 0 0{more}")["license"]
    assert found.aapre == (False if more else None)
    assert found.consumable == "YES"


@pytest.mark.parametrize("cells", [7, 11, 13])
def test_other_widths_are_none(cells: int) -> None:
    words = ["license", "lic", "INT", "<=", *["YES"] * 9][:cells]
    with pytest.raises(eh.InputError, match=rf"8 columns, 9 with aapre, .*; here are {cells}"):
        read_complexes(" ".join(words))


def test_a_head_line_of_twelve_columns_is_a_comment() -> None:
    head = (
        "#name shortcut type relop requestable consumable default urgency aapre affinity do_report is_static"
    )
    assert part_of(head) == "complexes"
    assert list(read_complexes(f"{head}\nslots s INT <= YES YES 1 1000 YES 0.000000 YES NO")) == ["slots"]


# Maps of resources


@pytest.mark.parametrize(("said", "amount"), [("4", 4), ("4(0-3)", 4), ("2(0 1)", 2), ("2(a,b)", 2)])
def test_of_a_map_it_counts_how_many_there_are(said: str, amount: int) -> None:
    values = read_hosts(f"hostname h1\ncomplex_values gpu={said},mem=4G")["h1"].complex_values
    assert values == {"gpu": said, "mem": "4G"}
    hosts = f"hostname h1\ncomplex_values gpu={said},mem=4G\n"
    nodes = tables(gridengine.read(GPU, hosts=hosts, queues="qname all.q\nslots 8"))["nodes"]
    assert nodes["h1"]["capacity"]["gpu"] == amount


def asking(gpus: str) -> gridengine.Reading:
    requests = f'<hard_request name="gpu">{gpus}</hard_request><full_job_name>w</full_job_name>'
    text = qstat(waiting=job(80, "qw").replace("</job_list>", f"{requests}</job_list>"))
    return gridengine.read(
        GPU, hosts=GPU_HOSTS, queues="qname all.q\nslots 8", jobs=text, now=200.0, utc=True
    )


@pytest.mark.parametrize(("gpus", "fits"), [("3", True), ("4", True), ("5", False)])
def test_a_job_may_ask_for_as_many_as_a_host_has(gpus: str, fits: bool) -> None:
    reading = asking(gpus)
    if fits:
        assert tables(reading)["requests"]["80"]["resources"] == {"slots": 1, "gpu": int(gpus)}
    else:
        assert dict(reading.left_out) == {"more than there is": ("80",)}


def test_a_job_that_asks_for_certain_ones_is_left_out_by_name() -> None:
    assert dict(asking("1(3)").left_out) == {"certain ones of gpu": ("80",)}


def test_a_map_that_is_none_is_named() -> None:
    with pytest.raises(eh.InputError, match=r"gpu of h1 is many\(0\); it must be a number"):
        gridengine.read(GPU, hosts="hostname h1\ncomplex_values gpu=many(0)")


# The scheduler


@pytest.mark.parametrize(("said", "on"), [("OFF", False), ("off", False), ("0", False), ("ON", True)])
@pytest.mark.parametrize("form", ["backfilling {}", "params BACKFILLING={},PROFILE=1"])
def test_backfilling_is_read(form: str, said: str, on: bool) -> None:
    text = f"algorithm default\n{form.format(said)}\n"
    assert read_scheduler(text)["backfilling"] is on
    reading = gridengine.read("slots s INT <= YES YES 1 1000", scheduler=text, hosts="hostname h1")
    assert reading.policy().settings.backfilling is on


def test_a_switch_that_is_none_is_named() -> None:
    with pytest.raises(eh.InputError, match="backfilling is MAYBE; it must be YES or NO"):
        read_scheduler("algorithm default\nbackfilling MAYBE\n")


# Tasks of qstat -j


def tasks(*numbers: int, tag: str = "ulong_sublist", more: str = "") -> str:
    return "".join(
        f"<{tag}><JAT_status>128</JAT_status><JAT_task_number>{n}</JAT_task_number>"
        f"<JAT_start_time>{100 + n}</JAT_start_time>{more}</{tag}>"
        for n in numbers
    )


@pytest.mark.parametrize("tag", ["ulong_sublist", "element", "JATASK:     366.", "JATASK:\t3.", "JATASK:"])
def test_tasks_are_read_whatever_they_are_called(tag: str) -> None:
    """A restarted qmaster calls them so: it is no well-formed XML."""
    found = read_details(detail(366, JB_ja_tasks=tasks(1, 2, tag=tag)))["366"]
    assert found.starts == {"1": 101.0, "2": 102.0}


def test_what_is_like_a_tag_and_none_is_refused() -> None:
    with pytest.raises(eh.InputError, match="no well-formed XML"):
        read_details(detail(366, JB_ja_tasks=tasks(1, tag="JBTASK:     366.")))


@pytest.mark.parametrize(
    "text",
    ["<unknown_jobs/>", "<?xml version='1.0'?>\n<unknown_jobs xmlns='x'>\n <>\n  </>\n</unknown_jobs>"],
)
def test_where_there_is_no_job_tags_may_have_no_names(text: str) -> None:
    assert read_details(text) == {}


# Where slots are


def granted(**slots: int) -> str:
    rows = "".join(
        f"<element><JG_qname>all.q@{host}</JG_qname><JG_qhostname>{host}</JG_qhostname>"
        f"<JG_slots>{count}</JG_slots></element>"
        for host, count in slots.items()
    )
    return f"<JAT_granted_destin_identifier_list>{rows}</JAT_granted_destin_identifier_list>"


def placed(number: int, slots: int, *, tag: str = "element", more: str, **row: Any) -> dict[str, Any]:
    """Allocations of a parallel job that qstat has without -g t, by what qstat -j says."""
    text = qstat(job(number, slots=slots, **row))
    reading = read(text, details=detail(number, JB_pe="mpi", JB_ja_tasks=tasks(1, tag=tag, more=more)))
    return {name: one["resources"] for name, one in tables(reading)["allocations"].items()}


@pytest.mark.parametrize("tag", ["element", "ulong_sublist", "JATASK:     77."])
def test_details_say_where_slots_are(tag: str) -> None:
    found = placed(77, 12, tag=tag, more=granted(h1=8, h2=4))
    assert found == {"77@h1": {"slots": 8, "pe:mpi": 8}, "77@h2": {"slots": 4, "pe:mpi": 4}}


@pytest.mark.parametrize("more", [granted(h1=8, h2=3), granted(h1=8, h2=5), granted(), ""])
def test_details_that_have_other_slots_do_not_count(more: str) -> None:
    with pytest.raises(eh.InputError, match=r"12 slots of job 77 are is not in the text: add -g t \(qstat"):
        placed(77, 12, more=more)


def test_a_host_without_a_queue_is_no_place() -> None:
    bare = granted(h1=12).replace("<JG_qname>all.q@h1</JG_qname>", "")
    with pytest.raises(eh.InputError, match="add -g t"):
        placed(77, 12, more=bare)


def test_rows_of_each_slot_count_where_they_are_given() -> None:
    found = placed(77, 2, master="MASTER", more=granted(h2=2))
    assert found == {"77@h1": {"slots": 2, "pe:mpi": 2}}


# The queue of a job that waits


def with_list(said: str) -> eh.Plan:
    """A job runs in low.q; another one waits for high.q, which has such a list."""
    queues = f"qname low.q\nslots 4\nqname high.q\nslots 4\nsubordinate_list {said}\n"
    text = qstat(
        job(1, queue_name="low.q@h1"),
        job(2, "qw").replace("</job_list>", '<hard_request name="qname">high.q</hard_request></job_list>'),
    )
    complexes = f"{COMPLEXES}\nqname q RESTRING == YES NO NONE 0"
    reading = gridengine.read(complexes, queues=queues, hosts="hostname h1\n", jobs=text, now=200.0, utc=True)
    rows = {row["name"]: row for row in reading.snapshot.to_dict()["operations"]}
    assert {name: row["pool"] for name, row in rows.items()} == {"1": "low.q", "2": "high.q"}
    return eh.plan(reading.snapshot, reading.policy())


@pytest.mark.parametrize(("said", "stops"), [("slots=1(low.q)", ["1"]), ("slots=2(low.q)", [])])
def test_a_plan_names_whom_its_own_starts_will_stop(said: str, stops: list[str]) -> None:
    plan = with_list(said)
    assert [d.operation for d in plan.decisions.starts] == ["2"]
    assert [d.operation for d in plan.decisions.victims] == stops
    assert {d.reason for d in plan.decisions.victims} <= {"subordinate_threshold"}


@pytest.mark.parametrize(("said", "stops"), [("low.q=1", ["1"]), ("low.q=2", []), ("low.q", [])])
def test_queue_wise_likewise(said: str, stops: list[str]) -> None:
    plan = with_list(said)
    assert [d.operation for d in plan.decisions.starts] == ["2"]
    assert [d.operation for d in plan.decisions.victims] == stops
    assert {d.reason for d in plan.decisions.victims} <= {"queue_suspended"}
