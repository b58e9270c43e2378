"""Ideal shares of queues as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand import _core
from evenhand.systems.yunikorn import columns
from evenhand.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.model import Snapshot
    from evenhand.systems.yunikorn.settings import YuniKornSettings

__all__ = ["shares_table"]

#: Columns to quantities of the core.
_QUANTITIES: Final[Mapping[str, str]] = {
    "ideal": "ideal",
    "guaranteed": "owed",
    "used": "used",
    "pending": "pending",
}


def shares_table(snapshot: Snapshot, s: YuniKornSettings) -> Table:
    """Return the ideal share of every queue; see `evenhand.policies.YuniKorn.ideal_shares`."""
    quanta = _core.yunikorn_shares(
        snapshot._core, columns.switches(snapshot, s), columns.row_columns(snapshot)
    )
    parents = np.asarray(snapshot._core.column("pools", "parent")).tolist()
    names = ["root", *(str(name) for name in snapshot.names("pools")[1:])]
    table: dict[str, Any] = {
        "name": names,
        "parent": [None if above < 0 else names[above] for above in parents],
    }
    for column, quantity in _QUANTITIES.items():
        for place, (resource, quantum) in enumerate(snapshot.quantum.items()):
            table[f"{column}.{resource}"] = _units(quanta[quantity][:, place], quantum)
    return Table(table, title="Ideal shares")


def _units(quanta: Any, quantum: float) -> Any:
    """Return amounts in units; of 0.001 the thousandths are divided by 1000, which is exact."""
    per_unit = round(1 / quantum) if quantum < 1 else 0
    return quanta / per_unit if per_unit and quantum == 1 / per_unit else quanta * float(quantum)
