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
        "{request} is in the queue behind a request that waits, and may not start before it",
        "The first request that cannot start blocks all behind it.",
    ),
    Reason(
        "stays_suspended",
        "unseen",
        "it resumes once that much is free there and no work that may preempt it is before it in the queue",
        "A suspended session or job resumes when what it gave back fits again where it is.",
    ),
    Reason(
        "waits_for_victims",
        "request",
        "{request} waits for its victims, which have been asked to leave",
        "Enough victims have been asked to leave; it waits for their room.",
    ),
    _reason(
        "lower_priority",
        "victim",
        "{allocation} of operation {operation} leaves {node}: {lacking} for request {request} of"
        " {beneficiary}, whose priority is higher",
        "A session or job of higher priority is first in the queue and does not fit.",
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
        "The room of its victims is kept for it until it starts.",
    ),
    _reason(
        "reservation_due",
        "start",
        "request {request} of operation {operation} starts on {node}, where room was reserved for it",
        "Its victims have left.",
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
        "no work of lower priority runs that may be preempted for it",
        "Preemption needs running work of lower priority that is preemptible.",
    ),
    _reason(
        "priority_change_disabled",
        "request",
        "operation {operation} sets its own priority, which the policy of its user or project does not allow",
        "A resource policy forbids to change the priority; one that equals the default is a change, too.",
    ),
    _reason(
        "priority_out_of_range",
        "request",
        "the priority of operation {operation} is outside the range that its user and project allow",
        "The priority lies outside the range that the resource policies of user and project have in common.",
    ),
    _reason(
        "not_lower_priority",
        "allocation",
        "the priority of operation {operation} is not lower than that of the operation of {request}",
        "Work is preempted by higher priority only.",
    ),
    _reason(
        "above_threshold",
        "allocation",
        "the priority of operation {operation} is above `preemptible_priority`",
        "Only priorities up to `preemptible_priority` may be preempted.",
    ),
    _reason(
        "system_work",
        "allocation",
        "operation {operation} is a session of the system",
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
        "operation {operation} is of another user, project or domain than {request}",
        "Preemption stays within `victim_scope`.",
    ),
    _reason(
        "ran_too_short",
        "allocation",
        "operation {operation} has not reached its minimum run time yet",
        "A minimum run time protects work that has just started.",
    ),
    _reason(
        "frees_nothing_useful",
        "allocation",
        "operation {operation} holds nothing that {request} needs on a node where that could be placed",
        "It has nothing on a node where the request could still be placed.",
    ),
    _reason(
        "not_first_in_queue",
        "request",
        "{request} is not first in the queue, and only the first may preempt",
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
        "every node where it could run has as many allocations as `max_containers` allows",
        "No node has one allocation less than `max_containers`; victims do not count as gone.",
    ),
    Reason(
        "other_request_waits",
        "request",
        "another request of operation {operation} cannot start yet, and all of them start together",
        "Another request of the same session or job does not fit; all of them start together.",
    ),
    Reason("no_nodes", "request", "there is no node at all", "The snapshot has no nodes."),
)
