"""Plans as tables, dicts and JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.plans import Decision
from tests.unit.plans.fake import CLUSTER, DECISIONS, GROUPS_OF_A, make, start, victim


@pytest.fixture(scope="module")
def plan() -> Any:
    return make()


def test_decisions_are_a_sequence(plan: Any) -> None:
    decisions = plan.decisions
    assert len(decisions) == 5
    assert [d.action for d in decisions] == ["preempt", "start", "preempt", "start", "preempt"]
    assert decisions[-1] == decisions[4] == list(decisions)[4]
    assert [d.allocation for d in decisions[1:3]] == [None, "a10"]
    assert [d.allocation for d in decisions.victims] == ["a09", "a10", "c2"]
    assert [d.node for d in decisions.starts] == ["n1", "n2"]
    assert decisions.victims[2].numbers["violated"] == "P", "what a repair compared goes along"
    with pytest.raises(IndexError):
        decisions[5]


def test_decisions_as_plain_values_are_those_of_each(plan: Any) -> None:
    each = [decision.to_dict() for decision in plan.decisions]
    assert json.dumps(plan.decisions.to_list()) == json.dumps(each)  # in the same order, too
    assert plan.decisions.take(np.array([], int)).to_list() == []


def test_a_preemption(plan: Any) -> None:
    decision = plan.decisions[0]
    assert isinstance(decision, Decision)
    assert decision.to_dict() == {
        "action": "preempt",
        "allocation": "a09",
        "operation": "A",
        "node": "n1",
        "request": None,
        "mode": "requeue",
        "grace": 30.0,
        "at": 100.0,
        "until": 130.0,
        "reason": "preemption",
        "numbers": {
            "free_before": {"cpu": 0, "memory": 75},
            "needed": {"cpu": 2, "memory": 4},
            "usage_before": {"cpu": 20, "memory": 50},
            "group": "preemptible",
        },
        "stage": "preemptive",
        "step": 0,
        "beneficiary": {"operation": "B", "request": "b"},
        "victim_within_fair_share": False,
        "victim_pool_within_guarantee": None,
        "freed": {"cpu": 2, "memory": 5},
        "kept": {},
    }


def test_a_start(plan: Any) -> None:
    said = plan.decisions[1].to_dict()
    absent = ("allocation", "mode", "grace", "until", "victim_within_fair_share")
    assert [said[key] for key in absent] == [None] * 5
    assert said["request"] == "b"
    assert said["numbers"] == {
        "free_before": {"cpu": 0, "memory": 75},
        "needed": {"cpu": 2, "memory": 4},
    }


def test_a_repair_says_the_limit_and_the_usage_at_that_moment() -> None:
    repair = dict(DECISIONS[4])
    said = make([repair, repair | {"allocation": "c1", "step": 3}]).to_dict()["decisions"]
    assert said[0]["beneficiary"] is None
    assert [d["numbers"]["violated"] for d in said] == ["P", "P"]
    assert [d["numbers"]["limits"] for d in said] == [{"cpu": 2}, {}]
    assert [d["numbers"]["usage"] for d in said] == [{"cpu": 4}, {}], "the first repair is enough"


def test_the_plan_as_json_has_the_parts_of_the_contract(plan: Any) -> None:
    data = json.loads(plan.to_json())
    assert list(data) == ["decisions", "refusals", "statuses", "groups", "state", "diagnostics", "provenance"]
    assert data == json.loads(json.dumps(plan.to_dict()))
    assert data["statuses"]["B"] == {"status": "below_fair_share", "starvation": "starving", "since": 0.0}
    assert data["statuses"]["A"] == {"status": "normal", "starvation": "non_starving", "since": None}
    assert data["groups"] == GROUPS_OF_A | {"c1": "non_preemptible", "c2": "preemptible"}
    (refusal,) = data["refusals"]
    assert refusal["request"] == "c"
    assert refusal["rule"] == "limits_of_operation_or_pool"
    assert refusal["numbers"] == {"nodes": 3, "missing": {"cpu": 1}}
    assert data["state"]["schema"] == "evenhand/state/1"


def test_an_empty_plan() -> None:
    plan = make([], starving={}, groups={}, refused={})
    assert plan.to_dict()["decisions"] == []
    assert plan.steps() == []
    assert len(plan.table()) == 0
    assert plan.snapshot.after(plan) == plan.snapshot
    assert plan.check(plan.snapshot)
    assert "Nothing is to be done" in repr(plan)


def test_decisions_as_a_table(plan: Any) -> None:
    table = plan.table()
    assert table["allocation"] == ["a09", None, "a10", None, "c2"]
    assert table["freed.cpu"].tolist() == [2, 0, 2, 0, 2]
    assert table["beneficiary.request"] == ["b", "b", "b", "b", None]
    assert plan.decisions.to_dict()["grace"] == [30.0, None, 30.0, None, 30.0]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames(plan: Any, library: str) -> None:
    pytest.importorskip(library)
    way = {"pandas": "to_pandas", "polars": "to_polars", "pyarrow": "to_arrow"}[library]
    for result in (plan, plan.decisions, plan.refusals, plan.statuses, plan.groups):
        frame = getattr(result, way)()
        assert len(frame) == (12 if result is plan.groups else len(result.table()))


def test_statuses_are_a_mapping(plan: Any) -> None:
    statuses = plan.statuses
    assert list(statuses) == ["<Root>", "P", "A", "B", "C"]
    assert len(statuses) == 5
    status = statuses["B"]
    assert (status.status, status.starvation, status.since) == ("below_fair_share", "starving", 0.0)
    assert (status.timeout, status.tolerance, status.priority) == (30.0, 0.8, "normal")
    assert status.lowest_starving_ancestor == "B"
    assert statuses["A"].lowest_starving_ancestor is None
    assert statuses.counts()["operation"] == {
        "all": 3,
        "below_fair_share": 1,
        "non_starving": 2,
        "starving": 1,
        "aggressively_starving": 0,
    }
    assert "nobody" not in statuses
    with pytest.raises(KeyError):
        statuses["nobody"]


def test_an_operation_with_the_name_of_a_pool_and_integer_names() -> None:
    snapshot = eh.Snapshot.from_dict(
        {
            "resources": {"cpu": {}},
            "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
            "pools": [{"name": "x"}],
            "operations": [{"name": "x", "pool": "x"}, {"name": 7, "pool": "x"}],
            "allocations": [{"name": 1, "operation": 7, "node": "n", "resources": {"cpu": 1}}],
            "requests": [{"name": 5, "operation": "x", "resources": {"cpu": 1}, "count": 2}],
        }
    )
    said = [
        {
            "action": "start",
            "request": 5,
            "operation": "x",
            "node": "n",
            "reason": "fits_free_room",
            "stage": "regular",
            "step": 0,
            "needed": {"cpu": 1},
            "free_before": {"cpu": 3},
        }
    ]
    groups = {"1": "preemptible"}
    plan = make(said, snapshot, starving={}, groups=groups, refused={}, traces={})
    assert list(plan.statuses) == ["<Root>", "x", "7", "x (operation)"]
    assert plan.statuses[7] == plan.statuses["7"]
    assert plan.groups[1] == plan.groups["1"] == "preemptible"
    assert list(plan.to_dict()["statuses"]) == list(plan.statuses)
    after = snapshot.after(plan)
    assert after.names("allocations") == [1, "5/1"]
    assert plan.why(5).code == plan.why("5").code == "fits_free_room"


def test_groups_leave_out_what_has_none() -> None:
    plan = make(groups={"a01": "non_preemptible"})
    assert dict(plan.groups) == {"a01": "non_preemptible"}
    assert len(plan.groups) == 1
    assert plan.groups.counts() == {"non_preemptible": 1, "aggressively_preemptible": 0, "preemptible": 0}
    assert "a02" not in plan.groups
    assert plan.groups.table()["group"][:2] == ["non_preemptible", None]


def test_steps(plan: Any) -> None:
    steps = plan.steps()
    assert [step.number for step in steps] == [0, 1, 2]
    assert [[d.allocation for d in step.victims] for step in steps] == [["a09"], ["a10"], ["c2"]]
    assert [step.start and step.start.node for step in steps] == ["n1", "n2", None]
    assert steps[0].beneficiary
    assert steps[0].beneficiary.request == "b"
    assert steps[2].beneficiary is None
    assert steps[0].freed == {"cpu": 2, "memory": 5}
    assert [d for step in steps for d in step.decisions] == list(plan.decisions)
    assert json.loads(json.dumps(steps[2].to_dict()))["start"] is None


def test_diff(plan: Any) -> None:
    other = make(
        [
            victim("a09", "n1", 0, grace=60, until=160),
            start("b", "B", "n1", 0),
            victim("a07", "n1", 1),
            start("b", "B", "n1", 1),
        ]
    )
    difference = plan.diff(other)
    assert [d.allocation for d in difference.spared] == ["a10", "c2"]
    assert [d.allocation for d in difference.taken] == ["a07"]
    assert [(a.grace, b.grace) for a, b in difference.changed] == [(30.0, 60.0)]
    assert [(a.node, b.node) for a, b in difference.moved] == [("n2", "n1")]
    assert (difference.lost, difference.gained, difference.same) == ((), (), 1)
    assert len(difference.table()) == 5
    assert "2 spared, 1 taken, 1 changed, 1 moved; 1 alike" in repr(difference)
    assert difference.summary == "1 victim fewer: a10, c2 are spared; a07 leaves instead."
    assert difference.summary in repr(difference)
    assert difference.summary in difference._repr_html_()
    assert other.diff(plan).summary == "1 victim more: a07 is spared; a10, c2 leave instead."
    assert plan.diff(plan).summary == "The victims are the same."
    assert plan.diff(plan)._repr_html_().count("no difference") == 2
    back = other.diff(plan)
    assert [d.allocation for d in back.taken] == ["a10", "c2"]
    assert not plan.diff(plan)
    assert plan.diff(plan).same == 5
    assert [d.request for d in make([]).diff(plan).gained] == ["b", "b"]
    assert [d.request for d in plan.diff(make([])).lost] == ["b", "b"]


def test_shares_and_diagnostics_are_those_of_the_update(plan: Any) -> None:
    expected = eh.fair_share(eh.Snapshot.from_dict(CLUSTER))
    assert np.array_equal(plan.shares["fair_share"], expected["fair_share"])
    assert plan.diagnostics == expected.diagnostics
    assert plan.counts["preemptive.started"] == 2
