"""Licences of a Slurm cluster."""

from __future__ import annotations

from evenhand.adapters.protocol import AdapterError
from evenhand.systems.slurm.adapter.text import tokens

__all__ = ["free_licences"]


def free_licences(text: str) -> dict[str, int]:
    """Return how many of each are free, by what ``scontrol show lic`` prints.

    What others than this cluster's jobs use, and what reservations keep, is not free.
    """
    found: dict[str, int] = {}
    for part in text.split("LicenseName=")[1:]:
        said = tokens(f"LicenseName={part}")
        try:
            found[said["LicenseName"]] = int(said["Free"])
        except (KeyError, ValueError) as error:
            raise AdapterError(f"scontrol show lic: the answer is cut off or garbled: {error!r}") from error
    return found
