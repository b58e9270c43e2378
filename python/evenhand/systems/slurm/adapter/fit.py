"""Which waiting jobs a driver can judge: what they ask for beyond amounts, a partition and features."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evenhand.systems.slurm.adapter.text import amounts, number, split_hosts, words

__all__ = [
    "ALONE",
    "TEXT_COLUMNS",
    "kinds_of",
    "licences_of",
    "node_count",
    "range_of",
    "sharing_of_json",
    "sharing_of_text",
    "unfit_of_json",
    "unfit_of_text",
]

#: Cells of ``squeue -O`` that `unfit_of_text` reads beside those of every job; features may hold bars.
TEXT_COLUMNS = (
    *("reservation", "contiguous", "mincpus", "maxnodes", "excnodes", "dependency", "reqswitch"),
    "feature",
)

#: What cannot be judged, in words, and the fields of ``squeue --json`` that ask for it.
_ASKS: dict[str, tuple[str, ...]] = {
    "heterogeneous": ("het_job_id",),
    "a reservation": ("resv_name",),
    "excluded nodes": ("excluded_nodes",),
    "contiguous nodes": ("contiguous",),
    "a burst buffer": ("burst_buffer",),
    "an MCS label": ("mcs_label",),
    "features of the first node": ("batch_features",),
    "sockets and cores": (
        *("sockets_per_node", "sockets_per_board", "cores_per_socket", "threads_per_core"),
        *("tasks_per_socket", "tasks_per_board", "tasks_per_core", "tres_per_socket"),
    ),
    "temporary disk": ("minimum_tmp_disk_per_node",),
    "switches": ("minimum_switches", "required_switches"),
    "segments of nodes": ("segment_size",),
    "features that it prefers": ("prefer",),
    "cpus or memory by device": ("cpus_per_tres", "memory_per_tres", "tasks_per_tres"),
}
#: What jobs of one user, label or block have for themselves, and no rule of a plan knows of.
ALONE = {
    "USER": "nodes for one user",
    "MCS": "nodes for one MCS label",
    "TOPO": "a block of nodes for itself",
}
# Slurm's "unset" in 16 bits, and the same without the bit that stands for threads; of nodes.
_UNSET = (0, 0xFFFE, 0x7FFE)
_NO_DEVICES = ("cpu", "mem", "node", "billing", "energy")
_COUNT = re.compile(r"\d+[KMGTP]?")
_NONE = ("", "(null)", "N/A", "0")


def unfit_of_json(row: Mapping[str, Any], each: int, sharing: str) -> str:
    """Return why a driver cannot serve a job of ``squeue --json`` as a beneficiary."""
    for what, fields in _ASKS.items():
        if any(_asked(row.get(field)) for field in fields):
            return what
    if any((number(row.get(field)) or 0) not in _UNSET for field in ("core_spec", "thread_spec")):
        return "specialised cores"
    flags = words(row.get("flags"))
    if flags & {"GRES_ENFORCE_BIND", "GRES_BINDING_ENFORCED"}:
        return "cores bound to devices"
    counted = amounts(row.get("tres_req_str"))
    if any(device not in counted and not _kind_counted(device, counted) for device, _ in _devices(row)):
        return "devices that the cluster does not account"
    least, most = range_of(row)
    if least and most > least and not _alike(row, least):
        return "tasks spread over a range of nodes"
    if max(least, most) > 1 and "gres" in str(row.get("tres_per_job") or ""):
        return "devices in total on several nodes"
    return _unfit(
        sharing=sharing,
        licences=str(row.get("licenses") or ""),
        dependency=str(row.get("dependency") or ""),
        qos=str(row.get("qos") or ""),
        required=str(row.get("required_nodes") or ""),
        features=str(row.get("features") or ""),
        least=number(row.get("minimum_cpus_per_node")) or 0,
        each=each,
    )


def unfit_of_text(row: Mapping[str, str], each: int, sharing: str) -> str:
    """Return the same of a row of ``squeue -O``, which has less: an old one knows of no excluded nodes."""
    asked = {
        "heterogeneous": row["hetjobid"],
        "a reservation": row["reservation"],
        "excluded nodes": row["excnodes"],
        "contiguous nodes": row["contiguous"],
        "switches": row["reqswitch"],
    }
    for what, value in asked.items():
        if value not in (*_NONE, "NO", "No"):
            return what
    least = node_count(row["tres-alloc"])  # of one that waits, what it asks for
    if least and int(row["maxnodes"] or 0) > least:
        return "a range of nodes"
    return _unfit(
        sharing=sharing,
        licences=row["licenses"],
        dependency=row["dependency"],
        qos=row["qos"],
        required=row["reqnodes"],
        features=row["feature"],
        least=int(row["mincpus"] or 0),
        each=each,
    )


def range_of(row: Mapping[str, Any]) -> tuple[int, int]:
    """Return the fewest and the most nodes that a job of ``squeue --json`` asks for."""
    implied = "JOB_IMPLICIT_MAX_NODES" in words(row.get("flags"))
    return node_count(row.get("tres_req_str")), 0 if implied else number(row.get("max_nodes")) or 0


def _alike(row: Mapping[str, Any], least: int) -> bool:
    """Whether each node of a range gives the same, however many there are: a number of tasks on each.

    A job that says how many tasks it has in all has fewer of them on each node where there are more nodes.
    """
    each = max(number(row.get("tasks_per_node")) or 0, 1)
    in_all = "EXACT_TASK_COUNT_REQUESTED" in words(row.get("flags"))
    return row.get("flags") is not None and not in_all and (number(row.get("tasks")) or 0) <= least * each


def sharing_of_json(row: Mapping[str, Any]) -> str:
    """Return whom a job of ``squeue --json`` shares its nodes with."""
    said = words(row.get("shared")) | words(row.get("exclusive"))
    if said & {"NONE", "TRUE", "NODE"}:
        return "NODE"
    return next((word for word in ("USER", "MCS", "TOPO") if word in said), "")


def sharing_of_text(oversubscribe: str) -> str:
    """Return the same of the column ``oversubscribe`` as releases before 26.05 print it."""
    return (
        "NODE" if oversubscribe == "NO" else oversubscribe if oversubscribe in ("USER", "MCS", "TOPO") else ""
    )


def licences_of(text: str) -> dict[str, int] | None:
    """Return the licences of ``ansys:2,fluent`` by name; None: there are alternatives."""
    if text in _NONE:
        return {}
    found: dict[str, int] = {}
    for part in text.split(","):
        match = re.fullmatch(r"([\w.@+-]+)(?:[:=](\d+))?", part.strip())
        if match is None:
            return None
        found[match[1]] = found.get(match[1], 0) + int(match[2] or 1)
    return found


def kinds_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kinds of devices that a job names, as the tags of nodes have them: ``gres/gpu:a100``."""
    return tuple(sorted({f"{device}:{kind}" for device, kind in _devices(row) if kind}))


def _devices(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return ``gres/gpu`` and ``a100`` of ``gres:gpu:a100:2`` or ``gres/gpu:a100=2``, of each asked for.

    From 23.11 on, cpus, memory and licences of a task stand there, too: they are no devices.
    """
    found = []
    for what in ("job", "node", "task"):
        for part in filter(None, str(row.get(f"tres_per_{what}") or "").split(",")):
            device, *rest = re.split("[:=]", re.sub("^gres[:/]", "", part))
            if device in _NO_DEVICES or device.startswith("license/"):
                continue
            kind = [word for word in rest if not _COUNT.fullmatch(word)]
            found.append((f"gres/{device}", ":".join(kind)))
    return found


def _kind_counted(device: str, counted: Mapping[str, int]) -> bool:
    return any(name.startswith(f"{device}:") for name in counted)


def _unfit(
    *,
    sharing: str,
    licences: str,
    dependency: str,
    qos: str,
    required: str,
    features: str,
    least: int,
    each: int,
) -> str:
    if licences_of(licences) is None:
        return "one of several licenses"
    if dependency not in _NONE and not _satisfied(dependency):
        return "a dependency"
    if "," in qos:
        return "several QOS"
    if sharing not in ("", "NODE", *ALONE):
        return "nodes in a way that this version does not know"
    if len(split_hosts(required)) > 1:
        return "several required nodes"
    if not re.fullmatch(r"[\w.+-]*", features):
        return "a combination of features"
    return "cpus on each node" if least > each else ""


def _satisfied(dependency: str) -> bool:
    """Whether a job need not wait for others: all of a list with commas, one of a list with ``?`` will do."""
    enough = any if "?" in dependency else all
    return enough("(fulfilled)" in one for one in re.split("[,?]", dependency))


def _asked(value: Any) -> bool:
    if isinstance(value, str):
        return value not in _NONE
    return value is True or bool(number(value))


def node_count(text: Any) -> int:
    """Return how many nodes a list of trackable resources counts; 0 if it does not say."""
    match = re.search(r"(?:^|,)node=(\d+)", str(text or ""))
    return int(match[1]) if match else 0
