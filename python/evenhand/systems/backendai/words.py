"""What Backend.AI's policy compared, in names and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.systems.backendai import columns
from evenhand.systems.backendai.settings import choice_for

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.systems.backendai.settings import BackendAISettings

__all__ = ["compared"]


def compared(snapshot: Snapshot, s: BackendAISettings, code: str, row: int, asks: int) -> dict[str, Any]:
    """Return what was compared where a code was said of a session.

    Parameters
    ----------
    snapshot : Snapshot
    s : BackendAISettings
    code : str
    row, asks : int
        Rows of the operation and of that which asked; -1: none.

    Returns
    -------
    dict
        Names and values.
    """
    names = snapshot.names("operations")

    def rank(of: int) -> float:
        return float(columns.ranks(snapshot, s)[of])

    if code == "above_threshold":
        return {
            f"{s.preemption_key}_of_{names[row]}": rank(row),
            "preemptible_priority": s.preemptible_priority,
        }
    if code == "ran_too_short":
        return {"seconds": _ran(snapshot, row), "preemption_min_runtime": s.preemption_min_runtime}
    if code == "priority_out_of_range":
        lowest, highest = _range(snapshot, s, row)
        priority = float(columns.effective_priorities(snapshot, s)[0][row])
        return {f"priority_of_{names[row]}": priority, "lowest": lowest, "highest": highest}
    if asks < 0:
        return {}
    if code == "not_lower_priority":
        return {f"{s.preemption_key}_of_{names[of]}": rank(of) for of in (row, asks)}
    if code == "other_scope":
        return {f"{s.victim_scope}_of_{names[of]}": _scope(snapshot, s, of) for of in (row, asks)}
    return {}


def _ran(snapshot: Snapshot, row: int) -> float:
    core = snapshot._core
    mine = np.asarray(core.column("allocations", "operation")) == row
    starts = np.asarray(core.column("allocations", "start_time"))[mine]
    return snapshot.now - float(starts.min(initial=np.iinfo(np.int64).max)) / 1e6 if len(starts) else 0.0


def _range(snapshot: Snapshot, s: BackendAISettings, row: int) -> tuple[int, int]:
    return choice_for(s, _text(snapshot, "user", row), _text(snapshot, "project", row))[1]


def _scope(snapshot: Snapshot, s: BackendAISettings, row: int) -> Any:
    if s.victim_scope == "domain":
        return snapshot.settings("operations").get(row, {}).get("domain")
    return _text(snapshot, s.victim_scope, row)


def _text(snapshot: Snapshot, field: str, row: int) -> str | None:
    words, codes = snapshot._core.text("operations", field)
    return None if not len(codes) or codes[row] < 0 else str(words[codes[row]])
