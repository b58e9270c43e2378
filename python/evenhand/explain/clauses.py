"""The one teller: a system's clauses, worded by what was recorded, and by settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from string import Formatter
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.facts import agreeing, listed, name_of, unlisted
from evenhand.explain.recorded import KINDS
from evenhand.reasons import OUTCOMES, reason
from evenhand.units import text as written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.explain.facts import Facts
    from evenhand.systems.reason import Clause

__all__ = ["Known"]

_TABLES = {"hosts": "nodes", "slots": "allocations", "jobs": "operations"}
_UNSAID = np.iinfo(np.int64).min  # as `kUnsaid` of the core


class Known:
    """What is known of an outcome, by name.

    In this order: what the core recorded, by kind; what the outcome says itself (its ``node``, ``request``
    and ``stage``, or a decision's numbers); the rows that it is of; what the row of its operation sets; the
    policy's settings. ``asks.user`` is a cell of the row that ``asks`` is, of the snapshot or of settings.
    """

    def __init__(
        self,
        facts: Facts,
        recorded: Mapping[str, Any],
        event: Mapping[str, Any],
        rows: Mapping[str, tuple[str, int]] | None = None,
    ) -> None:
        self.facts, self.recorded, self.event, self.rows = facts, recorded, event, rows or {}
        self.says = facts.plan._system.says

    @cached_property
    def _stood(self) -> Mapping[str, int]:
        """What became of how many running jobs, by outcome; only what there are words for."""
        counts = self.recorded.get("stood", ())
        codes = [code for kind, code in self.says if kind == "stood"] if len(counts) else []
        return {code: many for code in codes if (many := int(counts[OUTCOMES.index(code)]))}

    def _find(self, name: str) -> tuple[str, Any]:
        """Return of which kind a name is, and what it stands for; None: nothing is known by it."""
        for kind in KINDS:
            if name in self.recorded.get(kind, ()):
                return kind, self.recorded[kind][name]
        if name in self.event:
            return "event", self.event[name]
        if name in self.rows:
            return self.rows[name]
        if name == "stood":
            return "event", self._stood
        owner, dot, field = name.partition(".")
        if dot:
            table, row = self._find(owner)
            if table == "settings":
                return "setting", getattr(self.facts.row_of_settings(*row)[1], field)
            return "event", None if row is None else self.facts.cell(table, int(row), field)
        if "operation" in self.rows:
            own = self.facts.snapshot.settings("operations").get(self.rows["operation"][1], {})
            if name in own:
                return "set", own[name]
        found = self.facts.setting(name)
        return "setting", getattr(self.facts.setting("pace"), name, None) if found is None else found

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
                # Queues are called by their names alone.
                return self.facts.keys[element] if element or self.facts.shared else "root"
            case "operations" | "requests" | "allocations" | "hosts":
                return self.facts.name(_TABLES.get(kind, kind), int(found))
            case "nodes" | "slots" | "jobs":
                table = _TABLES.get(kind, kind)
                return list(dict.fromkeys(self.facts.name(table, int(row)) for row in found))
            case "settings":
                return self.facts.row_of_settings(*found)[0]
            case "amounts":
                said = np.asarray(found) != _UNSAID
                amounts = self.facts.object(np.where(said, found, 0), zeros=True)
                return {r: amount for (r, amount), one in zip(amounts.items(), said, strict=True) if one}
        if isinstance(found, Mapping):
            return found or None
        return list(found) if isinstance(found, tuple) else found

    def text(self, name: str, form: str) -> str:
        """Return a fact as it reads in a sentence: by its name, or by a form."""
        value = self.value(name)
        if form == "span":
            return written.duration(value)
        if form == "exact":
            return written.exact(value)
        if form == "words":
            return str(value).replace("_", " ")
        if form == "name":
            return name_of(value)
        if form == "nodes":
            return f"node{'s' * (len(value) > 1)} {listed(value)}"
        if form == "tags":
            return f"the tag{'s' * (len(value) != 1)} {listed(value)}"
        if form in ("each", "all"):
            said = self._each(name, value)
            last = said.pop() if form == "all" and len(said) > 1 else None
            return ", ".join(said) + (f" and {last}" if last else "")
        how, _, other = form.partition(" ")
        if how == "one":
            one, _, several = other.partition("|")
            return one if (value if isinstance(value, int) else len(value)) == 1 else several
        if how == "of":
            return self.facts.amounts_of(value, self.value(other))
        if how == "beside":
            return written.named("", value, units=self.facts.snapshot.units, beside=self.value(other))
        kind = self._find(name)[0]
        if name == "node" or kind == "hosts":
            return self.facts.of_node(value, "the node")
        if name == "stage":
            return reason(value, "stage").sentence
        if (element := self._element(name)) is not None:
            return self.facts.element(element)
        if kind in ("operations", "requests", "allocations"):
            return name_of(value)
        if kind == "jobs":
            return listed(f"{self.facts.work} {name_of(one)}" for one in value)
        if isinstance(value, list):
            return listed(value)
        return written.named(name, value, self.facts.snapshot.now, self.facts.snapshot.units)

    def _each(self, kind: str, codes: Any) -> list[str]:
        """Return the clauses of several codes, of a mapping with how many there are of each."""
        said: list[str] = []
        for code in codes:
            count = codes[code] if isinstance(codes, Mapping) else None
            event = {**self.event, "count": count, "first": not said}
            found = Known(self.facts, self.recorded, event, self.rows).first(self.says.get((kind, code), ()))
            said += [found[0]] if found else []
        return said

    def first(self, clauses: Iterable[Clause]) -> tuple[str, dict[str, Any]] | None:
        """Return the first clause all of whose facts are known, in words, and its numbers."""
        return next((found for clause in clauses if (found := self._said(clause)) is not None), None)

    def told(self, clauses: Iterable[Clause]) -> tuple[str, dict[str, Any], tuple[str, ...]] | None:
        """Return likewise the first clause, with the sentences that follow it: all that are known."""
        for clause in clauses:
            if (said := self._said(clause)) is None:
                continue
            parts = [self.first(self.says.get(("part", name), ())) or ("", {}) for name in clause.then]
            numbers = {key: value for _, own in (said, *parts) for key, value in own.items()}
            return said[0], numbers, tuple(text for text, _ in parts if text)
        return None

    def _said(self, clause: Clause) -> tuple[str, dict[str, Any]] | None:
        """Return a clause in words, and its numbers; None: not all its facts are known."""
        for name, wanted in clause.where.items():
            if self.value(name) not in (wanted if isinstance(wanted, tuple) else (wanted,)):
                return None
        named = [one if isinstance(one, tuple) else (one, one) for one in clause.numbers]
        if any(self.value(name) is None for _, name in named):
            return None
        said, numbers = "", {self._key(key): value for key, value in clause.says.items()}
        numbers |= {self._key(key): self.value(name) for key, name in named}
        last = ""
        for text, field, form, _ in Formatter().parse(clause.sentence):
            said += self.facts.worded(agreeing(text, last))
            if field is None:
                continue
            found = self._field(field, form or "")
            if found is None:
                return None
            last = found[0]
            said += last
            numbers |= found[1]
        return said, numbers

    def _field(self, name: str, form: str) -> tuple[str, dict[str, Any]] | None:
        """Return a field in words, and the numbers of a part; None: it is not known."""
        if form == "part":
            return self.first(self.says.get(("part", name), ())) or ("", {})
        if (value := self.value(name)) is None:
            return None
        if form == "said":
            return self.first(self.says.get(("allocation", value), ()))
        if form == "listed":
            return listed(value), {"more": more} if (more := unlisted(value)) else {}
        how, _, other = form.partition(" ")
        unknown = how in ("of", "beside") and self.value(other) is None
        return None if unknown else (self.text(name, form), {})

    def _key(self, template: str) -> str:
        """Return the name of a number, which may have names of facts in it: ``priority_of_{asks}``."""
        parts = Formatter().parse(template)
        return "".join(text + (str(self.value(name)) if name else "") for text, name, _, _ in parts)
