"""The quantities of fair shares, and shares that came from another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["AMOUNTS", "INDICES", "PARTS", "POOLS_ONLY", "SCALARS", "SHARES", "SPLIT", "KeptShares"]

PARTS = ("strong_guarantee", "integral_guarantee", "weight_proportional")
SHARES = (
    "fair_share",
    *(f"fair_share.{part}" for part in PARTS),
    "promised_guarantee_fair_share",
    *(f"promised_guarantee_fair_share.{part}" for part in PARTS),
    "usage_share",
    "demand_share",
    "limits_share",
    "strong_guarantee_share",
    "strong_guarantee_share.priority",
    "strong_guarantee_share.regular",
    "estimated_guarantee_share",
    "proposed_integral_share",
)
AMOUNTS = (
    "inferred_strong_guarantee",
    "volume.overflow",
    "volume.acceptable",
    "volume.accepted_free",
    "volume.children_overflow",
    "volume.accumulated_after",
)
SCALARS = (
    "satisfaction",
    "dominant_resource",
    "fifo_index",
    "effective_fifo_index",
    "ratios.flow",
    "ratios.burst",
    "ratios.total_flow",
    "ratios.total_burst",
    "volume.last_share_ratio_after",
)
POOLS_ONLY = frozenset(q for q in (*AMOUNTS, *SCALARS) if q.startswith(("ratios.", "volume.", "inferred")))
INDICES = frozenset({"dominant_resource", "fifo_index", "effective_fifo_index"})
SPLIT = ("fair_share.", "promised_guarantee_fair_share.")


class KeptShares:
    """What the core said of fair shares, kept as arrays: those that came from another process."""

    def __init__(
        self, columns: Mapping[str, Any], has_promised: bool, diagnostics: list[tuple[Any, ...]]
    ) -> None:
        self._columns = dict(columns)
        self.has_promised = has_promised
        self.diagnostics = diagnostics

    @classmethod
    def of(cls, core: Any) -> Self:
        """Read everything off a core's shares; O(elements)."""
        whole = [q for q in SHARES if not q.startswith(SPLIT)]
        more = ("promised_fair_share", "estimated_guarantee_share_with_flow")
        columns = {q: core.column(q) for q in (*whole, *more, *AMOUNTS, *SCALARS)}
        columns |= {"parts": core.parts(False), "promised_parts": core.parts(True)}
        return cls(columns, core.has_promised, list(core.diagnostics))

    def column(self, name: str) -> NDArray[Any]:
        """Return one quantity as an array."""
        values: NDArray[Any] = self._columns[name]
        return values

    def parts(self, promised: bool = False) -> Sequence[NDArray[Any]]:
        """Return strong, integral and weight-proportional parts."""
        parts: Sequence[NDArray[Any]] = self._columns["promised_parts" if promised else "parts"]
        return parts
