"""What is said of decisions, of every system: their reasons and the numbers beside them."""

from __future__ import annotations

from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import World, same, without_zeros

__all__ = ["own_decisions"]


def own_decisions(world: World, said: Said, *actions: str) -> list[dict[str, object]]:
    """Return the decisions of what is explained."""
    column = "allocation" if said.explanation.table == "allocations" else "request"
    return [
        d
        for d in world.decisions
        if d["action"] in actions and same(d[column], said.row["name"]) and d["reason"] == said.code
    ]


def _beneficiary_waits(world: World, decision: dict[str, object]) -> None:
    served = decision["beneficiary"]
    must(served is not None, "it is not said for which request")
    request = world.row("requests", served["request"])  # type: ignore[index]
    must(same(served["operation"], request["operation"]), "the request is of another operation", served)  # type: ignore[index]


@checks(
    "victim",
    *("preemption", "aggressive_preemption", "ssd_preemption", "ssd_aggressive_preemption"),
    *("default_gpu_full_host_preemption", "lower_priority", "higher_partition_tier", "qos_preempts"),
    *("higher_priority_in_qos", "manual_preemption", "semi_automatic_preemption", "automatic_preemption"),
    *("below_ideal_share", "higher_priority_in_queue", "below_guarantee", "for_required_node"),
)
def for_a_request(world: World, said: Said) -> None:
    """Whether it is taken once, for a request, and frees no more than it has."""
    made = own_decisions(world, said, "preempt")
    must(len(made) == 1, "it is taken so many times", len(made))
    _beneficiary_waits(world, made[0])
    _frees_what_it_has(world, said, made[0])


def _frees_what_it_has(world: World, said: Said, decision: dict[str, object]) -> None:
    has = said.row.get("resources") or {}
    both = {
        r: decision["freed"].get(r, 0) + decision["kept"].get(r, 0)  # type: ignore[attr-defined]
        for r in world.resources
    }
    must(without_zeros(both) == without_zeros(has), "freed and kept are not what it has", both, has)


@checks("victim", "graceful_preemption", system="ytsaurus")
def graceful_preemption(world: World, said: Said) -> None:
    """Its operation is preempted gracefully, and its group is preemptible."""
    from tests.reference.explanations.ytsaurus.moments import story

    mode = world.operation_of(said.row).get("settings", {}).get("preemption_mode")
    tale = story(world)
    group = tale.groups(tale.before(said.row["node"]), said.row["operation"])[str(said.row["name"])]
    must(mode == "graceful" and group == "preemptible", "mode and group", mode, group)


@checks("victim", "resource_overcommit", system="ytsaurus")
def resource_overcommit(world: World, said: Said) -> None:
    """Whether the node uses more than it has, without what had left before."""
    from tests.reference.explanations.ytsaurus.moments import story

    (made,) = own_decisions(world, said, "preempt")
    free = story(world).at(world.decisions.index(made)).rooms.unused[str(said.row["node"])]
    must(any(free[r] < -1e-9 for r in free if r not in world.wide), "the node is not overfull", free)


@checks("victim", "resource_limits_violated", system="ytsaurus")
def resource_limits_violated(world: World, said: Said) -> None:
    """Whether the element that is named uses more than its limits, by the numbers that are said."""
    from tests.reference.explanations.ytsaurus.moments import story

    (made,) = own_decisions(world, said, "preempt")
    tale = story(world)
    moment = tale.at(world.decisions.index(made))
    told = said.met.get("violated")
    chain = tale.chain(world.operation_of(said.row))
    meant = [key for key in chain if str(told) in (key[1], f"{key[1]} ({key[0]})")]
    must(meant, "it is not in that element", told, chain)
    over = [tale.over_limits(*key, moment) for key in meant]
    must(any(over), "it is within its limits", told)
    usage, limits = said.met.get("usage", {}), said.met.get("limits", {})
    for key, found in zip(meant, over, strict=True):
        row = world.row(f"{key[0]}s", key[1])
        right = (
            all(abs(moment.usage[key][r] - used) < 1e-6 for r, used in usage.items())
            and all(abs((row.get("limits") or {}).get(r, -1) - limit) < 1e-6 for r, limit in limits.items())
            and found.keys() <= usage.keys()
        )
        if right and found:
            return
    must(False, "usage and limits", usage, limits, [moment.usage[key] for key in meant])


@checks("victim", "surplus_of_queue", "above_quota")
def for_no_request(world: World, said: Said) -> None:
    """Whether it is taken once, and frees no more than it has."""
    made = own_decisions(world, said, "preempt")
    must(len(made) == 1, "it is taken so many times", len(made))
    _frees_what_it_has(world, said, made[0])


@checks("start", "fits_free_room", "fits_after_preemption", "fits_over_suspended", "room_reserved")
@checks("start", "reservation_due", "reserved_ahead")
def starts(world: World, said: Said) -> None:
    """Whether it starts, with victims of its step where the code says so and without where not."""
    made = own_decisions(world, said, "start")
    must(made, "it does not start")
    for decision in made:
        victims = world.victims_of(decision["step"])  # type: ignore[arg-type]
        needs = said.code in ("fits_after_preemption", "fits_over_suspended")
        must(bool(victims) == needs, "victims of its step", len(victims), said.code)


@checks("start", "resumes")
def resumes(world: World, said: Said) -> None:
    """Whether it was suspended by a preemption, and resumes where it is."""
    made = own_decisions(world, said, "resume")
    must(len(made) == 1, "it resumes so many times", len(made))
    must(World.state_of(said.row) == "preempted", "state", World.state_of(said.row))


@checks("node", "decided", "nothing_decided")
def node(world: World, said: Said) -> None:
    """Something is decided on it, or nothing."""
    mine = [d for d in world.decisions if same(d["node"], said.row["name"])]
    must(bool(mine) == (said.code == "decided"), "decisions on it", len(mine))


@checks("element", "no_fair_shares")
def no_fair_shares(world: World, said: Said) -> None:
    """Whether the policy knows no fair shares."""
    must(not world.plan._system.shares, "it does", said.code)
