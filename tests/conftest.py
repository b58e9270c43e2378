"""Hypothesis' profiles, chosen by EVENHAND_HYPOTHESIS_PROFILE."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("nightly", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("EVENHAND_HYPOTHESIS_PROFILE", "dev"))
