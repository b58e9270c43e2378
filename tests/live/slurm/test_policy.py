"""What the Slurm policy plans for, and what a real slurmctld then does."""

from __future__ import annotations

import os
import random
import re
import time
from dataclasses import dataclass

import pytest

import evenhand as eh
from evenhand.systems.slurm.adapter.live import Slurm
from evenhand.systems.slurm.adapter.text import instant
from tests.conformance.slurm.cases import STATES
from tests.live.slurm.conftest import Cluster, emulator, started
from tests.live.slurm.scenarios import EXEMPT, Scenario, configurations, draw

pytestmark = [pytest.mark.live, pytest.mark.slow]

SCENARIOS = 30


@dataclass
class Played:
    """Victims of one scenario: by the plan, in truth, by the dry run, and the fewest."""

    planned: dict[str, str]
    real: dict[str, str]
    printed: set[str]
    now: bool
    printed_planned: set[str]
    fewest: set[str]
    said: str

    @property
    def right(self) -> bool:
        return self.planned == self.real

    @property
    def foretold(self) -> bool:
        """Whether the plan says the same as the dry run; of a later start it says nothing."""
        return self.printed_planned == (self.printed if self.now else set())


def submit(cluster: Cluster, partition: str, nodes: int, cpus: int, *more: str) -> str:
    return cluster.run(
        *("sbatch", "--parsable", "-p", partition, "-N", str(nodes), f"--ntasks-per-node={cpus}"),
        *("--mem-per-cpu=10", "-t", "60", "-o", "/dev/null", "-D", "/tmp", *more, "--wrap", "sleep 600"),
    ).strip()


def fill(cluster: Cluster, scenario: Scenario) -> list[str]:
    """Let jobs run where the scenario has them, in its order."""
    names: list[str] = []
    exempt = scenario.configuration.exempt
    gaps = "preempt_youngest_first" in scenario.configuration.parameters
    older = len(scenario.jobs) * 2 // 3
    for number, job in enumerate(scenario.jobs):
        if exempt and number == older:
            cluster.wait(names, "RUNNING")
            time.sleep(EXEMPT + 1.0)
        elif gaps and job.late and names:
            cluster.wait(names[-1:], "RUNNING")
            time.sleep(1.1)
        where = ("-w", ",".join(job.nodes))
        names.append(submit(cluster, job.partition, len(job.nodes), job.cpus, *where))
    cluster.wait(names, "RUNNING")
    return names


def would(cluster: Cluster, scenario: Scenario) -> tuple[set[str], bool]:
    """Return whom Slurm's own dry run says it would preempt, and whether that is now."""
    printed = cluster.said(
        *("sbatch", "--test-only", "-p", "high", "-N", str(scenario.nodes), "-t", "60"),
        *(f"--ntasks-per-node={scenario.cpus}", "--mem-per-cpu=10", "--wrap", "sleep 600"),
    )
    found = re.search(r"Preempts: ([\d,]+)", printed)
    start = re.search(r"to start at (\S+)", printed)
    at = instant(start[1]) if start else None
    return set(found[1].split(",")) if found else set(), at is not None and at < time.time() + 60


def watch(cluster: Cluster, running: list[str], urgent: str, seconds: float) -> dict[str, str]:
    """Return who left, and how, once the urgent job runs, or the time is over, and they have all left."""
    until = time.monotonic() + seconds
    left: dict[str, str] = {}
    started = False
    while True:
        jobs = cluster.jobs()
        for name in running:
            if jobs[name]["job_state"] != "RUNNING":
                left[name] = jobs[name]["job_state"]
        if jobs[urgent]["job_state"] == "RUNNING" and not started:
            started = True
            until = time.monotonic() + 0.5  # gang scheduling suspends a moment later
        if time.monotonic() > until and "COMPLETING" not in left.values():
            return left
        assert time.monotonic() < until + 120, left
        time.sleep(0.1)


def victims(plan: eh.Plan) -> dict[str, str]:
    return {str(d.operation): STATES[str(d.mode)] for d in plan.decisions.victims}


def play(cluster: Cluster, scenario: Scenario) -> Played:
    cluster.clear()
    running = fill(cluster, scenario)
    printed, now = would(cluster, scenario)
    urgent = submit(cluster, "high", scenario.nodes, scenario.cpus, "--hold")
    adapter = Slurm(evict="as_planned")
    snapshot, policy = adapter.snapshot(released=[urgent]), adapter.policy()
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
        now,
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
                if not (played[-1].right and played[-1].foretold):
                    with capsys.disabled():
                        print(f"\n{played[-1]}")
    right = sum(one.right for one in played)
    printed = sum(one.printed == set(one.real) for one in played)
    foretold = sum(one.foretold for one in played)
    killed = sum(len(one.real) for one in played)
    fewest = sum(len(one.fewest) for one in played)
    with capsys.disabled():
        print(
            f"\nseed {seed}, {len(played)} scenarios in {time.monotonic() - begin:.0f} s: victims as planned "
            f"in {right}; the dry run's list right in {printed}, as foretold in {foretold}; "
            f"{killed} jobs preempted where {fewest} are enough"
        )
    assert len(played) == SCENARIOS
    assert right == SCENARIOS
    assert printed < SCENARIOS
    assert foretold == SCENARIOS
    assert all(len(one.fewest) <= len(one.real) for one in played)
    assert fewest < killed
