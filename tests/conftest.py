"""What holds for every test: which profile draws, and how processes share the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tests.profiles  # noqa: F401

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Let processes keep neighbouring tests, which share what is drawn, as long as all have work."""
    if config.getoption("dist", "no") == "load":  # as -n has it
        config.option.dist = "worksteal"
