"""Grid Engine's scheduling run and requests, slow and readable: docs/policies/gridengine.md in Python."""

from __future__ import annotations

from tests.reference.gridengine.requests import judge
from tests.reference.gridengine.run import Run
from tests.reference.gridengine.world import World

__all__ = ["Run", "World", "judge"]
