"""Refusals: requests that were looked at and did not start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from evenhand.arguments import looked_up, row_number
from evenhand.errors import printable
from evenhand.frozen import Frozen, FrozenDict, read_only, same_columns
from evenhand.plans.columns import Name, amounts_of, objects, picked
from evenhand.reasons import OUTCOMES, reason
from evenhand.table import Table, Tabular
from evenhand.units.text import amounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["Refusal", "Refusals"]

LIMITS = "limits_of_operation_or_pool"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request did not start.

    Attributes
    ----------
    request : str or int
        Its name.
    rule : str
        Code of what stood in its way where it came furthest; see `evenhand.reasons`.
    message : str
        The rule in words, with the numbers.
    command : int or None
        Of a command that was refused, its place among those of the trigger; then the request is that of the
        job that it is for, None if no such job waits.
    numbers : mapping
        ``nodes``: how many were tried; ``missing``: what lacked on the best of them, by resource.
    """

    request: Name | None
    rule: str
    message: str
    numbers: Mapping[str, Any]
    command: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the refusal as plain values."""
        return {
            "request": self.request,
            "rule": self.rule,
            "message": self.message,
            "numbers": dict(self.numbers),
            **({} if self.command is None else {"command": self.command}),
        }


class Refusals(Frozen, Tabular, Sequence[Refusal]):
    """A table of refusals; indexing and iteration give `Refusal` objects.

    Parameters
    ----------
    snapshot : Snapshot
    columns : mapping
        As the core gives them: ``request``, ``rule``, ``nodes``, ``best_missing``.
    """

    __slots__ = ("_columns", "_snapshot")

    _snapshot: Snapshot
    _columns: Mapping[str, NDArray[Any]]

    def __init__(self, snapshot: Snapshot, columns: Mapping[str, NDArray[Any]]) -> None:
        frozen = FrozenDict({name: read_only(values) for name, values in columns.items()})
        self._keep(_snapshot=snapshot, _columns=frozen)

    def __eq__(self, other: object) -> bool:
        """Whether they say the same of equal snapshots."""
        if not isinstance(other, Refusals):
            return NotImplemented
        return self._snapshot == other._snapshot and same_columns(self._columns, other._columns)

    def __hash__(self) -> int:
        return hash((self._snapshot, len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._snapshot, dict(self._columns))

    def __len__(self) -> int:
        return len(self._columns["request"])

    def __iter__(self) -> Iterator[Refusal]:
        return iter(self._objects())

    @overload
    def __getitem__(self, index: int) -> Refusal: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Refusal | Self:
        rows = np.arange(len(self))
        rows = rows[index if isinstance(index, slice) else row_number(index, len(self), "refusals")]
        taken = self.take(np.atleast_1d(rows))
        return taken if isinstance(index, slice) else taken._objects()[0]

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the refusals.

        Parameters
        ----------
        rows : array of int
            Which, by row number.

        Returns
        -------
        Refusals
        """
        return type(self)(self._snapshot, {name: column[rows] for name, column in self._columns.items()})

    def column(self, name: str) -> NDArray[Any]:
        """Return one of the core's columns.

        Parameters
        ----------
        name : str
            ``request``, ``rule``, ``nodes`` or ``best_missing``.

        Returns
        -------
        numpy.ndarray
        """
        values: NDArray[Any] = looked_up(self._columns, name, "column")
        return values

    def to_list(self) -> list[dict[str, Any]]:
        """Return one plain object a refusal, as the plan's JSON has them."""
        return [refusal.to_dict() for refusal in self]

    def table(self) -> Table:
        """Return one row a refusal; what was missing is one column a resource (``missing.cpu``)."""
        c = self._columns
        columns: dict[str, Any] = {
            "request": picked(self._snapshot.names("requests"), c["request"]),
            "rule": [OUTCOMES[i] for i in c["rule"].tolist()],
            "nodes": c["nodes"],
        }
        missing = amounts_of(self._snapshot, c["best_missing"]) if len(self) else None
        for r, resource in enumerate(self._snapshot.resources):
            columns[f"missing.{resource}"] = [] if missing is None else missing[:, r]
        return Table(columns, title="refusals")

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _objects(self) -> list[Refusal]:
        c, snapshot = self._columns, self._snapshot
        requests = snapshot.names("requests")
        names = picked(requests, c["request"])
        commands = c["command"].tolist() if "command" in c else [-1] * len(names)
        missing, units = objects(snapshot, c["best_missing"]), snapshot.units
        result = []
        for name, rule, nodes, lacks, command in zip(
            names, c["rule"].tolist(), c["nodes"].tolist(), missing, commands, strict=True
        ):
            code = OUTCOMES[rule]
            numbers: dict[str, Any] = {"nodes": nodes} | ({"missing": lacks} if lacks else {})
            of = None if command < 0 else command
            result.append(Refusal(name, code, _message(code, nodes, lacks, units), numbers, of))
        return result


def _message(code: str, nodes: int, missing: Mapping[str, float], units: Mapping[str, str | None]) -> str:
    message = reason(code, "request").doc
    if missing and code == LIMITS:
        message += f" It is {amounts(missing, units)} too much for them."
    elif missing:
        where = f" Nodes tried: {nodes:,}; on the best of them" if nodes else ""
        are = "was" if len(missing) == 1 else "were"
        message += f"{where} {amounts(missing, units)} {are} missing."
    return printable(message)
