"""All relations, and how they are held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final

from evenhand.errors import InputError
from evenhand.testing.relations import changes, forms
from evenhand.testing.relations.case import Back, Case, essence

if TYPE_CHECKING:
    from evenhand.plans.plan import Plan

__all__ = ["RELATIONS", "Relation", "hold"]

_MOST_TEXTS = 4  # of each table: a text costs a plan


def _decided(plans: list[Plan]) -> Any:
    return [essence(one) for one in plans]


def _done(plans: list[Plan]) -> Any:
    """Return what is decided, without what is told of the rows."""
    return [{name: part for name, part in one.items() if name != "diagnostics"} for one in _decided(plans)]


def _first(plans: list[Plan]) -> Any:
    """Return what is decided first: what starts sorts by its name, which comes of its request's."""
    return _decided(plans[:1])


def _said(plans: list[Plan]) -> Any:
    """Return what is said of a few rows, decided or not."""
    first = plans[0]
    return {
        table: [
            [claim.sentence for claim in first.why_not(name).claims]
            for name in first.snapshot.names(table)[:_MOST_TEXTS]
        ]
        for table in ("allocations", "requests")
    }


def _checked(plans: list[Plan]) -> Any:
    """Return what no longer holds of plans on the snapshots that they were made from."""
    return [[finding.to_dict() for finding in one.check(one.snapshot).findings] for one in plans]


def _nothing(plans: list[Plan]) -> Any:
    return [[] for _ in plans]


def _asked(plans: list[Plan]) -> Any:
    """Return what was decided once every row has been asked about, with what it remembers of it."""
    for one in plans:
        for table in ("allocations", "requests"):
            for name in one.snapshot.names(table)[:_MOST_TEXTS]:
                one.why_not(name)
    return _decided(plans)


def _checked_at_once(case: Case, chance: Random) -> tuple[Case, Back]:
    """Check plans on the snapshots that they were made from: nothing is found."""
    del chance
    return case, Back()


def _recorded(case: Case, chance: Random) -> tuple[Case, Back]:
    """Ask why not of every row: what is recorded for that changes nothing."""
    del chance
    return case, Back()


@dataclass(frozen=True)
class Relation:
    """A change that must not matter.

    Attributes
    ----------
    name : str
    change : callable
        From a `Case` and a ``random.Random`` to the changed case, and how its results map `Back`.
    before, after : callable
        What is compared of the plans of the case, and of those of the changed one.
    """

    name: str
    change: Callable[[Case, Random], tuple[Case, Back]]
    before: Callable[[list[Plan]], Any] = _decided
    after: Callable[[list[Plan]], Any] = _decided

    @property
    def doc(self) -> str:
        """What it says, in a sentence."""
        return (self.change.__doc__ or "").strip().partition("\n")[0]


_ALL: Final = (
    Relation("times_shifted", changes.times_shifted),
    Relation("names_anew", changes.names_anew, _first, _first),
    Relation("names_alike", changes.names_alike, _said, _said),
    Relation("resources_anew", changes.resources_anew),
    Relation("units_scaled", changes.units_scaled),
    Relation("rows_added", changes.rows_added),
    Relation("other_order", changes.other_order),
    Relation("unread_left_out", changes.unread_left_out, _done, _done),
    Relation("as_frames", forms.as_frames),
    Relation("as_json", forms.as_json),
    Relation("checked_at_once", _checked_at_once, _nothing, _checked),
    Relation("recorded", _recorded, _decided, _asked),
)

#: By name. Each holds for every system.
RELATIONS: Final[Mapping[str, Relation]] = {relation.name: relation for relation in _ALL}


def hold(relation: Relation, case: Case, chance: Random, plans: list[Plan] | None = None) -> bool:
    """Hold a case against a relation.

    Parameters
    ----------
    relation : Relation
    case : Case
    chance : random.Random
        Chooses among the changes.
    plans : list of Plan, optional
        Those of the case, where they were made before.

    Returns
    -------
    bool
        Whether there was anything to compare: the case can be planned.

    Raises
    ------
    AssertionError
        If what is decided differs, with the path to the first difference; or if the changed case cannot be
        planned though the case can.

    Notes
    -----
    Two plans of each, and a few more where texts are compared.
    """
    try:
        before = relation.before(case.plans() if plans is None else plans)
    except InputError:
        return False
    changed, back = relation.change(case, chance)
    try:
        after = relation.after(changed.plans())
    except InputError as error:
        raise AssertionError(f"{relation.name}: only the changed case cannot be planned: {error}") from error
    if found := back.differences(before, after):
        raise AssertionError(f"{relation.name}: {found[0]}")
    return True
