"""What a round leaves out: beneficiaries that may not be served now, and victims beyond a cap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.act.tasks import Refusal

__all__ = ["Aside"]


@dataclass(slots=True)
class Aside:
    """What the plans of one round do without.

    Attributes
    ----------
    left : dict of str to Refusal
        Beneficiaries that left the round's plan, and why: they wait as if they asked for nothing.
    sets : dict of str to set of str
        By beneficiary, the jobs that are spared so that another set is found for it within the caps.
    """

    left: dict[str, Refusal] = field(default_factory=dict)
    sets: dict[str, set[str]] = field(default_factory=dict)

    @property
    def spared(self) -> set[str]:
        """All jobs that are spared."""
        return set().union(*self.sets.values())

    def leave(self, job: str, refusal: Refusal) -> None:
        """Leave a beneficiary out; what was spared for it may be taken by others."""
        self.left.setdefault(job, refusal)
        self.sets.pop(job, None)
