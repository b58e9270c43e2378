"""Scheduling runs, what becomes of the snapshot, and what is said about them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import evenhand as eh


def group(**changes: Any) -> dict[str, Any]:
    """Return a group of one full node: b and c run with low priorities, and p waits."""
    return {
        "now": 100,
        "resources": {"cpu": {}, "scratch": {"available_after_preemption": False}},
        "nodes": [
            {"name": "n1", "capacity": {"cpu": 8, "scratch": 8}},
            {"name": "n2", "capacity": {"cpu": 2}},
        ],
        "operations": [{"name": "b", "priority": 3}, {"name": "c", "priority": 2}, {"name": "p"}],
        "allocations": [
            {
                "name": f"{name}-k",
                "operation": name,
                "node": "n1",
                "resources": {"cpu": 4, "scratch": 2},
                "start_time": 10,
            }
            for name in ("b", "c")
        ],
        "requests": [{"name": "p-r", "operation": "p", "resources": {"cpu": 4}}],
    } | changes


def plan(data: dict[str, Any], preset: str = "documented", **settings: Any) -> eh.Plan:
    return eh.plan(eh.Snapshot.from_dict(data), eh.policies.BackendAI(preset, **settings))


def rows(snapshot: eh.Snapshot, table: str) -> dict[Any, dict[str, Any]]:
    return {row["name"]: row for row in snapshot.to_dict().get(table, [])}


def test_what_is_said_of_a_victim_and_of_others() -> None:
    made = plan(group())
    assert [d.allocation for d in made.decisions] == ["c-k"]
    assert made.counts["scheduling_run.preempted_sessions"] == 1
    why = made.why("c-k").text
    assert "priority 2" in why
    assert "for request p-r of p, whose priority is higher" in why
    assert made.why_not("b-k").code == "spared_fits_without"
    assert made.why("p-r").code == "waits_for_victims"
    assert "priority 10" in made.why("p").text
    assert made.statuses.to_dict() == {}
    assert made.state.time == 100
    with pytest.raises(AttributeError, match="BackendAI policy knows no fair shares"):
        _ = made.shares


def test_every_reason_to_be_spared() -> None:
    data = group()
    data["operations"] += [
        {"name": "high", "priority": 6},
        {"name": "system", "priority": 1, "kind": "system"},
        {"name": "opted_out", "priority": 1},
        {"name": "elsewhere", "priority": 1},
    ]
    data["nodes"][0]["capacity"] = {"cpu": 14, "scratch": 8}
    data["requests"][0]["resources"] = {"cpu": 4, "scratch": 8}
    data["allocations"] += [
        {
            "name": f"{name}-k",
            "operation": name,
            "node": "n2" if name == "elsewhere" else "n1",
            "resources": {"cpu": 2},
            "preemptible": name != "opted_out",
        }
        for name in ("high", "system", "opted_out", "elsewhere")
    ]
    data["operations"].append({"name": "ann", "priority": 1, "settings": {"is_preemptible": False}})
    data["allocations"].append(
        {"name": "ann-k", "operation": "ann", "node": "n2", "resources": {"scratch": 0}}
    )
    made = plan(data)
    told = {
        name: made.why_not(f"{name}-k").code for name in ("high", "system", "opted_out", "elsewhere", "ann")
    }
    assert told == {
        "high": "above_threshold",
        "system": "system_work",
        "opted_out": "not_preemptible_flag",
        "elsewhere": "frees_nothing_useful",
        "ann": "not_preemptible_flag",
    }
    assert plan(data, preemption_min_runtime=1000).why_not("b-k").code == "ran_too_short"
    data["operations"][0]["user"] = "bob"
    assert plan(data, victim_scope="user").why_not("b-k").code == "other_scope"
    data["operations"][2]["priority"] = 3
    assert plan(data).why_not("b-k").code == "not_lower_priority"
    data["operations"][0]["kind"] = "interactive"
    suspend = {"preemption_mode": "suspend", "suspend_fallback": "not_a_victim"}
    assert plan(data, **suspend).why_not("b-k").code == "not_suspendable"
    assert plan(data, enabled=False).refusals[0].rule == "preemption_disabled"


def test_a_kept_container_comes_back_to_its_node() -> None:
    made = plan(group(), preemption_mode="suspend", suspend_approach="keep")
    (victim,) = made.decisions
    assert (victim.mode, victim.freed, victim.kept) == ("suspend", {"cpu": 4}, {"scratch": 2})
    after = made.snapshot.after(made)
    left = rows(after, "allocations")["c-k"]
    assert (left["state"], left["held"]) == ("preempting", {"scratch": 2})
    again = eh.plan(after, made.policy)
    assert len(again.decisions) == 0, "p is served by what leaves"
    assert again.refusals[0].rule == "waits_for_victims"

    data = after.to_dict()
    data["requests"] = []
    for row in data["allocations"]:
        if row["name"] == "c-k":
            row["state"] = "preempted"
            row.pop("beneficiary")
    later = eh.plan(eh.Snapshot.from_dict(data), made.policy)
    (back,) = later.decisions
    assert (back.action, back.allocation, back.node, back.reason) == ("resume", "c-k", "n1", "resumes")
    assert back.numbers["needed"] == {"cpu": 4}
    running = rows(later.snapshot.after(later), "allocations")["c-k"]
    assert running.get("state", "running") == "running"
    assert "held" not in running
    assert later.check(later.snapshot)
    gone = later.check(later.snapshot.after(later))
    assert [f.code for f in gone.findings] == ["not_suspended"]


def test_a_session_on_two_nodes_is_one_step() -> None:
    data = group(allocations=[])
    data["nodes"][1]["capacity"]["cpu"] = 8
    data["requests"] = [
        {"name": "p-r", "operation": "p", "resources": {"cpu": 6}, "count": 2},
        {"name": "p-s", "operation": "p", "resources": {"cpu": 2}},
    ]
    made = plan(data)
    assert [(d.request, d.node) for d in made.decisions] == [("p-r", "n1"), ("p-r", "n2"), ("p-s", "n1")]
    (step,) = made.steps()
    assert len(step.decisions) == 3
    assert made.check(made.snapshot)
    assert len(rows(made.snapshot.after(made), "allocations")) == 3
    data["nodes"][1]["capacity"]["cpu"] = 5
    waits = plan(data)
    assert len(waits.decisions) == 0
    assert {r.request: r.rule for r in waits.refusals} == {
        "p-r": "no_lower_priority",
        "p-s": "no_lower_priority",
    }
    assert waits.refusals[0].numbers == {"nodes": 2, "missing": {"cpu": 1}}


def test_reserved_room_is_kept_and_used() -> None:
    data = group()
    for row in data["operations"]:
        row |= {"user": "ann", "settings": {"job_priority": 1 if row["name"] == "p" else 0}}
    made = plan(data, "upstream", enabled=True)
    assert [(d.action, d.allocation or d.request) for d in made.decisions] == [
        ("preempt", "b-k"),
        ("reserve", "p-r"),
    ]
    assert made.check(made.snapshot)
    after = made.snapshot.after(made)
    assert rows(after, "reservations")["p-r/1"]["resources"] == {"cpu": 4}
    assert eh.plan(after, made.policy).refusals[0].rule == "waits_for_victims"
    data = after.to_dict()
    data["allocations"] = [row for row in data["allocations"] if row["name"] != "b-k"]
    data["operations"].append({"name": "q", "priority": 90})
    data["requests"].append({"name": "q-r", "operation": "q", "resources": {"cpu": 4}})
    then = eh.plan(eh.Snapshot.from_dict(data), made.policy)
    assert [(d.request, d.reason) for d in then.decisions] == [("p-r", "reservation_due")], "not for q"
    assert rows(then.snapshot.after(then), "reservations") == {}


def test_minimum_takes_fewer_with_a_proof() -> None:
    data = group()
    data["operations"] = [{"name": f"s{i}", "priority": 1 + (i == 3)} for i in range(4)] + [{"name": "p"}]
    data["nodes"] = [{"name": "n1", "capacity": {"cpu": 12, "scratch": 8}}]
    data["allocations"] = [
        {"name": f"s{i}-k", "operation": f"s{i}", "node": "n1", "resources": {"cpu": 6 if i == 3 else 2}}
        for i in range(4)
    ]
    data["requests"][0]["resources"] = {"cpu": 6}
    some, few = plan(data), plan(data, victim_selection="minimum")
    assert [d.operation for d in some.decisions] == ["s0", "s1", "s2"]
    assert [d.operation for d in few.decisions] == ["s3"]
    assert {k: v for k, v in few.counts.items() if k.startswith("minimum") and k != "minimum.branches"} == {
        "minimum.cost": 1,
        "minimum.lower_bound": 1,
        "minimum.proved": 1,
    }
    assert [d.operation for d in some.diff(few).spared] == ["s0", "s1", "s2"]


def test_several_requests_begin_with_cheap_sessions() -> None:
    """Sets are tried in the order of the sessions, in which the cheap ones come last here."""
    cheap = range(10, 20)
    data = {
        "now": 100,
        "resources": {"gpu": {}},
        "nodes": [{"name": f"n{i:02}", "capacity": {"gpu": 4}} for i in range(20)],
        "operations": [
            {"name": f"s{i}", "priority": 2, "settings": {"preemption_cost": 1 if i in cheap else 1000}}
            for i in range(20)
        ]
        + [{"name": "p", "priority": 10}],
        "allocations": [
            {"name": f"s{i}-k", "operation": f"s{i}", "node": f"n{i:02}", "resources": {"gpu": 4}}
            | {"start_time": i}
            for i in range(20)
        ],
        "requests": [
            {"name": "wide", "operation": "p", "resources": {"gpu": 4}, "count": 2},
            {"name": "last", "operation": "p", "resources": {"gpu": 3}},
        ],
    }
    few = plan(data, victim_selection="minimum", victim_cost="given", minimum_budget=1)
    assert few.counts["minimum.cost"] == 3
    assert [d.code for d in few.diagnostics if d.code.startswith("minimum")] in ([], ["minimum_budget_spent"])


def one_node(sizes: list[dict[str, int]], wanted: list[dict[str, int]]) -> dict[str, Any]:
    """A full node, and a session that wants several things."""
    return {
        "now": 100,
        "resources": {"cpu": {}, "gpu": {}},
        "nodes": [{"name": "n", "capacity": {r: sum(s[r] for s in sizes) for r in ("cpu", "gpu")}}],
        "operations": [{"name": f"s{i}", "priority": 2} for i in range(len(sizes))]
        + [{"name": "p", "priority": 10}],
        "allocations": [
            {"name": f"s{i}-k", "operation": f"s{i}", "node": "n", "resources": size, "start_time": i}
            for i, size in enumerate(sizes)
        ],
        "requests": [
            {"name": f"r{i}", "operation": "p", "resources": amounts} for i, amounts in enumerate(wanted)
        ],
    }


def test_several_requests_begin_with_large_sessions() -> None:
    sizes = [{"cpu": 1, "gpu": gpu} for gpu in (1, 3, 4, 1)]
    data = one_node(sizes, [{"gpu": 3}, {"gpu": 1}])
    few = plan(data, victim_selection="minimum", minimum_budget=1)
    assert [d.operation for d in few.decisions.victims] == ["s2"]


def test_at_least_one_operation() -> None:
    sizes = [{"gpu": gpu, "cpu": cpu} for gpu, cpu in ((1, 2), (2, 1), (0, 3), (3, 0))]
    made = plan(one_node(sizes, [{"cpu": 2}, {"gpu": 3}]), victim_selection="minimum", minimum_budget=1)
    assert "At least 1 operation must leave and 2 suffice: " in made.why("s0-k").text


def test_several_groups_are_planned_as_a_mapping() -> None:
    one = eh.Snapshot.from_dict(group())
    data = json.loads(json.dumps(group()).replace('"n1"', '"m1"').replace('"n2"', '"m2"'))
    groups = {"g1": one, "g2": eh.Snapshot.from_dict(data)}
    policies = {"g1": eh.policies.BackendAI(), "g2": eh.policies.BackendAI(enabled=False)}
    made = eh.plan(groups, policies, on=eh.SchedulingRun())
    assert {name: len(p.decisions) for name, p in made.items()} == {"g1": 1, "g2": 0}
    again = eh.plan({"g1": one}, policies["g1"], {"g1": made["g1"].state})
    assert len(again["g1"].decisions) == 1
    for wrong in ({"g1": policies["g1"]}, {**policies, "g3": policies["g1"]}):
        with pytest.raises(eh.InputError, match=r"g2|g3"):
            eh.plan(groups, wrong)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"operations": [{"name": "b", "priority": 2.5}]}, ("operations", "b", "priority")),
        (
            {"operations": [{"name": "b", "settings": {"job_prioriti": 3}}]},
            ("operations", "b", "settings.job_prioriti"),
        ),
        (
            {"operations": [{"name": "b"}], "nodes": [{"name": "n1", "settings": {"x": 1}}]},
            ("nodes", "n1", "settings.x"),
        ),
        (
            {
                "operations": [{"name": "b"}],
                "nodes": [
                    {"name": "box", "capacity": {"cpu": 1}, "schedulable": False},
                    {"name": "n1", "capacity": {"cpu": 2}, "physical": "box"},
                ],
            },
            ("nodes", "box", "capacity"),
        ),
        (
            {"operations": [{"name": "b", "settings": {"job_priority": 2**53 + 1}}]},
            ("operations", "b", "settings.job_priority"),
        ),
    ],
)
def test_wrong_rows_are_named(change: dict[str, Any], where: tuple[str, str, str]) -> None:
    data = group(allocations=[], requests=[]) | change
    with pytest.raises(eh.InputError) as error:
        plan(data)
    assert [(p.table, p.name, p.field) for p in error.value.problems] == [where]


def test_a_machine_takes_what_its_logical_nodes_leave() -> None:
    asks = [{"name": "p-r", "operation": "p", "resources": {"cpu": 2}, "count": 4}]
    box: dict[str, Any] = {"name": "box", "capacity": {"cpu": 8}}
    parts = [{"name": name, "capacity": {"cpu": 3}, "physical": "box"} for name in ("a", "c")]
    data = group(allocations=[], nodes=[box, *parts], requests=asks)
    assert len(plan(data).decisions) == 0, "of 8 cpus two of each part are of use, and two of the rest"
    asks[0]["count"] = 3
    assert [d.node for d in plan(data).decisions] == ["a", "box", "c"]


def test_a_machine_that_is_no_node_is_told() -> None:
    nodes = [{"name": "n1", "capacity": {"cpu": 8}, "physical": "box"}]
    (told,) = plan(group(nodes=nodes, allocations=[])).diagnostics
    assert (told.code, told.elements) == ("machine_unknown", ("n1",))
    assert "box" in told.message
    nodes[0]["physical"] = "n1"
    assert plan(group(nodes=nodes, allocations=[])).diagnostics == (), "its own machine"


def test_other_triggers_and_given_values_are_refused() -> None:
    snapshot, policy = eh.Snapshot.from_dict(group()), eh.policies.BackendAI()
    with pytest.raises(eh.InputError, match="SchedulingRun"):
        eh.plan(snapshot, policy, on=eh.Round())
    with pytest.raises(eh.InputError, match="nothing that could be given"):
        eh.plan(snapshot, policy, given={"groups": {}, "starvation": {"b": "starving"}})
    assert eh.plan(snapshot, policy, on=eh.SchedulingRun()).on == eh.SchedulingRun()


def test_what_plays_no_part_is_told() -> None:
    data = group(pools=[{"name": "lab", "weight": 2}])
    assert plan(group()).diagnostics == ()
    data["operations"][0] |= {"pool": "lab", "weight": 3, "qos": "high"}
    data["requests"][0] |= {"priority": 99, "duration": 60}
    (told,) = plan(data).diagnostics
    assert told.code == "fields_not_read"
    assert told.numbers == {
        "pools": ["weight"],
        "operations": ["pool", "qos", "weight"],
        "requests": ["duration", "priority"],
    }
    assert "operations: pool, qos, weight" in told.message
    assert plan(data).to_dict()["decisions"] == plan(group()).to_dict()["decisions"]


def test_what_is_wrong_in_one_of_several_groups_names_the_group() -> None:
    right = eh.Snapshot.from_dict(group())
    operations = [{"name": n, "priority": 101} for n in ("b", "c", "p")]
    wrong = eh.Snapshot.from_dict(group(operations=operations, nodes=[], allocations=[]))
    with pytest.raises(eh.InputError) as error:
        eh.plan({"g1": right, "g2": wrong}, eh.policies.BackendAI())
    assert len(error.value.problems) == 3
    for problem in error.value.problems:
        assert problem.message.startswith("snapshot 'g2': priority of the operation")
        assert (problem.table, problem.field) == ("operations", "priority")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (({}, eh.policies.BackendAI()), None),
        (([], eh.policies.BackendAI()), "snapshot"),
        (({"g1": {}}, eh.policies.BackendAI()), "snapshot"),
        ((eh.Snapshot.from_dict(group()), "backendai"), "policy"),
        ((eh.Snapshot.from_dict(group()), eh.policies.BackendAI), "policy"),
        ((eh.Snapshot.from_dict(group()), None), "policy"),
        ((eh.Snapshot.from_dict(group()), eh.policies.BackendAI(), {"time": 1}), "state"),
    ],
)
def test_arguments_of_another_kind(arguments: tuple[Any, ...], field: str | None) -> None:
    if field is None:  # no snapshot, no plan
        assert eh.plan(*arguments) == {}
        return
    with pytest.raises(eh.InputError) as error:
        eh.plan(*arguments)
    assert [(p.field, p.rule) for p in error.value.problems] == [(field, "type")]
