"""Holds plans, states and clusters against each other: equal as objects and as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evenhand.errors import EvenhandError
from evenhand.testing._laws import must

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.plans import Plan
    from evenhand.state import State

__all__ = [
    "same",
    "same_answers",
    "same_decisions",
    "same_plan",
    "same_snapshot",
    "same_state",
    "same_text",
    "told",
]

#: What a plan says beside its JSON.
_ASIDE: tuple[Callable[[Plan], Any], ...] = (
    lambda plan: dict(plan.counts),
    lambda plan: plan.next_due,
    lambda plan: plan.taken,
    lambda plan: plan.table().to_dict(),
    lambda plan: [str(step) for step in plan.steps()],
)


def told(call: Callable[..., Any], *args: Any, **named: Any) -> tuple[Any, str]:
    """Return what a call returns and an empty text, or None and what is wrong with its input."""
    try:
        return call(*args, **named), ""
    except EvenhandError as error:
        return None, f"{type(error).__name__}: {error}"


def same(live: Any, frozen: Any, what: str) -> None:
    """Raise `AssertionError` with the first difference unless both are equal."""
    if live != frozen:
        raise AssertionError(f"{what}: {_difference(live, frozen)}")


def _difference(live: Any, frozen: Any, path: str = "") -> str:
    if isinstance(live, dict) and isinstance(frozen, dict):
        for key in [*live, *(key for key in frozen if key not in live)]:
            if live.get(key) != frozen.get(key):
                return _difference(live.get(key), frozen.get(key), f"{path}.{key}")
        return f"at {path or '.'} keys come in another order"
    if isinstance(live, list) and isinstance(frozen, list):
        for place, (one, other) in enumerate(zip(live, frozen, strict=False)):
            if one != other:
                return _difference(one, other, f"{path}[{place}]")
        longer, word = (live, "live") if len(live) > len(frozen) else (frozen, "frozen")
        return f"at {path or '.'} only {word}: {longer[min(len(live), len(frozen)) :]!r}"[:1500]
    return f"at {path or '.'} live {live!r}, frozen {frozen!r}"[:1500]


def same_snapshot(live: Snapshot, frozen: Snapshot) -> None:
    """Compare snapshots: rows, their order, and fingerprints."""
    if live != frozen or live.fingerprint != frozen.fingerprint:
        same(live.to_dict(), frozen.to_dict(), "snapshot")
        raise AssertionError("the snapshots have the same rows and are not equal")


def same_state(live: State | None, frozen: State | None) -> None:
    """Compare states: what they remember, and their texts; rows may have moved since the frozen one."""
    if live is None or frozen is None:
        return same(live, frozen, "state")
    one, other = _by_name(live.to_dict()), _by_name(frozen.to_dict())
    same(one, other, "state")
    must(live == frozen, "the states say the same and are not equal")
    _same_when_read(live)
    return same(json.dumps(one), json.dumps(other), "text of the state")


def same_text(live: State | None, frozen: State) -> None:
    """Compare states with the order of their rows: right after a plan none has moved."""
    if live is None or json.dumps(live.to_dict()) != json.dumps(frozen.to_dict()):
        same(live and live.to_dict(), frozen.to_dict(), "state")
        raise AssertionError("the states say the same in another order")
    _same_when_read(frozen)


def _same_when_read(state: State) -> None:
    must(type(state).from_dict(state.to_dict()) == state, "a state that is written is read as another one")


def _by_name(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state with its tables' rows by name."""

    def name(row: dict[str, Any]) -> tuple[str, str, bool]:
        return str(row.get("kind")), str(row["name"]), isinstance(row["name"], int)

    return {key: sorted(v, key=name) if isinstance(v, list) else v for key, v in state.items()}


def same_decisions(live: Plan, frozen: Plan) -> None:
    """Compare what a live planner has at once."""
    one, other = ([d.to_dict() for d in plan.decisions] for plan in (live, frozen))
    same(one, other, "decisions")
    same(live.taken, frozen.taken, "room that is handed over")


def same_plan(live: Plan, frozen: Plan) -> None:
    """Compare all that is said of plans."""
    if live.to_json() != frozen.to_json():
        same(live.to_dict(), frozen.to_dict(), "plan")
        raise AssertionError("the plans say the same in another order")
    for look in _ASIDE:
        same(look(live), look(frozen), "beside the plan")
    same_snapshot(live.snapshot, frozen.snapshot)
    must(live.state == frozen.state, "the plans' states are not equal")
    must(live.state_before == frozen.state_before, "the plans started from other states")


def same_answers(live: Plan, frozen: Plan, table: str, name: Any) -> None:
    """Compare what both plans say of a row, and of what did not happen to it."""
    for ask in ("why", "why_not"):
        one, other = (told(getattr(plan, ask), name, table=table) for plan in (live, frozen))
        same(one[1], other[1], f"{ask} {name!r}")
        same(str(one[0] and one[0].text), str(other[0] and other[0].text), f"{ask} {name!r}")
