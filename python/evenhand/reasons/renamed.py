"""Codes that have another name now.

Results, journals and programs of earlier versions have the old names. Numbers of codes did not change.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from evenhand.accepted import checked

__all__ = ["RENAMED", "current"]

#: Old name to new name. A name in it is never given to another code.
RENAMED: Final = MappingProxyType(
    {
        "dry_run_names_nobody": "dry_run_omits_victims",
        "goes_on": "resumes",
        "no_room_to_go_on": "no_room_to_resume",
        "nobody_asked": "not_considered",
        "nobody_may_go": "no_eligible_victims",
        "suspend_does_not_suit": "not_suspendable",
    }
)


@checked("reasons")
def current(code: str) -> str:
    """Return the name that a code has now.

    Parameters
    ----------
    code : str
        A code, perhaps as an earlier version wrote it.

    Returns
    -------
    str
        The same, unless it was renamed.
    """
    return RENAMED.get(code, code)
