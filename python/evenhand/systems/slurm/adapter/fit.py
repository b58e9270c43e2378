"""Which waiting jobs a driver can judge: what they ask for beyond amounts, a partition and features."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evenhand.systems.slurm.adapter.text import amounts, number, split_hosts, words

__all__ = ["TEXT_COLUMNS", "kinds_of", "node_count", "unfit_of_json", "unfit_of_text"]

#: Cells of ``squeue -O`` that `unfit_of_text` reads beside those of every job; features may hold bars.
TEXT_COLUMNS = (
    *("reservation", "contiguous", "mincpus", "maxnodes", "excnodes", "dependency", "reqswitch"),
    "feature",
)

#: What cannot be judged, in words, and the fields of ``squeue --json`` that ask for it.
_ASKS: dict[str, tuple[str, ...]] = {
    "heterogeneous": ("het_job_id",),
    "a reservation": ("resv_name",),
    "licenses": ("licenses",),
    "excluded nodes": ("excluded_nodes",),
    "a dependency": ("dependency",),
    "contiguous nodes": ("contiguous",),
    "a burst buffer": ("burst_buffer",),
    "an MCS label": ("mcs_label",),
    "features of the first node": ("batch_features",),
    "sockets and cores": (
        *("sockets_per_node", "sockets_per_board", "cores_per_socket", "threads_per_core"),
        *("tasks_per_socket", "tasks_per_board", "tasks_per_core", "tres_per_socket"),
    ),
    "specialised cores": ("core_spec", "thread_spec"),
    "temporary disk": ("minimum_tmp_disk_per_node",),
    "switches": ("minimum_switches", "required_switches"),
}
_COUNT = re.compile(r"\d+[KMGTP]?")
_NONE = ("", "(null)", "N/A", "0")


def unfit_of_json(row: Mapping[str, Any], each: int) -> str:
    """Return why a driver cannot serve a job of ``squeue --json`` as a beneficiary.

    Parameters
    ----------
    row : mapping
        A job, of any version: an absent field asks for nothing.
    each : int
        Cpus that it is taken to need on each of its nodes.

    Returns
    -------
    str
        In words; empty if it can.
    """
    for what, fields in _ASKS.items():
        if any(_asked(row.get(field)) for field in fields):
            return what
    if words(row.get("shared")) & {"NONE", "USER", "MCS"} or words(row.get("exclusive")) - {"FALSE"}:
        return "exclusive"
    if "GRES_ENFORCE_BIND" in words(row.get("flags")):
        return "cores bound to devices"
    counted = amounts(row.get("tres_req_str"))
    if any(device not in counted and not _kind_counted(device, counted) for device, _ in _devices(row)):
        return "devices that the cluster does not account"
    least, most = node_count(row.get("tres_req_str")), number(row.get("max_nodes")) or 0
    if least and most > least:
        return "a range of nodes"
    return _unfit(
        array=bool(number(row.get("array_job_id")))
        and bool(row.get("array_task_string"))
        and number(row.get("array_task_id")) is None,
        required=str(row.get("required_nodes") or ""),
        features=str(row.get("features") or ""),
        least=number(row.get("minimum_cpus_per_node")) or 0,
        each=each,
    )


def unfit_of_text(row: Mapping[str, str], each: int) -> str:
    """Return the same of a row of ``squeue -O``, which has less: an old one knows of no excluded nodes."""
    asked = {
        "heterogeneous": row["hetjobid"],
        "a reservation": row["reservation"],
        "licenses": row["licenses"],
        "excluded nodes": row["excnodes"],
        "a dependency": row["dependency"],
        "contiguous nodes": row["contiguous"],
        "switches": row["reqswitch"],
    }
    for what, value in asked.items():
        if value not in (*_NONE, "NO", "No"):
            return what
    if row["oversubscribe"] in ("NO", "USER", "MCS"):
        return "exclusive"
    least = node_count(row["tres-alloc"])  # of one that waits, what it asks for
    if least and int(row["maxnodes"] or 0) > least:
        return "a range of nodes"
    return _unfit(
        array=bool(row["arraytaskid"]) and not row["arraytaskid"].isdecimal(),
        required=row["reqnodes"],
        features=row["feature"],
        least=int(row["mincpus"] or 0),
        each=each,
    )


def kinds_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kinds of devices that a job names, as the tags of nodes have them: ``gres/gpu:a100``."""
    return tuple(sorted({f"{device}:{kind}" for device, kind in _devices(row) if kind}))


def _devices(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return ``gres/gpu`` and ``a100`` of ``gres:gpu:a100:2`` or ``gres/gpu:a100=2``, of each asked for."""
    found = []
    for what in ("job", "node", "task"):
        for part in filter(None, str(row.get(f"tres_per_{what}") or "").split(",")):
            device, *rest = re.split("[:=]", re.sub("^gres[:/]", "", part))
            kind = [word for word in rest if not _COUNT.fullmatch(word)]
            found.append((f"gres/{device}", ":".join(kind)))
    return found


def _kind_counted(device: str, counted: Mapping[str, int]) -> bool:
    return any(name.startswith(f"{device}:") for name in counted)


def _unfit(*, array: bool, required: str, features: str, least: int, each: int) -> str:
    if array:
        return "a job array"
    if len(split_hosts(required)) > 1:
        return "several required nodes"
    if not re.fullmatch(r"[\w.+-]*", features):
        return "a combination of features"
    return "cpus on each node" if least > each else ""


def _asked(value: Any) -> bool:
    if isinstance(value, str):
        return value not in _NONE
    return value is True or bool(number(value))


def node_count(text: Any) -> int:
    """Return how many nodes a list of trackable resources counts; 0 if it does not say."""
    match = re.search(r"(?:^|,)node=(\d+)", str(text or ""))
    return int(match[1]) if match else 0
