"""The configuration that a running Slurm shows."""

from __future__ import annotations

import re
from typing import Any

from evenhand.systems.slurm.text.conf import read_conf
from evenhand.systems.slurm.text.names import CLUSTER

__all__ = ["HEAD", "read_shown", "shown", "shown_version"]

#: How ``scontrol show config`` begins.
HEAD = "Configuration data as of"
_LINE = re.compile(r"([A-Za-z]\w*)\s*= ?(.*)")
_UNIT = re.compile(r"(\d+) (sec|min|usec|percent)")
_VERSION = re.compile(r"^SLURM_VERSION\s*=\s*(\d+\.\d+(?:\.\d+)?)", re.MULTILINE)
_UNSET = ("", "(null)", "(null type)", "N/A")


def shown(text: str) -> dict[str, str]:
    """Return what ``scontrol show config`` says, by name."""
    by_case = {name.lower(): name for name in CLUSTER}
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line.rstrip())
        name = match and by_case.get(match[1].lower())
        if not match or name is None or match[2] in _UNSET:
            continue
        unit = _UNIT.fullmatch(match[2])
        found[name] = unit[1] if unit else match[2]
    return found


def shown_version(text: str) -> str | None:
    """Return the controller's release by what ``scontrol show config`` says; None: it does not say."""
    found = _VERSION.search(text)
    return None if found is None else found[1]


def read_shown(text: str, *, notes: list[str] | None = None) -> dict[str, Any]:
    """Return the settings that ``scontrol show config`` says."""
    said = {name: value for name, value in shown(text).items() if not set(value) & set(' "#\\')}
    if "UNKNOWN" in said.get("PreemptMode", "").split(","):
        # WITHIN and PRIORITY together have no words of their own, and hide the third.
        said["PreemptMode"] = "REQUEUE,WITHIN,PRIORITY"
        if notes is not None:
            notes.append(
                "PreemptMode is shown without CANCEL or REQUEUE, as this release does with WITHIN and "
                "PRIORITY: REQUEUE is taken; who is preempted is the same"
            )
    return read_conf("".join(f"{name}={value}\n" for name, value in said.items()), notes=notes)
