"""Why sessions of Backend.AI stay or wait, with the settings and numbers that decided."""

from __future__ import annotations

from typing import Any

import pytest

import evenhand as eh
from tests.reference.explanations import check_explanations
from tests.unit.why.sessions import group, of, plan

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
        "its session has run for 60 s, less than preemption_min_runtime (90 s), which spares it until"
        " 130 s (in 30 s)."
    )
    data = of(group(), "operations", "b", settings={"started": False})
    assert spared(data, preemption_min_runtime=1) == (
        "its session has never run, and preemption_min_runtime is 1 s."
    )
    lower = of(group(), "operations", "u", priority=2)
    assert spared(lower) == (
        "its priority (2) is not lower than that of operation u (2); only a session of a higher priority may"
        " preempt it."
    )
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
    assert waits(data) == "b-k has been asked to leave for it, and with what that gives back it fits."


def test_what_spares_all_that_runs_is_counted() -> None:
    data = of(of(group(), "operations", "a", priority=7), "operations", "b", kind="system")
    assert waits(data) == (
        "2 cpu is missing on the node that comes nearest, and nothing that runs may be preempted for its"
        " priority (50): 1 of the sessions that run has a priority above preemptible_priority (5), 1 has the"
        " kind system."
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


def test_tags_and_nodes_that_take_nothing_are_named() -> None:
    assert waits(of(group(), "requests", "u-r", node_tags=["ssd"])) == (
        "no node that it may take has all of its node_tags (ssd)."
    )
    assert waits(of(group(), "nodes", "n1", schedulable=False)) == (
        "each node where it could run takes nothing new (schedulable false)."
    )


def test_what_no_session_asked_for_is_told_so() -> None:
    assert spared(group(requests=[])) == "no session looked for victims in this scheduling run."
    data = of(group(requests=[]), "allocations", "b-k", state="suspended")
    assert plan(data).why_not("b-k").summary.endswith("was stopped by a person, and is not preempted.")


def test_a_session_preempts_nothing_of_its_own() -> None:
    data = group(requests=[{"name": "b-r", "operation": "b", "resources": {"cpu": 2}}])
    assert spared(data) == "it is of the session that asks, which preempts nothing of its own."


@pytest.mark.parametrize(
    ("pace", "said"),
    [
        (
            {"spare_if_ran_less_than": 90},
            (
                "its session began at 40 s (60 s ago), and spare_if_ran_less_than is 90 s, which"
                " spares it until 130 s (in 30 s)"
            ),
        ),
        (
            {"spare_if_ends_within": 60},
            "its session is planned to end at 150 s (in 50 s), within spare_if_ends_within (60 s)",
        ),
    ],
)
def test_what_the_pace_spares_is_told_until_when(pace: dict[str, Any], said: str) -> None:
    data = group(allocations=[row | {"planned_end": 150} for row in group()["allocations"]])
    assert spared(data, pace=pace) == f"{said}."
    assert waits(data, pace=pace) == (
        "2 cpu is missing on the node that comes nearest, and what could make room for it is spared by the"
        " pace:"
        f" of the first of these, {said}."
    )


def test_a_cooldown_is_told_since_when_and_until_when() -> None:
    policy = eh.policies.BackendAI(pace={"victim_cooldown": 100}, preemption_mode="reschedule")
    made = eh.plan(eh.Snapshot.from_dict(group()), policy)
    assert [d.allocation for d in made.decisions] == ["b-k"]
    later = eh.plan(eh.Snapshot.from_dict(group(now=130)), policy, made.state)
    check_explanations(later)
    assert later.why_not("b-k").summary.endswith(
        ": its session was preempted too recently, at 100 s (30 s ago), and victim_cooldown is 100 s,"
        " which spares it until 200 s (in 70 s)."
    )


def test_what_a_pool_may_give_an_hour_is_told() -> None:
    data = group(pools=[{"name": "p", "settings": {"max_victims_per_hour": 0}}])
    data["operations"] = [row | {"pool": "p"} for row in data["operations"]]
    assert "with it pool p would give more victims within an hour than max_victims_per_hour (0)" in spared(
        data
    )
    data["pools"][0]["settings"] = {"immune_hours": ["00:00-12:00 UTC"]}
    assert spared(data).startswith("pool p has immune_hours until ")
