"""Waiting for another process or thread: the only clock of the suite, and nothing is compared with it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
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
        time.sleep(PAUSE)
    raise AssertionError(what)


async def soon(holds: Callable[[], T], what: str = "it never happened") -> T:
    """Look again and again, as `until` does, while other tasks run."""
    for _ in range(int(HANG / PAUSE)):
        if found := holds():
            return found
        await asyncio.sleep(PAUSE)
    raise AssertionError(what)
