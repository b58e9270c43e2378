"""What YuniKorn's users are told of an allocation that leaves, or an ask that waits."""

from __future__ import annotations

from typing import Final

from evenhand.systems.letters import letters

__all__ = ["LETTERS"]

LETTERS: Final = letters(
    "application",
    {
        "terminate": "it is ended{in_time:part}: what it has not saved is lost, and its application"
        " has to ask for it again"
    },
    part="allocation",
)
