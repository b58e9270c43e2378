"""Scheduling runs of Slurm: who goes, how, why, and why others do not."""

from __future__ import annotations

from typing import Any

import evenhand as eh

TIERS = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10, "PreemptMode": "OFF"}}


def policy(mode: str = "REQUEUE", **settings: Any) -> eh.policies.Slurm:
    given = {"PreemptType": "preempt/partition_prio", "PreemptMode": mode, "partitions": TIERS}
    return eh.policies.Slurm(**{**given, **settings})


def cluster(
    running: dict[str, Any],
    wants: dict[str, float] | None = None,
    *,
    nodes: int = 2,
    count: int = 1,
    **more: Any,
) -> eh.Snapshot:
    """Nodes of 4 cpus and 8 memory; jobs as (partition, node numbers, cpus), the first started first."""
    data: dict[str, Any] = {
        "now": 1000,
        "resources": {"cpu": {"quantum": 1}, "memory": {}, "lic": {"scope": "cluster", "capacity": 2}},
        "nodes": [{"name": f"n{i}", "capacity": {"cpu": 4, "memory": 8}} for i in range(1, nodes + 1)],
        "operations": [{"name": "p", "partition": "high", "start_time": 900}],
        "allocations": [],
        "requests": [{"name": "p-r", "operation": "p", "resources": wants or {"cpu": 4}, "count": count}],
    }
    for start, (name, (partition, where, cpus, *rest)) in enumerate(running.items()):
        own = dict(rest[0]) if rest else {}
        data["operations"].append({"name": name, "partition": partition, "start_time": start} | own)
        data["allocations"] += [
            {"name": f"{name}@n{i}", "operation": name, "node": f"n{i}", "start_time": start}
            | {"resources": {"cpu": cpus, "memory": cpus}}
            for i in where
        ]
    for table, rows in more.items():
        data[table] = [*data.get(table, []), *rows]
    return eh.Snapshot.from_dict(data)


def said(plan: eh.Plan) -> list[tuple[Any, ...]]:
    return [(d.action, d.allocation or d.request, d.node, d.mode) for d in plan.decisions]


def test_whole_jobs_go_and_the_other_starts_later() -> None:
    snapshot = cluster({"wide": ("low", [1, 2], 4)})
    plan = eh.plan(snapshot, policy(), on=eh.SchedulingRun())
    assert said(plan) == [
        ("preempt", "wide@n1", "n1", "requeue"),
        ("preempt", "wide@n2", "n2", "requeue"),
        ("reserve", "p-r", "n1", None),
    ]
    assert {d.reason for d in plan.decisions.victims} == {"higher_partition_tier"}
    assert [r.rule for r in plan.refusals] == ["waits_for_victims"]
    again = eh.plan(snapshot.after(plan), policy(), plan.state)
    assert said(again) == []
    assert [r.rule for r in again.refusals] == ["waits_for_victims"]
    left = snapshot.after(plan).to_dict()
    later = eh.plan(eh.Snapshot.from_dict(left | {"allocations": []}), policy(), plan.state)
    assert said(later) == [("start", "p-r", "n1", None)]


def test_modes_and_grace() -> None:
    running = {
        "batch": ("low", [1], 4),
        "stays": ("low", [2], 4, {"settings": {"requeue": False}}),
        "shell": ("low", [3], 4, {"kind": "interactive"}),
    }
    tiers = {**TIERS, "low": {"PriorityTier": 1, "GraceTime": "1m"}}
    plan = eh.plan(cluster(running, nodes=3, count=3), policy(partitions=tiers))
    modes = {d.operation: (d.mode, d.grace, d.until) for d in plan.decisions.victims}
    assert modes == {
        "batch": ("requeue", 60, 1060),
        "stays": ("terminate", 60, 1060),
        "shell": ("terminate", 60, 1060),
    }
    assert {d.at for d in plan.decisions if d.action == "reserve"} == {1060}


def test_a_job_that_ends_soon_has_no_longer_grace() -> None:
    snapshot = cluster({"j": ("low", [1], 4)}, nodes=1)
    rows = [{**row, "planned_end": 1010} for row in snapshot.to_dict()["allocations"]]
    tiers = {**TIERS, "low": {"PriorityTier": 1, "GraceTime": 60.0}}
    plan = eh.plan(snapshot.replace(allocations=rows), policy(partitions=tiers))
    assert [d.until for d in plan.decisions.victims] == [1010]


def test_suspended_jobs_keep_their_memory_and_go_on() -> None:
    tiers = {name: {**tier, "OverSubscribe": "FORCE:1"} for name, tier in TIERS.items()}
    gang = policy("SUSPEND,GANG", partitions=tiers)
    snapshot = cluster({"j": ("low", [1], 4)}, {"cpu": 4, "memory": 4}, nodes=1)
    plan = eh.plan(snapshot, gang)
    assert said(plan) == [("preempt", "j@n1", "n1", "suspend"), ("start", "p-r", "n1", None)]
    assert (plan.decisions[0].freed, plan.decisions[0].kept) == ({"cpu": 4}, {"memory": 4})
    assert plan.decisions[1].reason == "fits_over_suspended"
    after = snapshot.after(plan).to_dict()
    states = {row["name"]: (row.get("state"), row.get("held")) for row in after["allocations"]}
    assert states == {"j@n1": ("preempted", {"memory": 4}), "p-r/1": (None, None)}
    assert said(eh.plan(snapshot.after(plan), gang, plan.state)) == []
    after["allocations"] = [row for row in after["allocations"] if row["operation"] == "j"]
    resumed = eh.plan(eh.Snapshot.from_dict(after), gang)
    assert said(resumed) == [("resume", "j@n1", "n1", None)]
    assert resumed.decisions[0].reason == "resumes"
    too_much = eh.plan(cluster({"j": ("low", [1], 4)}, {"cpu": 4, "memory": 5}, nodes=1), gang)
    assert said(too_much) == []


def test_only_the_flag_of_a_signal_ends_what_would_be_suspended() -> None:
    tiers = {name: {**tier, "OverSubscribe": "FORCE:1"} for name, tier in TIERS.items()}
    for signal, mode in (
        ("USR1@60", "suspend"),
        ("R:10", "terminate"),
        ("rb:USR1@60", "terminate"),
        ("B:TERM@5", "suspend"),
    ):
        snapshot = cluster({"j": ("low", [1], 4, {"settings": {"signal": signal}})}, nodes=1)
        plan = eh.plan(snapshot, policy("SUSPEND,GANG", partitions=tiers))
        assert [d.mode for d in plan.decisions.victims] == [mode], signal


def test_who_shares_a_node_by_gang_scheduling() -> None:
    """As a real controller did it: off the higher tier, then of each tier the first to start stay."""
    shared = {"OverSubscribe": "FORCE:1"}
    tiers = {
        "low": {"PriorityTier": 1} | shared,
        "mid": {"PriorityTier": 5} | shared,
        "high": {"PriorityTier": 10, "PreemptMode": "OFF"} | shared,
    }
    gang = policy("SUSPEND,GANG", partitions=tiers)
    running = {"a": ("mid", [1, 2, 4], 2), "b": ("mid", [3], 2), "c": ("low", [1], 2), "d": ("low", [4], 2)}
    plan = eh.plan(cluster(running, {"cpu": 2}, nodes=4, count=4), gang)
    assert [d.operation for d in plan.decisions.victims] == ["c", "d"]
    plan = eh.plan(cluster({"m": ("mid", [1, 2], 2), "l": ("low", [1, 2, 3, 4], 2)}, nodes=4, count=2), gang)
    assert {d.operation for d in plan.decisions.victims} == {"l"}
    assert {d.node for d in plan.decisions if d.action == "start"} == {"n3", "n4"}
    snapshot = cluster({"x": ("low", [1], 1), "y": ("low", [1], 3)}, {"cpu": 3}, nodes=1)
    assert [d.operation for d in eh.plan(snapshot, gang).decisions.victims] == ["y"]
    assert not eh.plan(snapshot, gang.replace(victim_selection="test_only")).decisions.victims


def test_gangs_with_several_modes() -> None:
    """Who is requeued has to end first, so the other waits."""
    tiers = {name: {**tier, "OverSubscribe": "FORCE:1"} for name, tier in TIERS.items()}
    tiers["mid"] = {"PriorityTier": 5, "OverSubscribe": "FORCE:1"}
    tiers["low"] |= {"PreemptMode": "REQUEUE"}
    snapshot = cluster({"m": ("mid", [1], 4), "l": ("low", [2], 4)}, nodes=2, count=2)
    plan = eh.plan(snapshot, policy("SUSPEND,GANG", partitions=tiers))
    assert sorted(said(plan), key=str) == [
        ("preempt", "l@n2", "n2", "requeue"),
        ("preempt", "m@n1", "n1", "suspend"),
        ("reserve", "p-r", "n1", None),
        ("reserve", "p-r", "n2", None),
    ]
    assert [r.rule for r in plan.refusals] == ["waits_for_victims"]
    tiers["low"] |= {"OverSubscribe": "NO"}
    plan = eh.plan(snapshot, policy("SUSPEND,GANG", partitions=tiers))
    assert [d.operation for d in plan.decisions.victims] == ["l", "m"]


def test_exempt_time_and_gang() -> None:
    tiers = {name: {**tier, "OverSubscribe": "FORCE:1"} for name, tier in TIERS.items()}
    snapshot = cluster({"j": ("low", [1], 4)}, nodes=1)
    for preset, taken in (("documented", []), ("upstream", ["j@n1"])):
        gang = eh.policies.Slurm(
            preset,
            PreemptType="preempt/partition_prio",
            PreemptMode="SUSPEND,GANG",
            PreemptExemptTime=2000,
            partitions=tiers,
            release="25.11",
        )
        assert [d.allocation for d in eh.plan(snapshot, gang).decisions.victims] == taken
        assert not eh.plan(snapshot, gang.replace(release="26.05")).decisions.victims


def test_why_not() -> None:
    running = {
        "high": ("high", [1], 1),
        "young": ("low", [1], 1),
        "later": ("low", [1], 1),
        "vip": ("low", [1], 1, {"priority": 9}),
        "gone": ("low", [2], 1),
    }
    snapshot = cluster(running, {"cpu": 1}, nodes=2, requests=[])
    rows = snapshot.to_dict()["allocations"]
    for row in rows:
        if row["operation"] == "young":
            row["start_time"] = 990
    tiers = {**TIERS, "high": {**TIERS["high"], "Nodes": ["n1"]}}
    plan = eh.plan(
        snapshot.replace(allocations=rows),
        policy(partitions=tiers, PreemptExemptTime=60, min_exempt_priority=5),
    )
    assert [d.operation for d in plan.decisions.victims] == ["later"]
    codes = {name: plan.why_not(f"{name}@n{2 if name == 'gone' else 1}").code for name in running}
    assert codes == {
        "high": "tier_not_lower",
        "young": "ran_too_short",
        "later": "higher_partition_tier",
        "vip": "above_min_exempt_priority",
        "gone": "outside_partition",
    }
    text = plan.why("later@n1").text
    assert "whose partition has a higher tier" in text
    assert "Operation p is in partition high (tier 10), priority 1" in text
    assert "starts again" in text
    waiting = plan.why("p-r")
    assert waiting.code == "waits_for_victims"


def test_who_waits_blocks_those_behind_it() -> None:
    more = {
        "operations": [{"name": "q", "partition": "low", "start_time": 950}],
        "requests": [{"name": "q-r", "operation": "q", "resources": {"cpu": 1}}],
    }
    snapshot = cluster({"j": ("low", [1], 3)}, {"cpu": 4}, nodes=1, **more)
    plan = eh.plan(snapshot, policy())
    assert {r.request: r.rule for r in plan.refusals} == {
        "p-r": "waits_for_victims",
        "q-r": "waits_for_next_pass",
    }
    assert plan.why_not("q-r").code == "waits_for_next_pass"


def test_back_off_between_two_attempts() -> None:
    snapshot = cluster({"j": ("low", [1], 4)}, nodes=1)
    plan = eh.plan(snapshot, policy())
    assert plan.state.operations == {"p": {"last_preempt": 1000}}
    state = eh.State.from_dict(plan.state.to_dict())
    assert state == plan.state
    for later, rules in ((1039, ["preemption_backoff"]), (1040, ["waits_for_victims"])):
        again = eh.plan(snapshot.replace(now=later), policy(), state)
        assert [r.rule for r in again.refusals] == rules


def test_licences() -> None:
    holds = [{"name": "j@", "operation": "j", "resources": {"lic": 2}}]
    asks = [{"name": "p-l", "operation": "p", "resources": {"lic": 1}}]
    snapshot = cluster({"j": ("low", [1], 1)}, {"cpu": 1}, allocations=holds, requests=asks)
    never = eh.plan(snapshot, policy())
    assert said(never) == []
    assert {r.rule for r in never.refusals} == {"licenses_missing"}
    plan = eh.plan(snapshot, policy(reclaim_licenses=True))
    assert {d.allocation for d in plan.decisions.victims} == {"j@n1", "j@"}


def test_a_licence_that_a_job_on_another_node_holds() -> None:
    """Node n2 is free: of the job on n1 only the licence is wanted, whichever selection."""
    snapshot = cluster({"stays": ("high", [1], 2)}, wants={"cpu": 4, "lic": 1})
    data = snapshot.to_dict()
    data["operations"].append({"name": "j", "partition": "low"})
    held = {"cpu": 2, "memory": 2, "lic": 2}
    data["allocations"].append({"name": "j@n1", "operation": "j", "node": "n1", "resources": held})
    for selection in ("reorder", "prefix", "irreducible", "minimum", "test_only"):
        plan = eh.plan(eh.Snapshot.from_dict(data), policy(reclaim_licenses=True, victim_selection=selection))
        assert [d.allocation for d in plan.decisions.victims] == ["j@n1"], selection
        assert {d.node for d in plan.decisions if d.action == "reserve"} == {"n2"}


def test_qos() -> None:
    quality = {
        "gold": {"Preempt": ["bronze"], "Priority": 9},
        "bronze": {"PreemptMode": "CANCEL"},
        "iron": {},
    }

    def plan(job: str, **settings: Any) -> eh.Plan:
        running = {"j": ("low", [1], 4, {"qos": job, "priority": 1})}
        snapshot = cluster(running, nodes=1)
        rows = [
            {**row, "qos": "gold", "priority": 5} if row["name"] == "p" else row
            for row in snapshot.to_dict()["operations"]
        ]
        given = policy(**{"PreemptType": "preempt/qos", "qos": quality, **settings})
        return eh.plan(snapshot.replace(operations=rows), given)

    [victim] = plan("bronze").decisions.victims
    assert (victim.reason, victim.mode) == ("qos_preempts", "terminate")
    assert plan("iron").why_not("j@n1").code == "qos_not_listed"
    assert plan("gold").why_not("j@n1").code == "qos_not_listed"
    [victim] = plan("gold", PreemptMode="REQUEUE,WITHIN").decisions.victims
    assert victim.reason == "higher_priority_in_qos"
    shielded = {**quality, "bronze": {"PreemptMode": "WITHIN"}}
    assert plan("bronze", qos=shielded).why_not("j@n1").code == "preempt_mode_off"


def test_the_fewest_with_a_proof() -> None:
    running = {"a": ("low", [1], 2), "b": ("low", [1], 2), "big": ("low", [2], 4)}
    plans = {
        selection: eh.plan(cluster(running), policy(victim_selection=selection))
        for selection in ("reorder", "minimum", "test_only")
    }
    jobs = {name: sorted({d.operation for d in plan.decisions.victims}) for name, plan in plans.items()}
    assert jobs == {"reorder": ["a", "b"], "minimum": ["big"], "test_only": ["a", "b"]}
    counts = plans["minimum"].counts
    assert (counts["minimum.cost"], counts["minimum.lower_bound"], counts["minimum.proved"]) == (1, 1, 1)
    diff = plans["reorder"].diff(plans["minimum"])
    assert "spared" in repr(diff)


def test_a_difference_counts_jobs_not_their_nodes() -> None:
    running = {"a": ("low", [1], 4), "b": ("low", [2], 4), "wide": ("low", [3, 4, 5], 4)}
    snapshot = cluster(running, nodes=5, count=2)
    some, few = (
        eh.plan(snapshot, policy(victim_selection=selection)) for selection in ("reorder", "minimum")
    )
    assert len(few.decisions.victims) == 3
    assert some.diff(few).summary == "1 operation fewer: a, b are spared; wide leaves instead."
    assert few.diff(some).summary == "1 operation more: wide is spared; a, b leave instead."


def test_whole_nodes() -> None:
    snapshot = cluster({"j": ("low", [1], 1)}, {"cpu": 1}, nodes=1)
    assert said(eh.plan(snapshot, policy())) == [("start", "p-r", "n1", None)]
    linear = eh.plan(snapshot, policy(SelectType="select/linear"))
    assert [d.allocation for d in linear.decisions.victims] == ["j@n1"]


def test_texts_of_a_plan() -> None:
    plan = eh.plan(cluster({"j": ("low", [1], 4)}, nodes=1), policy())
    assert "1 preempted" in repr(plan)
    assert "1 reservation" in repr(plan)
    assert "j@n1" in plan._repr_html_()
    assert plan.to_dict()["statuses"] == {}
    assert plan.why("j").code == "no_fair_shares"
    assert plan.why("n1").code == "decided"
    assert len(plan.steps()) == 1
    assert plan.check(plan.snapshot)
    assert not hasattr(plan, "shares")


def test_backfill() -> None:
    """The first waits for 4 cpus that come free at 1060; a short job may pass it, a long one may not."""

    def plan(duration: float | None, **settings: Any) -> eh.Plan:
        more = {
            "operations": [{"name": "q", "partition": "high", "start_time": 950}],
            "requests": [{"name": "q-r", "operation": "q", "resources": {"cpu": 1}}],
        }
        if duration is not None:
            more["requests"][0]["duration"] = duration
        snapshot = cluster({"j": ("high", [1], 3)}, {"cpu": 4}, nodes=1, **more)
        rows = [{**row, "planned_end": 1060} for row in snapshot.to_dict()["allocations"]]
        return eh.plan(
            snapshot.replace(allocations=rows),
            policy(SchedulerType="sched/backfill", bf_resolution=1, **settings),
        )

    short = plan(59)
    assert said(short) == [("start", "q-r", "n1", None)]
    assert short.decisions[0].stage == "backfill"
    assert [r.rule for r in short.refusals] == ["no_eligible_victims"]
    for duration in (60, 61, None):  # what is kept from 1060 on is kept at 1060, too
        assert said(plan(duration)) == []
    assert said(plan(59, partitions={**TIERS, "low": {"PriorityTier": 1}})) == said(short)
