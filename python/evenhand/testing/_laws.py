"""How laws are stated and held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from evenhand.testing.happened import tell

__all__ = ["PlanOfJobs", "hold_all", "must"]

_Subject = TypeVar("_Subject")


@dataclass(frozen=True)
class PlanOfJobs:
    """A scheduling run of jobs or sessions, and what it was made of.

    Attributes
    ----------
    snapshot : mapping
        In the file format, as `Snapshot.to_dict` gives it.
    plan : mapping
        In the form of the results' JSON.
    settings : object
        Of the policy.
    """

    snapshot: Mapping[str, Any]
    plan: Mapping[str, Any]
    settings: Any

    @cached_property
    def jobs(self) -> dict[str, Mapping[str, Any]]:
        """Operations by name."""
        return self._by_name("operations")

    @cached_property
    def allocations(self) -> dict[str, Mapping[str, Any]]:
        """Allocations by name."""
        return self._by_name("allocations")

    @cached_property
    def requests(self) -> dict[str, Mapping[str, Any]]:
        """Requests by name."""
        return self._by_name("requests")

    def _by_name(self, table: str) -> dict[str, Mapping[str, Any]]:
        return {str(row["name"]): row for row in self.snapshot.get(table, ())}

    def decided(self, *actions: str) -> list[Mapping[str, Any]]:
        """Return the decisions with one of these actions."""
        return [d for d in self.plan["decisions"] if d["action"] in actions]


def must(holds: bool, what: object) -> None:
    """Raise `AssertionError` with `what` unless it holds."""
    if not holds:
        raise AssertionError(what)


def hold_all(laws: Iterable[Callable[[_Subject], None]], subject: _Subject) -> None:
    """Hold something against laws; the error of the first that is broken begins with its name."""
    if (plan := getattr(subject, "plan", None)) is not None:
        tell(plan)
    for law in laws:
        try:
            law(subject)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__}: {error}") from error
