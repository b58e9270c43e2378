"""Why an allocation was spared by the YTsaurus policy, stage by stage, counted anew."""

from __future__ import annotations

from evenhand.fields import resource_kind
from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import ROOT, World, same, without_zeros
from tests.reference.explanations.ytsaurus.moments import GROUPS, Story, story
from tests.reference.explanations.ytsaurus.requests import eligible, lacking

__all__ = ["most_wanted_first"]

_SYSTEM = "ytsaurus"


def _stage(said: Said) -> str:
    return str(said.met["stage"])


def _starts(world: World, node: object, stage: str) -> list[dict[str, object]]:
    return [d for d in world.decided("start", node=node) if d["stage"] == stage]  # type: ignore[misc]


@checks("allocation", "taken", system=_SYSTEM)
def taken(world: World, said: Said) -> None:
    """Whether it is preempted in that stage; of repair within a stage, by it."""
    made = world.decided("preempt", allocation=said.row["name"])
    must(made, "it is not preempted", said.row["name"])


@checks("allocation", "not_running", "already_preempting", system=_SYSTEM)
def not_running(_world: World, said: Said) -> None:
    """Whether it did not run, or leaves already: by the snapshot, or by an earlier decision."""
    state = World.state_of(said.row)
    if said.code == "already_preempting":
        must(state == "preempting", "state", state)
    else:
        must(state in ("suspended", "preempted"), "state", state)


@checks("allocation", "protected_group", system=_SYSTEM)
def protected_group(world: World, said: Said) -> None:
    """Its group, by its operation's shares when the node reported, is safer than what the stage takes."""
    tale = story(world)
    begin = tale.before(said.row["node"])
    group = tale.groups(begin, said.row["operation"])[str(said.row["name"])]
    told = said.met.get("group")
    must(told in (None, group), f"it was {group} when its node reported, said to be {told}")
    level = tale.level(said.row, begin, aggressive=True)
    must(not tale.stage_takes(_stage(said), level), "the stage may take its group", level, _stage(said))


@checks("allocation", "aggressive_not_allowed", system=_SYSTEM)
def aggressive_not_allowed(world: World, said: Said) -> None:
    """Whether it is aggressively preemptible, and its operation does not allow that."""
    tale = story(world)
    status = tale.status("operation", said.row["operation"])
    must(not status.aggressive_preemption, "aggressive preemption is allowed")
    begin = tale.before(said.row["node"])
    group = tale.groups(begin, said.row["operation"])[str(said.row["name"])]
    must(group == "aggressively_preemptible", "its group", group)
    allowed = tale.level(said.row, begin, aggressive=True)
    must(tale.stage_takes(_stage(said), allowed), "the stage takes none of its group", _stage(said))


@checks("allocation", "operation_starving", system=_SYSTEM)
def operation_starving(world: World, said: Said) -> None:
    """Its operation starves itself, and such operations are spared; or pools bar normal preemption."""
    tale, operation = story(world), said.row["operation"]
    if not tale.exposed(_stage(said), operation) and "pool" in said.compared:
        pools = [p for kind, p in tale.chain(world.operation_of(said.row)) if kind == "pool"]
        pool = ROOT if said.compared["pool"] == ROOT else str(said.compared["pool"]).removesuffix(" (pool)")
        row = world.row("pools", pool).get("settings", {})
        must(pool in pools and row.get("allow_normal_preemption") is False, "that pool lets it", pool)
        return
    must("pool" not in said.compared, "no pool bars it", said.compared)
    must(tale.starves(operation), "it does not starve", operation)
    must(not world.settings.allow_preemption_from_starving_operations, "the starving are not spared")


@checks("allocation", "graceful_operation", system=_SYSTEM)
def graceful_operation(world: World, said: Said) -> None:
    """Its operation is preempted gracefully."""
    mode = world.operation_of(said.row).get("settings", {}).get("preemption_mode", "normal")
    must(mode == "graceful", "mode", mode)


@checks("allocation", "not_preemptible_flag")
def not_preemptible_flag(world: World, said: Said) -> None:
    """Whether it has opted out; where operations leave as a whole, one of its operation."""
    rows = world.allocations_of(said.row["operation"]) if world.system != _SYSTEM else [said.row]
    must(any(not row.get("preemptible", True) for row in rows), "it is preemptible", said.row["name"])


def most_wanted_first(tale: Story, rows: list[dict[str, object]], begin: int) -> list[str]:
    """Return names of possible victims, the first to go first."""

    def key(row: dict[str, object]) -> tuple[int, bool, tuple[float, int]]:
        group = tale.groups(begin, row["operation"])[str(row["name"])]
        limits = (row.get("settings") or {}).get("resource_limits") or {}  # type: ignore[attr-defined]
        has, kinds = row.get("resources") or {}, tale.world.data["resources"]
        gap = any(
            has.get(r, 0) < limit  # type: ignore[attr-defined]
            for r, limit in limits.items()
            if (kinds.get(r) or {}).get("kind", resource_kind(r)) == "cpu"
        )
        return GROUPS.index(group), gap and group != "preemptible", tale.age(row)

    return [str(row["name"]) for row in sorted(rows, key=key, reverse=True)]


@checks("allocation", "spared_fits_without", "given_back", system=_SYSTEM)
def spared_fits_without(world: World, said: Said) -> None:
    """Victims make room for the request that is named without it: in its turn, or after it was chosen."""
    tale, node, stage = story(world), said.row["node"], _stage(said)
    made = _starts(world, node, stage)
    must(made, "nothing started there in this stage", node, stage)
    asks = said.met.get("request")
    (start,) = made[:1]
    must(same(asks, start["request"]), "another request started", asks, start["request"])
    victims = world.victims_of(start["step"])  # type: ignore[arg-type]
    must(all(not same(d["allocation"], said.row["name"]) for d in victims), "it is a victim")
    if world.settings.victim_selection == "minimum":
        must(said.code != "given_back" or victims, "no set was reduced")
        return
    count = tale.span(node, stage)[0]
    order = most_wanted_first(
        tale, [dict(a) for a in eligible(tale, stage, str(node), count)], tale.before(node)
    )
    gone = {str(d["allocation"]) for d in victims}
    need = world.row("requests", start["request"])
    lacks = without_zeros(lacking(tale, need, str(node), count, [world.row("allocations", n) for n in gone]))
    must(not lacks, "the victims do not make room", lacks)
    if world.pace.caps:
        return  # a set beyond the caps is looked for again without some
    last = max((order.index(name) for name in gone), default=-1)
    place = order.index(str(said.row["name"]))
    if said.code == "given_back":
        must(place < last, "its turn never came", order, sorted(gone))
    else:
        must(place > last, "it was chosen first", order, sorted(gone))


@checks("allocation", "no_start_in_stage", system=_SYSTEM)
def no_start_in_stage(world: World, said: Said) -> None:
    """Nothing starts on its node in that stage."""
    must(not _starts(world, said.row["node"], _stage(said)), "something starts", said.row["node"])


@checks("allocation", "other_node", system=_SYSTEM)
def other_node(world: World, said: Said) -> None:
    """No heartbeat of its node is part of the plan."""
    must(str(said.row["node"]) not in story(world).order, "its node reported", said.row["node"])


@checks("allocation", "no_violation", system=_SYSTEM)
def no_violation(world: World, said: Said) -> None:
    """Neither its node, nor an element above it, is over its limits when repair has passed."""
    tale, node = story(world), said.row["node"]
    moment = tale.at(tale.span(node, _stage(said))[-1])
    if _stage(said) == "overcommit":
        has = world.amounts(world.row("nodes", node).get("capacity"))
        free = {r: moment.rooms.unused[str(node)][r] for r in has if r not in world.wide}
        over = {r: -left for r, left in free.items() if left < -1e-9}
        must(not over, "the node is overfull", over)
        return
    for kind, name in tale.chain(world.operation_of(said.row)):
        over = tale.over_limits(kind, name, moment)
        must(not over, f"{kind} {name} is over its limits", over)
