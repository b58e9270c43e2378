"""The configuration files of systems themselves, in the place of settings."""

from __future__ import annotations

import re
import tomllib
from pathlib import PurePath
from typing import Any

__all__ = ["own_kind", "policy_of"]

#: By which lines the file of a system is known.
_LINES = {
    "slurm": re.compile(
        r"^(Configuration data as of |\s*(PartitionName|NodeName|ClusterName|SlurmctldHost|ControlMachine"
        r"|PreemptType|Include)\s*[= ])",
        re.IGNORECASE | re.MULTILINE,
    ),
    "yunikorn": re.compile(r"^partitions:", re.MULTILINE),
    "gridengine": re.compile(
        r"^(algorithm|schedule_interval|maxujobs|queue_sort_method)[ \t]+\S", re.MULTILINE
    ),
}


def own_kind(path: str, text: str) -> str | None:
    """Return the system whose own file a text is; None of settings as TOML, and of what no system writes."""
    if PurePath(path).suffix != ".conf":
        try:
            tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            pass
        else:
            return None
    return next((system for system, lines in _LINES.items() if lines.search(text)), None)


def policy_of(system: str, text: str, preset: Any) -> tuple[Any, list[str]]:
    """Return the policy that a system's own file describes, and what there is to say of the file."""
    from evenhand import policies

    if system == "slurm":
        return policies.Slurm.from_conf(text, preset=preset), []
    if system == "yunikorn":
        from evenhand.adapters import yunikorn

        reading = yunikorn.read(text)
        return reading.policy(preset), [one.message for one in reading.diagnostics]
    from evenhand.systems.gridengine.text.config import read_scheduler

    return policies.GridEngine(preset, **read_scheduler(text)), []
