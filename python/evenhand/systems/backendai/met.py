"""What a session or a request met, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Met", "Words"]


@dataclass(frozen=True, slots=True)
class Met:
    """What an allocation or a request met where a plan looked at it."""

    what: str
    row: int
    code: str
    operation: int
    request: int
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    stood: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, float] = field(default_factory=dict)
    spared: str = ""
    paced: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Words:
    """A clause, such as follows a colon, and what it is made of."""

    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
