"""What Backend.AI reads of a snapshot, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["ONLY_IF", "READS"]

#: Table to field to how it is read, in a few words.
READS: Final[Mapping[str, Mapping[str, str]]] = {
    "resources": {
        "quantum": "amounts are multiples of it",
        "scope": "cluster: counted once, no node has it",
        "capacity": "how much there is of what is counted once",
        "available_after_preemption": "false: stays with a suspended session that is kept",
    },
    "nodes": {
        "capacity": "the room",
        "tags": "where requests may be placed",
        "schedulable": "whether anything starts there",
        "physical": "its parts must not exceed it; it has what they leave",
    },
    "pools": {"parent": "whose pace counts, too"},
    "operations": {
        "pool": "whose pace counts",
        "user": "scope of victims, priority policies, dominant share",
        "project": "scope of victims, priority policies",
        "priority": "order of the queue; which sessions may preempt which",
        "usage": "what it has of cluster resources, where nothing is itemised; dominant share",
        "start_time": "order of suspended sessions",
        "kind": "system is spared; interactive and inference are not suspended",
    },
    "allocations": {
        "operation": "whose it is",
        "node": "where its room is",
        "resources": "what it takes and gives back",
        "start_time": "order of victims; minimum run time",
        "planned_end": "spares what ends soon",
        "last_job_start_time": "lost work",
        "last_progress_time": "lost work",
        "state": "whether it runs, leaves or is suspended",
        "beneficiary.operation": "whose room it will be",
        "beneficiary.request": "for which part it leaves",
        "held": "what a preempted one keeps",
        "preemptible": "false: it is never preempted",
        "required_node": "where a suspended session resumes",
    },
    "requests": {
        "operation": "its operation",
        "resources": "what one of them needs",
        "count": "how many; the session starts as a whole",
        "submit_time": "order of the queue",
        "node_tags": "which nodes will do",
        "required_node": "which node alone will do",
        "preemptible": "passed on to what starts",
    },
    "reservations": {
        "request": "what starts there",
        "allocation": "what resumes there",
        "node": "where room is kept",
        "resources": "how much",
        "from": "since when; first reserved, first started",
        "until": "till when",
        "soft": "true: room is not kept",
    },
}


def _counts_lost_work(s: Any) -> bool:
    return bool(s.victim_selection == "minimum" and s.victim_cost == "lost_work")


#: Table and field to whether settings let it be read, for those that not all settings do.
ONLY_IF: Final[Mapping[tuple[str, str], Callable[[Any], bool]]] = {
    ("allocations", "planned_end"): lambda s: s.pace.spare_if_ends_within > 0,
    ("allocations", "last_job_start_time"): _counts_lost_work,
    ("allocations", "last_progress_time"): _counts_lost_work,
    ("operations", "user"): lambda s: (
        s.victim_scope == "user" or s.sequencer == "drf" or bool(s.user_policies)
    ),
    ("operations", "project"): lambda s: s.victim_scope == "project" or bool(s.project_policies),
}
