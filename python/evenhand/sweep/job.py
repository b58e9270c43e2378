"""One point of a sweep: a plan or a simulation, and the metrics of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import _core
from evenhand.accepted import kind_of_annotation, taken
from evenhand.building.problems import nearest, shorten
from evenhand.errors import InputError, Problem, printable
from evenhand.plans.memory import fingerprint
from evenhand.plans.planning import plan
from evenhand.provenance import of_policy, seed_of
from evenhand.reasons import STAGES, STARVATION
from evenhand.simulate.metrics import compute, measure
from evenhand.simulate.record import record_of
from evenhand.simulate.running import Simulation
from evenhand.sweep.space import Point, applied
from evenhand.units.text import instant

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.plans import Plan
    from evenhand.simulate.workload import Workload
    from evenhand.state import State
    from evenhand.sweep.bounds import Judge

__all__ = ["COUNTED", "Job", "Stopped", "plan_metrics"]

#: Counts by stage and reason, which are left out where they are 0.
COUNTED = ("preemptions.stage.", "preemptions.reason.", "victims.stage.")

_NAMES = kind_of_annotation("Iterable[str]")


class Stopped(Exception):
    """A run was ended before its end, as what asked for it has no more use for it."""


@dataclass(frozen=True)
class Job:
    """What all points of a sweep have in common; it is sent to a worker once."""

    snapshot: Snapshot
    policies: tuple[Any, ...]
    workload: Workload | None = None
    metrics: tuple[str, ...] | None = None
    until: float | None = None
    warm_up: float = 0.0
    rng: int | None = None
    state: State | None = None
    on: Any = None
    as_if_waiting: Any = None
    clocks: Mapping[str, Any] = field(default_factory=dict)
    most_preemptions: float | None = None
    judge: Judge | None = None

    @property
    def fingerprint(self) -> str:
        """Hexadecimal digest of everything that numbers follow from, beside the points."""
        parts = [
            *(_core.__version__, self.snapshot.fingerprint, [p.to_dict() for p in self.policies]),
            *(self.workload and self.workload.fingerprint, self.metrics, self.until, self.warm_up, self.rng),
            *(self.state and self.state.to_dict(), self.on, self.as_if_waiting, sorted(self.clocks.items())),
            *(self.most_preemptions, self.judge),
        ]
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()

    @property
    def provenance(self) -> dict[str, Any]:
        """What a sweep's table was made by and of; of several policies, the first."""
        policy = self.policies[0]
        made = of_policy(policy, fingerprint(policy)) | {"snapshot": self.snapshot.fingerprint}
        if self.workload is None:
            return made
        return made | {"workload": self.workload.fingerprint, "seed": seed_of(self.rng)}

    def run(self, point: Point, check: Callable[[Simulation], None] = lambda _: None) -> dict[str, float]:
        """Return the metrics of a point."""
        if self.workload is None:
            snapshot, policy, _ = applied(self.snapshot, self.policies[point.get("policy", 0)], point)
            return self._kept(plan_metrics(self.planned(snapshot, policy)))
        run = self.started(point)
        before: int | None = None
        for stop, most in [*self._stops(), (self.until, None)]:
            for now in run.portions(stop):
                check(run)
                if self.most_preemptions is not None and now >= self.snapshot.now + self.warm_up:
                    before = run.preemptions if before is None else before
                    if run.preemptions - before > self.most_preemptions:
                        raise _too_many(now, run.preemptions - before)
            if most is not None and self.judge is not None:
                strain = self.judge.so_far(record_of(run.result()), self.warm_up)
                if strain > most:
                    raise _hopeless(run.now, strain, most)
        return self.measured(run)

    def _stops(self) -> list[tuple[float, float]]:
        """Return the instants at which a run may be hopeless, and the strain above which it is."""
        return [] if self.judge is None else [*zip(self.judge.edges[1:-1], self.judge.most, strict=False)]

    def planned(self, snapshot: Snapshot, policy: Any) -> Plan:
        """Return the plan of a point."""
        return plan(snapshot, policy, self.state, on=self.on, as_if_waiting=self.as_if_waiting)

    def measured(self, run: Simulation) -> dict[str, float]:
        """Return the metrics of a simulation that has come to its end."""
        record = record_of(run.result())
        found = self._kept(compute(record, warm_up=self.warm_up))
        if self.judge is not None:
            found |= self.judge.strains(record, self.snapshot.now, self.warm_up)
        return found

    def keeping(self, metrics: Iterable[str]) -> Job:
        """Return the job with the metrics that are wanted."""
        wanted = tuple(taken("sweep", "metrics", metrics, _NAMES))
        if self.workload is None:
            known = [*plan_metrics(self.planned(self.snapshot, self.policies[0]))]
        else:
            known = [*measure(self.started({}).result())]
        for name in wanted:
            if not isinstance(name, str) or (name not in known and not name.startswith(COUNTED)):
                said = printable(f'there is no metric "{shorten(name)}"{nearest(name, known)}')
                raise InputError([Problem("sweep", None, None, "metrics", "unknown_field", None, said)])
        return replace(self, metrics=wanted)

    def started(self, point: Point) -> Simulation:
        """Return a point's simulation, at its beginning."""
        assert self.workload is not None  # noqa: S101 - callers have one
        snapshot, policy, clocks = applied(self.snapshot, self.policies[point.get("policy", 0)], point)
        options = {**self.clocks, **clocks}
        series = None if self.metrics is None or any(map(_sampled, self.metrics)) else 0
        return Simulation(snapshot, policy, self.workload, rng=self.rng, series_every=series, **options)

    def _kept(self, found: Mapping[str, float]) -> dict[str, float]:
        if self.metrics is None:
            return dict(found)
        return {name: found.get(name, 0) for name in self.metrics}


def _too_many(now: float, count: int) -> InputError:
    said = f"ended at {instant(now, now)}: {count} preemptions are more than allowed"
    return InputError([Problem("sweep", None, None, None, "range", str(count), said)])


def _hopeless(now: float, strain: float, most: float) -> InputError:
    said = f"ended at {instant(now, now)}: its strain of {strain:.3g} so far is above {most:.3g}, which none"
    said += " of the better half of those before had then"
    return InputError([Problem("sweep", None, None, None, "range", f"{strain:g}", said)])


def _sampled(metric: str) -> bool:
    return metric.startswith(("lost_share", "below_share")) or metric == "jain"


def plan_metrics(found: Plan) -> dict[str, float]:
    """Return what a plan does in numbers: victims, starts, what waits and starves, what is freed."""
    decisions, snapshot = found.decisions, found.snapshot
    victims, starts = decisions.victims, decisions.starts
    asked = victims.columns["beneficiary_operation"]
    stages = np.bincount(victims.columns["stage"].astype(np.int64), minlength=len(STAGES))
    freed = victims.columns["freed"].reshape(-1, len(snapshot.resources)).sum(axis=0)
    known = found.policy.RECORD.shares
    levels = found.statuses.counts()["operation"] if known else {}
    return {
        "victims": len(victims),
        "victims.operations": len(np.unique(victims.columns["operation"])),
        "victims.within_fair_share": int((victims.columns["within_fair_share"] == 1).sum()),
        **{f"victims.stage.{STAGES[i]}": int(n) for i, n in enumerate(stages.tolist()) if n},
        "served": len(np.unique(asked[asked >= 0])),
        "starts": len(starts),
        "refused": len(found.refusals),
        "starving": sum(levels[word] for word in STARVATION[1:]) if known else float("nan"),
        **{
            f"freed.{name}": float(amount * quantum)
            for (name, quantum), amount in zip(snapshot.quantum.items(), freed.tolist(), strict=True)
        },
    }
