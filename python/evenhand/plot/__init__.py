"""Plots, one function a module; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from evenhand.plot.groups import groups
from evenhand.plot.node import node
from evenhand.plot.pool_tree import pool_tree
from evenhand.plot.side_by_side import side_by_side

__all__ = ["groups", "node", "pool_tree", "side_by_side"]
