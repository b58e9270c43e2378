"""Saved plans: what a plan was made from, so that it can be explained later, and what it decided."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from evenhand import _core
from evenhand.building.jsontext import what_is_wrong
from evenhand.building.problems import kind_of, shorten
from evenhand.errors import InputError, Problem, printable
from evenhand.files import replace_file
from evenhand.packed import broken, unpacked
from evenhand.plans.triggers import trigger_of, words_of
from evenhand.systems import SYSTEMS

if TYPE_CHECKING:
    from evenhand.model import Snapshot
    from evenhand.plans.plan import Plan
    from evenhand.systems.record import System

__all__ = ["is_saved", "load", "opened", "packed_as", "save", "saved"]

_SCHEMA = "evenhand/plan/1"
_BEGINS = re.compile(r'\s*\{\s*"schema"\s*:\s*"evenhand/plan/')
_PARTS: dict[str, Any] = {
    "evenhand": str,
    "snapshot": dict,
    "policy": dict,
    "state_before": dict | None,
    "on": str | list | None,
    "decisions": list,
}


def is_saved(text: str) -> bool:
    """Return whether a text is a saved plan, be it of another version."""
    return _BEGINS.match(text) is not None


def packed_as(path: str | os.PathLike[str], text: str) -> bytes:
    """Return the bytes of a text as a file of that name has them: ``.gz`` is compressed."""
    data = text.encode()
    return gzip.compress(data, 6, mtime=0) if Path(path).suffix == ".gz" else data


def saved(plan: Plan) -> str:
    """Return a plan with all that it was made from."""
    return _text(_data(plan))


def _data(plan: Plan) -> dict[str, Any]:
    from evenhand.systems.files import written

    if plan.given is not None:
        _wrong("given", "needs", "cannot be saved: it was made with given values, which no file has")
    try:
        on = words_of(plan.on, plan.snapshot)
    except ValueError as error:
        _wrong("on", "needs", f"cannot be saved: {error}")
    before = plan.state_before
    return {
        "schema": _SCHEMA,
        "evenhand": _core.__version__,
        "provenance": plan.provenance,
        "snapshot": plan.snapshot.to_dict(),
        "policy": written("plan", plan.policy),
        "state_before": None if before is None else before.to_dict(),
        "on": on,
        "decisions": plan.decisions.to_list(),
    }


def _text(data: dict[str, Any]) -> str:
    return json.dumps(data, allow_nan=False) + "\n"


def save(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan with all that it was made from, if it can be made again of that; see `Plan.save`."""
    data = _data(plan)
    text = _text(data)
    again = _read(text)
    # A plan that is equal decides the same: that its file says so, too, needs no second list of decisions.
    if _made(again) != plan or again["decisions"] != data["decisions"]:
        _wrong(None, "otherwise", "cannot be saved: what it was made from leads to another plan")
    replace_file(path, packed_as(path, text))


def load(path: str | os.PathLike[str]) -> Plan:
    """Return a saved plan; see `Plan.load`."""
    try:
        text = unpacked(io.BytesIO(Path(path).read_bytes())).read().decode("utf-8-sig")
    except broken() as error:
        _wrong(None, "damaged", f"cannot be unpacked: {printable(str(error))}; it is damaged or cut short")
    except UnicodeDecodeError:
        _wrong(None, "utf8", "is not UTF-8 text")
    return opened(text)


def opened(text: str) -> Plan:
    """Return a saved plan, made again from what it was made from."""
    data = _read(text)
    plan = _made(data)
    if plan.decisions.to_list() != data["decisions"]:
        made = f"it was made by version {shorten(data['evenhand'])}, this is {_core.__version__}"
        said = f"the plan decides otherwise now than when it was saved; {made}"
        raise InputError([Problem("plan", None, None, "decisions", "otherwise", None, printable(said))])
    return plan


def _wrong(field: str | None, rule: str, said: str) -> NoReturn:
    raise InputError([Problem("plan", None, None, field, rule, None, f"the plan {said}")])


def _incomplete(said: str) -> NoReturn:
    message = printable(f"is not a complete saved plan: {said}")
    raise InputError([Problem("plan", None, None, None, "incomplete", None, message)])


def _read(text: str) -> dict[str, Any]:
    """Return what a saved plan holds, each part of the kind that it is."""
    if not is_saved(text):
        _incomplete(f"it does not begin as one, with the schema {_SCHEMA}")
    try:
        data: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        _incomplete(what_is_wrong(error))
    except (RecursionError, ValueError):
        _incomplete("it is nested too deeply, or has a number of thousands of digits")
    if data["schema"] != _SCHEMA:
        _incomplete(f"its schema is {shorten(data['schema'])}; this version reads {_SCHEMA}")
    for key, kinds in _PARTS.items():
        if key not in data:
            _incomplete(f"{key} is missing")
        if not isinstance(data[key], kinds):
            _incomplete(f"{key} is {kind_of(data[key])}")
    return data


def _made(data: dict[str, Any]) -> Plan:
    from evenhand.model import Snapshot
    from evenhand.plans.planning import plan
    from evenhand.state import State

    try:
        snapshot = Snapshot.from_dict(data["snapshot"])
        settings: dict[str, Any] = dict(data["policy"])
        system, preset = settings.pop("system", None), settings.pop("preset", None)
        if system not in [*SYSTEMS]:
            _incomplete(f"its policy is of {shorten(system)}; there are {', '.join(SYSTEMS)}")
        policy = SYSTEMS[system].policy(preset, **settings)
        before = data["state_before"]
        state = None if before is None else State.from_dict(before)
        on = _on(data["on"], snapshot, SYSTEMS[system])
        return plan(snapshot, policy, state, on=on)
    except InputError as error:
        if error.problems[0].table == "plan":
            raise
        found = [f"is not a complete saved plan: {problem}" for problem in error.problems]
        raise InputError(
            [Problem("plan", None, None, None, "incomplete", None, said) for said in found], error.omitted
        ) from error


def _on(words: Any, snapshot: Snapshot, record: System) -> Any:
    """Return the trigger of a saved plan; None: the policy's own."""
    try:
        if isinstance(words, list):
            if not all(isinstance(word, str) and word.startswith("heartbeat:") for word in words):
                raise ValueError("on is a list of something else than heartbeats")
            return [trigger_of(word, snapshot, record) for word in words]
        return None if words is None else trigger_of(words, snapshot, record)
    except ValueError as error:
        _incomplete(str(error))
