"""Jobs of Microsoft's Philly clusters: gangs of GPUs in virtual clusters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.accepted import checked
from evenhand.arguments import expect
from evenhand.simulate.workload import Workload
from evenhand.traces._blocks import blocks, file_name
from evenhand.traces._fields import Block, Wrong
from evenhand.traces._paths import objects

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["philly"]

FIELDS = ("vc", "job_id", "submit_s", "gpus", "duration_s")
_AT_LEAST = {"job_id": 0, "submit_s": 0, "gpus": 1, "duration_s": 0}

Guarantees = Literal["load", "equal"] | Mapping[str, float] | None


@checked("philly", guarantees='Literal["load", "equal"] | Mapping[str, float] | None')
def philly(
    path: str | os.PathLike[str],
    *,
    nodes: int = 72,
    gpus_per_node: int = 8,
    guarantees: Guarantees = "load",
) -> Workload:
    """Read jobs of virtual clusters: a table ``vc,job_id,submit_s,gpus,duration_s`` with a header.

    A job is an operation, named ``vc/job_id``, of the pool of its virtual cluster. It is one allocation if
    it fits on a node, else a gang of allocations of whole nodes (of equal parts where that leaves a rest).

    Parameters
    ----------
    path : str or path-like
        The table, also compressed by gzip, bzip2, xz or zstd.
    nodes, gpus_per_node : int
        The cluster, of which the table says nothing: 64 to 80 nodes of 8 are contended.
    guarantees : {"load", "equal"}, mapping or None
        How the cluster's GPUs are divided as strong guarantees: by offered load, equally, or as given by
        virtual cluster. What division leaves over goes to the largest remainders.

    Returns
    -------
    Workload
        ``workload.snapshot()`` has the nodes; ``workload.notes`` the offered load of each virtual cluster in
        GPUs: its GPU-seconds over the span of all submissions.

    Raises
    ------
    InputError
        The file is damaged, a line breaks a rule (each says line, field and rule), or there is no job.
    OSError
        If it cannot be read.

    Notes
    -----
    Source: M. Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads",
    USENIX ATC 2019. Clocks of virtual clusters start at their own first jobs, so that the times of two of
    them are not to be compared with the calendar. The table has neither users, waits nor preemptions, and
    no run that did not end.
    """
    expect(type(nodes) is int and nodes > 0, "philly", "nodes", nodes, "a positive number")
    size = gpus_per_node
    expect(type(size) is int and size > 0, "philly", "gpus_per_node", size, "a positive number")
    jobs, vcs = _read(path)
    gpus = jobs["gpus"]
    count = -(-gpus // size)
    rest = gpus % count > 0  # of uneven gangs each part is rounded up
    offered = _offered(jobs, len(vcs))
    notes: dict[str, Any] = {
        "file": file_name(path),
        "jobs": len(gpus),
        "gangs": int((count > 1).sum()),
        "gpus_rounded_up": int(rest.sum()),
        "zero_run_time": int((jobs["duration_s"] == 0).sum()),
        "offered_gpus": dict(zip(vcs, np.round(offered, 1).tolist(), strict=True)),
    }
    names = np.empty(len(gpus), object)
    listed = zip(jobs["vc"].tolist(), jobs["job_id"].tolist(), strict=True)
    names[:] = [f"{vcs[vc]}/{job}" for vc, job in listed]
    requests = {
        "name": names,
        "pool": objects(jobs["vc"], lambda vc: vcs[vc]),
        "submit_time": jobs["submit_s"],
        "run_time": jobs["duration_s"],
        "count": count,
        "gang": count > 1,
        "resources.gpu": -(-gpus // count),
    }
    digits = len(str(nodes))
    pools: dict[str, Any] = {"name": vcs}
    owed = _guarantees(guarantees, vcs, offered, nodes * size)
    if owed is not None:
        pools["strong_guarantee.gpu"] = owed
    return Workload(
        requests,
        pools=pools,
        resources={"gpu": {"quantum": 1}},
        machines={
            "name": [f"n{i:0{digits}d}" for i in range(1, nodes + 1)],
            "capacity.gpu": np.full(nodes, size, np.int64),
        },
        notes=notes,
    )


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[np.int64]], list[str]]:
    wrong = Wrong(file_name(path))
    parts: list[dict[str, NDArray[np.int64]]] = []
    lines: list[NDArray[np.int64]] = []
    vcs: dict[str, int] = {}
    for first, given in blocks(path):
        text = given
        if first == 1:
            header, _, text = given.partition(b"\n")
            expected = ",".join(FIELDS)
            found = header.decode("utf-8", "replace").lstrip("\ufeff").strip()
            if found != expected:
                wrong.add(1, None, "header", f"is {found[:80]!r}; it must be {expected!r}", found)
                wrong.done()
        block = Block(text, first + (first == 1), FIELDS, b",", wrong)
        codes, texts = block.codes("vc")
        part = {"vc": np.array([vcs.setdefault(t, len(vcs)) for t in texts] or [0])[codes]}
        for name, least in _AT_LEAST.items():
            part[name] = block.whole(name)
            said = f"is {{}}; it must be at least {least}"
            wrong.rows(part[name] < least, block.lines, name, "range", said, part[name])
        parts.append(part)
        lines.append(block.lines)
    if not wrong.count and not sum(len(p["vc"]) for p in parts):
        wrong.add(1, None, "empty", "is missing: the file has no job")
    wrong.done()
    jobs = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
    order = np.lexsort((jobs["job_id"], jobs["vc"]))
    again = np.zeros(len(order), np.bool_)
    same = (np.diff(jobs["vc"][order]) == 0) & (np.diff(jobs["job_id"][order]) == 0)
    again[order[1:]] = same
    said = "is {}, as that of an earlier job of its virtual cluster; it must be unique"
    wrong.rows(again, np.concatenate(lines), "job_id", "unique", said, jobs["job_id"])
    wrong.done()
    names = sorted(vcs)
    jobs["vc"] = np.array([names.index(vc) for vc in vcs])[jobs["vc"]]
    return jobs, names


def _offered(jobs: dict[str, NDArray[np.int64]], count: int) -> NDArray[np.float64]:
    """Return GPU-seconds over seconds, by virtual cluster."""
    work = np.bincount(jobs["vc"], (jobs["gpus"] * jobs["duration_s"]).astype(np.float64), count)
    span = int(jobs["submit_s"].max()) - int(jobs["submit_s"].min())
    return work / max(span, 1)


def _guarantees(
    guarantees: Guarantees, vcs: list[str], offered: NDArray[np.float64], total: int
) -> list[float] | None:
    if guarantees is None:
        return None
    if isinstance(guarantees, Mapping):
        unknown = sorted(set(map(str, guarantees)) - set(vcs))
        expect(not unknown, "philly", "guarantees", guarantees, f"by virtual cluster ({', '.join(vcs)})")
        return [float(guarantees.get(vc, 0)) for vc in vcs]
    known = isinstance(guarantees, str) and guarantees in ("load", "equal")
    expect(known, "philly", "guarantees", guarantees, '"load", "equal", a mapping or None')
    weight = offered if guarantees == "load" and offered.sum() > 0 else np.ones(len(vcs))
    exact = weight / weight.sum() * total
    whole = np.floor(exact)
    most = np.argsort(-(exact - whole), kind="stable")[: int(total - whole.sum())]
    whole[most] += 1
    return whole.tolist()
