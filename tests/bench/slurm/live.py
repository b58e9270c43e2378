"""What runs over the queue of a living cluster cost: 10,000 jobs run, 1,000 wait, 10 events before each run.

``python -m tests.bench.slurm.live`` prints the median of each pass through Python, and of the events.
"""

from __future__ import annotations

from itertools import count

import evenhand as eh
from tests.bench.fair_share import host
from tests.bench.live import line, median
from tests.bench.slurm.plans import TIERS, queued

WAITING, EVENTS, SECONDS = 1_000, 10, 3.0


def main() -> None:
    """Print the table."""
    policy = eh.policies.Slurm(
        PreemptType="preempt/partition_prio",
        PreemptMode="REQUEUE",
        partitions=TIERS,
        SchedulerType="sched/backfill",
        PriorityType="priority/multifactor",
        PriorityWeightAge=1000,
        bf_max_job_test=500,
    )
    cluster = eh.Cluster(queued(waiting=WAITING), policy)
    rows = {row["name"]: row for row in cluster.snapshot().to_dict()["allocations"]}
    names, numbers = list(rows), count()
    cluster.plan()
    print(host())

    def events(_: int) -> None:
        """Half of them end an allocation, the others start it again."""
        for i in [next(numbers) for _ in range(EVENTS // 2)]:
            name = names[i * 7919 % len(names)]
            start = {"event": "start", "row": {**rows[name], "start_time": cluster.now}}
            cluster.apply([{"event": "end", "allocation": name}, start])

    line(f"{EVENTS} events", median(events, SECONDS))
    for passes in (("main",), ("backfill",)):
        on = eh.SchedulingRun(passes=passes)

        def run(i: int, on: eh.SchedulingRun = on) -> None:
            events(i)
            cluster.plan(on=on)

        line(f"{EVENTS} events, {passes[0]} pass", median(run, SECONDS))


if __name__ == "__main__":
    main()
