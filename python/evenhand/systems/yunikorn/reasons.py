"""Codes of cycles: what starts and leaves, and why an ask still waits or an allocation is spared."""

from __future__ import annotations

from functools import partial
from typing import Final

from evenhand.systems.reason import Reason

__all__ = ["REASONS"]

_reason = partial(Reason, source="YuniKorn")

#: What is added to any kind comes at the end.
REASONS: Final = (
    _reason("allocation_cycle", "stage", "", "Asks are placed where there is room."),
    _reason(
        "preemption_cycle", "stage", "", "Asks are placed where there is room, or where victims make it."
    ),
    _reason("quota_enforcement", "stage", "", "Queues above their max give what is above it."),
    _reason(
        "below_ideal_share",
        "victim",
        "{allocation} of operation {operation} leaves {node}: {lacking} for request {request} of"
        " {beneficiary}, whose queue is below its ideal share",
        "Its queue has more than its ideal share and its guarantee, the asking queue less than its share.",
    ),
    _reason(
        "higher_priority_in_queue",
        "victim",
        "{allocation} of operation {operation} leaves {node}: {lacking} for request {request} of"
        " {beneficiary}, which has a higher priority in the same queue",
        "Another application of the same queue asks with a higher priority.",
    ),
    _reason(
        "surplus_of_queue",
        "victim",
        "{allocation} of operation {operation} leaves {node}: its queue has more than its ideal share",
        "In the mode shotgun: other queues claim what its queue has too much of.",
    ),
    _reason(
        "below_guarantee",
        "victim",
        "{allocation} of operation {operation} leaves {node}: preempted by request {request} of"
        " {beneficiary}, whose queue is below its guarantee",
        "The asking queue is below its guarantee, and that of the victim above it.",
    ),
    _reason(
        "for_required_node",
        "victim",
        "{allocation} of operation {operation} leaves {node}: request {request} of {beneficiary} can run on"
        " no other node",
        "An ask that needs this node preempts what is there, whatever the queues have.",
    ),
    _reason(
        "above_quota",
        "victim",
        "{allocation} of operation {operation} leaves {node}: its queue uses more than its max",
        "The max of a queue was lowered below what it uses.",
    ),
    _reason(
        "missed_opportunity",
        "request",
        "{request} found no room in an earlier cycle, and is left out of this one",
        "After a failure an ask is left out of allocation cycles: of two, then of twice as many each time.",
    ),
    _reason(
        "queue_has_its_share",
        "request",
        "{request} does not fit, and its queue is not below its ideal share in anything that it asks for",
        "Only queues below their ideal share may ask others to give.",
    ),
    _reason(
        "cycle_full",
        "request",
        "the cycle ended before it came to {request}",
        "`n_alloc` allocations were made, a round of as many asks as were left of that placed none, or asks"
        " that others are preempted for reached the `limit`.",
    ),
    _reason(
        "not_below_guarantee",
        "request",
        "{request} does not fit, and its queue would not be within its guarantee even if all candidates left",
        "The first test of an attempt: the asking queue must be owed what it asks for.",
    ),
    _reason(
        "may_not_preempt_yet",
        "request",
        "{request} does not fit, and it may not preempt now",
        "It has not waited for `preemption.delay`, has just tried, has preempted before, or never may.",
    ),
    _reason(
        "same_queue",
        "allocation",
        "operation {operation} is in the queue of {request}",
        "Between queues nothing is taken from the queue that asks.",
    ),
    _reason(
        "other_queue",
        "allocation",
        "operation {operation} is in another queue than {request}",
        "Within a queue nothing is taken from others.",
    ),
    _reason(
        "queue_keeps_it",
        "allocation",
        "the queue of operation {operation} would have less than its guarantee or its ideal share without it",
        "A queue gives only what it has above both.",
    ),
    _reason(
        "not_a_candidate",
        "allocation",
        "the queue of operation {operation} is within its guarantee, behind a fence, or opted out, or its"
        " priority is higher",
        "Fences, guarantees, priorities and opted-out queues decide who may be a victim.",
    ),
    _reason(
        "not_chosen",
        "allocation",
        "{request} needed no victim there, or others were cheaper",
        "Fewer, or cheaper, victims made room.",
    ),
    _reason(
        "barred_by_predicate",
        "request",
        "{request} does not fit where the given predicate lets it stand",
        "A predicate that was given with the plan bars the request from all other nodes.",
    ),
    _reason(
        "reservation_cancelled",
        "start",
        "{node} is no longer reserved for request {request} of operation {operation}, which asks again",
        "It gives way to an ask that needs the node or is more important, starts elsewhere, or has waited in"
        " vain for room below the max of its queue.",
    ),
)
