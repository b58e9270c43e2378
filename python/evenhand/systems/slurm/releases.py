"""Releases of Slurm whose rules differ, and which of them is planned by."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenhand.building.problems import shorten
from evenhand.errors import Problem

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.systems.slurm.settings import SlurmSettings

__all__ = ["RELEASES", "release_in_force", "release_of", "wrong_version"]

#: Those that are known, oldest first, in the order of the core's.
RELEASES: Final = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")

_VERSION: Final = re.compile(r"\s*(\d{2})\.(\d{2})(?:[.\-].*)?", re.ASCII)


def release_of(version: str) -> str | None:
    """Return the release whose rules a version follows."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return None
    name = f"{found[1]}.{found[2]}"
    return max((release for release in RELEASES if release <= name), default=RELEASES[0])


def _version(snapshot: Snapshot) -> str | None:
    version = snapshot.settings("pools").get(0, {}).get("slurm_version")
    return version if isinstance(version, str) else None


def wrong_version(snapshot: Snapshot) -> list[Problem]:
    """Return a problem if the cluster's version, in the settings of the root, is none."""
    version = _version(snapshot)
    if version is None or release_of(version) is not None:
        return []
    field, value = "settings.slurm_version", shorten(version)
    message = f"{field} is {value}; it must be a version, such as {RELEASES[-1]}.1"
    return [Problem("root", None, None, field, "choice", value, message)]


def release_in_force(snapshot: Snapshot, s: SlurmSettings) -> str:
    """Return the release by whose rules a snapshot is planned."""
    return s.release or release_of(_version(snapshot) or "") or RELEASES[-1]
