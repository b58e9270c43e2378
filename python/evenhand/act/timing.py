"""How long a driver waits for what, and by which clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from evenhand.errors import InputError, shorten

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
    retry : float
        After how long a beneficiary for which jobs left, and which did not start, is served again; twice as
        long after every further time, at most 8 hours.
    poll : float
        Between two looks.
    max_age : float
        The oldest snapshot that is acted on, and the oldest plan.
    clock, sleep : callable
        Seconds since 1970; waiting.

    Raises
    ------
    ValueError
        If a time is not a number of seconds from 0 up, or is infinite.
    """

    start: float = 120.0
    settle: float = 10.0
    forget: float = 600.0
    retry: float = 1800.0
    poll: float = 0.25
    max_age: float = 60.0
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        """Refuse what would let a driver wait for ever."""
        for name in ("start", "settle", "forget", "retry", "poll", "max_age"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < math.inf:
                said = f"{name} is {shorten(value)}; it must be a number of seconds from 0 up"
                raise InputError.about("timing", name, "type", said, shorten(value))

    def now(self) -> float:
        """Return the time."""
        return self.clock()

    def steady(self) -> float:
        """Return seconds of a monotonic clock, for waiting; a clock that was given is used for that, too."""
        return time.monotonic() if self.clock is time.time else self.clock()

    def pause_after(self, failures: int) -> float:
        """Return how long a beneficiary is left alone that did not start so many times in a row."""
        if not failures:
            return 0.0
        return max(min(self.retry * 2.0 ** min(failures - 1, 32), 8 * 3600.0), 0.0)

    def pause(self) -> None:
        """Wait between two looks."""
        self.sleep(self.poll)
