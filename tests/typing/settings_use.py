"""Uses of policies for type checkers alone: each line that is marked is a mistake, all others are right."""

from __future__ import annotations

from datetime import timedelta

import evenhand as eh


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


def wrong(snapshot: eh.Snapshot) -> None:
    eh.policies.YTsaurus(fair_share_starvation_timout="1m")  # mistake: misspelt
    eh.policies.YTsaurus(victim_selection="fewest")  # mistake: no such choice
    eh.policies.YTsaurus("latest")  # mistake: no such preset
    eh.policies.YTsaurus(enable_pool_starvation="yes")  # mistake: a flag
    eh.policies.YTsaurus().replace(minimum_budget=1.5)  # mistake: a whole number
    eh.policies.Slurm(preempt_mode="REQUEUE")  # mistake: another spelling
    eh.policies.BackendAI(preemptible_priority="5")  # mistake: a number
    eh.policies.YuniKorn(nothing=1)  # mistake: unknown
    eh.plan(snapshot, "ytsaurus")  # mistake: a policy's name
    eh.plan(snapshot, eh.policies.YTsaurus)  # mistake: a class
    eh.starvation(snapshot, "ytsaurus")  # mistake: a policy's name
    eh.Cluster(snapshot, "ytsaurus")  # mistake: a policy's name
    eh.plan(snapshot, eh.policies.YTsaurus(), as_if_waiting=[10])  # mistake: a list
