"""No drawn plan explains anything falsely: every code and sentence is evaluated anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.testing.explanations import check_explanations
from tests.properties.explaining import SYSTEMS, plans


@pytest.mark.parametrize("system", SYSTEMS)
@given(data=st.data())
def test_no_explanation_is_false(system: str, data: st.DataObject) -> None:
    """What is decided, what waits, what is spared, how elements and nodes stand."""
    check_explanations(data.draw(plans(system)))
