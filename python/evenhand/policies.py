"""Policies: the schedulers' rules as objects that can be asked what they would do."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Where a public name lives: one system's settings take as long to import as a small plan, so that
# each is imported when it is first used, as in `evenhand` itself.
_HOMES = {
    "TIERS": "evenhand.systems.tiers",
    "BackendAI": "evenhand.systems.backendai.policy",
    "GridEngine": "evenhand.systems.gridengine.policy",
    "Policy": "evenhand.systems.base",
    "Slurm": "evenhand.systems.slurm.policy",
    "YTsaurus": "evenhand.systems.ytsaurus.policy",
    "YuniKorn": "evenhand.systems.yunikorn.policy",
    "from_toml": "evenhand.systems.files",
    "tiered": "evenhand.systems.tiers",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
