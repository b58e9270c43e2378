"""A driver in a process of its own, which may be killed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

TIERS = {
    "PreemptType": "preempt/partition_prio",
    "PreemptMode": "REQUEUE",
    "partitions": {
        "low": {"PriorityTier": 1, "Default": True},
        "high": {"PriorityTier": 10, "PreemptMode": "OFF"},
    },
}


def run(conf: str, folder: str, rounds: int, options: dict[str, Any]) -> None:
    """Watch a cluster: Slurm's own policy, by tiers that the cluster itself does not act on.

    With the option ``several``, one that serves all urgent jobs in every round.
    """
    os.environ["SLURM_CONF"] = conf
    import evenhand as eh
    from evenhand.act import Caps, Driver, Timing, watch
    from evenhand.systems.slurm.adapter.live import Slurm
    from tests.live.kills import Noted

    left = [rounds]

    def each(cycle: Any) -> None:
        left[0] -= 1
        if not left[0]:
            driver.stop.set()
        if cycle.error:
            with (Path(folder) / "errors").open("a") as file:
                file.write(cycle.error + "\n")

    policy: Any = eh.policies.Slurm(**TIERS)
    if options.pop("several", False):
        from tests.unit.act.scripted import Scripted

        policy = Scripted(urgent="high")  # all that wait in a round
    timing = Timing(**({"start": 15.0, "settle": 5.0, "poll": 0.05} | options))
    place = Path(folder)
    caps = Caps(None, None, None, None)
    with Driver(
        Slurm(runner=Noted(place)), place / "journal", lock=place / "lock", caps=caps, timing=timing
    ) as driver:
        watch(driver, policy, interval=0.1, each=each)
