"""Answers of one commit beside those of another: plans, states, and codes and numbers of explanations.

``python -m tests.golden.answers draw INPUTS`` writes the plans' inputs once: those of the conformance cases
and 2,000 drawn clusters a system. ``answer INPUTS ANSWERS`` writes what the installed package answers to
each. ``compare BEFORE AFTER`` prints the first differences and exits 1 if there is one; with ``--renamed
TABLE``, lines "old new", codes of before are read by their new names. Sentences are left out: they may be
written better.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import evenhand as eh
import tests.conftest  # noqa: F401 - what is drawn has a profile of it
from evenhand.systems import SYSTEMS
from evenhand.testing import strategies as es
from tests.conformance import files
from tests.conformance.engines import ENGINES
from tests.drawing import drawn
from tests.shared import SHARED

DRAWN = 2000
CASES = (
    *("ytsaurus-preemption.json", "seeds.json", "seeds-pinned.json", "priority.json"),
    "live-several.json",
)
LATER = 600.0
SENTENCES = ("message", "sentences", "text")
POLICIES = {word: system.policy for word, system in SYSTEMS.items()}

Record = dict[str, Any]


def record(
    snapshot: eh.Snapshot, policy: Any, state: Any = None, on: Any = None, given: Any = None
) -> Record:
    """Return a plan's inputs as plain values."""
    return {
        "snapshot": snapshot.to_dict(),
        "policy": policy.to_dict(),
        "state": None if state is None else state.to_dict(),
        "on": None if on is None else {"trigger": type(on).__name__, **asdict(on)},
        "given": None if given is None else json.loads(json.dumps(given, default=dict)),
    }


def recorded_cases() -> Iterator[Record]:
    """Yield the inputs of all plans that the conformance cases ask for."""
    found: list[Record] = []
    for policy in POLICIES.values():
        plan = policy.plan

        def listening(
            self: Any, snapshot: Any, state: Any = None, on: Any = None, given: Any = None, _plan: Any = plan
        ) -> Any:
            found.append(record(snapshot, self, state, on, given))
            return _plan(self, snapshot, state, on, given)

        policy.plan = listening  # type: ignore[method-assign]
    for name in CASES:
        for case in files.cases(files.read(SHARED / "cases" / name)):
            if case.run is None:
                continue
            try:
                case.run(ENGINES["evenhand"])
            except eh.InputError:
                continue
        yield from found
        found.clear()


def draw(system: str, count: int) -> list[Record]:
    """Return the inputs of drawn clusters of a system, the same every time."""

    def ytsaurus(x: es.PlanInput) -> Record:
        state = eh.State.from_dict(x.state) if x.state else None
        policy = eh.policies.YTsaurus(**x.settings.model_dump())
        return record(eh.Snapshot.from_dict(x.snapshot), policy, state, x.on, x.given)

    def other(x: tuple[Any, Any]) -> Record:
        policy = POLICIES[system](**x[1].model_dump())
        return record(eh.Snapshot.from_dict(x[0]), policy)

    def both(clusters: Any, settings: Any) -> tuple[Any, Callable[[Any], Record]]:
        return clusters.flatmap(lambda d: settings.map(lambda s: (d, s))), other

    strategies: dict[str, tuple[Any, Callable[[Any], Record]]] = {
        "ytsaurus": (es.plan_inputs(), ytsaurus),
        "backendai": both(es.session_groups(), es.backendai_settings()),
        "slurm": both(es.job_clusters(), es.slurm_settings()),
        "yunikorn": both(es.queue_partitions(), es.yunikorn_settings()),
        "gridengine": both(es.gridengine_clusters(), es.gridengine_settings()),
    }
    strategy, made = strategies[system]
    return [made(one) for one in drawn(strategy, count)]


def plain(value: Any) -> Any:
    """Leave sentences out."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items() if k not in SENTENCES}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def explained(plan: Any) -> Record:
    """Return codes and numbers of what the plan says of every allocation, request and operation."""
    found: Record = {}
    snapshot = plan.snapshot
    for table in ("allocations", "requests", "operations"):
        for name in snapshot.names(table):
            found[f"why {table} {name}"] = plan.why(name, table=table).to_dict()
            if table != "operations":
                found[f"why not {table} {name}"] = plan.why_not(name, table=table).to_dict()
    return found


def answer(given: Record) -> Record:
    """Return a plan, what it explains, and the plan ten minutes later."""
    system = given["policy"]["system"]
    said = {k: v for k, v in given["policy"].items() if k != "system"}
    policy = POLICIES[system](**said)
    snapshot = eh.Snapshot.from_dict(given["snapshot"])
    state = None if given["state"] is None else eh.State.from_dict(given["state"])
    on = given["on"]
    if on is not None:
        on = getattr(eh, on["trigger"])(**{k: v for k, v in on.items() if k != "trigger"})
    try:
        plan = eh.plan(snapshot, policy, state, on=on, given=given["given"])
    except eh.InputError as error:
        return {"problems": [(p.table, p.row, p.name, p.field, p.rule) for p in error.problems]}
    later = eh.plan(
        snapshot.replace(now=snapshot.now + LATER), policy, plan.state, on=on, given=given["given"]
    )
    found = {"plan": plan.to_dict(), "counts": plan.counts, "due": plan.next_due, "later": later.to_dict()}
    return plain({**found, "explained": explained(plan)})


def lines(path: Path) -> Iterator[Any]:
    """Yield the values of a file, a line each."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def write(path: Path, values: Iterator[Any]) -> int:
    """Write values, a line each; return how many."""
    count = 0
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        for value in values:
            file.write(json.dumps(value, sort_keys=True, ensure_ascii=False) + "\n")
            count += 1
    return count


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Read codes by their new names, as values and as keys."""
    if isinstance(value, dict):
        return {names.get(k, k): renamed(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [renamed(v, names) for v in value]
    return names.get(value, value) if isinstance(value, str) else value


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Yield where two values differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from differences(before.get(key), after.get(key), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (a, b) in enumerate(zip(before, after, strict=True)):
            yield from differences(a, b, f"{path}[{i}]")
    elif before != after or type(before) is not type(after):
        yield f"{path}: {before!r} -> {after!r}"


def compare(before: Path, after: Path, names: Mapping[str, str]) -> int:
    """Print how many answers differ, and where the first ones do; return 1 if one does."""
    differ = count = 0
    for count, (a, b) in enumerate(zip(lines(before), lines(after), strict=True), 1):
        found = list(differences(renamed(a, names), b))
        differ += bool(found)
        if found and differ <= 5:
            print(f"input {count - 1}: {len(found)} differences, first {found[0]}")
    print(f"{count} inputs, {differ} answered in another way")
    return int(differ > 0)


def main() -> int:
    """Draw, answer or compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.answers", description=__doc__)
    parser.add_argument("what", choices=("draw", "answer", "compare"))
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--renamed", type=Path)
    given = parser.parse_args()
    if given.what == "draw":
        drawn = [one for system in POLICIES for one in draw(system, DRAWN)]
        print(write(given.paths[0], iter([*recorded_cases(), *drawn])), "inputs")
        return 0
    if given.what == "answer":
        print(write(given.paths[1], map(answer, lines(given.paths[0]))), "answers")
        return 0
    names = dict(line.split() for line in given.renamed.read_text().splitlines()) if given.renamed else {}
    return compare(given.paths[0], given.paths[1], names)


if __name__ == "__main__":
    sys.exit(main())
