"""Slurm's multifactor priority: what a real controller printed, and each factor by itself."""

from __future__ import annotations

import evenhand as eh
from tests.unit.slurm import priority_texts as real
from tests.unit.slurm.accounting_texts import QOS
from tests.unit.slurm.sprio import compare


def recorded(**changes: object) -> eh.policies.Slurm:
    policy = eh.policies.Slurm.from_conf(
        real.CONF, qos=QOS, shares=real.SHARES, associations=real.ASSOCIATIONS, preset="upstream"
    )
    return policy.replace(**changes)


def against_sprio(policy: eh.policies.Slurm) -> int:
    return compare(policy, real.JOBS, real.FACTORS, real.PRIORITIES, nodes=4, cpus=8, memory=4000)


def test_all_factors_and_priorities_are_those_of_sprio() -> None:
    assert against_sprio(recorded()) == 12
