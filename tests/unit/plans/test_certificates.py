"""Certificates of the fewest victims: what was asked, what it rests on, and what is no step with one."""

from __future__ import annotations

import json
import pickle
import random
from dataclasses import replace
from typing import Any

import pytest

import evenhand as eh
from evenhand.plans import Certificate
from evenhand.plans.kept import KeptCore
from evenhand.testing.certificates import check_certificate
from tests.reference.certificates import NotDerived, check_by_rules
from tests.unit.plans import test_costs as costs
from tests.unit.plans.test_fewest import HARD, plan


def only(made: eh.Plan) -> Certificate:
    """The certificate of the only step that has one."""
    (step,) = made.minimum_steps
    return made.certificate(step)


def checked(made: eh.Plan) -> tuple[str, str]:
    return check_by_rules(made, only(made).step)


def test_work_on_one_node() -> None:
    made = plan([(1, 1), (2, 1), (2, 1), (4, 4)], (4, 1), victim_selection="minimum")
    found = only(made)
    assert (found.kind, found.table, found.node) == ("amounts", "allocations", "n")
    assert found.candidates == ("a0", "a1", "a2", "a3")
    assert found.taken == ("a3",)
    # 9 cpus in thousandths, all in use; 4 are asked for; of 7 memory 1
    assert found.shortage == (4000, 1)
    assert found.amounts == ((1000, 1), (2000, 1), (2000, 1), (4000, 4))
    assert (found.cost, found.lower_bound, found.proved, found.first) == (1, 1, True, True)
    assert found.closed_by == "multipliers"
    assert (
        repr(found)
        == f"<Certificate of step {found.step}: 1 victim of 4 at a cost of 1, closed by multipliers>"
    )
    assert checked(made) == ("certified", "enumerated")


def test_candidates_in_another_order_are_refused() -> None:
    """The order decides which of the smallest sets comes first."""
    made = plan([(1, 1), (2, 1), (2, 1), (4, 4)], (4, 1), victim_selection="minimum")
    found = only(made)
    turned = {name: tuple(reversed(getattr(found, name))) for name in ("candidates", "costs", "amounts")}
    with pytest.raises(AssertionError, match=r"candidates \('a3', .* by the rules \('a0'"):
        check_by_rules(made, found.step, replace(found, **turned))


@pytest.mark.parametrize("short", [(3999, 1), (4001, 1), (4000, 0), (4000, 2)])
def test_another_shortage_is_refused(short: tuple[int, int]) -> None:
    """Also one for which the victims would be the fewest as well."""
    made = plan([(1, 1), (2, 1), (2, 1), (4, 4)], (4, 1), victim_selection="minimum")
    found = only(made)
    with pytest.raises(AssertionError, match=r"shortage .* by the rules \(4000, 1\)"):
        check_by_rules(made, found.step, replace(found, shortage=short))


def test_a_gap_that_the_search_closes() -> None:
    made = plan(HARD, (4, 10), victim_selection="minimum")
    found = only(made)
    assert (found.cost, found.root_bound, found.closed_by) == (4, 3, "search")
    assert checked(made) == ("enumerated", "enumerated")


def test_a_spent_budget_is_open() -> None:
    made = plan(HARD, (4, 10), victim_selection="minimum", minimum_budget=1)
    found = only(made)
    assert (found.closed_by, found.spent, found.budget, found.branches) == (None, True, 1, 1)
    assert repr(found).endswith("4 victims of 4 at a cost of 4, open, at least 3>")
    assert checked(made) == ("open", "open")
    text = "At least 3 must leave and 4 suffice: no smaller set was found within the budget of 1 branch."
    assert text in made.why("a0").sentences


@pytest.mark.parametrize("system", costs.SYSTEMS)
@pytest.mark.parametrize("cost", ["victims", "lost_work", "given"])
def test_every_system_and_cost(system: str, cost: str) -> None:
    made = costs.planned(system, cost)
    found = only(made)
    assert found.cost == made.decisions.victims[0].numbers["minimum"]["cost"]
    assert checked(made)[0] in ("certified", "enumerated")
    data = found.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["closed_by"] == found.closed_by


def jobs(**more: Any) -> eh.Plan:
    """Two nodes are wanted, of four on which jobs run; one job is on two of them."""
    nodes = ("n1", "n2", "n3", "n4")
    on = {"both": ("n1", "n2"), "one": ("n3",), "other": ("n4",)}
    data = {
        "now": 1000,
        "resources": {"cpu": {}, "lic": {"kind": "license", "scope": "cluster", "capacity": 2}},
        "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in nodes],
        "operations": [{"name": name, "partition": "low", "priority": 1} for name in on]
        + [{"name": "urgent", "partition": "high", "priority": 50}],
        "allocations": [
            {"name": f"{job}@{node}", "operation": job, "node": node, "start_time": 10}
            | {"resources": {"cpu": 4, "lic": int(job == "one")}}
            for job, where in on.items()
            for node in where
        ],
        "requests": [{"name": "r", "operation": "urgent", "resources": {"cpu": 4}, "count": 2}],
    }
    if more.pop("licences", False):
        data["requests"][0]["resources"]["lic"] = 1  # type: ignore[index]
    policy = costs.SYSTEMS["slurm"].replace(**more)
    return eh.plan(eh.Snapshot.from_dict(data), policy)


def test_jobs_on_many_nodes() -> None:
    made = jobs()
    found = only(made)
    assert (found.kind, found.taken, found.copies) == ("jobs", ("both",), 2)
    assert [site.node for site in found.sites] == ["n1", "n2", "n3", "n4"]
    assert found.sites[0].jobs == ("both",)
    assert found.columns == ("cpu", "lic", "<in the way>")
    assert checked(made)[0] in ("certified", "enumerated")


def test_what_the_cluster_shares_must_be_freed() -> None:
    made = jobs(licences=True, reclaim_licenses=True)
    found = only(made)
    assert [site.node for site in found.sites if site.must] == [None]
    assert "one" in found.taken
    assert checked(made)[0] in ("certified", "enumerated")
    looser = replace(found, sites=tuple(site for site in found.sites if not site.must))
    with pytest.raises(AssertionError, match="by the rules"):
        check_by_rules(made, found.step, looser)


def sessions(requests: list[dict[str, Any]], **settings: Any) -> eh.Plan:
    """Three small sessions on two agents, and one that wants more."""
    data = {
        "now": 1000,
        "resources": {"cpu": {}, "gpu": {"kind": "other"}},
        "nodes": [{"name": name, "capacity": {"cpu": 4, "gpu": 2}} for name in ("m1", "m2")],
        "operations": [{"name": f"s{i}", "priority": 1} for i in range(3)] + [{"name": "new", "priority": 9}],
        "allocations": [
            {"name": f"k{i}", "operation": f"s{i}", "node": node, "start_time": 10 + i}
            | {"resources": {"cpu": cpu, "gpu": gpu}}
            for i, (node, cpu, gpu) in enumerate((("m1", 2, 1), ("m1", 2, 1), ("m2", 4, 2)))
        ],
        "requests": [{"operation": "new", **row} for row in requests],
    }
    policy = eh.policies.BackendAI(victim_selection="minimum", **settings)
    return eh.plan(eh.Snapshot.from_dict(data), policy)


def test_sessions_over_the_group() -> None:
    made = sessions([{"name": "r", "resources": {"cpu": 3}}])
    found = only(made)
    assert (found.kind, found.taken) == ("jobs", ("s2",))
    assert checked(made)[0] in ("certified", "enumerated")


def test_sessions_agent_by_agent() -> None:
    made = sessions([{"name": "r", "resources": {"cpu": 3}}], victim_area="agent")
    found = only(made)
    assert found.kind == "amounts"
    assert found.node in ("m1", "m2")
    assert checked(made)[0] in ("certified", "enumerated")
    with pytest.raises(AssertionError):
        check_by_rules(made, found.step, replace(found, node="m3"))


def test_several_requests_are_only_searched() -> None:
    made = sessions([{"name": "r", "resources": {"cpu": 3}}, {"name": "q", "resources": {"gpu": 1}}])
    found = only(made)
    assert (found.kind, found.closed_by) == ("sets", "search")
    assert "sites" not in found.to_dict()
    assert checked(made) == ("enumerated", "enumerated")
    with pytest.raises(AssertionError):
        check_by_rules(made, found.step, replace(found, taken=found.candidates[:1]))


def test_several_copies_agent_by_agent_have_no_one_question() -> None:
    made = sessions([{"name": "r", "resources": {"cpu": 3}, "count": 2}], victim_area="agent")
    found = only(made)
    assert (found.kind, found.node) == ("sets", None)
    assert checked(made)[0] in ("claimed", "open")


def test_agents_that_placement_would_not_prefer() -> None:
    """The small request stands on the small agent; placed anew it would take the large one's room."""
    on = [("m1", 2), ("m2", 1), ("m2", 1), ("m2", 1)]
    data = {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": "m1", "capacity": {"cpu": 2}}, {"name": "m2", "capacity": {"cpu": 3}}],
        "operations": [{"name": f"s{i}", "priority": 1} for i in range(4)] + [{"name": "new", "priority": 9}],
        "allocations": [
            {"name": f"k{i}", "operation": f"s{i}", "node": node, "start_time": 10, "resources": {"cpu": cpu}}
            for i, (node, cpu) in enumerate(on)
        ],
        "requests": [
            {"name": f"r{cpu}", "operation": "new", "resources": {"cpu": cpu}, "order": cpu} for cpu in (2, 3)
        ],
    }
    policy = eh.policies.BackendAI(
        victim_selection="minimum",
        victim_area="agent",
        preemption_order="fewest-sessions",
        agent_selection="dispersed",
    )
    made = eh.plan(eh.Snapshot.from_dict(data), policy)
    assert only(made).kind == "sets"
    assert set(only(made).taken) == {"s0", "s1", "s2", "s3"}
    assert checked(made) == ("open", "open")


def test_steps_without_minimum() -> None:
    made = plan([(1, 1), (4, 4)], (4, 1))
    with pytest.raises(
        KeyError, match=r"step 0 was not decided .* none \(victim_selection is 'irreducible'\)"
    ):
        made.certificate(0)
    with pytest.raises(KeyError, match="step 7 is not in the plan"):
        made.certificate(7)
    with pytest.raises(KeyError, match="step 0 was not decided"):
        check_by_rules(made, 0, only(plan([(1, 1), (4, 4)], (4, 1), victim_selection="minimum")))
    with pytest.raises(eh.InputError, match="must be a whole number"):
        made.certificate("0")  # type: ignore[arg-type]
    engine = eh.plan(eh.Snapshot.from_dict({"resources": {"slots": {}}}), eh.policies.GridEngine())
    assert engine.minimum_steps == ()
    with pytest.raises(KeyError, match="the GridEngine policy has no such setting"):
        engine.certificate(0)


def test_other_steps_are_named() -> None:
    made = plan([(1, 1), (2, 1), (2, 1), (4, 4)], (4, 1), victim_selection="minimum")
    with pytest.raises(KeyError, match="step 9 is not in the plan; steps that were: 0"):
        made.certificate(9)


def test_plans_of_another_process_have_the_same() -> None:
    made = plan(HARD, (4, 10), victim_selection="minimum")
    again = pickle.loads(pickle.dumps(made))
    assert again.certificate(0) == made.certificate(0)
    assert check_by_rules(again, 0) == check_by_rules(made, 0)


def test_live_clusters_certify_what_they_plan() -> None:
    policy = costs.SYSTEMS["backendai"]
    made = eh.Cluster(costs.snapshot(), policy).plan()
    assert checked(made)[0] in ("certified", "enumerated")


def test_a_plan_that_its_snapshot_does_not_lead_to_has_none() -> None:
    made = plan(HARD, (4, 10), victim_selection="minimum")
    prefix = made.policy.replace(victim_selection="prefix")
    strange = eh.Plan(made.snapshot, prefix, KeptCore.of(made), None, None, made.given)
    with pytest.raises(ValueError, match="does not lead to the same decisions"):
        strange.certificate(0)


def test_heartbeats_of_a_live_cluster() -> None:
    sizes = [(1, 1), (2, 1), (2, 1), (4, 4)]
    crossing = {"consider_allocation_on_fair_share_bound_preemptible": True}
    begun = plan(sizes, (4, 1), victim_selection="minimum", **crossing)
    cluster = eh.Cluster(begun.snapshot, begun.policy)
    for now in (200, 700):
        cluster.update()
        cluster.apply([{"event": "time", "now": now}])
    cluster.update()
    cluster.apply([{"event": "time", "now": 701}])
    made = cluster.plan(on=eh.Heartbeat("n"))
    assert only(made).taken == ("a3",)
    assert checked(made) == ("certified", "enumerated")


def test_what_cannot_be_derived_is_told() -> None:
    made = plan([(1, 1), (4, 4)], (4, 1), victim_selection="minimum", preemption_check_starvation=True)
    with pytest.raises(NotDerived, match="pools shield work"):
        check_by_rules(made, only(made).step)


def large(system: str) -> eh.Plan:
    """Full nodes with some forty jobs, one in four on several of them; three jobs want nodes."""
    rng = random.Random(4)
    free = {f"n{i:02}": 16 for i in range(15)}
    jobs: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    while able := [node for node, left in free.items() if left >= 4]:
        count, cpu = rng.choice([1, 1, 1, 2]), rng.choice([4, 4, 8])
        able = [node for node in able if free[node] >= cpu] or able
        name, cpu = f"j{len(jobs):02}", min(cpu, free[able[0]])
        jobs.append({"name": name, "partition": "low", "priority": 1})
        for node in able[:count]:
            free[node] -= cpu
            parts.append({"name": f"{name}@{node}", "operation": name, "node": node})
            parts[-1] |= {"start_time": rng.randrange(900), "resources": {"cpu": cpu}}
    jobs += [{"name": f"u{i}", "partition": "high", "priority": 50 - i} for i in range(3)]
    wants = [
        {"name": f"r{i}", "operation": f"u{i}", "resources": {"cpu": 8 + 4 * i}, "count": 3 - i}
        for i in range(3)
    ]
    data = {
        "now": 1000,
        "resources": {"cpu": {}},
        "nodes": [{"name": node, "capacity": {"cpu": 16}} for node in free],
        "operations": jobs,
        "allocations": parts,
        "requests": wants,
    }
    more = {"victim_cost": "lost_work"} | ({"preemptors": "every"} if system == "backendai" else {})
    return eh.plan(eh.Snapshot.from_dict(data), costs.SYSTEMS[system].replace(**more))


@pytest.mark.parametrize("system", ["slurm", "backendai"])
def test_larger_clusters(system: str) -> None:
    """Where nobody could try all sets, parts are added up; bounds twice as high are refused."""
    made = large(system)
    found = [made.certificate(step) for step in made.minimum_steps]
    assert min(len(one.candidates) for one in found) > 12
    assert any(one.closed_by == "parts" and len(one.taken) > 1 for one in found)
    for one in found:
        cost, order = check_by_rules(made, one.step)
        assert (cost in ("certified", "enumerated")) == (one.closed_by == "parts")
        assert order in ("claimed", "open")
        if one.closed_by == "parts":
            dearer = tuple(replace(s, bounds=tuple(b and b * 2 for b in s.bounds)) for s in one.sites)
            with pytest.raises(AssertionError, match="a bound is too high"):
                check_by_rules(made, one.step, replace(one, sites=dearer))


def test_certificates_change_no_decision() -> None:
    made = costs.planned("slurm", "lost_work")
    before = made.to_json()
    only(made)
    assert made.to_json() == before
    assert costs.planned("slurm", "lost_work").to_json() == before


def without_rules() -> list[tuple[str, Certificate]]:
    """Certificates that the plan and their own numbers contradict."""
    one = only(plan(HARD, (4, 10), victim_selection="minimum"))
    return [
        ("step is 1, by the plan 0", replace(one, step=one.step + 1)),
        ("beneficiary", replace(one, beneficiary=replace(one.beneficiary, operation="nobody"))),
        ("beneficiary", replace(one, beneficiary=replace(one.beneficiary, request="another"))),
        ("table", replace(one, table="operations")),
        ("candidates", replace(one, candidates=one.candidates[1:])),
        ("candidates", replace(one, candidates=(*one.candidates, one.candidates[0]))),
        ("costs", replace(one, costs=one.costs[:-1])),
        ("amounts", replace(one, amounts=one.amounts[:-1])),
        ("amounts", replace(one, amounts=tuple(row[:-1] for row in one.amounts))),
        ("columns", replace(one, columns=(*one.columns, one.columns[0]))),
        ("multipliers", replace(one, multipliers=one.multipliers[:-1])),
        ("resources", replace(one, resources=("time", *one.resources[1:]))),
        ("quantum", replace(one, quantum=tuple(2 * q for q in one.quantum))),
        ("cost is 3, by the plan 4", replace(one, cost=3)),
        ("taken", replace(one, taken=one.taken[1:])),
        ("taken", replace(one, taken=(*one.taken, one.taken[0]))),
        ("shortage", replace(one, shortage=tuple(4 * a for a in one.shortage))),
        ("negative multipliers", replace(one, multipliers=(-1.0,) * len(one.multipliers))),
        ("multipliers prove", replace(one, multipliers=(0.0,) * len(one.multipliers))),
    ]


@pytest.mark.parametrize(("what", "forged"), without_rules())
def test_the_kit_refuses_what_the_plan_or_the_sums_contradict(what: str, forged: Certificate) -> None:
    made = plan(HARD, (4, 10), victim_selection="minimum")
    with pytest.raises(AssertionError, match=what):
        check_certificate(made, only(made).step, forged)


def test_the_kit_adds_up_what_the_rules_agree_with() -> None:
    """Sets that only the rules can place are not tried by it."""
    for made in (jobs(), large("slurm"), plan(HARD, (4, 10), victim_selection="minimum")):
        for step in made.minimum_steps:
            assert check_certificate(made, step) == check_by_rules(made, step)
    sets = sessions([{"name": "r", "resources": {"cpu": 3}}, {"name": "q", "resources": {"gpu": 1}}])
    assert check_certificate(sets, only(sets).step) == ("claimed", "claimed")
    with pytest.raises(AssertionError, match="taken"):
        check_certificate(sets, only(sets).step, replace(only(sets), taken=only(sets).candidates[:1]))


def without_a_part() -> list[tuple[str, Certificate]]:
    """Certificates of jobs over many nodes of which something is missing or stands twice."""
    one = only(jobs())
    first = one.sites[0]
    cut = [("sites", replace(one, sites=one.sites[1:])), ("sites", replace(one, sites=(*one.sites, first)))]
    for name in ("jobs", "amounts", "lacks", "parts", "bounds", "multipliers"):
        rows = getattr(first, name)
        sites = [replace(first, **{name: changed}) for changed in (rows[:-1], (*rows, rows[-1]))]
        cut += [(name, replace(one, sites=(site, *one.sites[1:]))) for site in sites]
    return cut


@pytest.mark.parametrize(("what", "forged"), without_a_part())
def test_no_part_of_a_certificate_may_be_missing_or_stand_twice(what: str, forged: Certificate) -> None:
    made = jobs()
    with pytest.raises(AssertionError, match=what):
        check_certificate(made, only(made).step, forged)
