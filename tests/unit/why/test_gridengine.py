"""What Grid Engine's policy explains: planned room, caps, order, action and distance by their values."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.reference.explanations import check_explanations

ON: dict[str, Any] = {"max_reservation": 2, "max_preemptees": 2, "automatic_preemption": True}


def job(name: str, priority: float, **parts: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """A job with its allocations (`runs`) and requests (`asks`), which are called after it."""
    rows: dict[str, list[dict[str, Any]]] = {"operations": [{"name": name, "priority": priority}]}
    for table, of, letter in (("allocations", "runs", "a"), ("requests", "asks", "r")):
        rows[table] = [
            {"name": f"{name}{letter}{i}", "operation": name, **row}
            for i, row in enumerate(parts.get(of, []))
        ]
    return rows


def planned(nodes: dict[str, float], *jobs: dict[str, list[dict[str, Any]]], **settings: Any) -> eh.Plan:
    """Plan a run over hosts with slots; every sentence of it is checked."""
    data: dict[str, Any] = {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}, "lic": {"scope": "cluster", "capacity": 2}},
        "nodes": [{"name": name, "capacity": {"slots": slots}} for name, slots in nodes.items()],
        "operations": [],
        "allocations": [],
        "requests": [],
    }
    for one in jobs:
        for table, rows in one.items():
            data[table] += rows
    plan = eh.plan(eh.Snapshot.from_dict(data), eh.policies.GridEngine(**{**ON, **settings}))
    check_explanations(plan)
    return plan


def runs(node: str, slots: float, **more: Any) -> dict[str, Any]:
    return {"node": node, "resources": {"slots": slots}, **more}


def asks(slots: float, **more: Any) -> dict[str, Any]:
    return {"resources": {"slots": slots}, "reserve": True, **more}


# --- what waits


def test_room_that_is_planned_for_another_is_not_called_missing_nothing() -> None:
    """It said "too little free room: nothing is missing"."""
    plan = planned(
        {"h": 4},
        job("low", 0.1, runs=[runs("h", 3, preemptible=False, planned_end=2000)]),
        job("big", 0.9, asks=[asks(4)]),
        job("small", 0.5, asks=[asks(1, reserve=False)]),
        automatic_preemption=False,
    )
    told = plan.why("smallr0")
    assert told.code == "no_free_room"
    assert told.summary == (
        "Request smallr0 of operation small (1 slots) did not start:"
        " 1 slots on node h is free now and planned for operation big while it would run."
    )
    assert told.numbers["planned_for"] == "big"
    assert (
        "It asks for no reservation, so no room is planned and no job is preempted for it." in told.sentences
    )


def test_where_it_comes_closest_is_named() -> None:
    plan = planned(
        {"h1": 2, "h2": 3},
        job("a", 0.9, runs=[runs("h1", 2), runs("h2", 1)]),
        job("b", 0.5, asks=[asks(3)]),
    )
    told = plan.why("br0")
    assert told.looked_at[0]["node"] == "h2"
    assert told.looked_at[0]["missing"] == {"slots": 1}
    assert "On node h2, which comes closest, 1 slots is missing for it." in told.sentences
    assert told.summary.endswith("no job of lower priority than 0.5 runs that may be preempted for it.")


def test_what_is_missing_even_with_victims_is_what_they_do_not_free() -> None:
    """It was what is missing with all of them in their places."""
    plan = planned(
        {"h": 4},
        job("low", 0.1, runs=[runs("h", 1)]),
        job("same", 0.5, runs=[runs("h", 2)]),
        job("high", 0.5, asks=[asks(4)]),
    )
    told = plan.why("highr0")
    assert told.code == "no_room_even_with_victims"
    assert told.looked_at[0]["missing"] == {"slots": 2}
    assert told.summary.endswith(
        "on node h 2 slots is missing for it, even with all gone that may be preempted for it."
    )
    spared = plan.why("lowa0")
    assert spared.summary.endswith("request highr0 of operation high would not fit even with it gone.")


def test_a_job_of_two_requests_names_the_one_that_finds_no_room() -> None:
    plan = planned({"h": 3}, job("two", 0.5, asks=[asks(1), asks(3)]), automatic_preemption=False)
    told = plan.why("twor0")
    assert "on node h 1 slots is missing for request twor1 of the same job" in told.summary
    assert told.looked_at[0]["compared"]["other_request"] == "twor1"


def test_a_reservation_says_when_and_which_setting_kept_it_from_preempting() -> None:
    low = job("low", 0.1, runs=[runs("h", 1, planned_end=1240)])
    high = job("high", 0.9, asks=[asks(1)])
    told = planned({"h": 1}, low, high).why("highr0")
    assert told.code == "waits_for_reservation"
    assert told.summary.endswith("its reservation begins at 1,300 s (in 5 min).")
    assert "That is within `preemption_distance` (15 min), so no job is preempted for it." in told.sentences
    assert planned({"h": 1}, low, high, preemption_distance=299).decisions.victims
    off = planned({"h": 1}, low, high, automatic_preemption=False).why("highr0")
    assert any(one.startswith("`automatic_preemption` is off") for one in off.sentences)


def test_no_reservation_is_left() -> None:
    plan = planned(
        {"h": 1},
        job("low", 0.1, runs=[runs("h", 1, planned_end=1240)]),
        job("first", 0.9, asks=[asks(1, duration=60)]),
        job("second", 0.8, asks=[asks(1, duration=60)]),
        max_reservation=1,
    )
    told = plan.why("secondr0")
    expected = (
        "As many jobs before it have a reservation as `max_reservation` 1 allows, so it gets none and"
        " preempts no job."
    )
    assert expected in told.sentences
    assert told.numbers["max_reservation"] == 1


def test_a_cap_says_how_many_would_leave_and_how_many_are_preempted() -> None:
    """It said that as many are preempted as may be, where none is."""
    low = job("low", 0.1, runs=[runs("h", 1)]), job("too", 0.1, runs=[runs("h", 1)])
    spare = job("other", 0.2, runs=[runs("h", 1)])
    high = job("high", 0.9, asks=[asks(2)])
    plan = planned({"h": 3}, *low, spare, high, max_preemptees=1)
    told = plan.why("highr0")
    assert told.code == "max_preemptees"
    assert told.summary.endswith(
        "2 jobs would have to be preempted for it, more than `max_preemptees` 1 allows."
    )
    assert (told.numbers["wanted"], told.numbers["preemptees"]) == (2, 0)
    assert not plan.decisions.victims
    # One that was not among them was told that there was room before its turn came.
    assert plan.why("othera0").code == "no_start_in_stage"
    assert "2 jobs would have to be preempted for request highr0" in plan.why("othera0").summary
    exactly = planned({"h": 3}, *low, spare, high, max_preemptees=2)
    assert len(exactly.decisions.victims) == 2
    leave = "2 jobs leave for it; `max_preemptees` is 2."
    assert leave in exactly.why("lowa0").sentences


# --- who is spared


def test_others_leave_and_all_nodes_are_named() -> None:
    """It named one node, on which nothing left."""
    plan = planned(
        {"h1": 1, "h2": 2, "h3": 1},
        job("low", 0.1, runs=[runs("h2", 2)]),
        job("mid", 0.2, runs=[runs("h3", 1)]),
        job("high", 0.9, asks=[asks(1, count=3)]),
    )
    told = plan.why("mida0")
    assert told.code == "spared_fits_without"
    assert told.summary == (
        "Allocation mida0 of operation mid on node h3 was not preempted: request highr0 of operation high"
        " fits on nodes h1 and h2 once operation low has left."
    )
    assert told.numbers["placed_on"] == ["h1", "h2"]
    assert (told.numbers["place"], told.numbers["candidates"]) == (2, 2)
    assert told.sentences[1] == (
        "As few jobs leave as can be; the lowest priority comes first, of equal ones the last that started:"
        " operation mid is number 2 of 2 that may be preempted for it."
    )


def test_a_stopped_job_resumes_as_a_whole() -> None:
    """The part that lacks nothing was told that nothing is missing."""
    away = {"state": "preempted"}
    plan = planned(
        {"h": 3},
        job("back", 0.1, runs=[runs("h", 1, held={"slots": 1}, **away), runs("h", 2, **away)]),
        job("other", 0.5, runs=[runs("h", 1)]),
    )
    whole = plan.why("backa0")
    assert whole.summary.endswith(
        "its job resumes as a whole, and for allocation backa1 1 slots is missing on node h."
    )
    assert plan.why("backa1").summary.endswith("1 slots is missing on node h.")


def test_a_stopped_job_whose_room_is_planned_for_another() -> None:
    plan = planned(
        {"h": 2},
        job("back", 0.1, runs=[runs("h", 1, state="preempted")]),
        job("other", 0.5, runs=[runs("h", 1, planned_end=1240)]),
        job("big", 0.9, asks=[asks(2)]),
    )
    told = plan.why("backa0")
    assert told.summary.endswith("1 slots on node h is free now and planned for operation big.")


def test_an_action_that_is_configured_and_not_possible_is_named() -> None:
    low, high = job("low", 0.1, runs=[runs("h", 1)]), job("high", 0.9, asks=[asks(1)])
    told = planned({"h": 1}, low, high, preemption_action="C").why("lowa0")
    assert told.summary.endswith("`preemption_action` is C, and it has no checkpoint environment.")
    queue = {"q": {"preemption_action": "R"}}
    low["allocations"][0]["settings"] = {"queue": "q"}
    told = planned({"h": 1}, low, high, queues=queue).why("lowa0")
    assert told.summary.endswith(
        "`preemption_action` of queue q is R, and neither it nor its queue is rerunnable."
    )


# --- victims


def test_a_victim_is_told_by_which_values_it_was_chosen() -> None:
    plan = planned(
        {"h": 2},
        job("low", 0.1, runs=[runs("h", 1, start_time=500, planned_end=5000)]),
        job("mid", 0.2, runs=[runs("h", 1, planned_end=5000)]),
        job("high", 0.9, asks=[asks(1)]),
    )
    told = plan.why("lowa0")
    assert told.summary == (
        "Allocation lowa0 of operation low leaves node h: 1 slots more is needed there for request highr0 of"
        " high, which does not start soon enough without preemption; at priority 0.9 or above, operation low,"
        " which has 0.1, could not be preempted for operation high."
    )
    expected = {
        "priority": 0.1,
        "beneficiary_priority": 0.9,
        "place": 1,
        "candidates": 2,
        "preemptees": 0,
        "wanted": 1,
        "max_preemptees": 2,
        "action": "S",
        "chosen_by": "only_slots",
        "starts_at": 5060,
        "preemption_distance": 900,
        "missing": {"slots": 1},
    }
    assert {name: told.numbers[name] for name in expected} == expected
    for text in (
        "5,060 s (in 1 h 8 min); 1 h 7 min 40 s is farther away than `preemption_distance` (15 min).",
        "As few jobs leave as can be; of as many on one host those whose highest priority is lowest, on the",
        "comes first, of equal ones the last that started: operation low is number 1 of 2 that may",
        "Its action is S (suspend), as the advisor chooses (`preemption_action`): nothing but slots",
        "1 job leaves for it; `max_preemptees` is 2.",
    ):
        assert text in told.text, text
    near = planned(
        {"h": 1},
        job("low", 0.1, runs=[runs("h", 1, planned_end=5000)]),
        job("high", 0.9, asks=[asks(1)]),
        preemption_distance=4060,
    )
    assert not near.decisions.victims


@pytest.mark.parametrize(
    ("cells", "letter", "chosen_by"),
    [
        ({"checkpointable": True}, "C", "checkpointable"),
        (
            {"resources": {"slots": 1, "lic": 1}, "settings": {"releases_on_suspend": True}},
            "P",
            "swapped_and_released",
        ),
        ({"resources": {"slots": 1, "lic": 1}}, "N", "keeps_resources"),
    ],
)
def test_the_advisors_choice_says_why(cells: dict[str, Any], letter: str, chosen_by: str) -> None:
    low = job("low", 0.1, runs=[runs("h", 1) | cells])
    told = planned({"h": 1}, low, job("high", 0.9, asks=[asks(1)])).why("lowa0")
    assert (told.numbers["action"], told.numbers["chosen_by"]) == (letter, chosen_by)
    assert f"Its action is {letter} (" in told.text


def test_an_action_of_the_pools_queue_is_named_as_its_own() -> None:
    """A queue that is called like the job's pool counts like one of the row's."""
    low, high = job("low", 0.1, runs=[runs("h", 1)]), job("high", 0.9, asks=[asks(1)])
    low["pools"] = [{"name": "q"}]
    low["operations"][0]["pool"] = "q"
    plan = eh.plan(
        eh.Snapshot.from_dict(
            {
                "resources": {"slots": {"kind": "slots"}},
                "nodes": [{"name": "h", "capacity": {"slots": 1}}],
                **{table: low.get(table, []) + high.get(table, []) for table in {*low, *high}},
            }
        ),
        eh.policies.GridEngine(**ON, notify=30, queues={"q": {"preemption_action": "T"}}),
    )
    check_explanations(plan)
    told = plan.why("lowa0")
    assert told.numbers["chosen_by"] == "queue"
    assert "Its action is T (terminate), as `preemption_action` of queue q says." in told.sentences
    assert "Its processes have 30 s to end, as `notify` says." in told.sentences


def test_a_victim_whose_licence_is_used_elsewhere_is_told_so() -> None:
    """It was told that nothing of its node is used."""
    low = job("low", 0.1, runs=[{"node": "h1", "resources": {"slots": 1, "lic": 2}}])
    high = job(
        "high", 0.9, asks=[{"resources": {"slots": 1, "lic": 1}, "required_node": "h2", "reserve": True}]
    )
    told = planned({"h1": 1, "h2": 1}, low, high).why("lowa0")
    assert "1 lic more is needed in the cluster for request highr0" in told.summary
    assert "nothing of this node" not in told.text


def test_of_what_the_cluster_shares_a_victim_lacks_what_it_gives_back() -> None:
    licence = job("licence", 0.1, runs=[{"node": "h1", "resources": {"lic": 2}}])
    slot, high = job("slot", 0.1, runs=[runs("h2", 1)]), job("high", 0.9, asks=[asks(1)])
    high["requests"][0]["resources"] = {"slots": 1, "lic": 1}
    plan = planned({"h1": 0, "h2": 1}, licence, slot, high)
    assert plan.why("slota0").numbers["missing"] == {"slots": 1}
    assert plan.why("licencea0").numbers["missing"] == {"lic": 1}


def test_several_copies_on_a_node_need_what_all_of_them_lack() -> None:
    """The second copy was told the room before the first."""
    low = job("low", 0.1, runs=[runs("h", 2)])
    told = planned({"h": 3}, low, job("high", 0.9, asks=[asks(1, count=3)])).why("lowa0")
    assert told.numbers["missing"] == {"slots": 2}
    assert "2 slots more is needed there" in told.summary


def test_what_stops_on_subordinate_says_which_list_stops_it() -> None:
    low = job("low", 0.1, runs=[runs("h", 1, settings={"queue": "low.q"})])
    top = job("top", 0.9, runs=[runs("h", 1, settings={"queue": "top.q"})])
    queues = {"top.q": {"subordinate_list": "slots=1(low.q:3:lr)"}}
    told = planned({"h": 2}, low, top, queues=queues).why("lowa0")
    assert told.summary.endswith("by level (1), seq_no (3) and run time.")
    assert "Of queue low.q the job that has run longest (lr) stops first." in told.sentences
    queues = {"top.q": {"subordinate_list": "low.q=1"}}
    told = planned({"h": 2}, low, top, queues=queues).why("lowa0")
    assert told.summary.endswith("suspends the job's queue from 1 on.")


def test_another_part_of_a_job_may_keep_all_of_it() -> None:
    """Each part was told that it is itself marked, stopped or leaving."""
    high = job("high", 0.9, asks=[asks(2)])
    for cells, code, says in (
        ({"preemptible": False}, "not_preemptible_flag", "is marked as not preemptible"),
        ({"state": "suspended"}, "not_running", "does not run"),
        ({"state": "preempting"}, "already_preempting", "has been asked to leave already"),
    ):
        low = job("low", 0.1, runs=[runs("h", 1), runs("h", 1, **cells)])
        told = planned({"h": 2}, low, high).why("lowa0")
        assert told.code == code
        assert told.summary.endswith(f"its job is preempted as a whole, and allocation lowa1 of it {says}.")
        assert "as a whole" not in planned({"h": 2}, low, high).why("lowa1").summary


def test_a_suspended_queue_is_named_with_the_list_that_suspends_it() -> None:
    top = job("top", 0.9, runs=[runs("h", 1, settings={"queue": "top.q"})])
    low = job("low", 0.1, asks=[asks(1)])
    data = {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "h", "capacity": {"slots": 2}}],
        "pools": [{"name": "low.q"}],
        "operations": [*top["operations"], {**low["operations"][0], "pool": "low.q"}],
        "allocations": top["allocations"],
        "requests": low["requests"],
    }
    policy = eh.policies.GridEngine(**ON, queues={"top.q": {"subordinate_list": "low.q=1"}})
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    check_explanations(plan)
    assert plan.why("lowr0").summary.endswith(
        "where there is room for it, its queue low.q is suspended: `subordinate_list` of queue top.q"
        " suspends it from 1 slots in use there on."
    )
    both = {name: {"subordinate_list": "low.q=1"} for name in ("top.q", "other.q")}
    either = eh.plan(eh.Snapshot.from_dict(data), eh.policies.GridEngine(**ON, queues=both)).why("lowr0")
    assert either.summary.endswith("where there is room for it, its queue low.q is suspended.")
    assert "by_queue" not in either.numbers


def test_room_that_would_be_there_is_of_no_use_in_a_suspended_queue() -> None:
    """It said that nothing is missing, even with all gone."""
    top = job("top", 0.9, runs=[runs("h", 1, settings={"queue": "top.q"})])
    low, high = job("low", 0.1, runs=[runs("h", 1)]), job("high", 0.5, asks=[asks(1)])
    data = {
        "now": 1000,
        "resources": {"slots": {"kind": "slots"}},
        "nodes": [{"name": "h", "capacity": {"slots": 2}}],
        "pools": [{"name": "low.q"}],
        "operations": [*top["operations"], *low["operations"], {**high["operations"][0], "pool": "low.q"}],
        "allocations": [*top["allocations"], *low["allocations"]],
        "requests": high["requests"],
    }
    policy = eh.policies.GridEngine(**ON, queues={"top.q": {"subordinate_list": "low.q=1"}})
    plan = eh.plan(eh.Snapshot.from_dict(data), policy)
    check_explanations(plan)
    assert plan.why("highr0").code == "no_room_even_with_victims"
    assert plan.why("highr0").summary.endswith(
        "where there would be room with all gone that it may preempt, its queue low.q is suspended:"
        " `subordinate_list` of queue top.q suspends it from 1 slots in use there on."
    )


def test_who_may_not_be_preempted_is_counted_by_rule_and_setting() -> None:
    plan = planned(
        {"h": 4},
        job("same", 0.5, runs=[runs("h", 1)]),
        job("own", 0.1, runs=[runs("h", 1, preemptible=False)]),
        job("new", 0.1, runs=[runs("h", 1, start_time=990)]),
        job("soon", 0.1, runs=[runs("h", 1, planned_end=1030)]),
        job("high", 0.5, asks=[asks(1)]),
        pace={"spare_if_ran_less_than": 60, "spare_if_ends_within": 120},
        preemption_distance=0,
    )
    told = plan.why("highr0")
    assert told.code == "no_lower_priority"
    assert told.numbers["spared"] == {
        "not_lower_priority": 1,
        "not_preemptible_flag": 1,
        "spared_run_time": 1,
        "spared_ends_soon": 1,
    }
    assert (
        "Of the jobs that run, 1 has no lower priority, 1 is marked as not preemptible, 1 has run for less"
        " than `spare_if_ran_less_than` (60 s) and 1 ends within `spare_if_ends_within` (2 min)."
    ) in told.sentences
