"""What Backend.AI's users are told of a session that leaves, or waits."""

from __future__ import annotations

from typing import Final

from evenhand.systems.letters import letters
from evenhand.systems.reason import Clause

__all__ = ["LETTERS"]

LETTERS: Final = {
    **letters(
        "session",
        {
            "terminate": "it ends: what it has not saved is lost, and it does not start again by itself",
            "requeue": "it ends and waits in the queue again: it starts anew, and what it has not saved is"
            " lost",
            "suspend": "it is suspended, and resumes once all of it fits again",
        },
    ),
    ("rule", "lower_priority"): (
        Clause("session {asks} has a higher {key:part}priority: {rank_of_asks}, and this one {rank}"),
    ),
}
