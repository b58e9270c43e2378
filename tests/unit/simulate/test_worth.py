"""What tells a run in which nothing gets done from one in which little has to wait."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from evenhand.simulate.loops import loops
from evenhand.simulate.metrics import compute
from evenhand.simulate.record import NO_TIME
from tests.unit.simulate.records import S, record

DAY = 86_400
#: What is beyond a fair share as a whole may be preempted as soon as it has started.
CROSSING = "consider_allocation_on_fair_share_bound_preemptible"


def turns(until: float, **settings: Any) -> eh.simulate.Result:
    """Two jobs of a node each on one node."""
    work = eh.simulate.Workload({"name": ["a", "b"], "resources.cpu": [4, 4], "submit_time": [0, 1],
                                 "run_time": [100, 100]})  # fmt: skip
    policy = eh.policies.YTsaurus(**{CROSSING: True, **settings})
    return eh.simulate(work.snapshot(nodes=1, cpu=4), policy, work, until=until)


def lost(at: list[float], **changes: Any) -> list[dict[str, Any]]:
    """Runs of an operation that were preempted at these seconds, and lost what they had done."""
    return [
        {"start": 0, "began": 0, "end": int(t * S), "outcome": 2, "lost": S, "decision": 0, **changes}
        for t in at
    ]


def found(rows: list[dict[str, Any]], **more: Any) -> list[tuple[int, int]]:
    served = {"time": 0, "action": 1, "operation": 0, "beneficiary_operation": 1}
    one = record(
        end=9 * DAY * S, requests=[{}, {"operation": 1}], allocations=rows, decisions=[served], **more
    )
    assert compute(one)["preemption_loops"] == len(loops(one))
    return [(loop.operation, loop.times) for loop in loops(one)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(lost([10, 20]), [], id="twice"),
        pytest.param(lost([10, 20, 30]), [(0, 3)], id="three-times"),
        pytest.param(lost([10, 10, 20]), [], id="what-leaves-at-once-is-one-time"),
        pytest.param(lost([10, 20, 10 + DAY]), [(0, 3)], id="in-a-day"),
        pytest.param(lost([10, 20, 10.000001 + DAY]), [], id="in-more-than-a-day"),
        pytest.param(lost([10, 20, 30, 31 + DAY, 32 + DAY]), [(0, 3)], id="and-twice-on-the-next"),
        pytest.param(lost([10, 20], decision=-1) + lost([30]), [], id="lost-with-its-node"),
        pytest.param(lost([10, 20, 30], lost=0), [], id="nothing-done"),
        pytest.param(lost([10, 20, 30], outcome=4), [], id="suspended"),
        pytest.param(lost([10, 20, 30], outcome=3), [(0, 3)], id="aborted"),
        pytest.param(lost([10, 20]) + lost([25], outcome=1) + lost([30]), [], id="a-part-finished"),
        pytest.param(lost([10, 20]) + lost([30], kept=1), [], id="something-saved"),
        pytest.param(lost([10], kept=7) + lost([20, 30], kept=7, resumed_from=0), [], id="the-first-saved"),
        pytest.param(
            lost([5], kept=7) + lost([10, 20, 30], kept=7, resumed_from=0), [(0, 3)], id="nothing-more-saved"
        ),
        pytest.param(lost([1, 2]) + lost([3], operation=1, request=1), [], id="of-two-jobs"),
    ],
)
def test_a_loop_is_three_losses_in_a_day_with_nothing_kept(
    rows: list[dict[str, Any]], expected: list[tuple[int, int]]
) -> None:
    assert found(rows) == expected


def test_loops_stand_by_what_they_lost_and_count_whom_they_left_for() -> None:
    rows = lost([10, 20, 30]) + lost([11, 21, 31, 41], operation=1, request=1, lost=2 * S)
    served = [{"time": 0, "action": 1, "operation": 0, "beneficiary_operation": o} for o in (2, 3, 3, -1)]
    for row, decision in zip(rows[3:], (0, 1, 2, 3), strict=True):
        row["decision"] = decision
    one = record(
        requests=[{}, {"operation": 1}, {"operation": 2}, {"operation": 3}],
        allocations=rows,
        decisions=served,
    )
    first, second = loops(one)
    assert (first.operation, first.times, first.beneficiaries) == (1, 4, (3, 2))
    assert first.lost.tolist() == pytest.approx([8 / 3600])
    assert (second.operation, second.times, second.beneficiaries) == (0, 3, (2,))
    # What happens at the end of the window is not in it.
    assert [compute(one, until=t)["preemption_loops"] for t in (30, 31, 32)] == [0, 1, 2]


def test_a_run_says_who_loses_its_work_again_and_again() -> None:
    result = turns(600)
    (loop,) = [d for d in result.diagnostics if d.code == "preemption_loop"]
    m = result.metrics
    assert (m["jobs.finished"], m["goodput.cpu"], m["preemption_loops"]) == (0, 0, 2)
    assert set(loop.elements) == {"a", "b"}
    assert '"a" lost its work 4 times (' in loop.message
    assert 'cpu-hours), for "b"' in loop.message
    assert loop.message in repr(result)
    assert not [d for d in turns(600, **{CROSSING: False}).diagnostics if d.code == "preemption_loop"]


def test_the_first_line_says_what_got_done() -> None:
    result = turns(400)
    m = result.metrics
    said = (
        f"0 of 2 jobs finished; goodput 0 cpu-hours, lost work {m['lost_work.cpu']:.3g},"
        f" {m['lost_work_of_one.cpu']:.0%} of it by one job; preempted.max {m['preempted.max']:.0f}"
    )
    first = repr(result).splitlines()[0]
    assert first.startswith(f"<Result of 400 s: {said}; 2 operations, ")
    assert said in result._repr_html_()
    calm = repr(turns(400, **{CROSSING: False}))
    assert "2 of 2 jobs finished; goodput 0.222 cpu-hours, lost work 0; nothing preempted" in calm


@pytest.mark.parametrize(
    ("options", "waits"),
    [
        ({}, [5, 95]),  # the other one has waited until the end of the run
        ({"until": 60}, [5, 55]),
        ({"until": 10}, [5, 5]),  # neither has started before this
        ({"until": 11}, [5, 6]),
        ({"warm_up": 5}, [5, 95]),
        ({"warm_up": 6}, []),
    ],
)
def test_what_has_not_started_has_waited_so_far(options: dict[str, Any], waits: list[float]) -> None:
    rows = [
        {"submit": 5 * S, "first_start": 10 * S, "end": NO_TIME},
        {"submit": 5 * S, "first_start": NO_TIME, "end": NO_TIME},
    ]
    one = compute(record(requests=[{}, {"operation": 1}], operations=rows), **options)
    name = "waiting.censored"
    found = [one[f"{name}.p50"], one[f"{name}.max"]]
    assert [w for w in found if w == w] == waits
    assert one[f"{name}.mean"] == pytest.approx(sum(waits) / 2) or not waits


@pytest.mark.parametrize(
    ("until", "lasts"),
    [(None, 1), (30, 0), (31, 1), (39, 1), (40, 1), (41, 0), (60, 0), (61, 1)],
)
def test_spells_that_are_not_over_at_the_end(until: float | None, lasts: int) -> None:
    spells = [
        {"pool": -1, "operation": 0, "from": a * S, "until": b, "level": level}
        for a, b, level in ((30, 35 * S, 1), (35, 40 * S, 2), (60, NO_TIME, 1))
    ]
    assert compute(record(spells=spells), until=until)["starvation.open"] == lasts


def test_time_below_a_share_counts_from_its_beginning() -> None:
    """Two pools: the first is below from 10 to 30 s and from 40 s on, the other one from 20 to 30 s."""
    usage = {0: (1.0, 1.0), 10: (0.2, 1.0), 20: (0.2, 0.2), 30: (0.5, 0.5), 40: (0.499, 0.5)}
    series = [
        {"time": t * S, "pool": 1 + p, "usage": used, "fair_share": 0.5, "demand": 0.8}
        for t, both in usage.items()
        for p, used in enumerate(both)
    ] + [{"time": t * S, "pool": 0, "fair_share": 1.0, "demand": 1.0} for t in usage]
    one = record(end=55 * S, series=series)
    assert compute(one)["below_share.total"] == 20 + 15 + 10
    assert compute(one)["below_share.max"] == 20
    assert compute(one, warm_up=16)["below_share.max"] == 15
    assert compute(one, warm_up=16)["below_share.total"] == 14 + 15 + 10
