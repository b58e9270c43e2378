"""What every policy needs to read the ``settings`` of a snapshot's rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from evenhand.building.problems import KEPT, nearest, shorten
from evenhand.config.checked import Settings, problems_of, under_own_names
from evenhand.errors import InputError, Problem

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = [
    "FOR_OWN_RULES",
    "NOTES",
    "RELEASE",
    "NoSettings",
    "RowSettings",
    "later_rows",
    "models_of",
    "raise_found",
    "read_tables",
    "strangers",
]


#: What readers of live systems note of rows for people, by table: any policy takes it, and none reads it.
NOTES: Mapping[str, tuple[str, ...]] = {"operations": ("waits_for",)}
#: What readers of live systems say of rows for their own system's policy, by its word and table: that of
#: another system takes it, reads none of it, and its plans say so.
FOR_OWN_RULES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "slurm": {"operations": ("exclusive", "time_min", "max_nodes", "cpus_per_task")},
    "gridengine": {"operations": ("job_name",), "allocations": ("queue",)},
}
#: How a note of the root ends that says which release the system is of, as in ``slurm_version``.
RELEASE = "_version"


class RowSettings(Settings):
    """Settings of a row: frozen, unknown names refused; None is "not set"."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    #: Fields whose mappings are no amounts by resource.
    TEXTS: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, values: Any) -> Any:
        return under_own_names(values, cls.ALIASES)


class NoSettings(RowSettings):
    """Settings of a row of which the policy knows none."""


_Row = TypeVar("_Row", bound=RowSettings)


def read_tables(
    snapshot: Snapshot, models: Mapping[str, type[RowSettings]], found: list[Problem]
) -> dict[str, dict[int, Any]]:
    """Read the settings of all rows, by table in the order of their models."""
    return {
        table: models_of(snapshot.settings(table), model, snapshot, table, found)
        for table, model in models.items()
    }


def models_of(
    given: Mapping[int, Mapping[str, Any]],
    model: type[_Row],
    snapshot: Snapshot,
    table: str,
    found: list[Problem],
) -> dict[int, _Row]:
    """Read the settings of some rows."""
    read: dict[int, _Row] = {}
    names = snapshot.names(table) if given else []
    for row, values in given.items():
        own = _without_notes(table, row, _without_strange(table, values, model), names, found)
        if not own and values:
            continue
        try:
            read[row] = model.model_validate(own)
        except ValidationError as error:
            found += problems_of(model, error, *_place(table, row, names))
            continue
        found += strangers(read[row], snapshot.resources, *_place(table, row, names))
    return read


def _without_strange(table: str, values: Mapping[str, Any], model: type[RowSettings]) -> dict[str, Any]:
    """Return what a row sets without what a reader says for the policy of another system."""
    known = {*model.model_fields, *model.ALIASES}
    strange = {name for tables in FOR_OWN_RULES.values() for name in tables.get(table, ())} - known
    return {name: value for name, value in values.items() if name not in strange}


def _without_notes(
    table: str, row: int, values: Mapping[str, Any], names: Sequence[Any], found: list[Problem]
) -> dict[str, Any]:
    """Return what a row sets without what a reader of a live system noted there: no policy reads it."""
    own = {}
    for name, value in values.items():
        if not (name in NOTES.get(table, ()) or (table == "pools" and not row and name.endswith(RELEASE))):
            own[name] = value
        elif not isinstance(value, str):
            message = f"settings.{name} is {shorten(value)}; it must be text"
            found.append(
                Problem(*_place(table, row, names), f"settings.{name}", "type", shorten(value), message)
            )
    return own


def later_rows(
    given: Mapping[int, Mapping[str, Any]],
    models: Mapping[str, type[RowSettings]],
    snapshot: Snapshot,
    table: str,
    found: list[Problem],
) -> dict[int, Any]:
    """Read the settings of rows that came later, as far as they have any, by their places."""
    said = {place: own for place, own in enumerate(given.values()) if own}
    return models_of(said, models[table], snapshot, table, found)


def _place(table: str, row: int, names: Sequence[Any]) -> tuple[str, int | None, Any]:
    if table == "pools" and row == 0:
        return "root", None, None
    return table, row, names[row] if row < len(names) else None


def strangers(
    settings: BaseModel, resources: Iterable[str], table: str, row: int | None, name: str | int | None
) -> Iterable[Problem]:
    """Yield a problem for every resource that the snapshot does not have."""
    known = list(resources)
    for field in settings.model_fields_set:
        amounts = getattr(settings, field)
        if not isinstance(amounts, Mapping) or field in getattr(settings, "TEXTS", ()):
            continue
        for resource in amounts:
            if resource not in known:
                place = ("" if table == "settings" else "settings.") + f"{field}.{resource}"
                hint = nearest(resource, known)
                message = f"{place} names no resource of the snapshot ({', '.join(known)}){hint}"
                yield Problem(table, row, name, place, "exists", shorten(resource), message)


def raise_found(found: Sequence[Problem]) -> None:
    """Raise the problems that were found, if any."""
    if found:
        raise InputError(list(found[:KEPT]), max(len(found) - KEPT, 0))
