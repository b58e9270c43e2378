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
        "With preempt/qos a job preempts those whose QOS is listed in the `Preempt` of its own.",
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
        "operation {operation} may not start before its begin time",
        "A job with a begin time, or one that was just requeued, waits for it.",
    ),
    _reason(
        "preemption_backoff",
        "request",
        "the last preemption for operation {operation} was too recent",
        "Between two attempts of one job `KillWait` and `MessageTimeout` must pass.",
    ),
    _reason(
        "same_operation",
        "allocation",
        "it is part of the same job as {request}",
        "A job does not preempt itself.",
    ),
    _reason(
        "tier_not_lower",
        "allocation",
        "the tier of the partition of operation {operation} is not lower than that of {request}",
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
        "`OverSubscribe` of its partition must be FORCE or YES for jobs to be suspended.",
    ),
    _reason(
        "outside_partition",
        "allocation",
        "operation {operation} runs on no node of the partition of {request}",
        "Only jobs that share a node with the partition of the waiting job can help.",
    ),
    _reason(
        "off_chosen_nodes",
        "allocation",
        "operation {operation} was a candidate for {request}, which was then placed on other nodes",
        "Of the candidates only jobs on a chosen node are preempted.",
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
        "operation {operation} asks for more resources, or more nodes, than exist where it may run",
        "It would not fit on an empty cluster either. It blocks no other job.",
    ),
    _reason(
        "dry_run_omits_victims",
        "request",
        "operation {operation} fits if other jobs share their cpus with it; the dry run does not list those",
        "It fits by gang scheduling, and the dry run does not list jobs that take turns with it.",
    ),
    _reason(
        "whole_node_in_use",
        "request",
        "other jobs run on {node}, and not all of them share it: {missing} is missing",
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
        "room on {node} is held for another job whose victims are leaving; without it {missing} is missing"
        " for operation {operation} to resume",
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
        "{request} is considered in a later pass: this one ended before it, or jobs before it have its nodes",
        "It needs another pass: this one reached its limits before it, a job whose victims are leaving has"
        " its partition's nodes, or jobs are still ending where it fits.",
    ),
    _reason(
        "limit_reached",
        "request",
        "a limit of a QOS or an association keeps operation {operation} waiting",
        "What a job asks for, with what is in use under the same limit, is above it: it does not start, and"
        " no job is preempted for it.",
    ),
)
