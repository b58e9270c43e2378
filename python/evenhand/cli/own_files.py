"""The files of systems themselves: which they are, and their configurations in the place of settings."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any

from evenhand.systems import SYSTEMS

__all__ = ["own_kind", "part_in", "policy_of"]

#: By which lines Slurm's configuration is known.
_SLURM = re.compile(
    r"^(Configuration data as of |\s*(PartitionName|NodeName|ClusterName|SlurmctldHost|ControlMachine"
    r"|PreemptType|Include)\s*[= ])",
    re.IGNORECASE | re.MULTILINE,
)
#: Of the texts of other systems, those that a policy is made of.
_CONFIGURATIONS = {"yunikorn": "config", "gridengine": "scheduler"}


def part_in(system: str, text: str) -> str | None:
    """Return which of a system's own texts a text is; None if it is none."""
    part: str | None = import_module(SYSTEMS[system].texts_at).part_of(text)
    return part


def own_kind(path: str, text: str) -> str | None:
    """Return the system whose own configuration a text is; None of TOML, and of what no system writes."""
    if PurePath(path).suffix != ".conf":
        try:
            tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            pass
        else:
            return None
    if _SLURM.search(text):
        return "slurm"
    return next((system for system, part in _CONFIGURATIONS.items() if part_in(system, text) == part), None)


def policy_of(system: str, text: str, preset: Any, path: str = "-") -> tuple[Any, list[str]]:
    """Return the policy that a system's own file describes, and what there is to say of the file.

    The path is that of the text; "-" is none.
    """
    from evenhand import policies

    if system == "slurm":
        made = policies.Slurm.from_conf(text if path == "-" else Path(path), preset=preset)
        return made, [one.message for one in made.diagnostics]
    if system == "yunikorn":
        from evenhand.adapters import yunikorn

        reading = yunikorn.read(text)
        return reading.policy(preset), [one.message for one in reading.diagnostics]
    from evenhand.systems.gridengine.text.config import read_scheduler

    return policies.GridEngine(preset, **read_scheduler(text)), []
