"""Columns that a workload does not have, and values that are out of range."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

BASE: dict[str, Any] = {"name": ["a"], "resources.cpu": [1], "run_time": [5]}


def simulate(*tables: Any) -> object:
    w = eh.simulate.Workload(*tables)
    return eh.simulate(w.snapshot(nodes=1, cpu=4), eh.policies.YTsaurus(), w)


def said(build: Any) -> str:
    with pytest.raises(eh.InputError) as found:
        build()
    return str(found.value)


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        ("runtime", "run_time"),
        ("run_tme", "run_time"),
        ("submit", "submit_time"),
        ("checkpoint_evry", "checkpoint_every"),
        ("cutoff", "cut_off"),
        ("replicas", "replica"),
        ("durations", "duration"),
        ("pol", "pool"),
        ("resource", "resources"),
    ],
)
def test_a_misspelt_column_is_named_with_what_is_meant(column: str, meant: str) -> None:
    text = said(lambda: simulate(BASE | {column: [5]}))
    assert f"{column} of the requests is not a known field" in text
    assert f'did you mean "{meant}"?' in text


def test_known_columns_are_taken() -> None:
    every = {"pool": ["x"], "labels.team": ["t"], "limits.cpu": [3], "gang": [False]}
    assert simulate(BASE | every)


def test_columns_of_operations_belong_to_them_where_they_are_given() -> None:
    operations, pools = {"name": ["a"], "pool": ["x"]}, {"name": ["x"]}
    assert simulate(BASE, operations, pools)
    text = said(lambda: simulate(BASE | {"pool": ["x"]}, operations, pools))
    assert "pool of the requests is a field of operations, which were given in a table of their own" in text


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("run_time", -1e-6, "run_time of row 0 of the requests is -1e-06 s; it must be at least 0 s"),
        ("run_time", -5, "run_time of row 0 of the requests is -5 s; it must be at least 0 s"),
        ("run_time", 0, None),
        ("checkpoint_every", 0, "is 0 s; it must be more than 0 s"),
        ("checkpoint_every", -2, "is -2 s; it must be more than 0 s"),
        ("checkpoint_every", 1e-6, None),
    ],
)
def test_times_out_of_range_are_named_with_their_value(
    column: str, value: float, expected: str | None
) -> None:
    columns = BASE | {column: [value]}
    if expected is None:
        assert len(eh.simulate.Workload(columns)) == 1
    else:
        assert expected in said(lambda: eh.simulate.Workload(columns))


def test_events_of_nodes_say_what_is_meant() -> None:
    def events(**columns: Any) -> eh.simulate.Workload:
        given = {"time": [0], "node": ["n"], "event": ["down"]} | {k: [v] for k, v in columns.items()}
        return eh.simulate.Workload(BASE, nodes=given)

    assert 'did you mean "down"?' in said(lambda: events(event="dwon"))
    assert 'did you mean "event"?' in said(lambda: events(evnt="up"))
