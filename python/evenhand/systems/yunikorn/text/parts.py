"""Which of YuniKorn's own texts a text is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["NEEDED", "PARTS", "part_of"]

#: Arguments of `evenhand.adapters.yunikorn.read` that are texts, to what each is.
PARTS: Final[Mapping[str, str]] = {
    "config": "a queue configuration",
    "dump": "a full state dump",
    "queues": "an answer of queues",
    "applications": "an answer of applications",
    "nodes": "an answer of nodes",
}
#: Those without which nothing is read.
NEEDED: Final[tuple[str, ...]] = ()
_YAML: Final = re.compile(r"^(partitions|kind):", re.MULTILINE)
#: The fields by which answers are known.
_ROWS: Final = {"queuename": "queues", "applicationID": "applications", "nodeID": "nodes"}
_OF_A_DUMP: Final = ("timestamp", "queues", "applications", "nodes")
_SOME: Final = re.compile(rf'"({"|".join(("partitions", "kind", *_ROWS, "applications"))})"\s*:')


def part_of(text: str) -> str | None:
    """Return which of `PARTS` a text is; None if it is none of them, or does not tell."""
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        return "config" if _YAML.search(text) else None
    if not _SOME.search(text):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _part_of_rows(data) if isinstance(data, list) else _part_of_object(data)


def _part_of_rows(rows: list[Any]) -> str | None:
    first = rows[0] if rows else None
    if not isinstance(first, Mapping):
        return None
    return next((part for field, part in _ROWS.items() if field in first), None)


def _part_of_object(data: Mapping[str, Any]) -> str | None:
    if "partitions" in data:
        return "dump" if any(key in data for key in _OF_A_DUMP) else "config"
    if "timestamp" in data and "applications" in data:
        return "dump"
    if "kind" in data and ("data" in data or "binaryData" in data or "items" in data):
        return "config"
    return _part_of_rows([data])
