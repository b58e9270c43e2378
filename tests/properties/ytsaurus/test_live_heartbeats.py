"""A planner that lives on decides what a plan of the frozen cluster decides, whatever its history."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cluster.events import Start, Time
from evenhand.cluster.steps import events_of
from evenhand.testing import strategies as es
from evenhand.testing.living.groups import Happening
from evenhand.testing.living.rows import Refused, Rows
from evenhand.testing.strategies._picking import Pick
from tests.properties.ytsaurus.live_planner import LivePlanner

#: What a live planner can follow: a new request, and a node's size, make its tables anew.
KINDS = ("time", "start", "end", "leave", "job", "resize", "count")
#: Cells of what starts that it knows.
CELLS = ("operation", "node", "resources", "start_time", "last_progress_time")
NAMED = {"allocation": "allocations", "request": "requests", "beneficiary_request": "requests"}


def settled(data: dict[str, Any]) -> dict[str, Any]:
    """Return what no delta can change in a live planner: a stated total, and no node's own clock."""
    nodes = [{k: v for k, v in node.items() if k != "overcommitted_since"} for node in data["nodes"]]
    sums = {name: 1 + sum(n["capacity"].get(name, 0) for n in nodes) for name in data["resources"]}
    return {**data, "nodes": nodes, "total": sums}


def by_name(columns: Any, names: dict[str, list[str]]) -> dict[str, Any]:
    """Decisions without row numbers of tables whose rows come and go."""
    plain = {name: np.asarray(column).tolist() for name, column in columns.items()}
    for field, table in NAMED.items():
        plain[field] = [None if row < 0 else str(names[table][row]) for row in plain[field]]
    return plain


codes = st.lists(st.binary(min_size=24, max_size=24), max_size=40)


def next_events(rows: Rows, drawn: list[bytes], names: Iterator[str]) -> Iterator[Any]:
    """Yield events that break no rule; each has happened to the rows. Names sort in the order of starting."""
    happening = Happening(rows.data(), rows.resources)
    for code in drawn:
        event = happening.event(rows, Pick(code), KINDS)
        if isinstance(event, Start):
            cells = {"resources": {}, **{cell: event.row[cell] for cell in CELLS if cell in event.row}}
            event = replace(event, row={"name": next(names), **cells})
        trial = rows.copied()
        try:
            if event is None:
                continue
            trial.happen(event)
            eh.Snapshot.from_dict(trial.data())
        except (Refused, eh.InputError):
            continue
        rows.happen(event)
        yield event


@given(drawn=es.plan_inputs(), first=codes, second=codes, keep=st.booleans())
def test_decisions_on_a_live_state_are_those_on_its_frozen_form(
    drawn: es.PlanInput, first: list[bytes], second: list[bytes], *, keep: bool
) -> None:
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    state = eh.State.from_dict(drawn.state) if drawn.state else None
    rows, names_of_starts = Rows(settled(drawn.snapshot)), (f"z{i:06d}" for i in count())
    snapshot = eh.Snapshot.from_dict(rows.data())
    cluster, live = eh.Cluster(snapshot), LivePlanner(policy, snapshot, state)
    for part in (first, second, first[::-1]):
        for event in next_events(rows, part, names_of_starts):
            for one in (cluster.apply, lambda events: live.happens(events[0])):
                one([event])
        frozen = cluster.snapshot()
        plan = policy.plan(frozen, state)
        live.core.update(live.now, keep)
        shares = plan.shares["fair_share"]
        assert np.array_equal(live.core.fair_shares, shares)
        groups = dict(zip(live.names, live.core.groups().tolist(), strict=True))
        ours = plan._core.groups().tolist()
        assert [groups[str(name)] for name in frozen.names("allocations")] == ours
        live.core.decide(np.arange(frozen.node_count))
        decided = live.core.decisions()
        events = renamed(events_of(plan, cluster._stage) or [], names_of_starts)
        live.names += [event.row["name"] for event in events if isinstance(event, Start)]
        names = {"allocations": live.names, "requests": live.requests}
        frozen_names = {table: [str(n) for n in frozen.names(table)] for table in names}
        assert by_name(decided, names) == by_name(plan._core.decisions(), frozen_names)
        assert live.core.counts() == plan._core.counts()
        assert live.core.next_due == plan._core.next_due
        for name, column in plan._core.memory().items():
            assert np.array_equal(live.core.memory()[name], column), name
        state = plan.state
        # The planner has carried out its decisions already.
        cluster.apply(events)
        for event in events:
            rows.happen(event)
            if isinstance(event, Start):
                live.times.append([live.now, np.iinfo(np.int64).min])
                live.count[live.requests.index(str(event.request))] -= 1


def renamed(events: list[Any], names: Iterator[str]) -> list[Any]:
    """What starts gets names that sort in the order of starting."""
    return [
        replace(event, row={**event.row, "name": next(names)}) if isinstance(event, Start) else event
        for event in events
    ]


@given(drawn=es.plan_inputs(), seconds=st.lists(st.integers(0, 100), min_size=1, max_size=6))
def test_nothing_is_decided_before_the_next_due(drawn: es.PlanInput, seconds: list[int]) -> None:
    """Ticks before `Plan.next_due` may be skipped: they leave but the time and the last attempts."""
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    state = eh.State.from_dict(drawn.state) if drawn.state else None
    cluster = eh.Cluster(eh.Snapshot.from_dict(drawn.snapshot))
    for _ in range(6):  # until nothing more is decided at once
        plan = policy.plan(cluster.snapshot(), state)
        state = plan.state
        cluster.carry_out(plan)
    due = plan.next_due
    assume(due != cluster.now)
    for second in sorted(seconds):
        now = drawn.snapshot["now"] + second / 4
        if due is not None and now >= due:
            break
        cluster.apply([Time(now)])
        idle = policy.plan(cluster.snapshot(), state)
        assert list(idle.decisions) == []
        assert idle.next_due == due or idle.next_due is None or due is None or idle.next_due >= due
        assert without_attempts(idle.state) == without_attempts(state)
        state = idle.state
    if due is not None:
        # Whoever slept until then decides the same as whoever did not.
        cluster.apply([Time(due)])
        slept = policy.plan(cluster.snapshot(), plan.state)
        woke = policy.plan(cluster.snapshot(), state)
        if policy.settings.preemptive_scheduling_backoff == 0:
            assert slept.to_dict()["decisions"] == woke.to_dict()["decisions"]


@given(drawn=es.plan_inputs())
def test_a_need_that_is_served_takes_no_further_victim(drawn: es.PlanInput) -> None:
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    snapshot, state = eh.Snapshot.from_dict(drawn.snapshot), eh.State.from_dict(drawn.state)
    plan = eh.plan(snapshot, policy, state, given=drawn.given)
    again = eh.plan(snapshot.after(plan), policy, plan.state, given=drawn.given)
    assert [d for d in again.decisions.victims if d.beneficiary is not None] == []


@given(drawn=es.plan_inputs())
def test_threads_give_the_same_bytes(drawn: es.PlanInput) -> None:
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    snapshot, state = eh.Snapshot.from_dict(drawn.snapshot), eh.State.from_dict(drawn.state)

    def text(_: int) -> str:
        return eh.plan(snapshot, policy, state, on=drawn.on, given=drawn.given).to_json()

    with ThreadPoolExecutor(2) as threads:
        assert set(threads.map(text, range(4))) == {text(0)}


def without_attempts(state: eh.State) -> Any:
    nodes = {n: clocks["overcommitted_since"] for n, clocks in state.nodes.items()}
    return state.elements, {n: since for n, since in nodes.items() if since is not None}
