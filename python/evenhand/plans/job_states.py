"""States of jobs by letters, as a system lists them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand.arguments import looked_up
from evenhand.frozen import Frozen, read_only
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.model import Snapshot

__all__ = ["JOB_STATES", "JobState", "JobStates"]

#: Letters by the core's codes: waits, runs, stopped by hand, preempted (P, N, S), ends, is rescheduled.
JOB_STATES: Final = ("", "qw", "r", "s", "P", "N", "S", "dr", "Rq")


@dataclass(frozen=True, slots=True)
class JobState:
    """State of a job once a plan is carried out.

    Attributes
    ----------
    status : str
        Letters of `JOB_STATES`.
    """

    status: str

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {"status": self.status}


class JobStates(Frozen, Tabular, Mapping[str | int, JobState]):
    """State by name of an operation; what neither runs nor waits has none.

    Parameters
    ----------
    snapshot : Snapshot
    codes : array of int
        One an element: pools, then operations.
    """

    __slots__ = ("_codes", "_row_of", "_snapshot")

    _snapshot: Snapshot
    _codes: NDArray[Any]
    _row_of: dict[str, int]

    def __init__(self, snapshot: Snapshot, codes: NDArray[Any]) -> None:
        names, pools = snapshot.names("operations"), snapshot.pool_count
        rows = np.flatnonzero(np.asarray(codes)[pools:]).tolist()
        self._keep(
            _snapshot=snapshot,
            _codes=read_only(codes),
            _row_of={str(names[row]): row + pools for row in rows},
        )

    def __eq__(self, other: object) -> bool:
        """Whether they say the same of equal snapshots."""
        if not isinstance(other, JobStates):
            return NotImplemented
        return self._snapshot == other._snapshot and np.array_equal(self._codes, other._codes)

    def __hash__(self) -> int:
        return hash((self._snapshot, len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._snapshot, self._codes)

    def __getitem__(self, name: str | int) -> JobState:
        return JobState(JOB_STATES[self._codes[looked_up(self._row_of, str(name), "job that runs or waits")]])

    def __iter__(self) -> Iterator[str | int]:
        return iter(self._row_of)

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, name: object) -> bool:
        return str(name) in self._row_of

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return one plain object a job."""
        return {name: self[name].to_dict() for name in self._row_of}

    def table(self) -> Table:
        """Return one row a job: ``name, status``."""
        columns = {"name": [*self._row_of], "status": [state.status for state in self.values()]}
        return Table(columns, title="statuses")

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()
