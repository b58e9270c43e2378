"""Hypothesis' profiles, chosen by EVENHAND_HYPOTHESIS_PROFILE."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

# Time is no matter of correctness: a busy machine must fail no test.
timeless = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", timeless, max_examples=50)
settings.register_profile("ci", timeless, max_examples=200, derandomize=True, print_blob=True)
settings.register_profile("nightly", timeless, max_examples=2000, print_blob=True)
# A failure is all that counts with a planted defect, not its smallest example.
settings.register_profile(
    "mutants", timeless, max_examples=50, derandomize=True, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("EVENHAND_HYPOTHESIS_PROFILE", "dev"))
