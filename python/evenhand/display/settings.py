"""Policies as HTML: every setting with its value and unit, and what differs from the preset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from evenhand.display import markup
from evenhand.display.text import clean
from evenhand.units.text import number

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from evenhand.systems.base import Policy

__all__ = ["policy_html"]


def policy_html(policy: Policy) -> str:
    """Return the settings that differ from the preset, and all others folded."""
    base, fields = policy.model.preset(policy.preset), policy.model.model_fields
    changed, same = [], []
    for name, field in fields.items():
        value, usual = (_shown(getattr(of, name), field) for of in (policy.settings, base))
        means = field.description or ""
        if policy.setting(name) != getattr(base, name):
            changed.append([name, value, usual, means])
        else:
            same.append([name, value, means])
    parts = [markup.header(type(policy).__name__, f"preset {clean(policy.preset)}")]
    if changed:
        parts.append(markup.table(["setting", "value", "preset has", "in words"], changed))
    label = f"{len(same)} settings as the preset has them"
    parts.append(markup.fold(label, markup.table(["setting", "value", "in words"], same)))
    return markup.wrap(repr(policy), *parts)


def _shown(value: Any, field: FieldInfo | None = None) -> str:
    """Return a value as people write it; of settings in a setting those that are not their defaults."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        own = {name: getattr(value, name) for name in fields}
        told = [
            f"{name} {_shown(of, fields[name])}"
            for name, of in own.items()
            if of != fields[name].get_default(call_default_factory=True)
        ]
        return ", ".join(told) or "its own defaults"
    if isinstance(value, Mapping):
        return clean(", ".join(f"{key}: {_shown(of)}" for key, of in value.items()) or "none")
    if isinstance(value, (tuple, list)):
        return clean(", ".join(_shown(of) for of in value) or "none")
    if not isinstance(value, float):
        return clean(value)
    readers = field.metadata if field is not None and field.annotation is float else ()
    timed = any(getattr(one, "func", None) is not None for one in readers)
    return f"{number(value)}{' s' * timed}"
