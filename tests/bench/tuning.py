"""What tuning finds with as many points: `eh.tune`, points at random, and Optuna's TPE as it comes.

``python -m tests.bench.tuning [LOG...] [--seeds 5] [--points 24]`` tunes six settings of YTsaurus to two
goals on pieces of three logs: half of the reference's ``waiting.p95``, and half of its ``starvation.p95``.
It prints the strains (below 1 the goal is met) where was tuned and in what was held out, and at the end of a
log and goal in how many seeds ours is best or level (within a tenth) where was tuned, and at least as good
as random (within a hundredth) in what was held out. Of each way only points count that lose no more work and
finish no less than the reference; where there is none it recommends the reference. The logs are read from
``../shared/traces``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import evenhand as eh
from evenhand.sweep import between, suggest
from evenhand.sweep.bounds import Bound, bound, worse
from tests.bench.ytsaurus.simulation import TRACES

DAY, HELD_OUT, LEVEL, EQUAL = 86400.0, 0.3, 1.1, 1.01

Case = tuple[eh.simulate.Workload, eh.Snapshot]


def sdsc() -> Case:
    """San Diego's Blue Horizon: four days on 128 nodes of 8."""
    work = eh.traces.swf(TRACES / "sdsc-blue-2000" / "SDSC-BLUE-2000-4.2-cln.swf.gz", "queue/user")
    work = work.slice(100 * DAY, 104 * DAY)
    return work, work.snapshot(nodes=128, cpu=8)


def ricc() -> Case:
    """Riken's cluster: 36 hours on 500 nodes of 8."""
    work = eh.traces.swf(TRACES / "ricc-2010" / "RICC-2010-2_d00-90.swf.gz", "group/user", memory_per_node=12)
    work = work.slice(30 * DAY, 31.5 * DAY)
    return work, work.snapshot(nodes=500, cpu=8, memory=12)


def philly() -> Case:
    """Microsoft's GPU jobs: six days on 20 nodes of 8."""
    work = eh.traces.philly(TRACES / "philly-vc-2017" / "philly_vc_jobs_d00-50.csv.gz")
    work = work.slice(20 * DAY, 26 * DAY)
    return work, work.snapshot(nodes=20, gpu=8)


CASES: dict[str, Callable[[], Case]] = {"sdsc": sdsc, "ricc": ricc, "philly": philly}
GOALS = ("waiting.p95", "starvation.p95")
POLICY = eh.policies.YTsaurus(
    "upstream",
    consider_allocation_on_fair_share_bound_preemptible=True,
    pace={"max_victims_per_hour": 30},
)
SPACE: dict[str, Any] = {
    "fair_share_starvation_timeout": between(30.0, 7200.0, log=True),
    "preemption_satisfaction_threshold": between(0.6, 1.5),
    "allocation_preemption_timeout": between(1.0, 600.0, log=True),
    "pace.max_victims_per_hour": between(1, 60, log=True),
    "pace.victim_cooldown": between(0.0, 7200.0),
    "pace.spare_if_ran_less_than": between(0.0, 3600.0),
}


class Reference:
    """A piece of a log with the settings as given, and what is measured of others there."""

    def __init__(self, work: eh.simulate.Workload, start: eh.Snapshot) -> None:
        self.work, self.start = work, start
        self.end = work.end
        self.split = self.end - (self.end - start.now) * HELD_OUT
        self.train, self.check = self.parts(POLICY)

    def parts(self, policy: Any) -> tuple[eh.simulate.Metrics, eh.simulate.Metrics]:
        """Return the metrics where is tuned, and of what is held out."""
        result = eh.simulate(self.start, policy, self.work, until=self.end)
        measure = eh.simulate.measure
        return measure(result, until=self.split), measure(result, warm_up=self.split - self.start.now)

    def tuned(self, goal: str, points: int, seed: int, sampler: Any) -> Any:
        """Return the policy that `eh.tune` recommends, None if it has none that does no worse."""
        found = eh.tune(
            *(self.start, POLICY, self.work, SPACE, goal),
            points=points,
            seed=seed,
            sampler=sampler,
            held_out=HELD_OUT,
            windows=1,
        )
        return found.policy if found.worse is None else None

    def plain(self, goal: Bound, points: int, seed: int) -> Any:
        """Return what Optuna's sampler with its defaults finds, of the points that do no worse."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        lost = [f"{kind}.{r}" for kind in ("goodput", "lost_work") for r in self.start.total]
        best: tuple[float, Any] = (float("inf"), None)
        for _ in range(points):
            trial = study.ask()
            point = suggest(trial, SPACE)
            row = eh.sweep(
                *(self.start, POLICY, self.work, SPACE),
                points=[point],
                until=self.split,
                metrics=[goal.metric, *lost],
            ).to_dict()
            found = {name: row[name][0] for name in (goal.metric, *lost)}
            strain = goal.strain(found)
            study.tell(trial, strain)
            if worse(found, self.train, ()) is None and strain < best[0]:
                best = strain, POLICY.replace(**_nested(point))
        return best[1]


def _nested(point: dict[str, Any]) -> dict[str, Any]:
    """Return settings by field; those of the pace in one."""
    pace = {name.partition(".")[2]: value for name, value in point.items() if name.startswith("pace.")}
    return {name: value for name, value in point.items() if "." not in name} | {"pace": pace}


def compared(name: str, seeds: int, points: int) -> None:
    """Print what the three ways find on a log."""
    of = Reference(*CASES[name]())
    for metric in GOALS:
        goal = bound(f"{metric} < {of.train[metric] / 2:.6g}")
        print(f"{name} {goal}; the reference: 2.00, {goal.strain(of.check):.2f}", flush=True)
        best = as_good = less = 0
        for seed in range(seeds):
            policies = (
                of.tuned(str(goal), points, seed, "tpe"),
                of.tuned(str(goal), points, seed, "random"),
                of.plain(goal, points, seed),
            )
            parts = [(of.train, of.check) if p is None else of.parts(p) for p in policies]
            train, check = ([goal.strain(part[i]) for part in parts] for i in (0, 1))
            best += train[0] <= LEVEL * min(train)
            as_good += check[0] <= EQUAL * check[1]
            less += worse(parts[0][0], of.train, ()) is not None
            said = [f"{a:7.3f}{b:7.3f}" for a, b in zip(train, check, strict=True)]
            print(f"  seed {seed}: ours {said[0]}   random {said[1]}   plain TPE {said[2]}", flush=True)
        print(
            f"  best or level where was tuned: {best} of {seeds}; held out as good as random: {as_good}"
            f" of {seeds}; less goodput or more lost than the reference: {less}",
            flush=True,
        )


def main() -> None:
    """Compare on the logs that are named; by default all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", nargs="*", metavar="LOG", help=f"of {', '.join(CASES)}")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--points", type=int, default=24)
    args = parser.parse_args()
    if not TRACES.exists():
        print(f"nothing is measured: there is no {TRACES}")
        return
    for name in args.logs or CASES:
        compared(name, args.seeds, args.points)


if __name__ == "__main__":
    main()
