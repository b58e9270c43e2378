"""Turning right answers into wrong ones, to see that the runner notices."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

ANSWERS = ("expected", "expect", "expected_errors", "absent_errors")
STEP_ANSWERS = ("expected", "expected_computed")

Path = tuple[Any, ...]


def spoilt(value: Any) -> Any:
    """Return a value like this one in which every part is wrong."""
    if isinstance(value, dict):
        return {k: spoilt(v) for k, v in value.items()} or {"spoilt": 1}
    if isinstance(value, list):
        return [spoilt(v) for v in value] or ["spoilt"]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 2 + abs(value) / 2  # amounts are compared within one
    return f"{value} spoilt"


def spoil_answers(entry: dict[str, Any]) -> dict[str, Any]:
    """Spoil every answer of a case (or of a line with one); laws, which have no value, stay."""
    entry = copy.deepcopy(entry)
    for key in ANSWERS:
        if entry.get(key) or not isinstance(entry.get(key, {}), dict | list):  # also no, none and 0
            entry[key] = spoilt(entry[key])
    for check in entry.get("checks", ()):
        if "value" in check:
            check["value"] = spoilt(check["value"])
    for step in entry.get("steps", ()):
        for key in STEP_ANSWERS:
            if step.get(key):
                step[key] = spoilt(step[key])
    return entry


def spoil_document(document: Any) -> Any:
    """Spoil every answer of a file."""
    if isinstance(document, list):
        return [spoil_answers(entry) for entry in document]
    return {**document, "cases": [spoil_answers(entry) for entry in document["cases"]]}


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """Return the paths of all values that hold no others."""
    items = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    )
    if items is None:
        yield path
    else:
        for key, inner in items:
            yield from leaves(inner, (*path, key))


def spoil_leaf(value: Any, path: Path) -> Any:
    """Return a copy with one value spoilt."""
    value = copy.deepcopy(value)
    *way, last = path
    at = value
    for key in way:
        at = at[key]
    at[last] = spoilt(at[last])
    return value
