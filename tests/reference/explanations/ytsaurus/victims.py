"""What is said of victims of the YTsaurus policy: their place in the order, what would have spared them."""

from __future__ import annotations

from tests.reference.explanations.decided import for_a_request, own_decisions
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import World
from tests.reference.explanations.ytsaurus.moments import story

__all__ = ["stage_victim"]

#: What bounds from below what a stage takes.
_SETTINGS = {
    "preemptive": "preemption_satisfaction_threshold",
    "aggressive": "aggressive_preemption_satisfaction_threshold",
}


@checks(
    "victim",
    *("preemption", "aggressive_preemption", "ssd_preemption", "ssd_aggressive_preemption"),
    "default_gpu_full_host_preemption",
    system="ytsaurus",
)
def stage_victim(world: World, said: Said) -> None:
    """Whether it is taken once for a request; its group, its age and its place are those of the heartbeat."""
    from tests.reference.explanations.ytsaurus.allocations import most_wanted_first
    from tests.reference.explanations.ytsaurus.requests import eligible

    for_a_request(world, said)
    (made,) = own_decisions(world, said, "preempt")
    tale, met, node = story(world), said.met, said.row["node"]
    group = tale.groups(tale.before(node), said.row["operation"])[str(said.row["name"])]
    must(met.get("group") == group, "its group", met.get("group"), group)
    for of, setting in _SETTINGS.items():
        if setting in met:
            right = of == made["stage"] and met[setting] == getattr(world.settings, setting)
            must(right and group != "non_preemptible", setting, met, group)
    if "place" not in met:
        return
    began = float(said.row.get("last_job_start_time", said.row.get("start_time", 0.0)))
    must(met.get("began") == began, "its last job began", met.get("began"), began)
    must(met.get("order_key") == world.settings.order_key, "what orders", met.get("order_key"))
    stage = str(made["stage"])
    begin = tale.span(node, stage)[0]
    rows = [dict(a) for a in eligible(tale, stage, str(node), begin)]
    must(met["place"] <= met["candidates"], "place", met["place"], met["candidates"])
    if world.settings.preemption_check_starvation or world.settings.preemption_check_satisfaction:
        return  # pools shield some of it
    must(met["candidates"] == len(rows), "candidates", met["candidates"], len(rows))
    if world.pace.caps:
        return  # a set beyond the caps is looked for again without some
    order = most_wanted_first(tale, rows, tale.before(node))
    must(order.index(str(said.row["name"])) + 1 == met["place"], "its place", met["place"], order)
