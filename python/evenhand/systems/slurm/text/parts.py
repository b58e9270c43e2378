"""Which command of Slurm has written a text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

__all__ = ["NEEDED", "PARTS", "part_of"]

#: Arguments of `evenhand.adapters.slurm.read` that are texts, to what each is.
PARTS: Final[Mapping[str, str]] = {
    "jobs": "what squeue --json prints",
    "nodes": "what scontrol show nodes --json prints",
    "config": "what scontrol show config prints",
    "partitions": "what scontrol -o show partition prints",
    "weights": "what scontrol show node prints",
    "qos": "what sacctmgr -P show qos prints",
    "associations": "what sacctmgr -P show assoc prints",
    "reservations": "what sinfo -a -T prints",
    "licenses": "what scontrol show lic prints",
    "exclusive": "what squeue -O jobid:|,exclusive:| prints",
}
#: Those without which nothing is read.
NEEDED: Final[tuple[str, ...]] = ("jobs", "nodes", "config", "partitions")
#: What JSON of Slurm has beside its table; other JSON has no such thing.
_META: Final = re.compile(r'"meta"\s*:')
_BEGINNINGS: Final = {
    "config": re.compile(r"Configuration data as of "),
    "partitions": re.compile(r"PartitionName=\S+\s+Allow(Groups|Accounts)="),
    "weights": re.compile(r"NodeName=\S+\s+(Arch|CoresPerSocket)="),
    "qos": re.compile(r"Name\|(.*\|)?Preempt(\||$)", re.MULTILINE),
    "associations": re.compile(r"Cluster\|Account\|User\|"),
    "reservations": re.compile(r"RESV_NAME\s+STATE\s|No reservations in the system"),
    "licenses": re.compile(r"LicenseName=\S+\s+Total=|No licenses configured"),
    "exclusive": re.compile(r"JOBID\|EXCLUSIVE\|"),
}


def part_of(text: str) -> str | None:
    """Return which of `PARTS` a text is; None if it is none of them, or does not tell."""
    begin = text.lstrip("\ufeff \t\r\n")
    if begin[:1] == "{":
        return _part_of_json(begin) if _META.search(begin) else None
    return next((part for part, said in _BEGINNINGS.items() if said.match(begin)), None)


def _part_of_json(text: str) -> str | None:
    try:
        data = json.loads(text, strict=False)  # names may hold control characters
    except (ValueError, RecursionError):
        return None
    meta = data.get("meta")
    if not isinstance(meta, Mapping) or not {"slurm", "Slurm"} & set(meta):
        return None
    return next((part for part in ("jobs", "nodes") if isinstance(data.get(part), list)), None)
