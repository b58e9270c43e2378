"""Past usage of users and pools: decay, and the factors of Slurm, Grid Engine and Backend.AI.

`slurm` (classic fair share and Fair Tree), `gridengine` (share tree, tickets) and `backendai` (normalised
usage and factor) read a `ShareTree` or columns; `Decay` and `DecayedUsage` make old usage count less.
"""

from __future__ import annotations

from evenhand.history import backendai, gridengine, slurm
from evenhand.history.decay import Decay, DecayedUsage
from evenhand.history.tree import ShareTree
from evenhand.history.worlds import side_by_side

__all__ = ["Decay", "DecayedUsage", "ShareTree", "backendai", "gridengine", "side_by_side", "slurm"]
