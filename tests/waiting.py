"""Waiting for another process or thread: the only clock of the suite, and nothing is compared with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import sleep  # itself: tests give modules another one
from typing import TypeVar

T = TypeVar("T")

HANG = 600.0
"""Seconds after which a wait is a hang, and a failure: no busy machine takes so long."""
PAUSE = 0.005


def until(holds: Callable[[], T], what: str = "it never happened") -> T:
    """Look again and again until something holds, and return it; fail after `HANG` seconds."""
    for _ in range(int(HANG / PAUSE)):
        if found := holds():
            return found
        pause()
    raise AssertionError(what)


def pause(_: float = 0.0) -> None:
    """Let others go on; what it is given is what a clock of one's own would wait."""
    sleep(PAUSE)


async def soon(holds: Callable[[], T], what: str = "it never happened") -> T:
    """Look again and again, as `until` does, while other tasks run."""
    for _ in range(int(HANG / PAUSE)):
        if found := holds():
            return found
        await asyncio.sleep(PAUSE)
    raise AssertionError(what)
