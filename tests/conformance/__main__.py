"""Command line of the conformance runner."""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.conformance import files
from tests.conformance.case import Case, Checker
from tests.conformance.engines import ENGINES, Engine

SHOWN = 3
"""Mismatches shown of one failed case."""


@dataclass
class Tally:
    """What became of the cases of one kind."""

    passed: int = 0
    failed: int = 0
    uncovered: list[str] = field(default_factory=list)
    informational: int = 0
    worst: float = 0.0


def run(case: Case, engine: Engine) -> Checker:
    """Run a case; an exception is a failure of the case, not of the run."""
    assert case.run is not None
    try:
        return case.run(engine)
    except Exception as error:
        checker = Checker(broken=True)
        checker.fail("", "run", "an answer", f"{type(error).__name__}: {error}")
        return checker


def wanted(case: Case, kinds: Sequence[str], pattern: re.Pattern[str] | None) -> bool:
    """Apply ``--kind`` (a kind, or one of its parts between dots) and ``--match``."""
    chosen = not kinds or any(k == case.kind or k in case.kind.split(".") for k in kinds)
    return chosen and (pattern is None or pattern.search(case.name) is not None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all cases of the files; return 0 if every one of them passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="case files (json, jsonl, either gzipped)")
    parser.add_argument("--kind", action="append", default=[], help="only cases of this kind (repeatable)")
    parser.add_argument("--match", type=re.compile, help="only cases whose name matches this expression")
    parser.add_argument(
        "--engine", choices=ENGINES, default="evenhand", help="implementation to run fair shares on"
    )
    options = parser.parse_args(arguments)

    engine = ENGINES[options.engine]
    tallies: dict[str, Tally] = defaultdict(Tally)
    for path in options.files:
        try:
            found = list(files.cases(files.read(path)))
        except (OSError, ValueError) as error:
            parser.error(f"{path}: {error}")
        for case in found:
            if wanted(case, options.kind, options.match):
                count(case, tallies[case.kind], engine)

    width = max(map(len, tallies), default=0)
    for kind, tally in tallies.items():
        line = f"{kind:{width}}  {tally.passed:5} passed {tally.failed:5} failed"
        line += f" {len(tally.uncovered):5} not covered"
        if tally.informational:
            line += f" {tally.informational:3} tie-dependent"
        print(line + (f"  worst deviation {tally.worst:.1e}" if tally.passed and tally.worst else ""))
        if tally.uncovered:
            print("    not covered: " + ", ".join(tally.uncovered))
    passed = sum(t.passed for t in tallies.values())
    failed = sum(t.failed for t in tallies.values())
    uncovered = sum(len(t.uncovered) for t in tallies.values())
    print(f"{passed} passed, {failed} failed, {uncovered} not covered")
    return 0 if failed == uncovered == 0 else 1


def count(case: Case, tally: Tally, engine: Engine) -> None:
    """Run one case, print what is wrong with it, and count it."""
    if case.run is None:
        tally.uncovered.append(case.name)
        return
    checker = run(case, engine)
    if case.informational and not checker.broken:
        tally.informational += 1
        verdict = f"differs by at most {checker.worst:.3g}" if checker.mismatches else "agrees"
        print(f"tie-dependent {case.kind} {case.name}: {verdict}")
    elif checker.mismatches:
        tally.failed += 1
        print(f"FAILED {case.kind} {case.name}")
    else:
        tally.passed += 1
        tally.worst = max(tally.worst, checker.worst)
    for mismatch in checker.mismatches[:SHOWN]:
        print(f"    {mismatch}")
    if len(checker.mismatches) > SHOWN:
        print(f"    and {len(checker.mismatches) - SHOWN} more")


if __name__ == "__main__":
    sys.exit(main())
