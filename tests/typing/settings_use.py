"""Uses of policies for type checkers alone: each line that is marked is a mistake, all others are right."""

# pyright: strict

from __future__ import annotations

from datetime import timedelta

import evenhand as eh
from evenhand.simulate import Workload


def right(snapshot: eh.Snapshot, state: eh.State) -> None:
    policy = eh.policies.YTsaurus(
        "upstream",
        fair_share_starvation_timeout="1m",
        fair_share_aggressive_starvation_timeout=timedelta(minutes=5),
        victim_selection="minimum",
        pace={"victim_cooldown": "10m"},
        fair_share=eh.FairShareSettings(improved=True),
        job_interrupt_timeout=20,
    )
    other = policy.replace(preemption_satisfaction_threshold=1.2)
    plan = eh.plan(snapshot, other, as_if_waiting="10m")
    eh.plan({"a": snapshot}, {"a": policy})["a"].why("x")
    eh.plan(snapshot, eh.policies.Slurm(PreemptMode="REQUEUE"), state)
    eh.plan(snapshot, eh.policies.BackendAI(preemption_order="newest"), plan.state)
    print(eh.starvation(snapshot, policy).statuses["x"].since)
    eh.Cluster(snapshot, policy).plan()
    others = [
        eh.policies.GridEngine("upstream", preemption_action="R", notify="1m", queues={"all.q": {}}),
        eh.policies.YuniKorn(grace=5, policies=["inter_queue"], limit={"cpu": 0.5}),
        eh.policies.Slurm("upstream", PriorityMaxAge=timedelta(days=5), partitions={"high": {}}),
    ]
    for one in others:
        print(eh.plan(snapshot, one).why("x"), one.replace(pace={"victim_cooldown": 60}).to_dict())


def rightly_simulated(snapshot: eh.Snapshot, workload: Workload) -> None:
    policy = eh.policies.GridEngine(automatic_preemption=True)
    result = eh.simulate(snapshot, policy, workload, until=60)
    table = eh.sweep(snapshot, policy, workload, {"notify": eh.sweep.between(0, 60)})
    run = eh.simulate.Simulation(snapshot, policy, workload)
    print(result.metrics["jobs"], len(table), run.plan().decisions, eh.simulate.measure(result)["jobs"])
    print(eh.simulate.simulate(snapshot, policy, workload, until=60).series, eh.sweep.pareto(table))
    print(eh.sweep.sweep(snapshot, policy, workload, {"notify": [0, 60]}).to_dict())
    eh.tune(snapshot, policy, workload, {"notify": [0, 60]}, "waiting.p95 < 600")


def followed(snapshot: eh.Snapshot) -> eh.State | None:
    cluster = eh.Cluster(snapshot, eh.policies.Slurm())
    plan = cluster.plan()
    print(cluster.carry_out(plan).started, plan.why("x").text, cluster.plan(on=eh.Heartbeat("n1")).counts)
    return cluster.state()


def wrong(snapshot: eh.Snapshot) -> None:
    eh.policies.YTsaurus(fair_share_starvation_timout="1m")  # mistake: misspelt
    eh.policies.YTsaurus(victim_selection="fewest")  # mistake: no such choice
    eh.policies.YTsaurus("latest")  # mistake: no such preset
    eh.policies.YTsaurus(enable_pool_starvation="yes")  # mistake: a flag
    eh.policies.YTsaurus().replace(minimum_budget=1.5)  # mistake: a whole number
    eh.policies.YTsaurus(fair_share_starvation_timeout=[60])  # mistake: a duration
    eh.policies.YTsaurus().replace(victim_costs={})  # mistake: misspelt
    eh.policies.BackendAI(preemptable_priority=5)  # mistake: misspelt
    eh.policies.BackendAI(preemption_mode="kill")  # mistake: no such choice
    eh.policies.BackendAI("release")  # mistake: no such preset
    eh.policies.BackendAI(enabled="no")  # mistake: a flag
    eh.policies.BackendAI(preemptible_priority="5")  # mistake: a number
    eh.policies.Slurm(preempt_mode="REQUEUE")  # mistake: misspelt
    eh.policies.Slurm(PriorityType="multifactor")  # mistake: no such choice
    eh.policies.Slurm("23.11")  # mistake: no such preset
    eh.policies.Slurm(PriorityFavorSmall="yes")  # mistake: a flag
    eh.policies.Slurm(PriorityWeightAge="1000")  # mistake: a number
    eh.policies.YuniKorn(quota_preemtion=True)  # mistake: misspelt
    eh.policies.YuniKorn(mode="machine_gun")  # mistake: no such choice
    eh.policies.YuniKorn("1.7")  # mistake: no such preset
    eh.policies.YuniKorn(asks_once="yes")  # mistake: a flag
    eh.policies.YuniKorn(attempts=1.5)  # mistake: a whole number
    eh.policies.GridEngine(max_preemptee=3)  # mistake: misspelt
    eh.policies.GridEngine(preemption_action="kill")  # mistake: no such choice
    eh.policies.GridEngine("8.1.9")  # mistake: no such preset
    eh.policies.GridEngine(automatic_preemption="yes")  # mistake: a flag
    eh.policies.GridEngine().replace(lo_licenses=3)  # mistake: a list of names


def wrongly_called(snapshot: eh.Snapshot, workload: Workload) -> None:
    eh.plan(snapshot, "ytsaurus")  # mistake: a policy's name
    eh.plan(snapshot, "gridengine")  # mistake: a policy's name
    eh.plan(snapshot, eh.policies.YTsaurus)  # mistake: a class
    eh.plan({"a": snapshot}, {"a": "slurm"})  # mistake: a policy's name
    eh.starvation(snapshot, "ytsaurus")  # mistake: a policy's name
    eh.Cluster(snapshot, "ytsaurus")  # mistake: a policy's name
    eh.simulate.simulate(snapshot, "slurm", workload)  # mistake: a policy's name
    eh.sweep.sweep(snapshot, "slurm", workload, {"requeue_delay": [1]})  # mistake: a policy's name
    eh.tune(snapshot, "slurm", workload, {}, "waiting.p95 < 1")  # mistake: a policy's name
    eh.plan(snapshot, eh.policies.YTsaurus(), as_if_waiting=[10])  # mistake: a list
