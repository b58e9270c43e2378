"""Suspend on subordinate in plans: thresholds, order, what counts, and what the lists may say (U20, U56).

Expected values follow Grid Engine 8.1.9, queue_conf(5), subordinate_list, and its source.
"""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh

NOW = 1000


def lists(**texts: str) -> eh.policies.GridEngine:
    """A policy with a list by queue."""
    queues = {name: {"subordinate_list": text} for name, text in texts.items()}
    return eh.policies.GridEngine(queues=queues)


def host(*jobs: tuple[Any, ...], waiting: tuple[Any, ...] = (), slots: int = 30) -> eh.Snapshot:
    """One host; jobs are name, queue, start and what else their allocations say."""
    operations = [{"name": name, "pool": queue} for name, queue, *_ in (*jobs, *waiting)]
    return eh.Snapshot.from_dict(
        {
            "now": NOW,
            "resources": {"slots": {"kind": "slots"}},
            "nodes": [{"name": "h", "capacity": {"slots": slots}}],
            "pools": [{"name": name} for name in ("high", "mid", "low", "other")],
            "operations": operations,
            "allocations": [
                {
                    "name": f"{name}-a",
                    "operation": name,
                    "node": "h",
                    "resources": {"slots": 1},
                    "start_time": start,
                    **(more[0] if more else {}),
                }
                for name, _, start, *more in jobs
            ],
            "requests": [
                {"name": f"{name}-r", "operation": name, "resources": {"slots": 1}} for name, _ in waiting
            ],
        }
    )


def stopped(name: str, queue: str, start: int) -> tuple[Any, ...]:
    return name, queue, start, {"state": "preempted", "held": {"slots": 1}}


def done(plan: eh.Plan) -> list[tuple[str, Any]]:
    return [(d.action, d.operation) for d in plan.decisions]


@pytest.mark.parametrize(("low", "expected"), [(2, []), (3, ["l2"]), (4, ["l3", "l2"])])
def test_jobs_stop_while_more_run_than_the_threshold(low: int, expected: list[str]) -> None:
    jobs = [("h0", "high", 10), ("h1", "high", 11), *((f"l{i}", "low", 20 + i) for i in range(low))]
    plan = eh.plan(host(*jobs), lists(high="slots=4(low)"))
    assert done(plan) == [("preempt", name) for name in expected]
    for d in plan.decisions:
        assert (d.mode, dict(d.freed), dict(d.kept), d.beneficiary) == ("suspend", {}, {"slots": 1}, None)
        assert plan.job_states[str(d.operation)].status == "S"


@pytest.mark.parametrize(("running", "expected"), [(1, ["l0", "l1"]), (2, ["l0"]), (3, []), (4, [])])
def test_jobs_resume_while_fewer_run_than_the_threshold(running: int, expected: list[str]) -> None:
    jobs = [
        *((f"h{i}", "high", i) for i in range(running)),
        *(stopped(f"l{i}", "low", 20 + i) for i in (0, 1)),
    ]
    plan = eh.plan(host(*jobs), lists(high="slots=3(low)"))
    assert done(plan) == [("resume", name) for name in expected]
    assert {plan.job_states[name].status for name in expected} <= {"r"}


@pytest.mark.parametrize(
    ("text", "first", "back"), [("slots=2(low:0:sr)", "l2", "l1"), ("slots=2(low:0:lr)", "l1", "l2")]
)
def test_run_time_decides_in_a_queue(text: str, first: str, back: str) -> None:
    """The shortest (longest) stops first; of those stopped the opposite end resumes first."""
    runs = host(("h0", "high", 1), ("l1", "low", 500), ("l2", "low", 501))
    assert done(eh.plan(runs, lists(high=text))) == [("preempt", first)]
    rest = host(("h0", "high", 1), stopped("l1", "low", 500), stopped("l2", "low", 501))
    assert done(eh.plan(rest, lists(high=text))) == [("resume", back)]


@pytest.mark.parametrize("action", ["sr", "lr"])
def test_of_equal_start_times_the_last_job_is_chosen(action: str) -> None:
    runs = host(("h0", "high", 1), ("l1", "low", 500), ("l2", "low", 500))
    assert done(eh.plan(runs, lists(high=f"slots=2(low:0:{action})"))) == [("preempt", "l2")]
    rest = host(("h0", "high", 1), stopped("l1", "low", 500), stopped("l2", "low", 500))
    assert done(eh.plan(rest, lists(high=f"slots=2(low:0:{action})"))) == [("resume", "l2")]


@pytest.mark.parametrize(("low", "mid", "expected"), [(1, 2, "m"), (2, 1, "l"), (2, 2, "l")])
def test_the_highest_seq_no_stops_first(low: int, mid: int, expected: str) -> None:
    """Of equal ones run time decides between their queues too."""
    runs = host(("h", "high", 1), ("m", "mid", 500), ("l", "low", 501))
    assert done(eh.plan(runs, lists(high=f"slots=2(mid:{mid},low:{low})"))) == [("preempt", expected)]


def test_where_actions_differ_the_first_queue_of_the_tree_decides() -> None:
    runs = host(
        ("h", "high", 1), ("m1", "mid", 500), ("m2", "mid", 502), ("l1", "low", 501), ("l2", "low", 503)
    )
    assert done(eh.plan(runs, lists(high="slots=4(mid:0:lr,low:0:sr)"))) == [("preempt", "m1")]
    assert done(eh.plan(runs, lists(high="slots=4(low:0:sr,mid:0:lr)"))) == [("preempt", "l2")]


def test_the_deepest_level_stops_first_and_resumes_last() -> None:
    tree = lists(high="slots=2(mid:9)", mid="slots=9(low:0)")
    runs = host(("h", "high", 1), ("m", "mid", 900), ("l", "low", 2))
    assert done(eh.plan(runs, tree)) == [("preempt", "l")]
    rest = host(("h", "high", 1), stopped("m", "mid", 900), stopped("l", "low", 2))
    assert done(eh.plan(rest, tree)) == [("resume", "m")]


def test_thresholds_hold_at_every_level() -> None:
    """What resumes by the root's threshold never exceeds one between."""
    tree = lists(high="slots=4(mid)", mid="slots=1(low)")
    runs = host(("m", "mid", 1), ("l", "low", 2))
    plan = eh.plan(runs, tree)
    assert done(plan) == [("preempt", "l")]
    assert not eh.plan(runs.after(plan), tree, plan.state).decisions
    # Two below it may not change places either: the longer one stays stopped.
    waits = host(stopped("l0", "low", 2), ("l1", "low", 5))
    assert not eh.plan(waits, tree).decisions
    # A job of the level between may run instead of one below it.
    change = eh.plan(host(("h", "high", 1), stopped("m", "mid", 3), ("l", "low", 2)), tree)
    assert done(change) == [("resume", "m"), ("preempt", "l")]


def test_a_queues_own_jobs_never_stop_for_it() -> None:
    runs = host(*((f"h{i}", "high", i) for i in range(5)))
    plan = eh.plan(runs, lists(high="slots=2(low)"))
    assert not plan.decisions
    assert plan.why_not("h0-a").code == "subordinate_to_none"


@pytest.mark.parametrize("state", ["suspended", "preempting"])
def test_what_was_stopped_by_hand_or_leaves_does_not_count(state: str) -> None:
    """It keeps its slot and its letter s (U20), and another runs in its stead."""
    runs = host(("h", "high", 1, {"state": state}), ("h2", "high", 2), ("l", "low", 3))
    plan = eh.plan(runs, lists(high="slots=2(low)"))
    assert not plan.decisions
    assert plan.job_states["h"].status == ("s" if state == "suspended" else "dr")
    both = host(("h", "high", 1), ("h2", "high", 2), ("l", "low", 3))
    assert done(eh.plan(both, lists(high="slots=2(low)"))) == [("preempt", "l")]


def test_what_starts_is_looked_at_in_turn() -> None:
    """A start of a high job stops a low one at once; a low one that starts too many stops in the next run."""
    policy = lists(high="slots=2(low)")
    snapshot = host(("h", "high", 1), ("l", "low", 2), waiting=(("h2", "high"),))
    assert done(eh.plan(snapshot, policy)) == [("start", "h2"), ("preempt", "l")]
    snapshot = host(("h", "high", 1), ("h2", "high", 2), waiting=(("l", "low"),))
    plan = eh.plan(snapshot, policy)
    assert done(plan) == [("start", "l")]
    assert done(eh.plan(snapshot.after(plan), policy, plan.state)) == [("preempt", "l")]


def test_what_resumes_is_not_stopped_in_the_same_run() -> None:
    """An end and a start at once leave things as they are."""
    snapshot = host(("h", "high", 1), stopped("l", "low", 2), waiting=(("h2", "high"),))
    assert done(eh.plan(snapshot, lists(high="slots=2(low)"))) == [("start", "h2")]


def test_hosts_are_apart() -> None:
    data = host(("h", "high", 1), ("l", "low", 2)).to_dict()
    data["nodes"].append({"name": "g", "capacity": {"slots": 3}})
    data["allocations"][1]["node"] = "g"
    assert not eh.plan(eh.Snapshot.from_dict(data), lists(high="slots=1(low)")).decisions
    data["allocations"][1]["node"] = "h"
    assert done(eh.plan(eh.Snapshot.from_dict(data), lists(high="slots=1(low)"))) == [("preempt", "l")]


def test_the_queue_of_a_row_counts_before_its_pool() -> None:
    snapshot = host(("h", "high", 1), ("x", "high", 2, {"settings": {"queue": "low"}}))
    assert done(eh.plan(snapshot, lists(high="slots=1(low)"))) == [("preempt", "x")]
    snapshot = host(("h", "high", 1), ("x", "low", 2, {"settings": {"queue": "unknown.q"}}))
    assert not eh.plan(snapshot, lists(high="slots=1(low)")).decisions


def test_without_a_list_nothing_changes() -> None:
    snapshot = host(*((f"l{i}", "low", i) for i in range(9)), ("h", "high", 1))
    assert not eh.plan(snapshot, eh.policies.GridEngine(queues={"high": {}, "low": {}})).decisions
    assert not eh.plan(snapshot, lists(high="NONE")).decisions


def test_it_is_no_preemptee_and_frees_nothing() -> None:
    """It counts against no cap, is no provider, waits for no room, and its own is nobody else's."""
    snapshot = host(
        *(("h", "high", 1), ("h2", "high", 2), stopped("l", "low", 3), ("o", "other", 4)),
        waiting=(("w", "other"),),
        slots=4,
    )
    data = snapshot.to_dict()
    data["operations"] = [{**o, "priority": 9 if o["name"] == "w" else 1} for o in data["operations"]]
    data["requests"][0]["reserve"] = True
    snapshot = eh.Snapshot.from_dict(data)
    policy = lists(high="slots=2(low)").replace(max_reservation=5, max_preemptees=1, preemption_distance=0)
    assert "w-r" in {r.request for r in eh.plan(snapshot, policy).refusals}
    command = {"consumer": "w", "providers": ["l"], "action": "P", "manager": True}
    refused = eh.plan(snapshot, policy, on=eh.Commands([command])).refusals
    assert [r.rule for r in refused] == ["provider_not_running"]
    asked = eh.plan(snapshot, policy, on=eh.Commands([command | {"providers": ["o"]}]))
    assert done(eh.plan(snapshot, policy, asked.state)) == [("preempt", "o")]


def test_its_room_is_planned_until_its_planned_end() -> None:
    data = host(stopped("l", "low", 3), ("h", "high", 1), waiting=(("w", "other"),), slots=2).to_dict()
    rows = {row["name"]: row for row in data["allocations"]}
    rows["l-a"]["planned_end"], rows["h-a"]["planned_end"] = NOW + 300, NOW + 900
    data["requests"][0] |= {"reserve": True, "duration": 50}
    policy = lists(high="slots=1(low)").replace(max_reservation=5)
    (reserved,) = eh.plan(eh.Snapshot.from_dict(data), policy).decisions
    assert (reserved.action, reserved.at) == ("reserve", NOW + 300 + 60)


@pytest.mark.parametrize(("used", "suspended"), [(2, False), (3, True), (4, True)])
def test_queue_wise_all_jobs_of_the_instance_stop(used: int, suspended: bool) -> None:
    policy = lists(high="low=3")
    jobs = [("h", "high", 1, {"resources": {"slots": used}}), ("l1", "low", 2), ("l2", "low", 3)]
    plan = eh.plan(host(*jobs), policy)
    assert done(plan) == ([("preempt", "l1"), ("preempt", "l2")] if suspended else [])
    if suspended:
        assert plan.decisions[0].reason == "queue_suspended"
        assert plan.decisions[0].numbers["queue"] == "high"
        assert (plan.decisions[0].numbers["count"], plan.decisions[0].numbers["most"]) == (used, 3)
    jobs[1:] = [stopped("l1", "low", 2), stopped("l2", "low", 3)]
    back = eh.plan(host(*jobs), policy)
    assert done(back) == ([] if suspended else [("resume", "l1"), ("resume", "l2")])


def test_queue_wise_without_a_number_all_slots_must_be_in_use() -> None:
    policy = eh.policies.GridEngine(queues={"high": {"subordinate_list": "low", "slots": 2}})
    assert not eh.plan(host(("h", "high", 1), ("l", "low", 2)), policy).decisions
    full = host(("h", "high", 1), ("h2", "high", 1), ("l", "low", 2))
    assert done(eh.plan(full, policy)) == [("preempt", "l")]


def test_queue_wise_stopped_jobs_still_use_their_slots() -> None:
    """What a suspended queue suspends stays suspended."""
    policy = lists(high="mid=1", mid="low=1")
    plan = eh.plan(host(("h", "high", 1), stopped("m", "mid", 2), stopped("l", "low", 3)), policy)
    assert not plan.decisions
    assert plan.why_not("l-a").code == "subordinate_queue_suspended"


def test_queue_wise_nothing_starts_in_a_suspended_instance() -> None:
    policy = lists(high="low=2")
    snapshot = host(("h", "high", 1), waiting=(("h2", "high"), ("l", "low")))
    plan = eh.plan(snapshot, policy)
    assert done(plan) == [("start", "h2")]
    assert [r.rule for r in plan.refusals] == ["subordinate_queue_suspended"]
    assert done(eh.plan(host(("h", "high", 1), waiting=(("l", "low"),)), policy)) == [("start", "l")]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(("threshold", "taken"), [(2, "h1"), (1, "h2")])
def test_queue_wise_no_job_is_preempted_where_the_waiting_one_may_not_start(
    parts: int, threshold: int, taken: str
) -> None:
    """Of two full hosts, the first is taken only while its instance of the queue is open."""
    rows = [("top", "high", "h1", 9)]
    rows += [(f"{node}-{i}", "other", node, 0) for node in ("h1", "h2") for i in range(parts)]
    data = {
        "now": NOW,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [
            {"name": node, "capacity": {"slots": sum(row[2] == node for row in rows)}}
            for node in ("h1", "h2")
        ],
        "pools": [{"name": name} for name in ("high", "low", "other")],
        "operations": [
            *({"name": name, "pool": pool, "priority": priority} for name, pool, _, priority in rows),
            {"name": "w", "pool": "low", "priority": 5},
        ],
        "allocations": [
            {"name": name, "operation": name, "node": node, "resources": {"slots": 1}, "start_time": 1}
            for name, _, node, _ in rows
        ],
        "requests": [
            {"name": "w-r", "operation": "w", "resources": {"slots": 1}, "count": parts, "reserve": True}
        ],
    }
    policy = eh.policies.GridEngine(
        queues={"high": {"subordinate_list": f"low={threshold}"}},
        max_preemptees=4,
        max_reservation=1,
        automatic_preemption=True,
    )
    victims = [
        d
        for d in eh.plan(eh.Snapshot.from_dict(data), policy).decisions
        if d.reason == "automatic_preemption"
    ]
    assert [d.node for d in victims] == [taken] * parts


WRONG = [
    ("slots=4", "syntax"),
    ("slots=0(low)", "syntax"),
    ("slots=x(low)", "syntax"),
    ("slots=4()", "syntax"),
    ("slots=4(low:0:xr)", "syntax"),
    ("slots=4(low:-1)", "syntax"),
    ("slots=4(low:0:sr:1)", "syntax"),
    ("slots=4(low,low)", "syntax"),
    ("low=0", "syntax"),
    ("low=", "syntax"),
    ("low@h=2", "syntax"),
    ("low", "required"),
    ("slots=4(high)", "cycle"),
    ("high=3", "cycle"),
]


@pytest.mark.parametrize(("text", "rule"), WRONG)
def test_a_malformed_list_is_named(text: str, rule: str) -> None:
    with pytest.raises(eh.InputError) as found:
        lists(high=text)
    (problem,) = found.value.problems
    assert (problem.table, problem.field, problem.rule) == ("settings", "queues.high.subordinate_list", rule)
    assert "queues.high.subordinate_list" in problem.message


def test_lists_that_do_not_fit_together_are_named() -> None:
    with pytest.raises(eh.InputError) as found:
        lists(high="slots=4(low)", mid="slots=2(low)")
    assert [(p.field, p.rule) for p in found.value.problems] == [
        ("queues.mid.subordinate_list", "one_superordinate")
    ]
    with pytest.raises(eh.InputError) as found:
        lists(high="slots=4(low)", low="slots=2(high)")
    assert {p.rule for p in found.value.problems} == {"cycle"}


def test_the_order_and_the_numbers_are_in_the_reasons() -> None:
    snapshot = host(("h", "high", 1), ("l1", "low", 2), ("l2", "low", 3))
    plan = eh.plan(snapshot, lists(high="slots=2(low:7)"))
    (stop,) = plan.decisions
    assert {key: stop.numbers[key] for key in ("queue", "count", "most", "level", "seq_no", "wallclock")} == {
        "queue": "high",
        "count": 3,
        "most": 2,
        "level": 1,
        "seq_no": 7,
        "wallclock": NOW - 3,
    }
    why = plan.why("l2-a").text
    assert "3 jobs ran in queue high and below it" in why
    assert "slots=2" in why
    assert plan.why_not("l1-a").code == "others_stop_first"
    assert plan.why_not("l1-a").numbers == {"queue": "high", "count": 2, "most": 2}
    then = snapshot.after(plan)
    again = eh.plan(then, lists(high="slots=2(low:7)"), plan.state)
    assert again.why_not("l2-a").code == "stays_subordinate"
    assert again.why_not("l1-a").code == "within_subordinate_threshold"
    assert again.job_states["l2"].status == "S"


@pytest.mark.parametrize("counted", [("slots",), ("slots", "slots@high"), ("slots@high",)])
@pytest.mark.parametrize(("used", "expected"), [(1, []), (2, ["l1", "l2"]), (3, ["l1", "l2"])])
def test_slots_of_a_host_and_of_its_queue_are_the_same(
    counted: tuple[str, ...], used: int, expected: list[str]
) -> None:
    """Queue-wise: from two slots in use on, whatever counts them."""
    resources = [*dict.fromkeys(("slots", "slots@low", *counted))]
    jobs = [("l1", "low", 1), ("l2", "low", 1), ("h1", "high", used)]
    snapshot = eh.Snapshot.from_dict(
        {
            "now": NOW,
            "resources": {name: {"kind": "slots"} for name in resources},
            "nodes": [{"name": "h", "capacity": dict.fromkeys(resources, 8)}],
            "operations": [{"name": name} for name, *_ in jobs],
            "allocations": [
                {
                    "name": f"{name}-a",
                    "operation": name,
                    "node": "h",
                    "resources": dict.fromkeys(counted if queue == "high" else ("slots", "slots@low"), slots),
                    "start_time": 0,
                    "settings": {"queue": queue},
                }
                for name, queue, slots in jobs
            ],
        }
    )
    plan = eh.plan(snapshot, lists(high="low=2", low="NONE"))
    assert [d.operation for d in plan.decisions.victims] == expected
