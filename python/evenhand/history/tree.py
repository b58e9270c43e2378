"""The tree of shares and usage that Slurm's and Grid Engine's rules read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray  # noqa: TC002  the oldest pydantic looks at the fields of a setting's class

from evenhand import _core
from evenhand.accepted import checked
from evenhand.history._check import Checks
from evenhand.history._columns import frame_columns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["ShareTree"]

Name = str | int
FIELDS = ("name", "parent", "shares", "usage", "user", "active", "total")


@dataclass(frozen=True, eq=False, repr=False)
class ShareTree:
    """Accounts, projects and users with their shares and usage, one row each, in columns.

    Build it by `from_columns`, `from_rows`, `from_dict` or `from_frame`, which check their input.

    Attributes
    ----------
    names : tuple of str or int
        Unique.
    parent : ndarray of int32, shape (n,)
        Row of the parent; −1: directly below the implicit root.
    shares : ndarray of float64, shape (n,)
        At least 0; not read where `inherits`.
    inherits : ndarray of bool, shape (n,)
        Slurm's ``FairShare=parent``.
    usage : ndarray of float64, shape (n,)
        Own usage in any unit, without that of rows below, except where `total`.
    user : ndarray of bool, shape (n,)
        A user (who is ranked), not an account; by default every row without children.
    active : ndarray of bool, shape (n,)
        Has jobs itself (Grid Engine).
    total : ndarray of bool, shape (n,)
        `usage` already is that of the entire subtree (Grid Engine: a project's own usage).

    Examples
    --------
    >>> tree = ShareTree.from_dict({"lab": {"shares": 3}, "ann": {"parent": "lab", "usage": 20.0}})
    >>> tree.subtree_usage
    array([20., 20.])
    """

    names: tuple[Name, ...]
    parent: NDArray[np.int32]
    shares: NDArray[np.float64]
    inherits: NDArray[np.bool_]
    usage: NDArray[np.float64]
    user: NDArray[np.bool_]
    active: NDArray[np.bool_]
    total: NDArray[np.bool_]

    @classmethod
    @checked("history.ShareTree")
    def from_columns(cls, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> ShareTree:
        """Build from columns of equal length; all but ``name`` may be left out, None stands for the default.

        Parameters
        ----------
        columns : mapping
            ``name``; ``parent`` (a name; None: below the root); ``shares`` (1; "parent" for Slurm's
            FairShare=parent); ``usage`` (0); ``user`` (true where nothing lies below); ``active`` (true);
            ``total`` (false).

        Raises
        ------
        InputError
            With all problems: unknown fields and parents, duplicates, cycles, numbers out of range, users
            with children.

        Notes
        -----
        O(n).
        """
        checks = Checks("share_tree")
        for field in columns:
            if field not in FIELDS:
                near = difflib.get_close_matches(str(field), FIELDS, 1)
                checks.add(
                    None, None, str(field), "unknown_field", field, f"expected {' or '.join(near or FIELDS)}"
                )
        if "name" not in columns:
            checks.add(None, None, "name", "missing", None, "expected a column of names")
            checks.done()
        lengths = {field: len(columns[field]) for field in columns}
        if len(set(lengths.values())) > 1:
            checks.add(None, None, "name", "length", lengths, "expected columns of equal length")
        checks.done()

        names = _plain(columns["name"])
        n = len(names)
        position: dict[Any, int] = {}
        for row, name in enumerate(names):
            if isinstance(name, bool) or not isinstance(name, str | int):
                checks.add(row, None, "name", "name", name, "expected a string or an integer")
            elif position.setdefault(name, row) != row:
                checks.add(
                    row, name, "name", "unique", name, f"expected a new name, row {position[name]} has it"
                )
        parents = _plain(columns.get("parent", [None] * n))
        parent = np.full(n, -1, dtype=np.int32)
        for row, name in enumerate(parents):
            if name is None:
                continue
            known = position.get(name) if isinstance(name, str | int) else None
            if known is None:
                checks.add(row, names[row], "parent", "reference", name, "expected the name of another row")
            else:
                parent[row] = known
        stuck = np.setdiff1d(np.arange(n), _core.tree_order(parent))
        for row in stuck.tolist():
            checks.add(
                row, names[row], "parent", "cycle", parents[row], "expected parents that lead to the root"
            )

        raw = columns.get("shares", np.ones(n))
        inherits = np.zeros(n, dtype=bool)
        if np.asarray(raw).dtype.kind not in "iuf":
            inherits[
                [row for row, value in enumerate(raw) if isinstance(value, str) and value == "parent"]
            ] = True
            raw = [0.0 if parents_own else value for parents_own, value in zip(inherits, raw, strict=True)]
        shares = _numbers(checks, names, "shares", raw, 1.0)
        usage = _numbers(checks, names, "usage", columns.get("usage", np.zeros(n)), 0.0)
        has_children = np.zeros(n, dtype=bool)
        has_children[parent[parent >= 0]] = True
        user = _flags(checks, names, "user", columns.get("user"), ~has_children)
        active = _flags(checks, names, "active", columns.get("active"), np.ones(n, dtype=bool))
        total = _flags(checks, names, "total", columns.get("total"), np.zeros(n, dtype=bool))
        for row in np.flatnonzero(user & has_children).tolist():
            checks.add(
                row, names[row], "user", "user_has_children", True, "expected an account, rows lie below it"
            )
        checks.done()
        return cls(tuple(names), parent, shares, inherits, usage, user, active, total)

    @classmethod
    @checked("history.ShareTree")
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> ShareTree:
        """Build from one mapping a row, with the fields of `from_columns`."""
        table = list(rows)
        fields = dict.fromkeys(["name", *(field for row in table for field in row)])
        return cls.from_columns({field: [row.get(field) for row in table] for field in fields})

    @classmethod
    @checked("history.ShareTree")
    def from_dict(cls, tree: Mapping[Name, Mapping[str, Any]]) -> ShareTree:
        """Build from name → fields of `from_columns`."""
        return cls.from_rows({"name": name, **fields} for name, fields in tree.items())

    @classmethod
    def from_frame(cls, frame: Any) -> ShareTree:
        """Build from a pandas, polars or pyarrow frame with the columns of `from_columns`; null = default."""
        return cls.from_columns(frame_columns(frame))

    def to_dict(self) -> dict[Name, dict[str, Any]]:
        """Return name → fields, as `from_dict` takes them; fields that equal their defaults are left out."""
        has_children = np.isin(np.arange(len(self)), self.parent)
        rows: dict[Name, dict[str, Any]] = {}
        for row, (name, parent) in enumerate(zip(self.names, self.parent_names, strict=True)):
            shares = "parent" if self.inherits[row] else float(self.shares[row])
            fields = {
                "parent": (parent, None),
                "shares": (shares, 1.0),
                "usage": (float(self.usage[row]), 0.0),
                "user": (bool(self.user[row]), not has_children[row]),
                "active": (bool(self.active[row]), True),
                "total": (bool(self.total[row]), False),
            }
            rows[name] = {field: value for field, (value, default) in fields.items() if value != default}
        return rows

    def __repr__(self) -> str:
        return f"ShareTree({len(self)} rows, {int(self.user.sum())} users)"

    def __eq__(self, other: object) -> bool:
        """Whether names and all columns are the same, in the same order."""
        if not isinstance(other, ShareTree):
            return NotImplemented
        columns = ("parent", "shares", "inherits", "usage", "user", "active", "total")
        return self.names == other.names and all(
            np.array_equal(getattr(self, column), getattr(other, column)) for column in columns
        )

    def __hash__(self) -> int:
        return hash(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def parent_names(self) -> list[Name | None]:
        """Name of each row's parent; None below the root."""
        return [None if p < 0 else self.names[p] for p in self.parent.tolist()]

    @property
    def subtree_usage(self) -> NDArray[np.float64]:
        """Usage of each row and all below it, shape (n,)."""
        return _core.roll_up(self.parent, self.usage, self.total)

    @checked("history.ShareTree")
    def with_usage(self, usage: Mapping[Name, float] | ArrayLike) -> ShareTree:
        """Replace the usage: one number a row, or name → number (absent = 0).

        Raises
        ------
        InputError
            If a name is unknown or a number is negative or not finite.
        """
        checks = Checks("share_tree")
        if isinstance(usage, Mapping):
            known = set(self.names)
            for name in usage:
                if name not in known:
                    checks.add(None, name, "usage", "reference", name, "expected the name of a row")
            values = np.array([usage.get(name, 0.0) for name in self.names], dtype=np.float64)
        else:
            values = np.array(usage, dtype=np.float64)
            if values.shape != (len(self),):
                checks.add(None, None, "usage", "length", values.shape, f"expected {len(self)} numbers")
        checks.done()
        checks.numbers(values, "usage", self.names, minimum=0)
        checks.done()
        return replace(self, usage=values)


def _plain(column: Sequence[Any] | NDArray[Any]) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _numbers(
    checks: Checks, names: Sequence[Any], field: str, column: Sequence[Any] | NDArray[Any], default: float
) -> NDArray[np.float64]:
    """Read a column of numbers of at least 0."""
    array = np.asarray(column)
    if array.dtype.kind not in "iuf":
        values = np.full(len(names), default)
        for row, value in enumerate(_plain(column)):
            if value is None:
                continue
            if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
                checks.add(row, names[row], field, "type", value, "expected a number")
                continue
            values[row] = value
        array = values
    array = array.astype(np.float64)
    checks.numbers(array, field, names, minimum=0)
    return array


def _flags(
    checks: Checks,
    names: Sequence[Any],
    field: str,
    column: Sequence[Any] | NDArray[Any] | None,
    default: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    if column is None:
        return default
    values = default.copy()
    for row, value in enumerate(_plain(column)):
        if value is None:
            continue
        if not isinstance(value, bool):
            checks.add(row, names[row], field, "type", value, "expected true or false")
        else:
            values[row] = value
    return values
