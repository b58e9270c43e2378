"""How laws are stated and held."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["hold_all", "must"]

_Subject = TypeVar("_Subject")


def must(holds: bool, what: object) -> None:
    """Raise `AssertionError` with `what` unless it holds."""
    if not holds:
        raise AssertionError(what)


def hold_all(laws: Iterable[Callable[[_Subject], None]], subject: _Subject) -> None:
    """Hold something against laws; the error of the first that is broken begins with its name."""
    for law in laws:
        try:
            law(subject)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__}: {error}") from error
