"""What is remembered of asks: by a planner that follows, by a state, by a copy, the same."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import evenhand as eh

ASK: dict[str, Any] = {"name": "ask", "operation": "p", "resources": {"cpu": 1}, "count": 1}
POLICY = eh.policies.YuniKorn()
START = {"name": "run", "operation": "p", "node": "n", "resources": {}}
WAYS: dict[str, list[dict[str, Any]]] = {
    "removed": [{"event": "remove", "table": "requests", "name": "ask"}],
    "counted to none": [{"event": "count", "request": "ask", "count": 0}],
    "started": [{"event": "start", "request": "ask", "row": START}],
    "beside a pool": [
        {"event": "put", "table": "pools", "row": {"name": "x"}},
        {"event": "count", "request": "ask", "count": 0},
        {"event": "put", "table": "pools", "row": {"name": "y"}},
    ],
}


def cluster() -> eh.Cluster:
    """An ask that has failed once."""
    rows = {
        "now": 1,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 1}}],
        "pools": [{"name": "q"}],
        "operations": [{"name": "p", "pool": "q"}],
        "allocations": [{"name": "a", "operation": "p", "node": "n", "resources": {"cpu": 1}}],
        "requests": [ASK, {**ASK, "name": "other"}],
    }
    made = eh.Cluster(eh.Snapshot.from_dict(rows), POLICY)
    made.plan(on=eh.Cycle("allocation"))
    return made


def several() -> list[eh.Cluster]:
    asked = cluster()
    assert set(asked.state().requests) == {"ask", "other"}
    return [asked, cluster(), asked.copy(), pickle.loads(pickle.dumps(cluster()))]


def said(made: eh.Cluster) -> Any:
    plan = made.plan(on=eh.Cycle("allocation"))
    return plan.to_json(), made.state().to_dict()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("back", ["no", "at once", "later", "later, and elsewhere in the order"])
def test_an_ask_that_goes_is_forgotten(way: str, back: str) -> None:
    """Whoever comes under its name is another one, which has missed nothing."""
    row = {**ASK, "order": -1} if "elsewhere" in back else ASK
    put = [{"event": "put", "table": "requests", "row": row}]
    for made in (them := several()):
        made.apply(WAYS[way] + (put if back == "at once" else []))
        if back.startswith("later"):
            made.apply(put)
        assert set(made.state().requests) == {"other"}
        assert set(made.copy().state().requests) == {"other"}
    one, *others = map(said, them)
    assert all(other == one for other in others)
    assert {row["name"]: row["wait"] for row in one[1]["requests"]} == (
        {"other": 1} if back == "no" else {"other": 1, "ask": 2}
    )


@pytest.mark.parametrize("row", [ASK, {**ASK, "order": -1}, {**ASK, "count": 3}])
def test_an_ask_that_is_put_again_is_the_same_one(row: dict[str, Any]) -> None:
    for made in (them := several()):
        made.apply([{"event": "put", "table": "requests", "row": row}])
        assert set(made.state().requests) == {"ask", "other"}
    assert len({str(said(made)) for made in them}) == 1


def test_what_went_is_remembered_again_once_that_is_undone() -> None:
    for made in several():
        mark, before = made.mark(), made.state()
        made.apply(WAYS["removed"])
        assert "ask" not in made.state().requests
        made.apply([{"event": "put", "table": "requests", "row": ASK}])
        made.undo(mark)
        assert made.state() == before
        made.apply([{"event": "time", "now": 2}])
        assert made.state().requests == before.requests


def test_a_mark_does_not_bring_back_what_went_before() -> None:
    """While a mark is kept, numbers of rows are not used again."""
    made = cluster()
    assert made.state() is not None
    mark = made.mark()
    made.apply(WAYS["counted to none"])
    made.apply([{"event": "put", "table": "requests", "row": ASK}])
    made.plan(on=eh.Cycle("allocation"))
    assert made.state().requests["ask"]["missed"] == 1
    made.apply([{"event": "time", "now": 2}])
    assert made.state().requests["ask"]["missed"] == 1
    made.undo(mark)
