"""A workload of half an hour in which thresholds matter, and what is swept there."""

from __future__ import annotations

from typing import Any

import evenhand as eh

WORK = eh.simulate.Workload(
    {
        "name": [f"j{i:02d}" for i in range(40)],
        "resources.cpu": [2 + 2 * (i % 2) for i in range(40)],
        "pool": ["x" if i % 3 else "y" for i in range(40)],
        "submit_time": [i * 35.0 for i in range(40)],
        "run_time": [60.0 + 37 * (i % 4) for i in range(40)],
    },
    pools=[{"name": "x"}, {"name": "y", "weight": 2}],
)
START = WORK.snapshot(nodes=2, cpu=4)
#: Jobs that each cross their share preempt each other; without a cap on victims in turns, without end.
POLICY = eh.policies.YTsaurus(
    consider_allocation_on_fair_share_bound_preemptible=True,
    fair_share_aggressive_starvation_timeout=500,
    allocation_preemption_timeout=5,
    pace={"max_victims_per_hour": 20},
)
#: With it no timeout may be longer than that of aggressive starvation: 600 is refused.
STRICT = POLICY.replace(enable_aggressive_starvation=True)
SPACE: dict[str, Any] = {
    "fair_share_starvation_timeout": [5, 30, 500],
    "pools.y.weight": [1, 4],
    "pace.victim_cooldown": [0, 100],
}
