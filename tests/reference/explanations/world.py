"""What explanations are held against: rows of the snapshot, decisions and states, read without them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.plans.plan import Plan
    from tests.reference.pace import Pace

__all__ = ["CLOSE", "ROOT", "Amounts", "World", "without_zeros"]

Row = Mapping[str, Any]
Amounts = dict[str, float]

ROOT = "<Root>"

#: Amounts that differ by less, in units, are the same.
CLOSE = 1e-6


class World:
    """Facts of a plan.

    Parameters
    ----------
    plan : Plan
        Its explanations are not looked at.

    Attributes
    ----------
    data : dict
        The snapshot in the file format.
    decisions, refusals : list of dict
        As in the plan's JSON.
    resources : list of str
    wide : frozenset of str
        Resources that are counted in the cluster as a whole.
    now : float
        Seconds.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.policy = plan.policy
        self.settings = plan.policy.settings
        self.system: str = plan.policy.system
        self.data = plan.snapshot.to_dict()
        self.now = float(self.data.get("now", 0.0))
        self.resources = list(plan.snapshot.resources)
        spaces = self.data["resources"]
        self.wide = frozenset(r for r in self.resources if (spaces.get(r) or {}).get("scope") == "cluster")
        self.tables = {
            table: {str(row["name"]): row for row in self.data.get(table, ())}
            for table in ("nodes", "pools", "operations", "allocations", "requests")
        }
        self.tables["pools"] = {ROOT: {"name": ROOT, **self.data.get("root", {})}, **self.tables["pools"]}
        self.decisions = plan.decisions.to_list()
        self.refusals = {str(r["request"]): r for r in plan.refusals.to_list() if "command" not in r}

    def row(self, table: str, name: object) -> Row:
        """Return a row by its name."""
        return self.tables[table][str(name)]

    @cached_property
    def total(self) -> Amounts:
        """What the cluster has."""
        return dict(self.plan.snapshot.total)

    @cached_property
    def state(self) -> Row:
        """What the plan started from, as JSON; empty without one."""
        before = self.plan.state_before
        return {} if before is None else before.to_dict()

    @cached_property
    def pace(self) -> Pace:
        """The pace of preemption as the plan found it."""
        from tests.reference.pace import Pace

        return Pace(self.settings.pace, self.data, self.state)

    def operation_of(self, row: Row) -> Row:
        """Return the operation of an allocation or a request."""
        return self.row("operations", row["operation"])

    def allocations_of(self, operation: object) -> list[Row]:
        """Return the allocations of an operation."""
        return [a for a in self.tables["allocations"].values() if str(a["operation"]) == str(operation)]

    def requests_of(self, operation: object) -> list[Row]:
        """Return the requests of an operation."""
        return [r for r in self.tables["requests"].values() if str(r["operation"]) == str(operation)]

    def pools_of(self, operation: Row) -> list[str]:
        """Return the names of the pools above an operation, from below, with the root."""
        found, pool = [], operation.get("pool")
        while pool is not None:
            found.append(str(pool))
            pool = self.row("pools", pool).get("parent")
        return [*found, ROOT]

    def amounts(self, given: Mapping[str, float] | None) -> Amounts:
        """Return amounts of all resources."""
        return {r: float((given or {}).get(r, 0)) for r in self.resources}

    def decided(self, *actions: str, **fields: object) -> list[Row]:
        """Return decisions with one of these actions whose fields have these values (as text)."""
        return [
            d
            for d in self.decisions
            if d["action"] in actions and all(same(d[name], value) for name, value in fields.items())
        ]

    def victims_of(self, step: int) -> list[Row]:
        """Return the victims of a step."""
        return [d for d in self.decisions if d["action"] == "preempt" and d["step"] == step]

    def below(self, pool: str) -> Iterator[Row]:
        """Yield the operations in a pool and in those below it."""
        for operation in self.tables["operations"].values():
            if pool in self.pools_of(operation):
                yield operation

    @staticmethod
    def state_of(allocation: Row) -> str:
        """Return the state of an allocation."""
        return str(allocation.get("state", "running"))


def same(left: object, right: object) -> bool:
    """Return whether two names are the same: an integer is also named by its decimal text."""
    return left is right or (left is not None and right is not None and str(left) == str(right))


def without_zeros(amounts: Mapping[str, float]) -> Amounts:
    """Return amounts that are not zero."""
    return {r: float(a) for r, a in amounts.items() if abs(a) > CLOSE}
