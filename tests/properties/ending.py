"""Small drawn runs of every system: each has an end, and ticks that are passed over change nothing.

    python -m tests.properties.ending RUNS [SYSTEM...] [--seed N]

draws so many runs a system, whose work may never end by itself, fit nowhere or wait for nodes that are down,
and prints the seeds of those that have no end within as many steps, differ from the literal run, or refuse.
A run that does not even come to its next step within five minutes ends the command with a traceback.
"""

from __future__ import annotations

import faulthandler
import sys
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.simulate import Simulation
from tests.drawing import every_system
from tests.properties.simulating import SYSTEMS, Drawn, drawn

__all__ = ["cut", "wrong"]

#: What a run that goes on for ever would pass, and what a literal one is compared until at most.
STEPS, HORIZON = 2_000_000, 900.0
_HANG = 300.0


def cut(seed: int, system: str) -> Drawn:
    """Draw a run of which some work never ends by itself, and some fits nowhere."""
    rng = np.random.default_rng([seed, 1])
    endless, large, quiet = rng.choice([0.0, 0.3, 1.0]), rng.choice([0.0, 0.3, 1.0]), rng.random() < 0.5

    def change(rows: list[dict[str, Any]], events: list[dict[str, Any]]) -> None:
        for row in rows:
            if rng.random() < endless:
                row["run_time"] = None
            if rng.random() < large:
                row["resources"]["cpu"] = 99
        if quiet:
            events.clear()

    return drawn(seed, system, change)


def wrong(seed: int, system: str) -> str | None:
    """Say what is wrong with a drawn run, if anything is."""
    of = cut(seed, system)

    def made(*, literal: bool = False) -> Simulation:
        options = {"give_up_after": 20, "series_every": 0, "literal": literal, **of.clocks}
        return Simulation(of.snapshot, of.policy, of.workload, **options)

    run = made()
    if not run.advance(None, STEPS):
        return f"has no end within {STEPS:,} steps"
    try:
        run._must_end(None)
    except eh.InputError as error:
        if [problem.rule for problem in error.problems] != ["endless"]:
            return f"is refused: {error}"
    until = min(run.now + 100, HORIZON)
    skipped, literal = made(), made(literal=True)
    for one in (skipped, literal):
        if not one.advance(until, STEPS):
            return f"has not come to {until:g} s within {STEPS:,} steps"
    other = literal.result().raw
    for table, columns in skipped.result().raw.items():
        for name, column in columns.items():
            if not np.array_equal(column, other[table][name], equal_nan=column.dtype.kind == "f"):
                return f"differs from the literal run until {until:g} s: {table}.{name}"
    return None


def holds(system: str, count: int, first: int) -> bool:
    """Try so many runs of a system; whether none is wrong."""
    found = 0
    for seed in range(first, first + count):
        faulthandler.dump_traceback_later(_HANG, exit=True)
        if (said := wrong(seed, system)) is not None:
            found += 1
            print(f"{system}: seed {seed} {said}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    print(f"{system}: {count:,} runs, {found:,} wrong", flush=True)
    return found == 0


if __name__ == "__main__":
    sys.exit(every_system("tests.properties.ending", SYSTEMS, holds))
