"""What an explanation is: a code, sentences, and the rows that were looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Explanation"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why something was decided, or was not.

    Attributes
    ----------
    name : str or int
        What is explained.
    table : str
        The table in which it stands.
    code : str
        Code of the reason, as in results; of an element its status.
    sentences : tuple of str
        Plain sentences, safe to print whatever names they hold.
    numbers : mapping
        What was compared.
    looked_at : tuple of mapping
        What was tried, one object a kind of outcome: ``stage``, ``outcome``, ``times``, ``node``,
        ``request``, ``missing`` of the nearest; empty where nothing was tried.
    """

    name: str | int
    table: str
    code: str
    sentences: tuple[str, ...]
    numbers: Mapping[str, Any] = field(default_factory=dict)
    looked_at: tuple[Mapping[str, Any], ...] = ()

    @property
    def text(self) -> str:
        """The sentences, a line each."""
        return "\n".join(self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values."""
        return {
            "name": self.name,
            "table": self.table,
            "code": self.code,
            "sentences": list(self.sentences),
            "numbers": dict(self.numbers),
            "looked_at": [dict(row) for row in self.looked_at],
        }

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from evenhand.display.plans import explanation_html

        return explanation_html(self)
