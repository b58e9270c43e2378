"""What YTsaurus' users are told of a job that leaves, or waits."""

from __future__ import annotations

from typing import Final

from evenhand.systems.letters import letters
from evenhand.systems.reason import Clause

__all__ = ["LETTERS"]

LETTERS: Final = {
    **letters(
        "operation",
        {
            "requeue": "it is to end{in_time:part}, and its operation starts this work again: what it has not"
            " handed over by then is lost"
        },
        part="job",
    ),
    ("rule", "preemption"): (
        Clause(
            "operation {asks}, or a pool above it, starves below its fair share, and this job is preemptible"
        ),
    ),
    ("rule", "aggressive_preemption"): (
        Clause(
            "operation {asks}, or a pool above it, starves aggressively, so that more jobs may be preempted"
        ),
    ),
}
