"""Which events a stage follows row by row where they are not plain, and which make its tables anew."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.cluster.events import Event, Put, Remove

if TYPE_CHECKING:
    from evenhand.cluster.stage import Stage

__all__ = ["makes_anew"]


def makes_anew(stage: Stage, event: Event) -> bool:
    """Tell whether an event is beyond what a stage can follow, as the stage is now."""
    match event:
        case Put("requests", row):
            return isinstance(row, Mapping) and not _keeps_its_place(stage, "requests", row)
        case Put("operations", row):
            if not isinstance(row, Mapping) or row.get("name") is None:
                return True
            if row.get("usage") is not None or row.get("demand") is not None:
                return True
            old = stage.find("operations", row["name"])
            return old >= 0 and (stage.core.stated(old) or not _keeps_its_place(stage, "operations", row))
        case Remove("requests"):
            return False
        case Remove("operations", name):  # what refers to it is looked for in the new tables
            found = stage.find("operations", name)
            return found < 0 or stage.core.has_rows(found)
        case Put() | Remove():
            return True
    return False


def _keeps_its_place(stage: Stage, table: str, row: Mapping[str, Any]) -> bool:
    """Tell whether a row is new, or as its predecessor in name and `order`."""
    old = stage.find(table, row.get("name"))
    if old < 0:
        return True
    before, order = stage.core.order(table, old), row.get("order")
    same = math.isnan(before) if order is None else order == before
    return bool(same) and stage.core.name(table, old) == row["name"]
