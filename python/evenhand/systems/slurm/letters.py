"""What Slurm's users are told of a job that leaves, or waits."""

from __future__ import annotations

from typing import Final

from evenhand.systems.letters import letters
from evenhand.systems.reason import Clause

__all__ = ["LETTERS"]

LETTERS: Final = {
    **letters(
        "job",
        {
            "terminate": "it is cancelled{in_time:part}: what it has not saved is lost, and it does not start"
            " again by itself",
            "requeue": "it is requeued{in_time:part}: it waits again and starts anew, from its last"
            " checkpoint if it writes any",
            "suspend": "it is suspended and stays in memory there, to resume once it may: none of its work is"
            " lost",
        },
        stops=("suspend",),
    ),
    ("rule", "higher_partition_tier"): (
        Clause(
            "jobs of {asking_partition:part} (PriorityTier {tier_of_asking:name}) preempt those of"
            " {its_partition:part} (PriorityTier {tier:name})"
        ),
    ),
    ("rule", "higher_priority_in_qos"): (
        Clause(
            "within QOS {its_qos} jobs of a higher priority preempt others, and job {asks} has"
            " {priority_of_asking:beside priority} where this one has {priority:beside priority_of_asking}"
        ),
    ),
    ("rule", "qos_preempts"): (Clause("jobs of QOS {qos_of_asking} may preempt those of QOS {its_qos}"),),
}
