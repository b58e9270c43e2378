"""What a victim costs: one setting, the same for every system."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import Field

__all__ = ["COSTS", "MOST", "MOST_LOST_WORK", "PreemptionCost", "VictimCost", "victim_cost"]

#: In the order of the core.
COSTS = ("victims", "lost_work", "given")

#: The highest cost that a row can give.
MOST = 1_000_000_000

#: The highest cost of one victim by lost work, in node-seconds: sums of them stay exact.
MOST_LOST_WORK = 10**13

VictimCost = Literal["victims", "lost_work", "given"]

#: Of an operation's row.
PreemptionCost = Annotated[int, Ge(1), Le(MOST)]


def victim_cost() -> Any:
    """Return the field `victim_cost` of a policy's settings."""
    return Field(
        "victims",
        description='What victim_selection="minimum" makes as small as it can be: the number of victims; the'
        " work that is lost (seconds since an allocation's last saved progress or start, times its dominant"
        " share of its node, rounded up); or the sum of the rows' `preemption_cost`.",
    )
