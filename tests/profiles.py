"""Hypothesis' profiles, chosen by EVENHAND_HYPOTHESIS_PROFILE, and the sources that it draws from."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

# All that a CI server's variables would change is set. Time is no matter of correctness: a busy machine must
# fail no test.
fixed = settings(
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("suite", fixed, max_examples=25)
settings.register_profile("nightly", fixed, derandomize=False, max_examples=2000)
# A failure is all that counts with a planted defect, not its smallest example.
settings.register_profile("mutants", fixed, max_examples=50, phases=[Phase.explicit, Phase.generate])
# What is searched for is found, however many examples that takes.
settings.register_profile(
    "search",
    fixed,
    max_examples=5000,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def draw_nothing_from_sources() -> None:
    """Let no draw come from the constants of modules outside of site-packages that happen to be loaded.

    What is drawn would be another where the package is an editable install, or where another test came first.
    Hypothesis has no setting for that; before 6.131 it did not do so.
    """
    if hasattr(providers, "Constants") and hasattr(providers, "_get_local_constants"):
        none = providers.Constants()
        providers._get_local_constants = lambda: none


draw_nothing_from_sources()
settings.load_profile(os.environ.get("EVENHAND_HYPOTHESIS_PROFILE", "suite"))
