"""The configuration that a running Slurm shows."""

from __future__ import annotations

import re
from typing import Any

from evenhand.systems.slurm.text.conf import read_conf
from evenhand.systems.slurm.text.names import CLUSTER

__all__ = ["HEAD", "read_shown", "shown"]

#: How ``scontrol show config`` begins.
HEAD = "Configuration data as of"
_LINE = re.compile(r"([A-Za-z]\w*)\s*= ?(.*)")
_UNIT = re.compile(r"(\d+) (sec|min|usec|percent)")
_UNSET = ("", "(null)", "(null type)", "N/A")


def shown(text: str) -> dict[str, str]:
    """Return what ``scontrol show config`` says, by name.

    Parameters
    ----------
    text : str

    Returns
    -------
    dict of str to str
        Under the names of slurm.conf; without those that are not set, and without units.
    """
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


def read_shown(text: str) -> dict[str, Any]:
    """Return the settings that ``scontrol show config`` says.

    Parameters
    ----------
    text : str

    Returns
    -------
    dict
        As `evenhand.systems.slurm.text.conf.read_conf`; without partitions, which it does not show.

    Raises
    ------
    InputError
        If the value of a parameter cannot be read.
    """
    said = {name: value for name, value in shown(text).items() if not set(value) & set(' "#\\')}
    return read_conf("".join(f"{name}={value}\n" for name, value in said.items()))
