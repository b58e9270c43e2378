"""What YuniKorn reads of a snapshot, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["ONLY_IF", "READS"]

#: Table to field to how it is read, in a few words.
READS: Final[Mapping[str, Mapping[str, str]]] = {
    "resources": {
        "quantum": "amounts are multiples of it",
        "scope": "cluster: counted once, no node has it",
        "capacity": "how much there is of what is counted once",
    },
    "nodes": {
        "capacity": "the room; the partition",
        "tags": "where asks may be placed",
        "schedulable": "whether anything starts there",
    },
    "root": {"limits": "what all queues together may have"},
    "pools": {
        "parent": "the tree of queues",
        "weight": "shares of what no guarantee takes",
        "strong_guarantee": "guaranteed: what a queue is owed",
        "limits": "max: what a queue may have",
    },
    "operations": {
        "pool": "the leaf queue of the application",
        "priority": "that of its asks and allocations without one of their own",
        "usage": "what its queue uses",
        "start_time": "order of applications",
    },
    "allocations": {
        "operation": "whose it is",
        "node": "where its room is",
        "resources": "what it takes and gives back",
        "start_time": "live time",
        "planned_end": "spares what ends soon",
        "last_job_start_time": "lost work",
        "last_progress_time": "lost work",
        "priority": "cost; which asks may preempt it",
        "state": "whether it runs or leaves",
        "beneficiary.operation": "whose room it will be",
        "beneficiary.request": "for which ask it leaves",
        "preemptible": "false: it is wanted last",
        "originator": "true: it is wanted after others",
        "required_node": "it is no victim of a queue",
        "held": "what a preempted one keeps",
    },
    "requests": {
        "operation": "its application",
        "resources": "what one of them needs",
        "count": "how many",
        "submit_time": "order of asks; since when it waits",
        "priority": "order of asks; which allocations it may preempt",
        "node_tags": "which nodes will do",
        "required_node": "which node alone will do",
        "preemptible": "passed on to what starts",
    },
    "reservations": {
        "request": "for whom room is kept",
        "allocation": "then it is no ask's",
        "node": "where",
        "resources": "how much",
        "from": "since when",
        "until": "till when",
        "soft": "true: room is not kept",
    },
}


def _counts_lost_work(s: Any) -> bool:
    return isinstance(s.cost, tuple) and "lost_work" in s.cost


#: Table and field to whether settings let it be read, for those that not all settings do.
ONLY_IF: Final[Mapping[tuple[str, str], Callable[[Any], bool]]] = {
    ("allocations", "planned_end"): lambda s: s.pace.spare_if_ends_within > 0,
    ("allocations", "last_job_start_time"): _counts_lost_work,
    ("allocations", "last_progress_time"): _counts_lost_work,
}
