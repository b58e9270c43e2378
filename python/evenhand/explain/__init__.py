"""Explanations: a plan's reasons in sentences, with the numbers that were compared."""

from __future__ import annotations

from evenhand.explain.explanation import Claim, Explanation

__all__ = ["Claim", "Explanation"]
