"""Metrics of a run: by their definitions, and at the edges of the window."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.simulate.metrics import Metrics, compute, unit_of
from evenhand.simulate.record import NO_TIME, Record
from tests.reference import metrics as reference
from tests.unit.simulate.records import S, record, records

TENS = st.integers(0, 13).map(lambda t: 10 * t)


@given(records(), TENS, st.none() | TENS, st.sampled_from([0, 10, 30]))
def test_every_metric_is_its_definition(run: Record, warm_up: int, until: int | None, flap: int) -> None:
    found = compute(run, warm_up=warm_up, until=until, slowdown_bound=7, flap_within=flap)
    expected = reference.metrics(
        run,
        warm_up=warm_up * S,
        until=None if until is None else until * S,
        bound=7 * S,
        flap_within=flap * S,
    )
    # The reference divides by the hours of an empty window as well: NaN.
    assert set(found) == set(expected)
    wrong = {
        name: (found[name], expected[name])
        for name in found
        if not reference.same(found[name], expected[name])
    }
    assert not wrong


def one(name: str, run: Record, **options: Any) -> float:
    return compute(run, **options)[name]


def spell(begin: float, end: float | None, level: int = 1, operation: int = 0) -> dict[str, int]:
    until = NO_TIME if end is None else int(end * S)
    return {"pool": -1, "operation": operation, "from": int(begin * S), "until": until, "level": level}


@pytest.mark.parametrize(
    ("spells", "options", "long"),
    [
        ([(0, 20)], {"warm_up": 20}, []),  # it ends exactly at the window's begin
        ([(0, 20)], {"warm_up": 19}, [1]),
        ([(20, 30)], {"warm_up": 20}, [10]),
        ([(20, 30)], {"until": 20}, []),  # it begins exactly at the window's end
        ([(20, 30)], {"until": 21}, [1]),
        ([(90, None)], {}, [10]),  # it has not ended: until the end of the run
        ([(20, 20)], {}, []),  # no time at all
        ([(20, 30), (30, 50, 2)], {}, [30]),  # another level, the same spell
        ([(20, 30), (30, 50, 2)], {"warm_up": 30}, [20]),
        ([(20, 30), (31, 50)], {}, [10, 19]),
        ([(20, 30), (30, 50, 1, 1)], {}, [10, 20]),  # another operation
    ],
)
def test_spells_at_the_edges(spells: list[Any], options: dict[str, float], long: list[float]) -> None:
    found = compute(record(spells=[spell(*s) for s in spells]), **options)
    assert found["starvation.spells"] == len(long)
    assert found["starvation.total"] == sum(long)
    assert found["starvation.max"] == max(long) if long else math.isnan(found["starvation.max"])
    assert found["starvation.pools.spells"] == 0


def test_aggressive_starvation_is_a_part_of_it() -> None:
    run = record(spells=[spell(20, 30), spell(30, 50, 2)])
    assert one("starvation.aggressive", run) == 20
    assert one("starvation.aggressive", run, warm_up=45) == 5


def job(submit: int, first: int | None, end: int | None, **other: int) -> dict[str, int]:
    return {
        "submit": submit * S,
        "first_start": NO_TIME if first is None else first * S,
        "end": NO_TIME if end is None else end * S,
        **other,
    }


def test_waits_count_where_a_job_came_in_the_window() -> None:
    jobs = [job(0, 8, 20), job(10, 14, 30), job(50, None, None), job(60, 100, None)]
    run = record(operations=jobs, requests=[{"operation": o} for o in range(4)])
    whole = compute(run)
    assert [whole[f"jobs{part}"] for part in ("", ".started", ".finished", ".never_started")] == [4, 3, 2, 1]
    assert (whole["waiting.mean"], whole["waiting.p50"], whole["waiting.max"]) == (
        pytest.approx(52 / 3),
        8,
        40,
    )
    assert one("jobs", run, warm_up=10) == 3  # it came exactly when the window begins
    assert one("jobs", run, until=10) == 1  # and this one when it ends
    assert one("jobs.started", run, until=100) == 2  # what starts at the end starts too late
    assert one("jobs_per_hour", run) == 2 / (100 / 3600)


def test_what_has_not_come_when_the_run_ends_is_no_job() -> None:
    assert one("jobs", record(operations=[job(100, None, None)])) == 1
    assert one("jobs", record(operations=[job(101, None, None)])) == 0


def test_slowdown_is_bounded() -> None:
    jobs = [job(0, 0, 2), job(0, 5, 25), job(0, 1, 11)]
    requests = [
        {"operation": 0, "work": 2 * S},
        {"operation": 1, "work": 20 * S},
        {"operation": 2, "work": S},
    ]
    found = compute(record(operations=jobs, requests=requests))
    # 2 s of 2 are less than one of 10; 25 of 20; 11 of 10.
    assert found["slowdown.mean"] == pytest.approx((1 + 1.25 + 1.1) / 3)
    assert found["slowdown.max"] == 1.25


def test_jobs_cut_off_by_their_source_count_apart() -> None:
    jobs = [job(0, 1, 20), job(0, 30, 90)]
    run = record(operations=jobs, requests=[{"operation": o} for o in range(2)], cut_off=[False, True])
    found = compute(run)
    assert (found["jobs"], found["cut_off"], found["cut_off.waiting.p50"]) == (2, 1, 30)
    assert found["waiting.max"] == 1
    assert found["slowdown.max"] == 2


def test_finish_time_fairness_is_against_an_equal_part() -> None:
    # Two jobs of the whole cluster at the same time: each alone on a half would take 20 s.
    jobs = [job(0, 0, 10), job(0, 10, 20)]
    requests = [{"operation": o, "amount": 4.0} for o in range(2)]
    found = compute(record(operations=jobs, requests=requests))
    # The first shares with one other all the time, the second for a half of it: 1.5 jobs on average.
    assert found["finish_time_fairness.max"] == pytest.approx(20 / 15)
    assert found["finish_time_fairness.p50"] == pytest.approx(10 / 20)


def run_of(request: int, start: int, end: int | None, outcome: int, **other: int) -> dict[str, int]:
    return {
        "request": request,
        "operation": 0,
        "start": start * S,
        "began": start * S,
        "end": NO_TIME if end is None else end * S,
        "outcome": 0 if end is None else outcome,
        **{name: value * S for name, value in other.items()},
    }


def test_work_counts_when_it_ends() -> None:
    runs = [
        run_of(0, 0, 36, 1, kept=36),
        run_of(0, 40, 60, 2, kept=5, lost=15),
        run_of(0, 64, None, 0),
    ]
    run = record(allocations=runs, requests=[{"amount": 2.0}])
    found = compute(run)
    assert found["goodput.cpu"] == pytest.approx(2 * 36 / 3600)
    assert found["lost_work.cpu"] == pytest.approx(2 * 15 / 3600)
    assert found["utilisation.cpu"] == pytest.approx(2 * (36 + 20 + 36) / 400)
    assert one("goodput.cpu", run, warm_up=36) > 0
    assert one("goodput.cpu", run, until=36) == 0
    assert one("lost_work.cpu", run, warm_up=60.000001) == 0


def test_utilisation_is_of_what_is_there() -> None:
    run = record(allocations=[run_of(0, 0, None, 0)], capacity=[(0, 4.0), (50 * S, 1.0)])
    assert one("utilisation.cpu", run) == pytest.approx(100 / 250)
    assert one("utilisation.cpu", run, warm_up=50) == 1
    gone = record(allocations=[run_of(0, 0, None, 0)], capacity=[(0, 0.0)])
    assert math.isnan(one("utilisation.cpu", gone))


def test_room_is_held_when_others_have_left_it() -> None:
    late = run_of(0, 0, 40, 1) | {"began": 30 * S}
    never = run_of(0, 0, 40, 2, lost=3) | {"began": NO_TIME}
    found = compute(record(allocations=[late, never]))
    assert found["utilisation.cpu"] == pytest.approx(10 / 400)
    assert found["lost_work.cpu"] == 0


def test_incomplete_gangs() -> None:
    runs = [
        run_of(0, 0, 30, 1),
        run_of(0, 10, 20, 2),
        run_of(0, 25, 50, 1),
    ]
    gang = [{"count": 2, "gang": True}]
    # Alone from 0 to 10 and from 20 to 25; from 30 on the other one has completed.
    assert one("incomplete_gangs.cpu", record(allocations=runs, requests=gang)) == pytest.approx(15 / 3600)
    assert one("incomplete_gangs.cpu", record(allocations=runs, requests=[{"count": 2}])) == 0


def preempted(time: int, operation: int = 0, **other: int) -> dict[str, int]:
    nobody = {"beneficiary_operation": -1, "beneficiary_request": -1}
    return {"time": time * S, "action": 1, "operation": operation, **nobody, **other}


def test_preemptions_by_hour_stage_reason_and_job() -> None:
    decisions = [
        preempted(10, stage=1, within_fair_share=1),
        preempted(10, stage=2, reason=1),
        preempted(20, stage=1),
        preempted(30, operation=1, stage=1),
        {"time": 40 * S, "action": 0},
    ]
    found = compute(record(decisions=decisions, requests=[{}, {"operation": 1}]))
    assert found["preemptions"] == 4
    assert found["preemptions_per_hour"] == pytest.approx(4 * 36)
    # Two of one job at one instant are one time.
    assert (found["preempted.jobs"], found["preempted.max"]) == (2, 2)
    assert found["victims.within_fair_share"] == 1
    assert {n: v for n, v in found.items() if n.startswith(("preemptions.stage", "preemptions.reason"))} == {
        "preemptions.stage.preemptive": 3,
        "preemptions.stage.aggressive": 1,
        "preemptions.reason.starving": 3,
        "preemptions.reason.limit": 1,
    }


def test_victims_of_requests_that_got_what_they_left() -> None:
    decisions = [
        preempted(10, beneficiary_request=0),
        preempted(12, beneficiary_request=0),
        preempted(10, beneficiary_request=1),
        preempted(10, beneficiary_operation=0),
    ]
    runs = [run_of(1, 5, 60, 1), run_of(0, 10, 60, 1)]
    found = compute(record(decisions=decisions, allocations=runs, requests=[{}, {}]))
    # Request 0, and operation 0 whose request it is; request 1 started before.
    assert (found["requests.satisfied"], found["requests.unsatisfied"]) == (2, 1)
    assert (found["victims.per_satisfied_request"], found["victims.in_vain"]) == (1.5, 1)


def test_a_flap_is_room_that_came_back_too_soon() -> None:
    runs = [run_of(0, 0, 10, 2), run_of(0, 10, 20, 4), run_of(0, 51, 60, 1), run_of(0, 60, 70, 1)]
    assert one("flaps", record(allocations=runs), flap_within=30) == 1
    assert one("flaps", record(allocations=runs), flap_within=31) == 2
    assert one("flaps", record(allocations=runs), flap_within=31, warm_up=10.5) == 1


def test_lost_shares_are_of_pools_without_children() -> None:
    series = [
        {"time": t * S, "pool": p, "usage": u, "fair_share": 0.5, "demand": d, "guarantee": 0.25}
        for t in (0, 50)
        for p, u, d in ((0, 0.0, 1.0), (1, 0.1, 1.0), (2, 0.6, 0.2))
    ]
    found = compute(record(series=series))
    assert found["lost_share.fair_share"] == pytest.approx(0.4 * 100 / 3600)
    assert found["lost_share.guarantee"] == pytest.approx(0.15 * 100 / 3600)
    x, y = 0.1 / 0.5, 0.6 / 0.2
    assert found["jain"] == pytest.approx((x + y) ** 2 / (2 * (x * x + y * y)))
    # From 60 s on the sample of 50 s stands for all.
    assert one("lost_share.fair_share", record(series=series), warm_up=60) == pytest.approx(0.4 * 40 / 3600)


def test_of_nothing_there_is_nothing() -> None:
    found = compute(record())
    assert math.isnan(found["waiting.p95"])
    assert found["preemptions"] == 0
    assert math.isnan(one("preemptions_per_hour", record(), warm_up=500))


@pytest.mark.parametrize("options", [{"warm_up": -1}, {"slowdown_bound": 0}, {"flap_within": -1}])
def test_other_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(eh.InputError):
        compute(record(), **options)


def test_two_runs_side_by_side() -> None:
    a, b = Metrics({"x": 2, "y": 0.0}), Metrics({"x": 3, "z": 1})
    t = a.against(b, ("a", "b")).to_dict()
    assert t["name"] == ["x", "y", "z"]
    assert t["difference"][0] == 1
    assert t["ratio"][0] == 1.5
    assert math.isnan(t["ratio"][1])
    assert math.isnan(t["a"][2])
    with pytest.raises(KeyError, match=r'did you mean "waiting\.p95"'):
        Metrics({"waiting.p95": 1.0})["waiting.p59"]


def test_each_is_defined_in_the_docs() -> None:
    text = (Path(__file__).parents[3] / "docs" / "concepts" / "metrics.md").read_text()
    found = compute(record(decisions=[preempted(10)]))
    missing = []
    for name in found:
        head = name.removesuffix(".cpu")
        for family in ("preemptions.stage", "preemptions.reason"):
            head = family if head.startswith(family + ".") else head
        stem, _, last = head.rpartition(".")
        if f"`{head}" not in text and not (
            last in ("mean", "p50", "p90", "p95", "p99", "max", "aggressive", "open")
            and f"`{stem}.*`" in text
        ):
            missing.append(name)
        assert unit_of(name)
    assert not missing
