"""What each action frees, as a table."""

from __future__ import annotations

from typing import Final

from evenhand import _core
from evenhand.reasons import MODES
from evenhand.systems.gridengine.record import LETTERS
from evenhand.table import Table

__all__ = ["KINDS", "effects"]

#: Kinds of what a job holds, as far as the actions differ in it.
KINDS: Final = ("slots", "memory", "other", "managed licence")


def effects() -> Table:
    """Return which action frees what.

    Returns
    -------
    Table
        One row an action, kind of resource and value of ``aapre``: ``frees`` is what becomes of it without
        ``preemptees_keep_resources``, ``keeping`` with it.

    Examples
    --------
    >>> table = effects()
    >>> cells = zip(table["action"], table["resource"], table["aapre"], table["frees"])
    >>> [(kind, bool(aapre)) for action, kind, aapre, frees in cells if (action, frees) == ("N", "kept")][:2]
    [('slots', False), ('memory', True)]
    """
    rows = [
        (letter, MODES[mode], kind, available, *_cells(mode, number, available))
        for mode, letter in enumerate(LETTERS)
        for number, kind in enumerate(KINDS)
        for available in (True, False)
    ]
    names = ("action", "mode", "resource", "aapre", "frees", "keeping")
    return Table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), title="effects")


def _cells(mode: int, kind: int, available: bool) -> tuple[str, str]:
    if not _core.preemption_frees(mode, kind, available):
        return "kept", "kept"
    stops = mode >= MODES.index("preempt")
    cut = stops and KINDS[kind] != "managed licence"
    return "free", "as much as the preemptor takes" if cut else "free"
