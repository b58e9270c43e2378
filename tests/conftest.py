"""What holds for every test: which profile draws, how processes share the tests, what is no garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import tests.profiles  # noqa: F401


def pytest_configure(config: pytest.Config) -> None:
    """Let processes keep neighbouring tests, which share what is drawn, as long as all have work."""
    if config.getoption("dist", "no") == "load":  # as -n has it
        config.option.dist = "worksteal"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage in modules and collected tests: a tenth of the suite's time would go into that."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()
