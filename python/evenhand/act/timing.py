"""How long a driver waits for what, and by which clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Timing"]


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in seconds.

    Attributes
    ----------
    start : float
        How long a beneficiary may take to start before its victims get their place in the queue back.
    settle : float
        How long a command's effect may take to show.
    forget : float
        After how long a command that was never answered and never showed counts as lost.
    poll : float
        Between two looks.
    max_age : float
        The oldest snapshot that is acted on, and the oldest plan.
    clock, sleep : callable
        Seconds since 1970; waiting.
    """

    start: float = 120.0
    settle: float = 10.0
    forget: float = 600.0
    poll: float = 0.25
    max_age: float = 60.0
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def now(self) -> float:
        """Return the time."""
        return self.clock()

    def pause(self) -> None:
        """Wait between two looks."""
        self.sleep(self.poll)
