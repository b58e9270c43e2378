"""Cases of Slurm, Backend.AI and Grid Engine; of their kinds, history is covered, the others are named only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.conformance.case import Case


def recognises(document: Any) -> bool:
    """The object whose ``format`` is 2."""
    return isinstance(document, dict) and document.get("format") == 2


def cases(document: dict[str, Any]) -> Iterator[Case]:
    """One case each, by kind."""
    for case in document["cases"]:
        yield Case(case["kind"], case["name"], None)
