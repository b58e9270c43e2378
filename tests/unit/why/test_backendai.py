"""What is said of victims of Backend.AI: the rule, its numbers, and what would have spared them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import evenhand as eh
from tests.reference.explanations import check_explanation
from tests.unit.why.sessions import group, of, plan

# A victim: by which rule, in which order, how chosen, how it leaves, and what would have spared it.


def test_a_victim_is_told_the_rule_and_what_would_have_spared_it() -> None:
    why = plan(group()).why("b-k")
    assert why.summary == (
        "Allocation b-k of operation b leaves node n1: 2 cpu more is needed there for request u-r of u, whose"
        " priority is higher (50 against 2); with priority 6 or more it could not be preempted"
        " (preemptible_priority is 5)."
    )
    numbers = {"priority_of_b": 2, "priority_of_u": 50, "spared_from": 6, "preemptible_priority": 5}
    assert numbers.items() <= why.numbers.items()
    at_most = of(of(group(), "operations", "b", priority=5), "operations", "a", priority=20)
    assert plan(at_most).why("b-k").numbers["spared_from"] == 6


@pytest.mark.parametrize("key", ["priority", "job_priority"])
@pytest.mark.parametrize("threshold", ["preemptible_priority", "none"])
@pytest.mark.parametrize("asks", [4, 50])
def test_what_would_have_spared_it_does(key: str, threshold: str, asks: int) -> None:
    def made(least: float) -> eh.Plan:
        own, theirs = (
            {"settings": {"job_priority": n}} if key == "job_priority" else {"priority": n}
            for n in (least, asks)
        )
        data = of(of(group(), "operations", "b", **own), "operations", "u", **theirs)
        data = of(data, "operations", "a", **({} if key == "job_priority" else {"priority": 90}))
        if key == "job_priority":
            data = of(
                of(data, "operations", "a", settings={"job_priority": 90}),
                "operations",
                "b",
                priority=1,
                **own,
            )
        return plan(data, preemption_key=key, victim_threshold=threshold)

    taken = made(2)
    least = taken.why("b-k").numbers["spared_from"]
    assert {d.allocation for d in made(least - 1).decisions.victims} == {"b-k"}
    assert not made(least).decisions.victims


def test_a_victim_is_told_its_place_in_the_order() -> None:
    data = of(of(group(), "operations", "a", priority=2), "allocations", "a-k", start_time=10)
    claims = {claim.code: claim for claim in plan(data).why("a-k").claims}
    assert claims["order"].sentence == (
        "Victims are taken lowest priority first, then by preemption_order oldest: operation a has priority"
        " 2 and"
        " began at 10 s (90 s ago), number 1 of 2 candidates."
    )
    values = {"preemption_order": "oldest", "began": 10, "place": 1, "candidates": 2}
    assert claims["order"].numbers == values
    newest = plan(data, preemption_order="newest").why("b-k")
    assert "by preemption_order newest: operation b has priority 2 and began at 40 s" in newest.text
    spared = plan(data).why_not("b-k")
    assert spared.summary == (
        "Allocation b-k of operation b on node n1 was not preempted for request u-r of operation u: others"
        " that"
        " leave make enough room for operation u on node n1; it was number 2 of 2 candidates (lowest priority"
        " first, then by preemption_order oldest)."
    )


def test_sessions_that_never_ran_come_first_and_are_told_so() -> None:
    data = of(of(group(), "operations", "a", priority=2), "operations", "b", settings={"started": False})
    text = plan(data, preemption_min_runtime=0).why("b-k").text
    assert "lowest priority first, those that never ran first, then by preemption_order oldest" in text
    assert "operation b has priority 2 and has never run, number 1 of 2 candidates" in text


@pytest.mark.parametrize(
    ("settings", "kind", "said"),
    [
        ({}, "batch", "Its session ends, without a period of grace (preemption_mode terminate)."),
        (
            {"preemption_mode": "reschedule"},
            "batch",
            "Its session ends and waits in the queue again (preemption_mode reschedule).",
        ),
        (
            {"preemption_mode": "suspend"},
            "batch",
            (
                "Its session is suspended and resumes once all of it fits again, on any node (preemption_mode"
                " suspend, suspend_approach recreate)."
            ),
        ),
        (
            {"preemption_mode": "suspend", "suspend_approach": "keep"},
            "batch",
            (
                "Its session is suspended and resumes once all of it fits again, where it is (preemption_mode"
                " suspend, suspend_approach keep)."
            ),
        ),
        (
            {"preemption_mode": "suspend"},
            "interactive",
            (
                "Its session is of kind interactive, which cannot resume later: it ends (preemption_mode"
                " suspend, suspend_fallback terminate)."
            ),
        ),
    ],
)
def test_a_victim_is_told_how_it_leaves(settings: dict[str, Any], kind: str, said: str) -> None:
    made = plan(of(group(), "operations", "b", kind=kind), **settings)
    assert said in made.why("b-k").sentences


def test_how_victims_are_selected_is_said() -> None:
    for selection, said in (
        ("prefix", "They are taken until operation u fits (victim_selection prefix)."),
        ("irreducible", "and all but those that it needs are given back (victim_selection irreducible)."),
        ("minimum", "Those are taken that cost least (victim_selection minimum, victim_cost victims)."),
    ):
        assert said in plan(group(), victim_selection=selection).why("b-k").text


# False before: nothing was taken and given back by `minimum`; licences; what is free for a second one.


def six_and_small() -> dict[str, Any]:
    """Return four sessions of which the last alone makes room, and the first are wanted first."""
    sizes = {"s1": 2, "s2": 2, "s3": 2, "s4": 6}
    return group(
        nodes=[{"name": "n1", "capacity": {"cpu": 12}}],
        operations=[
            *({"name": s, "priority": i} for i, s in enumerate(sizes)),
            {"name": "u", "priority": 50},
        ],
        allocations=[
            {"name": f"{s}-k", "operation": s, "node": "n1", "resources": {"cpu": size}, "start_time": 10}
            for s, size in sizes.items()
        ],
        requests=[{"name": "u-r", "operation": "u", "resources": {"cpu": 6}}],
    )


def test_nothing_is_given_back_where_the_fewest_are_taken() -> None:
    made = plan(six_and_small(), victim_selection="minimum")
    assert [d.allocation for d in made.decisions.victims] == ["s4-k"]
    for name in ("s1-k", "s2-k", "s3-k"):
        why = made.why_not(name)
        assert why.code == "spared_fits_without"
        assert why.summary.endswith(
            "the sessions that leave for operation u suffice, and were chosen as they cost least"
            " (victim_selection minimum, victim_cost victims)."
        )


def test_what_was_given_back_was_wanted_first() -> None:
    data = six_and_small()
    data["requests"][0]["resources"] = {"cpu": 6, "gpu": 1}
    data["resources"]["gpu"] = {}
    data["nodes"][0]["capacity"]["gpu"] = 1
    data["allocations"][3]["resources"] = {"cpu": 6, "gpu": 1}
    made = plan(data)
    assert [d.allocation for d in made.decisions.victims] == ["s4-k"]
    assert made.why_not("s1-k").code == "given_back"
    assert made.why_not("s1-k").summary == (
        "Allocation s1-k of operation s1 on node n1 was not preempted for request u-r of operation u: it was"
        " wanted for operation u first and then given back, as the others suffice (victim_selection"
        " irreducible); it was number 1 of 4 candidates (lowest priority first, then by preemption_order"
        " oldest)."
    )


def test_where_all_together_are_not_enough_none_is_said_to_hold_nothing() -> None:
    made = plan(of(group(), "requests", "u-r", resources={"cpu": 6}))
    for name in ("a-k", "b-k"):
        why = made.why_not(name)
        assert why.code == "no_start_in_stage"
        assert "all that may be preempted for operation u together does not make enough room" in why.summary
    assert made.why_not("u-r").summary == (
        "Request u-r of operation u (6 cpu) did not start: even if all 2 sessions left that may be"
        " preempted for"
        " it, 2 cpu would be missing on the node that comes nearest."
    )


def test_each_start_finds_what_those_before_leave() -> None:
    data = group(allocations=[], nodes=[{"name": "n1", "capacity": {"cpu": 4}}])
    made = plan(of(data, "requests", "u-r", count=2))
    assert [d.numbers["free_before"]["cpu"] for d in made.decisions] == [4, 2]


def test_each_reservation_finds_what_those_before_leave() -> None:
    data = of(group(), "requests", "u-r", count=2)
    settings = {"enabled": True, "preemption_key": "priority", "victim_scope": "resource-group"}
    made = plan(data, "upstream", **settings)
    reserved = [d for d in made.decisions if d.action == "reserve"]
    assert [(d.node, d.numbers["free_before"]["cpu"]) for d in reserved] == [("n1", 0), ("n1", -2)]


def test_a_victim_is_told_all_that_its_node_is_to_hold() -> None:
    made = plan(of(group(), "requests", "u-r", count=2))
    assert {d.allocation for d in made.decisions.victims} == {"a-k", "b-k"}
    for d in made.decisions.victims:
        assert d.numbers["needed"] == {"cpu": 4}
        assert "leaves node n1: 4 cpu more is needed there" in made.why(d.allocation).summary


def test_licences_are_needed_in_the_cluster() -> None:
    data = group(nodes=[{"name": "n1", "capacity": {"cpu": 4}}, {"name": "n2", "capacity": {"cpu": 2}}])
    data["operations"][0]["priority"] = 20
    data["allocations"][1] |= {"node": "n2", "resources": {"cpu": 1, "lic": 2}}
    data["allocations"] += [
        {"name": "b-l", "operation": "b", "node": "n1", "resources": {"cpu": 1}, "start_time": 40}
    ]
    data["requests"][0]["resources"] = {"cpu": 2, "lic": 1}
    made = plan(data)
    assert {d.allocation: d.node for d in made.decisions.victims} == {"b-k": "n2", "b-l": "n1"}
    assert (
        "b-k of operation b leaves node n2: 1 lic more is needed in the cluster for"
        in made.why("b-k").summary
    )
    assert "b-l of operation b leaves node n1: 1 cpu more is needed there for" in made.why("b-l").summary


def test_what_leaves_with_the_rest_of_its_session_is_told_so() -> None:
    data = group(nodes=[{"name": "n1", "capacity": {"cpu": 4}}, {"name": "n2", "capacity": {"cpu": 1}}])
    data["allocations"] += [
        {"name": "b-2", "operation": "b", "node": "n2", "resources": {"cpu": 1}, "start_time": 40}
    ]
    made = plan(data)
    assert made.why("b-2").summary.startswith(
        "Allocation b-2 of operation b leaves node n2: its operation leaves as a whole, though"
        " nothing of this node is used, for request u-r of u"
    )


# The checker.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("priority_of_b", 3), ("spared_from", 7), ("spared_from", 5), ("place", 2)),
        *(("candidates", 3), ("began", 41), ("preemption_order", "newest")),
    ],
)
def test_other_numbers_of_a_victim_are_caught(name: str, value: Any) -> None:
    made = plan(group())
    true = made.why("b-k")
    assert true.numbers[name] != value
    false = replace(true, numbers={**true.numbers, name: value})
    with pytest.raises(AssertionError):
        check_explanation(made, false)
