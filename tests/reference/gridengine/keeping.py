"""What preemptees give up where they keep what their preemptor does not take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.reference.gridengine.waiting import Waiting
from tests.reference.gridengine.world import FOREVER, Amounts, Take, World


def wanted_of(
    world: World,
    planned: list[Take],
    here: list[Take],
    w: Waiting,
    victims: Sequence[str],
    how: Mapping[str, str],
    where: Sequence[str] | None,
) -> dict[str | None, Amounts]:
    """What must come free on each node (None: of what is shared) for it to have room all the time."""
    now = world.now
    needs: dict[str | None, Amounts] = {}

    def want(node: str | None, need: Mapping[str, float], wide: bool) -> None:
        of = needs.setdefault(node, {r: 0 for r in world.resources if (r in world.wide) == wide})
        for r in of:
            of[r] += need.get(r, 0)

    for part in w.parts:
        want(None, part.need, True)
    if where is not None:
        for part, node in zip(w.parts, where, strict=True):
            want(node, part.need, False)
    else:  # too few leave for it to start
        for name in victims:
            for a in world.jobs[name].some("running"):
                if a["node"] not in needs:
                    want(a["node"], w.parts[0].need, False)
    stay = [  # what stops does not end when it was to end
        Take(a["node"], a["resources"], world.ends(a), FOREVER)
        for name in victims
        if how[name] in "PNS"
        for a in world.jobs[name].some("running")
    ]
    takes, until = planned + stay, now + w.duration
    instants = {now, *(x for t in takes for x in (t.since, t.until) if now <= x < until)}

    def free(node: str | None, r: str) -> float:
        return min(world.free(here, node, r, now), *(world.free(takes, node, r, at) for at in instants))

    return {node: {r: x - free(node, r) if x else 0 for r, x in need.items()} for node, need in needs.items()}
