"""What a step of the YTsaurus policy had to choose from: work on the node, in the stage of its heartbeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.reference.certificates.questions import NotDerived, Question, whole
from tests.reference.costs import read_costs
from tests.reference.explanations.world import World
from tests.reference.explanations.ytsaurus.allocations import most_wanted_first
from tests.reference.explanations.ytsaurus.moments import STAGES, Story
from tests.reference.explanations.ytsaurus.requests import eligible, lacking
from tests.reference.pace import Pace

if TYPE_CHECKING:
    from evenhand.plans.plan import Plan
    from tests.reference.explanations.world import Row

__all__ = ["question"]


def question(plan: Plan, step: int) -> Question:
    """Derive what the search of a step was asked.

    Parameters
    ----------
    plan : Plan
    step : int

    Returns
    -------
    Question

    Raises
    ------
    NotDerived
        If the policy shields work of starving pools (older revisions), or a node reports twice in the plan.

    Notes
    -----
    Free room, groups and usage are counted anew, from the snapshot and the decisions before the step. Taken
    from the plan as they are: fair shares, statuses, usage thresholds.
    """
    world = World(plan)
    must_be_told_apart(world)
    tale = Story(world)
    places = [place for place, d in enumerate(world.decisions) if d["step"] == step]
    before = places[0]
    start = next(d for d in (world.decisions[place] for place in places) if d["action"] == "start")
    node, stage = str(start["node"]), str(start["stage"])
    if stage not in STAGES:
        raise NotDerived(f"victims of stage {stage} are not chosen by a search")
    request = world.row("requests", start["request"])
    pace = Pace(world.settings.pace, world.data, world.state)
    for decision in world.decisions[:before]:
        if decision["action"] == "preempt":
            operation = world.row("operations", decision["operation"])
            pace.took(operation["name"], operation.get("pool"))
    world.__dict__["pace"] = pace
    rows = eligible(tale, stage, node, before)
    order = most_wanted_first(tale, [dict(row) for row in rows], tale.before(node))
    by_name = {str(row["name"]): row for row in rows}
    costs = read_costs(world.data, world.settings.victim_cost)
    quantum = plan.snapshot.quantum
    lacks = lacking(tale, request, node, before, [])

    def freed(row: Row) -> tuple[int, ...]:
        has = world.amounts(row.get("resources"))
        return tuple(whole(has[r], quantum[r]) for r in world.resources)

    def suffices(names: Sequence[str]) -> bool:
        gone = [by_name[name] for name in names]
        left = lacking(tale, request, node, before, gone)
        return all(whole(amount, quantum[r]) <= 0 for r, amount in left.items())

    return Question(
        tuple(order),
        tuple(costs.of(by_name[name]["operation"], [name]) for name in order),
        suffices,
        node=node,
        shortage=tuple(whole(lacks.get(r, 0.0), quantum[r]) for r in world.resources),
        frees={name: freed(by_name[name]) for name in order},
    )


def must_be_told_apart(world: World) -> None:
    """Raise NotDerived where moments of a plan cannot be told apart, or work is shielded by pools.

    Parameters
    ----------
    world : World

    Raises
    ------
    NotDerived
    """
    on = world.plan.on
    given = on if isinstance(on, tuple) else () if on is None else (on,)
    nodes = [str(one.node) for one in given if hasattr(one, "node")]
    if len(set(nodes)) < len(nodes):
        raise NotDerived("a node reports more than once in this plan")
    if world.settings.preemption_check_starvation or world.settings.preemption_check_satisfaction:
        raise NotDerived("pools shield work (conditional preemption of older revisions)")
