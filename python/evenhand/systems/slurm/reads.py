"""What Slurm reads of a snapshot, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["ONLY_IF", "READS"]

#: Table to field to how it is read, in a few words.
READS: Final[Mapping[str, Mapping[str, str]]] = {
    "resources": {
        "quantum": "amounts are multiples of it",
        "kind": "cpu and slots: what a suspended job gives back",
        "scope": "cluster: licences",
        "capacity": "how much there is of what is counted once",
    },
    "nodes": {
        "capacity": "the room",
        "tags": "where requests may be placed",
        "schedulable": "whether anything starts there",
    },
    "pools": {"parent": "whose pace counts, too"},
    "operations": {
        "pool": "whose pace counts",
        "user": "association: fair share, priority, limits",
        "account": "association: fair share, priority, limits",
        "priority": "order of the queue, before factors; in mode PRIORITY which jobs may preempt which",
        "usage": "what it has of licences, where nothing is itemised",
        "start_time": "submission: order of the queue and of victims, age",
        "kind": "only batch is requeued",
        "partition": "tier, mode, nodes, grace",
        "qos": "priority, mode, which QOS it preempts, grace",
    },
    "allocations": {
        "operation": "whose it is",
        "node": "where its room is; none: licences",
        "resources": "what it takes and gives back",
        "start_time": "order of victims; exempt time",
        "last_job_start_time": "lost work",
        "last_progress_time": "lost work",
        "planned_end": "when its room comes, in backfill; bounds the grace time",
        "state": "whether it runs, leaves or is suspended",
        "deadline": "whether it still runs; when its room comes, in backfill",
        "beneficiary.operation": "whose room it will be",
        "beneficiary.request": "whose room it will be, where no operation is named",
        "held": "what a preempted one keeps",
        "preemptible": "false: it is never preempted",
    },
    "requests": {
        "operation": "its operation",
        "resources": "what one of them needs",
        "count": "how many nodes; the job starts as a whole",
        "duration": "time limit: within that of its partition; whether it is done in time, in backfill; size",
        "node_tags": "which nodes will do",
        "required_node": "which node alone will do",
        "preemptible": "passed on to what starts",
    },
    "reservations": {
        "request": "whose job may use it",
        "allocation": "no job that waits may use it",
        "node": "where room is kept",
        "resources": "how much",
        "from": "since when",
        "until": "till when",
        "soft": "true: room is not kept",
    },
}


def _counts_lost_work(s: Any) -> bool:
    return bool(s.victim_selection == "minimum" and s.victim_cost == "lost_work")


def _asks_for_associations(s: Any) -> bool:
    fair = s.shares is not None and s.PriorityWeightFairshare > 0
    return s.PriorityType == "priority/multifactor" and (fair or bool(s.association_priority))


def _limits(s: Any) -> bool:
    """Whether some QOS or association may have limits."""
    plain = type(next(iter(s.qos.values())))() if s.qos else None
    limits = (
        [field for field in type(plain).model_fields if field.startswith(("Grp", "Max"))] if plain else []
    )
    return bool(s.association_limits) or any(
        getattr(qos, field) != getattr(plain, field) for qos in s.qos.values() for field in limits
    )


#: Table and field to whether settings let it be read, for those that not all settings do.
ONLY_IF: Final[Mapping[tuple[str, str], Callable[[Any], bool]]] = {
    ("allocations", "last_job_start_time"): _counts_lost_work,
    ("allocations", "last_progress_time"): _counts_lost_work,
    ("operations", "partition"): lambda s: bool(s.partitions),
    ("operations", "qos"): lambda s: bool(s.qos),
    ("operations", "account"): lambda s: _asks_for_associations(s) or _limits(s),
    ("operations", "user"): lambda s: (
        _asks_for_associations(s)
        or _limits(s)
        or (s.SchedulerType == "sched/backfill" and s.bf_max_job_user > 0)
    ),
    ("requests", "duration"): lambda s: (
        s.SchedulerType == "sched/backfill"
        or "SMALL_RELATIVE_TO_TIME" in s.PriorityFlags
        or any(partition.MaxTime is not None for partition in s.partitions.values())
        or _limits(s)
    ),
}
