"""Every code that a plan says: why something was decided, why something was not, what no longer holds.

`TABLE` is the one place where codes stand: the sentences of explanations, the reference page and the
numbers of the core (the place of a code among those of its kind) come from it. A code never changes its
meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

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

Kind = Literal["victim", "start", "stage", "request", "allocation", "unseen", "check"]

_SPEC = "YTsaurus"
_OWN = "Evenhand"
_AI = "Backend.AI"
_SYSTEM = "Slurm"


@dataclass(frozen=True, slots=True)
class Reason:
    """One code.

    Attributes
    ----------
    code : str
        As it stands in results.
    kind : str
        Of what it is said: ``victim`` and ``start`` (a decision's reason), ``stage`` (a decision's
        stage), ``request`` (what became of a request on a node, and the rule of a refusal),
        ``allocation`` (what became of a possible victim), ``unseen`` (why neither was looked at),
        ``check`` (why a decision no longer holds).
    sentence : str
        A template; its fields in braces are the names and numbers that were compared.
    doc : str
        What it means, for the reference.
    source : str
        The system whose word or rule it is.
    """

    code: str
    kind: Kind
    sentence: str
    doc: str
    source: str = _SPEC


def _victims() -> tuple[Reason, ...]:
    leaves = "{allocation} of operation {operation} leaves node {node}"
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
        "request {request} of operation {operation} starts on node {node}: it needs {needed},"
        " and {free} was free",
        "The request fits into what is free.",
        _OWN,
    ),
    Reason(
        "fits_after_preemption",
        "start",
        "request {request} of operation {operation} starts on node {node} once {victims} left: it needs"
        " {needed}, and {free} was free",
        "The request fits once the victims of its step have left.",
        _OWN,
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
        _OWN,
    ),
)

_REQUESTS = (
    Reason("started", "request", "it started on node {node}", "It started there."),
    Reason(
        "no_room_even_with_victims",
        "request",
        "node {node} has too little room, even with all that may be preempted there: {missing} is missing",
        "The node's free room and all eligible victims together are less than it needs; nobody is touched.",
    ),
    Reason(
        "no_free_room",
        "request",
        "node {node} has too little free room: {missing} is missing",
        "The node's free room is less than it needs.",
    ),
    Reason(
        "limits_of_operation_or_pool",
        "request",
        "with it, operation {operation} or a pool above it would be over its limits by {missing}",
        "The limits of its operation and of the pools above must hold with it.",
    ),
    Reason(
        "wrong_tags", "request", "node {node} lacks a tag that it asks for", "The node's tags do not fit."
    ),
    Reason("wrong_node", "request", "it may start on one node only, and {node} is another", "Another node."),
    Reason(
        "node_not_schedulable",
        "request",
        "nothing new may start on node {node}",
        "The node takes nothing new.",
    ),
    Reason(
        "backoff",
        "request",
        "node {node} tried preemption too short a time ago",
        "Between two attempts to preempt on a node the back-off must pass.",
    ),
    Reason(
        "stage_taken",
        "request",
        "another start on node {node} used up the stage",
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
    Reason("count_exhausted", "request", "all of it started", "As many started as it asks for.", _OWN),
    Reason(
        "no_heartbeat",
        "request",
        "no heartbeat of node {node} is part of this plan",
        "Decisions are taken at a node's heartbeat; this plan looks at other nodes only.",
    ),
    Reason(
        "ssd_only",
        "request",
        "node {node} is kept for work that needs its fast disks",
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
        "clearing node {node} would lose too much work of protected allocations",
        "Run time times gpus of protected victims exceeds `max_preemption_penalty`.",
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
        "{stage} on node {node} its group may not be touched",
        "Its group is safer than those that the stage may take.",
    ),
    Reason(
        "aggressive_not_allowed",
        "allocation",
        "{stage} on node {node} its operation does not allow aggressive preemption",
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
        _OWN,
    ),
    Reason(
        "spared_fits_without",
        "allocation",
        "{stage} on node {node} there was room for {request} before its turn came",
        "Victims are taken in order until the request fits; it came later.",
    ),
    Reason(
        "given_back",
        "allocation",
        "{stage} on node {node} it was taken for {request} and given back: the others suffice",
        "Every victim without which the request still fits is given back.",
    ),
    Reason(
        "no_start_in_stage",
        "allocation",
        "{stage} on node {node} nothing could be started, so nobody was preempted",
        "Nobody is touched unless the request certainly fits afterwards.",
    ),
    Reason(
        "other_node",
        "allocation",
        "no heartbeat of its node {node} is part of this plan",
        "Decisions are taken at a node's heartbeat, among its own allocations.",
    ),
    Reason(
        "no_violation",
        "allocation",
        "{stage} neither its node, nor its operation, nor a pool above is over its limits",
        "Repair takes only what violates a limit.",
    ),
)

#: Of work that is started and preempted whole. What is added to requests and allocations comes here.
_WHOLE = (
    Reason(
        "behind_first_waiting",
        "request",
        "{request} stands in the queue behind one that waits, and may not pass it",
        "The first that cannot start blocks those behind it.",
        _OWN,
    ),
    Reason(
        "waits_for_victims",
        "request",
        "{request} starts once those who leave for it have gone",
        "Enough has been told to leave for it; it starts in a later run.",
        _OWN,
    ),
    Reason(
        "lower_priority",
        "victim",
        "{allocation} of operation {operation} leaves node {node}: {lacking} for request {request} of"
        " {beneficiary}, whose priority is higher",
        "A session or job of higher priority stands first in the queue and does not fit.",
        _AI,
    ),
    Reason(
        "goes_on",
        "start",
        "{allocation} of operation {operation} goes on, on node {node}: it needs {needed}, and {free} was free",
        "A suspended one goes on once it fits without preempting anybody.",
        _AI,
    ),
    Reason(
        "room_reserved",
        "start",
        "on node {node} {needed} is reserved for request {request} of operation {operation}",
        "What its victims leave is kept for it until it starts.",
        _AI,
    ),
    Reason(
        "reservation_due",
        "start",
        "request {request} of operation {operation} starts on node {node}, where room was reserved for it",
        "Those who left for it have gone.",
        _AI,
    ),
    Reason(
        "preemption_disabled",
        "request",
        "preemption is switched off",
        "Nobody is preempted, whatever the priorities.",
        _AI,
    ),
    Reason(
        "no_lower_priority",
        "request",
        "nothing of lower priority runs that may be preempted for it",
        "Preemption needs running work of lower priority that is preemptible.",
        _AI,
    ),
    Reason(
        "priority_change_disabled",
        "request",
        "operation {operation} names a priority, which the policy of its user or project does not allow",
        "A resource policy forbids to change the priority; one that equals the default is a change, too.",
        _AI,
    ),
    Reason(
        "priority_out_of_range",
        "request",
        "operation {operation} names a priority that its user or project may not set",
        "The priority lies outside the range that the resource policies of user and project have in common.",
        _AI,
    ),
    Reason(
        "not_lower_priority",
        "allocation",
        "operation {operation} does not have a lower priority than who asks with {request}",
        "Nobody is preempted by equal or lower priority.",
        _AI,
    ),
    Reason(
        "above_threshold",
        "allocation",
        "the priority of operation {operation} is above those that may be preempted",
        "Only priorities up to `preemptible_priority` may be preempted.",
        _AI,
    ),
    Reason(
        "system_work",
        "allocation",
        "operation {operation} is one of the system's own",
        "Sessions of the system are never preempted.",
        _AI,
    ),
    Reason(
        "suspend_does_not_suit",
        "allocation",
        "operation {operation} is of a kind that cannot be suspended",
        "Interactive and inference sessions cannot simply go on later.",
        _AI,
    ),
    Reason(
        "other_scope",
        "allocation",
        "operation {operation} is not of the user, project or domain that asks with {request}",
        "Preemption stays within `victim_scope`.",
        _AI,
    ),
    Reason(
        "ran_too_short",
        "allocation",
        "operation {operation} has not run long enough yet",
        "A minimum run time shields what has just started.",
        _AI,
    ),
    Reason(
        "frees_nothing_useful",
        "allocation",
        "operation {operation} holds nothing that would help {request}, where that can be placed at all",
        "It has nothing on a node where the request could still be placed.",
        _AI,
    ),
)

_LEAVES = (
    "{allocation} of operation {operation} leaves node {node}: {lacking} for request {request} of"
    " {beneficiary}"
)

#: Rows in the order of the core's enumerations.
_SLURM: Final = (
    Reason(
        "higher_partition_tier",
        "victim",
        f"{_LEAVES}, whose partition has a higher tier",
        "With preempt/partition_prio a job preempts those of partitions of lower `PriorityTier`.",
        _SYSTEM,
    ),
    Reason(
        "qos_preempts",
        "victim",
        f"{_LEAVES}, whose QOS may preempt its QOS",
        "With preempt/qos a job preempts those whose QOS stands in the `Preempt` of its own.",
        _SYSTEM,
    ),
    Reason(
        "higher_priority_in_qos",
        "victim",
        f"{_LEAVES}, which has the same QOS and a higher priority",
        "With the flag WITHIN a QOS preempts itself, by priority.",
        _SYSTEM,
    ),
    Reason(
        "fits_over_suspended",
        "start",
        "request {request} of operation {operation} starts on node {node} once {victims} been suspended: it"
        " needs {needed}, and {free} is free then",
        "Suspended jobs stay where they are and keep their memory; what they computed with is free at once.",
        _SYSTEM,
    ),
    Reason(
        "node_outside_partition",
        "request",
        "node {node} is not in the partition of operation {operation}",
        "Jobs run on the nodes of their partition.",
        _SYSTEM,
    ),
    Reason(
        "licenses_missing",
        "request",
        "too few licences are free: {missing} is missing",
        "Without `reclaim_licenses` nobody is preempted for a licence.",
        _SYSTEM,
    ),
    Reason(
        "not_eligible_yet",
        "request",
        "operation {operation} may not start before its time",
        "A job with a begin time, or one that was just requeued, waits for it.",
        _SYSTEM,
    ),
    Reason(
        "preemption_backoff",
        "request",
        "others were preempted for operation {operation} too short a time ago",
        "Between two attempts of one job `KillWait` and `MessageTimeout` must pass.",
        _SYSTEM,
    ),
    Reason(
        "same_operation",
        "allocation",
        "it is the same job that asks with {request}",
        "A job does not preempt itself.",
        _SYSTEM,
    ),
    Reason(
        "tier_not_lower",
        "allocation",
        "the partition of operation {operation} has no lower tier than that of {request}",
        "Partitions of equal or higher `PriorityTier` are not preempted.",
        _SYSTEM,
    ),
    Reason(
        "qos_not_listed",
        "allocation",
        "the QOS of {request} may not preempt that of operation {operation}",
        "The QOS is not in the other's `Preempt`, or one of the jobs has none.",
        _SYSTEM,
    ),
    Reason(
        "preempt_mode_off",
        "allocation",
        "the preempt mode of operation {operation} is OFF",
        "Jobs of a partition or a QOS whose `PreemptMode` is OFF are never preempted.",
        _SYSTEM,
    ),
    Reason(
        "above_min_exempt_priority",
        "allocation",
        "the priority of operation {operation} is above `min_exempt_priority`",
        "Jobs above that priority are never preempted.",
        _SYSTEM,
    ),
    Reason(
        "suspend_not_allowed",
        "allocation",
        "operation {operation} would be suspended, which its partition does not allow",
        "`OverSubscribe` of its partition must be FORCE for jobs to be suspended.",
        _SYSTEM,
    ),
    Reason(
        "outside_partition",
        "allocation",
        "operation {operation} has nothing on a node of the partition of {request}",
        "Only jobs that share a node with the partition of who asks can help.",
        _SYSTEM,
    ),
    Reason(
        "off_chosen_nodes",
        "allocation",
        "operation {operation} came up for {request}, which was then placed on other nodes",
        "Of those that were considered only jobs on a chosen node are preempted.",
        _SYSTEM,
    ),
)

_UNSEEN = (
    Reason(
        "nobody_asked",
        "unseen",
        "no stage of this plan looked at it",
        "No stage had a reason to look at it: nobody who could use it was entitled to preempt.",
        _OWN,
    ),
)

_CHECKS = tuple(
    Reason(code, "check", sentence, doc, _OWN)
    for code, sentence, doc in (
        ("victim_ended", "{allocation} has ended", "The victim is no longer there."),
        ("victim_moved", "{allocation} runs on {now}, not on {was}", "The victim is on another node."),
        ("victim_changed", "{allocation} holds {now}, not {was}", "The victim grew or shrank."),
        ("victim_leaving", "{allocation} is {now}", "The victim is leaving already, or was stopped."),
        (
            "order_changed",
            "{allocation} started its job or saved progress since",
            "Its place in the order moved.",
        ),
        ("node_gone", "node {node} is gone", "The node is no longer there."),
        ("node_not_schedulable", "nothing new may start on node {node}", "The node takes nothing new now."),
        ("node_full", "on node {node} {missing} is missing for {request}", "The request would not fit."),
        ("request_gone", "request {request} is gone", "The request is no longer there."),
        ("request_changed", "request {request} asks for {now}, not {was}", "It asks for other amounts."),
        ("request_shrunk", "request {request} asks for {now}, not {was} more", "It asks for fewer."),
        ("operation_gone", "operation {operation} is gone", "The operation is no longer there."),
        ("operation_moved", "operation {operation} is in another pool", "Its pool is another one."),
        ("limits_exceeded", "{element} would be over its limits by {missing}", "A limit would not hold."),
        ("violation_gone", "{element} is within its limits now", "There is nothing to repair any more."),
        ("step_broken", "the rest of its step does not hold", "A step is done as a whole or not at all."),
    )
)

#: All codes: those of one kind stand in the order of the core's enumeration.
TABLE: Final[tuple[Reason, ...]] = (
    *_victims(),
    *_STARTS,
    *_STAGES,
    *_REQUESTS,
    *_ALLOCATIONS,
    *_WHOLE,
    *_SLURM,
    *_UNSEEN,
    *_CHECKS,
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
