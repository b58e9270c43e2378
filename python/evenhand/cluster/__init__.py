"""Cluster: a snapshot that lives on, changed by events.

Events are the classes of `evenhand.cluster.events`, or dicts of their fields.
"""

from __future__ import annotations

from evenhand.cluster import events
from evenhand.cluster.live import Cluster, Mark

__all__ = ["Cluster", "Mark", "events"]
