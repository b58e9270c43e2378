"""A small Slurm: it answers the commands of the adapter, keeps jobs, and starts what fits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from evenhand.adapters.commands import Result
from tests.unit.slurm.accounting_texts import QOS, SHARES

T0 = 1_700_000_000.0
DELAY = 30.0  # seconds that a requeued job is not eligible


#: What a 22.05 shows of itself, shortened.
CONFIG = """\
Configuration data as of 2026-11-21T19:47:56
AccountingStorageType   = accounting_storage/none
ClusterName             = fake
KillWait                = 3 sec
PreemptMode             = OFF
PreemptType             = preempt/none
SchedulerType           = sched/backfill
SlurmctldHost[0]        = vm(127.0.0.1)
SlurmctldPort           = 6817
SLURM_VERSION           = 22.05.8

Slurmctld(primary) at vm is UP
"""
PARTITIONS = (
    "PartitionName=main Default=YES QoS=N/A GraceTime=0 Nodes=n[1-3] PriorityTier=1 "
    "PreemptMode=OFF State=UP\n"
)


@cache
def _local(seconds: float) -> str:
    """Write an instant as squeue does, in local time."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%dT%H:%M:%S")


class Clock:
    """Time that passes only when somebody waits."""

    def __init__(self, now: float = T0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def job(name: int, cpus: int, *, priority: int = 10, node: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "cpus": cpus,
        "priority": priority,
        "rank": priority,
        "node": node,
        "state": "RUNNING" if node else "PENDING",
        "turn": 0,
        "start": T0 - 1000 if node else 0,
        "eligible": 0.0,
        "requeue": True,
        "user": "ann",
        "uid": 1000,
        "comment": "",
        "name": f"job{name}",
        "ends": None,
    } | more


class FakeSlurm:
    """Jobs on nodes; every change is an event: (what, job, turn)."""

    def __init__(self, clock: Clock, nodes: dict[str, int], jobs: Sequence[dict[str, Any]]) -> None:
        self.clock, self.nodes = clock, nodes
        self.jobs = {str(j["id"]): dict(j) for j in jobs}
        self.events: list[tuple[str, str, int]] = []
        self.asked: list[tuple[str, ...]] = []
        self.shows = {"config": CONFIG, "partition": PARTITIONS, "qos": QOS, "shares": SHARES, "lic": ""}
        self.shows["node"] = "".join(f"NodeName={name} State=IDLE Weight=1\n" for name in nodes)
        self.reservations = "No reservations in the system\n"

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        self.asked.append(tuple(arguments))
        self.schedule()
        program, *rest = arguments
        result = getattr(self, program)(rest)
        self.schedule()
        return result

    # What Slurm does by itself

    def free(self, node: str) -> int:
        return self.nodes[node] - sum(
            j["cpus"] for j in self.jobs.values() if j["node"] == node and j["state"] == "RUNNING"
        )

    def schedule(self) -> None:
        for j in self.jobs.values():
            if j["state"] == "RUNNING" and j["ends"] is not None and j["ends"] <= self.clock.now:
                j["state"] = "COMPLETED"
                self.events.append(("end", str(j["id"]), j["turn"]))
        waiting = [j for j in self.jobs.values() if j["state"] == "PENDING" and j["priority"] > 0]
        for j in sorted(waiting, key=lambda j: (-j["priority"], j["id"])):
            if j["eligible"] > self.clock.now:
                continue
            place = next((n for n in self.nodes if self.free(n) >= j["cpus"]), None)
            if place is None:
                return  # the first that waits blocks the rest
            j.update(state="RUNNING", node=place, start=self.clock.now)
            self.events.append(("start", str(j["id"]), j["turn"]))

    # Commands

    def squeue(self, rest: list[str]) -> Result:
        if rest[0] == "--json":
            asked = rest[1].removeprefix("--jobs=").split(",") if rest[1:] else [*self.jobs]
            if missing := [name for name in asked if name not in self.jobs]:
                return Result(1, "", f"slurm_load_jobs error: Invalid job id specified: {missing}")
            rows = [self._json(self.jobs[name]) for name in asked]
            meta = {"Slurm": {"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"}}
            return Result(0, json.dumps({"meta": meta, "errors": [], "jobs": rows}))
        columns = [c.split(":")[0] for c in rest[rest.index("-O") + 1].split(",")]
        wanted = next((r.removeprefix("--jobs=").split(",") for r in rest if r.startswith("--jobs=")), None)
        if wanted and len(wanted) == 1 and wanted[0] not in self.jobs:
            return Result(1, "", "slurm_load_jobs error: Invalid job id specified")
        lines = [
            "".join(f"{cells[c]}|" for c in columns) + "\n"
            for name, j in self.jobs.items()
            if wanted is None or name in wanted
            for cells in [self._cells(j)]
        ]
        return Result(0, "".join(f"{c.upper()}|" for c in columns) + "\n" + "".join(lines))

    def sinfo(self, rest: list[str]) -> Result:
        if "-T" in rest:
            return Result(0, self.reservations)
        rows = [
            {"name": n, "cpus": c, "real_memory": 4000, "tres": f"cpu={c},mem=4000M", "state": "idle"}
            | {"state_flags": [], "partitions": ["main"], "active_features": ""}
            for n, c in self.nodes.items()
        ]
        if "--json" in rest:
            return Result(0, json.dumps({"errors": [], "nodes": rows}))
        head = "NODELIST|STATE|CPUS|MEMORY|GRES|PARTITION|ACTIVE_FEATURES|\n"
        return Result(
            0, head + "".join(f"{n}|idle|{c}|4000|(null)|main|(null)|\n" for n, c in self.nodes.items())
        )

    def scontrol(self, rest: list[str]) -> Result:
        if "show" in rest:
            return Result(0, self.shows[rest[-1]])
        if rest[0] == "update":
            found = self.jobs[rest[1].removeprefix("JobId=")]
            found["comment"] = rest[2].removeprefix("Comment=")
            return Result(0)
        action, name = rest[0], rest[-1]
        if name not in self.jobs:
            return Result(1, "", "Invalid job id specified")
        j = self.jobs[name]
        if action in ("requeue", "requeuehold"):
            return self._requeue(j, held=action == "requeuehold")
        if action == "release":
            if j["state"] == "PENDING" and j["priority"] == 0:
                j.update(priority=j["rank"], requeued_held=False)
                self.events.append(("release", name, j["turn"]))
            return Result(0)
        if action == "suspend" and j["state"] == "RUNNING":
            j["state"] = "SUSPENDED"
            self.events.append(("evict", name, j["turn"]))
            return Result(0)
        if action == "resume" and j["state"] == "SUSPENDED":
            j["state"] = "RUNNING"
            self.events.append(("resume", name, j["turn"]))
            return Result(0)
        return Result(1, "", "Job/step already completing or completed")

    def sacctmgr(self, rest: list[str]) -> Result:
        return Result(0, self.shows["assoc" if "assoc" in rest else rest[-1]])

    def sshare(self, rest: list[str]) -> Result:
        return Result(0, self.shows["shares"])

    def scancel(self, rest: list[str]) -> Result:
        j = self.jobs[rest[0]]
        if j["state"] in ("RUNNING", "PENDING", "SUSPENDED"):
            j["state"] = "CANCELLED"
            self.events.append(("evict", rest[0], j["turn"]))
        return Result(0)

    def _requeue(self, j: dict[str, Any], *, held: bool) -> Result:
        if not j["requeue"]:
            return Result(1, "", "Requested operation is presently disabled")
        if j["state"] not in ("RUNNING", "SUSPENDED"):
            return Result(0)
        self.events.append(("evict", str(j["id"]), j["turn"]))
        j.update(state="PENDING", node=None, turn=j["turn"] + 1, eligible=self.clock.now + DELAY)
        if held:
            j.update(priority=0, requeued_held=True)
        return Result(0)

    def _reason(self, j: dict[str, Any]) -> str:
        if j["state"] != "PENDING":
            return "None"
        if j["priority"] == 0:
            return "JobHeldUser"
        return "BeginTime" if j["eligible"] > self.clock.now else "Resources"

    def _said(self, j: dict[str, Any]) -> str:
        """What squeue prints: a requeuehold says so, a hold by name does not."""
        held = j["state"] == "PENDING" and j["priority"] == 0 and j.get("requeued_held")
        return "job requeued in held state" if held else self._reason(j)

    def _json(self, j: dict[str, Any]) -> dict[str, Any]:
        placed = j["state"] in ("RUNNING", "SUSPENDED")
        tres = f"cpu={j['cpus']},mem=100M,node=1"
        return {
            "job_id": j["id"],
            "job_state": j["state"],
            "state_reason": self._reason(j),
            "priority": j["priority"],
            "restart_cnt": j["turn"],
            "user_name": j["user"],
            "user_id": j["uid"],
            "partition": "main",
            "requeue": j["requeue"],
            "batch_flag": True,
            "submit_time": int(T0 - 5000),
            "start_time": int(j["start"]),
            "node_count": 1,
            "cpus": j["cpus"],
            "nodes": j["node"] if placed else "",
            "tres_req_str": tres,
            "tres_alloc_str": tres if placed else "",
            "name": j["name"],
            "account": j.get("account", ""),
            "comment": j["comment"],
        }

    def _cells(self, j: dict[str, Any]) -> dict[str, Any]:
        placed = j["state"] != "PENDING" and j["node"]
        return {
            "jobid": j["id"],
            "arrayjobid": j["id"],
            "arraytaskid": "N/A",
            "hetjobid": "N/A",
            "state": j["state"],
            "reasonlist": j["node"] if placed else f"({self._said(j)})",
            "prioritylong": j["priority"],
            "numnodes": 1,
            "numcpus": j["cpus"],
            "minmemory": "100M",
            "starttime": _local(j["start"]) if j["start"] else "N/A",
            "endtime": "NONE",
            "submittime": _local(T0 - 5000),
            "restartcnt": j["turn"],
            "userid": j["uid"],
            "partition": "main",
            "qos": "(null)",
            "requeue": int(j["requeue"]),
            "tres-alloc": f"cpu={j['cpus']},mem=100M,node=1",
            "nodelist": j["node"] if placed else "",
            "oversubscribe": "OK",
            "reqnodes": "",
            "licenses": "(null)",
            "timelimit": j.get("limit", "UNLIMITED"),
            "reqswitch": 0,
            "reservation": "(null)",
            "contiguous": 0,
            "mincpus": 1,
            "maxnodes": 0,
            "excnodes": "",
            "dependency": "(null)",
            "feature": "(null)",
        }
