"""A living cluster at its edges: the largest sums, the same instant, what ends half way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from tests.properties.by_tables import no_event_is_plain

MOST = 2**60  # quanta of a resource in one table


def cluster(**more: Any) -> eh.Cluster:
    data = {
        "now": 100,
        "resources": {"cpu": {"quantum": 1}},
        "nodes": [{"name": "n", "capacity": {"cpu": 8}}],
        "operations": [{"name": "o"}],
        "allocations": [{"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 3}}],
    }
    return eh.Cluster(eh.Snapshot.from_dict(data | more))


@pytest.fixture(params=["plain", "by the rules of tables"], autouse=True)
def reader(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both that carry events out."""
    with nullcontext() if request.param == "plain" else no_event_is_plain():
        yield


@pytest.mark.parametrize("beyond", [-1, 0, 1])
@pytest.mark.parametrize("event", ["start", "resize", "node"])
def test_sums_may_reach_the_largest_amount(event: str, beyond: int) -> None:
    """What runs and waits may be so much, and so much may the nodes have; as in a snapshot."""
    found = cluster()
    row = {"name": "b", "operation": "o", "resources": {"cpu": MOST - 3 + beyond}}
    events: dict[str, dict[str, Any]] = {
        "start": {"row": row},
        "resize": {"allocation": "a", "resources": {"cpu": MOST + beyond}},
        "node": {"node": "n", "capacity": {"cpu": MOST + beyond}},
    }
    if beyond <= 0:
        found.apply([{"event": event, **events[event]}])
        assert eh.Snapshot.from_dict(found.snapshot().to_dict()) == found.snapshot()
    else:
        with pytest.raises(eh.InputError, match="2\\^60"):
            found.apply([{"event": event, **events[event]}])


@pytest.mark.parametrize(("cpu", "allowed"), [(1.999, False), (2, True), (2.001, True)])
def test_what_is_resized_has_what_it_would_keep(cpu: float, allowed: bool) -> None:
    row = {"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 3}, "held": {"cpu": 2}}
    found = cluster(resources={"cpu": {"quantum": 0.001}}, allocations=[row])
    event = {"event": "resize", "allocation": "a", "resources": {"cpu": cpu}}
    if allowed:
        found.apply([event])
        assert eh.Snapshot.from_dict(found.snapshot().to_dict()) == found.snapshot()
    else:
        with pytest.raises(eh.InputError, match=r"'a' would keep more cpu than it has"):
            found.apply([event])


@pytest.mark.parametrize(("now", "allowed"), [(99.999999, False), (100, True), (100.000001, True)])
def test_time_does_not_run_back(now: float, allowed: bool) -> None:
    found = cluster()
    if allowed:
        found.apply([{"event": "time", "now": now}])
        assert found.now == now
    else:
        with pytest.raises(eh.InputError, match="clock"):
            found.apply([{"event": "time", "now": now}])


@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_the_clock_ends_where_that_of_snapshots_does(beyond: int) -> None:
    found, last = cluster(), MOST / 1e6
    now = last if beyond == 0 else float(np.nextafter(last, beyond * np.inf))
    if beyond <= 0:
        found.apply([{"event": "time", "now": now}])
        assert found.snapshot().now == eh.Snapshot.from_dict({"resources": {"cpu": {}}, "now": now}).now
        return
    said = "within 2\\^60 microseconds of zero: times are seconds, not milliseconds"
    with pytest.raises(eh.InputError, match=said):
        found.apply([{"event": "time", "now": now}])
    with pytest.raises(eh.InputError, match=said):
        eh.Snapshot.from_dict({"resources": {"cpu": {}}, "now": now})


def test_nothing_and_zero_are_said_too() -> None:
    row = {"name": "a", "operation": "o", "node": "n", "resources": {"cpu": 3}, "start_time": 50}
    found = cluster(allocations=[row])
    found.apply([{"event": "job", "allocation": "a", "last_job_start_time": 0}])
    assert found.snapshot().to_dict()["allocations"][0]["last_job_start_time"] == 0
    found.apply([{"event": "leave", "allocation": "a", "held": {"cpu": 2}}])
    found.apply([{"event": "suspend", "allocation": "a", "held": {"cpu": 1}}])
    assert found.snapshot().to_dict()["allocations"][0]["held"] == {"cpu": 1}
    found.apply([{"event": "resume", "allocation": "a", "start_time": 0}])
    found.apply([{"event": "leave", "allocation": "a", "held": {"cpu": 2}}])
    found.apply([{"event": "suspend", "allocation": "a", "held": {}}])
    (row,) = found.snapshot().to_dict()["allocations"]
    assert "held" not in row
    assert row.get("start_time", 0) == 0
    found.apply([{"event": "start", "row": {"name": "b", "operation": "o", "start_time": 0}}])
    found.apply([{"event": "start", "row": {"name": "c", "operation": "o"}}])
    assert found.snapshot()._core.column("allocations", "start_time").tolist() == [0, 0, 100_000_000]


@pytest.mark.parametrize("cells", [{"priority": 2**70}, {"best_allocation_share": {"cpu": 0.5}}])
def test_a_row_may_have_all_cells_of_its_table(cells: dict[str, Any]) -> None:
    found = cluster()
    found.apply([{"event": "put", "table": "operations", "row": {"name": "p", **cells}}])
    assert found.snapshot().to_dict()["operations"][1] == {"name": "p", **cells}


@pytest.mark.parametrize(("share", "allowed"), [(-0.001, False), (0, True), (1, True), (1.001, False)])
def test_shares_are_between_nothing_and_all(share: float, allowed: bool) -> None:
    event = {"event": "put", "table": "operations"}
    row = {"name": "p", "best_allocation_share": {"cpu": share}}
    if allowed:
        cluster().apply([{**event, "row": row}])
    else:
        with pytest.raises(eh.InputError, match="best_allocation_share"):
            cluster().apply([{**event, "row": row}])


def test_room_that_was_taken_goes_with_what_ends() -> None:
    found = cluster()
    found.apply([{"event": "start", "row": {"name": "b", "operation": "o"}}])
    found.apply([{"event": "leave", "allocation": "a", "deadline": 130}])
    found.apply([{"event": "take", "allocation": "a", "resources": {"cpu": 2}}])
    mark = found.mark()
    found.apply([{"event": "end", "allocation": "a"}])
    assert list(found.copy().snapshot().names("allocations")) == ["b"]
    found.undo(mark)
    (row,) = (row for row in found.snapshot().to_dict()["allocations"] if row["name"] == "a")
    assert row["settings"] == {"room_taken": {"cpu": 2}}


def test_room_that_was_taken_is_given_back_with_what_resumes() -> None:
    found = cluster()
    found.apply([{"event": "leave", "allocation": "a", "deadline": 130}])
    found.apply([{"event": "take", "allocation": "a", "resources": {"cpu": 2}}])
    found.apply([{"event": "suspend", "allocation": "a"}, {"event": "resume", "allocation": "a"}])
    (row,) = found.snapshot().to_dict()["allocations"]
    assert "settings" not in row
    assert "deadline" not in row


@pytest.mark.parametrize("event", [{"last_progress_time": 98}, {"last_job_start_time": 97}])
def test_a_job_changes_what_is_given(event: dict[str, float]) -> None:
    found = cluster()
    found.apply([{"event": "job", "allocation": "a", "last_job_start_time": 90, "last_progress_time": 95}])
    found.apply([{"event": "job", "allocation": "a", **event}])
    (row,) = found.snapshot().to_dict()["allocations"]
    times = {"last_job_start_time": 90, "last_progress_time": 95} | event
    assert {name: row[name] for name in times} == times


def test_undo_of_one_event_leaves_nothing_of_it() -> None:
    found = cluster()
    found.apply([{"event": "time", "now": 101}])
    mark = found.mark()
    for event in (
        {"event": "leave", "allocation": "a", "deadline": 130},
        {"event": "start", "row": {"name": "b", "operation": "o"}},
        {"event": "end", "allocation": "a"},
    ):
        before = found.copy().snapshot()
        found.apply([event])
        assert found.copy().snapshot() != before
        found.undo(mark)
        assert found.copy().snapshot() == before


def test_who_is_suspended_at_once_is_not_leaving() -> None:
    tiers = {name: {"PriorityTier": tier, "OverSubscribe": "FORCE:1"} for name, tier in (("l", 1), ("h", 9))}
    policy = eh.policies.Slurm(
        PreemptType="preempt/partition_prio", PreemptMode="SUSPEND,GANG", partitions=tiers
    )
    found = cluster(
        operations=[{"name": "o", "partition": "l"}, {"name": "p", "partition": "h"}],
        requests=[{"name": "r", "operation": "p", "resources": {"cpu": 8}}],
    )
    plan = found.plan(policy)
    expected = found.snapshot().after(plan)
    found.carry_out(plan)
    assert {
        row["name"]: row.get("state", "running") for row in found.snapshot().to_dict()["allocations"]
    } == {
        "a": "preempted",
        "r/1": "running",
    }
    assert found.snapshot() == expected


@pytest.mark.parametrize(("count", "fits"), [(1022, True), (1023, True), (1024, False)])
def test_a_request_that_is_put_again_asks_for_what_it_says_now(count: int, fits: bool) -> None:
    """Beside it others may ask for the rest of what all may add up to."""
    cluster = eh.Cluster(
        eh.Snapshot.from_dict(
            {
                "resources": {"cpu": {"quantum": 1}},
                "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
                "operations": [{"name": "o"}],
            }
        )
    )

    def put(name: str, amount: int, count: int) -> None:
        row = {"name": name, "operation": "o", "resources": {"cpu": amount}, "count": count}
        cluster.apply([{"event": "put", "table": "requests", "row": row}])

    each = MOST // 1024
    put("r", each, 600)
    put("r", each // 600, 600)  # together at most one of them
    if fits:
        put("s", each, count)
    else:
        with pytest.raises(eh.InputError, match="overflow"):
            put("s", each, count)
    assert len(cluster.snapshot().names("requests")) == 1 + fits


@pytest.mark.parametrize("policy", [eh.policies.YTsaurus(), eh.policies.YuniKorn()], ids=lambda p: p.system)
def test_an_operation_for_which_something_leaves_may_come_later(policy: Any) -> None:
    """What is about to be free is for it, not for the one that has waited all the while."""
    asked = {"resources": {"cpu": 8}}
    live = cluster(
        operations=[{"name": "o"}, {"name": "waits"}],
        allocations=[{"name": "a", "operation": "o", "node": "n", **asked}],
        requests=[{"name": "waits", "operation": "waits", **asked}],
    )
    live.plan(policy)
    live.apply(
        [
            {"event": "leave", "allocation": "a", "deadline": 160, "beneficiary": {"operation": "new"}},
            {"event": "put", "table": "operations", "row": {"name": "new"}},
            {"event": "put", "table": "requests", "row": {"name": "new", "operation": "new", **asked}},
        ]
    )
    plan = live.plan(policy)
    assert [d.operation for d in plan.decisions] == ["new"]
    assert plan.decisions.to_list() == eh.plan(live.snapshot(), policy).decisions.to_list()
