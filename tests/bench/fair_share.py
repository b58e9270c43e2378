"""Speed of the fair share update beside the published method, on the scaling trees.

``python -m tests.bench.fair_share``; the yardstick is built by ``cmake --preset bench`` and
``cmake --build --preset bench``. Times go from a built snapshot to results, one thread; goal and bar are
those of the project for an idle machine. Exits 1 if a check value is missed: a fast wrong answer is none.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import math
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import evenhand as eh
from evenhand import _core
from tests.bench import yardstick
from tests.conformance.ytsaurus import fair_share_input, scale_input

MISSED = 1e-9


@dataclass(frozen=True)
class Scaling:
    """One scaling tree and what is known and wanted of it; times in milliseconds."""

    operations: int
    pools: int
    depth: int
    variant: str
    check_value: float | None = None
    goal: float | None = None
    bar: float | None = None
    options: dict[str, Any] = field(default_factory=dict)
    published: bool = True  # False: quadratic time or memory is out of reach

    @property
    def label(self) -> str:
        shape = (
            f"{self.operations} in one pool"
            if self.pools == 1
            else f"{self.operations} in {self.pools} pools"
        )
        switches = [name if value is True else f"{name} {value}" for name, value in self.options.items()]
        return " ".join([self.variant, shape, *switches])

    def case(self) -> dict[str, Any]:
        return scale_input.tree(self.operations, self.pools, self.depth, self.variant, **self.options)


def one_pool(operations: int, **known: Any) -> Scaling:
    """All operations in one pool."""
    return Scaling(operations, 1, 1, "plain", **known)


CASES = (
    Scaling(100, 5, 4, "plain", 1.152400122156),
    Scaling(1000, 50, 4, "plain", 1.232537149703),
    Scaling(10_000, 500, 4, "plain", 1.227979292012),
    Scaling(100_000, 5000, 4, "plain", 1.215026708699),
    Scaling(100, 5, 4, "full", 1.143452346441),
    Scaling(1000, 50, 4, "full", 1.245587025053),
    Scaling(10_000, 500, 4, "full", 1.232365771064, goal=5, bar=10),
    Scaling(100_000, 5000, 4, "full", 1.211644441369, goal=60, bar=120),
    Scaling(10_000, 500, 4, "full", 1.233595073318, options={"gang": 0.3}),
    Scaling(10_000, 500, 4, "full", 1.233595073318, options={"gang": 0.3, "improved": True}),
    one_pool(1000),
    one_pool(10_000, check_value=1.225489559531, bar=5),
    one_pool(3000, check_value=1.231194629138, options={"improved": True}),
    one_pool(10_000, check_value=1.225489559531, bar=6, options={"improved": True}, published=False),
    one_pool(
        10_000, check_value=1.224672313486, bar=8, options={"improved": True, "gang": 0.3}, published=False
    ),
    one_pool(100_000, bar=70, published=False),
)
SMALLEST_FOR_MEMORY = 10_000
CHANGED = 10_000  # operations of the trees in which one of them changes
CHANGE_BAR = {"tree": 2.0, "one pool": 3.5}


@dataclass(frozen=True)
class Measured:
    """Milliseconds of repeated calls, and what the calls gave."""

    times: tuple[float, ...]
    result: Any

    @property
    def median(self) -> float:
        return statistics.median(self.times)


def measure(call: Callable[[], Any], clock: Callable[[], int], seconds: float) -> Measured:
    """Call for about so long, at least three and at most 51 times."""
    result = call()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < seconds * 1000 and len(times) < 51):
        start = clock()
        result = call()
        times.append((clock() - start) / 1e6)
    return Measured(tuple(times), result)


def options_of(case: dict[str, Any], resources: Sequence[str]) -> _core.FairShareOptions:
    """Options of a case in the core's form."""
    options = _core.FairShareOptions()
    options.main_resource = resources.index(case["options"]["main_resource"])
    options.improved = case["options"].get("improved", False)
    options.step_function_for_gang = case["options"].get("step_function_for_gang", False)
    return options


def snapshot_of(case: dict[str, Any]) -> eh.Snapshot:
    """Snapshot of a case."""
    data = fair_share_input.snapshot(
        case["total"],
        case["pools"],
        case["operations"],
        now=case["now"],
        previous=case["previous"],
        root_name="root",
    )
    return eh.Snapshot.from_dict(data, order="rows")


def run(scaling: Scaling, clock: Callable[[], int], seconds: float, *, compare: bool) -> dict[str, Any]:
    """Measure one tree."""
    case = scaling.case()
    snapshot = snapshot_of(case)
    options = options_of(case, snapshot.resources)
    core = snapshot._core
    engine = measure(lambda: _core.fair_share(core, options), clock, seconds)
    first = len(case["pools"]) + 1
    value = yardstick.check_value(engine.result.column("fair_share"), first)
    expected = scaling.check_value
    published = None
    if compare and scaling.published:
        published = measure(yardstick.read(case).fair_share, clock, seconds)
        if expected is None:
            expected = yardstick.check_value(published.result, first)
    return {
        "scaling": scaling,
        "engine": engine,
        "published": published,
        "deviation": None if expected is None else value - expected,
    }


def print_changes(chosen: Sequence[Scaling], clock: Callable[[], int], seconds: float) -> int:
    """Measure updates after a change of one operation's demand; each must have the bits of a full update."""
    print(f"{host()}; milliseconds after a change of one operation")
    print(f"{'tree':46} {'engine':>9} {'min':>9} {'bar':>6}")
    status = 0
    for scaling in chosen:
        if scaling.operations == CHANGED and not scaling.options:
            status |= print_change(scaling, clock, seconds)
    return status


def print_change(scaling: Scaling, clock: Callable[[], int], seconds: float) -> int:
    """Measure one tree, going back and forth between two snapshots of it."""
    case = scaling.case()
    snapshots = [snapshot_of(case)]
    demand = case["operations"][CHANGED // 3]["demand"]
    demand["cpu"] = round(demand["cpu"] * 0.75, 2)
    snapshots.append(snapshot_of(case))
    options = options_of(case, snapshots[0].resources)
    engine = _core.FairShareEngine()
    turn = itertools.cycle(snapshot._core for snapshot in snapshots)
    engine.update(next(turn), options)
    got = measure(lambda: engine.update(next(turn), options), clock, seconds)
    bar = CHANGE_BAR["one pool" if scaling.pools == 1 else "tree"]
    print(f"{scaling.label:46} {got.median:9.3f} {min(got.times):9.3f} {bar:6.1f}", flush=True)
    for snapshot in snapshots:
        once = engine.update(snapshot._core, options).column("fair_share")
        if once.tobytes() != _core.fair_share(snapshot._core, options).column("fair_share").tobytes():
            print(f"differs from the full update: {scaling.label}", file=sys.stderr)
            return 1
    return 0


def memory(scaling: Scaling) -> float:
    """Peak memory of one update above that of the built snapshot, in MiB; for a process of its own."""
    case = scaling.case()
    snapshot = snapshot_of(case)
    options = options_of(case, snapshot.resources)
    del case
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _status("VmRSS")
    shares = _core.fair_share(snapshot._core, options)
    after = _status("VmHWM")
    del shares
    return (after - before) / 1024


def _status(field: str) -> int:
    """Kibibytes of a field of this process' status."""
    for row in Path("/proc/self/status").read_text().splitlines():
        if row.startswith(field):
            return int(row.split()[1])
    raise KeyError(field)


def number(value: float | None, digits: int = 2) -> str:
    """A number, or a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def line(row: dict[str, Any]) -> str:
    """One line of the table."""
    scaling, engine, published = row["scaling"], row["engine"], row["published"]
    yard = None if published is None else published.median
    ratio = None if yard is None else yard / engine.median
    deviation = "-" if row["deviation"] is None else f"{abs(row['deviation']):.0e}"
    cells = [
        f"{scaling.label:46}",
        f"{engine.median:9.3f} {min(engine.times):9.3f}",
        f"{number(yard, 1):>10}",
        f"{number(ratio, 0):>6}",
        f"{number(scaling.goal, 0):>6} {number(scaling.bar, 0):>6}",
        f"{deviation:>10}",
    ]
    return " ".join(cells)


def growth(rows: Sequence[dict[str, Any]]) -> list[str]:
    """How time grows with operations, as the exponent from each size to the next."""
    lines = []
    for variant in ("plain", "full"):
        chosen = [r for r in rows if r["scaling"].variant == variant and r["scaling"].depth > 1]
        chosen = [r for r in chosen if not r["scaling"].options]
        for name in ("engine", "published"):
            times = [(r["scaling"].operations, r[name].median) for r in chosen if r[name] is not None]
            steps = [
                f"{a[0]} to {b[0]}: {math.log(b[1] / a[1]) / math.log(b[0] / a[0]):.2f}"
                for a, b in itertools.pairwise(times)
            ]
            if steps:
                lines.append(f"growth exponent, {variant}, {name}: " + ", ".join(steps))
    return lines


def print_memory(chosen: Sequence[Scaling]) -> int:
    """Measure each tree in a fresh process."""
    print(f"{'tree':46} {'peak MiB above the snapshot':>28}")
    for scaling in chosen:
        if scaling.operations >= SMALLEST_FOR_MEMORY:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(f"{scaling.label:46} {pool.apply(memory, (scaling,)):28.1f}", flush=True)
    return 0


def host() -> str:
    """The machine, for beside the figures."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            row.partition(":")[2].strip() for row in cpuinfo.read_text().splitlines() if "model name" in row
        ]
        model = names[0] if names else model
    return (
        f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fair_share", description=__doc__)
    parser.add_argument("--match", default="", help="only trees whose label contains this text")
    parser.add_argument("--largest", type=int, default=100_000, help="leave out trees with more operations")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each measurement")
    parser.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall", help="cpu: time of this thread, for busy machines"
    )
    parser.add_argument(
        "--memory", action="store_true", help="print the peak memory of an update instead (Linux)"
    )
    parser.add_argument("--change", action="store_true", help="measure updates after a small change instead")
    parser.add_argument("--engine-only", action="store_true", help="without the yardstick")
    options = parser.parse_args(arguments)
    clock = time.perf_counter_ns if options.clock == "wall" else time.thread_time_ns
    compare = not options.engine_only and yardstick.built()

    chosen = [c for c in CASES if options.match in c.label and c.operations <= options.largest]
    if options.memory:
        return print_memory(chosen)
    if options.change:
        return print_changes(chosen, clock, options.seconds)
    print(f"{host()}; {options.clock} clock, milliseconds")
    if not compare and not options.engine_only:
        print("yardstick not built (preset bench): engine only")
    head = f"{'tree':46} {'engine':>9} {'min':>9} {'yardstick':>10} {'ratio':>6}"
    print(f"{head} {'goal':>6} {'bar':>6} {'check off':>10}")
    rows = []
    for scaling in chosen:
        rows.append(run(scaling, clock, options.seconds, compare=compare))
        print(line(rows[-1]), flush=True)
    print(*growth(rows), sep="\n")
    missed = [row["scaling"].label for row in rows if row["deviation"] and abs(row["deviation"]) > MISSED]
    for label in missed:
        print(f"check value missed: {label}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
