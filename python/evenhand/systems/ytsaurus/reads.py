"""What YTsaurus reads of a snapshot, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["ONLY_IF", "READS"]

#: Of pools and of the root. A FIFO pool has no pools below it, so the root has no guarantee then, and its
#: `fifo_reordering` plays no part.
_POOLS = {
    "mode": "how its children share",
    "limits": "bounds its fair share; exceeded, work below it is preempted",
    "integral.type": "whether it saves up, and how that is paid out",
    "integral.resource_flow": "what flows into its volume",
    "integral.burst": "guarantee while its volume lasts",
    "integral.relaxed_share_multiplier_limit": "the most a relaxed pool gets of its flow",
    "integral.can_accept_free_volume": "whether it takes volume of others",
    "integral.should_distribute_free_volume_among_children": "whether volume is passed on below it",
    "integral.accumulated_volume": "its volume, without a state",
    "integral.last_share_ratio": "its last integral share, without a state",
    "step_function_for_gang": "gangs below it: all or nothing",
    "compute_promised_guarantee": "adds the promised fair share",
    "priority_donor": "pays for priority guarantees below it",
}

#: Table to field to how it is read, in a few words.
READS: Final[Mapping[str, Mapping[str, str]]] = {
    "resources": {
        "quantum": "amounts are multiples of it",
        "kind": "cpu: held against limits in the order of victims",
        "scope": "cluster: counted once, no node has it",
        "capacity": "how much there is of what is counted once",
    },
    "root": _POOLS,
    "pools": {
        "parent": "the tree",
        "weight": "part of what siblings share",
        "strong_guarantee": "fair share of it comes first",
        "fifo_reordering": "whether gangs let later ones pass",
        "priority_strong_guarantee": "served before the other guarantees",
        **_POOLS,
    },
    "nodes": {
        "capacity": "the room",
        "tags": "where requests may be placed; SSD nodes",
        "schedulable": "whether anything starts there",
        "overcommitted_since": "since when repair has been due",
    },
    "operations": {
        "pool": "where it stands in the tree",
        "weight": "part of what siblings share",
        "demand": "what it wants, where nothing is itemised",
        "usage": "what it has, where nothing is itemised",
        "limits": "bounds its fair share; exceeded, its work is preempted",
        "gang": "steps of its fair share; aggressive preemption; it starts one by one",
        "best_allocation_share": "bounds what counts as its demand",
        "start_time": "order in FIFO pools, without `fifo_start_time`",
        "fifo_start_time": "order in FIFO pools",
    },
    "allocations": {
        "operation": "whose it is",
        "node": "where its room is",
        "resources": "what it takes and gives back",
        "start_time": "order of victims, without `last_job_start_time`; spares what has begun lately",
        "last_job_start_time": "order of victims; lost work",
        "last_progress_time": "order of victims, where saved work counts; lost work",
        "planned_end": "spares what ends soon",
        "state": "whether it runs, leaves or is suspended",
        "beneficiary.operation": "whose room it will be",
        "beneficiary.request": "whose room it will be",
        "held": "what a preempted one keeps",
        "preemptible": "false: it is never preempted",
    },
    "requests": {
        "operation": "its operation",
        "resources": "what one of them needs",
        "count": "how many",
        "node_tags": "which nodes will do",
        "required_node": "which node alone will do",
        "preemptible": "passed on to what starts",
    },
}


def _reads_progress(s: Any) -> bool:
    lost_work = s.victim_selection == "minimum" and s.victim_cost == "lost_work"
    return bool(s.order_key == "last_progress" or lost_work)


#: Table and field to whether settings let it be read, for those that not all settings do.
ONLY_IF: Final[Mapping[tuple[str, str], Callable[[Any], bool]]] = {
    ("allocations", "last_progress_time"): _reads_progress,
    ("allocations", "planned_end"): lambda s: s.pace.spare_if_ends_within > 0,
}
