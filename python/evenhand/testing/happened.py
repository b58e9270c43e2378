"""How often something happened: what hypothesis counts for ``pytest --hypothesis-show-statistics``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.plans import Plan

__all__ = ["tell"]

_SHOWN = {"preempt": "victims", "start": "starts"}


def tell(plan: Plan | Mapping[str, Any]) -> None:
    """Tell hypothesis how many victims and starts a plan has, so that its statistics show it.

    A law may hold because nothing happened: if all of its examples have ``victims: none``, it says nothing.
    The laws of this package tell it of every plan that they are held against.

    Parameters
    ----------
    plan : Plan or mapping
        A plan, or one in the form of its JSON. Outside of a test of hypothesis nothing is done.

    Notes
    -----
    O(decisions). Source of the method: hypothesis, "Test statistics", ``hypothesis.event``.
    """
    hypothesis = sys.modules.get("hypothesis")
    if hypothesis is None or not hypothesis.currently_in_test_context():
        return
    decisions = plan["decisions"] if isinstance(plan, Mapping) else plan.decisions
    counted = Counter(d["action"] if isinstance(d, Mapping) else d.action for d in decisions)
    for action, word in _SHOWN.items():
        hypothesis.event(f"{word}: {_some(counted[action])}")


def _some(count: int) -> str:
    return "none" if count == 0 else str(count) if count < 4 else "4 or more"
