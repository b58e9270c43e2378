"""The laws of a cluster that lives on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cluster.events import End, Put, Remove, Time
from evenhand.testing import strategies as es
from evenhand.testing.living.events import KINDS
from evenhand.testing.living.groups import Happening
from evenhand.testing.living.rows import Refused, Rows
from evenhand.testing.strategies._picking import Pick
from tests.properties.by_tables import no_event_is_plain

WRONG: tuple[Any, ...] = (
    Time(-1e6),
    End("nobody"),
    {"event": "start", "row": {"name": "x", "operation": "o0", "resources": {"cpu": -1}}},
    {"event": "start", "row": {"name": "x", "operation": "nowhere"}},
    {"event": "resize", "allocation": "nobody", "resources": {"cpu": 1}},
    {"event": "count", "request": "nobody", "count": 1},
    {"event": "node", "node": "n0", "capacity": {"cpu": 2**61}},
    {"event": "put", "table": "pools", "row": {"name": "q", "parent": "nowhere"}},
    {"event": "remove", "table": "nodes", "name": "nowhere"},
    {"event": "job"},
    {"event": "nothing"},
    7,
)


codes = st.lists(st.binary(min_size=24, max_size=24), max_size=40)


def next_events(rows: Rows, drawn: list[bytes]) -> Iterator[Any]:
    """Yield events that break no rule, each of which has happened to the rows before the next is drawn."""
    happening = Happening(rows.data(), rows.resources)
    for code in drawn:
        event = happening.event(rows, Pick(code), [kind for kind in KINDS if kind not in ("put", "remove")])
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


def lived(data: dict[str, Any], drawn: list[bytes], frozen: int = 0) -> tuple[eh.Cluster, Rows]:
    """A cluster after some events, and the rows after them; a snapshot is taken now and then."""
    rows, cluster = Rows(data), eh.Cluster(eh.Snapshot.from_dict(data))
    for i, event in enumerate(next_events(rows, drawn)):
        cluster.apply([event])
        if frozen and i % frozen == 0:
            cluster.snapshot()
    return cluster, rows


@given(data=es.crowded_dicts(), drawn=codes, frozen=st.integers(0, 9))
def test_events_lead_to_the_snapshot_that_is_built_afresh(
    data: dict[str, Any], drawn: list[bytes], frozen: int
) -> None:
    cluster, rows = lived(data, drawn, frozen)
    afresh = eh.Snapshot.from_dict(rows.data())
    snapshot = cluster.snapshot()
    assert snapshot.to_dict() == afresh.to_dict()
    assert snapshot.fingerprint == afresh.fingerprint
    assert cluster.snapshot() is snapshot
    usage = {name: dict.fromkeys(snapshot.resources, 0) for name in snapshot.names("operations")}
    for row in rows.all("allocations"):
        state = row.get("state", "running")
        held = (
            row.get("held", {}) if state == "preempted" else {} if state == "preempting" else row["resources"]
        )
        for name, amount in held.items():
            usage[row["operation"]][name] += amount
    for name, amounts in usage.items():
        assert cluster.usage(name, table="operations") == amounts


@given(data=es.crowded_dicts(), drawn=codes)
def test_the_rules_of_tables_lead_to_the_same(data: dict[str, Any], drawn: list[bytes]) -> None:
    with no_event_is_plain():
        cluster, rows = lived(data, drawn)
    assert cluster.snapshot() == eh.Snapshot.from_dict(rows.data())


@given(data=es.crowded_dicts(), seed=st.integers(0, 2**16), frozen=st.sampled_from((0, 37)))
def test_two_hundred_events(data: dict[str, Any], seed: int, frozen: int) -> None:
    """Hypothesis draws short histories; these are long."""
    chance = random.Random(seed)
    cluster, rows = lived(data, [chance.randbytes(24) for _ in range(200)], frozen)
    assert cluster.snapshot().to_dict() == eh.Snapshot.from_dict(rows.data()).to_dict()


@given(data=es.crowded_dicts(), before=codes, after=codes, frozen=st.integers(0, 9))
def test_undo_restores(data: dict[str, Any], before: list[bytes], after: list[bytes], frozen: int) -> None:
    cluster, rows = lived(data, before)
    then = cluster.copy().snapshot()
    if frozen % 2:
        cluster.snapshot()
    mark, twin = cluster.mark(), cluster.copy()
    events = []
    for i, event in enumerate(next_events(rows, after)):
        cluster.apply([event])
        events.append(event)
        if frozen and i % frozen == 0:
            cluster.snapshot()
    if frozen % 3 == 1:
        cluster.apply([Put("pools", {"name": "fresh"}), Put("nodes", {"name": "fresh"})])
    cluster.undo(mark)
    assert cluster.snapshot() == then
    cluster.undo(mark)
    # The same goes on as if nothing had been undone, and a copy goes its own way.
    cluster.apply(events)
    assert cluster.snapshot().to_dict() == eh.Snapshot.from_dict(rows.data()).to_dict()
    assert twin.snapshot() == then
    twin.apply(events)
    assert twin.snapshot() == cluster.snapshot()


@given(data=es.crowded_dicts(), drawn=codes, wrong=st.sampled_from(WRONG), marked=st.booleans())
def test_a_wrong_event_changes_nothing(
    data: dict[str, Any], drawn: list[bytes], wrong: Any, *, marked: bool
) -> None:
    cluster, rows = lived(data, drawn[::2])
    mark = cluster.mark() if marked else None
    then = cluster.copy().snapshot()
    events = list(next_events(rows, drawn[1::2]))
    with pytest.raises(eh.InputError) as raised:
        cluster.apply([*events, wrong])
    (problem,) = raised.value.problems
    assert (problem.table, problem.row) == ("events", len(events))
    assert problem.rule
    assert cluster.snapshot() == then
    cluster.apply(events)
    assert cluster.snapshot().to_dict() == eh.Snapshot.from_dict(rows.data()).to_dict()
    if mark is not None:
        cluster.undo(mark)
        assert cluster.snapshot() == then


@given(data=es.crowded_dicts(), drawn=codes)
def test_rows_of_tables_come_and_go(data: dict[str, Any], drawn: list[bytes]) -> None:
    cluster, rows = lived(data, drawn)
    pool = {"name": "fresh", "weight": 2}
    operation = {"name": "late", "pool": "fresh"}
    node = {"name": "more", "capacity": {"cpu": 4}}
    cluster.apply([Put("pools", pool), Put("operations", operation), Put("nodes", node)])
    for table, row in (("pools", pool), ("operations", operation), ("nodes", node)):
        rows.put(table, row)
    assert cluster.snapshot().to_dict() == eh.Snapshot.from_dict(rows.data()).to_dict()
    cluster.apply([Remove("nodes", "more"), Remove("operations", "late"), Put("pools", {"name": "fresh"})])
    rows.drop("nodes", "more")
    rows.drop("operations", "late")
    rows.put("pools", {"name": "fresh"})
    assert cluster.snapshot().to_dict() == eh.Snapshot.from_dict(rows.data()).to_dict()


@given(drawn=es.plan_inputs())
def test_a_plan_that_is_carried_out_leads_to_the_snapshot_after_it(drawn: es.PlanInput) -> None:
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    cluster = eh.Cluster(eh.Snapshot.from_dict(drawn.snapshot))
    for seconds in (0, 20, 40):
        cluster.apply([Time(drawn.snapshot["now"] + seconds)])
        state = cluster.state(policy)
        plan = cluster.plan(policy, on=drawn.on)
        assert plan.to_json() == eh.plan(cluster.snapshot(), policy, state, on=drawn.on).to_json()
        cluster.carry_out(plan)
        assert cluster.snapshot().to_dict() == plan.snapshot.after(plan).to_dict()
        assert cluster.snapshot() == plan.snapshot.after(plan)


@given(drawn=es.plan_inputs(), seed=st.integers(0, 2**16))
def test_shuffled_rows_give_the_same_plan_bytes(drawn: es.PlanInput, seed: int) -> None:
    shuffled = {name: list(t) if isinstance(t, list) else t for name, t in drawn.snapshot.items()}
    for table in shuffled.values():
        if isinstance(table, list):
            random.Random(seed).shuffle(table)
    policy = eh.policies.YTsaurus(**drawn.settings.model_dump())
    state = eh.State.from_dict(drawn.state) if drawn.state else None
    texts = {
        eh.plan(eh.Snapshot.from_dict(data), policy, state, on=drawn.on, given=drawn.given).to_json()
        for data in (drawn.snapshot, shuffled)
    }
    assert len(texts) == 1
