"""Tests of evenhand."""

from __future__ import annotations

import os

# The width of a terminal has no say in what tests see, unless they say it.
os.environ.pop("COLUMNS", None)
