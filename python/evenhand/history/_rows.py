"""Rows and columns that the side-by-side table needs from a snapshot and a usage history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arguments import expect
from evenhand.history._check import Checks
from evenhand.history._columns import columns_of
from evenhand.history.decay import DAY, Decay
from evenhand.history.tree import Name, ShareTree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

    Floats = NDArray[np.float64]
    Rows = NDArray[np.int32]

__all__ = ["History", "Owed", "People"]


@dataclass(frozen=True)
class History:
    """Past usage in columns: row of the pool (0: root), user, seconds ago, day number, resource-seconds."""

    pool: Rows
    user: tuple[Name, ...]
    age: Floats
    days_ago: Floats
    amounts: Floats

    @classmethod
    def read(cls, snapshot: Snapshot, data: Any) -> History:
        """Check a history against its snapshot."""
        columns = columns_of(data)
        checks = Checks("usage_history")
        amounts_of = {f"usage.{resource}": r for r, resource in enumerate(snapshot.resources)}
        known = ("pool", "user", "time", *amounts_of)
        expected = f"expected one of {', '.join(known)}"
        for field in columns:
            if field not in known:
                checks.add(None, None, str(field), "unknown_field", field, expected)
        lengths = {field: len(column) for field, column in columns.items()}
        if len(set(lengths.values())) > 1:
            checks.add(None, None, "time", "length", lengths, "expected columns of equal length")
        checks.done()
        n = next(iter(lengths.values()), 0)
        for field in ("user", "time") if n else ():
            if field not in columns:
                checks.add(None, None, field, "missing", None, "expected this column")
        checks.done()
        rows = _pool_rows(snapshot)
        pools = columns.get("pool", [None] * n)
        users = tuple(_plain(columns.get("user", ())))
        for row, pool in enumerate(_plain(pools)):
            if not isinstance(pool, str | int | None) or pool not in rows:
                checks.add(row, None, "pool", "reference", pool, "expected the name of a pool")
            if isinstance(users[row], bool) or not isinstance(users[row], str | int):
                checks.add(row, None, "user", "name", users[row], "expected a string or an integer")
        times = _floats(checks, "time", columns.get("time", ()))
        checks.numbers(times, "time", maximum=snapshot.now)
        amounts = np.zeros((n, len(snapshot.resources)))
        for field, r in amounts_of.items():
            if field in columns:
                amounts[:, r] = _floats(checks, field, columns[field], default=0.0)
                checks.numbers(amounts[:, r], field, minimum=0)
        checks.done()
        pool_rows = np.array([rows[pool] for pool in _plain(pools)], dtype=np.int32)
        days_ago = np.floor(snapshot.now / DAY) - np.floor(times / DAY)
        return cls(pool_rows, users, snapshot.now - times, days_ago, amounts)


@dataclass(frozen=True)
class Owed:
    """Fair and usage shares of the table's rows, one column a resource."""

    fair: Floats
    usage: Floats


@dataclass(frozen=True)
class People:
    """Rows of the table: pools without the root, then users of pools, by pool and name."""

    names: list[Name]
    kinds: list[str]
    parents: Rows  # row of the table, −1: below the root
    weights: Floats
    operations: Rows  # row of the table that each operation belongs to
    events: Rows  # row of the table that each row of the history belongs to

    @classmethod
    def of(cls, snapshot: Snapshot, history: History) -> People:
        """All users that have operations or history."""
        pools = snapshot.pool_count
        names = snapshot.element_names
        row = _pool_rows(snapshot)
        table = snapshot.table("operations")
        count = snapshot.operation_count
        users = list(table["user"]) if "user" in table.columns else [None] * count
        owners = list(table["pool"]) if "pool" in table.columns else [None] * count
        of_operations = [
            (row[pool], "operation" if user is None else "user", names[pools + i] if user is None else user)
            for i, (pool, user) in enumerate(zip(owners, users, strict=True))
        ]
        of_history = [
            (pool, "user", user) for pool, user in zip(history.pool.tolist(), history.user, strict=True)
        ]
        keys = sorted({*of_operations, *of_history}, key=_place)
        position = {key: pools - 1 + i for i, key in enumerate(keys)}
        pool_table = snapshot.table("pools")
        weights = pool_table["weight"] if "weight" in pool_table.columns else np.ones(pools - 1)
        above = pool_table["parent"] if "parent" in pool_table.columns else [None] * (pools - 1)
        parents = [row[parent] - 1 for parent in above] + [key[0] - 1 for key in keys]
        return cls(
            [*names[1:pools], *(key[2] for key in keys)],
            ["pool"] * (pools - 1) + [key[1] for key in keys],
            np.array(parents, dtype=np.int32),
            np.concatenate([np.asarray(weights, dtype=np.float64), np.ones(len(keys))]),
            np.array([position[key] for key in of_operations], dtype=np.int32),
            np.array([position[key] for key in of_history], dtype=np.int32),
        )

    @property
    def users(self) -> NDArray[np.bool_]:
        """Which rows are not pools."""
        return np.array([kind != "pool" for kind in self.kinds], dtype=bool)

    @property
    def parent_names(self) -> list[Name | None]:
        """Name of the pool above each row; None below the root."""
        return [None if p < 0 else self.names[p] for p in self.parents.tolist()]

    def tree(self) -> ShareTree:
        """Shares without usage; active are rows with operations."""
        n = len(self.names)
        active = np.zeros(n, dtype=bool)
        active[self.operations] = True
        return ShareTree(
            tuple(range(n)),
            self.parents,
            self.weights,
            np.zeros(n, dtype=bool),
            np.zeros(n),
            self.users,
            active,
            np.zeros(n, dtype=bool),
        )

    def used(self, history: History, decay: Decay, age: Floats) -> Floats:
        """Decayed usage of each row itself, one column a resource."""
        return decay.sum(self.events, history.amounts, age, rows=len(self.names))

    def matrix(self, snapshot: Snapshot, shares: Any) -> Owed:
        """Shares of pools as they are, of users summed over their operations."""
        if shares is None:
            from evenhand.shares import fair_share

            shares = fair_share(snapshot)
        pools = snapshot.pool_count
        found = []
        for quantity in ("fair_share", "usage_share"):
            values = _matrix(shares, quantity, (len(snapshot.element_names), len(snapshot.resources)))
            rows = np.zeros((len(self.names), values.shape[1]))
            rows[: pools - 1] = values[1:pools]
            np.add.at(rows, self.operations, values[pools:])
            found.append(rows)
        return Owed(*found)


def _plain(column: Any) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _floats(checks: Checks, field: str, column: Any, default: float | None = None) -> Floats:
    values = np.zeros(len(column))
    for row, value in enumerate(_plain(column)):
        if value is None and default is not None:
            values[row] = default
        elif isinstance(value, bool) or not isinstance(value, int | float | np.number):
            checks.add(row, None, field, "type", value, "expected a number")
        else:
            values[row] = value
    return values


def _place(key: tuple[int, str, Name]) -> tuple[int, bool, str, bool]:
    """By pool, users before operations, by name as text, integers first."""
    pool, kind, name = key
    return pool, kind == "operation", str(name), isinstance(name, str)


def _pool_rows(snapshot: Snapshot) -> dict[Name | None, int]:
    """Row of each pool among the elements; None is the root."""
    pools = snapshot.element_names[1 : snapshot.pool_count]
    return {None: 0} | {name: row for row, name in enumerate(pools, start=1)}


def _matrix(shares: Any, quantity: str, shape: tuple[int, int]) -> Floats:
    """Return a quantity of fair shares, an element a row; refuse what has none of this shape."""
    try:
        values = np.asarray(shares[quantity], dtype=np.float64)
    except (KeyError, TypeError, ValueError):
        values = np.empty(0)
    said = f"fair shares of this snapshot: {quantity} by {shape[0]} elements and {shape[1]} resources"
    expect(values.shape == shape, "history.side_by_side", "shares", shares, said)
    return values
