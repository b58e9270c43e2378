"""What is planned twice, and what is looked at of a plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenhand.config.triggers import Commands, Heartbeat
from evenhand.model import Snapshot
from evenhand.plans.planning import plan

if TYPE_CHECKING:
    from evenhand.plans.plan import Plan
    from evenhand.systems.base import Policy

__all__ = ["Back", "Case", "Data", "built", "essence"]

Data = dict[str, Any]

#: Decided alike but for rounding: shares of an equal cluster whose rows are added up in another order.
_NOISE = 1e-9
_INSTANT = 2e-6  # two instants of a large number of seconds, each to the microsecond
#: Words of explanations and results that hold a user's text as a whole or beside others.
_TEXTS = frozenset({"message", "why"})


def built(data: Mapping[str, Any]) -> Snapshot:
    """Build a snapshot from the file format."""
    return Snapshot.from_dict(dict(data))


@dataclass(frozen=True)
class Case:
    """A snapshot and all else that a plan is made of.

    Attributes
    ----------
    data : dict
        In the file format.
    policy : policy
    on : Trigger, optional
        What is planned on; None: the policy's own.
    waiting : float, optional
        As of ``as_if_waiting`` of `evenhand.plan`.
    step : float
        Seconds from the plan to the next one, which is made after it has been carried out.
    build : callable
        Makes the snapshot of the data.
    """

    data: Data
    policy: Policy
    on: Any = None
    waiting: float | None = None
    step: float = 30.0
    build: Callable[[Data], Snapshot] = built

    def plan(self) -> Plan:
        """Return the plan.

        Raises
        ------
        InputError
            If the snapshot is invalid, or its settings are.
        """
        return plan(self.build(self.data), self.policy, on=self.on, as_if_waiting=self.waiting)

    def plans(self) -> list[Plan]:
        """Return the plan, and the one some time after it, with what the first leaves in its state."""
        first = self.plan()
        after = first.snapshot.after(first)
        later = after.replace(now=after.now + self.step)
        on = None if isinstance(self.on, Commands) else self.on
        return [first, plan(later, self.policy, first.state, on=on)]

    def named(self, names: Mapping[str, Mapping[str, str]]) -> Case:
        """Return it with what it is planned on under new names: table to old name to new one."""
        on = self.on
        if isinstance(on, Heartbeat):
            on = Heartbeat(names["nodes"][str(on.node)])
        elif isinstance(on, Commands):
            of = names["operations"]
            on = Commands(
                tuple(
                    replace(
                        row,
                        consumer=of.get(str(row.consumer), row.consumer),
                        providers=tuple(of.get(str(name), name) for name in row.providers),
                    )
                    for row in on.rows
                )
            )
        return replace(self, on=on)


def essence(one: Plan) -> Data:
    """Return all that a plan says but for its texts, and for what it was made of."""
    said = one.to_dict()
    kept: Data = {key: said[key] for key in ("decisions", "refusals", "statuses", "groups") if key in said}
    kept["diagnostics"] = [
        {"code": row["code"], "elements": row["elements"], "numbers": _without_guess(row["numbers"])}
        for row in said.get("diagnostics", ())
        if row["code"] != "fields_not_read"  # what is given, not what is decided
    ]
    kept["refusals"] = [
        {key: value for key, value in row.items() if key not in _TEXTS} for row in said.get("refusals", ())
    ]
    kept["state"] = _remembered(said.get("state") or {})
    kept["next_due"] = one.next_due
    if one._system.shares:
        kept["shares"] = one.shares.to_dict()["elements"]
    return kept


def _without_guess(numbers: Data) -> Data:
    """Return numbers without the one that depends on the epoch: whether instants may be milliseconds."""
    return {name: value for name, value in numbers.items() if name != "if_milliseconds"}


def _remembered(state: Mapping[str, Any]) -> Data:
    """Return the tables of a state by name: what the next plan starts from."""
    return {
        table: {
            f"{row['name']} (operation)" if row.get("kind") == "operation" else str(row["name"]): {
                key: value for key, value in row.items() if key not in ("name", "kind")
            }
            for row in rows
        }
        for table, rows in state.items()
        if table in _TABLES
    }


_TABLES = ("pools", "elements", "victims", "nodes", "operations", "requests", "queues")


@dataclass(frozen=True)
class Back:
    """How results of a changed case map back to those of the case.

    Attributes
    ----------
    names : mapping
        New name to old one, of rows and of resources.
    later : float
        Seconds by which instants are later; spans are what they were.
    times : float
        By what amounts are multiplied; numbers that are no amounts are what they were.
    without : frozenset of str
        Names of rows that only the changed case has.
    texts : bool
        Whether texts are compared, too, each name in them mapped back.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    later: float = 0.0
    times: float = 1.0
    without: frozenset[str] = frozenset()
    texts: bool = False

    def differences(self, before: Any, after: Any, where: str = "") -> list[str]:
        """Return where two results differ, by the path to it; the first of each list only."""
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            return self._mappings(before, after, where)
        if isinstance(before, list | tuple) and isinstance(after, list | tuple):
            after = [one for one in after if not self._added(one)]
            if len(before) != len(after):
                return [f"{where}: {len(before)} before, {len(after)} after: {before!r} | {after!r}"[:2000]]
            for i, (one, other) in enumerate(zip(before, after, strict=True)):
                if found := self.differences(one, other, f"{where}[{i}]"):
                    return found
            return []
        if self._same(before, after):
            return []
        return [f"{where}: {before!r} before, {after!r} after"]

    def name(self, new: str) -> str:
        """Return the old name, also of an operation that is called like a pool, and of what starts."""
        bare = new.removesuffix(" (operation)")
        request, slash, number = bare.rpartition("/")  # as `Snapshot.after` calls what starts
        if slash and bare not in self.names:
            return f"{self.names.get(request, request)}/{number}"
        return self.names.get(bare, bare) + new[len(bare) :]

    def text(self, new: str) -> str:
        """Return a text in which each new name is the old one."""
        if not self.names:
            return new
        pattern = "|".join(sorted(map(re.escape, self.names), key=len, reverse=True))
        return re.sub(rf"\b(?:{pattern})\b", lambda match: self.names[match[0]], new)

    def _mappings(self, before: Mapping[Any, Any], after: Mapping[Any, Any], where: str) -> list[str]:
        mapped = {self.name(str(key)): value for key, value in after.items() if str(key) not in self.without}
        plain = {str(key): value for key, value in before.items()}
        if missing := plain.keys() ^ mapped.keys():
            return [f"{where}: only on one side: {sorted(missing)}"]
        for key, value in plain.items():
            if found := self.differences(value, mapped[key], f"{where}.{key}"):
                return found
        return []

    def _added(self, one: Any) -> bool:
        if isinstance(one, str):
            return one in self.without
        return isinstance(one, Mapping) and str(one.get("name")) in self.without

    def _same(self, before: Any, after: Any) -> bool:
        if isinstance(before, str) and isinstance(after, str):
            return before in (after, self.name(after)) or (self.texts and before == self.text(after))
        if isinstance(before, bool) or isinstance(after, bool) or before is None or after is None:
            return bool(before == after)
        if isinstance(before, int | float) and isinstance(after, int | float):
            return any(
                abs(expected - after) <= tolerance + _NOISE * abs(expected)
                for expected, tolerance in (
                    (before, 0.0),
                    *([(before + self.later, _INSTANT)] if self.later else []),
                    *([(before * self.times, 0.0)] if self.times != 1 else []),
                )
            )
        return bool(before == after)
