"""A slow, readable implementation of YTsaurus' fair share by the published method.

It shares no code with the engine: functions are built segment by segment, transposed, minimised, composed
and compressed as the specification tells, and every "largest factor" is found by exact search. Use it to
check the engine, not to compute shares of a large tree: a pool of n children costs n² (section 3 of the
specification).

Source: YTsaurus fair-share specification, sections 2.1 to 2.16 and 2.19.
"""

from __future__ import annotations

from tests.reference.reading import fill_order
from tests.reference.ties import tie_dependent
from tests.reference.tree import Diagnostic, Settings
from tests.reference.update import ReferenceShares, reference_fair_share

__all__ = ["Diagnostic", "ReferenceShares", "Settings", "fill_order", "reference_fair_share", "tie_dependent"]
