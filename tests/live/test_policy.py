"""What the Slurm policy plans for, and what a real slurmctld then does."""

from __future__ import annotations

import os
import random
import re
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.adapters.slurm import Slurm
from tests.conformance.slurm_cases import STATES
from tests.live.conftest import Cluster, emulator, started
from tests.live.scenarios import EXEMPT, Scenario, configurations, draw

pytestmark = [pytest.mark.live, pytest.mark.slow]

SCENARIOS = 30


@dataclass
class Played:
    """Victims of one scenario: by the plan, in truth, by the dry run, and the fewest."""

    planned: dict[str, str]
    real: dict[str, str]
    printed: set[str]
    printed_planned: set[str]
    fewest: set[str]
    said: str

    @property
    def right(self) -> bool:
        return self.planned == self.real


def submit(cluster: Cluster, partition: str, nodes: int, cpus: int, *more: str) -> str:
    return cluster.run(
        *("sbatch", "--parsable", "-p", partition, "-N", str(nodes), f"--ntasks-per-node={cpus}"),
        *("--mem-per-cpu=10", "-t", "60", "-o", "/dev/null", "-D", "/tmp", *more, "--wrap", "sleep 600"),
    ).strip()


def fill(cluster: Cluster, scenario: Scenario) -> list[str]:
    """Let jobs run where the scenario has them, in its order."""
    names: list[str] = []
    exempt = scenario.configuration.exempt
    gaps = exempt or "preempt_youngest_first" in scenario.configuration.parameters
    older = len(scenario.jobs) * 2 // 3
    for number, job in enumerate(scenario.jobs):
        if exempt and number == older:
            time.sleep(EXEMPT + 1.0)
        elif gaps and job.late and number:
            time.sleep(1.1)
        where = ("-w", ",".join(job.nodes))
        names.append(submit(cluster, job.partition, len(job.nodes), job.cpus, *where))
        cluster.wait(names[-1:], "RUNNING")
    return names


def would(cluster: Cluster, scenario: Scenario) -> set[str]:
    """Return whom Slurm's own dry run says it would preempt."""
    printed = cluster.said(
        *("sbatch", "--test-only", "-p", "high", "-N", str(scenario.nodes), "-t", "60"),
        *(f"--ntasks-per-node={scenario.cpus}", "--mem-per-cpu=10", "--wrap", "sleep 600"),
    )
    found = re.search(r"Preempts: ([\d,]+)", printed)
    return set(found[1].split(",")) if found else set()


def watch(cluster: Cluster, running: list[str], urgent: str, seconds: float) -> dict[str, str]:
    """Return who left, and how, until the urgent job runs or the time is over."""
    until = time.monotonic() + seconds
    left: dict[str, str] = {}
    while True:
        jobs = cluster.jobs()
        for name in running:
            if jobs[name]["job_state"] != "RUNNING":
                left[name] = jobs[name]["job_state"]
        if jobs[urgent]["job_state"] == "RUNNING":
            if until - time.monotonic() > 0.6:
                until = time.monotonic() + 0.5  # gang scheduling suspends a moment later
        if time.monotonic() > until:
            return left
        time.sleep(0.1)


def victims(plan: eh.Plan) -> dict[str, str]:
    return {str(d.operation): STATES[str(d.mode)] for d in plan.decisions.victims}


def play(cluster: Cluster, scenario: Scenario) -> Played:
    cluster.clear()
    running = fill(cluster, scenario)
    printed = would(cluster, scenario)
    urgent = submit(cluster, "high", scenario.nodes, scenario.cpus, "--hold")
    snapshot = Slurm(evict="as_planned").snapshot(released=[urgent])
    partitions = cluster.run("scontrol", "show", "partition")
    policy = eh.policies.Slurm.from_conf(Path(cluster.conf), partitions=partitions)
    cluster.run("scontrol", "release", urgent)
    plans = {
        rule: eh.plan(snapshot, policy.replace(victim_selection=rule))
        for rule in ("reorder", "test_only", "minimum")
    }
    planned = victims(plans["reorder"])
    # A longer look where nobody is to go would see whoever is exempt no more.
    real = watch(cluster, running, urgent, 5.0 if scenario.configuration.exempt else 15.0)
    return Played(
        planned,
        real,
        printed,
        set(victims(plans["test_only"])),
        set(victims(plans["minimum"])),
        f"{scenario}\njobs {running}, urgent {urgent}: {cluster.jobs()[urgent]['job_state']} on "
        f"{cluster.jobs()[urgent]['nodes']}\n{snapshot.to_json()}",
    )


def test_thirty_random_scenarios(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Predicted victims are the real ones; the dry run's are not; the fewest are never more."""
    seed = int(os.environ.get("EVENHAND_LIVE_SEED") or random.randrange(10**6))
    chance = random.Random(seed)
    script = emulator()
    played: list[Played] = []
    groups = list(configurations(chance))
    begin = time.monotonic()
    for configuration in groups:
        with started(script, port=10, **configuration.options()) as cluster:
            monkeypatch.setenv("SLURM_CONF", cluster.conf)
            for _ in range(SCENARIOS // len(groups)):
                played.append(play(cluster, draw(chance, configuration)))
                if not played[-1].right:
                    with capsys.disabled():
                        print(f"\nplanned {played[-1].planned}, real {played[-1].real}: {played[-1].said}")
    right = sum(one.right for one in played)
    printed = sum(one.printed == set(one.real) for one in played)
    foretold = sum(one.printed == one.printed_planned for one in played)
    killed, fewest = (sum(len(x) for x in sets) for sets in zip(*((p.real, p.fewest) for p in played), strict=True))
    with capsys.disabled():
        print(
            f"\nseed {seed}, {len(played)} scenarios in {time.monotonic() - begin:.0f} s: victims as planned in "
            f"{right}; the dry run's list right in {printed} (and as planned in {foretold}); {killed} jobs "
            f"preempted where the fewest are {fewest}"
        )
    assert len(played) == SCENARIOS
    assert right == SCENARIOS
    assert printed < SCENARIOS
    assert foretold == SCENARIOS
    assert all(len(one.fewest) <= len(one.real) for one in played)
    assert fewest < killed
