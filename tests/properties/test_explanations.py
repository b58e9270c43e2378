"""No drawn plan explains anything falsely: every code and sentence is evaluated anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.reasons import TABLE
from tests.properties.explaining import SYSTEMS, plans
from tests.reference.explanations import falsehoods
from tests.reference.explanations.registry import CHECKS
from tests.reference.explanations.table import load

#: Codes that have no check, as nothing explains with them: stages and what a check of a plan finds.
_UNEXPLAINED = ("stage", "check")


@pytest.mark.parametrize("system", SYSTEMS)
@given(data=st.data())
def test_no_explanation_is_false(system: str, data: st.DataObject) -> None:
    """What is decided, what waits, what is spared, how elements and nodes stand."""
    assert not [str(one) for one in falsehoods(data.draw(plans(system)))]


def test_every_code_has_a_check() -> None:
    """A new code cannot go unchecked; those of one system may have a check of that system only."""
    load()
    checked = {(kind, code) for kind, code, _ in CHECKS}
    assert not sorted(
        (row.kind, row.code)
        for row in TABLE
        if row.kind not in _UNEXPLAINED and (row.kind, row.code) not in checked
    )
