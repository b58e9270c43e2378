"""What is said of sessions of Backend.AI: the rule, its settings and numbers, and what would change it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import evenhand as eh
from evenhand.testing.explanations import check_explanation, check_explanations


def group(**changes: Any) -> dict[str, Any]:
    """Return a full node on which a and b run, and u that waits for 2 of 4 cpu."""
    return {
        "now": 100,
        "resources": {"cpu": {}, "lic": {"scope": "cluster", "capacity": 2}},
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
        "operations": [
            {"name": "a", "priority": 3, "user": "ann"},
            {"name": "b", "priority": 2, "user": "bob"},
            {"name": "u", "priority": 50, "user": "ann"},
        ],
        "allocations": [
            {"name": f"{name}-k", "operation": name, "node": "n1", "resources": {"cpu": 2}, "start_time": 40}
            for name in ("a", "b")
        ],
        "requests": [{"name": "u-r", "operation": "u", "resources": {"cpu": 2}}],
    } | changes


def plan(data: dict[str, Any], preset: str = "documented", **settings: Any) -> eh.Plan:
    """Plan, and check everything that is said."""
    made = eh.plan(eh.Snapshot.from_dict(data), eh.policies.BackendAI(preset, **settings))
    check_explanations(made)
    return made


def of(data: dict[str, Any], table: str, name: str, **fields: Any) -> dict[str, Any]:
    """Return data in which one row says more."""
    rows = [row | fields if row["name"] == name else row for row in data[table]]
    return data | {table: rows}


# A victim: by which rule, in which order, how chosen, how it leaves, and what would have spared it.


def test_a_victim_is_told_the_rule_and_what_would_have_spared_it() -> None:
    why = plan(group()).why("b-k")
    assert why.summary == (
        "Allocation b-k of operation b leaves node n1: 2 cpu more is needed there for request u-r of u, whose"
        " priority is higher (50 against 2); with priority 6 or more it would have been spared"
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
        "Allocation b-2 of operation b leaves node n2: it leaves with the rest of its operation, though"
        " nothing of this node is used, for request u-r of u"
    )


# Why something stays.


def spared(data: dict[str, Any], name: str = "b-k", **settings: Any) -> str:
    """Return why it stays, after the colon."""
    why = plan(data, **settings).why_not(name)
    return why.summary.split(": ", 1)[1]


def test_a_threshold_is_named_with_its_value_and_what_would_change_it() -> None:
    data = of(group(), "operations", "b", priority=7)
    told = spared(data)
    assert told == (
        "its priority (7) is above preemptible_priority (5); it may be preempted only where that is 7 or"
        " more."
    )
    with_it = {"preemptible_priority": 7, "preemption_order": "newest"}
    assert "b-k" in {
        d.allocation for d in plan(of(data, "operations", "a", priority=8), **with_it).decisions.victims
    }
    # The threshold is of the priority, also where another number decides what may preempt what.
    data = of(data, "operations", "b", settings={"job_priority": 1})
    why = plan(
        of(data, "operations", "u", settings={"job_priority": 2}), preemption_key="job_priority"
    ).why_not("b-k")
    assert why.looked_at[0]["compared"] == {"priority_of_b": 7, "preemptible_priority": 5}


def test_scopes_are_named_also_where_there_is_none() -> None:
    assert spared(group(), victim_scope="user") == (
        "it is of user bob, operation u of user ann, and victim_scope is user."
    )
    data = of(group(), "operations", "b", user=None)
    assert spared(data, victim_scope="user") == "its session names no user, and victim_scope is user."
    both = group(operations=[{"name": n, "priority": p} for n, p in (("a", 3), ("b", 2), ("u", 50))])
    assert spared(both, victim_scope="user") == (
        "neither its session nor operation u names a user, and victim_scope is user."
    )
    none = of(group(), "operations", "u", user=None)
    assert spared(none, victim_scope="user") == "operation u names no user, and victim_scope is user."


def test_who_opted_out_is_said() -> None:
    data = of(group(), "operations", "b", kind="inference")
    assert spared(data, inference_preemptible=False) == (
        "it is of kind inference, which is not preemptible (inference_preemptible false) unless its session"
        " says"
        " so (is_preemptible)."
    )
    told = spared(of(group(), "operations", "b", settings={"is_preemptible": False}))
    assert told == "its session has opted out (is_preemptible false)."
    assert spared(of(group(), "allocations", "b-k", preemptible=False)) == "it is marked as not preemptible."
    data = of(group(), "allocations", "b-k", preemptible=False)
    data["allocations"] += [{"name": "b-2", "operation": "b", "node": "n1", "resources": {}}]
    assert spared(data, "b-2") == "allocation b-k of its session is marked as not preemptible."


def test_other_rules_name_their_settings() -> None:
    assert spared(of(group(), "operations", "b", kind="system")) == (
        "it is of a session of kind system, which is never preempted."
    )
    suspend = {"preemption_mode": "suspend", "suspend_fallback": "not_a_victim"}
    assert spared(of(group(), "operations", "b", kind="interactive"), **suspend) == (
        "it is of kind interactive, which cannot resume later: with preemption_mode suspend and"
        " suspend_fallback"
        " not_a_victim only batch sessions are preempted."
    )
    assert spared(group(), preemption_min_runtime=90) == (
        "its session has run for 60 s, less than preemption_min_runtime (90 s); it may be preempted from"
        " 130 s"
        " (in 30 s) on."
    )
    data = of(group(), "operations", "b", settings={"started": False})
    assert spared(data, preemption_min_runtime=1) == (
        "its session has never run, and preemption_min_runtime is 1 s."
    )
    lower = of(group(), "operations", "u", priority=2)
    assert spared(lower) == "its priority (2) is not lower than that of operation u (2)."
    assert spared(group(), enabled=False) == "preemption is switched off (enabled false)."
    assert spared(of(group(), "operations", "u", kind="system")) == (
        "operation u is of kind system, which preempts nothing."
    )


def test_a_session_of_which_something_was_stopped_is_told_so() -> None:
    data = group()
    data["allocations"] += [
        {"name": "b-2", "operation": "b", "node": "n1", "resources": {}, "state": "suspended"}
    ]
    assert spared(data) == (
        "allocation b-2 of its session was stopped before (state suspended), and only sessions of which"
        " nothing"
        " is stopped are preempted."
    )


# Why something waits.


def waits(data: dict[str, Any], name: str = "u-r", **settings: Any) -> str:
    """Return why a request waits, after the colon."""
    return plan(data, **settings).why_not(name).summary.split(": ", 1)[1]


def test_a_request_for_nothing_is_told_so() -> None:
    data = group()
    data["requests"] += [{"name": "u-0", "operation": "u", "resources": {"cpu": 1}, "count": 0}]
    why = plan(data).why_not("u-0")
    assert (why.code, why.looked_at) == ("count_exhausted", ())
    assert why.summary == "Request u-0 of operation u asks for nothing: its count is 0."


def test_behind_whom_a_request_waits_is_said() -> None:
    data = group(allocations=[*group()["allocations"]])
    data["operations"] += [{"name": "v", "priority": 30}]
    data["requests"] += [{"name": "v-r", "operation": "v", "resources": {"cpu": 1}}]
    assert waits(data, "v-r") == (
        "operation u (priority 50) is before it in the queue and cannot start yet; operation v has priority"
        " 30."
    )
    assert waits(data) == "b-k has been asked to leave for it, and it starts once it has left."


def test_what_spares_all_that_runs_is_counted() -> None:
    data = of(of(group(), "operations", "a", priority=7), "operations", "b", kind="system")
    assert waits(data) == (
        "2 cpu is missing on the node that comes nearest, and nothing that runs may be preempted for its"
        " priority"
        " (50): 1 of these sessions has a priority above preemptible_priority (5), 1 has the kind system."
    )


def test_settings_that_keep_a_request_waiting_are_named() -> None:
    missing = "2 cpu is missing on the node that comes nearest, and "
    assert waits(group(), enabled=False) == f"{missing}preemption is switched off (enabled false)."
    assert waits(of(group(), "operations", "u", kind="system")) == (
        f"{missing}operation u is of kind system, which preempts nothing."
    )
    assert waits(group(), max_containers=2) == (
        "every node where it could run has as many allocations as max_containers allows (2), those that would"
        " leave included."
    )
    data = group()
    data["requests"] += [{"name": "u-s", "operation": "u", "resources": {"cpu": 6}}]
    assert waits(data) == "request u-s of the same operation cannot start, and a session starts as a whole."


def test_what_policies_of_users_refuse_is_said_with_their_numbers() -> None:
    ann = {"ann": {"range": [0, 20]}}
    assert waits(group(), user_policies=ann) == (
        "its priority (50) is outside the range that the policy of user ann allows (0 to 20)."
    )
    assert waits(group(), user_policies={"ann": {"may_change": False}}) == (
        "it sets its own priority (50), which the policy of user ann does not allow (may_change false)."
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
