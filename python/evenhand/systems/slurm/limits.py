"""Limits of QOS and associations as the core reads them, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenhand.fields import TABLES
from evenhand.systems.slurm.says_of_limits import LIMITS

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.systems.slurm.limit_settings import QosLimits, SlurmAssociation
    from evenhand.systems.slurm.settings import SlurmSettings

__all__ = ["enforced", "limit_columns", "measures"]

#: Kinds of resources that Slurm has other words for.
_WORDS: Final = {"cpu": "cpu", "mem": "memory"}
#: What no job asks for when it starts.
_NEVER: Final = ("energy", "vmem", "pages", "fs/", "ic/")


def enforced(s: SlurmSettings) -> bool:
    """Whether limits are: ``AccountingStorageEnforce`` has limits, or is not said."""
    words = {word.lower() for word in s.AccountingStorageEnforce or ("limits",)}
    return bool(words & {"limits", "safe", "all", "1"})


def measures(snapshot: Snapshot) -> list[str]:
    """Return what limits may be of, in the core's order: the snapshot's resources as TRES, nodes, jobs."""
    words = TABLES["resources"]["kind"].words
    kinds = [words[kind] for kind in np.asarray(snapshot._head["kind"]).tolist()]
    shared = TABLES["resources"]["scope"].words.index("cluster")
    wide = (np.asarray(snapshot._head["scope"]) == shared).tolist()
    found, taken = [], set[str]()
    for name, kind, cluster in zip(snapshot.resources, kinds, wide, strict=True):
        word = next((tres for tres, of in _WORDS.items() if of == kind and not cluster), name.lower())
        found.append(name.lower() if word in taken else word)
        taken.add(word)
    return [*found, "node", "jobs"]


def limit_columns(snapshot: Snapshot, s: SlurmSettings) -> dict[str, Any]:
    """Return the limits under the core's names."""
    qos, associations = list(s.qos.values()), list(s.association_limits.values())
    names = measures(snapshot)
    of_qos = _rows(qos, names, 0)
    of_associations = _rows(associations, names, 2)
    if not enforced(s) or not (of_qos or of_associations):
        return {}
    places = {name: row for row, name in enumerate(s.qos)}
    above = {name: row for row, name in enumerate(s.association_limits)}
    parts = [*(partition.QOS for partition in s.partitions.values()), None]
    return {
        "any": True,
        "measures": names,
        "qos": of_qos,
        "associations": of_associations,
        "partition_qos": np.array([-1 if name is None else places[name] for name in parts], np.int32),
        "over_partition": np.array([one.OverPartQOS for one in qos], np.uint8),
        "association_of": above if of_associations else {},
        "parent": np.array([above.get(one.parent or "", -1) for one in associations], np.int32),
    }


def _rows(rows: Sequence[QosLimits | SlurmAssociation], names: list[str], side: int) -> dict[str, Any]:
    """Return the tables of QOS (side 0) or associations (2) of which some limit is set."""
    found: dict[str, Any] = {}
    unread = [_unread(row, names, side) for row in rows]
    for kind, fields in LIMITS.items():
        amounts, count = fields[side : side + 2]
        if kind == "wall":
            walls = [getattr(row, amounts) for row in rows]
            if any(wall is not None for wall in walls):
                found[kind] = np.array([np.inf if wall is None else wall for wall in walls], np.float64)
        elif kind == "unread":
            if any(unread):
                found[kind] = unread
        else:
            table = np.full((len(rows), len(names)), np.inf)
            scale = 60.0 if kind.endswith("_run") else 1.0
            for place, row in enumerate(rows):
                for name, most in (getattr(row, amounts) if amounts else {}).items():
                    if name in names:
                        table[place, names.index(name)] = most * scale
                most = getattr(row, count) if count else None
                if most is not None:
                    table[place, -1] = most
            if np.isfinite(table).any():
                found[kind] = table.ravel()
    return found


def _unread(row: QosLimits | SlurmAssociation, names: list[str], side: int) -> list[str]:
    """Return the limits of a row that cannot be judged."""
    found = list(row.unread_limits)
    for kind, fields in LIMITS.items():
        if kind in ("wall", "unread") or not fields[side]:
            continue
        for name in getattr(row, fields[side]):
            other = name.startswith(("gres/", "license/")) and name.split(":")[0] not in names
            if name not in names and not other and not name.startswith(_NEVER):
                found.append(f"{fields[side]} {name}")
    return found
