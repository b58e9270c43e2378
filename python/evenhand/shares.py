"""Shares of pools and operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand import _core

if TYPE_CHECKING:
    import numpy as np

    from evenhand.model import Snapshot


def fair_share(snapshot: Snapshot) -> dict[str, np.ndarray]:
    """Return element x resource matrices by quantity."""
    shares = _core.fair_share(snapshot._core, _core.FairShareOptions())
    return {"fair_share": shares.column("fair_share"), "usage_share": shares.column("usage_share")}
