"""How a cluster stands after each decision of a plan of the YTsaurus policy: room, usage, groups."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tests.reference.explanations.world import ROOT, Amounts, World, same
from tests.reference.explanations.ytsaurus.rooms import Rooms
from tests.reference.pace import Pace

if TYPE_CHECKING:
    from evenhand.plans.statuses import Status
    from tests.reference.explanations.world import Row

__all__ = ["GROUPS", "SHARE", "STAGES", "Moment", "Story", "story"]

GROUPS = ("non_preemptible", "aggressively_preemptible", "preemptible")

#: Shares that differ by no more are equal.
SHARE = 1e-9

#: Stages that take victims for a request.
STAGES = ("preemptive", "aggressive", "ssd_preemptive", "ssd_aggressive", "full_host")
_LEVELS = (
    "ssd_non_preemptible",
    "ssd_aggressively_preemptible",
    "non_preemptible",
    "aggressively_preemptible",
    "preemptible",
)
_LOWEST = {
    "preemptive": "preemptible",
    "aggressive": "aggressively_preemptible",
    "ssd_preemptive": "non_preemptible",
    "ssd_aggressive": "ssd_aggressively_preemptible",
    "full_host": "ssd_non_preemptible",
}


class Moment:
    """A cluster after some decisions.

    Parameters
    ----------
    world : World

    Attributes
    ----------
    usage : dict
        Amounts by kind ("pool", "operation") and name.
    gone : set of str
        Allocations that were asked to leave.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.rooms = Rooms(world)
        self.gone: set[str] = set()
        self.left = {name: int(row.get("count", 1)) for name, row in world.tables["requests"].items()}
        self.usage = {
            (kind, name): world.amounts({})
            for kind, table in (("pool", "pools"), ("operation", "operations"))
            for name in world.tables[table]
        }
        for name, row in world.tables["operations"].items():
            used = row.get("usage")
            if used is not None:
                self._use(name, used, 1)
                continue
            for allocation in world.allocations_of(name):
                state = World.state_of(allocation)
                has = "held" if state == "preempted" else "resources"
                if state != "preempting":
                    self._use(name, allocation.get(has) or {}, 1)

    def copied(self) -> Moment:
        """Return a moment that goes its own way."""
        made = copy(self)
        made.rooms = copy(self.rooms)
        made.rooms.unused = deepcopy(self.rooms.unused)
        made.rooms.leaving = deepcopy(self.rooms.leaving)
        made.gone, made.left = set(self.gone), dict(self.left)
        made.usage = {key: dict(used) for key, used in self.usage.items()}
        return made

    def carry_out(self, decision: Row) -> None:
        """Carry out one decision."""
        self.rooms.carry_out(decision)
        if decision["action"] == "preempt":
            self.gone.add(str(decision["allocation"]))
            self._use(decision["operation"], decision["freed"], -1)
        elif decision["action"] == "start":
            request = self.world.row("requests", decision["request"])
            self.left[str(decision["request"])] -= 1
            self._use(decision["operation"], request.get("resources") or {}, 1)

    def _use(self, operation: object, amounts: Mapping[str, float], sign: int) -> None:
        row = self.world.row("operations", operation)
        keys = [("operation", str(operation)), *(("pool", pool) for pool in self.world.pools_of(row))]
        for key in keys:
            for r, amount in amounts.items():
                self.usage[key][r] += sign * amount

    def running_on(self, node: object) -> list[Row]:
        """Return what runs on a node."""
        return [
            a for a in self.world.tables["allocations"].values() if same(a.get("node"), node) and self.runs(a)
        ]

    def runs(self, allocation: Row) -> bool:
        """Return whether an allocation runs still."""
        return World.state_of(allocation) == "running" and str(allocation["name"]) not in self.gone


class Story:
    """A plan's moments in order, and what the policy's rules make of each.

    Parameters
    ----------
    world : World

    Notes
    -----
    A moment is made when it is first asked for: O(rows + decisions).
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._moments: dict[int, Moment] = {0: Moment(world)}
        self._groups: dict[tuple[int, str], dict[str, str]] = {}
        self._paces: dict[int, Pace] = {}

    def at(self, count: int) -> Moment:
        """Return how things stand after so many decisions."""
        if count not in self._moments:
            nearest = max(known for known in self._moments if known < count)
            moment = self._moments[nearest].copied()
            for decision in self.world.decisions[nearest:count]:
                moment.carry_out(decision)
            self._moments[count] = moment
        return self._moments[count]

    def pace(self, count: int) -> Pace:
        """Return the pace of preemption after so many decisions: their victims count."""
        if count not in self._paces:
            found = self._paces[count] = Pace(self.world.settings.pace, self.world.data, self.world.state)
            for decision in self.world.decisions[:count]:
                if decision["action"] == "preempt":
                    operation = self.world.operation_of(decision)
                    found.took(operation["name"], operation.get("pool"))
        return self._paces[count]

    @cached_property
    def order(self) -> dict[str, int]:
        """Nodes whose heartbeats are part of the plan, in their order."""
        on = self.world.plan.on
        given = on if isinstance(on, tuple) else () if on is None else (on,)
        names = [one.node for one in given if hasattr(one, "node")]
        return {
            str(name): place for place, name in enumerate(names or self.world.plan.snapshot.names("nodes"))
        }

    def rank(self, stage: str) -> int:
        """Return the place of a stage in a heartbeat."""
        settings = self.world.settings
        plain = ["preemptive", "aggressive"]
        if settings.stage_order == "regular_aggressive_preemptive":
            plain.reverse()
        order = ["graceful", "regular", *(f"ssd_{one}" for one in plain), *plain, "full_host"]
        return [*order, "limit_repair", "overcommit"].index(stage)

    def before(self, node: object) -> int:
        """Return how many decisions come before a node's heartbeat."""
        place = self.order[str(node)]
        return sum(self.order[str(d["node"])] < place for d in self.world.decisions)

    def span(self, node: object, stage: str) -> range:
        """Return the counts of decisions from the beginning of a stage to its end, with its repair."""
        rank = self.rank(stage)
        begin = end = first = self.before(node)
        before = "regular"
        for number, decision in enumerate(self.world.decisions[first:], first + 1):
            if not same(decision["node"], node):
                break
            its = str(decision["stage"])
            if its == "limit_repair" and self.world.settings.limit_repair == "stage":
                # A stage repairs limits after its start; without one the preemptive stage does.
                its = "preemptive" if before in ("graceful", "regular") else before
            if self.rank(its) < rank:
                begin = number
            if self.rank(its) <= rank:
                end = number
            before = its
        return range(begin, end + 1)

    def status(self, kind: str, name: object) -> Status:
        """Return the status of an element."""
        statuses = self.world.plan.statuses
        row = self.element(kind, name)
        return statuses.at(row)

    def element(self, kind: str, name: object) -> int:
        """Return the row of an element among pools and operations."""
        names = [str(one) for one in self.world.plan.snapshot.names(f"{kind}s")]
        first = 0 if kind == "pool" else self.world.plan.snapshot.pool_count
        return first + names.index(str(name))

    def shares(self, quantity: str, kind: str, name: object) -> Amounts:
        """Return one quantity of an element's fair shares."""
        values = self.world.plan.shares[quantity][self.element(kind, name)]
        found = {r: float(v) for r, v in zip(self.world.resources, values, strict=True)}
        given = (self.world.plan.given or {}).get("fair_share", {}).get(str(name))
        if quantity == "fair_share" and given is not None:
            return {r: float(given.get(r, 0.0)) for r in found}
        return found

    def part(self, amounts: Mapping[str, float]) -> Amounts:
        """Return amounts as parts of the cluster."""
        total = self.world.total
        return {r: a / total[r] if total.get(r) else 0.0 for r, a in amounts.items()}

    def age(self, allocation: Row) -> tuple[float, int]:
        """Return the key by which allocations stand from the oldest to the newest."""
        started = float(allocation.get("last_job_start_time", allocation.get("start_time", 0.0)))
        saved = allocation.get("last_progress_time")
        if self.world.settings.order_key == "last_progress" and saved is not None:
            started = max(started, float(saved))
        return started, list(self.world.tables["allocations"]).index(str(allocation["name"]))

    def groups(self, count: int, operation: object) -> dict[str, str]:
        """Return the group of each running allocation of an operation after so many decisions."""
        key = (count, str(operation))
        if key not in self._groups:
            self._groups[key] = self._cut(self.at(count), str(operation))
        return self._groups[key]

    def _cut(self, moment: Moment, operation: str) -> dict[str, str]:
        s = self.world.settings
        fair = self.shares("fair_share", "operation", operation)
        demand = self.shares("demand_share", "operation", operation)
        threshold = self.status("operation", operation).usage_threshold
        running = sorted(filter(moment.runs, self.world.allocations_of(operation)), key=self.age)
        given = (self.world.plan.given or {}).get("groups", {})
        used_now = moment.usage["operation", operation]

        def safe_by(used: Mapping[str, float]) -> bool:
            return bool(threshold) and all(used[r] < limit - SHARE for r, limit in threshold.items())

        first = second = 0
        if s.usage_threshold_scope == "operation" and safe_by(used_now):
            first = second = len(running)
        else:
            by_prefix = s.usage_threshold_scope == "prefix"

            def prefix(factor: float) -> int:
                bound = {r: f * factor for r, f in fair.items()}
                used = self.world.amounts({})
                for place, row in enumerate(running):
                    after = {r: used[r] + (row.get("resources") or {}).get(r, 0) for r in used}
                    on_bound = s.consider_allocation_on_fair_share_bound_preemptible
                    looked_at = after if on_bound else used
                    share = self.part(looked_at)
                    inside = (by_prefix and safe_by(looked_at)) or clearly_above(bound, share, fair, demand)
                    inside = inside or (on_bound and all(abs(share[r] - bound[r]) <= SHARE for r in bound))
                    if not inside:
                        return place
                    used = after
                return len(running)

            first = prefix(s.aggressive_preemption_satisfaction_threshold)
            covered = all(abs(fair[r] - demand[r]) <= SHARE for r in fair)
            if covered and any(d > SHARE for d in demand.values()):
                second = len(running)
            else:
                second = max(first, prefix(s.preemption_satisfaction_threshold))
        return {
            str(row["name"]): given.get(str(row["name"]), GROUPS[(place >= first) + (place >= second)])
            for place, row in enumerate(running)
        }

    def may_take(self, stage: str, allocation: Row, count: int, begin: int) -> bool:
        """Return whether a stage may take an allocation, by its group and by what protects it.

        `count` is of the moment, `begin` of that at which its node reported: then groups were cut.
        """
        world, s = self.world, self.world.settings
        operation = world.operation_of(allocation)
        if not self.at(count).runs(allocation) or not allocation.get("preemptible", True):
            return False
        if operation.get("settings", {}).get("preemption_mode", "normal") == "graceful":
            return False
        if not self.exposed(stage, operation["name"]):
            return False
        if s.allow_preemption_from_starving_operations is False and self.starves(operation["name"]):
            return False
        return self.stage_takes(stage, self.level(allocation, begin))

    @staticmethod
    def stage_takes(stage: str, level: str) -> bool:
        """Return whether a stage may take what is of a level."""
        return _LEVELS.index(level) >= _LEVELS.index(_LOWEST[stage])

    def starves(self, operation: object) -> bool:
        """Return whether an operation starves itself."""
        return self.status("operation", operation).starvation != "non_starving"

    def exposed(self, stage: str, operation: object) -> bool:
        """Return whether pools let normal preemption take what an operation runs."""
        pools = self.world.pools_of(self.world.row("operations", operation))
        rows = [self.world.row("pools", pool).get("settings", {}) for pool in pools]
        return stage != "preemptive" or all(row.get("allow_normal_preemption", True) for row in rows)

    def level(self, allocation: Row, begin: int, *, aggressive: bool | None = None) -> str:
        """Return what decides which stages may take an allocation."""
        operation = allocation["operation"]
        group = self.groups(begin, operation)[str(allocation["name"])]
        if aggressive is None:
            aggressive = self.status("operation", operation).aggressive_preemption
        if group == "aggressively_preemptible" and not aggressive:
            group = "non_preemptible"
        medium = allocation.get("settings", {}).get("disk_medium")
        fast = self.is_fast(allocation.get("node")) and medium in (
            self.world.settings.ssd_priority_preemption.medium_names
        )
        return f"ssd_{group}" if fast and group != "preemptible" else group

    def is_fast(self, node: object) -> bool:
        """Return whether a node counts as one with fast disks."""
        from evenhand.systems.ytsaurus.tag_filter import TagFilter

        ssd = self.world.settings.ssd_priority_preemption
        tags = set(self.world.row("nodes", node).get("tags", ())) if node is not None else set()
        return bool(ssd.enable and TagFilter(ssd.node_tag_filter).accepts(tags))

    def over_limits(self, kind: str, name: str, moment: Moment) -> Amounts:
        """Return by how much an element uses more than its limits."""
        table = self.world.tables[f"{kind}s"]
        limits = table[name].get("limits") or {}
        used = moment.usage[kind, name]
        return {r: used[r] - limit for r, limit in limits.items() if used[r] - limit > SHARE}

    def chain(self, operation: Row) -> list[tuple[str, str]]:
        """Return an operation and the pools above it, with their kinds."""
        return [("operation", str(operation["name"])), *(("pool", p) for p in self.world.pools_of(operation))]

    @staticmethod
    def is_root(kind: str, name: str) -> bool:
        """Return whether an element is the root."""
        return kind == "pool" and name == ROOT


def story(world: World) -> Story:
    """Return the story of a plan, made once."""
    found: Any = world.__dict__.get("_story")
    if found is None:
        found = world.__dict__["_story"] = Story(world)
    return found


def clearly_above(
    left: Mapping[str, float],
    right: Mapping[str, float],
    fair: Mapping[str, float],
    demand: Mapping[str, float],
) -> bool:
    """Return whether `left` exceeds `right` in all resources that lack something; if none does, in any."""
    above = {r: left[r] > right[r] + SHARE for r in left}
    matters = [r for r in left if fair[r] < demand[r] - SHARE]
    return all(above[r] for r in matters) if matters else any(above.values())
