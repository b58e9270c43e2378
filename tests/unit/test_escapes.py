"""Names of whatever origin cannot touch a terminal: in texts, tables, HTML, messages and errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand import plans

ESCAPE = "\x1b[31mE\u202e\x9b\r"
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def n(name: str) -> str:
    return ESCAPE + name


TIERS = {n("low"): {"PriorityTier": 1}, n("high"): {"PriorityTier": 10, "PreemptMode": "OFF"}}
CLUSTER: dict[str, Any] = {
    "now": 1000,
    "resources": {n("cpu"): {}, n("mem"): {}},
    "nodes": [{"name": n("n1"), "capacity": {n("cpu"): 4, n("mem"): 8}, "tags": [n("t")]}],
    "pools": [{"name": n("p"), "strong_guarantee": {n("cpu"): 2}, "limits": {n("cpu"): 3}}, {"name": n("q")}],
    "operations": [
        {"name": n("old"), "pool": n("q"), "priority": 1, "partition": n("low"), "user": n("u")},
        {"name": n("new"), "pool": n("p"), "priority": 20, "partition": n("high"), "user": n("u")},
        {"name": n("huge"), "pool": n("q"), "priority": 10, "partition": n("high")},
    ],
    "allocations": [
        {"name": n(f"a{i}"), "operation": n("old"), "node": n("n1"), "start_time": i}
        | {"resources": {n("cpu"): 2, n("mem"): 1}}
        for i in range(2)
    ],
    "requests": [
        {"name": n("r"), "operation": n("new"), "resources": {n("cpu"): 2}},
        {"name": n("r2"), "operation": n("huge"), "resources": {n("cpu"): 9}},
    ],
}
POLICIES: dict[str, Any] = {
    "ytsaurus": eh.policies.YTsaurus(),
    "backendai": eh.policies.BackendAI(),
    "slurm": eh.policies.Slurm(PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=TIERS),
}


def snapshot(**changes: Any) -> eh.Snapshot:
    return eh.Snapshot.from_dict(CLUSTER | changes)


def planned(system: str, **changes: Any) -> eh.Plan:
    given = {"starvation": {n("new"): "starving"}} if system == "ytsaurus" else None
    return eh.plan(snapshot(**changes), POLICIES[system], given=given)


def operations(**settings: Any) -> list[dict[str, Any]]:
    return [row | settings for row in CLUSTER["operations"]]


def texts(value: Any) -> list[str]:
    return [repr(value), value._repr_html_()]


@pytest.mark.parametrize("system", POLICIES)
def test_plans(system: str) -> None:
    plan = planned(system)
    check = plan.check(snapshot(allocations=[]))
    more = {"name": n("x"), "capacity": {n("cpu"): 1}}
    other = planned(system, nodes=[*CLUSTER["nodes"], more], allocations=CLUSTER["allocations"][:1])
    shown = [
        plan,
        plan.decisions,
        plan.refusals,
        plan.statuses,
        plan.diff(other),
        check,
        plan.decisions.table(),
    ]
    said = [text for value in shown for text in texts(value)]
    said += [repr(plan.policy), plan.diff(other).summary, repr(plan.groups)]
    said += [d.message for d in plan.diagnostics] + [r.message for r in plan.refusals]
    said += [f.message for f in check.findings]
    assert len(plan.refusals)
    assert check.findings
    for name in ("a0", "a1", "r", "r2", "old", "new", "p", "q", "n1"):
        told = plan.why(n(name))
        said += [told.text, *texts(told)]
    for name in ("a0", "a1", "r", "r2"):
        said.append(plan.why_not(n(name)).text)
    with pytest.raises(KeyError) as error:
        plan.why_not(n("old"))
    said.append(str(error.value))
    assert [text for text in said if UNSAFE.search(text)] == []


def test_snapshots_shares_and_comparisons() -> None:
    made = snapshot()
    shares = eh.fair_share(made)
    both = plans.side_by_side({n(system): planned(system) for system in POLICIES})
    shown = [made, shares, both, *(made.table(t) for t in ("nodes", "pools", "operations", "requests"))]
    assert [text for value in shown for text in texts(value) if UNSAFE.search(text)] == []


WRONG: dict[str, Callable[[], Any]] = {
    "unknown resource": lambda: snapshot(nodes=[{"name": "n", "capacity": {n("cpx"): 1}}]),
    "unknown field": lambda: snapshot(nodes=[{"name": "n", n("capacit"): 1}]),
    "reference": lambda: snapshot(operations=[{"name": "o", "pool": n("zz")}]),
    "twice": lambda: snapshot(nodes=[{"name": n("n"), "capacity": {}}] * 2),
    "quantum": lambda: snapshot(nodes=[{"name": n("n"), "capacity": {n("mem"): 0.5}}]),
    "choice": lambda: snapshot(operations=[{"name": n("n"), "kind": n("batsh")}]),
    "json": lambda: eh.Snapshot.from_json("\x1b[31m"),
    "path": lambda: eh.Snapshot.from_json(Path("/nope/\x1b[31m")),
    "frame": lambda: eh.Snapshot.from_frames(resources={"cpu": {}}, nodes={n("x"): [1], "name": ["a"]}),
    "replace": lambda: snapshot().replace(**{n("x"): 1}),
    "setting": lambda: eh.policies.YTsaurus(**{n("x"): 1}),
    "value": lambda: eh.policies.YTsaurus(victim_selection=n("x")),
    "preset": lambda: eh.policies.YTsaurus(n("x")),
    "partition": lambda: eh.policies.Slurm(partitions={n("a"): {n("PriorityTie"): 1}}),
    "partitions": lambda: eh.plan(snapshot(), POLICIES["slurm"].replace(partitions={n("lowx"): {}})),
    "qos": lambda: eh.plan(
        snapshot(operations=operations(qos=n("zz"))),
        POLICIES["slurm"].replace(PreemptType="preempt/qos", qos={n("qq"): {}}),
    ),
    "conf": lambda: eh.policies.Slurm.from_conf(
        "PreemptTyp\x1b[31me=1\nPartitionName=\x1b[31m PriorityTie=5"
    ),
    "main": lambda: eh.fair_share(snapshot(), eh.FairShareSettings(main_resource=n("zz"))),
    "given": lambda: eh.plan(snapshot(), POLICIES["ytsaurus"], given={n("x"): {}}),
    "given element": lambda: eh.plan(
        snapshot(), POLICIES["ytsaurus"], given={"starvation": {n("nobody"): "starving"}}
    ),
    "given word": lambda: eh.plan(snapshot(), POLICIES["ytsaurus"], given={"groups": {n("a0"): n("x")}}),
    "nothing given": lambda: eh.plan(snapshot(), POLICIES["backendai"], given={n("x"): 1}),
    "heartbeat": lambda: eh.plan(snapshot(), POLICIES["ytsaurus"], on=eh.Heartbeat(n("x"))),
    "trigger": lambda: eh.plan(snapshot(), POLICIES["ytsaurus"], on=n("x")),
    "mapping": lambda: eh.plan({n("a"): snapshot()}, {n("b"): POLICIES["ytsaurus"]}),
    "domains": lambda: eh.plan(dict.fromkeys([n("a"), n("b")], snapshot()), POLICIES["ytsaurus"]),
    "state": lambda: eh.State.from_dict({"schema": "evenhand/state/1", "time": 1, n("x"): 1}),
    "tier": lambda: eh.policies.tiered(snapshot(), {n("p"): n("zz")}),
    "row setting": lambda: eh.plan(
        snapshot(operations=operations(settings={n("job_prioriti"): 1})), POLICIES["backendai"]
    ),
    "row value": lambda: eh.plan(
        snapshot(operations=operations(settings={"preemption_mode": n("x")})), POLICIES["ytsaurus"]
    ),
    "quantity": lambda: eh.fair_share(snapshot())[n("x")],
    "column": lambda: planned("slurm").decisions.column(n("x")),
    "table": lambda: snapshot().table(n("x")),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_errors(call: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)) as error:
        call()
    said = [str(error.value)]
    if isinstance(error.value, eh.InputError):
        said += [p.message for p in error.value.problems]
    assert [text for text in said if UNSAFE.search(text)] == []
