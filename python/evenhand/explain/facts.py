"""Names, amounts and shares as they stand in sentences."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.explain.explanation import Claim
from evenhand.fields import TABLES
from evenhand.plans.columns import objects, rows_by_name
from evenhand.reasons import OUTCOMES
from evenhand.units import text as written
from evenhand.units.text import amounts, number, percent
from evenhand.units.text import duration as seconds
from evenhand.units.text import share as fraction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.plans.decisions import Decision
    from evenhand.plans.plan import Plan
    from evenhand.plans.refusals import Refusal

__all__ = [
    "Facts",
    "agreed",
    "agreeing",
    "amounts",
    "fraction",
    "listed",
    "name_of",
    "number",
    "one_amount",
    "percent",
    "seconds",
    "sentence",
    "unlisted",
]

_MOST = 4  # resources, names
_WORK = re.compile(r"\boperation(?=s?\b)")
_NOISE = 1e-6  # of a quantum: what dividing by a total and multiplying by it again may leave


def name_of(value: object) -> str:
    """Return a name that is safe to print."""
    from evenhand.display.text import clean

    return clean(value)


def one_amount(value: float) -> str:
    """Return an amount as it is, to ten digits: ``3,457``, ``0.000053``."""
    return number(value)


def sentence(text: str) -> str:
    """Begin a text with a capital, and end it with a full stop; it must not begin with a user's name."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


_VERB = re.compile(r"( more)? (is|was) (?=missing|needed|free)")
_VERBS = {"is": "are", "was": "were"}


def agreeing(text: str, amounts: str) -> str:
    """Return what follows amounts, whose verb agrees with them: of several resources "are missing"."""
    if ", " not in amounts or not (verb := _VERB.match(text)):
        return text
    return f"{verb[1] or ''} {_VERBS[verb[2]]} {text[verb.end() :]}"


def agreed(template: str, **amounts: str) -> str:
    """Return a template in which the verbs behind amounts agree with them."""
    for name, said in amounts.items():
        before, field, after = template.partition(f"{{{name}}}")
        template = before + field + agreeing(after, said)
    return template


def listed(names: Iterable[object]) -> str:
    """Return names in a row, the first few of many."""
    shown = [name_of(name) for name in names]
    if more := unlisted(shown):
        return f"{', '.join(shown[:_MOST])} and {more} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def unlisted(names: Sequence[object]) -> int:
    """Return how many of so many names `listed` leaves out."""
    return 0 if len(names) <= _MOST + 1 else len(names) - _MOST


class Facts:
    """Numbers of a plan by the rows of its snapshot."""

    def __init__(self, plan: Plan, work: str = "operation") -> None:
        self.plan = plan
        #: What operations are called.
        self.work = work
        self._decisions: dict[int, Decision] = {}
        self.snapshot = plan.snapshot
        self.pools = plan.snapshot.pool_count
        #: Whether the policy knows fair shares; else operations are described in the policy's own words.
        self.shared = plan._system.shares
        #: Whether operations are preempted as a whole.
        self.preempts_operations = plan._system.preempts_operations

    @cached_property
    def keys(self) -> list[str]:
        """How elements are called."""
        from evenhand.plans.columns import element_keys

        return element_keys(self.snapshot)

    def name(self, table: str, row: int) -> str | int:
        """Return the name of a row."""
        return self.snapshot.names(table)[row]

    def element(self, row: int) -> str:
        """Return what an element is called in a sentence: ``operation a``, ``pool p``, ``the root``."""
        if row == 0:
            return "the cluster as a whole"
        kind, table, first = (
            ("pool", "pools", 0) if row < self.pools else (self.work, "operations", self.pools)
        )
        return f"{kind} {name_of(self.name(table, row - first))}"

    def worded(self, text: str) -> str:
        """Return words of a template, without what fills it, with operations as they are called."""
        return text if self.work == "operation" else _WORK.sub(self.work, text)

    def decision(self, row: int) -> Decision:
        """Return a decision by its row; made once."""
        if row not in self._decisions:
            self._decisions[row] = self.plan.decisions[row]
        return self._decisions[row]

    def cell(self, table: str, row: int, field: str) -> Any:
        """Return a cell of a row, or one of its settings; None: it has none."""
        own = self.snapshot.settings(table).get(row, {})
        if field in own or field not in TABLES[table].names:
            return own.get(field)
        core, spec = self.snapshot._core, TABLES[table][field]
        if spec.kind == "text":
            words, codes = core.text(table, field)
            return None if not len(codes) or codes[row] < 0 else str(words[codes[row]])
        if spec.kind == "texts":
            words, offsets, codes = core.text_list(table, field)
            return (
                [str(words[code]) for code in codes[offsets[row] : offsets[row + 1]]] if len(offsets) else []
            )
        column = core.column(table, field)
        if spec.kind == "reference":
            return self.name(spec.target, int(column[row])) if len(column) and column[row] >= 0 else None
        if spec.kind == "enum":
            return spec.words[int(column[row]) if len(column) else 0]
        return float(column[row]) if len(column) else None

    def of_node(self, name: object, otherwise: str) -> str:
        """Return what a node is called in a sentence: ``node n1``; without one, other words."""
        return otherwise if name is None else f"node {name_of(name)}"

    def of_request(self, name: object) -> str:
        """Return what a request is called in a sentence: ``request r of operation o``."""
        row = rows_by_name(self.snapshot, "requests")[str(name)]
        operation = int(self.snapshot._core.column("requests", "operation")[row])
        return f"request {name_of(name)} of {self.work} {name_of(self.name('operations', operation))}"

    def paced(self, trace: Mapping[str, NDArray[Any]], event: int) -> dict[str, Any]:
        """Return what the pace compared where it spared a victim, of a recorded event; else nothing."""
        if "pace" not in trace:
            return {}
        pool, instant = int(trace["pool"][event]), float(trace["instant"][event]) / 1e6
        why = OUTCOMES[int(trace["pace"][event])]
        counts = (int(trace[name][event]) for name in ("victims", "most"))
        if numbers := self.plan.policy.counted(why, pool, *counts):
            return dict(numbers)
        pace, name = self.setting("pace"), self.element(pool) if pool > 0 else "the cluster"
        if why == "victim_cooldown":
            numbers = {"last_preempted": instant, "victim_cooldown": pace.victim_cooldown}
        elif why == "spared_run_time":
            numbers = {"began": instant, "spare_if_ran_less_than": pace.spare_if_ran_less_than}
        elif why == "spared_ends_soon":
            numbers = {"planned_end": instant, "spare_if_ends_within": pace.spare_if_ends_within}
        elif why == "pool_immune":
            return {"immune": name, "until": instant, "now": self.snapshot.now}
        elif why == "pool_victims_per_hour":
            victims, most = int(trace["victims"][event]), int(trace["most"][event])
            # Beyond the cap, or with a cap of 0, it is not free once the first is an hour ago.
            again = {"again_from": instant} if 0 < victims <= most else {}
            return {"pool": name, "victims": victims, "max_victims_per_hour": most, **again}
        else:
            return {}
        return {**numbers, "now": self.snapshot.now}

    def object(self, quanta: NDArray[Any], *, zeros: bool = False) -> dict[str, float]:
        """Return one row of quanta as an object."""
        return objects(self.snapshot, np.asarray(quanta)[None, :], zeros=zeros)[0]

    def amounts(self, values: Mapping[str, float], *, beside: Mapping[str, float] | None = None) -> str:
        """Return amounts by resource: ``1.5 cpu``; see `evenhand.units.text.amounts`."""
        return amounts(values, self.snapshot.units, beside=beside)

    def amounts_of(self, values: Mapping[str, float], most: Mapping[str, float]) -> str:
        """Return amounts and what each is held against: ``0 of 8 cpu``."""
        return written.amounts_of(values, most, self.snapshot.units)

    def pairs(self, values: Mapping[str, Any]) -> str:
        """Return what was compared: ``priority 7, preemptible_priority 5``."""
        now, units = self.snapshot.now, self.snapshot.units
        pairs = []
        for name, value in values.items():
            if name == "now":  # instants say how far they are from it
                continue
            key, text = name_of(name.replace("_of_", " of ")), written.named(name, value, now, units)
            pairs.append(text if text.startswith(f"{key} ") else f"{key} {text}")  # pool pool p
        return ", ".join(pairs)

    def instant(self, value: float) -> str:
        """Return an instant: ``2026-01-01 00:00:30 UTC``, or ``3,600 s`` where times are not Unix times."""
        return written.instant(value, self.snapshot.now)

    def when(self, instant: float) -> str:
        """Return an instant and how far it is from now: ``2026-01-01 00:00:30 UTC (in 20 s)``."""
        return written.when(instant, self.snapshot.now)

    def share(self, quanta: NDArray[Any]) -> NDArray[np.float64]:
        """Return quanta as shares of the cluster's total; 0 of what it has not."""
        total = np.asarray(self.snapshot._core.total, np.float64)
        return np.divide(quanta, total, out=np.zeros(len(total)), where=total > 0)

    def from_shares(self, shares: NDArray[np.float64]) -> dict[str, float]:
        """Return shares of the cluster as amounts by resource; whole quanta but for rounding are whole."""
        total, quantum = self.snapshot.total, self.snapshot.quantum
        found = {}
        for r, share in zip(self.snapshot.resources, shares, strict=True):
            amount = float(share) * total[r]
            whole = round(amount / quantum[r]) * quantum[r]
            found[r] = whole if abs(amount - whole) <= _NOISE * quantum[r] else amount
        return found

    def table(self, rows: Mapping[str, Mapping[str, float]], by: Iterable[str] = ()) -> dict[str, Any]:
        """Return rows of amounts for an explanation, of the resources that play a part."""
        telling = [rows[one] for one in by if rows.get(one)] or list(rows.values())
        shown = [r for r in self.snapshot.resources if any(row.get(r) for row in telling)]
        found = {what: {r: row.get(r, 0.0) for r in shown} for what, row in rows.items() if row}
        units = {r: unit for r, unit in self.snapshot.units.items() if unit is not None and r in shown}
        return {"amounts": found if shown else {}, "units": units if shown else {}}

    def short(self, element: int) -> str:
        """Return an element's name as a row of a table: pools and operations by their names alone."""
        return "the cluster" if element == 0 else self.keys[element]

    def refusal(self, request: int) -> Refusal | None:
        """Return what is said of a request that did not start, or not all of it."""
        rows = np.flatnonzero(self.plan.refusals.column("request") == request)
        return self.plan.refusals[int(rows[0])] if len(rows) else None

    def row_of_settings(self, table: str, row: int) -> tuple[str, Any]:
        """Return a row of a table of the settings, and what it is called."""
        return list(self.setting(table).items())[row]

    def setting(self, name: str) -> Any:
        """Return one of the policy's settings, or None if it has none of that name."""
        return self.plan.policy.setting(name)

    def tags(self, request: int, node: str | int | None = None) -> str:
        """Return the tags that a request requires; with a node those that it lacks: ``the tag ssd``."""
        lacks = self._texts("requests", "node_tags", request)
        if node is not None:
            has = self._texts("nodes", "tags", rows_by_name(self.snapshot, "nodes")[str(node)])
            lacks = [tag for tag in lacks if tag not in has]
        return f"the tag{'s' * (len(lacks) != 1)} {listed(lacks)}"

    def _texts(self, table: str, field: str, row: int) -> list[str]:
        words, offsets, codes = self.snapshot._core.text_list(table, field)
        return [str(words[code]) for code in codes[offsets[row] : offsets[row + 1]]]

    def given(self, what: str, element: int) -> bool:
        """Return whether what a plan would compute of an element was given to it."""
        return self.keys[element] in map(str, (self.plan.given or {}).get(what, ()))

    def order(self, operation: int) -> dict[str, Any]:
        """Return numbers of a policy that say why an operation comes when it comes; none of most."""
        return dict(self.plan.policy.order_numbers(self.snapshot, operation))

    def standing(self, element: int) -> Claim:
        """Say how an element stands to its fair share, or what the policy says of an operation."""
        from evenhand.explain.fair import standing

        if self.shared:
            return standing(self, element)
        row = element - self.pools
        text = self.element(element) if row < 0 else str(self.plan.policy.standing(self.snapshot, row))
        return Claim("standing", sentence(text), {"element": self.keys[element]})

    def claim(self, operation: int) -> list[Claim]:
        """Say on whose strength an operation preempts; nothing if on its own."""
        from evenhand.explain.fair import claim

        found = claim(self, operation) if self.shared else None
        return [] if found is None else [found]

    def protection(self, operation: int) -> list[Claim]:
        """Say how much of an operation is in which group; nothing if nothing of it runs."""
        from evenhand.explain.fair import protection

        found = protection(self, operation) if self.shared else None
        return [] if found is None else [found]
