"""Laws of Slurm notice a planner that breaks a rule of the two passes, not only a plan that was changed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any

import pytest

import evenhand as eh
from evenhand.systems.slurm.settings import SlurmSettings
from evenhand.testing import job_laws
from tests.properties.slurm.queueing import queue
from tests.properties.test_planted import Laws, broken
from tests.reference.slurm.backfill import Backfill
from tests.reference.slurm.queue import queue_of
from tests.reference.slurm.world import read_world

CLUSTERS = 300
ENOUGH = 3


class _ClosesNothing(Backfill):
    """A main pass that looks past each job that has to wait."""

    def _close(self, *_: Any) -> None:
        pass


class _ClosesNoNodes(Backfill):
    """A main pass that leaves the nodes of a closed partition to others."""

    def _close(self, job: Any, inside: frozenset[str], rule: str) -> None:
        self.closed[job.partition_name] = rule


class _KeepsNothing(Backfill):
    """A backfill pass that keeps no nodes for a job that has to wait."""

    def _keep(self, *_: Any) -> None:
        pass


class _LastFirst(Backfill):
    """Both passes go through the queue from its end."""

    def main(self, queue: list[Any]) -> None:
        queue.reverse()
        super().main(queue)


def planned(planner: type[Backfill], data: dict[str, Any], settings: SlurmSettings) -> job_laws.JobPlan:
    """The plan of a reference, in the form of the results' JSON as far as the laws read it."""
    snapshot = eh.Snapshot.from_dict(data)
    run = planner(read_world(snapshot, settings), {})
    waiting = queue_of(run.world)
    run.main(waiting)
    of_main = len(run.decisions)
    run.skip(waiting)
    if settings.SchedulerType == "sched/backfill":
        run.backfill(waiting)
    run.tell(waiting)
    nodes = {row["name"]: row["node"] for row in data["allocations"]}
    steps: dict[str, int] = {}
    decisions: list[Mapping[str, Any]] = []
    for i, d in enumerate(run.decisions):
        whom = str((d.get("beneficiary") or d)["operation"])
        decisions.append(
            {
                "stage": "scheduling_run" if i < of_main else "backfill",
                "step": steps.setdefault(whom, len(steps)),
                "node": nodes.get(str(d.get("allocation"))),
                **d,
                "beneficiary": {"operation": whom},
            }
        )
    plan = {"decisions": decisions, "refusals": run.refusals}
    return job_laws.JobPlan(snapshot.to_dict(), plan, settings)


@cache
def queues() -> list[tuple[dict[str, Any], SlurmSettings]]:
    chance = random.Random(3)
    return [queue(chance) for _ in range(CLUSTERS)]


def laws_broken(planner: type[Backfill], laws: Laws) -> Iterator[set[str]]:
    for data, settings in queues():
        yield broken(laws, planned(planner, data, settings))


def test_the_reference_breaks_no_law() -> None:
    assert not any(laws_broken(Backfill, job_laws.LAWS.values()))


@pytest.mark.parametrize(
    ("planner", "law"),
    [
        (_ClosesNothing, "closed_partitions_are_not_entered"),
        (_ClosesNoNodes, "closed_partitions_are_not_entered"),
        (_KeepsNothing, "planned_nodes_are_not_taken"),
        (_LastFirst, "closed_partitions_are_not_entered"),
        (_LastFirst, "the_first_job_preempts"),
    ],
)
def test_a_planner_that_breaks_a_rule_breaks_its_law(planner: type[Backfill], law: str) -> None:
    caught = filter(None, laws_broken(planner, [job_laws.LAWS[law]]))
    assert len([*islice(caught, ENOUGH)]) == ENOUGH
