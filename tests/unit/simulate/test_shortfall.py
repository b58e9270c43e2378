"""What pools and operations lacked, and policies that do not know it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import evenhand as eh


def run(policy: Any, **options: Any) -> eh.simulate.Result:
    work = eh.simulate.Workload(
        {
            "name": ["first", "second"],
            "resources.cpu": [4, 4],
            "submit_time": [0, 100],
            "run_time": [300, 60],
            "pool": ["x", "y"],
        }
    )
    return eh.simulate(work.snapshot(nodes=1, cpu=4), policy, work, **options)


def test_what_waits_lacks_its_share() -> None:
    """Nothing is preempted: the second waits from 100 s to 300 s for the half that it is due."""
    policy = eh.policies.YTsaurus(
        fair_share_starvation_timeout=1e4, fair_share_aggressive_starvation_timeout=1e5
    )
    result = run(policy, series_every=1)
    assert result.operations["waited"].tolist() == [0, 200]
    lacked = dict(zip(result.operations["operation"], result.operations["shortfall"], strict=True))
    assert lacked["first"] == 0
    assert lacked["second"] == pytest.approx(200 * 0.5 / 3600, rel=0.02)
    pools = dict(zip(result.shortfall["pool"], result.shortfall["fair_share"], strict=True))
    assert pools["x"] == pools["<Root>"] == 0
    assert pools["y"] == pytest.approx(lacked["second"])
    assert pools["y"] == pytest.approx(result.metrics["lost_share.fair_share"])
    # A coarser grid says about the same.
    coarse = run(policy, series_every=20).operations["shortfall"]
    assert coarse[1] == pytest.approx(lacked["second"], rel=0.15)


@pytest.mark.parametrize("policy", [eh.policies.Slurm(), eh.policies.BackendAI()])
def test_policies_without_fair_shares_have_no_number(policy: Any) -> None:
    result = run(policy)
    named = [
        name
        for name in result.metrics
        if name.startswith(("starvation", "lost_share", "below_share", "jain"))
    ]
    assert len(named) == 19
    assert all(math.isnan(result.metrics[name]) for name in named)
    assert np.isnan(result.operations["shortfall"]).all()
    assert np.isnan(result.shortfall["fair_share"]).all()
