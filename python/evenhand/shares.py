"""Shares of pools and operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand import _core

if TYPE_CHECKING:
    import numpy as np

    from evenhand.model import Snapshot


def fair_share(snapshot: Snapshot) -> dict[str, np.ndarray]:
    """Return element x resource matrices by quantity."""
    return {"usage_share": _core.usage_share(snapshot._core)}
