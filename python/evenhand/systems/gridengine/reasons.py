"""Codes of Grid Engine."""

from __future__ import annotations

from functools import partial
from typing import Final

from evenhand.systems.reason import Reason

__all__ = ["REASONS"]

_reason = partial(Reason, source="Grid Engine")
_LEAVES = (
    "{allocation} of operation {operation} leaves {node}: {lacking} for request {request} of {beneficiary}"
)

#: Of jobs that are consumers and providers. What is added to any kind comes at its end.
REASONS: Final = (
    _reason(
        "manual_preemption",
        "victim",
        f"{_LEAVES}, as a request for preemption names it",
        "A request for preemption that was accepted names the job.",
    ),
    _reason(
        "semi_automatic_preemption",
        "victim",
        f"{_LEAVES}, for which preemption was requested",
        "A request for preemption that was accepted names the consumer only.",
    ),
    _reason(
        "automatic_preemption",
        "victim",
        f"{_LEAVES}, which does not start soon enough without preemption",
        "A job of higher priority would not start within `preemption_distance` without it, or that is 0.",
    ),
    _reason(
        "reserved_ahead",
        "start",
        "on {node} {needed} is reserved ahead for operation {operation}",
        "It is planned to start when what runs there is taken to have ended; others may run until then.",
    ),
    _reason(
        "reservation_disabled",
        "request",
        "no job gets a reservation: `max_reservation` is 0",
        "Requests for preemption are refused while reservation is disabled.",
    ),
    _reason(
        "consumer_not_pending",
        "request",
        "the consumer is no job that waits",
        "The consumer of a request for preemption must be a job that waits.",
    ),
    _reason(
        "consumer_without_reservation",
        "request",
        "{request} does not ask for a reservation",
        "The consumer of a request for preemption must ask for a reservation.",
    ),
    _reason(
        "provider_not_running",
        "request",
        "a provider does not run",
        "Each provider of a request for preemption must be a job that runs.",
    ),
    _reason(
        "provider_not_lower_priority",
        "request",
        "a provider has no lower priority than {request}",
        "A provider's priority is smaller than that of the consumer.",
    ),
    _reason(
        "provider_not_checkpointable",
        "request",
        "a provider has no checkpoint environment",
        "Action C is for jobs with a checkpoint environment only.",
    ),
    _reason(
        "provider_not_rerunnable",
        "request",
        "neither a provider nor its queue is rerunnable",
        "Action R is for rerunnable jobs or queues, unless a manager forces it.",
    ),
    _reason(
        "not_owner",
        "request",
        "a provider is a job of another user",
        "Users may preempt their own jobs only.",
    ),
    _reason(
        "available_now",
        "request",
        "{request} starts without preemption",
        "A request for preemption is dropped when there is room for its consumer.",
    ),
    _reason(
        "within_preemption_distance",
        "request",
        "{request} starts soon enough without preemption",
        "A request for preemption is dropped when the consumer's reservation is within"
        " `preemption_distance`.",
    ),
    _reason(
        "max_preemptees",
        "request",
        "more jobs would be preempted at a time than `max_preemptees` allows",
        "`max_preemptees` limits the jobs that are preempted at any time.",
    ),
    _reason(
        "waits_for_reservation",
        "request",
        "{request} has a reservation and waits for it",
        "What it needs is taken to be free later; room is planned for it from then on.",
    ),
    _reason(
        "not_named",
        "allocation",
        "the request for preemption does not name operation {operation}",
        "A manual request preempts jobs that it names only.",
    ),
    _reason(
        "action_not_allowed",
        "allocation",
        "operation {operation} does not allow the action by which it would leave",
        "C needs a checkpoint environment, R a rerunnable job or queue.",
    ),
    _reason(
        "subordinate_threshold",
        "victim",
        "{allocation} of operation {operation} stops on {node}: {jobs} ran in queue {queue} and below"
        " it, and slots={most} of its subordinate_list lets no more run than that; it stops next by level"
        " ({level}), seq_no ({seq_no}) and run time",
        "More jobs run on a host in a queue and below it than its slot-wise list allows.",
    ),
    _reason(
        "queue_suspended",
        "victim",
        "{allocation} of operation {operation} stops on {node}: {count} slots of queue {queue} are in use,"
        " and its subordinate_list suspends the job's queue from {most} on",
        "So many slots of a queue are in use on a host that its queue-wise list suspends another.",
    ),
    _reason(
        "subordinate_resumes",
        "start",
        "{allocation} of operation {operation} resumes on {node}: {jobs} ran in queue {queue} and below"
        " it, and slots={most} of its subordinate_list lets more run; it resumes next by level ({level}),"
        " seq_no ({seq_no}) and run time",
        "Fewer jobs run on a host in a queue and below it than its slot-wise list allows.",
    ),
    _reason(
        "queue_resumed",
        "start",
        "{allocation} of operation {operation} resumes on {node}: no `subordinate_list` suspends queue"
        " {queue} there any longer",
        "No queue has so many slots in use that its queue-wise list suspends that of the job.",
    ),
    _reason(
        "subordinate_queue_suspended",
        "request",
        "on {node} its queue is suspended",
        "A queue-wise list suspends the queue where there would be room: nothing starts in it.",
    ),
    _reason(
        "subordinate_to_none",
        "allocation",
        "the queue of operation {operation} is subordinate to none",
        "What runs in the root of a tree of queues never stops on subordinate.",
    ),
    _reason(
        "within_subordinate_threshold",
        "allocation",
        "no more jobs run in its tree of queues on {node} than may",
        "A slot-wise `subordinate_list` stops jobs while more run than its threshold.",
    ),
    _reason(
        "others_stop_first",
        "allocation",
        "other jobs on {node} stop before operation {operation}, by level, seq_no and run time",
        "The deepest level stops first, on it the queue with the highest seq_no, in it the shortest or"
        " longest run time, as the list says.",
    ),
    _reason(
        "stays_subordinate",
        "allocation",
        "as many jobs run on {node} as may, or others resume before operation {operation}",
        "What a slot-wise `subordinate_list` has stopped resumes when fewer jobs run than its threshold.",
    ),
    _reason(
        "no_job_allows_action",
        "request",
        "no job of lower priority allows the action by which it would be preempted",
        "C needs a checkpoint environment, R a rerunnable job or queue, and of the jobs of lower priority"
        " none has it.",
    ),
)
