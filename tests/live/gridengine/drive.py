"""A driver in a process of its own, which may be killed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

RULES = {"automatic_preemption": True, "max_preemptees": 100, "preemption_distance": 0.0}


def run(names: dict[str, str], folder: str, rounds: int, options: dict[str, Any]) -> None:
    """Watch a cluster by its own rules, with automatic preemption."""
    os.environ.update(names)
    from evenhand.act import Caps, Driver, Timing, watch
    from evenhand.systems.gridengine.adapter.live import GridEngine
    from tests.live.kills import Noted

    left = [rounds]

    def each(cycle: Any) -> None:
        left[0] -= 1
        if not left[0]:
            driver.stop.set()
        if cycle.error:
            with (Path(folder) / "errors").open("a") as file:
                file.write(cycle.error + "\n")

    adapter = GridEngine(runner=Noted(Path(folder)))
    action = options.pop("action", "R")
    timing = Timing(**({"start": 15.0, "settle": 8.0, "poll": 0.05} | options))
    place = Path(folder)
    caps = Caps(None, None, None, None)
    with Driver(adapter, place / "journal", lock=place / "lock", caps=caps, timing=timing) as driver:
        watch(driver, lambda: adapter.policy(**RULES, preemption_action=action), interval=0.1, each=each)
