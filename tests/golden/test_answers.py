"""Inputs of all systems are drawn, and answered."""

from __future__ import annotations

import json

import pytest

from evenhand.systems import SYSTEMS
from tests.golden.answers import answer, draw


@pytest.mark.parametrize("system", SYSTEMS)
def test_drawn_inputs_have_answers(system: str) -> None:
    inputs = [json.loads(json.dumps(one)) for one in draw(system, 5)]
    assert len(inputs) == 5
    for one in inputs:
        found = answer(one)
        assert found.keys() in ({"problems"}, {"plan", "counts", "due", "later", "explained"})
        assert answer(one) == found
