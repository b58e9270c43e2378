"""Recorded workloads: readers of public formats, each of which answers a `Workload`."""

from __future__ import annotations

from evenhand.traces.frame import frame
from evenhand.traces.google2011 import google2011
from evenhand.traces.philly import philly
from evenhand.traces.swf import swf

__all__ = ["frame", "google2011", "philly", "swf"]
