"""Drawn plans whose victims are to be the fewest or cheapest, and their certificates.

    python -m tests.properties.certifying PLANS [SYSTEM...] [--seed N]

draws so many plans a system, checks every certificate, prints what the verdicts rest on, and exits with 1 at
the first that is refused.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

import evenhand as eh
from evenhand.testing.strategies import (
    job_clusters,
    plan_inputs,
    policies,
    slurm_settings,
    system_cluster_dicts,
)
from tests.drawing import each, every_system
from tests.reference.certificates import NotDerived, check_by_rules

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from evenhand.plans import Plan

__all__ = ["SYSTEMS", "minimum_plans"]

SYSTEMS = ("ytsaurus", "backendai", "slurm")

_COSTS = ("victims", "victims", "lost_work", "given")
_BUDGETS = (1_000_000, 1_000_000, 3, 1)


def minimum_plans(system: str) -> SearchStrategy[Plan]:
    """Draw plans of one system with `victim_selection` "minimum", costs of any kind, small budgets too."""
    more = st.fixed_dictionaries(
        {
            "victim_selection": st.just("minimum"),
            "victim_cost": st.sampled_from(_COSTS),
            "minimum_budget": st.sampled_from(_BUDGETS),
        }
    )
    if system == "ytsaurus":
        sizes = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=14)
        parts = st.tuples(st.integers(1, 9), st.integers(0, 9))
        return st.one_of(
            st.tuples(sizes, parts, more).map(_of_one_node),
            st.tuples(plan_inputs(), more, st.booleans()).map(_of_pools),
        )
    drawn = st.tuples(system_cluster_dicts(system), policies(system), more)
    if system == "slurm":  # licences that victims give back, jobs with several requests
        clusters = job_clusters(max_nodes=6, max_running=9, max_waiting=2, mixed=True)
        lending = slurm_settings(reclaim_licenses=True, most_changes=2)
        drawn = st.one_of(drawn, st.tuples(clusters, lending.map(_slurm), more))
    return drawn.map(_of_jobs)


def _slurm(settings: Any) -> Any:
    return eh.policies.Slurm(**settings.model_dump())


def _with_costs(data: dict[str, Any], kind: str) -> dict[str, Any]:
    if kind == "given":
        for place, row in enumerate(data.get("operations", ())):
            row["settings"] = {**row.get("settings", {}), "preemption_cost": 1 + place % 4 * 2}
    return data


def _of_jobs(drawn: tuple[dict[str, Any], Any, dict[str, Any]]) -> Plan:
    data, policy, more = drawn
    snapshot = eh.Snapshot.from_dict(_with_costs(data, more["victim_cost"]))
    return eh.plan(snapshot, policy.replace(**more))


def _of_one_node(drawn: tuple[list[tuple[int, int]], tuple[int, int], dict[str, Any]]) -> Plan:
    """Plan for a request of so many tenths of a full node."""
    sizes, parts, more = drawn
    has = [sum(column) for column in zip(*sizes, strict=True)]
    rows = [
        {"name": f"a{i}", "operation": f"old{i % 3}", "node": "n", "start_time": 50 - i}
        | {"resources": {"cpu": cpu, "memory": memory}}
        for i, (cpu, memory) in enumerate(sizes)
    ]
    need = {r: -(-amount * part // 10) for r, amount, part in zip(("cpu", "memory"), has, parts, strict=True)}
    data = {
        "now": 100,
        "resources": {"cpu": {}, "memory": {}},
        "nodes": [{"name": "n", "capacity": {"cpu": has[0], "memory": has[1]}}],
        "operations": [{"name": "old0"}, {"name": "old1"}, {"name": "old2"}, {"name": "new"}],
        "allocations": rows,
        "requests": [{"name": "r", "operation": "new", "resources": need}],
    }
    groups = {row["name"]: "preemptible" for row in rows}
    snapshot = eh.Snapshot.from_dict(_with_costs(data, more["victim_cost"]))
    given = {"starvation": {"new": "starving"}, "groups": groups}
    return eh.plan(snapshot, eh.policies.YTsaurus(**more), given=given)


def _of_pools(drawn: tuple[Any, dict[str, Any], bool]) -> Plan:
    one, more, all_starve = drawn
    policy = eh.policies.YTsaurus(**one.settings.model_dump()).replace(**more)
    state = eh.State.from_dict(one.state) if one.state else None
    snapshot = eh.Snapshot.from_dict(_with_costs(one.snapshot, more["victim_cost"]))
    given = dict(one.given)
    if all_starve:  # else few plans preempt anything
        waiting = {str(row["operation"]) for row in one.snapshot.get("requests", ())}
        pools = {str(row["name"]) for row in one.snapshot.get("pools", ())}
        given["starvation"] = {
            **dict.fromkeys(waiting - pools, "aggressively_starving"),
            **given.get("starvation", {}),
        }
    return eh.plan(snapshot, policy, state, on=one.on, given=given)


def _verdicts(system: str, count: int, first: int) -> bool:
    """Print what the verdicts of one system's plans rest on; whether all certificates hold."""
    counted: Counter[str] = Counter()
    began, false = time.monotonic(), []

    def look(plan: Plan) -> None:
        counted["plans"] += 1
        for step in plan.minimum_steps:
            certificate = plan.certificate(step)
            try:
                verdict = check_by_rules(plan, step)
            except NotDerived as why:
                counted[f"not derived: {why}"[:60]] += 1
            except AssertionError as error:
                false.append(f"plan {counted['plans']}, step {step}: {certificate!r}: {error}")
            else:
                counted[f"{certificate.kind}, cost {verdict.cost}, order {verdict.order}"] += 1

    each(minimum_plans(system), count, first, look)
    print(f"{system}: {counted['plans']:,} plans in {time.monotonic() - began:,.0f} s", flush=True)
    for what, many in sorted(counted.items()):
        print(f"  {many:6,} {what}", flush=True)
    for one in false[:5]:
        print(f"  refused: {one}", flush=True)
    if len(false) > 5:
        print(f"  and {len(false) - 5:,} more", flush=True)
    return not false


if __name__ == "__main__":
    sys.exit(every_system("tests.properties.certifying", SYSTEMS, _verdicts))
