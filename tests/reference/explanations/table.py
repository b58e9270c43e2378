"""All checks: `load` registers them."""

from __future__ import annotations

from functools import cache
from importlib import import_module

__all__ = ["MODULES", "load"]

#: Where checks are.
MODULES = (
    *("decided", "jobs", "pace"),
    *("backendai.outcomes", "backendai.taken", "backendai.waiting"),
    *("gridengine.outcomes", "gridengine.subordinates", "gridengine.victims"),
    *("yunikorn.candidates", "yunikorn.outcomes", "yunikorn.victims"),
    *("slurm.allocations", "slurm.requests"),
    *("ytsaurus.allocations", "ytsaurus.elements", "ytsaurus.requests", "ytsaurus.victims"),
)


@cache
def load() -> None:
    """Import all checks, once."""
    for module in MODULES:
        import_module(f"tests.reference.explanations.{module}")
