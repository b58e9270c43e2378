"""Systems of other packages and of tests, beside those of this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand import reasons
from evenhand.systems import SYSTEMS

if TYPE_CHECKING:
    from evenhand.systems.record import System

__all__ = ["register"]


def register(system: System) -> None:
    """Add a system to all lists: policies by name, the command line, states, codes, the reference.

    Parameters
    ----------
    system : System

    Raises
    ------
    ValueError
        If there is a system of that word, or a code of another one is among its codes.
    """
    if system.word in SYSTEMS:
        raise ValueError(f"there is a system {system.word!r} already")
    reasons.add(system.reasons)
    SYSTEMS[system.word] = system
