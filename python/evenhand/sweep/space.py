"""Which settings a sweep goes through, and what a point of it makes of a snapshot and a policy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.accepted import FLAG, NUMBER, plain, taken
from evenhand.arguments import expect
from evenhand.building.problems import nearest
from evenhand.errors import InputError, Problem, printable
from evenhand.fields import TABLES
from evenhand.frozen import thaw
from evenhand.plans.planning import expect_policy

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["MOST_POINTS", "Between", "Point", "Space", "applied", "between"]

#: Settings by dotted name; of ``policy`` the place among the space's policies.
Point = dict[str, Any]

#: So many values, combinations and points at most.
MOST_POINTS = 1_000_000

_TABLES = ("nodes", "pools", "operations", "allocations", "requests")


@dataclass(frozen=True)
class Between:
    """Any number between two, both included; whole numbers if both are.

    Attributes
    ----------
    low, high : number
    log : bool
        Whether equal ratios are equally likely, rather than equal differences.
    """

    low: float
    high: float
    log: bool = False

    def at(self, part: float) -> float:
        """Return the number at a part of the way, from 0 to below 1.

        Parameters
        ----------
        part : number

        Raises
        ------
        InputError
            If it is no such number.
        """
        part = float(taken("between", "part", part, NUMBER))
        expect(0 <= part < 1, "between", "part", part, "from 0 to below 1")
        if isinstance(self.low, int) and isinstance(self.high, int):
            low, high = self.low - 0.5, self.high + 0.5
            low = max(low, 0.5) if self.log else low
            return min(max(round(self._between(low, high, part)), self.low), self.high)
        return self._between(self.low, self.high, part)

    def _between(self, low: float, high: float, part: float) -> float:
        if self.log:
            return float(min(math.exp(math.log(low) + (math.log(high) - math.log(low)) * part), high))
        return low + (high - low) * part


def between(low: float, high: float, *, log: bool = False) -> Between:
    """Return a range of a space: points that are drawn take any number in it.

    Parameters
    ----------
    low, high : number
        Whole numbers if both are.
    log : bool
        Whether equal ratios are equally likely, rather than equal differences.

    Returns
    -------
    Between

    Raises
    ------
    InputError
        If they are no finite numbers in ascending order, above 0 if the ratios are to be equally likely.

    Examples
    --------
    >>> between(1, 9).at(0.5)
    5
    """
    log = taken("space", "log", log, FLAG)
    low, high = (taken("space", name, end, NUMBER) for name, end in (("low", low), ("high", high)))
    least = 0 if log else -math.inf
    expect(least < low < high, "space", "between", (low, high), "two numbers in ascending order")
    expect(math.isfinite(high - low), "space", "between", (low, high), "two numbers with a finite difference")
    return Between(low, high, log)


class Space:
    """Names of settings, and the values that each of them takes."""

    def __init__(self, given: Any, policy: Any) -> None:
        right = isinstance(given, Mapping) and len(given) > 0
        expect(right, "sweep", "space", given, "an object (dotted name of a setting: its values)")
        self.values: dict[str, tuple[Any, ...] | Between] = {}
        if "policy" not in given:
            expect_policy("sweep", policy)
        self.policies: tuple[Any, ...] = (policy,)
        self.labels: tuple[str, ...] = () if "policy" in given else (repr(policy),)
        for name, values in given.items():
            expect(isinstance(name, str), "space", "a key", name, "text: the dotted name of a setting")
            if name == "policy":
                listed = isinstance(values, Iterable) and not isinstance(values, str | bytes | type)
                expect(listed, "space", "policy", values, "a list of policies")
                every = _listed(name, values.values() if isinstance(values, Mapping) else values)
                for one in every:
                    expect_policy("space", one)
                labelled = values if isinstance(values, Mapping) else {repr(p): p for p in every}
                self.policies, self.labels = tuple(labelled.values()), tuple(map(str, labelled))
                self.values[name] = tuple(range(len(self.policies)))
            elif isinstance(values, Between):
                self.values[name] = values
            else:
                listed = isinstance(values, Iterable) and not isinstance(values, str | bytes | type | Mapping)
                expect(listed, "space", name, values, "a list of values, or between(low, high)")
                self.values[name] = tuple(_value(name, plain(v)) for v in _listed(name, values))
            if not self.values[name]:
                raise _wrong(name, "length", "has no values")

    @property
    def combinations(self) -> float:
        """How many combinations of values there are."""
        sizes = [math.inf if isinstance(v, Between) else len(v) for v in self.values.values()]
        return math.prod(sizes)

    def grid(self) -> list[Point]:
        """Return every combination of values; those of the last name change first."""
        for name, values in self.values.items():
            if isinstance(values, Between):
                raise _wrong(name, "choice", "is a range; give random= or lhs=, or a list of values")
        if self.combinations > MOST_POINTS:
            said = f"space has {self.combinations:,} combinations; give random= or lhs="
            raise InputError.about("space", "space", "length", said)
        every = itertools.product(*self.values.values())  # type: ignore[arg-type]
        return [dict(zip(self.values, cells, strict=True)) for cells in every]

    def random(self, count: int, rng: np.random.Generator) -> list[Point]:
        """Return points drawn one by one."""
        return self._at(rng.random((count, len(self.values))))

    def latin(self, count: int, rng: np.random.Generator) -> list[Point]:
        """Return points such that each of so many equal parts of every range has one (McKay et al., 1979)."""
        columns = [(rng.permutation(count) + rng.random(count)) / count for _ in self.values]
        return self._at(np.stack(columns, axis=1))

    def _at(self, parts: Any) -> list[Point]:
        def value(values: tuple[Any, ...] | Between, part: float) -> Any:
            return values.at(part) if isinstance(values, Between) else values[int(part * len(values))]

        return [
            {name: value(self.values[name], part) for name, part in zip(self.values, row, strict=True)}
            for row in parts.tolist()
        ]

    def listed(self, points: Any) -> list[Point]:
        """Return points that were given, with the places of their policies."""
        found = []
        listed = isinstance(points, Iterable) and not isinstance(points, str | bytes | type | Mapping)
        expect(listed, "sweep", "points", points, "a list of objects")
        for given in _listed("points", points):
            right = isinstance(given, Mapping) and set(given) == set(self.values)
            expect(right, "sweep", "points", given, f"objects with {', '.join(self.values)}")
            point = {name: _value(name, plain(given[name])) for name in self.values}
            if "policy" in point:
                of: Sequence[Any] = self.labels if isinstance(point["policy"], str) else self.policies
                known = [i for i, one in enumerate(of) if one is point["policy"] or one == point["policy"]]
                expect(bool(known), "sweep", "points", given, "of a policy of the space")
                point["policy"] = known[0]
            found.append(point)
        return found

    def given(self) -> Point | None:
        """Return the point of the settings as given, if it is in the space, and that of settings alone."""
        point, settings = {}, self.policies[0].settings
        for name, values in self.values.items():
            head, *path = name.split(".")
            value = settings.model_dump().get(settings.ALIASES.get(head, head))
            for part in path:
                value = value.get(part) if isinstance(value, Mapping) else None
            if isinstance(values, Between):
                number = isinstance(value, int | float) and not isinstance(value, bool)
                if not number or not values.low <= value <= values.high:
                    return None
                whole = isinstance(values.low, int) and isinstance(values.high, int)
                point[name] = round(value) if whole else float(value)
            elif name == "policy" or value is None or value not in values:
                return None
            else:
                point[name] = values[values.index(value)]
        return point

    def policy_of(self, point: Point) -> Any:
        """Return the policy that a point's settings are of."""
        return self.policies[point.get("policy", 0)]

    def shown(self, name: str, points: Sequence[Point]) -> list[Any]:
        """Return a column of the points; policies by their labels, objects and lists as text."""
        if name == "policy":
            return [self.labels[point[name]] for point in points]
        cells = [point[name] for point in points]
        return [repr(cell) if isinstance(cell, Mapping | list | tuple) else cell for cell in cells]

    def check(self, snapshot: Snapshot) -> None:
        """Refuse names that say nothing to any of the policies."""
        for name, values in self.values.items():
            if name == "policy":
                continue
            some = values.at(0.5) if isinstance(values, Between) else values[0]
            problems = []
            for policy in self.policies:
                try:
                    applied(snapshot, policy, {name: some})
                except InputError as error:
                    problems.append(error.problems[0])
            if len(problems) == len(self.policies) and problems[0].rule in ("unknown_field", "exists"):
                raise InputError(problems[:1])


def applied(snapshot: Snapshot, policy: Any, point: Point) -> tuple[Snapshot, Any, dict[str, Any]]:
    """Return what a point makes of a snapshot and a policy, and its clocks."""
    clocks: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for name, value in point.items():
        table, _, rest = name.partition(".")
        if name == "policy":
            continue
        if table in _TABLES and rest:
            rows = tables.setdefault(table, thaw(snapshot.to_dict().get(table, [])))
            _set_cell(rows, table, rest, value)
        elif name in policy.CLOCKS:
            clocks[name] = value
        else:
            _set_setting(settings, policy.settings, name, value)
    changed = snapshot.replace(**tables) if tables else snapshot
    return changed, policy.replace(**settings) if settings else policy, clocks


def _set_setting(changes: dict[str, Any], settings: Any, name: str, value: Any) -> None:
    head, *path = name.split(".")
    head = settings.ALIASES.get(head, head)
    if not path:
        changes[head] = value
        return
    if head not in changes:
        changes[head] = thaw(settings.model_dump().get(head, {}))
    _set_in(changes[head], path, value, name)


def _set_cell(rows: list[dict[str, Any]], table: str, rest: str, value: Any) -> None:
    """Set a cell of a row; names of rows may have dots."""
    parts = rest.split(".")
    named = {str(row["name"]): row for row in rows}
    for k in range(len(parts) - 1, 0, -1):
        if (row := named.get(".".join(parts[:k]))) is None:
            continue
        path = parts[k:] if parts[k] in TABLES[table].names else ["settings", *parts[k:]]
        _set_in(row, path, value, f"{table}.{rest}")
        return
    if rest in named:
        raise _wrong(f"{table}.{rest}", "exists", f"names a row of {table}, but nothing of it")
    name = ".".join(parts[:-1]) or rest
    raise _wrong(f"{table}.{rest}", "exists", f"names no row of {table}{nearest(name, named)}")


def _set_in(tree: Any, path: Sequence[str], value: Any, name: str) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {}) if isinstance(tree, dict) else None
        if tree is None:
            break
    if not isinstance(tree, dict):
        raise _wrong(name, "unknown_field", "has no parts of that name")
    tree[path[-1]] = value


def _listed(name: str, values: Iterable[Any]) -> list[Any]:
    """Return values that are not too many."""
    some = list(itertools.islice(values, MOST_POINTS + 1))
    if len(some) > MOST_POINTS:
        raise _wrong(name, "length", f"has more than {MOST_POINTS:,} values")
    return some


def _value(name: str, value: Any) -> Any:
    """Return a value of a point, which is written down as text."""
    try:
        repr(value)
    except Exception as error:  # whatever an object says of itself, or nested without end
        raise _wrong(name, "type", "has a value that cannot be written as text") from error
    return value


def _wrong(name: object, rule: str, predicate: str) -> InputError:
    field = printable(str(name))
    return InputError([Problem("space", None, None, field, rule, None, printable(f"{field} {predicate}"))])
