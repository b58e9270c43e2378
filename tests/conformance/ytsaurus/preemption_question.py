"""One case on preemption that is being asked: how it is run, and how answers are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import evenhand as eh
from tests.conformance.case import Checker, is_number
from tests.conformance.planners import Answer, Planner
from tests.conformance.ytsaurus.preemption_input import Scene, settings

EXACT_ENOUGH = 1e-9
POLICY, PRESET = "ytsaurus", "upstream"


class Question:
    """A case, the implementation that is asked, and what came of it.

    Attributes
    ----------
    case, expect, action
        Of the file.
    settings
        The tree's, by their own names.
    answered
        Keys of ``expect`` that were compared.
    """

    def __init__(self, case: Mapping[str, Any], defaults: Mapping[str, Any], planner: Planner) -> None:
        self.case = case
        self.expect: Mapping[str, Any] = case["expect"]
        self.action: Mapping[str, Any] = case["action"]
        self.settings = settings(case, defaults)
        self.planner = planner
        self.checker = Checker()
        self.answered: set[str] = set()

    def plan(
        self,
        scene: Scene,
        *,
        state: Any = None,
        on: Any = None,
        given: Mapping[str, Any] | None = None,
        **changes: Any,
    ) -> Answer:
        """Plan for a scene with the case's settings and these changes."""
        snapshot = eh.Snapshot.from_dict(scene.data(), order="rows")
        return self.planner.plan(
            *(POLICY, PRESET, {**self.settings, **changes}, snapshot),
            *(state, eh.Round() if on is None else on, given, scene.later),
        )

    def equal(self, key: str, got: Any, element: str = "") -> None:
        """Compare an answer with what is expected under a key."""
        self.answered.add(key)
        if key in self.expect:
            self.same(element, key, self.expect[key], got)

    def same(self, element: str, quantity: str, expected: Any, got: Any) -> None:
        """Compare values: numbers within 1e-9, objects key by key, all else exactly."""
        if isinstance(expected, Mapping) and isinstance(got, Mapping):
            for key, value in expected.items():
                self.same(f"{element}.{key}".strip("."), quantity, value, got.get(key, "no answer"))
        elif is_number(expected) and is_number(got):
            self.checker.number(element, quantity, expected, got, EXACT_ENOUGH)
        else:
            self.checker.equal(element, quantity, expected, got)

    def same_set(self, key: str, got: Sequence[str]) -> None:
        """Compare names that may stand in any order."""
        self.answered.add(key)
        if key in self.expect:
            self.checker.equal("", key, sorted(self.expect[key]), sorted(got))

    def reason(self, decisions: Sequence[Mapping[str, Any]]) -> None:
        """Compare the one reason of all victims."""
        self.answered.add("reason")
        if "reason" in self.expect:
            self.checker.equal(
                "", "reason", [self.expect["reason"]], sorted({d["reason"] for d in decisions})
            )


def preempted(answer: Answer) -> list[str]:
    """Return the victims in the order in which they go."""
    return [d["allocation"] for d in answer.decisions("preempt")]
