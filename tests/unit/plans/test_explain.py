"""Explanations: the sentences, and the numbers in them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import evenhand as eh
from evenhand.reasons import TABLE
from tests.unit.plans.fake import CLUSTER, DECISIONS, HOSTILE, POLICY, FakeCore, make, remade, start, victim

A09 = (
    (
        "Allocation a09 of operation A leaves node n1: 2 cpu more is needed there for request b of B, in the"
        " preemptive stage."
    ),
    (
        "Operation B is starving: it uses 0 of 6 cpu, under 0.8 of its fair share"
        " (fair_share_starvation_tolerance), for 100 s, longer than fair_share_starvation_timeout (30 s)."
    ),
    "a09 is preemptible: just before, operation A used 20 cpu, where its fair share is 16 cpu.",
    (
        "At the update its allocations were, oldest first: 3 non-preemptible, 3 aggressively preemptible and"
        " 4 preemptible."
    ),
    "It gives back 2 cpu, 5 memory, within 30 s, until 130 s; its work starts again.",
)
AMOUNTS = """
                                cpu  memory
needed                            2       4
free before                       0      75
given back                        2       5
usage of A                       20      50
fair share of A                  16      50
non-preemptible up to             6      15
aggressively preemptible up to   12      30
usage of B                        0       0
fair share of B                   6      12"""


@pytest.fixture(scope="module")
def plan() -> Any:
    return make()


def test_a_victim(plan: Any) -> None:
    told = plan.why("a09")
    assert (told.table, told.code) == ("allocations", "preemption")
    assert told.sentences == A09
    assert (told.summary, [claim.code for claim in told.claims]) == (
        A09[0],
        ["preemption", "standing", "group", "groups", "leaves"],
    )
    assert told.lead == A09[:4]
    assert "\n".join([*A09[:4], AMOUNTS, "", A09[4]]) == told.text == str(told) == repr(told)
    assert told.to_dict()["numbers"]["needed"] == {"cpu": 2, "memory": 4}
    assert told.to_dict()["amounts"]["given back"] == {"cpu": 2, "memory": 5}
    assert told.claims[1].numbers["timeout"] == 30
    json.dumps(told.to_dict())


def test_several_victims_of_one_step() -> None:
    told = make([victim("a07", "n1", 0), victim("a09", "n1", 0), start("b", "B", "n1", 0)]).why("a09")
    assert "It is victim 2 of 2 of this step, which free 4 cpu, 10 memory together." in told.sentences


def test_a_repair(plan: Any) -> None:
    told = plan.why("c2")
    assert told.code == "resource_limits_violated"
    assert (
        told.sentences[0]
        == "Allocation c2 of operation C leaves node n3: pool P is over its limits, 4 of 2 cpu."
    )
    assert not any("needs" in sentence for sentence in told.sentences)


def test_an_overcommitted_node() -> None:
    repair = {**DECISIONS[4], "reason": "resource_overcommit", "stage": "overcommit", "violated": None}
    repair["free_before"] = {"cpu": -3, "memory": 5}
    told = make([repair]).why("c2")
    assert told.sentences[0] == (
        "Allocation c2 of operation C leaves node n3: the allocations there use more than the node has, 3 cpu"
        " too much."
    )


def test_a_start(plan: Any) -> None:
    told = plan.why("b")
    assert (told.table, told.code) == ("requests", "fits_after_preemption")
    assert told.sentences[0] == (
        "Request b of operation B starts on node n1 once a09 has left: it needs 2 cpu, 4 memory, and 0 cpu,"
        " 75 memory were free."
    )
    assert told.sentences[1].startswith("Request b of operation B starts on node n2 once a10 has left")
    assert told.sentences[-1] == "1 more of it still waits."


def test_a_request_of_which_a_part_starts() -> None:
    plan = make(
        refused={"b": ("no_free_room", 2, {"cpu": 1})},
        traces={("request", "b"): [{"node": "n1", "stage": "regular", "outcome": "no_free_room"}]},
    )
    assert plan.why("b").sentences[-1] == (
        "1 more of it still waits: The node's free room is less than it needs. Nodes tried: 2; on the best of"
        " them 1 cpu was missing."
    )
    told = plan.why_not("b")
    assert told.code == "no_free_room"
    assert told.sentences[0] == (
        "Request b of operation B (2 cpu, 4 memory, 3 times) starts 2 of 3 times only: in the regular stage,"
        " node n1 has too little free room: nothing is missing."
    )
    data = copy.deepcopy(CLUSTER)
    data["requests"][0]["count"] = 2
    whole = make(snapshot=eh.Snapshot.from_dict(data))
    assert whole.why_not("b") == whole.why("b"), "all of it started"
    assert "waits" not in whole.why("b").text


def test_what_was_left_alone_is_told_from_the_recorder(plan: Any) -> None:
    told = plan.why_not("a01")
    assert told == plan.why("a01")
    assert told.code == "protected_group"
    assert told.sentences[0] == (
        "Allocation a01 of operation A on node n1 was not preempted: in the preemptive stage on node n1"
        " allocations of its group may not be preempted."
    )
    assert told.sentences[1].startswith("It is non-preemptible: operation A used 20 cpu")
    assert (
        plan.why_not("a07")
        .sentences[0]
        .endswith(": in the preemptive stage on node n1 there was room for request b before its turn came.")
    )
    assert plan.why_not("a09") == plan.why("a09"), "who was taken after all is told so"


def test_bounds_and_covered_demand_are_said() -> None:
    data = copy.deepcopy(CLUSTER)
    data["requests"] = data["requests"][1:]
    plan = make([], eh.Snapshot.from_dict(data), refused={}, traces={}, starving={})
    policy = eh.policies.YTsaurus(preemption_satisfaction_threshold=1.5)
    plan = remade(plan, policy=policy)
    told = plan.why("A").text
    assert (
        "aggressive_preemption_satisfaction_threshold is 0.2 and preemption_satisfaction_threshold 1.5 of its"
        in told
    )
    assert "As its fair share covers its demand, nothing of it is preemptible without aggression." in told
    assert "without aggression" not in make().why("A").text


def test_that_nothing_was_to_be_repaired_is_said_only_where_nothing_else_is() -> None:
    none = {"node": "n1", "stage": "limit_repair", "outcome": "no_violation"}
    more = {"node": "n1", "stage": "preemptive", "outcome": "operation_starving"}
    told = make(traces={("allocation", "a01"): [none, more]}).why("a01")
    assert told.code == "operation_starving"
    assert told.summary.endswith(": in the preemptive stage, operation A is starving itself.")
    assert [row["outcome"] for row in told.looked_at] == ["operation_starving", "no_violation"]
    alone = make(traces={("allocation", "a01"): [none]}).why("a01")
    assert alone.code == "no_violation"
    assert "over its limits" in str(alone)


def test_a_request_that_waits(plan: Any) -> None:
    told = plan.why_not("c")
    assert told == plan.why_not("C"), "the operation's only request"
    assert told.code == "limits_of_operation_or_pool"
    assert told.sentences[0] == (
        "Request c of operation C (1 cpu) did not start: in the regular stage, operation C or a pool"
        " above it would be over its limits with it, by 1 cpu (the nearest of 3 times)."
    )
    (row,) = told.looked_at
    assert row == {
        "stage": "regular",
        "outcome": "limits_of_operation_or_pool",
        "times": 3,
        "node": "n2",
        "request": "c",
        "missing": {"cpu": 1},
    }
    assert told.numbers == {"needed": {"cpu": 1}, "count": 1, "nodes": 3, "missing": {"cpu": 1}}


def test_what_nothing_looked_at() -> None:
    plan = make(refused={}, traces={})
    assert plan.why_not("a01").code == "not_considered"
    assert plan.why_not("c").code == "not_considered"
    assert plan.why_not("a01").summary.endswith(" was not preempted: no stage of this plan considered it.")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("preempting", "has been asked to leave already, so it is not asked again."),
        ("suspended", "was stopped by a person, and is not preempted."),
        ("preempted", "was suspended before, and stays suspended."),
    ],
)
def test_an_allocation_that_does_not_run(state: str, words: str) -> None:
    data = copy.deepcopy(CLUSTER)
    data["allocations"][0]["state"] = state
    told = make(snapshot=eh.Snapshot.from_dict(data)).why("a01")
    assert told.sentences[0].endswith(words)


REQUEST_OUTCOMES = tuple(row.code for row in TABLE if row.kind == "request")
ALLOCATION_OUTCOMES = tuple(row.code for row in TABLE if row.kind == "allocation")


def test_every_outcome_makes_a_sentence() -> None:
    traces: dict[tuple[str, str], list[dict[str, Any]]] = {}
    where = {"node": "n1", "stage": "preemptive", "operation": "A", "request": "b", "missing": {"cpu": 1}}
    for kind, name, codes in (("request", "c", REQUEST_OUTCOMES), ("allocation", "a01", ALLOCATION_OUTCOMES)):
        for code in codes:
            traces[kind, name] = [{**where, "outcome": code}]
            told = make(traces=traces, refused={}).why_not(name)
            assert told.code == code
            last = next(one for one in told.sentences if "reemptive stage" in one)
            assert last[0].isupper(), last
            assert last.endswith(".")
            assert "{" not in last
            assert last.casefold().count("preemptive stage") == 1, last


def test_many_kinds_of_outcomes_are_capped() -> None:
    events = [{"node": "n1", "stage": "regular", "outcome": code} for code in REQUEST_OUTCOMES]
    told = make(traces={("request", "c"): events}).why("c")
    assert len(told.looked_at) == len(REQUEST_OUTCOMES)
    assert told.sentences[-1] == f"{len(REQUEST_OUTCOMES) - 8} more kinds of outcomes are in looked_at."


def test_elements_and_nodes(plan: Any) -> None:
    b = plan.why("B")
    assert (b.table, b.code) == ("operations", "starving")
    assert "It may preempt." in b.sentences
    decided = "This plan starts 2 of its requests and preempts 0 of its allocations"
    assert b.sentences[-1] == f"{decided}, and 2 are preempted for it."
    pool = plan.why("P")
    assert (pool.table, pool.code) == ("pools", "normal")
    assert pool.sentences[-1] == "This plan starts 0 of its requests and preempts 1 of its allocations."
    root = plan.why("<Root>")
    decided = "This plan starts 2 of its requests and preempts 3 of its allocations"
    assert root.sentences[-1] == f"{decided}, and 2 are preempted for it."
    node = plan.why("n1")
    assert node.sentences == (
        "On node n1 this plan preempts 1 and starts 1. Free before: 0 cpu, 75 memory.",
        "Allocations that leave: a09.",
        "Requests that start: b.",
    )
    assert make([]).why("n1").code == "nothing_decided"


def test_preempting_on_the_strength_of_a_pool() -> None:
    class Below(FakeCore):
        def elements(self) -> dict[str, Any]:
            elements = super().elements()
            elements["lowest_starving_ancestor"][-2] = 1  # of B
            elements["priority"][-2] = 1
            return elements

    snapshot = eh.Snapshot.from_dict(CLUSTER)
    plan = eh.plans.Plan(snapshot, POLICY, Below(snapshot, DECISIONS, starving={"P": ("starving", 20.0)}))
    assert (
        plan.why("a09")
        .sentences[2]
        .startswith(
            "It may preempt on the strength of its pool: pool P is starving: it uses 4 of 2 cpu, for 80 s"
        )
    )


def test_unknown_names() -> None:
    plan = make()
    with pytest.raises(
        KeyError, match="there is no 'x' among allocations, requests, operations, pools, nodes"
    ):
        plan.why("x")
    with pytest.raises(KeyError, match=r"'A' is an operation; ask about one of its .*: a01, "):
        plan.why_not("A")
    with pytest.raises(KeyError, match="no table 'stars'"):
        plan.why("A", table="stars")
    with pytest.raises(KeyError, match="why_not looks among"):
        plan.why_not("A", table="operations")
    assert plan.why("A", table="operations").table == "operations"


def test_hostile_names_cannot_touch_a_terminal() -> None:
    text = json.dumps(CLUSTER)
    for name in ("a09", "a01", "A", "B", "b", "n1", "P", "c"):
        text = text.replace(f'"{name}"', json.dumps(name + HOSTILE))
    snapshot = eh.Snapshot.from_dict(json.loads(text))

    def hostile(name: str) -> str:
        return name + HOSTILE

    said = [
        victim(hostile("a09"), hostile("n1"), 0, operation=hostile("A"), for_operation=hostile("B"))
        | {"for_request": hostile("b")},
        start(hostile("b"), hostile("B"), hostile("n1"), 0),
    ]
    starving = {hostile("B"): ("starving", 0.0)}
    plan = make(said, snapshot, starving=starving, groups={}, refused={}, traces={})
    names = [hostile(n) for n in ("a09", "a01", "A", "B", "b", "n1", "P", "c")]
    for text in [repr(plan), repr(plan.statuses), *(plan.why(name).text for name in names)]:
        assert all(line.isprintable() for line in text.split("\n")), text


def test_the_table_has_a_sentence_for_every_reason_of_a_victim() -> None:
    for row in TABLE:
        if row.kind == "victim":
            told = make([victim("a09", "n1", 0, reason=row.code)]).why("a09")
            assert told.code == row.code
            does = "stops on" if "stops on" in row.sentence else "leaves"
            assert told.sentences[0].startswith(f"Allocation a09 of operation A {does} node n1")
