"""Drawn snapshots, reported as text that can be pasted."""

from __future__ import annotations

from collections.abc import Mapping
from pprint import pformat
from typing import TYPE_CHECKING, Any

from hypothesis import currently_in_test_context, note

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["Pasted", "built"]


class Pasted:
    """Writes the call that makes a snapshot; only when it is shown, since drawing is frequent."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __repr__(self) -> str:
        return f"Snapshot.from_dict(\n{pformat(self._data, width=100, compact=True, sort_dicts=False)}\n)"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write the same where hypothesis prints: broken lines stay as they are."""
        del cycle
        printer.text(repr(self))


def built(data: Mapping[str, Any]) -> Snapshot:
    """Build a snapshot; hypothesis reports what it was built of beside a falsified example."""
    from evenhand.model import Snapshot

    snapshot = Snapshot.from_dict(data)
    if currently_in_test_context():
        note(Pasted(data))
    return snapshot
