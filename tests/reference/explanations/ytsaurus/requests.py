"""Why a request of the YTsaurus policy did not start, stage by stage, counted anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.reference.explanations.registry import Said, checks, must
from tests.reference.explanations.world import Amounts, World, same, without_zeros
from tests.reference.explanations.ytsaurus.moments import SHARE, STAGES, Story, story

if TYPE_CHECKING:
    from tests.reference.explanations.world import Row

__all__ = ["eligible", "lacking", "stage_of"]

_SYSTEM = "ytsaurus"

#: Amounts that differ by less are the same.
SLACK = 1e-6


def stage_of(world: World, said: Said) -> str:
    """Return the stage that is meant; of a refusal the widest that the operation was entitled to."""
    if said.met.get("stage"):
        return str(said.met["stage"])
    operation = said.row["operation"]
    right = story(world).status("operation", operation).priority
    return {"aggressive": "aggressive", "normal": "preemptive", "none": "regular"}[right]


def places(world: World, said: Said) -> list[tuple[str, int]]:
    """Return nodes and counts of decisions of which something may be said: the stage's end on its node.

    Of a refusal: every node where the request may stand, at the end of the plan.
    """
    tale = story(world)
    if said.met.get("stage"):
        node, stage = said.met["node"], said.met["stage"]
        # What could leave is gathered at a stage's beginning; free room and limits are as it left them.
        span, early = tale.span(node, stage), stage != "regular" and not said.code.startswith("limits")
        return [(str(node), span[0] if early else span[-1])]
    end = len(world.decisions)
    return [(node, end) for node in tale.order if may_stand(tale, said.row, node)]


def may_stand(tale: Story, request: Row, node: str) -> bool:
    """Return whether a request may start on a node at all."""
    row = tale.world.row("nodes", node)
    return (
        row.get("schedulable", True)
        and (request.get("required_node") is None or same(request["required_node"], node))
        and set(request.get("node_tags", ())) <= set(row.get("tags", ()))
        and not needs_other_disks(tale, request, node)
    )


def wants_fast_disks(tale: Story, request: Row) -> bool:
    """Return whether an operation asks for a medium that counts as fast."""
    media = tale.world.operation_of(request).get("settings", {}).get("disk_media", ())
    names = tale.world.settings.ssd_priority_preemption.medium_names
    return any(medium in names for medium in ([media] if isinstance(media, str) else media))


def needs_other_disks(tale: Story, request: Row, node: str) -> bool:
    """Return whether a node's fast disks are kept for others."""
    pools = tale.world.pools_of(tale.world.operation_of(request))
    keep = "allow_regular_allocations_on_ssd_nodes"
    kept = any(not tale.world.row("pools", p).get("settings", {}).get(keep, True) for p in pools)
    return kept and tale.is_fast(node) and not wants_fast_disks(tale, request)


def eligible(tale: Story, stage: str, node: str, count: int, *, paced: bool = True) -> list[Row]:
    """Return what a stage may take on a node, in the groups that were cut when it reported."""
    return _eligible(tale, stage, node, count, tale.before(node), paced=paced)


def _eligible(tale: Story, stage: str, node: str, count: int, begin: int, *, paced: bool = True) -> list[Row]:
    rows = [a for a in tale.at(count).running_on(node) if tale.may_take(stage, a, count, begin)]
    return [a for a in rows if not (paced and is_spared(tale, a, count))]


def _cuts(tale: Story, said: Said, node: str, count: int) -> set[int]:
    """Return when groups were cut: at the node's report; of a refusal at the last one, or at the end."""
    if said.met.get("stage"):
        return {tale.before(node)}
    return {tale.before([*tale.order][-1]), count}


def is_spared(tale: Story, allocation: Row, count: int) -> str | None:
    """Return why the pace spares an allocation after so many decisions."""
    operation, end = tale.world.operation_of(allocation), allocation.get("planned_end")
    return tale.pace(count).spares(
        operation["name"],
        operation.get("pool"),
        round(float(allocation.get("start_time", 0.0)) * 1e6),
        None if end is None else round(float(end) * 1e6),
    )


def lacking(tale: Story, request: Row, node: str, count: int, victims: list[Row]) -> Amounts:
    """Return what a node lacks for a request once victims are gone."""
    world = tale.world
    need, free = world.amounts(request.get("resources")), tale.at(count).rooms.free(node, request)
    for row in victims:
        for r, amount in (row.get("resources") or {}).items():
            free[r] += amount
    return {r: max(need[r] - free[r], 0.0) for r in need if need[r] or r not in world.wide}


@checks("request", "no_free_room", system=_SYSTEM)
def no_free_room(world: World, said: Said) -> None:
    """Free room is less than is needed, by what is said to be missing."""
    tale, found = story(world), []
    for node, count in places(world, said):
        found.append(without_zeros(lacking(tale, said.row, node, count, [])))
    if not said.met.get("stage") and not without_zeros(said.met.get("missing", {})):
        # Room that came after the stage: repair takes its victims last.
        stages = [no_room_at(tale, said.row, node) for node, _ in places(world, said)]
        must(any(stages), "it fitted all the time", said.row["name"])
        return
    _one_of(said, found, [node for node, _ in places(world, said)])


def no_room_at(tale: Story, request: Row, node: str) -> bool:
    """Return whether a request did not fit at the end of the regular stage of a node."""
    return any(without_zeros(lacking(tale, request, node, count, [])) for count in tale.span(node, "regular"))


@checks("request", "no_room_even_with_victims", system=_SYSTEM)
def no_room_even_with_victims(world: World, said: Said) -> None:
    """Free room and all eligible victims are less than is needed, by what is said to be missing."""
    tale, stage, found = story(world), stage_of(world, said), []
    for node, count in places(world, said):
        for begin in _cuts(tale, said, node, count):
            victims = _eligible(tale, stage, node, count, begin)
            found.append(without_zeros(lacking(tale, said.row, node, count, victims)))
    must(stage in STAGES, "no victims are taken in this stage", stage)
    _one_of(said, found, [node for node, _ in places(world, said)])


def _one_of(said: Said, found: list[Amounts], nodes: list[str]) -> None:
    told = without_zeros(said.met.get("missing", {}))
    if said.met.get("stage") is None:
        tried = len({str(one) for one in nodes})
        must(said.met.get("nodes") in (None, tried), "nodes tried", said.met.get("nodes"), tried)
    close = any(
        told.keys() == own.keys() and all(abs(told[r] - own[r]) < 1e-6 for r in told) for own in found
    )
    must(told and close, f"missing is said to be {told}, and is one of {found}")


@checks("request", "victims_spared", system=_SYSTEM)
def victims_spared(world: World, said: Said) -> None:
    """Whether it would fit if the pace spared no victim, and does not as it is."""
    tale, stage = story(world), stage_of(world, said)
    capped = bool(world.pace.caps)
    told, fits, short = without_zeros(said.met.get("missing", {})), False, []
    for node, count in places(world, said):
        for begin in _cuts(tale, said, node, count):
            every = _eligible(tale, stage, node, count, begin, paced=False)
            fits |= not without_zeros(lacking(tale, said.row, node, count, every))
            some = _eligible(tale, stage, node, count, begin)
            short.append(without_zeros(lacking(tale, said.row, node, count, some)))
    if fits and told in short and (told or capped):
        return
    must(False, "it is not the pace that is in its way", said.row["name"])


@checks("request", "limits_of_operation_or_pool", system=_SYSTEM)
def limits_of_operation_or_pool(world: World, said: Said) -> None:
    """With it, an element above is over its limits by what is said to be missing."""
    tale, told = story(world), without_zeros(said.met.get("missing", {}))
    preemptive = stage_of(world, said) != "regular"
    found: list[Any] = []
    if said.met.get("stage"):
        counts = {count for _, count in places(world, said)}
    else:
        counts = set(range(len(world.decisions) + 1))  # limits may have been repaired since
    for count in sorted(counts):
        worst: Amounts = {}
        for key in tale.chain(world.operation_of(said.row)):
            for r, lacks in over_with(tale, key, said.row, count, preemptive=preemptive).items():
                worst[r] = max(worst.get(r, 0.0), lacks)
        found.append(worst)
    must(told, "nothing is said to be missing")
    must(any(without_zeros(worst) == told for worst in found), "over its limits", told, found[-3:])
    if said.met.get("stage"):
        right = (_limit_is(tale, said, count, preemptive=preemptive) for count in sorted(counts))
        must(any(right), "whose limits", said.compared)


def _limit_is(tale: Story, said: Said, count: int, *, preemptive: bool) -> bool:
    """Return whether the element that is named is the lowest that would be over its limits, as it is said."""
    told = said.compared
    for key in tale.chain(tale.world.operation_of(said.row)):
        over = over_with(tale, key, said.row, count, preemptive=preemptive)
        if not over:
            continue
        used, need = tale.at(count).usage[key], said.row.get("resources") or {}
        most = {r: used[r] + need.get(r, 0) - lacks for r, lacks in over.items()}
        element = "<Root>" if tale.is_root(*key) else key[1]
        return (
            told.get("element") in (element, f"{key[1]} ({key[0]})")
            and all(abs(told["limit"].get(r, -1) - limit) < SLACK for r, limit in most.items())
            and all(abs(told["used"].get(r, -1) - used[r]) < SLACK for r in over)
        )
    return False


def over_with(tale: Story, key: tuple[str, str], request: Row, count: int, *, preemptive: bool) -> Amounts:
    """Return by how much an element would be over its limits with one more of a request."""
    world = tale.world
    row = world.row(f"{key[0]}s", key[1])
    if preemptive and world.settings.enable_infinite_resource_limits_overcommit:
        return {}
    slack = row.get("settings", {}).get("resource_limits_overcommit_tolerance") or {}
    if not preemptive or key[0] != "pool":
        slack = {}
    used, need = tale.at(count).usage[key], request.get("resources") or {}
    found = {
        r: used[r] + need.get(r, 0) - limit - slack.get(r, 0)
        for r, limit in (row.get("limits") or {}).items()
    }
    return {r: lacks for r, lacks in found.items() if lacks > SHARE}


@checks("request", "wrong_tags")
def wrong_tags(world: World, said: Said) -> None:
    """Whether a node lacks a tag that the request requires; without a node: all do that it could run on."""
    wanted = set(said.row.get("node_tags", ()))
    nodes = [said.met["node"]] if said.met.get("node") is not None else list(world.tables["nodes"])
    lacks = [not wanted <= set(world.row("nodes", node).get("tags", ())) for node in nodes]
    must(all(lacks) if said.met.get("node") is not None else any(lacks), "the tags are there", wanted, nodes)


@checks("request", "wrong_node")
def wrong_node(_world: World, said: Said) -> None:
    """Whether the request requires another node."""
    wanted, node = said.row.get("required_node"), said.met.get("node")
    must(wanted is not None and (node is None or not same(wanted, node)), "required node", wanted, node)


@checks("request", "node_not_schedulable")
def node_not_schedulable(world: World, said: Said) -> None:
    """Nothing new may start on the node; without one, on some node where it could run otherwise."""
    node = said.met.get("node")
    rows = list(world.tables["nodes"].values()) if node is None else [world.row("nodes", node)]
    must(any(not row.get("schedulable", True) for row in rows), "the node takes work", node)


@checks("request", "no_heartbeat", system=_SYSTEM)
def no_heartbeat(world: World, said: Said) -> None:
    """No heartbeat of a node where it could run is part of the plan."""
    tale = story(world)
    left_out = [n for n in world.tables["nodes"] if n not in tale.order]
    must(left_out, "every node reported")
    required = said.row.get("required_node")
    must(required is None or str(required) in left_out or not tale.order, "its node reported", required)


@checks("request", "backoff", system=_SYSTEM)
def backoff(world: World, said: Said) -> None:
    """Whether the back-off of the node's last attempt to preempt has not passed; of all where it fits."""
    tale, node = story(world), said.met.get("node")
    last = {str(row["name"]): row.get("last_preemptive") for row in world.state.get("nodes", ())}
    span = world.settings.preemptive_scheduling_backoff
    waits = {n: last.get(n) is not None and world.now <= last[n] + span for n in tale.order}
    if node is not None:
        must(waits.get(str(node)), "the back-off has passed", node, last, world.now)
        told, until = said.compared.get("last_attempt"), said.compared.get("until")
        must(told == last[str(node)] and until == told + span, "since and until", told, until)
    else:
        must(any(waits.values()), "the back-off has passed", last, world.now)
        for where, count in places(world, said):
            left = _eligible(tale, stage_of(world, said), where, count, tale.before([*tale.order][-1]))
            fits = not without_zeros(lacking(tale, said.row, where, count, left))
            must(waits[where] or not fits, "it fits where the back-off has passed", where)
    must(entitled(tale, said.row["operation"], None), "its operation may not preempt", said.row["operation"])


def entitled(tale: Story, operation: object, stage: str | None) -> bool:
    """Return whether an operation may preempt in a stage; in any if none is named."""
    s, right = tale.world.settings, tale.status("operation", operation).priority
    if stage is None:
        return right != "none" or s.default_gpu_full_host_preemption.enable
    if stage.endswith("aggressive"):
        return right == "aggressive"
    both = s.preemptive_stage_targets == "starving_and_aggressively_starving"
    return right == "normal" or (both and right == "aggressive")


@checks("request", "not_starving", system=_SYSTEM)
def not_starving(world: World, said: Said) -> None:
    """Whether the operation may not preempt: neither it nor, where pools lend, a pool above it starves."""
    tale = story(world)
    operation = world.operation_of(said.row)
    own = tale.status("operation", operation["name"])
    must(own.priority == "none" or not entitled(tale, operation["name"], "preemptive"), "it may preempt", own)
    if world.settings.scheduling_preemption_priority_scope == "operation_only":
        must(own.starvation == "non_starving", "it starves", own)


@checks("request", "not_aggressively_starving", system=_SYSTEM)
def not_aggressively_starving(world: World, said: Said) -> None:
    """Whether the operation may not preempt aggressively; and the sentence says what it may."""
    own = story(world).status("operation", said.row["operation"])
    must(own.priority != "aggressive", "it may preempt aggressively", own)


@checks("request", "graceful_while_normal", system=_SYSTEM)
def graceful_while_normal(world: World, said: Said) -> None:
    """Whether the operation is preempted gracefully and not below its fair share."""
    mode = world.operation_of(said.row).get("settings", {}).get("preemption_mode", "normal")
    status = story(world).status("operation", said.row["operation"]).status
    must(mode == "graceful" and status == "normal", "mode and status", mode, status)


@checks("request", "unschedulable", system=_SYSTEM)
def unschedulable(world: World, said: Said) -> None:
    """Whether the operation has a reason not to be scheduled, or wants nothing more."""
    operation = world.operation_of(said.row)
    given = operation.get("settings", {}).get("unschedulable_reason") is not None
    rest = any(row.get("count", 1) for row in world.requests_of(operation["name"]))
    demand, usage = operation.get("demand"), operation.get("usage")
    wants = rest if demand is None else any(demand.get(r, 0) > (usage or {}).get(r, 0) for r in demand)
    must(given or not wants or not rest, "it can be scheduled", said.row["operation"])
    told = said.compared.get("unschedulable_reason")
    found = operation.get("settings", {}).get("unschedulable_reason")
    must(not said.met.get("stage") or told == found, "the given reason", told, found)


@checks("request", "count_exhausted")
def count_exhausted(world: World, said: Said) -> None:
    """As many started as it asks for."""
    started = world.decided("start", request=said.row["name"])
    must(len(started) >= said.row.get("count", 1), "starts", len(started), said.row.get("count", 1))


@checks("request", "started")
def started(world: World, said: Said) -> None:
    """Whether it starts on the node that is named."""
    node, made = said.met.get("node"), world.decided("start", request=said.row["name"])
    must(any(node is None or same(d["node"], node) for d in made), "no such start", said.row["name"], node)


@checks("request", "stage_taken", system=_SYSTEM)
def stage_taken(world: World, said: Said) -> None:
    """Whether a preemptive stage on the node has started another allocation."""
    node, stage = said.met.get("node"), said.met.get("stage")
    made = [d for d in world.decided("start") if d["stage"] in STAGES]
    must(any(node is None or same(d["node"], node) for d in made), "nothing started there", node, stage)
    told = said.compared.get("started")
    must(stage is None or any(same(d["request"], told) for d in made), "what started", told)


@checks("request", "ssd_only", system=_SYSTEM)
def ssd_only(world: World, said: Said) -> None:
    """Whether the node has fast disks, and a pool above keeps it for work that needs them."""
    tale, node = story(world), said.met.get("node")
    nodes = list(world.tables["nodes"]) if node is None else [str(node)]
    must(any(needs_other_disks(tale, said.row, one) for one in nodes), "it may start there", nodes)


@checks("request", "within_fair_share_only", system=_SYSTEM)
def within_fair_share_only(world: World, said: Said) -> None:
    """With it, the operation would use more than its fair share."""
    tale, operation = story(world), str(said.row["operation"])
    fair = tale.shares("fair_share", "operation", operation)
    for _, count in places(world, said):
        used = dict(tale.at(count).usage["operation", operation])
        for r, amount in (said.row.get("resources") or {}).items():
            used[r] += amount
        share = tale.part(used)
        if any(share[r] > fair[r] + SHARE for r in fair):
            return
    must(False, "it stays within its fair share", said.row["name"])


@checks("request", "penalty_too_high", system=_SYSTEM)
def penalty_too_high(world: World, said: Said) -> None:
    """Whether a node would have to be cleared of protected work: too much of it, or of an entire node's."""
    tale = story(world)
    must(world.settings.default_gpu_full_host_preemption.enable, "the stage is switched off")
    for node, count in places(world, said):
        rows = eligible(tale, "full_host", node, count)
        if any(tale.level(row, tale.before(node)).endswith("non_preemptible") for row in rows):
            return
    must(False, "nothing protected runs there", said.row["name"])
