"""Versions of everything that a result can depend on."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

__all__ = ["show_versions", "versions"]

_REQUIRED = ("numpy", "pydantic", "narwhals")
_OPTIONAL = ("pandas", "polars", "pyarrow", "matplotlib", "hypothesis")


def versions() -> dict[str, str | None]:
    """Return the versions of Python, platform, core and packages by name; None is not installed."""
    from evenhand import _core

    found: dict[str, str | None] = {
        "evenhand": _core.__version__,
        "python": sys.version.replace("\n", " "),
        "platform": platform.platform(),
        **_core.build_info(),
    }
    for package in _REQUIRED + _OPTIONAL:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def show_versions() -> None:
    """Print the versions that a report of a defect should name."""
    table = versions()
    width = max(map(len, table))
    for name, version in table.items():
        print(f"{name:<{width}}  {version or 'not installed'}")
