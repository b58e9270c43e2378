"""What readers of systems' own texts have alike: what is wrong, what there is to say, and what was read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.config.rows import raise_found
from evenhand.diagnostics import CODES, Diagnostic
from evenhand.errors import Problem, shorten

if TYPE_CHECKING:
    from evenhand.systems.base import Policy

__all__ = ["Found", "Notes", "Reading", "Source", "text_of"]

#: A text, or (path-like) the file that has it.
Source = str | os.PathLike[str]


def text_of(source: Source) -> str:
    """Return a text, or what its file has."""
    if isinstance(source, str):
        return source
    return Path(source).read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class Reading:
    """What was read of a system's own texts.

    Attributes
    ----------
    settings : mapping
        Settings of the policy that the texts make.
    diagnostics : tuple of Diagnostic
        What was left out, what was assumed, and what the texts have that no plan reads.
    """

    #: The system's word.
    system: ClassVar[str]

    settings: Mapping[str, Any]
    diagnostics: tuple[Diagnostic, ...]

    def policy(self, preset: str = "upstream", **changes: Any) -> Policy:
        """Return the policy that the configuration makes.

        Parameters
        ----------
        preset : str
            As for the system's policy; by default what the system itself does.
        **changes
            Settings that differ from the configuration and the preset; durations are seconds.

        Returns
        -------
        Policy
            Of the system.
        """
        from evenhand.systems.files import from_dict

        return from_dict({"system": self.system, "preset": preset, **self.settings, **changes})


class Found:
    """Problems of a text, and notes, with the lines on which they stand."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def add(
        self, line: int | None, field: str | None, rule: str, value: object, message: str, file: str = ""
    ) -> None:
        """Add what is wrong with a field on a line, of an included file if that is named."""
        said = message if line is None else f"{file}line {line}: {message}"
        shown = None if value is None else shorten(value)
        self.problems.append(Problem(self.table, line, None, field, rule, shown, said))

    def note(self, line: int, message: str, file: str = "") -> None:
        """Add what a person should know of a line that changes no decision."""
        self.notes.append(f"{file}line {line}: {message}")

    def complain(self) -> None:
        """Raise what was found."""
        raise_found(self.problems)


@dataclass
class Notes:
    """Diagnostics in the making, of readers that go through many rows: names by code and sentence."""

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
