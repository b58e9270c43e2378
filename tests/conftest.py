"""What holds for every test: the profile, the processes, no garbage, one parser, no disk to wait for."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cache

import pytest

import tests.profiles  # noqa: F401
from evenhand.cli import arguments, running


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


@pytest.fixture(scope="session", autouse=True)
def one_parser() -> Iterator[None]:
    """Build the parser of the command line once: it takes most of the time of a short command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "parser", cache(arguments.parser))
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_disk() -> Iterator[None]:
    """Wait for no disk: no machine dies here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield
