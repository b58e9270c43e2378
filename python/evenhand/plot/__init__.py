"""Plots, one function a module; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from evenhand.plot.comparison import comparison
from evenhand.plot.groups import groups
from evenhand.plot.node import node
from evenhand.plot.pool_tree import pool_tree
from evenhand.plot.raster import raster
from evenhand.plot.side_by_side import side_by_side
from evenhand.plot.timeline import timeline

__all__ = ["comparison", "groups", "node", "pool_tree", "raster", "side_by_side", "timeline"]
