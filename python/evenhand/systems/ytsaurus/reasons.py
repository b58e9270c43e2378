"""Codes of YTsaurus' preemption, and those that every system says."""

from __future__ import annotations

from functools import partial
from typing import Final

from evenhand.systems.reason import Reason

__all__ = ["REASONS"]

_reason = partial(Reason, source="YTsaurus")
_LEAVES = "{allocation} of operation {operation} leaves {node}"
_ROOM = f"{_LEAVES}: {{lacking}} for request {{request}} of {{beneficiary}}"

_VICTIMS = (
    _reason(
        "preemption",
        "victim",
        f"{_ROOM}, in the preemptive stage",
        "A starving operation needs room; the victim is preemptible.",
    ),
    _reason(
        "aggressive_preemption",
        "victim",
        f"{_ROOM}, in the aggressive stage",
        "An aggressively starving operation needs room; aggressively preemptible ones may be preempted too.",
    ),
    _reason(
        "ssd_preemption",
        "victim",
        f"{_ROOM}, in the preemptive stage for fast disks",
        "A starving operation needs a node with fast disks; work that does not use them may be preempted.",
    ),
    _reason(
        "ssd_aggressive_preemption",
        "victim",
        f"{_ROOM}, in the aggressive stage for fast disks",
        "An aggressively starving operation needs a node with fast disks.",
    ),
    _reason(
        "default_gpu_full_host_preemption",
        "victim",
        f"{_ROOM}, which needs the entire node",
        "An operation that takes all gpus of a node has waited long; any work is eligible within a penalty.",
    ),
    _reason(
        "graceful_preemption",
        "victim",
        f"{_LEAVES}: its operation is preempted gracefully and uses more than its share protects",
        "Preemptible allocations of a graceful operation are asked to leave, needed or not.",
    ),
    _reason(
        "resource_overcommit",
        "victim",
        f"{_LEAVES}: the allocations there use more than the node has, {{lacking}}",
        "The node uses more than it has; what no longer fits is preempted.",
    ),
    _reason(
        "resource_limits_violated",
        "victim",
        f"{_LEAVES}: {{violated}} is over its limits, {{over}}",
        "The operation, or a pool above it, uses more than its specified limits.",
    ),
)

_STARTS = (
    Reason(
        "fits_free_room",
        "start",
        "request {request} of operation {operation} starts on {node}: it needs {needed}, and {free} was free",
        "The request fits into what is free.",
    ),
    Reason(
        "fits_after_preemption",
        "start",
        "request {request} of operation {operation} starts on {node} once {victims} left: it needs"
        " {needed}, and {free} was free",
        "The request fits once the victims of its step have left.",
    ),
)

_STAGES = (
    _reason(
        "regular", "stage", "in the regular stage", "Requests start in free room, least satisfied first."
    ),
    _reason(
        "preemptive", "stage", "in the preemptive stage", "Starving operations may preempt preemptible work."
    ),
    _reason(
        "aggressive",
        "stage",
        "in the aggressive stage",
        "Aggressively starving operations may preempt aggressively preemptible work too.",
    ),
    _reason(
        "ssd_preemptive",
        "stage",
        "in the preemptive stage for fast disks",
        "As `preemptive`, on nodes with fast disks, for operations that need them.",
    ),
    _reason(
        "ssd_aggressive",
        "stage",
        "in the aggressive stage for fast disks",
        "As `aggressive`, on nodes with fast disks, for operations that need them.",
    ),
    _reason(
        "full_host", "stage", "in the stage for entire nodes", "Operations that take all gpus of a node."
    ),
    _reason("graceful", "stage", "in the graceful pass", "Graceful operations are asked to give back."),
    _reason("limit_repair", "stage", "in the repair of limits", "Violated limits of operations and pools."),
    _reason("overcommit", "stage", "in the repair of the node", "A node that uses more than it has."),
    Reason(
        "scheduling_run",
        "stage",
        "in the scheduling run",
        "Jobs or sessions as a whole, one after the other in the order of the queue.",
    ),
)

_REQUESTS = (
    _reason("started", "request", "it started on {node}", "It started there."),
    _reason(
        "no_room_even_with_victims",
        "request",
        "{node} has too little room, even with all that may be preempted there: {missing} is missing",
        "The node's free room and all eligible victims together are less than it needs; none is preempted.",
    ),
    _reason(
        "no_free_room",
        "request",
        "{node} has too little free room: {missing} is missing",
        "The node's free room is less than it needs.",
    ),
    _reason(
        "limits_of_operation_or_pool",
        "request",
        "operation {operation} or a pool above it would be over its limits with it, by {missing}",
        "The limits of its operation and of the pools above must hold with it.",
    ),
    _reason("wrong_tags", "request", "{node} lacks {tags} that it requires", "The node's tags do not fit."),
    _reason(
        "wrong_node",
        "request",
        "it may start on its required node only, and {node} is another",
        "The request names another node.",
    ),
    _reason(
        "node_not_schedulable",
        "request",
        "nothing new may start on {node}",
        "The node takes nothing new.",
    ),
    _reason(
        "backoff",
        "request",
        "the last attempt to preempt on {node} was too recent",
        "Between two attempts to preempt on a node the back-off must pass.",
    ),
    _reason(
        "stage_taken",
        "request",
        "the stage has started another allocation on {node} already",
        "A stage, or all of them together, starts one allocation a heartbeat.",
    ),
    _reason(
        "not_starving",
        "request",
        "operation {operation} is not starving, so nothing is preempted for it",
        "Only starving operations, or those below a starving pool, may preempt.",
    ),
    _reason(
        "not_aggressively_starving",
        "request",
        "operation {operation} is not aggressively starving: only preemptible work is preempted for it",
        "The aggressive stage serves aggressively starving operations.",
    ),
    _reason(
        "graceful_while_normal",
        "request",
        "operation {operation} is preempted gracefully and starts nothing new unless below its fair share",
        "A graceful operation would refill what it has just given back.",
    ),
    _reason(
        "unschedulable",
        "request",
        "operation {operation} cannot be scheduled",
        "The operation has a reason not to be scheduled, or wants nothing more.",
    ),
    Reason("count_exhausted", "request", "all of it started", "As many started as it asks for."),
    _reason(
        "no_heartbeat",
        "request",
        "no heartbeat of {node} is part of this plan",
        "Decisions are taken at a node's heartbeat; this plan looks at other nodes only.",
    ),
    _reason(
        "ssd_only",
        "request",
        "{node} is kept for work that needs its fast disks",
        "Ordinary work of this pool may not start on nodes with fast disks.",
    ),
    _reason(
        "within_fair_share_only",
        "request",
        "operation {operation} would use more than its fair share",
        "An entire node is only cleared for an operation that stays within its fair share.",
    ),
    _reason(
        "penalty_too_high",
        "request",
        "clearing {node} would lose too much work of protected allocations",
        "GPU time of protected victims exceeds `max_preemption_penalty`, or one has all of the host.",
    ),
)

_ALLOCATIONS = (
    _reason("taken", "allocation", "it was taken {stage}", "It is preempted."),
    _reason("not_running", "allocation", "it is not running", "Only running allocations can be preempted."),
    _reason(
        "already_preempting",
        "allocation",
        "it has been asked to leave already",
        "No allocation is asked to leave twice.",
    ),
    _reason(
        "protected_group",
        "allocation",
        "{stage} on {node} allocations of its group may not be preempted",
        "Its group is safer than those that the stage may take.",
    ),
    _reason(
        "aggressive_not_allowed",
        "allocation",
        "{stage} on {node} its operation does not allow aggressive preemption",
        "`allow_aggressive_preemption` of its operation, inherited from the pools, is off.",
    ),
    _reason(
        "operation_starving",
        "allocation",
        "operation {operation} is starving itself",
        "Work of an operation that itself starves is not taken.",
    ),
    _reason(
        "graceful_operation",
        "allocation",
        "operation {operation} is preempted gracefully, never by a stage",
        "Graceful operations give back in their own pass only.",
    ),
    Reason(
        "not_preemptible_flag",
        "allocation",
        "it is marked as not preemptible",
        "The allocation itself has opted out.",
    ),
    _reason(
        "spared_fits_without",
        "allocation",
        "{stage} on {node} there was room for {request} before its turn came",
        "Victims are taken in order until the request fits; it came later.",
    ),
    _reason(
        "given_back",
        "allocation",
        "{stage} on {node} it was chosen for {request} and then spared: the other victims suffice",
        "Every victim without which the request still fits is spared.",
    ),
    _reason(
        "no_start_in_stage",
        "allocation",
        "{stage} on {node} nothing could be started, so nothing was preempted",
        "Nothing is preempted unless the request certainly fits afterwards.",
    ),
    _reason(
        "other_node",
        "allocation",
        "no heartbeat of its {node} is part of this plan",
        "Decisions are taken at a node's heartbeat, among its own allocations.",
    ),
    _reason(
        "no_violation",
        "allocation",
        "{stage} neither its node, nor its operation, nor a pool above is over its limits",
        "Repair takes only what violates a limit.",
    ),
)

#: Those of one kind stand in the order of the core's enumeration.
REASONS: Final = (*_VICTIMS, *_STARTS, *_STAGES, *_REQUESTS, *_ALLOCATIONS)
