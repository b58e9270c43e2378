"""Codes of Slurm's preemption, after all others of their kinds."""

from __future__ import annotations

from functools import partial
from typing import Final

from evenhand.systems.reason import Reason

__all__ = ["REASONS"]

_reason = partial(Reason, source="Slurm")

_LEAVES = (
    "{allocation} of operation {operation} leaves {node}: {lacking} for request {request} of {beneficiary}"
)

#: Rows in the order of the core's enumerations.
REASONS: Final = (
    _reason(
        "backfill",
        "stage",
        "in the backfill pass",
        "Jobs behind one that waits start where they do not delay it.",
    ),
    _reason(
        "higher_partition_tier",
        "victim",
        f"{_LEAVES}, whose partition has a higher tier",
        "With preempt/partition_prio a job preempts those of partitions of lower `PriorityTier`.",
    ),
    _reason(
        "qos_preempts",
        "victim",
        f"{_LEAVES}, whose QOS may preempt its QOS",
        "With preempt/qos a job preempts those whose QOS stands in the `Preempt` of its own.",
    ),
    _reason(
        "higher_priority_in_qos",
        "victim",
        f"{_LEAVES}, which has the same QOS and a higher priority",
        "With the flag WITHIN a QOS preempts itself, by priority.",
    ),
    _reason(
        "fits_over_suspended",
        "start",
        "request {request} of operation {operation} starts on {node} once {victims} been suspended: it"
        " needs {needed}, and {free} is free then",
        "Suspended jobs stay where they are and keep their memory; what they computed with is free at once.",
    ),
    _reason(
        "node_outside_partition",
        "request",
        "{node} is not in the partition of operation {operation}",
        "Jobs run on the nodes of their partition.",
    ),
    _reason(
        "licenses_missing",
        "request",
        "too few licences are free: {missing} is missing",
        "Without `reclaim_licenses` no job is preempted for a licence.",
    ),
    _reason(
        "not_eligible_yet",
        "request",
        "operation {operation} may not start before its time",
        "A job with a begin time, or one that was just requeued, waits for it.",
    ),
    _reason(
        "preemption_backoff",
        "request",
        "others were preempted for operation {operation} too short a time ago",
        "Between two attempts of one job `KillWait` and `MessageTimeout` must pass.",
    ),
    _reason(
        "same_operation",
        "allocation",
        "it is the same job that asks with {request}",
        "A job does not preempt itself.",
    ),
    _reason(
        "tier_not_lower",
        "allocation",
        "the partition of operation {operation} has no lower tier than that of {request}",
        "Partitions of equal or higher `PriorityTier` are not preempted.",
    ),
    _reason(
        "qos_not_listed",
        "allocation",
        "the QOS of {request} may not preempt that of operation {operation}",
        "The QOS is not in the other's `Preempt`, or one of the jobs has none.",
    ),
    _reason(
        "preempt_mode_off",
        "allocation",
        "the preempt mode of operation {operation} is OFF",
        "Jobs of a partition or a QOS whose `PreemptMode` is OFF are never preempted.",
    ),
    _reason(
        "above_min_exempt_priority",
        "allocation",
        "the priority of operation {operation} is above `min_exempt_priority`",
        "Jobs above that priority are never preempted.",
    ),
    _reason(
        "suspend_not_allowed",
        "allocation",
        "operation {operation} would be suspended, which its partition does not allow",
        "`OverSubscribe` of its partition must be FORCE for jobs to be suspended.",
    ),
    _reason(
        "outside_partition",
        "allocation",
        "operation {operation} has nothing on a node of the partition of {request}",
        "Only jobs that share a node with the partition of the waiting job can help.",
    ),
    _reason(
        "off_chosen_nodes",
        "allocation",
        "operation {operation} came up for {request}, which was then placed on other nodes",
        "Of those that were considered only jobs on a chosen node are preempted.",
    ),
    _reason(
        "no_eligible_victims",
        "request",
        "there is too little free room, and no running job may be preempted for operation {operation}",
        "There is too little free room, and no running job may be preempted for it.",
    ),
    _reason(
        "partition_without_nodes",
        "request",
        "the partition of operation {operation} has no nodes",
        "Jobs run on the nodes of their partition, and it has none.",
    ),
    _reason(
        "larger_than_nodes",
        "request",
        "operation {operation} asks for more, or for more nodes, than there are where it may run",
        "It would not fit if nothing else ran. It blocks no other job.",
    ),
    _reason(
        "dry_run_omits_victims",
        "request",
        "operation {operation} fits over jobs that would share their cpus with it",
        "It fits by gang scheduling; the dry run does not say which jobs would have to wait.",
    ),
    _reason(
        "whole_node_in_use",
        "request",
        "other jobs are on {node}, and not all of them share it: {missing} is missing",
        "The job takes entire nodes, or a job that is there does.",
    ),
    _reason(
        "reserved_for_others",
        "request",
        "room on {node} is reserved for others: {missing} is missing",
        "It would fit but for what hard reservations keep there.",
    ),
    _reason(
        "no_room_to_resume",
        "allocation",
        "{node} has too little free room for operation {operation} to resume: {missing} is missing",
        "A suspended job resumes where it is, with all its parts at once.",
    ),
    _reason(
        "room_held",
        "allocation",
        "room on {node} is held for a job that others leave for; operation {operation} would lack"
        " {missing} there",
        "A suspended job does not resume in room that is being freed for another job.",
    ),
    _reason(
        "partition_down",
        "request",
        "the partition of operation {operation} is down or inactive",
        "What waits in a partition that is DOWN or INACTIVE does not start.",
    ),
    _reason(
        "partition_time_limit",
        "request",
        "operation {operation} asks for more time than `MaxTime` of its partition",
        "A job whose time limit is above its partition's `MaxTime` waits, and keeps nothing from others.",
    ),
    _reason(
        "waits_for_next_pass",
        "request",
        "{request} is looked at in a later pass: this one was over, or served jobs before it that have its"
        " nodes",
        "It needs another pass: one that reached its limits did not look at it, its partition's nodes are"
        " those of a job that others leave for, or jobs still end where it fits.",
    ),
)
