"""Several domains at once: what a mapping of snapshots must keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from evenhand.building.problems import KEPT, shorten
from evenhand.errors import InputError, Problem
from evenhand.units.text import amounts_of

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["check_domains"]

_Place = tuple[str, int]
"""Name of a snapshot, and a row of its nodes."""


def check_domains(snapshots: Mapping[str, Snapshot]) -> None:
    """Refuse domains that share a node, or that together cut a machine into more than it has."""
    if len(snapshots) < 2:
        return
    place_of: dict[str, _Place] = {}
    found: list[Problem] = []
    for name, snapshot in snapshots.items():
        for row, node in enumerate(snapshot.names("nodes")):
            first = place_of.setdefault(str(node), (name, row))
            if first[0] != name:
                said = f"is in snapshot {first[0]!r} as well; a node is in one of them"
                found.append(_problem(name, row, node, "name", "unique", said))
    found = found or list(_overcut(snapshots, place_of))
    if found:
        raise InputError(found[:KEPT], max(len(found) - KEPT, 0))


def _overcut(snapshots: Mapping[str, Snapshot], place_of: Mapping[str, _Place]) -> Iterator[Problem]:
    """Find machines whose logical nodes in several snapshots have more than they."""
    parts: dict[str, list[_Place]] = {}
    for name, snapshot in snapshots.items():
        words, codes = snapshot._core.text("nodes", "physical")
        for row, code in enumerate(np.asarray(codes).tolist()):
            if code >= 0 and place_of.get(words[code]) != (name, row):  # one that names itself is no part
                parts.setdefault(words[code], []).append((name, row))
    for machine, places in parts.items():
        where = place_of.get(machine)
        if where is None or {name for name, _ in places} == {where[0]}:
            continue
        has = _capacity(snapshots, where)
        together: dict[str, Fraction] = {}
        for place in places:
            for resource, amount in _capacity(snapshots, place).items():
                together[resource] = together.get(resource, Fraction()) + amount
        over = {
            resource: float(amount)
            for resource, amount in together.items()
            if resource in has and amount > has[resource]
        }
        if over:
            of = ", ".join(dict.fromkeys(str(name) for name, _ in places))
            most, units = {r: float(has[r]) for r in over}, snapshots[where[0]].units
            have = amounts_of(over, most, units)
            said = f"is exceeded by its logical nodes in {of}: together they have {have}"
            node = snapshots[where[0]].names("nodes")[where[1]]
            yield _problem(*where, node, "capacity", "physical", said)


def _capacity(snapshots: Mapping[str, Snapshot], place: _Place) -> dict[str, Fraction]:
    """Return what a node has: exactly, as each snapshot counts in quanta of its own."""
    name, row = place
    snapshot = snapshots[name]
    quanta = np.asarray(snapshot._core.column("nodes", "capacity"))[row].tolist()
    return {
        resource: quantity * Fraction(str(quantum))
        for quantity, (resource, quantum) in zip(quanta, snapshot.quantum.items(), strict=True)
    }


def _problem(snapshot: str, row: int, node: str | int, field: str, rule: str, said: str) -> Problem:
    message = f'snapshot {snapshot!r}: {field} of the node "{shorten(node)}" {said}'
    return Problem("nodes", row, node, field, rule, None, message)
