"""Texts of Grid Engine's commands, drawn: read back as they were written, and one error at most."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.adapters import gridengine
from evenhand.errors import Problem
from evenhand.systems.gridengine.text.config import read_complexes, read_queues, read_scheduler
from evenhand.systems.gridengine.text.jobs import read_details, read_tasks
from evenhand.systems.gridengine.text.machines import read_machines
from evenhand.systems.gridengine.text.values import memory, seconds
from tests.shared import DATA

RECORDED = DATA / "gridengine"
READERS: dict[str, Any] = {
    "complexes.txt": read_complexes,
    "queues.txt": read_queues,
    "scheduler.txt": read_scheduler,
    "jobs.xml": read_tasks,
    "details.xml": read_details,
    "machines.xml": read_machines,
}


@functools.cache
def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


def problems_of(name: str, text: str) -> Sequence[Problem]:
    """Return what is wrong with a text; whatever else is raised fails the test."""
    try:
        READERS[name](text)
    except eh.InputError as error:
        return error.problems
    return ()


@given(st.integers(0, 2**40), st.sampled_from("kKmMgGtT"))
def test_memory_is_read_back(number: int, unit: str) -> None:
    base = 1000 if unit.islower() else 1024
    expected = number * base ** ("kmgt".index(unit.lower()) + 1)
    try:
        assert memory(f"{number}{unit}") == expected
    except ValueError:
        assert expected > 2**62


@given(st.integers(0, 10**6), st.integers(0, 59), st.integers(0, 59))
def test_times_are_read_back(hours: int, minutes: int, rest: int) -> None:
    whole = hours * 3600 + minutes * 60 + rest
    assert seconds(f"{hours}:{minutes:02d}:{rest:02d}") == seconds(str(whole)) == whole


@given(st.sampled_from(sorted(READERS)), st.data())
def test_a_spoilt_text_is_read_or_one_error(name: str, data: st.DataObject) -> None:
    text = recorded(name)
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(begin + 200, len(text))))
    spoilt = text[:begin] + data.draw(st.text(max_size=20)) + text[end:]
    problems = problems_of(name, spoilt)
    assert all(problem.message.isprintable() for problem in problems)


@given(st.sampled_from(sorted(READERS)), st.text(max_size=200))
def test_any_text_is_read_or_one_error(name: str, text: str) -> None:
    problems = problems_of(name, text)
    if name.endswith(".xml"):
        assert len(problems) == 1, "none of these is XML of Grid Engine"


STATES = {"r": "running", "s": "suspended", "dr": "preempting", "qw": "waits", "hqw": "held"}


@given(st.lists(st.tuples(st.sampled_from(sorted(STATES)), st.integers(1, 4)), max_size=12))
def test_every_job_is_somewhere(drawn: list[tuple[str, int]]) -> None:
    """What holds room holds as many slots as are shown; what waits is a request or said to be left out."""
    runs, waits = [], []
    for number, (state, slots) in enumerate(drawn, 1):
        place = "" if "q" in state else "all.q@h"
        row = (
            f"<job_list><JB_job_number>{number}</JB_job_number><JAT_prio>0.5</JAT_prio><state>{state}</state>"
            f"<JAT_start_time>100</JAT_start_time><queue_name>{place}</queue_name><slots>{slots}</slots>"
            f'<requested_pe name="p">{slots}</requested_pe></job_list>'
        )
        (waits if "q" in state else runs).append(row)
    text = (
        f"<job_info><queue_info>{''.join(runs)}</queue_info><job_info>{''.join(waits)}</job_info></job_info>"
    )
    reading = gridengine.read(
        "slots s INT <= YES YES 1 1000",
        hosts="hostname h",
        queues="qname all.q\nslots 3\npe_list p",
        parallel="pe_name p\nslots 100\nallocation_rule $pe_slots",
        jobs=text,
        now=200.0,
    )
    data = reading.snapshot.to_dict()
    held = {row["operation"]: row for row in data.get("allocations", ())}
    asks = {row["operation"]: row for row in data.get("requests", ())}
    left = {name for names in reading.left_out.values() for name in names}
    for number, (state, slots) in enumerate(drawn, 1):
        name = str(number)
        if STATES[state] == "waits":
            assert (name in asks, name in left) == (slots <= 3, slots > 3)
        elif STATES[state] == "held":
            assert name not in asks
            assert name not in left
        else:
            assert held[name]["resources"]["slots"] == slots
            assert held[name].get("state", "running") == STATES[state]
