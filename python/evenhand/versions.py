"""What is installed: the first thing a report of a problem should say."""

from __future__ import annotations

import platform
from importlib import metadata

from evenhand import _core

__all__ = ["show_versions", "versions"]

# Looked up without importing them: some are large.
_PACKAGES = ("numpy", "pydantic", "narwhals", "pandas", "polars", "pyarrow", "matplotlib", "hypothesis")


def versions() -> dict[str, str]:
    """Return the versions of Evenhand, its build and what it works with."""
    found = {
        "evenhand": _core.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **_core.build_info(),
    }
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def show_versions() -> None:
    """Print what `versions` returns, a line each."""
    found = versions()
    width = max(map(len, found))
    print("\n".join(f"{name:<{width}}  {version}" for name, version in found.items()))
