"""Policies from configuration files."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenhand.accepted import checked
from evenhand.errors import InputError, Problem, printable
from evenhand.plans.own import overridden
from evenhand.systems import SYSTEMS
from evenhand.systems.base import Policy

__all__ = ["from_dict", "from_toml", "toml_of", "written"]


def from_dict(data: dict[str, Any]) -> Policy:
    """Return the policy that ``policy.to_dict()`` described."""
    settings = dict(data)
    system = settings.pop("system", None)
    if system not in SYSTEMS:
        message = f"system is {system!r}; there are {', '.join(SYSTEMS)}"
        raise InputError([Problem("settings", None, None, "system", "choice", repr(system), message)])
    preset = settings.pop("preset", SYSTEMS[system].presets[0])
    return SYSTEMS[system].policy(preset, **settings)


@checked("from_toml")
def from_toml(path: str | os.PathLike[str]) -> Policy:
    """Return the policy that a TOML file describes.

    Parameters
    ----------
    path : str or path-like
        A file with ``system``, optionally ``preset``, and settings by their names.

    Returns
    -------
    policy

    Raises
    ------
    InputError
        If it is no TOML, or describes no policy.
    OSError
        If it cannot be read.
    """
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"is no complete TOML text: {error}"
        raise InputError([Problem("settings", None, None, None, "toml", None, message)]) from error
    return from_dict(data)


def written(function: str, policy: Any) -> dict[str, Any]:
    """Return a policy as plain values of which `from_dict` makes the same again."""
    said: dict[str, Any] = policy.to_dict() if isinstance(policy, Policy) else {}
    known = SYSTEMS.get(said.get("system", ""))
    if known is not None and type(policy) is known.policy:
        return said
    name = type(policy).__name__
    if known is None:
        why = "it is of none of the systems that a file can name"
    elif (what := overridden(policy)) is not None:
        why = f"it overrides {what}, and would come back as {known.policy.__name__}"
    else:
        why = f"it would come back as {known.policy.__name__}"
    message = printable(f"the policy {name} cannot be written to a file: {why}")
    raise InputError([Problem(function, None, None, "policy", "type", name, message)])


def toml_of(policy: Any) -> str:
    """Return a policy as the text of a file of settings, of which `from_toml` makes the same again."""
    said = written("toml_of", policy)
    text = "".join(_lines((), said))
    if from_dict(tomllib.loads(text)) != policy:
        message = "the policy cannot be written as TOML: a setting of it is null, and is not by default"
        raise InputError([Problem("toml_of", None, None, "policy", "toml", None, message)])
    return text


def _lines(path: tuple[str, ...], table: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a table: what is no table first, as those after a head belong to it."""
    if path:
        yield f"\n[{'.'.join(map(_key, path))}]\n"
    for key, value in table.items():
        if value is not None and not isinstance(value, dict):
            yield f"{_key(key)} = {_value(value)}\n"
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _lines((*path, key), value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(k)} = {_value(v)}' for k, v in value.items() if v is not None)}}}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value) if isinstance(value, bool | int) else repr(float(value))
