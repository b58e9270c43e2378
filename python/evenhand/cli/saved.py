"""Saved plans: what a plan was made from, so that it can be explained later, and what it decided."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from evenhand import __version__
from evenhand.building.jsontext import what_is_wrong
from evenhand.building.problems import kind_of, shorten
from evenhand.cli.reading import lines_of
from evenhand.cli.streams import Failure, label
from evenhand.errors import InputError
from evenhand.systems import SYSTEMS
from evenhand.systems.files import written

if TYPE_CHECKING:
    from evenhand.plans import Plan

__all__ = ["is_saved", "opened", "saved"]

_SCHEMA = "evenhand/plan/1"
_BEGINS = re.compile(r'\s*\{\s*"schema"\s*:\s*"evenhand/plan/')
_PARTS: dict[str, Any] = {
    "evenhand": str,
    "snapshot": dict,
    "policy": dict,
    "state_before": dict | None,
    "on": str | None,
    "decisions": list,
}


def is_saved(text: str) -> bool:
    """Return whether a text is a saved plan, be it of another version."""
    return _BEGINS.match(text) is not None


def saved(plan: Plan, on: str | None) -> str:
    """Return a plan with all that it was made from; `on` is what the command line called its trigger."""
    before = plan.state_before
    data = {
        "schema": _SCHEMA,
        "evenhand": __version__,
        "snapshot": plan.snapshot.to_dict(),
        "policy": written("plan", plan.policy),
        "state_before": None if before is None else before.to_dict(),
        "on": on,
        "decisions": plan.decisions.to_list(),
    }
    return json.dumps(data, allow_nan=False) + "\n"


def opened(path: str, text: str) -> Plan:
    """Return a saved plan, made again from what it was made from."""
    try:
        data = _read(text)
        plan = _made(data, path)
    except InputError as error:
        said = lines_of(f"{label(path)}: is not a complete saved plan", error)
        raise Failure(*said) from error
    except _Incomplete as error:
        raise Failure(f"{label(path)}: is not a complete saved plan: {error}") from error
    if plan.decisions.to_list() != data["decisions"]:
        made = f"it was made by version {shorten(data['evenhand'])}, this is {__version__}"
        raise Failure(f"{label(path)}: the plan decides otherwise now than when it was saved; {made}")
    return plan


class _Incomplete(Exception):
    """What a saved plan lacks."""


def _read(text: str) -> dict[str, Any]:
    """Return what a saved plan holds, each part of the kind that it is."""
    try:
        data: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise _Incomplete(what_is_wrong(error)) from error
    except (RecursionError, ValueError) as error:
        raise _Incomplete("it is nested too deeply, or has a number of thousands of digits") from error
    if data["schema"] != _SCHEMA:
        raise _Incomplete(f"its schema is {shorten(data['schema'])}; this version reads {_SCHEMA}")
    for key, kinds in _PARTS.items():
        if key not in data:
            raise _Incomplete(f"{key} is missing")
        if not isinstance(data[key], kinds):
            raise _Incomplete(f"{key} is {kind_of(data[key])}")
    return data


def _made(data: dict[str, Any], path: str) -> Plan:
    import evenhand as eh
    from evenhand.cli.policies import trigger_of

    snapshot = eh.Snapshot.from_dict(data["snapshot"])
    settings: dict[str, Any] = dict(data["policy"])
    system, preset = settings.pop("system", None), settings.pop("preset", None)
    if system not in [*SYSTEMS]:
        raise _Incomplete(f"its policy is of {shorten(system)}; there are {', '.join(SYSTEMS)}")
    policy = SYSTEMS[system].policy(preset, **settings)
    state = None if data["state_before"] is None else eh.State.from_dict(data["state_before"])
    try:
        on = trigger_of(data["on"], snapshot, label(path), system)
    except Failure as error:
        raise _Incomplete(error.lines[0].removeprefix("argument --on: ")) from error
    return eh.plan(snapshot, policy, state, on=on)
