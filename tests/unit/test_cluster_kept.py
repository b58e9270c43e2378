"""A cluster with a policy of its own: copied, pickled, saved, and asked by several threads."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.cluster.events import Remove

ROWS: dict[str, Any] = {
    "now": 100,
    "resources": {"cpu": {}},
    "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
    "operations": [{"name": "old"}, {"name": "new"}],
    "allocations": [
        {"name": f"a{i}", "operation": "old", "node": "n1", "resources": {"cpu": 1}} for i in range(4)
    ],
    "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 2}}],
}
POLICY = eh.policies.YTsaurus(fair_share_starvation_timeout=30.0)


def cluster() -> eh.Cluster:
    """A cluster of which an operation has been below its share for ten seconds."""
    made = eh.Cluster(eh.Snapshot.from_dict(ROWS), POLICY)
    made.plan()
    made.apply([{"event": "time", "now": 110}])
    return made


def seconds_later(made: eh.Cluster) -> str:
    made.apply([{"event": "time", "now": 140}])
    return str(made.plan().to_json())


def test_the_policy_of_the_start_plans() -> None:
    made = cluster()
    assert made.state() == made.state(POLICY)
    assert len(made.plan().decisions) == 0
    assert json.loads(seconds_later(made))["decisions"]


def test_a_state_at_the_start_is_where_the_first_plan_begins() -> None:
    snapshot = eh.Snapshot.from_dict(ROWS)
    state = eh.plan(snapshot, POLICY).state
    later = snapshot.replace(now=140)
    made = eh.Cluster(later, POLICY, state)
    assert made.state() == state
    plan = made.plan()
    assert plan.to_json() == eh.plan(later, POLICY, state).to_json()
    assert len(plan.decisions) > 0


def test_without_a_policy_plan_wants_one() -> None:
    made = eh.Cluster(eh.Snapshot.from_dict(ROWS))
    for ask in (made.plan, made.state):
        with pytest.raises(eh.InputError, match=r"policy is null; it must be one of evenhand\.policies"):
            ask()


def test_a_state_needs_a_policy_and_an_instant_that_is_not_later() -> None:
    snapshot = eh.Snapshot.from_dict(ROWS)
    state = eh.plan(snapshot, POLICY).state
    assert eh.Cluster(snapshot, POLICY, state).state() == state  # the very instant
    with pytest.raises(eh.InputError, match="state"):
        eh.Cluster(snapshot, None, state)
    with pytest.raises(eh.InputError, match="before the state"):
        eh.Cluster(snapshot.replace(now=99.999999), POLICY, state)
    with pytest.raises(eh.InputError, match=r"policy is a number; it must be one of evenhand\.policies"):
        eh.Cluster(snapshot, 5)


def test_what_comes_back_plans_as_if_it_had_stayed(tmp_path: Path) -> None:
    made = cluster()
    made.save(tmp_path / "cluster")
    others = [
        copy.copy(made),
        copy.deepcopy(made),
        made.copy(),
        pickle.loads(pickle.dumps(made)),
        eh.Cluster.load(tmp_path / "cluster"),
    ]
    expected = seconds_later(made)
    assert json.loads(expected)["decisions"]
    for other in others:
        assert other.now == 110
        assert seconds_later(other) == expected


def test_total_that_follows_the_nodes_does_so_after_loading(tmp_path: Path) -> None:
    for stated in (False, True):
        made = eh.Cluster(eh.Snapshot.from_dict({**ROWS, **({"total": {"cpu": 9}} if stated else {})}))
        made.save(tmp_path / "cluster")
        again = eh.Cluster.load(tmp_path / "cluster")
        again.apply([{"event": "node", "node": "n1", "capacity": {"cpu": 6}}])
        assert again.snapshot().total == {"cpu": 9 if stated else 6}


def spoilt(tmp_path: Path, **changes: Any) -> Path:
    cluster().save(tmp_path / "whole")
    data = json.loads((tmp_path / "whole").read_text())
    data.update(changes)
    path = tmp_path / "spoilt"
    path.write_text(json.dumps({key: value for key, value in data.items() if value != "absent"}))
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"schema": "evenhand/cluster/9", "version": "9.1"},
            (
                "schema is 'evenhand/cluster/9', written by evenhand 9.1; "
                "this version reads 'evenhand/cluster/2' and 'evenhand/cluster/1'"
            ),
        ),
        ({"mood": 1}, "field 'mood' is unknown"),
        ({"states": "absent"}, "field 'states' is missing"),
        ({"states": [{"system": "slurm"}]}, "states are a list of objects with system, settings and state"),
        ({"total_stated": 1}, "total_stated is true or false"),
        ({"policy": 3}, "policy is an object or null"),
        ({"policy": {"system": "pbs"}}, "system is 'pbs'"),
        ({"snapshot": {"nodes": 1}}, "nodes"),
    ],
)
def test_a_file_that_is_no_cluster(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.Cluster.load(spoilt(tmp_path, **changes))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"), [(b"{", "complete JSON"), (b"[]", "an object"), (b"\xff", "UTF-8")]
)
def test_a_file_that_is_no_text_of_a_cluster(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "cluster").write_bytes(text)
    with pytest.raises(eh.InputError, match=message):
        eh.Cluster.load(tmp_path / "cluster")


def test_threads_take_turns() -> None:
    """Each adds an allocation and plans: no event is lost, and each plan is of a whole state."""
    made = eh.Cluster(eh.Snapshot.from_dict({**ROWS, "allocations": []}), POLICY)

    def work(i: int) -> int:
        row = {"name": f"b{i}", "operation": "old", "node": "n1", "resources": {"cpu": 0.001}}
        made.apply([{"event": "start", "row": row}])
        return int(made.plan().snapshot.allocation_count)

    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(work, range(100)))
    assert made.snapshot().allocation_count == 100
    assert max(counts) == 100
    assert min(counts) >= 1


GONE = [Remove("requests", "r"), Remove("operations", "new")]
BACK = [
    {"event": "put", "table": "operations", "row": {"name": "new"}},
    {"event": "put", "table": "requests", "row": ROWS["requests"][0]},
]
AS_GIVEN: dict[str, Any] = {
    "objects": GONE,
    "dicts": [{"event": "remove", "table": event.table, "name": event.name} for event in GONE],
    "columns": {"event": ["remove", "remove"], "table": ["requests", "operations"], "name": ["r", "new"]},
    "beside a pool": [{"event": "put", "table": "pools", "row": {"name": "p"}}, *GONE],
}


@pytest.mark.parametrize("way", AS_GIVEN)
@pytest.mark.parametrize("back", [False, True])
def test_an_operation_that_is_removed_is_remembered_nowhere(way: str, *, back: bool) -> None:
    """Whether the planner follows, the state was asked for before, or the cluster was copied or loaded."""
    asked, never_asked = cluster(), cluster()
    assert ("operation", "new") in asked.state().elements
    several = [asked, never_asked, asked.copy(), pickle.loads(pickle.dumps(cluster()))]
    for made in several:
        made.apply(AS_GIVEN[way])
        if back:
            made.apply(BACK)
        assert ("operation", "new") not in made.state().elements
        assert ("operation", "new") not in made.copy().state().elements
    plans = [seconds_later(made) for made in several]
    assert len(set(plans)) == 1
    assert json.loads(plans[0])["decisions"] == json.loads(plans[0])["diagnostics"] == []


def test_what_removes_an_operation_can_be_undone() -> None:
    made = cluster()
    before, mark = made.state(), made.mark()
    made.apply(GONE)
    made.undo(mark)
    assert made.state() == before
    assert json.loads(seconds_later(made))["decisions"]
