"""Lives of clusters of every system, held against rows and states that are kept by hand.

    python -m tests.properties.living HISTORIES [SYSTEM...] [--seed N]

lets so many clusters a system live, prints how often each event, trigger and mode of preemption was drawn and
the first of each kind of difference with the number of its life, and exits with 1 if there is any.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from random import Random
from typing import Any

from evenhand.systems import SYSTEMS
from evenhand.testing.living.beginnings import seeded
from evenhand.testing.living.life import STEPS, Life
from evenhand.testing.strategies._picking import Pick
from tests.drawing import every_system

__all__ = ["holds", "lived"]

CHOICES = 96  # of one step
#: What happens how often.
WEIGHTS = {
    "events": 8,
    "rows return": 2,
    "rows succeed": 2,
    "time": 2,
    "plan": 3,
    "carry out": 4,
    "victims leave": 1,
    "read late": 1,
    "carry out late": 1,
    "report": 1,
    "look": 1,
    "elsewhere": 1,
    "mark": 1,
    "go back": 1,
    "wait": 1,
}
SHOWN = ("event", "batch", "trigger", "given", "plan", "victim", "decision", "carried", "elsewhere")


def lived(
    system: str, number: int, seed: int, counts: Counter[tuple[str, str]], *, steps: int | None = None
) -> list[Any]:
    """Let a cluster live; what happened until there was a difference, with that as last, or nothing."""
    chance = Random(f"{seed} {number}")
    begin = seeded(system, chance)
    life = Life(begin)
    try:
        for _ in range(steps or chance.randint(4, 16)):
            (step,) = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
            life.do(step, Pick(chance.randbytes(CHOICES)))
        life.ends()
    except Exception as error:  # whatever it is, it is a difference
        return [begin, *life.trace, error]
    finally:
        counts.update(life.counts)
    return []


def _kind(error: Exception) -> str:
    """Return an error without what is of its own life."""
    return re.sub(r"'[^']*'|\d+(\.\d+)?", "_", f"{type(error).__name__}: {error}")[:90]


def holds(system: str, count: int, seed: int) -> bool:
    """Let so many clusters live; whether there is no difference."""
    counts: Counter[tuple[str, str]] = Counter()
    wrong: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for number in range(count):
        if trace := lived(system, number, seed, counts):
            wrong[kind := _kind(trace[-1])] += 1
            shown.setdefault(kind, f"life {number}: {trace[-1]}")
    print(f"{system}: {count:,} lives, {wrong.total():,} with a difference", flush=True)
    for what in SHOWN:
        found = {said: n for (kind, said), n in sorted(counts.items()) if kind == what}
        print(f"  {what}: " + ", ".join(f"{said} {n:,}" for said, n in found.items()), flush=True)
    for kind, number in wrong.most_common():
        print(f"  DIFFERENCE {number:,} times: {shown[kind][:2000]}", flush=True)
    return not wrong


assert set(WEIGHTS) == set(STEPS)

if __name__ == "__main__":
    sys.exit(every_system("tests.properties.living", tuple(SYSTEMS), holds))
