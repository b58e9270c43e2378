"""Formats whose kinds the library does not offer yet: their cases are named and counted as not covered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.conformance.case import Case


def recognises(document: Any) -> bool:
    """YuniKorn's cases and oracle."""
    return _system(document) is not None


def cases(document: Any) -> Iterator[Case]:
    """Return every case without a way to run it."""
    system = _system(document)
    if isinstance(document, list):
        for line in document:
            yield Case(f"{system}.{line['case']['kind']}", line["case"].get("name", "(unnamed)"), None)
        return
    for case in document["cases"]:
        yield Case(f"{system}.{case.get('kind') or case.get('policy')}", case.get("name") or case["id"], None)


def _system(document: Any) -> str | None:
    if isinstance(document, dict):
        return {"yunikorn-cases-1": "yunikorn"}.get(document.get("format", ""))
    lines = (
        isinstance(document, list) and document and all("kind" in line.get("case", ()) for line in document)
    )
    return "yunikorn_oracle" if lines else None
