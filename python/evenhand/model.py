"""Snapshot: one scheduling domain at an instant."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal, Never, Self, cast

from evenhand import _core
from evenhand.arguments import as_json, looked_up
from evenhand.building import readback, sources
from evenhand.building.assemble import Built, assemble, fingerprint
from evenhand.building.jsontext import load
from evenhand.building.parse import Parser, Raw
from evenhand.building.problems import Report
from evenhand.errors import NoSuchNameError, printable
from evenhand.fields import TABLES
from evenhand.frozen import Frozen, freeze
from evenhand.units.text import instant

if TYPE_CHECKING:
    from evenhand.table import Table

__all__ = ["ROOT", "Snapshot"]

#: Name of the implicit root pool in results.
ROOT = "<Root>"

Order = Literal["rows"] | None
Rounding = Literal["nearest"] | None

_NAMED = {name: name for name in TABLES if name not in ("root", "resources", "commands")}


class Snapshot(Frozen):
    """Resources, nodes, pools, operations, allocations and requests of one scheduling domain.

    Immutable; made by `from_dict`, `from_json` or `from_frames`, which check everything and copy what they
    are given. Rows stand in canonical order: by `order`, then by name as UTF-8 bytes; the order of the
    input's rows never matters. Two snapshots are equal if they describe the same domain.

    Notes
    -----
    Copying is O(1). Times are seconds of any epoch, amounts are in the units of their resources. Every
    table and field is in the table reference (`evenhand.fields.TABLES`).

    Examples
    --------
    >>> import evenhand as eh
    >>> snapshot = eh.Snapshot.from_dict({
    ...     "resources": {"cpu": {}}, "nodes": [{"name": "n1", "capacity": {"cpu": 8}}],
    ...     "operations": [{"name": "etl", "demand": {"cpu": 2.5}}]})
    >>> snapshot.element_names
    ['<Root>', 'etl']
    """

    __slots__ = ("_cache", "_commands", "_core", "_head", "_settings")
    _INSTEAD = "; replace() returns a changed one"

    _core: _core.Snapshot
    _head: dict[str, Any]
    _settings: dict[str, dict[int, dict[str, Any]]]
    _commands: list[dict[str, Any]]
    _cache: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("a Snapshot is made by from_dict, from_json or from_frames")

    @classmethod
    def _of(cls, built: Built, head: dict[str, Any]) -> Self:
        self = object.__new__(cls)
        self._keep(
            _core=built.core, _head=head, _settings=built.settings, _commands=built.commands, _cache={}
        )
        return self

    @classmethod
    def _finish(cls, parser: Parser, order: Order, rounding: Rounding) -> Self:
        if order == "rows":
            parser.fill_order()
        return cls._build(parser.raw, parser.report, rounding)

    @classmethod
    def _build(cls, raw: Raw, report: Report, rounding: Rounding = None) -> Self:
        return cls._of(assemble(raw, report, rounding), raw.head)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, order: Order = None, rounding: Rounding = None) -> Self:
        """Build a snapshot from plain data in the layout of files.

        Parameters
        ----------
        data : mapping
            Keys ``resources``, ``nodes``, ``pools``, ``operations``, ... with a list of objects a table.
        order : {None, "rows"}
            "rows": a row without an ``order`` gets its position in its table, operations after all pools.
        rounding : {None, "nearest"}
            "nearest": round amounts to the quantum instead of refusing those that are no multiple of it.

        Returns
        -------
        Snapshot

        Raises
        ------
        InputError
            If anything is wrong with the data; names table, row, field and rule of every problem.

        Notes
        -----
        O(cells), and O(n log n) for rows whose names are not in order.
        """
        sources.check_options(order, rounding)
        return cls._finish(sources.parse_dict(data, Report()), order, rounding)

    @classmethod
    def from_json(
        cls, source: str | bytes | os.PathLike[str], *, order: Order = None, rounding: Rounding = None
    ) -> Self:
        """Build a snapshot from JSON.

        Parameters
        ----------
        source : str, bytes or path-like
            The text itself, or the path of a file (as `pathlib.Path`).
        order, rounding
            As in `from_dict`.

        Returns
        -------
        Snapshot

        Raises
        ------
        InputError
            If it cannot be read, is not JSON (also: NaN, Infinity, a key twice in an object), or
            anything is wrong with the data.
        """
        sources.check_options(order, rounding)
        report = Report()
        data = load(source, report)
        if report.unusable:
            raise report.error()
        return cls._finish(sources.parse_dict(data, report), order, rounding)

    @classmethod
    def from_frames(
        cls,
        *,
        resources: Mapping[str, Any] | None = None,
        nodes: Any = None,
        pools: Any = None,
        operations: Any = None,
        allocations: Any = None,
        requests: Any = None,
        reservations: Any = None,
        commands: Any = None,
        root: Mapping[str, Any] | None = None,
        total: Mapping[str, float] | None = None,
        now: float | datetime | str | None = None,
        previous_update: float | datetime | str | None = None,
        timezone: str | tzinfo | None = None,
        order: Order = None,
        rounding: Rounding = None,
        **others: Never,
    ) -> Self:
        """Build a snapshot from frames, one a table.

        Parameters
        ----------
        resources : mapping
            As in `from_dict`: name of the resource to its description (may be empty).
        nodes, pools, operations, allocations, requests, reservations, commands
            A pandas, polars or pyarrow table, a dict of arrays, or a list of dicts. Amounts are one
            column a resource (``demand.cpu``), inner objects likewise (``integral.type``,
            ``settings.name``); null is absent. References are names, or row numbers of the other
            table in a column such as ``pool_index`` (-1: none).
        root : mapping, optional
            Settings of the root pool.
        total : mapping, optional
            What is shared; default: the sum over schedulable nodes, and cluster-scoped capacities.
        now, previous_update : number, datetime or ISO 8601 text
            Instants.
        timezone : str or tzinfo, optional
            Time zone of instants that have none; without it they are refused.
        order, rounding
            As in `from_dict`.
        **others
            None: what is no table is named.

        Returns
        -------
        Snapshot

        Raises
        ------
        InputError
            If anything is wrong with the data.
        TypeError
            If an argument is no table at all, or there is none of that name.

        Notes
        -----
        O(cells). Integer codes and Arrow text are passed on without a Python object a cell.
        """
        sources.check_options(order, rounding)
        sources.check_names("from_frames", others)
        data = {
            "resources": resources,
            "root": root,
            "total": total,
            "now": now,
            "previous_update": previous_update,
            "nodes": nodes,
            "pools": pools,
            "operations": operations,
            "allocations": allocations,
            "requests": requests,
            "reservations": reservations,
            "commands": commands,
        }
        return cls._finish(sources.parse_frames(data, timezone, Report()), order, rounding)

    def replace(
        self,
        *,
        timezone: str | tzinfo | None = None,
        order: Order = None,
        rounding: Rounding = None,
        **changes: Any,
    ) -> Self:
        """Return a snapshot with other tables or head fields.

        Parameters
        ----------
        timezone, order, rounding
            As in `from_frames`; they concern the new tables only.
        **changes
            New values by name: ``now``, ``previous_update``, ``total``, ``root``, ``resources``, or a
            table as in `from_frames`. None stands for the default, or an empty table.

        Returns
        -------
        Snapshot

        Raises
        ------
        InputError
            If the result would break a rule.
        TypeError
            If there is nothing of that name.

        Notes
        -----
        Instants: one copy of the columns. Else O(cells), as everything is checked again, but tables that
        stay are not parsed again. Demand, usage and total follow the new tables where they agreed with
        the old ones.
        """
        sources.check_options(order, rounding)
        sources.check_names("replace", changes)
        report = Report()
        if set(changes) <= {"now", "previous_update"}:
            return self._of(sources.at_instant(self, changes, timezone, report), self._head)
        return self._finish(sources.parse_changes(self, changes, timezone, report), order, rounding)

    def after(self, plan: Any) -> Self:
        """Return the snapshot once a plan of it is carried out.

        Victims are ``preempting``, with deadline and beneficiary; what starts is a running allocation called
        ``"<request>/<number>"``, and counts of requests fall. The instant stays.

        Parameters
        ----------
        plan : Plan
            Made of this snapshot.

        Returns
        -------
        Snapshot
            Made in O(cells).

        Raises
        ------
        ValueError
            If the plan is of another snapshot.
        """
        from evenhand.cluster.steps import after

        return cast("Self", after(self, plan))

    def to_dict(self) -> dict[str, Any]:
        """Return the snapshot as plain data: every table, also without rows; in rows no defaults.

        Returns
        -------
        dict
            ``Snapshot.from_dict(snapshot.to_dict())`` equals the snapshot.
        """
        from evenhand.building.rows import to_dict

        return to_dict(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the snapshot as JSON text, as `to_dict` has it.

        Parameters
        ----------
        indent : int, optional
            Spaces a level; None: one line.

        Returns
        -------
        str
        """
        return as_json(self.to_dict(), indent)

    def table(self, name: str) -> Table:
        """Return a table in canonical order, with the columns that frames have.

        Parameters
        ----------
        name : str
            "nodes", "pools" (without the root), "operations", "allocations", "requests",
            "reservations".

        Returns
        -------
        Table
            Columns in which every row has the default are left out.

        Raises
        ------
        KeyError
            If there is no such table.
        """
        from evenhand.building.rows import to_table

        return to_table(self, name)

    def settings(self, table: str) -> Mapping[int, Mapping[str, Any]]:
        """Return the settings of a table's rows.

        Parameters
        ----------
        table : str
            Name of the table; the root's settings are those of row 0 of "pools".

        Returns
        -------
        mapping
            Canonical row (of pools: the root is row 0) to settings; rows without any are left out.

        Raises
        ------
        KeyError
            If the table has no settings.
        """
        if "settings" not in looked_up(TABLES, table, "table").names:
            raise NoSuchNameError.about("settings", "table", "exists", f"rows of {table} have no settings")
        rows: Mapping[int, Mapping[str, Any]]
        rows = self._once(f"settings of {table}", lambda: freeze(self._settings.get(table, {})))
        return rows

    def _once(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    @property
    def commands(self) -> tuple[Mapping[str, Any], ...]:
        """Commands in the order in which they were given."""
        commands: tuple[Mapping[str, Any], ...]
        commands = self._once("commands", lambda: tuple(map(freeze, self._commands)))
        return commands

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of the resources, in the order that every amount's last axis has."""
        return tuple(self._head["resources"])

    @property
    def quantum(self) -> dict[str, float]:
        """Smallest amount of each resource."""
        return dict(zip(self.resources, self._head["quantum"].tolist(), strict=True))

    @property
    def units(self) -> dict[str, str | None]:
        """What each resource is counted in, a word such as "GiB"; None where that is not said."""
        return dict(zip(self.resources, self._head.get("unit") or [None] * len(self.resources), strict=True))

    @property
    def total(self) -> dict[str, float]:
        """What is shared, by resource."""
        amounts = readback.matrix(self._core.total[None, :], self._head["quantum"])[0]
        return dict(zip(self.resources, amounts.tolist(), strict=True))

    @property
    def now(self) -> float:
        """The instant that is described, in seconds."""
        return float(self._core.now / 1e6)

    @property
    def previous_update(self) -> float | None:
        """When shares were last computed, in seconds."""
        instant = self._core.previous_update
        return None if instant is None else float(instant / 1e6)

    def names(self, table: str) -> list[str | int]:
        """Return the names of a table's rows in canonical order.

        Parameters
        ----------
        table : str
            Name of the table; pools start with the root.

        Returns
        -------
        list of str or int

        Raises
        ------
        KeyError
            If there is no such table, or its rows have no names.
        """
        looked_up(_NAMED, table, "table with names")
        return list(self._once(table, lambda: self._core.names(table)))

    @property
    def element_names(self) -> list[str | int]:
        """Names of all elements: pools (the root first), then operations, in canonical order."""
        return self.names("pools") + self.names("operations")

    @property
    def pool_count(self) -> int:
        """Number of pools, the root included."""
        return self._core.pool_count

    @property
    def operation_count(self) -> int:
        """Number of operations."""
        return self._core.operation_count

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self._core.node_count

    @property
    def allocation_count(self) -> int:
        """Number of allocations."""
        return self._core.allocation_count

    @property
    def request_count(self) -> int:
        """Number of requests."""
        return self._core.request_count

    @property
    def reservation_count(self) -> int:
        """Number of reservations."""
        return self._core.reservation_count

    @property
    def fingerprint(self) -> str:
        """Hexadecimal digest of all content; the same for rows in any order."""
        if "fingerprint" not in self._cache:
            built = Built(self._core, self._settings, self._commands)
            self._cache["fingerprint"] = fingerprint(built, self._head.get("unit"))
        return str(self._cache["fingerprint"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        raw = readback.read_back(self)
        return _restore, (type(self), raw.head, raw.tables, raw.rows, raw.settings, raw.commands)

    def __repr__(self) -> str:
        nouns = ("node", "pool", "operation", "allocation", "request", "reservation")
        rows = {noun: getattr(self, f"{noun}_count") - (noun == "pool") for noun in nouns}
        counts = [f"{count:,} {noun}{'s' * (count != 1)}" for noun, count in rows.items() if count]
        head = f"{instant(self.now, self.now)}: {', '.join(counts) or 'empty'}"
        return f"<Snapshot at {head}; {printable(', '.join(self.resources))}>"

    def _repr_html_(self) -> str:
        from evenhand.display import snapshot_html

        return snapshot_html(self)


def _restore(cls: type[Snapshot], *parts: Any) -> Snapshot:
    return cls._build(Raw(*parts), Report())
