"""What Grid Engine reads of a snapshot, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["ONLY_IF", "READS"]

#: Table to field to how it is read, in a few words.
READS: Final[Mapping[str, Mapping[str, str]]] = {
    "resources": {
        "quantum": "amounts are multiples of it",
        "kind": "what an action frees depends on it",
        "scope": "cluster: counted once, no host has it",
        "capacity": "how much there is of what is counted once",
        "available_after_preemption": "aapre: false stays with a preempted job",
    },
    "nodes": {
        "capacity": "the room",
        "tags": "where requests may be placed",
        "schedulable": "whether anything starts there",
        "swap_free": "whether stopped processes can give up their memory",
    },
    "pools": {"parent": "whose pace counts, too"},
    "operations": {
        "pool": "whose pace counts; its queue, where one is called so",
        "user": "owner: users may preempt their own jobs",
        "priority": "final priority: order of the queue; which jobs may be preempted",
        "usage": "what it has of cluster resources, where nothing is itemised",
        "start_time": "order of preemptees",
    },
    "allocations": {
        "operation": "whose it is",
        "node": "where its room is",
        "resources": "what it takes and gives back",
        "start_time": "order of providers; planned end by `default_duration`",
        "planned_end": "when it is taken to end",
        "state": "whether it runs, leaves, is stopped or preempted",
        "deadline": "when what leaves has gone",
        "beneficiary.operation": "whose room it will be",
        "beneficiary.request": "for which part it leaves",
        "held": "what a preempted one keeps",
        "checkpointable": "it has a checkpoint environment: action C",
        "rerunnable": "action R",
        "preemptible": "false: it is never preempted",
    },
    "requests": {
        "operation": "its job",
        "resources": "what one of them needs",
        "count": "how many; the job starts as a whole",
        "submit_time": "order of the queue",
        "duration": "requested run time",
        "reserve": "it asks for a reservation",
        "node_tags": "which hosts will do",
        "required_node": "which host alone will do",
        "preemptible": "passed on to what starts",
    },
    "reservations": {
        "request": "what starts there",
        "allocation": "what resumes there",
        "node": "where room is kept",
        "resources": "how much",
        "from": "since when",
        "until": "till when",
        "soft": "true: room is not kept",
    },
    "commands": {
        "consumer": "the job that is to start",
        "providers": "jobs that are to give way, in this order",
        "action": "how they give way",
        "force": "a manager's: no test of distance or of rerunnable jobs",
        "user": "who asks",
        "manager": "whether a manager asks",
    },
}

#: Table and field to whether settings let it be read, for those that not all settings do.
ONLY_IF: Final[Mapping[tuple[str, str], Callable[[Any], bool]]] = {}
