"""Codes of a check: why a step of a plan no longer holds."""

from __future__ import annotations

from typing import Final

from evenhand.systems.reason import Reason

__all__ = ["CHECKED"]

#: What changed since the plan was made, or what a plan made now does instead.
CHECKED: Final[tuple[Reason, ...]] = tuple(
    Reason(code, "check", sentence, doc)
    for code, sentence, doc in (
        ("victim_ended", "{allocation} has ended", "The victim is no longer there."),
        ("victim_moved", "{allocation} runs on {now}, not on {was}", "The victim is on another node."),
        ("victim_changed", "{allocation} holds {now}, not {was}", "The victim grew or shrank."),
        ("victim_leaving", "{allocation} is {now}", "The victim is leaving already, or was stopped."),
        (
            "priority_raised",
            "priority of {allocation} is {now}, no longer {was}",
            "The victim is more urgent than it was.",
        ),
        (
            "priority_fell",
            "priority of {request} is {now}, no longer {was}",
            "The beneficiary is less urgent than it was.",
        ),
        (
            "order_changed",
            "{allocation} started its job or saved progress since",
            "Its place in the order moved.",
        ),
        ("node_gone", "node {node} is gone", "The node is no longer there."),
        ("node_not_schedulable", "nothing new may start on node {node}", "The node takes nothing new now."),
        ("node_full", "on node {node} {missing} is missing for {request}", "The request would not fit."),
        (
            "cluster_full",
            "{missing} is missing in the cluster as a whole for {request}",
            "The request would not fit, for what no node has.",
        ),
        ("request_gone", "request {request} is gone", "The request is no longer there."),
        ("request_changed", "request {request} asks for {now}, not {was}", "It asks for other amounts."),
        ("request_shrunk", "request {request} asks for {now}, not {was} more", "It asks for fewer."),
        ("operation_gone", "operation {operation} is gone", "The operation is no longer there."),
        ("operation_moved", "operation {operation} is in another pool", "Its pool is another one."),
        ("limits_exceeded", "{element} would be over its limits by {missing}", "A limit would not hold."),
        ("violation_gone", "{element} is within its limits now", "There is nothing to repair any more."),
        ("not_suspended", "{allocation} is {now}, not suspended", "It has resumed already, or has ended."),
        ("step_broken", "the rest of its step does not hold", "A step is done as a whole or not at all."),
        (
            "victim_of_another",
            "{allocation} is of operation {now}, not of {was}",
            "The victim is other work by the same name.",
        ),
        (
            "beneficiary_gone",
            "{beneficiary} no longer waits",
            "The beneficiary has gone, or runs already: others would leave in vain.",
        ),
        (
            "beneficiary_fits_without_victims",
            "{beneficiary} would start in free room now, on {nodes}",
            "The beneficiary needs neither victims nor reserved room any more.",
        ),
        (
            "beneficiary_not_served",
            "{request} would not be served now: {why}",
            "A fresh plan does not serve the request; `rule` is the code of its refusal.",
        ),
        (
            "other_victims",
            "others would leave for {beneficiary} now: {now}, not {was}",
            "A fresh plan takes other victims, or more or fewer of them.",
        ),
        (
            "other_repair",
            "the repair would take {now} now, not {was}",
            "A fresh plan brings back the limit, or the node, without this victim or with others.",
        ),
        (
            "other_request",
            "{now} of {beneficiary} would be served now, not {was}",
            "A fresh plan takes the same victims for another request of the operation.",
        ),
        (
            "victim_protected",
            "{allocation} would be spared now: {field} is {now}, no longer {was}",
            "A fresh plan spares the victim; a field of it has changed that may protect it.",
        ),
        (
            "mode_changed",
            "{allocation} would leave by {now} now, not by {was}",
            "The victim would leave in another way.",
        ),
        (
            "starts_elsewhere",
            "{request} would start on {now} now, not on {was}",
            "A fresh plan starts it on other nodes.",
        ),
        (
            "needs_victims",
            "{request} would start only once others have left now: {victims}",
            "What was to start in free room, now or later, needs victims now.",
        ),
        (
            "victim_spared",
            "{allocation} would be spared now: {why}",
            "The pace spares the victim now; `rule` is the code, beside what was compared.",
        ),
    )
)
