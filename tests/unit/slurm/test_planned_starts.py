"""Planned starts of the backfill pass by release, and what is kept for them: seen in who may start before."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.unit.slurm.test_passes import BACKFILL, TIERS, cluster, outcome, running, waiting
from tests.unit.slurm.test_releases import starts_in

#: With these the instants of plans are to the second.
EXACT: dict[str, Any] = {**BACKFILL, "bf_resolution": 1.0}


def seconds(name: str, partition: str, long: float, **more: Any) -> Any:
    """A job that waits, with a limit in seconds."""
    return waiting(name, partition, minutes=long / 60, **more)


@pytest.mark.parametrize(
    ("release", "limit", "ends", "starts"),
    [
        ("24.05", 90, 659, True),
        ("24.05", 90, 660, False),
        ("24.11", 90, 719, True),
        ("24.11", 90, 720, False),
        ("26.05", 90, 719, True),
        *((release, 120, ends, ends < 720) for release in ("24.05", "24.11") for ends in (719, 720)),
        *((release, 30, ends, ends < 660) for release in ("24.05", "24.11") for ends in (659, 660)),
    ],
)
def test_from_24_11_on_what_is_kept_ends_rounded_up(
    release: str, limit: float, ends: float, starts: bool
) -> None:
    """H keeps n1 and n2 from 600 on, W n2 and n3 behind it; A on n3 has to end before that.

    The least that is kept is `bf_resolution`, 60 s.
    """
    tiers = {**TIERS, "mid": {"PriorityTier": 5, "Nodes": ["n2", "n3"]}}
    waits = [seconds("H", "high", limit, nodes=2), waiting("W", "mid", 2), seconds("A", "low", ends, on="n3")]
    data = cluster(3, [running("R", "high", "n1", end=600)], waits)
    for row in data["requests"][:1]:
        row["node_tags"] = ["front"]
    for row in data["nodes"][:2]:
        row["tags"] = ["front"]
    assert ("A" in starts_in(data, {**BACKFILL, "partitions": tiers}, release)) == starts


#: A partition of n2 alone, whose jobs come first.
APART: dict[str, Any] = {
    **EXACT,
    "partitions": {**TIERS, "top": {"PriorityTier": 20, "PreemptMode": "OFF", "Nodes": ["n2"]}},
}


def planned_for(release: str, runs: list[Any], nodes: int) -> int:
    """When W is planned to start on n1, idle until then, and others: a job on n1 must end before that.

    n2 is kept for H from 1120 until 1160.
    """
    every = [running("R2", "high", "n2", end=1120), *runs]
    for ends in range(1140, 1200):
        waits = [seconds("H", "top", 40), waiting("W", "high", nodes), seconds("A", "low", ends, on="n1")]
        if "A" not in starts_in(cluster(1 + len(every), every, waits), APART, release):
            return ends
    raise AssertionError("it is planned for no such instant")


@pytest.mark.parametrize(
    ("release", "end", "planned"),
    [
        # W is tried at 1160. From 24.11 on all is gone that ended before that,
        ("24.05", 1159, 1160),
        ("24.11", 1159, 1160),
        # and not what ends right then; n4's job, which ends at 1190, is in the same span.
        ("24.05", 1160, 1160),
        ("24.05", 1161, 1161),
        ("24.11", 1160, 1190),
        ("24.11", 1161, 1190),
        # From 25.05 on it is the last end on one of its own nodes.
        ("25.05", 1159, 1160),
        ("25.05", 1160, 1160),
        ("25.05", 1161, 1161),
    ],
)
def test_an_estimate_knows_the_instant_that_is_tried(release: str, end: float, planned: int) -> None:
    runs = [running("R3", "high", "n3", end=end), running("R4", "high", "n4", end=1190)]
    assert planned_for(release, runs, 3) == planned


@pytest.mark.parametrize(
    ("release", "second", "planned"),
    [
        ("24.05", 1159, 1159),
        ("24.05", 1160, 1160),
        ("24.05", 1161, 1161),
        ("24.11", 1159, 1159),
        ("24.11", 1160, 1160),
        ("24.11", 1161, 1150),
        ("25.05", 1160, 1150),
        ("25.05", 1161, 1150),
    ],
)
def test_an_estimate_ends_where_more_nodes_may_be_free(release: str, second: float, planned: int) -> None:
    """At 1160 n2 is free again. n3's job ends at 1150, n5's in the same span, before, at or after 1160."""
    runs = [running(f"R{i}", "high", f"n{i}", end=end) for i, end in ((3, 1150), (4, 9000), (5, second))]
    assert planned_for(release, runs, 2) == planned


@pytest.mark.parametrize("release", ["22.05", "24.11", "26.05"])
@pytest.mark.parametrize("length", [599, 600, 601, 649, 650, 651])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_more_nodes_are_those_of_the_partition_and_soon(release: str, length: float, elsewhere: bool) -> None:
    """H keeps n1 and n2 from 600 until 900, X n4 alone, of another partition, from 650 until 750.

    W wants n1, n2 and n3: with a plan for it A does not start on n3. It gets one where a span that it takes
    (599 is before H's), or the next one, is followed by one with more nodes of its partition: with X the span
    that the one from 900 on follows begins at 750, behind the one from 650 on.
    """
    tiers = {**TIERS, "apart": {"PriorityTier": 20, "Nodes": ["n4"]}}
    tiers |= {name: TIERS[name] | {"Nodes": ["n1", "n2", "n3"]} for name in ("high", "mid", "low")}
    runs = [running("R", "high", "n1", end=600), running("R4", "apart", "n4", end=650)]
    waits = [seconds("X", "apart", 100)] if elsewhere else []
    waits += [
        seconds("H", "high", 300, nodes=2),
        seconds("W", "mid", length, nodes=3),
        waiting("A", "low", on="n3"),
    ]
    data = cluster(4, runs, waits)
    for row in data["requests"]:
        if row["name"] == "H":
            row["node_tags"] = ["front"]
    for row in data["nodes"][:2]:
        row["tags"] = ["front"]
    found = starts_in(data, {**EXACT, "partitions": tiers}, release)
    assert ("A" in found) == (elsewhere and 600 <= length < 650)


@pytest.mark.parametrize(("release", "planned"), [("24.11", 620), ("25.05", 600), ("26.05", 600)])
def test_from_25_05_on_a_start_is_planned_by_the_last_end_on_its_own_nodes(
    release: str, planned: int
) -> None:
    """H has n1 and two whose jobs end at 595 and 600; that on n4 ends at 620, in the same span."""
    runs = [running(f"R{i}", "high", f"n{i}", end=end) for i, end in ((2, 595), (3, 600), (4, 620))]
    for ends in (planned - 1, planned):
        data = cluster(4, runs, [waiting("H", "high", 3), seconds("A", "low", ends, on="n1")])
        assert ("A" in starts_in(data, EXACT, release)) == (ends < planned), ends


@pytest.mark.parametrize(
    ("release", "end", "starts"),
    [
        ("24.05", -1, True),
        ("24.11", -1, False),
        ("24.11", 0, True),
        ("24.11", 1, False),
        ("26.05", -1, False),
    ],
)
def test_from_24_11_on_what_is_overdue_is_gone_in_estimates(release: str, end: float, starts: bool) -> None:
    """It still runs, so H is planned for now, and A gets no node of its; before, for once it is killed."""
    runs = [running("R", "high", "n1", end=end)]
    data = cluster(2, runs, [waiting("H", "high", 2), seconds("A", "low", 1, on="n2")])
    assert ("A" in starts_in(data, EXACT, release)) == starts


@pytest.mark.parametrize(
    ("release", "ends", "starts"),
    [("24.11", 299, True), ("24.11", 300, False)]
    + [("25.05", ends, ends < 3600) for ends in (300, 3599, 3600)],
)
def test_from_25_05_on_a_job_that_starts_has_its_whole_limit(release: str, ends: float, starts: bool) -> None:
    """F starts on n1 with the least time that it accepts, 300 s, or with its limit; then H may."""
    waits = [
        seconds("F", "high", 3600, on="n1", time_min=300.0),
        waiting("H", "high", 2),
        seconds("A", "low", ends, on="n2"),
    ]
    found = starts_in(cluster(2, [], waits), EXACT, release)
    assert found["F"] == ["n1"]
    assert ("A" in found) == starts


@pytest.mark.parametrize(("size", "starts"), [(2, False), (3, False), (4, True), (5, True)])
def test_a_full_timeline_ends_a_pass_at_the_next_plan(size: int, starts: bool) -> None:
    """H's plan makes three spans. S starts all the same; W's plan finds them full, and L is not looked at."""
    waits = [
        waiting("H", "high", 4),
        seconds("S", "mid", 60),
        waiting("W", "mid", 2),
        seconds("L", "low", 60),
    ]
    data = cluster(4, [running("R", "high", "n1")], waits)
    found, _, rules = outcome(data, {**BACKFILL, "bf_node_space_size": size}, ("backfill",))
    assert "S" in found
    assert ("L" in found) == starts
    assert starts or rules["L"] == "waits_for_next_pass"


@pytest.mark.parametrize(
    ("now", "due"),
    [
        *((1000, 1030), (1029.999999, 1030)),
        *((1030, 1031), (1030.999999, 1031)),
        *((1031, 1060), (1059.999999, 1060), (1060, None)),
    ],
)
def test_a_plan_is_due_again_once_what_it_counts_on_to_end_has_not(now: float, due: float | None) -> None:
    """At the end, a second later, as it counts in them, and after `KillWait`, 30 s."""
    data = {
        "now": now,
        "resources": {"cpu": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
        "operations": [{"name": "runs"}, {"name": "waits"}],
        "allocations": [
            {"name": "a", "operation": "runs", "node": "n", "resources": {"cpu": 4}, "start_time": 900}
            | {"planned_end": 1030}
        ],
        "requests": [{"name": "r", "operation": "waits", "resources": {"cpu": 4}}],
    }
    snapshot = eh.Snapshot.from_dict(data)
    assert eh.plan(snapshot, eh.policies.Slurm(SchedulerType="sched/backfill")).next_due == due
    nothing_waits = eh.Snapshot.from_dict(data | {"requests": []})
    assert eh.plan(nothing_waits, eh.policies.Slurm(SchedulerType="sched/backfill")).next_due is None
