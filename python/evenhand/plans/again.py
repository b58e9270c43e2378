"""The plan that would be made now, and which steps of an earlier one it has too."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand.building.problems import kind_of, shorten
from evenhand.errors import InputError, Problem
from evenhand.plans.columns import Name, element_keys, rows_by_name
from evenhand.plans.steps import rows_by_step
from evenhand.reasons import ACTIONS, MODES, OUTCOMES
from evenhand.state import State

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from evenhand.config.triggers import Heartbeat
    from evenhand.model import Snapshot
    from evenhand.plans.decisions import Decisions
    from evenhand.plans.plan import Plan

__all__ = ["Again", "Essence", "essences", "nodes_with_victims", "victims_taken"]

_PREEMPT, _RESERVE = ACTIONS.index("preempt"), ACTIONS.index("reserve")


class Essence(NamedTuple):
    """What makes two steps of two plans the same, by names."""

    operation: str | None
    request: str | None
    victims: frozenset[tuple[str, str]]
    places: tuple[tuple[str, str, str], ...]


def essences(snapshot: Snapshot, decisions: Decisions) -> dict[int, Essence]:
    """Return the essence of every step, by its number; O(decisions)."""
    names = {t: [*map(str, snapshot.names(t))] for t in ("allocations", "operations", "requests", "nodes")}

    def named(table: str, row: int) -> str:
        return "" if row < 0 else names[table][row]

    c = {
        name: decisions.column(name).tolist() for name in ("action", "mode", "allocation", "request", "node")
    }
    operations = decisions.column("beneficiary_operation").tolist()
    requests = decisions.column("beneficiary_request").tolist()
    result = {}
    for step, rows in rows_by_step(decisions).items():
        beneficiary = next((row for row in rows if operations[row] >= 0), None)
        places = []
        for row in rows:
            if c["action"][row] not in (_PREEMPT, _RESERVE):
                request, allocation = c["request"][row], c["allocation"][row]
                name = named("requests", request) if request >= 0 else named("allocations", allocation)
                places.append((ACTIONS[c["action"][row]], name, named("nodes", c["node"][row])))
        result[step] = Essence(
            None if beneficiary is None else named("operations", operations[beneficiary]),
            None if beneficiary is None else named("requests", requests[beneficiary]),
            frozenset(
                (named("allocations", c["allocation"][row]), MODES[c["mode"][row]])
                for row in rows
                if c["action"][row] == _PREEMPT
            ),
            tuple(sorted(places)),
        )
    return result


class Again:
    """What is planned on a fresh snapshot from where an earlier plan began."""

    def __init__(self, plan: Plan, fresh: Snapshot, done: Collection[int] = ()) -> None:
        from evenhand.plans.planning import plan as make

        _must_fit(plan.snapshot, fresh)
        self.fresh, self._old = fresh, plan.snapshot
        self.before = essences(plan.snapshot, plan.decisions)
        self.plan: Plan | None = None
        there = set(map(str, fresh.names("nodes")))
        on = _still(plan.on, there) if isinstance(plan.on, tuple) else plan.on
        node = getattr(on, "node", None)
        if on != () and (node is None or str(node) in there):
            state = _state(plan, self.before, {step for step in done if step in self.before})
            given = _given(plan.given, plan.snapshot, fresh)
            self.plan = make(fresh, plan.policy, state, on=on, given=given)
        self.now = {} if self.plan is None else essences(fresh, self.plan.decisions)

    def counted(self) -> Callable[[int], bool]:
        """Return whether the fresh plan has a step too, as a function: each of its own answers for one."""
        left = Counter(self.now.values())

        def takes(step: int) -> bool:
            essence = self.before[step]
            left[essence] -= 1
            return left[essence] >= 0

        return takes

    def serving(self, step: Essence) -> list[Essence]:
        """Return the fresh plan's steps that do something for the same one, and that the earlier plan lacks.

        For a beneficiary, those that serve it; of a repair, repairs that take some of its victims; of
        something that resumes, those of the same name.
        """
        if step.operation is None and step.victims:
            names = {name for name, _ in step.victims}
            return [s for s in self._of[None] if not names.isdisjoint(name for name, _ in s.victims)]
        named = {place[1] for place in step.places}
        return [
            other
            for other in self._of[step.operation]
            if step.operation is not None or not named.isdisjoint(place[1] for place in other.places)
        ]

    @cached_property
    def _of(self) -> Mapping[str | None, list[Essence]]:
        found: dict[str | None, list[Essence]] = defaultdict(list)
        known = set(self.before.values())
        for step in self.now.values():
            if step not in known:
                found[step.operation].append(step)
        return found

    @cached_property
    def names(self) -> list[Name]:
        """Names of the earlier snapshot's allocations."""
        return self._old.names("allocations")

    @cached_property
    def victims(self) -> frozenset[str]:
        """Names of all allocations that would leave by the fresh plan."""
        return frozenset(name for step in self.now.values() for name, _ in step.victims)

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        return rows_by_name(self.fresh, "allocations")

    def row(self, allocation: str) -> int:
        """Return the fresh row of an allocation that is there."""
        return self._rows[allocation]

    @cached_property
    def rules(self) -> Mapping[str, str]:
        """Why requests wait by the fresh plan: name to the code of its refusal."""
        if self.plan is None:
            return {}
        names, refusals = self.fresh.names("requests"), self.plan.refusals
        rows = zip(refusals.column("request").tolist(), refusals.column("rule").tolist(), strict=True)
        return {str(names[row]): OUTCOMES[rule] for row, rule in rows}


def _still(heartbeats: tuple[Heartbeat, ...], there: set[str]) -> tuple[Heartbeat, ...]:
    """Return the heartbeats of nodes that are still there."""
    return tuple(one for one in heartbeats if str(one.node) in there)


def _must_fit(old: Snapshot, fresh: Any) -> None:
    from evenhand.model import Snapshot

    if not isinstance(fresh, Snapshot):
        message = f"fresh_snapshot is {kind_of(fresh)}; it must be a Snapshot of what the plan was made of"
        raise InputError([Problem("check", None, None, "fresh_snapshot", "type", shorten(fresh), message)])
    if fresh.resources != old.resources or fresh.quantum != old.quantum:
        message = "the fresh snapshot has other resources than the plan's"
        raise InputError.about("check", "fresh_snapshot", "another", message)


def _state(plan: Plan, steps: Mapping[int, Essence], done: set[int]) -> State | None:
    """Return the state that a plan started from, with what its carried-out steps left in it.

    That is for which jobs others were preempted, and on which nodes. A node on which another step still has
    victims is in the middle of its heartbeat, and in no back-off yet.
    """
    before = plan.state_before
    taking = {step for step in done if steps[step].victims}
    if not taking:
        return before
    after = plan.state
    if before is None:
        before = State(after.time, after.pools, after.settings, after.policy)
    served = {steps[step].operation for step in taking}
    nodes_of = nodes_with_victims(plan)
    later = [number for number, step in steps.items() if number not in done and step.operation]
    open_ = {node for number in later for node in nodes_of[number]}
    tried = {n for step in taking for n in nodes_of[step]} - open_
    operations = {name: kept for name, kept in after.operations.items() if str(name) in served}
    nodes = dict(before.nodes)
    for name, kept in after.nodes.items():
        if str(name) in tried:
            rest = nodes.get(name, {"overcommitted_since": None})
            nodes[name] = {**rest, "last_preemptive": kept["last_preemptive"]}
    victims = dict(before.victims)
    for key, instants in victims_taken(plan, taking).items():
        if key in after.victims:  # else nothing asks when it was
            earlier = victims[key]["taken"] if key[0] == "pool" and key in victims else ()
            victims[key] = {"taken": instants[-1:] if key[0] == "operation" else [*earlier, *instants]}
    return replace(before, nodes=nodes, operations={**before.operations, **operations}, victims=victims)


def victims_taken(plan: Plan, steps: Collection[int]) -> dict[tuple[str, Name], list[float]]:
    """Return when steps took victims of operations and of the pools above these."""
    column, snapshot = plan.decisions.column, plan.snapshot
    found: dict[tuple[str, Name], list[float]] = defaultdict(list)
    if not plan.state.victims:  # the policy does not ask when
        return found
    operations, pools = snapshot.names("operations"), snapshot.names("pools")
    parent = snapshot._core.column("pools", "parent").tolist()
    pool_of = snapshot._core.column("operations", "pool").tolist()
    # Where operations are preempted as a whole, all that one has is one victim.
    whole = plan.policy.RECORD.preempts_operations
    seen = set()
    for row, step in enumerate(column("step").tolist()):
        operation = int(column("operation")[row])
        victim = (step, operation if whole else int(column("allocation")[row]))
        if step not in steps or column("action")[row] != _PREEMPT or victim in seen:
            continue
        seen.add(victim)
        found["operation", operations[operation]].append(snapshot.now)
        pool = pool_of[operation]
        while pool >= 0:
            found["pool", pools[pool]].append(snapshot.now)
            pool = parent[pool]
    return found


def nodes_with_victims(plan: Plan) -> dict[int, set[str]]:
    """Return the nodes on which each step has victims."""
    names = plan.snapshot.names("nodes")
    found: dict[int, set[str]] = {}
    column = plan.decisions.column
    for row, step in enumerate(column("step").tolist()):
        nodes = found.setdefault(step, set())
        if column("action")[row] == _PREEMPT and column("node")[row] >= 0:
            nodes.add(str(names[column("node")[row]]))
    return found


def _given(given: Mapping[str, Any] | None, old: Snapshot, fresh: Snapshot) -> Mapping[str, Any] | None:
    """Return given values without those of names that have left."""
    if not given:
        return given
    left = {
        field: set(of(old)) - set(of(fresh))
        for field, of in (
            ("fair_share", element_keys),
            ("starvation", element_keys),
            ("groups", lambda snapshot: [*map(str, snapshot.names("allocations"))]),
            ("cost", lambda snapshot: [*map(str, snapshot.names("allocations"))]),
        )
    }
    there = {table: {*map(str, fresh.names(table))} for table in ("requests", "nodes")}
    return {
        field: [
            {table: [name for name in of[table] if str(name) in there[table]] for table in there}
            for of in values
        ]
        if field == "nodes"
        else values
        if field not in left or not hasattr(values, "items")
        else {name: value for name, value in values.items() if str(name) not in left[field]}
        for field, values in given.items()
    }
