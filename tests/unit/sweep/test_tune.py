"""Goals, and the settings that meet them."""

from __future__ import annotations

import math
from typing import Any

import pytest

import evenhand as eh
from evenhand.sweep.bounds import bound, in_vain, worse
from tests.unit.sweep.small import POLICY, SPACE, START, STRICT, WORK


def test_the_best_point_of_the_first_part_is_taken() -> None:
    space = {**SPACE, "pace.max_victims_per_hour": [0, 20]}
    tuned = eh.tune(START, POLICY, WORK, space, "waiting.p95 < 400", {"preemptions_per_hour": 25})
    split = START.now + (WORK.end - START.now) * 0.7
    every = eh.sweep(START, POLICY, WORK, space, until=split)
    strain = [
        max(wait / 400, rate / 25)
        for wait, rate in zip(every["waiting.p95"], every["preemptions_per_hour"], strict=True)
    ]
    best = min(range(len(strain)), key=strain.__getitem__)
    assert tuned.settings == {name: every[name][best] for name in space}
    assert tuned.met == (strain[best] < 1)
    assert tuned.train["waiting.p95"] == every["waiting.p95"][best]
    assert tuned.policy.settings.fair_share_starvation_timeout == every["fair_share_starvation_timeout"][best]
    whole = eh.simulate(tuned.snapshot, tuned.policy, WORK, until=WORK.end)
    check = eh.simulate.measure(whole, warm_up=split - START.now)
    assert repr(dict(check)) == repr(dict(tuned.check))
    assert tuned.held == (check["waiting.p95"] < 400 and check["preemptions_per_hour"] <= 25)
    assert len(tuned.windows) == 5
    assert None in tuned.windows["holds"]  # a window into which no job came
    assert tuned.sure == sum(map(bool, tuned.windows["holds"])) / sum(
        h is not None for h in tuned.windows["holds"]
    )
    holds = [*tuned.windows["holds"]]
    keep, broken, none = (sum(held is of for held in holds) for of in (True, False, None))
    said = (
        f"; of its 5 windows {keep} keep all bounds, {broken} break one or more, {none} have no waiting.p95"
    )
    assert f"{said} to measure\n" in repr(tuned)
    assert (keep, broken, none) == (1, 0, 4)
    assert list(tuned.table()["name"])[:2] == ["waiting.p95", "preemptions_per_hour"]


def test_points_that_preempt_too_much_are_ended_early() -> None:
    space = {"fair_share_starvation_timeout": [5, 500], "pace.max_victims_per_hour": [0, 200]}
    tuned = eh.tune(START, POLICY, WORK, space, "waiting.p50 < 1e9", {"preemptions": 3})
    ended = [e for e in tuned.points["error"] if e is not None]
    assert tuned.met
    assert tuned.train["preemptions"] <= 3
    strains = dict(zip(tuned.points["strain"], tuned.points["error"], strict=True))
    assert all(math.isnan(s) for s, e in strains.items() if e is not None)
    assert all("more than allowed" in e for e in ended)


def test_what_cannot_be_met_is_said() -> None:
    tuned = eh.tune(START, POLICY, WORK, {"pools.y.weight": [1, 2]}, "waiting.p95 < 0.001")
    assert not tuned.met
    assert not tuned.held
    assert "no settings that were tried meet all bounds" in repr(tuned)


def test_what_stays_in_the_way_of_the_goal_is_said() -> None:
    """Nothing is preemptible: every job is an operation of one allocation."""
    policy = POLICY.replace(consider_allocation_on_fair_share_bound_preemptible=False)
    tuned = eh.tune(START, policy, WORK, {"pools.y.weight": [1, 2]}, "waiting.p95 < 0.001")
    (found,) = tuned.diagnostics
    assert found.code == "single_allocations_stay"
    assert f"\n{found.code}: {found.message}\nname " in repr(tuned)


def test_a_range_is_drawn() -> None:
    space = {"fair_share_starvation_timeout": eh.sweep.between(5, 400)}
    tuned = eh.tune(START, POLICY, WORK, space, "utilisation.cpu > 0.1", points=4, seed=2)
    assert len(tuned.points) == 4
    assert tuned.met


@pytest.mark.parametrize(
    ("text", "metric", "sign", "value"),
    [
        ("starvation.p95 < 600", "starvation.p95", "<", 600),
        ("utilisation.gpu>=0.7", "utilisation.gpu", ">=", 0.7),
        (" jain > 1e-1 ", "jain", ">", 0.1),
    ],
)
def test_goals(text: str, metric: str, sign: str, value: float) -> None:
    of = bound(text)
    assert (of.metric, of.sign, of.value) == (metric, sign, value)
    assert bound(str(of)) == of


@pytest.mark.parametrize("value", [0.0, 1.0, 2.0, math.nan])
@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_strain_is_below_one_where_a_bound_holds(value: float, sign: str, limit: float) -> None:
    of = bound(f"jobs {sign} {limit}")
    strain = of.strain({"jobs": value})
    if strain < 1:
        assert of.holds({"jobs": value})
    if strain > 1:
        assert not of.holds({"jobs": value})


@pytest.mark.parametrize(
    ("goal", "options", "said"),
    [
        ("starvation.p95 = 600", {}, "one of < <= > >="),
        ("starvation.p95 < soon", {}, "one of < <= > >="),
        ("starvation.p95 < inf", {}, "one of < <= > >="),
        ("starvation < 600", {}, 'there is no metric "starvation"'),
        ("waiting.p95 < 6", {"at_most": {"preemption": 5}}, "did you mean"),
        ("waiting.p95 < 6", {"at_most": {"preemptions": "5"}}, "a number"),
        ("waiting.p95 < 6", {"at_most": 5}, "at_most"),
        ("waiting.p95 < 6", {"held_out": 1.0}, "between 0 and 1"),
        ("waiting.p95 < 6", {"warm_up": 1e6}, "shorter"),
        ("waiting.p95 < 6", {"points": 0}, "points"),
        (3, {}, "text such as"),
    ],
)
def test_wrong_goals_are_named(goal: Any, options: Any, said: str) -> None:
    with pytest.raises(eh.InputError) as caught:
        eh.tune(START, POLICY, WORK, {"pools.y.weight": [1]}, goal, **options)
    assert said in str(caught.value)


def test_points_that_are_all_refused() -> None:
    with pytest.raises(eh.InputError, match="must not be shorter"):
        eh.tune(START, STRICT, WORK, {"fair_share_starvation_timeout": [600]}, "waiting.p95 < 6")


def test_of_equally_good_points_the_one_that_costs_less_is_taken() -> None:
    """The goal says nothing of preemptions: what loses least work is taken, then what preempts least."""
    space = {"fair_share_starvation_timeout": [5, 30, 500], "pace.max_victims_per_hour": [20, 0]}
    tuned = eh.tune(START, POLICY, WORK, space, "jobs >= 1")
    points = tuned.points.to_dict()
    assert len(set(points["strain"])) == 1
    costs = list(zip(points["lost_work.cpu"], points["preemptions_per_hour"], strict=True))
    assert min(costs) < costs[0]  # which would be the first one otherwise
    best = costs.index(min(costs))
    assert tuned.settings == {name: points[name][best] for name in space}


def test_of_those_that_lose_as_much_the_one_that_preempts_less_is_taken() -> None:
    """Saved work is not lost, however often it is interrupted."""
    rows = {**WORK.table().to_dict(), "checkpoint_every": [1.0] * len(WORK)}
    work = eh.simulate.Workload(rows, operations=WORK.operations(), pools=WORK.pools())
    start = work.snapshot(nodes=2, cpu=4)
    space = {"fair_share_starvation_timeout": [5, 500]}
    policy = POLICY.replace(allocation_preemption_timeout=0)
    tuned = eh.tune(start, policy, work, space, "jobs >= 1", heartbeat_period=1)
    points = tuned.points.to_dict()
    rates = points["preemptions_per_hour"]
    assert list(points["lost_work.cpu"]) == [0, 0]
    assert rates[0] > rates[1]
    assert tuned.settings == {"fair_share_starvation_timeout": 500}


def test_a_goal_with_nothing_to_measure_is_not_met_and_is_said_so() -> None:
    """Nothing starves before 5,000 s; but a limit on what did not happen holds."""
    limits = {"victims.per_satisfied_request": 0.5}
    space = {"fair_share_starvation_timeout": [5000, 6000]}
    policy = POLICY.replace(fair_share_aggressive_starvation_timeout=9000)
    tuned = eh.tune(START, policy, WORK, space, "starvation.p95 < 600", limits)
    assert not tuned.met
    assert not tuned.held
    assert math.isnan(tuned.sure)
    assert list(tuned.points["strain"]) == [math.inf, math.inf]
    assert list(tuned.windows["holds"]) == [None] * 5
    said = "starvation.p95 has nothing to measure there, which meets no goal"
    assert repr(tuned).count(said) == 2
    said = "0 keep all bounds, 0 break one or more, 5 have no starvation.p95 to measure"
    assert f"over the whole of it starvation.p95 < 600 is broken; of its 5 windows {said}" in repr(tuned)
    assert "\nstrain (below 1 all bounds hold): inf, with the settings as given " in repr(tuned)
    assert " in windows " not in repr(tuned)
    limited = eh.tune(START, policy, WORK, space, "waiting.p95 < 1e6", limits)
    assert limited.met


def test_a_point_that_starves_is_better_than_one_that_cannot_be_judged() -> None:
    space = {"fair_share_starvation_timeout": [5000, 30]}
    policy = POLICY.replace(fair_share_aggressive_starvation_timeout=9000)
    tuned = eh.tune(START, policy, WORK, space, "starvation.p95 < 600")
    assert tuned.settings == {"fair_share_starvation_timeout": 30}
    assert tuned.met


def test_refused_points_are_said_first_with_the_most_frequent_reason() -> None:
    timeouts = {"fair_share_starvation_timeout": [5, 500, 500.000001, 600, 700]}
    tuned = eh.tune(START, STRICT, WORK, timeouts, "waiting.p95 < 400")
    said = repr(tuned).split("\n")
    assert said[0].startswith("3 of 5 points were refused, 1 of them: ")
    assert "it must not be shorter than fair_share_starvation_timeout" in said[0]
    assert said[1] == "2 other reasons: points.to_dict()['error']"
    none = repr(eh.tune(START, eh.policies.YTsaurus(), WORK, timeouts, "waiting.p95 < 400"))
    assert none.startswith("0 of 5 points were refused\n\ngoodput: ")
    one = eh.tune(START, STRICT, WORK, {"fair_share_starvation_timeout": [5, 600]}, "waiting.p95 < 400")
    assert repr(one).startswith("1 of 2 points were refused: fair_share_aggressive_starvation_timeout is ")
    with pytest.raises(eh.InputError, match="2 of 2 points were refused, 1 of them: "):
        eh.tune(START, STRICT, WORK, {"fair_share_starvation_timeout": [600, 700]}, "waiting.p95 < 400")


#: Whole jobs that all want all of a node: with the switch on they preempt each other before any is done.
CIRCLES = eh.simulate.Workload(
    {
        "name": range(12),
        "pool": [f"p{i % 4}" for i in range(12)],
        "resources.cpu": [4] * 12,
        "submit_time": range(0, 240, 20),
        "run_time": [600] * 12,
    }
)
SWITCH = "consider_allocation_on_fair_share_bound_preemptible"


def test_settings_under_which_nothing_gets_done_are_not_recommended() -> None:
    start, policy = CIRCLES.snapshot(nodes=2, cpu=4), eh.policies.YTsaurus()
    options: dict[str, Any] = {"goal": "waiting.p95 < 600", "until": 6000}
    tuned = eh.tune(start, policy, CIRCLES, {SWITCH: [True, False]}, **options)
    assert tuned.settings == {SWITCH: False}
    points = tuned.points.to_dict()
    assert points["strain"][0] < points["strain"][1], "it would be taken by its bounds alone"
    assert points["lost_work.cpu"][0] > points["goodput.cpu"][0]
    kept, lost = tuned.train["goodput.cpu"], tuned.train["lost_work.cpu"]
    assert f"goodput: {kept:,.1f} of {kept + lost:,.1f} cpu-hours; as given: " in repr(tuned)
    assert lost < kept
    only = eh.tune(start, policy, CIRCLES, {SWITCH: [True]}, **options)
    assert not only.met
    assert "at all settings that were tried more work is lost than kept" in repr(only)


@pytest.mark.parametrize(("kept", "vain"), [(2.0, False), (2.000001, False), (1.999999, True)])
def test_as_much_lost_as_kept_is_notin_vain(kept: float, vain: bool) -> None:
    metrics = {"goodput.cpu": kept, "lost_work.cpu": 2.0, "goodput.gpu": 0.0, "lost_work.gpu": 0.0}
    assert in_vain(metrics) == vain


TIMEOUT = "fair_share_starvation_timeout"


@pytest.mark.parametrize(
    ("given", "values", "at_most", "taken", "but_worse"),
    [
        (500, [5, 30, 100, 500], None, 500, 3),  # the others lose more, and meet the goal by more or less
        (30, [5, 30, 100, 500], None, 500, 1),  # 100 loses more than 30
        (500, [5, 30, 100, 500], {"lost_work.cpu": 100}, 100, 0),  # that much may be lost
    ],
)
def test_what_loses_more_work_than_the_settings_as_given_is_not_recommended(
    given: float, values: list[float], at_most: Any, taken: float, but_worse: int
) -> None:
    policy = POLICY.replace(**{TIMEOUT: given})
    tuned = eh.tune(START, policy, WORK, {TIMEOUT: values}, "waiting.p95 < 400", at_most)
    points = tuned.points.to_dict()
    assert min(points["strain"]) == points["strain"][values.index(100)] < 1
    assert tuned.settings == {TIMEOUT: taken}
    assert (tuned.met, tuned.worse, tuned.met_but_worse) == (True, None, but_worse)
    whole = eh.simulate(START, policy, WORK, until=START.now + (WORK.end - START.now) * 0.7).metrics
    assert tuned.before["lost_work.cpu"] == whole["lost_work.cpu"]
    assert tuned.before["goodput.cpu"] == whole["goodput.cpu"]
    if at_most is None:
        assert tuned.train["lost_work.cpu"] <= tuned.before["lost_work.cpu"]
        assert tuned.train["goodput.cpu"] >= tuned.before["goodput.cpu"]


def test_where_all_lose_more_work_none_is_recommended_and_why_is_said() -> None:
    policy = POLICY.replace(**{TIMEOUT: 500})
    tuned = eh.tune(START, policy, WORK, {TIMEOUT: [5, 30, 100]}, "waiting.p95 < 400")
    assert (tuned.settings, tuned.met, tuned.met_but_worse) == ({TIMEOUT: 100}, False, 3)
    lost, had = tuned.train["lost_work.cpu"], tuned.before["lost_work.cpu"]
    assert tuned.worse == f"{lost:.4g} cpu-hours of work are lost, and were {had:.4g}"
    text = repr(tuned)
    assert (
        f"all settings that were tried do worse than those given; these come nearest: {tuned.worse}" in text
    )
    assert "3 of 3 points meet all bounds, but lose more work or finish less" in text
    assert "; as given: 1.6 of 1.8 cpu-hours" in text


def test_which_bound_is_in_the_way_and_how_far_is_said() -> None:
    tuned = eh.tune(START, POLICY, WORK, {"pools.y.weight": [1, 2]}, "waiting.p95 < 0.001", {"jobs": 1000})
    wait = tuned.train["waiting.p95"]
    assert f"these come nearest; waiting.p95 < 0.001 is {wait:.4g}\n" in repr(tuned)


@pytest.mark.parametrize(
    ("found", "stated", "said"),
    [
        ((9, 5), (), None),
        ((9, 5.001), (), "5.001 cpu-hours of work are lost, and were 5"),
        ((9, 5.001), ("lost_work.cpu",), None),
        ((8.999, 5), (), "8.999 cpu-hours of work are finished, and were 9"),
        ((8.999, 5), ("goodput.cpu",), None),
        ((8.999, 5.001), ("goodput.cpu",), "5.001 cpu-hours of work are lost, and were 5"),
        ((8.999, 5), ("lost_work.cpu",), None),
        ((9 - 1e-12, 5 + 1e-12), (), None),  # rounding
    ],
)
def test_what_is_worse(found: tuple[float, float], stated: tuple[str, ...], said: str | None) -> None:
    def metrics(kept: float, lost: float) -> dict[str, float]:
        return {"goodput.cpu": kept, "lost_work.cpu": lost}

    assert worse(metrics(*found), metrics(9, 5), stated) == said
