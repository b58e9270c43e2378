"""What a real Slurm says of jobs that wait for more than room, or have not quite begun."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.systems.slurm.adapter.live import Slurm
from tests.live.slurm.conftest import PARTITIONS, Cluster, emulator, started

HIDDEN = "PartitionName=hidden Nodes=n8 Hidden=YES MaxTime=INFINITE State=UP"
#: Jobs of the partition high are being configured for so long.
PROLOG = '#!/bin/sh\n[ "$SLURM_JOB_PARTITION" = high ] && sleep 20\nexit 0\n'

ASKED = {
    ("--contiguous", "-N2"): "contiguous nodes",
    ("-x", "n3"): "excluded nodes",
    ("-N1-3",): "tasks spread over a range of nodes",
    ("-N1-3", "--ntasks-per-node=4"): "",
    ("-w", "n1,n2", "-N2"): "several required nodes",
    ("--exclusive",): "",
    ("--exclusive=user",): "nodes for one user",
    ("--threads-per-core=1",): "sockets and cores",
    ("--array=1-3",): "",
    ("--bb=x",): "a burst buffer",
    ("--reservation=evenhand",): "a reservation",
    ("--mincpus=4", "-N1"): "",
}
#: What rows of text do not tell.
UNSEEN = {"excluded nodes", "sockets and cores", "a burst buffer"}
#: Of what JSON tells more.
TEXT_ONLY = dict.fromkeys([("-N1-3",), ("-N1-3", "--ntasks-per-node=4")], "a range of nodes")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    prolog = tmp_path_factory.mktemp("prolog") / "prolog.sh"
    prolog.write_text(PROLOG)
    prolog.chmod(0o755)
    partitions = f"{PARTITIONS}\n{HIDDEN}"
    with started(emulator(), partitions=partitions, extra=f"PrologSlurmctld={prolog}", port=10) as cluster:
        os.environ["SLURM_CONF"], before = cluster.conf, os.environ.get("SLURM_CONF")
        yield cluster
        if before is None:
            del os.environ["SLURM_CONF"]
        else:
            os.environ["SLURM_CONF"] = before


def places(adapter: Slurm) -> dict[str, Any]:
    found = adapter.snapshot().to_dict()
    return {a["operation"]: a["node"] for a in found["allocations"]}


def test_jobs_that_wait_for_more_than_room(cluster: Cluster, tmp_path: Path) -> None:
    words = ("ReservationName=evenhand", "StartTime=now", "Duration=60", "Nodes=n7", "Users=root")
    cluster.run("scontrol", "create", "reservation", *words)
    first = cluster.submit(4, "--reservation=evenhand")
    low = [cluster.submit(4, "-w", f"n{i}") for i in range(2, 7)]
    hidden = cluster.submit(4, partition="hidden")
    short = cluster.submit(2, "-w", "n1")
    cluster.wait([first, *low, hidden, short], "RUNNING")
    configuring = cluster.submit(2, "-w", "n1", partition="high")
    cluster.wait([configuring], "CONFIGURING")

    for adapter in (Slurm(), _text()):
        assert places(adapter)[configuring] == "n1", "it has its cpus already"
        assert places(adapter)[hidden] == "n8"
        nodes = adapter.snapshot().to_dict()["nodes"]
        assert [n["name"] for n in nodes if not n.get("schedulable", True)] == ["n7"]
    standing = Slurm().look([configuring])[configuring]
    assert standing.state == "running"
    assert standing.detail.startswith("CONFIGURING")

    words_of = {cluster.submit(4, *more): more for more in ASKED}
    asked = {name: ASKED[more] for name, more in words_of.items()}
    waits: set[str] = set()
    until = time.monotonic() + 120
    while len(waits) < len(asked) - 2:  # of some, Slurm says something else, and then they ask for no room
        assert time.monotonic() < until
        time.sleep(0.5)
        jobs = cluster.jobs()
        waits = {name for name in asked if jobs[name]["state_reason"] in ("Resources", "Priority")}
    for adapter, unseen, further in ((Slurm(), set(), {}), (_text(), UNSEEN, TEXT_ONLY)):
        requests = {r["operation"] for r in adapter.snapshot().to_dict()["requests"]}
        left = {name: what for what, names in adapter.left_out.items() for name in names}
        for name in waits:
            expected = "" if asked[name] in unseen else further.get(words_of[name], asked[name])
            assert left.get(name, "") == expected, words_of[name]
            assert bool({name, f"{name}_1"} & requests) == (name not in left)


def _text() -> Slurm:
    adapter = Slurm()
    adapter._reader.json = False
    return adapter
