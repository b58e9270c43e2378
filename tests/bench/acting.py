"""What reading costs a driver: dry runs on small fakes of Slurm and Grid Engine where thousands of jobs wait.

``python -m tests.bench.acting`` plans for each system, and rehearses one step and four, by whole readings and
by what has changed. The fakes answer as many bytes a job as real commands print; what the fakes themselves
take is counted apart, as a controller's time would be.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import evenhand as eh
from evenhand.act import Caps, Driver
from evenhand.adapters.commands import Result
from evenhand.adapters.gridengine import GridEngine
from evenhand.adapters.slurm import Slurm
from tests.bench.fair_share import host
from tests.shared import DATA
from tests.unit.act.gridengine import cluster as gridengine
from tests.unit.act.slurm import cluster as slurm

__all__ = ["SYSTEMS", "rehearsed"]

MOST = 4  # steps
RULES = {"automatic_preemption": True, "max_preemptees": 100, "preemption_distance": 0.0}
CPUS = 8  # of a node of Slurm's; two jobs run on each
SLOTS = 1000  # of the one host of Grid Engine's


class Counted:
    """Runs the commands of a fake; how long it takes, and how many bytes of which commands it answers."""

    def __init__(self, fake: Callable[[Sequence[str], float], Result]) -> None:
        self.fake, self.seconds, self.cpu = fake, 0.0, 0.0
        self.calls, self.bytes = Counter[str](), Counter[str]()

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        begin, cpu = time.perf_counter(), time.process_time()
        result = self.fake(arguments, timeout)
        self.seconds += time.perf_counter() - begin
        self.cpu += time.process_time() - cpu
        kind = _kind(list(arguments))
        self.calls[kind] += 1
        self.bytes[kind] += len(result.out)
        return result


def _kind(words: list[str]) -> str:
    if words[0] == "env":
        return "listing" if words[-1] == "t" else "listing of held jobs"
    if words[0] == "squeue":
        some = any(word.startswith("--jobs=") for word in words)
        kind = "jobs" if "--json" in words else "listing"
        return f"{kind} ({'some' if some else 'all'})"
    if "-j" in words:
        return "details (all)" if words[-1] == "*" else "details (some)"
    return "configuration"


class Queue(slurm.FakeSlurm):
    """Nothing starts by itself; rows have all fields of those recorded of a real controller."""

    def __init__(self, waiting: int, steps: int) -> None:
        nodes = {f"n{n}": CPUS for n in range(max(waiting // 20, MOST))}
        runs = [slurm.job(n + 1, CPUS // 2, node=f"n{n // 2}", json="low") for n in range(2 * len(nodes))]
        first = len(runs) + 1
        waits = [
            slurm.job(first + n, CPUS, priority=9000 - n, json=f"high{n}" if n < steps else "low")
            for n in range(waiting)
        ]
        super().__init__(slurm.Clock(), nodes, [*runs, *waits])
        said = self.shows["partition"]
        self.shows["partition"] = "".join(said.replace("=main", f"={name}") for name in _partitions())
        self._rows = _recorded()

    def schedule(self) -> None:
        """Start nothing."""

    def sinfo(self, rest: list[str]) -> Result:
        found = super().sinfo(rest)
        return Result(found.status, found.out.replace('["main"]', json.dumps(_partitions())), found.err)

    def _json(self, j: dict[str, Any]) -> dict[str, Any]:
        return self._rows[j["state"]] | super()._json(j) | {"partition": j["json"]}

    def _cells(self, j: dict[str, Any]) -> dict[str, Any]:
        return super()._cells(j) | {"partition": j["json"]}


def _partitions() -> list[str]:
    return ["low", *(f"high{n}" for n in range(MOST))]


def _recorded() -> dict[str, dict[str, Any]]:
    """Return a plain row of ``squeue --json`` by state."""
    data = json.loads(gzip.decompress((DATA / "slurm-26.05.json.gz").read_bytes()))
    texts = [one["out"] for one in data["commands"] if one["arguments"] == ["squeue", "--json"]]
    rows = {row["job_id"]: row for row in json.loads(texts[0])["jobs"]}
    return {"RUNNING": rows[3], "PENDING": rows[20]}


class Cell(gridengine.Engine):
    """Nothing starts by itself; rows and details have what a real qmaster writes beside."""

    def __init__(self, waiting: int, steps: int) -> None:
        runs = {n: gridengine.job(start=gridengine.T0 - 5000 + n) for n in range(1, SLOTS + 1)}
        waits = {
            SLOTS + 1 + n: gridengine.job("qw", priority=0.9 if n < steps else 0.4, start=gridengine.T0 - 500)
            for n in range(waiting)
        }
        super().__init__(runs | waits, gridengine.Clock())
        listing, details = ((DATA / "gridengine" / f"{name}.xml").read_text() for name in ("jobs", "details"))
        self._row = _beside(listing, "<slots>1</slots>", "</job_list>")
        self._detail = _beside(details, "</JB_submission_time>", "</element>\n    <element>")

    def schedule(self) -> None:
        """Start nothing."""

    def _said(self, program: str, words: tuple[str, ...]) -> str:
        said = super()._said(program, words)
        if program in ("qhost", "qconf"):
            return said.replace(">4<", f">{SLOTS}<").replace("slots 4", f"slots {SLOTS}")
        tag, more = ("</element>", self._detail) if "-j" in words else ("</job_list>", self._row)
        return said.replace(tag, more + tag)


def _beside(text: str, begin: str, end: str) -> str:
    """Return what stands in a recorded row that the fake does not write itself and that asks for nothing."""
    row = text.partition(begin)[2].partition(end)[0]
    row = re.sub(r"<JB_hard_resource_list>.*</JB_hard_resource_list>", "", row, flags=re.DOTALL)
    said = ("JB_re", "pe name", "hard_request")  # JB_reserve, JB_restart
    return "".join(line for line in row.splitlines(keepends=True) if not any(word in line for word in said))


def of_slurm(waiting: int, steps: int) -> tuple[Counted, Slurm, Any]:
    """A fake, its adapter, and rules by which so many jobs preempt others."""
    fake = Queue(waiting, steps)
    run = Counted(fake)
    tiers: dict[str, Any] = {"low": {"PriorityTier": 1}}
    for n in range(MOST):  # a pass serves one job of those that share nodes
        tiers[f"high{n}"] = {"PriorityTier": 9, "PreemptMode": "OFF", "Nodes": [*fake.nodes][n::MOST]}
    policy = eh.policies.Slurm(PreemptType="preempt/partition_prio", PreemptMode="REQUEUE", partitions=tiers)
    return run, Slurm(runner=run, clock=fake.clock), policy


def of_gridengine(waiting: int, steps: int) -> tuple[Counted, GridEngine, Any]:
    """The same."""
    fake = Cell(waiting, steps)
    run = Counted(fake)
    adapter = GridEngine(runner=run, clock=fake.clock)
    return run, adapter, adapter.policy(**RULES)


SYSTEMS = {"slurm": of_slurm, "gridengine": of_gridengine}


class Whole:
    """An adapter that reads everything every time."""

    follow = None

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)


def rehearsed(system: str, waiting: int, steps: int, *, whole: bool) -> tuple[int, float, float, Counted]:
    """Return how many steps were rehearsed, seconds and those of cpu beside the fake, and what was asked."""
    from evenhand.act import Timing

    run, adapter, policy = SYSTEMS[system](waiting, steps)
    adapter.identity = system
    clock = run.fake.clock  # type: ignore[attr-defined]
    gc.collect()
    run.seconds = run.cpu = 0.0
    begin, cpu = time.perf_counter(), time.process_time()
    with (
        tempfile.TemporaryDirectory() as folder,
        Driver(
            Whole(adapter) if whole else adapter,
            Path(folder) / "journal",
            dry_run=True,
            caps=Caps(None, None, None, None),
            timing=Timing(clock=clock, sleep=clock.sleep),
        ) as driver,
    ):
        report = driver.act(eh.plan(driver.snapshot(), policy))
    seconds, own = time.perf_counter() - begin - run.seconds, time.process_time() - cpu - run.cpu
    return report.counts.get("dry_run", 0), seconds, own, run


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waiting", type=int, default=5000)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=[*SYSTEMS])
    given = parser.parse_args()
    print(host())
    for system in given.systems:
        for steps in (1, MOST):
            for whole in (True, False):
                done, seconds, cpu, run = rehearsed(system, given.waiting, steps, whole=whole)
                asked = ", ".join(
                    f"{run.calls[kind]} x {kind} {run.bytes[kind] / 1e6:.2f} MB"
                    for kind in sorted(run.bytes)
                    if run.bytes[kind] > 20_000
                )
                way = "whole readings" if whole else "what has changed"
                took = f"{seconds:6.2f} s, {cpu:6.2f} of cpu"
                print(f"{system:10} {given.waiting:,} wait, {done} steps, {way:16} {took}; {asked}")


if __name__ == "__main__":
    main()
