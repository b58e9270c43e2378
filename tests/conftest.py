"""Hypothesis' profiles, chosen by EVENHAND_HYPOTHESIS_PROFILE."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    import pytest

# Time is no matter of correctness: a busy machine must fail no test.
timeless = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", timeless, max_examples=50)
settings.register_profile("ci", timeless, max_examples=100, derandomize=True, print_blob=True)
settings.register_profile("nightly", timeless, max_examples=2000, print_blob=True)
# A failure is all that counts with a planted defect, not its smallest example.
settings.register_profile(
    "mutants", timeless, max_examples=50, derandomize=True, phases=[Phase.explicit, Phase.generate]
)
# What is searched for is found, however many examples that takes.
settings.register_profile(
    "search",
    deadline=None,
    max_examples=5000,
    derandomize=True,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(os.environ.get("EVENHAND_HYPOTHESIS_PROFILE", "dev"))


def pytest_configure(config: pytest.Config) -> None:
    """Let processes keep neighbouring tests, which share what is drawn, as long as all have work."""
    if config.getoption("dist", "no") == "load":  # as -n has it
        config.option.dist = "worksteal"
