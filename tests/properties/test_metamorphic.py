"""Changes of the input that must change the shares in a known way, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.testing import metamorphic as laws
from evenhand.testing.metamorphic import Compute
from tests.properties.computing import IMPLEMENTATIONS, Inputs, inputs


@pytest.fixture(params=IMPLEMENTATIONS)
def implementation(request: pytest.FixtureRequest) -> str:
    return request.param


def prepare(implementation: str, drawn: Inputs) -> tuple[dict, Compute]:
    data, settings = drawn
    return data, IMPLEMENTATIONS[implementation](settings)
