"""Queues that slurmctld served otherwise than plans do, by rules that the page on Slurm leaves out."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from tests.conformance.slurm.passes import TASK, Event, Passes, engine_plan

FILE = Path(__file__).parents[2] / "data" / "slurm-left-out.json.gz"
CASES: list[dict[str, Any]] = json.loads(gzip.decompress(FILE.read_bytes()))
RANGE, *ARRAYS = CASES


def outcome(case: Mapping[str, Any], planner: Any) -> tuple[set[int], set[int]]:
    """Return which waiting jobs run in the end and which running ones were preempted, by their places."""
    world = Passes(json.loads(json.dumps(case["snapshot"])), case["settings"], planner)
    world.follow([Event(*event) for event in case["events"]])
    running, victims = world.running(), world.preempted
    return (
        {place for place, name in enumerate(case["waiting"]) if name in running},
        {place for place, name in enumerate(case["running"]) if name in victims},
    )


def seen(case: Mapping[str, Any]) -> tuple[set[int], set[int]]:
    return set(case["started"]), set(case["preempted"])


def heads(requests: list[dict[str, Any]], begun: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Give of each array that waits the tasks that began in this pass, and the next one."""
    given: Counter[str] = Counter()
    for row in requests:
        task = TASK.fullmatch(row["operation"])
        if task is None or given[task[1]] <= begun.get(task[1], 0):
            yield row
        if task is not None:
            given[task[1]] += 1


def arrays_of(jobs: Iterable[str]) -> Counter[str]:
    """Count tasks by their arrays."""
    return Counter(task[1] for task in map(TASK.fullmatch, jobs) if task is not None)


def without_back_off(state: Any, arrays: Collection[str]) -> Any:
    """Forget when others left for tasks of some arrays."""
    if state is None or not arrays:
        return state
    rows = state.to_dict()
    kept = [row for row in rows.get("operations", ()) if not arrays_of([row["name"]]).keys() & set(arrays)]
    return eh.State.from_dict({**rows, "operations": kept})


def with_one_record(tables: dict[str, Any], settings: Any, state: Any, name: str) -> tuple[Any, Any]:
    """Plan a pass that knows one job of each waiting array: its next task, and then the next one.

    The next one follows once a task has started, and nothing is remembered of for whom others left; in
    backfill also once others leave for the one before it.
    """
    begun: Counter[str] = Counter()
    started: Counter[str] = Counter()
    while True:
        shown = {**tables, "requests": list(heads(tables["requests"], begun))}
        found, after = engine_plan(shown, settings, without_back_off(state, started), name)
        decisions = found["decisions"]
        now = started = arrays_of({d["operation"] for d in decisions if d["action"] == "start"})
        if name == "backfill":
            now = now + arrays_of(
                {d["beneficiary"]["operation"] for d in decisions if d["action"] == "preempt"}
            )
        if now == begun:
            return found, after
        begun = now


@pytest.mark.parametrize("case", CASES, ids=[case["rule"] for case in CASES])
def test_plans_leave_them_out(case: Mapping[str, Any]) -> None:
    assert outcome(case, engine_plan) != seen(case)


def test_backfill_keeps_as_many_nodes_as_a_range_allows() -> None:
    """All four nodes are kept for a job of three to four, also the one on which another would start."""

    def planner(tables: dict[str, Any], settings: Any, state: Any, name: str) -> tuple[Any, Any]:
        most = {row["name"]: row.get("settings", {}).get("max_nodes", 0) for row in tables["operations"]}
        rows = [
            {**row, "count": 4} if name == "backfill" and most[row["operation"]] == 4 else row
            for row in tables["requests"]
        ]
        found = engine_plan({**tables, "requests": rows}, settings, state, name)
        if any(d["action"] == "preempt" for d in found[0]["decisions"]):  # no other leaves for the rest
            return engine_plan(tables, settings, state, name)
        return found

    assert outcome(RANGE, planner) == seen(RANGE)


@pytest.mark.parametrize("case", ARRAYS, ids=[case["rule"] for case in ARRAYS])
def test_the_waiting_tasks_of_an_array_are_one_record(case: Mapping[str, Any]) -> None:
    """While others leave for one task none does for the next, and once it has started some do at once."""
    assert outcome(case, with_one_record) == seen(case)
