"""How many ran in a queue where something stops or resumes by that count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["queue_numbers"]


def queue_numbers(columns: Mapping[str, NDArray[Any]], row: int) -> dict[str, Any]:
    """Return what was counted for a decision."""
    names = columns.get("queue")
    if names is None or not str(names[row]):
        return {}
    found: dict[str, Any] = {"queue": str(names[row])}
    if columns["queue_most"][row] > 0:
        found |= {"count": int(columns["queue_count"][row]), "most": int(columns["queue_most"][row])}
    if columns["queue_level"][row] >= 0:
        found |= {"level": int(columns["queue_level"][row]), "seq_no": int(columns["queue_seq"][row])}
    return found
