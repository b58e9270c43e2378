"""What Grid Engine's users are told of a job that leaves, or waits."""

from __future__ import annotations

from typing import Final

from evenhand.systems.letters import letters
from evenhand.systems.reason import Clause

__all__ = ["LETTERS"]

_STOPS = ("preempt", "enhanced_suspend", "suspend")
_HIGHER = "job {asks} has a higher priority ({beneficiary_priority:exact}, and this one {priority:exact})"

LETTERS: Final = {
    **letters(
        "job",
        {
            "terminate": "it is ended{in_time:part}: what it has not saved is lost, and it does not start"
            " again by itself",
            "requeue": "it is rescheduled{in_time:part}: it waits again and starts anew",
            "checkpoint": "it is checkpointed{in_time:part} and waits again, to start from its checkpoint",
            **dict.fromkeys(_STOPS, "its processes are stopped and resume later: none of its work is lost"),
        },
        stops=_STOPS,
    ),
    ("rule", "automatic_preemption"): (Clause(f"{_HIGHER} and would have to wait otherwise"),),
    ("rule", "semi_automatic_preemption"): (
        Clause(f"preemption was requested for job {{asks}}, and {_HIGHER}"),
    ),
    ("rule", "manual_preemption"): (
        Clause("a request for preemption names this job as one that is to make room for job {asks}"),
    ),
    ("rule", "subordinate_threshold"): (
        Clause("more jobs run there in queue {queue} and below it than its subordinate_list allows"),
    ),
    ("rule", "queue_suspended"): (
        Clause(
            "so many slots of queue {queue} are in use there that its subordinate_list suspends the queue"
            " of this job"
        ),
    ),
}
