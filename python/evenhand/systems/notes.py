"""Diagnostics in the making, of readers that go through many rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from evenhand.diagnostics import CODES, Diagnostic

__all__ = ["Notes"]


@dataclass
class Notes:
    """Names by code and sentence."""

    found: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def add(self, code: str, said: str, *names: str) -> None:
        """Add names to what is said."""
        self.found.setdefault((code, said), []).extend(names)

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each thing said."""
        for (code, said), names in self.found.items():
            some = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            message = f"{CODES[code]} {said}{f': {some}' if names else ''}."
            yield Diagnostic(code, tuple(names), message, {"count": len(names)} if names else {})
