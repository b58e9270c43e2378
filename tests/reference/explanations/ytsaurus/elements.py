"""How an element stands to its fair share, by the plan's statuses and shares."""

from __future__ import annotations

from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import World
from tests.reference.explanations.ytsaurus.moments import story

__all__ = ["element"]


@checks(
    "element",
    *("normal", "below_fair_share", "starving", "aggressively_starving"),
    system="ytsaurus",
)
def element(world: World, said: Said) -> None:
    """Whether the code is its starvation, else its status; the numbers are those of the update."""
    kind = said.explanation.table.removesuffix("s")
    status = story(world).status(kind, said.row["name"])
    starves = status.starvation != "non_starving"
    must(said.code == (status.starvation if starves else status.status), "status", status)
    for name in ("satisfaction", "tolerance", "timeout", "since"):
        if name in said.met:
            must(said.met[name] == getattr(status, name), name, said.met[name], getattr(status, name))
