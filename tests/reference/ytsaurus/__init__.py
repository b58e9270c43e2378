"""A slow, readable implementation of YTsaurus' starvation and preemption by the published rules.

It shares no code with the engine: amounts are whole numbers of quanta, shares are plain quotients, and the
fewest victims are found by trying all subsets. Use it to check the engine on small clusters.

Source: YTsaurus preemption specification, sections 1 to 3, and the two presets' switches.
"""

from __future__ import annotations

from tests.reference.ytsaurus.plan import reference_plan

__all__ = ["reference_plan"]
