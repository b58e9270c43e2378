"""Importing this registers all checks."""

from __future__ import annotations

from evenhand.testing.explanations.ytsaurus import allocations, requests

__all__ = ["allocations", "requests"]
