"""Right arguments for public functions, by name and by kind; files and clusters that they are taken from."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.act import Book, Driver, Timing
from evenhand.act.folder import PlanWriter
from evenhand.adapters import gridengine, recording, slurm, yunikorn
from evenhand.adapters.commands import Result
from tests.shared import DATA
from tests.unit.act.slurm.cluster import Clock, FakeSlurm
from tests.unit.act.world import JOBS, NODES

__all__ = ["world"]

COMPLEXES = "mem_free mf MEMORY <= YES YES 0 0 YES\nslots s INT <= YES YES 1 1000 YES"
QUEUES = "partitions: [{name: default, queues: [{name: root}]}]"
CLUSTER: dict[str, Any] = {
    "now": 100,
    "resources": {"cpu": {}},
    "nodes": [{"name": "n1", "capacity": {"cpu": 8}}],
    "operations": [{"name": "o1"}, {"name": "o2"}],
    "allocations": [{"name": "a1", "operation": "o1", "node": "n1", "resources": {"cpu": 4}}],
    "requests": [{"name": "r1", "operation": "o2", "resources": {"cpu": 6}, "count": 3}],
}
WORK: dict[str, Any] = {
    "name": ["a", "b", "c"],
    "resources.cpu": [4, 4, 4],
    "pool": ["x", "x", "y"],
    "run_time": [60, 60, 60],
    "submit_time": [0, 0, 5],
}
LOG = "; MaxNodes: 4\n; MaxProcs: 16\n" + "".join(
    f"{i} {i} -1 50 4 -1 -1 4 100 -1 1 1 1 1 1 1 -1 -1\n" for i in (1, 2, 3)
)
PHILLY = [
    {
        "status": "Pass",
        "vc": "vc0",
        "jobid": "job_1",
        "attempts": [
            {
                "start_time": "2017-10-09 07:07:05",
                "end_time": "2017-10-09 07:08:05",
                "detail": [{"ip": "m1", "gpus": ["gpu0"]}],
            }
        ],
        "submitted_time": "2017-10-09 07:02:20",
        "user": "u1",
    }
]
POLICIES = ("YTsaurus", "Slurm", "BackendAI", "YuniKorn", "GridEngine")


def silent(_arguments: Any, _timeout: float) -> Result:
    """Answer commands with nothing."""
    return Result(0, "", "")


class _Study:
    """Proposes the first of everything."""

    def suggest_categorical(self, _name: str, choices: list[Any]) -> Any:
        return choices[0]

    def suggest_int(self, _name: str, low: int, _high: int, **_: Any) -> int:
        return low

    def suggest_float(self, _name: str, low: float, _high: float, **_: Any) -> float:
        return low

    def report(self, *_: Any) -> None:
        pass

    def should_prune(self) -> bool:
        return False


class World:
    """Small things of every kind; what calls change is made anew for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = eh.simulate.Workload(WORK)
        self.start = self.work.snapshot(nodes=2, cpu=4)
        self.live = eh.Snapshot.from_dict(CLUSTER)
        self.policies = {name: getattr(eh.policies, name)() for name in POLICIES}
        self.yt = self.policies["YTsaurus"]
        self.plan = eh.plan(self.live, self.yt, as_if_waiting="1h")
        self.result = eh.simulate(self.start, self.yt, self.work, until=200)
        self.shares = eh.fair_share(self.live)
        self.state = self.plan.state
        self.simulation.save(folder / "run")
        self.cluster.save(folder / "cluster")
        self.state.save(folder / "state.json")
        (folder / "snapshot.json").write_text(self.live.to_json(), "utf-8")
        (folder / "log.swf").write_text(LOG, "utf-8")
        (folder / "policy.toml").write_text('system = "ytsaurus"\n', "utf-8")
        (folder / "queues.yaml").write_text(QUEUES, "utf-8")
        (folder / "slurm.conf").write_text("PreemptType=preempt/qos\n", "utf-8")
        (folder / "jobs.json").write_text(json.dumps(PHILLY), "utf-8")
        (folder / "commands.jsonl").write_text(
            json.dumps({"schema": recording.SCHEMA, "arguments": ["x"], "status": 0, "out": "", "err": ""})
            + "\n",
            "utf-8",
        )
        with PlanWriter(folder / "plans") as writer:
            self.saved = writer.add(self.plan)
        (folder / "ended").write_bytes((DATA / "act" / "journal-ended").read_bytes())
        with gzip.open(folder / "tasks.csv.gz", "wt") as file:
            file.write("0,,1,0,,0,u,2,0,0.5,0.5,0.1,0\n1000000,,1,0,5,1,u,2,0,0.5,0.5,0.1,0\n")

    @property
    def simulation(self) -> eh.simulate.Simulation:
        run = eh.simulate.Simulation(self.start, self.yt, self.work)
        run.run(20)
        return run

    @property
    def cluster(self) -> eh.Cluster:
        return eh.Cluster(self.live, self.yt)

    @property
    def adapter(self) -> Any:
        return slurm.Slurm(runner=FakeSlurm(Clock(), NODES, JOBS))

    @property
    def driver(self) -> Driver:
        clock = iter(range(10**9))
        timing = Timing(clock=lambda: float(next(clock)), sleep=lambda _: None)
        number = next(_COUNT)
        return Driver(
            self.adapter,
            self.folder / f"journal{number}",
            timing=timing,
            lock=self.folder / f"lock{number}",
        )

    @cached_property
    def tree(self) -> Any:
        return eh.history.ShareTree.from_rows(
            [{"name": "a", "shares": 1}, {"name": "b", "shares": 2, "usage": 5}]
        )

    @cached_property
    def usage(self) -> Any:
        return eh.history.DecayedUsage.empty(["cpu"], decay=eh.history.Decay(), at=0.0)

    @cached_property
    def buckets(self) -> Any:
        return eh.history.backendai.UsageBuckets(("cpu",))

    def receiver(self, owner: type) -> Any:
        """Return an object whose method is called.

        Raises
        ------
        LookupError
            If this module has none: a new class is entered here.
        """
        made: dict[str, Callable[[], Any]] = {
            "Cluster": lambda: self.cluster,
            "FairShareEngine": eh.FairShareEngine,
            "FairShareSettings": eh.FairShareSettings,
            "Plan": lambda: self.plan,
            "Shares": lambda: self.shares,
            "Snapshot": lambda: self.live,
            "State": lambda: self.state,
            "Table": lambda: eh.Table({"a": [1, 2]}),
            "Book": Book,
            "Driver": lambda: self.driver,
            "PlanFolder": lambda: eh.act.PlanFolder(self.folder / "plans"),
            "Slurm": lambda: self.policies["Slurm"] if "policy" in owner.__module__ else self.adapter,
            "GridEngine": lambda: (
                self.policies["GridEngine"]
                if "policy" in owner.__module__
                else gridengine.GridEngine(runner=silent)
            ),
            "BackendAI": lambda: self.policies["BackendAI"],
            "YTsaurus": lambda: self.yt,
            "YuniKorn": lambda: self.policies["YuniKorn"],
            "Policy": lambda: self.yt,
            "Reading": lambda: (
                yunikorn.read(QUEUES)
                if "yunikorn" in owner.__module__
                else gridengine.read(COMPLEXES, hosts="hostname h1\ncomplex_values slots=1", now=1.0)
            ),
            "Decay": eh.history.Decay,
            "DecayedUsage": lambda: self.usage,
            "ShareTree": lambda: self.tree,
            "UsageBuckets": lambda: self.buckets,
            "SideBySide": lambda: eh.plans.side_by_side({"a": self.plan}),
            "Decisions": lambda: self.plan.decisions,
            "Refusals": lambda: self.plan.refusals,
            "Statuses": lambda: self.plan.statuses,
            "Metrics": lambda: self.result.metrics,
            "Result": lambda: self.result,
            "Simulation": lambda: self.simulation,
            "Workload": lambda: self.work,
            "Between": lambda: eh.sweep.between(1, 9),
            "System": lambda: self.yt.RECORD,
            "Recorder": lambda: recording.Recorder(silent, self.folder / "recorded.jsonl"),
        }
        if owner.__name__ not in made:
            raise LookupError(f"enter a maker of {owner.__name__} here: its methods are to be tried")
        return made[owner.__name__]()

    @cached_property
    def _by_name(self) -> Mapping[str, list[Callable[[], Any]]]:
        """Makers by the name of a parameter; with a function's name before a dot they are its alone."""
        f = self.folder
        return {
            name: [
                m if callable(m) and getattr(m, "__name__", "") == "<lambda>" else (lambda m=m: m) for m in of
            ]
            for name, of in {
                "events": [
                    [{"event": "clock", "now": 150}],
                    [{"event": "count", "request": "r1", "count": 2}],
                ],
                "requests": [WORK, [{"name": "a", "resources.cpu": 1}]],
                "goal": ["waiting.p95 < 30", "preemptions <= 3"],
                "at_most": [{"preemptions": 9}],
                "space": [{"fair_share_starvation_timeout": [5, 60]}, {"pools.x.weight": [1, 2]}],
                "points": [2],
                "sweep.points": [[{"fair_share_starvation_timeout": 7}]],
                "metric": ["waiting.p95"],
                "metrics": [["preemptions"], ["jobs", "waiting.max"]],
                "trial": [lambda: _Study()],
                "workers": [1],
                "until": [100, 60.5, "1h"],
                "time": [30, 5],
                "warm_up": [0, 10, "10s"],
                "interval": [2.0],
                "run_time": [0.5],
                "n": [2],
                "now": [100.0],
                "nodes": [3],
                "seed": [3],
                "jobs": [20],
                "pools": [None],
                "synthetic.pools": [5],
                "depth": [2],
                "operations": [None],
                "synthetic.operations": [9],
                "synthetic.allocations": [20],
                "resources": [["cpu"], {"cpu": {}}],
                "frame": [{"name": ["a", "b"], "waiting": [1.0, 2.0]}],
                "minimize": [["waiting"]],
                "maximize": [["waiting"]],
                "data": [CLUSTER, WORK],
                "removed": [[("operations", "o1")]],
                "source": [json.dumps(CLUSTER), f / "snapshot.json"],
                "columns": [{"a": [1, 2]}, WORK, None],
                "request": ["r1"],
                "name": ["a1", "r1", "o1", "n1", "operations", "slurm"],
                "operation": ["o1"],
                "table": ["requests", "operations"],
                "row": [0, [0, 0]],
                "step": [0, 1],
                "decision": [0],
                "part": [0.5],
                "low": [1],
                "high": [9],
                "kind": ["operation"],
                "indent": [2],
                "node": ["n1"],
                "complexes": [COMPLEXES],
                "hosts": ["hostname h1\ncomplex_values slots=1,mem_free=1G"],
                "config": [QUEUES, f / "queues.yaml"],
                "text": ["PreemptType=preempt/qos\n", "", f / "slurm.conf", "preempt job_1 q"],
                "task_events": [f / "tasks.csv.gz"],
                "swf.path": [f / "log.swf"],
                "philly.path": [f / "jobs.json"],
                "Simulation.load.path": [f / "run"],
                "Cluster.load.path": [f / "cluster"],
                "State.load.path": [f / "state.json"],
                "from_toml.path": [f / "policy.toml"],
                "Replay.path": [f / "commands.jsonl"],
                "path": [lambda: f / "written", f / "log.swf"],
                "trail.journal": [f / "ended"],
                "trail.job": ["1", "o1"],
                "trail.plans": [f / "plans", None],
                "Driver.plans": [None],
                "PlanFolder.load.name": [self.saved],
                "PlanFolder.last.job": ["o1", "none"],
                "journal": [lambda: f / f"journal{next(_COUNT)}"],
                "lock": [lambda: f / f"lock{next(_COUNT)}"],
                "resume": [lambda: f / f"points{next(_COUNT)}"],
                "save": [f / "saved"],
                "stop_file": [f / "stop"],
                "interval ": [0.0],
                "once": [True],
                "adapter": [lambda: self.adapter],
                "driver": [lambda: self.driver],
                "runner": [lambda: silent],
                "timing": [lambda: Timing(clock=lambda: 0.0, sleep=lambda _: None)],
                "mark": [lambda: self.cluster.mark()],
                "tree": [self.tree],
                "ShareTree.from_dict.tree": [{"a": {"shares": 1}}],
                "snapshots": [{"a": self.live}],
                "plans": [{"a": self.plan}],
                "runs": [{"a": self.result.metrics}],
                "names": [["a", "b"]],
                "amounts": [[[1.0], [2.0]], [1.0, 2.0]],
                "age": [[1.0, 2.0]],
                "types": [{"cpu": [1.0]}],
                "usage": [{"cpu": [1.0]}],
                "capacity": [{"cpu": 4.0}],
                "factors": [{"age": [0.5]}],
                "weights": [{"age": 10.0, "cpu": 1.0}],
                "given": [{"starvation": {"o2": "starving"}}],
                "on": [None],
                "order": [None],
                "rounding": [None],
                "timezone": ["UTC", None],
                "values": [[1.0]],
                "preset": ["documented", "upstream"],
            }.items()
        }

    @cached_property
    def _by_kind(self) -> Mapping[str, list[Callable[[], Any]]]:
        return {
            "Snapshot": [lambda: self.live, lambda: self.start],
            "Living": [lambda: self.cluster],
            "Cluster": [lambda: self.cluster],
            "Policy": [lambda name=name: self.policies[name] for name in POLICIES],
            "Workload": [lambda: self.work],
            "State": [lambda: self.state],
            "Plan": [lambda: self.plan],
            "Result": [lambda: self.result],
            "Metrics": [lambda: self.result.metrics],
            "Shares": [lambda: self.shares],
            "ShareTree": [lambda: self.tree],
            "FairShareSettings": [eh.FairShareSettings],
            "Decay": [eh.history.Decay],
            "Caps": [eh.act.Caps],
            "float": [lambda: 1.0, lambda: 2],
            "int": [lambda: 1, lambda: 2],
            "bool": [lambda: True, lambda: False],
            "str": [lambda: "a"],
            "ArrayLike": [lambda: np.array([1.0, 2.0]), lambda: [0.5, 1]],
            "None": [lambda: None],
        }

    def right(self, function: str, name: str, kind: str, chance: Random) -> tuple[bool, Any]:
        """Return whether anything is known that fits a parameter, and one of what is."""
        parts = function.split(".")
        heads = [".".join(parts[i:]) for i in range(len(parts))] + parts[:1]
        for key in (*(f"{head}.{name}" for head in heads), None):
            if key in self._by_name:
                return True, chance.choice(self._by_name[key])()
        words = [word.strip().rpartition(".")[2] for word in kind.split("|")]
        known = [word for word in words if word in self._by_kind and word not in ("float", "int", "str")]
        if name in self._by_name and not [word for word in known if word not in ("None", "bool")]:
            return True, chance.choice(self._by_name[name])()
        known = known or [word for word in words if word in self._by_kind]
        if not known:
            return False, None
        return True, chance.choice(self._by_kind[chance.choice(known)])()


_COUNT = iter(range(10**9))


@cache
def world() -> World:
    """Return the things of this process."""
    return World(Path(tempfile.mkdtemp(prefix="evenhand-arguments-")))
