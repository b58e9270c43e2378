"""The one teller: a system's clauses, worded by what was recorded, and by settings."""

from __future__ import annotations

from functools import cached_property
from string import Formatter
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.facts import name_of
from evenhand.explain.recorded import KINDS
from evenhand.reasons import reason
from evenhand.units import text as written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from evenhand.explain.facts import Facts
    from evenhand.systems.reason import Clause

__all__ = ["Known"]

_UNSAID = np.iinfo(np.int64).min  # as `kUnsaid` of the core


class Known:
    """What is known of an outcome, by name.

    In this order: what the core recorded, by kind; what the outcome says itself (its ``node``, ``request``
    and ``stage``, or a decision's numbers); what the row of its operation sets; the policy's settings.
    """

    def __init__(
        self,
        facts: Facts,
        recorded: Mapping[str, Any],
        event: Mapping[str, Any],
        operation: int = -1,
    ) -> None:
        self.facts, self.recorded, self.event, self.operation = facts, recorded, event, operation

    @cached_property
    def _set(self) -> Mapping[str, Any]:
        rows: Mapping[str, Any] = self.facts.snapshot.settings("operations").get(self.operation, {})
        return rows

    def _find(self, name: str) -> tuple[str, Any]:
        """Return of which kind a name is, and what it stands for; None: nothing is known by it."""
        for kind in KINDS:
            if name in self.recorded.get(kind, ()):
                return kind, self.recorded[kind][name]
        if name in self.event:
            return "event", self.event[name]
        if name in self._set:
            return "set", self._set[name]
        return "setting", self.facts.setting(name)

    def _element(self, name: str) -> int | None:
        """Return the row among the elements of a pool, or of an operation that is called just "element"."""
        kind, found = self._find(name)
        if kind == "pools":
            return int(found)
        return self.facts.pools + int(found) if (kind, name) == ("operations", "element") else None

    def value(self, name: str) -> Any:
        """Return a fact as results have it: seconds, names, amounts by resource; None: it is not known."""
        kind, found = self._find(name)
        match kind:
            case "numbers":
                return int(found) if float(found).is_integer() else float(found)
            case "times":
                return float(found) / 1e6
            case "pools" | "operations" if (element := self._element(name)) is not None:
                return self.facts.keys[element]
            case "operations" | "requests":
                return self.facts.name(kind, int(found))
            case "amounts":
                said = np.asarray(found) != _UNSAID
                amounts = self.facts.object(np.where(said, found, 0), zeros=True)
                return {r: amount for (r, amount), one in zip(amounts.items(), said, strict=True) if one}
        return found

    def text(self, name: str, form: str) -> str:
        """Return a fact as it reads in a sentence: by its name, or as a ``span``, or ``of`` another fact."""
        value = self.value(name)
        if form == "span":
            return written.duration(value)
        if form.startswith("of "):
            return self.facts.amounts_of(value, self.value(form.removeprefix("of ")))
        if name == "node":
            return self.facts.of_node(value, "the node")
        if name == "stage":
            return reason(value, "stage").sentence
        if (element := self._element(name)) is not None:
            return self.facts.element(element)
        if self._find(name)[0] in ("operations", "requests"):
            return name_of(value)
        return written.named(name, value, self.facts.snapshot.now, self.facts.snapshot.units)

    def first(self, clauses: Iterable[Clause]) -> tuple[str, dict[str, Any]] | None:
        """Return the first clause all of whose facts are known, in words, and its numbers."""
        for clause in clauses:
            fields = list(_fields(clause.sentence))
            needed = {*(name for name, _ in fields), *clause.numbers, *clause.where}
            needed |= {form.removeprefix("of ") for _, form in fields if form.startswith("of ")}
            if any(self.value(name) is None for name in needed):
                continue
            if all(self.value(name) == value for name, value in clause.where.items()):
                return self._worded(clause.sentence), {
                    **clause.says,
                    **{name: self.value(name) for name in clause.numbers},
                }
        return None

    def _worded(self, sentence: str) -> str:
        parts = Formatter().parse(sentence)
        return "".join(text + (self.text(name, form or "") if name else "") for text, name, form, _ in parts)


def _fields(sentence: str) -> Iterator[tuple[str, str]]:
    """Yield names of facts and their forms."""
    for _, name, form, _ in Formatter().parse(sentence):
        if name:
            yield name, form or ""
