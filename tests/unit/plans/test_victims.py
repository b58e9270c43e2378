"""The victims of one request, and the other answers that can be asked for alone."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import evenhand as eh
from evenhand.plans import Victims
from tests.unit.test_frozen import PLANS, snapshot


def cluster(**more: Any) -> eh.Snapshot:
    data: dict[str, Any] = {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": f"n{i}", "capacity": {"cpu": 4}} for i in range(2)],
        "operations": [{"name": "old", "priority": 1}, {"name": "new", "priority": 20}],
        "allocations": [
            {
                "name": f"a{i}",
                "operation": "old",
                "node": f"n{i % 2}",
                "start_time": i,
                "resources": {"cpu": 2},
            }
            for i in range(4)
        ],
        "requests": [{"name": "r", "operation": "new", "resources": {"cpu": 2}}],
    }
    return eh.Snapshot.from_dict(data | more)


STATE = eh.plan(cluster().replace(now=100), eh.policies.YTsaurus()).state


@pytest.mark.parametrize("system", PLANS)
def test_victims_of_every_system(system: str) -> None:
    plan = PLANS[system]()
    if system == "ytsaurus":  # what was given there is what a state says here
        plan = eh.plan(snapshot(), plan.policy, eh.plan(snapshot().replace(now=100), plan.policy).state)
    found = eh.victims(plan.snapshot, plan.policy, "r", state=plan.state_before)
    assert isinstance(found, Victims)
    assert len(found) > 0
    assert found.names == tuple(v.allocation for v in plan.decisions.victims)
    assert found.beneficiary is not None
    assert found.beneficiary.request == "r"
    said = found.to_dict()
    assert [victim["allocation"] for victim in said["victims"]] == list(found.names)
    assert said["freed"] == [{"node": "n1", "resources": found.freed["n1"]}]
    json.dumps(said, allow_nan=False)
    assert list(found.table()["allocation"]) == list(found.names)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert hash(again) == hash(found)
    assert again != "r"
    with pytest.raises(AttributeError, match="immutable"):
        found.request = "x"  # type: ignore[misc]


def test_a_node_is_asked_for() -> None:
    policy = eh.policies.YTsaurus()
    chosen = eh.victims(cluster(), policy, "r", state=STATE)
    found = eh.victims(cluster(), policy, "r", "n1", STATE)
    assert (found.names, found.freed) == (chosen.names, chosen.freed) == (("a3",), {"n1": {"cpu": 2}})
    assert found.start is not None
    assert found.start.node == "n1"
    elsewhere = eh.victims(cluster(), policy, "r", "n0", STATE)
    assert (elsewhere.names, elsewhere.start) == ((), None)
    assert [refusal.rule for refusal in elsewhere.refusals] == ["no_room_even_with_victims"]


def test_no_victims_are_needed() -> None:
    free = cluster(allocations=[])
    found = eh.victims(free, eh.policies.BackendAI(), "r")
    assert (found.names, found.freed, found.certificate, found.beneficiary) == ((), {}, None, None)
    assert found.start is not None
    assert repr(found).startswith("Request r starts without victims.\n")
    assert found
    assert found.to_dict()["refusals"] == []
    assert len(found.table()) == 0


def test_no_victims_are_found() -> None:
    same = cluster(operations=[{"name": "old"}, {"name": "new"}])
    found = eh.victims(same, eh.policies.BackendAI(), "r")
    assert (found.names, found.start) == ((), None)
    assert [refusal.rule for refusal in found.refusals] == ["no_lower_priority"]
    assert repr(found).startswith("No victims: request r does not start. ")
    assert found.refusals[0].message in repr(found)


def test_the_certificate() -> None:
    policy = eh.policies.YTsaurus(victim_selection="minimum")
    found = eh.victims(cluster(), policy, "r", state=STATE)
    assert found.certificate == {"cost": 1, "lower_bound": 1, "gap": 0, "proved": True, "first": True}
    assert found.message == "1 allocation leaves for request r, minimal by its search."
    with pytest.raises(TypeError, match="immutable"):
        found.certificate["gap"] = 1  # type: ignore[index]
    spent = eh.victims(cluster(), policy.replace(victim_selection="prefix"), "r", state=STATE)
    assert spent.certificate is None
    assert spent.message == "1 allocation leaves for request r."


def test_names_are_shown_safely() -> None:
    odd = "<b>\x1b[31m"
    found = eh.victims(
        cluster(requests=[{"name": odd, "operation": "new", "resources": {"cpu": 2}}]),
        eh.policies.BackendAI(),
        odd,
    )
    assert "\x1b" not in repr(found)
    assert "<b>" not in found._repr_html_()
    assert "<p>4 allocations leave for request" in found._repr_html_()


@pytest.mark.parametrize(
    ("call", "field", "rule", "message"),
    [
        (
            lambda: eh.victims(cluster(), eh.policies.YTsaurus(), "rr"),
            *("request", "exists", 'there is no request "rr"; did you mean "r"?'),
        ),
        (
            lambda: eh.victims(cluster(), eh.policies.YTsaurus(), "r", "n9"),
            *("node", "exists", "there is no node 'n9'"),
        ),
        (
            lambda: eh.victims(cluster(), eh.policies.Slurm(), "r", "n0"),
            *("node", "unknown_field", "node is given, but the Slurm policy chooses nodes itself"),
        ),
        (
            lambda: eh.starvation(cluster(), eh.policies.BackendAI()),
            *(
                "policy",
                "type",
                "policy is the BackendAI policy, which knows no fair shares and no starvation",
            ),
        ),
    ],
)
def test_what_cannot_be_asked(call: Any, field: str, rule: str, message: str) -> None:
    with pytest.raises(eh.InputError) as error:
        call()
    (problem,) = error.value.problems
    assert (problem.field, problem.rule) == (field, rule)
    assert problem.message.startswith(message)


def test_starvation_begins_at_its_timeout() -> None:
    policy = eh.policies.YTsaurus(fair_share_starvation_timeout="30s")
    _, state = eh.starvation(cluster(now=100), policy)
    at = [
        eh.starvation(cluster(now=now), policy, state).statuses["new"]
        for now in (129.999999, 130, 130.000001)
    ]
    planned = [
        eh.plan(cluster(now=now), policy, state).statuses["new"] for now in (129.999999, 130, 130.000001)
    ]
    assert at == planned
    assert [status.starvation for status in at] == ["non_starving", "non_starving", "starving"]


def test_a_cluster_of_no_nodes() -> None:
    empty = eh.Snapshot.from_dict({"resources": {"cpu": {}}, "operations": [{"name": "o"}]})
    statuses, state = eh.starvation(empty, eh.policies.YTsaurus())
    assert statuses["o"].starvation == "non_starving"
    assert state.time == empty.now
    assert eh.usage_share(empty).tolist() == [[0.0], [0.0]]


def test_usage_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        eh.usage_share(cluster())[:] = 0
