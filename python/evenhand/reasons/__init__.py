"""Every code that a plan says: why something was decided, why something was not, what no longer holds.

`TABLE` is the one place where codes stand: the sentences of explanations, the reference page and the
numbers of the core (the place of a code among those of its kind) come from it. A code never changes its
meaning.
"""

from __future__ import annotations

from typing import Final

from evenhand.reasons.checks import CHECKED
from evenhand.reasons.row import OWN, Kind, Reason
from evenhand.reasons.slurm import SLURM
from evenhand.reasons.whole import WHOLE

__all__ = [
    "ACTIONS",
    "CHECKS",
    "GROUPS",
    "MODES",
    "OUTCOMES",
    "PRIORITIES",
    "REASONS",
    "STAGES",
    "STARVATION",
    "STATUSES",
    "TABLE",
    "Kind",
    "Reason",
    "reason",
]


def _victims() -> tuple[Reason, ...]:
    leaves = "{allocation} of operation {operation} leaves {node}"
    room = f"{leaves}: {{lacking}} for request {{request}} of {{beneficiary}}"
    return (
        Reason(
            "preemption",
            "victim",
            f"{room}, in the preemptive stage",
            "A starving operation needs room; the victim is preemptible.",
        ),
        Reason(
            "aggressive_preemption",
            "victim",
            f"{room}, in the aggressive stage",
            "An aggressively starving operation needs room; aggressively preemptible allocations may go too.",
        ),
        Reason(
            "ssd_preemption",
            "victim",
            f"{room}, in the preemptive stage for fast disks",
            "A starving operation needs a node with fast disks; work that does not use them may go.",
        ),
        Reason(
            "ssd_aggressive_preemption",
            "victim",
            f"{room}, in the aggressive stage for fast disks",
            "An aggressively starving operation needs a node with fast disks.",
        ),
        Reason(
            "default_gpu_full_host_preemption",
            "victim",
            f"{room}, which needs the whole node",
            "An operation that takes all gpus of a node has waited long; anything may go within a penalty.",
        ),
        Reason(
            "graceful_preemption",
            "victim",
            f"{leaves}: its operation is preempted gracefully and uses more than its share protects",
            "Preemptible allocations of a graceful operation are asked to leave, needed or not.",
        ),
        Reason(
            "resource_overcommit",
            "victim",
            f"{leaves}: the allocations there use more than the node has, {{lacking}}",
            "The node uses more than it has; what no longer fits goes.",
        ),
        Reason(
            "resource_limits_violated",
            "victim",
            f"{leaves}: {{violated}} is over its limits, {{over}}",
            "The operation, or a pool above it, uses more than its specified limits.",
        ),
    )


_STARTS = (
    Reason(
        "fits_free_room",
        "start",
        "request {request} of operation {operation} starts on {node}: it needs {needed}, and {free} was free",
        "The request fits into what is free.",
        OWN,
    ),
    Reason(
        "fits_after_preemption",
        "start",
        "request {request} of operation {operation} starts on {node} once {victims} left: it needs"
        " {needed}, and {free} was free",
        "The request fits once the victims of its step have left.",
        OWN,
    ),
)

_STAGES = (
    Reason("regular", "stage", "in the regular stage", "Requests start in free room, least satisfied first."),
    Reason(
        "preemptive", "stage", "in the preemptive stage", "Starving operations may take preemptible work."
    ),
    Reason(
        "aggressive",
        "stage",
        "in the aggressive stage",
        "Aggressively starving operations may take aggressively preemptible work too.",
    ),
    Reason(
        "ssd_preemptive",
        "stage",
        "in the preemptive stage for fast disks",
        "As `preemptive`, on nodes with fast disks, for operations that need them.",
    ),
    Reason(
        "ssd_aggressive",
        "stage",
        "in the aggressive stage for fast disks",
        "As `aggressive`, on nodes with fast disks, for operations that need them.",
    ),
    Reason("full_host", "stage", "in the stage for whole nodes", "Operations that take all gpus of a node."),
    Reason("graceful", "stage", "in the graceful pass", "Graceful operations are asked to give back."),
    Reason("limit_repair", "stage", "in the repair of limits", "Violated limits of operations and pools."),
    Reason("overcommit", "stage", "in the repair of the node", "A node that uses more than it has."),
    Reason(
        "scheduling_run",
        "stage",
        "in the scheduling run",
        "Whole jobs or sessions, one after the other in the order of the queue.",
        OWN,
    ),
    Reason(
        "backfill",
        "stage",
        "in the backfill pass",
        "Jobs behind one that waits start where they do not delay it.",
        "Slurm",
    ),
)

_REQUESTS = (
    Reason("started", "request", "it started on {node}", "It started there."),
    Reason(
        "no_room_even_with_victims",
        "request",
        "{node} has too little room, even with all that may be preempted there: {missing} is missing",
        "The node's free room and all eligible victims together are less than it needs; nobody is touched.",
    ),
    Reason(
        "no_free_room",
        "request",
        "{node} has too little free room: {missing} is missing",
        "The node's free room is less than it needs.",
    ),
    Reason(
        "limits_of_operation_or_pool",
        "request",
        "with it, operation {operation} or a pool above it would be over its limits by {missing}",
        "The limits of its operation and of the pools above must hold with it.",
    ),
    Reason("wrong_tags", "request", "{node} lacks a tag that it asks for", "The node's tags do not fit."),
    Reason("wrong_node", "request", "it may start on one node only, and {node} is another", "Another node."),
    Reason(
        "node_not_schedulable",
        "request",
        "nothing new may start on {node}",
        "The node takes nothing new.",
    ),
    Reason(
        "backoff",
        "request",
        "{node} tried preemption too short a time ago",
        "Between two attempts to preempt on a node the back-off must pass.",
    ),
    Reason(
        "stage_taken",
        "request",
        "another start on {node} used up the stage",
        "A stage, or all of them together, starts one allocation a heartbeat.",
    ),
    Reason(
        "not_starving",
        "request",
        "operation {operation} is not starving, so nobody is preempted for it",
        "Only starving operations, or those below a starving pool, may preempt.",
    ),
    Reason(
        "not_aggressively_starving",
        "request",
        "operation {operation} is not aggressively starving, so only preemptible work may go for it",
        "The aggressive stage serves aggressively starving operations.",
    ),
    Reason(
        "graceful_while_normal",
        "request",
        "operation {operation} is preempted gracefully and gets nothing new while it is not below its share",
        "A graceful operation would refill what it has just given back.",
    ),
    Reason(
        "unschedulable",
        "request",
        "operation {operation} cannot be scheduled",
        "The operation has a reason not to be scheduled, or wants nothing more.",
    ),
    Reason("count_exhausted", "request", "all of it started", "As many started as it asks for.", OWN),
    Reason(
        "no_heartbeat",
        "request",
        "no heartbeat of {node} is part of this plan",
        "Decisions are taken at a node's heartbeat; this plan looks at other nodes only.",
    ),
    Reason(
        "ssd_only",
        "request",
        "{node} is kept for work that needs its fast disks",
        "Ordinary work of this pool may not start on nodes with fast disks.",
    ),
    Reason(
        "within_fair_share_only",
        "request",
        "operation {operation} would use more than its fair share",
        "A whole node is only cleared for an operation that stays within its fair share.",
    ),
    Reason(
        "penalty_too_high",
        "request",
        "clearing {node} would lose too much work of protected allocations",
        "Run time × gpus of protected victims exceeds `max_preemption_penalty`, or one has all of the host.",
    ),
)

_ALLOCATIONS = (
    Reason("taken", "allocation", "it was taken {stage}", "It is preempted."),
    Reason("not_running", "allocation", "it is not running", "Only running allocations can be preempted."),
    Reason(
        "already_preempting",
        "allocation",
        "it has been told to leave already",
        "Nobody is asked to leave twice.",
    ),
    Reason(
        "protected_group",
        "allocation",
        "{stage} on {node} its group may not be touched",
        "Its group is safer than those that the stage may take.",
    ),
    Reason(
        "aggressive_not_allowed",
        "allocation",
        "{stage} on {node} its operation does not allow aggressive preemption",
        "`allow_aggressive_preemption` of its operation, inherited from the pools, is off.",
    ),
    Reason(
        "operation_starving",
        "allocation",
        "operation {operation} is starving itself",
        "Work of an operation that itself starves is not taken.",
    ),
    Reason(
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
        OWN,
    ),
    Reason(
        "spared_fits_without",
        "allocation",
        "{stage} on {node} there was room for {request} before its turn came",
        "Victims are taken in order until the request fits; it came later.",
    ),
    Reason(
        "given_back",
        "allocation",
        "{stage} on {node} it was taken for {request} and given back: the others suffice",
        "Every victim without which the request still fits is given back.",
    ),
    Reason(
        "no_start_in_stage",
        "allocation",
        "{stage} on {node} nothing could be started, so nobody was preempted",
        "Nobody is touched unless the request certainly fits afterwards.",
    ),
    Reason(
        "other_node",
        "allocation",
        "no heartbeat of its {node} is part of this plan",
        "Decisions are taken at a node's heartbeat, among its own allocations.",
    ),
    Reason(
        "no_violation",
        "allocation",
        "{stage} neither its node, nor its operation, nor a pool above is over its limits",
        "Repair takes only what violates a limit.",
    ),
)

_UNSEEN = (
    Reason(
        "nobody_asked",
        "unseen",
        "no stage of this plan looked at it",
        "No stage had a reason to look at it: nobody who could use it was entitled to preempt.",
        OWN,
    ),
)

#: All codes: those of one kind stand in the order of the core's enumeration.
TABLE: Final[tuple[Reason, ...]] = (
    *_victims(),
    *_STARTS,
    *_STAGES,
    *_REQUESTS,
    *_ALLOCATIONS,
    *WHOLE,
    *SLURM,
    *_UNSEEN,
    *CHECKED,
)


def _codes(*kinds: str) -> tuple[str, ...]:
    return tuple(row.code for row in TABLE if row.kind in kinds)


#: Codes by the numbers that the core gives.
REASONS: Final = _codes("victim", "start")
STAGES: Final = _codes("stage")
OUTCOMES: Final = _codes("request", "allocation")
CHECKS: Final = _codes("check")

#: Words of the other enumerations, likewise.
ACTIONS: Final = ("start", "preempt", "resume", "reserve", "release")
MODES: Final = ("terminate", "requeue", "checkpoint", "preempt", "enhanced_suspend", "suspend")
STATUSES: Final = ("normal", "below_fair_share")
STARVATION: Final = ("non_starving", "starving", "aggressively_starving")
GROUPS: Final = ("non_preemptible", "aggressively_preemptible", "preemptible")
PRIORITIES: Final = ("none", "normal", "aggressive")

_ROWS = {(row.kind, row.code): row for row in TABLE}


def reason(code: str, *kinds: Kind) -> Reason:
    """Return the row of a code.

    Parameters
    ----------
    code : str
        A code of `TABLE`.
    *kinds : str
        Kinds to look among, in this order; all unless given.

    Returns
    -------
    Reason

    Raises
    ------
    KeyError
        If there is no such code.
    """
    for kind in kinds or tuple(dict.fromkeys(row.kind for row in TABLE)):
        if (kind, code) in _ROWS:
            return _ROWS[kind, code]
    raise KeyError(code)
