"""Every code that a plan says: why something was decided, why something was not, what no longer holds.

`TABLE` has the codes of all systems, from their records: the sentences of explanations, the reference page
and the numbers of the core (the place of a code among those of its kind) come from it. A code never changes
its meaning; one that was renamed is still found by its old name (`RENAMED`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenhand.reasons.checks import CHECKED
from evenhand.reasons.pace import PACED
from evenhand.reasons.renamed import RENAMED, current
from evenhand.systems import SYSTEMS
from evenhand.systems.reason import STARVATION, Kind, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "ACTIONS",
    "CHECKS",
    "GROUPS",
    "MODES",
    "OUTCOMES",
    "PRIORITIES",
    "REASONS",
    "RENAMED",
    "STAGES",
    "STARVATION",
    "STATUSES",
    "TABLE",
    "Kind",
    "Reason",
    "add",
    "current",
    "reason",
]


_UNSEEN = (
    Reason(
        "not_considered",
        "unseen",
        "no stage of this plan considered it",
        "No stage had a reason to consider it: no request that could use it was entitled to preempt.",
    ),
)

#: All codes: those of one kind stand in the order of the core's enumeration.
TABLE: Final[list[Reason]] = []

#: Codes by the numbers that a core gives.
REASONS: Final[list[str]] = []
STAGES: Final[list[str]] = []
OUTCOMES: Final[list[str]] = []
CHECKS: Final[list[str]] = []

#: Words of the other enumerations, likewise.
ACTIONS: Final = ("start", "preempt", "resume", "reserve", "release")
MODES: Final = ("terminate", "requeue", "checkpoint", "preempt", "enhanced_suspend", "suspend")
STATUSES: Final = ("normal", "below_fair_share")
GROUPS: Final = ("non_preemptible", "aggressively_preemptible", "preemptible")
PRIORITIES: Final = ("none", "normal", "aggressive")

_NUMBERED: Final[dict[Kind, list[str]]] = {
    "victim": REASONS,
    "start": REASONS,
    "stage": STAGES,
    "request": OUTCOMES,
    "allocation": OUTCOMES,
    "check": CHECKS,
}
_ROWS: Final[dict[tuple[Kind, str], Reason]] = {}


def add(rows: Iterable[Reason]) -> None:
    """Add codes after all others of their kinds, whose numbers stay.

    Parameters
    ----------
    rows : iterable of Reason

    Raises
    ------
    ValueError
        If there is such a code of that kind already, or a code had that name before; nothing is added then.
    """
    new = {(row.kind, row.code): row for row in rows}
    if twice := sorted(code for kind, code in new if (kind, code) in _ROWS or code in RENAMED):
        raise ValueError(f"there are codes {', '.join(twice)} already")
    for key, row in new.items():
        _ROWS[key] = row
        TABLE.append(row)
        if row.kind in _NUMBERED:
            _NUMBERED[row.kind].append(row.code)


def reason(code: str, *kinds: Kind) -> Reason:
    """Return the row of a code.

    Parameters
    ----------
    code : str
        A code of `TABLE`, or the name that it had before.
    *kinds : str
        Kinds to look among, in this order; all unless given.

    Returns
    -------
    Reason

    Raises
    ------
    KeyError
        If there is no such code.
    """
    code = current(code)
    for kind in kinds or tuple(dict.fromkeys(row.kind for row in TABLE)):
        if (kind, code) in _ROWS:
            return _ROWS[kind, code]
    raise KeyError(code)


for _system in SYSTEMS.values():
    add(_system.reasons)
add(PACED)
add(_UNSEEN)
add(CHECKED)
