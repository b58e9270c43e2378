"""Policies: the schedulers' rules as objects that can be asked what they would do."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from evenhand.systems import SYSTEMS

# Where a public name lives: one system's settings take as long to import as a small plan, so that
# each is imported when it is first used, as in `evenhand` itself.
_FOUND = {
    "TIERS": "evenhand.systems.tiers",
    "Policy": "evenhand.systems.base",
    "from_toml": "evenhand.systems.files",
    "tiered": "evenhand.systems.tiers",
    **{name: home for home, name in (system.policy_at.split(":") for system in SYSTEMS.values())},
}
_HOMES = {name: _FOUND[name] for name in sorted(_FOUND, key=lambda name: (not name.isupper(), name))}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
