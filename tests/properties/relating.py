"""Changes that must not matter, over drawn clusters of every system.

    python -m tests.properties.relating PAIRS [SYSTEM...] [--seed N]

draws so many clusters a system, holds each against every relation, prints the first difference of each
relation with the number of the cluster, and exits with 1 if there is any.
"""

from __future__ import annotations

import sys
from collections import Counter
from random import Random

from evenhand.errors import InputError
from evenhand.systems import SYSTEMS
from evenhand.testing.relations import RELATIONS, Case, hold
from evenhand.testing.strategies import relation_cases
from tests.drawing import each, every_system

__all__ = ["holds"]


def holds(system: str, count: int, first: int) -> bool:
    """Hold so many cases of a system against all relations; whether all hold."""
    tried: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    shown: dict[str, str] = {}
    drawn, some = 0, 0

    def look(case: Case) -> None:
        nonlocal drawn, some
        drawn += 1
        try:
            plans = case.plans()
        except InputError:
            return
        some += any(len(one.decisions) for one in plans)
        for name, relation in RELATIONS.items():
            try:
                tried[name] += hold(relation, case, Random(drawn), plans)
            except AssertionError as error:
                tried[name] += 1
                wrong[name] += 1
                shown.setdefault(name, f"cluster {drawn}: {error}")

    each(relation_cases(system), count, first, look)
    print(f"{system}: {drawn:,} clusters, {some:,} with decisions, {wrong.total():,} differences", flush=True)
    for name in RELATIONS:
        print(f"  {name}: {tried[name]:,} pairs, {wrong[name]:,} differ", flush=True)
        if name in shown:
            print(f"    {shown[name][:1500]}", flush=True)
    return not wrong


if __name__ == "__main__":
    sys.exit(every_system("tests.properties.relating", tuple(SYSTEMS), holds))
