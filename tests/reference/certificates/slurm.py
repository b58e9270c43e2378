"""What a step of the Slurm policy had to choose from, by the readable rules of `tests.reference.slurm`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tests.reference.certificates.questions import Place, Question, whole
from tests.reference.slurm.backfill import Backfill
from tests.reference.slurm.queue import queue_of
from tests.reference.slurm.victims import freed, leave, may_help, place
from tests.reference.slurm.world import read_world

if TYPE_CHECKING:
    from evenhand.plans.plan import Plan
    from tests.reference.slurm.victims import Spots
    from tests.reference.slurm.world import Job, Request, Room

__all__ = ["question"]


class _Asked(Exception):
    def __init__(self, question: Question) -> None:
        self.question = question


def question(plan: Plan, step: int) -> Question:
    """Derive what the search of a step was asked.

    Parameters
    ----------
    plan : Plan
    step : int

    Returns
    -------
    Question

    Raises
    ------
    AssertionError
        If the run does not come to that step.

    Notes
    -----
    Everything is counted anew, in the passes of the run: the queue, priorities, which nodes are open, free
    room, which jobs may go, in which order. Victims of the steps before are the plan's.
    """
    state = {} if plan.state_before is None else plan.state_before.to_dict()
    kept = {} if plan.state_before is None else plan.state_before.operations
    last = {name: row["last_preempt"] for name, row in kept.items() if row.get("last_preempt") is not None}
    run = _Before(plan, step, state, last)
    queue = queue_of(run.world)
    passes = getattr(plan.on, "passes", None) or ("main", "backfill")
    try:
        if "main" in passes:
            run.main(queue)
        run.resume(None)
        run.skip(queue)
        if "backfill" in passes and run.world.settings.SchedulerType == "sched/backfill":
            run.backfill(queue)
    except _Asked as found:
        return found.question
    raise AssertionError(f"a run by the rules does not come to step {step}")


class _Before(Backfill):
    """A run whose victims are the plan's, until a step."""

    def __init__(self, plan: Plan, step: int, state: Any, last: dict[str | int, float]) -> None:
        super().__init__(read_world(plan.snapshot, plan.policy.settings, state), last)
        self.quantum = dict(plan.snapshot.quantum)
        self.step = step
        self.steps: dict[str, dict[int, list[str]]] = {}  # of a job: victims of its steps, in order
        for d in plan.decisions.to_list():
            if d["action"] == "preempt":
                of = self.steps.setdefault(str(d["beneficiary"]["operation"]), {})
                of.setdefault(d["step"], []).append(str(d["operation"]))

    def choose(
        self, base: Room, job: Job, wanted: list[Job], blocked: frozenset[str], *modes: Sequence[str]
    ) -> tuple[Spots, list[Job]] | None:
        """Return the victims of the plan."""
        left = self.steps.get(str(job.name), {})
        if not left:
            return None
        step, names = next(iter(left.items()))
        victims = [
            other
            for other in wanted
            if str(other.name) in names and may_help(self.world, job, other, blocked, *modes)
        ]
        spots = place(self.world, _without(self, base, victims), job, blocked) if victims else None
        if spots is None:  # another turn of the job, in which nothing makes room
            return None
        if step == self.step:
            raise _Asked(_question(self, base, job, wanted, blocked, *modes))
        return spots, victims

    def _leave(self, job: Job, victims: list[Job]) -> None:
        left = self.steps.get(str(job.name), {})
        if left:
            del left[next(iter(left))]
        super()._leave(job, victims)


def _without(run: _Before, base: Room, jobs: Sequence[Job]) -> Room:
    room = base.copy()
    for job in jobs:
        leave(run.world, room, job)
    return room


def _question(
    run: _Before, base: Room, job: Job, wanted: list[Job], blocked: frozenset[str], *modes: Sequence[str]
) -> Question:
    world = run.world
    on_nodes = [q for q in job.requests if not world.only_licences(q)]
    open_to = {id(q): world.open_to(job, q) - blocked for q in on_nodes}
    anywhere = frozenset().union(*open_to.values())
    needed = {r for q in job.requests for r in world.licences if q.amounts.get(r, 0) > 0}

    def matters(other: Job) -> bool:
        lends = world.settings.reclaim_licenses and any(
            a.amounts.get(r, 0) > 0 for a in other.running for r in needed
        )
        return lends or bool(other.nodes & anywhere)

    useful = [one for one in wanted if may_help(world, job, one, blocked, *modes) and matters(one)]
    by_name = {str(one.name): one for one in useful}

    def suffices(names: Sequence[str]) -> bool:
        gone = [by_name[name] for name in names]
        return place(world, _without(run, base, gone), job, blocked) is not None

    costs = tuple(int(world.costs.of(one.name, [a.name for a in one.running])) for one in useful)
    if len(on_nodes) > 1:
        return Question(tuple(by_name), costs, suffices)
    request = on_nodes[0] if on_nodes else None
    open_nodes = open_to[id(request)] if request is not None else frozenset()
    copies, places = _Places(run, base, job, useful).find(request, open_nodes)
    return Question(tuple(by_name), costs, suffices, copies=copies, places=places)


class _Places:
    """What nodes lack for a job, and what others free there; the last column: which jobs are in the way."""

    def __init__(self, run: _Before, base: Room, job: Job, useful: Sequence[Job]) -> None:
        self.run, self.world, self.base, self.job, self.useful = run, run.world, base, job, useful
        self.alone = job.whole_nodes or self.world.settings.SelectType == "select/linear"
        self.resources = [*run.quantum]

    def find(
        self, request: Request | None, open_nodes: frozenset[str]
    ) -> tuple[int, dict[str | None, Place]]:
        """Return how many nodes are wanted beside those that have room, and what each lacks."""
        places: dict[str | None, Place] = {}
        shared = self.of_licences()
        if shared is not None:
            places[None] = shared
        if request is None:
            return 0, places
        copies = request.count
        for node in self.world.nodes:
            if node not in open_nodes:
                continue
            lacks = self.lacks(request, node)
            if not any(lacking > 0 for lacking in lacks):
                copies -= 1
                continue
            frees = self.frees(node)
            had = [sum(row[i] for row in frees.values()) for i in range(len(lacks))]
            if all(given >= lacking for given, lacking in zip(had, lacks, strict=True)):
                places[node] = Place((lacks,), frees)
        return copies, places

    def row(self, amounts: dict[str, Fraction], in_the_way: int = 0) -> tuple[int, ...]:
        """Return amounts in quanta, and how many are in the way."""
        quantum = self.run.quantum
        return (*(whole(amounts.get(r, Fraction(0)), quantum[r]) for r in self.resources), in_the_way)

    def lacks(self, request: Request, node: str) -> tuple[int, ...]:
        """Return what a node lacks for a request."""
        free, there = self.base.free[node], self.base.there[node]
        missing = {
            r: max(v - free.get(r, Fraction(0)), Fraction(0))
            for r, v in request.amounts.items()
            if v > 0 and r not in self.world.licences
        }
        return self.row(missing, len(there) if self.alone else sum(one.whole_nodes for one in there))

    def frees(self, node: str) -> dict[str, tuple[int, ...]]:
        """Return what each job frees on a node, without those that free nothing there."""
        found = {}
        for other in self.useful:
            gives: dict[str, Fraction] = {}
            ways = 0
            for a in other.running:
                if a.node != node:
                    continue
                ways += 1 if self.alone else int(other.whole_nodes)
                for r, v in freed(self.world, other, a).items():
                    if r not in self.world.licences:
                        gives[r] = gives.get(r, Fraction(0)) + v
            row = self.row(gives, ways)
            if any(row):
                found[str(other.name)] = row
        return found

    def of_licences(self) -> Place | None:
        """Return what lacks of the licences that the cluster shares, None: nothing does."""
        world, need = self.world, dict[str, Fraction]()
        for q in self.job.requests:
            for r in world.licences:
                need[r] = need.get(r, Fraction(0)) + q.count * q.amounts.get(r, Fraction(0))
        free = self.base.free[None]
        missing = {r: v - free.get(r, Fraction(0)) for r, v in need.items() if v > 0}
        if not any(v > 0 for v in missing.values()):
            return None
        frees = {}
        for other in self.useful:
            gives: dict[str, Fraction] = {}
            for a in other.running if world.settings.reclaim_licenses else ():
                for r, v in freed(world, other, a).items():
                    if r in world.licences:
                        gives[r] = gives.get(r, Fraction(0)) + v
            row = self.row(gives)
            if any(row):
                frees[str(other.name)] = row
        lacks = {r: max(v, Fraction(0)) for r, v in missing.items()}
        return Place((self.row(lacks),), frees, must=True)
