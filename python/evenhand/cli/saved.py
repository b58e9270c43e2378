"""Saved plans: what a plan was made from, so that it can be explained later, and what it decided."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evenhand import __version__
from evenhand.cli.streams import Failure, label, reason
from evenhand.errors import InputError
from evenhand.files import replace_file
from evenhand.systems import SYSTEMS

if TYPE_CHECKING:
    from evenhand.plans import Plan

__all__ = ["is_saved", "opened", "save"]

_SCHEMA = "evenhand/plan/1"
_BEGINS = f'{{"schema": "{_SCHEMA}"'


def is_saved(text: str) -> bool:
    """Return whether a text is a saved plan."""
    return text.startswith(_BEGINS)


def save(path: str, plan: Plan, on: str | None) -> None:
    """Write a plan with all that it was made from; `on` is what the command line called its trigger."""
    before = plan.state_before
    data = {
        "schema": _SCHEMA,
        "evenhand": __version__,
        "snapshot": plan.snapshot.to_dict(),
        "policy": plan.policy.to_dict(),
        "state_before": None if before is None else before.to_dict(),
        "on": on,
        "decisions": plan.decisions.to_list(),
    }
    try:
        replace_file(path, json.dumps(data, allow_nan=False) + "\n")
    except OSError as error:
        raise Failure(f"{label(path)}: cannot be written: {reason(error)}") from error


def opened(path: str, text: str) -> Plan:
    """Return a saved plan, made again from what it was made from."""
    import evenhand as eh
    from evenhand.cli.plans import trigger_of

    try:
        data = json.loads(text)
        snapshot = eh.Snapshot.from_dict(data["snapshot"])
        settings: dict[str, Any] = dict(data["policy"])
        policy = SYSTEMS[settings.pop("system")].policy(settings.pop("preset"), **settings)
        before, decisions = data["state_before"], data["decisions"]
        state = None if before is None else eh.State.from_dict(before)
        plan = eh.plan(snapshot, policy, state, on=trigger_of(data["on"], snapshot, label(path)))
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise Failure(f"{label(path)}: is not a complete saved plan: {error}") from error
    if plan.decisions.to_list() != decisions:
        made = f"it was made by version {data.get('evenhand')}, this is {__version__}"
        raise Failure(f"{label(path)}: the plan decides otherwise now than when it was saved; {made}")
    return plan
