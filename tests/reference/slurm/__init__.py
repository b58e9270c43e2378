"""A slow, readable implementation of Slurm's scheduling run and victim selection.

It shares no code with the engine: amounts are fractions, free room is a dict that is copied for every trial,
a placement is tried after every single victim, and the fewest victims are found by trying all subsets. Use it
to check the engine on small clusters.

Source: Slurm documentation, preemption; its select, preempt and scheduling loops.
"""

from __future__ import annotations

from tests.reference.slurm.plan import reference_plan
from tests.reference.slurm.priority import reference_priorities

__all__ = ["reference_plan", "reference_priorities"]
