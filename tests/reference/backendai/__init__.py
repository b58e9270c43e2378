"""A slow, readable implementation of Backend.AI's scheduling run, by the proposal and by release 26.8.

It shares no code with the engine: free room is added up afresh for every question, amounts are whole numbers
of quanta, and the fewest victims are found by trying all subsets. Use it to check the engine on small
clusters.

Source: Backend.AI, proposal on preemption of low-priority sessions, and the planner of release 26.8.
"""

from __future__ import annotations

from tests.reference.backendai.reference import reference_plan

__all__ = ["reference_plan"]
