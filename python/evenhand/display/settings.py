"""Policies as HTML: every setting with its value and unit, and what differs from the preset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.display import markup
from evenhand.display.text import clean
from evenhand.units.text import number

if TYPE_CHECKING:
    from evenhand.systems.base import Policy

__all__ = ["policy_html"]


def policy_html(policy: Policy) -> str:
    """Return the settings that differ from the preset, and all others folded."""
    base, fields = policy.model.preset(policy.preset), policy.model.model_fields
    changed, same = [], []
    for name, field in fields.items():
        timed = any(getattr(one, "func", None) is not None for one in field.metadata)
        unit = " s" if field.annotation is float and timed else ""
        value, usual = (_shown(getattr(of, name), unit) for of in (policy.settings, base))
        means = field.description or ""
        if getattr(policy.settings, name) != getattr(base, name):
            changed.append([name, value, usual, means])
        else:
            same.append([name, value, means])
    parts = [markup.header(type(policy).__name__, f"preset {clean(policy.preset)}")]
    if changed:
        parts.append(markup.table(["setting", "value", "preset has", "in words"], changed))
    label = f"{len(same)} settings as the preset has them"
    parts.append(markup.fold(label, markup.table(["setting", "value", "in words"], same)))
    return markup.wrap(repr(policy), *parts)


def _shown(value: Any, unit: str) -> str:
    return clean(f"{number(value)}{unit}" if isinstance(value, float) else value)
