"""Grid Engine under its public name: its adapter, and what its commands write as a snapshot and a policy."""

from __future__ import annotations

from evenhand.systems.gridengine.adapter.live import GridEngine
from evenhand.systems.gridengine.text.reading import Reading, read

__all__ = ["GridEngine", "Reading", "read"]
