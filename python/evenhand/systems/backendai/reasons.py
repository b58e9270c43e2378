"""Codes of systems that start and preempt sessions or jobs as a whole."""

from __future__ import annotations

from functools import partial
from typing import Final

from evenhand.systems.reason import Reason

__all__ = ["REASONS"]

_reason = partial(Reason, source="Backend.AI")

#: Of work that is started and preempted as a whole. What is added to any kind comes here.
REASONS: Final = (
    Reason(
        "behind_first_waiting",
        "request",
        "{request} stands in the queue behind one that waits, and may not pass it",
        "The first that cannot start blocks those behind it.",
    ),
    Reason(
        "stays_suspended",
        "unseen",
        "it resumes once that is free there and nothing that may preempt it is before it",
        "A suspended session or job resumes when what it gave back fits again where it is.",
    ),
    Reason(
        "waits_for_victims",
        "request",
        "{request} starts once the victims that leave for it have gone",
        "Enough has been asked to leave for it; it starts in a later run.",
    ),
    _reason(
        "lower_priority",
        "victim",
        "{allocation} of operation {operation} leaves {node}: {lacking} for request {request} of"
        " {beneficiary}, whose priority is higher",
        "A session or job of higher priority stands first in the queue and does not fit.",
    ),
    _reason(
        "resumes",
        "start",
        "{allocation} of operation {operation} resumes on {node}: it needs {needed}, and {free} was free",
        "A suspended session or job resumes once it fits without preempting any other.",
    ),
    _reason(
        "room_reserved",
        "start",
        "on {node} {needed} is reserved for request {request} of operation {operation}",
        "What its victims leave is kept for it until it starts.",
    ),
    _reason(
        "reservation_due",
        "start",
        "request {request} of operation {operation} starts on {node}, where room was reserved for it",
        "The victims that left for it have gone.",
    ),
    _reason(
        "preemption_disabled",
        "request",
        "preemption is switched off",
        "Nothing is preempted, whatever the priorities.",
    ),
    _reason(
        "no_lower_priority",
        "request",
        "nothing of lower priority runs that may be preempted for it",
        "Preemption needs running work of lower priority that is preemptible.",
    ),
    _reason(
        "priority_change_disabled",
        "request",
        "operation {operation} names a priority, which the policy of its user or project does not allow",
        "A resource policy forbids to change the priority; one that equals the default is a change, too.",
    ),
    _reason(
        "priority_out_of_range",
        "request",
        "operation {operation} names a priority that its user or project may not set",
        "The priority lies outside the range that the resource policies of user and project have in common.",
    ),
    _reason(
        "not_lower_priority",
        "allocation",
        "operation {operation} does not have a lower priority than the one that asks with {request}",
        "Nothing is preempted by equal or lower priority.",
    ),
    _reason(
        "above_threshold",
        "allocation",
        "the priority of operation {operation} is above those that may be preempted",
        "Only priorities up to `preemptible_priority` may be preempted.",
    ),
    _reason(
        "system_work",
        "allocation",
        "operation {operation} is one of the system's own",
        "Sessions of the system are never preempted.",
    ),
    _reason(
        "not_suspendable",
        "allocation",
        "operation {operation} is of a kind that cannot be suspended",
        "Interactive and inference sessions cannot simply resume later.",
    ),
    _reason(
        "other_scope",
        "allocation",
        "operation {operation} is not of the user, project or domain that asks with {request}",
        "Preemption stays within `victim_scope`.",
    ),
    _reason(
        "ran_too_short",
        "allocation",
        "operation {operation} has not run long enough yet",
        "A minimum run time shields what has just started.",
    ),
    _reason(
        "frees_nothing_useful",
        "allocation",
        "operation {operation} holds nothing that would help {request}, where that can be placed at all",
        "It has nothing on a node where the request could still be placed.",
    ),
    _reason(
        "not_first_in_queue",
        "request",
        "{request} is not the first of the queue, and only the first may preempt",
        "It does not fit, and only the session that is first when the run begins may preempt.",
    ),
    _reason(
        "system_does_not_preempt",
        "request",
        "{request} is of the system's own work, which preempts nothing",
        "It does not fit, and sessions of the system never preempt.",
    ),
    _reason(
        "max_containers",
        "request",
        "every node where it might run has as many allocations as it may",
        "No node has one allocation less than `max_containers`; victims do not count as gone.",
    ),
    Reason(
        "other_request_waits",
        "request",
        "another request of operation {operation} cannot start yet, and it starts as a whole",
        "Another request of the same session has no place; sessions start as a whole.",
    ),
    Reason("no_nodes", "request", "there is no node at all", "The snapshot has no nodes."),
)
