"""Slurm: what a lower or higher tier would do, and what becomes of a job."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.why.test_conclusions import OLD, slurm, text


@pytest.mark.parametrize(
    ("row", "cluster", "why"),
    [
        ({"kind": "interactive"}, {}, ", and only batch jobs are requeued: its `kind` is interactive;"),
        (
            {},
            {"JobRequeue": False},
            ", and it is not to be requeued (`requeue` of its row, or `JobRequeue`);",
        ),
    ],
)
def test_a_victim_that_is_cancelled_instead_reads_why(
    row: dict[str, Any], cluster: dict[str, Any], why: str
) -> None:
    plan = slurm([{"name": "old", "partition": "low", **row}], OLD, **cluster)
    assert f"Its job is cancelled: `PreemptMode` of the cluster is REQUEUE{why}" in text(plan.why("old@n1"))


@pytest.mark.parametrize(("partition", "concludes"), [("high", False), ("peer", True), (None, False)])
def test_a_lower_tier_is_named_only_where_it_would_tell_both_jobs_apart(
    partition: str | None, concludes: bool
) -> None:
    """Both are in one partition, in two, or the one that runs is in none, which has no settings."""
    tier = 10 if partition else 1  # as of jobs in none
    tiers = {name: {"PriorityTier": tier} for name in ("high", "peer")}
    own = {"partition": partition} if partition else {}
    said = slurm([{"name": "old", **own}], OLD, partitions=tiers).why_not("old@n1")
    assert said.code == "tier_not_lower"
    assert ("it might be preempted" in said.summary) is concludes


def test_without_a_partition_no_tier_of_one_would_have_spared_a_victim() -> None:
    said = slurm([{"name": "old"}], OLD, partitions={"high": {"PriorityTier": 10}}).why("old@n1").summary
    assert said.endswith("whose partition has a higher tier (10 of partition high, 1 of no partition).")


def test_a_limit_of_amounts_is_told_by_its_own_field() -> None:
    """MaxTRESPU and MaxJobsPU are one kind of limit."""
    jobs = [{"name": "old", "partition": "low"}]
    qos = {"q": {"MaxTRESPU": {"cpu": 1}}}
    tiers = {"low": {"PriorityTier": 1}, "high": {"PriorityTier": 10, "QOS": "q"}}
    said = slurm(jobs, OLD, nodes=(4,), asks=2, partitions=tiers, qos=qos).why_not("urgent-r").summary
    assert said.endswith("`MaxTRESPU` of QOS q is 1 cpu: 0 are in use, and it asks for 2.")
