"""What a session or a request met, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Met", "Words"]


@dataclass(frozen=True, slots=True)
class Met:
    """What an allocation or a request met where a plan looked at it.

    Attributes
    ----------
    what : {"allocation", "request"}
        Of what the outcome is said.
    row : int
        Of the snapshot: which.
    code : str
        The outcome.
    operation : int
        Row of its operation.
    request : int
        Row of the request that asked, or that is explained; -1: none.
    facts : mapping
        What the core recorded: ``numbers``, ``operations``, ``requests``, ``nodes`` and so on, by name.
    stood : mapping of str to int
        Of a request for which victims were looked for: what became of how many operations, by outcome.
    missing : mapping of str to float
        Amounts that lacked, by resource.
    spared : str
        Where the pace decided, the outcome of the first that it spared.
    paced : mapping
        What it compared then.
    """

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
    """A clause, such as follows a colon, and what it is made of.

    Attributes
    ----------
    text : str
        Without a capital and a full stop.
    numbers : mapping
        Names and values.
    """

    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
