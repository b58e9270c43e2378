"""How each system reads a snapshot: one table of fields and systems.

What a system does not read is left out. Names and order are read by all; settings of a row are those of one
system, and what it does not know there is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

__all__ = ["ONLY_IF", "READ", "SYSTEMS", "reads_of", "reads_with"]

YT, BA, SL = "ytsaurus", "backendai", "slurm"
SYSTEMS: Final = (YT, BA, SL)


def _all(words: str) -> dict[str, str]:
    return dict.fromkeys(SYSTEMS, words)


_INTEGRAL = {
    "type": "whether it saves up, and how that is paid out",
    "resource_flow": "what flows into its volume",
    "burst": "guarantee while its volume lasts",
    "relaxed_share_multiplier_limit": "the most a relaxed pool gets of its flow",
    "can_accept_free_volume": "whether it takes volume of others",
    "should_distribute_free_volume_among_children": "whether volume goes on below it",
    "accumulated_volume": "its volume, without a state",
    "last_share_ratio": "its last integral share, without a state",
}
_POOLS: dict[str, dict[str, str]] = {
    "mode": {YT: "how its children share"},
    "limits": {YT: "bounds its fair share; exceeded, work below it goes"},
    **{f"integral.{name}": {YT: words} for name, words in _INTEGRAL.items()},
    "step_function_for_gang": {YT: "gangs below it: all or nothing"},
    "fifo_reordering": {YT: "whether gangs let later ones pass"},
    "compute_promised_guarantee": {YT: "adds the promised fair share"},
    "priority_donor": {YT: "pays for priority guarantees below it"},
}

#: Table to field to system to how it reads the field, in a few words.
READ: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = MappingProxyType(
    {
        "resources": {
            "quantum": _all("amounts are multiples of it"),
            "kind": {
                YT: "cpu: held against limits in the order of victims",
                SL: "cpu and slots: what a suspended job gives back",
            },
            "scope": _all("cluster: counted once, no node has it") | {SL: "cluster: licences"},
            "capacity": _all("how much there is of what is counted once"),
            "available_after_preemption": {BA: "false: stays with a suspended session that is kept"},
        },
        "root": _POOLS,
        "pools": {
            "parent": {YT: "the tree"},
            "weight": {YT: "part of what siblings share"},
            "strong_guarantee": {YT: "fair share of it comes first"},
            "priority_strong_guarantee": {YT: "served before the other guarantees"},
            **_POOLS,
        },
        "nodes": {
            "capacity": _all("the room"),
            "tags": _all("where requests may stand") | {YT: "where requests may stand; SSD nodes"},
            "schedulable": _all("whether anything starts there"),
            "overcommitted_since": {YT: "since when repair has been due"},
            "physical": {BA: "its parts must not exceed it; it has what they leave"},
        },
        "operations": {
            "pool": {YT: "where it stands in the tree"},
            "user": {
                BA: "scope of victims, priority policies, dominant share",
                SL: "association: fair share, priority",
            },
            "project": {BA: "scope of victims, priority policies"},
            "account": {SL: "association: fair share, priority"},
            "weight": {YT: "part of what siblings share"},
            "priority": {
                BA: "order of the queue; who may preempt whom",
                SL: "order of the queue, before factors; in mode PRIORITY who may preempt whom",
            },
            "demand": {YT: "what it wants, where nothing is itemised"},
            "usage": {
                YT: "what it has, where nothing is itemised",
                BA: "what it has of cluster resources, where nothing is itemised; dominant share",
                SL: "what it has of licences, where nothing is itemised",
            },
            "limits": {YT: "bounds its fair share; exceeded, its work goes"},
            "gang": {YT: "steps of its fair share; aggressive preemption; it starts one by one"},
            "best_allocation_share": {YT: "bounds what counts as its demand"},
            "start_time": {
                YT: "order in FIFO pools, without `fifo_start_time`",
                BA: "order of suspended sessions",
                SL: "submission: order of the queue and of victims, age",
            },
            "fifo_start_time": {YT: "order in FIFO pools"},
            "kind": {
                BA: "system is spared; interactive and inference are not suspended",
                SL: "only batch is requeued",
            },
            "partition": {SL: "tier, mode, nodes, grace"},
            "qos": {SL: "priority, mode, whom it preempts, grace"},
        },
        "allocations": {
            "operation": _all("whose it is"),
            "node": _all("where its room is") | {SL: "where its room is; none: licences"},
            "resources": _all("what it takes and gives back"),
            "start_time": {
                YT: "order of victims, without `last_job_start_time`",
                BA: "order of victims; minimum run time",
                SL: "order of victims; exempt time",
            },
            "last_job_start_time": {YT: "order of victims; lost work", BA: "lost work", SL: "lost work"},
            "last_progress_time": {
                YT: "order of victims, where saved work counts; lost work",
                BA: "lost work",
                SL: "lost work",
            },
            "planned_end": {SL: "when its room comes, in backfill; bounds the grace time"},
            "state": _all("whether it runs, leaves or is suspended"),
            "deadline": {SL: "whether it still runs; when its room comes, in backfill"},
            "beneficiary.operation": _all("whose room it will be"),
            "beneficiary.request": {
                YT: "whose room it will be",
                BA: "for which part it leaves",
            },
            "held": _all("what a preempted one keeps"),
            "preemptible": _all("false: it never goes"),
            "required_node": {BA: "where a suspended session goes on"},
        },
        "requests": {
            "operation": _all("who asks"),
            "resources": _all("what one of them needs"),
            "count": _all("how many")
            | {BA: "how many; the session starts whole", SL: "how many nodes; the job starts whole"},
            "submit_time": {BA: "order of the queue"},
            "duration": {
                SL: "time limit: within that of its partition; whether it is done in time, in backfill; size"
            },
            "node_tags": _all("which nodes will do"),
            "required_node": _all("which node alone will do"),
            "preemptible": _all("passed on to what starts"),
        },
        "reservations": {
            "request": {BA: "who starts there", SL: "whose job may use it"},
            "allocation": {BA: "who goes on there", SL: "no job that waits may use it"},
            "node": {BA: "where room is kept", SL: "where room is kept"},
            "resources": {BA: "how much", SL: "how much"},
            "from": {BA: "since when; first reserved, first started", SL: "since when"},
            "until": {BA: "till when", SL: "till when"},
            "soft": {BA: "true: room is not kept", SL: "true: room is not kept"},
        },
    }
)


def _counts_lost_work(s: Any) -> bool:
    return bool(s.victim_selection == "minimum" and s.victim_cost == "lost_work")


def _asks_for_associations(s: Any) -> bool:
    fair = s.shares is not None and s.PriorityWeightFairshare > 0
    return s.PriorityType == "priority/multifactor" and (fair or bool(s.association_priority))


#: System, table and field to whether settings let it be read, for those that not all settings do.
ONLY_IF: Final[Mapping[tuple[str, str, str], Callable[[Any], bool]]] = MappingProxyType(
    {
        (YT, "allocations", "last_progress_time"): lambda s: (
            s.order_key == "last_progress" or _counts_lost_work(s)
        ),
        **{
            (system, "allocations", field): _counts_lost_work
            for system in (BA, SL)
            for field in ("last_job_start_time", "last_progress_time")
        },
        (BA, "operations", "user"): lambda s: (
            s.victim_scope == "user" or s.sequencer == "drf" or bool(s.user_policies)
        ),
        (BA, "operations", "project"): lambda s: s.victim_scope == "project" or bool(s.project_policies),
        (SL, "operations", "partition"): lambda s: bool(s.partitions),
        (SL, "operations", "qos"): lambda s: bool(s.qos),
        (SL, "requests", "duration"): lambda s: (
            s.SchedulerType == "sched/backfill"
            or "SMALL_RELATIVE_TO_TIME" in s.PriorityFlags
            or any(partition.MaxTime is not None for partition in s.partitions.values())
        ),
        (SL, "operations", "account"): _asks_for_associations,
        (SL, "operations", "user"): lambda s: (
            _asks_for_associations(s) or (s.SchedulerType == "sched/backfill" and s.bf_max_job_user > 0)
        ),
    }
)


def reads_of(system: str) -> Mapping[str, frozenset[str]]:
    """Return what a system reads: table to fields."""
    return MappingProxyType(
        {
            table: frozenset(name for name, words in fields.items() if system in words)
            for table, fields in READ.items()
        }
    )


def reads_with(system: str, settings: Any) -> Mapping[str, frozenset[str]]:
    """Return what a system reads with these settings: table to fields."""
    return {
        table: frozenset(
            f for f in names if (is_read := ONLY_IF.get((system, table, f))) is None or is_read(settings)
        )
        for table, names in reads_of(system).items()
    }
